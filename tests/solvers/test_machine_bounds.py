"""The derived bounds of rounding errors, computed again in fractions, and who covers them."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from skdp.accounting import gdp_mu
from skdp.design import ClippedDesign
from skdp.design.base import ROWS_SUMMED
from skdp.losses import (
    ClippedLogisticLoss,
    HuberLoss,
    LogisticLoss,
    Loss,
    MultinomialLoss,
    SquaredLoss,
)
from skdp.privacy import Neighboring
from skdp.solvers import (
    DPSGD,
    AdaSSP,
    NoisyGD,
    ObjectivePerturbation,
    OutputPerturbation,
    Problem,
)
from skdp.solvers._minimizer import Minimum, longest, of_projection
from skdp.solvers._releases import center_sum, gradient_sum, gram_sum, mean_sum, moment_sum
from skdp.support.random import likely_size

U = Fraction(1, 2**53)
BLOCKS = 2**31
REPLACE, ADD = Neighboring.REPLACE_ONE, Neighboring.ADD_REMOVE_ONE
ROUNDED_UP = Fraction(1, 10**11)  # bounds are, by 10^−12


def gamma(k):
    return Fraction(k) * U / (1 - Fraction(k) * U)


def problem(loss=None, n=1000, d=7, **more):
    facts = {"data_norm": 1.0, "intercept_scaling": 0.75, "neighboring": REPLACE, "n_features": d}
    return Problem(loss=loss or LogisticLoss(), n_samples=n, **facts | more)  # R = 5/4 exactly


def of_factors(d, clips):
    """A clip factor is off by half of the d units of a sum of squares, and by eight."""
    return gamma(Fraction(clips) * (Fraction(d, 2) + 8))


def of_blocks(sums):
    """Errors of the grid: half a fine step for each of 2^31 blocks, in each number.

    In the units of rows a step may be twice as wide as in those of the bound.
    """
    return Fraction(BLOCKS) * Fraction(sums.grid.fine_step) * root(sums.dimension)


def root(number):
    return Fraction(math.isqrt(number << 120)) / 2**60


def assert_covered(sums, each, n):
    """Both neighbors' sums may be off by n·`each` and by the grid, and no more is charged."""
    wanted = 2 * (Fraction(n) * each + of_blocks(sums))
    assert wanted <= Fraction(sums.errors) <= wanted * (1 + ROUNDED_UP)
    assert Fraction(sums.sensitivity) >= Fraction(sums.between) + Fraction(sums.errors)


LOSSES = (LogisticLoss(), ClippedLogisticLoss(0.35), HuberLoss(0.15), MultinomialLoss(4))


class TestBounds:
    """Theorems 1 and 2 of *Machine numbers*, with M the number of rows of a block."""

    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    @pytest.mark.parametrize(("n", "d"), [(10, 2), (10**6, 40), (10**7, 10**6)])
    @pytest.mark.parametrize("clips", [1.0, 10.5])
    @pytest.mark.parametrize("share", [1.0, 0.03])
    def test_gradients(self, loss, n, d, clips, share):
        facts = problem(loss, n, d, clips=clips)
        R, L, beta = (Fraction(x) for x in (facts.row_norm, loss.lipschitz, loss.smoothness))
        C, K = Fraction(share) * L * R, loss.n_scores
        sums = gradient_sum(facts, float(C) if share < 1.0 else math.inf)
        relative, of_rows = gamma(ROWS_SUMMED + 16), L * R * of_factors(d, clips)
        if share < 1.0:
            relative += of_factors(d + K, 1)
        scores = beta * R**2 * (gamma(d + 4) + of_factors(d, clips))
        radius = Fraction(sums.radius) * (1 + gamma(d * K + 8))
        others = L * R * (32 + K) * U + 4 * root(K) * beta * R * U
        assert_covered(sums, C * relative + of_rows + others + scores * radius, n)
        assert Fraction(sums.between) >= 2 * C

    @pytest.mark.parametrize("clips", [1.0, 10.5])
    def test_other_sums(self, clips):
        facts, n, d = problem(n=10**6, d=30, clips=clips), 10**6, 30
        R, added = Fraction(facts.row_norm), gamma(ROWS_SUMMED + 16)
        factors = of_factors(d, clips)
        assert_covered(gram_sum(facts), R**2 * (added + 2 * factors), n)
        assert_covered(moment_sum(facts, 1.0), 2 * added + 3 * factors, n)
        center = center_sum(facts, d - 1, 1.0)
        assert_covered(center, 2 * (added + of_factors(d - 1, clips)), n)
        scores = R * Fraction(17.0) * (gamma(d + 4) + factors)
        means = 2 * (added + 32 * U) + scores
        assert_covered(mean_sum(facts, 1.0, 2.0, 17.0, 3), means, n)

    def test_a_private_number_of_records_is_covered_up_to_its_limit(self):
        sums = [gradient_sum(problem(n=n, neighboring=ADD)) for n in (None, 10, 2**24)]
        assert sums[0].errors == sums[1].errors
        assert sums[2].errors > 1.5 * sums[1].errors
        assert NoisyGD().most_rows(problem(n=None, neighboring=ADD)) == 2**24


