"""The interface of mechanisms, and bases for noise on the reals and on the integers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike

from skdp.exceptions import OutOfRangeError
from skdp.mechanisms.grid_gaussian import from_steps, grid_step, to_steps
from skdp.privacy import Event, Neighboring
from skdp.support.safe_numbers import CURVE, SERIES, log_ratio, margin, next_to_root, up
from skdp.support.types import Number
from skdp.support.validation import (
    check_choice,
    check_count,
    check_delta,
    check_real,
    check_size,
    set_checked,
)

Loss = Callable[[np.ndarray], ArrayLike]

LOSSES: dict[str, Loss] = {"l1": np.abs, "l2": np.square}
"""Mean absolute error and mean squared error."""

# Bounds of the errors of closed-form curves: a few roundings of losses, such as ε − Δ/b, which are
# compared with ε, and of probabilities (measured in tests/privacy/test_exact_curves.py).
_LOSS_ERROR = 2.0**-50
_PROBABILITY_ERROR = margin(CURVE)
_SEARCH_ENDS = up(1.0, SERIES)  # between the two ends; no guarantee rests on it
_WIDEST = 2.0**20  # of the scale of noise on the reals, in sensitivities
_INTEGER_SCALES = 2.0**-7, 1e5
_INTEGER_UNIT = 2**20  # of the scale of noise on the integers
_Noise = TypeVar("_Noise", bound="Mechanism")


class Mechanism(ABC):
    """A way to release one answer: a frozen dataclass of public numbers.

    A sensitivity is the largest distance between the answers of two **neighbors**, under the
    relation of the ledger that records `event`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.mechanisms import Geometric
    >>> mechanism = Geometric.calibrate(1.0, 0.0, 1)
    >>> mechanism.event
    BetweenNeighborsEvent(event=DiscreteLaplaceEvent(scale=1.0, sensitivity=1))
    >>> mechanism.release(42, np.random.default_rng(0))
    40.0
    """

    @property
    @abstractmethod
    def event(self) -> Event:
        """Event of one release, its rounding included; the same under both relations."""

    @abstractmethod
    def release(self, value: Any, rng: np.random.Generator) -> Any:
        """Return `value`, made safe to publish.

        This spends nothing: spend `event` from a budget first. No private number is rejected.

        Parameters
        ----------
        value : float or array-like
            *Private.*
        rng : numpy.random.Generator
            *Secret.*

        Returns
        -------
        float, int or ndarray
        """

    _set = set_checked


class AdditiveMechanism(Mechanism):
    """A mechanism that adds noise which does not depend on the value, on a public grid.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.mechanisms import Gaussian
    >>> noise = Gaussian.calibrate(1.0, 1e-5, 2.0, dimension=3)
    >>> round(noise.scale, 3), noise.step
    (7.461, 1.862645149230957e-09)
    >>> round(noise.quantile(0.975), 2), round(noise.expected_loss("l1"), 2)
    (14.62, 5.95)
    >>> noise.release([10.0, 20.0, 30.0], np.random.default_rng(0)).round()
    array([ 3., 17., 30.])
    """

    sensitivity_norm: ClassVar[str]
    """Norm of the sensitivity: "l1", "l2" or "linf"."""

    dimension: int
    """Number of values that are released together and share one sensitivity."""

    @property
    @abstractmethod
    def step(self) -> float:
        """Width of the grid on which values are released, a power of two."""

    @abstractmethod
    def _quantile(self, p: np.ndarray) -> np.ndarray:
        """Return quantiles of the noise at p in (0, 1)."""

    @abstractmethod
    def _draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return independent samples of the noise, in steps of the grid, as integers."""

    @abstractmethod
    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return points and weights with E f(X) = Σ wᵢ·f(xᵢ), for expected losses."""

    @classmethod
    @abstractmethod
    def calibrate(
        cls, epsilon: float, delta: float, sensitivity: float, *, dimension: int = 1
    ) -> Self:
        """Return the least noise for which one release is (ε, δ)-DP by the event's own curve.

        Parameters
        ----------
        epsilon, delta : float
            *Public.* The guarantee of all numbers together.
        sensitivity : float
            *Public.* Distance of the values of two neighbors in `sensitivity_norm`.
        dimension : int, default 1
            *Public.* How many numbers are released together.

        Returns
        -------
        AdditiveMechanism

        Raises
        ------
        OutOfRangeError
            If no noise of this kind has the guarantee.
        """

    def quantile(self, p: Number) -> Number:
        """Return quantiles of one number's noise.

        Parameters
        ----------
        p : float or array-like
            Levels in (0, 1).

        Returns
        -------
        float or ndarray
            In the units of the value.
        """
        levels = np.asarray(p, dtype=float)
        if not np.all((levels > 0.0) & (levels < 1.0)):
            raise ValueError(f"p must lie in (0, 1), got {p!r}.")
        values = self._quantile(levels)
        return values if levels.ndim else float(values)  # type: ignore[return-value]

    def expected_loss(self, loss: str | Loss) -> float:
        """Return E c(X) for the noise X of one number.

        Parameters
        ----------
        loss : {"l1", "l2"} or callable
            c(x) = \\|x\\|, c(x) = x², or a function of an array. The answer is exact to rounding
            if c is smooth on both sides of 0.

        Returns
        -------
        float
        """
        points, weights = self._nodes()
        cost = loss if callable(loss) else LOSSES[check_choice("loss", loss, LOSSES)]
        return float(np.dot(weights, cost(points)))

    def release(self, value: Number, rng: np.random.Generator) -> Number:
        """Return `value` plus noise, on the grid.

        Parameters
        ----------
        value : float or array-like with `dimension` entries
            *Private*, but its shape is public. The sensitivity must hold for the float64 numbers.
            ``nan`` counts as 0, and values beyond the end of the grid, 2^61 steps, as the end.
        rng : numpy.random.Generator
            *Secret.*

        Returns
        -------
        float or ndarray
            A float for a number, else an array of the shape of `value`.
        """
        values = np.asarray(value, dtype=float)
        if values.size != self.dimension:
            raise ValueError(
                f"value must have {self.dimension} entries, the dimension of {self!r}. Its shape "
                f"is {values.shape}."
            )
        steps = to_steps(values, self.step) + self._draw(values.size, rng).reshape(values.shape)
        released = from_steps(steps, self.step)
        return released if values.ndim else float(released)  # type: ignore[return-value]


class RealMechanism(AdditiveMechanism):
    """Symmetric noise Y with a density; ⌊v + Y⌋ is released, in steps of the grid.

    The value is rounded to the grid first, to an integer v. ⌊v + Y⌋ = v + ⌊Y⌋ is a function of
    v + Y, so it is as private as the real mechanism, for the sensitivity of v in steps: ⌈Δ/step⌉
    for one number. ⌊Y⌋ is drawn exactly: for ⌊|Y|⌋ = m and a fair sign it is m or −m − 1.
    """

    sensitivity: float

    @property
    def step(self) -> float:
        return grid_step(self.sensitivity)

    @abstractmethod
    def _sizes(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return samples of ⌊abs(Y)⌋."""

    def _draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        sizes = self._sizes(size, rng)
        return np.where(rng.integers(2, size=size) == 0, sizes, ~sizes)

    def _on_grid(self, length: float) -> float:
        return math.ceil(length / self.step) * self.step


