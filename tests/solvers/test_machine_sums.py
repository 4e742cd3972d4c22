"""Sums as a computer adds them: their errors, and the integers of neighbors before the noise."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pytest
from problems import problem_with
from scipy import sparse

from skdp.data.persons import Persons
from skdp.design import ClippedDesign, SharedDesign
from skdp.design.base import ROWS_SUMMED, SumGrid
from skdp.losses import (
    ClippedLogisticLoss,
    HingeLoss,
    HuberLoss,
    LogisticLoss,
    MultinomialLoss,
    QuantileLoss,
)
from skdp.losses.weighted import SharedLoss, weighted_targets
from skdp.mechanisms.grid_gaussian import GridGaussian, to_steps
from skdp.privacy import Neighboring
from skdp.solvers._descent import Descent
from skdp.solvers._releases import (
    as_matrix,
    as_vector,
    gradient_sum,
    gram_sum,
    is_covered,
    record_error,
)

STEEP = ClippedLogisticLoss(0.35)  # its derivative is largest at 0


def problem_of(loss, n, d, neighboring="add_remove_one", norm=1.0):
    relation = Neighboring(neighboring)
    facts = problem_with(loss, n, relation, norm=norm, n_features=d)
    if not relation.count_is_public:  # a bound as tight as that of a public number
        facts = replace(facts, neighboring=Neighboring.REPLACE_ONE)
    return facts


def sums_of(loss, n, d, size=0.0):
    """The facts of neighbors of n rows and n − 1, for coefficients of this norm exactly."""
    sums = gradient_sum(problem_of(loss, n, d))
    whole, of_score = record_error(loss, 1.0, d, ROWS_SUMMED)
    errors = 2.0 * n * (whole + of_score * size)
    return replace(sums, between=0.5 * sums.between, errors=errors)  # one record, and not two


def integers(design, loss, theta, sums):
    """The integers to which noise is added, and the sensitivity that it covers."""
    noise = sums.noise(0.5)
    total = design.slope_sum(loss.gradient, theta, grid=sums.grid)
    return to_steps(total, noise.step), sums.sensitivity / noise.step + math.sqrt(total.size)


def excess(one, other, loss, theta, sums):
    """By how much more the integers of two designs differ than the noise covers."""
    found, most = integers(one, loss, theta, sums)
    return float(np.linalg.norm((found - integers(other, loss, theta, sums)[0]).ravel())) - most


def steep_rows(values):
    """A design of one column whose gradients at 0 are −0.35 times these values."""
    X = np.asarray(values, dtype=float)[:, None]
    return ClippedDesign(X, np.ones(len(X)), 0.0, np.ones(len(X)))


class TestGrid:
    def test_blocks_add_up_to_the_same_in_any_order_and_nearly_exactly(self):
        rng, grid = np.random.default_rng(0), SumGrid.of(1000.0)
        blocks = [rng.normal(size=3) * 10.0 ** rng.integers(-12, 2) for _ in range(200)]
        whole = [grid.integers(block) for block in blocks]
        total = sum(whole)
        assert np.array_equal(total, sum(whole[::-1]))
        assert np.array_equal(total, sum(whole[:77]) + sum(whole[77:]))
        for j in range(3):
            exact = sum(Fraction(block[j]) for block in blocks)
            error = abs(Fraction(grid.floats(total)[j]) - exact)
            assert error <= 100 * Fraction(grid.fine_step) + abs(exact) * Fraction(2, 2**53)

    def test_nothing_raises(self):
        found = SumGrid.of(1.0).integers(np.array([np.nan, np.inf, -np.inf, 1e300]))
        assert np.isfinite(found).all()

    def test_the_vector_of_a_matrix_has_its_frobenius_norm(self):
        A = np.random.default_rng(0).normal(size=(5, 5))
        gram = A.T @ A
        assert np.linalg.norm(as_vector(gram)) == pytest.approx(np.linalg.norm(gram))
        np.testing.assert_allclose(as_matrix(as_vector(gram)), gram)


class TestErrors:
    """Against sums in twice the precision, which differ from exact ones by far less."""

    LOSSES = (
        LogisticLoss(),
        STEEP,
        HuberLoss(0.15),
        QuantileLoss((0.3,), 0.01),
        MultinomialLoss(4),
    )

    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    @pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_matrix])
    def test_a_sum_is_within_the_bound(self, loss, kind):
        rng, n, d = np.random.default_rng(0), 3000, 17
        X = kind(rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, (n, 1)))
        y = rng.integers(loss.n_scores, size=n) if loss.n_scores > 1 else rng.choice([-1.0, 1.0], n)
        design, facts = ClippedDesign.clip(X, 1.0, targets=y), problem_of(loss, n, d)
        sums = gradient_sum(facts)
        for size in (0.0, 1.0, 100.0, sums.radius):
            theta = rng.normal(size=facts.shape(d))
            theta *= size / np.linalg.norm(theta)
            found = design.slope_sum(loss.gradient, theta, grid=sums.grid)
            A = X.toarray() if sparse.issparse(X) else np.asarray(X)
            A = A.astype(np.longdouble) * design.factors[:, None]
            slopes = loss.gradient(y, A @ theta.astype(np.longdouble))
            exact = A.T @ slopes
            assert np.linalg.norm((found - exact).astype(float)) <= 0.5 * sums.errors

    @pytest.mark.parametrize("longest", [0.3, 0.003])
    @pytest.mark.parametrize("loss", [LogisticLoss(), MultinomialLoss(4)], ids=repr)
    def test_a_sum_over_clipped_persons_is_within_the_bound(self, loss, longest, monkeypatch):
        error, bound = self.error_of_persons(loss, longest)
        assert error <= bound
        monkeypatch.setattr(
            ClippedDesign,
            "weighted_sum",
            lambda self, r: self.X.T @ (r.T * self.factors).T.astype(np.float16).astype(float),
        )
        assert self.error_of_persons(loss, longest)[0] > bound

    def error_of_persons(self, loss, longest):
        """The error of a sum over persons whose rows mostly cancel, and its bound."""
        rng, n, d = np.random.default_rng(0), 3000, 7
        codes = rng.integers(600, size=n)
        persons = Persons.of(codes, n)
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, (n, 1))
        y = rng.integers(loss.n_scores, size=n) if loss.n_scores > 1 else rng.choice([-1.0, 1.0], n)
        shared = SharedLoss(loss, 1.0)
        targets = weighted_targets(y, persons.row_weights())
        inner = ClippedDesign.clip(X, 1.0, targets=targets)
        facts = problem_of(shared, persons.n_persons, d)
        theta = 3.0 * rng.normal(size=facts.shape(d))
        design = SharedDesign(inner, persons)
        found = design.slope_sum(shared.gradient, theta, longest, grid=SumGrid.of(1e3))
        A = X.astype(np.longdouble) * inner.factors[:, None]
        slopes = shared.gradient(targets, A @ theta.astype(np.longdouble)).reshape(n, -1)
        parts = np.zeros((persons.n_persons, d, loss.n_scores), dtype=np.longdouble)
        np.add.at(parts, persons.codes, A[:, :, None] * slopes[:, None])
        lengths = np.sqrt((parts**2).sum(axis=(1, 2)))
        parts *= (longest / np.maximum(lengths, longest))[:, None, None]
        error = (found - parts.sum(axis=0).reshape(theta.shape)).astype(float)
        whole, of_score = record_error(shared, 1.0, d, ROWS_SUMMED, longest=longest)
        bound = persons.n_persons * (whole + of_score * np.linalg.norm(theta))
        return np.linalg.norm(error), bound

    def test_a_matrix_is_within_the_bound(self):
        rng, n, d = np.random.default_rng(0), 4000, 13
        design = ClippedDesign.clip(rng.normal(size=(n, d)), 1.0, 0.0)
        sums = gram_sum(problem_of(LogisticLoss(), n, d))
        A = design.X.astype(np.longdouble) * design.factors[:, None]
        error = as_vector(design.cross_product(sums.grid)) - as_vector(A.T @ A)
        assert np.linalg.norm(error.astype(float)) <= 0.5 * sums.errors

    @pytest.mark.parametrize("n", [10**3, 10**5, 10**7])
    @pytest.mark.parametrize("loss", [STEEP, LogisticLoss(), HuberLoss(0.15), MultinomialLoss(5)])
    def test_the_noise_grows_by_less_than_a_ten_thousandth(self, loss, n):
        facts = problem_of(loss, n, 20)
        sums, mu = gradient_sum(facts), 0.1
        assert sums.noise(mu).scale < facts.lipschitz_difference / mu * (1.0 + 1e-4)
        assert sums.radius * facts.row_norm >= 64.0 * loss.noise_scale

    def test_a_derivative_that_jumps_has_no_theorem(self):
        assert not is_covered(HingeLoss())
        assert is_covered(LogisticLoss())


def half_steps(n_blocks, step):
    """Values for blocks of 8 rows, whose sums are 0.8 and 0 steps, or 0.4 after a shift by one."""
    rows = np.zeros((n_blocks, 8))
    rows[::2, 0] = rows[::2, 7] = 0.4 * step / 0.35
    return rows.ravel()


class TestNeighbors:
    """The integers of neighbors, and three mutants of the program or of the bound."""

    def pair_at_half_steps(self):
        n = 8 * 512
        sums = sums_of(STEEP, n + 1, 1)
        rows = half_steps(512, sums.noise(0.5).step)
        own = np.append(1.0, rows[1:])  # without the first, all others move up by a row
        return steep_rows(own), steep_rows(rows[1:]), sums

    def test_ties_cost_less_than_a_step(self, monkeypatch):
        one, other, sums = self.pair_at_half_steps()
        assert excess(one, other, STEEP, np.zeros(1), sums) <= 0.0
        monkeypatch.setattr("skdp.design.base.ROWS_SUMMED", 8)
        assert -500.0 < excess(one, other, STEEP, np.zeros(1), sums) <= 0.0  # of 2^32 steps

    def test_mutant_that_rounds_each_block_to_the_release_grid(self, monkeypatch):
        one, other, sums = self.pair_at_half_steps()
        step = sums.noise(0.5).step
        monkeypatch.setattr("skdp.design.base.ROWS_SUMMED", 8)

        def coarse(self, block):
            return np.stack([np.rint(block / step), np.zeros_like(block)]).astype(np.int64)

        monkeypatch.setattr(SumGrid, "integers", coarse)
        monkeypatch.setattr(SumGrid, "floats", lambda self, total: total[0] * step)
        assert excess(one, other, STEEP, np.zeros(1), sums) > 0.0

    def neighbors(self, seed, n=2000, d=3):
        rng = np.random.default_rng(seed)
        X = np.abs(rng.normal(size=(n, d)))
        X /= np.linalg.norm(X, axis=1)[:, None] * (1.0 + 1e-12)
        X[0] = X.sum(axis=0) / np.linalg.norm(X.sum(axis=0)) * (1.0 - 1e-12)
        designs = (ClippedDesign(A, np.ones(len(A)), 0.0, np.ones(len(A))) for A in (X, X[1:]))
        return *designs, sums_of(STEEP, n, d)

    def test_aligned_rows_stay_within_the_bound(self):
        for seed in range(20):
            one, other, sums = self.neighbors(seed)
            assert excess(one, other, STEEP, np.zeros(3), sums) <= 0.0

    def test_mutant_that_adds_in_single_precision(self, monkeypatch):
        whole = ClippedDesign.weighted_sum

        def single(self, residual):
            rows = (self.X * self.factors[:, None]).astype(np.float32)
            return (rows.T @ residual.astype(np.float32)).astype(float)

        assert whole is not single
        monkeypatch.setattr(ClippedDesign, "weighted_sum", single)
        found = [excess(*self.neighbors(seed)[:2], STEEP, np.zeros(3), self.neighbors(seed)[2])
                 for seed in range(20)]  # fmt: skip
        assert max(found) > 0.0

    def moved_by_scores(self, size_that_is_planned):
        """1000 equal rows whose scores cancel, summed in two orders, beside the bound of errors.

        Every order of the products is allowed for; this takes the two that differ most, of some.
        """
        loss, n, d = LogisticLoss(), 1000, 18
        size = gradient_sum(problem_of(loss, n, d)).radius
        a, half = np.full(d, 1.0 / math.sqrt(d)), np.linspace(1.0, 2.0, d // 2) ** 3
        theta = np.append(half, -half[::-1])
        theta *= size / np.linalg.norm(theta)
        scores = [reduce(add, (a * theta)[order].tolist()) for order in orders(d)]
        slopes = loss.gradient(np.ones(2), np.array([min(scores), max(scores)]))
        sums = sums_of(loss, n, d, size_that_is_planned * size)
        return n * abs(slopes[1] - slopes[0]) * np.linalg.norm(a), sums.errors

    def test_scores_in_any_order_stay_within_the_bound(self):
        moved, errors = self.moved_by_scores(1.0)
        assert 0.0 < moved <= errors

    def test_mutant_whose_bound_ignores_scores(self):
        moved, errors = self.moved_by_scores(0.0)
        assert moved > errors


def orders(size):
    rng = np.random.default_rng(0)
    return [np.arange(size), np.arange(size)[::-1], *(rng.permutation(size) for _ in range(200))]


class TestSmallFloats:
    """All sums of small floats with 3 bits: the constants are never exceeded, and nearly attained.

    u = 2^-3. The bound of a sum of m products in any order is γ_m times the sum of their sizes.
    """

    BITS = 3

    def rounded(self, x):
        if not x:
            return x
        exponent = math.floor(math.log2(abs(x))) - self.BITS + 1
        unit = Fraction(2) ** exponent
        return round(x / unit) * unit  # to even

    def test_sums_of_three_products(self):
        u = Fraction(1, 2**self.BITS)
        gamma = 3 * u / (1 - 3 * u)
        floats = [Fraction(k, 4) * s for k in (4, 5, 6, 7, 8, 10) for s in (1, -1)]
        worst = Fraction(0)
        products = {(a, b): self.rounded(a * b) for a, b in itertools.product(floats, repeat=2)}
        terms = sorted({(a * b, p) for (a, b), p in products.items()})
        for x, y in itertools.combinations_with_replacement(terms, 2):  # sums of two commute
            pair = self.rounded(x[1] + y[1])
            for z in terms:
                exact, size = x[0] + y[0] + z[0], abs(x[0]) + abs(y[0]) + abs(z[0])
                worst = max(worst, abs(self.rounded(pair + z[1]) - exact) / size)
        assert worst <= gamma
        assert worst >= u  # γ_3 ≥ 3u is a bound for all orders; a third of it is attained

    @pytest.mark.parametrize("dimension", [1, 2])
    def test_rounding_lengthens_by_less_than_the_root_of_the_dimension(self, dimension):
        quarters = np.arange(-6, 7) / 4.0
        points = np.array(list(itertools.product(quarters, repeat=dimension)))
        steps = to_steps(points, 1.0)
        moved = np.linalg.norm(points[:, None] - points, axis=2)
        longer = np.linalg.norm((steps[:, None] - steps).astype(float), axis=2) - moved
        assert 0.7 * math.sqrt(dimension) < longer.max() < math.sqrt(dimension)


class TestLowOrderBits:
    """The attack of Mironov (2012), for Gaussian noise by its precision (Haney et al. 2022)."""

    N = 4000
    FINE = 2.0**-53

    def accused(self, releases):
        """Which releases cannot come from the answer 1: finer than any sum with 1 near it."""
        near = np.abs(releases) < 1.0
        return near & (releases / self.FINE != np.rint(releases / self.FINE))

    def released(self, value, monkeypatch, noise):
        """What the steps of a descent release of a gradient that is always this value."""
        seen, run = [], Descent(n_steps=self.N, step_size=1e-9, release=noise, ridge=0.0)
        add = GridGaussian.add

        def spy(self, values, noise):
            seen.append(add(self, values, noise))
            return seen[-1]

        with monkeypatch.context() as patched:
            patched.setattr(GridGaussian, "add", spy)
            rng = np.random.default_rng(0)
            run.run(np.zeros(1), lambda _: np.array([value]), rng, lambda *_: None)
        return np.concatenate(seen)

    @pytest.mark.parametrize("is_old", [True, False])
    def test_steps_show_it_only_with_the_noise_of_earlier_versions(self, is_old, monkeypatch):
        noise = GridGaussian.at(1.0, 1.0, 1)
        if is_old:  # N(0, σ²) in floating point, added to the sum as it is
            monkeypatch.setattr(GridGaussian, "noise", lambda self, n, rng: rng.normal(size=n))
            monkeypatch.setattr(GridGaussian, "add", lambda self, values, noise: values + noise)
        of_zero, of_one = (self.released(value, monkeypatch, noise) for value in (0.0, 1.0))
        assert of_zero.size == self.N
        assert not self.accused(of_one).any()
        assert bool(self.accused(of_zero).mean() > 0.2) is is_old

    def test_floating_point_noise_shows_which_answer_it_hides(self, rng):
        of_zero, of_one = (value + rng.normal(size=self.N) for value in (0.0, 1.0))
        assert not self.accused(of_one).any()
        assert self.accused(of_zero).mean() > 0.2  # each of them is certain

    def test_exact_noise_on_a_grid_does_not(self):
        rng, noise = np.random.default_rng(0), GridGaussian.at(1.0, 1.0, 1)
        of_zero, of_one = (
            np.array([noise.release(np.array([value]), rng)[0] for _ in range(200)])
            for value in (0.0, 1.0)
        )
        assert not self.accused(of_zero).any()
        assert not self.accused(of_one).any()
