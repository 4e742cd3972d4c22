"""Privacy of many steps together, from their privacy loss distributions, between two bounds.

Each step's loss is put on a grid so that the curve of the discrete distribution lies above (below)
the true one. The discrete losses are added by FFT, with every error charged to the safe side, and ε
is where the bound itself meets δ. Both bounds are theorems up to the accuracy claimed for the
special functions. See *The numerical accountant* in the user guide.

Sums of losses are found by a tilted FFT. Let p_j be the distributions of the steps on the common
grid h·Z, T_j their counts, λ > 0 the tilt, M_j = Σ p_j·e^(λ·loss) and x_j = p_j·e^(λ·loss)/M_j, a
probability vector. The distribution of the sum is y·w with y the convolution of all the x_j^{*T_j}
and w(l) = Π M_j^T_j·e^(−λl), so that

    δ(ε) = 1 − Π (1 − infinite_j)^T_j + Σ over l > ε of y(l)·w(l)·(1 − e^(ε−l)).

Tilting makes every rounding error one relative to about δ.

- *Wrapping.* The FFT yields y modulo N cells. It only adds to the N cells of the window, so the
  upper bound needs just the true mass above the window (Markov's inequality for e^(λ'·loss)); the
  lower one takes off what wraps onto the cells that count, times the largest weight.
- *Rounding.* Each coefficient of an FFT of a vector of l1 norm 1 is a sum of terms. They pass
  log2 N butterflies, and each butterfly adds a few units: an error e ≤ 10·u·log2 N. Then
  |d Π F_j^T_j| ≤ Σ T_j·(e_j + 4u)/(|F_j| + e_j)·Π (|F_j| + e_j)^T_j; coefficients below e^−60 are
  dropped and their bound charged whole. Parseval turns this into an l2 error of y, and
  Cauchy-Schwarz into an error of δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

import numpy as np
from scipy.fft import irfft, rfft

from skdp.accounting.base import Accountant, EventCount, is_open, total
from skdp.accounting.concentrated import Rdp, delta_from_rdp, epsilon_from_rdp
from skdp.accounting.grid_choice import (
    CountedPairs,
    GridChoice,
    choice_for_delta,
    choices_for_epsilon,
)
from skdp.accounting.loss_pairs import (
    LARGEST_LOSS,
    UNIT,
    LossPair,
    Pmf,
    loss_pair,
    optimistic,
    pessimistic,
)
from skdp.privacy import Event, GaussianCurve, PrivacyCurve
from skdp.privacy.gaussian import ZCDPCurve, ZCDPEvent
from skdp.privacy.noise_events import RepeatAndSelectEvent
from skdp.support.safe_numbers import SERIES, SUM, THERE_AND_BACK, bisect, down, up
from skdp.support.validation import check_count, check_delta

_DROPPED = -60.0  # log of the coefficients that are dropped
_LONGEST = 600.0  # log of the largest ratio of weights
_LARGEST_WEIGHT = 300.0  # log; its square is a double
Parts = Sequence[tuple[Pmf, int]]


@dataclass(frozen=True, eq=False)
class ComposedLoss:
    """The tilted sum on its window, and the bounds on what is wrong with it."""

    losses: np.ndarray  # the upper part of the window, where δ can be computed
    end: float  # of the window
    tilted: np.ndarray  # y·w
    weights: np.ndarray  # w
    infinite: float
    l2_error: float  # of y
    relative_error: float  # of w
    above: float  # true mass above the window
    wrapped: tuple[float, float]  # tilted mass below, and above: log-linear in ε
    choice: GridChoice
    log_scale: float

    def upper(self, epsilon: float) -> float:
        """Return a number not below δ(ε) of the composition of the distributions."""
        if epsilon < self._bottom:
            return 1.0
        finite, error = self._sums(epsilon)
        finite = (finite + error) * (1.0 + self.relative_error)
        return min(1.0, (self.infinite + self.above + finite) * (1.0 + 8.0 * UNIT))

    def lower(self, epsilon: float) -> float:
        """Return a number not above δ(ε) of the composition of the distributions."""
        floor = max(0.0, -math.expm1(min(epsilon, 0.0)) * (1.0 - 4.0 * UNIT))
        if epsilon < self._bottom:
            return max(floor, self.infinite)
        finite, error = self._sums(epsilon)
        finite -= error + self._wrapped(epsilon)
        finite = max(finite * (1.0 - self.relative_error), 0.0)
        return max(floor, (self.infinite + finite) * (1.0 - 8.0 * UNIT))

    @property
    def _bottom(self) -> float:
        """Start of the window, or its end if every weight in it is too large."""
        return float(self.losses[0]) if self.losses.size else self.end

    def _sums(self, epsilon: float) -> tuple[float, float]:
        start = int(np.searchsorted(self.losses, epsilon, side="right"))
        factors = -np.expm1(epsilon - self.losses[start:])
        value = float(self.tilted[start:] @ factors)
        weighted = self.weights[start:] * factors
        rounding = UNIT * (factors.size + 16.0) * value
        return value, self.l2_error * math.sqrt(float(weighted @ weighted)) * 1.001 + rounding

    def _wrapped(self, epsilon: float) -> float:
        """Return wrapped mass times the largest weight, max over x of e^(−λx)(1 − e^−x)·w(ε)."""
        choice, (below, beyond) = self.choice, self.wrapped
        top = epsilon + choice.step * choice.size
        mass = math.exp(min(below, 0.0))
        mass += math.exp(min(beyond - (choice.order_beyond - choice.order) * top, 0.0))
        weight = math.exp(min(self.log_scale - choice.order * epsilon, 700.0)) / (
            1.0 + choice.order
        )
        return mass * weight * 1.001

    def epsilon_above(self, delta: float) -> float:
        """Return an ε ≥ 0 with upper(ε) ≤ delta, close to the least; inf if the window has none."""
        if not self.losses.size:
            return math.inf
        return self._search(self.upper, delta, self._crossing(delta - self.above), 1.0)

    def epsilon_below(self, delta: float) -> float:
        """Return an ε ≥ 0, close to the largest, with lower(ε) > delta, or 0."""
        if self.infinite * (1.0 - 8.0 * UNIT) > delta:
            return math.inf
        if not self.losses.size:
            return 0.0
        return self._search(self.lower, delta, self._crossing(delta), -1.0)

    def settles(self, epsilon: float, delta: float) -> bool:
        """Whether `epsilon`, found for `delta`, lies well inside the window, with small errors."""
        if not self.losses.size or not self.losses[0] < epsilon < self.losses[-1]:
            return False
        if self.infinite + self._sums(float(self.losses[0]))[0] <= delta:
            return False
        return self._sums(epsilon)[1] + self._wrapped(epsilon) <= 1e-3 * delta

    def _crossing(self, delta: float) -> float:
        """Estimate the ε at which the sum is delta, from sums over the tails of the window."""
        # The mass beyond x + 1 counts for more than half at x: the crossing lies above `start`.
        target = delta - self.infinite
        masses = np.cumsum(self.tilted[::-1])[::-1]
        above = np.flatnonzero(masses > 4.0 * target)
        start = max(int(above[-1]) - math.ceil(1.0 / self.choice.step), 0) if above.size else 0
        losses, tilted, masses = self.losses[start:], self.tilted[start:], masses[start:]
        offsets = np.minimum(losses - losses[0], _LONGEST)
        damped = np.cumsum((tilted * np.exp(-offsets))[::-1])[::-1]
        at = int(np.searchsorted(-(masses - np.exp(offsets) * damped), -target))
        at = min(max(at, 1), losses.size - 1)
        if not (masses[at] > target and damped[at] > 0.0):
            return float(losses[at])
        inside = math.log((masses[at] - target) / damped[at]) + losses[0]
        return float(np.clip(inside, losses[at - 1], losses[at]))

    def _search(
        self, bound: Callable[[float], float], delta: float, guess: float, way: float
    ) -> float:
        """Go from the guess in growing steps until `bound` agrees, then bisect; always checked."""

        def agrees(epsilon: float) -> bool:
            return (bound(epsilon) > delta) == (way < 0.0)

        def middle(a: float, b: float) -> float | None:
            return 0.5 * (a + b) if abs(a - b) > 1e-7 * (1.0 + abs(a)) else None

        epsilon, shift = max(guess, 0.0), 1e-10 * (1.0 + abs(guess))
        last = epsilon
        while not agrees(epsilon):
            if not 0.0 < epsilon + shift <= self.losses[-1] + 1.0:
                return math.inf if way > 0.0 else 0.0
            last, epsilon, shift = epsilon, max(epsilon + way * shift, 0.0), 2.0 * shift
        return bisect(agrees, epsilon, last, middle)


def compose_losses(parts: Parts, choice: GridChoice) -> ComposedLoss:
    """Return the composition of distributions on the chosen grid, each used `count` times."""
    logs, relative, transforms = [], 4.0 * UNIT, []
    for pmf, count in parts:
        tilted, log_moment, error, loss_error = _tilt(pmf, choice)
        logs.append(count * log_moment)
        relative += count * loss_error
        transforms.append((rfft(tilted), count, error))
    summed, l2_error = _multiply(transforms, choice.size)
    indices = np.arange(choice.last - choice.size + 1, choice.last + 1)
    losses = _origin(parts) + choice.step * indices
    exponents = sum(logs) - choice.order * losses
    visible = int(np.searchsorted(-exponents, -_LARGEST_WEIGHT))
    exponents, indices, losses = exponents[visible:], indices[visible:], losses[visible:]
    relative += 4.0 * UNIT * (abs(sum(logs)) + float(np.abs(exponents).max(initial=0.0)))
    weights, end = np.exp(exponents), _origin(parts) + choice.step * choice.last
    above = _total(parts, choice.order_above) - choice.order_above * end  # Markov's inequality
    return ComposedLoss(
        losses=losses,
        end=end,
        tilted=np.maximum(summed[indices % choice.size], 0.0) * weights,
        weights=weights,
        infinite=_infinite(parts),
        l2_error=l2_error,
        relative_error=2.0 * relative,
        above=math.exp(min(above, 0.0)),
        wrapped=_wrapped_logs(parts, choice, sum(logs)),
        choice=choice,
        log_scale=sum(logs),
    )


def _tilt(pmf: Pmf, choice: GridChoice) -> tuple[np.ndarray, float, float, float]:
    """Return x folded onto the window, log M, the error e of x's FFT, and that of log M.

    M is whatever float the sum gives: only its use as a divisor and as a factor must agree.
    """
    exponents = choice.order * pmf.losses
    peak = float(exponents.max())
    x = pmf.masses * np.exp(exponents - peak)
    total = max(float(x.sum()), 1e-300)
    x /= total
    sizes = float(x @ np.abs(exponents)) + abs(peak)
    error = UNIT * (10.0 * math.log2(choice.size) + 16.0 + 4.0 * sizes)
    folded = np.zeros(choice.size * -(-(x.size + pmf.first % choice.size) // choice.size))
    folded[pmf.first % choice.size :][: x.size] = x
    rows = folded.reshape(-1, choice.size)
    error += UNIT * rows.shape[0]
    loss_error = 2.0 * UNIT * (abs(peak) + abs(math.log(total)) + 2.0)
    return rows.sum(axis=0), peak + math.log(total), error, loss_error


def _multiply(
    transforms: Sequence[tuple[np.ndarray, int, float]], size: int
) -> tuple[np.ndarray, float]:
    """Return the inverse FFT of Π F_j^T_j and a bound on its error in l2."""
    logs = sum(n * np.log(np.abs(f) + 2.0 * e) for f, n, e in transforms)
    kept = logs > _DROPPED
    product, charge = np.ones(int(kept.sum()), dtype=complex), 0.0
    for transform, count, error in transforms:
        chosen = transform[kept]
        product *= _power(chosen, count)
        charge = charge + count * (error + 4.0 * UNIT) / (np.abs(chosen) + error)
    bounds = np.exp(logs)
    bounds[kept] *= charge + UNIT * 8.0
    everything = np.zeros(transforms[0][0].size, dtype=complex)
    everything[kept] = product
    norm = math.sqrt(2.0 * float(np.sum(np.abs(product) ** 2)) / size)
    inverse = 10.0 * UNIT * math.log2(size) * norm
    error = math.sqrt(2.0 * float(bounds @ bounds) / size) + inverse
    return irfft(everything, size), 1.01 * error


def _power(base: np.ndarray, exponent: int) -> np.ndarray:
    """Return base**exponent by repeated squaring: relative error at most 3·u·exponent."""
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result = result * base
        exponent >>= 1
        if exponent:
            base = base * base
    return result


def _infinite(parts: Sequence[tuple[Pmf | LossPair, int]]) -> float:
    """Return the mass of the sum at +inf, 1 − Π (1 − infinite_j)^T_j."""
    if any(part.infinite >= 1.0 for part, _ in parts):
        return 1.0
    return -math.expm1(sum(count * math.log1p(-part.infinite) for part, count in parts))


def _origin(parts: Parts) -> float:
    """Return the loss of the sum at index 0."""
    return math.fsum(count * pmf.origin for pmf, count in parts)


def _total(parts: Parts, order: float) -> float:
    total = sum(count * pmf.log_moment(order) for pmf, count in parts)
    return total + 1e-12 * abs(total)


def _wrapped_logs(parts: Parts, choice: GridChoice, total: float) -> tuple[float, float]:
    """Return log bounds on the tilted mass below the window, and above at loss 0."""
    end = _origin(parts) + choice.step * (choice.last - choice.size)
    below = _total(parts, choice.order_below) - total + (choice.order - choice.order_below) * end
    if not choice.order_beyond > choice.order:
        return below, 0.0
    return below, _total(parts, choice.order_beyond) - total


_POINTS = 33
_LAST = 1e8  # end of the search for ε
_PRECISION = 1e-13  # of ε, relative
_SHIFTS = np.geomspace(_PRECISION, 1.0, 27)
_MEMORY = 4096  # answers kept
_LEAST_TILT = 0.1
_LARGE = 0.25  # a δ for which there are good grids
_MISJUDGED = 1e4  # how far above its guess a δ may be
Answer = Callable[[CountedPairs, float, bool], float]


def compose(terms: Iterable[tuple[LossPair, int]]) -> Composition:
    """Return the composition of (dominating pair, count), fixed beforehand.

    Later steps may see earlier outputs, but which mechanisms run, and how often, may not depend on
    them. All pairs are for the same neighboring relation and in the order "record removed".

    Examples
    --------
    >>> from skdp.accounting.loss_pairs import PoissonGaussianPair
    >>> steps = compose([(PoissonGaussianPair(mu=1.0, rate=0.01), 1000)])
    >>> lower, upper = steps.bounds_epsilon(1e-5)
    >>> round(upper, 3), upper - lower < 1e-3
    (1.828, True)
    """
    counts: dict[LossPair, int] = {}
    for pair, count in terms:
        counts[pair] = counts.get(pair, 0) + check_count("count", count)
    if not counts:
        raise ValueError("There is nothing to compose.")
    return Composition(tuple(counts.items()))


@dataclass(frozen=True)
class Composition:
    """Several mechanisms on the same data.

    **Guarantee.** Upper values are never below those of the dominating pairs, lower values never
    above: the worse of the two orders of neighbors, each composed by itself. Upper values of ε
    exceed the truth by about 3e-4 at most.
    """

    terms: CountedPairs

    def bounds_delta(self, epsilon: float) -> tuple[float, float]:
        """Return numbers between which δ(ε) lies, for any real ε."""
        return self._worst(_delta, float(epsilon), False), self.delta(epsilon)

    def bounds_epsilon(self, delta: float) -> tuple[float, float]:
        """Return numbers between which the least ε ≥ 0 with δ(ε) ≤ `delta` lies."""
        delta = check_delta(delta)
        return self._worst(_epsilon, delta, False), self.epsilon(delta)

    def delta(self, epsilon: float) -> float:
        """Return a number not below δ(ε), close to it."""
        return self._worst(_delta, float(epsilon), True)

    def epsilon(self, delta: float) -> float:
        """Return an ε for which the composition is (ε, `delta`)-DP, close to the least."""
        return self._worst(_epsilon, check_delta(delta), True)

    def _worst(self, answer: Answer, value: float, upper: bool) -> float:
        orders = {self.terms, tuple((pair.backward, count) for pair, count in self.terms)}
        return max(answer(terms, value, upper) for terms in orders)


@lru_cache(maxsize=_MEMORY)
def _epsilon(terms: CountedPairs, delta: float, upper: bool) -> float:
    """Return a bound on the least ε ≥ 0 with δ(ε) ≤ delta, for one order of neighbors."""
    if len(terms) == 1 and terms[0][1] == 1:
        return (epsilon_above if upper else epsilon_below)(terms[0][0], delta)
    if sum(count * float(pair.above(np.zeros(1))[0]) for pair, count in terms) <= delta:
        return 0.0  # total variation is subadditive
    rest = delta - _infinite(terms)
    if rest <= 0.0:
        return math.inf if upper or rest < -1e-12 * delta else 0.0
    choice = choice_for_delta(terms, min(rest, _LARGE))
    best, settled = _attempt(terms, choice, delta, upper)
    while not settled and choice.order > _LEAST_TILT:
        # near the end of a bounded loss the best tilt is endless and its window too short
        choice = choice_for_delta(terms, min(rest, _LARGE), choice.order / 8.0)
        answer, settled = _attempt(terms, choice, delta, upper)
        best = min(best, answer) if upper else max(best, answer)
    return best


def _attempt(
    terms: CountedPairs, choice: GridChoice, delta: float, upper: bool
) -> tuple[float, bool]:
    """Return a bound on ε, sound in any case, and whether it should be tight."""
    losses = _composed(terms, choice, upper)
    answer = losses.epsilon_above(delta) if upper else losses.epsilon_below(delta)
    return answer, (upper and answer == 0.0) or losses.settles(answer, delta)


@lru_cache(maxsize=_MEMORY)
def _delta(terms: CountedPairs, epsilon: float, upper: bool) -> float:
    """Return a bound on δ(ε) for one order of neighbors."""
    if len(terms) == 1 and terms[0][1] == 1:
        return (delta_above if upper else delta_below)(terms[0][0], epsilon)
    choices = choices_for_epsilon(terms, epsilon)
    choice, log_delta = next(choices)
    losses = _composed(terms, choice, upper)
    if not upper:
        return losses.lower(epsilon)
    best = losses.upper(epsilon)
    if best > max(math.exp(log_delta) * _MISJUDGED, 2.0 * _infinite(terms)):
        best = min(best, *(_composed(terms, choice, True).upper(epsilon) for choice, _ in choices))
    return best


def _composed(terms: CountedPairs, choice: GridChoice, upper: bool) -> ComposedLoss:
    discretize = pessimistic if upper else optimistic
    choice = choice if upper else replace(choice, step=choice.lower_step)
    parts = [
        (discretize(pair, choice.step, *cells), count)
        for (pair, count), cells in zip(terms, choice.cells, strict=True)
    ]
    return compose_losses(parts, choice)


def epsilon_above(pair: LossPair, delta: float) -> float:
    """Return an ε ≥ 0 with δ(ε) ≤ `delta`, the least but for rounding; inf if none is found."""
    low, high = 0.0, 1.0
    while delta_above(pair, high) > delta:
        if high >= _LAST:
            return math.inf
        low, high = high, 8.0 * high
    while high - low > _PRECISION * high and high > 1e-300:
        grid = np.linspace(low, high, _POINTS)
        enough = int(np.argmax(pair.above(grid) <= delta))
        if enough == 0:
            return low
        low, high = float(grid[enough - 1]), float(grid[enough])
    return high


def epsilon_below(pair: LossPair, delta: float) -> float:
    """Return an ε with δ(ε) > `delta`, the largest but for rounding; 0 if none is found."""
    if pair.infinite > delta:
        return math.inf
    upper = min(epsilon_above(pair, delta), LARGEST_LOSS)
    candidates = (float(epsilon) for epsilon in upper * (1.0 - _SHIFTS))
    return next((epsilon for epsilon in candidates if delta_below(pair, epsilon) > delta), 0.0)


def delta_above(pair: LossPair, epsilon: float) -> float:
    """Return a number not below δ(ε)."""
    return float(pair.above(np.array([epsilon]))[0])


def delta_below(pair: LossPair, epsilon: float) -> float:
    """Return a number not above δ(ε): where the tangents next to it stand there."""
    width = 1e-7 * max(abs(epsilon), 1e-9)
    left, right, _ = pair.below(epsilon + np.array([-width, 0.0, width]))
    floor = max(pair.infinite, down(-math.expm1(min(epsilon, 0.0)), SUM))
    return max(floor, float(left[1]), float(right[0]))


COVERED = (RepeatAndSelectEvent, ZCDPEvent)
"""Events with Rényi bounds that are tighter than those of their curves."""


_Curve = TypeVar("_Curve", bound=PrivacyCurve)


@dataclass(frozen=True)
class PLDAccountant(Accountant):
    r"""Numerical composition of dominating pairs, for each order of the neighbors separately.

    The tightest accountant for a plan that is fixed in advance, of any leaves with a curve. ε
    exceeds that of the pairs by about 3e-4, less if ε is small, and at most 1e-5 of it if ε is
    large. Single releases and plans of Gaussian leaves are exact. zCDP leaves are merged. Bounds
    from Rényi divergences and from pure ε are used if they are lower.

    Parameters
    ----------
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).

    Notes
    -----
    **Guarantee.** Zhu, Dong and Wang 2022, Theorem 10 (dominating pairs compose as products);
    Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022 (connect the dots); rounding, truncation
    and wrapping are all charged to the safe side. Rényi divergences: Mironov 2017, Proposition 1;
    Canonne, Kamath and Steinke 2020, Proposition 12. It does **not** hold for adaptively chosen
    releases; those need a filter, see `skdp.budget`.

    Examples
    --------
    >>> from skdp.privacy import GDPEvent, SelfComposedEvent
    >>> round(PLDAccountant().epsilon(SelfComposedEvent(GDPEvent(0.1), 100), 1e-5), 5)
    4.37718
    """

    def bounds(self, event: Event, delta: float) -> tuple[float, float]:
        upper = self.epsilon(event, delta)
        leaves = self._leaves(event)
        if not leaves or is_open(leaves):
            return upper, upper
        _, composed = _composed_leaves(leaves)
        if composed is None:
            return max(0.0, down(upper, THERE_AND_BACK)), upper
        return min(upper, composed.bounds_epsilon(check_delta(delta))[0]), upper

    def _epsilon(self, leaves: tuple[EventCount, ...], delta: float) -> float:
        mu, composed = _composed_leaves(leaves)
        if composed is None:
            return GaussianCurve(mu).epsilon(delta)
        answers = [_pure(leaves)]
        if delta > 0.0:
            answers.append(composed.epsilon(delta))
            if (rdp := _renyi(leaves)) is not None:
                answers.append(epsilon_from_rdp(rdp, delta, "tight"))
        return min(answers)

    def _delta(self, leaves: tuple[EventCount, ...], epsilon: float) -> float:
        mu, composed = _composed_leaves(leaves)
        if composed is None:
            return up(GaussianCurve(mu).delta(epsilon), SERIES)
        if epsilon >= _pure(leaves):
            return 0.0
        answers = [composed.delta(epsilon)]
        if (rdp := _renyi(leaves)) is not None:
            answers.append(delta_from_rdp(rdp, epsilon, "tight"))
        return min(answers)


def _composed_leaves(leaves: tuple[EventCount, ...]) -> tuple[float, Composition | None]:
    """Return the μ of the Gaussian leaves, and all leaves composed unless they are the only."""
    mu = math.sqrt(_summed(leaves, GaussianCurve, lambda curve: curve.mu**2))
    rho = _summed(leaves, ZCDPCurve, lambda curve: curve.rho)
    pairs = [(loss_pair(ZCDPCurve(rho)), 1)] if rho else []
    for leaf in leaves:
        if not isinstance(leaf.curves[0], GaussianCurve | ZCDPCurve):
            pairs.append((loss_pair(leaf.curves[0]), leaf.count))
    if not pairs:
        return mu, None
    return mu, compose(pairs + ([(loss_pair(GaussianCurve(mu)), 1)] if mu else []))


def _summed(
    leaves: tuple[EventCount, ...], kind: type[_Curve], part: Callable[[_Curve], float]
) -> float:
    """Return Σ count·part over the leaves with a curve of this kind, rounded upwards."""

    def cost(leaf: EventCount) -> float:
        curve = leaf.curves[0]
        return part(curve) if isinstance(curve, kind) else 0.0

    return total(leaves, cost)


def _pure(leaves: tuple[EventCount, ...]) -> float:
    return total(leaves, lambda leaf: leaf.pure)


def _renyi(leaves: tuple[EventCount, ...]) -> Rdp | None:
    """Return the Rényi divergences, if they say more than the curves of some leaf."""
    if not any(isinstance(leaf.event, COVERED) for leaf in leaves):
        return None
    return lambda order: total(leaves, lambda leaf: leaf.rdp(order))
