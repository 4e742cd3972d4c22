"""One line an estimator, with its scores at every ε."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from skdp import DPHingeClassifier, DPLogisticRegression, PrivacyBudget
from skdp.inspection import PrivacyUtilityDisplay

X, y = make_blobs(300, centers=[[-1, 0], [1, 0]], cluster_std=0.4, random_state=0)
EPSILONS = (1e-3, 0.3, 100.0)


@pytest.fixture(scope="module")
def budget():
    return PrivacyBudget(epsilon=1.0, delta=1e-5)


@pytest.fixture(scope="module")
def shown(budget):
    models = {"logistic": DPLogisticRegression(budget=budget), "hinge": DPHingeClassifier()}
    with mpl.rc_context({"backend": "agg"}):
        yield PrivacyUtilityDisplay.from_estimators(
            models,
            X,
            y,
            epsilons=EPSILONS,
            cv=3,
            n_repeats=8,
            random_state=0,
            scoring="accuracy",
            public=True,
        )
    mpl.pyplot.close("all")


def test_scores_of_every_fit_are_kept(shown):
    assert {scores.shape for scores in shown.scores.values()} == {(3, 8, 3)}


def test_privacy_costs_less_the_less_there_is(shown):
    for scores in shown.scores.values():
        means = scores.mean(axis=(1, 2))
        assert means[0] < 0.8 < means[2]
        assert abs(means[2] - shown.open_score) < 0.05


def test_the_open_score_is_scikit_learns(shown):
    assert shown.open_score == cross_val_score(LogisticRegression(), X, y, cv=3).mean()


def test_nothing_is_spent(shown, budget):
    assert budget.history() == []


def test_lines_go_through_the_means(shown):
    for name, scores in shown.scores.items():
        line = shown.lines_[name].lines[0]
        np.testing.assert_allclose(line.get_ydata(), scores.mean(axis=(1, 2)))
        np.testing.assert_array_equal(line.get_xdata(), EPSILONS)
    assert shown.ax_.get_ylabel() == "accuracy"
    labels = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert sorted(labels) == ["hinge", "logistic", "no privacy"]


def test_it_can_be_drawn_again(shown):
    axes = mpl.pyplot.subplots()[1]
    again = PrivacyUtilityDisplay(
        epsilons=shown.epsilons, scores=shown.scores, open_score=shown.open_score
    )
    assert again.plot(axes).ax_ is axes


def test_estimators_with_a_budget_are_refused(budget):
    models = {"open": DPHingeClassifier(), "private": DPLogisticRegression(budget=budget)}
    with pytest.raises(ValueError, match="public=True"):
        PrivacyUtilityDisplay.from_estimators(models, None, None)


def test_one_estimator_is_one_line():
    with mpl.rc_context({"backend": "agg"}):
        one = PrivacyUtilityDisplay.from_estimator(
            DPLogisticRegression(), X, y, epsilons=(1.0,), cv=2, n_repeats=2
        )
    mpl.pyplot.close("all")
    assert list(one.scores) == ["DPLogisticRegression"]
