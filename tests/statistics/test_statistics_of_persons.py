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


def test_persons_may_be_a_column_of_the_frame_by_name():
    terms = {"epsilon": 2000.0, "random_state": 0, **B}
    found = statistics.mean(FRAME, by="key", keys=["b"], groups="who", **terms)
    apart = statistics.mean(X, by=KEYS, keys=["b"], groups=WHOSE, **terms)
    np.testing.assert_array_equal(found.value, apart.value)
    rows = KEYS == "b"
    expected = np.average(X[rows], axis=0, weights=WEIGHTS[rows])
    np.testing.assert_allclose(found.value, [expected], rtol=0.01)
    assert found.to_frame().index.tolist() == [("b", "x"), ("b", "y")]


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
