"""Plans of linear models: a fit, releases before and after it, a sample, and what solvers take."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from skdp._private_fit import NonPrivatePlan, ReleaseParameters, ReleasePlan
from skdp.accounting import gdp_mu
from skdp.accounting.calibration import sampled_gdp_mu, sampled_pure_epsilon
from skdp.design import Design
from skdp.design.base import ROWS_SUMMED, SumGrid
from skdp.exceptions import IncompatibleSolverError
from skdp.features.base import FeatureMap, PublicFeatures
from skdp.features.combined import AutoMap, unknown_numbers
from skdp.linear_model._records import (
    LinearFacts,
    LinearRecords,
    TargetRange,
    TaskT,
    row_scores,
)
from skdp.privacy import (
    Event,
    GaussianCurve,
    GaussianEvent,
    GDPEvent,
    Neighboring,
    PoissonSampledEvent,
    PureDPEvent,
)
from skdp.samplers import SAMPLERS
from skdp.solvers import SOLVERS, Problem, Solver
from skdp.solvers._releases import MachineSum, mean_sum
from skdp.solvers.base import SCALE_MARGIN, RowCount, composed
from skdp.support.lazy_names import Registry
from skdp.support.validation import check_choice

_ROUNDING = 1e-14  # relative: of 1/μ, there and back


PlanFit: TypeAlias = Callable[[ReleaseParameters, LinearRecords[Any]], Any]


class LinearPlan(ReleasePlan, Protocol):
    """The plan of a private fit."""

    @property
    def problem(self) -> Problem:
        """The public facts about the fit."""


@dataclass(frozen=True)
class FitPlan:
    """The public plan of a fit to all records or to a Poisson sample of them."""

    rate: float  # probability with which a record is in the sample; 1 for a fit to all
    fit: NonPrivatePlan | LinearPlan  # of a sample: for neighbors by adding or removing a record
    event: Event  # the release of `fit`, for the records that the sample is drawn from
    theorem: str
    exact: bool


class Learned(NamedTuple):
    """The result of a fit, with its facts and plan, which earlier releases may have set."""

    fitted: Any  # a solution; without privacy, the fitted estimator of scikit-learn
    facts: LinearFacts[Any]
    plan: Any  # a `LinearPlan`, or a `NonPrivatePlan` of scikit-learn's fit
    design: Design | None = None  # *private*; the rows of the fit, whose features may be kept


def is_gaussian(parameters: ReleaseParameters, records: LinearRecords[Any]) -> bool:
    """Return whether the costs of Gaussian releases and of a fit add up to what was asked."""
    return records.facts.solver.is_gaussian and parameters.delta > 0.0


def check_gaussian(
    parameters: ReleaseParameters, records: LinearRecords[Any], needs: str, otherwise: str = ""
) -> None:
    """Raise unless Gaussian releases can be paid; the message begins with what needs them."""
    if not is_gaussian(parameters, records):
        raise IncompatibleSolverError(
            f"{needs} delta > 0 and a Gaussian DP solver, such as 'auto' or 'noisy_gd', not "
            f"{type(records.facts.solver).__name__}.{otherwise}"
        )


def can_be_sampled(solver: Solver, delta: float) -> bool:
    """Return whether the cost of a solver's fit to a sample is known."""
    return solver.is_pure or (solver.is_gaussian and delta > 0.0)


def plan_sampled(
    rate: float, parameters: ReleaseParameters, records: LinearRecords[TaskT], plan_fit: PlanFit
) -> FitPlan:
    """Plan a fit to a Poisson sample that costs (ε, δ) of `parameters` in all.

    The fit to the sample alone costs more. It is planned for the public expected number of records
    in the sample.
    """
    epsilon, delta, relation = parameters.epsilon, parameters.delta, parameters.neighboring
    solver, n = records.facts.solver, records.facts.n_known
    facts = replace(records.facts, n_known=None if n is None else max(1, round(rate * n)))
    sample = replace(records, rate=rate, facts=facts)
    inside = replace(parameters, neighboring=Neighboring.ADD_REMOVE_ONE)
    if solver.is_pure:
        own = sampled_pure_epsilon(epsilon, rate, relation)
        event: Event = PureDPEvent(epsilon)
        fit = plan_fit(replace(inside, epsilon=own), sample)
    elif can_be_sampled(solver, delta):
        mu = sampled_gdp_mu(epsilon, delta, rate, relation)
        fit = plan_fit(replace(inside, epsilon=GaussianCurve(mu).epsilon(delta)), sample)
        noise = (1.0 - _ROUNDING) / fit.event.gdp_mu(Neighboring.ADD_REMOVE_ONE)
        event = PoissonSampledEvent(rate, GaussianEvent(noise))
    else:
        raise IncompatibleSolverError(_refusal(solver, delta))
    theorem = f"a Poisson sample at rate {rate:.6g}, amplified; on it {fit.theorem}"
    return FitPlan(rate, fit, event, theorem, fit.exact)


