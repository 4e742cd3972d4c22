"""What every composition answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

from skdp.budget._exact import Amounts, add, highest
from skdp.budget.curves import SpentCurve
from skdp.budget.release import Release
from skdp.privacy import Event, Neighboring

__all__ = ["Amount", "Filter"]


class Amount(NamedTuple):
    """A pair (ε, δ)."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Filter(ABC):
    r"""A rule that keeps everything it has admitted, together, (`epsilon`, `delta`)-DP.

    Every rule is a box fixed when the budget is made: a release has a `price`, a short list of
    numbers; prices add up; and the sums stay at or below the `limits`. The rule holds under fully
    adaptive composition: each release, its mechanism and its price may depend on the outputs of
    all earlier ones. (Trading one limit against another on the way would not be valid.)

    **Disjoint parts.** A release that reads one part only leaves the law of the others' releases
    as it is, so the rule has to hold for each part's releases with those that read every part.
    Since a box looks at each number alone, that is the largest sum of each over the parts.

    Parameters
    ----------
    epsilon, delta : float
        *Public.* The ceiling.
    slack, tv : float
        *Public.* What ``"gdp"`` sets aside for slacks of δ and for total-variation errors.
    """

    epsilon: float
    delta: float
    slack: float = 0.0
    tv: float = 0.0

    takes_reserves: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if (self.slack or self.tv) and not self.takes_reserves:
            raise ValueError("slack and tv belong to composition='gdp'; leave them at 0 here.")
        if not (self.slack >= 0.0 and self.tv >= 0.0):
            raise ValueError(f"slack and tv must be at least 0, got {self.slack}, {self.tv}.")

    @property
    @abstractmethod
    def limits(self) -> Amounts:
        """The sides of the box, public and fixed."""

    @abstractmethod
    def price(self, release: Release) -> Amounts:
        """Return what the release adds to each sum."""

    @abstractmethod
    def amount(self, totals: Amounts) -> Amount:
        """Return an (ε, δ) that releases with these sums satisfy together."""

    @abstractmethod
    def left(self, totals: Amounts) -> Amount:
        """Return the dearest single release, a Gaussian one where possible, that would fit."""

    @abstractmethod
    def curve(self, totals: Amounts) -> SpentCurve:
        """Return a curve that lies above that of any releases with these sums."""

    def facts(
        self, event: Event, neighboring: Neighboring, slack_left: Callable[[], float]
    ) -> dict[str, Any]:
        """Return what a release has to carry for this rule beyond what each one carries."""
        return {}

    @property
    def nothing(self) -> Amounts:
        """The sums of an empty ledger."""
        return tuple(limit * 0 for limit in self.limits)

    def scaled(self, epsilon: float, delta: float) -> Self:
        """Return the same rule for a share's ceiling, its reserves in proportion to δ."""
        ratio = delta / self.delta if self.delta else 0.0
        reserves = {"slack": self.slack * ratio, "tv": self.tv * min(1.0, ratio)}
        return replace(self, epsilon=epsilon, delta=delta, **reserves)

    def slack_left(self, totals: Amounts) -> float:
        """Return the slack η that the next release may take."""
        return 0.0

    def fits(self, totals: Amounts) -> bool:
        """Return whether the sums stay inside of the box."""
        return all(total <= limit for total, limit in zip(totals, self.limits, strict=True))

    def totals(self, releases: Iterable[Release]) -> Amounts:
        """Return the largest sums over the parts, with those that read every part."""
        sums: dict[str | None, Amounts] = {None: self.nothing}
        for release in releases:
            before = sums.get(release.part, self.nothing)
            sums[release.part] = add(before, self.price(release))
        everywhere = sums.pop(None)
        return add(everywhere, highest(list(sums.values()), self.nothing))

    def admits(self, releases: Sequence[Release]) -> bool:
        """Return whether the budget pays for all of these together."""
        return self.fits(self.totals(releases))

    def spent(self, releases: Sequence[Release]) -> Amount:
        """Return an (ε, δ) that the releases so far satisfy together."""
        return self.amount(self.totals(releases))

    def remaining(self, releases: Sequence[Release]) -> Amount:
        """Return the dearest single release that would still be admitted."""
        return self.left(self.totals(releases))
