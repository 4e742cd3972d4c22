"""How reports are printed and shown in notebooks: numbers, their intervals, the guarantee."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from html import escape

from skdp.privacy import PrivacyGuarantee
from skdp.support.html import html_table

__all__ = ["Numbers", "Viewed"]

Numbers = Iterator[tuple[str, float, tuple[float, float]]]
"""The name of each number, the number, and where it lies."""


def _possible(numbers: Numbers) -> Numbers:
    """Yield numbers moved to what is possible, to where their intervals are cut as well."""
    for name, x, (low, high) in numbers:
        yield name, min(max(x, low), high) if x == x else x, (low, high)


class Viewed:
    """A result with `privacy`, of which a few numbers are shown; all of them were released.

    Numbers are nearly unbiased; where the noise has made one impossible, the nearest possible one
    is shown.
    """

    privacy: PrivacyGuarantee

    @abstractmethod
    def _numbers(self) -> Numbers:
        """Yield the numbers that are shown."""

    def __str__(self) -> str:
        lines = [
            f"{name:24}{x:.6g}  [{low:.6g}, {high:.6g}]".strip()
            for name, x, (low, high) in _possible(self._numbers())
        ]
        return "\n".join([*lines, str(self.privacy)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = (
            (name, f"{x:.4g}", f"{low:.4g} to {high:.4g}")
            for name, x, (low, high) in _possible(self._numbers())
        )
        table = html_table(("", "estimate", "95 % interval"), rows, named=True)
        return f"{table}<p>{escape(str(self.privacy))}</p>"
