"""Effects of a treatment, with intervals for the population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.column_facts import ColumnBounds
from skdp.data.columns import Columns, is_label
from skdp.data.exact_sums import Sums
from skdp.data.records import Records
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._moments import SUMS, Facts, Part, Vector, bounded
from skdp.statistics._results import Keys
from skdp.statistics.means import CovarianceStatistic
from skdp.statistics.population import Arms, Difference, RatesStatistic, difference_of
from skdp.support.types import Bounds, MatrixLike, RandomState, VectorLike
from skdp.workloads import QueryPlan

ARMS = [0, 1]
# No guarantee rests on it. Slopes need less precision than means, so that squares and products are
# released in units of this share.
_OF_PRODUCTS = 0.3
_L1 = 2.0167  # largest (2 − s)·(1 + 2ws), at s = 1 − 1/(4w), for w of 0.3


def treatment_effect(
    y: VectorLike,
    treated: VectorLike,
    covariates: MatrixLike | None = None,
    *,
    epsilon: float,
    delta: float | None = None,
    bounds: Bounds | None = None,
    covariate_bounds: Bounds | None = None,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Difference:
    """Estimate the average effect of a treatment that was assigned at random, privately.

    It is the difference of the mean outcomes. Covariates from before the treatment make its
    interval narrower: the difference is adjusted by regressions with interactions (Lin 2013). The
    effect is nan if the noise outweighs it, as in an empty arm, and `notes` say why.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or str
        *Private.* Outcomes: booleans, or numbers within `bounds`. Or the public name of a column of
        `covariates`.
    treated : array-like of shape (n_rows,) or str
        *Private.* 1 or True for treated rows, 0 or False for controls, or the public name of a
        column. Rows with other values are left out.
    covariates : array-like of shape (n_rows, n_columns) or None, default None
        *Private.* Numbers from before the treatment. Rows with a missing value here or in `y` are
        left out.
    epsilon : float
        *Public.* Privacy loss of all numbers together, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n; 0 for pure privacy. ``None``:
        the budget's δ, or 1e-5.
    bounds : pair (low, high) or None, default None
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Never taken from the data: see :term:`bounds`.
    covariate_bounds : pair (low, high), one pair per column, dict or TableSchema, default None
        *Public.* Bounds of the covariates, in these forms or as a schema.
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
        The effect, and the means of controls and treated rows, adjusted if there are covariates.
        Intervals and p-values count the noise and the sampling of independent records.

    Raises
    ------
    ValueError, BudgetExceededError, BudgetClosedError
        If an argument is wrong, or the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** Booleans without covariates are counted as in `difference`. Otherwise the sums of
    outcomes and covariates, of their squares and products, and the number of rows are released for
    each arm. A record changes the sums of one arm, or of two if it is replaced (see *Effects* in
    the documentation). All else follows from these sums.

    **Intervals** are those of least squares with interactions, centered at the mean covariates, and
    robust standard errors. They do not assume that the outcome is linear, but that the treatment
    was assigned at random.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import treatment_effect
    >>> before, treated = np.arange(4000) % 101, np.arange(4000) % 2
    >>> after = 0.5 * before + 10 * treated + np.arange(4000) % 7
    >>> asked = {"bounds": (0, 100), "covariate_bounds": (0, 100), "random_state": 0}
    >>> found = treatment_effect(after, treated, before, epsilon=1.0, **asked)
    >>> low, high = found.interval()
    >>> found.value.round(1), low.round(1), high.round(1)
    (array([10.]), array([9.1]), array([11.]))
    """
    given: dict[str, Any] = {"noise": noise, "by": treated, "keys": ARMS}
    terms = (groups, epsilon, delta, neighboring, budget, random_state)
    if covariates is None and bounds is None:
        return EffectOnRates(**given)._release((y,), *terms)
    statistic = AdjustedEffect(bounds, missing="skip", **given, covariate_bounds=covariate_bounds)
    return statistic._release((y,) if covariates is None else (covariates, y), *terms)


class EffectOnRates(RatesStatistic):
    """The release of `treatment_effect` for booleans without covariates."""

    released_as = "statistics.treatment_effect"

    _data = ("y", "Numbers need bounds.")

    def _check_data(self, parameters: ReleaseParameters, *data: Any, **more: Any) -> Records[Any]:
        records = super()._check_data(parameters, *data, **more)
        return replace(records, X=_one(records.columns))


@dataclass(eq=False)
class AdjustedEffect(CovarianceStatistic):
    """The release of `treatment_effect` for numbers, with covariates or without.

    The first column has the outcomes.
    """

    covariate_bounds: Bounds | None = None

    released_as = "statistics.treatment_effect"

    def _check_data(
        self, parameters: ReleaseParameters, x: MatrixLike, y: VectorLike = None, **more: Any
    ) -> Records[Facts]:
        keys = Keys.of(x, self.by, self.keys)
        if y is None:  # there are no covariates
            records = Records.of_columns(x, "y", by=self.by, **more)
            return bounded(replace(records, X=_one(records.columns)), self.bounds, keys)
        given = Columns.of(x, "covariates")
        for name, column in (("y", y), ("treated", self.by)):
            _check_column(name, column, given)
        both = [self.by, y]
        records = Records.of_columns(given, "covariates", by=both, several=True, **more)
        arm, outcome = records.y.parts
        records, ends = replace(records, y=arm), self.covariate_bounds
        found = bounded(records, ends, keys, "covariate_bounds")
        return self._with_outcome(found, Columns([outcome], [], True))

    def _with_outcome(self, records: Records[Facts], y: Columns) -> Records[Facts]:
        """Return the records with the outcome as the first column."""
        if self.bounds is None:
            y.check_boolean("y", "Numbers need bounds.")
        y.check_numeric()
        own = ColumnBounds.of((0, 1) if self.bounds is None else self.bounds, 1, [])
        columns, others = records.columns, records.facts.bounds
        both = Columns([*y.parts, *columns.parts], [], False, columns.library)
        bounds = ColumnBounds(np.r_[own.low, others.low], np.r_[own.high, others.high])
        facts = replace(records.facts, bounds=bounds, columns=both.take(slice(0)))
        return replace(records, X=both).with_facts(facts)

    def _parts(self, n_columns: int) -> tuple[Part, ...]:
        return tuple(
            part if part.name == "x" else replace(part, radius=part.radius / _OF_PRODUCTS)
            for part in super()._parts(n_columns)
        )

    def _vector(self, n_columns: int) -> Vector:
        """Return the norms of *Effects* in the documentation, with products in smaller units."""
        d, w, n_products = n_columns, _OF_PRODUCTS, n_columns * (n_columns + 1) // 2
        moved = 2.0 * (d**2 // 4)
        own = d + w * n_products, d + w**2 * n_products
        return Vector(d + n_products, _L1 * d + w * moved, 4.0 * d + 2.0 * w**2 * moved, own)

    def _publish(  # type: ignore[override]
        self, plan: QueryPlan, records: Records[Facts], released: Sums, guarantee: PrivacyGuarantee
    ) -> Difference:
        facts, deviation = records.facts, plan.mechanism(SUMS).expected_loss("l2") ** 0.5
        assert facts.keys is not None, "they were checked"
        count, first, second = _moments(self._means(plan, facts, released).sums)
        size = np.maximum(count, max(2.0 * deviation, 1.0))
        slopes = _slopes(size, first, second, 0.25 * deviation / _OF_PRODUCTS)
        shift = slopes @ (first[:, 1:].sum(axis=0) / size.sum())
        q = np.r_[1.0, -slopes]
        total = first @ q + shift * count
        square = second @ q @ q + 2.0 * shift * (first @ q) + shift**2 * count
        noise = [*((SUMS, 0.5 * one, 0.0) for one in q), (SUMS, 0.5 * q.sum() + shift, -1.0)]
        arms = Arms.of(plan, count[:, None], total[:, None], square[:, None], noise)
        outcome = replace(facts.columns.select([0]), single=True)
        bounds = ColumnBounds(facts.bounds.low[:1], facts.bounds.high[:1])
        return difference_of(arms, bounds, outcome, facts.keys, guarantee)


def _one(y: Columns) -> Columns:
    if y.n_columns > 1:
        raise ValueError("y must be one column.")
    return replace(y, single=True)


def _check_column(name: str, column: VectorLike, covariates: Columns) -> None:
    """Raise unless it is one column beside the covariates, or the name of one of them."""
    if is_label(column, covariates.names):
        return
    given = Columns.of(column, name)
    if not given.single or given.n_rows != covariates.n_rows:
        raise ValueError(f"{name} must be one column with as many rows as covariates, or its name.")


def _moments(sums: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Σ1, Σv and Σvvᵀ of each arm for v = (1 + u)/2 in [0, 1]."""
    count, x = sums["count"][:, 0], sums["x"]
    d = x.shape[1]
    second = np.zeros((count.size, d, d))
    i, j = np.triu_indices(d, 1)
    if i.size:
        second[:, i, j] = second[:, j, i] = sums["product"]
    second[:, range(d), range(d)] = sums["square"] + 0.5 * count[:, None]
    second += x[:, :, None] + x[:, None, :] + count[:, None, None]
    return count, 0.5 * (x + count[:, None]), 0.25 * second


def _slopes(size: np.ndarray, first: np.ndarray, second: np.ndarray, noise: float) -> np.ndarray:
    """Return slopes of the outcome, with which the difference of means is adjusted.

    Adjustment by a regression in each arm is that by the mean of their slopes, each with the weight
    of the other arm. Any slopes are valid; a ridge of the size of the noise keeps them small.
    """
    found = []
    for n, mean, square in zip(size, first / size[:, None], second, strict=True):
        C = square / n - np.outer(mean, mean)
        values, vectors = np.linalg.eigh(C[1:, 1:])
        ridge = np.maximum(values, 0.0) + np.sqrt(mean.size) * noise / n
        found.append(vectors @ ((C[0, 1:] @ vectors) / ridge))
    return np.asarray(np.average(found, axis=0, weights=size[::-1]))
