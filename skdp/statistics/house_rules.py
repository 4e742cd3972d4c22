"""Public rules of offices for rounding and masking the numbers of a table, after the noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skdp.support.validation import check_choice

_CENSUS_BASES = ((100, 10), (1000, 50), (10_000, 100), (100_000, 500), (1_000_000, 1000))


@dataclass(frozen=True)
class HouseRule:
    """A rule for counts, and for other numbers if it has one; a text replaces a masked count."""

    counts: Callable[[int], float | str]
    others: Callable[[float], float] | None
    rule: str
    source: str
    date: str


def _four_digits(x: float) -> float:
    return float(f"{x:.4g}")  # half to even


def _multiple(n: int, base: int) -> int:
    return base * round(n / base)  # half to even


def _census(n: int) -> float | str:
    if n < 15:
        return "<15"
    bases = (_multiple(n, base) for end, base in _CENSUS_BASES if n < end)
    return next(bases, _four_digits(n))


def _census_2000(n: int) -> float:
    return 4 if 1 <= n <= 7 else _multiple(n, 5)


def _ofqual(n: int) -> float | str:
    return "fewer than 5" if 1 <= n <= 4 else _multiple(n, 5)


RULES = {
    "census": HouseRule(
        _census,
        _four_digits,
        "Counts below 15 are masked. Others are rounded to 10 below 100, 50 below 1000, 100 below "
        "10 000, 500 below 100 000, and 1000 below a million. Larger counts and all other numbers "
        "keep four significant digits, half to even.",
        "U.S. Census Bureau, Disclosure Review Board; github.com/simsong/drb_rounder",
        "2019-09",
    ),
    "census_2000": HouseRule(
        _census_2000,
        None,
        "0 stays 0, counts of 1 to 7 become 4, others the nearest multiple of 5.",
        "U.S. Census Bureau, Disclosure Review Board, special tabulations of the 2000 census; "
        "www.census.gov/population/www/cen2000/sptabs/disclosure.html",
        "2004-01-29",
    ),
    "cms": HouseRule(
        lambda n: "1 to 10" if 1 <= n <= 10 else n,
        None,
        "Counts of 1 to 10 are masked, and may not follow from other cells. 0 is shown.",
        "U.S. Centers for Medicare and Medicaid Services, cell size suppression policy; "
        "resdac.org/articles/cms-cell-size-suppression-policy",
        "2024-01-26",
    ),
    "ofqual": HouseRule(
        _ofqual,
        None,
        "Counts of 1 to 4 are masked, others rounded to the nearest multiple of 5. 0 is shown.",
        "Ofqual, England, rounding policy; www.gov.uk/government/publications/"
        "ofquals-statistics-policies-and-procedures/rounding-policy",
        "2025-10-30",
    ),
    "uk_llc": HouseRule(
        lambda n: "<10" if n < 10 else n,
        None,
        "Counts below 10 are masked, also 0.",
        "UK Longitudinal Linkage Collaboration, Guidebook; github.com/UKLLC/Guidebook",
        "2025-07-04",
    ),
}
"""*Public* rules by name, each with its source and the date of the source."""


def rounded_columns(
    name: str, columns: Mapping[str, Sequence[float]], are_counts: Sequence[bool]
) -> dict[str, Sequence[Any]]:
    """Return the columns of a frame by a rule: a text to publish, and numbers, nan if masked.

    Counts are rounded to integers first. Ends of intervals follow the same rule. It never
    decreases, so they contain the rounded true number if they contained the true number.
    """
    rule = RULES[check_choice("rounded", name, RULES)]
    if rule.others is None and not all(are_counts):
        raise ValueError(f"rounded={name!r} is a rule for counts, and these are other numbers.")
    found = {
        column: [_by(rule, x, own) for x, own in zip(columns[column], are_counts, strict=True)]
        for column in ("estimate", "lower", "upper")
    }
    shown = found["estimate"]
    texts = [one if isinstance(one, str) else f"{one:.15g}" for one in shown]
    numbers = {
        column: [
            math.nan if str in map(type, pair) else pair[0] for pair in zip(own, shown, strict=True)
        ]
        for column, own in found.items()
    }
    return {"published": texts, **numbers, "level": columns["level"]}


def _by(rule: HouseRule, x: float, is_count: bool) -> Any:
    if is_count and math.isfinite(x):
        return rule.counts(round(x))
    return x if rule.others is None else rule.others(x)
