"""Excess risk of the regularized exponential mechanism beside what its theorems allow.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_risk.py [--repeats 12] [--draws 4]
       [--figure risk.png] [--smallest]

Gopi, Lee and Liu (2022): Theorem 6.2 bounds the empirical risk of a draw from
exp(−k·(F + μ·|θ|²/2)) on a ball of diameter D by d/k + μD²/2 above the least, Theorem 6.8 the
population risk by G²/(nμ) more. k is the largest that is (ε, 1e-5)-DP, and μ the one at which the
bound is least. Risks are exact means over a finite population. The least risk is that on R^d, not
on the ball: excesses are, if anything, too large. Standard errors are over data sets. In one
dimension records are ±1 and the risk is nearly a cone, for which the mean excess is d/k exactly.
"""

import argparse

import numpy as np
from populations import SENSITIVITY as G
from populations import Pool, posterior

from skdp.accounting import gdp_mu

DELTA, D = 1e-5, 10.0
EPSILONS, ROWS, COLUMNS = (0.1, 0.3, 1.0, 3.0, 10.0), (125, 500, 2000, 8000), (1, 2, 4, 8, 16)
BASE = {"epsilon": 1.0, "n": 1000, "d": 5}
SWEEPS = {"epsilon": EPSILONS, "n": ROWS, "d": COLUMNS}
NAMES = {"epsilon": "ε", "n": "records n", "d": "dimension d"}


def empirical(epsilon, n, d):
    """Return k, μ and the bound of Theorem 6.2, least over μ."""
    m = gdp_mu(epsilon, DELTA)
    mu = np.sqrt(2.0 * d) * G / (n * m * D)
    k = mu * (n * m / G) ** 2
    return k, mu, d / k + mu * D**2 / 2.0


def population(epsilon, n, d):
    """Return k, μ and the bound of Theorem 6.8, least over μ, with k of Theorem 6.9's proof."""
    weight = min((n * gdp_mu(epsilon, DELTA)) ** 2, 2.0 * n * d)
    mu = np.sqrt(2.0 * (d / weight + 1.0 / n)) * G / D
    k = mu * weight / G**2
    return k, mu, d / k + mu * D**2 / 2.0 + G**2 / (n * mu)


def printed_bound(epsilon, n, d):
    """Return the bound that Theorem 6.9 prints, for ε < 1/10."""
    return G * D * (2.0 * np.sqrt(np.log(1.0 / DELTA) * d) / (epsilon * n) + 2.0 / np.sqrt(n))


def measure(case, options, rng):
    """Return (mean, standard error) of both excess risks."""
    pool = Pool.noisy_rule(case["d"], rng)
    floor = pool.risk(pool.minimizer()[None])
    found = np.empty((options.repeats, 2))
    for i in range(options.repeats):
        data = pool.sample(case["n"], rng)
        least = data.risk(data.minimizer()[None])
        k, mu, _ = empirical(**case)
        found[i, 0] = (data.risk(posterior(data, k, mu, D, options.draws, rng)) - least).mean()
        k, mu, _ = population(**case)
        found[i, 1] = (pool.risk(posterior(data, k, mu, D, options.draws, rng)) - floor).mean()
    return found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(options.repeats)


def draw_figure(table, path):
    """Plot both risks along each sweep."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(11, 6.6), sharex="col", sharey=True)
    titles = ("empirical risk, Theorem 6.2", "population risk, Theorem 6.8")
    for row, (bound, title) in enumerate(zip((empirical, population), titles, strict=True)):
        for axis, (name, values) in zip(axes[row], SWEEPS.items(), strict=True):
            cases = [BASE | {name: value} for value in values]
            means, errors = np.transpose([table[tuple(case.values())] for case in cases])[row]
            axis.plot(values, [bound(**case)[2] for case in cases], "k-", label="theorem")
            if row:
                printed = [printed_bound(**case) for case in cases]
                axis.plot(values, printed, "k:", label="Theorem 6.9, as printed")
            axis.errorbar(values, means, 2.0 * errors, fmt="o", color="tab:blue", label="measured")
            axis.set(xscale="log", yscale="log")
            axis.set_xticks(values, [f"{value:g}" for value in values])
            axis.set_xticks([], minor=True)
            axis.grid(alpha=0.3)
            if row:
                axis.set_xlabel(NAMES[name])
        axes[row, 0].set_ylabel(f"excess {title}")
        axes[row, 0].legend(frameon=False, fontsize=9)
    fixed = ", ".join(f"{NAMES[name][-1]} = {value:g}" for name, value in BASE.items())
    figure.suptitle(f"Hinge loss on a ball of diameter {D:g}; {fixed} where not varied, δ = 1e-5")
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=12, help="data sets for each point")
    parser.add_argument("--draws", type=int, default=4, help="draws for each data set")
    parser.add_argument("--figure", default=None, help="file for the figure")
    parser.add_argument("--smallest", action="store_true", help="two data sets of one size")
    options = parser.parse_args()
    if options.smallest:
        options.repeats, options.draws = 2, 1
    print("| ε | n | d | empirical | Thm 6.2 | ratio | population | Thm 6.8 | ratio |")
    print("|---" * 9 + "|")
    table, rng = {}, np.random.default_rng(0)
    cases = [BASE | {name: value} for name, values in SWEEPS.items() for value in values]
    for case in [BASE | {"n": 125}] if options.smallest else [BASE, *cases]:
        if tuple(case.values()) in table:
            continue
        means, errors = measure(case, options, rng)
        table[tuple(case.values())] = means, errors
        cells = [f"{value:g}" for value in case.values()]
        for mean, error, bound in zip(means, errors, (empirical, population), strict=True):
            allowed = bound(**case)[2]
            mark = "" if mean - 4.0 * error <= allowed else " VIOLATED"
            cells += [f"{mean:.4f} ({error:.4f}){mark}", f"{allowed:.4f}", f"{mean / allowed:.2f}"]
        print(f"| {' | '.join(cells)} |", flush=True)
    if options.figure:
        draw_figure(table, options.figure)


if __name__ == "__main__":
    main()
