"""Run the tracked benchmarks once, without asv, and print what they say.

Usage: OMP_NUM_THREADS=1 python benchmarks/tracked/run.py [--smallest]
"""

import argparse
import time
from itertools import product

from suite import costs, fits


def main():
    """Print a line for each benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smallest", action="store_true", help="the first table, once")
    rows = [(kind, *row) for kind in (fits.Fit, fits.WideFit) for row in product(*kind.params)]
    if parser.parse_args().smallest:
        first = next(iter(fits.TABLES))
        fits.ROUNDS, rows = 1, [row for row in rows if row[2] == first]
    for kind, model, table in rows:
        fit = kind()
        fit.setup(model, table)
        for name in ("track_time_ratio", "track_passes", "track_memory"):
            value = getattr(fit, name)(model, table)
            print(f"{model:22}{table:24}{value:9.2f} {getattr(kind, name).unit}")
    around = costs.Costs()
    around.setup()
    for name in ("time_spend", "time_dp_sgd_epsilon"):
        getattr(around, name)()  # the first one imports, and opens the ledger
        start = time.perf_counter()
        getattr(around, name)()
        print(f"{name:46}{1e3 * (time.perf_counter() - start):9.2f} ms")


if __name__ == "__main__":
    main()
