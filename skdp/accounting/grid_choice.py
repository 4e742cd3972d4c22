"""Step, tilt and window of one composition: choices that cost time or tightness, never safety.

Everything is computed on a coarse distribution of each step's loss: a thousand points, dense where
the loss is small. `pld` proves its bounds whatever is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.fft import next_fast_len

from skdp.accounting.loss_pairs import LossPair, survival
from skdp.support.safe_numbers import THERE_AND_BACK, up

CountedPairs = tuple[tuple[LossPair, int], ...]
"""The dominating pairs of a composition, each with how often it is composed."""

ORDERS = np.concatenate([[-1.0, 0.0], np.logspace(-4.0, 9.0, 131)])
_POSITIVE = 2  # where the positive orders begin
_TILTS = slice(_POSITIVE, int(np.searchsorted(ORDERS, 2e8)))
_SCALES = np.logspace(-12.0, 8.0, 81)
_TAIL = 1e-45
_LEAST_LOG_DELTA = -90.0
_SIZES = (-18.0, -27.0, -45.0, -63.0)  # of log δ
_MARGIN = 9.5  # −log of the mass that may be cut off, relative to δ
_MOST_CELLS = 2**20
_CHEAP_CELLS = 2**15
_FEWEST_CELLS = 2**12
_RAISED = 100  # releases of one kind that may all reach their top
_MOST_WEIGHT = 9.0  # log of the largest weight relative to δ
_EXCESS = 2.7e-4  # in ε, from connecting the dots
_SHARE = 0.03  # of 1/λ, likewise
_DOUBT = 4.0  # how far, in units of 1/λ, ε may lie below its guess


@dataclass(frozen=True, eq=False)
class Profile:
    """A coarse distribution of the loss of one step, and δ at its losses, less the atom at +inf."""

    losses: np.ndarray
    deltas: np.ndarray
    masses: np.ndarray


@dataclass(frozen=True, eq=False)
class _Step:
    """A coarse distribution cut off at `top`, how often it is run, and the tilted sum's moments."""

    profile: Profile
    count: int
    top: float
    masses: np.ndarray
    cumulants: np.ndarray  # log E e^(order·sum), and mean and variance of the tilted sum


@dataclass(frozen=True, kw_only=True)
class GridChoice:
    """Grid, cells of each step, tilt, window and proof orders of a composition."""

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
    """Return the coarse distribution of one step."""
    top = _first(lambda x: pair.above(x) - up(pair.infinite, THERE_AND_BACK) <= _TAIL)
    bottom = _first(lambda x: (np.expm1(-x) + pair.above(-x[::-1])[::-1]) <= 1e-14)
    losses = np.concatenate([-_nodes(bottom)[::-1], [0.0], _nodes(top)])
    if pair.lattice:
        losses = np.union1d(losses, pair.lattice * np.arange(-2.0, 3.0))
    if pair.origin:
        losses = np.union1d(losses, [pair.origin])
    deltas = pair.above(losses)
    inner, _ = survival(deltas, np.diff(losses))
    s = np.concatenate([[1.0], inner, deltas[-1:]])
    s = np.minimum(np.maximum.accumulate(s[::-1])[::-1], 1.0)
    return Profile(losses, deltas - up(pair.infinite, THERE_AND_BACK), s[:-1] - s[1:])


