"""Releases from a Parquet file that is larger than memory: memory and CPU time, in scans.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_engines.py [--rows 10000000] [--smallest]

The file has 10 columns of uniform float64 numbers, and one of labels. It is made in a temporary
folder: 9 GB for 10^8 rows. Each measurement is a process of its own, which first releases the same
from few rows, so that imports do not count. Memory is the peak of its resident set beyond that.

A scan is the dataset's own: all batches are read and dropped. A release from a dataset reads all
rows for its checks, before the spend, and then once for each pass. "After the checks" is the
difference to a release that is refused once the checks are done. A step is the difference of two
fits with different numbers of steps; in memory, of at most 10^7 of the rows.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from skdp import DPLogisticRegression, PrivacyBudget
from skdp import statistics as st
from skdp.exceptions import BudgetExceededError
from skdp.solvers import NoisyGD

COLUMNS = [f"c{j}" for j in range(10)]
AT_ONCE = 2**17  # rows of a group in the file
IN_MEMORY = 10**7
STEPS = (2, 12)
TERMS = {"epsilon": 1.0, "delta": 1e-9}


def make(path, n):
    """Write rows that are the same whenever they are made."""
    rng = np.random.default_rng(0)
    types = [*((name, pa.float64()) for name in COLUMNS), ("y", pa.int8())]
    with pq.ParquetWriter(path, pa.schema(types), use_dictionary=False) as file:
        for start in range(0, n, AT_ONCE):
            X = rng.random((len(COLUMNS), min(AT_ONCE, n - start)))
            columns = [*X, (X.sum(axis=0) > 5.0).astype(np.int8)]
            file.write_table(pa.table(columns, names=[*COLUMNS, "y"]))


def statistic(release, **more):
    """Return a function of a dataset that releases something from its numbers."""
    return lambda rows, budget: release(rows, bounds=(0, 1), budget=budget, **TERMS, **more)


def fit(n_steps):
    """Return a function of a dataset that fits a model to its rows."""

    def of(rows, budget):
        solver = NoisyGD(n_steps=n_steps)
        model = DPLogisticRegression(solver=solver, subsample=1.0, budget=budget, **TERMS)
        y = rows["y"] if isinstance(rows, pa.Table) else "y"
        model.fit(rows.select(COLUMNS) if isinstance(rows, pa.Table) else rows, y)

    return of


def scan(rows, budget):
    """Read all batches."""
    for _ in rows.to_batches():
        pass


JOBS = {
    "scan": scan,
    "mean": statistic(st.mean),
    "variance": statistic(st.variance),
    "quantile": statistic(st.quantile, q=[0.1, 0.5]),
} | {f"fit, {n} steps": fit(n) for n in STEPS}


def peak():
    """Return the largest resident size of this process so far, in megabytes."""
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found / (2**20 if sys.platform == "darwin" else 2**10)


def measure(name, path, where):
    """Return CPU seconds, those until the checks are done, and megabytes beyond the interpreter."""
    types = None if "fit" in name else pa.schema([(c, pa.float64()) for c in COLUMNS])
    rows = ds.dataset(path, schema=types)
    few = pq.ParquetFile(path).read_row_group(0, rows.schema.names)
    JOBS[name](few if where == "memory" else ds.dataset(few), None)
    rows = rows.head(IN_MEMORY) if where == "memory" else rows
    before, start = peak(), time.process_time()
    JOBS[name](rows, None)
    done, megabytes = time.process_time(), peak() - before
    if name != "scan":
        try:
            JOBS[name](rows, PrivacyBudget(epsilon=0.1, delta=TERMS["delta"]))
        except BudgetExceededError:
            return done - start, time.process_time() - done, megabytes
    return done - start, 0.0, megabytes


def in_process(command, *words):
    """Run a function in a new process and return what it prints."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, command, *map(str, words)]
    answer = subprocess.run(command, env=os.environ | one_thread, stdout=-1, check=True)
    return json.loads(answer.stdout)


def table(path, n):
    """Print all measurements of a file of n rows."""
    scans, *_ = zip(*(in_process("measure", "scan", path, "file") for _ in range(3)), strict=True)
    print(f"{n:.0e} rows; a scan takes {min(scans):.2f} CPU s\n")
    print("| release | scans | scans after the checks | MB |\n|---|---|---|---|")
    for name in ("mean", "variance", "quantile"):
        seconds, checks, megabytes = in_process("measure", name, path, "file")
        both = f"{seconds / min(scans):.2f} | {(seconds - checks) / min(scans):.2f}"
        print(f"| {name} | {both} | {megabytes:.0f} |", flush=True)
    steps, megabytes = {}, 0.0
    for where, size in ("file", n), ("memory", min(n, IN_MEMORY)):
        found = [in_process("measure", f"fit, {k} steps", path, where) for k in STEPS]
        steps[where] = (found[1][0] - found[0][0]) / (STEPS[1] - STEPS[0]) / size
        megabytes = megabytes or max(one[2] for one in found)
    ratio = steps["file"] / steps["memory"]
    print(f"\nA step of the fit takes {1e9 * steps['file']:.0f} ns a row, in memory", end=" ")
    print(f"{1e9 * steps['memory']:.0f}: {ratio:.2f} times; {megabytes:.0f} MB")


def main():
    """Make a file in a temporary folder, and print the table."""
    if sys.argv[1:2] == ["measure"]:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(*sys.argv[2:])))
        return
    if sys.argv[1:2] == ["make"]:
        print(json.dumps(make(sys.argv[2], int(sys.argv[3]))))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--smallest", action="store_true", help="200 000 rows")
    options = parser.parse_args()
    n = 200_000 if options.smallest else options.rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        in_process("make", path, n)
        table(path, n)


if __name__ == "__main__":
    main()
