"""The proximal sampler draws from the exact distribution of its chain.

Distribution tests compare with quadrature by Kolmogorov and Smirnov; each rejects a right sampler
with probability 1e-6.
"""

import math

import numpy as np
import one_dimension
import pytest
from problems import target_with
from scipy import stats

from skdp.design import ClippedDesign
from skdp.losses import (
    ClippedLogisticLoss,
    CompetitorLoss,
    HingeLoss,
    LogisticLoss,
    Minorant,
    SmoothedHingeLoss,
)
from skdp.research.pairwise_loss import PairwiseLoss
from skdp.samplers import SamplerPlan, proximal
from skdp.samplers.proximal import ProximalSampler, TangentSearch

FALSE_ALARM = 1e-6
LOSSES = [LogisticLoss(), ClippedLogisticLoss(), HingeLoss(), SmoothedHingeLoss()]


def nothing(step, n_steps):
    pass


def draws(target, step_size, n_steps, n, seed=0):
    rng = np.random.default_rng(seed)
    plan = SamplerPlan(
        n_steps=n_steps, step=step_size * target.temperature, stability=1.0, spread=1.0
    )
    sample = ProximalSampler().sample
    return np.array([sample(target, plan, rng, nothing).theta for _ in range(n)]).squeeze()


@pytest.mark.parametrize(
    ("loss", "copies", "n_steps"),
    [  # each pair of two of them
        (loss, copies, n_steps)
        for i, loss in enumerate(LOSSES)
        for copies, n_steps in ((1, (1, 3)[i % 2]), (60, (3, 1)[i % 2]))
    ],
    ids=repr,
)
def test_the_state_after_few_long_steps_has_the_exact_distribution(loss, copies, n_steps):
    """One record stands for itself, or 60 copies that are thinned."""
    target = one_dimension.target(loss, copies)
    masses = one_dimension.chain_masses(target, 1.5, n_steps)
    sample = draws(target, 1.5, n_steps, 800)
    assert stats.kstest(sample, one_dimension.distribution(masses)).pvalue > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("n_steps", [1, 2, 5, 20])
@pytest.mark.parametrize("copies", [1, 60], ids=["summed", "thinned"])
@pytest.mark.parametrize("step_size", [0.1, 1.5, 6.0])
def test_the_exact_distribution_at_length(loss, n_steps, copies, step_size):
    target = one_dimension.target(loss, copies)
    masses = one_dimension.chain_masses(target, step_size, n_steps)
    sample = draws(target, step_size, n_steps, 20_000)
    assert stats.kstest(sample, one_dimension.distribution(masses)).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("loss", "mean", "sd"),
    [(LogisticLoss(), 0.202875, 1.008168), (HingeLoss(), 0.350849, 0.979776)],
    ids=repr,
)
def test_the_limit_distribution_has_the_printed_moments(loss, mean, sd):
    masses = one_dimension.chain_masses(one_dimension.target(loss), 2.0, 40)
    grid, step = one_dimension.GRID, one_dimension.STEP
    assert (masses * grid).sum() * step == pytest.approx(mean, abs=2e-6)
    assert math.sqrt((masses * (grid - mean) ** 2).sum() * step) == pytest.approx(sd, abs=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2000, 60_000])
def test_two_dimensions_have_the_printed_moments(n):
    """Standard errors are 1.1/√n and 1.7/√n; 5.6 of them alarm falsely 1e-6 of the time in all.

    A temperature or a ridge that is wrong by two changes a variance by more than 0.3, and 2000
    draws then see it 99 times in 100.
    """
    rows = [(1, 0.2), (-0.5, 0.6), (0.3, -0.9), (0.1, 0.7), (-0.8, -0.3), (0.4, 0.4)]
    target = target_with(
        ClippedDesign.clip(np.array(rows), 2.0, targets=np.ones(6)), LogisticLoss(), 2.0, 0.8, 0.5
    )
    sample = draws(target, 2.0, 12, n)
    np.testing.assert_allclose(sample.mean(axis=0), (0.226777, 0.332496), atol=6.2 / math.sqrt(n))
    covariance = [(1.174216, -0.025232), (-0.025232, 1.208936)]
    np.testing.assert_allclose(np.cov(sample.T), covariance, atol=9.6 / math.sqrt(n))


