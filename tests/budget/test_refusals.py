"""A fit that is refused for its input leaves the ledger empty and says what is wrong."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.exceptions import BudgetExceededError
from skdp.privacy import (
    GaussianEvent,
    GDPEvent,
    PoissonSampledEvent,
    PrivacyGuarantee,
    SelfComposedEvent,
)

X, Y = make_classification(n_samples=120, n_features=5, random_state=0)
SPOILT = np.where(np.arange(X.size).reshape(X.shape) == 7, np.nan, X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(({"epsilon": bad}, "epsilon must be") for bad in [0, -1, np.nan, None]),
        *(({"delta": bad}, "delta must lie in") for bad in [1, -0.1, np.nan]),
        ({"delta": 0}, "solver='auto' .*needs delta > 0"),
        ({"solver": "lbfgs"}, "solver must be one of .*'regularized_exponential'.*'lbfgs'"),
        ({"sampler": "gibbs"}, "sampler must be one of .*'proximal'.*'gibbs'"),
        ({"loss_clip": 0}, "loss_clip"),
        ({"classes": [1, 2]}, r"labels outside classes=\[1, 2\]"),
        ({"classes": [1]}, "one class"),
    ],
)
def test_a_bad_parameter_spends_nothing(budget, change, message):
    with pytest.raises(ValueError, match=message):
        DPLogisticRegression(budget=budget).set_params(**change).fit(X, Y)
    assert budget.history() == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((SPOILT, Y), "column 2 .*missing"),
        ((np.nan_to_num(SPOILT, nan=np.inf), Y), "column 2 must be finite"),
        ((X, np.ones(120)), "one class"),
        ((X, X[:, 0]), "Unknown label type"),
        ((X[:5], Y), "inconsistent numbers of samples"),
        ((X, Y, np.ones(120)), "sample_weight"),
        (([*X.tolist(), [1.0]], np.ones(121)), "rows of equal length"),
        ((X, np.ones((120, 2))), "1d array"),
    ],
)
def test_bad_data_spend_nothing(budget, data, message):
    weight = {"sample_weight": data[2]} if len(data) == 3 else {}
    with pytest.raises(ValueError, match=message):
        DPLogisticRegression(budget=budget).fit(*data[:2], **weight)
    assert budget.history() == []


@pytest.mark.parametrize(
    "data", [(X, Y[:-1]), (X, Y, Y[:-1]), (X, np.ones((120, 2))), ([*X.tolist(), [1.0]], Y)]
)
def test_no_message_says_how_many_rows_there_are(data):
    """Where a record is a person, or may be absent, the number of rows is private."""
    with pytest.raises(ValueError, match=r"y|X|weight") as caught:
        DPLogisticRegression(max_weight=1.0).fit(*data)
    assert not any(str(n) in str(caught.value) for n in (119, 120, 121))


def test_a_delta_of_single_precision_leaves_the_ledger_readable():
    budget = PrivacyBudget(epsilon=3.0, delta=1e-3, composition="basic")
    DPLogisticRegression(budget=budget, delta=np.float32(1e-5)).fit(X, Y)
    assert budget.spent.delta == pytest.approx(1e-5)


def test_a_release_that_is_not_gaussian_is_told_what_it_needs():
    steps = SelfComposedEvent(PoissonSampledEvent(0.1, GaussianEvent(5.0)), 3)
    guarantee = PrivacyGuarantee(steps, "replace_one", "")
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, slack=0.0)
    budget.spend(PrivacyGuarantee(GDPEvent(0.01), "replace_one", ""), delta=1e-5, name="first")
    with pytest.raises(BudgetExceededError, match=r"with slack=.*composition='rdp'"):
        budget.spend(guarantee, delta=1e-5, name="steps")
    PrivacyBudget(epsilon=1.0, delta=1e-5).spend(guarantee, delta=1e-5, name="steps")
    PrivacyBudget(epsilon=1.0, delta=1e-5, composition="rdp").spend(
        guarantee, delta=1e-5, name="steps"
    )


def test_an_event_alone_is_no_guarantee():
    with pytest.raises(ValueError, match=r"PrivacyGuarantee"):
        PrivacyBudget(epsilon=1.0, delta=1e-5).spend(GaussianEvent(5.0), delta=1e-5, name="steps")
