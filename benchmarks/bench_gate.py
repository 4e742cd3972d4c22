"""Cost of the conversion of user data by container, compared with NumPy's own conversion.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_gate.py [--rows 1000000] [--columns 20]
       [--smallest]

The time is CPU seconds of this process, the least of five. "numpy" converts the container by
`np.asarray`, which changes the values of other rows where a value is null. Memory is the peak that
Python allocates beyond the data, in copies of the data as floats.
"""

import argparse
import time
import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from skdp.linear_model import DPLogisticRegression
from skdp.linear_model._records import _checked
from skdp.preprocessing import BoundsScaler


def tables(n_rows, n_columns):
    """Yield containers of the same numbers."""
    floats = np.random.default_rng(0).random((n_rows, n_columns))
    integers = (100 * floats).astype(np.int64)
    names = [f"x{j}" for j in range(n_columns)]
    frame, whole = pd.DataFrame(floats, columns=names), pd.DataFrame(integers, columns=names)
    holes = whole.astype("Int64")
    holes.iloc[::10, 0] = None
    yield "array", floats
    yield "pandas", frame
    yield "pandas, two types", frame.assign(x0=whole["x0"])
    yield "pandas Int64", whole.astype("Int64")
    yield "pandas Int64 with nulls", holes
    yield "Arrow", pa.table(dict(zip(names, floats.T, strict=True)))
    yield "polars", pl.DataFrame(dict(zip(names, floats.T, strict=True)))


def cpu_seconds(function):
    """Return the least of five runs."""
    times = []
    for _ in range(5):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def copies(function, size):
    """Return the peak of memory in units of the data's size."""
    tracemalloc.start()
    function()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / size


def main():
    """Print a row for each container."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--smallest", action="store_true")
    given = parser.parse_args()
    n_rows = 1000 if given.smallest else given.rows
    print(f"{'container':28}{'numpy':>9}{'linear X':>10}{'scaler X':>10}{'copies':>8}")
    for name, X in tables(n_rows, given.columns):
        linear, scaler = DPLogisticRegression(), BoundsScaler(bounds=(0, 100), missing="middle")
        scaler.fit(X)
        has_nulls = "nulls" in name
        scaled = partial(scaler._rows, X, reset=False)
        read = [scaled] if has_nulls else [partial(_checked, False, linear, X, reset=True), scaled]
        numpy = cpu_seconds(partial(np.asarray, X, dtype=None if has_nulls else float))
        times = [cpu_seconds(one) for one in read]
        shown = "".join(f"{t:10.3f}" for t in [np.nan] * has_nulls + times)
        peak = copies(read[0], 8 * n_rows * given.columns)
        print(f"{name:28}{numpy:9.3f}{shown}{peak:8.2f}", flush=True)


if __name__ == "__main__":
    main()
