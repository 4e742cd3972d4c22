"""What is asked of the data, and how much one person can change the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skdp._validation import check_count, check_real

__all__ = ["Query"]


@dataclass(frozen=True)
class Query:
    """Numbers that are asked for together, such as the cells of a histogram.

    Parameters
    ----------
    name : str
    largest : float
        *Public.* How far one of the numbers may differ between neighbours.
    size : int
        *Public.* How many numbers there are.
    n_touched : int
        *Public.* How many of them may differ between neighbours.
    total : float or None
        *Public.* Distance of the numbers of neighbours in l1; `largest` · `n_touched` by default.
    euclidean : float or None
        *Public.* Their distance in l2; by default the most that the other distances allow.
    integer : bool
        *Public.* Whether all numbers are integers, and so are their changes.
    """

    name: str
    largest: float
    size: int = 1
    n_touched: int = 1
    total: float | None = None
    euclidean: float | None = None
    integer: bool = False

    def __post_init__(self) -> None:
        check_real("largest", self.largest, low=0.0)
        check_count("size", self.size)
        check_count("n_touched", self.n_touched)
        for name in ("total", "euclidean"):
            if getattr(self, name) is not None:
                check_real(name, getattr(self, name), low=0.0)

    @property
    def l1(self) -> float:
        """Distance of the answers of neighbours in l1."""
        worst = self.largest * min(self.n_touched, self.size)
        return worst if self.total is None else min(self.total, worst)

    @property
    def l2(self) -> float:
        """Distance in l2: by Hölder's inequality at most √(largest·l1)."""
        worst = math.sqrt(self.largest * self.l1)
        return worst if self.euclidean is None else min(self.euclidean, worst)
