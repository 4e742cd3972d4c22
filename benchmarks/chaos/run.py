"""Spends from ledgers while everything around them fails, and looks at what is left.

Usage: python benchmarks/chaos/run.py [spends] [--only WORDS] [--seed N] [--folder F] [--smallest]

Each storm has one or two ledgers with room for a fixed number of releases, and four clients that
spend until they are refused. Meanwhile clients are killed, interrupted and asked to end; servers
and poolers are killed; sessions are ended; networks are cut, held and repeat what they carry; disks
are full, slow and read-only. Each client writes down, on the disk, what it was told about each
spend. In the end these diaries are compared with the ledgers: none of the acknowledged releases may
be lost or double, none beyond the room, and no error may say "nothing was spent" of a release that
is in the ledger.

Servers need the programs of PostgreSQL, poolers pgbouncer, slow disks a C compiler, and full disks
the right to mount a file system.
"""

import argparse
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from checker import Tally
from hazards import slow_flushes
from storms import Ground, Impossible, run, storms


def main():
    """Run the storms one after another, and exit with 1 if a count that must be 0 is not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("spends", nargs="?", type=int, default=10_500, help="in all storms")
    parser.add_argument("--only", default="", help="storms whose names contain these words")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", help="on the disk to be used")
    parser.add_argument("--smallest", action="store_true", help="a few spends in each storm")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder))
        os.chmod(folder, 0o755)  # the server runs as somebody else
        total = run_all(Ground(folder, stack, slow_switch(folder)), options)
    print_tally("all storms", total, 0.0)
    sys.exit(f"faults: {total.faults}" if total.faults else 0)


def slow_switch(folder):
    """Return the file that makes disks slow, None where that is impossible."""
    if (library := slow_flushes(folder)) is None:
        return None
    switch = Path(folder) / "slow"
    os.environ |= {"LD_PRELOAD": str(library), "SKDP_SLOW_DISK": str(switch)}
    return switch


def run_all(ground, options):
    """Return the sum of all tallies."""
    chosen = {name: storm for name, storm in storms(ground).items() if options.only in name}
    room = 20 if options.smallest else -(-options.spends // len(chosen))
    total = Tally()
    for number, (name, storm) in enumerate(chosen.items()):
        start = time.perf_counter()
        try:
            strikes = 2 if options.smallest else None
            tally = run(storm, ground, room, seed=options.seed + number, n_strikes=strikes)
        except Impossible as error:
            print(f"{name}: left out, {error}", flush=True)
            continue
        print_tally(name, tally, time.perf_counter() - start)
        total += tally
    return total


def print_tally(name, tally, seconds):
    """Print one line."""
    counts = asdict(tally)
    good = [counts.pop(name) for name in ("acknowledged", "models", "rows", "strikes")]
    bad = ", ".join(f"{count} {name}" for name, count in counts.items())
    print(
        f"{name}: {good[3]} strikes in {seconds:.0f} s: {good[0]} acknowledged ({good[1]} models), "
        f"{good[2]} rows: {bad}",
        flush=True,
    )


if __name__ == "__main__":
    main()
