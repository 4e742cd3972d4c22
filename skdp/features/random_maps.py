"""Random features: waves along random directions, and leaves of totally random trees."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skdp.features.base import ColumnFeatures, FeatureMap, TableFacts, sparse_rows
from skdp.support.validation import check_count, check_real, check_size, parameters

_MOST_SCALE = 1e6  # phases of angles are still exact
_BITS = 26  # of z, and of the largest sum of |W|·|z|: their products are whole numbers below 2^53


@dataclass(frozen=True, eq=False, kw_only=True)
class FourierMap(FeatureMap):
    """[cos Wz, sin Wz]/√(D/2), for z of numbers 2u − 1 and of categories as ones over √3.

    Rows of W are N(0, τ²·3/p), with p columns of the table, so W·z is about as wide as τ. If D is
    odd, the last row of W is 0 and has a cosine only. W and z are rounded to public grids on which
    W·z is exact, so it does not depend on the order in which a matrix product adds.
    """

    facts: TableFacts
    n_components: int = 500
    scale: float = 2.0
    feature_seed: int = 0

    @property
    def n_features_out(self) -> int:
        return self.n_components

    @property
    def n_waves(self) -> int:
        """Number of rows of W."""
        return (self.n_components + 1) // 2

    def for_fits(self) -> PhaseMap:
        return PhaseMap(self)

    def for_scores(self) -> PhaseMap:
        return PhaseMap(self)

    def angles(self, rows: np.ndarray, unit: float = 1.0) -> np.ndarray:
        """Return Wz in units, rounded once, of shape (n_samples, n_waves)."""
        W, z = self.occurring(rows, self.facts.unit_interval(rows))
        angles = z.T @ W.T
        angles *= self._grid[1] / unit
        return np.asarray(angles)

    def occurring(self, rows: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return W and z without entries that are 0 in all rows; sums are exact without zeros."""
        z = self._inputs(rows, u)
        occur = z.any(axis=1)
        return self._grid[0][:, occur], z[occur]

    @cached_property
    def _grid(self) -> tuple[np.ndarray, float]:
        """W in whole steps, of shape (n_waves, entries of z), and the unit of its products with z.

        Steps are a power of two, so that |W|·|z| adds up to 2²⁶ steps of W at most. z has steps of
        2⁻²⁶. In these units all partial sums are whole numbers up to 2⁵², plus half a step of W for
        each entry of z. That is less for up to 10⁶ entries, because no text is longer than 100. So
        a float64 holds them.
        """
        facts = self.facts
        size = len(facts.numbers) * (1 + facts.has_missing)
        size += sum(map(facts.size, facts.indicated))
        W, rng = np.zeros((self.n_waves, size)), np.random.default_rng(self.feature_seed)
        W[: self.n_components // 2] = rng.standard_normal((self.n_components // 2, size))
        W *= self.scale * math.sqrt(3.0 / facts.n_inputs)
        largest = max([1.0, *(bag.norm for bag in facts.bags.values())])  # entry of z
        most = largest * np.abs(W).sum(axis=1).max(initial=0.0)
        step = math.ldexp(1.0, math.frexp(most)[1] - _BITS)
        return np.rint(W / step), math.ldexp(step, -_BITS)

    def expand(self, rows: np.ndarray) -> np.ndarray:
        angles, out = self.angles(rows), np.empty((len(rows), self.n_components))
        np.cos(angles, out=out[:, : self.n_waves])
        np.sin(angles[:, : self.n_components // 2], out=out[:, self.n_waves :])
        out /= math.sqrt(self.n_waves)
        return out

    def _inputs(self, rows: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return z in steps of 2⁻²⁶, one column per row; u is from `unit_interval`.

        z is numbers, ones where they are missing, categories and texts.
        """
        z, p = np.zeros((self._grid[0].shape[1], len(rows))), len(self.facts.numbers)
        unknown, z[:p] = np.isnan(u), 2.0 * u - 1.0
        z[:p][unknown] = 0.0
        if self.facts.has_missing:
            z[p : 2 * p] = unknown
        start = p * (1 + self.facts.has_missing)
        for j in self.facts.indicated:
            self.facts.indicate(j, rows, z[start : start + self.facts.size(j)])
            start += self.facts.size(j)
        z[p:] /= math.sqrt(3.0)
        z *= 2.0**_BITS
        return np.rint(z, out=z)

    def names(self, columns: Sequence[Hashable]) -> list[str]:
        half, odd = range(self.n_components // 2), self.n_components % 2
        return [f"cos{k}" for k in half] + ["constant"] * odd + [f"sin{k}" for k in half]


@parameters
class RandomFourierFeatures(ColumnFeatures):
    """Cosines and sines of random combinations of the columns; rows have norm exactly 1.

    A number at place u in [0, 1] of its bounds becomes 2u − 1; a category is 1/√3 in a column of
    its own. These are z. A row of the output is [cos Wz, sin Wz]/√(D/2), where the entries of W are
    N(0, 3·τ²/p) for p columns. Products of two rows are close to exp(−3·τ²·|z − z'|²/(2p)), so a
    linear model of the features is close to a model of that kernel. W does not depend on the data,
    and `fit` learns nothing. Linear models, and their predictions, round W·z to 64 phases.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    categories : dict, list or None, default None
        *Public.* Possible values of categorical columns: a dict from names or positions of columns
        to lists, or one list for all columns. Other values belong to no category.
    missing : {"indicator", "error"}, default "indicator"
        *Public.* Treatment of NaN, ``None`` and ``pandas.NA``: an indicator or category of their
        own, or a ValueError.
    transformation : None, "log" or dict, default None
        *Public.* Scale of numeric columns. Use ``"log"`` for amounts and counts. A dict maps
        columns to ``None``, ``"log"`` (unit 1) or the unit of a logarithmic scale.
    n_components : int, default 500
        *Public.* D, the number of features. If it is odd, one feature is constant.
    scale : float, default 2.0
        *Public.* τ, the standard deviation of the angles W·z of a row that is uniform in its
        bounds, at most 1e6. Larger values fit rougher functions.
    feature_seed : int, default 0
        *Public.* Seed of the random features; not secret, unlike `random_state`.

    Attributes
    ----------
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** A row of the output depends on the same row of the input and on public numbers,
    so neighboring inputs give neighboring outputs. See *Feature maps* in the user guide for the
    norms.

    References
    ----------
    Rahimi and Recht 2007, "Random features for large-scale kernel machines".

    Examples
    --------
    >>> from skdp.features import RandomFourierFeatures
    >>> features = RandomFourierFeatures(bounds=(0, 100), n_components=4)
    >>> rows = features.fit_transform([[0.0], [50.0]])
    >>> (rows**2).sum(axis=1).round(12)
    array([1., 1.])
    """

    n_components: int = 500
    scale: float = 2.0
    feature_seed: int = 0

    def feature_map(self, n_columns: int, names: Sequence[Hashable] = ()) -> FourierMap:
        return FourierMap(
            facts=self._facts(n_columns, names),
            n_components=check_count("n_components", self.n_components),
            scale=check_real("scale", check_size("scale", self.scale), low=0.0, high=_MOST_SCALE),
            feature_seed=check_count("feature_seed", self.feature_seed, low=0),
        )


_PHASE_BITS = 6  # with 64 phases, log-loss is the same to .0001, and with 32 up to .0006 worse
_PHASES = 1 << _PHASE_BITS
_TURN = 2.0 * np.pi / _PHASES * np.arange(_PHASES)
_WAVES = np.cos(_TURN), np.sin(_TURN)
_ROUNDS = 1.5 * 2.0**52  # added to a smaller number, rounds it, with its integer in the last bits


@dataclass(frozen=True, eq=False)
class PhaseMap(FeatureMap):
    """Waves whose angles are rounded to 64 phases; a row has a small integer for two waves.

    The rounding is part of the public map and does not depend on the number of rows, which may be
    private. Fits and predictions read this map. Rows have norm 1.
    """

    waves: FourierMap

    @property
    def facts(self) -> TableFacts:  # type: ignore[override]
        return self.waves.facts

    @property
    def n_features_out(self) -> int:
        return self.waves.n_components

    @property
    def n_parts(self) -> int:
        """Number of parts with norm 1 before all are divided by its root."""
        return self.waves.n_waves

    @property
    def sizes(self) -> list[int]:
        """Numbers of values of the integers of a row."""
        return [_PHASES * _PHASES] * ((self.n_parts + 1) // 2)

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Return the phases of each row, those of two waves in one integer."""
        numbers = np.empty((len(self.sizes), len(X)), np.uint16)
        for start in range(0, len(X), _ROWS):
            angles = self.waves.angles(X[start : start + _ROWS], _TURN[1])
            phases = np.zeros((2 * len(numbers), len(angles)), np.uint16)
            phases[: self.n_parts] = np.rint(angles, out=angles).astype(np.int64).T & (_PHASES - 1)
            numbers[:, start : start + _ROWS] = phases[::2] | phases[1::2] << _PHASE_BITS
        return numbers.T

    def expand(self, rows: np.ndarray) -> np.ndarray:
        out, k = np.empty((len(rows), 2, self.n_parts)), self.n_parts
        for own, pairs in enumerate(self._pairs):
            out[:, own] = pairs.take(rows, axis=0).reshape(len(rows), 2 * len(self.sizes))[:, :k]
        return out.reshape(len(rows), 2 * k)[:, : self.n_features_out]

    def fill(self, W: np.ndarray, z: np.ndarray, factor: float, out: np.ndarray) -> None:
        """Write features times a factor, one row for each, and angles in `n_parts` rows more."""
        k, end = self.n_parts, self.n_features_out
        angles = np.matmul(W, z, out=out[end:])
        angles *= self.waves._grid[1] / _TURN[1]
        angles += _ROUNDS
        phases = angles.view(np.int64)
        phases &= _PHASES - 1
        for values, own in zip(_WAVES, (out[:k], out[k:end]), strict=True):
            (values / math.sqrt(k) * factor).take(phases[: len(own)], out=own, mode="clip")

    @cached_property
    def _pairs(self) -> list[np.ndarray]:
        """Cosines, then sines, of the two waves of each integer."""
        numbers = np.arange(_PHASES * _PHASES)
        both = np.stack([numbers % _PHASES, numbers >> _PHASE_BITS], axis=1)
        return [values.take(both) / math.sqrt(self.n_parts) for values in _WAVES]

    def tables(self, theta: np.ndarray) -> Sequence[np.ndarray]:
        """Return products with coefficients, by the integers of a row, not divided by a root."""
        k, both = self.n_parts, np.zeros((2, 2 * len(self.sizes), *theta.shape[1:]))
        both[0, :k], both[1, : len(theta) - k] = theta[:k], theta[k:]
        each = np.tensordot(_WAVES, both, (0, 0))  # phases, waves
        pairs = each[:, None, 1::2] + each[None, :, ::2]
        return np.moveaxis(pairs.reshape(-1, *pairs.shape[2:]), 1, 0)  # type: ignore[return-value]

    def sums(self, cells: Sequence[np.ndarray]) -> np.ndarray:
        """Return sums of rows, times the root, from sums over rows with the same integer."""
        both = np.stack(cells).reshape(-1, _PHASES, _PHASES, *cells[0].shape[1:])
        each = np.stack([both.sum(axis=1), both.sum(axis=2)], axis=1)  # pairs, waves, phases
        each = each.reshape(-1, *each.shape[2:])[: self.n_parts]
        waves = np.tensordot(_WAVES, each, (1, 1))
        return waves.reshape(-1, *waves.shape[2:])[: self.n_features_out]

    def names(self, columns: Sequence[Hashable]) -> list[str]:
        return self.waves.names(columns)


_DEEPEST = 16  # leaves of 100 trees are then 6 million features
_ROWS = 2048  # whose angles are computed at a time
_AT_ONCE = 4096  # ways of rows through trees that are followed at a time
_LEAF_BITS = 12  # of the leaves of several trees in one number, whose table a cache should hold


@dataclass(frozen=True, eq=False)
class _Forest:
    """Splits of T complete trees, in arrays of shape (T, nodes), with nodes in the order of a heap.

    `column` is the column that a node tests, with numbers first. A row goes right above
    `threshold`, or if `to_the_right`, of shape (T, nodes, codes), is true for its category; the
    last code is missing.
    """

    column: np.ndarray
    threshold: np.ndarray
    to_the_right: np.ndarray


class Packed(NamedTuple):
    """Leaves of several trees as one integer, with the first tree in the highest digits."""

    spans: tuple[slice, ...]
    shape: tuple[int, ...]  # number of leaves of each tree


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeMap(FeatureMap):
    """The leaf that a row falls into: 1/√T in each of T complete trees.

    A node tests a random column: whether a number is above a threshold that is uniform in the
    node's cell, or whether a category is in a random subset. A missing value goes to a random side;
    an unknown category goes left. A row goes right if a word of the tested bucket occurs.
    """

    facts: TableFacts
    n_trees: int = 100
    depths: tuple[int, int] = (8, 8)
    feature_seed: int = 0

    @property
    def n_features_out(self) -> int:
        return int((1 << self._depth).sum())

    @property
    def n_entries(self) -> int:
        return self.n_trees

    @property
    def n_parts(self) -> int:
        """Number of parts with norm 1 before all are divided by its root."""
        return self.n_trees

    @property
    def is_sparse(self) -> bool:
        return True

    @property
    def sizes(self) -> list[int]:
        """Numbers of values of the integers of a row."""
        return [math.prod(trees.shape) for trees in self.packed]

    @cached_property
    def _depth(self) -> np.ndarray:
        least, most = self.depths
        return least + np.arange(self.n_trees) % (most - least + 1)

    @cached_property
    def _forest(self) -> _Forest:
        rng, facts = np.random.default_rng(self.feature_seed), self.facts
        p, shape = len(facts.numbers), (self.n_trees, (1 << self.depths[1]) - 1)
        column = rng.integers(facts.n_columns, size=shape)
        places = 1 + max([facts.categories[j].size for j in facts.categories], default=0)
        threshold = _thresholds(column, p, self.depths[1], rng)
        # the smallest integers, because the forest is part of a pickle
        small = column.astype(np.min_scalar_type(facts.n_columns))
        return _Forest(small, threshold, rng.random((*shape, places)) < 0.5)

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """For each tree, the number that its leaf is part of, and by how many bits it is shifted.

        Bytes, unless larger numbers are fewer.
        """
        small, large = _places(self._depth, 8), _places(self._depth, _LEAF_BITS)
        return small if max(small)[0] <= max(large)[0] else large

    @cached_property
    def packed(self) -> list[Packed]:
        """The trees of each number that `prepare` returns for a row."""
        stops = (1 << self._depth).cumsum().tolist()
        parts: list[list[slice]] = [[] for _ in range(1 + max(self._places)[0])]
        for tree in sorted(range(self.n_trees), key=lambda tree: -self._places[tree][1]):
            size = 1 << int(self._depth[tree])
            parts[self._places[tree][0]].append(slice(stops[tree] - size, stops[tree]))
        return [
            Packed(tuple(spans), tuple(span.stop - span.start for span in spans)) for spans in parts
        ]

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Return the leaves of each row, those of several trees in one small integer."""
        is_small = max(math.prod(trees.shape) for trees in self.packed) <= 1 << 8
        dtype = np.uint8 if is_small else np.uint16
        numbers = np.empty((len(self.packed), len(X)), dtype)
        for start in range(0, len(X), _AT_ONCE):
            rows = X[start : start + _AT_ONCE]
            found = np.zeros((len(numbers), len(rows)), dtype)
            for leaf, (number, shift) in zip(self._leaves(rows), self._places, strict=True):
                found[number] |= (leaf << shift).astype(dtype)
            numbers[:, start : start + _AT_ONCE] = found
        return numbers.T

    def tables(self, theta: np.ndarray) -> Sequence[np.ndarray]:
        """Return products with coefficients, by the integers of a row, not divided by a root."""
        return [_sums(trees.shape, [theta[span] for span in trees.spans]) for trees in self.packed]

    def sums(self, cells: Sequence[np.ndarray]) -> np.ndarray:
        """Return sums of rows, times the root, from sums over rows with the same integer."""
        total = np.empty((self.n_features_out, *cells[0].shape[1:]))
        for own, trees in zip(cells, self.packed, strict=True):
            table = own.reshape(*trees.shape, *own.shape[1:])
            for k, span in enumerate(trees.spans):
                others = tuple(i for i in range(len(trees.shape)) if i != k)
                total[span] = table.sum(axis=others)
        return total

    def _leaves(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the number of the leaf of each row, tree by tree."""
        questions, step = self._questions(rows), max(1, _AT_ONCE // max(1, len(rows)))
        for start in range(0, self.n_trees, step):
            yield from self._leaves_of(slice(start, start + step), *questions)

    def _leaves_of(self, trees: slice, u: np.ndarray, codes: np.ndarray | None) -> np.ndarray:
        """Return leaves of shape (n_trees, n_rows); few rows go down many trees together."""
        depth, column = self._depth[trees], self._forest.column[trees]
        threshold, to_the_right = self._forest.threshold[trees], self._forest.to_the_right[trees]
        # u, codes and nodes as one row: taking by one number is several times as fast as by two
        n, first = u.shape[1], np.arange(len(depth))[:, None] * column.shape[1]
        of_row, starts = np.arange(n), column.astype(np.intp) * n
        node = np.zeros((len(depth), n), dtype=np.intp)
        for level in range(depth.max()):
            at = node if len(depth) == 1 else node + first
            asked = starts.take(at)
            asked += of_row
            right = u.take(asked) > threshold.take(at)
            if codes is not None:
                code = codes.take(asked)
                right |= (code >= 0) & to_the_right.reshape(-1, to_the_right.shape[2])[at, code]
            if level < depth.min():
                node += node
                node += 1
                node += right
            else:  # some trees have ended
                node += (level < depth)[:, None] * (node + 1 + right)
        return node - ((1 << depth) - 1)[:, None]

    def _questions(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return u, −inf where there is none, and codes of categories and missing values, or −1."""
        numbers, p = self.facts.unit_interval(rows), len(self.facts.numbers)
        u = np.full((self.facts.n_columns, len(rows)), -np.inf)
        unknown = np.isnan(numbers)
        u[:p] = np.where(unknown, -np.inf, numbers)
        for j, start in self._words:
            some = slice(start, start + self.facts.bags[j].size)
            u[some] = np.where(rows.T[j : j + self.facts.bags[j].size] > 0.0, 1.0, -np.inf)
        if not (self.facts.categories or self.facts.bags or unknown.any()):
            return u, None
        codes = np.full(u.shape, -1)
        codes[:p][unknown] = self._forest.to_the_right.shape[2] - 1
        place = self._forest.to_the_right.shape[2] - 1  # of a missing value
        for k, j in enumerate(self.facts.categories, start=p):
            codes[k] = np.where(np.isnan(rows[:, j]), place, rows[:, j])
        for j, start in self._words:
            missing = np.isnan(rows[:, j])
            codes[start : start + self.facts.bags[j].size, missing] = place
        return u, codes

    @property
    def _words(self) -> list[tuple[int, int]]:
        """The first column of each text, and its place behind numbers and categories."""
        starts, start = [], len(self.facts.numbers) + len(self.facts.categories)
        for j, bag in self.facts.bags.items():
            starts.append((j, start))
            start += bag.size
        return starts

    def expand(self, rows: np.ndarray) -> sparse.csr_matrix:
        n, T, leaves = len(rows), self.n_trees, 1 << self._depth
        number, shift = np.transpose(self._places)
        columns = rows[:, number].astype(np.int32) >> shift.astype(np.int32)
        columns &= (leaves - 1).astype(np.int32)
        columns += (leaves.cumsum() - leaves).astype(np.int32)
        return sparse_rows(columns, np.full((n, T), 1.0 / math.sqrt(T)), self.n_features_out)

    def names(self, columns: Sequence[Hashable]) -> list[str]:
        return [
            f"tree{t}_leaf{leaf}"
            for t, depth in enumerate(self._depth)
            for leaf in range(1 << depth)
        ]


@parameters
class RandomTreeFeatures(ColumnFeatures):
    """Indicators of the leaves of random trees; rows have norm exactly 1.

    Each node of a complete tree tests one column, chosen uniformly: whether a number lies above a
    threshold that is uniform in the node's own cell, or whether a category is in a random subset. A
    row has 1/√T in the column of its leaf in each of T trees, and zeros elsewhere. Trees do not
    depend on the data, and `fit` learns nothing. (`RandomTreesEmbedding` of scikit-learn draws
    thresholds between the extremes of the data, and so reveals them.)

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    categories : dict, list or None, default None
        *Public.* Possible values of categorical columns: a dict from names or positions of columns
        to lists, or one list for all columns. Other values belong to no category.
    missing : {"indicator", "error"}, default "indicator"
        *Public.* Treatment of NaN, ``None`` and ``pandas.NA``: an indicator or category of their
        own, or a ValueError.
    transformation : None, "log" or dict, default None
        *Public.* Scale of numeric columns. Use ``"log"`` for amounts and counts. A dict maps
        columns to ``None``, ``"log"`` (unit 1) or the unit of a logarithmic scale.
    n_trees : int, default 100
        *Public.* T, the number of trees.
    depth : int or pair (least, most), default 8
        *Public.* Depth of the trees, at most 16. A pair spreads the depths evenly over the trees:
        shallow trees learn smooth effects from few rows, deep trees learn the rest.
    feature_seed : int, default 0
        *Public.* Seed of the random features; not secret, unlike `random_state`.

    Attributes
    ----------
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** A row of the output depends on the same row of the input and on public numbers,
    so neighboring inputs give neighboring outputs. See *Feature maps* in the user guide for the
    norms.

    References
    ----------
    Geurts, Ernst and Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    Examples
    --------
    >>> from skdp.features import RandomTreeFeatures
    >>> features = RandomTreeFeatures(bounds=(0, 100), n_trees=4, depth=2)
    >>> rows = features.fit_transform([[0.0], [50.0]])
    >>> rows.shape, rows.nnz, float(rows.max())
    ((2, 16), 8, 0.5)
    """

    n_trees: int = 100
    depth: int | tuple[int, int] = 8
    feature_seed: int = 0

    def feature_map(self, n_columns: int, names: Sequence[Hashable] = ()) -> TreeMap:
        return TreeMap(
            facts=self._facts(n_columns, names),
            n_trees=check_count("n_trees", self.n_trees),
            depths=_depths(self.depth),
            feature_seed=check_count("feature_seed", self.feature_seed, low=0),
        )


def _depths(depth: int | tuple[int, int]) -> tuple[int, int]:
    pair = depth if isinstance(depth, (tuple, list)) and len(depth) == 2 else (depth, depth)
    least, most = (check_count("depth", side) for side in pair)
    if not least <= most <= _DEEPEST:
        raise ValueError(
            f"depth must be at most {_DEEPEST}, or a pair (least, most) of such depths, "
            f"got {depth!r}."
        )
    return least, most


def _places(depths: np.ndarray, most_bits: int) -> list[tuple[int, int]]:
    """Return a number and a shift for each tree: the deepest first, where there is space for it."""
    used: list[int] = []
    found = [(0, 0)] * len(depths)
    for tree in np.argsort(-depths, kind="stable").tolist():
        depth = int(depths[tree])
        number = next((k for k, bits in enumerate(used) if bits + depth <= most_bits), len(used))
        if number == len(used):
            used.append(0)
        found[tree] = number, used[number]
        used[number] += depth
    return found


def _thresholds(column: np.ndarray, p: int, depth: int, rng: np.random.Generator) -> np.ndarray:
    """Return for each node a number uniform in its cell along its column; 0 for categories."""
    threshold, size = np.zeros(column.shape), max(p, 1)
    low = np.zeros((len(column), 1, size))
    high = np.ones_like(low)
    for level in range(depth):
        nodes = slice((1 << level) - 1, (2 << level) - 1)
        asked, numeric = np.minimum(column[:, nodes], size - 1)[:, :, None], column[:, nodes] < p
        a, b = (np.take_along_axis(side, asked, 2)[:, :, 0] for side in (low, high))
        cut = rng.uniform(a, b)
        threshold[:, nodes] = np.where(numeric, cut, 0.0)
        low, high = np.repeat(low, 2, axis=1), np.repeat(high, 2, axis=1)
        np.put_along_axis(high[:, 0::2], asked, np.where(numeric, cut, b)[:, :, None], 2)
        np.put_along_axis(low[:, 1::2], asked, np.where(numeric, cut, a)[:, :, None], 2)
    return threshold


def _sums(shape: tuple[int, ...], parts: list[np.ndarray]) -> np.ndarray:
    """Return the sum of one entry of each part, for all combinations in the order of an array."""
    total = parts[0]
    for part in parts[1:]:
        total = total[:, None] + part[None]
        total = total.reshape(-1, *part.shape[1:])
    assert len(total) == math.prod(shape), "one number for each combination of leaves"
    return total
