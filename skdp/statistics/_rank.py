"""The rank of a quantile, or of an end of its interval."""

from __future__ import annotations

from dataclasses import dataclass

from skdp.statistics._margin import Margin

__all__ = ["Rank"]


@dataclass(frozen=True)
class Rank:
    """A public function of the number of rows: q·n, or that moved by a margin to one side."""

    q: float
    margin: Margin | None = None
    side: int = 0

    def of(self, n_rows: float) -> float:
        """Return the rank among so many rows."""
        moved = 0.0 if self.margin is None else self.side * self.margin(n_rows)
        return self.q * n_rows + moved

    @property
    def sensitivity(self) -> float:
        """How far the utility of a point moves where a row comes or goes."""
        return max(self.q, 1.0 - self.q) + self._slope

    def range(self, *, above: bool) -> float:
        """Return how far apart the utilities of two points move where a row comes or goes.

        With s the slope of the margin: a row above the quantile moves the utilities of points below
        itself by at most q + s, and of others by at most max(q, 1 − q) + s in the other direction.
        For a row below the quantile q and 1 − q change places.
        """
        near = self.q if above else 1.0 - self.q
        return near + self._slope + self.sensitivity

    @property
    def _slope(self) -> float:
        return 0.0 if self.margin is None else self.margin.slope
