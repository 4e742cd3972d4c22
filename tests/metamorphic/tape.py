"""A tape of all numbers that a release computes from the data before noise is added.

The first run records the exact answers and returns them in place of the noisy ones. A second run,
on a neighboring data set, gets the answers of the first run back at every step. So both runs see
equal releases, later steps ask equal questions, and whatever still differs comes from the data.
"""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import skdp._private_fit
import skdp.workloads
from skdp.design import LossSum, in_memory
from skdp.linear_model._first_releases import RankRelease, ranks_of
from skdp.linear_model._standard_errors import MatrixRelease, SpreadRelease
from skdp.mechanisms import (
    AdditiveMechanism,
    ExponentialMechanism,
    Gaussian,
    Geometric,
    Laplace,
    Mechanism,
)
from skdp.mechanisms.grid_gaussian import GridGaussian, grid_step, to_steps
from skdp.mechanisms.selection import Selection
from skdp.pipeline.private_pipeline import _Rehearsed
from skdp.privacy import Event, GDPEvent
from skdp.privacy.objective_perturbation import ObjectivePerturbationEvent
from skdp.research.solvers.coordinate_descent import Cycles
from skdp.research.solvers.exponential_mechanism import ExponentialMechanismPlan
from skdp.research.solvers.phased_sgd import PhasedSGDPlan
from skdp.samplers import SAMPLERS
from skdp.samplers.base import Sample
from skdp.solvers import SOLVERS, Solution, perturbation
from skdp.solvers._descent import Descent, SampledSteps
from skdp.solvers._minimizer import Minimum
from skdp.solvers._releases import GramRelease, Metric
from skdp.solvers.base import NoisyGram, Plan, RowCount
from skdp.solvers.dp_sgd import DPSGDPlan
from skdp.solvers.noisy_gd import NoisyGDPlan
from skdp.workloads.plan import GaussianPlan, Query, QueryPlan, plan_queries

__all__ = ["Answer", "Cost", "Tape", "ZeroNoise", "distance", "forget_plans", "recorded"]

ROUNDING = 1e-12
"""Relative: what the norms that are computed here may be off by, sums of up to 2^14 squares."""
FLOATS = 2.0**-24
"""Relative to a sensitivity: two sums of n ≤ 2^14 floats, each off by n·2^-53 of Σ|x|."""
ON_A_GRID = 1e-4
"""Relative: answers that are rounded to the grid of the noise, 1e-6 of it, before they are seen."""
NEAR, FAR = 0.1, 3.0
"""Scales of released coefficients: second derivatives are largest near 0, clipped scores far."""
FEWEST = 25
"""The least count that is returned, so that solvers have a few steps."""
SCALES = (0.0, 0.3, 10.0, 1e4)
"""Lengths of the coefficients at which gradients are compared: most derivatives are extreme."""


@dataclass(frozen=True)
class Cost:
    """The cost of a distance under the noise of an answer: `rate` times a norm.

    It is a μ ("gdp"), an ε ("pure"), or the ε of a bounded range ("range"). No stated sensitivity
    is in it. With `trial` the answers of one name are a single release, tried at several places.
    """

    kind: str
    norm: str
    rate: float
    trial: bool = False


@dataclass(frozen=True, eq=False)
class Answer:
    """Exact numbers, and the planned limits on their distance between neighbors.

    Attributes
    ----------
    name : str
        The question with all of its public facts.
    values : ndarray
        The exact numbers.
    limits : dict of str to float
        The largest distance of neighbors, by norm.
    slack : float
        Relative rounding error of the distances.
    cost : Cost or None
        The cost of a distance under the added noise, if it is known here.
    adds_up : bool
        Whether the numbers are sums over records, exact but for the last rounding.
    stage : str
        The module that asks, and the name of the step in its plan.
    """

    name: str
    values: np.ndarray
    limits: dict[str, float]
    slack: float = ROUNDING
    cost: Cost | None = None
    adds_up: bool = False
    stage: str = ""

    def excess(self, other: Answer) -> dict[str, tuple[float, float]]:
        """Return the distances of two answers above the limits, with the limits."""
        moved = {name: distance(name, self.values, other.values) for name in self.limits}
        return {
            name: (moved[name], limit)
            for name, limit in self.limits.items()
            if not moved[name] <= limit * (1.0 + self.slack)
        }


