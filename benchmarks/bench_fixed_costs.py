"""Fixed costs: what small calls, first calls and imports take, beside the figures they should keep.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_fixed_costs.py [--rounds 5] [--smallest]

Milliseconds of processor time, medians; of the wall clock where a disk is waited for. Ratios are to
scikit-learn in the same run. A first use of an epsilon is one that no earlier call has used.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from skdp import DPGaussianNB, DPLogisticRegression, PrivacyBudget
from skdp.preprocessing import DPQuantileClipper, DPStandardScaler
from skdp.privacy import GDPEvent, PrivacyGuarantee
from skdp.privacy.noise_events import RepeatAndSelectEvent as Repeated
from skdp.privacy.objective_perturbation import ObjectivePerturbationEvent
from skdp.statistics import describe, mean

CLASSES, COLUMNS = [0, 1], 20
_FRESH = count()


def fresh_epsilon():
    """Return an epsilon that was not used before."""
    return 1.0 + 1e-3 * next(_FRESH)


def rows(n):
    """Return n rows of normal columns, and labels."""
    X = np.random.default_rng(0).normal(size=(n, COLUMNS))
    return X, (X[:, 0] > 0.0).astype(int)


def median_ms(call, rounds, clock=time.process_time):
    """Return the median milliseconds of a call."""
    taken = []
    for _ in range(rounds):
        start = clock()
        call()
        taken.append(1e3 * (clock() - start))
    return statistics.median(taken)


def show(name, found, wanted, unit):
    """Print one line, marked if the figure is not kept."""
    mark = "" if found <= wanted else " !"
    print(f"| {name} | {found:.1f}{unit} | {wanted:g}{unit}{mark} |", flush=True)


def show_first_uses(rounds):
    """Print what a first use of an epsilon takes."""
    X, y = rows(1000)
    objective = "objective_perturbation"
    known = {"classes": CLASSES}
    fits = {
        "naive Bayes": lambda e: DPGaussianNB(epsilon=e, bounds=(-5, 5), **known).fit(X, y),
        "standard scaler": lambda e: DPStandardScaler(epsilon=e, bounds=(-5, 5)).fit(X),
        "quantile clipper": lambda e: DPQuantileClipper(epsilon=e, bounds=(-5, 5)).fit(X),
    } | {
        f"{solver}, {relation}": lambda e, s=solver, r=relation: DPLogisticRegression(
            epsilon=e, solver=s, neighboring=r, **known
        ).fit(X, y)
        for solver in ("auto", objective, "dp_sgd")
        for relation in ("replace_one", "add_remove_one")
    }
    for name, fit in fits.items():
        found = median_ms(lambda fit=fit: fit(fresh_epsilon()), rounds)
        show(f"new epsilon: {name}", found, 50.0, " ms")


def show_statistics(rounds):
    """Print what small statistics take."""
    X, _ = rows(1000)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(COLUMNS)])
    terms = {"epsilon": 1.0, "bounds": (-5, 5)}
    for call in (lambda: describe(frame, **terms), lambda: mean(X[:, 0], **terms)):
        call()  # the first use of an epsilon has its own lines
    show("describe of 20 columns", median_ms(lambda: describe(frame, **terms), rounds), 60.0, " ms")
    show("mean of 1000 rows", median_ms(lambda: mean(X[:, 0], **terms), 9 * rounds), 1.0, " ms")


def show_small_fits(rounds):
    """Print what a fit of 100 rows takes, without a budget and with a temporary one."""
    X, y = rows(100)
    show(
        "fit of 100 rows",
        median_ms(lambda: DPLogisticRegression(classes=CLASSES).fit(X, y), 9 * rounds),
        5.0,
        " ms",
    )
    budget = PrivacyBudget(epsilon=100.0, delta=1e-5)
    model = DPLogisticRegression(classes=CLASSES, epsilon=0.5, budget=budget)
    found = median_ms(lambda: model.fit(X, y), 9 * rounds, time.perf_counter)
    show("the same from a temporary budget, wall clock", found, 8.0, " ms")


def show_ratios(rounds, n):
    """Print what predictions and searches take, over scikit-learn's."""
    X, y = rows(n)
    own, other = DPLogisticRegression(classes=CLASSES).fit(X, y), LogisticRegression().fit(X, y)
    times = [median_ms(lambda m=m: m.predict_proba(X), 9 * rounds) for m in (own, other)]
    show(f"predict_proba of {n} rows", times[0] / times[1], 1.5, " ×")
    X, y = rows(max(n // 10, 100))
    grids = (
        GridSearchCV(DPLogisticRegression(classes=CLASSES), {"epsilon": [0.5, 1.0, 2.0, 4.0]}),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0, 10.0, 100.0]}),
    )
    times = [median_ms(lambda g=g: g.fit(X, y), rounds) for g in grids]
    show(f"GridSearchCV of {len(X)} rows", times[0] / times[1], 1.6, " ×")


