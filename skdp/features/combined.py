"""Features of a table that are combined from several maps: mixtures, and the choice of a model."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from skdp.data.column_facts import by_column
from skdp.features.additive import AdditiveFeatures, AdditiveMap
from skdp.features.base import (
    FeatureMap,
    PublicFeatures,
    TableFacts,
    TabulatedMap,
    sparse_rows,
)
from skdp.features.random_maps import (
    FourierMap,
    PhaseMap,
    RandomFourierFeatures,
    RandomTreeFeatures,
    TreeMap,
)
from skdp.support.types import Bounds, Categories, MatrixLike, Transformation
from skdp.support.validation import check_real, parameters

_ROWS, _AT_ONCE = 4096, 512  # rows that are coded at a time, and whose features a cache holds
_RANDOM = (RandomFourierFeatures, RandomTreeFeatures)


@dataclass(frozen=True, eq=False, repr=False)
class _Rows:
    """Prepared rows of two maps."""

    additive: np.ndarray
    other: np.ndarray

    def __len__(self) -> int:
        return len(self.other)

    def __getitem__(self, rows: MatrixLike) -> _Rows:
        return _Rows(self.additive[rows], self.other[rows])


@dataclass(frozen=True, eq=False, kw_only=True)
class MixtureMap(FeatureMap):
    """[√s·a/max(1, |a|), √(1 − s)·b], of additive features a and of features b of norm 1.

    `additive_share` is s, strictly between 0 and 1, and `most_square` bounds |a|². Both maps read
    the same table.
    """

    additive: AdditiveMap | TabulatedMap
    other: FourierMap | PhaseMap | TreeMap
    additive_share: float
    most_square: float

    @property
    def facts(self) -> TableFacts:  # type: ignore[override]
        return self.other.facts

    @property
    def n_features_out(self) -> int:
        return self.additive.n_features_out + self.other.n_features_out

    @property
    def n_entries(self) -> int:
        return self.additive.n_features_out + self.other.n_entries

    @property
    def is_sparse(self) -> bool:
        return self.other.is_sparse

    @property
    def cost(self) -> int:
        return 8 if self.is_sparse else 2  # waves are looked up

    @property
    def is_looked_up(self) -> bool:
        """Whether `made` looks up dense curves and waves.

        Rows then have norm 1 at most, up to the errors of a sum of all squares.
        """
        is_table = isinstance(self.additive, TabulatedMap) and not self.additive.is_sparse
        return is_table and isinstance(self.other, PhaseMap)

    def for_fits(self) -> MixtureMap:
        near = self.additive.for_fits()
        near = near if isinstance(near, TabulatedMap) else self.additive
        waves = self.other.for_fits() if isinstance(self.other, FourierMap) else self.other
        return replace(self, additive=near, other=waves)

    def for_scores(self) -> MixtureMap:
        return self if isinstance(self.other, TreeMap) else self.for_fits()

    def prepare(self, X: np.ndarray) -> _Rows:
        return _Rows(self.additive.prepare(X), self.other.prepare(X))

    def expand(self, rows: _Rows) -> MatrixLike:
        first, second = self.additive.expand(rows.additive), self.other.expand(rows.other)
        first = first.toarray() if sparse.issparse(first) else first
        factors = math.sqrt(self.additive_share) / _lengths(first, self.most_square)
        share, (n, m) = math.sqrt(1.0 - self.additive_share), first.shape
        if self.is_sparse:
            cells, shape = sparse.csr_matrix(second * share), (n, self.other.n_entries)
            left = np.tile(np.arange(m, dtype=np.int32), (n, 1))
            places = np.hstack([left, cells.indices.reshape(shape) + np.int32(m)])
            entries = np.hstack([first * factors[:, None], cells.data.reshape(shape)])
            return sparse_rows(places, entries, self.n_features_out)
        out = np.empty((n, self.n_features_out))
        np.multiply(first, factors[:, None], out=out[:, :m])
        np.multiply(second, share, out=out[:, m:])
        return out

    def made(self, X: np.ndarray) -> Iterator[tuple[slice, MatrixLike]]:
        near, waves, step = self.additive, self.other, _AT_ONCE
        if not self.is_looked_up:
            yield from super().made(X)
            return
        assert isinstance(near, TabulatedMap), "see `is_looked_up`"
        assert isinstance(waves, PhaseMap), "see `is_looked_up`"
        m, size = near.n_features_out, self.n_features_out
        height, share = size + waves.n_parts, math.sqrt(1.0 - self.additive_share)
        space, is_alike = np.empty(height * step), near.facts.scales_as(self.facts)
        for start in range(0, max(1, len(X)), _ROWS):
            rows = X[start : start + _ROWS]
            u = self.facts.unit_interval(rows)
            near_u = u if is_alike else near.facts.unit_interval(rows)
            places, (W, z) = near.places(rows, near_u).T, waves.waves.occurring(rows, u)
            factors = np.sqrt(self.additive_share / np.maximum(near.squares(places), 1.0))
            for first in range(0, max(1, len(rows)), step):
                own = slice(first, min(first + step, len(rows)))
                out = space[: height * (own.stop - first)].reshape(height, own.stop - first)
                np.multiply(near.expand(places[own]).T, factors[own], out=out[:m])
                waves.fill(W, z[:, own], share, out[m:])
                yield slice(start + first, start + own.stop), out[:size].T

    def names(self, columns: Sequence[Hashable]) -> list[str]:
        return self.additive.names(columns) + self.other.names(columns)


@parameters
class FeatureMixture(PublicFeatures):
    r"""Put additive features and random features of the same columns side by side.

    A row becomes [√s·a/max(1, \|a\|), √(1 − s)·b], with a its additive features, b its random
    features and s = `additive_share`. It has norm 1 at most. The additive features learn the effect
    of each column, and the random features learn interactions of columns. `DPRandomForest...`
    uses this mixture with trees, and `DPTabular...` with Fourier features. `fit` learns nothing.

    Parameters
    ----------
    additive : AdditiveFeatures
        *Public.* The additive features.
    random : RandomFourierFeatures or RandomTreeFeatures
        *Public.* The random features; `categories` and `missing` must be those of `additive`.
    additive_share : float in [0, 1], default 0.5
        *Public.* s, the share of the additive features in a row's squared norm. With 0 there are
        only random features, with 1 only additive ones, which are not shortened.

    Attributes
    ----------
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** A row of the output depends on the same row of the input and on public numbers,
    so neighboring inputs give neighboring outputs; *Feature maps* in the documentation has the
    proof of the norms.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPHuberRegressor
    >>> from skdp.features import AdditiveFeatures, FeatureMixture, RandomTreeFeatures
    >>> columns = {"bounds": (-1, 1)}
    >>> features = FeatureMixture(
    ...     additive=AdditiveFeatures(**columns), random=RandomTreeFeatures(n_trees=50, **columns)
    ... )
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(5000, 2))
    >>> y = X[:, 0] * X[:, 1]
    >>> model = DPHuberRegressor(
    ...     epsilon=3.0, features=features, target_bounds=(-1, 1), random_state=0
    ... )
    >>> model.fit(X, y).predict([[0.7, 0.7], [0.7, -0.7]]).round(1)
    array([ 0.5, -0.6])
    """

    additive: AdditiveFeatures
    random: RandomFourierFeatures | RandomTreeFeatures
    additive_share: float = 0.5

    def feature_map(self, n_columns: int, names: Sequence[Hashable] = ()) -> FeatureMap:
        share = check_real("additive_share", self.additive_share, low=0.0, high=1.0, closed="[]")
        if not isinstance(self.additive, AdditiveFeatures):
            raise ValueError(f"additive must be an AdditiveFeatures, got {self.additive!r}.")
        if not isinstance(self.random, _RANDOM):
            raise ValueError(
                "random must be a RandomFourierFeatures or a RandomTreeFeatures, got "
                f"{self.random!r}."
            )
        alone = self.additive.feature_map(n_columns, names)
        other = self.random.feature_map(n_columns, names)
        if share in (0.0, 1.0):
            return alone if share else other
        if not alone.facts.codes_as(other.facts):
            raise ValueError("additive and random must have the same categories and missing.")
        return MixtureMap(
            additive=alone, other=other, additive_share=share, most_square=alone.most_square
        )

    def _takes_missing(self) -> bool:
        return bool(getattr(self.random, "missing", None) == "indicator")


def _lengths(rows: np.ndarray, most: float) -> np.ndarray:
    """Return max(1, |row|), the same number wherever a row stands, for squares of at most `most`.

    Squares are rounded to a grid on which a float64 holds their sums, which are then exact in any
    order.
    """
    steps = math.ldexp(1.0, 52 - math.frexp(most)[1])
    squares = np.square(rows) * steps
    return np.sqrt(np.maximum(np.rint(squares, out=squares).sum(axis=1) / steps, 1.0))


# Chosen by experiment (benchmarks/bench_tabular_rule.py); no guarantee rests on them.
_FEWEST_FOR_CURVES = 20.0
_FEWEST_FOR_INTERACTIONS, _FEWEST_FOR_MANY = 150.0, 300.0
_ADDITIVE_SHARE = 0.95  # in between
_TREES_ADDITIVE_SHARE, _TRIED_TREES = 0.75, 10
_TRIED, _MOST_SHARE = 250.0, 0.1  # of a short fit: n·μ/k for each column, and share of μ²
_STEPS_OF_SHARES = tuple(800.0 * 2**k for k in range(7))  # where that share falls, if n is private
_FEWEST_FOR_PRODUCTS, _MOST_PRODUCTS = 1.5, 1000  # n·μ/k for each product of two categories
_WIDEST = (-1e9, 1e9)  # of numbers without bounds


@parameters
class AutoFeatures(BaseEstimator):
    r"""Features of a table, chosen by the linear model that they are given to.

    The choice depends on the number of columns p, on the share of categorical columns, and on
    x = n·μ/k: n records, μ the Gaussian-DP parameter of the fit, and k the number of records in
    which neighbors differ. Apart from the comparison below, it does not depend on values.

    =============== ====================================================================
    x/p             features
    =============== ====================================================================
    below 20        `AdditiveFeatures` with straight lines only, ``linear_share=1``
    20 to 150       `AdditiveFeatures`
    150 to 300      `FeatureMixture` with `RandomFourierFeatures`, ``additive_share=0.95``
    300 and more    the same, ``additive_share=0.5``
    =============== ====================================================================

    If more than a third of the columns are categorical, `AdditiveFeatures` is also used from 150
    on. From 300 on, logistic and least-squares regressions without `groups` then compare two short
    fits, one of them with ten trees. Each costs at most a tenth of μ². If the errors with trees
    are clearly smaller, the features are a `FeatureMixture` with `RandomTreeFeatures` and
    ``additive_share=0.75``.
    If all columns are categorical, the products of their categories are features as well, if there
    are at most x/1.5 and at most 1000: `AdditiveFeatures` with ``interactions="pairs"``.

    If n is private and there is no `n_samples_hint`, the model estimates n with 1 % of μ² first.
    ``bounds="auto"``, for all columns or in a dict, spends a tenth of μ² on histograms: ranks in
    them replace the values.

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

    Notes
    -----
    **Guarantee.** The choice is public, or computed from a released count or a released difference
    of errors, whose costs are part of the model's. The chosen features are public functions of
    single rows.

    Examples
    --------
    >>> from skdp.features import AutoFeatures
    >>> features = AutoFeatures(bounds=(0, 100))
    >>> features.choice(signal=15.0, n_columns=2)
    AdditiveFeatures(bounds=(0, 100), linear_share=1.0)
    >>> features.choice(signal=50.0, n_columns=2)
    AdditiveFeatures(bounds=(0, 100))
    """

    bounds: Bounds | None = None
    categories: Categories | None = None
    missing: str = "indicator"
    transformation: Transformation | None = None

    def choice(
        self, *, signal: float, n_columns: int, n_categorical: int = 0, n_products: int = 0
    ) -> AdditiveFeatures | FeatureMixture:
        """Return the features for a number of records and an amount of noise.

        Parameters
        ----------
        signal : float
            *Public or released.* x; infinite without privacy.
        n_columns : int
            *Public.* Number of columns of the table.
        n_categorical : int, default 0
            *Public.* Number of categorical columns.
        n_products : int, default 0
            *Public.* Number of products of a category of one column and one of another, if all
            columns are categorical; otherwise 0.

        Returns
        -------
        AdditiveFeatures or FeatureMixture
            With the parameters of this object.
        """
        given, per_column = with_wide_bounds(self.get_params()), signal / n_columns
        if 0 < n_products <= min(_MOST_PRODUCTS, signal / _FEWEST_FOR_PRODUCTS):
            return AdditiveFeatures(interactions="pairs", **given)
        if per_column < _FEWEST_FOR_CURVES:
            return AdditiveFeatures(linear_share=1.0, **given)
        curves = AdditiveFeatures(**given)
        if per_column < _FEWEST_FOR_INTERACTIONS or 3 * n_categorical > n_columns:
            return curves
        share = 0.5 if per_column >= _FEWEST_FOR_MANY else _ADDITIVE_SHARE
        waves = RandomFourierFeatures(**given)
        return FeatureMixture(additive=curves, random=waves, additive_share=share)

    def auto_map(self, n_columns: int, names: Sequence[Hashable] = ()) -> AutoMap:
        """Return the table's facts with all choices, after checks of the parameters.

        Parameters
        ----------
        n_columns : int
            *Public.* Number of columns of the table.
        names : sequence, default ()
            *Public.* Names of the columns; empty if they have none.

        Returns
        -------
        AutoMap
            *Public.*
        """
        features = AdditiveFeatures(**with_wide_bounds(self.get_params()))
        return AutoMap(self, features.feature_map(n_columns, names).facts)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "indicator"
        return tags


class Rival(NamedTuple):
    """Features that may be better than the choice, and the short fit that decides."""

    features: FeatureMixture
    feature_map: FeatureMap
    tried: FeatureMap  # of the short fit
    share: float  # of μ² that it costs


@dataclass(frozen=True, eq=False)
class AutoMap:
    """A table before its features are chosen. All choices code it alike."""

    features: AutoFeatures  # *public*
    facts: TableFacts  # *public*

    @property
    def limits(self) -> tuple[float, ...]:
        """The signals from which on the next choice is made."""
        each = (_FEWEST_FOR_CURVES, _FEWEST_FOR_INTERACTIONS, _FEWEST_FOR_MANY)
        each += _STEPS_OF_SHARES if self._trees else ()
        of_columns = [least * self.facts.n_inputs for least in each]
        of_products = [_FEWEST_FOR_PRODUCTS * n] if (n := self._n_products) else []
        return tuple(sorted(of_columns + of_products))

    @property
    def _n_products(self) -> int:
        """Products of categories, 0 if there are numbers."""
        if self.facts.numbers.size or self.facts.bags:
            return 0
        sizes = (values.size for values in self.facts.categories.values())
        return sum(one * other for one, other in combinations(sizes, 2))

    def choice(self, signal: float) -> tuple[PublicFeatures, FeatureMap]:
        """Return the features for a signal, as a transformer and as a lazy map."""
        columns = {"n_columns": self.facts.n_inputs, "n_categorical": len(self.facts.categories)}
        chosen = self.features.choice(signal=signal, n_products=self._n_products, **columns)
        return chosen, self._map_of(chosen)

    @cached_property
    def _trees(self) -> tuple[FeatureMixture, FeatureMap, FeatureMap] | None:
        """Features with trees, their map and that of fewer trees; None for few categories."""
        if self._n_products or 3 * len(self.facts.categories) <= self.facts.n_inputs:
            return None
        given = with_wide_bounds(self.features.get_params())
        few, many = (
            FeatureMixture(
                additive=AdditiveFeatures(**given),
                random=random,
                additive_share=_TREES_ADDITIVE_SHARE,
            )
            for random in (
                RandomTreeFeatures(n_trees=_TRIED_TREES, **given),
                RandomTreeFeatures(**given),
            )
        )
        return many, self._map_of(many), self._map_of(few)

    def rival(self, signal: float) -> Rival | None:
        """Return features that may be better than the choice, if there are any."""
        per_column = signal / self.facts.n_inputs
        if self._trees is None or per_column < _FEWEST_FOR_MANY:
            return None
        return Rival(*self._trees, share=min(_MOST_SHARE, (_TRIED / per_column) ** 2))

    def _map_of(self, features: PublicFeatures) -> FeatureMap:
        return features.feature_map(self.facts.n_given, self.facts.given_names)


def with_wide_bounds(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of features, with a wide logarithmic scale instead of bounds="auto"."""
    bounds, scale = given["bounds"], given["transformation"]
    unknown = _unknown(bounds)
    if unknown is None:
        return {**given, "bounds": _WIDEST, "transformation": scale or "log"}
    if not unknown:
        return dict(given)
    if scale is None or isinstance(scale, Mapping):
        scale = dict.fromkeys(unknown, "log") | dict(scale or {})
    return {**given, "bounds": bounds | dict.fromkeys(unknown, _WIDEST), "transformation": scale}


def unknown_numbers(bounds: Any, facts: TableFacts) -> tuple[int, ...]:
    """Return the places of columns with bounds="auto" among the numbers of a table."""
    unknown, numbers = _unknown(bounds), facts.numbers.tolist()
    if unknown is None:
        return tuple(range(len(numbers)))
    own = by_column("bounds", dict.fromkeys(unknown), facts.n_given, facts.given_names)
    return tuple(map(numbers.index, own))


def _unknown(bounds: Any) -> list[Hashable] | None:
    """Return the columns with "auto" as their bounds, None for all."""
    if isinstance(bounds, Mapping):
        return [name for name, pair in bounds.items() if isinstance(pair, str) and pair == "auto"]
    return None if isinstance(bounds, str) and bounds == "auto" else []
