"""Objective perturbation, also for records whose gradients lie in the hull of few pulls.

Proofs: *Objective perturbation* in the user guide, "Known pulls".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, gammaln, log_ndtr

from skdp.privacy.curve import HullCurve, PrivacyCurve, SymmetricCurve
from skdp.privacy.events import Event
from skdp.privacy.gaussian import GaussianCurve, gaussian_log_delta
from skdp.privacy.neighboring import Neighboring
from skdp.support.safe_numbers import first_to_hold, minimize_from_grid, next_to_root
from skdp.support.types import Number
from skdp.support.validation import check_count, check_real, check_size

_LEVELS = np.exp(-4.0 * np.linspace(1.0, 0.0, 80) ** 2)
"""Of h, in units of the largest: dense where most of the integral is."""
_CHUNK = 4096
_NEWTON_STEPS = 3  # from a start below the root; the remaining error is bounded
# Added to log δ, also of a table, whose sums are good to 1e-11. Where exponents up to (ε/h)²/2
# cancel against a gain, for ε below a + a few m, sums are off by some 60·2⁻⁵³·(ε/m)²: 1e-11 at
# ε/m = 40, and 1e-9 at 390. Beyond that δ may be too small for ε < a only: for ε ≥ a the cells add
# 2 % and more.
_ROUNDING = 1e-9
# Added to log δ over m. M(u) − M(u + h) is at least about h·M(u)/(u + 1.3). 4 units of 2⁻⁵³ in both
# are 4e-14/m of it, for h near m and u ≤ 40. Without a gain δ is below 1e-300 for larger u.
_CANCELLATION = 1e-12
_UNDERFLOW = 1e-280  # smaller cells have lost digits
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_CELLS = 320  # of ε, where a Gaussian is compared with a curve
_LARGEST_EPSILON = 700.0  # e^ε is a double up to here
_WIDTH = 18.0  # in units of m: δ is about 1e-70 there
_LARGEST_MU = 60.0
_PRECISION = 1e-5  # relative, of a covering μ; the larger end is taken

# Where the least of several curves is searched for chords; no guarantee rests on these.
_POINTS = 97
_BEFORE, _BEYOND = 10.0, 38.0  # in units of m around a + m²/2: δ is about 1e-300 at the end
_FINER = 25
_ZOOMS = 3
_DIGITS = 9  # of log δ, to which curves are compared: closer ones count as the same

_Chord = tuple[float, float, float, float]
"""Its ends, and the logarithms of δ there."""


@dataclass(frozen=True)
class PullsCurve(HullCurve):
    """The curve of a privacy loss of at most a + max Z_i, Z_i ~ N(m_i²/2, m_i²).

    A union bound: δ(ε) ≤ Σ δ_(m_i)(ε − a), with Gaussian curves, for ε ≥ a.
    """

    parts: tuple[tuple[int, float], ...]  # how many of the Z_i have which m_i
    log_determinant: float  # a

    @property
    def _farthest(self) -> float:
        count, largest = sum(n for n, _ in self.parts), max(m for _, m in self.parts)
        return self.log_determinant + largest * (largest + 2.0 + math.sqrt(2.0 * math.log(count)))

    def _log_bound(self, epsilon: np.ndarray) -> np.ndarray:
        rest = np.maximum(epsilon - self.log_determinant, 0.0)
        logs = [math.log(n) + gaussian_log_delta(rest, m) for n, m in self.parts]
        bound = np.logaddexp.reduce(logs) + _ROUNDING
        return np.where(epsilon >= self.log_determinant, bound, 0.0)


@dataclass(frozen=True)
class LeastCurve(SymmetricCurve):
    """The convex hull of the least of several curves that all bound one release.

    A true curve is convex in e^ε and below each of `curves`, so it is below every chord of their
    least. Where one curve takes over from another, the least is not convex, and the lowest chord
    over that place replaces it.
    """

    curves: tuple[HullCurve, ...]  # of privacy losses of about a + N(m²/2, m²)
    mu: float  # m
    log_determinant: float  # a

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        return np.exp(self._log_least(epsilon))

    def _log_delta(self, epsilon: np.ndarray) -> np.ndarray:
        found = np.asarray(self._log_least(np.maximum(epsilon, 0.0)))
        found[epsilon < 0.0] = super()._log_delta(epsilon[epsilon < 0.0])
        return found

    def _log_least(self, epsilon: np.ndarray) -> np.ndarray:
        least = self._log_each(epsilon).min(axis=0)
        for start, end, log_first, log_last in self._chords:
            share = np.clip(
                np.expm1(np.minimum(epsilon, end) - start) / np.expm1(end - start), 0, 1
            )
            with np.errstate(divide="ignore"):
                chord = np.logaddexp(log_first + np.log1p(-share), log_last + np.log(share))
            inside = (epsilon > start) & (epsilon < end)
            least = np.where(inside, np.minimum(least, chord), least)
        return least

    def _log_each(self, epsilon: np.ndarray) -> np.ndarray:
        return np.array([curve._log_delta(epsilon) for curve in self.curves])

    @cached_property
    def _chords(self) -> list[_Chord]:
        center = self.log_determinant + 0.5 * self.mu**2
        ends = center - _BEFORE * self.mu, center + _BEYOND * self.mu
        first, last = (min(max(end, 0.0), _LARGEST_EPSILON) for end in ends)
        grid = np.linspace(first, last, _POINTS)
        found = self._chords_on(grid)
        for _ in range(_ZOOMS if found else 0):
            at = np.searchsorted(grid, [x for i, chord in found for x in (*chord[:2], grid[i])])
            beside = grid[np.maximum(at - 1, 0)], grid[np.minimum(at + 2, grid.size - 1)]
            grid = np.unique(np.concatenate([grid, np.linspace(*beside, _FINER).ravel()]))
            found = self._chords_on(grid)
        return [chord for _, chord in found]

    def _chords_on(self, grid: np.ndarray) -> list[tuple[int, _Chord]]:
        """Return the lowest chords between grid points, each with the point before its change."""
        each = self._log_each(grid)
        changes = np.flatnonzero(np.diff(np.round(each, _DIGITS).argmin(axis=0)))
        return [(int(i), _lowest_chord(grid, each.min(axis=0), int(i))) for i in changes]


@dataclass(frozen=True)
class ScorePullsCurve(HullCurve):
    r"""The curve of N(0, 1) against its image under a monotone map, p pulls at most.

    The map is t ↦ t + h(t) with 0 ≤ h' ≤ e^a − 1 =: κ, h between 0 and m for one pull and between
    −m and m for two. With c = e^ε and τ(h) = −ε/h − h/2, in both orders

    .. math:: δ(ε) \le p·J(ε), \qquad
        J(ε) = \int_0^m \max_{t ≥ τ(h)} \bigl\{φ(t+h) + (φ(t+h) - c·φ(t))/κ\bigr\}\,dh .

    As long as h² ≤ 2ε the maximum rises with h; it is ρ(h)·φ(τ + h), where ρ ≥ 1 falls and
    φ(τ + h) is the derivative of the Gaussian δ_h(ε) in h. So a cell counts with the maximum at
    its right end, or with ρ at its left end, whichever is less. Beyond, the maximum is below φ(0).
    """

    mu: float  # m
    log_determinant: float  # a
    pulls: int = 1  # p

    @property
    def _farthest(self) -> float:
        return self.log_determinant + self.mu * (0.5 * self.mu + 1.0)

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        start, slope = self._chord
        known = self._at_zero + slope * np.expm1(np.minimum(epsilon, start))
        beyond = super()._forward(np.maximum(epsilon, start))
        return np.where(epsilon < start, known, np.minimum(beyond, self._at_zero))

    def _log_delta(self, epsilon: np.ndarray) -> np.ndarray:
        start, _ = self._chord
        beyond = super()._log_delta(np.maximum(epsilon, start))
        with np.errstate(divide="ignore"):
            near = np.log(self._forward(epsilon))
        return np.where(epsilon < start, near, np.minimum(beyond, math.log(self._at_zero)))

    @property
    def _at_zero(self) -> float:
        """A bound of δ(0): one pull moves by m at most, and always the same way."""
        if self.pulls > 1:
            return 1.0
        return math.exp(float(gaussian_log_delta(0.0, self.mu)) + _ROUNDING)

    @cached_property
    def _chord(self) -> tuple[float, float]:
        """Return where the least chord from δ(0) touches the bound, and its slope; 0 for none.

        A true curve is convex in e^ε, so it lies below each such chord. Where the line of the hull
        is below δ(0) at 0, it is the better bound.
        """
        _, log_line = self._line
        if -math.expm1(log_line + math.log(2.0)) <= self._at_zero:
            return 0.0, 0.0
        end = min(_WIDTH * self.mu + self._farthest, _LARGEST_EPSILON)
        grid = np.geomspace(1e-4 * end, end, 129)
        touch, least = minimize_from_grid(
            lambda x: float(self._slope(np.asarray(x))), grid, self._slope(grid), 1e-6 * self.mu
        )
        return touch, min(least, 0.0)

    def _slope(self, epsilon: np.ndarray) -> np.ndarray:
        """Return the slope in e^ε of the chord from δ(0) to the bound at ε."""
        bound = np.exp(self._log_bound(np.atleast_1d(epsilon)))
        return (bound.reshape(np.shape(epsilon)) - self._at_zero) / np.expm1(epsilon)

    def _log_bound(self, epsilon: np.ndarray) -> np.ndarray:
        flat = np.ravel(epsilon)
        chunks = np.array_split(flat, 1 + flat.size // _CHUNK)
        log_j = np.concatenate([self._log_integral(chunk) for chunk in chunks])
        margin = _ROUNDING + _CANCELLATION / self.mu
        return math.log(self.pulls) + margin + log_j.reshape(np.shape(epsilon))

    def _log_integral(self, epsilon: np.ndarray) -> np.ndarray:
        # Cells up to h² = 2ε count with the smaller of g(h_i)·(h_i − h_{i−1}) and ρ(h_{i−1})·(δ of
        # h_i − δ of h_{i−1}); larger h count with φ(0): *Objective perturbation*, "Computation
        # from above". All terms are relative to φ(u) at the top, so that none underflows.
        top = np.minimum(self.mu, np.sqrt(2.0 * np.maximum(epsilon, 1e-300)))
        h = top[:, None] * _LEVELS
        u = np.minimum(epsilon[:, None] / h - 0.5 * h, 1e100)
        far = 0.5 * (u - u[:, -1:]) * (u + u[:, -1:])
        below = np.exp(-far) * (_mills(u) - _mills(u + h))  # δ_h over φ at the top
        with np.errstate(divide="ignore"):
            cells = np.diff(below)
            log_cells = np.where(cells > _UNDERFLOW, np.log(np.maximum(cells, 0.0)), np.inf)
            beyond = np.log(self.mu - top) - _LOG_SQRT_2PI
        log_gain = self._log_gain(epsilon[:, None], h, u)
        parts = log_gain - far + np.log(np.diff(h, axis=1, prepend=0.0))
        parts[:, 1:] = np.minimum(parts[:, 1:], log_gain[:, :-1] + log_cells)
        peak = parts.max(axis=1)
        inside = peak + np.log(np.exp(parts - peak[:, None]).sum(axis=1))
        inside -= 0.5 * u[:, -1] ** 2 + _LOG_SQRT_2PI
        return np.logaddexp(inside, beyond)

    def _log_gain(self, epsilon: np.ndarray, h: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return log ρ(h), the maximum over x = t − τ of a function with f'' ≤ −1, from above.

        f(x) = x·(u + h) − x²/2 + log((e^z − 1)/κ), z = a − x·h. With ψ(z) = h·f' Newton's method
        rises to the root of the concave ψ, and at any x the maximum is at most f + f'²/2.
        """
        a = self.log_determinant
        if a == 0.0:
            return np.zeros_like(h)
        # The start solves z − b = h²/z. It is below the root, since 1/(1 − e^(−z)) ≥ 1/z + 1/2, and
        # Newton's steps on a concave function stay below. If they pass a, so does the root, and the
        # maximum over x ≥ 0 is f(0) = 0.
        b = a - epsilon
        root = np.sqrt(b * b + 4.0 * h * h)
        z = np.where(b > 0.0, 0.5 * (b + root), 2.0 * h * h / (root - np.minimum(b, 0.0)))
        for _ in range(_NEWTON_STEPS):
            z = np.minimum(z, a)
            share = -np.expm1(-z)
            excess = 0.5 * h * h - b + z - h * h / share
            z = z - excess / (1.0 + h * h * (1.0 - share) / share**2)
        z = np.minimum(z, a)
        slope = (0.5 * h * h - b + z + h * h / np.expm1(-z)) / h
        x = (a - z) / h
        size = x * (u + h - 0.5 * x) + _log_expm1(z) - _log_expm1(a)
        return np.where(z < a, size + 0.5 * slope**2, 0.0)