def test_the_pairwise_loss_of_two_classes_is_the_loss_of_their_margin():
    """With K = 2 and θ = (−v, v)/√2 the loss is φ/2 of the margin √2·v: one dimension again."""
    loss = ClippedLogisticLoss()
    pair = one_dimension.target(loss)
    X = pair.design.X * math.sqrt(0.5)
    target = target_with(
        ClippedDesign.clip(X, 2.0, targets=np.ones(5, dtype=int)),
        PairwiseLoss(loss, 2),
        2.0,
        2.0 * pair.temperature,
        pair.prior_precision,
    )
    theta = draws(target, 1.5, 2, 1500)
    masses = one_dimension.chain_masses(pair, 1.5, 2)
    difference = (theta[:, 1] - theta[:, 0]) * math.sqrt(0.5)
    assert stats.kstest(difference, one_dimension.distribution(masses)).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    "loss",
    [LogisticLoss(), pytest.param(SmoothedHingeLoss(0.2), marks=pytest.mark.slow)],
    ids=repr,
)
def test_the_loss_of_several_classes_has_the_exact_distribution(loss):
    """For K = 2 and θ = (−v, v)/√2 the scores are ∓v·a/√2: the distribution of v by quadrature."""
    loss = CompetitorLoss(loss, 2)
    y, X = np.array([0, 1, 1, 0, 1]), one_dimension.RECORDS[:, None]
    target = target_with(ClippedDesign.clip(X, 2.0, targets=y), loss, 2.0, 0.8, 0.5)
    theta = draws(target, 1.5, 1, 1500)
    scores = X * one_dimension.GRID * math.sqrt(0.5)
    energy = sum(
        0.8 * loss.value(np.full(scores.shape[1], y[i]), np.stack([-scores[i], scores[i]], axis=1))
        for i in range(5)
    )
    square = one_dimension.GRID**2
    masses = one_dimension.normalized(-energy - 0.25 * square - square / (2.0 * 1.5))
    difference = (theta[:, 1] - theta[:, 0]) * math.sqrt(0.5)
    assert stats.kstest(difference, one_dimension.distribution(masses)).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("alpha", "eta", "n_steps", "lipschitz", "mu"),
    [
        (1.0, 1.0, 1, 1.0, 0.70710678),
        (1.0, 1.0, 3, 1.0, 0.89442719),
        (1.0, 0.1, 10, 1.0, 0.67715857),
        (1.0, 0.02, 30, 1.0, 0.54187275),
        (2.0, 0.05, 100, 0.5, 0.35352774),
    ],
)
def test_stability_has_the_printed_values(alpha, eta, n_steps, lipschitz, mu):
    f = ProximalSampler().stability(alpha * eta, n_steps)
    assert lipschitz / math.sqrt(alpha) * f == pytest.approx(mu, abs=5e-9)


def test_stability_keeps_its_digits_when_the_ridge_vanishes():
    """f² → (T + 1)·αη/2 as αη → 0."""
    f = ProximalSampler().stability(1e-13, 32)
    assert f**2 == pytest.approx(0.5 * 33 * 1e-13, rel=1e-10)


