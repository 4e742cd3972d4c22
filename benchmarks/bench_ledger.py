"""Spends a second from one process, and from eight together, with full durability on a path.

Usage: python benchmarks/bench_ledger.py [folder] [--smallest]

The folder decides which disk is measured.
"""

import argparse
import multiprocessing
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from skdp import PrivacyBudget
from skdp.privacy import GDPEvent, PrivacyGuarantee, PureDPEvent


def guarantees_of(composition, n):
    """Return guarantees that all differ, so that nothing can be remembered."""
    kinds = {"gdp": GDPEvent, "zcdp": GDPEvent, "rdp": GDPEvent}
    kind = kinds.get(composition, PureDPEvent)
    sizes = [1e-6 * (1.0 + i / n) for i in range(n)]
    return [PrivacyGuarantee(kind(size), "replace_one", "") for size in sizes]


def spend(budget, n, known):
    """Spend n releases and return the seconds."""
    guarantees = guarantees_of(budget.composition, n)
    delta = 0.0 if budget.composition == "pure" else 1e-9
    quotes = [
        guarantee.epsilon(delta) * (1.0 + 1e-9) if known else None for guarantee in guarantees
    ]
    start = time.perf_counter()
    for guarantee, epsilon in zip(guarantees, quotes, strict=True):
        budget.spend(guarantee, delta=delta, label="bench", epsilon=epsilon)
    return time.perf_counter() - start


def alone(folder, composition, known, n):
    """Return spends a second from one process, and once more with n rows in the ledger."""
    delta = 0.0 if composition == "pure" else 1e-3
    path = Path(folder) / f"{composition}{known}.db"
    budget = PrivacyBudget(100.0, delta, composition=composition, path=path)
    return n / spend(budget, n, known), n / spend(budget, n, known)


def bare(folder, n):
    """Return the commits a second of SQLite alone, a row of the same size flushed as a ledger's."""
    connection = sqlite3.connect(Path(folder) / "bare.db", isolation_level=None)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=1"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("CREATE TABLE rows (row TEXT)")
    start = time.perf_counter()
    for _ in range(n):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO rows VALUES (?)", ("x" * 300,))
        connection.execute("COMMIT")
    seconds = time.perf_counter() - start
    connection.close()
    (Path(folder) / "bare.db").unlink()
    return n / seconds


def _worker(path, n, start, results):
    budget = PrivacyBudget(100.0, 1e-3, path=path)
    spend(budget, 5, True)
    start.wait()
    begun = time.time()
    spend(budget, n, True)
    results.put((begun, time.time()))


def together(folder, n, n_processes):
    """Return spends a second of several processes at once."""
    path = Path(folder) / "together.db"
    budget = PrivacyBudget(100.0, 1e-3, path=path)
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(n_processes), context.Queue()
    workers = [
        context.Process(target=_worker, args=(path, n, start, results)) for _ in range(n_processes)
    ]
    for worker in workers:
        worker.start()
    times = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    assert len(budget.history()) == n_processes * (n + 5), "a spend was lost"
    return n_processes * n / (max(t[1] for t in times) - min(t[0] for t in times))


def main():
    """Print one line a measurement, with the rate of SQLite alone just before it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", help="on the disk to be measured")
    parser.add_argument("--smallest", action="store_true", help="twenty spends at a time")
    options = parser.parse_args()
    n, n_each, n_processes, n_runs = (10, 5, 2, 1) if options.smallest else (2000, 250, 8, 3)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for composition in ("gdp", "basic", "zcdp", "rdp", "pure"):
            for known in (True, False):
                commits = bare(folder, n)
                first, later = alone(folder, composition, known, n)
                quote = "epsilon known" if known else "epsilon searched"
                print(
                    f"one process, {composition:5} {quote:16} {first:7.0f}/s, later {later:7.0f}/s;"
                    f" SQLite alone {commits:.0f}/s, ratio {first / commits:.2f}"
                )
        rates = [together(tempfile.mkdtemp(dir=folder), n_each, n_processes) for _ in range(n_runs)]
        median = statistics.median(rates)
        print(f"{n_processes} processes, gdp: median of {n_runs}: {median:.0f}/s")


if __name__ == "__main__":
    main()
