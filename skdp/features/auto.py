"""Features that a linear model chooses by the number of records and the noise."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from skdp.data.column_facts import by_column
from skdp.features.additive import AdditiveFeatures
from skdp.features.base import FeatureMap
from skdp.features.fourier import RandomFourierFeatures
from skdp.features.mixture import FeatureMixture
from skdp.features.public_features import PublicFeatures
from skdp.features.table import TableFacts
from skdp.support.types import Bounds, Categories, MatrixLike, Transformation

__all__ = ["AutoFeatures", "AutoMap", "unknown_numbers", "with_wide_bounds"]

# Chosen by experiment (benchmarks/bench_tabular_rule.py); no guarantee rests on them.
_FEWEST_FOR_CURVES = 20.0
_FEWEST_FOR_INTERACTIONS = 300.0
_FEWEST_FOR_PRODUCTS, _MOST_PRODUCTS = 1.5, 1000  # n·μ/k for each product of two categories
_WIDEST = (-1e9, 1e9)  # of numbers without bounds


class AutoFeatures(BaseEstimator):
    r"""Features of a table, chosen by the linear model that they are given to.

    The choice depends on the number of columns p, on the share of categorical columns, and on
    x = n·μ/k: n records, μ the Gaussian-DP parameter of the fit, and k the number of records in
    which neighbors differ. It never depends on values.

    =============== ====================================================================
    x/p             features
    =============== ====================================================================
    below 20        `AdditiveFeatures` with straight lines only, ``linear_share=1``
    20 to 300       `AdditiveFeatures`
    300 and more    `FeatureMixture` with `RandomFourierFeatures`, unless more than a third
                    of the columns are categorical
    =============== ====================================================================

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
    **Guarantee.** The choice is public, or computed from a released count whose cost is part of the
    model's. The chosen features are public functions of single rows.

    Examples
    --------
    >>> from skdp.features import AutoFeatures
    >>> features = AutoFeatures(bounds=(0, 100))
    >>> features.choice(signal=15.0, n_columns=2)
    AdditiveFeatures(bounds=(0, 100), linear_share=1.0)
    >>> features.choice(signal=50.0, n_columns=2)
    AdditiveFeatures(bounds=(0, 100))
    """

    def __init__(
        self,
        *,
        bounds: Bounds | None = None,
        categories: Categories | None = None,
        missing: str = "indicator",
        transformation: Transformation | None = None,
    ) -> None:
        self.bounds = bounds
        self.categories = categories
        self.missing = missing
        self.transformation = transformation

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
        return FeatureMixture(additive=curves, random=RandomFourierFeatures(**given))

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


@dataclass(frozen=True, eq=False)
class AutoMap:
    """A table before its features are chosen. All choices code it alike.

    Parameters
    ----------
    features : AutoFeatures
        *Public.*
    facts : TableFacts
        *Public.*
    """

    features: AutoFeatures
    facts: TableFacts

    @property
    def limits(self) -> tuple[float, ...]:
        """The signals from which on the next choice is made."""
        n_columns = self.facts.n_inputs
        of_columns = _FEWEST_FOR_CURVES * n_columns, _FEWEST_FOR_INTERACTIONS * n_columns
        of_products = (_FEWEST_FOR_PRODUCTS * self._n_products,) if self._n_products else ()
        return tuple(sorted(of_columns + of_products))

    @property
    def _n_products(self) -> int:
        """Products of categories, 0 if there are numbers."""
        if self.facts.numbers.size or self.facts.bags:
            return 0
        sizes = (values.size for values in self.facts.categories.values())
        return sum(one * other for one, other in combinations(sizes, 2))

    def coded(self, X: MatrixLike, names: Sequence[Hashable] = ()) -> np.ndarray:
        """Return the table as numbers, row by row; see `TableFacts.coded`."""
        return self.facts.coded(X, names)

    def choice(self, signal: float) -> tuple[PublicFeatures, FeatureMap]:
        """Return the features for a signal, as a transformer and as a lazy map."""
        n_columns, n_categorical = self.facts.n_inputs, len(self.facts.categories)
        chosen = self.features.choice(
            signal=signal,
            n_columns=n_columns,
            n_categorical=n_categorical,
            n_products=self._n_products,
        )
        return chosen, chosen.feature_map(self.facts.n_given, self.facts.given_names)


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
