"""Several queries, one guarantee: never above what is asked, and "auto" takes the least noise."""

from itertools import product

import numpy as np
import pytest

from skdp.accounting import PLDAccountant
from skdp.exceptions import OutOfRangeError
from skdp.mechanisms import OptimizedNoise, linear_program
from skdp.privacy import GDPEvent
from skdp.workloads import NOISES, Query, plan, plan_queries

COUNT = Query("count", linf_sensitivity=1.0, integer=True)
CELLS = Query("cells", size=50, linf_sensitivity=1.0, l0_sensitivity=2, integer=True)
SUMS = tuple(
    Query(f"sum {i}", size=4, linf_sensitivity=x, l0_sensitivity=2, l1_sensitivity=x)
    for i, x in enumerate(np.arange(3.0, 21.0, 3.0))
)
WORKLOADS = {"count": (COUNT,), "cells": (CELLS,), "one sum": SUMS[:1], "many": (COUNT, *SUMS)}

every_workload = pytest.mark.parametrize("queries", WORKLOADS.values(), ids=WORKLOADS)
every_target = pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 0.0), (1.0, 1e-5), (0.3, 0.1), (8.0, 1e-6)]
)


def skip_if_slow(noise, queries, delta):
    """The program of optimized noise on the reals takes seconds for a small δ."""
    if noise == "optimized" and 0.0 < delta < 1e-3 and not all(q.integer for q in queries):
        pytest.skip("tested with the mechanism")


def epsilon_of(event, delta):
    if delta == 0.0:
        return event.pure_epsilon("replace_one")
    return PLDAccountant("replace_one").epsilon(event, delta)


@pytest.mark.slow
@every_workload
@every_target
@pytest.mark.parametrize("noise", ["auto", *NOISES])
def test_all_answers_together_cost_at_most_what_is_asked(queries, epsilon, delta, noise):
    skip_if_slow(noise, queries, delta)
    if noise != "auto" and NOISES[noise].needs_delta and delta == 0.0:
        with pytest.raises(OutOfRangeError, match=r"needs delta > 0"):
            plan_queries(queries, epsilon, delta, noise)
        return
    plan = plan_queries(queries, epsilon, delta, noise)
    assert epsilon_of(plan.event, delta) <= epsilon


@every_workload
@every_target
def test_auto_has_the_least_loss(queries, epsilon, delta):
    best = plan_queries(queries, epsilon, delta)
    few = sum(query.l0_sensitivity for query in queries) <= 5
    for name, kind in NOISES.items():
        if (delta > 0.0 or not kind.needs_delta) and (few or name in ("gaussian", "laplace")):
            if name == "optimized" and delta < 1e-3 and not queries[0].integer:
                continue  # staircase noise has the gain
            spared = 4e-3 if queries == (COUNT,) and 0.0 < delta < 1e-4 else 1e-9
            assert best.loss <= plan_queries(queries, epsilon, delta, name).loss * (1.0 + spared)


def test_gaussian_noise_of_all_queries_leaves_nothing_unused():
    plan = plan_queries(WORKLOADS["many"], 1.0, 1e-5, "gaussian")
    assert epsilon_of(plan.event, 1e-5) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("composition", ["gdp", "zcdp", "rdp"])
def test_budgets_that_count_in_gaussians_are_spent_in_gaussians(composition):
    plan = plan_queries((COUNT,), 1.0, 1e-5, composition=composition)
    assert plan.noise == "gaussian"
    assert isinstance(plan.event, GDPEvent)
    assert plan_queries((COUNT,), 1.0, 1e-5, composition="basic").noise != "gaussian"


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["auto", *NOISES])
def test_answers_come_back_with_their_noise(noise):
    plan = plan_queries((COUNT, *SUMS), 5.0, 0.01, noise)
    answers = {query.name: np.full(query.size, 1000.0) for query in plan.queries}
    released = plan.release(answers, np.random.default_rng(0))
    for query in plan.queries:
        noise = plan.mechanism(query.name)
        values = released[query.name]
        assert values.shape == (query.size,)
        far = noise.quantile(1.0 - 1e-9)  # all 25 numbers are nearer but for 5e-8 of all seeds
        assert np.all(np.abs(values - 1000.0) <= far)
        assert np.ptp(values) > 0.0 or query.size == 1


