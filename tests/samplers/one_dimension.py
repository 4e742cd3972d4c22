"""Exact laws of the chain for one coefficient, by quadrature on a grid."""

from dataclasses import replace

import numpy as np

from skdp.design import ClippedDesign
from skdp.samplers import Setting, Target

RECORDS = np.array([1.0, -0.5, 0.75, 0.25, -1.0])
GRID = np.linspace(-12.0, 12.0, 4801)
STEP = GRID[1] - GRID[0]


def target(loss, copies=1, temperature=0.8, prior_precision=0.5):
    """Five records z with label +1: U(θ) = c·Σ ℓ(z_i·θ) + α·θ²/2."""
    X = np.tile(RECORDS, copies)[:, None]
    design = ClippedDesign.clip(X, 2.0)
    y = np.ones(len(X))
    return Target(design, y, loss, 2.0, temperature / copies, prior_precision)


def setting(target, relaxations=20.0, **changes):
    """What is public about a target; a run flows for some times 1/α in the clock of η."""
    C = target.temperature / target.prior_precision
    n, d = target.design.n_samples, target.design.n_features
    facts = Setting(target.loss, target.row_norm, n, True, d, C, relaxations * C)
    return replace(facts, **changes)


def potential(target):
    margins = target.design.matvec(GRID[None, :])
    losses = target.loss.value(np.ones_like(margins), margins)
    return target.temperature * losses.sum(axis=0) + 0.5 * target.prior_precision * GRID**2


def normalised(log_density):
    density = np.exp(log_density - log_density.max())
    return density / (density.sum() * STEP)


def chain_law(target, step_size, n_steps):
    """Density of the state after n steps from 0, the first half step left out."""
    energy = potential(target)
    law = normalised(-energy - GRID**2 / (2.0 * step_size))
    for _ in range(n_steps - 1):
        law = one_step(law, energy, step_size)
    return law


def one_step(law, energy, step_size):
    coarse = slice(None, None, 8)  # the centers y; their integrand is smooth at this spacing
    kernel = np.exp(-((GRID[coarse, None] - GRID[None, :]) ** 2) / (2.0 * step_size))
    moved = kernel @ law
    backward = kernel * np.exp(-energy + energy.min())
    backward /= backward.sum(axis=1, keepdims=True) * STEP
    new = (moved / moved.sum()) @ backward
    return new / (new.sum() * STEP)


def distribution(law):
    cumulative = np.cumsum(law) * STEP
    return lambda x: np.interp(x, GRID + 0.5 * STEP, cumulative)
