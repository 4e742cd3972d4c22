"""The proximal (alternating) sampler with an exact inner step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp.samplers.base import Draw, Progress, Sampler, Target

__all__ = ["ProximalSampler"]


@dataclass(frozen=True)
class ProximalSampler(Sampler):
    max_exponent: float = 4.0
    min_steps: int = 32

    def n_steps(self, flow_time: float) -> int:  # noqa: D102
        return max(self.min_steps, math.ceil(flow_time / (2.0 * self.max_exponent)))

    def stability(self, precision_step: float, n_steps: int) -> float:  # noqa: D102
        log_q = -math.log1p(precision_step)
        q_before_last = math.exp((n_steps - 1) * log_q)
        # 1 − 2q^T/(1 + q^(T−1)) without the difference of numbers near 1
        moved = -math.expm1(n_steps * log_q) - q_before_last * math.expm1(log_q)
        return math.sqrt(moved / (1.0 + q_before_last))

    def sample(self, target, step_size, n_steps, rng, progress):
        q = 1.0 / (1.0 + target.prior_precision * step_size)
        s2 = q * step_size
        x = np.zeros(target.shape)
        c, loss, y = target.temperature, target.loss, target.y
        D = target.design
        G = D.gram(np.arange(D.n_samples)[:: max(1, D.n_samples // 3000)], np.ones(len(np.arange(D.n_samples)[:: max(1, D.n_samples // 3000)])))
        G *= max(1, D.n_samples // 3000)
        P = np.linalg.inv(np.eye(D.n_features) + s2 * c * loss.nominal_curvature * G)
        p = x.copy()
        tries = grads = 0
        for t in range(n_steps):
            yy = x + (math.sqrt(step_size) * rng.standard_normal(x.shape) if t else 0.0)
            while True:
                z = D.matvec(p)
                g = loss.gradient(y, z)
                mean = q * yy - s2 * c * D.rmatvec(g)
                grads += 1
                r = mean - p
                if (r * r).sum() < 0.3 * s2:
                    break
                p = p + P @ r
            v = loss.value(y, z)
            while True:
                x = mean + math.sqrt(s2) * rng.standard_normal(x.shape)
                tries += 1
                zx = D.matvec(x)
                d = loss.value(y, zx) - v - ((g * (zx - z)) if z.ndim == 1 else (g * (zx - z)).sum(1))
                if c * d.sum() < rng.exponential():
                    break
            progress(t + 1, n_steps)
        return Draw(x, {"tries": tries, "gradients": grads})
