"""Parts, shares, plans, odometers, views and the way in and out of a ledger."""

import pickle
from html.parser import HTMLParser

import pytest

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.accounting import gdp_mu
from skdp.budget import PlannedRelease
from skdp.exceptions import BudgetExceededError
from skdp.privacy import GaussianCurve, GDPEvent, PrivacyGuarantee, PureDPEvent

EVENT = GDPEvent(0.1)


def spend(budget, event=EVENT, name="a fit", **more):
    budget.spend(PrivacyGuarantee(event, "replace_one", "test"), delta=0.0, name=name, **more)


@pytest.fixture
def budget(place):
    return PrivacyBudget(epsilon=1.0, delta=1e-5, path=place)


def test_disjoint_parts_are_spent_once(budget):
    for part in ("north", "south", "south"):
        spend(budget, partition=part)
    spend(budget)
    assert budget.spent.epsilon == pytest.approx(GaussianCurve(0.1 * 3**0.5).epsilon(1e-5))
    assert budget.history()[1]["part"] == "south"


def test_the_largest_part_decides_and_others_still_have_room(budget):
    large = GDPEvent(gdp_mu(0.99, 1e-5))
    spend(budget, large, partition="north")
    spend(budget, large, partition="south")
    for part in ("north", "south", None):
        with pytest.raises(BudgetExceededError):
            spend(budget, GDPEvent(0.05), partition=part)
    spend(budget, large, partition="west")
    assert budget.spent.epsilon <= 1.0


def test_a_share_has_a_ceiling_of_its_own_and_that_of_the_budget(budget):
    share = budget.share(epsilon=0.3, name="explore")
    share.spend(
        PrivacyGuarantee(GDPEvent(gdp_mu(0.3, 1e-5)), "replace_one", ""), delta=1e-5, name="all"
    )
    with pytest.raises(BudgetExceededError, match=r"the share 'explore'"):
        spend(share, GDPEvent(0.001))
    spend(budget, GDPEvent(0.2))
    assert [row["account"] for row in budget.history()] == ["explore", ""]
    assert len(share.history()) == 1
    other = budget.share(epsilon=0.9, name="other")
    with pytest.raises(BudgetExceededError, match=r"the budget of epsilon=1, delta=1e-05 has only"):
        spend(other, GDPEvent(gdp_mu(0.89, 1e-5)))
    assert other.remaining == budget.remaining
    assert other.spent.epsilon == 0.0


def test_shares_inside_of_shares_and_in_other_processes(budget):
    outer = budget.share(epsilon=0.5, name="outer")
    inner = pickle.loads(pickle.dumps(outer.share(epsilon=0.2, name="inner")))
    spend(inner, GDPEvent(0.05))
    assert budget.spent == outer.spent == inner.spent
    assert budget.history() == inner.history()
    assert budget.share(epsilon=0.5, name="outer").spent == inner.spent
    with pytest.raises(ValueError, match=r"'outer' has epsilon=0.5"):
        budget.share(epsilon=0.6, name="outer")
    with pytest.raises(ValueError, match="without '/'"):
        budget.share(epsilon=0.6, name="a/b")
    assert repr(inner).endswith(".share(name='outer/inner')")


def test_a_share_admits_a_fit_and_keeps_a_temporary_budget_alive():
    share = PrivacyBudget(epsilon=1.0, delta=1e-5).share(epsilon=0.5)
    X, y = [[0.0, 1.0], [1.0, 0.0]] * 10, [0, 1] * 10
    DPLogisticRegression(epsilon=0.5, delta=1e-5, budget=share).fit(X, y)
    assert share.spent.epsilon == pytest.approx(0.5, rel=1e-9)


def test_a_plan_of_disjoint_parts_costs_the_largest(budget):
    plan = [PlannedRelease(EVENT, partition=part) for part in "aab"] + [EVENT]
    assert budget.plan(plan).epsilon == budget.plan([EVENT] * 3).epsilon
    assert budget.plan(plan).admitted


def test_a_plan_of_pure_releases_is_no_costlier_than_their_sum(budget):
    assert budget.plan([PureDPEvent(0.01)] * 3).epsilon <= 0.03 * (1 + 1e-12)
    assert budget.plan([]).epsilon == 0.0


def test_the_odometer_is_the_curve_of_what_was_spent(budget):
    assert budget.spent_curve().epsilon(1e-5) == 0.0
    spend(budget)
    spend(budget)
    exact = GaussianCurve(0.1 * 2**0.5)
    for epsilon in (-1.0, 0.0, 0.3):
        assert budget.spent_curve().delta(epsilon) == pytest.approx(exact.delta(epsilon), rel=1e-9)


def test_a_tag_is_kept(budget):
    spend(budget, tag="figure 3")
    assert budget.history()[0]["tag"] == "figure 3"


def test_a_notebook_shows_a_bar_without_script(budget):
    spend(budget)
    html = budget._repr_html_()
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)
    parser.feed(html)
    assert "script" not in tags
    assert set(tags) == {"div", "code", "small"}
    assert f"width:{100 * budget.spent.epsilon:.4g}%" in html
    assert "in 1 release;" in html
    assert f"head {budget.head}" in html
    assert len(html) < 1000


def test_a_closed_ledger_has_a_notebook_view(tmp_path):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, path=tmp_path / "study.db")
    (tmp_path / "study.db").unlink()
    assert budget._repr_html_().endswith("the ledger is closed")


@pytest.mark.parametrize("composition", ["gdp", "basic", "zcdp", "rdp"])
@pytest.mark.parametrize("share", [None, 0.9])
def test_a_plan_is_admitted_just_if_spends_one_after_another_are(composition, share):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, composition=composition)
    if share is not None:
        budget = budget.share(epsilon=share)
    event = GDPEvent(0.08)
    asked = GaussianCurve(0.08).epsilon(1e-6), 1e-6
    one = PrivacyGuarantee(event, "replace_one", "test", asked=asked)
    foreseen = [budget.plan([one] * n).admitted for n in range(1, 20)]
    assert budget.history() == []
    n = foreseen.index(False)
    for _ in range(n):
        budget.spend(one, epsilon=asked[0], delta=1e-6)
    with pytest.raises(BudgetExceededError):
        budget.spend(one, epsilon=asked[0], delta=1e-6)
    assert n >= 2
    assert not any(foreseen[n:])


def test_a_plan_of_another_relation_is_refused_as_a_spend_is(budget):
    other = PrivacyGuarantee(EVENT, "add_remove_one", "test")
    with pytest.raises(ValueError, match=r"release has .* budget has neighboring='replace_one'"):
        budget.plan([other])
