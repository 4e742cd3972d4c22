"""Full-batch gradient descent with noise in every step."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import repeat
from typing import NamedTuple

import numpy as np

from skdp.accounting import gdp_mu
from skdp.design import Design
from skdp.losses import GradientDirections, SquaredLoss
from skdp.privacy import Event, GDPEvent
from skdp.samplers.base import Progress
from skdp.solvers._descent import (
    SAMPLED,
    Descent,
    DescentPlan,
    DescentSolver,
    SampledSteps,
    longest_step,
    require_stable,
)
from skdp.solvers._releases import GramRelease, MachineSum, Metric, gradient_sum, is_covered
from skdp.solvers.base import (
    SCALE_MARGIN,
    SHORT_RUN,
    Flow,
    GaussianSolver,
    Problem,
    RowCount,
    Solution,
    composed,
    require_delta,
)
from skdp.support.validation import check_count, check_real, check_size, make_plain

# No guarantee rests on these.
_LONGEST_STEP = 2.0  # in units of 1/curvature, by which steps are counted
_FEWEST_STEPS = 100  # if a step size, a momentum or a number of steps is given
_LEAST_MOMENTUM = 0.9
# Runs without a metric.
_LONGEST_PLAIN_STEP = 3.0  # in units of 1/curvature; heavy-ball steps are stable up to 2 + 2β
_FEWEST_PLAIN_STEPS = 32
_FOLDS = 6.0  # the momentum of the first step decays by so many factors e
# Noise in a flat direction over that of a run at full speed throughout: the root of the mean square
# of 1 − e^(−x) over x from 0 to `_FOLDS`.
_NOISE_SHARE = math.sqrt(1.0 + (2.0 * math.expm1(-_FOLDS) - 0.5 * math.expm1(-2 * _FOLDS)) / _FOLDS)
_MOST_WORK = 1e6  # flow time in units of 1/curvature: at most 1521 steps
_WIDE = 1024  # columns
_FEW_COLUMNS = 100  # whose matrix costs little; wider ones are left out if they are noise
# For two classes below `_FULL_SIGNAL`, where longer runs fit the noise of labels; feature maps have
# a ridge against that.
_MOST_WIDE_WORK, _MOST_FEATURES_WORK = 1500.0, 4000.0
_METRIC_STEPS = 50
_METRIC_MOMENTUM = 0.8
_MOST_METRIC_MOMENTUM = 0.85  # if fewer steps would not be stable
_METRIC_AVERAGE = 0.3
# T and β of runs of two classes in a metric that shortens steps in every direction by the second
# share or more, chosen by `benchmarks/bench_steps.py`. Between the two shares runs get gradually
# shorter, so that a few columns more never take much longer. Three classes lost .0016 in log-loss.
_SHORTENED_RUN, _SHORTENED = (12, 0.4), (0.4, 0.5)
_STEADY_SIGNAL = 4000.0
_LEAST_SHARE = 0.25
_UNCLIPPED_SIGNAL = 16_000.0
_FULL_SIGNAL = 24_000.0  # above, runs are longer than the noise in scores suggests

# Steps on samples, where a fit to all rows takes about twice as long, or more.
_FEWEST_NUMBERS = 6e6
_LEAST_RATE, _MOST_RATE = 0.1, 0.25
_LEAST_SIGMA = 3.0  # on a sample; below, sampled steps need more noise than those on all rows
_GRAM_ERRORS = 0.01  # of μ of the matrix, for rounding errors
_MOST_VARIANCE = 0.08  # of sums over samples, in units of that of the noise

_SHARE_MARGIN = 1e-14  # a guarantee rests on it: some forty operations, each off by 2⁻⁵³ at most
_NO_CONTRACTION = 1e-300  # below, the formula underflows; the result 1 is always valid
_THEOREM = "noisy full-batch gradient steps, composed as Gaussian DP"
_LAST_ITERATE = "last iterate of noisy gradient descent by shifted interpolation"


class _Run(NamedTuple):
    n_steps: int  # T
    step_size: float  # h
    momentum: float  # β

    @property
    def flow_time(self) -> float:
        return self.n_steps * self.step_size / (1.0 - self.momentum)


@dataclass(frozen=True, kw_only=True)
class NoisyGDPlan(DescentPlan):
    """Public numbers of noisy gradient steps."""

    solver: NoisyGD
    count: RowCount  # determines step sizes
    gram: GramRelease | None  # release of the matrix for a metric
    mu: float  # Gaussian-DP parameter of the steps, if they read all rows
    steps: SampledSteps | None = None  # steps that read Poisson samples

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        n = self.count.release(design, rng)
        problem = self.problem.with_columns(design.n_features).adapted(n, self.mu)
        metric = self.gram.release_for_steps(design, rng) if self.gram else None
        plan = replace(self, problem=problem)
        descent, share, start = plan.descent(n, metric), self._share(n), self.first(design)
        longest = share * problem.loss.lipschitz * problem.row_norm if share < 1.0 else math.inf
        grid = plan._sums(longest).grid
        samples = self.steps.samples(design.n_records, rng) if self.steps else repeat(None)

        def gradient(theta: np.ndarray) -> np.ndarray:
            return design.slope_sum(problem.loss.gradient, theta, longest, next(samples), grid)

        theta = descent.run(start, gradient, rng, progress, metric)
        passes = descent.n_steps * descent.rate + (self.gram.rate if self.gram else 0.0)
        return Solution(
            theta,
            descent.n_steps,
            {"n_evaluations": round(passes * design.n_samples)},
            loss=problem.loss,
            noise_bound=descent.whole_noise,
            noise_root=metric.root() if metric else None,
            gram=metric.gram if metric else None,
            flow=None if start.any() else self._flow(descent, n, metric, share),
        )

    def _flow(self, descent: Descent, n: int, metric: Metric | None, share: float) -> Flow | None:
        """Return the flow that a run from θ = 0 follows, None if the run is changed by the user."""
        if self.solver.domain_radius is not None or self.solver.average is not None:
            return None
        return Flow(
            n_samples=n,
            time=descent.drift,
            noise=descent.flat_noise,
            metric_noise=metric.noise if metric else math.inf,
            clip_share=share,
            ridge=descent.ridge,
        )

    def descent(self, n: int, metric: Metric | None = None) -> Descent:
        """Return steps, noise and ridge of a run on about `n` rows, given the *released* metric.

        The noise is such that the steps are μ-Gaussian DP for every metric.
        """
        share, mu, solver, steps = self._share(n), self.mu, self.solver, self.steps
        longest = share * self.problem.loss.lipschitz * self.problem.row_norm
        sums = self._sums(longest)
        # clipping to a share allows a run with the noise of an unclipped run at a larger μ
        problem = replace(self.problem, most_C=self.problem.most_C / share)
        longer = replace(self, problem=problem, mu=mu / share)
        run = longer._run(n, None if steps else metric)  # sampled steps are counted beforehand
        each = mu / math.sqrt(run.n_steps)
        C = problem.inverse_regularization(run.flow_time)
        if solver._is_contractive(problem):
            h, M = run.step_size, n * problem.loss.smoothness * problem.row_norm**2
            each /= _last_iterate(h / C, h * M, run.n_steps)
        each *= 1.0 - SCALE_MARGIN
        return Descent(
            n_steps=steps.n_steps if steps else run.n_steps,
            step_size=run.step_size,
            release=steps.noise(sums, longest) if steps else sums.noise(each),
            rate=steps.rate if steps else 1.0,
            ridge=1.0 / C,
            momentum=run.momentum,
            average=_given(solver.average, _METRIC_AVERAGE if longer._is_steady(n) else 0.0),
            radius=min(_given(solver.domain_radius, math.inf), sums.radius),
        )

    def with_samples(self, others: tuple[Event, ...], epsilon: float, delta: float) -> NoisyGDPlan:
        """Return a plan of steps on samples, (ε, δ)-DP together with `others`, if it pays.

        The noise is that of steps on all rows, up to two hundredths. Sampling adds the variance of
        sums over samples, in each coordinate about n·L²R²·(1 − q)/(4·q·d).
        """
        problem, loss, gram = self.problem, self.problem.loss, self.gram
        n, d, relation = problem.n_samples or 0, problem.n_features or 0, problem.neighboring
        is_plain = problem.rows_each == 1 and problem.weighted_rows is None
        two_classes = GradientDirections.of(loss).n_extremes == 1
        is_plain &= two_classes or (problem.has_features and isinstance(loss, SquaredLoss))
        if not (is_plain and relation.count_is_public and n * d >= _FEWEST_NUMBERS):
            return self
        T = replace(self, problem=problem.adapted(n, self.mu)).descent(n).n_steps
        sigma = relation.n_changed * math.sqrt(T) / self.mu  # at q = 1
        variance = n / (4.0 * d * sigma**2)  # of samples with q = 1/2, over that of the noise
        # Features take so long to make that a little less variance is not worth it.
        least = 0.0 if problem.has_features else variance / (variance + _MOST_VARIANCE)
        rate = max(_LEAST_RATE, least, _LEAST_SIGMA / sigma)
        if rate > _MOST_RATE:
            return self
        before: tuple[Event, ...] = gram.events if gram else ()
        if gram is not None and problem.has_features:  # with noise of the same size
            square = problem.row_norm**2
            sample = SampledSteps(rate, rate * gram.scale / square, 1, _GRAM_ERRORS * gram.mu)
            gram, before = replace(gram, sample=sample, square=square), sample.events
        steps = SampledSteps.plan((*others, *before), rate, T, relation, epsilon, delta)
        event = composed((*before, *steps.events))
        return replace(self, gram=gram, event=event, theorem=SAMPLED, steps=steps)

    def _sums(self, longest: float) -> MachineSum:
        if self.steps is None:
            return gradient_sum(self.problem, longest)
        return self.steps.sums(self.problem, longest)

    def _share(self, n: int) -> float:
        """Return the clipping norm over the largest norm possible for the loss."""
        if not self.solver._clips(self.problem):
            return 1.0
        of_persons = self.problem.signal(n, self.mu) / _UNCLIPPED_SIGNAL
        return _given(self.solver.clip_share, min(1.0, max(_LEAST_SHARE, of_persons)))

    def _run(self, n: int, metric: Metric | None) -> _Run:
        """Return T, h and β for about `n` rows."""
        problem, solver = self.problem, self.solver
        noise = problem.lipschitz_difference / self.mu
        strong = max(1.0, problem.signal(n, self.mu) / _FULL_SIGNAL)
        t = strong**0.25 * problem.flow_time(None, noise)
        if self.gram is not None:
            run = solver._metric_run(problem, t, self.gram)
            return run if metric is None else self._shorter(run, metric)
        if any(value is not None for value in (solver.step_size, solver.momentum, solver.n_steps)):
            return solver._given_run(problem, n, t)
        return _plain_run(problem, n, t, strong)

    def _shorter(self, run: _Run, metric: Metric) -> _Run:
        """Return a run in a *released* metric with fewer steps, where it is as accurate."""
        problem, solver, (T, momentum) = self.problem, self.solver, _SHORTENED_RUN
        own = solver.n_steps is not None or solver.momentum is not None
        if own or problem.rows_each != 1 or GradientDirections.of(problem.loss).n_extremes != 1:
            return run
        low, high = _SHORTENED
        way = min(max((1.0 - float(metric.gains.max()) - low) / (high - low), 0.0), 1.0)
        T = round(run.n_steps * (T / run.n_steps) ** way)
        momentum = run.momentum * (momentum / run.momentum) ** way
        assert self.gram is not None, "it released the metric"
        longest = self.gram.longest_step(problem, problem.ridge)
        return _Run(T, min(run.flow_time * (1.0 - momentum) / T, longest), momentum)

    def _is_steady(self, n: int) -> bool:
        """Whether the end of a run fluctuates about one point, so that averaging helps."""
        problem = self.problem
        steady = problem.signal(n, self.mu) >= _STEADY_SIGNAL
        return self.gram is not None and problem.loss.n_scores == 1 and steady


@dataclass(frozen=True)
class NoisyGD(GaussianSolver, DescentSolver):
    r"""Full-batch gradient descent with noise in every step.

    Parameters
    ----------
    n_steps : int or None
        *Public.* T; None: 50 with a metric and 32 without, or more if stability requires it. With
        two classes a released metric may allow for 12.
    step_size : float or None
        *Public.* h, for the gradient of the *sum* over all rows. None: such that the final noise in
        a score reaches the loss's `noise_scale`.
    momentum : float in [0, 1) or None
        *Public.* Heavy-ball momentum β. With 0 the last iterate has a bound of its own. None: 0.8
        to 0.85 with a metric, growing with the run's length, and 0.4 in runs of 12 steps; without a
        metric 1 − 6/T, or 0.9 if `n_steps` or `step_size` is given.
    average : float in [0, 1] or None
        *Public.* Last share of the run, whose iterates are averaged; 0: the last iterate. None: 0.3
        with a metric and very many rows, else 0.
    domain_radius : float or None
        *Public.* Iterates are projected on the ball of this radius; None: no projection.
    clip_share : float in (0, 1] or None
        *Public.* Gradients of single records, summed over a person's rows, are clipped to this
        share of the largest norm possible for the loss. The noise is proportional to it. None: 1
        (no clipping) for one row per record. For persons with several rows, whose gradients partly
        cancel, it is n·μ/(16 000·k), at least 1/4 and at most 1, for n persons and neighbors that
        differ in k of them.
    precondition : bool
        *Public.* Whether to spend 1 % of μ² on the matrix AᵀA, which gives a metric in which steps
        need not shrink with the number of rows. Only with up to 1024 columns, and if neither
        `step_size` nor ``momentum=0`` is given. With two classes and more than 100 columns not if
        the row count is public and so small that the matrix would be hidden by its noise.

    Notes
    -----
    **Guarantee.** G bounds the change of Σ∇ℓ when a record changes; with clipping it is
    proportionally smaller. T steps with noise N(0, s²·I) in the gradient are √T·G/s-Gaussian DP,
    all iterates together (Dong, Roth and Su 2022, Corollary 2). The metric is computed from a
    matrix with Gaussian noise and multiplies noisy values only. T and h may depend on it, because
    the steps are μ₂-Gaussian DP with the same μ₂ for every matrix; matrix and steps compose.

    A smaller bound holds with β = 0, no averaging and no clipping, for a smooth loss, a ridge
    m = 1/C and a public row count. The last iterate alone is then
    (G/s)·√((1 − c^T)/(1 + c^T)·(1 + c)/(1 − c))-Gaussian DP (Bok, Su and Altschuler 2024). Here
    c = max(\|1 − h·m\|, \|1 − h·M\|) < 1 and M = m + n·R²·smoothness. s is calibrated to this
    bound.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLogisticRegression
    >>> from skdp.solvers import NoisyGD
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(5000, 2))
    >>> model = DPLogisticRegression(solver=NoisyGD(n_steps=50), random_state=0)
    >>> model = model.fit(X, X[:, 0] > 0)
    >>> model.coef_.round(), model.n_iter_
    (array([[21., -0.]]), 50)
    """

    n_steps: int | None = None
    step_size: float | None = None
    momentum: float | None = None
    average: float | None = None
    domain_radius: float | None = None
    clip_share: float | None = None
    precondition: bool = True

    def __post_init__(self) -> None:
        make_plain(self)
        if self.n_steps is not None:
            check_count("n_steps", self.n_steps)
        for name in ("step_size", "domain_radius"):
            if getattr(self, name) is not None:
                check_size(name, getattr(self, name))
        if self.momentum is not None:
            check_real("momentum", self.momentum, low=0.0, high=1.0, closed="[")
        if self.average is not None:
            check_real("average", self.average, low=0.0, high=1.0, closed="[]")
        if self.clip_share is not None:
            check_real("clip_share", self.clip_share, low=0.0, high=1.0, closed="]")

    @classmethod
    def theorem_2(
        cls, *, n: int, d: int, domain_radius: float, lipschitz: float, epsilon: float, delta: float
    ) -> NoisyGD:
        """Return noisy gradient descent with the proved excess risk of Tian 2024, Theorem 2.

        Parameters
        ----------
        n, d : int
            *Public.* Rows, and coefficients with the intercept's.
        domain_radius : float
            *Public.* R of the theorem, the radius of a ball that contains the minimizer.
        lipschitz : float
            *Public.* L of the theorem, of one record's loss in the coefficients.
        epsilon, delta : float
            *Public.* As in `fit`, with ε at most 2·log(1/δ).

        Returns
        -------
        NoisyGD
            Without momentum, releasing the average of all iterates.

        Notes
        -----
        The average of the iterates is within 8·L·R·√(d·log(1/δ))/(ε·n) of the least mean loss, in
        expectation. The bound is stated for the theorem's σ = 4·L·√(T·log(1/δ))/(ε·n); the noise
        here is calibrated exactly and smaller. The bound is not stated for larger ε.
        """
        n, d = check_count("n", n), check_count("d", d)
        check_size("domain_radius", domain_radius)
        check_size("lipschitz", lipschitz)
        log = -math.log(check_real("delta", delta, low=0.0, high=1.0))
        check_real("epsilon", epsilon, low=0.0, high=2.0 * log, closed="]")
        T = math.ceil((n * epsilon) ** 2 / (32.0 * d * log))
        scale = 2.0 * T + 32.0 * d * T**2 * log / (epsilon * n) ** 2
        step = domain_radius / lipschitz / math.sqrt(scale) / n
        return cls(T, step, momentum=0.0, average=1.0, domain_radius=domain_radius)

    def plan(self, problem: Problem, epsilon: float, delta: float) -> NoisyGDPlan:
        require_delta(delta, "noisy_gd")
        require_stable(problem, self.step_size, _given(self.momentum, _LEAST_MOMENTUM))
        count = RowCount.plan(problem, epsilon, delta)
        return self._planned(problem, count, count.rest(gdp_mu(epsilon, delta)))

    def plan_at(self, problem: Problem, mu: float) -> NoisyGDPlan:
        return self._planned(problem, RowCount(problem.n_samples, 0.0), mu)

    def _planned(self, problem: Problem, count: RowCount, mu: float) -> NoisyGDPlan:
        metric = self.precondition and self.step_size is None and self.momentum != 0.0
        gram = GramRelease.plan(problem, mu) if metric else None
        gram = None if gram is not None and _hides_all(gram, problem) else gram
        steps = mu if gram is None else gram.rest(mu)
        return NoisyGDPlan(
            problem=problem,
            event=composed((*count.events, *(gram.events if gram else ()), GDPEvent(steps))),
            theorem=_LAST_ITERATE if self._is_contractive(problem) else _THEOREM,
            exact=self.is_exact(problem),
            solver=self,
            count=count,
            gram=gram,
            mu=steps,
        )

    def is_exact(self, problem: Problem) -> bool:
        """Return whether rounding errors are bounded.

        They are not for the last iterate.

        Parameters
        ----------
        problem : Problem
            *Public.*

        Returns
        -------
        bool
        """
        is_last = self._is_contractive(problem)
        return is_covered(problem.loss) and problem.rows_are_exact and not is_last

    def _clips(self, problem: Problem) -> bool:
        """Whether gradients may be clipped."""
        return problem.rows_each != 1 if self.clip_share is None else self.clip_share < 1.0

    def _given_run(self, problem: Problem, n: int, t: float) -> _Run:
        """Return T, h and β, some of them given, stable for the worst `n` rows."""
        momentum = _given(self.momentum, _LEAST_MOMENTUM)
        length = min(t, SHORT_RUN / problem.worst_curvature(n)) * (1.0 - momentum)
        least = math.ceil(length * problem.worst_curvature(n) / _LONGEST_STEP)
        T = self.n_steps or max(_FEWEST_STEPS, least)
        h = self.step_size or min(length / T, longest_step(problem, n))
        return _Run(T, h, momentum)

    def _metric_run(self, problem: Problem, t: float, gram: GramRelease) -> _Run:
        """Return T, h and β of steps in a metric, where curvature is at most about its noise."""
        directions = GradientDirections.of(problem.loss)
        t *= directions.dimension**0.25  # the worst of several scores counts
        t *= directions.slowness
        shortest = t / gram.longest_step(problem)  # number of stable steps without momentum
        wanted = 1.0 - _METRIC_STEPS / shortest
        momentum = _given(self.momentum, min(max(_METRIC_MOMENTUM, wanted), _MOST_METRIC_MOMENTUM))
        T = self.n_steps or max(_METRIC_STEPS, math.ceil((1.0 - momentum) * shortest))
        h = min(t * (1.0 - momentum) / T, gram.longest_step(problem, problem.ridge))
        return _Run(T, h, momentum)

    def _is_contractive(self, problem: Problem) -> bool:
        """Whether the bound of the last iterate applies, by public facts."""
        last = self.momentum == 0.0 and not self.average and not self._clips(problem)
        public = problem.count_is_public and problem.n_samples is not None
        return last and public and math.isfinite(problem.loss.smoothness)


def _hides_all(gram: GramRelease, problem: Problem) -> bool:
    """Whether a wide metric of two classes would shorten no step by half: n·R² bounds AᵀA."""
    n, d, loss = problem.n_samples, problem.n_features or 0, problem.loss
    two_classes = GradientDirections.of(loss).n_extremes == 1 and problem.rows_each == 1
    if n is None or d <= _FEW_COLUMNS or not two_classes:
        return False
    return n * problem.row_norm**2 <= gram.noise_for_steps(d)


def _plain_run(problem: Problem, n: int, t: float, strong: float) -> _Run:
    """Return T, h and β of few steps without a metric, stable for the worst `n` rows."""
    two_classes = GradientDirections.of(problem.loss).n_extremes == 1 and problem.rows_each == 1
    wide, curvature = (problem.n_features or 0) > _WIDE, problem.worst_curvature(n)
    most = strong * (_MOST_FEATURES_WORK if problem.has_features else _MOST_WIDE_WORK)
    most = most if two_classes and wide else math.inf
    t = min(t, min(most, _MOST_WORK) / curvature)
    steps = math.sqrt(_FOLDS * t * curvature / _NOISE_SHARE / _LONGEST_PLAIN_STEP)
    T = max(_FEWEST_PLAIN_STEPS, math.ceil(steps))
    longest = 1.0 / (curvature / _LONGEST_PLAIN_STEP + problem.ridge)
    return _Run(T, min(t * _FOLDS / T**2 / _NOISE_SHARE, longest), 1.0 - _FOLDS / T)


def _last_iterate(pull: float, curvature: float, n_steps: int) -> float:
    """Return the cost of the last iterate relative to all iterates; c from h·m and h·(M − m)."""
    gap = min(pull, 2.0 - pull - curvature)  # 1 − c
    if gap < _NO_CONTRACTION:
        return 1.0
    log_power = n_steps * math.log1p(-gap) if gap < 1.0 else -math.inf
    share = -math.expm1(log_power) / (1.0 + math.exp(log_power)) * (2.0 - gap) / gap / n_steps
    return math.sqrt(min(share * (1.0 + _SHARE_MARGIN), 1.0))


def _given(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
