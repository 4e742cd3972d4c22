"""Differences between groups and survival curves, with intervals for the population."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.isotonic import isotonic_regression

from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.column_facts import ColumnBounds
from skdp.data.columns import Columns
from skdp.data.exact_sums import Sums, counted
from skdp.data.records import Records, check_numeric
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._choices import cell_counts
from skdp.statistics._moments import SUMS, Facts, Interval, MomentsStatistic, Part, Vector
from skdp.statistics._results import (
    NONE_OF_THESE,
    SAMPLING,
    Keys,
    Labels,
    Statistic,
    Terms,
    axes_of,
    effect_of_noise,
    is_several,
    lines_of_rest,
    most_records,
    risk_of,
    sum_half_widths,
)
from skdp.statistics.counts import CountStatistic, ends_of_cells
from skdp.statistics.means import VarianceStatistic
from skdp.support.types import Bounds, KeysLike, MatrixLike, RandomState, VectorLike
from skdp.workloads import QueryPlan
from skdp.workloads.plan import counts_query

Noise = Sequence[tuple[str, float, float]]
"""Queries, a and b: the noise of total − m·count has the factors a + b·m."""

_MOST_EDGES = 1000  # the errors of a curve are a square matrix of them
_RISK = 0.05  # of an interval of all possible numbers, which has no estimate
_RISKS = np.geomspace(1.0, 1e-9, 64)  # of the intervals that give a p-value
# No guarantee rests on it. The noisy number of rows is the divisor. Its noise widens intervals by
# this factor times its squared relative size, found by simulation of 30 to 1e5 rows a group.
_DIVISOR = 2.0
# The same. Squares are released in units of this share: intervals need them with less precision.
_OF_SQUARES = 0.3
# The distances are proved in *Effects* of the documentation, for w of at most 1/2.
OF_MEANS = Vector(
    2, (1.0 + 0.25 / _OF_SQUARES) * (0.5 + 2.0 * _OF_SQUARES), 4.0,
    (1.0 + _OF_SQUARES, 1.0 + _OF_SQUARES**2),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Arms:
    """*Released* means of groups in units of [0, 1], of shape (n_groups, n_columns), and errors.

    `terms` has the factors of the noise of queries, and `deviations` are those of sampling.
    """

    plan: QueryPlan
    is_empty: np.ndarray  # fewer rows than two standard deviations of the noise in their number
    means: np.ndarray
    centers: np.ndarray  # of intervals
    deviations: np.ndarray
    terms: list[tuple[str, np.ndarray]]

    @classmethod
    def of(
        cls, plan: QueryPlan, count: np.ndarray, total: np.ndarray, square: np.ndarray, noise: Noise
    ) -> Arms:
        """Return the means from noisy totals.

        Two values are added to each group, one at each end of the bounds, so that the variance of
        few events is not taken for 0 (Agresti and Caffo 2000).
        """
        variance = sum(
            slope**2 * plan.mechanism(name).expected_loss("l2") for name, _, slope in noise
        )
        size, empty = np.maximum(count, 0.0) + 2.0, count < 2.0 * variance**0.5
        middle = (np.clip(total, 0.0, size - 2.0) + 1.0) / size
        squares = (np.maximum(square, 0.0) + 1.0) / size  # values adjusted by slopes may exceed 1
        widening = (1.0 + _DIVISOR * variance / size**2) / size
        sampling = np.sqrt(np.maximum(squares - middle**2, 0.5 / size) * size) * widening
        terms = [(name, (a + b * middle) * widening) for name, a, b in noise]
        means = np.where(empty, np.nan, np.clip(total / np.where(empty, 1.0, count), 0.0, 1.0))
        return cls(plan, empty, means, (total + 1.0) / size, sampling, terms)

    @property
    def is_lost(self) -> np.ndarray:
        """Where a group or the reference is empty."""
        return np.asarray(self.is_empty[1:] | self.is_empty[:1])

    @property
    def distances(self) -> np.ndarray:
        return np.asarray(self.centers[1:] - self.centers[:1])

    def half_widths(self, risk: float) -> np.ndarray:
        both = slice(1, None), slice(0, 1)
        terms = [(name, factor[rows]) for rows in both for name, factor in self.terms]
        sampling = np.hypot(*(self.deviations[rows] for rows in both))
        return sum_half_widths(self.plan, [*terms, (SAMPLING, sampling)], risk)

    def ends(self, risk: float) -> Interval:
        """Return intervals of the differences; all numbers if a group is empty."""
        center, width = self.distances, self.half_widths(risk)
        low, high = np.clip(center - width, -1.0, 1.0), np.clip(center + width, -1.0, 1.0)
        return np.where(self.is_lost, -1.0, low), np.where(self.is_lost, 1.0, high)

    def ratio_ends(self, bounds: ColumnBounds, risk: float) -> Interval:
        """Return the ends of the θ ≥ 0 with (y − θ·x)² ≤ κ²·(Var y + θ²·Var x) (Fieller).

        y and x are the means of a group and of the reference. κ is the half width of the interval
        of the difference over its standard deviation.
        """
        width = 2.0 * bounds.half
        losses = [(self.plan.mechanism(name).expected_loss("l2"), f) for name, f in self.terms]
        variances = self.deviations**2 + np.sum([loss * f**2 for loss, f in losses], axis=0)
        kappa = self.half_widths(risk) ** 2 / (variances[1:] + variances[:1])
        (x, y), (v, w) = (
            (one[:1], one[1:]) for one in (bounds.low / width + self.centers, variances)
        )
        a, c = x**2 - kappa * v, y**2 - kappa * w
        root = np.sqrt(np.maximum((x * y) ** 2 - a * c, 0.0))
        first, last = (np.where(a == 0.0, 0.0, (x * y + s * root) / a) for s in (-1.0, 1.0))
        low = np.where(c <= 0.0, 0.0, np.where(a > 0.0, first, np.maximum(first, last)))
        high = np.where(a > 0.0, np.maximum(last, 0.0), np.inf)
        unknown = (x <= 0.0) | self.is_lost | (bounds.low < 0.0)
        return np.where(unknown, 0.0, np.maximum(low, 0.0)), np.where(unknown, np.inf, high)


@dataclass(frozen=True, eq=False, repr=False)
class Difference(Statistic):
    """Released differences of rates or means from those of the first group.

    Parameters
    ----------
    value : ndarray
        *Released.* A difference for each other group, and for each column if there are several.
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    means : ndarray
        *Released.* The rates or means of all groups, the reference first.
    ratio : ndarray
        *Released.* The mean of each other group over that of the reference; nan if all positive
        numbers are in its interval.
    _arms, _bounds : object
        *Released* and *public*: what intervals are computed from.
    _labels : object
        *Public.* The labels in `to_frame`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import difference
    >>> arm, cured = np.arange(3000) % 2, np.arange(3000) % 10 < 5
    >>> found = difference(cured, epsilon=1.0, by=arm, keys=[0, 1], random_state=0)
    >>> found.value.round(2), found.ratio.round(2), bool(found.p_value[0] < 1e-6)
    (array([-0.2]), array([0.67]), True)
    """

    means: np.ndarray
    ratio: np.ndarray
    _arms: Arms = field(kw_only=True)
    _bounds: ColumnBounds = field(kw_only=True)

    def _ends(self, risk: float) -> Interval:
        low, high = (2.0 * self._bounds.half * end for end in self._arms.ends(risk))
        return self._shaped(low), self._shaped(high)

    @property
    def p_value(self) -> np.ndarray:
        """*Released.* Two-sided p-values for a difference of 0, at least 1e-9.

        A p-value is the least risk of an interval without 0, and nan if a group is empty. For
        several groups, multiply by their number.
        """
        distances, lost = np.abs(self._arms.distances), self._arms.is_lost
        widths = np.stack([self._arms.half_widths(risk).ravel() for risk in _RISKS], axis=1)
        each = zip(distances.ravel(), widths, strict=True)
        found = np.exp([np.interp(one, own, np.log(_RISKS)) for one, own in each])
        return self._shaped(np.where(lost.ravel(), np.nan, found))

    def ratio_interval(
        self, level: float = 0.95, *, simultaneous: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return intervals for the ratios.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* As in `interval`.
        simultaneous : bool, default False
            *Public.* As in `interval`.

        Returns
        -------
        low, high : ndarray
            *Released.* `high` is infinite if the mean of the reference may be 0.
        """
        risk = risk_of(level) / (self.value.size if simultaneous else 1)
        low, high = self._arms.ratio_ends(self._bounds, risk)
        return self._shaped(low), self._shaped(high)

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(values).reshape(np.shape(self.value))


