"""Releases before a fit, for an ε that is small beside δ."""

from __future__ import annotations

import numpy as np
import pytest

from skdp import DPAdditiveClassifier, DPLinearRegression, DPLogisticRegression

SMALL = {"epsilon": 1e-7, "delta": 5e-4, "random_state": 0}


@pytest.mark.parametrize(
    "model",
    [
        DPLogisticRegression(center=True, **SMALL),
        DPLinearRegression(center=True, target_bounds=(-1000, 1000), **SMALL),
        DPAdditiveClassifier(bounds="auto", **SMALL),
    ],
)
def test_release_before_fit_leaves_rest_if_delta_alone_covers_it(model, neighboring):
    X = np.random.default_rng(0).normal(size=(60, 3))
    fitted = model.set_params(neighboring=neighboring).fit(X, X[:, 0] > 0)
    assert np.isfinite(fitted.coef_).all()
    assert fitted.privacy_.epsilon(SMALL["delta"]) <= SMALL["epsilon"]