def _lowest_chord(x: np.ndarray, logs: np.ndarray, i: int) -> _Chord:
    """Return the lowest chord in e^x over the middle of the i-th cell, with logarithms of ends."""
    left, right, middle = x[: i + 1, None], x[i + 1 :], 0.5 * (x[i] + x[i + 1])
    share = np.expm1(middle - left) / np.expm1(right - left)
    heights = np.logaddexp(logs[: i + 1, None] + np.log1p(-share), logs[i + 1 :] + np.log(share))
    start, end = np.unravel_index(int(heights.argmin()), heights.shape)
    end += i + 1
    return float(x[start]), float(x[end]), float(logs[start]), float(logs[end])


def _log_expm1(z: Number) -> Number:
    """Return log(e^z − 1), without overflow."""
    return z + np.log(-np.expm1(-z))


def _mills(u: np.ndarray) -> np.ndarray:
    return math.sqrt(0.5 * math.pi) * erfcx(u * math.sqrt(0.5))


@lru_cache(maxsize=256)
def covering_pull(m: float, log_determinant: float) -> float:
    """Return a μ such that a minimizer with one score and one pull is μ-Gaussian DP, rounded up.

    It is a little more than m = L/s; ``inf`` if it would exceed 60, or if a is beyond 18·m.

    **Guarantee.** Up to E = 18·m chords of the curve in e^ε are compared with tangents of the
    Gaussian one, as in `covering_mu`. Beyond, δ ≤ δ_m(ε − a), which falls faster
    than δ_μ(ε) wherever ε/μ − μ/2 ≤ (ε − a)/m − m/2: so comparing at E compares everywhere.
    """
    grid = np.linspace(0.0, _WIDTH * m, _CELLS + 1)
    values = _hull(ScorePullsCurve(m, log_determinant), grid)

    @cache
    def excess(mu: float) -> float:
        is_steeper = _is_steeper(m, log_determinant, mu, grid[-1])
        return _excess(values, mu, grid) if is_steeper else math.inf

    inside, outside = first_to_hold(
        lambda mu: excess(mu) <= 0.0, m, 1.25 * m, lambda mu: 1.5 * mu, _LARGEST_MU
    )
    return inside if math.isinf(inside) else next_to_root(excess, inside, outside, _PRECISION)


