"""Numbers in a few digits: spent amounts are rounded up, remaining amounts down."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

__all__ = ["at_least", "at_most", "percents"]

_DIGITS = 6  # as many as f"{number:g}" shows


def at_least(number: float, digits: int = _DIGITS) -> float:
    """Return the number rounded up to some significant digits."""
    return _rounded(number, digits, ROUND_CEILING)


def at_most(number: float, digits: int = _DIGITS) -> float:
    """Return the number rounded down to some significant digits."""
    return _rounded(number, digits, ROUND_FLOOR)


def percents(share: float) -> str:
    """Return a probability in hundredths of a percent, rounded up."""
    return f"{math.ceil(round(1e4 * share, 6)) / 1e4:.2%}"


def _rounded(number: float, digits: int, rounding: str) -> float:
    if not math.isfinite(number) or number == 0.0:
        return float(number)
    printed = Decimal(repr(float(number)))  # the double 1e-5 is slightly larger than 0.00001
    place = Decimal(1).scaleb(printed.adjusted() - digits + 1)
    return float(printed.quantize(place, rounding=rounding))
