"""Algorithms 1 and 2 of Gopi, Lee and Liu: constants, distribution, evaluations."""

import math

import numpy as np
import one_dimension
import pytest
from scipy import integrate, stats

from skdp.exceptions import IncompatibleSolverError
from skdp.losses import HingeLoss, LogisticLoss
from skdp.research import BlackBox, draw_black_box
from skdp.research.samplers.zeroth_order import AlternatingSchedule, ZerothOrderSampler, _Inner

FALSE_ALARM = 1e-6
POINTS = np.array([-1.0, 0.3, 0.5, 2.0])


def distances(rows, theta):
    return 0.15 * np.abs(theta[0] - POINTS[rows])


def black_box(alpha=1.0, **changes):
    facts = {"lipschitz": 0.15, "prior_precision": alpha, "shape": (1,), **changes}
    return BlackBox(distances, n_terms=POINTS.size, **facts)


def with_variance(square):
    """Γ = 1, and η such that σ² = 1/(α + 1/η) is a given number, for α = 1/2."""
    return AlternatingSchedule(
        lipschitz=1.0,
        prior_precision=0.5,
        dimension=1,
        step_size=1.0 / (1.0 / square - 0.5),
        tv=1e-6,
    )


@pytest.mark.parametrize(
    ("square", "bound"), [(1 / 64, 3.6052e-3), (1 / 128, 3.3671e-5), (1 / 400, 4.5366e-13)]
)
def test_the_inner_bound_has_the_printed_values_and_is_its_integral(square, bound):
    schedule = with_variance(square)
    assert schedule.inner_tv == pytest.approx(bound, rel=2e-5)
    s2 = 2.0 * square
    integral, _ = integrate.quad(
        lambda u: math.exp(0.5 * u - u * u / (8.0 * s2)), 1.0, 8.0, epsabs=0.0, epsrel=1e-9
    )
    assert schedule.inner_tv == pytest.approx(integral, rel=1e-6)


@pytest.mark.parametrize(
    ("alpha", "eta", "d", "tv", "n_steps"),
    [(1.0, 0.1, 10, 2e-6, 161), (0.5, 0.05, 100, 2e-10, 1065)],
)
def test_the_number_of_steps_has_the_printed_values(alpha, eta, d, tv, n_steps):
    """From the mode, half of tv left to the start."""
    assert (
        AlternatingSchedule(
            lipschitz=0.0, prior_precision=alpha, dimension=d, step_size=eta, tv=tv
        ).n_steps
        == n_steps
    )


@pytest.mark.parametrize("tv", [1e-2, 1e-6, 1e-12, 1e-100])
def test_the_schedule_keeps_the_bound_and_is_not_wasteful(tv):
    schedule = AlternatingSchedule.within(
        tv, lipschitz=8.0, prior_precision=0.5, dimension=1, radius=math.inf
    )
    assert schedule.n_steps * schedule.inner_tv <= 0.5 * tv
    inner = 0.5 * tv / schedule.n_steps
    asymptotic = 1.0 / (16.0 * schedule.lipschitz**2 * math.log(1.0 / inner))
    assert 0.9 * asymptotic < schedule.step_size < 2.0 * asymptotic


def test_one_inner_step_has_its_distribution_within_the_bound():
    """σ²Γ² = 1/64: bound 3.6e-3, below what 4000 samples can see; false alarms 1e-6."""
    potential, eta, y = black_box(1.0), 0.6**-2 / 64.0, 0.7
    schedule = AlternatingSchedule(
        lipschitz=0.6, prior_precision=1.0, dimension=1, step_size=eta, tv=1e-2
    )
    inner = _Inner(potential, schedule, np.random.default_rng(0))
    sample = np.array([inner.draw(np.array([y]))[0] for _ in range(4000)])
    grid = np.linspace(-0.5, 1.9, 4001)
    energy = sum(distances(np.array([i]), grid[None]) for i in range(4))
    masses = np.exp(-energy - 0.5 * grid**2 - (grid - y) ** 2 / (2.0 * eta))
    cumulative = np.cumsum(masses) / masses.sum()
    distance = stats.kstest(sample, lambda x: np.interp(x, grid, cumulative)).statistic
    limit = math.sqrt(math.log(2.0 / FALSE_ALARM) / (2.0 * 4000))  # Massart's inequality
    assert distance <= limit + schedule.inner_tv


