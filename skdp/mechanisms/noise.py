"""Noise for answers: real and integer, with bounded, pure or Gaussian guarantees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from skdp.mechanisms.base import (
    AdditiveMechanism,
    IntegerMechanism,
    RealMechanism,
    ScaledMechanism,
    gauss_nodes,
    least,
    real_scales,
)
from skdp.mechanisms.grid_gaussian import (
    cut_off,
    discrete_normal,
    drawn_scale,
    geometric,
    grid_step,
    ratio_below,
    rejection,
    whole_steps_of_normal,
)
from skdp.privacy import Event, GDPEvent, LaplaceEvent, PureDPEvent, ZCDPEvent
from skdp.privacy.composed_events import BetweenNeighborsEvent
from skdp.privacy.gaussian import DiscreteGaussianEvent
from skdp.privacy.noise_events import DiscreteLaplaceEvent, TruncatedLaplaceEvent
from skdp.support.lazy_names import Registry
from skdp.support.safe_numbers import SUM, up
from skdp.support.validation import check_choice, check_count, check_real, check_size


@dataclass(frozen=True, kw_only=True)
class Laplace(ScaledMechanism):
    """Noise with density e^(−\\|x\\|/b)/(2b) in every coordinate.

    **Guarantee**: pure ε-DP with ε = Δ/b, Δ the l1 sensitivity of the rounded value (Dwork,
    McSherry, Nissim and Smith 2006); the whole curve is that of `LaplaceEvent`.

    Parameters
    ----------
    sensitivity : float
        *Public.* l1 distance of the values of two neighbors, of the whole vector.
    scale : float
        *Public.* b, from 2^−20 to 2^20 sensitivities.
    dimension : int, default 1
        *Public.* How many numbers are released together; each adds a step to the sensitivity.

    Examples
    --------
    >>> noise = Laplace.calibrate(epsilon=0.5, delta=0.0, sensitivity=1.0)
    >>> round(noise.scale, 6), round(noise.expected_loss("l2"), 6)
    (2.0, 8.0)
    """

    sensitivity_norm: ClassVar[str] = "l1"

    @property
    def event(self) -> BetweenNeighborsEvent:
        multiplier = ratio_below(self._scale_in_steps, self._l1_in_steps)
        return BetweenNeighborsEvent(LaplaceEvent(multiplier))

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return -np.sign(p - 0.5) * self.scale * np.log(2.0 * np.minimum(p, 1.0 - p))

    def _sizes(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return geometric(self._scale_in_steps, size, rng)

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        x, w = gauss_nodes(self.scale * np.arange(61.0))
        return x, w * np.exp(-np.abs(x) / self.scale) / (2.0 * self.scale)


@dataclass(frozen=True, kw_only=True)
class Geometric(IntegerMechanism):
    """Two-sided geometric noise on the integers, with P(m) ∝ e^(−\\|m\\|/t) in every coordinate.

    **Guarantee**: pure ε-DP with ε = Δ/t; for one count no other noise of this ε is better (Ghosh,
    Roughgarden and Sundararajan 2012). The whole curve is that of `DiscreteLaplaceEvent`.

    Parameters
    ----------
    sensitivity : int
        *Public.* l1 distance of the integers of two neighbors, of the whole vector.
    scale : float in [2^−7, 1e5]
        *Public.* t; for more noise use `Laplace`.
    dimension : int, default 1
        *Public.* How many integers are released together.

    Examples
    --------
    >>> noise = Geometric.calibrate(epsilon=1.0, delta=0.0, sensitivity=1)
    >>> round(noise.expected_loss("l1"), 6)
    0.850918
    """

    sensitivity_norm: ClassVar[str] = "l1"

    def __post_init__(self) -> None:
        self._set(sensitivity=check_count("sensitivity", self.sensitivity))
        super().__post_init__()

    @property
    def event(self) -> BetweenNeighborsEvent:
        return BetweenNeighborsEvent(DiscreteLaplaceEvent(self.scale, int(self.sensitivity)))

    def _draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        numerator, denominator = self._ratio

        def propose(n: int) -> tuple[np.ndarray, np.ndarray]:
            m = geometric(numerator, n, rng) // denominator
            negative = rng.integers(2, size=n) == 0
            return np.where(negative, -m, m), ~(negative & (m == 0))

        return rejection(size, propose, 0.5)

    def _upper_half(self) -> np.ndarray:
        return np.exp(-np.arange(math.ceil(45.0 * self.scale) + 2.0) / self.scale)


_CUTS = 2e-6, 499.0  # in scales


@dataclass(frozen=True, kw_only=True)
class TruncatedLaplace(ScaledMechanism):
    """Truncated Laplace noise: density ∝ e^(−\\|x\\|/b) on [−A, A] in every coordinate.

    **Guarantee**: (ε, δ)-DP for ε = Δ/b and A = b·log(1 + (e^ε − 1)/(2δ)), δ ≤ 1/2, Δ the l1
    sensitivity of the rounded value (Geng, Ding, Guo and Kumar 2020, Theorem 1). The whole curve is
    that of `TruncatedLaplaceEvent`. With probability up to δ a release reveals the record.
    `calibrate` takes the scale Δ/ε and the least cut.

    Parameters
    ----------
    sensitivity : float
        *Public.* l1 distance of the values of two neighbors, of the whole vector.
    scale : float
        *Public.* b, from 2^−20 to 2^20 sensitivities.
    cut : float
        *Public.* A, from 2e-6 to 499 scales; rounded up to the grid as the scale is.
    dimension : int, default 1
        *Public.* How many numbers are released together; each adds a step to the sensitivity.

    Examples
    --------
    >>> noise = TruncatedLaplace.calibrate(epsilon=1.0, delta=0.1, sensitivity=1.0)
    >>> round(noise.cut, 6), round(noise.quantile(0.25), 6)
    (2.260868, -0.593972)
    """

    sensitivity_norm: ClassVar[str] = "l1"

    cut: float

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = (factor * self.scale for factor in _CUTS)
        self._set(
            cut=self._on_grid(check_real("cut", self.cut, low=0.999 * low, high=1.001 * high))
        )

    @classmethod
    def calibrate(
        cls, epsilon: float, delta: float, sensitivity: float, *, dimension: int = 1
    ) -> TruncatedLaplace:
        one = check_size("sensitivity", sensitivity)
        whole = cls(sensitivity=one, scale=one, cut=10.0 * one, dimension=dimension)
        steps = math.ceil(whole._l1_in_steps / Fraction(check_size("epsilon", epsilon)))
        scale = steps * whole.step
        return least(
            lambda cut: cls(sensitivity=one, scale=scale, cut=cut, dimension=dimension),
            (_CUTS[0] * scale, _CUTS[1] * scale),
            epsilon,
            delta,
        )

    @property
    def event(self) -> BetweenNeighborsEvent:
        multiplier = ratio_below(self._scale_in_steps, self._l1_in_steps)
        cut = ratio_below(self._cut_in_steps, self._l1_in_steps)
        return BetweenNeighborsEvent(TruncatedLaplaceEvent(multiplier, cut))

    @property
    def _cut_in_steps(self) -> int:
        return int(self.cut / self.step)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        end = math.exp(-self.cut / self.scale)
        tail = 2.0 * np.minimum(p, 1.0 - p) * (1.0 - end) + end
        return -np.sign(p - 0.5) * self.scale * np.log(tail)

    def _sizes(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return geometric(self._scale_in_steps, size, rng, below=self._cut_in_steps)

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        x, w = gauss_nodes(np.linspace(0.0, self.cut, math.ceil(self.cut / self.scale) + 1))
        total = -2.0 * self.scale * math.expm1(-self.cut / self.scale)
        return x, w * np.exp(-np.abs(x) / self.scale) / total


_EPSILONS = 2.0**-10, 12.0
_UNIT = 2**40  # of ε


@dataclass(frozen=True, kw_only=True)
class Staircase(RealMechanism):
    """Noise whose density falls by e^−ε at γΔ, Δ + γΔ, 2Δ + γΔ, ... on both sides.

    **Guarantee**: pure ε-DP for each number, for every γ. With the best γ no other noise for one
    number has a smaller E\\|X\\| or E X² (Geng and Viswanath 2016). A vector costs ε for each entry
    that may differ between neighbors: see *Vectors* under *Mechanisms* in the user guide.

    Parameters
    ----------
    sensitivity : float
        *Public.* Δ, the most that any **one** number differs between neighbors.
    epsilon : float in [2^−10, 12]
        *Public.* ε of each number, rounded down to a multiple of 2^−40. For smaller ε use
        `Laplace`: its expected size is less than 1e-7 larger.
    gamma : float in [0.001, 1) or None
        *Public.* Width of the central step; None for 1/(1 + e^(ε/2)), best for E\\|X\\|.
    dimension : int, default 1
        *Public.* How many numbers are released together.
    l0_sensitivity : int, default 1
        *Public.* How many of them may differ between neighbors.

    Examples
    --------
    >>> noise = Staircase.calibrate(epsilon=1.0, delta=0.0, sensitivity=1.0)
    >>> round(noise.gamma, 6), round(noise.expected_loss("l1"), 6)
    (0.377541, 0.959517)
    """

    sensitivity_norm: ClassVar[str] = "linf"

    sensitivity: float
    epsilon: float
    gamma: float | None = None
    dimension: int = 1
    l0_sensitivity: int = 1

    def __post_init__(self) -> None:
        sensitivity = check_size("sensitivity", self.sensitivity)
        low, high = _EPSILONS
        epsilon = check_real("epsilon", self.epsilon, low=low, high=high, closed="[]")
        epsilon = math.floor(epsilon * _UNIT) / _UNIT
        gamma = best_gamma(epsilon, "l1") if self.gamma is None else self.gamma
        self._set(
            sensitivity=sensitivity,
            epsilon=epsilon,
            gamma=check_real("gamma", gamma, low=1e-3, high=1.0, closed="["),
            dimension=check_count("dimension", self.dimension),
            l0_sensitivity=check_count("l0_sensitivity", self.l0_sensitivity),
        )

    @classmethod
    def calibrate(
        cls,
        epsilon: float,
        delta: float,
        sensitivity: float,
        *,
        dimension: int = 1,
        l0_sensitivity: int = 1,
        loss: str = "l1",
    ) -> Staircase:
        """Return the least noise for which one release is (ε, δ)-DP; δ = 0 is allowed.

        Parameters
        ----------
        epsilon, delta : float
            *Public.* The guarantee of all numbers together.
        sensitivity : float
            *Public.* Distance of the values of two neighbors in `sensitivity_norm`.
        dimension : int, default 1
            *Public.* How many numbers are released together.
        l0_sensitivity : int, default 1
            *Public.* How many of them may differ between neighbors.
        loss : {"l1", "l2"}
            *Public.* Loss that γ minimizes: E abs(X) or E X².

        Returns
        -------
        Staircase

        Raises
        ------
        OutOfRangeError
            If no noise of this kind has the guarantee.
        """
        check_choice("loss", loss, ("l1", "l2"))

        def make(inverse: float) -> Staircase:
            each = min(max(1.0 / inverse, _EPSILONS[0]), _EPSILONS[1])
            return cls(
                sensitivity=sensitivity,
                epsilon=each,
                gamma=best_gamma(each, loss),
                dimension=dimension,
                l0_sensitivity=l0_sensitivity,
            )

        return least(make, (1.0 / _EPSILONS[1], 1.0 / _EPSILONS[0]), epsilon, delta)

    @property
    def event(self) -> PureDPEvent:
        return PureDPEvent(self.l0_sensitivity * self.epsilon)

    @property
    def _period(self) -> int:
        """Δ in steps; the value's rounding is inside."""
        return math.ceil(self.sensitivity / grid_step(self.sensitivity))

    @property
    def _center(self) -> int:
        """γΔ in steps."""
        return max(1, round(float(self.gamma or 0.0) * self._period))

    def _sizes(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return a level h with P(h) ∝ e^(−εh), and a place on it; level 0 is shorter by 1 − γ."""
        period, center = self._period, self._center

        def propose(n: int) -> tuple[np.ndarray, np.ndarray]:
            level = geometric(_UNIT, n, rng) // round(self.epsilon * _UNIT)
            place = rng.integers(period, size=n)
            outside = center + place + period * (cut_off(level, period) - 1)
            return np.where(level > 0, outside, place), (level > 0) | (place < center)

        central = center / period * -math.expm1(-self.epsilon)
        return rejection(size, propose, central + math.exp(-self.epsilon))

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        period, center, fall = self._lengths()
        tail = 2.0 * np.minimum(p, 1.0 - p) * (center + period * fall / (1.0 - fall))
        beyond = period / (1.0 - fall)  # mass from level 0 on, if that were as long as the others
        level = np.ceil(-np.log(np.minimum(tail / (beyond * fall), 1.0)) / self.epsilon)
        level = np.where(tail > beyond * fall, 0.0, np.maximum(level, 1.0))
        end = center + level * period
        size = end - (tail - beyond * fall ** (level + 1.0)) / fall**level
        return np.sign(p - 0.5) * size

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        period, center, fall = self._lengths()
        levels = np.arange(math.ceil(45.0 / self.epsilon) + 1.0)
        x, w = gauss_nodes(np.append(0.0, center + period * levels))
        level = np.ceil((np.abs(x) - center) / period)
        total = 2.0 * (center + period * fall / (1.0 - fall))
        return x, w * fall ** np.maximum(level, 0.0) / total

    def _lengths(self) -> tuple[float, float, float]:
        """Return Δ, γΔ and e^−ε as they are drawn with."""
        return self._period * self.step, self._center * self.step, math.exp(-self.epsilon)


def best_gamma(epsilon: float, loss: str) -> float:
    """Return the γ with the least E abs(X) or E X² (Geng and Viswanath 2016)."""
    if loss == "l1":
        return 1.0 / (1.0 + math.exp(0.5 * epsilon))
    b = math.exp(-epsilon)
    root = math.cbrt(0.5 * (b - 2.0 * b**2 + 2.0 * b**4 - b**5))
    return -b / (1.0 - b) + root / (1.0 - b) ** 2


_METHODS = ("analytic", "classic", "zcdp")


@dataclass(frozen=True, kw_only=True)
class Gaussian(ScaledMechanism):
    """Gaussian noise N(0, σ²) in every coordinate.

    **Guarantee**: μ-Gaussian DP with μ = Δ/σ, Δ the l2 sensitivity of the rounded value (Dong,
    Roth and Su 2022, Theorem 2.7). It is that of the continuous distribution, because the release
    is a function of a sample of it.

    Parameters
    ----------
    sensitivity : float
        *Public.* l2 distance of the values of two neighbors, of the whole vector.
    scale : float
        *Public.* σ, from 2^−20 to 2^20 sensitivities.
    dimension : int, default 1
        *Public.* How many numbers are released together; d of them add √d steps to the sensitivity.

    Examples
    --------
    >>> round(Gaussian.calibrate(epsilon=1.0, delta=0.1, sensitivity=1.0).scale, 6)
    1.085878
    >>> round(Gaussian.calibrate(1.0, 0.1, 1.0, method="classic").scale, 6)
    2.247545
    """

    sensitivity_norm: ClassVar[str] = "l2"

    @classmethod
    def calibrate(
        cls,
        epsilon: float,
        delta: float,
        sensitivity: float,
        *,
        dimension: int = 1,
        method: str = "analytic",
    ) -> Gaussian:
        """Return the least noise for which one release is (ε, δ)-DP, δ > 0, by one of three proofs.

        Parameters
        ----------
        epsilon, delta : float
            *Public.* The guarantee of all numbers together.
        sensitivity : float
            *Public.* Distance of the values of two neighbors in `sensitivity_norm`.
        dimension : int, default 1
            *Public.* How many numbers are released together.
        method : {"analytic", "classic", "zcdp"}
            *Public.* The exact curve (Balle and Wang 2018, Theorem 8); σ = Δ·√(2·log(1.25/δ))/ε,
            for ε ≤ 1 only (Dwork and Roth 2014, Theorem A.1); or the curve of zCDP. The last two
            are for comparison and always noisier.

        Returns
        -------
        Gaussian

        Raises
        ------
        OutOfRangeError
            If no noise of this kind has the guarantee.
        """

        def make(scale: float) -> Gaussian:
            return cls(sensitivity=sensitivity, scale=scale, dimension=dimension)

        def by_rho(noise: Gaussian) -> Event:
            return ZCDPEvent(up(0.5 * noise.event.mu**2, SUM))

        if check_choice("method", method, _METHODS) == "classic":
            return make(_classic(epsilon, delta) * make(sensitivity).event.mu * sensitivity)
        if method == "zcdp":
            return least(make, real_scales(sensitivity), epsilon, delta, by_rho)
        return super().calibrate(epsilon, delta, sensitivity, dimension=dimension)

    @property
    def event(self) -> GDPEvent:
        steps = self.sensitivity / self.step
        # each coordinate of a rounded vector is less than one step longer
        rounded = math.ceil(steps) if self.dimension == 1 else steps + math.sqrt(self.dimension)
        return GDPEvent(up(rounded / self._scale_in_steps, SUM))

    def _on_grid(self, length: float) -> float:
        return drawn_scale(math.ceil(length / self.step)) * self.step

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return np.asarray(self.scale * ndtri(p))

    def _sizes(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return whole_steps_of_normal(self._scale_in_steps, size, rng)

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        x, w = gauss_nodes(self.scale * np.arange(13.0))
        density = np.exp(-0.5 * (x / self.scale) ** 2) / (self.scale * math.sqrt(2.0 * math.pi))
        return x, w * density


def _classic(epsilon: float, delta: float) -> float:
    """Return σ/Δ of the textbook."""
    epsilon = check_real("epsilon (of method='classic')", epsilon, low=0.0, high=1.0, closed="]")
    delta = check_real("delta (of method='classic')", delta, low=0.0, high=1.0)
    return math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(IntegerMechanism):
    """Discrete Gaussian noise on the integers, with P(m) ∝ e^(−m²/2s²) in every coordinate.

    **Guarantee**: (Δ²/2s²)-zCDP (Canonne, Kamath and Steinke 2020, Theorem 14). For one integer the
    event has the exact curve (Theorem 7); for several it is zCDP, all that is proved. It is not
    (Δ/s)-Gaussian DP, and sums of such noise are not such noise.

    Parameters
    ----------
    sensitivity : float
        *Public.* l2 distance of the integers of two neighbors, of the whole vector; an integer
        unless `dimension` is more than 1.
    scale : float in [2^−7, 1e5]
        *Public.* s; for more noise use `Gaussian`.
    dimension : int, default 1
        *Public.* How many integers are released together.

    Examples
    --------
    >>> noise = DiscreteGaussian.calibrate(epsilon=1.0, delta=1e-5, sensitivity=1)
    >>> round(noise.scale, 3)
    3.74
    """

    sensitivity_norm: ClassVar[str] = "l2"

    def __post_init__(self) -> None:
        super().__post_init__()
        check = check_count if self.dimension == 1 else check_size
        self._set(sensitivity=check("sensitivity", self.sensitivity))

    @property
    def event(self) -> Event:
        if self.dimension == 1:
            return BetweenNeighborsEvent(DiscreteGaussianEvent(self.scale, int(self.sensitivity)))
        return ZCDPEvent(up(0.5 * (self.sensitivity / self.scale) ** 2, SUM))

    def _draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return discrete_normal(*self._ratio, size, rng)

    def _upper_half(self) -> np.ndarray:
        m = np.arange(math.ceil(10.0 * self.scale) + 2.0)
        return np.exp(-0.5 * (m / self.scale) ** 2)


MECHANISMS: Registry[AdditiveMechanism] = Registry(
    {
        "laplace": Laplace,
        "gaussian": Gaussian,
        "geometric": Geometric,
        "discrete_gaussian": DiscreteGaussian,
        "staircase": Staircase,
        "truncated_laplace": TruncatedLaplace,
    }
)
"""Every additive noise for vectors by name; the conformance suite runs over this list."""