def test_distances_default_to_those_of_the_worst_case():
    assert (CELLS.l1_sensitivity, CELLS.l2_sensitivity) == (2.0, pytest.approx(2.0**0.5))
    assert (SUMS[0].l1_sensitivity, SUMS[0].l2_sensitivity) == (3.0, 3.0)
    assert Query("count", linf_sensitivity=1.0, l0_sensitivity=9).l0_sensitivity == 1
    for name in ("l1_sensitivity", "l2_sensitivity"):
        with pytest.raises(ValueError, match=f"{name} must be"):
            Query("sum", linf_sensitivity=1.0, **{name: float("nan")})
    plan = plan_queries((COUNT,), 1.0, 0.0)
    with pytest.raises(ValueError, match="must have 1 numbers, got 2"):
        plan.release({"count": [1, 2]}, np.random.default_rng(0))
    with pytest.raises(ValueError, match="different names"):
        plan_queries((COUNT, COUNT), 1.0, 0.0)
    with pytest.raises(ValueError, match="linf_sensitivity must be"):
        Query("count", linf_sensitivity=0.0)
    with pytest.raises(ValueError, match="noise must be one of 'auto', 'gaussian'"):
        plan_queries((COUNT,), 1.0, 0.0, "uniform")


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_a_delta_that_would_hardly_gain_is_not_used_for_one_count(epsilon):
    delta = 0.99 * np.expm1(min(epsilon, 1.0)) / 2e4
    pure, best = (plan_queries((COUNT,), epsilon, delta, kind) for kind in ("auto", "optimized"))
    assert pure.noise == "laplace"
    assert best.loss < pure.loss < 1.004 * best.loss


@pytest.mark.parametrize("support", ["integer", "real"])
@pytest.mark.parametrize("epsilon", [0.05, 0.4, 2.5])
@pytest.mark.parametrize("delta", [1e-4, 0.003, 0.2])
def test_the_bound_on_optimized_noise_is_attained_on_integers(epsilon, delta, support):
    bound = plan._least_loss((COUNT,), epsilon, delta)
    found = OptimizedNoise(epsilon, delta, support=support).expected_loss("l1")
    assert bound <= found * (1.0 + 1e-6)
    assert found <= bound * (1.0 + 1e-6) or support == "real"


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.02, 0.3, 1.0, 4.0, 30.0])
def test_no_target_needs_a_large_program_or_many_attempts(epsilon, monkeypatch):
    solved, checked = [], []
    solve, meets = linear_program.linprog, plan._meets

    def counted_solve(costs, *args, **kwargs):
        solved.append(costs.size)
        return solve(costs, *args, **kwargs)

    def counted_check(event, *target):
        checked.append(event)
        return meets(event, *target)

    monkeypatch.setattr(linear_program, "linprog", counted_solve)
    monkeypatch.setattr(plan, "_meets", counted_check)
    for delta, l0, integer in product((1e-9, 1e-5, 1e-3, 0.05), (1, 2, 5), (True, False)):
        query = Query("x", size=9, linf_sensitivity=1.0, l0_sensitivity=l0, integer=integer)
        plan_queries([query], epsilon * 1.0001, delta)  # not used before
        assert sum(solved) <= 2500, (delta, l0, integer)
        assert len(checked) <= 12, (delta, l0, integer)
        solved.clear(), checked.clear()


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-8, 0.0), (1e8, 0.0)])
def test_noise_out_of_range_is_refused_by_an_error_that_says_so(epsilon, delta):
    with pytest.raises(OutOfRangeError):
        plan_queries(SUMS, epsilon, delta)
