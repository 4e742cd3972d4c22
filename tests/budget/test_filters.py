"""Numbers and limits of single compositions, and the rules that are *not* valid."""

import math
from decimal import Decimal

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad

from skdp import PrivacyBudget
from skdp.accounting import gdp_mu
from skdp.accounting.concentrated import epsilon_from_rdp, rdp_budget, rho_budget
from skdp.budget import FILTERS, Release
from skdp.budget.filters import rule_of
from skdp.exceptions import BudgetExceededError
from skdp.privacy import (
    GaussianCurve,
    GaussianEvent,
    GDPEvent,
    PoissonSampledEvent,
    PrivacyGuarantee,
    PureDPEvent,
    SelfComposedEvent,
)
from skdp.privacy.composed_events import ApproximatedEvent


def guarantee(event):
    return PrivacyGuarantee(event, "replace_one", "test")


def row(*renyi):
    """Return a release of these Rényi divergences."""
    return Release(
        label="", epsilon=9.0, delta=0.0, gdp_mu=0.0, neighboring="", event={}, renyi=renyi
    )


def spend(budget, event, delta=0.0, **more):
    budget.spend(guarantee(event), delta=delta, name="a fit", **more)


@pytest.mark.parametrize(
    ("rho", "delta", "epsilon"),
    [
        (0.5, 1e-5, 4.72839),
        (0.1, 1e-5, 1.91424),
        (0.5, 1e-6, 5.22154),
        (2.0, 1e-5, 10.72484),
        (0.01, 1e-6, 0.62169),
    ],
)
def test_rho_converts_tightly(rho, delta, epsilon):
    converted = epsilon_from_rdp(lambda order: rho * order, delta, "tight")
    assert converted == pytest.approx(epsilon, abs=2e-5)
    assert rho_budget(converted, delta)[0] == pytest.approx(rho, rel=1e-5)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (8.0, 1e-9)])
def test_a_renyi_budget_implies_the_ceiling_and_a_larger_one_does_not(epsilon, delta):
    for order in (1.5, 5.0, 60.0):
        with mp.workdps(40):
            for factor, holds in ((1, True), (1 + mp.mpf(10) ** -9, False)):
                r = mp.mpf(rdp_budget(order, epsilon, math.log(delta)))
                r += abs(r) * (factor - 1)
                a = mp.mpf(order)
                log_delta = (a - 1) * (r - epsilon) + a * mp.log(1 - 1 / a) - mp.log(a - 1)
                assert (log_delta <= mp.log(delta)) == holds


def test_zcdp_counts_rho_and_not_mu():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, composition="zcdp")
    spend(budget, GDPEvent(0.1))
    spend(budget, PureDPEvent(0.01))
    rho = 0.005 + 0.01 * math.tanh(0.005)
    exact = epsilon_from_rdp(lambda order: rho * order, 1e-5, "tight")
    assert budget.spent.epsilon == pytest.approx(exact, rel=1e-9)


def test_renyi_composition_takes_what_has_a_renyi_divergence_only():
    budget = PrivacyBudget(epsilon=2.0, delta=1e-5, composition="rdp")
    spend(budget, SelfComposedEvent(GDPEvent(0.05), 4))
    rule = budget._filter
    alone = rule.spent_at(rule.costs(row(0.005 * rule.orders[0])))
    assert budget.spent.epsilon == pytest.approx(alone.epsilon)
    with pytest.raises(BudgetExceededError):
        spend(budget, ApproximatedEvent(GDPEvent(0.01), 1e-9), delta=1e-7)
    assert len(budget.history()) == 1


def test_every_declared_order_must_have_room():
    one = FILTERS["rdp"](1.0, 1e-5)
    two = FILTERS["rdp"](1.0, 1e-5, orders=(*one.orders, 64.0))
    heavy = row(0.1, 5.0)
    light = row(0.1, 0.2)
    assert two.admits([light])
    assert not two.admits([heavy])
    with pytest.raises(ValueError, match="above 1"):
        FILTERS["rdp"](1.0, 1e-5, orders=(0.5,))
    with pytest.raises(ValueError, match="admits no release"):
        FILTERS["rdp"](1.0, 1e-5, orders=(1.5,))


