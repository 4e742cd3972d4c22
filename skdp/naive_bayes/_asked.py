"""What is asked of the records of naive Bayes, and their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp.data.exact_sums import Sums
from skdp.data.records import Records
from skdp.naive_bayes.features import Feature, class_counts, in_units, in_units_below
from skdp.naive_bayes.totals import Totals
from skdp.privacy import Neighboring
from skdp.workloads import Query

__all__ = ["Asked", "answers", "column_key"]


@dataclass(frozen=True, eq=False)
class Asked:
    """*Public* classes of the records, features of their columns, and what was released before."""

    classes: np.ndarray
    features: Sequence[Feature]
    earlier: Totals | None = None

    @property
    def of_columns(self) -> tuple[Any, ...]:
        """What is asked of all columns: answers to equal ones can be added up."""
        return tuple(feature.asked for feature in self.features)

    def queries(self, neighboring: Neighboring) -> list[Query]:
        """Return what is asked of all records, each with a weight of 1."""
        n_classes = self.classes.size
        columns = (
            feature.query(column_key(j), n_classes, neighboring)
            for j, feature in enumerate(self.features)
        )
        return [class_counts(n_classes, neighboring), *columns]


def answers(exact: bool, records: Records[Asked]) -> Sums:
    """Return the *private* answers; `exact` sums take weights as multiples of 2^−24."""
    asked, codes, weights = records.facts, records.y, records.shares
    if weights is not None and exact:
        weights = in_units(weights) if records.persons is None else in_units_below(weights)
    n_classes = asked.classes.size
    found = {"classes": np.bincount(codes, weights, n_classes)}
    for j, (feature, x) in enumerate(zip(asked.features, records.columns.parts, strict=True)):
        found[column_key(j)] = feature.answer(x, codes, n_classes, weights)
    return found


def column_key(j: int) -> str:
    """Return the name of what is asked of a column."""
    return f"column {j}"
