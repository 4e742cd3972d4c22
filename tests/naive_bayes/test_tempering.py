"""Private naive Bayes is less sure the more noise there is, and no less without privacy."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from skdp import DPGaussianNB


def table(n, d=10, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return np.clip(rng.normal(size=(n, d)) + 0.2 * (2 * y[:, None] - 1), -3, 3), y


def fitted(n, epsilon=1.0, seed=0):
    X, y = table(n + 2000, seed=seed)
    model = DPGaussianNB(bounds=(-3, 3), classes=[0, 1], epsilon=epsilon, random_state=seed)
    return model.fit(X[:n], y[:n]), X[n:], y[n:]


def share(model, X):
    """Return t: log-odds over the prior's, of the probabilities over the joint ones."""
    joint, prior = model.predict_joint_log_proba(X), np.log(model.class_prior_)
    found = model.predict_log_proba(X) - prior
    return np.median((found[:, 1] - found[:, 0]) / np.diff(joint - prior, axis=1)[:, 0])


@pytest.mark.parametrize("seed", range(3))
def test_few_rows_are_tempered_to_the_gain_of_the_log_loss(seed):
    model, X, y = fitted(500, seed=seed)
    joint = model.predict_joint_log_proba(X)
    sure = np.exp(joint - np.logaddexp(*joint.T)[:, None])
    assert log_loss(y, model.predict_proba(X)) < log_loss(y, sure) - 0.05
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))


def test_the_share_falls_as_columns_add_noise():
    """1/t − 1 grows by 4 for 16 times the columns, and by the class counts' larger noise."""
    found = []
    for d in (5, 80):
        X, y = table(4000, d=d)
        model = DPGaussianNB(bounds=(-3, 3), classes=[0, 1], random_state=0).fit(X, y)
        found.append(share(model, X))
    few, many = (1.0 / t - 1.0 for t in found)
    assert many > 8.0 * few  # 3.7 without the root of the number of columns


def test_the_share_of_the_likelihood_rises_to_one():
    few, many, free = (share(*fitted(*given)[:2]) for given in ((500,), (50_000,), (500, np.inf)))
    assert 0.0 < few < 0.5 < many < 1.0
    assert free == pytest.approx(1.0)
