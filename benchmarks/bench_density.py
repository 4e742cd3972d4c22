"""Synthetic rows of DPTreeDensity beside other mechanisms, private models, and no privacy.

Usage: python benchmarks/bench_density.py [--data FOLDER] [--only NAME ...] [--epsilons 0.3 1 3]
       [--seeds 3] [--methods NAME ...] [--others FILE] [--bins 16] [--out LINES] [--smallest]
       python benchmarks/bench_density.py --report LINES

FOLDER is that of benchmarks/tabular/run.py; without it a small made-up table is used. A quarter of
the rows is for testing. δ = 1e-5, add_remove_one. FILE is a Python file with a dict ``OTHERS`` of
functions (codes, sizes, epsilon, delta, seed) -> codes. They get and return one row of codes for
each record: numbers in equal bins between their bounds, and the target last. `--bins` may name
several numbers of bins. LINES keeps the results of finished runs, which are not run again. The
columns of the table are

- score: AUC of scikit-learn's boosting trained on as many synthetic rows as there are records, or
  R² if the target is a number; for a direct model, that of the model itself;
- two-way, three-way: l1 distance of tables of frequencies, records against as many synthetic rows,
  with numbers in four equal bins between their bounds, averaged over all pairs and over 60 triples
  of columns and target;
- seconds of CPU of the fit and the sample, and megabytes of memory of a process that does nothing
  else.

The method "no privacy" is boosting on the records, and the distance of two halves of the records.
"""

import argparse
import json
import multiprocessing
import runpy
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from mixed_tables import made_up
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

import skdp

sys.path.append(str(Path(__file__).parent / "tabular"))

from tables import Table, tables

DELTA = 1e-5
LOGARITHMIC = {"capital-gain", "capital-loss", "balance", "campaign", "previous"}
NAMES = [
    *("magic04", "Adult", "bank", "bank, calls", "bands", "breast cancer"),
    *("California housing, above median", "California housing"),
    *("wine quality, red", "wine quality, white"),
]
CELL = ("table", "epsilon", "method", "seed")
METHODS = ("no privacy", "density", "DP tabular")
DISTANCES = ("two-way", "three-way")
FIGURES = ("score", *DISTANCES, "seconds", "MB")


@dataclass(frozen=True, eq=False)
class Coder:
    """Columns and target as codes: numbers in equal bins; one more code for what has no place."""

    table: Table
    n_bins: int

    @property
    def sizes(self):
        """The number of codes of each column, and of the target."""
        categories = self.table.categories
        sizes = [len(categories.get(name, range(self.n_bins))) + 1 for name in self.table.X]
        return [*sizes, self.n_bins if self.table.is_regression else len(self.table.classes)]

    def codes(self, X, y):
        """Return codes of shape (n, columns + 1)."""
        columns = [self._codes(name, X[name]) for name in self.table.X]
        if self.table.is_regression:
            target = binned(y, *self.table.target_bounds, False, self.n_bins)
        else:
            target = np.searchsorted(self.table.classes, y)
        return np.column_stack([*columns, target])

    def _codes(self, name, values):
        if name in self.table.bounds:
            return binned(values, *self.table.bounds[name], name in LOGARITHMIC, self.n_bins)
        known = self.table.categories[name]
        found = pd.Categorical(values, known).codes
        return np.where(found < 0, len(known), found)

    def values(self, codes, rng):
        """Return X and y for codes: numbers uniform in their bins."""
        columns = {
            name: self._values(name, codes[:, j], rng) for j, name in enumerate(self.table.X)
        }
        y = codes[:, -1]
        if self.table.is_regression:
            y = unbinned(y, *self.table.target_bounds, False, self.n_bins, rng)
        else:
            y = self.table.classes[y]
        return pd.DataFrame(columns), y

    def _values(self, name, codes, rng):
        if name in self.table.bounds:
            pair = self.table.bounds[name]
            return unbinned(codes, *pair, name in LOGARITHMIC, self.n_bins, rng)
        return np.array([*self.table.categories[name], None], dtype=object)[codes]


def binned(values, low, high, logarithmic, n_bins):
    """Return the bins of numbers, n_bins for missing ones."""
    values, ends = np.clip(np.asarray(values, dtype=float), low, high), np.array([low, high])
    if logarithmic:
        values, ends = logarithm(values), logarithm(ends)
    bins = np.floor((values - ends[0]) / (ends[1] - ends[0]) * n_bins)
    return np.where(np.isnan(bins), n_bins, np.minimum(bins, n_bins - 1)).astype(int)


def unbinned(bins, low, high, logarithmic, n_bins, rng):
    """Return a number of each bin, NaN for n_bins."""
    low, high = logarithm([low, high]) if logarithmic else (low, high)
    values = low + (bins + rng.random(len(bins))) / n_bins * (high - low)
    values = np.sign(values) * np.expm1(np.abs(values)) if logarithmic else values
    return np.where(bins == n_bins, np.nan, values)


