"""A budget of person-months: periods do not add up, and each fit names one of them."""

import json
import math

import numpy as np
import pytest

from skdp import DPLogisticRegression, PrivacyBudget, statistics
from skdp.accounting import gdp_mu
from skdp.budget import PlannedRelease
from skdp.exceptions import BudgetExceededError
from skdp.privacy import GaussianCurve, GDPEvent, PrivacyGuarantee

MONTHS = ("2025-01", "2025-02", "undated")
X, PERSON = np.linspace(0.0, 9.0, 4000), np.arange(4000) // 4
ASKED = {"bounds": (0, 10), "groups": PERSON, "noise": "gaussian"}


def monthly(neighboring="add_remove_one", **terms):
    terms = {"epsilon": 1.0, "delta": 1e-5, "unit": "person-month"} | terms
    return PrivacyBudget(neighboring=neighboring, **terms)


def spend(budget, epsilon=0.5):
    return statistics.mean(
        X, epsilon=epsilon, budget=budget, neighboring=str(budget.neighboring), **ASKED
    )


@pytest.mark.parametrize("neighboring", ["add_remove_one", "replace_one"])
def test_periods_do_not_add_up(neighboring, place):
    budget = monthly(neighboring, path=place)
    known = {"n": 1000} if neighboring == "replace_one" else {}
    for month in MONTHS:
        spend(budget.at(period=month, **known))
    assert budget.spent.epsilon == pytest.approx(0.5, rel=1e-3)
    with pytest.raises(BudgetExceededError):
        spend(budget.at(period=MONTHS[0], **known), 0.95)
    assert [one["part"] for one in budget.history()] == [*MONTHS]


def test_a_spend_states_no_period_without_its_size():
    budget = monthly("replace_one")
    guarantee = PrivacyGuarantee(GDPEvent(0.1), "replace_one", "test", unit="person")
    with pytest.raises(ValueError, match="names no period, or not its n"):
        budget.spend(guarantee, delta=1e-5, partition=MONTHS[0])
    budget.at(period=MONTHS[0], n=9).spend(guarantee, delta=1e-5, partition=MONTHS[0])
    assert len(budget.history()) == 1


@pytest.mark.parametrize("composition", ["gdp", "basic", "zcdp"])
def test_the_report_states_the_cost_of_a_whole_person(composition):
    budget = monthly(composition=composition)
    guarantee = PrivacyGuarantee(GDPEvent(0.1), "add_remove_one", "test", unit="person")
    for month in MONTHS:
        budget.at(period=month).spend(guarantee, delta=1e-5)
    told = json.loads(budget.report("json"))["whole_person"]
    assert told["n_periods"] == 3
    of_one = GaussianCurve(0.1).epsilon(1e-5)
    least = GaussianCurve(0.1 * math.sqrt(3.0)).epsilon(3e-5)
    assert least <= told["epsilon"] <= 3.5 * of_one
    if composition == "gdp":
        assert told["epsilon"] == pytest.approx(
            GaussianCurve(0.1 * math.sqrt(3.0)).epsilon(1e-5), rel=0.02
        )
    assert "records in all 3 periods so far" in budget.report()
    assert "all records of one person in one month are added or removed" in budget.report()
    assert "whole_person" not in json.loads(PrivacyBudget(epsilon=1, delta=1e-5).report("json"))


def test_the_cost_of_a_whole_person_may_exceed_the_limit():
    budget = monthly()
    for month in range(30):
        spend(budget.at(period=month), 0.9)
    told = json.loads(budget.report("json"))["whole_person"]
    mu = math.sqrt(30) * gdp_mu(0.9, 1e-5)
    assert told["epsilon"] == pytest.approx(GaussianCurve(mu).epsilon(1e-5), rel=0.1)
    assert budget.spent.epsilon <= 1.0


def test_a_report_before_the_first_release():
    told = json.loads(monthly().report("json"))["whole_person"]
    assert told == {"n_periods": 0, "epsilon": 0.0, "delta": told["delta"]}


@pytest.mark.parametrize("unit", ["record", "person"])
def test_other_units_have_no_periods(unit):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, unit=unit)
    with pytest.raises(ValueError, match=f"unit='person-month'.*unit='{unit}'.*several periods"):
        budget.at(period="2025-01")


def test_plain_replacement_is_refused():
    with pytest.raises(ValueError, match=r"public number of persons in it.*add_remove_one"):
        monthly("replace_one").at(period="2025-01")


def test_more_persons_than_stated_are_refused_before_the_spend():
    budget = monthly("replace_one")
    with pytest.raises(ValueError, match="states less"):
        spend(budget.at(period="2025-01", n=999))
    assert budget.history() == []


def test_fits_without_a_period_or_persons_are_refused_before_the_spend():
    budget = monthly()
    model = DPLogisticRegression(budget=budget, neighboring="add_remove_one", n_samples_hint=1000)
    rows, y = X[:, None], X > 5
    for refused, words in [
        (lambda: model.fit(rows, y, groups=PERSON), "names no period"),
        (
            lambda: model.set_params(budget=budget.at(period=1)).fit(rows, y),
            "protects persons with",
        ),
        (lambda: budget.at(partition="north"), "Pass period"),
        (lambda: budget.at(period=1, partition=2), "Pass period"),
        (lambda: budget.at(period=1.5), "must be a string, an integer"),
        (lambda: budget.plan([GDPEvent(0.1)]), "names no period"),
    ]:
        with pytest.raises(ValueError, match=words):
            refused()
    assert budget.history() == []


def test_plans_and_prices_read_the_period_of_their_handle():
    budget = monthly()
    month = budget.at(period="2025-01").at(name="a fit")
    assert month.plan([GDPEvent(0.1)] * 2).admitted
    months = [PlannedRelease(GDPEvent(0.2), partition=one) for one in MONTHS]
    assert budget.plan(months).admitted
    model = DPLogisticRegression(epsilon=0.5, neighboring="add_remove_one", n_samples_hint=1000)
    assert month.price(model, (1000, 2)).admitted
    assert budget.history() == []


def test_an_export_keeps_periods():
    budget = monthly()
    spend(budget.at(period="2025-01"))
    again = PrivacyBudget.from_json(budget.to_json())
    assert again.unit == "person-month"
    assert json.loads(again.report("json"))["whole_person"]["n_periods"] == 1
