"""Privacy filters: what a release costs, and the rules that admit adaptively chosen ones."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal
from functools import cached_property
from operator import le
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

from skdp.accounting import gdp_mu
from skdp.accounting.concentrated import epsilon_from_rdp, rdp_budget, rho_budget, tight_epsilon
from skdp.budget.cost import ConvertedCurve, CoveredCurve, covering, epsilon_of_plan, renyi_cost
from skdp.ledger.release import (
    EVERY,
    EXACT,
    VERSION,
    ZERO,
    Account,
    Amounts,
    Release,
    Totals,
    costs_of,
    decimal,
    down,
    minus,
)
from skdp.privacy import (
    Event,
    GaussianCurve,
    Neighboring,
    NonPrivateEvent,
    PrivacyCurve,
    PrivacyGuarantee,
)
from skdp.privacy.events import NoClosedCurveError
from skdp.privacy.gaussian import ZCDPCurve
from skdp.privacy.neighboring import Composition
from skdp.privacy.noise_events import ApproxDPCurve
from skdp.support import safe_numbers
from skdp.support.display import at_least, at_most
from skdp.support.safe_numbers import CURVE, FORMULA, SERIES, margin, up
from skdp.support.validation import check_choice, check_delta, check_real

# No guarantee rests on these: the slacks have a limit of their own.
_DEFAULT_SLACK = 0.05  # of δ
_SLACK_SHARE = 1.0 / 16.0  # of the remaining slack, at most, for one release
_LEAST_SLACK = 1e-20  # of δ: with less no useful Gaussian covers anything, and the search is slow
_LARGEST_ORDER = 1e15  # for tiny budgets; no guarantee rests on it
ORDERS = (1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 32.0,
          48.0, 64.0, 96.0, 128.0, 192.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0)  # fmt: skip
"""The grid of orders; the ε and δ of a budget select from it."""


Slack: TypeAlias = Callable[[], float]


class Amount(NamedTuple):
    """A pair (ε, δ), printed in six digits: spent amounts rounded up, remaining ones down.

    Parameters
    ----------
    epsilon : float
        *Public.* The ε.
    delta : float
        *Public.* The δ.

    Examples
    --------
    >>> from skdp import PrivacyBudget
    >>> from skdp.statistics import count
    >>> budget = PrivacyBudget(epsilon=3.0, delta=1e-5)
    >>> found = count([True, False] * 500, epsilon=1.0, budget=budget)
    >>> budget.spent
    Amount(epsilon=1.0, delta=1e-05)
    >>> epsilon, delta = budget.remaining
    >>> round(epsilon, 2)
    2.75
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


def quote(guarantee: PrivacyGuarantee, delta: float, epsilon: float | None = None) -> float:
    """Return an ε for which the release is (ε, `delta`)-DP: `epsilon` itself if it is valid."""
    try:
        if epsilon is not None:
            known = epsilon >= (guarantee.epsilon(0.0) if delta == 0.0 else 0.0)
            if known and up(guarantee.delta(float(epsilon)), CURVE) <= delta:
                return float(epsilon)
        return float(guarantee.epsilon(delta))
    except NoClosedCurveError:
        return epsilon_of_plan(guarantee.event, guarantee.neighboring, delta)


