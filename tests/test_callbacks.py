"""Callbacks of scikit-learn hear of steps; none gets rows, or a model before its release."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from skdp import DPHingeClassifier, DPLogisticRegression, PrivacyBudget
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.solvers import DPSGD

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has callbacks")

X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(300, 2))
y = (X[:, 0] > 0).astype(int)


class Listener:
    """It lists what it hears, and asks to stop at the end of every task."""

    max_propagation_depth = None

    def __init__(self):
        self.heard = []

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(f"{context.estimator_name} {context.task_name}")
        assert context.task_name == "fit" or not hasattr(estimator, "coef_")

    def on_fit_task_end(self, estimator, context):
        return True


class Peeking(Listener):
    def on_fit_task_end(self, estimator, context, *, X=None, y=None):
        self.heard.append(X)


def test_a_fit_shows_its_public_steps_and_takes_all_of_them():
    listener = Listener()
    model = DPHingeClassifier(solver=DPSGD(n_steps=7)).set_callbacks(listener).fit(X, y)
    name = "DPHingeClassifier"
    assert listener.heard == [
        *("setup", f"{name} fit", f"{name} steps"),
        *[f"{name} step"] * 7,
        "teardown",
    ]
    model.fit(X, y)
    assert listener.heard.count("teardown") == 2


@pytest.mark.parametrize("make", [make_pipeline, make_private_pipeline])
def test_callbacks_of_a_pipeline_reach_its_private_steps(make):
    listener = Listener()
    steps = [DPStandardScaler(bounds=(-1, 1)), DPLogisticRegression(solver="noisy_gd")]
    make(*steps).set_callbacks(listener).fit(X, y)
    assert {"DPStandardScaler fit", "DPLogisticRegression step"} <= {*listener.heard}
    assert listener.heard.count("DPStandardScaler fit") == 1


@pytest.mark.parametrize("peeking", [Peeking(), callback.ScoringMonitor(scoring="accuracy")])
def test_a_callback_that_asks_for_rows_is_refused_before_the_spend(peeking, unspent):
    model = DPLogisticRegression(budget=unspent)
    pipeline = make_private_pipeline(BoundsScaler(bounds=(-1, 1)), model, budget=unspent)
    for one in (model, pipeline):
        with pytest.raises(ValueError, match=r"would be exact.*Nothing was spent\.$"):
            one.set_callbacks(peeking).fit(X, y)
    assert getattr(peeking, "heard", []) == []


def test_a_price_tells_callbacks_nothing():
    listener, budget = Listener(), PrivacyBudget(epsilon=2.0, delta=1e-5)
    model = DPLogisticRegression(budget=budget).set_callbacks(listener)
    assert budget.price(model, (300, 2)).admitted
    assert listener.heard == []
