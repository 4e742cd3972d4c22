"""The rank of a quantile, or of an end of its interval."""

from __future__ import annotations

from dataclasses import dataclass

from skdp.statistics._margin import Margin


@dataclass(frozen=True)
class Rank:
    """A public function of the number n of rows: q·n, or q·n plus or minus a margin."""

    q: float
    margin: Margin | None = None
    side: int = 0

    def of(self, n_rows: float) -> float:
        """Return the rank for this number of rows."""
        moved = 0.0 if self.margin is None else self.side * self.margin(n_rows)
        return self.q * n_rows + moved

    @property
    def sensitivity(self) -> float:
        """The largest change of a point's utility if a row is added or removed."""
        return max(self.q, 1.0 - self.q) + self._slope

    def range(self, *, above: bool) -> float:
        """Return the range of the changes of all utilities if a row is added or removed.

        Let s be the slope of the margin. A row above the quantile moves the utilities of points
        below itself by at most q + s, and the utilities of other points by at most
        max(q, 1 − q) + s in the other direction. For a row below the quantile, exchange q and
        1 − q.
        """
        near = self.q if above else 1.0 - self.q
        return near + self._slope + self.sensitivity

    @property
    def _slope(self) -> float:
        return 0.0 if self.margin is None else self.margin.slope
