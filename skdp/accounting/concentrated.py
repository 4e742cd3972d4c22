"""Gaussian, zero-concentrated and Rényi differential privacy: parameters of releases add up."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from skdp.accounting.base import Accountant, EventCount, total
from skdp.privacy import Event, GaussianCurve, PrivacyCurve
from skdp.privacy.curve import both_orders
from skdp.support.safe_numbers import (
    FORMULA,
    ROOT,
    SERIES,
    SUM,
    THERE_AND_BACK,
    arithmetic,
    bisect,
    down,
    first_to_hold,
    margin,
    minimize_from_grid,
    up,
)
from skdp.support.types import Number
from skdp.support.validation import check_choice, check_delta, set_checked

_CELLS = 64
_DEPTH = 40  # with `_WIDEST` about speed: a cover that is not proved by then counts as none
_WIDEST = 50_000
_NEAR_THE_END = down(1.0, ROOT)  # no guarantee rests on it: where the search gives up
_ROUNDING = margin(SERIES)  # of a slope: log_ndtr, up to 700, is off by 4·2⁻⁵³ of itself, 3e-13
_SMALLEST_MU, _LARGEST_MU = 1e-12, 60.0
_UNDERFLOW = 1e-250  # a δ that ends has larger values just before


def covering_mu(curve: PrivacyCurve, slack: float = 0.0, *, precision: float = 1e-9) -> float:
    r"""Return the least m with δ(ε) ≤ δ_m(ε) + `slack` for all real ε, in both orders, rounded up.

    `precision` is relative; a coarse one is faster. The answer is ``inf`` if δ(ε) > slack for every
    ε; at slack 0 also for a non-Gaussian pair whose loss is unbounded, which no finite number of
    values can certify; and if m would exceed 60.

    **Guarantee.** Between two points H(c) lies below its chord and the Gaussian curve above its
    tangent in the middle. Both are straight in c = e^ε, so it suffices to compare the ends. Cells
    that fail are halved. It suffices to look at ε ≥ 0 in both orders: see *The least covering μ* in
    the user guide.

    Examples
    --------
    >>> from skdp.privacy import GaussianCurve
    >>> bool(GaussianCurve(1.0).mu <= covering_mu(GaussianCurve(1.0), 0.0))
    True
    """
    slack = check_delta(slack)
    if isinstance(curve, GaussianCurve) and slack == 0.0:
        return curve.mu
    return max(_one_order(order, slack, precision) for order in both_orders(curve))


def _one_order(curve: PrivacyCurve, slack: float, precision: float) -> float:
    end = curve.epsilon(slack)
    if end == 0.0:
        return 0.0
    if math.isinf(end) or (slack == 0.0 and curve.delta(end * _NEAR_THE_END) < _UNDERFLOW):
        return math.inf

    def covers(mu: float) -> bool:
        return _covers(curve, slack, end, mu)

    inside, outside = first_to_hold(covers, 0.0, _SMALLEST_MU, lambda mu: 4.0 * mu, _LARGEST_MU)
    if math.isinf(inside):
        return math.inf
    return bisect(covers, inside, outside, arithmetic(precision))


def _covers(curve: PrivacyCurve, slack: float, end: float, mu: float) -> bool:
    """Return True only if N(μ, 1) against N(0, 1) covers the curve on [0, end] up to `slack`."""
    gaussian = GaussianCurve(mu)
    grid = np.linspace(0.0, end, _CELLS + 1)
    left, right = grid[:-1], grid[1:]
    for _ in range(_DEPTH):
        excess = curve.delta(left) - slack
        if np.any(excess > up(gaussian.delta(left), SERIES)):
            return False
        open_ = _open_cells(curve, slack, gaussian, left, right)
        left, right = left[open_], right[open_]
        if not left.size:
            return True
        if left.size > _WIDEST:
            return False
        middle = 0.5 * (left + right)
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return False


def _open_cells(
    curve: PrivacyCurve, slack: float, gaussian: GaussianCurve, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Return the cells where the chord is not seen to lie below the tangent in the middle."""
    # Chord and tangent are straight in c = e^ε: below at both ends is below everywhere between. The
    # tangent at c₀ has the slope −Φ(−ε₀/m − m/2), and c − c₀ is e^ε₀·(e^(ε − ε₀) − 1): *Gaussian DP
    # and its cover*, "The least covering μ".
    middle = 0.5 * (left + right)
    value = down(gaussian.delta(middle), SERIES)
    steep = np.exp(middle + log_ndtr(-middle / gaussian.mu - 0.5 * gaussian.mu))
    fails = np.zeros(left.shape, dtype=bool)
    for point in (left, right):
        tangent = value - np.expm1(point - middle) * steep
        safe = tangent - _ROUNDING * (np.abs(tangent) + value)
        fails |= ~(up(curve.delta(point), SERIES) - slack <= safe)
    return fails


