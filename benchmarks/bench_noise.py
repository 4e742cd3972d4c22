"""Mean size of the noise in one number, by kind, when n numbers have one guarantee.

Usage: python benchmarks/bench_noise.py [--figure noise.png]

Every kind is calibrated for all numbers together, each of which one person moves by at most 1.
With few numbers noise without tails is least, with many Gaussian noise; "auto" follows the lower
edge.
"""

import argparse

import matplotlib.pyplot as plt

from skdp.workloads import NOISES, Query, plan_queries

TARGETS = [(1.0, 1e-5), (1.0, 0.1), (3.0, 1e-5)]
NUMBERS = [1, 2, 5, 10, 20, 50, 100]
FEW = 5  # beyond which kinds that split δ are far off, and slow


def sizes(epsilon, delta, integer):
    """Return {kind: E|noise| for each of NUMBERS}, as far as it is worth it."""
    found = {}
    for name in (*NOISES, "auto"):
        numbers = NUMBERS if name in ("gaussian", "laplace", "auto") else NUMBERS[:3]
        plans = (
            plan_queries(
                [Query(str(i), linf_sensitivity=1.0, integer=integer) for i in range(n)],
                epsilon,
                delta,
                name,
            )
            for n in numbers
        )
        found[name] = [plan.loss for plan in plans]
    return found


def draw(tables, path):
    """Save a panel for each target."""
    figure, panels = plt.subplots(1, len(tables), figsize=(4 * len(tables), 3.6), layout="tight")
    for panel, ((epsilon, delta), found) in zip(panels, tables.items(), strict=True):
        for name, losses in found.items():
            style = {"color": "black", "ls": ":"} if name == "auto" else {"marker": "o", "ms": 4}
            panel.loglog(NUMBERS[: len(losses)], losses, label=name, **style)
        panel.set(title=f"ε = {epsilon:g}, δ = {delta:g} in all", xlabel="numbers")
    panels[0].set_ylabel("mean size of the noise in one")
    panels[0].legend(frameon=False)
    figure.savefig(path, dpi=150)


def main():
    """Print a table for each target, for real numbers and for counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--figure", default=None, help="file for the figure")
    options = parser.parse_args()
    tables = {}
    for integer in (False, True):
        for target in TARGETS:
            tables[target] = found = sizes(*target, integer)
            print(f"\n{'counts' if integer else 'real numbers'}, (ε, δ) = {target}")
            print(f"{'numbers':20}" + "".join(f"{n:9}" for n in NUMBERS))
            for name, losses in found.items():
                print(f"{name:20}" + "".join(f"{loss:9.3f}" for loss in losses))
        if not integer and options.figure:
            draw(dict(tables), options.figure)


if __name__ == "__main__":
    main()
