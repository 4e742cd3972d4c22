"""Time, memory and round trips of releases from data that are never in memory, by their size.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_large.py [--rows 1000000 10000000] [--columns 20]
       [--blocks 16] [--workers 0 2] [--only noisy_gd] [--population 1000000000] [--smallest]

Rows are made up block by block where they are read, float32, of norm 1, with labels of a logistic
model. ε = 1. With 0 workers the threads of this process read them, else a `LocalCluster` of so
many processes. CPU seconds are those of the driver and its workers. Memory is the peak of the
driver's resident set beyond that before the fit; where blocks are read by its threads, they are
part of it. Blocks that fit are kept between reads.

The second table is what a population of a billion rows costs, without one: by the accountant, what
a fit of a Poisson sample may spend so that ε = 1, δ = 1e-8 hold in all; by fits of such samples,
which are as good as fresh rows, how far they are from the truth; and by the speed of one pass, how
long it takes to draw them.
"""

import argparse
import logging
import threading
import time
import warnings

import dask
import dask.array as da
import numpy as np
import psutil
from scipy.special import expit

from skdp import DPGaussianNB, DPKMeans, DPLogisticRegression
from skdp import statistics as st
from skdp.accounting.calibration import sampled_gdp_mu
from skdp.privacy import GaussianCurve

DELTA = 1e-8
RELATION = "add_remove_one"  # of the samples, whose size is not public
SIGNAL = 4.0
RELEASES = {
    "covariance": lambda X, y: (
        st.covariance(X, epsilon=1.0, delta=DELTA, bounds=(-1, 1), random_state=0).value
    ),
    "naive Bayes": lambda X, y: (
        DPGaussianNB(epsilon=1.0, delta=DELTA, bounds=(-1, 1), random_state=0).fit(X, y).theta_
    ),
    "k-means": lambda X, y: (
        DPKMeans(epsilon=1.0, delta=DELTA, bounds=(-1, 1), random_state=0).fit(X).cluster_centers_
    ),
    "noisy_gd": lambda X, y: linear(solver="noisy_gd").fit(X, y).coef_,
    "default": lambda X, y: linear().fit(X, y).coef_,
}


class RoundTrips(logging.Handler):
    """A count of the graphs that the driver sends."""

    def __init__(self):
        super().__init__()
        self.count = 0
        log = logging.getLogger("skdp.blocks")
        log.setLevel(logging.DEBUG)
        log.addHandler(self)

    def emit(self, record):
        """Count one."""
        self.count += 1


class Peak:
    """The most memory that this process holds while it is asked, beyond what it held before."""

    def __enter__(self):
        self.process = psutil.Process()
        self.base = self.most = self.process.memory_info().rss
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        """Look at the memory ten times a second."""
        while not self.done.wait(0.1):
            self.most = max(self.most, self.process.memory_info().rss)

    def __exit__(self, *error):
        self.done.set()
        self.thread.join()

    @property
    def megabytes(self):
        """How much it was."""
        return (self.most - self.base) / 2**20


def linear(**options):
    """Return a classifier that knows its rows' norm."""
    return DPLogisticRegression(epsilon=1.0, delta=DELTA, data_norm=1.0, random_state=0, **options)


def truth(d):
    """Return the coefficients of the population."""
    return SIGNAL * np.random.default_rng(0).normal(size=d)