def _refusal(solver: Solver, delta: float) -> str:
    name = type(solver).__name__
    if delta == 0.0:
        return f"subsample with {name} needs delta > 0."
    able = [key for key, kind in SOLVERS.items() if kind.is_pure or kind().is_gaussian]
    return (
        f"{name} cannot be used with subsample, because its cost on a sample is not known. Use one "
        f"of {able}. DPSGD samples by itself: set its sampling_rate."
    )


_REST_MARGIN = 1e-9  # relative; a guarantee rests on it: ε from μ and back is right to 1e-10


class GaussianRelease(Protocol):
    """A Gaussian release that prepares the records of a fit."""

    @property
    def mu(self) -> float:
        """Its Gaussian-DP parameter."""

    @property
    def name(self) -> str:
        """What is released, in words."""

    @property
    def exact(self) -> bool:
        """Whether rounding errors are bounded and the noise is exact."""

    def prepared(self, records: LinearRecords[Any], rng: np.random.Generator) -> LinearRecords[Any]:
        """Release from *private* records; return them with facts that follow from the release."""


FirstT = TypeVar("FirstT", bound=GaussianRelease)


@dataclass(frozen=True)
class StagedPlan(Generic[FirstT]):
    """The public plan of a Gaussian release, then of a fit that it prepares."""

    first: FirstT
    fit: LinearPlan

    @property
    def event(self) -> Event:
        """Both releases, which compose adaptively."""
        return composed((GDPEvent(self.first.mu), self.fit.event))

    @property
    def theorem(self) -> str:
        """The statement that proves the event."""
        return f"{self.first.name} by the Gaussian mechanism, then {self.fit.theorem}"

    @property
    def exact(self) -> bool:
        """Whether both are proved for the numbers that a computer adds."""
        return self.first.exact and self.fit.exact

    @property
    def problem(self) -> Problem:
        """The public facts about the fit."""
        return self.fit.problem

    def next(
        self, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> tuple[LinearPlan, LinearRecords[TaskT]]:
        """Make the release; return the plan and the records of the fit."""
        return self.fit, self.first.prepared(records, rng)


def plan_after(
    first: FirstT, plan_fit: PlanFit, parameters: ReleaseParameters, records: LinearRecords[Any]
) -> StagedPlan[FirstT]:
    """Return the plan of a release, and of a fit with the rest of the cost."""
    rest = rest_of(parameters, first.mu) if parameters.is_private else parameters
    return StagedPlan(first, plan_fit(rest, records))


class FinishedPlan(StagedPlan[Any]):
    """The public plan of a fit, then of a release at it: `first` is planned first, made last."""

    @property
    def theorem(self) -> str:
        return f"{self.fit.theorem}; then {self.first.name} by the Gaussian mechanism"


def on_samples(
    plan: LinearPlan, parameters: ReleaseParameters, others: tuple[Event, ...] = ()
) -> LinearPlan:
    """Return the plan of a whole fit with steps on Poisson samples where they are faster.

    Its event costs what `parameters` say together with `others`, and is no longer Gaussian DP. So
    this is the last thing done to a plan, after the squares of all μ were added. A plan that counts
    its fit by a bound of another's μ, as trials and searches for pairs do, keeps its full batches.
    """
    if isinstance(plan, StagedPlan) and type(plan).event is StagedPlan.event:
        others = (*others, GDPEvent(plan.first.mu))
        return replace(plan, fit=on_samples(plan.fit, parameters, others))
    if not hasattr(plan, "on_samples"):  # a plan of "auto" has it
        return plan
    sampled: LinearPlan = plan.on_samples(others, parameters.epsilon, parameters.delta)
    return sampled


def most_rest(parameters: ReleaseParameters, spent: float) -> float:
    """Return a bound of μ of all fits with the parameters that `rest_of` returns."""
    mu = gdp_mu(parameters.epsilon, parameters.delta)
    return math.sqrt(mu * mu - spent * spent) * (1.0 - 0.5 * _REST_MARGIN)


def rest_of(parameters: ReleaseParameters, spent: float) -> ReleaseParameters:
    """Return the parameters of a fit after a release with the parameter μ `spent`.

    δ stays. If it alone covers the rest of μ, ε would be 0; then ε is at most μ and δ is less, but
    not 0.
    """
    mu = gdp_mu(parameters.epsilon, parameters.delta)
    left = GaussianCurve(math.sqrt(mu * mu - spent * spent) * (1.0 - _REST_MARGIN))
    epsilon = left.epsilon(parameters.delta)
    if epsilon > 0.0:
        return replace(parameters, epsilon=epsilon)
    epsilon = min(parameters.epsilon, left.mu)
    return replace(parameters, epsilon=epsilon, delta=left.delta(epsilon))


Fits = tuple[tuple[float, LinearPlan], ...]
"""Plans of fits in the order of the least signal n·μ/k of each."""

# Two standard deviations of the noise in a bin are then 22 % of the records, or 32 % for k = 1.
_FEWEST_FOR_RANKS = 20.0  # n·μ/(k·√p) for p columns with bounds="auto"


def with_choice(
    records: LinearRecords[TaskT], parameters: ReleaseParameters
) -> LinearRecords[TaskT]:
    """Return records with chosen features if their number is known, or if nothing is private."""
    facts = records.facts
    if not parameters.is_private:
        return _chosen(records, math.inf)
    if facts.n_known is None:
        return records
    signal = signal_of(parameters, facts.n_known)
    chosen = _chosen(records, signal)
    if signal < _FEWEST_FOR_RANKS * math.sqrt(len(chosen.facts.searched)):
        raise ValueError(
            f"bounds='auto' for {len(chosen.facts.searched)} columns needs more records or a "
            "larger epsilon. State the bounds of more columns."
        )
    return chosen


@dataclass(frozen=True)
class CountedPlan:
    """The public plan of a count, and then of a fit to the features that it decides."""

    parameters: ReleaseParameters
    count: RowCount
    fits: Fits
    event: Event
    chosen: Callable[[LinearRecords[Any], float], LinearRecords[Any]]

    @property
    def theorem(self) -> str:
        """The statement that proves the event."""
        return f"a noisy count by the Gaussian mechanism, then {self.fits[-1][1].theorem}"

    @property
    def exact(self) -> bool:
        """Whether all fits are proved for the numbers that a computer adds, as the count is."""
        return all(fit.exact for _, fit in self.fits)

    @property
    def problem(self) -> Problem:
        """The public facts about the fit with the first features."""
        return self.fits[0][1].problem

    def next(
        self, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> tuple[LinearPlan, LinearRecords[TaskT]]:
        """Release the count; return the plan and the records of the fit that it decides."""
        signal = signal_of(self.parameters, self.count.estimate(records.size, rng))
        fit = [plan for least, plan in self.fits if least <= signal][-1]
        return fit, self.chosen(records, signal)


def plan_auto(
    parameters: ReleaseParameters,
    records: LinearRecords[TaskT],
    plan_fit: PlanFit,
) -> CountedPlan:
    """Return a plan of a count, and of the fits to the choices of `AutoFeatures`."""
    needs = (
        "With neighboring='add_remove_one' or sample_weight, AutoFeatures needs n_samples_hint, or"
    )
    check_gaussian(parameters, records, needs)
    auto = records.facts.feature_map
    assert isinstance(auto, AutoMap), "planned for such a map only"

    def fits(inside: ReleaseParameters) -> Fits:
        leasts = (0.0, *auto.limits)
        return tuple((least, plan_fit(inside, _chosen(records, least))) for least in leasts)

    return plan_counted(parameters, fits, _chosen)


def plan_counted(
    parameters: ReleaseParameters,
    fits_of: Callable[[ReleaseParameters], Fits],
    chosen: Callable[[LinearRecords[Any], float], LinearRecords[Any]],
) -> CountedPlan:
    """Return a plan of a count with 1 % of μ², and of the fits among which it decides.

    All fits are planned, and so checked, before anything is spent. The costs of the count and of
    the fit compose adaptively, so the largest cost of a fit is counted.
    """
    mu = gdp_mu(parameters.epsilon, parameters.delta)
    count = RowCount.of_share(mu)
    fits = fits_of(rest_of(parameters, count.mu))
    dearest = max(fit.event.gdp_mu(parameters.neighboring) for _, fit in fits)
    event = composed((*count.events, GDPEvent(dearest)))
    return CountedPlan(parameters, count, fits, event, chosen)


def _chosen(records: LinearRecords[TaskT], signal: float) -> LinearRecords[TaskT]:
    auto = records.facts.feature_map
    assert isinstance(auto, AutoMap), "chosen once"
    searched = unknown_numbers(auto.features.bounds, auto.facts)
    # Ranks would be those of curves; without privacy, fits of trees take minutes.
    rival = None if searched or math.isinf(signal) else auto.rival(signal)
    facts = replace(records.facts, rival=rival, searched=searched)
    return _with_features(records.with_facts(facts), *auto.choice(signal))


def _with_features(
    records: LinearRecords[TaskT], features: PublicFeatures, feature_map: FeatureMap
) -> LinearRecords[TaskT]:
    n_columns = feature_map.n_features_out
    own = replace(records.facts, features=features, feature_map=feature_map, n_columns=n_columns)
    return records.with_facts(own)


# Chosen by experiment (benchmarks/bench_tabular_rule.py); no guarantee rests on these numbers.
_COMPARED_SHARE = 0.01  # of μ²
_CLEAR_GAIN = 2.0  # standard deviations of the noise
STEEPEST = 2.0
"""Lipschitz constant in the scores of errors that are compared."""

Learn: TypeAlias = Callable[[LinearPlan, LinearRecords[Any], np.random.Generator], Learned]


class Compared(NamedTuple):
    """Errors of rows, whose differences are cut at ±c; they must be better by the `least`."""

    of_rows: Callable[[np.ndarray, np.ndarray], np.ndarray]  # of targets and scores
    largest: float  # c
    least: float


@dataclass(frozen=True)
class Trial:
    """Which of two feature maps has smaller errors, by two short fits and one noisy number.

    Both fits are released, and then Σ s·g over all rows. s is a row's share of a record, and g the
    difference of its errors, clipped to [−c, c], minus a part of c by which the rival must be
    better. The shares of a record add up to at most 1. So adding or removing it changes the sum by
    at most the largest |g|, and replacing it by twice that. All are Gaussian DP, in turn, so that
    squares of μ add up.
    """

    fits: tuple[LinearPlan, LinearPlan]
    compared_mu: float
    compared: Compared
    learn: Learn
    relation: Neighboring
    name: ClassVar[str] = "two short fits with other features, and the difference of their errors,"

    @property
    def mu(self) -> float:
        """Its Gaussian-DP parameter."""
        return math.hypot(self.compared_mu, *(fit.event.gdp_mu(self.relation) for fit in self.fits))

    @property
    def exact(self) -> bool:
        """Whether both fits are proved for the numbers that a computer adds, as the sum is."""
        return all(fit.exact for fit in self.fits)

    def prefers_rival(self, records: LinearRecords[Any], rng: np.random.Generator) -> bool:
        """Release the fits and the sum from *private* records, and compare it with its noise."""
        rival = records.facts.rival
        assert rival is not None, "planned for two maps only"
        tried = _with_features(records, rival.features, rival.tried)
        both = zip(self.fits, (records, tried), strict=True)
        learned = [self.learn(plan, own, rng)._replace(design=None) for plan, own in both]
        sums = self.sums(learned)
        gains = partial(_gains, learned, self.compared, sums.grid)
        noise, total = sums.noise(self.compared_mu), records.total(gains)["gain"]
        gain = noise.release(sums.grid.floats(total), rng)
        return bool(gain[0] > _CLEAR_GAIN * noise.scale)

    def sums(self, learned: Sequence[Learned]) -> MachineSum:
        """Return the facts of the sum for *released* fits: scores are off by errors of both."""
        length = sum(float(np.linalg.norm(own.fitted.theta)) for own in learned)
        length *= STEEPEST * (1.0 + SCALE_MARGIN)
        widest = max(learned, key=lambda own: own.fitted.theta.size)
        facts = widest.plan.problem.with_columns(widest.fitted.theta.size)
        largest = self.compared.largest + self.compared.least
        return mean_sum(facts, largest * self.relation.n_changed, largest, length, 1)


def _gains(
    learned: Sequence[Learned], compared: Compared, grid: SumGrid, records: LinearRecords[Any]
) -> dict[str, np.ndarray]:
    """Return Σ s·g on a grid, in blocks of rows."""
    task = records.facts.task
    y = task.encode(records.y) if isinstance(task, TargetRange) else records.y
    one, other = (
        compared.of_rows(
            y, row_scores(own.plan.problem, own.fitted.theta, records.with_facts(own.facts))
        )
        for own in learned
    )
    gains = np.clip(one - other, -compared.largest, compared.largest)
    gains -= compared.least
    if records.shares is not None:
        gains *= records.shares
    starts = range(0, max(1, gains.size), ROWS_SUMMED)
    blocks = (gains[start : start + ROWS_SUMMED].sum(keepdims=True) for start in starts)
    return {"gain": reduce(add, map(grid.integers, blocks))}


@dataclass(frozen=True)
class TrialPlan(StagedPlan[Any]):
    """The public plan of a trial, then of a fit to the features that won."""

    other: LinearPlan  # with the rival

    @property
    def event(self) -> Event:
        relation = self.first.relation
        dearest = max(fit.event.gdp_mu(relation) for fit in (self.fit, self.other))
        return composed((GDPEvent(self.first.mu), GDPEvent(dearest)))

    @property
    def theorem(self) -> str:
        return f"{self.first.name} then {self.fit.theorem}"

    @property
    def exact(self) -> bool:
        return self.first.exact and self.fit.exact and self.other.exact

    def next(
        self, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> tuple[LinearPlan, LinearRecords[TaskT]]:
        rival = records.facts.rival
        if rival is None or not self.first.prefers_rival(records, rng):
            return self.fit, records
        return self.other, _with_features(records, rival.features, rival.feature_map)


def plan_trial(
    parameters: ReleaseParameters,
    records: LinearRecords[Any],
    plan_fit: PlanFit,
    compared: Compared,
    learn: Learn,
) -> LinearPlan:
    """Return the plan of a trial of the rival of the chosen features, and of the fit after it."""
    rival = records.facts.rival
    assert rival is not None, "there is something to try"
    mu = gdp_mu(parameters.epsilon, parameters.delta)
    short = rest_of(parameters, mu * math.sqrt(1.0 - rival.share))
    trial = Trial(
        fits=(
            plan_fit(short, records),
            plan_fit(short, _with_features(records, rival.features, rival.tried)),
        ),
        compared_mu=math.sqrt(_COMPARED_SHARE) * mu,
        compared=compared,
        learn=learn,
        relation=parameters.neighboring,
    )
    rest = rest_of(parameters, trial.mu)
    better = _with_features(records, rival.features, rival.feature_map)
    return TrialPlan(trial, plan_fit(rest, records), plan_fit(rest, better))


def signal_of(parameters: ReleaseParameters, n: float) -> float:
    """Return n·μ/k for n records and neighbors that differ in k of them."""
    return n * parameters.typical_mu / parameters.neighboring.n_changed


PARTS: dict[str, Registry[Any]] = {"solver": SOLVERS, "sampler": SAMPLERS}


def replaced(part: str, current: Any, new: dict[str, Any]) -> Any:
    """Return a solver or a sampler, or the one of a name, with other parameters."""
    if isinstance(current, str):
        current = PARTS[part][check_choice(part, current, PARTS[part])]()
    known = [field.name for field in fields(current)] if is_dataclass(current) else []
    if unknown := sorted(new.keys() - set(known)):
        raise ValueError(f"Unknown parameters of {part}={current!r}: {unknown}. It has {known}.")
    return replace(current, **new)


def check_reads_blocks(solver: Solver, *, epsilon: float, is_sampled: bool) -> None:
    """Raise if the rows must be in memory. The rows of a sample are."""
    if math.isinf(epsilon):
        raise ValueError(
            "epsilon=inf fits scikit-learn's own estimator, which reads no blocks of rows. "
            "Pass a finite epsilon, or read X and y into memory if they fit."
        )
    if not (solver.takes_blocks or is_sampled):
        raise IncompatibleSolverError(
            f"{solver!r} needs all rows in memory and cannot read blocks. Use a solver "
            f"of {[name for name, kind in SOLVERS.items() if kind().takes_blocks]} with a sampler "
            f"of {[name for name, kind in SAMPLERS.items() if kind.takes_blocks]}, or "
            "subsample=, or read X and y into memory if they fit."
        )


def check_takes_persons(solver: Solver) -> None:
    """Raise if a solver protects single rows only."""
    if not solver.takes_persons:
        raise IncompatibleSolverError(
            f"{type(solver).__name__} cannot protect a person with several rows. With groups, use "
            f"one of {[name for name, kind in SOLVERS.items() if kind.takes_persons]}."
        )


def check_start(start: np.ndarray, solver: Solver, problem: Problem) -> None:
    """Raise unless a solver can start from learned coefficients, and they have its shape."""
    if not hasattr(solver, "resume"):
        raise IncompatibleSolverError(
            "partial_fit needs a solver that can start from earlier coefficients, not "
            f"{type(solver).__name__}. Use one of "
            f"{[name for name, kind in SOLVERS.items() if hasattr(kind, 'resume')]}."
        )
    assert problem.n_features is not None, "known of linear models"
    if start.shape != (wanted := problem.shape(problem.n_features)):
        raise ValueError(
            f"partial_fit cannot continue: the learned coefficients have shape {start.shape}, and "
            f"this fit needs shape {wanted}."
        )
