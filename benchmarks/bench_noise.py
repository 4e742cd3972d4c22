"""Mean size of the noise in one number, by kind, when n numbers have one guarantee.

Usage: python benchmarks/bench_noise.py [--figure noise.png] [--smallest]

Every kind is calibrated for all numbers together. One record changes each number by at most 1. For
few numbers, noise with bounded support is smallest, and for many numbers Gaussian noise. "auto"
selects the smallest.
"""

import argparse

import matplotlib.pyplot as plt

from skdp.workloads import NOISES, Query, plan_queries

TARGETS = [(1.0, 1e-5), (1.0, 0.1), (3.0, 1e-5)]
NUMBERS = [1, 2, 5, 10, 20, 50, 100]


def sizes(epsilon, delta, integer, most):
    """Return {kind: E|noise| for each of the first `most` NUMBERS}, as far as it is worth it."""
    found = {}
    for name in (*NOISES, "auto"):
        numbers = NUMBERS[: most if name in ("gaussian", "laplace", "auto") else min(most, 3)]
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
    size = (4 * len(tables), 3.6)
    figure, panels = plt.subplots(1, len(tables), figsize=size, layout="tight", squeeze=False)
    for panel, ((epsilon, delta), found) in zip(panels[0], tables.items(), strict=True):
        for name, losses in found.items():
            style = {"color": "black", "ls": ":"} if name == "auto" else {"marker": "o", "ms": 4}
            panel.loglog(NUMBERS[: len(losses)], losses, label=name, **style)
        panel.set(title=f"ε = {epsilon:g}, δ = {delta:g} in all", xlabel="numbers")
    panels[0, 0].set_ylabel("mean size of the noise in one")
    panels[0, 0].legend(frameon=False)
    figure.savefig(path, dpi=150)


def main():
    """Print a table for each target, for real numbers and for counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--figure", default=None, help="file for the figure")
    parser.add_argument("--smallest", action="store_true", help="one target, up to two numbers")
    options = parser.parse_args()
    targets, most = (TARGETS[1:2], 2) if options.smallest else (TARGETS, len(NUMBERS))
    tables = {}
    for integer in (False, True):
        for target in targets:
            tables[target] = found = sizes(*target, integer, most)
            print(f"\n{'counts' if integer else 'real numbers'}, (ε, δ) = {target}")
            print(f"{'numbers':20}" + "".join(f"{n:9}" for n in NUMBERS[:most]))
            for name, losses in found.items():
                print(f"{name:20}" + "".join(f"{loss:9.3f}" for loss in losses))
        if not integer and options.figure:
            draw(dict(tables), options.figure)


if __name__ == "__main__":
    main()