def distance(kind: str, one: np.ndarray, other: np.ndarray) -> float:
    """Return the distance of two answers in a norm; "range" is the largest change of a gap."""
    change = np.where(one == other, 0.0, one - other)  # inf − inf is no change
    if kind == "fractions":
        return float(np.abs(one - np.rint(one)).max(initial=0.0))
    if kind == "range":
        return float(np.ptp(change))
    if kind == "l0":
        return float(np.count_nonzero(change))
    order = {"l1": 1, "l2": 2, "linf": math.inf}[kind]
    largest = float(np.abs(change).max(initial=0.0))
    if largest in (0.0, math.inf) or math.isnan(largest):
        return largest
    return largest * float(np.linalg.norm(change / largest, order))


@dataclass(eq=False)
class Tape:
    """The answers of the data in one run, and the replies that the run received.

    Attributes
    ----------
    first : Tape or None
        The run whose replies are repeated.
    answers : list of Answer
        One for each number or vector that was asked.
    replies : list
        What each question returned.
    rows : list of Counter
        The rows that each solver received, with their targets and weights, as bytes.
    is_synthetic : bool
        Whether synthetic rows are asked, whose answers must be equal in all runs.
    claims : dict
        The Gaussian-DP parameter for which each noise on a grid was planned.
    warned : list
        The warnings of the run.
    """

    first: Tape | None = None
    answers: list[Answer] = field(default_factory=list)
    replies: list[Any] = field(default_factory=list)
    rows: list[Counter] = field(default_factory=list)
    solving: list[Any] = field(default_factory=list)
    metric_mu: float = 0.0
    is_synthetic: bool = False
    claims: dict[GridGaussian, float] = field(default_factory=dict)
    warned: list[warnings.WarningMessage] = field(default_factory=list)

    def ask(
        self,
        name: str,
        values: Any,
        limits: dict[str, float],
        reply: Callable[[], Any],
        slack: float = ROUNDING,
        cost: Cost | None = None,
        adds_up: bool = False,
        step: str = "",
    ) -> Any:
        """Record an answer; return the reply of the first run."""
        if self.is_synthetic:
            limits, adds_up = {"linf": 0.0}, False
        flat = np.array(values, dtype=float).ravel()
        stage = _stage(step)
        at, answer = len(self.answers), Answer(name, flat, limits, slack, cost, adds_up, stage)
        self.answers.append(answer)
        self.replies.append(reply() if self.first is None else self._repeated(at, answer))
        return self.replies[-1]

    def _repeated(self, at: int, answer: Answer) -> Any:
        assert self.first is not None
        assert at < len(self.first.answers), f"{answer.name} was asked of one neighbor alone"
        before = self.first.answers[at]
        same = (before.name, before.limits, before.values.shape)
        assert (answer.name, answer.limits, answer.values.shape) == same, (
            "what is asked depends on the data"
        )
        return self.first.replies[at]


def _stage(step: str) -> str:
    """Return the module that asks, the nearest caller that adds no noise, and its step or name."""
    frame = sys._getframe(2)
    while frame.f_back is not None:
        module = frame.f_globals["__name__"]
        if module.startswith("skdp.") and not module.startswith(_ADD_NOISE):
            break
        frame = frame.f_back
    module = str(frame.f_globals["__name__"]).removeprefix("skdp.")
    return f"{module} {step or frame.f_code.co_qualname}"


_ADD_NOISE = ("skdp.mechanisms", "skdp.workloads", "skdp.data.records")


