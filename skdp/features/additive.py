"""Additive features: curves of numbers, indicators of categories, and their products."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from skdp.data.column_facts import by_column
from skdp.data.columns import column_name
from skdp.features.base import (
    ColumnFeatures,
    FeatureMap,
    TableFacts,
    TabulatedMap,
    as_sparse,
    is_mostly_zero,
)
from skdp.support.types import MatrixLike, VectorLike
from skdp.support.validation import check_choice, check_count, check_real, parameters

_PAIR_TERMS = 3
# Of all pairs: with more, a fit to 50 000 rows takes minutes. Named pairs have no limit.
_MOST_FEATURES, _MOST_ENTRIES = 65_536, 1024


class _Part(NamedTuple):
    """Entries of features that may differ from 0: their places and values, (entries, rows)."""

    places: np.ndarray
    values: np.ndarray
    size: int  # number of features


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditiveMap(FeatureMap):
    """The additive features: numbers first, then categories, then pairs of columns.

    The parameters are those of `AdditiveFeatures`, checked: `from_low` says which numeric columns
    have features that are zero at the low bound, `pairs` are the columns whose features are
    multiplied, and `shortened` divides all features so that no row is longer than 1. `densities`
    are *released* shares of rows in equal parts of u, by column, of columns with constraints.
    """

    facts: TableFacts
    n_terms: int
    linear_share: float
    from_low: np.ndarray
    pairs: tuple[tuple[int, int], ...] = ()
    shortened: bool = False
    is_sparse: bool = False  # type: ignore[misc]
    densities: Mapping[int, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: TableFacts, features: AdditiveFeatures) -> AdditiveMap:
        """Return the map for the parameters of `AdditiveFeatures`, checked."""
        share, norm = features.linear_share, features.norm
        found = cls(
            facts=facts,
            n_terms=check_count("n_terms", features.n_terms),
            linear_share=check_real("linear_share", share, low=0.0, high=1.0, closed="[]"),
            from_low=_from_low(features.reference, facts),
            pairs=_pairs(features.interactions, facts),
            shortened=check_choice("norm", norm, ("rows", "blocks")) == "blocks",
        )
        if not isinstance(features.interactions, str):
            return found
        n, entries = found.n_features_out, found.for_fits().n_entries
        if n > _MOST_FEATURES or entries > _MOST_ENTRIES:
            raise ValueError(
                f"interactions='pairs' makes {n} features, of which {entries} in a row are not "
                f"zero. At most {_MOST_FEATURES} and {_MOST_ENTRIES} are allowed. Name the pairs "
                "of columns, or use an additive model with interactions='auto'."
            )
        return found

    @property
    def n_features_out(self) -> int:
        return self.spans[-1][1].stop if self.spans else 0

    @cached_property
    def spans(self) -> list[tuple[tuple[int, ...], slice]]:
        """The columns that each block of features reads, and its place."""
        sizes: list[tuple[tuple[int, ...], int]] = []
        sizes += [((int(j),), self._n_number) for j in self.facts.numbers]
        sizes += [((j,), self.facts.size(j)) for j in self.facts.indicated]
        sizes += [(pair, math.prod(map(self.n_factors, pair))) for pair in self.pairs]
        stops = np.cumsum([size for _, size in sizes]).tolist()
        return [
            (columns, slice(stop - size, stop))
            for (columns, size), stop in zip(sizes, stops, strict=True)
        ]

    @property
    def _n_number(self) -> int:
        """Features of a numeric column."""
        return (self.linear_share > 0.0) + self._n_waves + self.facts.has_missing

    @property
    def _n_waves(self) -> int:
        return self.n_terms if self.linear_share < 1.0 else 0

    def n_factors(self, j: int) -> int:
        """Return how many factors a column has in pairs."""
        return self.facts.size(j) if j in self.facts.categories else _PAIR_TERMS

    @cached_property
    def typical_square(self) -> float:
        """Mean |Φ|² over uniform u, without pairs and before all are shortened."""
        g = self.linear_share
        waves = np.where(self.from_low, _low_weights(self.n_terms).sum(), 0.5)
        bags = sum(bag.norm**2 for bag in self.facts.bags.values())
        return float((g / 3.0 + (1.0 - g) * waves).sum()) + len(self.facts.categories) + bags

    @cached_property
    def pair_scale(self) -> float:
        """Factor of pairs, with which they have half of the squared norm over uniform u."""
        found = sum(math.prod(map(self._factor_square, pair)) for pair in self.pairs)
        return math.sqrt(self.typical_square / found) if self.pairs else 0.0

    def _factor_square(self, j: int) -> float:
        if j in self.facts.categories:
            return 1.0
        from_low = self.from_low[self.facts.numbers.tolist().index(j)]
        return float(_low_weights(_PAIR_TERMS).sum()) if from_low else 0.5

    @property
    def most_square(self) -> float:
        """Bound of |Φ|² before all are shortened.

        It is 1 for each column, the squared norm of a text or 1 for its indicator, and for each
        pair its own.
        """
        alone = self.facts.n_inputs - len(self.facts.bags)
        bags = sum(max(bag.norm**2, 1.0) for bag in self.facts.bags.values())
        return alone + bags + self.pair_scale**2 * len(self.pairs)

    @property
    def scale(self) -> float:
        """Factor of all features."""
        return 1.0 / math.sqrt(self.most_square) if self.shortened else 1.0

    @property
    def n_entries(self) -> int:
        return self._n_filled if self.is_sparse else self.n_features_out

    @property
    def _n_filled(self) -> int:
        """Features of a row that may differ from 0, whether zeros are stored or not."""
        return sum(map(self._n_entries, self.spans))

    def _n_entries(self, span: tuple[tuple[int, ...], slice]) -> int:
        """Return how many features of a block are not 0, of a category or product with one."""
        columns, where = span
        return (where.stop - where.start) // math.prod(
            self.facts.size(j) for j in columns if j in self.facts.categories
        )

    @property
    def cost(self) -> int:
        # Texts have no tables, so other features would be made again in each pass.
        return 8 if self.is_sparse or self.facts.bags else 1

    def expand(self, rows: np.ndarray) -> MatrixLike:
        if self.is_sparse:
            return self._expanded_sparse(rows)
        out = np.zeros((self.n_features_out, len(rows)))
        u, unknown = self._unit_interval(rows)
        p = len(self.facts.numbers)
        self._numbers(u, unknown, out[: p * self._n_number].reshape(p, self._n_number, len(rows)))
        for (j, *_), span in self.spans[p : self.facts.n_inputs]:
            self.facts.indicate(j, rows, out[span])
        if self.pairs:
            self._products(u, unknown, out)
        if self.shortened:
            out *= self.scale
        return out.T

    def _unit_interval(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return u, 0 where it is missing, and where it is; None for no value."""
        u = self.facts.unit_interval(rows)
        unknown = np.isnan(u)
        u[unknown] = 0.0
        return u, unknown if unknown.any() else None

    def _numbers(self, u: np.ndarray, unknown: np.ndarray | None, out: np.ndarray) -> None:
        """Write linear and Fourier features and missing indicators: (n_numbers, features, rows)."""
        g, low = self.linear_share, self.from_low[:, None]
        first = int(g > 0.0)
        if first:
            np.multiply(u, math.sqrt(g) * np.where(low, 1.0, 2.0), out=out[:, 0])
            out[:, 0] -= math.sqrt(g) * ~low
        if self._n_waves:
            waves = out[:, first : first + self.n_terms]
            _waves(u, self.from_low, waves)
            waves *= math.sqrt(1.0 - g) * amplitudes(self.from_low, self.n_terms)[:, :, None]
        if unknown is not None:
            out[:, : first + self._n_waves].transpose(0, 2, 1)[unknown] = 0.0
            out[:, -1][unknown] = 1.0

    def _products(self, u: np.ndarray, unknown: np.ndarray | None, out: np.ndarray) -> None:
        """Write the products of the features of two columns."""
        factors = self._factors_of_numbers(u, unknown)
        for columns, span in self.spans:
            if len(columns) == 1 and columns[0] in self.facts.categories:
                factors[columns[0]] = out[span]
            elif len(columns) == 2:
                one, other = (factors[j] for j in columns)
                np.multiply(
                    self.pair_scale * one[:, None],
                    other,
                    out=out[span].reshape(len(one), *other.shape),
                )

    def _expanded_sparse(self, rows: np.ndarray) -> MatrixLike:
        """Return the same features without most zeros, as many in each row."""
        u, unknown = self._unit_interval(rows)
        numbers = np.zeros((len(u), self._n_number, len(rows)))
        self._numbers(u, unknown, numbers)
        single = dict(zip(self.facts.numbers.tolist(), numbers, strict=True))
        for j in self.facts.bags:
            single[j] = np.zeros((self.facts.size(j), len(rows)))
            self.facts.indicate(j, rows, single[j])
        waves = self._factors_of_numbers(u, unknown) if self.pairs else {}
        terms = np.arange(_PAIR_TERMS)[:, None]
        places = {j: self._places(j, rows[:, j]) for j in self.facts.categories}
        factors = places | {j: _Part(terms, own, _PAIR_TERMS) for j, own in waves.items()}
        parts = []
        for columns, span in self.spans:
            if len(columns) == 1 and columns[0] not in places:
                size = span.stop - span.start
                part = _Part(np.arange(size)[:, None], single[columns[0]], size)
            else:
                part = _product([factors[j] for j in columns])
            scale = self.scale * (self.pair_scale if len(columns) == 2 else 1.0)
            parts.append((span.start + part.places, scale * part.values))
        return as_sparse(parts, self.n_features_out)

    def _factors_of_numbers(
        self, u: np.ndarray, unknown: np.ndarray | None
    ) -> dict[int, np.ndarray]:
        """Return the factors of numbers in products, (factors, rows), by column."""
        waves = np.empty((len(u), _PAIR_TERMS, u.shape[1]))
        _waves(u, self.from_low, waves)
        waves *= amplitudes(self.from_low, _PAIR_TERMS)[:, :, None]
        if unknown is not None:
            waves.transpose(0, 2, 1)[unknown] = 0.0
        return dict(zip(self.facts.numbers.tolist(), waves, strict=True))

    def _places(self, j: int, codes: np.ndarray) -> _Part:
        """Return the place of a category, with 0 for an unknown one."""
        places = np.where(np.isnan(codes), self.facts.categories[j].size, codes).astype(np.intp)
        known = (places >= 0).astype(np.float64)
        return _Part(np.maximum(places, 0)[None], known[None], self.facts.size(j))

    def for_scores(self) -> AdditiveMap:
        is_sparser = is_mostly_zero(self.n_features_out, self._n_filled)
        return replace(self, is_sparse=True) if is_sparser else self

    def for_fits(self) -> FeatureMap:
        if self.pairs and self.facts.categories:
            return replace(self, is_sparse=True)
        if self.pairs or self.facts.bags or not self._n_waves:
            return self.for_scores()
        low = self.from_low.tolist()
        alike = [low.index(kind) for kind in low]
        alike += range(len(low), len(self.spans))
        spans = [(columns[0], span) for columns, span in self.spans]
        return TabulatedMap(self.facts, self, spans, alike)

    def names(self, columns: Sequence[Hashable]) -> list[str]:
        single, factors = {}, {}
        for j in self.facts.numbers.tolist():
            waves = [f"{columns[j]}_wave{k}" for k in range(1, 1 + max(self.n_terms, _PAIR_TERMS))]
            line = [f"{columns[j]}"] if self.linear_share > 0.0 else []
            missing = [f"missing_{columns[j]}"] if self.facts.has_missing else []
            single[j] = [*line, *waves[: self._n_waves], *missing]
            factors[j] = waves[:_PAIR_TERMS]
        for j in self.facts.indicated:
            single[j] = factors[j] = self.facts.names_of(j, columns)
        names = [name for (j, *pair), _ in self.spans if not pair for name in single[j]]
        for i, j in self.pairs:
            names += [f"{one} {other}" for one in factors[i] for other in factors[j]]
        return names


