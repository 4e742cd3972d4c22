"""Steps of noisy gradients, and samples: the numbers of `solvers/noisy_gd.py` and `auto.py`.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_steps.py [--data FOLDER] [--seeds 6]
       [--epsilons 1 8] [--only WORD] [--rules WORD ...] [--smallest]

A rule is a number of steps and a momentum, steps without a metric, or a sample. A line shows the
scores of the first, and for each other the change with twice its standard error, and the ratio of
times. x is n·μ/2, and *least* the smallest eigenvalue l of AᵀA as l/(l + ρ): a metric shortens all
steps by so much. T is that of the default. Splits are the same for all rules.
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from bench_regression import data_sets as regressions
from data_sets import adult, magic, raw_adult, small_sets, split
from mixed_tables import tables
from sklearn.base import is_classifier
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import train_test_split

import skdp
from skdp.accounting import gdp_mu
from skdp.solvers import NoisyGD, RegularizedExponential

PACES = ((50, 0.8), (25, 0.7), (16, 0.6), (12, 0.4))
RULES = {f"T {T}, β {b}": NoisyGD(n_steps=T, momentum=b) for T, b in PACES}
RULES |= {"no metric": NoisyGD(precondition=False), "sample": RegularizedExponential()}


def gauss(n, d, correlation=0.0, rare=0.0, classes=2):
    """Return normal rows of norm about 1, and labels by noisy scores; `rare` is in score units."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1.0 - correlation**2) * X[:, j]
    scores = X @ rng.normal(size=(d, classes)) / np.sqrt(d)
    if classes > 2:
        return X / np.sqrt(d), (scores + 0.3 * rng.gumbel(size=scores.shape)).argmax(axis=1)
    return X / np.sqrt(d), (scores[:, 0] + 0.3 * rng.logistic(size=n) > rare).astype(int)


def curved(n, d):
    """Return uniform rows, and labels by sums of waves."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(n, d))
    score = np.sin(3.0 * X) @ rng.normal(size=d)
    return X, (score + 0.5 * rng.logistic(size=n) > 0.0).astype(int)


def tasks(folder):
    """Yield (name, make a model, X, y)."""
    linear, additive = skdp.DPLogisticRegression, partial(skdp.DPAdditiveClassifier, bounds=(-1, 1))
    sizes = (2500, 250), (2500, 375), (6250, 1000), (10**4, 20), (3 * 10**4, 20)
    for n, d in (*sizes, (10**5, 20), (10**5, 50), (3 * 10**4, 100)):
        yield f"{n} × {d}", linear, *gauss(n, d)
    yield "3e4 × 20, .9", linear, *gauss(3 * 10**4, 20, correlation=0.9)
    yield "1e5 × 20, .9", linear, *gauss(10**5, 20, correlation=0.9)
    yield "1e5 × 20, rare", linear, *gauss(10**5, 20, rare=3.0)
    yield "hinge, 3e4 × 20", skdp.DPHingeClassifier, *gauss(3 * 10**4, 20)
    yield "1e5 × 20, 4 classes", linear, *gauss(10**5, 20, classes=4)
    yield "3e4 × 8, 3 classes", linear, *gauss(3 * 10**4, 8, classes=3)
    yield "additive, curved", additive, *curved(4 * 10**4, 10)
    for name in ("digits, ten classes", "digits 0-4 v 5-9", "breast_cancer"):
        yield name, linear, *small_sets()[name]
    if folder is None:
        return
    X, _, y, _ = adult(folder)
    yield "a9a", linear, X, (y > 0).astype(int)
    X, _, y, _ = raw_adult(folder)
    yield "adult", linear, X, y
    yield "magic04", linear, *magic(folder)
    yield "additive, magic04", additive, *magic(folder)
    for name, X, y, bounds, categories in tables(folder):
        if name in ("adult", "bank"):
            make = partial(skdp.DPAdditiveClassifier, bounds=bounds, categories=categories)
            yield f"additive, {name}", make, X, y
    for name, X, y, bounds in regressions(folder):
        for kind in (skdp.DPHuberRegressor, skdp.DPQuantileRegressor, skdp.DPLinearRegression):
            yield f"{kind.__name__}, {name}", partial(kind, target_bounds=bounds), X, y


def scores(model, X, y):
    """Return accuracy and log-loss, or R², on rows held out."""
    if hasattr(model, "predict_proba"):
        return model.score(X, y), log_loss(y, model.predict_proba(X), labels=model.classes_)
    return (model.score(X, y) if is_classifier(model) else r2_score(y, model.predict(X)),)


def least(X, mu):
    """Return the smallest l/(l + ρ) of a linear model, None for tables."""
    if hasattr(X, "columns"):
        return np.nan
    X = X.toarray() if hasattr(X, "toarray") else X
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
    rows = np.column_stack([X, np.full(len(X), 0.3)])
    rho = 2.0 * np.sqrt(2.0) * 1.09 / (0.1 * mu) * np.sqrt(2.0 * rows.shape[1])
    smallest = max(np.linalg.eigvalsh(rows.T @ rows)[0], 0.0)
    return smallest / (smallest + rho)


def measured(make, X, y, epsilon, rules, seeds):
    """Return {rule: scores of each seed}, {rule: times}, the last split, and the default's T."""
    found, times = ({rule: [] for rule in rules} for _ in range(2))
    for seed in range(seeds):
        cut = split if is_classifier(make()) else partial(train_test_split, test_size=0.2)
        parts = cut(X, y, seed) if cut is split else cut(X, y, random_state=seed)
        for rule, solver in rules.items():
            start = time.process_time()
            model = make(solver=solver, epsilon=epsilon).fit(parts[0], parts[2])
            times[rule].append(time.process_time() - start)
            found[rule].append(scores(model, parts[1], parts[3]))
    steps = make(solver="noisy_gd", epsilon=epsilon).fit(parts[0], parts[2]).n_iter_
    return found, times, parts[0], steps