def test_a_pure_budget_takes_pure_releases_only_and_fills_exactly():
    budget = PrivacyBudget(epsilon=0.3, delta=0.0, composition="pure")
    for _ in range(3):
        spend(budget, PureDPEvent(0.1))
    assert budget.spent == (0.3, 0.0)
    with pytest.raises(BudgetExceededError):
        spend(budget, PureDPEvent(1e-12))
    with pytest.raises(BudgetExceededError):
        spend(
            PrivacyBudget(epsilon=9.0, delta=0.0, composition="pure"), GDPEvent(0.001), delta=1e-3
        )


@pytest.mark.parametrize(
    ("composition", "delta"), [("zcdp", 0.0), ("rdp", 0.0), ("gdp", 0.0), ("pure", 1e-5)]
)
def test_a_composition_that_cannot_be_is_refused(composition, delta):
    with pytest.raises(ValueError, match=f"composition='{composition}' needs delta"):
        PrivacyBudget(epsilon=1.0, delta=delta, composition=composition)


@pytest.mark.parametrize("reserve", [{"slack": 1e-5}, {"slack": -1e-9}, {"tv": 1e-5}])
def test_reserves_that_leave_nothing_are_refused(reserve):
    with pytest.raises(ValueError, match=r"slack"):
        PrivacyBudget(epsilon=1.0, delta=1e-5, **reserve)
    with pytest.raises(ValueError, match=r"composition='gdp'|at least 0"):
        PrivacyBudget(epsilon=1.0, delta=1e-5, composition="basic", **reserve)


def test_reserves_and_the_gaussian_part_add_up_to_delta():
    rule = FILTERS["gdp"](1.0, 1e-5, slack=2e-6, tv=1e-6)
    spent = GaussianCurve(math.sqrt(rule.limits[0])).delta(1.0) + 2e-6 + (1.0 + math.e) * 1e-6
    assert spent == pytest.approx(1e-5, rel=1e-9)
    assert rule.curve(rule.limits).delta(1.0) == pytest.approx(1e-5, rel=1e-9)


def test_a_subsampled_release_enters_with_the_least_covering_mu():
    budget = PrivacyBudget(epsilon=2.0, delta=1e-5, slack=2.5e-7)
    event = PoissonSampledEvent(0.01, GaussianEvent(1.0))
    left = 2.5e-7
    for _ in range(3):
        spend(budget, event, delta=1e-6)
        row = budget.history()[-1]
        assert left / 32 <= row["slack"] <= left / 16
        left -= row["slack"]
        curve, cover = event.curve("replace_one"), GaussianCurve(row["gdp_mu"])
        epsilons = np.linspace(-8.0, 8.0, 401)
        assert np.all(curve.delta(epsilons) <= cover.delta(epsilons) + row["slack"] * (1 + 1e-9))


def test_slack_lasts_for_a_grid_and_then_is_none():
    """Never the residue of a subtraction: with 1e-20 of δ left a release is refused fast."""
    rule = rule_of("gdp", 1.0, 1e-5)
    spent, taken = Decimal(0), []
    while slack := rule.slack_left((Decimal(0), spent, Decimal(0))):
        taken.append(slack)
        spent += Decimal(slack)
    assert len(taken) > 700
    assert spent <= rule.limits[1]
    assert all(math.log2(slack) % 1.0 == 0.0 for slack in taken)  # equal ones are covered once
    assert taken[0] == 2.0**-25
    assert taken[100] > 1e-10
    assert taken[-1] < 2e-25


def test_a_gaussian_release_takes_no_slack():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, slack=1e-6)
    spend(budget, GDPEvent(0.1))
    assert budget.history()[0]["slack"] == 0.0
    assert budget.remaining.epsilon < 1.0