@parameters
class AdditiveFeatures(ColumnFeatures):
    r"""Expand each column so that a linear model of the features is a sum of curves.

    A number x between its bounds is u = (t(x) − t(low))/(t(high) − t(low)), clipped to [0, 1], with
    t the identity or x ↦ sign(x)·log(1 + \|x\|/unit). Its features are √g·(2u − 1) and
    √((1 − g)·w_k)·cos(πku) for k = 1..K, with g = `linear_share`, K = `n_terms` and weights
    w_k = (1/k)/Σ(1/i). They form a vector no longer than 1. A category is a 1 in a column of its
    own. `fit` learns nothing.

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
    n_terms : int, default 8
        *Public.* K, the number of Fourier features of a numeric column.
    linear_share : float in [0, 1], default 0.5
        *Public.* Share g of the straight line, between 0 (only Fourier features) and 1 (only the
        line).
    transformation : None, "log" or dict, default None
        *Public.* Scale of numeric columns. Use ``"log"`` for amounts and counts. A dict maps
        columns to ``None``, ``"log"`` (unit 1) or the unit of a logarithmic scale.
    reference : None, "low" or list, default None
        *Public.* Numeric columns whose features are zero at the low bound, ``"low"`` for all. Use
        it if most values are at the low bound, as in counts of words.
    interactions : None, "pairs" or list of pairs, default None
        *Public.* Pairs of columns by name or position, ``"pairs"`` for all. The first three Fourier
        features, or the categories, of both columns are multiplied. ``"pairs"`` raises ValueError
        above 65 536 features, or above 1024 in a row that are not zero.
    norm : {"rows", "blocks"}, default "rows"
        *Public.* ``"rows"``: the features of each column have at most norm 1, and the model clips
        the row. ``"blocks"``: no row is longer than 1, so none is clipped; the model is then
        exactly additive, but noisier.

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

    Examples
    --------
    >>> from skdp.features import AdditiveFeatures
    >>> features = AdditiveFeatures(bounds=(0, 100), n_terms=2, missing="error")
    >>> features.fit_transform([[0.0], [50.0]]).round(3)
    array([[-0.707,  0.577,  0.408],
           [ 0.   ,  0.   , -0.408]])
    >>> features.get_feature_names_out().tolist()
    ['x0', 'x0_wave1', 'x0_wave2']
    """

    n_terms: int = 8
    linear_share: float = 0.5
    reference: VectorLike = None
    interactions: VectorLike = None
    norm: str = "rows"

    def feature_map(self, n_columns: int, names: Sequence[Hashable] = ()) -> AdditiveMap:
        return AdditiveMap.of(self._facts(n_columns, names), self)


