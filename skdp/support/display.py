"""What users see: numbers in a few digits, HTML tables, and the line that a warning is about."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from html import escape

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


_CELLS = "table.skdp-table th,table.skdp-table td"
_STYLE = (
    "<style>table.skdp-table{border-collapse:collapse;margin:.5em 0}"
    f"{_CELLS}{{padding:.25em .7em;text-align:left;vertical-align:top;white-space:normal;"
    "border-bottom:1px solid rgba(128,128,128,.4)}</style>"
)


def html_table(
    head: Sequence[object], rows: Iterable[Sequence[object]], *, named: bool = False
) -> str:
    """Return a table in the style of pandas; text is escaped, and long paths may break.

    If rows are `named`, their first cells are headers.
    """
    body = "".join(_row(row, n_heads=int(named)) for row in rows)
    heads = _row(head, n_heads=len(head))
    kind = 'class="dataframe skdp-table"'
    return f"{_STYLE}<table {kind}><thead>{heads}</thead><tbody>{body}</tbody></table>"


def _row(cells: Sequence[object], n_heads: int) -> str:
    heads = "".join(f"<th>{_text(cell)}</th>" for cell in cells[:n_heads])
    return f"<tr>{heads}{''.join(f'<td>{_text(cell)}</td>' for cell in cells[n_heads:])}</tr>"


def _text(cell: object) -> str:
    return escape(str(cell)).replace("__", "__<wbr>").replace("\n", "<br>")


def caller_outside() -> int:
    """Return the stacklevel of the first frame outside skdp and scikit-learn, which may call it."""
    frame, level, inside = sys._getframe(1), 1, ("skdp.", "sklearn.")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(inside):
        frame, level = frame.f_back, level + 1
    return level