def rows(n, d, rng):
    """Return rows of norm 1 and their labels."""
    X = rng.normal(size=(n, d)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, (rng.random(n) < expit(X @ truth(d))).astype(int)


def made_up(n, d, *, seed, of):
    """Return the rows or the labels of a block: the same whenever it is asked."""
    return rows(n, d, np.random.default_rng(seed))[of]


def lazy(n, d, n_blocks):
    """Return dask arrays of n rows and their labels, of which none is made up yet."""
    size = n // n_blocks
    blocks = [
        [
            da.from_delayed(
                dask.delayed(made_up)(size, d, seed=i, of=of), shape, dtype=(np.float32, int)[of]
            )
            for i in range(n_blocks)
        ]
        for of, shape in ((0, (size, d)), (1, (size,)))
    ]
    return tuple(map(da.concatenate, blocks))


def cpu_seconds():
    """Return what the driver and its workers have used so far."""
    here = psutil.Process()
    return sum(sum(one.cpu_times()[:2]) for one in (here, *here.children(recursive=True)))


def measure(name, n, d, n_blocks, trips):
    """Return the numbers of a release."""
    X, y = lazy(n, d, n_blocks)
    trips.count, start, used = 0, time.perf_counter(), cpu_seconds()
    with Peak() as peak:
        RELEASES[name](X, y)
    seconds, used = time.perf_counter() - start, cpu_seconds() - used
    return f"{seconds:.1f} | {used:.1f} | {trips.count} | {peak.megabytes:.0f}"


def table(options, trips):
    """Print one row for each size, number of workers and release."""
    print("| rows | columns | blocks | workers | release | s | CPU s | round trips | driver, MB |")
    print("|---" * 9 + "|")
    for workers in options.workers:
        with cluster(workers):
            for n in options.rows:
                for name in options.only or RELEASES:
                    done = measure(name, n, options.columns, options.blocks, trips)
                    shape = f"{n} | {options.columns} | {options.blocks} | {workers or 'threads'}"
                    print(f"| {shape} | {name} | {done} |", flush=True)


def cluster(workers):
    """Return a client of so many processes, or threads of this one."""
    if not workers:
        return dask.config.set(scheduler="threads")
    from distributed import Client

    keep = {"MALLOC_TRIM_THRESHOLD_": 2**27, "MALLOC_MMAP_THRESHOLD_": 2**27}  # see large_data.md
    dask.config.set({"distributed.nanny.pre-spawn-environ": keep})
    return Client(n_workers=workers, threads_per_worker=1, dashboard_address=":0")


def excess_risk(coef, d):
    """Return how much more log-loss a row of the population has than by the truth."""
    X, _ = rows(100_000, d, np.random.default_rng(10**6))
    right, found = X @ truth(d), X @ coef
    return np.mean(np.logaddexp(0, found) - np.logaddexp(0, right) - expit(right) * (found - right))


def simulate(population, d, sizes, speed):
    """Print what samples of a population cost, and how good a fit of each is."""
    print(f"\n{population:.0e} rows, {d} columns; one pass at {speed:.1e} rows/s on one core")
    print("| sample | rate | mu of the fit | its epsilon | one pass, s | fit, s | excess risk |")
    print("|---" * 7 + "|")
    for size in sizes:
        rate = min(size / population, 1.0)
        mu = sampled_gdp_mu(1.0, DELTA, rate, RELATION)
        epsilon = GaussianCurve(mu).epsilon(DELTA)
        X, y = rows(size, d, np.random.default_rng(size))
        start = time.perf_counter()
        terms = {"epsilon": epsilon, "neighboring": RELATION, "n_samples_hint": size}
        coef = linear().set_params(**terms).fit(X, y).coef_[0]
        seconds = time.perf_counter() - start
        cost = f"{rate:.1e} | {mu:.2f} | {epsilon:.1f} | {population / speed:.0f} | {seconds:.1f}"
        print(f"| {size} | {cost} | {excess_risk(coef, d):.1e} |", flush=True)


def speed_of_a_pass(n, d):
    """Return how many rows a second one core makes up and counts."""
    start = time.perf_counter()
    made_up(n, d, seed=0, of=0).sum(axis=0)
    return n / (time.perf_counter() - start)


def main():
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 2], help="0 for threads")
    parser.add_argument("--only", nargs="+", choices=RELEASES)
    parser.add_argument("--population", type=int, default=10**9)
    parser.add_argument("--smallest", action="store_true", help="2000 rows, one sample")
    options = parser.parse_args()
    sizes = [10_000, 100_000, 1_000_000]
    if options.smallest:
        options.rows, options.workers, options.blocks, sizes = [2000], [0], 4, sizes[:1]
    table(options, RoundTrips())
    d = options.columns
    simulate(options.population, d, sizes, speed_of_a_pass(min(sizes[-1], 10**6), d))


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    main()