def _hull(curve: ScorePullsCurve, grid: np.ndarray) -> np.ndarray:
    """Return δ on a grid from 0, below its best chord from ε = 0, where δ is that of N(m, 1)."""
    values = np.exp(curve._log_bound(grid))
    values[0] = math.exp(float(gaussian_log_delta(0.0, curve.mu)) + _ROUNDING)
    odds = np.expm1(np.minimum(grid, _LARGEST_EPSILON))
    slopes = (values[1:] - values[0]) / odds[1:]
    best = int(slopes.argmin())
    values[1 : best + 1] = values[0] + slopes[best] * odds[1 : best + 1]
    return values * (1.0 + _ROUNDING)


def _is_steeper(m: float, a: float, mu: float, end: float) -> bool:
    # −(log δ_m)' is 1/(M(v)/M(v + m) − 1) at v = ε/m − m/2. It rises with v, since log M is convex,
    # and falls as m grows, since M falls. So δ_m(ε − a) ≤ δ_μ(ε) at E carries over to all ε ≥ E if
    # v is at least E/μ − μ/2: *Objective perturbation*, "One score and one pull".
    u = (end - a) / m - 0.5 * m
    if end <= a or end / mu - 0.5 * mu > u:
        return False
    return float(gaussian_log_delta(end - a, m)) + _ROUNDING <= float(gaussian_log_delta(end, mu))


