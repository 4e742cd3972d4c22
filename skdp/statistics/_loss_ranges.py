"""Ranges by which one record changes the utilities of quantiles, and the noise for them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from skdp.accounting import calibrate
from skdp.accounting.base import Accountant
from skdp.accounting.registry import ACCOUNTANTS
from skdp.privacy import BoundedRangeEvent, ComposedEvent, Event, SelfComposedEvent
from skdp.statistics._rank import Rank
from skdp.support.rounding import ROOT, down

_SAFE = down(1.0, ROOT)  # factor of ε: the search for a share of ε stops 1e-11 from the target

# A utility has six roundings of numbers below 2^31, with errors of 2^−23 each: of the number of
# rows, q times it, the margin, their sum, #{x < t} and the difference. So the change of a utility
# by a record has an error of 12·2^−23, and the range over the candidates of 24·2^−23 = ¾·2^−18. Two
# steps of the grid, of 2^−30 each, fit into the rest. Every range below is at least 1, so that a
# factor covers all errors.
_ROUNDING = 2.0**-18

Ranges = tuple[tuple[float, int], ...]
"""Lengths of intervals that contain sums of changes of utilities, and the number of each."""


@dataclass(frozen=True)
class Cost:
    """The noise of a release of quantiles, and the ranges that it is charged for.

    `unit` is the change of log probability, in nats, by one row of utility. The release composes
    choices of bounded `ranges`, in rows.
    """

    unit: float
    ranges: Ranges


@dataclass(frozen=True)
class Neighbors:
    """*Public* differences between two neighboring data sets.

    `n_changed` is 1 if a record is added or removed, 2 if it is replaced. `n_groups` is 1 without
    keys. If `in_parts`, a record is a person whose rows may be in several groups.
    """

    n_changed: int
    n_groups: int
    in_parts: bool

    def cost(
        self, columns: Sequence[Sequence[Rank]], epsilon: float, delta: float, accountant: str
    ) -> Cost:
        """Return the least noise for which the choices of all columns are (ε, δ)-DP."""
        kinds = zip(*(self._column(tuple(ranks)) for ranks in columns), strict=True)
        n_touched = self.n_groups if self.in_parts else min(self.n_changed, self.n_groups)
        rounded = 1.0 + n_touched * _ROUNDING
        candidates = {_counted(rounded * x for own in kind for x in own): None for kind in kinds}
        return _least_noise(tuple(candidates), epsilon, delta, accountant)

    def _column(self, ranks: tuple[Rank, ...]) -> list[tuple[float, ...]]:
        """Return lists of ranges. Each list alone bounds the choices of a column.

        Proofs: *Quantiles* in the documentation.
        """
        own = tuple(2.0 * rank.sensitivity for rank in ranks)
        split, total = _one_row(ranks)
        if self.n_changed == 1:
            return [own if self.in_parts else split, (total,)]
        within = tuple(max(2.0, x) for x in own)
        if self.n_groups == 1:
            return [within]
        joint = [tuple(2.0 * x for x in own), (2.0 * total,)]
        if not self.in_parts:  # the row stays in its group, or changes groups
            return [_largest([(2.0,) * len(ranks), split + split]), *joint]
        few = self.n_groups < 4  # then the squares 4·K may add up to less than (4M)²
        return [within * self.n_groups, *joint] if few else joint


def composed(ranges: Ranges, unit: float) -> Event:
    """Return the event of choices with these ranges."""
    events = [SelfComposedEvent(BoundedRangeEvent(x * unit), n) for x, n in ranges]
    return events[0] if len(events) == 1 else ComposedEvent(tuple(events))


def _one_row(ranks: tuple[Rank, ...]) -> tuple[tuple[float, ...], float]:
    """Return sorted ranges of the ranks for a row that is added or removed, and their sum.

    A row above the quantile of one rank is above that of each lower rank.
    """
    split: tuple[float, ...] = ()
    total = 0.0
    for family in _ordered(ranks):
        cases = [
            tuple(rank.range(above=i < j) for i, rank in enumerate(family))
            for j in range(len(family) + 1)
        ]
        split += _largest(cases)
        total += max(math.fsum(case) for case in cases)
    return split, total


def _ordered(ranks: tuple[Rank, ...]) -> Iterator[list[Rank]]:
    """Yield ranks with the same margin. Their order does not depend on the number of rows."""
    for kind in dict.fromkeys((rank.margin, rank.side) for rank in ranks):
        same = [rank for rank in ranks if (rank.margin, rank.side) == kind]
        yield sorted(same, key=lambda rank: rank.q)


def _largest(cases: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the entrywise maximum of lists that are sorted and padded with zeros."""
    size = max(map(len, cases))
    filled = [sorted(case, reverse=True) + [0.0] * (size - len(case)) for case in cases]
    return tuple(map(max, zip(*filled, strict=True)))


def _counted(ranges: Iterable[float]) -> Ranges:
    return tuple(sorted(Counter(ranges).items(), reverse=True))


@lru_cache(maxsize=128)
def _least_noise(
    candidates: tuple[Ranges, ...], epsilon: float, delta: float, accountant: str
) -> Cost:
    """Return the candidate with the largest unit; of equal ones the first."""
    if not delta:
        sums = {ranges: math.fsum(x * n for x, n in ranges) for ranges in candidates}
        best = min(sums, key=lambda ranges: sums[ranges])
        return Cost(epsilon / sums[best] * _SAFE, best)
    by, cost = ACCOUNTANTS[accountant](), None
    for ranges in candidates:
        # A gain below 0.1 % is not worth a search.
        if cost is None or by.epsilon(composed(ranges, 1.001 * cost.unit), delta) < epsilon:
            cost = Cost(_unit(ranges, epsilon, delta, by), ranges)
    assert cost is not None
    return cost


def _unit(ranges: Ranges, epsilon: float, delta: float, accountant: Accountant) -> float:
    total, largest = math.fsum(x * n for x, n in ranges), ranges[0][0]
    low, high = 1e-3 * epsilon / total, 2.0 * epsilon / largest
    event = partial(composed, ranges)
    unit = calibrate(event, epsilon, delta, low=low, high=high, accountant=accountant)
    return _SAFE * float(unit)
