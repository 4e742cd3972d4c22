"""Events of bounded loss, and the best of several releases, each with its curve.

Black boxes, private choices, noise with an ε, and releases that are repeated until one is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import expit, logsumexp, ndtr, ndtri

from skdp.privacy.combined import MaximumCurve, SymmetrizedCurve
from skdp.privacy.curve import (
    DiscretePairCurve,
    HullCurve,
    PrivacyCurve,
    SymmetricCurve,
    Tradeoff,
    hockey_stick_above,
    randomized_response_divergence,
)
from skdp.privacy.events import AdditiveEvent, Event, check_event, mu_of_pure
from skdp.privacy.gaussian import GaussianCurve
from skdp.privacy.neighboring import Neighboring
from skdp.support.safe_numbers import ROOT, SERIES, SUM, margin, minimize_from_grid, up
from skdp.support.validation import check_choice, check_count, check_delta, check_real, check_size


@dataclass(frozen=True)
class ApproxDPCurve(SymmetricCurve):
    """The largest curve of a (`bound`, `failure`)-DP release (Kairouz, Oh and Viswanath 2015).

    Randomized response with probability 1 − δ, and no privacy at all with probability δ.
    """

    bound: float
    failure: float = 0.0

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        below = -np.expm1(np.minimum(epsilon - self.bound, 0.0)) * expit(self.bound)
        return self.failure + (1.0 - self.failure) * below

    def dominating_pair(self) -> DiscretePairCurve:
        kept = 1.0 - self.failure
        likely, unlikely = kept * expit(self.bound), kept * expit(-self.bound)
        return DiscretePairCurve(
            (self.failure, likely, unlikely, 0.0), (0.0, unlikely, likely, self.failure)
        )


@dataclass(frozen=True)
class PureDPEvent(Event):
    """A release that is `epsilon`-DP; 0 for no release at all.

    Parameters
    ----------
    epsilon : float in [0, inf)
        *Public.*

    Examples
    --------
    >>> round(PureDPEvent(1.0).curve("replace_one").epsilon(0.1), 6)
    0.852905
    """

    epsilon: float

    def __post_init__(self) -> None:
        self._set(epsilon=check_real("epsilon", self.epsilon, low=0.0, closed="["))

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        return ApproxDPCurve(self.epsilon)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return self.epsilon

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        return randomized_response_divergence(self.epsilon, order)


@dataclass(frozen=True)
class ApproxDPEvent(Event):
    """A release that is (`epsilon`, `delta`)-DP. No shortcut holds unless `delta` is 0.

    Parameters
    ----------
    epsilon : float in [0, inf)
        *Public.*
    delta : float in [0, 1)
        *Public.*

    Examples
    --------
    >>> from skdp.privacy import ApproxDPEvent
    >>> event = ApproxDPEvent(1.0, 1e-6)
    >>> curve = event.curve("replace_one")
    >>> curve.epsilon(1e-6), curve.delta(2.0)
    (1.0, 1e-06)
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        epsilon = check_real("epsilon", self.epsilon, low=0.0, closed="[")
        self._set(epsilon=epsilon, delta=check_delta(self.delta))

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        return ApproxDPCurve(self.epsilon, self.delta)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return math.inf if self.delta else self.epsilon


@dataclass(frozen=True)
class BoundedRangeCurve(SymmetricCurve):
    r"""The curve of an ε-bounded-range release: (1 − e^((x − ε)/2))²/(1 − e^−ε) at 0 ≤ x ≤ ε.

    The largest over t of the curves of two points with losses t and t − ε; t = (x + ε)/2 is best.
    ε is `bound`, above 0.
    """

    bound: float

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        least = np.expm1(np.minimum(0.5 * (epsilon - self.bound), 0.0))
        return least * least / -np.expm1(-self.bound)


