"""Samplers by rejection under a tangent: chains of proximal steps, and perfect sampling.

The components come first: row streams, thinning, the search of tangents, and chains of exact inner
steps. `research/` builds other samplers from them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import ClassVar, Protocol

import numpy as np

from skdp.design import Design, MemoryDesign, prefetch, scored
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import Loss, Minorant
from skdp.samplers.base import (
    Ball,
    Certificate,
    Effort,
    Progress,
    Requirement,
    Sample,
    Sampler,
    SamplerPlan,
    Setting,
    Target,
    plan_at_once,
)
from skdp.support.random import child_generator
from skdp.support.validation import check_count, check_real, make_plain

_CHUNK = 1024
_ROWS_DRAWN = 512  # row numbers, or more: a call takes longer than they do
_FEW = 0.25  # share of random rows that costs as much as one pass; no guarantee rests on it
# A norm of a difference of two vectors and its product with R are each exact to a relative
# (d + 3)·2⁻⁵³, below 1e-9 for d < 10⁶. An excess beyond the bound would be accepted too often.
_NORM_MARGIN = 1e-9


class RowStream:
    """Independent uniform row numbers below `n_rows`: one sequence, taken piece by piece.

    They come from a child of the noise's generator and depend on nothing else. Looking at the next
    ones ahead of time, to fetch their rows, does not change them.
    """

    def __init__(self, n_rows: int, rng: np.random.Generator) -> None:
        self._n_rows, self._rng = n_rows, child_generator(rng)
        self._waiting = np.empty(0, dtype=np.int64)
        self.n_taken = 0

    def ahead(self, count: int) -> np.ndarray:
        """Return the next numbers without taking them."""
        missing = count - self._waiting.size
        if missing > 0:
            fresh = self._rng.integers(self._n_rows, size=max(missing, _ROWS_DRAWN))
            self._waiting = np.concatenate([self._waiting, fresh])
        return self._waiting[:count]

    def take(self, count: int) -> np.ndarray:
        """Return the next numbers; each is taken once."""
        rows = self.ahead(count)
        self._waiting = self._waiting[count:]
        self.n_taken += count
        return rows


@dataclass(frozen=True, eq=False, repr=False)
class Acceptance:
    """Accept θ with probability exp(−c·Σ D_i), D_i ≥ 0 the excess of loss i over its minorant.

    All D_i lie below one bound b, so the event can be drawn by thinning: of Poisson(n·c·b) records
    taken at random, each is a hit with probability D_i/b; the number of hits is Poisson(c·Σ D_i),
    and θ is accepted if it is 0. If the bound is so weak that a large part of all rows would be
    read, the sum is compared with an exponential variable instead. Both ways are exact, also with
    rows fetched ahead: see *The acceptance test* in *Finitely many steps* in the documentation.

    On a ball |θ| ≤ r, the event also requires that another exponential variable is at least
    `surplus`·(r² − |θ|²)/2. This corrects for a proposal with so much more ridge than the target.
    """

    target: Target
    origin: np.ndarray  # θ₀
    rows: Design  # scored at θ₀
    stream: RowStream
    surplus: float = 0.0  # in 1/coefficient²

    def decide(self, theta: np.ndarray, rng: np.random.Generator) -> tuple[bool, int]:
        """Return whether θ is accepted, and the number of per-example evaluations."""
        target = self.target
        if self.surplus and rng.standard_exponential() < self._missing_ridge(theta):
            return False, 0
        radius = target.row_norm * target.design.reach(theta - self.origin) * (1.0 + _NORM_MARGIN)
        bound = target.minorant.excess_bound(radius)
        if target.temperature * bound < _FEW:
            count = rng.poisson(target.design.n_samples * target.temperature * bound)
            return self._no_hit(theta, bound, int(count), rng)
        limit = float(rng.standard_exponential())
        return excess_is_below(limit, target, self.rows, theta, self.origin)

    def _missing_ridge(self, theta: np.ndarray) -> float:
        assert self.target.domain is not None, "a surplus of ridge needs a ball"
        return 0.5 * self.surplus * (self.target.domain.radius**2 - float(np.vdot(theta, theta)))

    def _no_hit(
        self, theta: np.ndarray, bound: float, count: int, rng: np.random.Generator
    ) -> tuple[bool, int]:
        n_evaluations = 0
        for start in range(0, count, _CHUNK):
            size = min(_CHUNK, count - start)
            n_evaluations += size
            rows = self.rows.take(self.stream.take(size))
            scores = rows.scores(theta), rows.scores(self.origin)
            excess = self.target.minorant.excess(rows.targets, *scores)
            if (rng.random(size) * bound < excess).any():
                return False, n_evaluations
        return True, n_evaluations


def excess_is_below(
    limit: float, target: Target, rows: Design, theta: np.ndarray, origin: np.ndarray
) -> tuple[bool, int]:
    """Return whether c·Σ D_i ≤ `limit`, and the number of per-example evaluations.

    `rows` are scored at `origin`. Reading ends as soon as the answer is known.
    """
    minorant, n_evaluations = target.minorant, 0

    def of_block(block: MemoryDesign) -> tuple[int, float]:
        excess = minorant.excess(block.targets, block.scores(theta), block.scores(origin))
        return block.n_samples, float(excess.sum())

    for size, excess in rows.parts(of_block):
        n_evaluations += size
        limit -= target.temperature * excess
        if limit < 0.0:
            return False, n_evaluations
    return True, n_evaluations


# These set the number of proposals and passes of a sample. No guarantee rests on them.
_SUBSAMPLE, _ROWS_AT_ONCE = 1000, 250  # rows of the preconditioner, and rows at a time
_WIDE = 500  # columns; beyond, only the preconditioner's diagonal is kept
_CLOSE_ENOUGH = 1.0  # σ²: this residual costs a factor of at most √e of proposals
_PATIENCE = 4  # gradients beyond one per center, until the preconditioner is renewed
_HARDEST_DAMPING = 16.0
_MOST_STEPS = 200
_TRIES_PER_POINT = 50
_SPARE, _FORGET = 1.5, 0.95  # rows fetched ahead, relative to the recent maximum of a step


@dataclass(frozen=True, eq=False)
class _Preconditioner:
    """P = I + σ²·c·AᵀDA from a subsample of rows, D the curvatures at one point."""

    values: np.ndarray  # eigenvalues of P − I, or its diagonal
    vectors: np.ndarray | None  # the eigenvectors, or None for the axes
    floor: float  # worst Hessian of any data over 16, which the hardest damping adds

    def moved(
        self, point: np.ndarray, residual: np.ndarray, damping: float, domain: Ball | None
    ) -> np.ndarray:
        """Return the next point by a damped Newton step, on the domain if there is one."""
        weights = 1.0 + damping * self.values + (damping - 1.0) * self.floor
        to_axes = back = np.asarray
        if self.vectors is not None:
            to_axes, back = partial(np.matmul, self.vectors.T), partial(np.matmul, self.vectors)
        step = (to_axes(residual).T / weights).T
        if domain is None:
            return point + back(step)
        p = to_axes(point)
        step = domain.lowest(weights, ((p + step).T * weights).T) - p
        return domain.project(point + back(step))


@dataclass(frozen=True, eq=False, repr=False)
class TangentPoint:
    """The result of a search: a point p, and c·Σ ℓ near it."""

    point: np.ndarray
    rows: Design  # scored at p
    step: np.ndarray  # σ²·g, g the gradient of the affine minorant at p
    preconditioner: _Preconditioner  # from p or from an earlier point
    extra_gradients: int  # computed since, beyond one per center
    least_damping: float  # at the start of the next search
    n_evaluations: int  # per-example evaluations of the search


class TangentSearch:
    """Search for p = center − σ²·g(p), g the gradient of c·Σ ℓ, for one center after another.

    This p is the mean of the proposal N(center − σ²·g(p), σ²·I), which is then accepted often. The
    distribution of accepted proposals does not depend on p, so any search is valid. Here it takes
    Newton steps with a preconditioner from a subsample of rows. The preconditioner is kept until it
    performs badly and then recomputed from the same rows at another point. Steps that do not help
    are damped, at most until they descend for any data. On a domain the mean of the proposal may be
    outside; then p is the point of the domain nearest to it.
    """

    def __init__(self, target: Target, variance: float, rng: np.random.Generator) -> None:
        self._target, self._variance, n = target, variance, target.design.n_samples
        self._rows = rng.integers(n, size=_SUBSAMPLE) if n > _SUBSAMPLE else np.arange(n)
        narrowest, domain = variance, target.domain
        if domain is not None:  # seen from the surface, the whole ball may be near
            narrowest = min(variance, 0.1 * domain.radius**2 / math.prod(target.shape))
        self._tolerance = _CLOSE_ENOUGH * narrowest  # about the variance of one coordinate

    def start(self) -> TangentPoint:
        """Return the point 0."""
        point = np.zeros(self._target.shape)
        prefetch(self._target.design, self._rows)
        rows, step = self._linearized(point)
        frozen = self._preconditioner(rows, point)
        return TangentPoint(point, rows, step, frozen, 0, 1.0, rows.n_samples)

    def follow(self, tangent: TangentPoint, center: np.ndarray) -> TangentPoint:
        """Return p for another center, searched from the point for an earlier one.

        A search with the same center continues an unfinished one.
        """
        point, rows, step = tangent.point, tangent.rows, tangent.step
        frozen, extra = tangent.preconditioner, tangent.extra_gradients
        least = damping = tangent.least_damping
        residual, n_evaluations = self._residual(center, point, step), 0
        size = float(np.vdot(residual, residual))
        for earlier in range(_MOST_STEPS):
            if size <= self._tolerance:
                break
            point = frozen.moved(point, center - step - point, damping, self._target.domain)
            rows, step = self._linearized(point)
            n_evaluations += rows.n_samples
            residual, before = self._residual(center, point, step), size
            size = float(np.vdot(residual, residual))
            if size > 0.5 * before:
                damping = min(2.0 * damping, _HARDEST_DAMPING)
            extra += earlier > 0
            if extra > _PATIENCE:
                frozen, extra = self._preconditioner(rows, point), 0
                damping = least = min(2.0 * least, _HARDEST_DAMPING)
        # an unfinished search continues with care
        least = 1.0 if size <= self._tolerance else _HARDEST_DAMPING
        return TangentPoint(point, rows, step, frozen, extra, least, n_evaluations)

    def curvatures(self, tangent: TangentPoint) -> np.ndarray:
        """Return approximate eigenvalues of the Hessian of c·Σ ℓ, or its diagonal if d is large."""
        return np.tile(tangent.preconditioner.values / self._variance, self._target.loss.n_scores)

    def _residual(self, center: np.ndarray, point: np.ndarray, step: np.ndarray) -> np.ndarray:
        mean, domain = center - step, self._target.domain
        return (mean if domain is None else domain.project(mean)) - point

    def _linearized(self, point: np.ndarray) -> tuple[Design, np.ndarray]:
        """Return the rows scored at a point, and σ² times the slope of a minorant that touches."""
        rows, slope = scored(self._target.design, self._target.minorant.gradient, point)
        return rows, self._variance * (self._target.temperature * slope)

    def _preconditioner(self, design: Design, point: np.ndarray) -> _Preconditioner:
        """Return P from a subsample of rows."""
        target, n = self._target, self._target.design.n_samples
        wide = target.design.n_features > _WIDE
        of_block = partial(_curvature_gram, target.loss, point, wide)
        gram = design.take(self._rows).total(of_block, _ROWS_AT_ONCE)
        values, vectors = (gram, None) if wide else np.linalg.eigh(gram)
        scale = self._variance * target.temperature * n
        trace = target.row_norm**2 if target.row_trace is None else target.row_trace / max(1, n)
        worst = scale * target.minorant.smoothness * trace
        values = scale / max(1, self._rows.size) * np.maximum(values, 0.0)
        return _Preconditioner(values, vectors, worst / _HARDEST_DAMPING)


def _curvature_gram(
    loss: Loss, point: np.ndarray, diagonal: bool, block: MemoryDesign
) -> np.ndarray:
    """Return AᵀDA of a block, D the curvatures at a point, or its diagonal alone."""
    curvature = loss.curvature(block.targets, block.scores(point))
    return block.gram_diagonal(curvature) if diagonal else block.gram(curvature)


class TangentStep:
    """Exact sampler of exp(−c·Σ ℓ − |θ − center|²/(2σ²)) by rejection under a tangent of Σ ℓ.

    On a domain, proposals are drawn there. The density is multiplied by exp(surplus·|θ|²/2), which
    removes a surplus of ridge in σ². Before each pass over all rows, rows that proposals will
    probably read are announced, so that one pass fetches both; a wrong guess costs time only.
    """

    def __init__(
        self, target: Target, variance: float, rng: np.random.Generator, surplus: float = 0.0
    ) -> None:
        self._target, self._rng, self._surplus = target, rng, surplus
        self._sd = math.sqrt(variance)
        self._stream = RowStream(target.design.n_samples, rng)
        self._likely = self._announced = 0
        self._announces = hasattr(target.design, "prefetch")
        self._search = TangentSearch(target, variance, rng)
        self._tangent = self._search.start()
        self.effort = Effort(n_evaluations=self._tangent.n_evaluations)

    def draw(self, center: np.ndarray) -> np.ndarray:
        while (theta := self.attempt(center)) is None:
            pass  # search for a better p
        return theta

    def attempt(self, center: np.ndarray, most_tries: int = _TRIES_PER_POINT) -> np.ndarray | None:
        """Return one sample for a center, or None after `most_tries` rejections."""
        before = self._stream.n_taken
        self._announce()
        self._tangent = tangent = self._search.follow(self._tangent, center)
        n_evaluations, n_tries, found = tangent.n_evaluations, 0, None
        propose = _proposals(self._target, center - tangent.step, self._sd)
        test = Acceptance(self._target, tangent.point, tangent.rows, self._stream, self._surplus)
        while found is None and n_tries < most_tries:
            if self._stream.n_taken >= self._announced:
                self._announce()
            theta = propose(self._rng)
            accepted, n_read = test.decide(theta, self._rng)
            n_tries, n_evaluations = n_tries + 1, n_evaluations + n_read
            found = theta if accepted else None
        self.effort += Effort(n_tries, n_evaluations)
        self._likely = max(self._stream.n_taken - before, math.floor(_FORGET * self._likely))
        return found

    def _announce(self) -> None:
        """Announce the rows that proposals will probably read, unless they are in memory."""
        if not self._announces:
            return
        count = math.ceil(_SPARE * self._likely)
        prefetch(self._target.design, self._stream.ahead(count))
        self._announced = self._stream.n_taken + count


def _proposals(
    target: Target, mean: np.ndarray, sd: float
) -> Callable[[np.random.Generator], np.ndarray]:
    if target.domain is None:
        return lambda rng: mean + sd * rng.standard_normal(mean.shape)
    return target.domain.gaussian(mean, sd).draw


class InnerStep(Protocol):
    """Exact sampler of exp(−c·Σ ℓ − |θ − center|²/(2σ²)); `effort` is the total so far."""

    effort: Effort

    def draw(self, center: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class AlternatingSampler(Sampler):
    """Alternate θ' = θ + √η·ξ with an exact sample from exp(−U(θ) − |θ − θ'|²/(2η)).

    Theorem A' holds for any exact inner step.
    """

    certifies: ClassVar[Certificate] = Certificate.STABLE
    theorem: ClassVar[str] = "proximal sampler after finitely many steps, Theorem A'"
    takes_long_runs: ClassVar[bool] = True
    takes_blocks: ClassVar[bool] = True

    max_exponent: float = 6.0
    min_steps: int = 32

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("max_exponent", self.max_exponent, low=0.0)
        check_count("min_steps", self.min_steps)

    @abstractmethod
    def inner_step(self, target: Target, variance: float, rng: np.random.Generator) -> InnerStep:
        """Return a sampler of the inner step, of *public* variance σ²."""

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        t = setting.flow_time
        T = self.n_steps(0.5 * t * setting.worst_trace, setting.loss.n_scores)
        h = t / T
        arrived = math.exp(-T * math.log1p(h / setting.C))
        f = self.stability(h / setting.C, T)
        spread = min((2 * T - 1) * h, setting.C)  # the ridge's own, in a long run
        return SamplerPlan(n_steps=T, step=h, stability=f, spread=spread, contraction=arrived)

    def n_steps(self, exponent: float, n_scores: int) -> int:
        """Return T; `exponent` is the sum of half the worst Hessian's trace times step sizes."""
        limit = self.max_exponent if n_scores == 1 else 0.5 * self.max_exponent
        return max(self.min_steps, math.ceil(exponent / limit))

    def stability(self, precision_step: float, n_steps: int) -> float:
        """Return f of Theorem A', in (0, 1], for α·η and T ≥ 1."""
        log_q = -math.log1p(precision_step)
        last = math.exp((n_steps - 1) * log_q)
        # 1 + q^(T−1) − 2q^T, written without the difference of numbers near 1
        numerator = -math.expm1(n_steps * log_q) - last * math.expm1(log_q)
        return math.sqrt(numerator / (1.0 + last))

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        step_size = plan.step / target.temperature
        q = 1.0 / (1.0 + target.prior_precision * step_size)
        inner = self.inner_step(target, q * step_size, rng)
        theta = np.zeros(target.shape)
        for step in range(1, plan.n_steps + 1):
            if step > 1:
                theta = theta + math.sqrt(step_size) * rng.standard_normal(target.shape)
            theta = inner.draw(q * theta)
            progress(step, plan.n_steps)
        return Sample(theta, asdict(inner.effort))


