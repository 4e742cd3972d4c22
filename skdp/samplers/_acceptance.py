"""An event of probability exp(−c·Σ D_i), without looking at every D_i."""

from __future__ import annotations

import numpy as np

from skdp.samplers.base import Target

__all__ = ["accept"]

_CHUNK = 512
_ROUNDING = 1e-9


def accept(target: Target, origin: np.ndarray, theta: np.ndarray, rng: np.random.Generator) -> bool:
    """Accept θ with probability exp(−c·Σ D_i), D_i the Bregman divergence of record i's loss.

    D_i = ℓ_i(θ) − ℓ_i(θ₀) − ∇ℓ_i(θ₀)·(θ − θ₀) ≥ 0, with θ₀ = `origin`. All D_i lie below one bound
    b, so the event is drawn by thinning: of Poisson(n·c·b) records taken at random, each is a hit
    with probability D_i/b, and the number of hits is Poisson(c·Σ D_i); accept if it is 0. That
    reads a few hundred rows, however large n. Where the bound is so weak that all n rows would be
    read, the sum is compared with an exponential variable instead. Both are exact.
    """
    n = target.design.n_samples
    radius = target.row_norm * float(np.linalg.norm(theta - origin)) * (1.0 + _ROUNDING)
    bound = target.loss.bregman_bound(radius)
    if target.temperature * bound < 1.0:
        return not _any_hit(
            target, origin, theta, bound, rng.poisson(n * target.temperature * bound), rng
        )
    return _sum_is_below(target, origin, theta, rng.standard_exponential())


def _any_hit(
    target: Target,
    origin: np.ndarray,
    theta: np.ndarray,
    bound: float,
    count: int,
    rng: np.random.Generator,
) -> bool:
    for start in range(0, count, _CHUNK):
        rows = rng.integers(target.design.n_samples, size=min(_CHUNK, count - start))
        if (rng.random(rows.size) * bound < _bregman(target, rows, origin, theta)).any():
            return True
    return False


def _sum_is_below(target: Target, origin: np.ndarray, theta: np.ndarray, limit: float) -> bool:
    for rows, _ in target.design.blocks():
        limit -= target.temperature * _bregman(target, rows, origin, theta).sum()
        if limit < 0.0:
            return False
    return True


def _bregman(target: Target, rows: object, origin: np.ndarray, theta: np.ndarray) -> np.ndarray:
    block = target.design.take(rows)
    return target.loss.bregman(target.y[rows], block.matvec(theta), block.matvec(origin))
