"""The cost of a fixed list of releases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from skdp.budget.cost import epsilon_of_plan
from skdp.privacy import ComposedEvent, Event, Neighboring, PrivacyGuarantee
from skdp.support.digits import at_least
from skdp.support.html import html_table
from skdp.support.validation import check_partition

__all__ = ["PlanCost", "PlannedRelease", "cost_of_plan"]


@dataclass(frozen=True)
class PlannedRelease:
    """One release of a plan.

    Parameters
    ----------
    event : Event or PrivacyGuarantee
        *Public.* The release.
    fold : int or None
        *Public.* The fold that it does *not* read, as in cross-validation. ``None``: it reads every
        fold. A record's fold must not depend on other records, nor, under ``replace_one``, on the
        record itself.
    partition : str, int or None
        *Public.* Partition that it reads, as in `spend`. ``None``: that of the budget handle, or
        all partitions.
    """

    event: Event | PrivacyGuarantee
    fold: int | None = field(default=None, kw_only=True)
    partition: str | int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "partition", check_partition(self.partition))

    @classmethod
    def of(cls, release: PlannedRelease | PrivacyGuarantee | Event) -> PlannedRelease:
        """Convert a release that reads everything.

        Parameters
        ----------
        release : Event, PrivacyGuarantee or PlannedRelease
            *Public.* The release.

        Returns
        -------
        PlannedRelease
            A `PlannedRelease` is returned as it is.
        """
        return release if isinstance(release, PlannedRelease) else cls(release)

    @property
    def as_event(self) -> Event:
        """The event alone."""
        return self.event.event if isinstance(self.event, PrivacyGuarantee) else self.event


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanCost:
    """The (`epsilon`, `delta`) of a whole plan, and whether the budget would admit it now.

    Printed numbers have six digits and are rounded up.

    Parameters
    ----------
    epsilon : float
        *Public.* A bound for the releases of the plan alone, fixed in advance.
    delta : float
        *Public.* The δ of this bound.
    admitted : bool
        *Public.* Whether the ledger, which counts release by release, would admit the plan.
    n_releases : int
        *Public.* Number of releases.
    """

    epsilon: float
    delta: float
    admitted: bool
    n_releases: int

    def __repr__(self) -> str:
        return (
            f"PlanCost(epsilon={at_least(self.epsilon)!r}, delta={at_least(self.delta)!r}, "
            f"admitted={self.admitted}, n_releases={self.n_releases})"
        )

    def _repr_html_(self) -> str:
        admitted = "admitted" if self.admitted else "rejected"
        row = self.n_releases, f"{at_least(self.epsilon):g}", f"{at_least(self.delta):g}", admitted
        return html_table(("releases", "epsilon", "delta", "now"), [row])


def cost_of_plan(
    releases: Sequence[PlannedRelease],
    neighboring: Neighboring,
    delta: float,
    n_folds: int | None = None,
) -> float:
    """Return the largest ε, over folds and partitions, of the releases that read a record there."""
    folds: Iterable[int | None] = (None,) if n_folds is None else range(n_folds)
    _check_folds(releases, n_folds)
    partitions = {release.partition for release in releases} | {None}
    readers = (_readers(releases, fold, partition) for fold in folds for partition in partitions)
    return max(_tightest(events, neighboring, delta) for events in readers)


def _check_folds(releases: Sequence[PlannedRelease], n_folds: int | None) -> None:
    for release in releases:
        if release.fold is not None and release.fold not in range(n_folds or 0):
            raise ValueError(
                f"fold={release.fold!r} is not one of n_folds={n_folds!r} folds, counted from 0."
            )


def _readers(
    releases: Iterable[PlannedRelease], fold: int | None, partition: str | int | None
) -> tuple[Event, ...]:
    """Return the events that depend on a record in this fold and partition, if any."""
    return tuple(
        release.as_event
        for release in releases
        if (release.fold is None or release.fold != fold) and release.partition in (None, partition)
    )


def _tightest(events: tuple[Event, ...], neighboring: Neighboring, delta: float) -> float:
    return epsilon_of_plan(ComposedEvent(events), neighboring, delta) if events else 0.0