def difference(
    x: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    bounds: Bounds | None = None,
    by: VectorLike,
    keys: ArrayLike,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Difference:
    """Compare the rates or means of groups with those of the first of the keys, privately.

    Without `bounds` the values are True and False, and their rates are compared. Values outside the
    bounds are clipped, and missing values are left out. A difference that the noise outweighs is
    nan, and `notes` say why.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Numbers, or booleans without `bounds`: an array, a list, or a series or frame.
    epsilon : float
        *Public.* Privacy loss of all numbers together, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n; 0 for pure privacy. ``None``:
        the budget's δ, or 1e-5.
    bounds : pair (low, high), one pair per column, dict or TableSchema, default None
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Never taken from the data: see :term:`bounds`.
    by : str, array-like of shape (n_rows,)
        *Private.* Column to group by, or its public name in a data frame. Rows whose value is not
        in `keys` belong to no group.
    keys : list
        *Public.* The values of `by` to report, known without looking at the data.
    groups : array-like of shape (n_rows,), str or None, default None
        *Private.* The person of each row, or the public name of that column of a data frame. All
        rows of a person are one record, and each of its rows has the same weight. ``None``: each
        row is a record.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`; "auto" minimizes the variance.
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
    Difference
        With intervals and p-values that count the noise and the sampling of independent records.

    Notes
    -----
    **Guarantee.** Booleans are counted in a table of group and value. For each column an added or
    removed record changes one cell by 1, and a replaced record two cells. Numbers and their squares
    are released for each group (*Effects* in the documentation). The rows of a person have total
    weight 1: they add a point in the convex hull of rows, which has no larger diameter in any norm.

    **Intervals** are approximately normal, except for the noise. Groups need about 100 values, or
    more if a few large values make up most of a mean. The mean of a person's rows has no larger
    variance than a row. Persons with rows in two groups count in both, and this widens the error by
    no more than independence does, by convexity of the square. So intervals also hold for persons.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import difference
    >>> site, hours = np.arange(3000) % 3, np.arange(3000) % 40 + 5.0 * (np.arange(3000) % 3 == 1)
    >>> asked = {"bounds": (0, 60), "by": site, "keys": [0, 1, 2]}
    >>> found = difference(hours, epsilon=1.0, delta=0.0, random_state=0, **asked)
    >>> low, high = found.interval(simultaneous=True)
    >>> found.value.round(1), low.round(1), high.round(1)
    (array([ 4.7, -0.4]), array([ 3.3, -1.7]), array([6., 1.]))
    """
    if by is None or is_several(keys) or np.size(keys) < 2:
        raise ValueError("by and keys must name at least two groups. The first is the reference.")
    given: dict[str, Any] = {"noise": noise, "by": by, "keys": keys}
    means = None if bounds is None else MeansStatistic(bounds, missing="skip", **given)
    return (means or RatesStatistic(**given))._release(
        (x,), groups, epsilon, delta, neighboring, budget, random_state
    )


def difference_of(
    arms: Arms, bounds: ColumnBounds, columns: Columns, keys: Keys, guarantee: PrivacyGuarantee
) -> Difference:
    """Return the differences of arms, each for the columns of the outcomes."""
    low, high = arms.ends(_RISK)
    value = np.where((low <= -1.0) & (high >= 1.0), np.nan, arms.means[1:] - arms.means[:1])
    means = bounds.low + 2.0 * bounds.half * arms.means
    least, most = arms.ratio_ends(bounds, _RISK)
    known = ((least > 0.0) | np.isfinite(most)) & (means[:1] > 0.0)
    ratio = np.where(known, means[1:] / np.where(known, means[:1], 1.0), np.nan)
    found = (2.0 * bounds.half * value, means, ratio)
    value, means, ratio = (one[:, 0] if columns.single else one for one in found)
    ((name, values),) = axes_of(keys)
    labels = Labels(((name, values[1:]), ("column", columns.labels)), columns.library)
    return Difference(value, guarantee, means, ratio, _arms=arms, _bounds=bounds, _labels=labels)


class MeansStatistic(MomentsStatistic):
    """The release of `difference` for numbers."""

    released_as = "statistics.difference"

    _numbers = staticmethod(VarianceStatistic._numbers)

    def _parts(self, n_columns: int) -> tuple[Part, ...]:
        return Part("x", n_columns), Part("square", n_columns, 0.5 / _OF_SQUARES)

    def _vector(self, n_columns: int) -> Vector:
        return OF_MEANS

    def _publish(
        self, plan: QueryPlan, records: Records[Facts], released: Sums, guarantee: PrivacyGuarantee
    ) -> Difference:
        facts = records.facts
        assert facts.keys is not None, "they were checked"
        sums, unit = self._means(plan, facts, released).sums, self._units(plan, facts)["count"][1]
        count, total = sums["count"], 0.5 * (sums["x"] + sums["count"])  # (1 + u)/2 is in [0, 1]
        square = 0.25 * (sums["square"] - 0.5 * count) + total
        arms = Arms.of(plan, count, total, square, [(SUMS, 0.5, 0.0), (SUMS, 0.5 * unit, -unit)])
        return difference_of(arms, facts.bounds, records.columns, facts.keys, guarantee)


class RatesStatistic(CountStatistic):
    """The release of `difference` for booleans."""

    released_as = "statistics.difference"

    _effect_of_noise = effect_of_noise("an average group", lambda keys: keys.n_groups)
    _data = ("x", "Numbers need bounds.")

    def _plan(self, parameters: ReleaseParameters, records: Records[Any]) -> QueryPlan:
        n, n_changed = records.columns.n_columns, parameters.neighboring.n_changed
        query = counts_query("cells", 2 * n * records.facts.n_groups, n_changed * n)
        return parameters.plan_queries([query], self.noise)

    def _read(self, plan: QueryPlan, records: Records[Any], rng: np.random.Generator) -> Sums:
        return plan.release(records.counts(_counts_of_cells), rng)

    def _publish(
        self, plan: QueryPlan, records: Records[Any], released: Sums, guarantee: PrivacyGuarantee
    ) -> Difference:
        n, keys = records.columns.n_columns, records.facts
        false, true = np.moveaxis(released["cells"].reshape(n, keys.n_groups, 2), (2, 0), (0, 2))
        noise = [("cells", 1.0, -1.0), ("cells", 0.0, -1.0)]
        bounds = ColumnBounds(np.zeros(n), np.ones(n))
        arms = Arms.of(plan, false + true, true, true, noise)
        return difference_of(arms, bounds, records.columns, keys, guarantee)


def _counts_of_cells(records: Records[Keys]) -> Sums:
    """Return counts by column, group and value; rows in no group count before the first group."""
    n_groups, steps = records.facts.n_groups, records.steps
    groups, found = records.facts.codes(records) + 1, []
    for part in records.columns.parts:
        known = ~part.missing()
        cells = 2 * groups + part.truth()
        found.append(counted(cells, 2 * n_groups + 2, steps, known)[2:])
    return {"cells": np.stack(found)}


@dataclass(frozen=True, eq=False, repr=False)
class SurvivalCurve(Statistic):
    """Released shares that survive up to each time, by group.

    Parameters
    ----------
    value : ndarray of shape (n_times,), or with axes of groups before it
        *Released.* It never increases. It is nan from the first number at risk below two standard
        deviations of its noise on.
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    _plan, _centers, _terms : object
        *Released* and *public*: what `interval` is computed from.
    _labels : object
        *Public.* The labels in `to_frame`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import survival_curve
    >>> days, died = np.arange(1000) % 400, np.arange(1000) % 3 > 0
    >>> curve = survival_curve(days, died, epsilon=1.0, edges=[0, 100, 200, 300], random_state=0)
    >>> curve.value.round(2), curve.cumulative_hazard.round(2)
    (array([0.79, 0.55, 0.35]), array([0.24, 0.6 , 1.05]))
    """

    _plan: QueryPlan = field(kw_only=True)
    _centers: np.ndarray = field(kw_only=True)
    _terms: Terms = field(kw_only=True)

    @property
    def cumulative_hazard(self) -> np.ndarray:
        """*Released.* Minus the logarithm of `value`, and so are its intervals of those."""
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(self.value))

    def _ends(self, risk: float) -> Interval:
        width, lost = sum_half_widths(self._plan, self._terms, risk), np.isnan(self.value)
        low, high = self._centers - width, np.where(lost, -1.0, self._centers + width)
        low = np.minimum.accumulate(np.fmin(low, self.value), axis=-1)
        high = np.maximum.accumulate(np.fmax(high, self.value)[..., ::-1], axis=-1)[..., ::-1]
        return np.where(lost, 0.0, np.clip(low, 0.0, 1.0)), np.where(
            lost, 1.0, np.minimum(high, 1.0)
        )


