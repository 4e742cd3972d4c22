"""Naive Bayes from persons with several rows, who weigh as much as one row together."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB

from skdp import PrivacyBudget
from skdp.naive_bayes import DPGaussianNB, DPMixedNB
from skdp.workloads import QueryPlan

RNG = np.random.default_rng(0)
N = 300
COUNTS = RNG.integers(1, 6, N)
WHOSE = RNG.permutation(np.repeat(np.arange(N), COUNTS))
y = RNG.integers(0, 2, WHOSE.size)
X = RNG.normal(size=(WHOSE.size, 2)) + y[:, None]
BOUNDS = {"bounds": (-5, 5), "classes": [0, 1]}
ROUNDING = 1e-8
rows = st.tuples(
    st.floats(-9.0, 9.0) | st.sampled_from([-5.0, 5.0, np.nan]),
    st.sampled_from(["a", "b", "c", None]),
    st.sampled_from([0, 1, 2]),
)


def test_without_privacy_rows_weigh_one_over_their_number():
    model = DPGaussianNB(epsilon=math.inf, **BOUNDS).fit(X, y, groups=WHOSE)
    reference = GaussianNB().fit(X, y, 1.0 / COUNTS[WHOSE])
    np.testing.assert_allclose(model.theta_, reference.theta_)
    np.testing.assert_allclose(model.class_count_.sum(), N)
    assert model.privacy_.unit == "person"


@pytest.mark.slow
@given(
    one=st.lists(rows, min_size=1, max_size=5),
    other=st.lists(rows, min_size=1, max_size=5),
    neighboring=st.sampled_from(["replace_one", "add_remove_one"]),
    weighted=st.booleans(),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_answers_of_persons_are_no_farther_apart_than_declared(
    one, other, neighboring, weighted, monkeypatch
):
    seen = []

    def release(plan, answers, rng):
        seen.append((plan, {key: np.ravel(answer) for key, answer in answers.items()}))
        return {query.name: np.ones(query.size) for query in plan.queries}

    monkeypatch.setattr(QueryPlan, "release", release)
    rest = [(0.5, "a", 1), (-3.0, "b", 0), (2.0, "a", 2)]
    for mine in (one, other if neighboring == "replace_one" else []):
        table = pd.DataFrame([*rest, *mine], columns=["x", "t", "y"]).astype({"t": "object"})
        model = DPMixedNB(
            bounds={"x": (-5, 5)},
            categories={"t": ["a", "b"]},
            classes=[0, 1, 2],
            neighboring=neighboring,
            max_weight=2.0,
            noise="gaussian",
        )
        whose, weights = (
            [0, 0, 1, *[2] * len(mine)],
            [0.1, 1.9, 0.7, 3.0, 0.5, 2.0, 0.0, 1.0][: len(table)],
        )
        model.fit(table[["x", "t"]], table["y"], weights if weighted else None, groups=whose)
    (plan, before), (same, after) = seen
    assert plan == same
    for query in plan.queries:
        distance = np.abs(before[query.name] - after[query.name])
        assert np.count_nonzero(distance) <= query.l0_sensitivity
        assert distance.max() <= query.linf_sensitivity * (1.0 + ROUNDING)
        assert distance.sum() <= query.l1_sensitivity * (1.0 + ROUNDING)
        assert np.linalg.norm(distance) <= query.l2_sensitivity * (1.0 + ROUNDING)


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


def test_groups_of_another_length_are_refused_before_the_spend():
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, unit="person")
    with pytest.raises(ValueError, match=r"one value for each row.*Nothing was spent"):
        DPGaussianNB(**BOUNDS, budget=budget).fit(X, y, groups=WHOSE[:-1])
    assert budget.spent.epsilon == 0.0
