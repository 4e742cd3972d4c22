"""Seeded fits add the same bits however their rows are stored in blocks.

All sums are compared before the noise, because rounding would hide most differences.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from linear_models import LEAST_SQUARES
from scipy import sparse

from skdp import DPLogisticRegression
from skdp.design.base import ROWS_SUMMED
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.solvers import DPSGD, NoisyGD

pytestmark = pytest.mark.usefixtures("one_thread")

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

N, D = 3 * ROWS_SUMMED + 4321, 6
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)) * 10.0 ** RNG.uniform(-2.0, 2.0, (N, 1))
Y = X @ RNG.normal(size=D) > 0.0
NUMBERS = np.clip(X[:, 0] - X[:, 1], -1.0, 1.0)
SETTINGS = {"epsilon": 1.0, "random_state": 0}
MODELS = {
    "noisy_gd": (DPLogisticRegression(solver=NoisyGD(n_steps=10), **SETTINGS), Y),
    "center": (DPLogisticRegression(solver=NoisyGD(n_steps=4), center=True, **SETTINGS), Y),
    "dp_sgd": (DPLogisticRegression(solver=DPSGD(n_steps=10), **SETTINGS), Y),
    "adassp": (LEAST_SQUARES(solver="adassp", **SETTINGS), NUMBERS),
}
CHUNKS = {
    "one": (N,),
    "at multiples": (ROWS_SUMMED,) * 3 + (4321,),
    "just beside them": (ROWS_SUMMED + 1, ROWS_SUMMED - 2, N - 2 * ROWS_SUMMED + 1),
    "ragged": (1, 0, 299, 20_000, 1, 7, N - 20_308),
    "many": (1997,) * (N // 1997) + (N % 1997,),
}
every_model = pytest.mark.parametrize("name", MODELS)


def sums_of(name, rows, targets):
    """Return the sums that a fit adds noise to, and its coefficients."""
    found, add = [], GridGaussian.add

    def watched(self, values, noise):
        found.append(np.array(values))
        return add(self, values, noise)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GridGaussian, "add", watched)
        found.append(MODELS[name][0].fit(rows, targets).coef_)
    return found


@pytest.fixture(scope="module")
def in_memory():
    """Return the sums of fits in memory, by model and form, each computed once."""
    return cache(lambda name, form: sums_of(name, form(X), MODELS[name][1]))


def lazy(values, chunks):
    return da.from_array(values, chunks=(chunks, *(-1,) * (values.ndim - 1)))


@every_model
@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_chunks_do_not_matter(name, chunks, in_memory):
    parts = lazy(X, chunks), lazy(MODELS[name][1], chunks)
    assert_same_bits(sums_of(name, *parts), in_memory(name, np.asarray))


@pytest.mark.parametrize("chunks", ["ragged", "many"])
@pytest.mark.parametrize("form", [np.float32, sparse.csr_matrix], ids=lambda f: f.__name__)
def test_types_keep_their_bits(chunks, form, in_memory):
    rows, targets = lazy(X, CHUNKS[chunks]).map_blocks(form), lazy(Y, CHUNKS[chunks])
    assert_same_bits(sums_of("noisy_gd", rows, targets), in_memory("noisy_gd", form))


@every_model
@pytest.mark.parametrize("n", [2, 7])
def test_partitions_of_frames_do_not_matter(name, n, in_memory):
    frame, targets = pd.DataFrame(X), pd.Series(MODELS[name][1], name="y")
    parts = (dd.from_pandas(part, npartitions=n) for part in (frame, targets))
    assert_same_bits(sums_of(name, *parts), in_memory(name, pd.DataFrame))


def test_single_rows_do_not_matter(in_memory):
    rows = slice(300)
    y = MODELS["noisy_gd"][1]
    parts = lazy(X[rows], (1,) * 300), lazy(y[rows], (1,) * 300)
    assert_same_bits(sums_of("noisy_gd", *parts), sums_of("noisy_gd", X[rows], y[rows]))


def assert_same_bits(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