class ZeroNoise(np.random.Generator):
    """A generator whose normal numbers are 0, and whose other numbers depend on no earlier ones.

    The k-th call reads stream k. So a neighbor with a row more draws the same numbers for the rows
    before it, and the same numbers after it.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self._seed, self._calls = seed, itertools.count()

    def _next(self) -> np.random.Generator:
        return np.random.default_rng([self._seed, next(self._calls)])

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        return loc + np.zeros(() if size is None else size)

    def standard_normal(self, size: Any = None, *args: Any, **more: Any) -> Any:
        return np.zeros(() if size is None else size)


def _streamed(name: str) -> Callable[..., Any]:
    def draw(self: ZeroNoise, *args: Any, **more: Any) -> Any:
        return getattr(self._next(), name)(*args, **more)

    return draw


for _name in ("bytes", "choice", "geometric", "integers", "logseries", "permutation", "random"):
    setattr(ZeroNoise, _name, _streamed(_name))


@contextmanager
def recorded(tape: Tape, seed: int = 0) -> Iterator[Tape]:
    """Record the answers of releases on a tape, and return its replies to them."""
    with (
        pytest.MonkeyPatch.context() as patch,
        warnings.catch_warnings(record=True) as tape.warned,
    ):
        warnings.simplefilter("always")
        patch.setattr(skdp._private_fit, "noise_generator", lambda state: ZeroNoise(seed))
        patch.setattr(skdp.workloads, "plan_queries", _planned_once)
        patch.setattr(QueryPlan, "release", _query_plan(tape))
        patch.setattr(GaussianPlan, "release", _gaussian_plan(tape))
        patch.setattr(GridGaussian, "noise", lambda self, size, rng: np.zeros(size, np.int64))
        patch.setattr(GridGaussian, "at", staticmethod(_claimed(tape, GridGaussian.at)))
        patch.setattr(GridGaussian, "add", _grid(tape, GridGaussian.add))
        patch.setattr(MatrixRelease, "release", _matrix(tape, MatrixRelease.release))
        patch.setattr(SpreadRelease, "release", _spread(tape, SpreadRelease.release))
        patch.setattr(RankRelease, "release", _ranks(tape))
        for kind in _kinds_that_define("release", Mechanism):
            patch.setattr(kind, "release", _mechanism(tape))
        assert len(SOLVERS.values()) > 5  # all of them are imported
        for kind in _kinds_that_define("read", Plan):
            if kind.__module__.startswith(("skdp.solvers", "skdp.research")):
                patch.setattr(kind, "read", _read(tape, kind.read))
        for (owner, method), own in _SOLVER_STEPS.items():
            patch.setattr(owner, method, own(tape, getattr(owner, method)))
        for kind in {_definer(sampler, "sample") for sampler in SAMPLERS.values()}:
            patch.setattr(kind, "sample", _sample(tape))
        patch.setattr(_Rehearsed, "transform", _of_synthetic_rows(tape, _Rehearsed.transform))
        yield tape


def _of_synthetic_rows(tape: Tape, transform: Callable[..., Any]) -> Callable[..., Any]:
    def rehearsed(step: _Rehearsed, X: Any) -> Any:
        tape.is_synthetic = True
        try:
            return transform(step, X)
        finally:
            tape.is_synthetic = False

    return rehearsed


@cache
def _planned(queries: tuple[Query, ...], *terms: Any, **more: Any) -> QueryPlan:
    return plan_queries(queries, *terms, **more)


def _planned_once(queries: Sequence[Query], *terms: Any, **more: Any) -> QueryPlan:
    """Return a cached plan: without the cache, most of the suite's time is spent on plans."""
    return _planned(tuple(queries), *terms, **more)


def forget_plans() -> None:
    """Forget all plans, so that new ones are made."""
    _planned.cache_clear()


