"""Noisy sums of errors of predicted numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from skdp._private_fit import ReleaseParameters
from skdp.data.records import Records
from skdp.metrics._errors import ErrorScale
from skdp.metrics._pairs import numbers_of
from skdp.metrics._row_sums import RowSums

__all__ = ["ErrorSums"]


@dataclass(frozen=True, eq=False, repr=False)
class ErrorSums(RowSums):
    """Sums of numbers that errors within public bounds have."""

    target_bounds: Any
    error_bound: Any

    @cached_property
    def scale(self) -> ErrorScale:
        """The bounds, checked."""
        return ErrorScale.of(self.target_bounds, self.error_bound)

    def checked(self, parameters: ReleaseParameters, pairs: Records[Any]) -> Records[ErrorSums]:
        ErrorScale.of(self.target_bounds, self.error_bound)
        pairs.check(_check_numbers)
        return pairs.with_facts(self)


def _check_numbers(pairs: Records[Any]) -> None:
    numbers_of("y_true", pairs.y)
    numbers_of("y_pred", pairs.X)