def _excess(values: np.ndarray, mu: float, grid: np.ndarray) -> float:
    """Return at most 0 only if chords through positive values lie below the Gaussian curve."""
    # The Gaussian curve is convex in e^ε and lies above its tangents. Tangents and chords are
    # straight in e^ε, so it is enough to compare them at the two ends of each cell.
    middle = 0.5 * (grid[1:] + grid[:-1])
    at_middle = np.exp(gaussian_log_delta(middle, mu) - _ROUNDING)
    steep = np.exp(middle + log_ndtr(-middle / mu - 0.5 * mu))
    ends = ((grid[:-1], values[:-1]), (grid[1:], values[1:]))
    tangents = [(value, at_middle - np.expm1(end - middle) * steep) for end, value in ends]
    return float(np.max([(value - line) / value for value, line in tangents]))


_TABLE_CELLS = 8192
_TABLE_WIDTH = 40.0  # standard deviations past √k: the tail is below 1e-340 there
_LARGEST_COVER = 2.3  # in units of m: beyond, a union bound is taken, which holds as well


@dataclass(frozen=True)
class ObjectivePerturbationCurve(HullCurve):
    """The curve of a privacy loss that is at most Z = a + m²/2 + m·χ, χ of chi distribution.

    With t = (ε − a − m²/2)/m and the survival function S of χ, F(ε) is the integral of
    m·e^(−m(x−t))·S(x) over x > t if t ≥ 0, else 1 − e^(mt)·(1 − F(a + m²/2)). In one dimension it
    is 2·δ_m(ε − a), δ_m a Gaussian curve. In more, S is replaced cell by cell by tangents of its
    logarithm: see "Evaluation of the bound with χ" of *Objective perturbation* in the user guide.
    """

    mu: float  # m
    log_determinant: float  # a
    dimension: int  # degrees of freedom of χ

    @property
    def _least_loss(self) -> float:
        return self.log_determinant + 0.5 * self.mu**2

    @property
    def _farthest(self) -> float:
        # They touch where S − F = e^ε·(1 − S), so that S is at least 1/2; the median is below √k.
        return self._least_loss + self.mu * math.sqrt(self.dimension)

    def _log_bound(self, epsilon: np.ndarray) -> np.ndarray:
        start = self._least_loss
        above = self._log_tail(np.maximum(epsilon, start))
        rest = -math.expm1(min(float(self._log_tail(np.asarray(start))), 0.0))
        with np.errstate(divide="ignore"):
            below = np.log1p(-np.exp(np.minimum(epsilon - start, 0.0)) * rest)
        return np.where(epsilon >= start, above, below)

    def _log_tail(self, epsilon: np.ndarray) -> np.ndarray:
        """Return log F(ε) for ε ≥ a + m²/2."""
        if self.dimension == 1:
            shifted = np.maximum(epsilon - self.log_determinant, 0.0)
            return math.log(2.0) + gaussian_log_delta(shifted, self.mu)
        return self._integral(np.maximum(epsilon - self._least_loss, 0.0) / self.mu)

    def _integral(self, t: np.ndarray) -> np.ndarray:
        x, log_s, hazard = _log_survival(self.dimension)
        m, width = self.mu, x[1]
        j = np.minimum(t / width, x.size - 1).astype(int)
        past = t - x[j]
        rest = np.where(j + 1 < x.size, width - past, np.inf)
        partial = log_s[j] - hazard[j] * past + self._log_cell(hazard[j], rest)
        whole = self._table[np.minimum(j + 1, x.size - 1)] - m * rest
        return np.logaddexp(partial, whole) + _ROUNDING

    @cached_property
    def _table(self) -> np.ndarray:
        """Return the log of the integral from each grid point on."""
        x, log_s, hazard = _log_survival(self.dimension)
        width = np.append(np.diff(x), np.inf)
        parts = log_s + self._log_cell(hazard, width) - self.mu * x
        return np.logaddexp.accumulate(parts[::-1])[::-1] + self.mu * x

    def _log_cell(self, hazard: np.ndarray, width: np.ndarray) -> np.ndarray:
        """Return the log of the integral of m·e^(−(m + hazard)·u) over [0, width]."""
        rate = self.mu + hazard
        with np.errstate(divide="ignore"):
            return math.log(self.mu) - np.log(rate) + np.log(-np.expm1(-rate * width))


