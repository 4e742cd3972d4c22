"""What a naive Bayes model has been told so far: released sums, which those of more rows join."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Totals"]


@dataclass(frozen=True, eq=False)
class Totals:
    """Noisy sums over the rows of one or several fits.

    Parameters
    ----------
    asked : tuple
        *Public.* What the sums are of; others cannot be added.
    sums : dict of str to ndarray
        *Released*, in units of a record.
    noise : dict of str to float
        *Public.* The mean square of the noise in each of these numbers.
    n_rows : int or None
        *Public.* How many rows all of them are of, None where that is private or rows have weights.
    """

    asked: tuple[Any, ...]
    sums: Mapping[str, np.ndarray]
    noise: Mapping[str, float]
    n_rows: int | None

    def __add__(self, other: Totals) -> Totals:
        sums = {name: total + other.sums[name] for name, total in self.sums.items()}
        noise = {name: square + other.noise[name] for name, square in self.noise.items()}
        known = self.n_rows is not None and other.n_rows is not None
        n_rows = self.n_rows + other.n_rows if known else None  # type: ignore[operator]
        return Totals(self.asked, sums, noise, n_rows)
