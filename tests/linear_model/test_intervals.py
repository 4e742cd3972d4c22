"""Intervals for what would have been released without noise."""

import numpy as np
import pytest
from scipy import stats

from skdp import DPHuberRegressor, DPLogisticRegression

rng = np.random.default_rng(0)
X = rng.uniform(-0.5, 0.5, size=(200, 2))
LABELS = (X[:, 0] + 0.2 * rng.normal(size=200) > 0).astype(int)
NUMBERS = 30.0 + 50.0 * X[:, 0] + 5.0 * rng.normal(size=200)
FITS = 300
CASES = [
    (DPLogisticRegression(C=1.0), LABELS),
    (DPHuberRegressor(C=1.0, target_bounds=(0.0, 60.0)), NUMBERS),
]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "y"), CASES, ids=["classifier", "regressor"])
def test_intervals_cover_the_noiseless_fit_as_often_as_they_say(model, y):
    """Over 300 fits of two coefficients; a count outside its binomial quantiles has chance 1e-6."""
    model.set_params(solver="output_perturbation", random_state=np.random.default_rng())
    truth = model.set_params(epsilon=1e8).fit(X, y).coef_.copy()
    model.set_params(epsilon=1.0)
    hits = 0
    for _ in range(FITS):
        low, high = model.fit(X, y).coef_interval(0.8)
        hits += ((low <= truth) & (truth <= high)).sum()
    least, most = stats.binom.ppf([5e-7, 1 - 5e-7], 2 * FITS, 0.8)
    assert least <= hits <= most


def test_other_releases_have_none():
    model = DPLogisticRegression(solver="output_perturbation").fit(X, LABELS)
    assert model.coef_interval()[0].shape == model.coef_.shape
    model.set_params(solver="noisy_gd").fit(X, LABELS)
    with pytest.raises(ValueError, match="output_perturbation"):
        model.coef_interval()


@pytest.mark.parametrize("level", [0.0, 1.0, "a"])
def test_a_level_is_a_probability(level):
    model = DPLogisticRegression(solver="output_perturbation").fit(X, LABELS)
    with pytest.raises(ValueError, match="level"):
        model.coef_interval(level)
