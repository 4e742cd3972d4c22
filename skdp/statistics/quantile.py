"""Quantiles, chosen from a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np

from skdp._column_facts import ColumnBounds
from skdp._columns import Columns
from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.accounting import calibrate
from skdp.budget import PrivacyBudget
from skdp.mechanisms import ExponentialMechanism
from skdp.privacy import BoundedRangeEvent, Event, PrivacyGuarantee, SelfComposedEvent
from skdp.statistics._moments import BoundedColumns
from skdp.statistics._result import risk_of

__all__ = ["Quantile", "quantile"]

_CELLS = 2**14  # of the grid, between the bounds
_SAFE = 1.0 - 1e-9  # of ε: the search for a share of it stops 1e-11 from the target
_ROUNDING = 1.0 + 2.0**-19  # of ranks, below 2^31, by two times 2^−22 at most for each data set


@dataclass(frozen=True, eq=False, repr=False)
class Quantile:
    """Released quantiles.

    Parameters
    ----------
    value : float or ndarray
        *Released.* Of shape (n_probabilities, n_columns) without the axes that were not asked for.
    privacy : PrivacyGuarantee
        *Public.* What the release promises; of all quantiles together.
    _choice : ExponentialMechanism
        *Public.* Of which `rank_error` is computed.
    """

    value: Any
    privacy: PrivacyGuarantee
    _choice: ExponentialMechanism = field(kw_only=True)

    def __repr__(self) -> str:
        value = np.array2string(np.asarray(self.value), precision=6)
        return f"{value}, within {self.rank_error():.3g} rows of the rank\n{self.privacy}"

    def rank_error(self, level: float = 0.95) -> float:
        """Return by how many rows a released quantile may miss its rank.

        With probability `level`, over the noise, no more than this number of rows would have to
        change for `value` to be a quantile of the data, rounded to the grid: the tail bound of the
        exponential mechanism. An interval of values would be a release of its own.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* For each quantile by itself.

        Returns
        -------
        float
            A number of rows, computed from public numbers.
        """
        log_tail = math.log((_CELLS + 1) / risk_of(level))
        return 2.0 * self._choice.sensitivity / _ROUNDING * log_tail / self._choice.epsilon


def quantile(
    x: Any,
    epsilon: float,
    delta: float | None = None,
    *,
    q: Any,
    bounds: Any,
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
    label: str | None = None,
    part: str | int | None = None,
) -> Quantile:
    """Choose quantiles of each column from a public grid, privately.

    The grid has 2^14 cells between the bounds. Values outside of them are clipped. A missing value
    counts as the middle of its bounds.

    Parameters
    ----------
    x : array-like or dask collection of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Numbers: an array, a list, or a series or frame.
    epsilon : float
        *Public.* Privacy loss in nats of all numbers together; finite.
    delta : float or None, default None
        *Public.* Probability with which the ε bound may fail, well below 1/n. ``None`` takes the
        budget's, or 1e-5 without a budget; 0 asks for pure privacy.
    q : float or array-like
        *Public.* Probabilities in [0, 1].
    bounds : pair (low, high), one pair per column, or dict
        *Public.* The dict is from names or numbers of columns to pairs. Bounds come from knowledge
        about the columns, never from the data.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbouring data sets differ in the value of one record (then n is
        public) or in its presence (then it is private).
    budget : PrivacyBudget or None, default None
        *Public.* What the release spends from, before a value is read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* ``None`` takes fresh entropy from the operating system for each release. A seed
        voids the guarantee, for whoever knows it can subtract the noise, and is refused beside a
        budget: for tests only.
    label : str or None, default None
        *Public.* Name of the release in the budget's history. ``None`` takes the function's.
    part : str, int or None, default None
        *Public.* The part of the records that these are, by any name: in the budget, releases on
        different parts do not add up. Every record lies in one part for good, whatever other
        records there are; under ``replace_one`` so does what replaces it. ``None`` counts for all
        parts.

    Returns
    -------
    Quantile
        Several quantiles of a column are in the order of `q`.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** The exponential mechanism with the utility −max(#{x < t} − q·n, q·n − #{x ≤ t},
    0) of a grid point t, for values that were rounded to the grid: one record changes it by at
    most 1 under ``replace_one``, and by max(q, 1 − q) under ``add_remove_one``, where n is private
    (Smith 2011, on intervals in place of a grid). Each choice is purely private; all together are
    composed.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import quantile
    >>> ages = np.arange(1000) % 90
    >>> median = quantile(ages, epsilon=1.0, q=0.5, bounds=(0, 100), random_state=0)
    >>> abs(median.value - 44) < 3, round(median.rank_error())
    (True, 25)
    """
    return QuantileStatistic(bounds, q)._release(
        x,
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        budget=budget,
        random_state=random_state,
        label=label,
        part=part,
    )


@dataclass(frozen=True)
class QuantilePlan:
    """Some choices by the exponential mechanism, all alike."""

    choice: ExponentialMechanism
    n_choices: int

    theorem = "exponential mechanism, composition"

    @property
    def event(self) -> Event:
        """What all the choices together are."""
        return SelfComposedEvent(self.choice.event, self.n_choices)


class QuantileStatistic(PrivateFit):
    """The parts of the transaction of `quantile`."""

    released_as = "statistics.quantile"
    takes_infinite_epsilon = False

    def __init__(self, bounds: Any, q: Any) -> None:
        self.bounds = bounds
        self.q = q

    def _is_gaussian(self) -> bool:
        return True  # the ε of each choice is computed as a Gaussian budget counts it

    def _check_data(self, parameters: ReleaseParameters, x: Any) -> BoundedColumns:
        self._probabilities()
        return BoundedColumns.of(x, self.bounds, parameters)

    def _plan(self, parameters: ReleaseParameters, records: BoundedColumns) -> QuantilePlan:
        probabilities = self._probabilities()
        farthest, n_choices = 1.0, probabilities.size * records.columns.n_columns
        if not records.count_is_public:
            farthest = float(np.maximum(probabilities, 1.0 - probabilities).max())
        choice = ExponentialMechanism(
            sensitivity=farthest * _ROUNDING, epsilon=_share(n_choices, parameters)
        )
        return QuantilePlan(choice, n_choices)

    def _read(
        self, plan: QuantilePlan, records: BoundedColumns, rng: np.random.Generator
    ) -> np.ndarray:
        """Return the chosen grid points, a row for each probability."""
        columns = records.columns.total(partial(_cell_counts, records.bounds))["cells"]
        choices = [
            [_choose(counts, p, plan.choice, rng) for counts in columns]
            for p in self._probabilities()
        ]
        return np.array(choices)

    def _publish(
        self,
        plan: QuantilePlan,
        records: BoundedColumns,
        released: np.ndarray,
        guarantee: PrivacyGuarantee,
    ) -> Quantile:
        """Return values, the larger of a column for the larger probability."""
        ranks = np.argsort(np.argsort(self._probabilities()))
        low, high = records.bounds.low, records.bounds.high
        value = low + (high - low) * np.sort(released, axis=0)[ranks] / _CELLS
        value = value[:, 0] if records.columns.single else value
        value = value if np.ndim(self.q) else value[0]
        shown = value if np.ndim(value) else float(value)
        return Quantile(shown, guarantee, _choice=plan.choice)

    def _probabilities(self) -> np.ndarray:
        probabilities = np.atleast_1d(np.asarray(self.q, dtype=float))
        inside = (probabilities >= 0.0) & (probabilities <= 1.0)
        if probabilities.ndim != 1 or not probabilities.size or not inside.all():
            raise ValueError(f"q must be a probability in [0, 1], or several, got {self.q!r}.")
        return probabilities


def _share(n: int, parameters: ReleaseParameters) -> float:
    """Return the pure ε of each of n choices that cost together what is asked for."""
    if parameters.delta == 0.0:
        return parameters.epsilon / n * _SAFE
    accountant = "gdp" if parameters.composition in ("gdp", "zcdp", "rdp") else "pld"
    return _composed_share(n, parameters.epsilon, parameters.delta, accountant)


@lru_cache(maxsize=128)
def _composed_share(n: int, epsilon: float, delta: float, accountant: str) -> float:
    def together(each: float) -> SelfComposedEvent:
        return SelfComposedEvent(BoundedRangeEvent(each), n)

    low = 1e-3 * epsilon / n
    return _SAFE * float(
        calibrate(together, epsilon, delta, low=low, high=2.0 * epsilon, accountant=accountant)
    )


def _cell_counts(bounds: ColumnBounds, columns: Columns) -> dict[str, np.ndarray]:
    """Return how many *private* values round to each grid point, a row for each column."""
    counts = np.zeros((columns.n_columns, _CELLS + 1), dtype=np.int64)
    for rows in columns.blocks():
        steps = np.rint((bounds.unit(rows) + 1.0) * (0.5 * _CELLS)).astype(np.intp)
        for found, column in zip(counts, steps.T, strict=True):
            found += np.bincount(column, minlength=_CELLS + 1)
    return {"cells": counts}


def _choose(
    counts: np.ndarray, p: float, choice: ExponentialMechanism, rng: np.random.Generator
) -> int:
    """Return a grid point for the *private* numbers of values at each."""
    at_most = np.cumsum(counts)
    rank = p * int(at_most[-1])
    miss = np.maximum(at_most - counts - rank, rank - at_most)
    return choice.release(-np.maximum(miss, 0.0), rng)
