"""How much does optimized noise gain on classical noise? The paper's tables, certified.

Selvi, Liu and Wiesemann (2024): Figures 1 and 2, Example 1, Table 4, and times. One run:

    OMP_NUM_THREADS=1 python benchmarks/bench_optimized_noise.py [--pictures FOLDER] [--smallest]

Gaps are in percent of the optimum, as an interval: it lies between two certified bounds. The
paper's Table 4 divides by max(optimum, 1) and has a midpoint with a wider bracket for the optimum.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from skdp.mechanisms import Gaussian, Geometric, Laplace, OptimizedNoise, TruncatedLaplace
from skdp.research import DataDependentNoise

EPSILONS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
DELTAS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5, 0.75)
BANDS = (-432.0, *np.arange(-10.0, 10.1, 0.5), 432.0)


def steeper_above(x):
    """Return |x|, twice that above 0: the paper's asymmetric loss."""
    return np.abs(x) + np.maximum(x, 0.0)


FIGURES = {
    "figure_1": [
        ("loss |x|", OptimizedNoise(1.0, 0.2, cells=20)),
        ("loss |x|, above 0 doubled", OptimizedNoise(1.0, 0.2, loss=steeper_above, cells=20)),
    ],
    "figure_2": [
        ("loss |x|", OptimizedNoise(1.0, 0.4, sensitivity=10.0, cells=20)),
        ("loss x²", OptimizedNoise(1.0, 0.4, sensitivity=10.0, loss="l2", cells=20)),
    ],
}


def figures(folder):
    """Print what the pictures show, and draw them into a folder."""
    for name, noises in FIGURES.items():
        for label, noise in noises:
            seen = np.flatnonzero(noise.probabilities > 1e-9)
            ends = noise.edges[seen[0]], noise.edges[seen[-1] + 1]
            peak = noise.probabilities.max() / np.diff(noise.edges)[0]
            lower, upper = noise.bracket
            print(
                f"{name}  {label:26s} loss {upper:.5f} (at least {lower:.5f}), "
                f"support [{ends[0]:.3f}, {ends[1]:.3f}], peak {peak:.4f}"
            )
        if folder:
            draw(noises, Path(folder) / f"{name}.png")


def draw(noises, path):
    """Draw densities, the first one filled, as in the paper."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.0, 3.5))
    for (label, noise), fill in zip(noises, (True, False), strict=True):
        density = noise.probabilities / np.diff(noise.edges)
        color = "tab:red" if fill else "tab:blue"
        look = {"fill": fill, "alpha": 0.5 if fill else 1.0, "color": color}
        axes.stairs(density, noise.edges, label=label, **look)
    axes.set(xlabel="noise", ylabel="density")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=2)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def example_1():
    """Print standard deviations at sensitivity 360 and (1, 0.2)."""
    noises = {
        "optimized": OptimizedNoise(1.0, 0.2, sensitivity=360.0, loss="l2", cells=20),
        "truncated Laplace": TruncatedLaplace.calibrate(1.0, 0.2, 360.0),
        "Gaussian, exact": Gaussian.calibrate(1.0, 0.2, 360.0),
        "Gaussian, classic": Gaussian.calibrate(1.0, 0.2, 360.0, method="classic"),
        "Laplace, no delta": Laplace.calibrate(1.0, 0.0, 360.0),
    }
    for name, noise in noises.items():
        print(f"example 1  {name:18s} {noise.expected_loss('l2') ** 0.5:8.2f}")


def table_4(loss, epsilons, deltas):
    """Print by how much truncated Laplace noise is worse than the optimum, in percent."""
    print(f"\ntable 4, loss {loss}: truncated Laplace noise above the optimum, percent")
    print("ε \\ δ".ljust(7) + "".join(f"{delta:>16g}" for delta in deltas))
    for epsilon in epsilons:
        cells = [gap(epsilon, delta, loss) for delta in deltas]
        print(f"{epsilon:<7g}" + "".join(f"{cell:>16s}" for cell in cells), flush=True)


def gap(epsilon, delta, loss):
    """Return the interval that the gap lies in."""
    theirs = TruncatedLaplace.calibrate(epsilon, delta, 1.0).expected_loss(loss)
    lower, upper = OptimizedNoise(epsilon, delta, loss=loss, atom=epsilon > 2.0).bracket
    return f"{100 * (theirs / upper - 1):.2f}-{100 * (theirs / lower - 1):.2f}"


def counts():
    """Print mean sizes of noise for a count."""
    print("\ncounts: optimized on integers, geometric, optimized on the line")
    for epsilon, delta in ((0.5, 0.1), (1.0, 0.1), (1.0, 0.2), (2.0, 0.1), (1.0, 1e-5)):
        integer = OptimizedNoise(epsilon, delta, support="integer").expected_loss("l1")
        geometric = Geometric.calibrate(epsilon, 0.0, 1).expected_loss("l1")
        line = OptimizedNoise(epsilon, delta).expected_loss("l1")
        print(f"({epsilon:g}, {delta:g})".ljust(14) + f"{integer:.6f} {geometric:.6f} {line:.6f}")


def times():
    """Print seconds to solve and certify; nothing is remembered from before."""
    rows = {
        "(1, 0.2), 20 cells": lambda: OptimizedNoise(1.0, 0.21, cells=20),
        "(1, 1e-6), 20 cells": lambda: OptimizedNoise(1.0, 1.1e-6, cells=20),
        "42 parts, (1, 0.1), equal weights": lambda: DataDependentNoise(
            1.0, 0.101, partition=BANDS, sensitivity=2.0, weights=(1.0,) * 42
        ),
    }
    print()
    for name, make in rows.items():
        start, used = time.perf_counter(), time.process_time()
        assert make().event
        wall, used = time.perf_counter() - start, time.process_time() - used
        print(f"{name:36s} {wall:.2f} s, of which {used:.2f} s on the processor")


def main():
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", help="a folder for the figures")
    parser.add_argument("--smallest", action="store_true", help="one cell of table 4 only")
    options = parser.parse_args()
    example_1()
    if not options.smallest:
        figures(options.pictures)
        counts()
        times()
    epsilons, deltas = ((1.0,), (0.2,)) if options.smallest else (EPSILONS, DELTAS)
    for loss in ("l1", "l2"):
        table_4(loss, epsilons, deltas)


if __name__ == "__main__":
    main()
