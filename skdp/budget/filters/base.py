"""Base class of privacy filters."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from json import dumps, loads
from typing import Any, ClassVar, NamedTuple, Self

from skdp.ledger.costs import Account, costs_of
from skdp.ledger.fractions import Amounts, add, decimal, down, minus
from skdp.ledger.release import Release
from skdp.ledger.totals import Totals
from skdp.privacy import Composition, Event, GaussianCurve, Neighboring, PrivacyCurve, Unit
from skdp.privacy.events.pure import ApproxDPCurve
from skdp.support.digits import at_least, at_most
from skdp.support.validation import check_delta, check_real

__all__ = ["Allowance", "Amount", "Filter", "largest_gaussian"]


class Amount(NamedTuple):
    """A pair (ε, δ), printed in six digits: spent amounts rounded up, remaining ones down.

    Parameters
    ----------
    epsilon : float
        *Public.* The ε.
    delta : float
        *Public.* The δ.
    """

    epsilon: float
    delta: float

    def __repr__(self) -> str:
        return f"Amount(epsilon={at_least(self.epsilon)!r}, delta={at_least(self.delta)!r})"


class Allowance(Amount):
    """A remaining pair (ε, δ): printed digits are rounded down."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Amount(epsilon={at_most(self.epsilon)!r}, delta={at_most(self.delta)!r})"


def largest_gaussian(mu: float, delta: float) -> Amount:
    """Return the (ε, δ) of a `mu`-Gaussian DP release, at `delta` or, if ε is 0, its own δ."""
    curve = GaussianCurve(mu)
    epsilon = curve.epsilon(delta)
    return Amount(epsilon, delta if epsilon else min(delta, float(curve.delta(0.0))))


