"""Sums of blocks that are added as integers, so that only the sum of a block is rounded."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

__all__ = ["ROWS_SUMMED", "SumGrid"]

ROWS_SUMMED = 1 << 14
"""Rows whose numbers are added in floating point, in any order.

A number passes through fewer additions that are not exact, also in a design that sums over cells of
a table before and after it multiplies them: each adds numbers of at least one other row to it.
"""

_BITS = 61  # of the coarse steps: the sum of all blocks is within 2^61 of them
_FINE_BITS = 31  # of the rest, in fine steps: up to 2^31 blocks add to less than 2^62 of them
_END, _PARTS = 2.0**_BITS, 2.0 ** (_FINE_BITS + 1)
_LEAST_EXPONENT = -900


@dataclass(frozen=True, kw_only=True)
class SumGrid:
    """Two integers for each number: coarse steps, and the rest in steps 2^−32 as wide.

    Sums of such integers do not depend on the order of the blocks.
    """

    exponent: int  # the coarse step is 2^exponent

    @classmethod
    def of(cls, largest: float) -> SumGrid:
        """Return the grid on which sums up to `largest` fit."""
        return cls(exponent=max(math.frexp(largest)[1] - _BITS, _LEAST_EXPONENT))

    @property
    def fine_step(self) -> float:
        """A block's number is rounded to a multiple of this."""
        return math.ldexp(1.0, self.exponent) / _PARTS

    def integers(self, block: np.ndarray) -> np.ndarray:
        """Return the numbers of a block, of shape (2, ...): within half a fine step of it.

        Division by a power of two is exact, and so is the rest after rounding: it is a multiple of
        the last digit of the number and not larger than the number. Nothing raises: ``nan`` and
        numbers beyond the grid, which no plan allows for, count as its ends.
        """
        end, found = math.ldexp(_END, self.exponent), np.empty((2, *block.shape), dtype=np.int64)
        scaled = np.fmin(np.fmax(block, -end), end) * math.ldexp(1.0, -self.exponent)
        coarse = np.rint(scaled)
        found[0] = coarse
        found[1] = np.rint((scaled - coarse) * _PARTS)
        return found

    def floats(self, total: np.ndarray) -> np.ndarray:
        """Return sums of integers as floats, rounded three times."""
        return np.asarray((total[0] + total[1] / _PARTS) * math.ldexp(1.0, self.exponent))