@dataclass(frozen=True, kw_only=True)
class ScaledMechanism(RealMechanism):
    """Noise of one family, times a scale."""

    sensitivity: float
    scale: float
    """Rounded up to whole steps of the grid, about 1e-9 of the sensitivity."""
    dimension: int = 1

    def __post_init__(self) -> None:
        low, high = real_scales(self.sensitivity)
        scale = check_real("scale", self.scale, low=0.999 * low, high=1.001 * high)
        dimension = check_count("dimension", self.dimension)
        self._set(sensitivity=float(self.sensitivity), dimension=dimension)
        self._set(scale=self._on_grid(scale))

    @classmethod
    def calibrate(
        cls, epsilon: float, delta: float, sensitivity: float, *, dimension: int = 1
    ) -> Self:
        return least(
            lambda scale: cls(sensitivity=sensitivity, scale=scale, dimension=dimension),
            real_scales(sensitivity),
            epsilon,
            delta,
        )

    @property
    def _scale_in_steps(self) -> int:
        return int(self.scale / self.step)

    @property
    def _l1_in_steps(self) -> int:
        """The l1 sensitivity of a rounded vector: Σ ⌈dᵢ⌉ < Σ dᵢ + `dimension`."""
        return math.ceil(self.sensitivity / self.step) + self.dimension - 1


