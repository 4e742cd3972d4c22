"""Effects of a treatment, with intervals for the population."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from skdp._private_fit import ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.budget import PrivacyBudget
from skdp.data.column_facts import ColumnBounds
from skdp.data.columns import Columns, is_label
from skdp.data.exact_sums import Sums, exact_sums
from skdp.data.records import Records
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._moments import SUMS, Facts, Part, Vector, bounded, numbers_of, present_query
from skdp.statistics._results import Keys
from skdp.statistics.means import MOST_COLUMNS, CovarianceStatistic
from skdp.statistics.population import Arms, Difference, RatesStatistic, difference_of
from skdp.support.random import child_generator
from skdp.support.types import Bounds, MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_choice, check_real
from skdp.workloads import QueryPlan
from skdp.workloads.plan import ROUNDED_ONCE, GaussianStep, plan_steps

ARMS = [0, 1]
# No guarantee rests on these. Squares and products are released in units of these shares: slopes
# need less precision than means, more of it in observational data, and squares of scores little.
_OF_PRODUCTS, _OF_OBSERVED, _OF_SCORES = 0.3, 0.5, 0.3
_LEAST = 0.001  # propensity, for numbers that are far from those that overflow
_OF_HALVES = 0.3  # of μ², for the sums from which outcomes and propensities are learned
# No guarantee rests on these four. Intervals cover in simulations (`tests/statistics`) from this
# n·μ·d^−1.5 on, for observational data with d columns, and are wider than half the range below this
# n·μ·min_propensity. If the rarer arm has the share s of the rows, they cover if 6·s²·n is as large
# as the least n. The number of rows is noisy, and some are left out, so nine tenths of it will do.
_LEAST_SIGNAL, _LEAST_WEIGHT, _OF_SHARES, _NEARLY = 100.0, 20.0, 6.0, 0.9


def treatment_effect(
    y: VectorLike,
    treated: VectorLike,
    covariates: MatrixLike | None = None,
    *,
    epsilon: float,
    delta: float | None = None,
    bounds: Bounds | None = None,
    covariate_bounds: Bounds | None = None,
    min_propensity: float | None = None,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Difference:
    """Estimate the average effect of a treatment, privately.

    If it was assigned at random, the effect is the difference of the mean outcomes. Covariates from
    before the treatment make its interval narrower: the difference is adjusted by regressions with
    interactions (Lin 2013). Otherwise pass all covariates that influence both the treatment and the
    outcome, and `min_propensity`. The effect is nan if the noise outweighs it, as in an empty arm,
    and `notes` say why.

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
    min_propensity : float in [0.001, 0.5) or None, default None
        *Public.* Least probability of either treatment, for observational data: estimated ones are
        clipped to it. The noise is proportional to its inverse. ``None``: the treatment was
        assigned at random.
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
        The effect, and the means of controls and treated rows, adjusted if there are covariates,
        and nan for observational data. Intervals and p-values count the noise and the sampling of
        independent records.

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

    **Observational data.** Each record is in one of two halves, by a coin of its own. The sums of
    either half, with Gaussian noise, give linear outcomes and, by discriminant analysis, logistic
    propensities. The scores of augmented inverse propensity weighting of the other half are at most
    the width of `bounds` over `min_propensity`, and their sum has Gaussian noise. The effect has no
    bias if either the outcomes or the propensities are right: pass squares or products of
    covariates as further columns where lines are not. A public n raises ValueError before the
    spend if n·μ is below 100·d^1.5 for d columns with the outcome, or below 20/`min_propensity`. If
    the rarer arm has the share s of the rows, by their noisy numbers, the effect is nan if 6·s²·n·μ
    is below 90·d^1.5.

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
    if covariates is None and bounds is None and min_propensity is None:
        return EffectOnRates(**given)._release((y,), *terms)
    given |= {"missing": "skip", "covariate_bounds": covariate_bounds}
    statistic = AdjustedEffect(bounds, **given)
    if min_propensity is not None:
        statistic = ObservedEffect(bounds, **given, min_propensity=min_propensity)
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
    of_products: ClassVar[float] = _OF_PRODUCTS

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
            part if part.name == "x" else replace(part, radius=part.radius / self.of_products)
            for part in super()._parts(n_columns)
        )

    def _vector(self, n_columns: int) -> Vector:
        """Return the norms of *Effects* in the documentation, with products in smaller units."""
        d, w, n_products = n_columns, self.of_products, n_columns * (n_columns + 1) // 2
        moved = 2.0 * (d**2 // 4)
        own = d + w * n_products, d + w**2 * n_products
        l1 = (1.0 + 0.25 / w) * (0.5 + 2.0 * w)  # largest (2 − s)·(1 + 2ws), at s = 1 − 1/(4w)
        return Vector(d + n_products, l1 * d + w * moved, 4.0 * d + 2.0 * w**2 * moved, own)

    def _publish(  # type: ignore[override]
        self, plan: QueryPlan, records: Records[Facts], released: Sums, guarantee: PrivacyGuarantee
    ) -> Difference:
        facts, deviation = records.facts, plan.mechanism(SUMS).expected_loss("l2") ** 0.5
        assert facts.keys is not None, "they were checked"
        count, first, second = _moments(self._means(plan, facts, released).sums)
        size = np.maximum(count, max(2.0 * deviation, 1.0))
        own = _slopes(size, first, second, 0.25 * deviation / _OF_PRODUCTS)
        # regressions in each arm adjust by the mean of their slopes, with the other arm's weight
        slopes = np.asarray(np.average(own, axis=0, weights=size[::-1]))
        shift = slopes @ (first[:, 1:].sum(axis=0) / size.sum())
        q = np.r_[1.0, -slopes]
        total = first @ q + shift * count
        square = second @ q @ q + 2.0 * shift * (first @ q) + shift**2 * count
        noise = [*((SUMS, 0.5 * one, 0.0) for one in q), (SUMS, 0.5 * q.sum() + shift, -1.0)]
        arms = Arms.of(plan, count[:, None], total[:, None], square[:, None], noise)
        outcome = replace(facts.columns.select([0]), single=True)
        bounds = ColumnBounds(facts.bounds.low[:1], facts.bounds.high[:1])
        return difference_of(arms, bounds, outcome, facts.keys, guarantee)


@dataclass(eq=False)
class ObservedEffect(AdjustedEffect):
    """The release of `treatment_effect` for observational data."""

    min_propensity: float = 0.5

    of_products = _OF_OBSERVED

    def _check_data(
        self, parameters: ReleaseParameters, x: MatrixLike, y: VectorLike = None, **more: Any
    ) -> Records[Facts]:
        if y is None:
            raise ValueError(
                "min_propensity is for observational data, which need covariates. Leave it out if "
                "the treatment was assigned at random."
            )
        return super()._check_data(parameters, x, y, **more)

    def _is_gaussian(self) -> bool:
        return True

    def _effect_of_noise(self, plan: Any, records: Records[Facts]) -> str | None:
        return None  # too few records raise an error

    def _plan(self, parameters: ReleaseParameters, records: Records[Facts]) -> Any:
        least = check_real("min_propensity", self.min_propensity, low=_LEAST, high=0.5, closed="[")
        check_choice("noise", self.noise, ("auto", "gaussian"))
        d, n_changed = records.facts.n_columns, parameters.neighboring.n_changed
        query = present_query(self._vector(d), 1, 1.0, n_changed, len(ARMS))
        if d > MOST_COLUMNS:
            raise ValueError(f"at most {MOST_COLUMNS - 1} covariates are allowed: pass fewer.")
        rest = _OF_SCORES**2
        square = max(4.0 * (n_changed > 1) + rest, 1.0 + 3.0 * rest)
        steps = (
            GaussianStep(SUMS, 2 * query.size, query.l2_sensitivity, _OF_HALVES),
            GaussianStep("score", 4, math.sqrt(square) * ROUNDED_ONCE, 1.0 - _OF_HALVES),
        )
        plan = plan_steps(self.released_as, steps, parameters.epsilon, parameters.delta)
        signal = max(_LEAST_SIGNAL * d**1.5, _LEAST_WEIGHT / least)
        needed = math.ceil(signal / gdp_mu(parameters.epsilon, parameters.delta))
        if parameters.neighboring.count_is_public and records.n_records < needed:
            raise ValueError(
                f"{records.n_records} records are too few for an effect in observational data at "
                f"epsilon={parameters.epsilon:g} and min_propensity={least:g}: {needed} are needed."
            )
        return plan

    def _read(self, plan: Any, records: Records[Facts], rng: np.random.Generator) -> Sums:
        coins = child_generator(rng).random(records.n_records) < 0.5  # each record has its own
        halves = [records.chosen(np.flatnonzero(coin)) for coin in (coins, ~coins)]
        noisy = self._noisy_sums(plan, halves, rng)
        least, score = self.min_propensity, np.zeros(4)
        for half, other in zip(halves, noisy[::-1], strict=True):
            scores = partial(_scores, Models.of(other, plan.scale(SUMS), least))
            score += exact_sums({"score": 4}, half, scores)["score"]
        arms = sum(one["count"][:, 0] for one in noisy)
        return {"score": plan.release("score", score, rng), "arms": arms}

    def _noisy_sums(
        self, plan: Any, halves: list[Records[Facts]], rng: np.random.Generator
    ) -> list[Sums]:
        """Return the released sums of each half, by arm."""
        facts = halves[0].facts
        parts = [*self._parts(facts.n_columns), Part("count", 1)]
        units = np.repeat([part.radius for part in parts], [part.size for part in parts])
        numbers = partial(numbers_of, self._numbers, self.missing, self.by_row)
        sizes = {part.name: part.size for part in parts}
        sums = [exact_sums(sizes, half, numbers, facts.keys) for half in halves]
        flat = np.stack([np.concatenate([one[k] for k in sizes], axis=1) for one in sums]) / units
        noisy = plan.release(SUMS, flat.ravel(), rng).reshape(flat.shape) * units
        ends = np.cumsum([*sizes.values()])[:-1]
        return [dict(zip(sizes, np.split(one, ends, axis=1), strict=True)) for one in noisy]

    def _publish(  # type: ignore[override]
        self, plan: Any, records: Records[Facts], released: Sums, guarantee: PrivacyGuarantee
    ) -> Difference:
        facts, least = records.facts, self.min_propensity
        assert facts.keys is not None, "they were checked"
        noise, pair = plan.scale("score") / _OF_SCORES, np.array([[0.0], [1.0]])
        total, square, count, clipped = released["score"] / [least, *[_OF_SCORES] * 3]
        size = max(count, 2.0 * noise, 1.0)
        effect = total / size
        spread = max(0.5 * (1.0 + square / size) / least**2 - effect**2, 0.0)
        slopes = 1.0 / least, effect / _OF_SCORES
        terms = [("score", pair * slope / size) for slope in slopes]
        mu = math.hypot(*(mechanism.event.mu for mechanism in plan.mechanisms))
        share = max(float(released["arms"].min()), 0.0) / size
        signal = min(_OF_SHARES * share**2, 1.0) * size * mu / facts.n_columns**1.5
        empty = np.full((2, 1), count < 2.0 * noise or signal < _NEARLY * _LEAST_SIGNAL)
        sampling = pair * (spread / size) ** 0.5
        arms = Arms(plan, empty, pair * np.clip(effect, -1.0, 1.0), pair * effect, sampling, terms)
        bounds = ColumnBounds(-2.0 * facts.bounds.half[:1], np.zeros(1))  # ratios are unknown
        outcome = replace(facts.columns.select([0]), single=True)
        found = difference_of(arms, bounds, outcome, facts.keys, guarantee)
        low, high = np.clip((clipped - 2.0 * noise, clipped + 2.0 * noise), 0.0, size).round()
        line = (
            f"Propensities outside of [{least:g}, {1.0 - least:g}], which are clipped: those of "
            f"{low:.0f} to {high:.0f} of about {size:.0f} records"
        )
        labels = replace(found._labels, rest=(line,))
        return replace(found, means=np.full(2, np.nan), _labels=labels)


@dataclass(frozen=True)
class Models:
    """*Released* lines of the covariates in [0, 1]: values at 0, and slopes."""

    outcomes: np.ndarray  # of controls and treated rows, of shape (2, 1 + n_covariates)
    log_odds: np.ndarray  # of the treatment
    least: float  # *public* propensity

    @classmethod
    def of(cls, sums: Sums, deviation: float, least: float) -> Models:
        """Return the models for noisy sums: regressions, and a linear discriminant analysis."""
        count, first, second = _moments(sums)
        size = np.maximum(count, max(2.0 * deviation, 1.0))
        noise, mean = 0.25 * deviation / _OF_OBSERVED, first / size[:, None]
        slopes = _slopes(size, first, second, noise)
        starts = mean[:, 0] - (slopes * mean[:, 1:]).sum(axis=1)
        C = second.sum(axis=0) - np.einsum("a,ai,aj->ij", size, mean, mean)
        apart, n = mean[1, 1:] - mean[0, 1:], size.sum()
        odds = _solved(C[1:, 1:] / n, apart, noise / n)
        start = np.log(size[1] / size[0]) - 0.5 * mean[:, 1:].sum(axis=0) @ odds
        return cls(np.c_[starts, slopes], np.r_[start, odds], least)


def _scores(models: Models, records: Records[Facts]) -> Iterator[Sums]:
    """Yield z = ψ·`least` in [−1, 1], 2z² − 1, 1 and whether the propensity was clipped."""
    keys, least, start = records.facts.keys, models.least, 0
    assert keys is not None, "they were checked"
    arms = keys.codes(records)
    for rows, _, _ in records.chunks(2):
        arm, start = arms[start : start + len(rows)], start + len(rows)
        v = 0.5 + 0.5 * records.facts.bounds.unit(rows)
        control, treated = (np.clip(_line(own, v), 0.0, 1.0) for own in models.outcomes)
        free = expit(_line(models.log_odds, v))
        e = np.clip(free, least, 1.0 - least)
        rest = np.where(arm == 1, (v[:, 0] - treated) / e, (control - v[:, 0]) / (1.0 - e))
        z = np.clip(least * (treated - control + rest), -1.0, 1.0)
        others = _OF_SCORES * np.stack([2.0 * z**2 - 1.0, np.ones(len(z)), free != e])
        present = (arm >= 0) & ~np.isnan(rows).any(axis=1)
        yield {"score": np.where(present, [z, *others], 0.0).T}


def _line(own: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return values of a line; those of a row do not depend on the rows around it."""
    total = np.full(len(v), own[0])
    for slope, column in zip(own[1:], v[:, 1:].T, strict=True):
        total += slope * column
    return total


def _one(y: Columns) -> Columns:
    if y.n_columns > 1:
        raise ValueError("y must be one column.")
    return replace(y, single=True)


def _check_column(name: str, column: VectorLike, covariates: Columns) -> None:
    """Raise unless it is one column beside the covariates, or the name of one of them."""
    if is_label(column, covariates.names):
        if column not in covariates.names:
            known = f"one of the columns {[*covariates.names]} of covariates"
            raise ValueError(f"{name} must be {known}, or a column itself; got {column!r}.")
        return
    given = Columns.of(column, name)
    if not given.single or len(given) != len(covariates):
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
    """Return slopes of the outcome in each arm.

    Any slopes are valid; a ridge of the size of the noise keeps them small.
    """
    found = []
    for n, mean, square in zip(size, first / size[:, None], second, strict=True):
        C = square / n - np.outer(mean, mean)
        found.append(_solved(C[1:, 1:], C[0, 1:], noise / n))
    return np.stack(found)


def _solved(C: np.ndarray, t: np.ndarray, noise: float) -> np.ndarray:
    """Return the solution of Cx = t with a ridge, for noise of this size in the entries of C."""
    values, vectors = np.linalg.eigh(C)
    ridge = np.sqrt(len(C) + 1) * noise
    return np.asarray(vectors @ ((t @ vectors) / (np.maximum(values, 0.0) + ridge)))
