"""Quantiles, chosen from a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from skdp.accounting import calibrate
from skdp.budget import PrivacyBudget
from skdp.mechanisms import ExponentialMechanism
from skdp.privacy import PrivacyGuarantee, PureDPEvent, SelfComposedEvent
from skdp.statistics._columns import Box, numeric_columns
from skdp.statistics._release import Terms
from skdp.statistics._result import risk_of

__all__ = ["Quantile", "quantile"]

_CELLS = 2**14  # of the grid, between the bounds
_SAFE = 1.0 - 1e-9
_ROUNDING = 1.0 + 2.0**-19  # of ranks, below 2^31, by two times 2^−22 at most for each data set


@dataclass(frozen=True, eq=False)
class Quantile:
    """Released quantiles.

    Attributes
    ----------
    value : float or ndarray
        *Released.* Of shape (n_probabilities, n_columns) without the axes that were not asked for.
    privacy : PrivacyGuarantee
        What the release promises; of all quantiles together.
    """

    value: Any
    privacy: PrivacyGuarantee
    _epsilon: float = field(repr=False)
    _sensitivity: float = field(repr=False)

    def rank_error(self, level: float = 0.95) -> float:
        """Return by how many rows a released quantile may miss its rank.

        With probability `level`, over the noise, no more than this number of rows would have to
        change for `value` to be a quantile of the data, rounded to the grid: the tail bound of the
        exponential mechanism. An interval of values would be a release of its own.

        Parameters
        ----------
        level : float in (0, 1)
            *Public.* For each quantile by itself.
        """
        log_tail = math.log((_CELLS + 1) / risk_of(level))
        return 2.0 * self._sensitivity * log_tail / self._epsilon


def quantile(
    x: Any,
    q: Any,
    *,
    bounds: Any,
    epsilon: float,
    delta: float = 0.0,
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
    label: str = "statistics.quantile",
) -> Quantile:
    """Choose quantiles of each column from a public grid, privately.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Values outside `bounds` are clipped; ``nan`` counts as the middle of the bounds.
    q : float or array-like
        *Public.* Probabilities in [0, 1].
    bounds : pair (low, high), or one pair per column
        *Public.* As in `skdp.preprocessing.BoundsScaler`. The grid has 2^14 cells between them.
    epsilon, delta, neighboring, budget, random_state
        As in `count`; the guarantee is of all quantiles together.
    label : str
        *Public.* Who buys, for the history of the budget.

    Returns
    -------
    Quantile
        Several quantiles of a column are in the order of `q`.

    Notes
    -----
    **Guarantee.** The exponential mechanism with the utility −max(#{x < t} − q·n, q·n − #{x ≤ t},
    0) of a grid point t, for values that were rounded to the grid: one person changes it by at
    most 1 under ``replace_one``, and by max(q, 1 − q) under ``add_remove_one``, where n is private
    (Smith 2011, on intervals in place of a grid). Each choice is purely private; all together are
    composed.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import quantile
    >>> ages = np.arange(1000) % 90
    >>> median = quantile(ages, 0.5, bounds=(0, 100), epsilon=1.0, random_state=0)
    >>> abs(median.value - 44) < 3, round(median.rank_error())
    (True, 25)
    """
    terms = Terms(epsilon, delta, "auto", neighboring, budget, random_state)
    columns, single = numeric_columns(x, count_is_public=terms.count_is_public)
    box = Box.of(bounds, columns.shape[1])
    probabilities = _checked_probabilities(q)
    n_choices, farthest = probabilities.size * columns.shape[1], 1.0
    if not terms.count_is_public:
        farthest = float(np.maximum(probabilities, 1.0 - probabilities).max())
    choice = ExponentialMechanism(
        sensitivity=farthest * _ROUNDING, epsilon=_share(n_choices, terms)
    )
    event = SelfComposedEvent(choice.event, n_choices)
    privacy = terms.buy_event(event, "exponential mechanism, composition", label)
    steps = np.rint((box.unit(columns) + 1.0) * (0.5 * _CELLS)).astype(np.intp)
    chosen = [[_choose(column, p, choice, terms.rng) for column in steps.T] for p in probabilities]
    ranks = np.argsort(np.argsort(probabilities))  # the larger probability has the larger quantile
    value = box.low + (box.high - box.low) * np.sort(chosen, axis=0)[ranks] / _CELLS
    value = value[:, 0] if single else value
    value = value if np.ndim(q) else value[0]
    return Quantile(value if np.ndim(value) else float(value), privacy, choice.epsilon, farthest)


def _checked_probabilities(q: Any) -> np.ndarray:
    probabilities = np.atleast_1d(np.asarray(q, dtype=float))
    inside = (probabilities >= 0.0) & (probabilities <= 1.0)
    if probabilities.ndim != 1 or not probabilities.size or not inside.all():
        raise ValueError(f"q must be a probability in [0, 1], or several, got {q!r}.")
    return probabilities


def _share(n: int, terms: Terms) -> float:
    """Return the pure ε of each of n choices that are within the terms together."""
    if terms.delta == 0.0:
        return terms.epsilon / n * _SAFE
    accountant = "gdp" if terms.pays_in_gaussians else "pld"
    return _composed_share(n, terms.epsilon, terms.delta, accountant)


@lru_cache(maxsize=128)
def _composed_share(n: int, epsilon: float, delta: float, accountant: str) -> float:
    def together(each: float) -> SelfComposedEvent:
        return SelfComposedEvent(PureDPEvent(each), n)

    low = 1e-3 * epsilon / n
    return _SAFE * float(
        calibrate(together, epsilon, delta, low=low, high=epsilon, accountant=accountant)
    )


def _choose(
    column: np.ndarray, p: float, choice: ExponentialMechanism, rng: np.random.Generator
) -> int:
    """Return a grid point for a *private* column of grid points."""
    counts = np.bincount(column, minlength=_CELLS + 1)
    at_most = np.cumsum(counts)
    rank = p * column.size
    miss = np.maximum(at_most - counts - rank, rank - at_most)
    return choice.release(-np.maximum(miss, 0.0), rng)