def show_curves(seconds):
    """Print what the first queries of the slowest curves take."""
    events = {
        "objective perturbation": ObjectivePerturbationEvent(4.0, 0.025, 1, pulls=1),
        "objective perturbation of three classes": ObjectivePerturbationEvent(
            4.0, 0.025, 2, pulls=2, cosine=0.5
        ),
    }
    for name, event in events.items():
        repeated = Repeated(event, "geometric", 0.2)
        for relation in ("replace_one", "add_remove_one"):
            queries = {
                f"delta: {name}": lambda e=event, r=relation: e.curve(r).delta(1.0),
                f"delta: repeated {name}": lambda e=repeated, r=relation: e.curve(r).delta(1.0),
                f"RDP: repeated {name}": lambda e=repeated, r=relation: e.rdp(4.0, r),
            }
            for query, call in queries.items():
                if query.startswith(seconds):
                    show(f"{query}, {relation}", median_ms(call, 1), 300.0, " ms")


def show_ledger(sizes, rounds):
    """Print what opening and printing a ledger take."""
    cost = PrivacyGuarantee(GDPEvent(1e-4), "replace_one", "")
    with tempfile.TemporaryDirectory() as folder:
        path, known = Path(folder) / "study.db", 0
        for size in sizes:
            budget = PrivacyBudget(epsilon=1.0, delta=1e-5, path=path)
            for _ in range(size - known):
                budget.spend(cost, delta=0.0, epsilon=1e-3)
            known = size
            opened = median_ms(lambda: PrivacyBudget(epsilon=1.0, delta=1e-5, path=path), rounds)
            show(f"opening a ledger of {size} releases", opened, 10.0, " ms")
            show("printing it", median_ms(lambda b=budget: str(b), rounds), 10.0, " ms")


def show_imports(rounds):
    """Print the time of the first import, over that of scikit-learn's linear models.

    Both are read from bytecode, as in an installation, whatever the environment says.
    """

    def import_ms(code):
        taken = []
        subprocess.run([sys.executable, "-c", code], check=True, env=env)  # compiles
        for _ in range(rounds):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", code], check=True, env=env)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return statistics.median(taken)

    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        own = import_ms("from skdp import DPLogisticRegression")
        show("import", own / import_ms("import sklearn.linear_model"), 1.2, " ×")


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--smallest", action="store_true", help="once, few rows, no slow curve")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of scikit-learn's convergence
    rounds = 1 if options.smallest else options.rounds
    print("| what | found | wanted |")
    print("|---" * 3 + "|")
    show_imports(rounds)
    show_statistics(rounds)
    show_first_uses(rounds)
    show_small_fits(rounds)
    show_ratios(rounds, 1000 if options.smallest else 100_000)
    show_ledger((10, 30) if options.smallest else (10, 1000), rounds)
    show_curves("delta: objective" if options.smallest else "")


if __name__ == "__main__":
    main()