# of the minorant below the potential, for the worst data; no guarantee rests on it
_WIDEST_GAP = 30.0


@dataclass(frozen=True)
class ProximalSampler(AlternatingSampler):
    """Proximal sampler: alternate θ' = θ + √η·ξ with a sample from exp(−U(θ) − |θ − θ'|²/(2η)).

    The inner sample is exact, by rejection. Replacing Σ ℓ by its tangent at any point p gives a
    Gaussian distribution. A proposal from it is accepted with probability exp(−c·Σ D_i), where the
    D_i are the Bregman divergences from p. Proposals are made until one is accepted, so the result
    does not depend on p. The first half step, from the public start 0, is left out: it would add
    noise without adding privacy.

    Parameters
    ----------
    max_exponent : float
        *Public.* Bound on the expected −log acceptance of a proposal, for the worst data and a
        smooth loss. Halved for several scores per record, where shorter steps cost less in total.
    min_steps : int
        *Public.* Minimum number of steps.

    Notes
    -----
    **Certificate: stable.** After any T ≥ 1 steps of size η, f² = 1 − 2q^T/(1 + q^(T−1)) with
    q = 1/(1 + αη) (Theorem A', *Finitely many steps* in the documentation). The factor f < 1
    grows with T toward the value 1 of an exact sample of the target.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> from skdp.samplers.proximal import ProximalSampler
    >>> X, y = [[0.5], [-0.5]] * 1000, [1, 0] * 1000
    >>> sampler = ProximalSampler(min_steps=64)
    >>> model = DPLogisticRegression(sampler=sampler, random_state=0).fit(X, y)
    >>> model.n_iter_, model.coef_.round()
    (64, array([[11.]]))
    """

    takes_domain: ClassVar[bool] = True

    def check(self, setting: Setting) -> None:
        super().check(setting)
        c, n = setting.C * setting.prior_precision, setting.n_samples or 0
        if c * n * Minorant.of(setting.loss).gap > _WIDEST_GAP:
            raise IncompatibleSolverError(
                f"{setting.loss!r} is not smooth, and for {n} rows ProximalSampler might never "
                "accept a proposal. Smooth the loss, or use sampler='proximal_bundle'."
            )

    def inner_step(self, target: Target, variance: float, rng: np.random.Generator) -> TangentStep:
        return TangentStep(target, variance, rng)


