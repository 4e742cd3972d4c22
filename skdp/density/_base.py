"""Base class of the private densities of tables."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from functools import partial
from html import escape
from typing import Self, TypeAlias

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import PrivateEstimator, ReleaseParameters
from skdp.data.blocks import empty_rows
from skdp.data.column import Column, is_collection
from skdp.data.columns import Columns, column_name, is_frame
from skdp.data.records import Sums
from skdp.data.schema.values import floats, text_of
from skdp.data.validation import column_names, encoded, validated_table
from skdp.density._counts import Rows, as_levels
from skdp.density._levels import Levels, as_matrix
from skdp.density._model import CliqueModel
from skdp.density._noisy_tables import NoisyTables
from skdp.density._plan import Plan, check_size, plan_tree
from skdp.density._release import is_counted, released_tables
from skdp.density.one_way import OneWayTable, one_way_table
from skdp.exceptions import FewRowsWarning
from skdp.features.table import TableFacts
from skdp.privacy import PrivacyGuarantee
from skdp.support.callers import caller_outside
from skdp.support.random import child_generator, simulation_generator
from skdp.support.types import Bounds, Categories, Label, MatrixLike, RandomState, Transformation
from skdp.support.validation import check_count, check_real

_MOST_ROWS = 2**29  # on it rests that utilities are exact integers
_MOST_BINS = 1024
_LARGE_ERROR = 0.05  # of the share of a level, two standard deviations of the noise
_MOST_SHOWN = 8  # ranges or categories of a column in a notebook

Table: TypeAlias = MatrixLike | tuple[MatrixLike, np.ndarray]


class PrivateTree(PrivateEstimator[Rows, Plan, NoisyTables]):
    """A distribution of the levels of columns and of labels, learned by one private release."""

    is_model = True

    bounds: Bounds | None
    categories: Categories | None
    transformation: Transformation | None
    missing: str
    max_weight: float | None
    n_bins: int
    n_features_in_: int
    _column_types: dict[Label, str]
    _released_: NoisyTables

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
        coded.check(_nothing)
        if coded.n_rows >= _MOST_ROWS:
            raise ValueError(f"{type(self).__name__} takes fewer than 2^29 rows.")
        if coded.weights is not None and self.epsilon == math.inf:
            _check_total_weight(float(coded.total(_weights)["weight"][0]))
        return coded

    def _warn(self, parameters: ReleaseParameters, plan: Plan, records: Rows) -> None:
        super()._warn(parameters, plan, records)
        if not (parameters.is_private and parameters.neighboring.count_is_public):
            return
        facts, n_records = records.facts, records.n_records
        n_labels = 1 if facts.has_number else facts.n_labels  # groups of a number are not known yet
        error = 2.0 * plan.scale("tables") * math.sqrt(n_labels) / n_records
        if error > _LARGE_ERROR:
            warnings.warn(
                f"{n_records} records are few for {facts.levels.n_columns} columns and epsilon="
                f"{self.epsilon:g}: the share of each level may be wrong by {error:.2g}. Leave out "
                "columns, or use more records or a larger epsilon.",
                FewRowsWarning,
                stacklevel=caller_outside(),
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
            categories[j] if j in categories else levels.edges[j] for j in range(levels.n_columns)
        ]
        names = [column_name(levels.facts.names, j) for j in records.facts.columns]
        place = model.cliques.order.index
        pairs = [sorted(pair, key=place) for pair in released.pairs]
        self.edges_ = [(names[i], names[j]) for i, j in pairs]
        return self

    def _levels_of(self, X: MatrixLike) -> np.ndarray:
        """Return the levels of all columns, of rows to predict."""
        check_is_fitted(self, "privacy_")
        return self._released_.levels.codes(encoded(self, validated_table(self, X, reset=False)))

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
        made = partial(one_way_table, confidence=level, max_levels=most)
        return made(released.levels, j, shares, total, counts)

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
        if self._library_ == "polars":
            import polars

            typed = {name: _for_polars(column) for name, column in table.items()}
            whole = {str(levels.facts.names[j]) for j in levels.whole}
            frame = polars.DataFrame(typed, strict=False).fill_nan(None)
            return frame.with_columns(
                (polars.selectors.by_name(whole) & polars.selectors.float()).cast(polars.Int64)
            )
        import pandas as pd

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


def _check_total_weight(total: float) -> None:
    if total == 0.0:
        raise ValueError("sample_weight is zero for all records.")
    if total >= _MOST_ROWS:
        raise ValueError("The sum of sample_weight must be below 2^29.")


def _weights(records: Rows) -> Sums:
    assert records.weights is not None, "only weighted records are added up"
    return {"weight": np.array([records.weights.sum()])}


def _nothing(records: Rows) -> None:
    """Check nothing more than what the conversion to levels checks."""
