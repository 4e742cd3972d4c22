"""Expected number of evaluations of single losses by the zeroth-order sampler."""

from __future__ import annotations

import math

from skdp.research.samplers.zeroth_order import AlternatingSchedule
from skdp.solvers import Schedule

__all__ = ["expected_evaluations"]


def expected_evaluations(schedule: Schedule, tv: float) -> float:
    """Return an upper bound of the mean number of losses that "zeroth_order" evaluates.

    Parameters
    ----------
    schedule : Schedule
        *Public.* The density, from a schedule with an `objective` and a known number of rows.
    tv : float
        *Public.* Total variation distance of the sample's distribution from the density.

    Returns
    -------
    expected : float
        It holds for all data; the mean is over the sampler's randomness.
    """
    balance = schedule.balance
    if balance is None or balance.n_samples is None:
        raise ValueError("schedule must have an objective and a number of rows.")
    return AlternatingSchedule.within(
        tv,
        lipschitz=balance.n_samples * schedule.temperature * balance.lipschitz,
        prior_precision=schedule.prior_precision,
        dimension=balance.size,
        radius=math.inf if schedule.domain is None else schedule.domain.radius,
    ).expected_evaluations