@dataclass(frozen=True)
class ExactSampler(Sampler):
    """Exact sampler by rejection from N(θ̂, I/α), θ̂ near the mode of the target.

    With a tangent in place of Σ ℓ the target is Gaussian, and a proposal is accepted with
    probability exp(−c·Σ D_i), D_i the Bregman divergences from the point of tangency. For few
    coefficients, or a strong ridge.

    Parameters
    ----------
    max_exponent : float
        *Public.* Largest allowed logarithm of the expected number of proposals for the worst data.

    Notes
    -----
    **Certificate: exact.** The accepted proposal has the target's distribution for any data (*The
    exact inner step* in the documentation, with an infinite step).

    **Cost.** A share 1/√det(I + H/α) of the proposals is accepted, H ≤ c·w·AᵀA a bound of the
    Hessian of c·Σ ℓ at θ̂. On average at most (1 + C·τ/r)^(r/2) proposals are needed. τ is the trace
    of the Hessian of Σ ℓ for the worst data (nominal for non-smooth losses). r is its rank: the
    smaller of n and d, times the directions of a record's gradient. On a ball, for d coefficients,
    the proof needs (1 + C·β)^(d/2), β the largest curvature of Σ ℓ for the worst data. There α may
    be 0: proposals have the ridge 1/r², and an additional rejection corrects for it.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> from skdp.samplers.proximal import ExactSampler
    >>> X, y = [[0.5], [-0.5]] * 100, [1, 0] * 100
    >>> model = DPLogisticRegression(sampler=ExactSampler(), C=0.05, random_state=0).fit(X, y)
    >>> model.coef_.round(1), model.n_iter_
    (array([[1.5]]), 1)
    """

    certifies: ClassVar[Certificate] = Certificate.EXACT
    theorem: ClassVar[str] = "Gopi, Lee and Liu 2022, Theorem 4.1"
    requires: ClassVar[frozenset[Requirement]] = frozenset({Requirement.ROW_COUNT})
    takes_domain: ClassVar[bool] = True
    takes_blocks: ClassVar[bool] = True

    max_exponent: float = 14.0

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("max_exponent", self.max_exponent, low=0.0)

    def check(self, setting: Setting) -> None:
        super().check(setting)
        exponent = self.exponent(setting)
        if exponent > self.max_exponent:
            raise IncompatibleSolverError(
                f"ExactSampler may need e^{exponent:.3g} proposals on average, and "
                f"max_exponent={self.max_exponent!r} allows e^{self.max_exponent:.3g}. Lower C or "
                "epsilon, or use sampler='proximal'."
            )

    def exponent(self, setting: Setting) -> float:
        """Return log of the worst mean number of proposals; inf for an unknown, needed d."""
        gain, rank = setting.C * setting.worst_trace, setting.worst_rank
        if setting.domain is None:
            return 0.5 * rank * math.log1p(gain / rank)
        if setting.n_features is None:
            return math.inf
        d = setting.n_features * setting.loss.n_scores
        minorant = Minorant.of(setting.loss)
        largest = gain / minorant.curvature_trace * minorant.smoothness
        return 0.5 * d * math.log1p(largest)

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        return plan_at_once(setting.C)

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        precision = target.prior_precision or _own_precision(target)
        inner = TangentStep(target, 1.0 / precision, rng, precision - target.prior_precision)
        theta = inner.draw(np.zeros(target.shape))
        progress(1, 1)
        return Sample(theta, asdict(inner.effort))


def _own_precision(target: Target) -> float:
    if target.domain is None:
        raise ValueError("A target without a ridge needs a domain.")
    return 1.0 / target.domain.radius**2
