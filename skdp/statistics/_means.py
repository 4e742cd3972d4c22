"""Means of bounded columns, released together; most statistics are functions of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp.privacy import PrivacyGuarantee
from skdp.statistics._columns import EXACT, exact_sum
from skdp.statistics._release import Terms
from skdp.statistics._result import half_width
from skdp.workloads import Query, QueryPlan

__all__ = ["Means", "Part", "Purchase", "purchase"]


@dataclass(frozen=True)
class Part:
    """Numbers of a row in [−radius, radius], of which the means are asked for.

    Parameters
    ----------
    name : str
    size : int
        How many numbers a row has here.
    radius : float
    farthest : float or None
        Distance in l1 of two rows; 2·radius·size by default.
    """

    name: str
    size: int
    radius: float = 1.0
    farthest: float | None = None

    def query(self, n_changed: int) -> Query:
        """Return what is asked: their sums, which one person changes by one row or by two."""
        total = math.inf if n_changed == 1 or self.farthest is None else self.farthest * EXACT
        largest = n_changed * self.radius * EXACT
        return Query(
            self.name,
            size=self.size,
            linf_sensitivity=largest,
            l0_sensitivity=self.size,
            l1_sensitivity=total,
        )


@dataclass(frozen=True, eq=False)
class Purchase:
    """Means that are paid for and not yet looked at."""

    parts: tuple[Part, ...]
    terms: Terms
    plan: QueryPlan
    privacy: PrivacyGuarantee

    def release(self, rows: Mapping[str, np.ndarray]) -> Means:
        """Return the means of *private* rows, an array (n_rows, size) for each part."""
        answers: dict[str, Any] = {part.name: exact_sum(rows[part.name]) for part in self.parts}
        n_rows = len(rows[self.parts[0].name])
        public = self.terms.count_is_public
        released = self.plan.release(
            answers | ({} if public else {"count": n_rows}), self.terms.rng
        )
        radii = {part.name: part.radius for part in self.parts}
        return Means(self.plan, radii, released, n_rows if public else None)


def purchase(parts: Sequence[Part], terms: Terms, label: str) -> Purchase:
    """Buy the means of all parts; with the number of rows, where that is private."""
    queries = [part.query(terms.n_changed) for part in parts]
    if not terms.count_is_public:
        queries.append(Query("count", linf_sensitivity=1.0, integer=True))
    return Purchase(tuple(parts), terms, *terms.buy(queries, label))


@dataclass(frozen=True, eq=False)
class Means:
    """Released sums and, where it is not public, the released number of rows.

    The mean of no rows counts as 0.
    """

    plan: QueryPlan
    radii: Mapping[str, float]
    sums: Mapping[str, np.ndarray]
    n_rows: int | None

    def mean(self, name: str) -> np.ndarray:
        """Return the means of a part, within its radius."""
        count = self.n_rows or max(float(self.sums["count"][0]), 1.0)
        return np.clip(self.sums[name] / count, -self.radii[name], self.radii[name])

    def ends(self, name: str, risk: float) -> tuple[np.ndarray, np.ndarray]:
        """Return intervals for the means without noise; each fails with probability ≤ `risk`.

        Without a public count the sum and the count may each miss with half of that.
        """
        risk = risk if self.n_rows else 0.5 * risk
        least, most = self.count_ends(risk)
        width = half_width(self.plan, name, risk)
        low, high = self.sums[name] - width, self.sums[name] + width
        radius = self.radii[name]
        return (
            np.clip(np.minimum(low / least, low / most), -radius, radius),
            np.clip(np.maximum(high / least, high / most), -radius, radius),
        )

    def count_ends(self, risk: float) -> tuple[float, float]:
        """Return ends of an interval for the number of rows, at least 1."""
        if self.n_rows:
            return self.n_rows, self.n_rows
        count, width = float(self.sums["count"][0]), half_width(self.plan, "count", risk)
        return max(count - width, 1.0), max(count + width, 1.0)