@dataclass(frozen=True, kw_only=True)
class IntegerMechanism(AdditiveMechanism):
    """Symmetric noise on the integers.

    A value that is not an integer is rounded; the sensitivity must be that of rounded values.
    """

    sensitivity: float
    scale: float
    """Rounded up to a multiple of 2^−20."""
    dimension: int = 1

    scales: ClassVar[tuple[float, float]] = _INTEGER_SCALES
    """The least and the largest scale."""

    def __post_init__(self) -> None:
        low, high = self.scales
        scale = check_real("scale", self.scale, low=low, high=high, closed="[]")
        dimension = check_count("dimension", self.dimension)
        self._set(scale=math.ceil(scale * _INTEGER_UNIT) / _INTEGER_UNIT, dimension=dimension)

    @classmethod
    def calibrate(
        cls, epsilon: float, delta: float, sensitivity: float, *, dimension: int = 1
    ) -> Self:
        return least(
            lambda scale: cls(sensitivity=sensitivity, scale=scale, dimension=dimension),
            cls.scales,
            epsilon,
            delta,
        )

    @property
    def step(self) -> float:
        return 1.0

    @property
    def _ratio(self) -> tuple[int, int]:
        """The scale as a fraction."""
        return round(self.scale * _INTEGER_UNIT), _INTEGER_UNIT

    @abstractmethod
    def _upper_half(self) -> np.ndarray:
        """Return numbers in proportion to the masses of 0, 1, 2, ..., as far as they matter."""

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        points, masses = self._nodes()
        found = np.searchsorted(np.cumsum(masses), p)
        return np.asarray(points[np.minimum(found, points.size - 1)])

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        half = self._upper_half()
        masses = np.concatenate([half[:0:-1], half])
        return np.arange(1.0 - half.size, half.size), masses / masses.sum()


def real_scales(sensitivity: float) -> tuple[float, float]:
    """Return the least and the largest scale of noise on the reals."""
    sensitivity = check_size("sensitivity", sensitivity)
    return sensitivity / _WIDEST, sensitivity * _WIDEST


def gauss_nodes(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss's nodes and weights on each stretch between `edges` and on its mirror image."""
    nodes, weights = _gauss()
    half = 0.5 * np.diff(edges)[:, None]
    x, w = (edges[:-1, None] + half * (1.0 + nodes)).ravel(), (half * weights).ravel()
    return np.concatenate([-x[::-1], x]), np.concatenate([w[::-1], w])


@lru_cache(maxsize=1)
def _gauss() -> tuple[np.ndarray, np.ndarray]:
    return leggauss(24)


def meets(event: Event, epsilon: float, delta: float) -> bool:
    """Return whether `event` is (ε, δ)-DP by its own curve, in both orders of the neighbors."""
    return _excess(event, epsilon, delta) <= 0.0


def _excess(event: Event, epsilon: float, delta: float) -> float:
    """Return the log of what `event` costs over what is allowed: of ε if δ = 0, else of δ."""
    relation = Neighboring.REPLACE_ONE
    if delta == 0.0:
        return log_ratio(event.pure_epsilon(relation), epsilon)
    curve = event.curve(relation)
    below = epsilon * (1.0 - _LOSS_ERROR)
    found = max(curve.delta(below), curve.reversed().delta(below))
    return log_ratio(float(found), delta * (1.0 - _PROBABILITY_ERROR))


def least(
    make: Callable[[float], _Noise],
    within: tuple[float, float],
    epsilon: float,
    delta: float,
    event: Callable[[_Noise], Event] = lambda noise: noise.event,
) -> _Noise:
    """Return `make(x)` for the least x `within` the bounds at which `event` is (ε, δ)-DP.

    The answer is checked; where larger x cost less it is at most `_SEARCH_ENDS` times too large.
    """
    epsilon, delta = check_size("epsilon", epsilon), check_delta(delta)
    low, high = within
    if not meets(event(make(high)), epsilon, delta):
        raise OutOfRangeError(
            f"epsilon={epsilon!r} and delta={delta!r} cannot be met, not even by {make(high)!r}. "
            "Increase epsilon or delta."
        )
    if meets(event(make(low)), epsilon, delta):
        return make(low)

    def excess(x: float) -> float:
        return _excess(event(make(x)), epsilon, delta)

    return make(next_to_root(excess, high, low, math.log(_SEARCH_ENDS)))
