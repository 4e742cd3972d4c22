"""Noisy means of labels and scores, which measure the strength of a signal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScoreMeans:
    """Noisy means over records, *released.* y is −1 or 1, c(z) a score clipped to ±`most_score`.

    Parameters
    ----------
    label : float
        Mean of y.
    score : float
        Mean of c(z).
    product : float
        Mean of y·c(z).
    noise : float
        *Public or released.* Standard deviation of the noise in `label`. That in the other means is
        `most_score` times as large.
    n_records : int
        *Public or released.* The number that sums were divided by.
    count_noise : float
        *Public or released.* Relative standard deviation of its noise.
    most_score : float
        *Public.*
    """

    label: float
    score: float
    product: float
    noise: float
    n_records: int
    count_noise: float
    most_score: float

    @property
    def covariance(self) -> float:
        """Covariance of y and c(z)."""
        return self.product - self.label * self.score
