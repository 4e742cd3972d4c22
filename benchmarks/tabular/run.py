"""Benchmark of private learning on tables: same splits, same rows, same δ, same ε.

Usage: python benchmarks/tabular/run.py [--data FOLDER] [--seeds 3] [--only NAME ...]
       [--libraries NAME ...] [--models NAME ...] [--epsilons 0.1 ...] [--out results.jsonl]
       [--peers] [--smallest]

FOLDER contains the files that `FILES` in `tables.py` names. docs/tabular.md lists their sources.
Without FOLDER the simulated tables and those of scikit-learn are used. Each fit appends a line of
JSON to --out, and fits that are already there are not repeated. For a model with several settings,
each score is that of the best setting on the test rows. --peers creates one virtual environment for
diffprivlib and one for interpret-core, and runs this program in them. `report.py` prints the tables
of the page, and `picture.py` creates its figure.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from models import LIBRARIES, quiet
from scores import LESS_IS_BETTER, scores
from sklearn.model_selection import train_test_split
from tables import own_tables, tables

KEYS = ("table", "model", "relation", "epsilon", "seed")
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
PEERS = {
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn==1.6.*", "pandas"),
    "interpret": ("interpret-core==0.7.*", "pandas"),
}


def arguments():
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", default=None)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--libraries", nargs="*", default=["skdp", "scikit-learn"])
    parser.add_argument("--models", nargs="*", default=None)
    parser.add_argument("--epsilons", nargs="*", type=float, default=EPSILONS)
    parser.add_argument("--out", default=None)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--smallest", action="store_true")
    return parser.parse_args()


def one_fit(table, make, epsilon, seed):
    """Return the scores of one fit on one split, and its seconds of CPU."""
    stratify = None if table.is_regression else table.y
    X, X_test, y, y_test = train_test_split(
        table.X, table.y, test_size=0.25, random_state=seed, stratify=stratify
    )
    model, start = make(epsilon, seed), time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    found = scores(table, model, X_test, y_test)
    return {name: round(float(value), 5) for name, value in found.items()} | {
        "seconds": round(seconds, 4)
    }


def cells(chosen, libraries, models, epsilons, seeds, done):
    """Yield a table, its (name, model, relation, ε), the settings and the seeds not done."""
    for table in chosen:
        for library in (LIBRARIES[name]() for name in libraries):
            for relation in library.relations:
                for model, *settings in library.models(table, relation):
                    if models is not None and model not in models:
                        continue
                    for epsilon in epsilons if relation != "none" else (math.inf,):
                        cell = (table.name, model, relation, epsilon)
                        if missing := [s for s in range(seeds) if (*cell, s) not in done]:
                            yield table, cell, settings, missing


def known(out):
    """Return the keys of the fits in a file."""
    if out is None or not Path(out).exists():
        return set()
    rows = map(json.loads, Path(out).read_text().splitlines())
    return {(*(row[key] for key in KEYS[:3]), float(row["epsilon"]), row["seed"]) for row in rows}


def tuned(found):
    """Return a row for each split: each score under the setting with the best mean of it."""
    chosen = {
        score: min([[row[score] for row in rows] for rows in found], key=order(score))
        for score in found[0][0]
    }
    return [dict(zip(chosen, values, strict=True)) for values in zip(*chosen.values(), strict=True)]


def order(score):
    """Return a key that is least for the best values of a score."""
    sign = 1.0 if score in LESS_IS_BETTER else -1.0
    return lambda values: sign * sum(values)


def rows_of(table, cell, settings, seeds):
    """Return the scores of one cell on each split, or why there are none."""
    try:
        found = [[one_fit(table, make, cell[3], seed) for seed in seeds] for make in settings]
    except Exception as error:  # of another library: the benchmark goes on, and says so
        if cell[1].startswith("skdp"):
            raise
        return [{"failed": f"{type(error).__name__}: {error}"[:200]} for _ in seeds]
    return tuned(found)


def run(args):
    """Make the fits that are missing, and print a line for each."""
    chosen = [*(tables(args.data))] if not args.smallest else [*own_tables()][1:4:2]
    if args.only:
        chosen = [table for table in chosen if table.name in args.only]
    epsilons, seeds = ((1.0,), 1) if args.smallest else (args.epsilons, args.seeds)
    quiet()
    done = known(args.out)
    found = cells(chosen, args.libraries, args.models, epsilons, seeds, done)
    for table, cell, settings, missing in found:
        for seed, row in zip(missing, rows_of(table, cell, settings, missing), strict=True):
            key = dict(zip(KEYS, (*cell[:3], str(cell[3]), seed), strict=True))
            write(json.dumps(key | row), args.out)


def write(line, out):
    """Print a line, and append it to a file."""
    print(line, flush=True)
    if out is not None:
        with Path(out).open("a") as file:
            file.write(line + "\n")


def run_peers(args):
    """Run this program in an environment of each peer's own."""
    for library, requirements in PEERS.items():
        with tempfile.TemporaryDirectory() as folder:
            venv.create(folder, with_pip=True)
            python = str(Path(folder) / "bin" / "python")
            subprocess.run([python, "-m", "pip", "install", "-q", *requirements], check=True)
            same = [arg for arg in sys.argv if arg != "--peers"]
            subprocess.run([python, *same, "--libraries", library], check=True)


if __name__ == "__main__":
    asked = arguments()
    run(asked)
    if asked.peers:
        run_peers(asked)