@dataclass(frozen=True)
class BoundedRangeEvent(Event):
    """A release whose privacy loss lies, for each pair of neighbors, in an interval of length ε.

    The exponential mechanism is one (Dong, Durfee and Rogers 2020). It is ε-DP, ε²/8-zCDP, and
    2Φ⁻¹(e^(ε/2)/(1 + e^(ε/2)))-Gaussian DP, about half of what ε-DP alone implies. See *Choices of
    bounded range* in the user guide.

    Parameters
    ----------
    epsilon : float in [0, inf)
        *Public.*

    Examples
    --------
    >>> round(BoundedRangeEvent(1.0).gdp_mu("replace_one"), 3)
    0.624
    """

    epsilon: float

    def __post_init__(self) -> None:
        self._set(epsilon=check_real("epsilon", self.epsilon, low=0.0, closed="["))

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        return BoundedRangeCurve(self.epsilon) if self.epsilon else GaussianCurve(0.0)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return self.epsilon

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return 0.125 * self.epsilon * self.epsilon

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        order = check_real("order", order, low=1.0)
        return min(order * self.zcdp_rho(neighboring), self.epsilon)

    def gdp_mu(self, neighboring: Neighboring) -> float:
        return mu_of_pure(0.5 * self.epsilon)


@dataclass(frozen=True)
class LaplaceCurve(SymmetricCurve):
    """Two Laplace distributions, `shift` scales apart: 1 − e^((ε − shift)/2)."""

    shift: float

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        return -np.expm1(np.minimum(0.5 * (epsilon - self.shift), 0.0))


