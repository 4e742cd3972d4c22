"""Statistics of persons with several rows: all of them count together as one record."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from skdp import statistics

RNG = np.random.default_rng(0)
N = 400
COUNTS = RNG.integers(1, 6, N)
WHOSE = RNG.permutation(np.repeat(np.arange(N), COUNTS))
X = RNG.uniform(0.0, 10.0, size=(WHOSE.size, 2)) * RNG.uniform(0.5, 1.0, N)[WHOSE, None]
KEYS = RNG.choice(["a", "b"], WHOSE.size)
FRAME = pd.DataFrame({"who": WHOSE, "x": X[:, 0], "key": KEYS, "y": X[:, 1]})
WEIGHTS = 1.0 / COUNTS[WHOSE]
B = {"bounds": (0, 10)}
MEAN = np.average(X, axis=0, weights=WEIGHTS)


def rate(key):
    """Return the weighted shares above 3 of the rows with a key."""
    rows = key == KEYS
    return np.average(X[rows] > 3.0, axis=0, weights=WEIGHTS[rows])


TRUTH = {
    "count": lambda **t: (statistics.count(X > 3.0, **t).value, WEIGHTS @ (X > 3.0)),
    "sum": lambda **t: (statistics.sum(X, **B, **t).value, N * MEAN),
    "mean": lambda **t: (statistics.mean(X, **B, **t).value, MEAN),
    "variance": lambda **t: (
        statistics.variance(X, **B, **t).value,
        np.average((X - MEAN) ** 2, axis=0, weights=WEIGHTS),
    ),
    "covariance": lambda **t: (
        statistics.covariance(X, **B, **t).value,
        np.cov(X.T, aweights=WEIGHTS, ddof=0),
    ),
    "histogram": lambda **t: (
        statistics.histogram(X[:, 0], edges=[0, 2, 10], **t).value,
        np.histogram(X[:, 0], [0, 2, 10], weights=WEIGHTS)[0],
    ),
    "marginals": lambda **t: (
        statistics.marginals(KEYS, categories=["a", "b"], **t)[0,],
        [WEIGHTS @ (one == KEYS) for one in ("a", "b")],
    ),
    "quantile": lambda **t: (
        statistics.quantile(X[:, 0], q=0.5, **B, **t).value,
        np.sort(X[:, 0])[np.cumsum(WEIGHTS[np.argsort(X[:, 0])]).searchsorted(0.5 * N)],
    ),
    "difference": lambda **t: (
        statistics.difference(X > 3.0, by=KEYS, keys=["a", "b"], **t).value[0],
        rate("b") - rate("a"),
    ),
    "survival_curve": lambda **t: (
        statistics.survival_curve(X[:, 0], X[:, 1] < 20.0, edges=[0, 2, 4, 6], **t).value,
        [WEIGHTS @ (X[:, 0] >= end) / N for end in (2, 4, 6)],
    ),
    "treatment_effect": lambda **t: (
        statistics.treatment_effect(X[:, 0] > 3.0, KEYS == "b", **t).value[0],
        (rate("b") - rate("a"))[0],
    ),
    "describe": lambda **t: (
        statistics.describe(X, quantiles=(), **B, **t)[0, "mean"],
        MEAN[0],
    ),
}
every_statistic = pytest.mark.parametrize("name", TRUTH)


def test_no_statistic_is_missing():
    assert set(TRUTH) == {name for name in statistics.__all__ if name.islower()}


@every_statistic
def test_persons_count_alike(name, neighboring):
    terms = {"epsilon": 2000.0, "delta": 0.0, "neighboring": neighboring, "random_state": 0}
    found, expected = TRUTH[name](groups=WHOSE, **terms)
    np.testing.assert_allclose(found, expected, rtol=0.01)
    alone, _ = TRUTH[name](groups=np.arange(WHOSE.size), **terms)
    rows, _ = TRUTH[name](**terms)
    np.testing.assert_allclose(alone, rows, rtol=0.01)


def test_persons_may_be_a_column_of_the_frame_by_name():
    terms = {"epsilon": 2000.0, "random_state": 0, **B}
    found = statistics.mean(FRAME, by="key", keys=["b"], groups="who", **terms)
    apart = statistics.mean(X, by=KEYS, keys=["b"], groups=WHOSE, **terms)
    np.testing.assert_array_equal(found.value, apart.value)
    rows = KEYS == "b"
    expected = np.average(X[rows], axis=0, weights=WEIGHTS[rows])
    np.testing.assert_allclose(found.value, [expected], rtol=0.01)
    assert found.to_frame().index.tolist() == [("b", "x"), ("b", "y")]


@pytest.mark.parametrize("name", ["mean", "count"])
def test_intervals_hold_for_persons(name):
    """50 releases at level 0.9 of two numbers; fewer than 32 hold in less than 1e-6 of all runs."""
    held = 0
    for _ in range(50):
        ask = {"mean": lambda **t: statistics.mean(X, **B, **t)}.get(
            name, lambda **t: statistics.count(X > 3.0, **t)
        )
        low, high = ask(groups=WHOSE, epsilon=1.0, noise="laplace").interval(0.9)
        truth = MEAN if name == "mean" else WEIGHTS @ (X > 3.0)
        held += bool(low[0] <= truth[0] <= high[0])
    assert held >= 32


@pytest.mark.parametrize("given", ["groups", "by"])
def test_a_tuple_is_a_column_unless_it_is_the_name_of_one(given):
    terms = {"keys": ["secret 1"]} if given == "by" else {}
    secret = tuple(f"secret {i}" for i in range(len(FRAME)))
    frame = FRAME[["x", "y"]].set_axis([("x", 1), ("y", 1)], axis=1)
    ask = partial(statistics.mean, frame, epsilon=1.0, **B, **terms)
    assert np.shape(ask(**{given: ("y", 1)}).value)[-1] == 1
    assert np.shape(ask(**{given: secret}).value)[-1] == 2
    with pytest.raises(ValueError, match="row") as caught:
        ask(**{given: secret[:-1]})
    assert "secret" not in str(caught.value)
