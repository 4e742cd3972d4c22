"""Base class of the private densities of tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import starmap
from typing import Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import PrivateEstimator, ReleaseParameters
from skdp.data.blocks import empty_rows
from skdp.data.column import is_collection
from skdp.data.columns import Columns, column_name, is_frame
from skdp.data.exact_sums import STEP_BITS, counts_from_steps
from skdp.data.records import Records, Sums
from skdp.data.validation import column_names, encoded, validated_table
from skdp.density._consistency import (
    fitted_pair,
    grouped,
    groups_of,
    label_totals,
    level_counts,
    margins,
    with_sums,
)
from skdp.density._counts import Pair, TreeFacts, as_levels, pair_counts, table_counts
from skdp.density._levels import Levels, as_matrix
from skdp.density._model import TreeModel
from skdp.density._plan import MOST_GROUPS, ExactPlan, TreePlan, check_size, plan_tree
from skdp.density._tree import choose_edges
from skdp.features.table import TableFacts
from skdp.privacy import PrivacyGuarantee
from skdp.support.types import Bounds, Categories, Label, MatrixLike, Transformation
from skdp.support.validation import check_count

__all__ = ["PrivateTree", "library_of"]

_MOST_ROWS = 2**29  # on it rests that utilities are exact integers
_MOST_BINS = 1024
# Found on magic04, Adult and bank; no guarantee rests on it.
_GROUPS = 1.4


class PrivateTree(PrivateEstimator[Records[TreeFacts], TreePlan | ExactPlan, TreeModel]):
    """A distribution of the levels of columns and of labels, learned by one private release."""

    is_model = True

    bounds: Bounds | None
    categories: Categories | None
    transformation: Transformation | None
    missing: str
    max_weight: float | None
    n_bins: int
    n_features_in_: int
    _model_: TreeModel

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
        return Levels(replace(facts, encoding=None), n_bins)  # `encoded` has encoded the rows

    def _coded(self, records: Records[TreeFacts]) -> Records[TreeFacts]:
        """Return records of levels and labels, after all checks of the rows."""
        check_size(type(self).__name__, records.facts)
        coded = records.mapped(as_levels)
        coded.check(_nothing)
        if coded.n_rows >= _MOST_ROWS:
            raise ValueError(f"{type(self).__name__} takes fewer than 2^29 rows.")
        if coded.weights is not None and self.epsilon == math.inf:
            _check_total_weight(float(coded.total(_weights)["weight"][0]))
        return coded

    def _plan(
        self, parameters: ReleaseParameters, records: Records[TreeFacts]
    ) -> TreePlan | ExactPlan:
        return plan_tree(type(self).__name__, parameters, records.facts)

    def _read(
        self,
        plan: TreePlan | ExactPlan,
        records: Records[TreeFacts],
        rng: np.random.Generator,
    ) -> TreeModel:
        tables, totals = _released_tables(plan, records, rng)
        scales = plan.scale("tables"), 1.0
        if len(tables) > 1:
            scales = plan.scale("tables"), plan.scale("edges")
        fitted = [with_sums(table, totals) for table in tables]
        groups = _groups(records.facts, fitted, float(totals.sum()), scales[1])
        pairs: dict[Pair, np.ndarray] = {}
        if len(tables) > 1:
            pairs = _released_pairs(plan, records, fitted, groups, totals, rng)
        sides = margins(tables, groups, pairs, totals, scales)
        fit = partial(_fitted, sides, totals, scales[1])
        levels = [
            level_counts(table, group, side, scales[0])
            for table, group, side in zip(tables, groups, sides, strict=True)
        ]
        return TreeModel.of(totals, levels, groups, sides, dict(starmap(fit, pairs.items())))

    def _publish(
        self,
        plan: TreePlan | ExactPlan,
        records: Records[TreeFacts],
        released: TreeModel,
        guarantee: PrivacyGuarantee,
    ) -> Self:
        facts, self.privacy_, self._model_ = records.facts, guarantee, released
        self._library_, levels = facts.library, facts.levels
        categories = levels.facts.categories
        self.levels_ = [
            categories[j] if j in categories else levels.edges[j] for j in range(levels.n_columns)
        ]
        names = [column_name(levels.facts.names, j) for j in facts.columns]
        self.edges_ = [
            (names[released.parents[i]], names[i]) for i in released.order if i != released.order[0]
        ]
        return self

    def _levels_of(self, X: MatrixLike) -> np.ndarray:
        """Return the levels of all columns, of rows to predict."""
        check_is_fitted(self, "privacy_")
        return self._levels().codes(encoded(self, validated_table(self, X, reset=False)))

    def _as_table(self, columns: Sequence[np.ndarray]) -> MatrixLike:
        """Return columns as a table of the kind that was fitted."""
        names = self._levels().facts.names
        if self._library_ is None:
            return as_matrix(columns)
        if self._library_ == "polars":
            import polars

            return polars.DataFrame(dict(zip(names, columns, strict=True)), strict=False)
        import pandas as pd

        return pd.DataFrame(dict(zip(names, columns, strict=True)))

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


def library_of(X: MatrixLike) -> str | None:
    """Return the library of the frame that rows come in, None for an array."""
    X = empty_rows(X) if is_collection(X) else X
    return Columns.of(X, "X").library if is_frame(X) else None


def _check_total_weight(total: float) -> None:
    if total == 0.0:
        raise ValueError("sample_weight is zero for all records.")
    if total >= _MOST_ROWS:
        raise ValueError("The sum of sample_weight must be below 2^29.")


def _weights(records: Records[TreeFacts]) -> Sums:
    assert records.weights is not None, "only weighted records are added up"
    return {"weight": np.array([records.weights.sum()])}


def _nothing(records: Records[TreeFacts]) -> None:
    """Check nothing more than what the conversion to levels checks."""


def _released_tables(
    plan: TreePlan | ExactPlan, records: Records[TreeFacts], rng: np.random.Generator
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return a noisy table of (level, label) for each node, and the total of each label."""
    sizes, counts = records.facts.sizes, records.total(table_counts)
    exact = np.concatenate([counts[str(i)] for i in range(len(sizes))])
    noisy = plan.release("tables", counts_from_steps(exact, records.steps), rng)
    rows = noisy.reshape(-1, records.facts.n_labels)
    tables = np.split(rows, np.cumsum(sizes)[:-1])
    n_known = None if records.weights is not None else records.n_known
    return tables, label_totals(tables, n_known)