def cell(found, times, long, long_times):
    """Return the changes of scores with twice their standard errors, and the ratio of times."""
    gains = np.subtract(found, long)
    errors = 2.0 * gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    pairs = zip(gains.mean(axis=0), errors, strict=True)
    text = ", ".join(f"{gain:+.4f} ({error:.4f})" for gain, error in pairs)
    return f"{text}; {np.median(times) / np.median(long_times):.2f}"


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=None, help="folder with the tables")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--epsilons", type=float, nargs="*", default=[1.0, 8.0])
    parser.add_argument("--only", default="", help="tasks whose names contain this")
    parser.add_argument("--rules", nargs="*", default=["T "], help="rules whose names contain one")
    parser.add_argument("--smallest", action="store_true", help="breast cancer, two splits")
    options = parser.parse_args()
    if options.smallest:
        options.data, options.seeds, options.only = None, 2, "breast"
    warnings.simplefilter("ignore")
    rules = {k: v for k, v in RULES.items() if any(word in k for word in options.rules)}
    long, *names = rules
    print("| data | ε | x | least | T | " + " | ".join(rules) + " |")
    print("|---" * (6 + len(names)) + "|")
    chosen = [task for task in tasks(options.data) if options.only in task[0]]
    for name, make, X, y in chosen:
        for epsilon in options.epsilons:
            found, times, X_train, steps = measured(make, X, y, epsilon, rules, options.seeds)
            mu, own = gdp_mu(epsilon, 1e-5), np.mean(found[long], axis=0)
            cells = [cell(found[r], times[r], found[long], times[long]) for r in names]
            cells = [", ".join(f"{score:.4f}" for score in own), *cells]
            x, shortened = 0.5 * len(X_train) * mu, least(X_train, mu)
            print(f"| {name} | {epsilon:g} | {x:.0f} | {shortened:.2f} | {steps} ", end="")
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