def _kinds_that_define(method: str, kind: type) -> list[type]:
    """Return a class and its subclasses, if they define a method that is not abstract."""
    own = [one for one in _below(kind) if method in vars(one)]
    return [one for one in own if not getattr(vars(one)[method], "__isabstractmethod__", False)]


def _below(kind: type) -> list[type]:
    return [kind, *itertools.chain(*(_below(one) for one in kind.__subclasses__()))]


def _definer(kind: type, method: str) -> type:
    """Return the class from which a class has a method."""
    return next(one for one in kind.__mro__ if method in vars(one))


def _query_plan(tape: Tape) -> Callable[..., Any]:
    def release(plan: QueryPlan, answers: Any, rng: Any) -> dict[str, np.ndarray]:
        found = {}
        for query, mechanism in zip(plan.queries, plan.mechanisms, strict=True):
            exact = np.ravel(answers[query.name]).astype(float)
            assert exact.size == query.size
            name = f"{query!r} by {mechanism!r}"
            limits = {f"l{k}": getattr(query, f"l{k}_sensitivity") for k in (0, 1, 2, "inf")}
            for norm, limit in _of_mechanism(mechanism, query).items():
                limits[norm] = min(limit, limits[norm])
            if query.integer:
                limits["fractions"] = 0.0
            cost = _cost_of(mechanism)
            found[query.name] = tape.ask(
                name, exact, limits, exact.copy, ROUNDING, cost, True, query.name
            )
        return found

    return release


def _of_mechanism(mechanism: AdditiveMechanism, query: Any) -> dict[str, float]:
    """Return the norm of the noise, and its limit."""
    together = mechanism.dimension == query.size
    norm = mechanism.sensitivity_norm if together else "linf"
    return {norm: mechanism.sensitivity}


def _cost_of(mechanism: AdditiveMechanism) -> Cost | None:
    """Return the cost of a distance."""
    if isinstance(mechanism, Gaussian):
        return Cost("gdp", "l2", 1.0 / mechanism.scale)
    if isinstance(mechanism, Laplace | Geometric):
        return Cost("pure", "l1", 1.0 / mechanism.scale)
    return None


def _gaussian_plan(tape: Tape) -> Callable[..., Any]:
    def release(plan: GaussianPlan, name: str, values: Any, rng: Any) -> np.ndarray:
        exact, mechanism = np.array(values, dtype=float), plan.mechanism(name)
        limits = {"l2": mechanism.sensitivity}
        question, cost = f"{name} by {mechanism!r}", _cost_of(mechanism)
        found = tape.ask(question, exact, limits, exact.copy, ROUNDING, cost, True, name)
        return np.asarray(found).reshape(exact.shape)

    return release


def _mechanism(tape: Tape) -> Callable[..., Any]:
    def release(mechanism: Any, value: Any, rng: Any) -> Any:
        if isinstance(mechanism, Selection):
            return _selection(tape, mechanism, value)
        assert isinstance(mechanism, AdditiveMechanism), f"teach the tape what {mechanism!r} adds"
        exact = np.array(value, dtype=float)
        found = tape.ask(
            repr(mechanism),
            exact,
            {mechanism.sensitivity_norm: mechanism.sensitivity},
            exact.copy,
            cost=_cost_of(mechanism),
        )
        return found if exact.ndim else float(found)

    return release


def _selection(tape: Tape, mechanism: Selection, value: Any) -> int:
    """Compare utilities in whole steps, as the mechanism does. Only gaps have an influence."""
    step = grid_step(mechanism.sensitivity)
    limit = math.ceil(mechanism.sensitivity / step)
    limits = {"range": limit if mechanism.monotonic else 2 * limit}
    steps = to_steps(value, step)
    kind = "range" if isinstance(mechanism, ExponentialMechanism) else "pure"
    cost = Cost(kind, "range", 1.0 / mechanism._scale)
    return int(tape.ask(repr(mechanism), steps, limits, steps.argmax, cost=cost))


