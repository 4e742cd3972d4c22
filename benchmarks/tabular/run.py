"""Private learning of tables on one footing: defaults, same splits, same δ, same ε.

Usage: python benchmarks/tabular/run.py [--data FOLDER] [--seeds 3] [--only NAME ...]
       [--libraries NAME ...] [--out results.jsonl] [--peers] [--smallest]

FOLDER holds the files that `FILES` in `tables.py` names; docs/tabular.md says what they are and
where they were first published. Without it the tables of scikit-learn are used. A line of JSON for
each fit goes to --out; fits that are there are not repeated. --peers makes a virtual environment
for diffprivlib and one for interpret-core, and runs itself in them. `report.py` makes the page's
tables, `picture.py` its picture.
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
from scores import scores
from sklearn.model_selection import train_test_split
from tables import own_tables, tables

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
PEERS = {
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn==1.6.*", "pandas"),
    "interpret": ("interpret-core>=0.7", "pandas"),
}


def arguments():
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", default=None)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--libraries", nargs="*", default=["skdp", "scikit-learn"])
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


def fits(chosen, libraries, epsilons, seeds, done):
    """Yield a row for each fit that is not done."""
    for table in chosen:
        for library in libraries:
            for model, make in LIBRARIES[library]().models(table):
                private = library != "scikit-learn"
                for epsilon in epsilons if private else (math.inf,):
                    for seed in range(seeds):
                        key = (table.name, model, epsilon, seed)
                        if key not in done:
                            yield key, table, make


def known(out):
    """Return the keys of the fits in a file."""
    if out is None or not Path(out).exists():
        return set()
    rows = map(json.loads, Path(out).read_text().splitlines())
    return {(row["table"], row["model"], float(row["epsilon"]), row["seed"]) for row in rows}


def run(args):
    """Make the fits that are missing, and print a line for each."""
    chosen = [*(tables(args.data))] if not args.smallest else [*own_tables()][1:4:2]
    if args.only:
        chosen = [table for table in chosen if table.name in args.only]
    epsilons, seeds = ((1.0,), 1) if args.smallest else (EPSILONS, args.seeds)
    quiet()
    for key, table, make in fits(chosen, args.libraries, epsilons, seeds, known(args.out)):
        names = ("table", "model", "epsilon", "seed")
        try:
            found = one_fit(table, make, key[2], key[3])
        except Exception as error:  # of another library: the benchmark goes on, and says so
            if key[1].startswith("skdp"):
                raise
            found = {"failed": f"{type(error).__name__}: {error}"[:200]}
        line = json.dumps(dict(zip(names, (*key[:2], str(key[2]), key[3]), strict=True)) | found)
        print(line, flush=True)
        if args.out is not None:
            with Path(args.out).open("a") as file:
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
