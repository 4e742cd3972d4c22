"""Step, tilt and window of one composition: choices that cost time or tightness, never safety.

Everything here is worked out on a coarse law of each step's loss, a thousand points that lie
close together where the loss is small. Whatever comes out, `_composition` proves its bounds anew.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.fft import next_fast_len

from skdp.accounting._loss_pairs import LossPair
from skdp.accounting._pmf import survival

__all__ = ["Plan", "plan_for_delta", "plan_for_epsilon", "profile"]

ORDERS = np.concatenate([[-1.0, 0.0], np.logspace(-2.0, 5.0, 106)])
_POSITIVE = 2  # where the positive orders begin
_TILTS = slice(_POSITIVE, int(np.searchsorted(ORDERS, 5e3)))
_SCALES = np.logspace(-10.0, 4.0, 57)
_TAIL = 1e-45
_LEAST_LOG_DELTA = -90.0
_MARGIN = 9.5  # −log of what may be cut off, relative to δ
_MOST_CELLS = 2**22
_CHEAP_CELLS = 2**15
_FEWEST_CELLS = 2**12
_MOST_WEIGHT = 9.0  # log of the largest weight relative to δ
_EXCESS = 2.7e-4  # in ε, from connecting the dots


@dataclass(frozen=True, eq=False)
class Profile:
    """A coarse law of the loss of one step, and δ at its losses, less the atom at +inf."""

    losses: np.ndarray
    deltas: np.ndarray
    masses: np.ndarray


@dataclass(frozen=True, eq=False)
class _Step:
    """A coarse law cut off at `top`, how often it is run, and log E e^(order·sum) at `ORDERS`."""

    law: Profile
    count: int
    top: float
    masses: np.ndarray
    log_moments: np.ndarray


@dataclass(frozen=True)
class Plan:
    """How to compose: the grid, the cells of each step, the tilt, the window and proof orders."""

    step: float
    lower_step: float  # for the lower bound
    cells: tuple[tuple[int, int], ...]
    order: float
    size: int  # of the FFT
    last: int  # cell where the window ends
    order_above: float  # proves that little lies above the window
    order_below: float  # and, tilted, below
    order_beyond: float  # and, tilted, above


@lru_cache(maxsize=256)
def profile(pair: LossPair) -> Profile:
    """Return the coarse law of one step."""
    ends = pair.above(_SCALES) - pair.infinite * (1.0 + 1e-11)
    top = _SCALES[min(int(np.argmax(np.append(ends, 0.0) <= _TAIL)), _SCALES.size - 1)]
    low = np.expm1(-_SCALES[::-1]) + pair.above(-_SCALES[::-1])
    bottom = _SCALES[::-1][max(int(np.argmax(np.append(low, 1.0) > 1e-14)) - 1, 0)]
    losses = np.concatenate([-_nodes(bottom)[::-1], [0.0], _nodes(top)])
    deltas = pair.above(losses)
    inner, _ = survival(deltas, np.diff(losses))
    s = np.concatenate([[1.0], inner, deltas[-1:]])
    s = np.minimum(np.maximum.accumulate(s[::-1])[::-1], 1.0)
    return Profile(losses, deltas - pair.infinite * (1.0 + 1e-11), s[:-1] - s[1:])


def _nodes(largest: float) -> np.ndarray:
    """Return points in (0, largest], dense near 0."""
    linear = np.linspace(0.0, largest, 121)[1:]
    return np.union1d(linear, largest * np.logspace(-7.0, 0.0, 241))


def _cut(pair: LossPair, count: int, log_rest: float) -> _Step:
    """Return the coarse law up to where `count` times δ of one step is e^log_rest.

    What is cut becomes an atom at +inf. Heavy tails would spoil the log moments otherwise.
    """
    law = profile(pair)
    small = count * law.deltas <= math.exp(log_rest)
    end = int(np.argmax(small)) if small.any() else law.losses.size - 1
    masses = np.where(np.arange(law.losses.size) <= end, law.masses, 0.0)
    kept = masses > 0.0
    exponents = np.log(masses[kept]) + np.multiply.outer(ORDERS, law.losses[kept])
    peaks = exponents.max(axis=1)
    moments = peaks + np.log(np.exp(exponents - peaks[:, None]).sum(axis=1))
    moments[:_POSITIVE] = 0.0  # E e^−L ≤ 1 and E 1 ≤ 1
    return _Step(law, count, max(float(law.losses[end]), 1e-9), masses, count * moments)


Terms = tuple[tuple[LossPair, int], ...]


def plan_for_delta(terms: Terms, delta: float, largest: float = math.inf) -> Plan:
    """Return a plan fit for finding the ε at which δ(ε) = `delta`, with a tilt up to `largest`."""
    log_delta = math.log(delta)
    steps = [_cut(pair, count, log_delta - _MARGIN) for pair, count in terms]
    total = _total(steps)
    tilts = ORDERS[_TILTS]
    chernoff = ((total - log_delta)[_TILTS] / tilts)[: max(int(np.searchsorted(tilts, largest)), 1)]
    best = int(np.argmin(chernoff)) + _POSITIVE
    order, spread = ORDERS[best], math.sqrt(_tilted_variance_of_sum(steps, best))
    closer = math.log(max(math.sqrt(2.0 * math.pi) * order * (order + 1.0) * spread, 1.0)) / order
    guess = max(float(chernoff.min()) - closer, 0.0)
    lowest = max(float(chernoff.min()) - 12.0 / order, 0.0)
    return _plan(terms, steps, (guess, min(guess, lowest)), log_delta, best)


def plan_for_epsilon(terms: Terms, epsilon: float) -> Plan:
    """Return a plan fit for finding δ(`epsilon`), from ever smaller guesses at its size."""
    log_delta, guess = 0.0, -math.inf
    while log_delta > _LEAST_LOG_DELTA and guess < log_delta:
        log_delta = max(guess, log_delta - 9.0, _LEAST_LOG_DELTA)
        steps = [_cut(pair, count, log_delta - _MARGIN) for pair, count in terms]
        chernoff = _total(steps) - ORDERS * epsilon
        best = int(np.argmin(chernoff[_TILTS])) + _POSITIVE
        guess = min(float(chernoff[best]), 0.0) - 3.0
    return _plan(terms, steps, (epsilon, epsilon), log_delta, best)


def _plan(
    terms: Terms, steps: list[_Step], epsilons: tuple[float, float], log_delta: float, best: int
) -> Plan:
    """Return the plan, given a guess at ε and a number safely below it."""
    margin = max(_MARGIN, -math.log(_EXCESS * float(ORDERS[best]) / 20.0))
    if margin > _MARGIN + 0.5:
        steps = [_cut(pair, count, log_delta - margin) for pair, count in terms]
    total = _total(steps)
    ranges = [(_low(step, best), step.top) for step in steps]
    above = (total[_POSITIVE:] + margin - log_delta) / ORDERS[_POSITIVE:]
    end = float(above.min())
    tilt, proof, beyond, window = _tilt(total, best, epsilons, log_delta, margin, end)
    step, lower = _width(terms, steps, best, max(window, *(top - low for low, top in ranges)))
    cells = tuple((math.floor(low / step) - 1, math.ceil(top / step) + 1) for low, top in ranges)
    size = int(next_fast_len(max(math.ceil(window / step) + 4, 64), real=True))
    orders = ORDERS[[tilt, _POSITIVE + int(np.argmin(above)), proof, beyond]].tolist()
    # The laws on the grid end up to two cells a release above the true ones.
    last = math.ceil(end / step) + 1 + 2 * sum(min(count, 8) for _, count in terms)
    return Plan(step, lower, cells, orders[0], size, last, *orders[1:])


def _tilt(
    total: np.ndarray,
    best: int,
    epsilons: tuple[float, float],
    log_delta: float,
    margin: float,
    end: float,
) -> tuple[int, int, int, float]:
    """Return the tilt with the shortest window, the orders that prove it enough, and its length.

    Of the tilted sum, what lies below the window, or above ε plus its length, must be so little
    that with the largest weight it is e^−margin of δ. Below the best tilt that weight exceeds δ,
    and rounding counts for more, hence `_MOST_WEIGHT`.
    """
    epsilon, lowest = epsilons
    tilts = slice(_POSITIVE, best + 1)
    weights = np.maximum((total - ORDERS * epsilon)[tilts] - log_delta, 0.0)
    gaps = ORDERS[tilts, None] - ORDERS[None, :]
    drops = total[tilts, None] - total[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = (drops - margin - weights[:, None]) / gaps
    bottoms = np.where(gaps > 0.0, ends, -np.inf)
    tops = np.where(gaps < 0.0, ends, np.inf)
    windows = np.maximum(end - np.minimum(bottoms.max(axis=1), lowest), tops.min(axis=1) - epsilon)
    allowed = np.flatnonzero(weights <= max(_MOST_WEIGHT, float(weights[-1])))
    chosen = int(allowed[np.argmin(windows[allowed])])
    proofs = int(bottoms[chosen].argmax()), int(tops[chosen].argmin())
    return chosen + _POSITIVE, *proofs, float(windows[chosen])


def _total(steps: list[_Step]) -> np.ndarray:
    """Return the log moments of the whole sum."""
    return np.sum([step.log_moments for step in steps], axis=0)


def _low(step: _Step, best: int) -> float:
    """Return the loss up to which the losses of one step may be raised.

    That moves ε, by the change of the log moment at the best order, by little.
    """
    losses, order = step.law.losses, ORDERS[best]
    growth = np.minimum(order * losses - step.log_moments[best] / step.count, 50.0)
    moved = step.count * np.cumsum(step.masses) * np.exp(growth)
    raised = np.flatnonzero(moved <= order * _EXCESS / 20.0)
    return min(float(losses[raised[-1]]) if raised.size else float(losses[0]), -1e-9)


def _width(terms: Terms, steps: list[_Step], best: int, widest: float) -> tuple[float, float]:
    """Return the width of the grid, for the upper bound and for the lower.

    Connecting the dots moves log E e^(λL) by about λ(λ + 1)h²/12 per step, hence ε by
    T(λ + 1)h²/12, or h²/8 at worst where h is wider than the law of one step. Where δ does not
    fall as e^(−λε), in the middle of the law, the sum's deviation takes the place of 1/λ.
    """
    variances = [_tilted_variance(step, best) for step in steps]
    spread = math.sqrt(_tilted_variance_of_sum(steps, best))
    single = math.sqrt(min(variances))
    order = max(float(ORDERS[best]), 1.0 / spread)
    curvature = sum(step.count for step in steps) * (order + 1.0)
    step = min(math.sqrt(12.0 * _EXCESS / curvature), 0.5 / order, widest / _FEWEST_CELLS)
    if step > 0.5 * single:
        step = min(step, math.sqrt(8.0 * _EXCESS / curvature))
    step = max(step, widest / _MOST_CELLS, 0.5 * _EXCESS / sum(step.count for step in steps))
    least = min(step, widest / _CHEAP_CELLS)
    lattice = min((pair.lattice for pair, _ in terms if pair.lattice >= least), default=0.0)
    if not lattice:
        return step, step
    # a hair from a divisor: atoms then lie just before a dot if raised, just beyond if lowered
    cells, hair = max(math.ceil(lattice / step), 3), min(1e-12, 1e-3 * lattice)
    return (lattice + hair) / cells, (lattice - hair) / cells


def _tilted_variance_of_sum(steps: list[_Step], best: int) -> float:
    return sum(step.count * _tilted_variance(step, best) for step in steps)


def _tilted_variance(step: _Step, best: int) -> float:
    losses = step.law.losses
    exponents = ORDERS[best] * losses - step.log_moments[best] / step.count
    weights = step.masses * np.exp(np.minimum(exponents, 700.0))
    weights /= weights.sum()
    mean = float(weights @ losses)
    return max(float(weights @ (losses - mean) ** 2), 1e-24)
