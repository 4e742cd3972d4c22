"""What every mechanism answers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np

from skdp._validation import check_choice, check_delta, check_size
from skdp.exceptions import OutOfRangeError
from skdp.mechanisms._grid import from_steps, to_steps
from skdp.privacy import Event, Neighboring

__all__ = ["AdditiveMechanism", "Mechanism", "least", "meets"]

_SAFE = 1.0 - 1e-11  # of δ, beyond the rounding of every curve
_CLOSE = 1.0 + 1e-12
_LOSSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {"l1": np.abs, "l2": np.square}
_Noise = TypeVar("_Noise", bound="Mechanism")


class Mechanism(ABC):
    """How one answer is released: a frozen dataclass of public numbers.

    A sensitivity is the farthest that the answers of two **neighbours** are apart, under the
    relation of the ledger in which `event` is booked.
    """

    @property
    @abstractmethod
    def event(self) -> Event:
        """What one release is, its rounding included; the same under both relations."""

    @abstractmethod
    def release(self, value: Any, rng: np.random.Generator) -> Any:
        """Return the private `value`, made safe to publish.

        Nothing is charged here: book `event` in a budget first. No private number is refused.
        """

    def _set(self, **fields: Any) -> None:
        """Replace arguments by what they were checked to be; for `__post_init__` only."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)


class AdditiveMechanism(Mechanism):
    """A mechanism that adds noise which does not depend on the value, on a public grid."""

    sensitivity_norm: ClassVar[str]
    """The norm in which values of neighbours are compared: "l1", "l2" or "linf"."""

    dimension: int
    """How many numbers are released together; they share one sensitivity."""

    @property
    @abstractmethod
    def step(self) -> float:
        """Width of the grid on which values are released, a power of two."""

    @abstractmethod
    def _quantile(self, p: np.ndarray) -> np.ndarray:
        """Return the noise's quantiles at p in (0, 1)."""

    @abstractmethod
    def _draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return independent draws of the noise, in steps of the grid, as integers."""

    @abstractmethod
    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return points and weights with E f(X) = Σ wᵢ·f(xᵢ), for expected losses."""

    @classmethod
    @abstractmethod
    def calibrate(cls, epsilon: float, delta: float, sensitivity: float) -> AdditiveMechanism:
        """Return the mechanism with the least noise of which one release is (ε, δ)-DP.

        It is found on the event's own privacy curve and rounded to the safe side.
        """

    def quantile(self, p: Any) -> Any:
        """Return the quantile of one number's noise at p in (0, 1), a number or an array."""
        levels = np.asarray(p, dtype=float)
        if not np.all((levels > 0.0) & (levels < 1.0)):
            raise ValueError(f"p must lie in (0, 1), got {p!r}.")
        values = self._quantile(levels)
        return values if levels.ndim else float(values)

    def expected_loss(self, loss: str | Callable[[np.ndarray], np.ndarray]) -> float:
        """Return E c(X) for the noise X of one number, by quadrature, or a sum over integers.

        Parameters
        ----------
        loss : {"l1", "l2"} or callable
            c(x) = \\|x\\|, c(x) = x², or a function of an array. Only if c is smooth on both sides
            of 0 is the answer exact to rounding.
        """
        points, weights = self._nodes()
        cost = loss if callable(loss) else _LOSSES[check_choice("loss", loss, _LOSSES)]
        return float(np.dot(weights, cost(points)))

    def release(self, value: Any, rng: np.random.Generator) -> Any:
        """Return `value` plus noise, on the grid; a float for a number, else an array.

        Parameters
        ----------
        value : float or array with `dimension` entries
            *Private*, but its shape is public. It is the float64 numbers that have to keep the
            sensitivity. ``nan`` counts as 0; what lies beyond the end of the grid, 2^61 steps,
            counts as the end.
        rng : numpy.random.Generator
        """
        values = np.asarray(value, dtype=float)
        if values.size != self.dimension:
            raise ValueError(
                f"value must have {self.dimension} entries, the dimension of {self!r}; got the "
                f"shape {values.shape}."
            )
        steps = to_steps(values, self.step) + self._draw(values.size, rng).reshape(values.shape)
        released = from_steps(steps, self.step)
        return released if values.ndim else float(released)


def meets(event: Event, epsilon: float, delta: float) -> bool:
    """Return whether `event` is (ε, δ)-DP by its own curve, in both orders of the neighbours."""
    relation = Neighboring.REPLACE_ONE
    if delta == 0.0:
        return event.pure_epsilon(relation) <= epsilon
    curve = event.curve(relation)
    return bool(max(curve.delta(epsilon), curve.reversed().delta(epsilon)) <= delta * _SAFE)


def least(
    make: Callable[[float], _Noise],
    within: tuple[float, float],
    epsilon: float,
    delta: float,
    event: Callable[[_Noise], Event] = lambda noise: noise.event,
) -> _Noise:
    """Return `make(x)` for the least x `within` the bounds at which `event` is (ε, δ)-DP.

    The answer is checked; where larger x cost less it is at most 1 + 1e-12 times too large.
    """
    epsilon, delta = check_size("epsilon", epsilon), check_delta(delta)
    low, high = within
    if not meets(event(make(high)), epsilon, delta):
        raise OutOfRangeError(
            f"epsilon={epsilon!r} and delta={delta!r} cannot be met, not even by {make(high)!r}. "
            "Allow more."
        )
    if meets(event(make(low)), epsilon, delta):
        return make(low)
    while low * _CLOSE < high:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if meets(event(make(middle)), epsilon, delta) else (middle, high)
    return make(high)
