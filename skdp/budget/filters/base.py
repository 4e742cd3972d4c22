"""What every composition answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

from skdp._validation import check_delta, check_real
from skdp.budget._fractions import Amounts
from skdp.budget.ledger.totals import Totals
from skdp.budget.release import Release
from skdp.privacy import Event, GaussianCurve, Neighboring, PrivacyCurve

__all__ = ["Amount", "Filter", "dearest_gaussian"]


class Amount(NamedTuple):
    """A pair (ε, δ)."""

    epsilon: float
    delta: float


def dearest_gaussian(mu: float, delta: float) -> Amount:
    """Return the pair of a `mu`-Gaussian DP release, at `delta` or, where ε is 0, its own δ."""
    curve = GaussianCurve(mu)
    epsilon = curve.epsilon(delta)
    return Amount(epsilon, delta if epsilon else min(delta, float(curve.delta(0.0))))


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
    orders : tuple of float
        *Public.* The Rényi orders of ``"rdp"``; the empty tuple selects its default.
    """

    epsilon: float
    delta: float
    slack: float = 0.0
    tv: float = 0.0
    orders: tuple[float, ...] = ()

    composition: ClassVar[str]
    units: ClassVar[tuple[str, ...]]
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
        """Return the dearest single release that would fit, a Gaussian one where possible.

        It is quoted at the budget's own δ, as everything that a budget says.
        """

    @abstractmethod
    def curve(self, totals: Amounts) -> PrivacyCurve:
        """Return a curve that lies above that of any releases with these sums."""

    def facts(
        self, event: Event, neighboring: Neighboring, slack_left: Callable[[], float]
    ) -> dict[str, Any]:
        """Return what a release has to carry for this rule beyond what each one carries."""
        return {}

    @property
    def terms(self) -> dict[str, Any]:
        """What a budget is made with, the reserves only where there are any."""
        terms = {"epsilon": self.epsilon, "delta": self.delta, "composition": self.composition}
        reserves = {"slack": self.slack, "tv": self.tv}
        return terms | {name: value for name, value in reserves.items() if value}

    @property
    def nothing(self) -> Amounts:
        """The sums of an empty ledger."""
        return tuple(limit * 0 for limit in self.limits)

    def share(self, name: str, epsilon: float, delta: float) -> Self:
        """Return the same rule for a share's ceiling, its reserves in proportion to δ."""
        if not (isinstance(name, str) and name and "/" not in name):
            raise ValueError(f"name must be a text without '/', got {name!r}.")
        epsilon, delta = check_real("epsilon", epsilon, low=0.0), check_delta(delta)
        if epsilon > self.epsilon or delta > self.delta:
            raise ValueError(
                f"A share of epsilon={epsilon:g}, delta={delta:g} is above the epsilon="
                f"{self.epsilon:g}, delta={self.delta:g} of what it is a share of. Nothing was "
                "spent."
            )
        ratio = delta / self.delta if self.delta else 0.0
        slack, tv = self.slack * ratio, self.tv * ratio
        return replace(self, epsilon=epsilon, delta=delta, slack=slack, tv=tv)

    def slack_left(self, totals: Amounts) -> float:
        """Return the slack η that the next release may take."""
        return 0.0

    def fits(self, totals: Amounts) -> bool:
        """Return whether the sums stay inside of the box."""
        return all(total <= limit for total, limit in zip(totals, self.limits, strict=True))

    def totals(self, releases: Iterable[Release]) -> Amounts:
        """Return the largest sums over the parts, with those that read every part."""
        totals = Totals()
        for release in releases:
            totals.add(release.part, self.price(release))
        return totals.worst(self.nothing)

    def admits(self, releases: Iterable[Release]) -> bool:
        """Return whether the budget pays for all of these together."""
        return self.fits(self.totals(releases))

    def spent(self, releases: Iterable[Release]) -> Amount:
        """Return an (ε, δ) that the releases so far satisfy together."""
        return self.amount(self.totals(releases))

    def remaining(self, releases: Iterable[Release]) -> Amount:
        """Return the dearest single release that would still be admitted."""
        return self.left(self.totals(releases))
