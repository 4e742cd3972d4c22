"""Exact sums of costs, as fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

__all__ = ["Amounts", "add", "decimal", "down", "minus", "rational", "read", "write"]

Amounts = tuple[Fraction | float, ...]
"""Exact numbers, one per limit of a filter; ``inf`` is above every limit."""


def decimal(number: float | Decimal) -> Fraction | float:
    """Return the exact value of the printed number; ``inf`` if it is not finite."""
    if isinstance(number, Decimal):
        return Fraction(number)
    return Fraction(Decimal(repr(float(number)))) if math.isfinite(number) else math.inf


def down(exact: Fraction | float, toward: float = 0.0) -> float:
    """Return the nearest float that prints no more (or, toward ``inf``, no less) than `exact`."""
    number = float(exact)
    wrong = decimal(number) < exact if toward > number else decimal(number) > exact
    return math.nextafter(number, toward) if wrong else number


def add(first: Amounts, second: Amounts) -> Amounts:
    """Return the sums."""
    return tuple(a + b for a, b in zip(first, second, strict=True))


def minus(limits: Amounts, totals: Amounts) -> Amounts:
    """Return the differences, at least 0."""
    return tuple(max(Fraction(0), a - b) for a, b in zip(limits, totals, strict=True))


def rational(decimals: Iterable[Decimal]) -> Amounts:
    """Return decimals as amounts."""
    return tuple(Fraction(one) if one.is_finite() else math.inf for one in decimals)


def write(amounts: Amounts) -> str:
    """Write amounts as exact decimals, which every storage can add up."""
    return " ".join(map(_digits, amounts))


def _digits(amount: Fraction | float) -> str:
    """Write an amount, whose denominator has no factors but 2 and 5."""
    if not isinstance(amount, Fraction):
        return "Infinity"
    places = amount.denominator.bit_length()
    digits, rest = divmod(amount.numerator * 10**places, amount.denominator)
    assert not rest
    short = str(digits).rstrip("0") or "0"
    return f"{short}e{len(str(digits)) - len(short) - places}"


def read(text: str) -> Amounts:
    """Read amounts from `write`, or fractions from earlier versions."""
    words = text.split()
    return tuple(math.inf if word in ("inf", "Infinity") else Fraction(word) for word in words)
