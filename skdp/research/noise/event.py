"""Noise on cells, with another distribution on each part of the range of the query."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from skdp.privacy.combined import MaximumCurve, SymmetrizedCurve
from skdp.privacy.curve import DiscretePairCurve, PrivacyCurve
from skdp.privacy.events.base import AdditiveEvent
from skdp.privacy.events.piecewise_constant import CellNoiseCurve
from skdp.privacy.neighboring import Neighboring
from skdp.support.validation import check_count, check_real

__all__ = ["DataDependentNoiseEvent", "reachable_shifts"]

Value = TypeVar("Value")


@dataclass(frozen=True)
class DataDependentNoiseEvent(AdditiveEvent):
    """One number in part k of a public range, plus noise of mass `distributions[k][i]` on cell i.

    Parts and cells are counted in the same unit, and the part is not released. Neighbors may be in
    parts k and m, and then their distributions are moved by any difference that two such numbers
    can have; a fraction of a cell is a mixture of two whole ones. The curve is the envelope over
    all that.

    Parameters
    ----------
    distributions : tuple of tuples of float
        *Public.* One distribution for each part, on the same cells; each sums to 1.
    partition : tuple of int
        *Public.* Ends of the parts, increasing, in cells.
    sensitivity : int
        *Public.* Size of one record's contribution, in cells.
    """

    distributions: tuple[tuple[float, ...], ...]
    partition: tuple[int, ...]
    sensitivity: int

    def __post_init__(self) -> None:
        distributions = tuple(
            _numbers(f"distributions[{k}]", distribution)
            for k, distribution in enumerate(_sequence("distributions", self.distributions))
        )
        partition = tuple(int(end) for end in _numbers("partition", self.partition))
        self._set(sensitivity=check_count("sensitivity", self.sensitivity))
        increasing = all(a < b for a, b in itertools.pairwise(partition))
        if (
            partition != tuple(self.partition)
            or not increasing
            or len(partition) != len(distributions) + 1
        ):
            raise ValueError(
                f"partition must be {len(distributions) + 1} increasing integers, the ends of "
                f"{len(distributions)} parts, one for each distribution, got {self.partition!r}."
            )
        if len({len(distribution) for distribution in distributions}) != 1:
            raise ValueError(
                "distributions must be on the same cells, got "
                f"{[len(masses) for masses in distributions]!r} numbers."
            )
        self._set(distributions=distributions, partition=partition)
        for distribution in distributions:
            DiscretePairCurve(distribution, distribution)

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        farthest = Neighboring(neighboring).n_changed * self.sensitivity
        triples = reachable_shifts(self.partition, farthest)
        one_order = [(k, m, s) for k, m, s in triples if (k, -s) < (m, s)]
        same = CellNoiseCurve(self.distributions[0], self.distributions[0])
        curves = [self._pair(*triple) for triple in one_order] or [same]
        return SymmetrizedCurve(MaximumCurve(tuple(curves)))

    def _pair(self, k: int, m: int, s: int) -> CellNoiseCurve:
        first, second = (np.array(self.distributions[one]) for one in (k, m))
        gap = np.zeros(abs(s))
        p, q = ([first, gap], [gap, second]) if s > 0 else ([gap, first], [second, gap])
        return CellNoiseCurve(tuple(np.concatenate(p)), tuple(np.concatenate(q)))


def reachable_shifts(partition: Sequence[int], farthest: int) -> list[tuple[int, int, int]]:
    """Return all (k, m, s): numbers in parts k and m may be s apart, up to `farthest`.

    Numbers in the half-open parts are less apart than the ends of their parts; what lies between
    two whole differences is a mixture of them, so both are named.
    """
    parts = list(itertools.pairwise(partition))
    found = []
    for (k, (a, b)), (m, (c, d)) in itertools.product(enumerate(parts), repeat=2):
        if c - b < farthest and d - a > -farthest:
            shifts = range(max(c - b, -farthest), min(d - a, farthest) + 1)
            found += [(k, m, s) for s in shifts if (k, s) != (m, 0)]
    return found


def _sequence(name: str, values: Iterable[Value]) -> tuple[Value, ...]:
    try:
        found = tuple(values)
    except TypeError:
        found = ()
    if not found or isinstance(values, str | dict):
        raise ValueError(f"{name} must be a sequence with at least one entry, got {values!r}.")
    return found


def _numbers(name: str, values: Iterable[float]) -> tuple[float, ...]:
    return tuple(
        check_real(f"{name}[{i}]", value, low=-1e15, high=1e15)
        for i, value in enumerate(_sequence(name, values))
    )
