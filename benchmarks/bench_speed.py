"""Speed: processor time of this build, of another checkout and of the peer, side by side.

Usage: python benchmarks/bench_speed.py [--today CHECKOUT] [--only WORD] [--seeds 6]
       [--data FOLDER] [--smallest]

A row of `ROWS` is timed in fresh data of each seed: in this build, in the checkout, and by the peer
(scikit-learn or another library), one after another, each build in a process of its own with one
thread. Times are medians over seeds; a first round on the first seed is not counted. Scores are
means over seeds on rows held out, for this build, then the difference to the checkout and twice its
standard error. A mark says that a target, or accuracy, is not kept: .0005, or the row's own number.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any, NamedTuple

import numpy as np
from data_sets import adult, split
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import skdp

ROOT = Path(__file__).resolve().parents[1]
TERMS = {"epsilon": 1.0, "delta": 1e-5}


class Data(NamedTuple):
    """Rows to learn from and rows held out."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


@dataclass(frozen=True)
class Row:
    """One line of the table.

    `own` and `peer` make a call that is timed: (data, seed) -> () -> result. What they do before
    they return is not timed. `score` returns {name: number} of a result.
    """

    data: Callable[[int, bool], Data | None]  # (seed, smallest) -> Data; None: no files
    own: Callable[[Data, int], Callable[[], Any]]
    peer: Callable[[Data, int], Callable[[], Any]] | None
    target: float  # time of this build over the peer's
    loses: float = 5e-4  # the most that a score may be worse than today's
    score: Callable[[Any, Data], dict[str, float]] = lambda model, data: scores(model, data)


def scores(model: Any, data: Data) -> dict[str, float]:
    """Return accuracy and log-loss, or R², on the rows held out."""
    if not hasattr(model, "predict_proba"):
        return {"R²": r2_score(data.y_test, model.predict(data.X_test))}
    p, y = model.predict_proba(data.X_test), data.y_test
    labels = model.classes_
    found = {"accuracy": accuracy_score(y, labels[p.argmax(axis=1)])}
    return found | {"log-loss": log_loss(y, p, labels=labels)}


def fit(make: Callable[[], Any]) -> Callable[[Data, int], Callable[[], Any]]:
    """Return the timed call that fits a fresh model."""
    return lambda data, seed: lambda: make().fit(data.X, data.y)


def held_out(X: Any, y: np.ndarray, n: int) -> Data:
    """Return the first n rows, and the others held out."""
    return Data(X[:n], y[:n], X[n:], y[n:])