def logarithm(values):
    """Return sign(v)·log(1 + |v|), the scale of transformation="log"."""
    return np.sign(values) * np.log1p(np.abs(values))


def distance(one, other, sizes, order):
    """Return the mean l1 distance of the frequencies of sets of columns: all pairs, 60 triples."""
    sets, sizes = list(combinations(range(one.shape[1]), order)), np.array(sizes)
    if order == 3:
        sets = [sets[k] for k in np.random.default_rng(0).permutation(len(sets))[:60]]
    found = []
    for columns in map(list, sets):
        cells = int(sizes[columns].prod())
        p, q = (
            np.bincount(np.ravel_multi_index(x[:, columns].T, sizes[columns]), minlength=cells)
            / len(x)
            for x in (one, other)
        )
        found.append(np.abs(p - q).sum())
    return float(np.mean(found))


def distances(table, rows, others):
    """Return the distances of two pairs of columns and target, for pairs and for triples."""
    coder = Coder(table, 4)
    here, there = coder.codes(*rows), coder.codes(*others)
    return [distance(here, there, coder.sizes, order) for order in (2, 3)]


def encoded(table, X):
    """Return numbers, with codes in the place of categories."""
    codes = {name: pd.Categorical(X[name], known).codes for name, known in table.categories.items()}
    return X.assign(**codes).to_numpy(dtype=float)


def boosted(table, X, y, X_test, y_test):
    """Return the score of boosting without privacy."""
    kind = HistGradientBoostingClassifier
    if table.is_regression:
        kind = HistGradientBoostingRegressor
    model = kind(categorical_features=[name in table.categories for name in X], random_state=0)
    if len(np.unique(y)) < 2:
        return 0.0 if table.is_regression else 0.5
    model.fit(encoded(table, X), y)
    return score(table, model, encoded(table, X_test), y_test)


def score(table, model, X, y):
    """Return the area under the ROC curve, or R² if the target is a number."""
    if table.is_regression:
        return r2_score(y, np.clip(model.predict(X), *table.target_bounds))
    return roc_auc_score(y, model.predict_proba(X)[:, 1])


def terms(table, epsilon, seed):
    """Return the parameters of this library's models."""
    logs = {name: "log" for name in table.bounds if name in LOGARITHMIC}
    public = {"bounds": table.bounds, "categories": table.categories or None}
    privacy = {"epsilon": epsilon, "delta": DELTA, "neighboring": "add_remove_one"}
    return public | privacy | {"transformation": logs or None, "random_state": seed}


def density(table, X, y, epsilon, seed):
    """Return synthetic rows of this library's density."""
    given, target = terms(table, epsilon, seed), "the target"
    if not table.is_regression:
        model = skdp.DPTreeNB(**given, classes=table.classes).fit(X, y)
        return model.sample(len(X), random_state=seed)
    given["bounds"] = table.bounds | {target: table.target_bounds}
    model = skdp.DPTreeDensity(**given, target=target).fit(X.assign(**{target: y}))
    rows = model.sample(len(X), random_state=seed).dropna(subset=target)
    return rows, rows.pop(target).to_numpy()


def synthesized(others, name, table, X, y, epsilon, seed):
    """Return synthetic rows of a method, and its seconds and megabytes."""
    start = process_time()
    if name == "density":
        rows = density(table, X, y, epsilon, seed)
    else:
        name, bins = name.rsplit(maxsplit=2)[:2]
        coder, learn = Coder(table, int(bins)), mechanisms(others)[name]
        codes = learn(coder.codes(X, y), coder.sizes, epsilon, DELTA, seed)
        rows = coder.values(codes, np.random.default_rng(seed))
    seconds = process_time() - start
    return rows, seconds, peak_memory()


def peak_memory():
    """Return the largest memory of this process in megabytes, NaN where the system does not say."""
    status = Path("/proc/self/status")  # unlike getrusage, not that of the parent before the start
    if not status.exists():
        return np.nan
    return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024


def mechanisms(path):
    """Return the functions of a file, none without a file."""
    if path is None:
        return {}
    sys.path.append(str(Path(path).parent))
    return runpy.run_path(path)["OTHERS"]