def test_the_certificate_covers_the_exact_distributions_of_a_worst_pair():
    """Two targets that differ by one linear record: by quadrature, they stay below f·L/√α.

    The loss of record z is linear for all θ that matter, so the bound is nearly attained.
    """
    steep = HingeLoss()
    one = one_dimension.target(steep, temperature=0.02)
    two = one_dimension.relabeled(one, one.design.targets * [1, 1, 1, 1, -1])
    both_masses = []
    for target in (one, two):
        margins = target.design.targets[:, None] * target.design.scores(one_dimension.GRID[None, :])
        energy = 0.02 * (1.0 - margins).sum(axis=0) + 0.25 * one_dimension.GRID**2
        masses = one_dimension.normalized(-energy - one_dimension.GRID**2 / 2.0)
        step = one_dimension.transition(energy, 1.0)
        for _ in range(4):
            masses = step(masses)
        both_masses.append(masses)
    total_variation = 0.5 * np.abs(both_masses[0] - both_masses[1]).sum() * one_dimension.STEP
    exact_mu = 2.0 * stats.norm.ppf(0.5 * (1.0 + total_variation))
    claimed = ProximalSampler().stability(0.5, 5) * 0.02 * 2.0 / math.sqrt(0.5)
    assert 0.9 * claimed < exact_mu <= claimed


def test_more_steps_for_longer_runs_and_never_too_few():
    sampler = ProximalSampler(max_exponent=4.0, min_steps=32)
    assert [sampler.n_steps(x, 1) for x in (0.0, 128.0, 129.0, 768.0)] == [32, 32, 33, 192]
    assert [sampler.n_steps(x, 3) for x in (0.0, 64.0, 768.0)] == [32, 32, 384]


def test_the_preconditioner_is_seldom_computed(monkeypatch, rng):
    """It is computed again only after steps that took more than their one gradient."""
    compute, seen = TangentSearch._preconditioner, []

    def counting(self, *args):
        seen.append(1)
        return compute(self, *args)

    monkeypatch.setattr(TangentSearch, "_preconditioner", counting)
    X = rng.normal(size=(2000, 10))
    y = np.where(X[:, 0] + rng.logistic(size=2000) > 0.0, 1.0, -1.0)
    target = target_with(
        ClippedDesign.clip(X, 1.0, targets=y), ClippedLogisticLoss(), 1.0, 0.5, 1e-3
    )
    plan = SamplerPlan(n_steps=100, step=0.5 * 0.02, stability=1.0, spread=1.0)
    ProximalSampler().sample(target, plan, rng, nothing)
    assert len(seen) <= 8


@pytest.mark.parametrize(("n", "variance"), [(5, 1.0), (2000, 0.01)], ids=["summed", "thinned"])
def test_scores_at_the_tangent_point_are_computed_once(n, variance, monkeypatch, rng):
    """One score for each row of a gradient, and one for each row of an acceptance test."""
    rows = {"scores": 0, "weighted_sum": 0, "excess": 0}

    def counted(owner, name, n_rows):
        old = getattr(owner, name)

        def new(self, *args):
            rows[name] += n_rows(self, *args)
            return old(self, *args)

        monkeypatch.setattr(owner, name, new)

    counted(ClippedDesign, "scores", lambda design, theta: design.n_samples)
    counted(ClippedDesign, "weighted_sum", lambda design, residual: design.n_samples)
    counted(Minorant, "excess", lambda minorant, y, z, origin: y.size)
    target = target_with(
        ClippedDesign.clip(rng.normal(size=(n, 10)), 1.0, targets=np.ones(n)),
        ClippedLogisticLoss(),
        1.0,
        2.0,
        0.1,
    )
    step = proximal.TangentStep(target, variance, rng)
    for _ in range(20):
        step.draw(rng.normal(size=10))
    assert rows["excess"] > 0
    assert rows["scores"] == rows["weighted_sum"] + rows["excess"] == step.effort.n_evaluations


def test_a_poor_tangent_point_costs_tries_but_not_the_distribution(monkeypatch):
    monkeypatch.setattr(proximal, "_MOST_STEPS", 2)
    monkeypatch.setattr(proximal._Preconditioner, "moved", lambda self, p, r, *more: p + 0.3 * r)
    target = one_dimension.target(LogisticLoss())
    masses = one_dimension.chain_masses(target, 1.5, 3)
    sample = draws(target, 1.5, 3, 1500)
    assert stats.kstest(sample, one_dimension.distribution(masses)).pvalue > FALSE_ALARM