def test_total_variations_have_a_limit_of_their_own():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, tv=2e-7)
    event = ApproximatedEvent(GDPEvent(0.01), 1e-7)
    spend(budget, event, delta=1e-6)
    spend(budget, event, delta=1e-6)
    assert [row["tv"] for row in budget.history()] == [1e-7, 1e-7]
    with pytest.raises(BudgetExceededError):
        spend(budget, event, delta=1e-6)
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    spend(budget, GDPEvent(0.01))
    with pytest.raises(BudgetExceededError):
        spend(budget, event, delta=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (3.0, 1e-5), (1.0, 0.01)])
def test_trading_slack_against_mu_on_the_way_would_exceed_delta(epsilon, delta):
    """Why the slack is fixed beforehand: δ_m(ε) + Σ η ≤ δ alone is a moving frontier.

    After a Gaussian release the analyst takes, by its output, either the largest Gaussian release
    or the largest (0, η)-DP release that this rule would admit, whichever reveals more.
    """
    full = gdp_mu(epsilon, delta)
    first = 0.6 * full
    second = math.sqrt(full**2 - first**2)
    slack = delta - GaussianCurve(first).delta(epsilon)

    def revealed(x):
        left = epsilon - first * x + 0.5 * first**2
        away = slack + (1.0 - slack) * max(0.0, -math.expm1(left))
        best = max(GaussianCurve(second).delta(left), away)
        return best * math.exp(-0.5 * (x - first) ** 2) / math.sqrt(2.0 * math.pi)

    total = quad(revealed, -10.0, 14.0, limit=2000, points=[0, 2, 4, 6, 8], epsabs=1e-14)[0]
    assert total > 1.5 * delta


@pytest.mark.parametrize("claim", [0.1, 5.0, math.inf, 1e-9])
def test_an_epsilon_that_the_caller_claims_is_checked(claim):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, composition="basic")
    mu = gdp_mu(0.1, 1e-6)
    wanted = claim if claim == 0.1 else min(max(claim, 0.1), 5.0)
    if claim > 1.0:
        with pytest.raises(BudgetExceededError):
            spend(budget, GDPEvent(mu), delta=1e-6, epsilon=claim)
    else:
        spend(budget, GDPEvent(mu), delta=1e-6, epsilon=claim)
        assert budget.history()[0]["epsilon"] == pytest.approx(wanted, rel=1e-9)


def test_a_known_epsilon_costs_no_search(monkeypatch):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    event = GDPEvent(gdp_mu(0.1, 1e-6))
    monkeypatch.setattr(PrivacyGuarantee, "epsilon", None)
    spend(budget, event, delta=1e-6, epsilon=0.1)
    assert budget.history()[0]["epsilon"] == 0.1


def test_spending_total_variation_leaves_a_finite_meter():
    event = ApproximatedEvent(GDPEvent(0.1), 1e-10)
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, slack=1e-6, tv=1e-9)
    guarantee = PrivacyGuarantee(event, "replace_one", "a test")
    budget.spend(guarantee, delta=1e-6, name="approximate")
    assert GDPEvent(0.1).curve("replace_one").epsilon(1e-5) <= budget.spent.epsilon < 0.4


@pytest.mark.filterwarnings("ignore:delta=0.9 of the budget is large")
def test_a_negative_epsilon_is_not_taken_from_the_caller():
    budget = PrivacyBudget(epsilon=1.0, delta=0.9, composition="basic")
    guarantee = PrivacyGuarantee(PureDPEvent(0.01), "replace_one", "a test")
    for wrong in (-1.0, "1", float("nan"), True, [1.0]):
        with pytest.raises(ValueError, match="epsilon must be a number"):
            budget.spend(guarantee, delta=0.8, name="refund", epsilon=wrong)
    assert budget.history() == []


def test_a_gaussian_is_no_pure_release_whatever_epsilon_its_caller_knows():
    budget = PrivacyBudget(epsilon=10.0, delta=0.0, composition="basic")
    with pytest.raises(BudgetExceededError):
        spend(budget, GDPEvent(0.01), epsilon=1.0)
    spend(budget, PureDPEvent(1.0), epsilon=1.5)
    assert budget.spent.epsilon == 1.5