def _claimed(tape: Tape, at: Callable[..., GridGaussian]) -> Callable[..., GridGaussian]:
    def planned(mu: float, *facts: Any, **more: Any) -> GridGaussian:
        noise = at(mu, *facts, **more)
        tape.claims[noise] = min(mu, tape.claims.get(noise, math.inf))
        return noise

    return planned


def _grid(tape: Tape, add: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Record what meets the noise on a grid, wherever nothing above has recorded it."""

    def observed(noise: GridGaussian, values: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        seen = np.zeros_like(values) if noise.hides else values
        mu = tape.claims.get(noise)
        limits = {} if mu is None else {"l2": mu * noise.scale}
        cost, reply = Cost("gdp", "l2", 1.0 / noise.scale), partial(add, noise, values, drawn)
        return np.array(tape.ask(repr(noise), seen, limits, reply, ROUNDING, cost))

    return observed


def _matrix(tape: Tape, release: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def observed(matrix: MatrixRelease, total: np.ndarray, rng: Any) -> np.ndarray:
        limits, cost = {"l2": matrix.mu * matrix.scale}, Cost("gdp", "l2", 1.0 / matrix.scale)
        reply = partial(release, matrix, total, ZeroNoise(0))
        return np.array(tape.ask(repr(matrix), upper(total), limits, reply, FLOATS, cost))

    return observed


def _spread(tape: Tape, release: Any) -> Callable[..., tuple[float, float]]:
    def observed(spread: SpreadRelease, sums: np.ndarray, rng: Any) -> tuple[float, float]:
        exact = sums / np.array([spread.longest**2, spread.steepest])
        limits, cost = {"l2": spread.mu * spread.scale}, Cost("gdp", "l2", 1.0 / spread.scale)
        reply = partial(release, spread, sums, ZeroNoise(0))
        return tape.ask(repr(spread), exact, limits, reply, FLOATS, cost)

    return observed


def _ranks(tape: Tape) -> Callable[..., Any]:
    def release(ranks: RankRelease, counts: np.ndarray, rng: Any) -> np.ndarray:
        limits = {"l2": ranks.scale * ranks.mu}
        cost = Cost("gdp", "l2", 1.0 / ranks.scale)
        reply = partial(ranks_of, counts)
        return np.asarray(tape.ask(repr(ranks), counts, limits, reply, FLOATS, cost, True))

    return release


def _read(tape: Tape, read: Callable[..., Solution]) -> Callable[..., Solution]:
    def observed(plan: Any, design: Any, rng: Any, progress: Any) -> Solution:
        if isinstance(plan, PhasedSGDPlan) and plan.solver.n_phases != 1:
            return observed(
                replace(plan, solver=replace(plan.solver, n_phases=1)), design, rng, progress
            )
        tape.solving.append(plan)
        tape.metric_mu = 0.0
        tape.rows.append(rows_of(design))
        tape.ask(repr(plan), [], {}, lambda: None)
        try:
            found = read(plan, design, rng, progress)
        finally:
            tape.solving.pop()
        return replace(
            _phase(tape, plan, found) if isinstance(plan, PhasedSGDPlan) else found,
            diagnostics={},
        )

    return observed


def _phase(tape: Tape, plan: PhasedSGDPlan, found: Solution) -> Solution:
    """Compare the end of a phase, which has its own noise."""
    (phase,) = plan.solver.phases(plan.problem, plan.mu, 25 if plan.count.mu else plan.count.public)
    limits = {"l2": phase.noise * plan.mu}
    cost = Cost("gdp", "l2", 1.0 / phase.noise)
    theta = chosen(found.theta.shape, 1.0)
    tape.ask("end of a phase", found.theta, limits, lambda: None, ON_A_GRID, cost)
    return replace(found, theta=theta)


def rows_of(design: Any) -> Counter:
    """Return the rows of a design with their weights and targets, as bytes."""
    rows = in_memory(design)
    X = rows.X.toarray() if hasattr(rows.X, "toarray") else np.asarray(rows.X)
    parts = [np.ascontiguousarray(part) for part in (X, rows.factors, rows.targets)]
    widths = [part.nbytes // max(len(X), 1) for part in parts]
    octets = [
        np.frombuffer(part.tobytes(), np.uint8).reshape(len(X), width)
        for part, width in zip(parts, widths, strict=True)
    ]
    return Counter(np.hstack(octets).view(f"V{sum(widths)}").ravel().tolist())


def _chosen_count(tape: Tape, release: Callable[..., int]) -> Callable[..., int]:
    def observed(count: RowCount, exact: float, rng: Any) -> int:
        if count.public is not None:
            return release(count, exact, rng)
        cost = Cost("gdp", "l2", count.mu)
        reply = partial(max, exact, FEWEST)
        return int(tape.ask(repr(count), exact, {"l1": 1.0}, reply, cost=cost))

    return observed


def upper(gram: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix as a vector of its Frobenius norm."""
    i, j = np.triu_indices(len(gram))
    return gram[i, j] * np.where(i == j, 1.0, math.sqrt(2.0))


def _gram(tape: Tape, release: Any) -> Callable[..., Metric]:
    def observed(gram: GramRelease, design: Any, rng: Any) -> Metric:
        exact, change = gram.exact(design, rng), gram.scale * gram.mu
        if gram.sample is not None:  # which contains all records
            n_changed = tape.solving[-1].problem.neighboring.n_changed
            change = gram.noise.scale * n_changed / gram.sample.sigma
        tape.metric_mu, limits = gram.mu, {"l2": change}

        def reply() -> Metric:
            return Metric.of(NoisyGram(exact, gram.scale))

        cost = None if gram.sample else Cost("gdp", "l2", 1.0 / gram.scale)
        return tape.ask(repr(gram), upper(exact), limits, reply, FLOATS, cost)

    return observed


def chosen(shape: tuple[int, ...], scale: float, seed: int = 0) -> np.ndarray:
    """Return public coefficients."""
    return scale * np.random.default_rng([seed, 7]).normal(size=shape)


def _descent(tape: Tape, run: Any) -> Callable[..., np.ndarray]:
    def observed(
        descent: Descent, start: Any, gradient: Any, rng: Any, progress: Any, metric: Any = None
    ) -> np.ndarray:
        plan = tape.solving[-1]
        limit = descent.release.scale * _mu_of_a_step(plan, descent)
        cost = None
        if plan.steps is None:
            cost = Cost("gdp", "l2", math.sqrt(descent.n_steps) / descent.noise, True)
        for k, scale in enumerate(SCALES):
            found = gradient(chosen(start.shape, scale, k))
            tape.ask(repr(descent), found, {"l2": limit}, lambda: None, FLOATS, cost)
        return chosen(start.shape, FAR)

    return observed


def _samples(tape: Tape, drawn: Any) -> Callable[..., Iterator[None]]:
    """Let every sample contain all records, so that it contains the one that differs."""
    return lambda steps, n, rng: itertools.repeat(None)


def _mu_of_a_step(plan: Any, descent: Descent) -> float:
    """Return l2 sensitivity over noise of one step, by the event that was planned."""
    assert isinstance(plan, NoisyGDPlan | DPSGDPlan)
    if plan.steps is not None:  # on samples
        return plan.problem.neighboring.n_changed / plan.steps.sigma
    assert not plan.solver._is_contractive(plan.problem)
    return plan.mu / math.sqrt(descent.n_steps)


def _cycles(tape: Tape, run: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def observed(cycles: Cycles, problem: Any, design: Any, rng: Any, progress: Any) -> Any:
        mu = tape.solving[-1].mu
        limit = cycles.noise * mu / math.sqrt(cycles.n_cycles)
        seen: list[Any] = []

        def proximal(self: Cycles, old: Any, derivative: Any, rng: Any) -> Any:
            seen.append(derivative)
            return chosen(np.shape(old), SCALES[len(seen) % len(SCALES)], len(seen))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Cycles, "_proximal", proximal)
            run(replace(cycles, n_cycles=4), problem, design, rng, progress)
        cost = Cost("gdp", "l2", math.sqrt(cycles.n_cycles) / cycles.noise, True)
        for cycle in np.split(np.array(seen), 4):
            tape.ask(repr(cycles), cycle, {"l2": limit}, lambda: None, FLOATS, cost)
        return chosen(problem.shape(design.n_features), 1.0)

    return observed


def _minimize(tape: Tape, minimize: Any) -> Callable[..., Minimum]:
    def observed(objective: Any, tolerance: float, radius: float = math.inf) -> Minimum:
        shape = objective.tilt.shape
        plan = tape.solving[-1]
        for k, scale in enumerate(SCALES):
            theta = chosen(shape, scale, k)
            found = objective.design.slope_sum(objective.loss.gradient, theta)
            limit = _largest_push(plan)
            cost = (
                Cost("gdp", "l2", 1.0 / (plan.noise * plan.ridge), True) if _is_gdp(plan) else None
            )
            tape.ask(repr(plan), found, {"l2": limit}, lambda: None, FLOATS, cost)
        return Minimum(chosen(shape, NEAR), np.zeros(shape))

    return observed


def _largest_push(plan: Any) -> float:
    """Return the largest distance of gradients that the noise and the event allow."""
    for event in _parts(plan.event):
        if isinstance(event, ObjectivePerturbationEvent):
            return plan.problem.neighboring.n_changed * plan.noise / event.noise_multiplier
    return plan.noise * plan.ridge * plan.event.mu - 2.0 * plan.tolerance


def _is_gdp(plan: Any) -> bool:
    return isinstance(plan.event, GDPEvent)


def _parts(event: Event) -> tuple[Event, ...]:
    return getattr(event, "events", (event,))


def _sample(tape: Tape) -> Callable[..., Sample]:
    def observed(sampler: Any, target: Any, plan: Any, rng: Any, progress: Any) -> Sample:
        whole = tape.solving[-1]
        if isinstance(whole, ExponentialMechanismPlan):
            return _tempered(tape, target, whole)
        mu = math.sqrt(whole.density_mu**2 - tape.metric_mu**2)
        limit = mu * math.sqrt(target.prior_precision) / (target.temperature * plan.stability)
        cost = None if whole.tv else Cost("gdp", "l2", mu / limit, True)
        for k, scale in enumerate(SCALES):
            found = target.design.slope_sum(target.loss.gradient, chosen(target.shape, scale, k))
            tape.ask(repr(whole), found, {"l2": limit}, lambda: None, FLOATS, cost)
        return Sample(chosen(target.shape, FAR, len(tape.answers)))  # another for each fit

    return observed


def _tempered(tape: Tape, target: Any, plan: ExponentialMechanismPlan) -> Sample:
    """Compare how much the log-density of neighbors varies on the domain."""
    radius, losses = plan.domain.radius, []
    for k in range(40):
        theta = chosen(target.shape, 1.0, k)
        theta *= radius * (k % 4) / 3.0 / np.linalg.norm(theta)
        losses += [
            target.design.total(LossSum(target.loss.value, side * theta)) for side in (-1, 1)
        ]
    limits = {"range": plan.event.epsilon / plan.temperature}
    cost = Cost("range", "range", plan.temperature)
    tape.ask(repr(plan), losses, limits, lambda: None, FLOATS, cost)
    return Sample(chosen(target.shape, 0.1 * radius))


_SOLVER_STEPS = {
    (RowCount, "estimate"): _chosen_count,
    (GramRelease, "release"): _gram,
    (Descent, "run"): _descent,
    (SampledSteps, "samples"): _samples,
    (Cycles, "run"): _cycles,
    (perturbation, "minimize"): _minimize,
}
