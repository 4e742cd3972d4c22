"""Scalers that learn from persons with several rows."""

import numpy as np

from skdp.preprocessing import DPStandardScaler

RNG = np.random.default_rng(0)
COUNTS = RNG.integers(1, 6, 400)
WHOSE = np.repeat(np.arange(400), COUNTS)
X = RNG.uniform(0.0, 5.0, size=(WHOSE.size, 2)) + (COUNTS[WHOSE] > 3)[:, None]


def test_persons_count_alike():
    fitted = DPStandardScaler(epsilon=2000.0, bounds=(0, 10)).fit(X, groups=WHOSE)
    expected = np.average(X, axis=0, weights=1.0 / COUNTS[WHOSE])
    np.testing.assert_allclose(fitted.mean_, expected, rtol=1e-3)
    assert np.all(np.abs(fitted.mean_ - X.mean(axis=0)) > 0.05)
