"""HTML tables for notebooks, in the colors of their background."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html_table"]

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
