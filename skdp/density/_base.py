"""Base class of the private densities of tables, and estimates with intervals."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import PrivateEstimator, ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.blocks import empty_rows
from skdp.data.column import Column, is_collection
from skdp.data.column_schema import text_of
from skdp.data.columns import Columns, column_name, is_frame
from skdp.data.encoding import floats
from skdp.data.records import Sums
from skdp.data.validation import column_names, encoded, validated_table
from skdp.density._cliques import CliqueModel
from skdp.density._counts import Levels, Rows, as_levels, as_matrix
from skdp.density._release import (
    NoisyTables,
    Plan,
    check_size,
    is_counted,
    plan_tree,
    released_tables,
)
from skdp.features.base import TableFacts
from skdp.privacy import PrivacyGuarantee
from skdp.support.display import html_table
from skdp.support.random import child_generator, simulation_generator
from skdp.support.types import Bounds, Categories, Label, MatrixLike, RandomState, Transformation
from skdp.support.validation import check_count, check_real, parameters


@dataclass(frozen=True, eq=False, repr=False)
class OneWayTable:
    """The counts of one column: those of the density, and intervals for those of the records.

    Intervals follow from the released counts of this column and the public scale of their noise.
    An interval contains the count of the records with the probability of `one_way`, over the noise.
    A density outside of it differs from the records by more than noise would explain.

    Parameters
    ----------
    name : str
        *Public.* The column.
    levels : list of str
        *Public.* Its categories or ranges, and "missing" if values may be missing.
    edges : ndarray or None
        *Public.* The ends of the ranges of a number, None for categories.
    unit : float
        *Public.* The unit of a logarithmic scale, infinite for other columns.
    expected : ndarray of shape (n_levels,)
        *Released.* Counts of the density: of synthetic rows, if there are as many as records.
    low, high : ndarray of shape (n_levels,)
        *Released.* Ends of the intervals for the counts of the records.

    Examples
    --------
    >>> from skdp.density import DPTreeDensity
    >>> X = [["f", "no"], ["m", "yes"], ["f", "yes"], ["f", "no"]] * 500
    >>> known = {0: ["f", "m"], 1: ["no", "yes"]}
    >>> density = DPTreeDensity(categories=known, missing="error", random_state=0).fit(X)
    >>> table = density.one_way(0)
    >>> table.levels, table.expected.round()
    (['f', 'm'], array([1507.,  493.]))
    >>> table.low.round(), table.high.round()
    (array([1486.,  468.]), array([1539.,  522.]))
    """

    name: str
    levels: list[str]
    edges: np.ndarray | None
    unit: float
    expected: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def _repr_html_(self) -> str:
        numbers = zip(self.levels, self.expected, self.low, self.high, strict=True)
        rows = [(level, f"{x:.0f}", f"{low:.0f} to {high:.0f}") for level, x, low, high in numbers]
        return html_table((self.name, "density", "records"), rows)


def one_way_table(
    levels: Levels,
    j: int,
    shares: np.ndarray,
    n_records: float,
    released: tuple[np.ndarray, float],
    *,
    confidence: float,
    max_levels: int | None,
) -> OneWayTable:
    """Return the table of column j, from shares, and counts with the deviation of noise."""
    names, parts = zip(*_parts(levels, j, max_levels), strict=True)
    counts = np.array([released[0][part].sum() for part in parts])
    sizes = np.array([part.size for part in parts])
    width = float(ndtri(0.5 + 0.5 * confidence)) * released[1] * np.sqrt(sizes)
    edges = levels.edges.get(j)
    if edges is not None:
        firsts = [part[0] for part in parts if part[0] < levels.n_known(j)]
        edges = edges[[*firsts, levels.n_known(j)]]
    return OneWayTable(
        name=str(column_name(levels.facts.names, j)),
        levels=[*names],
        edges=edges,
        unit=float("inf") if edges is None else levels.facts.unit(j),
        expected=np.array([n_records * shares[part].sum() for part in parts]),
        low=np.maximum(counts - width, 0.0),  # no count is negative
        high=np.maximum(counts + width, 0.0),
    )


def _parts(levels: Levels, j: int, most: int | None) -> Iterator[tuple[str, np.ndarray]]:
    """Return names of at most so many ranges or categories, and the levels in them."""
    n = levels.n_known(j)
    most = n if most is None else min(most, n)
    if (edges := levels.edges.get(j)) is not None:
        parts = np.array_split(np.arange(n), most)
        for low, high in pairwise([*(part[0] for part in parts), n]):
            yield f"{edges[low]:.4g} to {edges[high]:.4g}", np.arange(low, high)
    else:
        n_named = n if most == n else most - 1
        for level in range(n_named):
            yield str(levels.facts.categories[j][level]), np.array([level])
        if n_named < n:
            yield f"{n - n_named} others", np.arange(n_named, n)
    if levels.facts.has_missing:
        yield "missing", np.array([n])


Numbers = float | np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class CombinedEstimate:
    """An estimate from several synthetic tables.

    Parameters
    ----------
    value : float or ndarray
        *Released.* The mean of the estimates.
    standard_error : float or ndarray
        *Released.* It covers the noise, the choice of the records and that of the synthetic rows.
    degrees_of_freedom : float or ndarray
        *Released.* Those of a t distribution.

    Examples
    --------
    >>> from skdp.density import combine_estimates
    >>> found = combine_estimates([0.30, 0.34, 0.31, 0.33, 0.32], variances=[1e-4] * 5)
    >>> found
    0.32, 95 % interval [0.251248, 0.388752]
    >>> low, high = found.interval(0.9)
    >>> f"{low:.3f} to {high:.3f}"
    '0.275 to 0.365'
    """

    value: Numbers
    standard_error: Numbers
    degrees_of_freedom: Numbers

    def interval(self, level: float = 0.95) -> tuple[Numbers, Numbers]:
        """Return a confidence interval for the population that the records come from.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* Probability that the interval covers, over records, noise and synthetic rows.
            `combine_estimates` says when it holds.

        Returns
        -------
        low, high : float or ndarray
            *Released.* They have the shape of `value`.
        """
        level = check_real("level", level, low=0.0, high=1.0)
        width = stdtrit(self.degrees_of_freedom, 0.5 + 0.5 * level) * self.standard_error
        return self.value - width, self.value + width

    def __repr__(self) -> str:
        low, high = self.interval()
        if np.ndim(self.value):
            return f"{self.value}\n95 % intervals from {low}\nto {high}"
        return f"{self.value:.6g}, 95 % interval [{low:.6g}, {high:.6g}]"


def combine_estimates(estimates: ArrayLike, variances: ArrayLike) -> CombinedEstimate:
    r"""Combine the estimates of several synthetic tables into one with a confidence interval.

    The tables must come from `sample_several`, and have at least as many rows as the private data
    have records. Estimate the same number from each table, with the variance that you would
    report if the table were real. The rule then covers the noise and the choice of the records.

    **It covers no error of the model.** Intervals are good for shares of categories, and for
    differences between categories of the target or of a pair in `edges_`. Intervals for means of
    numbers may be too short, because noise in empty bins and wide bins move the means. Slopes
    between two numbers are too small, and intervals for them wrong. So are all intervals for pairs
    of columns that are not in `edges_`. *Measured coverage* in the user guide has figures.

    Parameters
    ----------
    estimates : array-like of shape (n_tables,) or (n_tables, n_estimates)
        *Released.* The estimates from each table.
    variances : array-like of the same shape
        *Released.* Their squared standard errors.

    Returns
    -------
    CombinedEstimate
        The estimate with its standard error and interval.

    Raises
    ------
    ValueError
        If the shapes differ, there are fewer than two tables, or a number is not finite or a
        variance negative.

    Notes
    -----
    With the mean :math:`\bar q` and the variance :math:`b` of m estimates, and the mean
    :math:`\bar v` of the variances, the squared standard error is :math:`T=(1+1/m)b-\bar v`, the
    rule for fully synthetic data. It is at least :math:`\bar v`: an estimate from no more records
    than rows has no smaller variance. The degrees of freedom are :math:`(m-1)(T/((1+1/m)b))^2`.
    The rule covers the noise because each table of `sample_several` has noise of its own.

    References
    ----------
    T. Raghunathan, J. Reiter and D. Rubin, *Multiple imputation for statistical disclosure
    limitation*, Journal of Official Statistics 19(1), 2003.

    O. Räisä, J. Jälkö, S. Kaski and A. Honkela, *Noise-aware statistical inference with
    differentially private synthetic data*, AISTATS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.density import DPTreeDensity, combine_estimates
    >>> X = np.random.default_rng(0).normal(2.0, 1.0, size=(5000, 2))
    >>> density = DPTreeDensity(bounds=(-4, 8), missing="error", random_state=0).fit(X)
    >>> tables = density.sample_several(5000, n_tables=50, random_state=0)
    >>> means = [table[:, 0].mean() for table in tables]
    >>> mean = combine_estimates(means, [table[:, 0].var() / 5000 for table in tables])
    >>> mean
    1.9772, 95 % interval [1.90764, 2.04675]
    """
    q, v = np.asarray(estimates, dtype=float), np.asarray(variances, dtype=float)
    if q.shape != v.shape or q.ndim == 0 or len(q) < 2:
        raise ValueError(
            "estimates and variances must have the same shape, with a row for each of at least two "
            f"tables, got {q.shape} and {v.shape}."
        )
    if not (np.isfinite(q).all() and np.isfinite(v).all() and (v >= 0.0).all()):
        raise ValueError("estimates must be finite, and variances finite and not negative.")
    m, within = len(q), v.mean(axis=0)
    between = (1.0 + 1.0 / m) * q.var(axis=0, ddof=1)
    total = np.maximum(between - within, within)
    share = np.divide(total, between, out=np.full_like(total, np.inf), where=between > 0.0)
    return CombinedEstimate(*map(_plain, (q.mean(axis=0), np.sqrt(total), (m - 1) * share**2)))


def _plain(values: np.ndarray) -> Numbers:
    return values if np.ndim(values) else float(values)


_MOST_ROWS = 2**29  # on it rests that utilities are exact integers
_MOST_BINS = 1024
_LARGE_ERROR = 0.05  # of the share of a level, two standard deviations of the noise
_MOST_SHOWN = 8  # ranges or categories of a column in a notebook

Table: TypeAlias = MatrixLike | tuple[MatrixLike, np.ndarray]


@parameters
class PrivateTree(PrivateEstimator[Rows, Plan, NoisyTables]):
    """A distribution of the levels of columns and of labels, learned by one private release."""

    is_model = True

    bounds: Bounds | None = None
    categories: Categories | None = None
    max_weight: float | None = None
    missing: str = "indicator"
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: PrivacyBudget | None = None
    transformation: Transformation | None = None
    n_bins: int = 64

    def _is_gaussian(self) -> bool:
        return True

    def _levels(self) -> Levels:
        """Return the levels of the columns, from public parameters."""
        n_bins = check_count("n_bins", self.n_bins)
        if not 2 <= n_bins <= _MOST_BINS:
            raise ValueError(f"n_bins must be from 2 to {_MOST_BINS}, got {n_bins}.")
        facts = TableFacts.of(
            self.n_features_in_,
            column_names(self),
            bounds=self.bounds,
            categories=self.categories,
            transformation=self.transformation,
            missing=self.missing,
        )
        if facts.encoding is not None and facts.categories and not facts.has_missing:
            raise ValueError(
                "missing='error' is not available for a schema with categories, because an error "
                "for a category that is not listed would reveal it. Use missing='indicator'."
            )
        return Levels.of(facts, n_bins)

    def _coded(self, records: Rows) -> Rows:
        """Return records of levels and labels, after all checks of the rows."""
        check_size(type(self).__name__, records.facts)
        coded = records.mapped(as_levels)
        coded.check(lambda rows: None)  # the conversion to levels has checked them
        if coded.n_rows >= _MOST_ROWS:
            raise ValueError(f"{type(self).__name__} takes fewer than 2^29 rows.")
        if coded.weights is not None and self.epsilon == math.inf:
            total = float(coded.total(_weights)["weight"][0])
            if total == 0.0:
                raise ValueError("sample_weight is zero for all records.")
            if total >= _MOST_ROWS:
                raise ValueError("The sum of sample_weight must be below 2^29.")
        return coded

    def _effect_of_noise(self, plan: Plan, records: Rows) -> str | None:
        facts, n_records = records.facts, records.n_records
        n_labels = 1 if facts.has_number else facts.n_labels  # groups of a number are not known yet
        error = 2.0 * plan.scale("tables") * math.sqrt(n_labels) / n_records
        if error <= _LARGE_ERROR:
            return None
        return (
            f"the share of each level of {facts.levels.facts.n_columns} columns may be wrong by "
            f"{error:.2g}. Leave out columns, or use more records or a larger epsilon."
        )

    def _plan(self, parameters: ReleaseParameters, records: Rows) -> Plan:
        counted = is_counted(records)
        return plan_tree(type(self).__name__, parameters, records.facts, is_counted=counted)

    def _read(self, plan: Plan, records: Rows, rng: np.random.Generator) -> NoisyTables:
        return released_tables(plan, records, rng)

    def _publish(
        self, plan: Plan, records: Rows, released: NoisyTables, guarantee: PrivacyGuarantee
    ) -> Self:
        model, levels = released.model, released.levels
        self.privacy_, self._released_ = guarantee, released
        self._library_ = records.facts.library
        categories = levels.facts.categories
        self.levels_ = [
            categories[j] if j in categories else levels.edges[j]
            for j in range(levels.facts.n_columns)
        ]
        names = [column_name(levels.facts.names, j) for j in records.facts.columns]
        place = model.cliques.order.index
        pairs = [sorted(pair, key=place) for pair in released.pairs]
        self.edges_ = [(names[i], names[j]) for i, j in pairs]
        return self

    def _levels_of(self, X: MatrixLike) -> np.ndarray:
        """Return the levels of all columns, of rows to predict."""
        check_is_fitted(self, "privacy_")
        rows = encoded(self, validated_table(self, X, reset=False))
        return self._released_.levels.codes(rows).astype(np.int32)

    def _target(self) -> int | None:
        """Return the column that holds the labels."""
        return None

    @abstractmethod
    def _sampled(
        self, model: CliqueModel, n: int, rng: np.random.Generator, *, evenly: bool
    ) -> Table:
        """Return n rows of a model in the form of `sample`."""

    def sample_several(
        self, n_samples: int, *, n_tables: int = 20, random_state: RandomState = None
    ) -> list[Table]:
        """Return several synthetic tables whose differences show the noise, at no cost.

        Rows of `sample` all come from one density, so they do not show how far it may be from the
        population. Here each table has a density of its own: as many records as there are in the
        data are drawn from the fitted density, counted, and the counts get new noise of the public
        scale. The same pairs are kept, and they are not shrunk toward independence. So these tables
        are noisier than those of `sample`: use them for intervals only. `combine_estimates` turns
        estimates from each table into intervals, and says which are valid.

        Parameters
        ----------
        n_samples : int
            *Public.* Number of rows of each table. Intervals need at least as many as there are
            records.
        n_tables : int, default 20
            *Public.* Number of tables.
        random_state : None, int, Generator or RandomState
            *Public.* Seed of the samples. It may be known, as in `sample`.

        Returns
        -------
        list
            Tables in the form of `sample`.
        """
        check_is_fitted(self, "privacy_")
        n, m = check_count("n_samples", n_samples), check_count("n_tables", n_tables)
        rng = sample_generator(random_state)
        return [
            self._sampled(self._released_.redrawn(rng).unshrunk, n, rng, evenly=False)
            for _ in range(m)
        ]

    def one_way(
        self, column: Label, *, level: float = 0.95, max_levels: int | None = None
    ) -> OneWayTable:
        """Return the counts of one column, with intervals for those of the records, at no cost.

        Parameters
        ----------
        column : label or int
            *Public.* Name or position of a column.
        level : float in (0, 1), default 0.95
            *Public.* Probability of each interval, over the noise.
        max_levels : int or None, default None
            *Public.* Merge bins to so many ranges of numbers, and all later categories to one.

        Returns
        -------
        OneWayTable
            The counts of the density beside the intervals. Weighted records count in units of
            `max_weight`.
        """
        check_is_fitted(self, "privacy_")
        level = check_real("level", level, low=0.0, high=1.0)
        most = None if max_levels is None else check_count("max_levels", max_levels)
        j, target, released = self._number_of(column, "column"), self._target(), self._released_
        if j == target:
            shares, counts = self._released_.model.value, released.target_counts()
        else:
            node = j - (target is not None and target < j)
            shares = self._released_.model.marginal([node], by_value=False)
            counts = released.level_counts(node)
        total = float(released.totals.sum())
        return one_way_table(
            released.levels, j, shares, total, counts, confidence=level, max_levels=most
        )

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._one_way_html()

    def _repr_mimebundle_(self, **more: object) -> dict[str, str]:
        found: dict[str, str] = super()._repr_mimebundle_(**more)
        if "text/html" in found:
            found["text/html"] += self._one_way_html()
        return found

    def _one_way_html(self) -> str:
        """Return a table of each column of a fitted density, which opens on a click."""
        if not hasattr(self, "privacy_"):
            return ""
        tables = [self.one_way(j, max_levels=_MOST_SHOWN) for j in range(self.n_features_in_)]
        return "".join(
            f"<details><summary>{escape(table.name)}</summary>{table._repr_html_()}</details>"
            for table in tables
        )

    def _as_table(self, codes: np.ndarray, rng: np.random.Generator) -> MatrixLike:
        """Return levels as a table of the kind that was fitted."""
        levels = self._released_.levels
        names, columns = levels.facts.names, levels.values(codes, rng)
        if levels.encoding is not None:
            names = levels.encoding.names
            types = getattr(self, "_column_types", {}).items()
            for j in (names.index(name) for name, family in types if family == "numbers"):
                columns[j] = _as_numbers(columns[j])
        if self._library_ is None:
            return as_matrix(columns)
        table = dict(zip(names, columns, strict=True))
        ordinals = {} if levels.encoding is None else levels.encoding.ordinals
        if self._library_ == "polars":
            import polars

            typed = {name: _for_polars(column) for name, column in table.items()}
            whole = {str(levels.facts.names[j]) for j in levels.whole}
            frame = polars.DataFrame(typed, strict=False).fill_nan(None)
            enums = (
                polars.col(str(name)).cast(polars.Enum(known))
                for name, known in ordinals.items()
                if {*map(type, known)} == {str}
            )
            return frame.with_columns(
                (polars.selectors.by_name(whole) & polars.selectors.float()).cast(polars.Int64),
                *enums,
            )
        import pandas as pd

        table |= {
            name: pd.Categorical(table[name], known, ordered=True)
            for name, known in ordinals.items()
        }
        return pd.DataFrame(table)

    def _number_of(self, column: Label, parameter: str) -> int:
        """Return the number of a column that is given by its name or number."""
        facts = self._levels().facts
        names: list[Label] = list(facts.names) or list(range(facts.n_columns))
        found = names.index(column) if column in names else column
        if isinstance(found, bool) or found not in range(facts.n_columns):
            raise ValueError(f"Unknown column in {parameter}: {column!r}. The columns are {names}.")
        return int(found)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.allow_nan = self.missing == "indicator"
        return tags


def sample_generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator of rows, whose stream is not that of a fit with the same seed."""
    return child_generator(simulation_generator(random_state))


def library_of(X: MatrixLike) -> str | None:
    """Return the library of the frame that rows come in, None for an array."""
    X = empty_rows(X) if is_collection(X) else X
    return Columns.of(X, "X").library if is_frame(X) else None


def _as_numbers(column: np.ndarray) -> np.ndarray:
    """Return strings as the numbers that a schema reads as equal; other strings are missing."""
    numbers = floats(Column(column))
    numbers[[text_of(x) != text for x, text in zip(numbers, column.tolist(), strict=True)]] = np.nan
    return numbers if np.isnan(numbers).any() else numbers.astype(np.int64)


def _for_polars(column: np.ndarray) -> np.ndarray | list[object]:
    """Return a column of one type: values of several types as the texts that a schema reads."""
    if column.dtype.kind != "O":
        return column
    listed = column.tolist()
    return listed if len({*map(type, listed)} - {type(None)}) < 2 else [*map(text_of, listed)]


def _weights(records: Rows) -> Sums:
    assert records.weights is not None, "only weighted records are added up"
    return {"weight": np.array([records.weights.sum()])}
