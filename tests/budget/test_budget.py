"""What a budget refuses, records and prints."""

import math

import pytest
from sklearn.datasets import make_classification

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.accounting import gdp_mu
from skdp.exceptions import BudgetClosedError, BudgetExceededError
from skdp.privacy import GaussianCurve, GDPEvent, PrivacyGuarantee, event_from_dict
from skdp.privacy.composed_events import ApproximatedEvent
from skdp.support.display import at_most

X, Y = make_classification(n_samples=60, n_features=5, random_state=0)


def tenth(neighboring="replace_one"):
    """Return the guarantee of a release at (0.1, 1e-5)."""
    return PrivacyGuarantee(GDPEvent(gdp_mu(0.1, 1e-5)), neighboring, "test")


def spend(budget, name="a fit"):
    budget.spend(tenth(), delta=1e-5, name=name)


@pytest.fixture
def budget():
    return PrivacyBudget(epsilon=1.0, delta=1e-4)


def test_a_release_under_the_other_relation_is_refused(budget):
    with pytest.raises(ValueError, match=r"'add_remove_one'.*'replace_one'"):
        budget.spend(tenth("add_remove_one"), delta=1e-5, name="a fit")
    assert budget.history() == []


def test_a_fit_may_spend_the_whole_of_a_tiny_basic_budget():
    budget = PrivacyBudget(epsilon=1e-4, delta=1e-4, composition="basic")
    DPLogisticRegression(epsilon=1e-4, delta=1e-4, budget=budget).fit(X, Y)


def test_history_has_one_row_a_release(budget):
    model = DPLogisticRegression(epsilon=0.1, delta=1e-5, budget=budget).fit(X, Y)
    (row,) = budget.history()
    assert row["label"] == "DPLogisticRegression"
    assert row["epsilon"] == pytest.approx(0.1, rel=1e-9)
    assert row["delta"] == 1e-5
    assert row["gdp_mu"] == model.privacy_.gdp_mu
    assert row["neighboring"] == "replace_one"
    assert event_from_dict(row["event"]) == model.privacy_.event
    assert row["time"].endswith("+00:00")


def test_history_as_a_frame(budget):
    pandas = pytest.importorskip("pandas")
    spend(budget)
    spend(budget)
    frame = budget.history(as_frame=True)
    assert isinstance(frame, pandas.DataFrame)
    assert frame.to_dict("records") == budget.history()


def test_a_refusal_says_what_is_asked_and_what_is_left():
    budget = PrivacyBudget(epsilon=0.15, delta=2e-5, composition="basic")
    spend(budget)
    with pytest.raises(BudgetExceededError) as refusal:
        spend(budget, "greedy")
    for part in [
        "greedy costs epsilon=0.1 at delta=1e-05",
        "the budget of epsilon=0.15, delta=2e-05",
        "only epsilon=0.05 at delta=1e-05 left",
        "composition='gdp' would have admitted it",
    ]:
        assert part in str(refusal.value)
    assert len(budget.history()) == 1


def test_a_refusal_speaks_at_the_delta_of_the_budget_and_in_what_it_counts():
    budget = PrivacyBudget(epsilon=0.15, delta=2e-5, tv=1e-7)
    spend(budget)
    event = ApproximatedEvent(GDPEvent(0.03), 2e-7)
    with pytest.raises(BudgetExceededError) as refusal:
        budget.spend(PrivacyGuarantee(event, "replace_one", ""), delta=1e-6, name="a fit")
    left, m = budget.remaining, gdp_mu(0.1, 1e-5)
    for part in [
        "at delta=1e-06, counted here as epsilon=",
        f"only epsilon={at_most(left.epsilon):g} at delta=2e-05 left",
        "(tv: 2e-07 needed, 1e-07 left)",
    ]:
        assert part in str(refusal.value)
    with pytest.raises(BudgetExceededError, match=r"\(squared gdp_mu: 0\.04 needed, ") as refusal:
        budget.spend(PrivacyGuarantee(GDPEvent(0.2), "replace_one", ""), delta=1e-6, name="a fit")
    asked = GaussianCurve(0.2).epsilon(2e-5)
    assert f"counted here as epsilon={asked:.6g} at delta=2e-05" in str(refusal.value)
    assert f"{at_most(float(budget._filter.limits[0]) - m**2):g} left)" in str(refusal.value)


def test_what_is_left_is_quoted_at_the_delta_of_the_budget():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, slack=5e-6)
    assert budget.remaining == (1.0, 1e-5)
    spend(budget)
    assert budget.remaining.delta == 1e-5
    left = float(budget._filter.limits[0]) - gdp_mu(0.1, 1e-5) ** 2
    exact = GaussianCurve(left**0.5).epsilon(1e-5)
    assert budget.remaining.epsilon == pytest.approx(exact, rel=1e-9)
    assert budget.remaining.epsilon < 1.0
    assert f"epsilon={at_most(budget.remaining.epsilon, 4):g} at delta=1e-05" in str(budget)


def test_a_refusal_names_no_other_composition_if_none_would_do(budget):
    with pytest.raises(BudgetExceededError) as refusal:
        budget.spend(PrivacyGuarantee(GDPEvent(9.0), "replace_one", ""), delta=1e-5, name="a fit")
    assert "would have admitted" not in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(({"epsilon": bad}, r"epsilon must be") for bad in [0, -1.0, math.nan, math.inf, "1"]),
        *(({"delta": bad}, r"delta must lie in") for bad in [1.0, -0.1, math.nan, None]),
        ({"delta": 0.0}, "needs delta > 0. Use composition='basic'"),
        ({"composition": "pld"}, "composition must be one of 'gdp', 'basic'"),
        ({"neighboring": "swap"}, "neighboring must be one of 'replace_one', 'add_remove_one'"),
    ],
)
def test_bad_terms_are_refused_and_make_no_file(tmp_path, change, message):
    path = tmp_path / "study.db"
    with pytest.raises(ValueError, match=message):
        PrivacyBudget(**{"epsilon": 1.0, "delta": 1e-5, "path": path} | change)
    assert not path.exists()


def test_it_prints_its_terms_and_its_account(budget):
    assert repr(budget) == (
        "PrivacyBudget(epsilon=1.0, delta=0.0001, composition='gdp', neighboring='replace_one')"
    )
    assert "[....................] spent epsilon=0 " in str(budget)
    DPLogisticRegression(epsilon=1.0, delta=1e-4, budget=budget).fit(X, Y)
    assert "[####################] spent epsilon=1 at delta=0.0001 in 1 release;" in str(budget)


def test_a_handle_does_not_spend_from_a_ledger_made_for_other_terms(tmp_path):
    path = tmp_path / "study.db"
    old = PrivacyBudget(epsilon=1.0, delta=1e-4, path=path)
    path.unlink()
    new = PrivacyBudget(epsilon=0.01, delta=1e-4, neighboring="add_remove_one", path=path)
    with pytest.raises((ValueError, BudgetClosedError)):
        spend(old)
    assert new.history() == []