@dataclass(frozen=True)
class LaplaceEvent(AdditiveEvent):
    """A sum of contributions of l1 norm at most C, plus Laplace noise of scale C·multiplier.

    Adding or removing a record moves the sum by C, replacing one by 2C. The noise is independent
    in each coordinate. A shift spread over coordinates is no easier to see than one of the same l1
    length in a single coordinate (see *Vectors* under *Mechanisms* in the user guide).

    Parameters
    ----------
    noise_multiplier : float
        *Public.* Scale of the noise over C.

    Examples
    --------
    >>> round(LaplaceEvent(1.0).gdp_mu("add_remove_one"), 6)
    1.030064
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        self._set(noise_multiplier=check_size("noise_multiplier", self.noise_multiplier))

    def curve(self, neighboring: Neighboring) -> LaplaceCurve:
        return LaplaceCurve(self.pure_epsilon(neighboring))

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return Neighboring(neighboring).n_changed / self.noise_multiplier

    def gdp_mu(self, neighboring: Neighboring) -> float:
        # 2Φ⁻¹(1 − e^(−ε/2)/2) is the least μ that covers the curve: h = Φ⁻¹∘F takes Laplace to
        # normal quantiles and turns the shift ε into h(y) − h(y − ε). h is odd, and on y > 0 its
        # derivative is Mills' ratio at h(y), which falls. So the difference is largest for the
        # centered interval, where it is 2h(ε/2).
        return float(-2.0 * ndtri(0.5 * math.exp(-0.5 * self.pure_epsilon(neighboring))))

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        # Closed form (Mironov 2017, Proposition 6), rounded up. With g(x) = e^x − 1 − x ≥ 0 and the
        # shift s, (2α − 1)(e^((α − 1)D) − 1) = α·g((α − 1)s) + (α − 1)·g(−αs): nothing cancels
        # where the noise is large.
        order, shift = check_real("order", order, low=1.0), self.pure_epsilon(neighboring)
        less, twice = order - 1.0, 2.0 * order - 1.0
        if less * shift > 1.0:
            toward = math.log(order / twice) + less * shift
            away = math.log(less / twice) - order * shift
            return up(float(np.logaddexp(toward, away)) / less, SERIES)
        excess = order * _above_tangent(less * shift) + less * _above_tangent(-order * shift)
        return up(math.log1p(excess / twice) / less, SERIES)


def _above_tangent(x: float) -> float:
    """Return e^x − 1 − x, by its series where that cancels."""
    if abs(x) > 0.01:
        return math.expm1(x) - x
    return math.fsum(x**k / math.factorial(k) for k in range(2, 10))


@dataclass(frozen=True)
class DiscreteLaplaceCurve(SymmetricCurve):
    """The curve of two distributions ∝ e^(−|x|/t) on the integers, `shift` steps apart.

    With a = e^(−1/t) and k the least integer whose loss (2k − D)/t exceeds ε, the geometric sums
    give δ(ε) = [(1 − e^ε·a^k) + a·(1 − a^(D − k))]/(1 + a), two terms that are never negative.
    """

    scale: float
    shift: int

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        epsilon = np.minimum(epsilon, self.shift / self.scale)
        k = np.minimum(np.floor(0.5 * (epsilon * self.scale + self.shift)) + 1.0, self.shift)
        ratio = np.exp(-1.0 / self.scale)
        first = -np.expm1(np.minimum(epsilon - k / self.scale, 0.0))
        return (first - ratio * np.expm1((k - self.shift) / self.scale)) / (1.0 + ratio)


@dataclass(frozen=True)
class DiscreteLaplaceEvent(AdditiveEvent):
    """Integer sums plus discrete Laplace noise; a record moves them by up to `sensitivity` in l1.

    P(x) ∝ e^(−\\|x\\|/scale) in each coordinate; ε-DP with ε = sensitivity/scale under add/remove
    and twice that under replace-one (Ghosh, Roughgarden and Sundararajan 2012). Spreading the
    shift over coordinates does not help an attacker: randomized threshold tests are optimal, and a
    shift maps them to each other. An accountant finds a smaller μ than `gdp_mu`.

    Parameters
    ----------
    scale : float
        *Public.* In steps of the grid.
    sensitivity : int
        *Public.* l1 norm of one record's contribution, in steps of the grid.
    """

    scale: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        scale = check_size("scale", self.scale)
        self._set(scale=scale, sensitivity=check_count("sensitivity", self.sensitivity))

    def _shift(self, neighboring: Neighboring) -> int:
        return Neighboring(neighboring).n_changed * self.sensitivity

    def curve(self, neighboring: Neighboring) -> DiscreteLaplaceCurve:
        return DiscreteLaplaceCurve(self.scale, self._shift(neighboring))

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return self._shift(neighboring) / self.scale


@dataclass(frozen=True)
class TruncatedLaplaceCurve(SymmetricCurve):
    """The curve of two distributions ∝ e^(−|x|) on [−cut, cut], `shift` apart.

    Beyond the reach of Q lies P-mass δ₀. For ε below `shift` and 2·cut − shift the best test is a
    threshold at (ε + shift)/2, which gives
    δ(ε) = [2(1 − e^((ε − shift)/2)) + e^(−cut)·(e^ε − 1)]/(2(1 − e^(−cut))); above, δ(ε) = δ₀.
    """

    shift: float
    cut: float

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        last = min(self.shift, 2.0 * self.cut - self.shift)
        if last <= 0.0:
            return np.ones_like(epsilon)
        inner = np.minimum(epsilon, last)
        falling = -2.0 * np.expm1(0.5 * (inner - self.shift))
        rising = np.exp(inner - self.cut) - math.exp(-self.cut)
        value = (falling + rising) / (-2.0 * math.expm1(-self.cut))
        return np.where(epsilon < last, np.maximum(value, self._beyond()), self._beyond())

    def _beyond(self) -> float:
        """Return δ₀, the mass of P where Q has none."""
        norm = -2.0 * math.expm1(-self.cut)
        if self.cut >= self.shift:
            return math.exp(self.shift - self.cut) * -math.expm1(-self.shift) / norm
        return 1.0 - (math.exp(self.cut - self.shift) - math.exp(-self.cut)) / norm


@dataclass(frozen=True)
class TruncatedLaplaceEvent(AdditiveEvent):
    """One sum of contributions of size at most C, plus Laplace noise cut off at ±`cut`·C.

    (ε₀, δ₀)-DP for the cut log(1 + (e^ε₀ − 1)/(2δ₀))/ε₀ in units of the shift (Geng, Ding, Guo and
    Kumar 2020, Theorem 1). The distribution is log-concave, so smaller shifts are covered. No
    shortcut holds: some outcomes give the record away.

    Parameters
    ----------
    noise_multiplier, cut : float
        *Public.* Scale of the noise and its largest size, over C. The cut is at most 500 scales:
        beyond, use `LaplaceEvent`.
    """

    noise_multiplier: float
    cut: float

    def __post_init__(self) -> None:
        noise_multiplier = check_size("noise_multiplier", self.noise_multiplier)
        self._set(noise_multiplier=noise_multiplier, cut=check_size("cut", self.cut))
        if not 1e-6 <= self.cut / self.noise_multiplier <= 500.0:
            raise ValueError(
                "cut must lie between 1e-6 and 500 times noise_multiplier, got "
                f"{self.cut!r} and {self.noise_multiplier!r}."
            )

    def curve(self, neighboring: Neighboring) -> TruncatedLaplaceCurve:
        shift = Neighboring(neighboring).n_changed / self.noise_multiplier
        return TruncatedLaplaceCurve(shift, self.cut / self.noise_multiplier)


@dataclass(frozen=True)
class CellNoiseCurve(DiscretePairCurve):
    """The curve of a finite pair, rounded upwards.

    In optimized noise many cells have a loss of just ε, where the digits of δ cancel.
    """

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return hockey_stick_above(np.array(self.p), np.array(self.q), epsilon)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return hockey_stick_above(np.array(self.q), np.array(self.p), epsilon)


@dataclass(frozen=True)
class PiecewiseConstantNoiseEvent(AdditiveEvent):
    """One number plus noise that has mass `probabilities[i]`, evenly spread, on the i-th cell.

    All cells have the same width. A record moves the number by at most `sensitivity` cells under
    add/remove, twice that under replace-one, in either direction. A shift by a fraction of a cell
    is a mixture of its two neighbors, so the envelope over whole shifts is exact. It is rounded
    upwards. See *Optimized noise* in the user guide.

    Parameters
    ----------
    probabilities : tuple of float
        *Public.* Masses of consecutive cells; with the atom they sum to 1.
    sensitivity : int
        *Public.* Size of one record's contribution, in cells.
    atom : float
        *Public.* Probability of no noise at all, which gives the record away.
    """

    version: ClassVar[int] = 2

    probabilities: tuple[float, ...]
    sensitivity: int
    atom: float = 0.0

    def __post_init__(self) -> None:
        probabilities = _checked(self.probabilities)
        atom = check_real("atom", self.atom, low=0.0, high=1.0, closed="[]")
        sensitivity = check_count("sensitivity", self.sensitivity)
        self._set(probabilities=probabilities, sensitivity=sensitivity, atom=atom)
        DiscretePairCurve((*probabilities, atom), (*probabilities, atom))

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        farthest = Neighboring(neighboring).n_changed * self.sensitivity
        shifts = range(1, farthest + 1)
        return SymmetrizedCurve(MaximumCurve(tuple(self._shifted(m) for m in shifts)))

    def _shifted(self, cells: int) -> CellNoiseCurve:
        mass, atom, gap = np.array(self.probabilities), [self.atom], np.zeros(cells)
        p, q = np.concatenate([gap, mass, atom, [0.0]]), np.concatenate([mass, gap, [0.0], atom])
        return CellNoiseCurve(tuple(p), tuple(q))


def _checked(probabilities: Iterable[float]) -> tuple[float, ...]:
    try:
        masses = tuple(probabilities)
    except TypeError:
        raise ValueError(
            f"probabilities must be a sequence of numbers that sum to 1, got {probabilities!r}."
        ) from None
    return tuple(
        check_real(f"probabilities[{i}]", mass, low=-math.inf) for i, mass in enumerate(masses)
    )


_CELLS = 4000  # of p; no guarantee rests on their number nor on their ends
_SCORES = np.linspace(-38.0, 8.3, 20_001)  # Φ⁻¹(p) among which ends of cells are chosen
_LOG_RANGE = 30.0  # of the weights; smaller weights do not make cells narrower
_LOG_RATIOS = np.concatenate(
    [
        np.linspace(-1.0, 2.0, 150, False),
        np.linspace(2.0, 12.0, 200, False),
        np.linspace(12.0, 600.0, 99),
    ]
)

_SLOPE = 1e-4  # so that cells have an end where the weights hardly vary
_CHUNK = 256
_ROUNDED_UP = margin(SUM)  # added to G
_ROUNDING = margin(ROOT)  # added to log δ; its sums of positive terms are good to 1e-11


@dataclass(frozen=True)
class RunCount:
    """The distribution of K, the number of runs, seen through E[K·t^(K−1)]."""

    distribution: str  # "negative_binomial" (truncated: at least 1 run), "poisson" or "fixed"
    parameter: float  # γ in (0, 1); the mean; K itself
    shape: float = 1.0  # η > −1 of the negative binomial: 1 is geometric, 0 logarithmic

    @property
    def mean(self) -> float:
        """E[K]."""
        gamma, eta = self.parameter, self.shape
        if self.distribution != "negative_binomial":
            return self.parameter
        if eta == 0.0:
            return (1.0 / gamma - 1.0) / -math.log(gamma)
        return eta * (1.0 - gamma) / (gamma * -math.expm1(eta * math.log(gamma)))

    def log_weight(self, p: np.ndarray) -> np.ndarray:
        """Return log w(p), w(p) = E[K·(1 − p)^(K−1)], for the probability p of a better run.

        w is nonincreasing and says by how much a run of rank p is favored.
        """
        log_mean, gamma = math.log(self.mean), self.parameter
        if self.distribution == "poisson":
            return log_mean - self.parameter * p
        with np.errstate(divide="ignore"):
            if self.distribution == "fixed":
                return log_mean + (self.parameter - 1.0) * np.log1p(-p) if gamma > 1 else 0.0 * p
        return log_mean - (1.0 + self.shape) * np.log1p(p * (1.0 - gamma) / gamma)


@dataclass(frozen=True)
class BestOfCurve(HullCurve):
    r"""The curve of the best of K runs, each of them dominated by a pair with the curve δ.

    With w of `RunCount` and G(p) = max{Q(S): P(S) ≤ p} of the pair (P, Q),

    .. math:: δ_A(ε) \le E_P\, Ψ(e^ε \tfrac{dQ}{dP}), \qquad
        Ψ(x) = \sup_p \{w(p) - w(G(p))·x\}_+ .

    Ψ is convex and falls, so chords between knots lie above it: a sum of hinges c·(1 − x/t)₊. And
    the mean of such a hinge is a value of the curve: δ_A(ε) ≤ Σ c_j·δ(ε − log t_j).
    """

    curve: PrivacyCurve  # of one run, its score included
    count: RunCount

    @property
    def _farthest(self) -> float:
        epsilon = 1.0
        while float(self._log_bound(np.asarray(epsilon))) > math.log(0.5) and epsilon < 600.0:
            epsilon *= 2.0
        return epsilon + 1.0  # (1 − F)/(1 + e^ε) is there at least half of its supremum beyond

    def _log_bound(self, epsilon: np.ndarray) -> np.ndarray:
        flat = np.ravel(epsilon)
        chunks = np.array_split(flat, 1 + flat.size // _CHUNK)
        return np.concatenate([self._of_few(part) for part in chunks]).reshape(epsilon.shape)

    def _of_few(self, epsilon: np.ndarray) -> np.ndarray:
        bounds = []
        for curve, hinges in self._orders:
            logs = curve.log_delta(epsilon[:, None] - hinges.log_ends) + hinges.log_weights
            bounds.append(np.logaddexp(logsumexp(logs, axis=1), hinges.log_rest))
        return np.max(bounds, axis=0) + _ROUNDING

    @cached_property
    def _orders(self) -> list[tuple[PrivacyCurve, _Hinges]]:
        """Return, for each order of a pair that covers one run, its curve and Ψ."""
        if isinstance(self.curve, GaussianCurve):
            return [(self.curve, _Hinges.above(self.curve, self.count))]
        ahead = self.curve.dominating_pair()
        back = DiscretePairCurve(ahead.q, ahead.p)
        orders = ((ahead, back), (back, ahead))
        return [(curve, _Hinges.above(other, self.count)) for curve, other in orders]


@dataclass(frozen=True, eq=False)
class _Hinges:
    """Upper bound of Ψ by hinge functions Σ c·(1 − x/t)₊, and a constant beyond the last t."""

    log_ends: np.ndarray
    log_weights: np.ndarray
    log_rest: float

    @classmethod
    def above(cls, back: PrivacyCurve, count: RunCount) -> _Hinges:
        """Return chords between knots of Ψ, with each cell of p taken at its worse end."""
        ends, reached = _cells(count, back.tradeoff())
        high = np.exp(count.log_weight(ends[:-1]))
        low = np.exp(count.log_weight(reached[1:]))
        x = np.concatenate([[0.0], np.exp(_LOG_RATIOS)])
        psi = np.array([max(float(np.max(high - low * at)), 0.0) for at in x])
        slopes = np.append(np.diff(psi) / np.diff(x), 0.0)
        weights = np.maximum(np.diff(slopes) * x[1:], 0.0)
        some = weights > 0.0
        with np.errstate(divide="ignore"):
            return cls(_LOG_RATIOS[some], np.log(weights[some]), float(np.log(psi[-1])))


def _cells(count: RunCount, tests: Tradeoff) -> tuple[np.ndarray, np.ndarray]:
    """Return ends of cells of p and G there, rounded upwards; w and w∘G vary little in a cell."""

    def reached(p: np.ndarray) -> np.ndarray:
        return np.minimum(1.0 - tests(p) + _ROUNDED_UP, 1.0)

    p = ndtr(_SCORES)
    fall = -_SLOPE * _SCORES
    for at in (p, reached(p)):
        fall += np.maximum(count.log_weight(at), math.log(count.mean) - _LOG_RANGE)
    fall = np.maximum.accumulate(fall[0] - fall)
    inner = np.interp(np.linspace(0.0, fall[-1], _CELLS), fall, p)
    ends = np.concatenate([[0.0], inner, [1.0]])
    return ends, reached(ends)


_SHAPES = {"geometric": 1.0, "logarithmic": 0.0}
_DISTRIBUTIONS = (*_SHAPES, "negative_binomial", "poisson", "fixed")
_LOG_LESS = np.log(np.geomspace(1e-2, 1e12, 85))  # of the inner order less 1


@dataclass(frozen=True)
class RepeatAndSelectEvent(Event):
    """`event` (fit and score one random candidate) K times; only the best is released.

    K must be drawn without looking at the data or the scores. Neither K nor the other runs are
    released. The curve is that of *Best of K* in the user guide, for every distribution of K.
    ε-DP becomes (2 + η)·ε-DP for K with a truncated negative binomial distribution of shape η
    (Papernot and Steinke 2022, Corollary 3; geometric is η = 1, Liu and Talwar 2019). Rényi: the
    same, Theorem 2, and for Poisson K Theorem 6.

    Parameters
    ----------
    event : Event
        One run, its score included.
    distribution : {"geometric", "logarithmic", "negative_binomial", "poisson", "fixed"}
        *Public.* Distribution of K. If `event` is Gaussian, a fixed K may stand for K candidates
        that are tried once each.
    parameter : float
        *Public.* γ in (0, 1); the mean of a Poisson distribution; K itself if it is fixed.
    shape : float
        *Public.* η > −1. Only used with ``negative_binomial``.

    Examples
    --------
    >>> from skdp.privacy import GDPEvent
    >>> event = RepeatAndSelectEvent(GDPEvent(0.268), "geometric", 0.1)
    >>> round(event.curve("replace_one").epsilon(1e-5), 2)
    1.54
    """

    event: Event
    distribution: str
    parameter: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        distribution = str(check_choice("distribution", self.distribution, _DISTRIBUTIONS))
        self._set(
            event=check_event("event", self.event),
            distribution=distribution,
            parameter=_checked_parameter(distribution, self.parameter),
            shape=check_real("shape", self.shape, low=-1.0),
        )
        if self.distribution != "negative_binomial" and self.shape != 1.0:
            raise ValueError(f"distribution={self.distribution!r} takes no shape.")

    @property
    def count(self) -> RunCount:
        """Distribution of K."""
        if self.distribution in ("poisson", "fixed"):
            return RunCount(self.distribution, self.parameter)
        shape = _SHAPES.get(self.distribution, self.shape)
        return RunCount("negative_binomial", self.parameter, shape)

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        epsilon = self.pure_epsilon(neighboring)
        if math.isfinite(epsilon):
            return ApproxDPCurve(epsilon)
        return BestOfCurve(self.event.curve(neighboring), self.count)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        once = self.event.pure_epsilon(neighboring)
        if once == 0.0 or self.count.distribution == "negative_binomial":
            return (2.0 + self.count.shape) * once
        return self.parameter * once if self.distribution == "fixed" else math.inf

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        # The least of the pure bound and Papernot and Steinke's Theorem 2 (best inner order) or 6;
        # the curve's for a fixed K. Below the order where the theorems' bounds are least, they are
        # taken at that order, as divergences grow with the order.
        order = check_real("order", order, low=1.0)
        pure = self.pure_epsilon(neighboring)
        bound = math.inf if math.isinf(pure) else randomized_response_divergence(pure, order)
        if self.distribution == "fixed":
            return min(bound, super().rdp(order, neighboring))
        if self.event.pure_epsilon(neighboring) == 0.0:
            return bound
        order = max(order, _least_order(self, Neighboring(neighboring)))
        return min(bound, self._repeated(order, neighboring))

    def _repeated(self, order: float, neighboring: Neighboring) -> float:
        base, count = self.event.rdp(order, neighboring), self.count
        if self.distribution == "poisson":
            return base + self._poisson_cost(order, neighboring)
        cost = base + _truncated_cost(self.event, neighboring, self.parameter, count.shape)
        return cost + math.log(count.mean) / (order - 1.0)

    def _poisson_cost(self, order: float, neighboring: Neighboring) -> float:
        curve = self.event.curve(neighboring)
        epsilon = math.log1p(1.0 / (order - 1.0))
        failure = max(curve.delta(epsilon), curve.reversed().delta(epsilon))
        return self.parameter * failure + max(0.0, math.log(self.parameter)) / (order - 1.0)


def _checked_parameter(distribution: str, parameter: float) -> float:
    if distribution == "fixed":
        return check_count("parameter", parameter)
    highest = math.inf if distribution == "poisson" else 1.0
    return check_real("parameter", parameter, low=0.0, high=highest)


@lru_cache(maxsize=256)
def _least_order(event: RepeatAndSelectEvent, neighboring: Neighboring) -> float:
    def cost(log_less: float) -> float:
        return event._repeated(1.0 + math.exp(log_less), neighboring)

    grid = _LOG_LESS[::4]
    best, _ = minimize_from_grid(cost, grid, np.array([cost(x) for x in grid]), xatol=1e-3)
    return 1.0 + math.exp(best)


@lru_cache(maxsize=256)
def _truncated_cost(event: Event, neighboring: Neighboring, gamma: float, eta: float) -> float:
    """Return the least of (1 + η)·[(1 − 1/λ)·r(λ) + log(1/γ)/λ] over the inner orders λ."""

    def cost(log_less: float) -> float:
        inner = 1.0 + math.exp(log_less)
        repeated = (1.0 - 1.0 / inner) * event.rdp(inner, neighboring)
        return (1.0 + eta) * (repeated - math.log(gamma) / inner)

    on_grid = np.array([cost(x) for x in _LOG_LESS])
    return minimize_from_grid(cost, _LOG_LESS, on_grid, xatol=1e-6)[1]