@dataclass(frozen=True)
class Filter(ABC):
    r"""A rule that keeps all admitted releases together (`epsilon`, `delta`)-DP.

    Every rule is a box fixed when the budget is made: a release has a `cost`, a short list of
    numbers; costs add up; and the sums stay at or below the `limits`. The rule holds under fully
    adaptive composition: each release, its mechanism and its cost may depend on the outputs of
    all earlier ones. (Trading one limit against another on the way would not be valid.)

    **The first release decides.** A first release outside of the box is admitted if it is
    (`epsilon`, `delta`)-DP; from then on, ε and δ add up as in basic composition. It is chosen
    before any output is seen, so the choice of the rule does not depend on outputs. The sums then
    lie outside of the box, which distinguishes the two rules. A `strict` rule has no such
    exception: it guarantees the whole curve of the box.

    **Disjoint parts.** A release that reads one part leaves the distribution of other parts'
    releases as it is. So the rule must hold for the releases of each part together with those that
    read every part. A box compares each number alone, so the largest sum of each number over the
    parts decides.

    Parameters
    ----------
    epsilon, delta : float
        *Public.* The limit.
    slack : float
        *Public.* The part of δ that ``"gdp"`` reserves for releases that are not Gaussian DP.
    tv : float
        *Public.* The total variation that ``"gdp"`` reserves.
    orders : tuple of float
        *Public.* The Rényi orders of ``"rdp"``. The empty tuple selects its default.
    strict : bool
        *Public.* Whether the first release must stay inside of the box as well.
    exact : bool
        *Public.* Whether each release must be proved for the numbers that a computer adds.
    """

    epsilon: float
    delta: float
    _: KW_ONLY
    slack: float = 0.0
    tv: float = 0.0
    orders: tuple[float, ...] = ()
    strict: bool = False
    exact: bool = False

    composition: ClassVar[Composition]
    units: ClassVar[tuple[str, ...]]
    takes_reserves: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if (self.slack or self.tv) and not self.takes_reserves:
            raise ValueError("slack and tv need composition='gdp'. Set them to 0.")
        if self.strict and (self.slack or self.tv or not self.takes_reserves):
            raise ValueError("strict=True needs composition='gdp', with slack and tv at 0.")
        if not (self.slack >= 0.0 and self.tv >= 0.0):
            raise ValueError(f"slack and tv must be at least 0, got {self.slack}, {self.tv}.")

    @property
    @abstractmethod
    def limits(self) -> Amounts:
        """The sides of the box."""

    @property
    @abstractmethod
    def counted(self) -> tuple[str, ...]:
        """The fields of a release that add up, as `skdp.ledger.costs` reads them."""

    @abstractmethod
    def amount(self, totals: Amounts) -> Amount:
        """Return an (ε, δ) that releases with these sums satisfy together."""

    @abstractmethod
    def left(self, totals: Amounts) -> Amount:
        """Return the largest single release that fits, Gaussian if possible, at the budget's δ."""

    @abstractmethod
    def curve(self, totals: Amounts) -> PrivacyCurve:
        """Return a curve above that of any releases with these sums."""

    def facts(
        self, event: Event, neighboring: Neighboring, slack_left: Callable[[], float]
    ) -> dict[str, Any]:
        """Return the fields of `Release` that only this rule needs."""
        return {}

    @classmethod
    def default_slack(cls, delta: float) -> float:
        """Return the default of `slack`."""
        return 0.0

    @property
    def terms(self) -> dict[str, Any]:
        """The arguments of `rule_of`."""
        names = ("epsilon", "delta", "composition", "slack", "tv", "strict", "exact")
        return {name: getattr(self, name) for name in names}

    @property
    def shown_terms(self) -> dict[str, Any]:
        """The terms without defaults."""
        slack = 0.0 if self.strict else self.default_slack(self.delta)
        defaults = {"slack": slack, "tv": 0.0, "strict": False, "exact": False}
        return {k: v for k, v in self.terms.items() if k not in defaults or v != defaults[k]}

    def stored_terms(self, neighboring: Neighboring, unit: Unit) -> dict[str, Any]:
        """Return the terms as a ledger stores them."""
        relation = {"neighboring": str(neighboring), "unit": str(unit)}
        return self.terms | relation | {"orders": dumps(self.orders)}

    @property
    def nothing(self) -> Amounts:
        """The sums of an empty ledger."""
        return (Fraction(0),) * (len(self.limits) + 2)

    @property
    def measures(self) -> tuple[str, ...]:
        """What a ledger adds up: the numbers with limits, then ε and δ."""
        return (*self.counted, "epsilon", "delta")

    @property
    def ceilings(self) -> Amounts:
        """The limits, then ε and δ, as a ledger stores them."""
        return (*self.limits, decimal(self.epsilon), decimal(self.delta))

    def cost(self, release: Release) -> Amounts:
        """Return the numbers that the release adds to the sums."""
        return costs_of(self.counted, vars(release))

    def costs(self, release: Release) -> Amounts:
        """Return the numbers that a ledger adds up: the `cost`, then ε and δ."""
        return costs_of(self.measures, vars(release))

    def for_orders(self, orders: str) -> Self:
        """Return the rule with the Rényi orders of a ledger."""
        return replace(self, orders=tuple(loads(orders)))

    def limits_of(self, shares: Sequence[Account]) -> dict[str, Amounts]:
        """Return the limits of the budget, under "", and of each share."""
        return {name: rule.ceilings for name, rule in self.rules_of(shares).items()}

    def rules_of(self, shares: Sequence[Account]) -> dict[str, Self]:
        """Return the rules of the budget, under "", and of each share.

        Raise ValueError if a share has no parent or a limit above it.
        """
        rules = {"": self}
        for name, epsilon, delta in sorted(shares):
            if name in rules:
                raise ValueError(f"There are two shares {name!r}.")
            outer, slash, own = name.rpartition("/")
            if (parent := rules.get(outer or slash)) is None:
                raise ValueError(f"There is no share {outer or slash!r}.")
            rules[name] = parent.share(own, epsilon, delta)
        return rules

    def share(self, name: str, epsilon: float, delta: float | None) -> Self:
        """Return the same rule for a share, with reserves in proportion to δ."""
        if not (isinstance(name, str) and name and "/" not in name):
            raise ValueError(f"name must be a string without '/', got {name!r}.")
        epsilon = check_real("epsilon", epsilon, low=0.0)
        delta = self.delta if delta is None else check_delta(delta)
        if epsilon > self.epsilon or delta > self.delta:
            raise ValueError(
                f"A share of epsilon={epsilon:g}, delta={delta:g} exceeds the limit of its parent, "
                f"epsilon={self.epsilon:g}, delta={self.delta:g}."
            )
        ratio = delta / self.delta if self.delta else 0.0
        slack, tv = self.slack * ratio, self.tv * ratio
        return replace(self, epsilon=epsilon, delta=delta, slack=slack, tv=tv)

    def slack_left(self, sums: Amounts) -> float:
        """Return the slack that the next release may take."""
        return 0.0

    def fits(self, sums: Amounts) -> bool:
        """Return whether the sums are inside of the box."""
        return all(total <= limit for total, limit in zip(sums, self.limits, strict=False))

    def admits_next(self, before: Totals, release: Release) -> bool:
        """Return whether a release is admitted after the sums `before`."""
        if self.exact and not release.exact:
            return False
        sums = before.worst(self.nothing, release.part)
        together = add(sums, self.costs(release))
        if (any(sums) or self.strict) and self.fits(sums):
            return self.fits(together)
        if self.fits(together):
            return True
        if self.parts_differ(before, release.part):
            return False
        return together[-2] <= decimal(self.epsilon) and together[-1] <= decimal(self.delta)

    def parts_differ(self, before: Totals, part: str | None = None) -> bool:
        """Return whether some parts keep to the box and others add up ε and δ.

        Then no release on all parts is admitted, but one on a single `part` may be.
        """
        worst, every = before.worst(self.nothing), before.of_every(self.nothing)
        return part is None and any(worst) and self.fits(every) and not self.fits(worst)

    def spent_at(self, sums: Amounts) -> Amount:
        """Return the (ε, δ) of admitted releases with these sums."""
        if self.fits(sums):
            return self.amount(sums[:-2])
        return Amount(down(sums[-2], math.inf), down(sums[-1], math.inf))

    def curve_at(self, sums: Amounts) -> PrivacyCurve:
        """Return a curve above that of admitted releases with these sums."""
        return self.curve(sums[:-2]) if self.fits(sums) else ApproxDPCurve(*self.spent_at(sums))

    def promise_after(self, before: Totals) -> PrivacyCurve:
        """Return a curve above that of all releases, including future ones.

        Before the first release on all parts either rule may hold, so only (`epsilon`, `delta`) is
        certain.
        """
        if self.keeps_to_box(before):
            return self.curve(self.limits)
        return ApproxDPCurve(self.epsilon, self.delta)

    def keeps_to_box(self, before: Totals) -> bool:
        """Return whether the releases so far make it certain that the box always holds."""
        began = any(before.of_every(self.nothing)) and self.fits(before.worst(self.nothing))
        return self.strict or began

    def left_at(self, before: Totals, part: str | None = None) -> Allowance:
        """Return the largest single release that is still admitted; the limit, if it is first."""
        sums = before.worst(self.nothing, part)
        if (any(sums) or self.strict) and self.fits(sums):
            return Allowance(*self.left(sums[:-2]))
        if self.parts_differ(before, part):
            return Allowance(0.0, 0.0)
        ceiling = decimal(self.epsilon), decimal(self.delta)
        return Allowance(*map(down, minus(ceiling, sums[-2:])))

    def summed(self, releases: Iterable[Release]) -> Totals:
        """Return the sums of releases, by part."""
        totals = Totals()
        for release in releases:
            totals.add(release.part, self.costs(release))
        return totals

    def totals(self, releases: Iterable[Release]) -> Amounts:
        """Return the largest sums over the parts."""
        return self.summed(releases).worst(self.nothing)

    def admits(self, releases: Iterable[Release]) -> bool:
        """Return whether all releases are admitted in this order."""
        totals = Totals()
        for release in releases:
            if not self.admits_next(totals, release):
                return False
            totals.add(release.part, self.costs(release))
        return True

    def spent(self, releases: Iterable[Release]) -> Amount:
        """Return the (ε, δ) of admitted releases."""
        return self.spent_at(self.totals(releases))

    def remaining(self, releases: Iterable[Release]) -> Amount:
        """Return the largest single release on all parts that would still be admitted."""
        return self.left_at(self.summed(releases))