@dataclass(frozen=True)
class GDPAccountant(Accountant):
    r"""Gaussian composition: δ(ε) = δ_μ(ε) + `slack` with μ² = Σ μ_i².

    Exact if all leaves are Gaussian. A leaf that is not μ-GDP itself enters through its least
    covering μ; the slack is split equally between such releases.

    Parameters
    ----------
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    slack : float in [0, 1)
        *Public.* Part of δ for covering leaves without a μ. With 0 such leaves raise.

    Notes
    -----
    **Guarantee.** Dong, Roth and Su 2022, Corollary 2; with slacks: *Gaussian DP and its cover* in
    the user guide, after Koskela, Tobaben and Honkela 2022. It also holds for adaptively chosen
    releases, if Σ μ_i² and Σ slack_i are bounded beforehand.

    Examples
    --------
    >>> from skdp.privacy import GaussianEvent, SelfComposedEvent
    >>> event = SelfComposedEvent(GaussianEvent(20.0), 100)
    >>> round(GDPAccountant().epsilon(event, 1e-5), 5)
    4.37718
    """

    slack: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        set_checked(self, slack=check_delta(self.slack))

    def mu(self, event: Event) -> float:
        """Return the μ of an event, without the slack.

        Parameters
        ----------
        event : Event
            *Public.* What was released, its parameters fixed beforehand.

        Returns
        -------
        float
        """
        return self._total(self._leaves(event))[0]

    def bounds(self, event: Event, delta: float) -> tuple[float, float]:
        upper = self.epsilon(event, delta)
        for leaf in self._leaves(event):
            if leaf.curves != (GaussianCurve(leaf.mu),):
                raise self._refusal(leaf, "a Gaussian curve for a lower bound")
        return max(0.0, down(upper, THERE_AND_BACK) - 1e-300), upper

    def _epsilon(self, leaves: tuple[EventCount, ...], delta: float) -> float:
        mu, slack = self._total(leaves)
        return GaussianCurve(mu).epsilon(delta - slack) if delta >= slack else math.inf

    def _delta(self, leaves: tuple[EventCount, ...], epsilon: float) -> float:
        mu, slack = self._total(leaves)
        return up(GaussianCurve(mu).delta(epsilon), SERIES) + slack

    def _total(self, leaves: tuple[EventCount, ...]) -> tuple[float, float]:
        without = sum(leaf.count for leaf in leaves if math.isinf(leaf.mu))
        each = self.slack / without if without else 0.0
        squares = math.fsum(leaf.count * self._mu(leaf, each) ** 2 for leaf in leaves)
        return up(math.sqrt(squares), SUM), self.slack if without else 0.0

    def _mu(self, leaf: EventCount, slack: float) -> float:
        if math.isfinite(leaf.mu):
            return leaf.mu
        covering = covering_mu(leaf.event.curve(leaf.neighboring), slack) if slack else math.inf
        if math.isinf(covering):
            raise self._refusal(leaf, f"a Gaussian cover at slack {slack:g} a release")
        return covering


Rdp = Callable[[float], float]
"""Order above 1 to a bound on the Rényi divergence."""

_START, _LAST = 2.0, 30.0  # of log(order − 1)
_SERIES_ROUNDING, _SUM_ROUNDING = margin(SERIES), margin(FORMULA)
_ENDLESS = 1e200  # in place of inf, which the minimization cannot subtract


def _lemma_7(order: float, rdp: float, log_delta: float) -> float:
    """Return ε = r + log(1/δ)/(order − 1) (Mironov 2017, Proposition 3; Tian 2024, Lemma 7)."""
    return rdp - log_delta / (order - 1.0)


def _shape(order: float) -> float:
    """Return log(1 − 1/order), accurate on both sides of 2."""
    return math.log((order - 1.0) / order) if order < 2.0 else math.log1p(-1.0 / order)


def tight_epsilon(order: float, rdp: float, log_delta: float) -> float:
    """Return ε = r + log(1 − 1/a) − (log δ + log a)/(a − 1), rounded upwards.

    Source: Canonne, Kamath and Steinke 2020, Proposition 12; Balle et al. 2020.
    """
    spread = (log_delta + math.log(order)) / (order - 1.0)
    return rdp + _shape(order) - spread + _spread_error(order, rdp, log_delta)


def rdp_budget(order: float, epsilon: float, log_delta: float) -> float:
    """Return the largest divergence that implies (ε, δ) at one order; below 0 if none does."""
    spread = (log_delta + math.log(order)) / (order - 1.0)
    return epsilon - _shape(order) + spread - _spread_error(order, epsilon, log_delta)


