"""Exact distributions of the chain for one coefficient, by quadrature on a grid."""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import cycle, product

import numpy as np
import pytest
from problems import target_with

from skdp.design import ClippedDesign
from skdp.losses import Minorant, ResidualLoss
from skdp.samplers import Setting

RECORDS = np.array([1.0, -0.5, 0.75, 0.25, -1.0])
OFFSETS = np.array([0.3, -0.2, 0.5, -1.0, 0.1])
GRID = np.linspace(-12.0, 12.0, 4801)
STEP = GRID[1] - GRID[0]


@dataclass(frozen=True)
class NonSmoothLoss(ResidualLoss):
    """max(−below·r, above·r): the absolute loss or a pinball loss, as sharp as they are.

    Its minorants are lines through the non-smooth point; their derivative changes over 0.1
    residuals.
    """

    below: float
    above: float

    noise_scale = 1.0
    smoothness = np.inf

    @property
    def lipschitz(self):
        return max(self.below, self.above)

    def value_at(self, r):
        return np.maximum(-self.below * r, self.above * r)

    def derivative(self, r):
        return np.where(r > 0.0, self.above, -self.below)

    @property
    def minorant(self):
        lines = _Lines(self.below, self.above)
        return Minorant(self, lines, gap=0.1 * self.lipschitz**2)


@dataclass(frozen=True)
class _Lines(NonSmoothLoss):
    """Lines through the non-smooth point."""

    smoothness = 10.0

    def value_at(self, r):
        return self.derivative(r) * r

    def derivative(self, r):
        return np.clip(10.0 * r, -self.below, self.above)


def short_and_long(n):
    """Mark a test of n samples, and a slow one of 20·n.

    At a false-alarm rate of 1e-6, Kolmogorov and Smirnov's test needs a distance of 2.7/√n.
    """
    return pytest.mark.parametrize("n", [n, pytest.param(20 * n, marks=pytest.mark.slow)])


def covered_and_long(n, losses, values, names):
    """Mark a test of n samples of each loss with one of the values, and slow ones of all pairs."""
    short = [(loss, value, n) for loss, value in zip(losses, cycle(values), strict=False)]
    slow = [(*pair, 20 * n) for pair in product(losses, values)]
    return pytest.mark.parametrize(
        names,
        short + [pytest.param(*one, marks=pytest.mark.slow) for one in slow],
        ids=lambda value: repr(getattr(value, "loss", value)),
    )


def target(loss, copies=1, temperature=0.8, prior_precision=0.5):
    """Five records z with label +1: U(θ) = c·Σ ℓ(z_i·θ) + α·θ²/2."""
    X = np.tile(RECORDS, copies)[:, None]
    design = ClippedDesign.clip(X, 2.0, targets=np.ones(len(X)))
    return target_with(design, loss, 2.0, temperature / copies, prior_precision)


def relabeled(target, y):
    """The same records with other labels."""
    return replace(target, design=replace(target.design, targets=y))


def regression_target(loss):
    """The same for residuals z_i·θ + o_i."""
    return relabeled(target(loss), -OFFSETS)


def suited(sampler, target):
    """The target, or one that suits a sampler whose steps are short and many."""
    if hasattr(sampler, "sample_black_box") or hasattr(sampler, "share_of_steps"):
        return replace(target, temperature=0.025 * target.temperature, row_norm=1.0)
    return target


def setting(target, relaxations=20.0, **changes):
    """What is public about a target; a run flows for some times 1/α in the clock of η."""
    C = target.temperature / target.prior_precision
    n, d = target.design.n_samples, target.design.n_features
    t, alpha = relaxations * C, target.prior_precision
    facts = Setting(
        loss=target.loss,
        row_norm=target.row_norm,
        n_samples=n,
        n_is_public=True,
        n_features=d,
        C=C,
        flow_time=t,
        prior_precision=alpha,
    )
    return replace(facts, **changes)


def potential(target, grid=GRID):
    losses = target.loss.value(target.design.targets[:, None], target.design.scores(grid[None, :]))
    return target.temperature * losses.sum(axis=0) + 0.5 * target.prior_precision * grid**2


def normalized(log_density):
    density = np.exp(log_density - log_density.max())
    return density / (density.sum() * STEP)


def chain_masses(target, step_size, n_steps):
    """Density of the state after n steps from 0, the first half step left out."""
    energy = potential(target)
    masses = normalized(-energy - GRID**2 / (2.0 * step_size))
    step = transition(energy, step_size) if n_steps > 1 else None
    for _ in range(n_steps - 1):
        masses = step(masses)
    return masses


@lru_cache(maxsize=4)
def gaussians(variance):
    """Return e^(−(y − x)²/2η) for centers y, whose integrand is smooth at a coarse spacing."""
    return np.exp(-((GRID[::8, None] - GRID[None, :]) ** 2) / (2.0 * variance))


def transition(energy, step_size):
    """A step of the chain: from the density of a state to that of the next one."""
    kernel = gaussians(step_size)
    backward = kernel * np.exp(-energy + energy.min())
    backward /= backward.sum(axis=1, keepdims=True) * STEP

    def step(masses):
        moved = kernel @ masses
        new = (moved / moved.sum()) @ backward
        return new / (new.sum() * STEP)

    return step


def distribution(masses):
    cumulative = np.cumsum(masses) * STEP
    return lambda x: np.interp(x, GRID + 0.5 * STEP, cumulative)