def survival_curve(
    time: VectorLike,
    event: VectorLike,
    *,
    epsilon: float,
    delta: float | None = None,
    edges: VectorLike,
    by: VectorLike | None = None,
    keys: KeysLike = None,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> SurvivalCurve:
    """Estimate the share that survives up to public times (Kaplan-Meier), privately.

    Rows that are censored within a cell count as half at risk in it (the actuarial rule). Of 228
    simulated patients in ten cells, this misses the exact product-limit curve by .005, and counting
    them before or after the events of the cell by .026.

    Parameters
    ----------
    time : array-like of shape (n_rows,)
        *Private.* Time to the event, or to the end of observation. Earlier times than the first
        edge count in the first cell. Rows with missing values are left out.
    event : array-like of shape (n_rows,)
        *Private.* 1 or True for an event, 0 or False for a censored row. Rows with other values are
        left out.
    epsilon : float
        *Public.* Privacy loss of all numbers together, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n; 0 for pure privacy. ``None``:
        the budget's δ, or 1e-5.
    edges : array-like
        *Public.* Beginnings of the cells, at least two: the curve is 1 at the first and released
        at the others. The last cell has no end.
    by : str, array-like of shape (n_rows,), list of several, default None
        *Private.* Column to group by, or its public name in a data frame. Rows whose value is not
        in `keys` belong to no group.
    keys : list, dict of lists by column, default None
        *Public.* The values of `by` to report, known without looking at the data.
    groups : array-like of shape (n_rows,), str or None, default None
        *Private.* The person of each row, or the public name of that column of a data frame. All
        rows of a person are one record, and each of its rows has the same weight. ``None``: each
        row is a record.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`; "auto" minimizes the variance.
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
    SurvivalCurve
        Its intervals count the noise and the sampling of independent rows. They do not count that
        the actuarial rule is approximate if many rows leave within one cell.

    Notes
    -----
    **Guarantee.** A row lies in at most one cell of a table of group, event and time. One count
    changes by 1 under ``add_remove_one``, two under ``replace_one``. The rows of a person have
    total weight 1, and their total change is no larger.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import survival_curve
    >>> days, died = np.arange(1000) % 400, np.arange(1000) % 3 > 0
    >>> curve = survival_curve(days, died, epsilon=1.0, edges=[0, 100, 200, 300], random_state=0)
    >>> curve.to_frame()["estimate"].round(2).to_dict()
    {100.0: 0.79, 200.0: 0.55, 300.0: 0.35}
    """
    return SurvivalStatistic(edges, noise, by, keys)._release(
        (time, event), groups, epsilon, delta, neighboring, budget, random_state
    )


@dataclass(frozen=True, eq=False)
class Cells:
    """*Public* beginnings of cells of time, the last one without end, and the keys of groups."""

    points: np.ndarray
    keys: Keys | None
    with_events: Keys

    def places(self, times: np.ndarray) -> np.ndarray:
        """Return the cell of each time; the first one for times before it."""
        return np.searchsorted(self.points[1:], times, "right")

    @property
    def n_cells(self) -> int:
        """The number of all cells: of groups, events and times."""
        return self.with_events.n_groups * self.points.size


@dataclass(eq=False)
class SurvivalStatistic(PrivateFit[Records[Cells], QueryPlan, Sums]):
    """The release of `survival_curve`."""

    edges: VectorLike
    noise: str = "auto"
    by: VectorLike | None = None
    keys: KeysLike = None

    released_as = "statistics.survival_curve"

    # the numbers at risk are sums of cells
    _effect_of_noise = effect_of_noise(
        "an average group", lambda cells: math.isqrt(cells.with_events.n_groups * cells.n_cells)
    )
    takes_infinite_epsilon = False

    def _check_data(
        self,
        parameters: ReleaseParameters,
        time: VectorLike,
        event: VectorLike,
        *,
        groups: VectorLike | None = None,
    ) -> Records[Cells]:
        keys, points = Keys.of(time, self.by, self.keys), ends_of_cells(self.edges)
        if not (0 < points.size <= _MOST_EDGES and np.isfinite(points).all()):
            raise ValueError(f"edges must be 2 to {_MOST_EDGES} increasing finite numbers.")
        if event is None:
            raise ValueError("event must be one column with as many rows as time, or its name.")
        names, values = ((), ()) if keys is None else (keys.names, keys.values)
        columns: Any = self.by if is_several(self.keys) else [] if keys is None else [self.by]
        columns = [*columns, event]
        records = Records.of_columns(time, "time", by=columns, several=True, groups=groups)
        if records.columns.n_columns > 1:
            raise ValueError("time must be one column.")
        both = Keys((*names, "event"), (*values, np.array([0, 1])))
        records.check(check_numeric)
        records.check(both.check)
        return records.with_facts(Cells(points, keys, both))

    def _plan(self, parameters: ReleaseParameters, records: Records[Cells]) -> QueryPlan:
        query = counts_query("cells", records.facts.n_cells, parameters.neighboring.n_changed)
        return parameters.plan_queries([query], self.noise)

    def _read(self, plan: QueryPlan, records: Records[Cells], rng: np.random.Generator) -> Sums:
        cells: Any = records.facts
        counts = records.counts(partial(cell_counts, [cells], cells.with_events, None))
        return plan.release(counts, rng)

    def _publish(
        self, plan: QueryPlan, records: Records[Cells], released: Sums, guarantee: PrivacyGuarantee
    ) -> SurvivalCurve:
        facts = records.facts
        shape = () if facts.keys is None else facts.keys.shape
        cells = np.moveaxis(released["cells"].reshape(*shape, 2, facts.points.size), -2, 0)
        value, centers, terms = _curve(plan, *cells)
        axes = (*axes_of(facts.keys), ("time", facts.points[1:].tolist()))
        left = f"{NONE_OF_THESE}, an event that is not 0 or 1, or no time"
        asked = [(left, "cells", released["cells"])]
        rest = lines_of_rest(plan, most_records(records, guarantee), asked)
        labels = Labels(axes, records.columns.library, rest)
        return SurvivalCurve(
            value, guarantee, _plan=plan, _centers=centers, _terms=terms, _labels=labels
        )


def _curve(
    plan: QueryPlan, censored: np.ndarray, events: np.ndarray
) -> tuple[np.ndarray, np.ndarray, Terms]:
    """Return the curve, the centers of its intervals, and the terms of their errors.

    The noise enters by the derivatives of log S = Σ log(1 − d/y) in the counts of all cells, where
    y is the number at risk. The sampling error is Greenwood's, and 1/y for a curve without events.
    """
    n = events.shape[-1]
    later = np.cumsum((events + censored)[..., ::-1], axis=-1)[..., ::-1]
    variance = plan.mechanism("cells").expected_loss("l2") * (2.0 * np.arange(n, 0, -1) - 0.75)
    y, d, variance = (one[..., :-1] for one in (later - 0.5 * censored, events, variance))
    known = np.logical_and.accumulate(y >= 2.0 * np.sqrt(variance), axis=-1)
    y = np.where(known, y, 1.0)
    h = np.clip(d / y, -0.5, 0.999)  # not cut at 0, so that its noise has mean 0
    curve = np.cumprod(1.0 - h, axis=-1)
    own, at_risk = np.eye(n - 1, n), np.triu(np.ones((n - 1, n)))
    slope, fall = (one[..., None] for one in (1.0 / (y * (1.0 - h)), h / (y * (1.0 - h))))
    slopes = np.concatenate([fall * at_risk - slope * own, fall * (at_risk - 0.5 * own)], axis=-1)
    share = np.clip(curve, 0.0, 1.0)
    slopes = np.cumsum(slopes, axis=-2) * share[..., None]
    d = np.clip(d, 0.0, np.maximum(y - 0.5, 0.0))
    greenwood = share**2 * np.cumsum(d / (y * np.maximum(y - d, 0.5)), axis=-1)
    wide = 1.0 + _DIVISOR * np.maximum.accumulate(variance / y**2, axis=-1)
    terms: Terms = [("cells", wide * slopes[..., i]) for i in range(2 * n)]
    sampling = wide * np.sqrt(greenwood + 1.0 / (y + 2.0) ** 2)
    centers = curve + (1.0 - 2.0 * curve) / (y[..., :1] + 2.0)
    value = np.full(curve.shape, np.nan)
    for row in np.ndindex(curve.shape[:-1]):  # what is lost later must not move what is known
        first = slice(np.count_nonzero(known[row]))
        value[row][first] = _decreasing(curve[row][first])
    return value, centers, [*terms, (SAMPLING, sampling)]


def _decreasing(curve: np.ndarray) -> np.ndarray:
    """Return the nearest curve in [0, 1] that never increases: noise in empty cells has mean 0."""
    if not curve.size:
        return curve
    return np.asarray(isotonic_regression(curve, y_min=0.0, y_max=1.0, increasing=False))