def _spread_error(order: float, size: float, log_delta: float) -> float:
    """Return more than the rounding of the sums above."""
    terms = size - _shape(order) + (math.log(order) - log_delta) / (order - 1.0)
    return _SUM_ROUNDING * terms


def tight_log_delta(order: float, rdp: float, epsilon: Number) -> Number:
    """Return log δ = (a − 1)(r − ε) + a·log(1 − 1/a) − log(a − 1)."""
    return (order - 1.0) * (rdp - epsilon) + order * _shape(order) - math.log(order - 1.0)


def _lemma_7_delta(order: float, rdp: float, epsilon: Number) -> Number:
    return (order - 1.0) * (rdp - epsilon)


CONVERSIONS = {"tight": (tight_epsilon, tight_log_delta), "classic": (_lemma_7, _lemma_7_delta)}
"""(ε, log δ) at one order, by name."""


def epsilon_from_rdp(rdp: Rdp, delta: float, conversion: str) -> float:
    """Return the least ε over the orders, rounded upwards."""
    if delta == 0.0:
        return math.inf
    log_delta = math.log(delta)
    formula = CONVERSIONS[conversion][0]
    best = _least(lambda order: formula(order, rdp(order), log_delta))
    return best + _SERIES_ROUNDING * abs(best)


def delta_from_rdp(rdp: Rdp, epsilon: float, conversion: str) -> float:
    """Return the least δ over the orders, rounded upwards."""
    if math.isinf(epsilon):
        return 0.0
    formula = CONVERSIONS[conversion][1]
    log_delta = _least(lambda order: formula(order, rdp(order), epsilon))
    return min(1.0, math.exp(min(0.0, log_delta + _SERIES_ROUNDING * (1.0 + abs(log_delta)))))


def rho_budget(epsilon: float, delta: float, widest: float = 1e15) -> tuple[float, float]:
    """Return the largest ρ that implies (ε, δ) at some order up to `widest`, and that order."""
    log_delta = math.log(delta)

    def rho(step: float) -> float:
        return rdp_budget(1.0 + step, epsilon, log_delta) / (1.0 + step)

    n_steps = 24 * round(math.log10(widest) + 3.0) + 1
    best = max(np.geomspace(1e-3, widest, n_steps).tolist(), key=rho)
    best = max((best * np.geomspace(0.88, 1.14, 2001)).tolist(), key=rho)
    return rho(best), 1.0 + best


def _least(value: Callable[[float], float]) -> float:
    """Return the least value over order > 1; each value is valid, so none can be too small."""

    def at(x: float) -> float:
        return min(value(1.0 + math.exp(x)), _ENDLESS)

    x, found = _walk(at)
    if found == _ENDLESS:
        return math.inf
    valley = np.array([x - 1.0, x, x + 1.0]), np.array([_ENDLESS, found, _ENDLESS])
    return minimize_from_grid(at, *valley, xatol=1e-7)[1]


def _walk(at: Callable[[float], float]) -> tuple[float, float]:
    """Return the bottom of the valley on a grid of step 1; there is one, K(order) being convex."""
    x, value = _START, at(_START)
    for step in (-1.0, 1.0):
        while abs(x + step) <= _LAST:
            ahead = at(x + step)
            if ahead > value or (ahead == value < _ENDLESS):
                break
            x, value = x + step, ahead
        if value == _ENDLESS:
            x = _START
    return x, value


@dataclass(frozen=True)
class _RenyiAccountant(Accountant):
    conversion: str = "tight"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("conversion", self.conversion, CONVERSIONS)


