"""Noisy scores of all candidates: what they cost, what their noise is, who may have them."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import make_classification

from skdp import DPGaussianNB, DPLogisticRegression, PrivacyBudget
from skdp._private_fit import guarantee_of
from skdp.accounting import gdp_mu
from skdp.mechanisms import Gaussian, Laplace
from skdp.model_selection import DPGridSearchCV
from skdp.model_selection._private_search import PLANS, SearchTerms
from skdp.privacy import Neighboring

X, Y = make_classification(1000, n_features=5, class_sep=2.0, random_state=0)
MODEL = DPLogisticRegression(classes=(0, 1))
GRID = {"data_norm": [1e-9, 0.3, 1.0, 3.0]}
REPLACE = Neighboring.REPLACE_ONE
LOG = "neg_log_loss"
FALSE_ALARM = 1e-6


def test_scores_are_shown_and_the_best_of_them_wins():
    search = DPGridSearchCV(MODEL, GRID, epsilon=8.0, release_scores=True).fit(X, Y)
    found = search.cv_results_
    names = {"params", "param_data_norm", "mean_test_score", "rank_test_score"}
    assert set(found) == names
    assert search.best_index_ == np.argmax(found["mean_test_score"])
    assert found["rank_test_score"][search.best_index_] == 1
    assert search.best_score_ == found["mean_test_score"][search.best_index_]
    np.testing.assert_allclose(  # noise of 2/μ = 1.2 of 200 rows: wrong less than once in 1e9
        found["mean_test_score"][2:], search.score(X, Y), atol=0.2
    )


def plan_of(k, delta):
    return PLANS["all"](SearchTerms(2.0, delta, REPLACE, "geometric", 10.0, True), [None] * k)


def square_of_mu(event):
    return event.gdp_mu(REPLACE) ** 2


def pure_epsilon(event):
    return event.pure_epsilon(REPLACE)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize(
    ("kind", "delta", "cost"), [(Gaussian, 1e-5, square_of_mu), (Laplace, 0.0, pure_epsilon)]
)
def test_all_fits_cost_the_whole_and_so_do_all_scores(kind, delta, cost, k, monkeypatch):
    """A record is used for fitting or for scoring, so it costs the larger of the two."""
    seen, release = [], kind.release

    def spy(self, *args):
        seen.append(cost(self.event))
        return release(self, *args)

    monkeypatch.setattr(kind, "release", spy)
    plan = plan_of(k, delta)
    assert plan.tried(np.random.default_rng()) == list(range(k))
    for run in plan.runs:
        run.noisy(50.0, np.random.default_rng())
    whole = cost(plan.event)
    assert 0.999 * whole < math.fsum(seen) <= whole
    fits = [run.amount for run in plan.runs]
    if delta:
        spent = math.fsum(gdp_mu(one.epsilon, one.delta) ** 2 for one in fits)
    else:
        spent = math.fsum(one.epsilon for one in fits)
    assert 0.999 * whole < spent <= whole * (1.0 + 1e-8)
    assert guarantee_of(plan.event, REPLACE, plan.theorem).epsilon(delta) <= 2.0 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-5, 0.0])
def test_scores_have_the_noise_of_one_of_k(delta):
    plan, rng = plan_of(4, delta), np.random.default_rng()
    noise = [plan.runs[2].noisy(50.0, rng) - 50.0 for _ in range(4000)]
    if delta:
        law = stats.norm(scale=2.0 / gdp_mu(2.0, delta)).cdf
    else:
        law = stats.laplace(scale=4.0 / 2.0).cdf
    assert stats.kstest(noise, law).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"method": "repeat"}, "needs method='all'"),
        ({"method": "cheapest", "threshold": 0.5}, "needs method='all'"),
        ({"neighboring": "add_remove_one"}, "needs neighboring='replace_one'"),
    ],
)
def test_scores_that_must_stay_secret_are_refused_and_nothing_is_spent(terms, message):
    neighboring = terms.get("neighboring", "replace_one")
    budget = PrivacyBudget(epsilon=5.0, delta=1e-5, neighboring=neighboring)
    search = DPGridSearchCV(MODEL, GRID, release_scores=True, budget=budget, **terms)
    with pytest.raises(ValueError, match=rf"(?s)({message}).*Nothing was spent"):
        search.fit(X, Y)
    assert budget.history() == []


@pytest.mark.parametrize("delta", [1e-5, 0.0])
def test_a_budget_is_charged_what_was_asked(delta):
    kind = "gdp" if delta else "pure"
    budget = PrivacyBudget(epsilon=2.0, delta=delta, composition=kind)
    model = MODEL if delta else DPGaussianNB(bounds=(-8, 8), classes=(0, 1))
    search = DPGridSearchCV(
        model, {}, epsilon=2.0, delta=delta, budget=budget, release_scores=True, scoring=LOG
    )
    assert search.fit(X, Y).privacy_.epsilon(delta) == pytest.approx(2.0, rel=1e-3)
    assert search.best_estimator_.privacy_ == search.privacy_
    assert len(budget.history()) == 1
    assert search.cv_results_["mean_test_score"].shape == (1,)
