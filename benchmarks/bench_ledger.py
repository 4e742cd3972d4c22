"""Spends a second from one process, and from eight together, in a file and on a server.

Usage: python benchmarks/bench_ledger.py [folder] [--server ADDRESS] [--smallest]

The folder decides which disk is measured. Without an address a PostgreSQL server is started there,
with every commit on the disk, if the machine has its programs.
"""

import argparse
import multiprocessing
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from skdp import PrivacyBudget
from skdp.privacy import GDPEvent, PrivacyGuarantee, PureDPEvent

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "budget"))

from local_server import local_server, programs

ROW = "x" * 600  # about as long as a release


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
        budget.spend(guarantee, delta=delta, name="bench", epsilon=epsilon)
    return time.perf_counter() - start


def alone(place, composition, known, n):
    """Return spends a second from one process, and once more with n rows in the ledger."""
    delta = 0.0 if composition == "pure" else 1e-3
    budget = PrivacyBudget(epsilon=100.0, delta=delta, composition=composition, path=place)
    return n / spend(budget, n, known), n / spend(budget, n, known)


def bare_file(path, n):
    """Return the commits a second of SQLite alone, a row of the same size flushed as a ledger's."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=60.0)) as connection:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=1"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("CREATE TABLE IF NOT EXISTS rows (row TEXT)")
        return n / timed(connection, "BEGIN IMMEDIATE", f"INSERT INTO rows VALUES ('{ROW}')", n)


def bare_server(address, n):
    """Return the commits a second of PostgreSQL alone, a row of the same size each."""
    from psycopg import Connection

    with Connection.connect(address.partition("&ledger=")[0], autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bare (row TEXT)")
        return n / timed(connection, "BEGIN", f"INSERT INTO bare VALUES ('{ROW}')", n)


def timed(connection, begin, insert, n):
    """Return the seconds of n transactions of one row."""
    start = time.perf_counter()
    for _ in range(n):
        connection.execute(begin)
        connection.execute(insert)
        connection.execute("COMMIT")
    return time.perf_counter() - start


def spend_known(place, n):
    """Spend n releases from the ledger at a place."""
    spend(PrivacyBudget(epsilon=100.0, delta=1e-3, path=place), n, True)


def _worker(work, n, start, results):
    work(5)
    start.wait()
    begun = time.time()
    work(n)
    results.put((begun, time.time()))


def together(work, n, n_processes):
    """Return how often a second several processes do at once what ``work(n)`` does n times."""
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(n_processes), context.Queue()
    workers = [
        context.Process(target=_worker, args=(work, n, start, results)) for _ in range(n_processes)
    ]
    for worker in workers:
        worker.start()
    times = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    return n_processes * n / (max(t[1] for t in times) - min(t[0] for t in times))


def print_alone(place, bare, composition, known, n):
    """Print the rate of one process, and of rows alone just before it."""
    commits = bare(n)
    first, later = alone(place, composition, known, n)
    quote = "epsilon known" if known else "epsilon searched"
    print(
        f"one process, {composition:5} {quote:16} {first:7.0f}/s, later {later:7.0f}/s;"
        f" rows alone {commits:.0f}/s, ratio {first / commits:.2f}"
    )


def print_together(places, bare, n, n_processes):
    """Print the median rate of several processes, and of rows alone between them."""
    spends, commits = [], []
    for place in places:
        PrivacyBudget(epsilon=100.0, delta=1e-3, path=place)
        commits.append(together(bare, n, n_processes))
        spends.append(together(partial(spend_known, place), n, n_processes))
        found = len(PrivacyBudget(epsilon=100.0, delta=1e-3, path=place).history())
        assert found == n_processes * (n + 5), "a spend was lost"
    rate, alone = statistics.median(spends), statistics.median(commits)
    print(
        f"{n_processes} processes, gdp: median of {len(places)}: {rate:.0f}/s; "
        f"rows alone {alone:.0f}/s, ratio {rate / alone:.2f}"
    )


@contextmanager
def server_at(address, folder):
    """Lend the address of a server, up to the ledger's name; None where there is none."""
    if address:
        yield f"{address}{'&' if '?' in address else '?'}ledger="
    elif programs():
        with local_server(folder=folder) as server:
            yield server.address("")
    else:
        yield None


def main():
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", help="on the disk to be measured")
    parser.add_argument("--server", help="postgresql://user@host/database, for new ledgers")
    parser.add_argument("--smallest", action="store_true", help="a few spends at a time")
    options = parser.parse_args()
    n, n_each, n_processes, n_runs = (10, 5, 2, 1) if options.smallest else (2000, 250, 8, 3)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        bare, runs = partial(bare_file, Path(folder) / "bare.db"), range(n_runs)
        print("A file")
        for composition in ("gdp", "basic", "zcdp", "rdp", "pure"):
            for known in (True, False):
                path = Path(folder) / f"{composition}{known}.db"
                print_alone(path, bare, composition, known, n)
        print_together([Path(folder) / f"run{i}.db" for i in runs], bare, n_each, n_processes)
    with server_at(options.server, options.folder) as server:
        if server is None:
            print("There is no PostgreSQL here.")
            return
        bare, name = partial(bare_server, server), f"bench_{time.time_ns()}"
        print("A server")
        print_alone(f"{server}{name}_alone", bare, "gdp", True, n)
        print_together([f"{server}{name}_{i}" for i in runs], bare, n_each, n_processes)


if __name__ == "__main__":
    main()
