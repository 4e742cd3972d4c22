"""Quantiles, chosen from a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.records import Records
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._choices import (
    Neighbors,
    QuantilePlan,
    Ranks,
    cell_counts,
    choose_all,
    grids_of,
    of_grids,
)
from skdp.statistics._moments import BoundedStatistic, Facts
from skdp.statistics._results import (
    Labels,
    Numbers,
    Statistic,
    axes_of,
    columns_of,
    effect_of_noise,
    risk_of,
)
from skdp.support.types import Bounds, KeysLike, MatrixLike, RandomState, VectorLike


@dataclass(frozen=True, eq=False, repr=False)
class Quantile(Statistic):
    """Released quantiles.

    Parameters
    ----------
    value : float or ndarray
        *Released.* Of shape (n_groups, n_probabilities, n_columns), without the axes that were not
        requested.
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    _plan : QuantilePlan
        *Public.* The mechanism of each choice.
    _level : float or None
        *Public.* The level of the intervals.
    _interval, _cell : tuple of float or ndarray
        *Released*, together with the quantiles.
    _labels : object
        *Public.* The labels in `to_frame`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import quantile
    >>> pay = np.random.default_rng(0).lognormal(3.0, 0.5, size=5000)
    >>> asked = {"q": [0.25, 0.5, 0.75], "bounds": (0, 500), "level": 0.95}
    >>> found = quantile(pay, epsilon=1.0, **asked, random_state=0)
    >>> found.value.round(1), round(found.rank_error())
    (array([14.3, 19.9, 27.9]), 152)
    >>> low, high = found.interval()
    >>> low.round(1), high.round(1)
    (array([13.6, 19. , 26.8]), array([14.9, 20.7, 30. ]))
    """

    _plan: QuantilePlan = field(kw_only=True)
    _level: float | None = field(kw_only=True)
    _interval: tuple[Numbers, Numbers] = field(kw_only=True)
    _cell: tuple[Numbers, Numbers] = field(kw_only=True)

    def _text(self) -> list[str]:
        value = np.array2string(np.asarray(self.value), precision=6)
        return [f"{value}, within {self.rank_error():.3g} rows of the rank"]

    def rank_error(self, level: float = 0.95) -> float:
        """Return a bound of the error in rank, as a number of rows.

        With probability `level`, over the noise, changing that many rows makes a number in the
        `cell` of `value` a quantile of the data. This tail bound of the exponential mechanism holds
        for all data. With weights, rows have the weight `max_weight`.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* For each quantile by itself.

        Returns
        -------
        float
            *Public.*
        """
        return self._plan.rank_error(risk_of(level))

    def cell(self) -> tuple[Any, Any]:
        """Return the ends of the cells of the grid whose numbers were rounded to each `value`.

        Returns
        -------
        low, high : float or ndarray
            *Released.* They have the shape of `value`.
        """
        return self._cell

    def interval(
        self, level: float | None = None, *, simultaneous: bool = False
    ) -> tuple[Any, Any]:
        if self._level is None:
            raise ValueError(
                "no intervals were released with these quantiles. Call quantile with level=0.95."
            )
        if level not in (None, self._level) or (simultaneous and np.size(self.value) > 1):
            raise ValueError(
                f"only separate intervals at level {self._level:g} were released with these "
                "quantiles."
            )
        return self._interval

    def _columns(
        self, level: float | None = None, simultaneous: bool = False
    ) -> dict[str, list[float]]:
        if self._level is not None:
            self.interval(level, simultaneous=simultaneous)  # raises for another level
        return columns_of(self.value, *self._interval, self._level)

    def _ends(self, risk: float) -> tuple[Numbers, Numbers]:
        return self._interval


def quantile(
    x: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    q: ArrayLike,
    bounds: Bounds,
    level: float | None = None,
    sampling: bool = False,
    ties: bool = True,
    missing: str = "skip",
    by: VectorLike | None = None,
    keys: KeysLike = None,
    groups: VectorLike | None = None,
    sample_weight: VectorLike | None = None,
    max_weight: float | None = None,
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Quantile:
    """Choose quantiles of each column from a public grid, privately.

    The grid has 2^14 equal cells between the bounds, and finer ones near 0, so that bounds may be
    much wider than the values. A `TableSchema` with a logarithmic scale or integers has a grid of
    its own. Values outside the bounds are clipped, and missing values are left out. The ends of an
    interval are quantiles of a lower and a higher rank. Their distance in rank covers the noise
    and, with `sampling`, the sampling error.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Numbers: an array, a list, or a series or frame.
    epsilon : float
        *Public.* Privacy loss of all numbers together, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n; 0 for pure privacy. ``None``:
        the budget's δ, or 1e-5.
    q : float or array-like
        *Public.* Probabilities in [0, 1].
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Never taken from the data: see :term:`bounds`.
    level : float in (0, 1) or None, default None
        *Public.* Probability that an interval contains its number, approximately; ``None`` for no
        intervals. With ``ties=False`` it is lower if values repeat, or if n is private and small
        (some hundreds at ε = 0.1). The ends of an interval of a quantile are two more quantiles,
        which share ε with it.
    sampling : bool, default False
        *Public.* Whether the intervals are for the population that the rows are a sample of.
    ties : bool, default True
        *Public.* Whether values may repeat, as ages, counts and rounded amounts do. Then `level` is
        guaranteed. ``False`` is for measurements that hardly repeat: intervals are about a quarter
        as wide, but hold less often if values do repeat.
    missing : {"skip", "middle"}, default "skip"
        *Public.* Whether missing values are left out, or count as the middle of the bounds.
    by : str, array-like of shape (n_rows,), list of several, default None
        *Private.* Column to group by, or its public name in a data frame. Rows whose value is not
        in `keys` belong to no group.
    keys : list, dict of lists by column, default None
        *Public.* The values of `by` to report, known without looking at the data.
    groups : array-like of shape (n_rows,), str or None, default None
        *Private.* The person of each row, or the public name of that column of a data frame. All
        rows of a person are one record, and each of its rows has the same weight. ``None``: each
        row is a record.
    sample_weight : array-like of shape (n_rows,), str or None, default None
        *Private.* Weight of each row, as in a survey, or the public name of that column of a data
        frame. Weights are clipped to [0, `max_weight`].
    max_weight : float or None, default None
        *Public.* Bound of the weights, required with `sample_weight`. Noise is proportional to it.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None, default None
        *Public.* Budget that the release is spent from before the data are read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Returns
    -------
    Quantile
        Its `value` has the quantiles of a column in the order of `q`.

    Raises
    ------
    ValueError, BudgetExceededError, BudgetClosedError
        If an argument is wrong, or the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** The exponential mechanism with the utility −max(#{x < t} − q·n, q·n − #{x ≤ t},
    0) of a grid point t, for n values that are not missing, rounded to the grid. One record changes
    it by at most 1 under ``replace_one``, also if n changes, and by max(q, 1 − q) under
    ``add_remove_one`` (Smith 2011, for intervals instead of a grid). The ends of intervals have the
    rank q·n ± m(n). If n is private, the largest slope of the public function m adds to the
    sensitivity. The outermost grid point stands for all ranks beyond.

    The choices in all groups are one release of bounded range, also for persons whose rows are in
    several groups. Under ``add_remove_one`` several quantiles of a column share a range as well.
    Columns are composed. Proofs: *Quantiles* in the documentation.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import quantile
    >>> ages = np.arange(1000) % 90
    >>> median = quantile(ages, epsilon=1.0, q=0.5, bounds=(0, 100), random_state=0)
    >>> abs(median.value - 44) < 3, round(median.rank_error())
    (True, 25)
    """
    return QuantileStatistic(
        bounds, q, level, sampling, ties, missing=missing, by=by, keys=keys, max_weight=max_weight
    )._release((x,), groups, epsilon, delta, neighboring, budget, random_state, sample_weight)


@dataclass(eq=False)
class QuantileStatistic(BoundedStatistic[QuantilePlan, np.ndarray]):
    """The release of `quantile`."""

    q: ArrayLike
    level: float | None = None
    sampling: bool = False
    ties: bool = True

    released_as = "statistics.quantile"

    _effect_of_noise = effect_of_noise("all ranks", lambda facts: facts.n_groups or 1)

    def _is_gaussian(self) -> bool:
        return True  # the ε of each choice is computed as a Gaussian budget counts it

    def _check_data(
        self, parameters: ReleaseParameters, x: MatrixLike, **more: VectorLike
    ) -> Records[Facts]:
        self._ranks()
        return super()._check_data(parameters, x, **more)

    def _plan(self, parameters: ReleaseParameters, records: Records[Facts]) -> QuantilePlan:
        facts, n_changed = records.facts, parameters.neighboring.n_changed
        neighbors = Neighbors(n_changed, facts.n_groups or 1, records.is_weighted)
        accountant = "gdp" if parameters.counts_gaussians else "pld"
        target, grids = (parameters.epsilon, parameters.delta), grids_of(facts.bounds)
        return self._ranks().planned(*target, accountant, neighbors, facts.n_rows, grids)

    def _read(
        self, plan: QuantilePlan, records: Records[Facts], rng: np.random.Generator
    ) -> np.ndarray:
        """Return the chosen grid points, of shape (n_groups, n_ranks, n_columns)."""
        facts, grids = records.facts, grids_of(records.facts.bounds)
        filling = facts.bounds.middle if self.missing == "middle" else None
        cells = records.total(partial(cell_counts, grids, facts.keys, filling))["cells"]
        return choose_all(plan, of_grids(cells, grids), rng, records.is_weighted)

    def _publish(
        self,
        plan: QuantilePlan,
        records: Records[Facts],
        released: np.ndarray,
        guarantee: PrivacyGuarantee,
    ) -> Quantile:
        ranks, facts = self._ranks(), records.facts
        grids = grids_of(facts.bounds)
        is_noise = plan.hides_ranks(records.n_known or math.inf)
        values = ranks.values(released, grids, is_noise=is_noise)
        value, least, most, *ends = (self._shaped(one, facts) for one in values)
        low, high = ends or (value * np.nan, value * np.nan)
        groups, columns = axes_of(facts.keys), ("column", facts.columns.labels)
        return Quantile(
            value,
            guarantee,
            _plan=plan,
            _level=ranks.level,
            _interval=(low, high),
            _cell=(least, most),
            _labels=Labels((*groups, ("quantile", ranks.q), columns), facts.columns.library),
        )

    def _shaped(self, values: np.ndarray, facts: Facts) -> Numbers:
        """Return values of shape (n_groups, n_probabilities, n_columns) without needless axes."""
        values = values[0] if facts.keys is None else values
        values = values if np.ndim(self.q) else values[..., 0, :]
        return facts.shaped(values)

    def _ranks(self) -> Ranks:
        return Ranks.check(self.q, self.level, self.sampling, self.ties)
