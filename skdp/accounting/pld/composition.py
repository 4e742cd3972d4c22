"""Privacy of many steps together, from their privacy loss distributions, between two bounds.

Each step's loss is put on a grid so that the curve of the discrete distribution lies above (below)
the true one. The discrete losses are added by FFT, with every error charged to the safe side, and ε
is where the bound itself meets δ. Both bounds are theorems up to the accuracy claimed for the
special functions. See *The numerical accountant* in the user guide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from skdp.accounting.pld.dominating_pairs import LARGEST_LOSS, LossPair, optimistic, pessimistic
from skdp.accounting.pld.fft_composition import ComposedLoss, compose_losses
from skdp.accounting.pld.grid_choice import (
    CountedPairs,
    GridChoice,
    choice_for_delta,
    choices_for_epsilon,
)
from skdp.support.rounding import SUM, down
from skdp.support.validation import check_count, check_delta

__all__ = ["Composition", "compose", "delta_above", "delta_below", "epsilon_above", "epsilon_below"]

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
    >>> from skdp.accounting.pld.gaussian_pairs import PoissonGaussianPair
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


def _infinite(terms: CountedPairs) -> float:
    """Return the mass of the sum at +inf."""
    return -math.expm1(sum(count * math.log1p(-pair.infinite) for pair, count in terms))


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
