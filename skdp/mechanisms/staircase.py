"""Staircase noise, the best for one number and pure privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.mechanisms._grid import cut_off, geometric, grid_step, rejection
from skdp.mechanisms.base import RealMechanism, gauss_nodes, least
from skdp.privacy import PureDPEvent
from skdp.support.validation import check_choice, check_count, check_real, check_size

__all__ = ["Staircase"]

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
