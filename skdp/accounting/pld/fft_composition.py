"""Sums of independent privacy losses by a tilted FFT, with every error on the safe side.

Let p_j be the distributions of the steps on the common grid h·Z, T_j their counts, λ > 0 the tilt,
M_j = Σ p_j·e^(λ·loss) and x_j = p_j·e^(λ·loss)/M_j, a probability vector. The distribution of the
sum is y·w with y the convolution of all the x_j^{*T_j} and w(l) = Π M_j^T_j·e^(−λl), so that

    δ(ε) = 1 − Π (1 − infinite_j)^T_j + Σ over l > ε of y(l)·w(l)·(1 − e^(ε−l)).

Tilting makes every rounding error one relative to about δ.

- *Wrapping.* The FFT yields y modulo N cells. It only adds to the N cells of the window, so the
  upper bound needs just the true mass above the window (Markov's inequality for e^(λ'·loss)); the
  lower one takes off what wraps onto the cells that count, times the largest weight.
- *Rounding.* Each coefficient of an FFT of a vector of l1 norm 1 is a sum of terms that pass
  log2 N butterflies, each of which adds a few units: an error e ≤ 10·u·log2 N. Then
  |d Π F_j^T_j| ≤ Σ T_j·(e_j + 4u)/(|F_j| + e_j)·Π (|F_j| + e_j)^T_j; coefficients below e^−60 are
  dropped and their bound charged whole. Parseval turns this into an l2 error of y, and
  Cauchy-Schwarz into an error of δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, rfft

from skdp.accounting.pld.dominating_pairs import UNIT, Pmf
from skdp.accounting.pld.grid_choice import GridChoice
from skdp.support.root_search import bisect

__all__ = ["ComposedLoss", "compose_losses"]

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
    weights = np.exp(exponents)
    return ComposedLoss(
        losses=losses,
        end=_origin(parts) + choice.step * choice.last,
        tilted=np.maximum(summed[indices % choice.size], 0.0) * weights,
        weights=weights,
        infinite=_union(parts),
        l2_error=l2_error,
        relative_error=2.0 * relative,
        above=math.exp(min(_tail(parts, choice.order_above, choice), 0.0)),
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


def _union(parts: Parts) -> float:
    """Return 1 − Π (1 − infinite_j)^T_j."""
    if any(pmf.infinite >= 1.0 for pmf, _ in parts):
        return 1.0
    return -math.expm1(sum(count * math.log1p(-pmf.infinite) for pmf, count in parts))


def _tail(parts: Parts, order: float, choice: GridChoice) -> float:
    """Return a bound on log P(sum > last cell), by Markov's inequality at `order`."""
    return _total(parts, order) - order * (_origin(parts) + choice.step * choice.last)


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
