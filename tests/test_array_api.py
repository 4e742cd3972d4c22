"""Models predict for arrays of the array API standard, with scikit-learn's dispatch on or off."""

import numpy as np
import pytest
from sklearn import config_context

from skdp import DPAdditiveClassifier, DPLinearRegression, DPLogisticRegression

xp = pytest.importorskip("array_api_strict")

X = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 3))
y = (X[:, 0] > 0).astype(int)
MODELS = [
    (DPLogisticRegression(epsilon=1.0), "predict_proba"),
    (DPAdditiveClassifier(epsilon=1.0, bounds=(-1, 1)), "predict_proba"),
    (DPLinearRegression(epsilon=1.0, target_bounds=(0, 1)), "predict"),
]


@pytest.fixture(params=[False, True], ids=["off", "on"])
def dispatch(request):
    try:
        with config_context(array_api_dispatch=request.param):
            yield request.param
    except RuntimeError as error:  # scikit-learn asks for a variable that is set before its import
        pytest.skip(str(error))


@pytest.mark.parametrize(("model", "method"), MODELS)
def test_predictions_are_those_for_numpy(model, method, dispatch):
    fitted = model.fit(X, y)
    for name in {"predict", method}:
        found = getattr(fitted, name)(xp.asarray(X))
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(found, getattr(fitted, name)(X))


def test_a_fit_takes_them(dispatch):
    model = DPLogisticRegression(epsilon=50.0, random_state=0)
    expected = model.fit(X, y).coef_
    np.testing.assert_array_equal(model.fit(xp.asarray(X), xp.asarray(y)).coef_, expected)