def _groups(
    facts: TreeFacts, tables: Sequence[np.ndarray], total: float, scale: float
) -> list[np.ndarray]:
    """Return the group of each level, so few that pairs of groups have more records than noise."""
    n_groups = int(_GROUPS * (total / np.hypot(scale, 1.0)) ** (1.0 / 3.0))
    n_groups = min(max(n_groups, 2), (MOST_GROUPS - 1) // 2)  # `groups_of` makes 2·n_groups + 1
    categories = facts.levels.facts.categories
    return [
        groups_of(table, n_groups, ordered=j not in categories)
        for j, table in zip(facts.columns, tables, strict=True)
    ]


def _released_pairs(
    plan: TreePlan | ExactPlan,
    records: Records[TreeFacts],
    tables: Sequence[np.ndarray],
    groups: Sequence[np.ndarray],
    totals: np.ndarray,
    rng: np.random.Generator,
) -> dict[Pair, np.ndarray]:
    """Choose the edges of a tree, and return a noisy table of each."""
    counts = pair_counts(records, groups)
    known = [grouped(table, group) for table, group in zip(tables, groups, strict=True)]
    edges = choose_edges(plan, counts, known, totals, rng)
    exact = np.concatenate([counts[edge].ravel() for edge in edges])
    noisy = plan.release("edges", np.ldexp(exact.astype(float), -STEP_BITS), rng)
    parts = np.split(noisy, np.cumsum([counts[edge].size for edge in edges])[:-1])
    return {edge: part.reshape(counts[edge].shape) for edge, part in zip(edges, parts, strict=True)}


def _fitted(
    sides: Sequence[np.ndarray], totals: np.ndarray, scale: float, edge: Pair, pair: np.ndarray
) -> tuple[Pair, np.ndarray]:
    return edge, fitted_pair(pair, sides[edge[0]], sides[edge[1]], totals, scale)
