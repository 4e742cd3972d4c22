"""What a sample by values only would cost, in evaluations of single records' losses."""

from __future__ import annotations

import math

from skdp.research.samplers.zeroth_order import AlternatingSchedule
from skdp.solvers import Schedule

__all__ = ["expected_evaluations"]


def expected_evaluations(schedule: Schedule, tv: float) -> float:
    """Return how many losses of single records "zeroth_order" evaluates on average, at most.

    Parameters
    ----------
    schedule : Schedule
        *Public.* Density, chosen by an `objective` for a known number of rows.
    tv : float
        *Public.* Total variation within which its sample is to be of the density.

    Returns
    -------
    expected : float
        An upper bound of the mean over the sampler's randomness, for the worst data.
    """
    balance = schedule.balance
    if balance is None or balance.n_samples is None:
        raise ValueError("expected_evaluations needs an objective and a row count.")
    return AlternatingSchedule.within(
        tv,
        lipschitz=balance.n_samples * schedule.temperature * balance.lipschitz,
        prior_precision=schedule.prior_precision,
        dimension=balance.size,
        radius=math.inf if schedule.domain is None else schedule.domain.radius,
    ).expected_evaluations
