"""Ten gigabytes that are made block by block are never in memory at once."""

import subprocess
import sys

import pytest

CODE = """
import resource, sys, warnings
import dask, dask.array as da, numpy as np
from skdp import DPLogisticRegression
from skdp.solvers import NoisyGD

ROWS, COLUMNS, BLOCKS = 500_000, 20, 125  # of 80 MB

def block(i):
    few = np.random.default_rng(i).random((5000, COLUMNS)) - 0.5
    return np.tile(few, (ROWS // 5000, 1))

def labels(X):
    return (X[:, 0] > 0.0).astype(np.int8)

made = [da.from_delayed(dask.delayed(block)(i), (ROWS, COLUMNS), float) for i in range(BLOCKS)]
X = da.concatenate(made)
y = X.map_blocks(labels, dtype=np.int8, drop_axis=1)
assert X.nbytes == 10 * 10**9
chosen = {"sample": {"subsample": "auto"}, "all": {"solver": NoisyGD(n_steps=2)}}[sys.argv[1]]
terms = {"delta": 1e-9, "classes": [0, 1], "random_state": 0}
model = DPLogisticRegression(epsilon=1.0, **terms, **chosen)
with dask.config.set(scheduler="threads", num_workers=2):
    model.fit(X, y)
assert model.coef_[0, 0] > 0.0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["sample", "all"])
def test_the_driver_keeps_below_a_gigabyte_and_a_half(rows):
    """Its threads are the workers, so that it has blocks of theirs in memory, too."""
    pytest.importorskip("dask.array")
    done = subprocess.run([sys.executable, "-c", CODE, rows], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1500.0