def test_the_estimate_is_unbiased():
    """E ρ = exp(Σ f_i(z) − Σ f_i(x)); six standard errors of 40000 estimates."""
    schedule = AlternatingSchedule(
        lipschitz=0.6, prior_precision=1.0, dimension=1, step_size=0.1, tv=1e-2
    )
    inner = _Inner(black_box(), schedule, np.random.default_rng(1))
    x, z = np.array([-0.6]), np.array([1.1])
    rho = np.array([inner._rho(x, z) for _ in range(40_000)])
    rows = np.arange(4)
    exact = math.exp((distances(rows, z) - distances(rows, x)).sum())
    assert abs(rho.mean() - exact) < 6.0 * rho.std() / 200.0


def test_a_black_box_is_drawn_from_by_values_only_and_repeatably():
    sample = draw_black_box(black_box(), tv=1e-2, n_draws=60, random_state=0)
    grid = np.linspace(-6.0, 6.0, 6001)
    energy = sum(distances(np.array([i]), grid[None]) for i in range(4))
    masses = np.exp(-energy - 0.5 * grid**2)
    cumulative = np.cumsum(masses) / masses.sum()
    test = stats.kstest(sample[:, 0], lambda x: np.interp(x, grid, cumulative))
    assert test.pvalue > FALSE_ALARM
    np.testing.assert_array_equal(
        draw_black_box(black_box(), tv=1e-2, n_draws=2, random_state=0, n_jobs=2), sample[:2]
    )


def test_queries_are_counted():
    asked = []

    def counting(rows, theta):
        asked.append(rows.size)
        return distances(rows, theta)

    potential = BlackBox(counting, n_terms=4, lipschitz=0.15, prior_precision=1.0, shape=(1,))
    draw = ZerothOrderSampler().sample_black_box(potential, 1e-3, np.random.default_rng(2))
    numbers = draw.diagnostics
    assert numbers["n_evaluations"] == sum(asked)
    # e = 2.718 records a try, two values each; two tries a step
    assert numbers["n_evaluations"] / numbers["n_tries"] == pytest.approx(2.0 * math.e, rel=0.25)
    assert numbers["n_tries"] / numbers["n_steps"] == pytest.approx(2.0, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [LogisticLoss(), HingeLoss()], ids=repr)
def test_the_distribution_at_length(loss):
    sampler = ZerothOrderSampler()
    target = one_dimension.suited(sampler, one_dimension.target(loss))
    plan, rng = sampler.plan(one_dimension.setting(target), 1e-6), np.random.default_rng(0)
    sample = [sampler.sample(target, plan, rng, lambda *t: None).theta[0] for _ in range(1000)]
    masses = one_dimension.normalized(-one_dimension.potential(target))
    assert stats.kstest(sample, one_dimension.distribution(masses)).pvalue > FALSE_ALARM


def test_many_rows_and_nonsense_are_refused():
    setting = one_dimension.setting(one_dimension.target(LogisticLoss(), 101))
    with pytest.raises(IncompatibleSolverError, match="max_samples=500"):
        ZerothOrderSampler().check(setting)
    ZerothOrderSampler(max_samples=505).check(setting)
    with pytest.raises(ValueError, match="lipschitz"):
        black_box(lipschitz=-1.0)
    with pytest.raises(ValueError, match="prior_precision"):
        black_box(0.0)
    with pytest.raises(ValueError, match="tv"):
        draw_black_box(black_box(), tv=0.0)
