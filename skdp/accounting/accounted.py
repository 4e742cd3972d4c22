"""Curves of events as accountants bound them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.accounting.base import Accountant
from skdp.privacy import Event
from skdp.privacy.curve import SymmetricCurve

__all__ = ["AccountedCurve"]


@dataclass(frozen=True)
class AccountedCurve(SymmetricCurve):
    """The curve of `event` that `accountant` proves, for both orders of the neighbors at once.

    Parameters
    ----------
    event : Event
        *Public.* What was released, its parameters fixed beforehand.
    accountant : Accountant
        *Public.*

    Examples
    --------
    >>> from skdp.accounting import PLDAccountant
    >>> from skdp.privacy import GaussianEvent, PoissonSampledEvent, SelfComposedEvent
    >>> steps = SelfComposedEvent(PoissonSampledEvent(0.01, GaussianEvent(1.0)), 1000)
    >>> round(AccountedCurve(steps, PLDAccountant("add_remove_one")).epsilon(1e-5), 3)
    1.828
    """

    event: Event
    accountant: Accountant

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        return self.accountant.delta(self.event, epsilon)

    def epsilon(self, delta: float) -> float:
        return self.accountant.epsilon(self.event, delta)
