"""The joint guarantee of several fits of one model, each to a partition of the records."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from operator import or_
from typing import Any

from skdp._private_fit import guarantee_of
from skdp.accounting import AccountedCurve, PLDAccountant
from skdp.privacy import (
    ComposedEvent,
    Event,
    Neighboring,
    NoClosedCurveError,
    NonPrivateEvent,
    PrivacyCurve,
    PrivacyGuarantee,
    SelfComposedEvent,
)
from skdp.privacy.combined import MaximumCurve

ByPart = tuple[tuple[str | None, Event], ...]


def together(earlier: PrivacyGuarantee, now: PrivacyGuarantee) -> PrivacyGuarantee:
    """Return the joint guarantee of fits whose parameters were fixed beforehand.

    Fits to one partition and fits to all records read a record of that partition. A guarantee that
    holds for every partition holds for all records (*Disjoint parts* in the user guide).
    """
    by_part = _summed(earlier.by_part + now.by_part)
    _check_units(earlier, now)
    every = Counter(dict(by_part).get(None, {}))
    read = [every + own for part, own in by_part if part is not None] or [every]
    distinct = [own for k, own in enumerate(read) if own not in read[:k]]
    relation, event = now.neighboring, _composed(reduce(or_, distinct))
    facts: dict[str, Any] = {
        "seeded": earlier.seeded or now.seeded,
        "by_part": tuple((part, _composed(own)) for part, own in by_part),
        "unit": now.unit,
        "exact": earlier.exact and now.exact,
    }
    if len(distinct) == 1:
        return guarantee_of(event, relation, now.theorem, **facts)
    bound = MaximumCurve(tuple(_curve(_composed(own), relation) for own in distinct))
    return PrivacyGuarantee(event, relation, now.theorem, bound, **facts)


def _check_units(earlier: PrivacyGuarantee, now: PrivacyGuarantee) -> None:
    if earlier.unit != now.unit:
        raise ValueError(
            f"Earlier calls protected one {earlier.unit}, and this call protects one {now.unit}. "
            "Pass groups in every call of partial_fit or in none."
        )


def _summed(releases: ByPart) -> list[tuple[str | None, Counter[Event]]]:
    """Count the releases of each event, for each partition."""
    found: dict[str | None, Counter[Event]] = {}
    for part, event in releases:
        counts = found.setdefault(part, Counter())
        for leaf, count in event.leaves():
            counts[leaf] += count
    return list(found.items())


def _composed(counts: Counter[Event]) -> Event:
    """Return the composition, flat: nested events would overflow the stack after many calls."""
    if NonPrivateEvent() in counts:
        return NonPrivateEvent()
    leaves = tuple(
        leaf if count == 1 else SelfComposedEvent(leaf, count) for leaf, count in counts.items()
    )
    return leaves[0] if len(leaves) == 1 else ComposedEvent(leaves)


def _curve(event: Event, neighboring: Neighboring) -> PrivacyCurve:
    try:
        return event.curve(neighboring)
    except NoClosedCurveError:
        return AccountedCurve(event, PLDAccountant(neighboring))
