"""The scale and the interval on which a regressor learns its targets."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.linear_model._records import LinearRecords
from skdp.support.validation import check_choice, check_size


@dataclass(frozen=True)
class TargetRange:
    """A public or released interval that targets are clipped to; losses see it as [−1, 1]."""

    low: float
    high: float
    shift: float = 0.0  # released: of predictions; of their logarithms for counts
    is_doubtful: bool = False  # released: most targets have one value, and few others are seen

    @property
    def middle(self) -> float:
        """The target with code 0."""
        return 0.5 * self.low + 0.5 * self.high

    @property
    def half_width(self) -> float:
        """Units of the target per unit of the score."""
        return 0.5 * self.high - 0.5 * self.low

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return clipped targets as numbers in [−1, 1]."""
        return np.clip((np.clip(y, self.low, self.high) - self.middle) / self.half_width, -1.0, 1.0)


@dataclass(frozen=True)
class TargetScale:
    """A public function of targets: y ↦ sign(y)·log(1 + |y|/unit)."""

    unit: float | None  # inf for y ↦ sign(y)·√|y|; None for the targets themselves

    @classmethod
    def of(cls, kind: object) -> TargetScale:
        """Check a parameter `target_transform` and return its scale."""
        if kind is None:
            return cls(None)
        if isinstance(kind, str):
            check_choice("target_transform", kind, ("log", "sqrt"))
            return cls(1.0 if kind == "log" else math.inf)
        return cls(check_size("the unit of target_transform", kind))

    def scaled(self, y: np.ndarray) -> np.ndarray:
        """Return targets on the scale on which they are learned."""
        if self.unit is None:
            return y
        size = np.sqrt(np.abs(y)) if math.isinf(self.unit) else np.log1p(np.abs(y) / self.unit)
        return np.asarray(np.copysign(size, y))

    def unscaled(self, scores: np.ndarray) -> np.ndarray:
        """Return targets in their own units."""
        if self.unit is None:
            return scores
        is_root = math.isinf(self.unit)
        size = scores**2 if is_root else self.unit * np.expm1(np.abs(scores))
        return np.asarray(np.copysign(size, scores))


def encoded(task: TargetRange, records: LinearRecords[TargetRange]) -> LinearRecords[TargetRange]:
    """Return records with their targets as numbers in [−1, 1]."""
    return replace(records, y=task.encode(records.y))
