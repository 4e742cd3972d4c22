"""The breakdown adds up, spends nothing, and finds costs where they were put."""

import sys

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from skdp import DPGaussianNB, DPHingeClassifier, DPLogisticRegression, PrivacyBudget
from skdp.inspection import CostOfPrivacyDisplay
from skdp.preprocessing import RowClipper
from skdp.solvers import SOLVERS

X, y = make_blobs(300, centers=[[-1, 0], [1, 0], [0, 1]], cluster_std=0.4, random_state=0)
TWO = X, (y > 0).astype(int)


@pytest.fixture(autouse=True)
def _no_window():
    with mpl.rc_context({"backend": "agg"}):
        yield
    mpl.pyplot.close("all")


def display(estimator, data=TWO, **params):
    params = {"cv": 3, "n_repeats": 2, "random_state": 0} | params
    return CostOfPrivacyDisplay.from_estimator(estimator, *data, **params)


@pytest.mark.parametrize(
    "solver", [name for name in SOLVERS if name not in ("adassp", "exponential_mechanism")]
)
def test_costs_add_up_for_every_solver(solver):
    shown = display(DPLogisticRegression(solver=solver))
    first, last = shown.scores["no privacy"], shown.scores["private"]
    assert (first.shape, last.shape) == ((1, 3), (2, 3))
    total = sum(cost.mean() for cost in shown.costs.values())
    assert total == pytest.approx(first.mean() - last.mean())


def test_its_first_model_is_scikit_learns():
    scores = display(DPLogisticRegression()).scores["no privacy"]
    expected = cross_val_score(LogisticRegression(), *TWO, cv=3)
    np.testing.assert_array_equal(scores[0], expected)


def test_clipping_costs_where_lengths_say_the_class(rng):
    """Two classes on one ray: after clipping to norm 1 they are one point."""
    lengths = np.r_[rng.uniform(1, 2, 100), rng.uniform(5, 6, 100)]
    rays = np.c_[lengths, lengths], np.arange(200) // 100
    costs = {k: v.mean() for k, v in display(DPLogisticRegression(epsilon=3.0), rays).costs.items()}
    assert costs["clipping"] > 0.4
    assert max(abs(costs["regularization"]), abs(costs["noise"])) < 0.2


def test_noise_costs_at_a_tiny_epsilon_and_nothing_at_a_large_one():
    assert display(DPLogisticRegression(epsilon=1e-3), n_repeats=10).costs["noise"].mean() > 0.2
    assert abs(display(DPLogisticRegression(epsilon=1000.0)).costs["noise"].mean()) < 0.02


@pytest.mark.parametrize(
    "estimator",
    [
        DPHingeClassifier(epsilon=3.0, neighboring="add_remove_one"),
        make_pipeline(RowClipper(), DPLogisticRegression(epsilon=3.0, C=10.0, loss_clip=None)),
    ],
    ids=["several classes", "pipeline"],
)
def test_it_takes_what_can_be_cross_validated(estimator):
    shown = display(
        estimator, (X, y), scoring="neg_log_loss" if hasattr(estimator, "steps") else None
    )
    assert all(np.isfinite(scores).all() for scores in shown.scores.values())


@pytest.mark.parametrize("wrap", [lambda one: one, lambda one: make_pipeline(RowClipper(), one)])
def test_an_estimator_with_a_budget_is_refused(wrap):
    """It read the private data, scored them exactly and spent nothing."""
    estimator = wrap(DPLogisticRegression(budget=PrivacyBudget(epsilon=1.0, delta=1e-5)))
    with pytest.raises(ValueError, match="public=True"):
        CostOfPrivacyDisplay.from_estimator(estimator, None, None)


def test_it_spends_nothing_and_fits_nothing(unspent):
    estimator = DPLogisticRegression(budget=unspent)
    display(estimator, public=True)
    assert not hasattr(estimator, "coef_")
    assert estimator.budget is unspent


def test_a_seed_repeats_it():
    one, same, other = (
        display(DPLogisticRegression(epsilon=0.1), random_state=s) for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.scores["private"], same.scores["private"])
    assert (one.scores["private"] != other.scores["private"]).any()
    assert (one.scores["private"][0] != one.scores["private"][1]).any()


def test_bars_lead_from_the_open_score_to_the_private_one():
    axes = mpl.pyplot.subplots()[1]
    shown = display(DPLogisticRegression(epsilon=0.1), scoring="accuracy", ax=axes)
    assert shown.ax_ is axes
    assert axes.get_ylabel() == "accuracy"
    ends = [bar.get_y() + bar.get_height() for bar in shown.bars_]
    means = [scores.mean() for scores in shown.scores.values()]
    np.testing.assert_allclose(ends, [*means, means[-1]])
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["no privacy", "clipping", "regularization", "noise", "private"]


def test_a_model_without_a_solver_is_refused():
    for estimator in (LogisticRegression(), DPGaussianNB()):
        with pytest.raises(TypeError, match="solver"):
            display(estimator)


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"skdp\[plot\]"):
        display(DPLogisticRegression())
