"""A minimiser with a certificate: it ends where the gradient is shorter than a public tolerance."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skdp.design import ClippedDesign
from skdp.losses import Loss

__all__ = ["Minimum", "Objective", "minimise"]

_SAMPLE = 16_384  # rows from which second derivatives are learnt
_SAMPLE_VALUES = 1 << 20
_MOST_COLUMNS = 1024  # beyond, the diagonal of the Hessian has to do
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
_PAIRS = 60
_PATIENCE = 300  # steps in which the gradient has to halve
_REFRESH = 0.1  # a step that leaves more of the gradient calls for a new metric
_FLAT = 0.5  # how much of the slope along a step may be left
_TRIALS = 20
_UNIT = 2.0**-53
_SINGULAR = 1e-12  # of a matrix's trace: smaller eigenvalues cannot be told from 0

Metric = Callable[[np.ndarray], np.ndarray]
"""Applies the inverse of a positive definite matrix."""


@dataclass(frozen=True, eq=False)
class Objective:
    """J(θ) = `weight`·Σ ℓ(y_i, a_i·θ) + (`ridge`/2)·|θ|² + `tilt`·θ, ℓ smooth.

    Parameters
    ----------
    design : ClippedDesign
    y : ndarray of shape (n_samples,)
    loss : Loss
    row_norm : float
        R, with |a_i| ≤ R.
    ridge : float
        λ > 0, the strong convexity.
    tilt : ndarray of the shape of θ
    weight : float
    passes : list of one int
        Counts the gradients; for diagnostics, **not private**.
    """

    design: ClippedDesign
    y: np.ndarray
    loss: Loss
    row_norm: float
    ridge: float
    tilt: np.ndarray
    weight: float = 1.0
    passes: list[int] = field(default_factory=lambda: [0])

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Return ∇J(θ): one read of the data, block by block."""
        self.passes[0] += 1
        total = np.zeros_like(theta)
        for rows, block in self.design.blocks():
            total += block.rmatvec(self.loss.gradient(self.y[rows], block.matvec(theta)))
        return self.weight * total + self.ridge * theta + self.tilt

    def rounding(self, theta: np.ndarray) -> float:
        """Return how short a gradient at θ may be before it is lost in rounding.

        Sums over n terms round to √n, scores to |θ|, the ridge and the tilt to their own unit.
        """
        n, R, size = self.design.n_samples, self.row_norm, float(np.linalg.norm(theta))
        slope = math.sqrt(n) * self.loss.lipschitz + self.loss.smoothness * R * size
        rest = self.ridge * size + float(np.linalg.norm(self.tilt))
        return _UNIT * (n * self.weight * R * slope + rest)

    @property
    def is_narrow(self) -> bool:
        """Whether there are few enough columns for second derivatives in full."""
        return self.design.n_features <= _MOST_COLUMNS

    @cached_property
    def sample(self) -> Objective:
        """The same from some of the records, spread evenly, or from all if they are few."""
        d, n = self.design.n_features, self.design.n_samples
        least = 4 * d if self.is_narrow else 1024
        size = max(least, min(_SAMPLE, _SAMPLE_VALUES // d))
        if n <= 2 * size:
            return self
        rows = np.unique((n * ((_GOLDEN * np.arange(size)) % 1.0)).astype(int))
        part, weight = self.design.take(rows), self.weight * n / rows.size
        return replace(self, design=part, y=self.y[rows], weight=weight, passes=[0])

    def metric(self, theta: np.ndarray) -> Metric:
        """Return an inverse of about the Hessian of J at θ, learnt from the sample."""
        part = self.sample
        curvature = part.loss.curvature(part.y, part.design.matvec(theta))
        return part.inverse(part.weight * np.maximum(curvature, 0.0))

    def majoriser(self) -> Metric:
        """Return the inverse of a matrix that no Hessian of J exceeds."""
        n, most = self.design.n_samples, self.weight * self.loss.smoothness
        if not self.is_narrow:
            most_of_all = most * n * self.row_norm**2 + self.ridge
            return lambda g: g / most_of_all
        return self.inverse(np.full(n, most))

    def inverse(self, weights: np.ndarray) -> Metric:
        """Return the inverse of Aᵀdiag(w)A + λ·I, or of its diagonal if it is large.

        Where λ is lost in rounding, a little more stands for it: no data make it singular.
        """
        if not self.is_narrow:
            diagonal = self.design.gram_diagonal(weights) + self.ridge
            return lambda g: (g.T / diagonal).T
        gram = np.zeros((self.design.n_features, self.design.n_features))
        for start in range(0, weights.size, _SAMPLE):
            rows = slice(start, start + _SAMPLE)
            gram += self.design.take(rows).gram(weights[rows])
        np.fill_diagonal(gram, gram.diagonal() + self.ridge + _SINGULAR * np.trace(gram))
        factor = cho_factor(gram)
        return lambda g: cho_solve(factor, g)


@dataclass(frozen=True, eq=False)
class Minimum:
    """A point, and the gradient there."""

    theta: np.ndarray
    gradient: np.ndarray

    @property
    def length(self) -> float:
        """The length of the gradient."""
        return float(np.linalg.norm(self.gradient))

    def squared(self, metric: Metric) -> float:
        """Return the squared length of the gradient in a metric."""
        return float(np.vdot(self.gradient, metric(self.gradient)))


def minimise(objective: Objective, tolerance: float) -> Minimum:
    """Return a point where the gradient is no longer than `tolerance`.

    A quasi-Newton run does the work. Should it stall, steps of the majoriser M alternate with
    further runs, of which those are kept that help: θ − M⁻¹∇J has the gradient (M − H)M⁻¹∇J with a
    mean Hessian λI ≤ H ≤ M, shorter in the metric M⁻¹ by a factor below 1. So it ends, but for
    rounding: a gradient that is not longer than `Objective.rounding` will do.
    """
    found = _descend(objective, _start(objective), tolerance)
    if _is_done(objective, found, tolerance):
        return found
    majoriser = objective.majoriser()
    while not _is_done(objective, found, tolerance):
        theta = found.theta - majoriser(found.gradient)
        safe = Minimum(theta, objective.gradient(theta))
        found = _descend(objective, safe, tolerance)
        if not _is_done(objective, found, tolerance):
            found = min(safe, found, key=lambda one: one.squared(majoriser))
    return found


def _is_done(objective: Objective, found: Minimum, tolerance: float) -> bool:
    return found.length <= max(tolerance, objective.rounding(found.theta))


def _start(objective: Objective) -> Minimum:
    """Return the minimum for a sample, to about the precision that a sample has, or 0."""
    part, theta = objective.sample, np.zeros_like(objective.tilt)
    if part is not objective:
        of_one = part.weight * part.loss.lipschitz * part.row_norm
        error = 0.1 * of_one * math.sqrt(part.design.n_samples)
        theta = _descend(part, Minimum(theta, part.gradient(theta)), error).theta
    return Minimum(theta, objective.gradient(theta))


def _descend(objective: Objective, found: Minimum, tolerance: float) -> Minimum:
    """Return where a quasi-Newton run reaches `tolerance`, or its best point once it stalls."""
    pairs: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=_PAIRS)
    best, mark, patience, metric = found, found.length, _PATIENCE, None
    while patience and not _is_done(objective, best, tolerance):
        if metric is None:
            metric = objective.metric(found.theta)
        last, found = found, _step(objective, found, _direction(found.gradient, metric, pairs))
        pairs.append((found.theta - last.theta, found.gradient - last.gradient))
        slow = found.squared(metric) > _REFRESH**2 * last.squared(metric)
        metric = None if slow and objective.is_narrow else metric
        best, patience = min(best, found, key=lambda one: one.length), patience - 1
        if best.length <= 0.5 * mark:
            mark, patience = best.length, _PATIENCE
    return best


def _direction(
    gradient: np.ndarray, metric: Metric, pairs: deque[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Return the L-BFGS direction: the metric, corrected by what steps have shown."""
    kept = [(s, y, np.vdot(s, y)) for s, y in pairs if np.vdot(s, y) > 0.0]
    q, shares = gradient.copy(), []
    for s, y, sy in reversed(kept):
        shares.append(np.vdot(s, q) / sy)
        q -= shares[-1] * y
    q = metric(q)
    for (s, y, sy), share in zip(kept, reversed(shares), strict=True):
        q += (share - np.vdot(y, q) / sy) * s
    return -q


def _step(objective: Objective, found: Minimum, direction: np.ndarray) -> Minimum:
    """Return a point along the direction where the slope has about vanished.

    The slope rises along it, since J is convex. Values of J, in which digits cancel, are not used.
    """
    steepest = float(np.vdot(found.gradient, direction))
    low, slope_low, high, slope_high, t = 0.0, steepest, math.inf, 0.0, 1.0
    for _ in range(_TRIALS):
        theta = found.theta + t * direction
        trial = Minimum(theta, objective.gradient(theta))
        slope = float(np.vdot(trial.gradient, direction))
        if abs(slope) <= _FLAT * abs(steepest):
            break
        if slope < 0.0:
            low, slope_low = t, slope
        else:
            high, slope_high = t, slope
        if math.isinf(high):
            t *= 4.0
        else:
            share = slope_low / (slope_low - slope_high)
            t = low + min(max(share, 0.1), 0.9) * (high - low)
    return trial
