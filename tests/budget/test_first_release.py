"""The first release decides how a ledger adds up, and a default budget admits every estimator."""

import math

import pytest

from skdp import PrivacyBudget
from skdp.accounting import gdp_mu
from skdp.exceptions import BudgetExceededError
from skdp.privacy import ApproxDPEvent, GDPEvent, PrivacyGuarantee, PureDPEvent
from skdp.privacy.composed_events import ApproximatedEvent


def spend(budget, event, delta=1e-6, **more):
    budget.spend(PrivacyGuarantee(event, "replace_one", "test"), delta=delta, name="a", **more)


@pytest.mark.parametrize("composition", ["gdp", "zcdp", "rdp"])
@pytest.mark.parametrize("share", [False, True])
def test_a_first_release_may_cost_the_whole_ceiling_and_nothing_follows(composition, share):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, composition=composition)
    budget = budget.share(epsilon=0.6) if share else budget
    assert budget.remaining == (budget.epsilon, 1e-5)
    spend(budget, GDPEvent(gdp_mu(budget.epsilon, 1e-5)), 1e-5, epsilon=budget.epsilon)
    assert budget.spent == pytest.approx((budget.epsilon, 1e-5), rel=1e-9)
    assert budget.spent_curve().delta(budget.epsilon) <= 1e-5 * (1 + 1e-9)
    for event in (GDPEvent(0.01), PureDPEvent(0.01)):
        with pytest.raises(BudgetExceededError):
            spend(budget, event)


@pytest.mark.parametrize(
    "event", [PureDPEvent(1.0), ApproxDPEvent(1.0, 1e-6), ApproximatedEvent(GDPEvent(0.1), 1e-7)]
)
def test_a_first_release_that_no_gaussian_covers_leaves_basic_composition(event, budget):
    spend(budget, event)
    first = budget.history()[0]["epsilon"]
    assert budget.spent == pytest.approx((first, 1e-6))
    assert budget.remaining == pytest.approx((3.0 - first, 9e-6))
    spend(budget, PureDPEvent(0.5), 0.0)
    assert budget.spent.epsilon == pytest.approx(first + 0.5)
    with pytest.raises(BudgetExceededError, match=r"\(epsilon: .* needed, .* left\)"):
        spend(budget, PureDPEvent(2.5), 0.0)
    with pytest.raises(BudgetExceededError, match=r"\(delta: 1e-05 needed, 9e-06 left\)"):
        spend(budget, GDPEvent(0.01), 1e-5)
    again = PrivacyBudget.from_json(budget.to_json())
    assert again.spent == budget.spent


def test_a_release_that_is_not_the_first_is_never_counted_by_basic_composition(budget):
    """Else the rule could be chosen by what was seen: a moving frontier."""
    spend(budget, GDPEvent(1e-6))
    with pytest.raises(BudgetExceededError, match="squared gdp_mu"):
        spend(budget, PureDPEvent(1.0))


def test_a_first_release_above_the_ceiling_is_refused():
    for event, delta in [(PureDPEvent(3.1), 0.0), (GDPEvent(0.75), 1e-4), (GDPEvent(5.0), 1e-5)]:
        with pytest.raises(BudgetExceededError):
            spend(PrivacyBudget(epsilon=3.0, delta=1e-5), event, delta)


def test_parts_may_add_up_in_different_ways_and_then_none_takes_a_release_on_all(budget):
    spend(budget, PureDPEvent(1.0), partition="north")
    spend(budget, GDPEvent(0.1), partition="south")
    spend(budget, PureDPEvent(1.0), partition="north")
    with pytest.raises(BudgetExceededError):
        spend(budget, PureDPEvent(0.1))
    with pytest.raises(BudgetExceededError):
        spend(budget, PureDPEvent(1.0), partition="south")
    spend(budget, GDPEvent(0.1), partition="west")
    assert budget.spent.epsilon == pytest.approx(2.0, rel=1e-4)


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("composition", ["gdp", "zcdp", "rdp"])
def test_what_is_left_is_not_more_than_what_is_admitted_after_releases_on_parts(composition, share):
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, composition=composition)
    handle = budget.share(epsilon=3.0) if share else budget
    spend(handle, PureDPEvent(2.5), 0.0, partition="north")
    assert handle.remaining == budget.remaining == (0.0, 0.0)
    with pytest.raises(
        BudgetExceededError, match=r"reads all partitions.*single partition"
    ) as error:
        spend(handle, PureDPEvent(0.1))
    assert "()" not in str(error.value)
    assert f"composition={composition!r}" in str(error.value)
    with pytest.raises(BudgetExceededError, match=r"only epsilon=0.5 .*\(epsilon: 0.6 needed"):
        spend(handle, PureDPEvent(0.6), 0.0, partition="north")
    spend(handle, PureDPEvent(0.5), 0.0, partition="north")
    spend(handle, GDPEvent(0.1), partition="south")


def test_releases_on_all_that_came_first_decide_for_every_part(budget):
    spend(budget, PureDPEvent(1.0))
    spend(budget, PureDPEvent(0.5), partition="north")
    spend(budget, PureDPEvent(0.7), partition="south")
    spend(budget, PureDPEvent(0.2))
    assert budget.spent.epsilon == pytest.approx(1.9, rel=1e-4)


@pytest.mark.parametrize(("epsilon", "cost"), [(1.0, 0.0034), (3.0, 0.0087)])
def test_the_share_of_delta_set_aside_costs_what_the_pages_say(epsilon, cost):
    budget = PrivacyBudget(epsilon=epsilon, delta=1e-5)
    rule = budget._filter
    assert rule.slack == pytest.approx(5e-7)
    left = rule.left(rule.nothing[:-2]).epsilon
    assert epsilon - left == pytest.approx(cost, abs=1e-4)
    assert repr(budget).endswith("composition='gdp', neighboring='replace_one')")
    assert "slack=0.0" in repr(PrivacyBudget(epsilon=epsilon, delta=1e-5, slack=0.0))
    assert math.isclose(
        PrivacyBudget(epsilon=epsilon, delta=1e-5, composition="rdp")._filter.slack, 0.0
    )
