"""Naive Bayes from persons with several rows, who weigh as much as one row together."""

import math

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from skdp import PrivacyBudget
from skdp.naive_bayes import DPGaussianNB
from skdp.workloads import QueryPlan

RNG = np.random.default_rng(0)
N = 300
COUNTS = RNG.integers(1, 6, N)
WHOSE = RNG.permutation(np.repeat(np.arange(N), COUNTS))
y = RNG.integers(0, 2, WHOSE.size)
X = RNG.normal(size=(WHOSE.size, 2)) + y[:, None]
BOUNDS = {"bounds": (-5, 5), "classes": [0, 1]}


def test_without_privacy_rows_weigh_one_over_their_number():
    model = DPGaussianNB(epsilon=math.inf, **BOUNDS).fit(X, y, groups=WHOSE)
    reference = GaussianNB().fit(X, y, 1.0 / COUNTS[WHOSE])
    np.testing.assert_allclose(model.theta_, reference.theta_)
    np.testing.assert_allclose(model.class_count_.sum(), N)
    assert model.privacy_.unit == "person"


@pytest.mark.parametrize("m", [3, 7, 1000, 10_000])
def test_very_many_rows_of_a_person_add_no_more_than_one(m, monkeypatch):
    """However each row is rounded, their sum keeps within the weight."""
    seen = []
    monkeypatch.setattr(QueryPlan, "release", lambda plan, answers, rng: seen.append(answers) or {})
    table, codes = np.full((m + 1, 1), 5.0), np.zeros(m + 1, int)
    with pytest.raises(KeyError):
        DPGaussianNB(**BOUNDS).fit(table, codes, groups=[0] * m + [1])
    assert 1.0 < seen[0]["classes"].sum() <= 2.0
    assert np.abs(seen[0]["column 0"]).max() <= 2.0


def test_persons_stay_persons_in_a_budget_and_in_later_calls():
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, unit="person")
    model = DPGaussianNB(**BOUNDS, budget=budget).partial_fit(X, y, groups=WHOSE)
    assert model.privacy_.unit == "person"
    with pytest.raises(ValueError, match="Pass groups in every call"):
        DPGaussianNB(**BOUNDS).partial_fit(X, y).partial_fit(X, y, groups=WHOSE)
    with pytest.raises(ValueError, match="Nothing was spent"):
        model.fit(X, y)
    assert len(budget.history()) == 1
    model.partial_fit(X, y, groups=WHOSE)
    assert len(budget.history()) == 2
