"""The queries of naive Bayes, their answers, and the running totals of `partial_fit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skdp.data.exact_sums import Sums
from skdp.data.records import Records
from skdp.naive_bayes.features import Feature, class_counts, in_units, in_units_below
from skdp.privacy import Neighboring
from skdp.workloads import Query


@dataclass(frozen=True, eq=False)
class NaiveBayesFacts:
    """*Public* classes of the records, features of their columns, and earlier releases."""

    classes: np.ndarray
    features: Sequence[Feature]
    earlier: Totals | None = None

    @property
    def settings(self) -> tuple[tuple[object, ...], ...]:
        """The parameters of all answers; answers with equal ones can be added up."""
        return tuple(feature.settings for feature in self.features)

    def queries(self, neighboring: Neighboring) -> list[Query]:
        """Return the queries for records of weight 1."""
        n_classes = self.classes.size
        columns = (
            feature.query(column_key(j), n_classes, neighboring)
            for j, feature in enumerate(self.features)
        )
        return [class_counts(n_classes, neighboring), *columns]


@dataclass(frozen=True, eq=False)
class Totals:
    """Noisy sums over the rows of one or several fits.

    Parameters
    ----------
    settings : tuple
        *Public.* The parameters of the sums; only sums with equal ones are added up.
    sums : dict of str to ndarray
        *Released*, in units of a record.
    noise : dict of str to float
        *Public.* Mean square of the noise in each number.
    n_rows : int or None
        *Public.* Number of rows. None if it is private or rows have weights.
    """

    settings: tuple[tuple[object, ...], ...]
    sums: Mapping[str, np.ndarray]
    noise: Mapping[str, float]
    n_rows: int | None

    def __add__(self, other: Totals) -> Totals:
        sums = {name: total + other.sums[name] for name, total in self.sums.items()}
        noise = {name: square + other.noise[name] for name, square in self.noise.items()}
        if self.n_rows is None or other.n_rows is None:
            return Totals(self.settings, sums, noise, None)
        return Totals(self.settings, sums, noise, self.n_rows + other.n_rows)


def answers(exact: bool, records: Records[NaiveBayesFacts]) -> Sums:
    """Return the *private* answers; `exact` sums take weights as multiples of 2^−24."""
    facts, codes, weights = records.facts, records.y, records.shares
    if weights is not None and exact:
        weights = in_units(weights) if records.persons is None else in_units_below(weights)
    n_classes = facts.classes.size
    found = {"classes": np.bincount(codes, weights, n_classes)}
    for j, (feature, x) in enumerate(zip(facts.features, records.columns.parts, strict=True)):
        found[column_key(j)] = feature.answer(x, codes, n_classes, weights)
    return found


def column_key(j: int) -> str:
    return f"column {j}"
