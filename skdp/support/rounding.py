"""Outward rounding, so that a computed bound also bounds the exact number."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

import numpy as np

_Number = TypeVar("_Number", float, np.ndarray)

# Relative errors of computed numbers in units of 2⁻⁵³, the error of one operation that rounds to
# the nearest float (IEEE 754). A library function counts as several operations.
SUM = 9
"""A few products, and a sum by `math.fsum`, which rounds once however many terms it has."""
FORMULA = 90
"""A closed formula of tens of operations, none of which cancels, with `exp`, `log` and `sqrt` of
the C library (within one unit in the last place, 2 operations each)."""
SERIES = 9_000
"""A sum of hundreds of such terms, and `log_ndtr`, `erfcx` and `logsumexp` of SciPy, which
tests/test_rounding.py compares with 50 digits."""
CURVE = 90_000
"""δ(ε) of a privacy curve: eleven digits, as tests/privacy compares it with exact values."""
THERE_AND_BACK = 900_000
"""ε(δ(ε)): a root search on a curve, which ends after ten digits."""
ROOT = 9_000_000
"""A root search that ends early; the margin exceeds what the search leaves."""


_POWERS = (1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9)


@cache
def margin(n_operations: int) -> float:
    """Return the relative error of `n_operations`, rounded up to a power of ten."""
    error = n_operations * 2.0**-53
    return min(power for power in _POWERS if power >= error)


def up(x: _Number, n_operations: int) -> _Number:
    """Return an upper bound of the exact number ≥ 0 that `n_operations` computed as `x`."""
    return x * (1.0 + margin(n_operations))


def down(x: _Number, n_operations: int) -> _Number:
    """Return a lower bound of the exact number ≥ 0 that `n_operations` computed as `x`."""
    return x * (1.0 - margin(n_operations))
