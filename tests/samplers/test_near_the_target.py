"""Samplers of the target itself: distances by quadrature, and costs that are known beforehand."""

import math

import numpy as np
import one_dimension
import pytest
from problems import target_with

from skdp import DPLogisticRegression
from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import HingeLoss, HuberLoss, LogisticLoss
from skdp.research.samplers.localized import LocalizedSampler
from skdp.research.samplers.proximal_chain import ProximalTVSampler, n_steps_to
from skdp.samplers.proximal import ExactSampler

TARGETS = [one_dimension.target(loss) for loss in (LogisticLoss(), HingeLoss())] + [
    one_dimension.regression_target(loss)
    for loss in (
        HuberLoss(1.0),
        one_dimension.NonSmoothLoss(1.0, 1.0),
        one_dimension.NonSmoothLoss(0.3, 0.7),
    )
]


def nothing(step, n_steps):
    pass


@pytest.mark.parametrize(
    ("alpha", "eta", "d", "tv", "n_steps"),
    [(1.0, 0.1, 10, 1e-6, 161), (0.5, 0.05, 100, 1e-10, 1065)],
)
def test_the_number_of_steps_has_the_printed_values(alpha, eta, d, tv, n_steps):
    assert n_steps_to(tv, alpha * eta, math.sqrt(d)) == n_steps


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: repr(target.loss))
@pytest.mark.parametrize(("eta", "start"), [(0.1, 3.0), (0.6, 0.0), (0.6, 3.0), (4.0, 3.0)])
def test_the_distance_to_the_target_lies_below_the_bound_after_every_step(target, eta, start):
    energy, grid = one_dimension.potential(target), one_dimension.GRID
    limit = one_dimension.normalized(-energy)
    mode = grid[energy.argmin()]
    distance = math.sqrt(1.0 / 0.5) + abs(start - mode) + one_dimension.STEP
    masses = one_dimension.normalized(-((grid - start) ** 2) / (2.0 * one_dimension.STEP**2))
    step = one_dimension.transition(energy, eta)
    for n_steps in range(1, 13):
        masses = step(masses)
        bound = distance / math.sqrt(2.0 * math.pi * eta) / (1.0 + 0.5 * eta) ** (n_steps - 1)
        tv = 0.5 * np.abs(masses - limit).sum() * one_dimension.STEP
        assert tv <= bound
        assert n_steps_to(max(tv, 1e-12), 0.5 * eta, distance * math.sqrt(0.5)) >= n_steps


@pytest.mark.parametrize("tv", [1e-3, 1e-8])
def test_step_and_length_fit_the_data_and_reach_what_is_asked_for(tv):
    """The bound, from the numbers of the run alone, with a start at the mode at best."""
    lengths, rng = [], np.random.default_rng(0)
    for n in (5, 100):
        design = ClippedDesign.clip(rng.standard_normal((n, 20)), 2.0, targets=np.ones(n))
        target = target_with(design, LogisticLoss(), 2.0, 0.8, 0.5)
        plan = ProximalTVSampler().plan(one_dimension.setting(target), tv)
        found = ProximalTVSampler().sample(target, plan, rng, nothing)
        eta, T = found.diagnostics["step_size"], found.diagnostics["n_steps"]
        least = math.sqrt(20.0 / 0.5) / math.sqrt(2.0 * math.pi * eta)
        assert math.log(least) - (T - 1) * math.log1p(0.5 * eta) <= math.log(tv)
        assert plan.n_steps == 1
        lengths.append(T)
    assert lengths[0] < lengths[1]


@pytest.mark.parametrize(("loss", "n"), [(LogisticLoss(), 400), (HingeLoss(), 80)], ids=repr)
def test_the_exact_sampler_needs_no_more_proposals_than_it_says(loss, n):
    """Sixty equal records of the largest norm: the mean lies 5 standard errors below."""
    X = np.full((60, 1), 2.0)
    target = target_with(ClippedDesign.clip(X, 2.0, targets=np.ones(60)), loss, 2.0, 0.05, 0.5)
    setting = one_dimension.setting(target)
    limit = math.exp(ExactSampler().exponent(setting))
    plan, rng = ExactSampler().plan(setting, 0.0), np.random.default_rng(0)
    tries = [
        ExactSampler().sample(target, plan, rng, nothing).diagnostics["n_tries"] for _ in range(n)
    ]
    assert np.mean(tries) - 5.0 * np.std(tries) / math.sqrt(n) <= limit


def test_the_exact_sampler_refuses_by_public_facts_before_it_starts():
    setting = one_dimension.setting(one_dimension.target(LogisticLoss()))
    ExactSampler().check(setting)
    wide = one_dimension.replace(setting, n_features=300, n_samples=10**6)
    with pytest.raises(IncompatibleSolverError, match=r"e\^1.* proposals "):
        ExactSampler().check(wide)
    ExactSampler(max_exponent=1e4).check(wide)


@pytest.mark.parametrize("kind", [ProximalTVSampler, LocalizedSampler])
def test_the_adaptive_samplers_refuse_what_may_take_for_ever(kind):
    setting = one_dimension.setting(one_dimension.target(LogisticLoss()))
    many = one_dimension.replace(setting, C=10.0, n_features=30, n_samples=10**5)
    with pytest.raises(IncompatibleSolverError, match=r"max_passes=1000000"):
        kind().plan(many, 1e-9)
    kind(max_passes=1e12).plan(many, 1e-9)
    kind().plan(setting, 1e-9)
    kind().plan(setting, 1e-270)
    with pytest.raises(IncompatibleSolverError, match="a row count"):
        kind().check(one_dimension.replace(setting, n_samples=None))


@pytest.mark.parametrize("sampler", ["proximal_tv", "localized"])
def test_a_huge_epsilon_is_refused_before_it_is_spent(sampler, unspent, rng):
    """The distance asked for is then of the size of e^−600."""
    X, y = rng.normal(size=(20_000, 40)), np.arange(20_000) % 2
    model = DPLogisticRegression(epsilon=600.0, delta=1e-6, sampler=sampler, budget=unspent)
    with pytest.raises(IncompatibleSolverError, match="max_passes"):
        model.fit(X, y)


@pytest.mark.parametrize("n", [3, 50])
def test_the_worst_data_have_the_rank_of_their_rows_or_columns(n):
    """n equal eigenvalues in 50 columns: orthogonal rows of length R at margin 0."""
    setting = one_dimension.setting(one_dimension.target(LogisticLoss()))
    setting = one_dimension.replace(setting, n_samples=n, n_features=50)
    each = math.log1p(setting.C * 0.25 * 4.0)
    assert ExactSampler().exponent(setting) == pytest.approx(0.5 * n * each)


def test_what_is_certified_anew_needs_a_theorem_of_its_own():
    class Hopeful(ExactSampler):
        certifies = "asymptotic"

    class Renamed(ExactSampler):
        pass

    assert "Hopeful" in Hopeful.theorem
    assert Renamed.theorem == ExactSampler.theorem