def as_additive(feature_map: object) -> AdditiveMap:
    """Return the map of `AdditiveFeatures`, which additive models have."""
    assert isinstance(feature_map, AdditiveMap), "the map of AdditiveFeatures"
    return feature_map


def _product(factors: Sequence[_Part]) -> _Part:
    """Return the products of the entries of one or two parts, in the order of their places."""
    if len(factors) == 1:
        return factors[0]
    one, other = factors
    places = one.places[:, None] * other.size + other.places
    values = one.values[:, None] * other.values
    n_rows = values.shape[-1]
    return _Part(
        places.reshape(-1, places.shape[-1]),
        values.reshape(-1, n_rows),
        one.size * other.size,
    )


def _from_low(reference: VectorLike, facts: TableFacts) -> np.ndarray:
    """Return which numeric columns have features that are zero at the low bound."""
    if reference is None or (isinstance(reference, str) and reference == "low"):
        return np.full(facts.numbers.size, reference is not None)
    if isinstance(reference, str) or np.ndim(reference) != 1:
        raise ValueError(
            f"reference must be None, 'low' or a list of numeric columns, got {reference!r}."
        )
    found = by_column("reference", dict.fromkeys(reference), facts.n_columns, facts.names)
    if strangers := [column_name(facts.names, j) for j in found if j not in facts.numbers]:
        raise ValueError(f"reference is only for numeric columns, and {strangers} are not numeric.")
    return np.isin(facts.numbers, list(found))