def priced_release(
    guarantee: PrivacyGuarantee,
    delta: float,
    label: str,
    *,
    epsilon: float | None = None,
    **more: Any,
) -> Release:
    """Return the ledger's row for a release, quoted at `delta`; `more` are other fields.

    An `epsilon` at `delta` is kept if it is valid, which saves the search for it.
    """
    event, relation, delta = guarantee.event, guarantee.neighboring, float(delta)
    epsilon = quote(guarantee, delta, epsilon)
    costs = ("gdp_mu", "zcdp_rho", "pure_epsilon")
    return Release(
        label=label,
        epsilon=float(epsilon),
        delta=delta,
        neighboring=str(relation),
        event=event.to_dict(),
        theorem=guarantee.theorem,
        exact=guarantee.exact,
        version=VERSION,
        **{name: float(getattr(event, name)(relation)) for name in costs} | more,
    )


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
    counted: ClassVar[tuple[str, ...]]
    """The fields of a release that add up, as `skdp.ledger.release.costs_of` reads them."""
    without_delta: ClassVar[str] = ""
    """The composition to use if δ is 0, for one that needs a δ."""
    takes_reserves: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if (self.slack or self.tv) and not self.takes_reserves:
            raise ValueError("slack and tv need composition='gdp'. Set them to 0.")
        if self.strict and (self.slack or self.tv or not self.takes_reserves):
            raise ValueError("strict=True needs composition='gdp', with slack and tv at 0.")
        if not (self.slack >= 0.0 and self.tv >= 0.0):
            raise ValueError(f"slack and tv must be at least 0, got {self.slack}, {self.tv}.")
        if self.delta == 0.0 and self.without_delta:
            raise ValueError(
                f"composition={str(self.composition)!r} needs delta > 0. Use "
                f"composition={self.without_delta!r}."
            )

    @property
    @abstractmethod
    def limits(self) -> Amounts:
        """The sides of the box."""

    @abstractmethod
    def amount(self, totals: Amounts) -> Amount:
        """Return an (ε, δ) that releases with these sums satisfy together."""

    @abstractmethod
    def left(self, totals: Amounts) -> Amount:
        """Return the largest single release that fits, Gaussian if possible, at the budget's δ."""

    @abstractmethod
    def curve(self, totals: Amounts) -> PrivacyCurve:
        """Return a curve above that of any releases with these sums."""

    def facts(self, event: Event, neighboring: Neighboring, slack_left: Slack) -> dict[str, Any]:
        """Return the fields of `Release` that only this rule needs."""
        return {}

    def slack_left(self, sums: Amounts) -> float:
        """Return the slack that the next release may take."""
        return 0.0

    @classmethod
    def default_slack(cls, delta: float, strict: bool) -> float:
        """Return the `slack` of a budget that states none."""
        return _DEFAULT_SLACK * delta if cls.takes_reserves and not strict else 0.0

    @property
    def terms(self) -> dict[str, Any]:
        """The arguments of `rule_of`."""
        names = ("epsilon", "delta", "composition", "slack", "tv", "strict", "exact")
        return {name: getattr(self, name) for name in names}

    @cached_property
    def nothing(self) -> Amounts:
        """The sums of an empty ledger."""
        return (ZERO,) * len(self.measures)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """What a ledger adds up: the numbers with limits, then ε and δ."""
        return (*self.counted, "epsilon", "delta")

    @cached_property
    def ceilings(self) -> Amounts:
        """The limits, then ε and δ, as a ledger stores them."""
        return (*self.limits, decimal(self.epsilon), decimal(self.delta))

    def costs(self, release: Release) -> Amounts:
        """Return the numbers that a ledger adds up for a release."""
        return costs_of(self.measures, vars(release))

    def rules_of(self, shares: Iterable[Account]) -> dict[str, Self]:
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

    def fits(self, sums: Amounts) -> bool:
        """Return whether the sums are inside of the box."""
        return all(map(le, sums, self.limits))

    def admits_next(self, before: Totals, release: Release) -> bool:
        """Return whether a release is admitted after the sums `before`."""
        if self.exact and not release.exact:
            return False
        sums = before.worst(self.nothing, release.part)
        together = tuple(map(EXACT.add, sums, costs_of(self.measures, vars(release))))
        if ((any(sums) or self.strict) and self.fits(sums)) or self.fits(together):
            return self.fits(together)
        if self.parts_differ(before, release.part):
            return False
        return all(map(le, together[-2:], self.ceilings[-2:]))

    def parts_differ(self, before: Totals, part: str | None = None) -> bool:
        """Return whether some parts keep to the box and others add up ε and δ.

        Then no release on all parts is admitted, but one on a single `part` may be.
        """
        worst, every = before.worst(self.nothing), before.get(EVERY, self.nothing)
        return part is None and any(worst) and self.fits(every) and not self.fits(worst)

    def spent_at(self, sums: Amounts) -> Amount:
        """Return the (ε, δ) of admitted releases with these sums."""
        if self.fits(sums):
            return self.amount(sums[:-2])
        return Amount(down(sums[-2], math.inf), down(sums[-1], math.inf))

    def curve_at(self, sums: Amounts) -> PrivacyCurve:
        """Return a curve above that of admitted releases with these sums."""
        return self.curve(sums[:-2]) if self.fits(sums) else ApproxDPCurve(*self.spent_at(sums))

    def left_at(self, before: Totals, part: str | None = None) -> Allowance:
        """Return the largest single release that is still admitted; the limit, if it is first."""
        sums = before.worst(self.nothing, part)
        if (any(sums) or self.strict) and self.fits(sums):
            return Allowance(*self.left(sums[:-2]))
        if self.parts_differ(before, part):
            return Allowance(0.0, 0.0)
        return Allowance(*map(down, minus(self.ceilings[-2:], sums[-2:])))

    def admits(self, releases: Iterable[Release]) -> bool:
        """Return whether all releases are admitted in this order."""
        totals = Totals()
        for release in releases:
            if not self.admits_next(totals, release):
                return False
            totals.add(release.part, self.costs(release))
        return True


