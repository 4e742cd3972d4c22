"""A table of coefficients in the manner of statsmodels: as text, as HTML and as a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from skdp.support.html import html_table

if TYPE_CHECKING:
    import pandas

_DIGITS = {"z": ".3f", "P>|z|": ".3f"}
_NAME = 24  # characters of a name in text


@dataclass(frozen=True, eq=False, repr=False)
class CoefficientSummary:
    """A table of coefficients, computed from *released* numbers; it costs no privacy.

    Parameters
    ----------
    title : str
        *Public.*
    facts : sequence of (str, str)
        *Public.* Names and values above the table.
    names : sequence of str
        *Public.* Names of the coefficients.
    columns : dict of str to ndarray
        *Released.* The columns of the table.
    notes : sequence of str
        *Released.* Sentences below the table.
    """

    title: str
    facts: Sequence[tuple[str, str]]
    names: Sequence[str]
    columns: dict[str, np.ndarray]
    notes: Sequence[str]

    def to_frame(self) -> pandas.DataFrame:
        """Return the table as a pandas data frame, with full precision.

        Returns
        -------
        DataFrame
            A row for each coefficient.
        """
        import pandas

        return pandas.DataFrame(self.columns, index=list(self.names))

    def as_text(self) -> str:
        """Return the table as text.

        Returns
        -------
        str
        """
        cells = self._cells()
        first = max(len("Intercept"), *(min(len(name), _NAME) for name in self.names))
        widths = [max(map(len, column), default=0) for column in zip(*cells, strict=True)]
        widths = [max(w, len(n)) for w, n in zip(widths, self.columns, strict=True)]
        head = _line("", self.columns, first, widths)
        rows = [_line(n, c, first, widths) for n, c in zip(self.names, cells, strict=True)]
        double, single = "=" * len(head), "-" * len(head)
        facts = [f"{name + ':':<14}{value}" for name, value in self.facts]
        above = [self.title.center(len(head)).rstrip(), double, *facts, double, head, single]
        return "\n".join([*above, *rows, double, *self.notes])

    def as_html(self) -> str:
        """Return the table as HTML.

        Returns
        -------
        str
        """
        facts = html_table(("", ""), self.facts, named=True)
        rows = [(name, *row) for name, row in zip(self.names, self._cells(), strict=True)]
        table = html_table(("", *self.columns), rows, named=True)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<p><b>{escape(self.title)}</b></p>{facts}{table}{notes}"

    def __str__(self) -> str:
        return self.as_text()

    def __repr__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()

    def _cells(self) -> list[list[str]]:
        texts = [
            [_number(x, _DIGITS.get(name, ".4g")) for x in column]
            for name, column in self.columns.items()
        ]
        return [list(row) for row in zip(*texts, strict=True)]


def _number(x: float, digits: str) -> str:
    return "nan" if np.isnan(x) else format(x, digits)


def _line(name: str, cells: Any, first: int, widths: Sequence[int]) -> str:
    name = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
    return f"{name:<{first}}  " + "  ".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))
