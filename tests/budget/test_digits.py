"""Numbers in views: few digits, and what is spent is never shown as less, what is left as more."""

import copy
import math
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import make_classification

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.budget import Amount
from skdp.budget.dry_run import PlanCost
from skdp.budget.filters import Allowance
from skdp.exceptions import BudgetExceededError
from skdp.metrics import score_report
from skdp.privacy import GDPEvent
from skdp.support.display import at_least, at_most

NUMBERS = [
    *np.random.default_rng(0).lognormal(sigma=9.0, size=300),
    1 / 3,
    5e-324,
    1.7e308,
    999999.5,
]


@pytest.mark.parametrize("digits", [1, 4, 6])
def test_rounding_goes_one_way_and_not_far(digits):
    for number in NUMBERS:
        check_rounding(number, digits)


def check_rounding(number, digits):
    low, high = at_most(number, digits), at_least(number, digits)
    assert low <= number <= high
    apart = Fraction(10) ** (math.floor(math.log10(number)) - digits + 1)
    if high < math.inf:
        assert Fraction(high) - Fraction(low) <= apart * Fraction(11, 10)
    for shown in (low, high):
        assert float(f"{shown:.{digits}g}") == shown


def test_what_prints_in_few_digits_stays():
    for number in (0.0, 1e-5, 0.1, 3.0, 0.3, math.inf, np.float64(2.5)):
        assert at_least(number) == at_most(number) == number


def shown(view):
    return [float(number) for number in re.findall(r"(?:epsilon|delta)=([-+.e\d]+|inf)", view)]


def test_a_pair_prints_six_digits_and_holds_all():
    spent, left = Amount(0.999999999989294, 1e-5), Allowance(2.0000000000107, 9.99999999e-6)
    assert repr(spent) == "Amount(epsilon=1.0, delta=1e-05)"
    assert repr(left) == "Amount(epsilon=2.0, delta=9.99999e-06)"
    assert spent.epsilon == 0.999999999989294
    for pair in (spent, left):
        assert pickle.loads(pickle.dumps(pair)) == copy.deepcopy(pair) == tuple(pair)
        assert repr(copy.copy(pair)) == repr(pair)


@pytest.mark.parametrize("composition", ["gdp", "basic", "zcdp", "rdp"])
def test_views_of_a_budget_mislead_nobody(composition):
    budget = PrivacyBudget(epsilon=3.0, delta=1e-4, composition=composition)
    X, y = make_classification(300, random_state=0)
    DPLogisticRegression(epsilon=0.7123456789, delta=1e-5, budget=budget).fit(X, y)
    assert all(a >= b for a, b in zip(shown(repr(budget.spent)), budget.spent, strict=True))
    for left in (budget.remaining, budget.at(partition="one").remaining, budget.epsilon_each(3)):
        assert all(a <= b for a, b in zip(shown(repr(left)), left, strict=True))
    spent, delta, left, rest = shown(str(budget).splitlines()[1])
    assert (spent, delta) >= budget.spent
    assert (left, rest) <= budget.remaining
    assert len(repr(budget.spent)) < 45


def test_what_is_printed_as_left_can_be_spent(budget):
    X, y = make_classification(300, random_state=0)
    DPLogisticRegression(epsilon=1.7123456789, budget=budget).fit(X, y)
    with pytest.raises(BudgetExceededError) as refused:
        DPLogisticRegression(epsilon=3.0, budget=budget).fit(X, y)
    (left,) = re.findall(r"only epsilon=(\S+) at", str(refused.value))
    DPLogisticRegression(epsilon=float(left), budget=budget).fit(X, y)


def test_the_meter_in_a_report_is_no_less_than_what_is_spent(budget):
    X, y = make_classification(300, random_state=0)
    DPLogisticRegression(epsilon=1.7123456789, budget=budget).fit(X, y)
    (meter,) = re.findall(r"in advance would be \\?\(ε = (\S+),", budget.report())
    assert float(meter) >= budget.spent.epsilon


def test_the_cost_of_a_plan_is_shown_in_few_digits_rounded_up():
    cost = PrivacyBudget(epsilon=3.0, delta=1e-5).plan([GDPEvent(0.1)] * 11)
    assert shown(repr(cost))[0] >= cost.epsilon
    assert re.fullmatch(
        r"PlanCost\(epsilon=1.\d{1,5}, delta=1e-05, admitted=True, n_releases=11\)", repr(cost)
    )
    assert "<td>11</td>" in cost._repr_html_()
    assert f"<td>{at_least(cost.epsilon):g}</td>" in cost._repr_html_()
    refused = PlanCost(epsilon=math.inf, delta=0.0, admitted=False, n_releases=1)
    assert "<td>rejected</td>" in refused._repr_html_()


def test_a_score_report_shows_accuracy_where_a_bin_begins_at_a_half():
    truth, score = np.arange(4000) % 2, np.linspace(0.0, 1.0, 4000)
    report = score_report(truth, score, epsilon=1.0)
    assert re.search(r"accuracy at 0\.5 +0\.\d", str(report))
    assert "<th>accuracy at 0.5</th>" in report._repr_html_()
    without = score_report(truth, score, epsilon=1.0, edges=[0.0, 0.3, 1.0])
    assert "accuracy" not in str(without)
