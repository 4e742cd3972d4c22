"""Text and HTML representations of scores and reports."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from html import escape

from skdp.privacy import PrivacyGuarantee
from skdp.support.html import html_table

Numbers = Iterator[tuple[str, float, tuple[float, float]]]
"""Names, numbers and intervals."""


def _possible(numbers: Numbers) -> Numbers:
    """Clip numbers to their intervals, which hold possible values only."""
    for name, x, (low, high) in numbers:
        yield name, min(max(x, low), high) if x == x else x, (low, high)


class Viewed:
    """A result that displays a few released numbers.

    Numbers are nearly unbiased. If noise has made one impossible, the nearest possible number is
    displayed.
    """

    privacy: PrivacyGuarantee

    @abstractmethod
    def _numbers(self) -> Numbers:
        """Yield the displayed numbers."""

    def _notes(self) -> list[str]:
        """Return sentences that the numbers need."""
        return []

    def __str__(self) -> str:
        lines = [
            f"{name:24}{x:.6g}  [{low:.6g}, {high:.6g}]".strip()
            for name, x, (low, high) in _possible(self._numbers())
        ]
        return "\n".join([*lines, *self._notes(), str(self.privacy)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = (
            (name, f"{x:.4g}", f"{low:.4g} to {high:.4g}")
            for name, x, (low, high) in _possible(self._numbers())
        )
        table = html_table(("", "estimate", "95 % interval"), rows, named=True)
        notes = [*self._notes(), str(self.privacy)]
        return table + "".join(f"<p>{escape(note)}</p>" for note in notes)