@dataclass(frozen=True)
class BasicFilter(Filter):
    """Stop when Σ ε_i > ε or Σ δ_i > δ (Rogers, Roth, Ullman and Vadhan 2016).

    Sums are exact in printed decimal digits: three times 0.1 is 0.3.
    """

    composition: ClassVar[Composition] = Composition.BASIC
    units: ClassVar[tuple[str, ...]] = ("epsilon", "delta")
    counted: ClassVar[tuple[str, ...]] = ("epsilon", "delta")

    @property
    def limits(self) -> Amounts:
        return (decimal(self.epsilon), decimal(self.delta))[: len(self.counted)]

    def amount(self, totals: Amounts) -> Amount:
        return Amount(*[down(one, math.inf) for one in (*totals, ZERO)[:2]])

    def left(self, totals: Amounts) -> Amount:
        return Amount(*map(down, (*minus(self.limits, totals), ZERO)[:2]))

    def curve(self, totals: Amounts) -> ApproxDPCurve:
        return ApproxDPCurve(*self.amount(totals))


@dataclass(frozen=True)
class PureFilter(BasicFilter):
    """Stop when Σ ε_i > ε; every release is ε_i-DP and δ = 0 (Rogers et al. 2016).

    The sum of pure ε is a guarantee at every stopping time.
    """

    composition: ClassVar[Composition] = Composition.PURE
    units: ClassVar[tuple[str, ...]] = ("pure epsilon",)
    counted: ClassVar[tuple[str, ...]] = ("pure_epsilon",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta != 0.0:
            raise ValueError(
                f"composition='pure' needs delta=0, got {self.delta:g}. Use composition='basic'."
            )


@dataclass(frozen=True)
class GaussianFilter(Filter):
    r"""Stop when Σ m_i² > B², Σ η_i > `slack` or Σ τ_i > `tv`.

    For an output within total variation τ_i of the released one, release i is below the curve of
    m_i-Gaussian DP plus η_i. B solves δ_B(ε) + `slack` + (1 + e^ε)·`tv` = δ. All three limits are
    fixed in advance: an analyst who uses the rest of one limit for another moves the frontier and
    exceeds δ.

    Source: Koskela, Tobaben and Honkela 2022; Smith and Thakurta 2022; with slacks and total
    variations: *Gaussian differential privacy* in the documentation.
    """

    composition: ClassVar[Composition] = Composition.GDP
    units: ClassVar[tuple[str, ...]] = ("squared gdp_mu", "slack", "tv")
    counted: ClassVar[tuple[str, ...]] = ("square gdp_mu", "slack", "tv")
    without_delta: ClassVar[str] = "basic"
    takes_reserves: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._for_gaussians <= 0.0:
            raise ValueError(
                f"slack={self.slack:g} and (1 + e^epsilon)*tv, tv={self.tv:g}, leave nothing of "
                f"delta={self.delta:g} for Gaussian releases."
            )

    @property
    def _for_gaussians(self) -> float:
        if not (self.slack or self.tv):
            return self.delta
        set_aside = self.slack + (1.0 + math.exp(min(self.epsilon, 700.0))) * self.tv
        return safe_numbers.down(self.delta - up(set_aside, FORMULA), FORMULA)

    @cached_property
    def limits(self) -> Amounts:  # type: ignore[override]
        # `gdp_mu` rounds down by twice the margin that is added here. The other half, 5e-12, is
        # more than the 2^-53 by which a printed μ may be below the exact one.
        widest = gdp_mu(self.epsilon, self._for_gaussians) * (1.0 + 0.5 * margin(CURVE))
        square = EXACT.power(Decimal(widest), 2)
        return square, decimal(self.slack), decimal(self.tv)

    def facts(self, event: Event, neighboring: Neighboring, slack_left: Slack) -> dict[str, Any]:
        """Return a μ, a slack and a total variation.

        The curve of `gdp_mu` plus `slack` covers the event, for an output within `tv` of the
        released one. A Gaussian DP event has its own μ. Another event has the least μ whose curve
        covers it up to `slack_left()`: the parameters of a composition are fixed in advance.
        """
        ideal, tv = event.ideal()
        ideals, slack = list(ideal.leaves()), 0.0
        mu = math.hypot(*(math.sqrt(k) * leaf.gdp_mu(neighboring) for leaf, k in ideals))
        if not math.isfinite(mu) and NonPrivateEvent() not in [leaf for leaf, _ in ideals]:
            slack = slack_left()
            mu = covering(ideals, neighboring, slack)
        return {"gdp_mu": mu, "slack": slack, "tv": tv}

    def slack_left(self, sums: Amounts) -> float:
        """Return a power of two, so that equal releases share one cached cover."""
        share = _SLACK_SHARE * max(0.0, float(EXACT.subtract(self.limits[1], sums[1])))
        if share <= _LEAST_SLACK * self.delta:
            return 0.0
        return 2.0 ** math.floor(math.log2(share))

    def amount(self, totals: Amounts) -> Amount:
        return Amount(self.curve(totals).epsilon(self.delta), self.delta)

    def left(self, totals: Amounts) -> Amount:
        left = math.sqrt(float(minus(self.limits, totals)[0]))
        return largest_gaussian(left, self.delta)

    def curve(self, totals: Amounts) -> CoveredCurve:
        mu, slack, tv = math.sqrt(float(totals[0])), float(totals[1]), float(totals[2])
        return CoveredCurve(mu, slack=slack, tv=tv)


@dataclass(frozen=True)
class ZCDPFilter(Filter):
    """Stop when Σ ρ_i exceeds the largest ρ that implies (ε, δ)-DP (Feldman and Zrnic 2021).

    The conversion is the tight one (Canonne, Kamath and Steinke 2020, Proposition 12), not the
    classic ρ + 2·sqrt(ρ·log 1/δ).
    """

    composition: ClassVar[Composition] = Composition.ZCDP
    units: ClassVar[tuple[str, ...]] = ("rho",)
    counted: ClassVar[tuple[str, ...]] = ("zcdp_rho",)
    without_delta: ClassVar[str] = "pure"

    @cached_property
    def limits(self) -> Amounts:  # type: ignore[override]
        # Printed costs are below the exact ones by a relative 2^-53 at most: one more operation.
        return (Decimal(safe_numbers.down(rho_budget(self.epsilon, self.delta)[0], SERIES + 1)),)

    def amount(self, totals: Amounts) -> Amount:
        rho, ceiling = float(totals[0]), self.epsilon if self.fits(totals) else math.inf
        spent = epsilon_from_rdp(lambda order: rho * order, self.delta, "tight") if rho else 0.0
        return Amount(min(max(0.0, spent), ceiling), self.delta)

    def left(self, totals: Amounts) -> Amount:
        rho = float(minus(self.limits, totals)[0])
        return largest_gaussian(math.sqrt(2.0 * rho), self.delta)

    def curve(self, totals: Amounts) -> ZCDPCurve:
        return ZCDPCurve(up(float(totals[0]), SERIES))


@dataclass(frozen=True)
class RenyiFilter(Filter):
    """Stop when Σ r_i(α) > R(α) for any of the `orders` (Feldman and Zrnic 2021).

    R(α) is the largest divergence that implies (ε, δ)-DP by the tight conversion. A release must
    fit at all orders, so each further order only rejects more. The default is therefore one order,
    from the grid `ORDERS` or off it, that admits most Gaussian noise. It is chosen when the ledger
    is made and stored in its terms. ("Some order still has room" would admit more, but is not
    proved: the order that is left depends on the outputs.)
    """

    composition: ClassVar[Composition] = Composition.RDP
    without_delta: ClassVar[str] = "pure"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.orders:
            log_delta = math.log(self.delta)
            own = rho_budget(self.epsilon, self.delta, _LARGEST_ORDER)[1]
            best = max((*ORDERS, own), key=lambda a: rdp_budget(a, self.epsilon, log_delta) / a)
            object.__setattr__(self, "orders", (best,))
        if not all(1.0 < order < math.inf for order in self.orders):
            raise ValueError(f"orders must be above 1, got {self.orders!r}.")
        if min(self._budgets()) <= 0.0:
            raise ValueError(
                f"epsilon={self.epsilon:g}, delta={self.delta:g} admits no release at the Rényi "
                f"orders {self.orders}."
            )

    @property
    def units(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"Rényi divergence of order {order:g}" for order in self.orders)

    @property
    def counted(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"renyi.{k}" for k in range(len(self.orders)))

    def _budgets(self) -> tuple[float, ...]:
        log_delta = math.log(self.delta)
        return tuple(rdp_budget(order, self.epsilon, log_delta) for order in self.orders)

    @cached_property
    def limits(self) -> Amounts:  # type: ignore[override]
        # Printed costs are below the exact ones by a relative 2^-53 at most: one more operation.
        return tuple(Decimal(safe_numbers.down(budget, SERIES + 1)) for budget in self._budgets())

    def facts(self, event: Event, neighboring: Neighboring, slack_left: Slack) -> dict[str, Any]:
        return {"renyi": tuple(renyi_cost(event, neighboring, a) for a in self.orders)}

    def amount(self, totals: Amounts) -> Amount:
        if not any(totals):
            return Amount(0.0, self.delta)
        pairs, log_delta = zip(self.orders, totals, strict=True), math.log(self.delta)
        spent = max(0.0, min(tight_epsilon(a, float(r), log_delta) for a, r in pairs))
        return Amount(min(spent, self.epsilon) if self.fits(totals) else spent, self.delta)

    def left(self, totals: Amounts) -> Amount:
        left = zip(minus(self.limits, totals), self.orders, strict=True)
        rho = min(float(divergence) / order for divergence, order in left)
        return largest_gaussian(math.sqrt(2.0 * rho), self.delta)

    def curve(self, totals: Amounts) -> ConvertedCurve:
        return ConvertedCurve(self.orders, tuple(map(float, totals)))


FILTERS: dict[str, type[Filter]] = {
    kind.composition: kind
    for kind in (GaussianFilter, BasicFilter, ZCDPFilter, RenyiFilter, PureFilter)
}
"""The compositions by name."""


def rule_of(
    composition: str,
    epsilon: float,
    delta: float,
    *,
    slack: float | None = None,
    tv: float = 0.0,
    orders: Iterable[float] = (),
    strict: bool = False,
    exact: bool = False,
) -> Filter:
    """Check the terms of a budget and return its filter."""
    kind = FILTERS[check_choice("composition", composition, FILTERS)]
    epsilon, delta = check_real("epsilon", epsilon, low=0.0), check_delta(delta)
    if slack is None:
        slack = kind.default_slack(delta, strict)
    reserves = {"slack": float(slack), "tv": float(tv)}
    for name, flag in (("strict", strict), ("exact", exact)):
        if not isinstance(flag, bool):
            raise ValueError(f"{name} must be True or False, got {flag!r}.")
    return kind(epsilon, delta, **reserves, orders=tuple(orders), strict=strict, exact=exact)