def _pairs(interactions: VectorLike, facts: TableFacts) -> tuple[tuple[int, int], ...]:
    """Return pairs of columns, the one with the lower number first."""
    if interactions is None:
        return ()
    if isinstance(interactions, str):
        check_choice("interactions", interactions, ("pairs",))
        return tuple(combinations(sorted([*facts.numbers.tolist(), *facts.categories]), 2))
    pairs = [_pair(pair, facts) for pair in interactions]
    if any(j not in facts.categories and j not in facts.numbers for pair in pairs for j in pair):
        raise ValueError("interactions cannot name words of a text.")
    if len({*pairs}) < len(pairs):
        raise ValueError(f"interactions must name each pair of columns once, got {interactions!r}.")
    return tuple(pairs)


def _pair(pair: VectorLike, facts: TableFacts) -> tuple[int, int]:
    if isinstance(pair, (str, bytes)) or np.ndim(pair) != 1 or len({*pair}) != 2 or len(pair) != 2:
        raise ValueError(
            f"interactions must be None, 'pairs' or a list of pairs of different columns, got the "
            f"entry {pair!r}."
        )
    i, j = sorted(by_column("interactions", dict.fromkeys(pair), facts.n_columns, facts.names))
    return i, j


def _waves(u: np.ndarray, from_low: np.ndarray, out: np.ndarray) -> None:
    """Write cos(πku), or sin((k − ½)πu) where features are zero at the low end, k = 1, 2, …

    Both follow f_{k+1} = 2·cos(πu)·f_k − f_{k−1}; rounding grows as k², to 1e-13 for k = 30.
    """
    angle = np.pi * u
    twice = 2.0 * np.cos(angle)
    np.multiply(twice, 0.5, out=out[:, 0])
    before = np.ones_like(u)
    if from_low.any():
        out[from_low, 0] = np.sin(0.5 * angle[from_low])
        before[from_low] = -out[from_low, 0]
    for k in range(1, out.shape[1]):
        np.multiply(twice, out[:, k - 1], out=out[:, k])
        out[:, k] -= before if k == 1 else out[:, k - 2]


def amplitudes(from_low: np.ndarray, n_terms: int) -> np.ndarray:
    """Return the factors of waves, of shape (n_numbers, n_terms); squares sum to 1 at most."""
    k = np.arange(1, n_terms + 1)
    weights = (1.0 / k) / (1.0 / k).sum()
    return np.sqrt(np.where(from_low[:, None], 2.0 * _low_weights(n_terms), weights))


def _low_weights(n_terms: int) -> np.ndarray:
    """Return 1/((k − ½)π)², of which 2·Σ·sin²((k − ½)πu) = u over all k."""
    return 1.0 / ((np.arange(1, n_terms + 1) - 0.5) * np.pi) ** 2