@dataclass(frozen=True)
class ZCDPAccountant(_RenyiAccountant):
    r"""Composition of zCDP: ρ = Σ k_i·ρ_i, then from ρ to (ε, δ).

    Parameters
    ----------
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    conversion : {"tight", "classic"}
        *Public.* ``"tight"`` minimizes exp((a − 1)(ρa − ε))·(1 − 1/a)^a / (a − 1) over orders
        a > 1. ``"classic"`` is ρ + 2·√(ρ·log(1/δ)), the least over a of Tian 2024, Lemma 7.

    Notes
    -----
    **Guarantee.** Bun and Steinke 2016, Lemma 1.7 and Proposition 1.3 (classic); Canonne, Kamath
    and Steinke 2020, Proposition 12 (tight). A pure ε is ε·tanh(ε/2)-zCDP, at most the ε²/2 of Bun
    and Steinke 2016, Proposition 1.4: see *Zero-concentrated DP* in the user guide.

    Examples
    --------
    >>> from skdp.privacy import GDPEvent
    >>> round(ZCDPAccountant().epsilon(GDPEvent(1.0), 1e-5), 5)
    4.72839
    >>> round(ZCDPAccountant(conversion="classic").epsilon(GDPEvent(1.0), 1e-5), 5)
    5.29853
    """

    def rho(self, event: Event) -> float:
        """Return the ρ of an event.

        Parameters
        ----------
        event : Event
            *Public.* What was released, its parameters fixed beforehand.

        Returns
        -------
        float
        """
        return self._rho(self._leaves(event))

    def _rho(self, leaves: tuple[EventCount, ...]) -> float:
        for leaf in leaves:
            if math.isinf(leaf.rho):
                raise self._refusal(leaf, "a finite zcdp_rho")
        return total(leaves, lambda leaf: leaf.rho)

    def _epsilon(self, leaves: tuple[EventCount, ...], delta: float) -> float:
        rho = self._rho(leaves)
        if rho == 0.0 or delta == 0.0:
            return 0.0 if rho == 0.0 else math.inf
        if self.conversion == "classic":
            return up(rho + 2.0 * math.sqrt(rho * -math.log(delta)), FORMULA)
        return epsilon_from_rdp(lambda order: rho * order, delta, self.conversion)

    def _delta(self, leaves: tuple[EventCount, ...], epsilon: float) -> float:
        rho = self._rho(leaves)
        if rho == 0.0:
            return 0.0
        if self.conversion == "classic":
            exponent = -(max(0.0, epsilon - rho) ** 2) / (4.0 * rho)
            return math.exp(min(0.0, down(exponent, FORMULA)))
        return delta_from_rdp(lambda order: rho * order, epsilon, self.conversion)


_LEAST_ORDER = 1.0 + 1e-6


@dataclass(frozen=True)
class RDPAccountant(_RenyiAccountant):
    r"""Rényi composition: r(a) = Σ k_i·r_i(a) for every order a > 1, then the best order.

    Orders are continuous. Every order gives a valid bound, even if it is not the best one.

    Parameters
    ----------
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    conversion : {"tight", "classic"}
        *Public.* ``"classic"`` is ε = r(a) + log(1/δ)/(a − 1), Tian 2024, Lemma 7 with ρ = r(a)/a.

    Notes
    -----
    **Guarantee.** Mironov 2017, Propositions 1 and 3. Canonne, Kamath and Steinke 2020,
    Proposition 12. r_i(a) is the least of three values: the event's own, ρ·a, and the value of
    randomized response at the event's pure ε (Mironov 2017, Proposition 6; Kairouz, Oh and
    Viswanath 2015). No δ exceeds the total variation, which is at most √(r/2) and √(1 − e^−r)
    with r of an order just above 1 (Pinsker; Bretagnolle and Huber 1979). So ε = 0 once δ
    reaches it.

    Examples
    --------
    >>> from skdp.privacy import GDPEvent
    >>> round(RDPAccountant().epsilon(GDPEvent(1.0), 1e-5), 5)
    4.72839
    """

    def rdp(self, event: Event, order: float) -> float:
        """Return the Rényi divergence bound of an event at an order above 1.

        Parameters
        ----------
        event : Event
            *Public.* What was released, its parameters fixed beforehand.
        order : float
            *Public.* Order α of the divergence, above 1.

        Returns
        -------
        float
            An upper bound; ``inf`` if none is known.
        """
        return self._rdp(self._leaves(event), order)

    def _rdp(self, leaves: tuple[EventCount, ...], order: float) -> float:
        return total(leaves, lambda leaf: leaf.rdp(order))

    def _epsilon(self, leaves: tuple[EventCount, ...], delta: float) -> float:
        self._check(leaves)
        pure = total(leaves, lambda leaf: leaf.pure)
        if pure == 0.0 or delta >= self._total_variation(leaves):
            return 0.0
        converted = epsilon_from_rdp(lambda a: self._rdp(leaves, a), delta, self.conversion)
        return min(pure, converted)

    def _delta(self, leaves: tuple[EventCount, ...], epsilon: float) -> float:
        self._check(leaves)
        if total(leaves, lambda leaf: leaf.pure) <= epsilon:
            return 0.0
        converted = delta_from_rdp(lambda a: self._rdp(leaves, a), epsilon, self.conversion)
        return min(converted, self._total_variation(leaves))

    def _total_variation(self, leaves: tuple[EventCount, ...]) -> float:
        least = self._rdp(leaves, _LEAST_ORDER)
        return up(math.sqrt(min(0.5 * least, -math.expm1(-least))), SUM)

    def _check(self, leaves: tuple[EventCount, ...]) -> None:
        for leaf in leaves:
            if math.isinf(leaf.rdp(_LEAST_ORDER)):
                raise self._refusal(leaf, "finite Rényi divergences")
