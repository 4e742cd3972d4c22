"""Scalers that learn from persons with several rows."""

import numpy as np
import pytest

from skdp import PrivacyBudget
from skdp.preprocessing import DPMinMaxScaler, DPQuantileClipper, DPStandardScaler

RNG = np.random.default_rng(0)
COUNTS = RNG.integers(1, 6, 400)
WHOSE = np.repeat(np.arange(400), COUNTS)
X = RNG.uniform(0.0, 5.0, size=(WHOSE.size, 2)) + (COUNTS[WHOSE] > 3)[:, None]
every_scaler = pytest.mark.parametrize(
    "scaler", [DPStandardScaler, DPMinMaxScaler, DPQuantileClipper]
)


@every_scaler
def test_persons_are_protected(scaler):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, unit="person")
    fitted = scaler(epsilon=1.0, bounds=(0, 10), budget=budget).fit(X, groups=WHOSE)
    assert fitted.privacy_.unit == "person"
    assert budget.spent.epsilon == pytest.approx(1.0, rel=0.03)
    with pytest.raises(ValueError, match="Nothing was spent"):
        scaler(epsilon=0.1, bounds=(0, 10), budget=PrivacyBudget(epsilon=1.0, delta=1e-5)).fit(
            X, groups=WHOSE
        )


def test_persons_count_alike():
    fitted = DPStandardScaler(epsilon=2000.0, bounds=(0, 10)).fit(X, groups=WHOSE)
    expected = np.average(X, axis=0, weights=1.0 / COUNTS[WHOSE])
    np.testing.assert_allclose(fitted.mean_, expected, rtol=1e-3)
    assert np.all(np.abs(fitted.mean_ - X.mean(axis=0)) > 0.05)