def in_a_process(function, *given):
    """Return the result of a function that is called in a new process."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(function, *given).result()


def of_rows(table, parts, others, name, epsilon, seed):
    """Return the figures of a method that makes rows."""
    X, X_test, y, y_test = parts
    given = others, name, replace(table, truth=None), X, y, epsilon, seed
    (rows, labels), seconds, megabytes = in_a_process(synthesized, *given)
    found = distances(table, (X, y), (rows, labels))
    return boosted(table, rows, labels, X_test, y_test), *found, seconds, megabytes


def without_privacy(table, parts):
    """Return the figures of the records themselves."""
    X, X_test, y, y_test = parts
    found = distances(table, (X[::2], y[::2]), (X[1::2], y[1::2]))
    return boosted(table, X, y, X_test, y_test), *found


def direct(table, parts, name, epsilon, seed):
    """Return the figures of a private model that is trained for the target only."""
    X, X_test, y, y_test = parts
    start = process_time()
    model = DIRECT[name](table, epsilon, seed).fit(X, y)
    unknown = [np.nan] * len(DISTANCES)
    return score(table, model, X_test, y_test), *unknown, process_time() - start


def tabular(table, epsilon, seed):
    """Return this library's model of tables."""
    given = terms(table, epsilon, seed)
    if table.is_regression:
        return skdp.DPTabularRegressor(**given, target_bounds=table.target_bounds)
    return skdp.DPTabularClassifier(**given, classes=table.classes)


def ebm(table, epsilon, seed):
    """Return DP-EBM of interpret-core with its defaults."""
    from models import Interpret

    _, model = next(Interpret().models(table, None))
    return model(epsilon, seed)


DIRECT = {"DP tabular": tabular, "DP-EBM": ebm}


def above_median(table):
    """Return a table whose target is whether a number is above 180,000, a round public number."""
    y = (table.y > 180_000).astype(int)
    return replace(table, name=f"{table.name}, above median", y=y, target_bounds=None)


def chosen_tables(folder, smallest):
    """Yield the tables."""
    if folder is None or smallest:
        for name, X, y, bounds, categories in made_up():
            yield Table(name, X, y, bounds, categories)
        return
    for table in tables(folder):
        yield table
        if table.name == "California housing":
            yield above_median(table)


def figures(table, parts, others, epsilon, method, seed):
    """Return the figures of one run."""
    if method == "no privacy":
        return without_privacy(table, parts)
    if method in DIRECT:
        return direct(table, parts, method, epsilon, seed)
    return of_rows(table, parts, others, method, epsilon, seed)


def run(table, given, done, methods):
    """Yield a line for each run that is not done yet."""
    X = table.X.set_axis(table.X.columns.astype(str), axis=1)
    stratified = None if table.is_regression else table.y
    parts = train_test_split(X, table.y, test_size=0.25, random_state=0, stratify=stratified)
    for epsilon, method, seed in product(given.epsilons, methods, range(given.seeds)):
        cell = (table.name, epsilon, method, seed)
        if method == "no privacy":
            cell = (table.name, 0.0, method, 0)
        if cell in done:
            continue
        done.add(cell)
        found = figures(table, parts, given.others, *cell[1:])
        numbers = dict(zip(FIGURES, found, strict=False))
        yield dict(zip(CELL, cell, strict=True)) | {"n": len(parts[0])} | numbers


def report(lines):
    """Print the means over seeds, a table for each figure, with a column for each method."""
    lines = pd.DataFrame(lines)
    lines["table"] = pd.Categorical(lines["table"], lines["table"].unique())  # in this order
    rows = lines.groupby([*CELL[:3]], observed=True)
    for figure in [name for name in FIGURES if name in lines]:
        means = rows[figure].mean().unstack("method").dropna(axis=1, how="all")
        digits = "{:.3f}" if figure in ("score", *DISTANCES) else "{:.0f}"
        print(f"\n{figure}\n{means.to_string(float_format=digits.format, na_rep='')}")
    seeds = rows.size().unstack("method").agg(["min", "max"])
    print(f"\nseeds\n{seeds.to_string(float_format='{:.0f}'.format)}")


def read(path):
    """Return the lines of a file, none if there is no such file."""
    if path is None or not Path(path).exists():
        return []
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def options():
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--only", nargs="*", default=NAMES)
    parser.add_argument("--epsilons", nargs="*", type=float, default=[0.3, 1.0, 3.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--others")
    parser.add_argument("--bins", nargs="*", type=int, default=[16])
    parser.add_argument("--out")
    parser.add_argument("--report")
    parser.add_argument("--smallest", action="store_true")
    return parser.parse_args()


def main():
    """Print a table of all runs."""
    given = options()
    warnings.simplefilter("ignore")
    if given.report:
        return report(read(given.report))
    if given.smallest:
        given.seeds, given.epsilons = 1, [1.0]
    others = [f"{name} {bins} bins" for name, bins in product(mechanisms(given.others), given.bins)]
    methods = given.methods if given.methods else [*METHODS, *others]
    lines = read(given.out)
    done = {tuple(line[key] for key in CELL) for line in lines}
    for table in chosen_tables(given.data, given.smallest):
        if table.name in given.only or table.name == "made up":
            for line in run(table, given, done, methods):
                lines.append(line)
                print(line, file=sys.stderr, flush=True)
                if given.out:
                    with Path(given.out).open("a") as file:
                        file.write(json.dumps(line) + "\n")
    report(lines)


if __name__ == "__main__":
    main()
