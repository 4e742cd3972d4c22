"""What a sample by values only would cost: the growth that the theorem states."""

import math

import pytest
from problems import problem_with

from skdp.losses import LogisticLoss
from skdp.privacy import Neighboring
from skdp.research import expected_evaluations
from skdp.samplers.base import Ball
from skdp.solvers import RegularizedExponential


def schedule(objective, n_samples):
    problem = problem_with(LogisticLoss(), n_samples, Neighboring.REPLACE_ONE, n_features=10)
    solver = RegularizedExponential(objective=objective, domain=Ball(5.0))
    return solver.with_sampler("proximal_tv").plan(problem, 1.0, 1e-5).schedule


def test_evaluations_grow_as_the_theorem_says():
    """Like (n·m/G)²·ln², times constants: for twice the n a little more than four times as many."""
    few, many = (expected_evaluations(schedule("erm", n), 1e-6) for n in (500, 1000))
    assert 4.0 < many / few < 5.5
    one = schedule("erm", 500)
    squares = (500 * one.temperature) ** 2 / one.prior_precision
    assert 16.0 * squares * math.log(1e6) ** 2 < expected_evaluations(one, 1e-6)
    assert expected_evaluations(one, 1e-6) < 16.0 * 11.0 * squares * math.log(1e12) ** 2


def test_without_an_objective_nothing_is_known():
    with pytest.raises(ValueError, match="an objective and a number of rows"):
        expected_evaluations(schedule(None, 500), 1e-6)