def gauss(n: int, d: int) -> Callable[[int, bool], Data]:
    """Return normal rows of norm about 1, and labels by noisy linear scores."""

    def make(seed: int, smallest: bool) -> Data:
        rng, size = np.random.default_rng(seed), 300 if smallest else n
        X, w = rng.normal(size=(size + max(size // 10, 5000), d)), rng.normal(size=d)
        X /= np.sqrt(d)
        return held_out(X, (X @ w + 0.3 * rng.logistic(size=len(X)) > 0.0).astype(int), size)

    return make


def line(n: int, d: int) -> Callable[[int, bool], Data]:
    """Return normal rows of norm about 1, and targets within [−1, 1]."""

    def make(seed: int, smallest: bool) -> Data:
        rng, size = np.random.default_rng(seed), 300 if smallest else n
        X, w = rng.normal(size=(size + max(size // 10, 5000), d)), rng.normal(size=d)
        scores = X @ w / (3.0 * np.linalg.norm(w))
        y = np.clip(scores + 0.1 * rng.normal(size=len(X)), -1.0, 1.0)
        return held_out(X / np.sqrt(d), y, size)

    return make


def words(n: int, d: int) -> Callable[[int, bool], Data]:
    """Return sparse rows of norm 1 with 80 words, and labels by linear scores."""

    def make(seed: int, smallest: bool) -> Data:
        rng, size = np.random.default_rng(seed), 300 if smallest else n
        total, w = size + 2000, rng.normal(size=d)
        columns = (d * rng.random((total, 80)) ** 3).astype(int)
        entries = np.abs(rng.normal(size=columns.size))
        at = (np.repeat(np.arange(total), 80), columns.ravel())
        X = sparse.csr_matrix((entries, at), shape=(total, d))
        X = sparse.csr_matrix(X.multiply(1.0 / np.sqrt(X.multiply(X).sum(axis=1))))
        return held_out(X, (X @ w > 0.0).astype(int), size)

    return make


def digits(seed: int, smallest: bool) -> Data:
    """Return ten classes of 8 × 8 pixels."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = split(X / 16.0, y, seed)
    return Data(X_train, y_train, X_test, y_test)


def a9a(dense: bool) -> Callable[[int, bool], Data | None]:
    """Return Adult, one-hot coded; a seed draws seven eighths of the rows."""

    def make(seed: int, smallest: bool) -> Data | None:
        parts = adult(OPTIONS.data)
        if parts is None:
            return None
        X, X_test, y, y_test = parts
        rows = np.random.default_rng(seed).permutation(len(y))[: len(y) * 7 // 8]
        X = X[rows]
        if dense:
            X, X_test = X.toarray(), X_test.toarray()
        return Data(X, (y[rows] > 0).astype(int), X_test, (y_test > 0).astype(int))

    return make


def categories(n: int, k: int) -> Callable[[int, bool], Data]:
    """Return a column of k categories, the first ones more often, each with its own log-odds."""

    def make(seed: int, smallest: bool) -> Data:
        rng, size = np.random.default_rng(seed), 300 if smallest else n
        X = (k * rng.random((size + 5000, 1)) ** 2).astype(int).astype(float)
        labels = rng.normal(size=k)[X[:, 0].astype(int)] + rng.logistic(size=len(X)) > 0.0
        return held_out(X, labels.astype(int), size)

    return make


def dependent(n: int, d: int) -> Callable[[int, bool], Data]:
    """Return columns that depend on five normal numbers."""

    def make(seed: int, smallest: bool) -> Data:
        rng, size = np.random.default_rng(seed), 300 if smallest else n
        Z, columns = rng.normal(size=(size + 4000, 5)), 6 if smallest else d
        X = Z @ rng.normal(size=(5, columns)) / np.sqrt(5.0)
        X += 0.5 * rng.normal(size=X.shape)
        return held_out(np.clip(X, -4.0, 4.0), np.zeros(len(X)), size)

    return make


def predictions(
    make: Callable[[Data, int], Callable[[], Any]],
) -> Callable[[Data, int], Callable[[], Any]]:
    """Return the timed call that predicts the rows of a fit, which is not timed."""

    def ready(data: Data, seed: int) -> Callable[[], Any]:
        model = make(data, seed)()
        return lambda: (model.predict(data.X), model)[1]

    return ready


def tabular(data: Data, seed: int) -> Callable[[], Any]:
    """Return the fit of a private model that chooses its features."""
    return lambda: skdp.DPTabularClassifier(bounds=(-1.0, 1.0), **TERMS).fit(data.X, data.y)


def by_category(k: int) -> Callable[[Data, int], Callable[[], Any]]:
    """Return the fit of the same model to a column of k categories."""
    return fit(lambda: skdp.DPTabularClassifier(categories=list(range(k)), **TERMS))


def density(data: Data, seed: int) -> Callable[[], Any]:
    """Return the fit of a private density; its score is the mean log density of other rows."""
    return lambda: skdp.DPTreeDensity(bounds=(-4.0, 4.0), **TERMS).fit(data.X)


def log_density(model: Any, data: Data) -> dict[str, float]:
    """Return the mean log density of rows held out, in units of their number of columns."""
    return {"log density": float(model.score_samples(data.X_test).mean()) / data.X.shape[1]}


BOOSTING = fit(HistGradientBoostingClassifier)
ONE_HOT = fit(lambda: make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()))


def logistic(**own: Any) -> Callable[[Data, int], Callable[[], Any]]:
    """Return the fit of a private logistic regression."""
    return fit(lambda: skdp.DPLogisticRegression(**TERMS, **own))


def linear(**own: Any) -> Callable[[Data, int], Callable[[], Any]]:
    """Return the fit of a private linear regression."""
    return fit(lambda: skdp.DPLinearRegression(target_bounds=(-1.0, 1.0), **TERMS, **own))


ROWS = {
    "logistic, 1e5 × 20": Row(gauss(10**5, 20), logistic(), fit(LogisticRegression), 1.2),
    "logistic, 1e5 × 50": Row(gauss(10**5, 50), logistic(), fit(LogisticRegression), 1.4),
    "logistic, 1e6 × 50": Row(gauss(10**6, 50), logistic(), fit(LogisticRegression), 1.1),
    "logistic, 1e5 × 500": Row(gauss(10**5, 500), logistic(), fit(LogisticRegression), 2.0, 2e-3),
    "logistic, 1e4 × 2000": Row(gauss(10**4, 2000), logistic(), fit(LogisticRegression), 2.0, 2e-3),
    "logistic, 2000 × 200": Row(gauss(2000, 200), logistic(), fit(LogisticRegression), 7.0),
    "logistic, 5000 × 1022": Row(gauss(5000, 1022), logistic(), fit(LogisticRegression), 7.0),
    "logistic, a9a": Row(a9a(dense=False), logistic(), fit(LogisticRegression), 4.0),
    "logistic, a9a dense": Row(a9a(dense=True), logistic(), fit(LogisticRegression), 0.5),
    "logistic, digits": Row(digits, logistic(), fit(LogisticRegression), 0.7),
    "text, 5000 × 2^18": Row(words(5000, 2**18), logistic(), fit(LogisticRegression), 1.9),
    "linear, 1e5 × 20": Row(line(10**5, 20), linear(), fit(Ridge), 1.5, 2e-3),
    "linear, 1e4 × 20": Row(line(10**4, 20), linear(), fit(Ridge), 8.0),
    "linear, 17 600 × 20": Row(line(17_600, 20), linear(), fit(Ridge), 8.0),
    "tabular, 1e5 × 20": Row(gauss(10**5, 20), tabular, BOOSTING, 1.2),
    "tabular, predictions": Row(gauss(10**5, 20), predictions(tabular), predictions(BOOSTING), 1.5),
    "1000 categories": Row(categories(20_000, 1000), by_category(1000), ONE_HOT, 50.0),
    "3000 categories": Row(categories(5000, 3000), by_category(3000), ONE_HOT, 50.0),
    "density, 44 columns": Row(dependent(20_000, 44), density, None, np.inf, 5e-3, log_density),
    "density, 64 columns": Row(dependent(20_000, 64), density, None, np.inf, 5e-3, log_density),
    "density, 80 columns": Row(dependent(20_000, 80), density, None, np.inf, 5e-3, log_density),
}


@lru_cache(maxsize=1)
def data_of(make: Callable[[int, bool], Data | None], seed: int) -> Data | None:
    """Return the data of a row, kept until others are wanted."""
    return make(seed, OPTIONS.smallest)


def serve() -> None:
    """Answer (row, "own" or "peer", seed) on each line with the time taken, and scores."""
    warnings.simplefilter("ignore")
    for asked in sys.stdin:
        name, who, seed = json.loads(asked)
        row = ROWS[name]
        try:
            data = data_of(row.data, seed)
            assert data is not None, "no files"
            call = getattr(row, who)(data, seed)
            start = time.process_time()
            result = call()
            seconds = time.process_time() - start
            answer = {"seconds": seconds, "scores": row.score(result, data)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:100]}
        print(json.dumps(answer), flush=True)


class Build:
    """A process with a checkout of the package."""

    def __init__(self, checkout: Path) -> None:
        path = {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", *sys.argv[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | path,
            text=True,
        )

    def ask(self, *asked: object) -> dict[str, Any]:
        """Return the answer to one question."""
        print(json.dumps(asked), file=self.process.stdin, flush=True)  # type: ignore[arg-type]
        return json.loads(self.process.stdout.readline())  # type: ignore[union-attr]


def difference(name: str, own: list, today: list, loses: float) -> str:
    """Return a score, and the difference to today's with twice its standard error."""
    mine = [answer["scores"][name] for answer in own]
    if len(today) < 2:
        return f"{name} {mean(mine):.4f}"
    gains = [a - b["scores"][name] for a, b in zip(mine, today, strict=True)]
    worse = mean(gains) if name == "log-loss" else -mean(gains)
    error, mark = 2.0 * stdev(gains) / len(gains) ** 0.5, " !" if worse > loses else ""
    return f"{name} {mean(mine):.4f} {mean(gains):+.4f} ± {error:.4f}{mark}"


def report(name: str, row: Row, asks: dict[str, Callable[[str, int], dict]]) -> None:
    """Print the line of a row."""
    answers: dict[str, list] = {who: [] for who in asks}
    for seed in (0, *range(OPTIONS.seeds)):
        for who, ask in asks.items():
            answers[who].append(ask(name, seed))
    wrong = {who: a["error"] for who, found in answers.items() for a in found if "error" in a}
    seconds = {
        w: median(a["seconds"] for a in found[1:]) for w, found in answers.items() if w not in wrong
    }
    own, today, peer = (seconds.get(who, float("nan")) for who in ("this", "today", "peer"))
    mark = " !" if own / peer > row.target else ""
    mine, theirs = ([] if who in wrong else answers.get(who, [])[1:] for who in ("this", "today"))
    kept = [
        difference(score, mine, theirs, row.loses) for score in (mine[0]["scores"] if mine else ())
    ]
    print(
        f"| {name} | {own:.4f} | {today:.4f} | {peer:.4f} | {own / peer:.2f}{mark} "
        f"| {row.target:g} | {today / peer:.2f} | {own / today:.2f} "
        f"| {'; '.join(kept)} {wrong or ''} |",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    builds = {"this": Build(ROOT)} | ({"today": Build(OPTIONS.today)} if OPTIONS.today else {})
    print("| row | this, s | today, s | peer, s | this/peer | target | today/peer ", end="")
    print("| this/today | scores |")
    print("|---" * 9 + "|")
    for name, row in ROWS.items():
        if OPTIONS.only in name:
            asks = {who: lambda n, s, b=build: b.ask(n, "own", s) for who, build in builds.items()}
            peer = {"peer": lambda n, s: builds["this"].ask(n, "peer", s)} if row.peer else {}
            report(name, row, asks | peer)


def options() -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--today", type=Path, default=None, help="another checkout of the package")
    parser.add_argument("--only", default="", help="rows whose names contain this")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--data", default=None, help="folder with the libsvm files of a9a")
    parser.add_argument("--smallest", action="store_true", help="few rows, one seed")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    found = parser.parse_args()
    found.seeds = 1 if found.smallest else found.seeds
    return found


if __name__ == "__main__":
    OPTIONS = options()
    serve() if OPTIONS.serve else main()
