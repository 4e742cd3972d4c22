"""Time, passes and memory of a default fit at ε = 1, beside scikit-learn's in one run.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_fit_time.py [--data FOLDER] [--rounds 9]
       [--smallest] [--large]

Adult (a9a) as CSR and dense, and small sets. Times are medians over interleaved rounds; read the
ratios, which are medians of paired rounds. "same C" is `LogisticRegression` at the C of the private
logistic fit, for two classes. Work is given per step: tries, and passes, the records looked at
over n. A gradient looks at all n; a try, of which only a sampler has any, at a few hundred, twice.
Memory is what a fit allocates beyond its input at its peak, in vectors of length n. With --large
the sets are Gaussian rows, 10⁴ × 20 to 10⁶ × 50, and the fits the default ones alone.
"""

import argparse
import time
import tracemalloc
import warnings

import numpy as np
from data_sets import adult, small_sets
from diagnosed import diagnosed
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from skdp import DPHingeClassifier, DPLogisticRegression
from skdp.accounting import gdp_mu
from skdp.losses import ClippedLogisticLoss
from skdp.privacy import Neighboring
from skdp.solvers import Problem, RegularizedExponential


def learners(n, n_classes):
    """Return {name: function that makes an unfitted model}, the reference first."""
    makers = {
        "scikit-learn": LogisticRegression,
        "scikit-learn, same C": lambda: LogisticRegression(C=same_C(n)),
        "DPLogisticRegression": lambda: diagnosed(DPLogisticRegression()),
        "DPHingeClassifier": lambda: diagnosed(DPHingeClassifier()),
    }
    if n_classes > 2:
        del makers["scikit-learn, same C"]
    return makers


def same_C(n):
    """Return the C of a default private logistic fit of n rows in two classes."""
    problem = Problem(
        loss=ClippedLogisticLoss(),
        data_norm=1.0,
        intercept_scaling=0.3,
        n_samples=n,
        neighboring=Neighboring("replace_one"),
    )
    schedule = RegularizedExponential().schedule(problem, gdp_mu(1.0, 1e-5), n)
    return schedule.temperature / schedule.prior_precision


def defaults():
    """Return {name: function that makes an unfitted model} of the two defaults."""
    makers = learners(1000, 3)
    return {name: makers[name] for name in ("scikit-learn", "DPLogisticRegression")}


def large_sets():
    """Yield the name, X and y of Gaussian sets, each made when it is wanted."""
    for n, d in ((10**4, 20), (10**5, 50), (10**4, 2000), (10**5, 500), (10**6, 50)):
        rng = np.random.default_rng(0)
        X, w = rng.normal(size=(n, d)) / np.sqrt(d), 2.0 * rng.normal(size=d)
        yield f"{n} × {d}", X, (X @ w + rng.logistic(size=n) > 0.0).astype(int)


def timed(make, X, y):
    """Return the time of one fit, and the model."""
    model, start = make(), time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start, model


def peak_vectors(make, X, y):
    """Return the peak of what a fit allocates, in float64 vectors of length n."""
    tracemalloc.start()
    make().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * X.shape[0])


def work(models, n):
    """Return steps or iterations, and passes and tries per step, each a mean."""
    steps = np.mean([np.max(model.n_iter_) for model in models])
    if not hasattr(models[0], "diagnostics_"):
        return f"{steps:.0f} | |"
    counts = ("n_evaluations", "n_tries")
    queries, tries = (np.mean([model.diagnostics_.get(c, 0) for model in models]) for c in counts)
    return f"{steps:.0f} | {queries / (n * steps):.2f} | {tries / steps:.2f}"


def report(name, X, y, rounds, makers=None):
    """Print one line a learner."""
    makers = makers or learners(X.shape[0], np.unique(y).size)
    fits = {learner: [] for learner in makers}
    for _ in range(rounds):
        for learner, make in makers.items():
            fits[learner].append(timed(make, X, y))
    reference = [seconds for seconds, _ in fits["scikit-learn"]]
    for learner, make in makers.items():
        times, models = zip(*fits[learner], strict=True)
        print(
            f"| {name} | {learner} | {1e3 * np.median(times):.1f} "
            f"| {np.median(np.divide(times, reference)):.2f} | {work(models, X.shape[0])} "
            f"| {peak_vectors(make, X, y):.1f} |",
            flush=True,
        )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=None, help="folder with the libsvm files of a9a")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--smallest", action="store_true", help="wine, once")
    parser.add_argument("--large", action="store_true", help="Gaussian rows, defaults alone")
    options = parser.parse_args()
    if options.smallest:
        options.data, options.rounds = None, 1
    warnings.simplefilter("ignore", ConvergenceWarning)  # scikit-learn's, at 100 iterations
    print("| input | model | median ms | ratio | steps | passes | tries | peak, n-vectors |")
    print("|---" * 8 + "|")
    if options.large:
        for name, X, y in large_sets():
            report(name, X, y, options.rounds, defaults())
        return
    sets = {"wine": small_sets()["wine"]} if options.smallest else small_sets()
    parts = adult(options.data)
    if parts is not None:
        X, _, y, _ = parts
        sets = {"a9a, CSR": (X, y), "a9a, dense": (X.toarray(), y)} | sets
    for name, (X, y) in sets.items():
        report(name, X, y, options.rounds)


if __name__ == "__main__":
    main()
