"""Ten coefficients: independent samples of certified samplers against a long reference chain."""

import math
from functools import cache

import numpy as np
import pytest
from problems import target_with
from scipy import stats

from skdp.design import ClippedDesign
from skdp.losses import LogisticLoss, SmoothedHingeLoss
from skdp.research import draw_samples
from skdp.research.samplers.diagnostics import effective_sample_size, split_rhat
from skdp.research.samplers.reference import Density, _Chain

N, D = 300, 10


def data():
    rng = np.random.default_rng(11)
    X = rng.standard_normal((N, D)) / 4.0
    X[:, 1] += 0.8 * X[:, 0]
    y = np.where(rng.random(N) < 1.0 / (1.0 + np.exp(-4.0 * X[:, 0])), 1.0, -1.0)
    return X, y


@cache
def reference(loss, n_steps):
    """Four chains of MALA after a tenth of burn-in, of shape (4, n_steps, D)."""
    X, y = data()
    design = ClippedDesign(X, np.ones(N), targets=y)
    density = Density(target_with(design, loss, float(design.row_norms().max()), 1.0, 2.0))
    chains, rng = [], np.random.default_rng(5)
    for _ in range(4):
        chain, states = _Chain(density, np.zeros(D), 1.0, rng), []
        for _ in range(n_steps + n_steps // 10):
            chain.move()
            states.append(chain.theta)
        chains.append(states[n_steps // 10 :])
    return np.array(chains)


def disagreement(sample, chains):
    """Largest |z| of means and of second moments around the reference's mean."""
    center, worst = chains.mean(axis=(0, 1)), 0.0
    for power in (1, 2):
        a, b = (sample - center) ** power, (chains - center) ** power
        for j in range(D):
            size = effective_sample_size(b[:, :, j])
            error = math.hypot(
                a[:, j].std() / math.sqrt(len(a)), b[:, :, j].std() / math.sqrt(size)
            )
            worst = max(worst, abs(a[:, j].mean() - b[:, :, j].mean()) / error)
    return worst


def check_agreement(loss, sampler, n_draws, n_steps):
    """Twenty |z| below 7: it alarms falsely less than 1e-7 of the time, by the tails of χ²(150)."""
    X, y = data()
    chains = reference(loss, n_steps)
    assert max(split_rhat(chains[:, :, j]) for j in range(D)) < 1.1
    sample = draw_samples(
        X, y, loss=loss, prior_precision=2.0, sampler=sampler, n_draws=n_draws, random_state=6
    )
    assert disagreement(sample, chains) < 7.0
    assert disagreement(1.5 * sample + 1.0, chains) > 7.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "sampler", ["cheapest", pytest.param("proximal_tv", marks=pytest.mark.slow)]
)
def test_means_and_variances_agree_with_a_long_chain(sampler):
    check_agreement(LogisticLoss(), sampler, 150, 1500)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [LogisticLoss(), SmoothedHingeLoss()], ids=repr)
@pytest.mark.parametrize("sampler", ["cheapest", "proximal", "proximal_tv", "localized"])
def test_they_agree_at_length(loss, sampler):
    check_agreement(loss, sampler, 1000, 15_000)


def test_streams_are_independent():
    """Successive samples of one call, and of two seeds, are uncorrelated: |r|·√n below 5.5."""
    X, y = data()
    facts = {"prior_precision": 2.0, "n_draws": 400}
    one, two = (draw_samples(X[:20], y[:20], random_state=seed, **facts) for seed in (1, 2))
    for a, b in ((one[1:], one[:-1]), (one[2:], one[:-2]), (one, two)):
        for j in range(D):
            r = stats.pearsonr(a[:, j], b[:, j]).statistic
            assert abs(r) * math.sqrt(len(a)) < 5.5
