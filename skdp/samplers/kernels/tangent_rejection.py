"""The exact inner step of the proximal methods: rejection under a tangent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skdp.design import Design, MemoryDesign, prefetch
from skdp.losses import Loss
from skdp.samplers.base import Effort, Target
from skdp.samplers.kernels.thinning import Acceptance, RowStream

__all__ = ["TangentPoint", "TangentSearch", "TangentStep"]

# These set the number of proposals and passes of a sample. No guarantee rests on them.
_SUBSAMPLE, _CHUNK = 1000, 250  # rows of the preconditioner, and rows at a time
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

    def weights(self, damping: float) -> np.ndarray:
        """Return the eigenvalues of the damped P."""
        return 1.0 + damping * self.values + (damping - 1.0) * self.floor

    def rotated(self, theta: np.ndarray) -> np.ndarray:
        """Return θ in the eigenvectors' coordinates."""
        return theta if self.vectors is None else self.vectors.T @ theta

    def rotated_back(self, theta: np.ndarray) -> np.ndarray:
        """Undo `rotated`."""
        return theta if self.vectors is None else self.vectors @ theta


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
        self._tolerance = _CLOSE_ENOUGH * self._narrowest()

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
            point = self._moved(point, frozen, center - step - point, damping)
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

    def _narrowest(self) -> float:
        """Return the approximate variance of one coordinate of the proposal.

        On a ball it is a fraction of it: seen from the surface, the whole ball may be near.
        """
        domain = self._target.domain
        if domain is None:
            return self._variance
        return min(self._variance, 0.1 * domain.radius**2 / math.prod(self._target.shape))

    def _linearized(self, point: np.ndarray) -> tuple[Design, np.ndarray]:
        rows, gradient = self._target.scored_minorant(point)
        return rows, self._variance * gradient

    def _preconditioner(self, design: Design, point: np.ndarray) -> _Preconditioner:
        """Return P from a subsample of rows."""
        target, n = self._target, self._target.design.n_samples
        wide = target.design.n_features > _WIDE
        gram = design.take(self._rows).total(_CurvatureGram(target.loss, point, wide), _CHUNK)
        values, vectors = (gram, None) if wide else np.linalg.eigh(gram)
        scale = self._variance * target.temperature * n
        trace = target.row_norm**2 if target.row_trace is None else target.row_trace / max(1, n)
        worst = scale * target.minorant.smoothness * trace
        values = scale / max(1, self._rows.size) * np.maximum(values, 0.0)
        return _Preconditioner(values, vectors, worst / _HARDEST_DAMPING)

    def _moved(
        self, point: np.ndarray, frozen: _Preconditioner, residual: np.ndarray, damping: float
    ) -> np.ndarray:
        """Return the next point by a Newton step, on the domain if there is one."""
        weights, domain = frozen.weights(damping), self._target.domain
        step = (frozen.rotated(residual).T / weights).T
        if domain is None:
            return point + frozen.rotated_back(step)
        p = frozen.rotated(point)
        step = domain.lowest(weights, ((p + step).T * weights).T) - p
        return domain.project(point + frozen.rotated_back(step))


@dataclass(frozen=True, eq=False, repr=False)
class _CurvatureGram:
    """AᵀDA of a block, D the curvatures at a point, or its diagonal alone."""

    loss: Loss
    point: np.ndarray
    diagonal: bool

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        curvature = self.loss.curvature(block.targets, block.scores(self.point))
        return block.gram_diagonal(curvature) if self.diagonal else block.gram(curvature)


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
        """Return one sample for a center."""
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
