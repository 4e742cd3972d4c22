"""Records drawn from a known distribution, so that risks and their least values are exact.

The distribution is uniform on a finite pool of records of norm 1, with labels of a noisy linear
rule; its risk is a mean over the pool. The loss is the hinge loss, which is not smooth.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from skdp.research import draw_samples
from skdp.research.samplers.reference import HingeGibbsSampler

SENSITIVITY = 2.0
"""G: the losses of two records of norm 1 differ by a 2-Lipschitz function."""


@dataclass(frozen=True, eq=False)
class Pool:
    """The uniform distribution on records (X_i, y_i)."""

    X: np.ndarray
    y: np.ndarray

    @classmethod
    def noisy_rule(cls, d, rng, size=4096):
        """Return a pool in d dimensions in which 3 of 10 labels or so are wrong."""
        X = rng.normal(size=(size, d))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        direction = rng.normal(size=d)
        scores = np.sqrt(d) * X @ direction / np.linalg.norm(direction)
        return cls(X, np.where(scores + rng.logistic(size=size) > 0.0, 1.0, -1.0))

    def sample(self, n, rng):
        """Return n independent records."""
        rows = rng.integers(len(self.y), size=n)
        return Pool(self.X[rows], self.y[rows])

    def risk(self, thetas):
        """Return the mean hinge loss of each row of `thetas`."""
        return np.maximum(0.0, 1.0 - self.y[:, None] * (self.X @ thetas.T)).mean(axis=0)

    def minimizer(self):
        """Return a minimizer of the risk on all of R^d, by linear programming."""
        n, d = self.X.shape
        rows = sparse.hstack([sparse.csr_matrix(-self.y[:, None] * self.X), -sparse.eye(n)])
        bounds = [(None, None)] * d + [(0.0, None)] * n
        cost = np.r_[np.zeros(d), np.full(n, 1.0 / n)]
        answer = linprog(cost, A_ub=rows.tocsr(), b_ub=-np.ones(n), bounds=bounds, method="highs")
        return answer.x[:d]


def posterior(data, k, mu, diameter, n_draws, rng):
    """Draw from exp(−k·(F + μ·|θ|²/2)) on the ball |θ| ≤ diameter/2, F the risk on `data`.

    What falls outside of the ball is drawn again. The Gibbs sampler of the hinge loss is by far
    the cheapest here; `bench_samplers.py` compares its distribution with the exact one.
    """
    kept = np.empty((0, data.X.shape[1]))
    while len(kept) < n_draws:
        thetas = draw_samples(
            data.X,
            data.y,
            loss="hinge",
            temperature=k / len(data.y),
            prior_precision=k * mu,
            sampler=HingeGibbsSampler(n_steps=100),
            n_draws=n_draws,
            random_state=int(rng.integers(2**31)),
        )
        kept = np.concatenate([kept, thetas[np.linalg.norm(thetas, axis=1) <= 0.5 * diameter]])
    return kept[:n_draws]
