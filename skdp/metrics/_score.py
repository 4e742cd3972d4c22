"""One noisy number that says how good a model is, and between which numbers it lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from skdp.metrics._view import Numbers, Viewed
from skdp.privacy import PrivacyGuarantee

__all__ = ["Score"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Score(Viewed):
    """One noisy score; the functions of `skdp.metrics` make it, and ``float`` takes its value.

    Parameters
    ----------
    value : float
        *Released.* Means and areas are nearly unbiased, so that they may lie outside of what is
        possible, of which the nearest is shown; nan where the noise leaves nothing to be said.
    n_samples : int or None
        *Public.* Number of test records; None if it is private.
    privacy : PrivacyGuarantee
        *Public.*
    _between : callable
        From a level, and whether rows are a sample, to an interval.
    """

    value: float
    n_samples: int | None
    privacy: PrivacyGuarantee
    _between: Callable[..., tuple[float, float]]

    def interval(self, level: float = 0.95, *, sampling: bool = True) -> tuple[float, float]:
        """Return where the score lies.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* Approximate coverage, by the delta method.
        sampling : bool, default True
            *Public.* Whether the number is that of the population that the rows come from, instead
            of that of the rows. Where how far losses are spread was not released, the spread is
            taken as large as their mean allows, and the interval is too wide.

        Returns
        -------
        low, high : float
        """
        return self._between(level, sampling=sampling)

    def __float__(self) -> float:
        return self.value

    def _numbers(self) -> Numbers:
        yield "", self.value, self.interval()
