"""Generalization gap of a sample from the regularized exponential mechanism beside Theorem 6.7.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_generalization.py [--repeats 40] [--draws 2]
       [--figure generalization.png] [--smallest]

Gopi, Lee and Liu (2022), Theorem 6.7: with μ-strongly convex losses the densities of neighbors lie
within W₂ ≤ G/(nμ) of each other, hence the risk of a draw on new records exceeds that on its own by
at most G²/(nμ) on average. The gap is measured with exact population risks, less the gap of a point
that does not depend on the data, which is 0 on average. W₂ is computed without sampling, in one
dimension, for hinge losses and for linear ones, for which the bound is an equality.
"""

import argparse

import numpy as np
from populations import SENSITIVITY as G
from populations import Pool, posterior

from skdp.accounting import gdp_mu

ROWS, DIMENSION, RIDGES, UNBOUNDED = (100, 300, 1000, 3000), 5, (0.01, 0.1), np.inf
NEIGHBORS, POINTS = (10, 30, 100, 300, 1000, 3000), 40_001
LOSSES = {"hinge": lambda z: np.maximum(0.0, 1.0 - z), "linear": lambda z: -z}


def temperature(n, mu):
    """Return the largest k that is (1, 1e-5)-DP."""
    return mu * (n * gdp_mu(1.0, 1e-5) / G) ** 2


def gap(n, mu, options, rng):
    """Return (mean, standard error) of population risk less own risk."""
    pool = Pool.noisy_rule(DIMENSION, rng)
    k, found = temperature(n, mu), []
    fixed = posterior(pool, k, mu, UNBOUNDED, 20, rng).mean(axis=0, keepdims=True)
    for _ in range(options.repeats):
        data = pool.sample(n, rng)
        thetas = posterior(data, k, mu, UNBOUNDED, options.draws, rng)
        excess = (pool.risk(thetas) - data.risk(thetas)).mean()
        found.append(excess - (pool.risk(fixed) - data.risk(fixed)).item())
    return np.mean(found), np.std(found, ddof=1) / np.sqrt(options.repeats)


def transport(n, mu, loss, rng):
    """Return W₂ between the densities of two data sets that differ in one label, in d = 1."""
    z = rng.choice([1.0, 1.0, 1.0, -1.0], size=n) * rng.uniform(0.2, 1.0, size=n)
    z[0] = 1.0
    axis = np.linspace(-1.0, 1.0, POINTS) * (1.2 / mu + 10.0 / np.sqrt(temperature(n, mu) * mu))
    risk = np.zeros(POINTS)
    for value in z[1:]:
        risk += LOSSES[loss](value * axis) / n
    quantiles = [
        _quantiles(axis, risk + LOSSES[loss](first * axis) / n + 0.5 * mu * axis**2, n, mu)
        for first in (1.0, -1.0)
    ]
    return float(np.sqrt(np.mean((quantiles[0] - quantiles[1]) ** 2)))


def _quantiles(axis, energy, n, mu):
    density = np.exp(-temperature(n, mu) * (energy - energy.min()))
    cumulative = np.cumsum(density)
    levels = (np.arange(20_000) + 0.5) / 20_000
    return np.interp(levels, (cumulative - 0.5 * density) / cumulative[-1], axis)


def draw_figure(gaps, distances, path):
    """Plot both beside their bounds."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4))
    for mu, color in zip(RIDGES, ("tab:blue", "tab:orange"), strict=True):
        means, errors = np.transpose([gaps[n, mu] for n in ROWS])
        left.errorbar(ROWS, means, 2.0 * errors, fmt="o", color=color, label="measured")
        left.plot(
            ROWS, [G**2 / (n * mu) for n in ROWS], "-", color=color, label=f"G²/(nμ), μ = {mu:g}"
        )
    for loss, color in zip(LOSSES, ("tab:blue", "tab:green"), strict=True):
        values = [distances[n, loss] for n in NEIGHBORS]
        right.plot(NEIGHBORS, values, "o", color=color, label=f"{loss} losses")
    right.plot(NEIGHBORS, [G / (n * RIDGES[1]) for n in NEIGHBORS], "k-", label="G/(nμ)")
    left.set(title=f"risk on new records less own risk, d = {DIMENSION}", ylabel="gap")
    right.set(title=f"W₂ between neighbors, d = 1, μ = {RIDGES[1]:g}", ylabel="W₂")
    for axis in (left, right):
        axis.set(xscale="log", yscale="log", xlabel="records n")
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=40, help="data sets for each point")
    parser.add_argument("--draws", type=int, default=2, help="draws for each data set")
    parser.add_argument("--figure", default=None, help="file for the figure")
    parser.add_argument("--smallest", action="store_true", help="two data sets of one size")
    options = parser.parse_args()
    if options.smallest:
        options.repeats, options.draws = 2, 1
    gaps, distances, rng = {}, {}, np.random.default_rng(0)
    print("| n | μ | gap | G²/(nμ) | ratio |\n|---|---|---|---|---|")
    for n in ROWS[: 1 if options.smallest else None]:
        for mu in RIDGES:
            mean, error = gaps[n, mu] = gap(n, mu, options, rng)
            bound = G**2 / (n * mu)
            mark = "" if mean - 4.0 * error <= bound else " VIOLATED"
            print(
                f"| {n} | {mu:g} | {mean:.5f} ({error:.5f}){mark} | {bound:.4f} "
                f"| {mean / bound:.3f} |",
                flush=True,
            )
    print("\n| n | losses | W₂ | G/(nμ) | ratio |\n|---|---|---|---|---|")
    for n in NEIGHBORS[: 1 if options.smallest else None]:
        for loss in LOSSES:
            distances[n, loss] = transport(n, RIDGES[1], loss, rng)
            bound = G / (n * RIDGES[1])
            ratio = distances[n, loss] / bound
            print(f"| {n} | {loss} | {distances[n, loss]:.6f} | {bound:.6f} | {ratio:.4f} |")
    if options.figure:
        draw_figure(gaps, distances, options.figure)


if __name__ == "__main__":
    main()