@lru_cache(maxsize=16)
def _log_survival(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a grid x from 0, log P(χ_k > x), and the hazard rates (its negative slopes).

    With y = x²/2, Q(a + 1, y) = Q(a, y) + y^a·e^(−y)/Γ(a + 1): all terms are positive.
    """
    x = np.linspace(0.0, math.sqrt(k) + _TABLE_WIDTH, _TABLE_CELLS + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        y, log_y = 0.5 * x * x, np.log(0.5 * x * x)
        log_s = math.log(2.0) + log_ndtr(-x) if k % 2 else -y
        for a in np.arange(1.0 - 0.5 * (k % 2), 0.5 * k):
            log_s = np.logaddexp(log_s, a * log_y - y - gammaln(a + 1.0))
        log_density = math.log(2.0) + (0.5 * k - 0.5) * log_y - y - gammaln(0.5 * k)
        hazard = np.exp(log_density - 0.5 * math.log(2.0) - log_s)
    return x, np.minimum(log_s, 0.0), hazard


@dataclass(frozen=True)
class ObjectivePerturbationEvent(Event):
    """The exact minimizer of Σ loss + (λ/2)·|θ|² + b·θ, b ~ N(0, (`noise_multiplier`·L)²·I).

    L bounds the gradient of one record's loss. Adding or removing a record changes the log
    density of the minimizer by at most a + m²/2 + m·χ_k, m = 1/`noise_multiplier`. Here a bounds
    the log-determinant, and χ_k is the length of b/s in the k possible directions of the record's
    gradient. Replacing a record doubles m and k, unless the gradients of all records together have
    fewer than 2k directions.

    Known `pulls` give a lower bound, and with one score and one pull the event is Gaussian DP.
    Proofs: *Objective perturbation* in the user guide, after Redberg, Koskela and Wang 2023.

    Parameters
    ----------
    noise_multiplier : float
        *Public.* s/L.
    log_determinant : float
        *Public.* a, a bound on the change of the log-determinant of the Hessian by one record.
    dimension : int
        *Public.* k: 1 for a loss of one score; for K scores, the dimension of the space of their
        gradients.
    pulls : int, default 0
        *Public.* p, such that all gradients of a record lie in the hull of 0 and p vectors no
        longer than L. 0 if nothing is known.
    cosine : float in [0, 1], default 1.0
        *Public.* At most p pairs of two records' pulls have a cosine of larger size.
    joint_dimension : int, default 0
        *Public.* Dimension of a space that contains the gradients of all records; 0: unknown.

    Examples
    --------
    >>> event = ObjectivePerturbationEvent(4.0, 0.025317808, 1)
    >>> print(f"{event.curve('add_remove_one').delta(1.0):.5e}")
    9.00470e-06
    >>> event = ObjectivePerturbationEvent(4.0, 0.025317808, 1, pulls=1)
    >>> print(f"{event.curve('add_remove_one').delta(1.0):.1e}")
    2.9e-06
    """

    version: ClassVar[int] = 3

    noise_multiplier: float
    log_determinant: float
    dimension: int
    pulls: int = 0
    cosine: float = 1.0
    joint_dimension: int = 0

    def __post_init__(self) -> None:
        self._set(
            noise_multiplier=check_size("noise_multiplier", self.noise_multiplier),
            log_determinant=check_real(
                "log_determinant", self.log_determinant, low=0.0, high=1e9, closed="["
            ),
            dimension=check_count("dimension", self.dimension),
            pulls=check_count("pulls", self.pulls, low=0),
            cosine=check_real("cosine", self.cosine, low=0.0, high=1.0, closed="[]"),
            joint_dimension=check_count("joint_dimension", self.joint_dimension, low=0),
        )

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        relation = Neighboring(neighboring)
        if not self.pulls:
            return self._in_any_direction(relation)
        m, a = 1.0 / self.noise_multiplier, float(self.log_determinant)
        if relation is Neighboring.ADD_REMOVE_ONE and self.dimension == 1:
            return ScorePullsCurve(m, a, self.pulls)
        mu = self.gdp_mu(relation)
        if mu <= _LARGEST_COVER * m:
            return GaussianCurve(mu)
        bounds = (*self._along_pulls(relation), self._in_any_direction(relation))
        return LeastCurve(bounds, relation.n_changed * m, a)

    def gdp_mu(self, neighboring: Neighboring) -> float:
        if self.pulls != 1 or self.dimension > 1:
            return math.inf
        m = 1.0 / self.noise_multiplier
        alone = covering_pull(m, float(self.log_determinant))
        return alone if Neighboring(neighboring) is Neighboring.ADD_REMOVE_ONE else m + alone

    def _in_any_direction(self, relation: Neighboring) -> ObjectivePerturbationCurve:
        changed = relation.n_changed
        together = changed * self.dimension
        k = min(together, self.joint_dimension or together)
        return ObjectivePerturbationCurve(
            changed / self.noise_multiplier, float(self.log_determinant), k
        )

    def _along_pulls(self, relation: Neighboring) -> tuple[PullsCurve, ...]:
        """Return the union bounds: over pulls, over pairs of pulls, over pulls twice as long."""
        p, m, a = self.pulls, 1.0 / self.noise_multiplier, float(self.log_determinant)
        if relation is Neighboring.ADD_REMOVE_ONE:
            return (PullsCurve(((p, m),), a),)
        over_pulls = PullsCurve(((2 * p, 2.0 * m),), a)
        if self.cosine == 1.0 and p > 1:  # then the pairs, p² of length 2m, cost more everywhere
            return (over_pulls,)
        return PullsCurve(self._pairs(m), a), over_pulls

    def _pairs(self, m: float) -> tuple[tuple[int, float], ...]:
        """Return pairs (number, length) of the differences between two records' pulls."""
        p, oblique = self.pulls, m * math.sqrt(2.0 + 2.0 * self.cosine)
        pairs = ((p, 2.0 * m), (p * (p - 1), oblique), (2 * p, m))
        return tuple((count, size) for count, size in pairs if count)
