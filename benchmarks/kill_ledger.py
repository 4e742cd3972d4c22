"""Kills spenders at random moments and looks at what they left behind.

Usage: python benchmarks/kill_ledger.py [kills] [--smallest]

Each round starts a process that spends as fast as it can and writes down what it has spent; it is
killed with SIGKILL after a random time. Every line that was written down must be in the ledger, and
the ledger must be whole. So for a ledger in a file, and for one on a PostgreSQL server of one's own
if the machine has its programs.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from skdp import PrivacyBudget
from skdp.privacy import GDPEvent, PrivacyGuarantee

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "budget"))

from local_server import local_server, programs

_SPENDER = """
import os, sys
from skdp import PrivacyBudget
from skdp.privacy import GDPEvent, PrivacyGuarantee
budget = PrivacyBudget(epsilon=1000.0, delta=1e-3, path=sys.argv[1])
cost = PrivacyGuarantee(GDPEvent(0.001), "replace_one", "")
for round_ in sys.stdin:
    done = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND)
    if os.fork() == 0:
        os.setpgid(0, 0)
        for i in range(10**9):
            label = f"{round_.strip()}-{i}"
            budget.spend(cost, delta=1e-9, name=label, epsilon=1.0)
            os.write(done, (label + chr(10)).encode())
    os.wait()
    os.close(done)
    print("killed", flush=True)
"""


def children(process):
    """Return the children of a process; Linux only."""
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def kill(n_kills, place, done, seed=0):
    """Kill that many spenders; return (releases found, releases promised)."""
    budget, rng = PrivacyBudget(epsilon=1000.0, delta=1e-3, path=place), random.Random(seed)
    seconds = spend_some(budget, done)
    command = [sys.executable, "-c", _SPENDER, str(place), str(done)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as spender:
        for round_ in range(n_kills):
            print(round_, file=spender.stdin, flush=True)
            while not (young := children(spender.pid)):
                time.sleep(0.0005)
            time.sleep(rng.uniform(0.0, 0.1 + 2.0 * seconds))
            os.kill(int(young[0]), signal.SIGKILL)
            assert spender.stdout.readline() == "killed\n"
        spender.stdin.close()
    return check(budget, place, done.read_text().split())


def spend_some(budget, done, n=8):
    """Spend some releases, write them down, and return the seconds."""
    cost, start = PrivacyGuarantee(GDPEvent(0.001), "replace_one", ""), time.perf_counter()
    labels = [f"first-{i}" for i in range(n)]
    for label in labels:
        budget.spend(cost, delta=1e-9, name=label, epsilon=1.0)
    done.write_text("".join(f"{label}\n" for label in labels))
    return time.perf_counter() - start


def check(budget, place, promised):
    """Assert that the ledger is whole and holds every promise, and at most one more a round."""
    found = [row["label"] for row in budget.history()]
    PrivacyBudget(
        epsilon=1000.0, delta=1e-3, path=place
    )  # adds all rows up and compares them with the totals
    assert len(set(found)) == len(found), "a spend was written twice"
    assert set(promised) <= set(found), "a spend was lost"
    rounds = [label.split("-")[0] for label in set(found) - set(promised)]
    assert len(set(rounds)) == len(rounds), "a kill cost more than the spend it interrupted"
    return len(found), len(promised)


def main():
    """Kill spenders from both kinds of ledgers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kills", nargs="?", type=int, default=200)
    parser.add_argument("--smallest", action="store_true", help="ten kills")
    options = parser.parse_args()
    n_kills = 10 if options.smallest else options.kills
    with tempfile.TemporaryDirectory() as folder:
        report("a file", n_kills, Path(folder) / "study.db", Path(folder) / "file.txt")
        if programs():
            with local_server() as server:
                report("a server", n_kills, server.address(), Path(folder) / "server.txt")


def report(kind, n_kills, place, done):
    """Print what was killed and what was found."""
    start = time.perf_counter()
    found, promised = kill(n_kills, place, done)
    seconds = time.perf_counter() - start
    print(
        f"{kind}: {n_kills} kills in {seconds:.0f} s: {found} releases in the ledger, {promised} "
        "of them reported before the kill, none lost, none in part"
    )


if __name__ == "__main__":
    main()