class TestClippedGradients:
    @pytest.mark.parametrize("share", [1.0, 0.1, 0.01])
    def test_errors_of_sums_shrink_with_the_clip(self, share):
        """Not those of derivatives and scores, which are not clipped."""
        facts = problem(n=10**5, d=3)
        longest = share * facts.loss.lipschitz * facts.row_norm
        assert gradient_sum(facts, longest).errors < 4e-5 * longest

    @pytest.mark.parametrize("neighboring", [REPLACE, ADD])
    def test_a_loss_without_a_bound_of_its_derivative(self, neighboring, rng):
        """Blocks are far below the end of the grid, and its errors do not count for each of them.

        The theorem does not cover it, so the release is not called exact.
        """
        loss = Cubic()
        facts = problem(loss, 10**6, 4, neighboring=neighboring)
        solver = DPSGD(n_steps=2, clip_norm=50.0, sampling_rate=1.0, step_size=1e-9)
        plan = solver.plan(facts, 1.0, 1e-5)
        assert not plan.exact
        X = np.full((100_000, 3), 0.5)
        design = ClippedDesign.clip(X, 1.0, 0.75, np.full(len(X), 1e6))
        seen = plan.read(design, rng, lambda *_: None).theta
        steps = -seen / (1e-9 * len(X) * 50.0)  # both move by Σ of clipped gradients, over h·n·C
        assert np.linalg.norm(steps) == pytest.approx(2.9, abs=0.1)  # 1 + (1 + 0.9)
        assert gradient_sum(facts, 50.0).errors < 1e-6 * 50.0


@dataclass(frozen=True)
class Cubic(Loss):
    """A loss whose derivative has no bound."""

    def value(self, y, z):
        return np.abs(z - y) ** 3

    def gradient(self, y, z):
        return 3.0 * (z - y) * np.abs(z - y)

    def curvature(self, y, z):
        return 6.0 * np.abs(z - y)

    lipschitz = smoothness = math.inf
    noise_scale = 1.0
    n_scores = 1


class Seen(ClippedDesign):
    """A design that tells at which coefficients it was read."""

    lengths: list

    def slope_sum(self, derivative, theta, *args, **more):
        self.lengths.append(float(np.linalg.norm(theta)))
        return super().slope_sum(derivative, theta, *args, **more)


class TestBall:
    @pytest.mark.parametrize(
        "solver",
        [
            NoisyGD(n_steps=3, step_size=1e-3),
            NoisyGD(n_steps=3, step_size=1e-3, domain_radius=1e12),
            DPSGD(n_steps=3, step_size=1e-3, sampling_rate=1.0),
            DPSGD(n_steps=3, step_size=1e-3, sampling_rate=0.5),
        ],
        ids=repr,
    )
    def test_data_are_read_on_the_ball_for_which_errors_are_bounded(self, solver):
        """Also for a start outside of it, and after steps that leave it."""
        facts = problem(n=50, d=4)
        plan = solver.resume(solver.plan(facts, 1.0, 1e-5), np.full(4, 1e9))
        design = Seen(np.full((50, 3), 0.1), np.ones(50), 0.75, np.ones(50))
        object.__setattr__(design, "lengths", [])
        plan.read(design, np.random.default_rng(0), lambda *_: None)
        most = gradient_sum(facts).radius * (1.0 + 1e-14)
        assert len(design.lengths) == 3
        assert max(design.lengths) <= most
        assert design.lengths[0] >= 0.999 * most

    def test_a_projection_is_within_its_bound(self):
        rng, facts = np.random.default_rng(0), problem(d=300)
        radius = longest(facts)
        for size in (1.0 + 1e-15, 3.0, 1e9):
            theta = rng.normal(size=300)
            theta *= size * radius / np.linalg.norm(theta)
            found = Minimum(theta, theta).projected(radius).theta
            exact = [Fraction(x) for x in theta.tolist()]
            length = sum(x * x for x in exact)
            scale = Fraction(radius) / Fraction(math.isqrt(int(length * 2**120))) * 2**60
            scale = min(scale, Fraction(1))
            error = sum((Fraction(a) - scale * b) ** 2 for a, b in zip(found, exact, strict=True))
            assert error <= (Fraction(of_projection(facts)) / 2) ** 2


