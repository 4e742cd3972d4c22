"""One noisy score with its interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from skdp.metrics._view import Numbers, Viewed
from skdp.privacy import PrivacyGuarantee


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Score(Viewed):
    """One noisy score, returned by the functions of `skdp.metrics`; ``float`` takes its value.

    Parameters
    ----------
    value : float
        *Released.* Means and areas are nearly unbiased and may be impossible, such as an accuracy
        above 1; then the nearest possible number is displayed. nan if the noise is too large.
    n_samples : int or None
        *Public.* Number of test records; None if it is private.
    privacy : PrivacyGuarantee
        *Public.*
    _between : callable
        *Released.* Maps `level` and `sampling` to an interval.
    _note : str
        *Released.* A sentence that the value needs.
    """

    value: float
    n_samples: int | None
    privacy: PrivacyGuarantee
    _between: Callable[..., tuple[float, float]]
    _note: str = ""

    def interval(self, level: float = 0.95, *, sampling: bool = True) -> tuple[float, float]:
        """Return a confidence interval for the score.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* Approximate coverage, by the delta method.
        sampling : bool, default True
            *Public.* Whether the interval is for the population rather than for the rows. A spread
            of losses that was not released is taken as large as their mean allows.

        Returns
        -------
        low, high : float
        """
        return self._between(level, sampling=sampling)

    def __float__(self) -> float:
        return self.value

    def _numbers(self) -> Numbers:
        yield "", self.value, self.interval()

    def _notes(self) -> list[str]:
        return [self._note] if self._note else []
