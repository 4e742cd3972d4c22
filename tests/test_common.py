"""scikit-learn's own contract, for every public estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from skdp import DPHingeClassifier, DPLogisticRegression
from skdp.preprocessing import BoundsScaler, RowClipper

ESTIMATORS = [
    DPLogisticRegression(),
    DPLogisticRegression(loss_clip=None, neighboring="add_remove_one"),
    DPLogisticRegression(epsilon=float("inf")),
    DPHingeClassifier(),
    DPHingeClassifier(smoothing=0.05, neighboring="add_remove_one", n_samples_hint=50),
    DPHingeClassifier(epsilon=float("inf")),
    BoundsScaler(bounds=(-100.0, 100.0)),
    RowClipper(),
]


# At epsilon=inf the hinge classifier is scikit-learn's LinearSVC, which on the checks' unscaled
# data says that it did not converge.
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