def _first(ended: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return about the least loss from which on a tail has ended, a little larger."""
    scales = _SCALES
    for _ in range(6):
        end = min(int(np.argmax(np.append(ended(scales), True))), scales.size - 1)
        scales = np.linspace(scales[max(end - 1, 0)], scales[end], 17)
    return float(scales[-1])


def _nodes(largest: float) -> np.ndarray:
    """Return points in (0, largest], dense near both ends."""
    near = np.logspace(-7.0, 0.0, 141)
    shares = np.concatenate([np.linspace(0.0, 1.0, 121), near, 1.0 - near])
    return largest * np.unique(np.round(shares, 12))[1:]  # none a rounding error apart


def _cut(pair: LossPair, count: int, log_rest: float) -> _Step:
    """Return the coarse distribution up to where `count` times δ of one step is e^log_rest."""
    # There the dots end, and δ becomes an atom at +inf: heavy tails would spoil the log moments.
    coarse = profile(pair)
    small = count * coarse.deltas <= math.exp(log_rest)
    end = int(np.argmax(small)) if small.any() else coarse.losses.size - 1
    masses = np.zeros(coarse.losses.size)
    masses[:end] = coarse.masses[:end]
    masses[end] = max(float(coarse.masses[end:].sum()) - coarse.deltas[end], 0.0)
    top = max(float(coarse.losses[end]), 1e-9)
    return _Step(coarse, count, top, masses, count * _cumulants(coarse.losses, masses))


def _cumulants(losses: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Return log E e^(order·loss) and mean and variance of the tilted distribution, at `ORDERS`."""
    kept = masses > 0.0
    if not kept.any():
        return np.zeros((3, ORDERS.size))
    losses = losses[kept]
    exponents = np.log(masses[kept]) + np.multiply.outer(ORDERS, losses)
    peaks = exponents.max(axis=1)
    tilted = np.exp(exponents - peaks[:, None])
    totals = tilted.sum(axis=1)
    means = tilted @ losses / totals
    variances = tilted @ (losses * losses) / totals - means * means
    moments = peaks + np.log(totals)
    moments[:_POSITIVE] = 0.0  # E e^−L ≤ 1 and E 1 ≤ 1
    return np.array([moments, means, np.maximum(variances, 1e-24)])


def choice_for_delta(terms: CountedPairs, delta: float, largest: float = math.inf) -> GridChoice:
    """Return a grid fit for finding ε at δ(ε) = `delta`, with a tilt up to `largest`."""
    log_delta = math.log(delta)
    steps = [_cut(pair, count, log_delta - _MARGIN) for pair, count in terms]
    epsilons, log_deltas = _saddles(steps)
    found = max(int(np.argmax(np.append(log_deltas, -math.inf) <= log_delta)), 1)
    best = max(min(found, int(np.searchsorted(ORDERS[_TILTS], largest)) - 1), 0)
    guess = max(float(np.interp(-log_delta, -log_deltas, epsilons)), 0.0)
    return _choice(terms, steps, guess, log_delta, best + _POSITIVE)


def choices_for_epsilon(terms: CountedPairs, epsilon: float) -> Iterator[tuple[GridChoice, float]]:
    """Yield grids for finding δ(`epsilon`), and the log δ for which each is made."""
    # The first is from ever smaller guesses of log δ. Rare large losses and tiny δ mislead the
    # guesses: the other grids are for any size.
    log_delta, guess = 0.0, -math.inf
    while log_delta > _LEAST_LOG_DELTA and guess < log_delta:
        log_delta = max(guess, log_delta - 9.0, _LEAST_LOG_DELTA)
        steps, best, at, guess = _fit(terms, epsilon, log_delta)
    yield _choice(terms, steps, at, log_delta, best), log_delta
    for log_delta in _SIZES:
        steps, best, at, _ = _fit(terms, epsilon, log_delta)
        yield _choice(terms, steps, at, log_delta, best), log_delta


def _fit(
    terms: CountedPairs, epsilon: float, log_delta: float
) -> tuple[list[_Step], int, float, float]:
    """Return steps fit for δ = e^log_delta, the best tilt and its ε, and a guess at log δ(ε)."""
    steps = [_cut(pair, count, log_delta - _MARGIN) for pair, count in terms]
    epsilons, log_deltas = _saddles(steps)
    best = int(np.argmax(np.append(epsilons, math.inf) >= epsilon))
    # beyond all losses there is no fit: choose for where δ is tiny, it is smaller still at ε
    ended = int(np.argmax(np.append(log_deltas, -math.inf) <= _LEAST_LOG_DELTA))
    best = min(best, ended, epsilons.size - 1)
    guess = min(float(log_deltas[best]), 0.0) - 3.0
    return steps, best + _POSITIVE, min(epsilon, float(epsilons[best])), guess


def _saddles(steps: list[_Step]) -> tuple[np.ndarray, np.ndarray]:
    """Return about the ε, and log δ(ε), at which each tilt λ is the one that fits.

    δ(ε) is the integral of e^(K(z) − zε)/(z(z + 1)) along Re z = λ, K the log moment; at ε =
    K'(λ) − 1/λ − 1/(1 + λ) the integrand has its saddle point there, and δ falls as e^(−λε).
    """
    tilts, (moments, means, variances) = ORDERS[_TILTS], _total(steps)[:, _TILTS]
    epsilons = means - 1.0 / tilts - 1.0 / (1.0 + tilts)
    widths = variances + tilts**-2.0 + (1.0 + tilts) ** -2.0
    peaks = moments - tilts * epsilons - np.log(tilts * (tilts + 1.0))
    return epsilons, np.minimum.accumulate(peaks - 0.5 * np.log(2.0 * math.pi * widths))


def _choice(
    terms: CountedPairs, steps: list[_Step], epsilon: float, log_delta: float, best: int
) -> GridChoice:
    excess = _excess(best)
    margin = max(_MARGIN, -math.log(excess * float(ORDERS[best]) / 20.0))
    if margin > _MARGIN + 0.5:
        steps = [_cut(pair, count, log_delta - margin) for pair, count in terms]
    total = _total(steps)[0]
    epsilons = epsilon, max(epsilon - _DOUBT / float(ORDERS[best]), min(epsilon, 0.0))
    ranges = [(_low(step, best, excess), step.top) for step in steps]
    above = (total[_POSITIVE:] + margin - log_delta) / ORDERS[_POSITIVE:]
    end = float(above.min())
    tilt, proof, beyond, window = _tilt(total, best, epsilons, log_delta, margin, end)
    widest = max(window, *(top - low for low, top in ranges))
    step, lower = _width(terms, steps, best, excess, widest)
    cells = tuple(
        (math.floor((low - pair.origin) / step) - 1, math.ceil((top - pair.origin) / step) + 1)
        for (low, top), (pair, _) in zip(ranges, terms, strict=True)
    )
    # Tops of the distributions on the grid lie up to two cells a release above the true ones.
    raised = 2 * sum(min(count, _RAISED) for _, count in terms)
    size = int(next_fast_len(max(math.ceil(window / step) + 4 + raised, 64), real=True))
    orders = ORDERS[[tilt, _POSITIVE + int(np.argmin(above)), proof, beyond]].tolist()
    origin = sum(count * pair.origin for pair, count in terms)
    last = math.ceil((end - origin) / step) + 1 + raised
    return GridChoice(
        step=step,
        lower_step=lower,
        cells=cells,
        order=orders[0],
        size=size,
        last=last,
        order_above=orders[1],
        order_below=orders[2],
        order_beyond=orders[3],
    )


def _tilt(
    total: np.ndarray,
    best: int,
    epsilons: tuple[float, float],
    log_delta: float,
    margin: float,
    end: float,
) -> tuple[int, int, int, float]:
    """Return the tilt with the shortest window, the orders that prove it enough, and its length."""
    # The tilted mass below the window, or above ε plus its length, times the largest weight must be
    # at most e^−margin of δ. Below the best tilt that weight exceeds δ, and rounding counts for
    # more, hence `_MOST_WEIGHT`.
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
    return np.sum([step.cumulants for step in steps], axis=0)


def _low(step: _Step, best: int, excess: float) -> float:
    """Return the loss up to which the losses of one step may be raised, moving ε by little."""
    losses, order = step.profile.losses, ORDERS[best]
    growth = np.minimum(order * losses - step.cumulants[0, best] / step.count, 50.0)
    moved = step.count * np.cumsum(step.masses) * np.exp(growth)
    raised = np.flatnonzero(moved <= order * excess / 20.0)
    return float(losses[raised[-1]] if raised.size else losses[0])


def _width(
    terms: CountedPairs, steps: list[_Step], best: int, excess: float, widest: float
) -> tuple[float, float]:
    """Return the width of the grid, for the upper bound and for the lower.

    Connecting the dots moves log E e^(λL) by about λ(λ + 1)h²/12 per step, hence ε by
    T(λ + 1)h²/12, or h²/8 at worst where h is wider than the distribution of one step.
    """
    single = math.sqrt(min(step.cumulants[2, best] / step.count for step in steps))
    order = float(ORDERS[best])
    curvature = sum(step.count for step in steps) * (order + 1.0)
    step = min(math.sqrt(12.0 * excess / curvature), 0.5 / order, widest / _FEWEST_CELLS)
    if step > 0.5 * single:
        step = min(step, math.sqrt(8.0 * excess / curvature))
    step = max(step, widest / _MOST_CELLS, 0.5 * excess / sum(step.count for step in steps))
    least = min(step, widest / _CHEAP_CELLS)
    lattice = min((pair.lattice for pair, _ in terms if pair.lattice >= least), default=0.0)
    if not lattice:
        return step, step
    # close to a divisor: raised atoms are then just below a grid point, lowered ones just above
    cells, beside = max(math.ceil(lattice / step), 3), min(1e-12, 1e-3 * lattice)
    return (lattice + beside) / cells, (lattice - beside) / cells


def _excess(best: int) -> float:
    """Return the allowed increase of ε by rounding.

    It is proportional to 1/λ, because an increase of ε by 1/λ lowers δ by a factor of about e.
    """
    return min(_EXCESS, _SHARE / float(ORDERS[best]))