class TestNoise:
    """The noise of each release covers what was derived, in exact arithmetic."""

    @pytest.mark.parametrize("rate", [0.01, 0.3, 1.0])
    @pytest.mark.parametrize("clip_norm", [None, 0.2])
    def test_a_step_on_a_sample_hides_its_errors_too(self, rate, clip_norm):
        """One part is σ·(C + 2E) for the sample, the rest hides 2E in each of T steps."""
        solver = DPSGD(n_steps=20, sampling_rate=rate, clip_norm=clip_norm)
        plan = solver.plan(problem(n=10**6, d=9), 1.0, 1e-5)
        noise = plan.descent(10**6).release
        most = 10**6 if rate == 1.0 else likely_size(10**6, rate)
        sums = gradient_sum(plan.problem, plan.clip_norm, most)
        errors = Fraction(sums.errors) + 3 * Fraction(noise.step)  # √9 steps of the release grid
        first = Fraction(plan.steps.sigma) * (Fraction(plan.clip_norm) + errors)
        rest = Fraction(noise.scale) ** 2 - first**2
        assert rest > 0
        mu = gdp_mu(1.0, 1e-5) / 100.0
        assert plan.steps.mu_of_errors == pytest.approx(mu)
        assert rest * Fraction(plan.steps.mu_of_errors) ** 2 >= 20 * errors**2

    @pytest.mark.parametrize("neighboring", [REPLACE, ADD])
    def test_full_steps(self, neighboring):
        plan = NoisyGD(n_steps=16).plan(problem(d=9, neighboring=neighboring), 1.0, 1e-5)
        noise, sums = plan.descent(1000).release, gradient_sum(plan.problem)
        moved = Fraction(sums.between) + Fraction(sums.errors) + 3 * Fraction(noise.step)
        assert 16 * moved**2 <= (Fraction(plan.mu) * Fraction(noise.scale)) ** 2

    @pytest.mark.parametrize("neighboring", [REPLACE, ADD])
    def test_moments_and_matrix(self, neighboring):
        facts = problem(HuberLoss(0.15), d=2, neighboring=neighboring)
        gram = NoisyGD().plan(facts, 1.0, 1e-5).gram
        moments = AdaSSP().plan_at(replace(facts, loss=SquaredLoss()), 0.3)
        for mu, sums, noise in (
            (gram.mu, gram.sums, gram.noise),
            (0.3, moments.sums, moments.noise),
        ):
            moved = Fraction(sums.between) + Fraction(sums.errors)
            moved += root(sums.dimension) * Fraction(noise.step)
            assert moved <= Fraction(mu) * Fraction(noise.scale)

    def test_the_output_noise_covers_minimum_tilt_and_projection(self):
        solver = ObjectivePerturbation()
        plan = solver.plan(problem(n=1000, d=400), 1.0, 1e-5)
        blur, tilt = plan.blur(400), plan.tilt()
        moved = 2 * (Fraction(plan.tolerance) + 20 * Fraction(tilt.step)) / Fraction(plan.ridge)
        moved += Fraction(of_projection(plan.problem)) + 20 * Fraction(blur.step)
        assert moved <= Fraction(plan.output_mu) * Fraction(blur.scale)
        assert 20 * tilt.step > 1e-6 * plan.tolerance  # and without it would not be

    def test_output_perturbation_covers_the_projection(self):
        facts = problem(n=1000, d=400, C=1e-9)
        plan = OutputPerturbation().plan(facts, 1.0, 1e-5)
        G = Fraction(facts.lipschitz_difference)
        moved = (G + 2 * Fraction(plan.tolerance)) / Fraction(plan.ridge)
        computed = 2 * 408 * U * Fraction(longest(facts))  # a norm of 400 and two products
        assert computed > moved / 1000
        noise, mu = plan.release(400), plan.event.gdp_mu(REPLACE)
        moved += computed + 20 * Fraction(noise.step)
        assert moved <= Fraction(mu) * Fraction(noise.scale)
