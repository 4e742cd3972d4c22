"""Boosting by private Newton steps in the leaves of random trees, beside the forest.

Usage: python benchmarks/bench_boosting.py [--data FOLDER] [--seeds 2] [--smallest]

Trees are totally random, from public bounds. A round releases, for all leaves of its trees at once,
the sums of g = y − p and of h = p(1 − p) over their rows, with Gaussian noise, and adds
rate·Σg/(max(Σh, 0) + 2·noise) to the scores. FOLDER holds magic04 and Adult; without it
scikit-learn's digits are used. δ = 1e-5, add_remove_one.
"""

import argparse

import numpy as np
from bench_nonlinear import SETS, digits, parts_of
from scipy.special import expit

from skdp import DPRandomForestClassifier
from skdp.accounting import gdp_mu
from skdp.features import RandomTreeFeatures

EPSILONS = (0.1, 0.3, 1.0)
SETTINGS = [(1, 50, 4, 1.0), (30, 10, 3, 0.3), (30, 10, 4, 1.0), (100, 5, 3, 0.3), (30, 10, 6, 1.0)]
UNIT = 2.0  # of h beside g: |(g, UNIT·h)|² ≤ 1 + UNIT²/16 for a record
LONGEST = 2.0  # of a step in a leaf


def leaves(X, facts, n_trees, depth, seed):
    """Return the leaf of each row in each tree."""
    trees = RandomTreeFeatures(**facts, n_trees=n_trees, depth=depth, feature_seed=seed)
    return trees.fit_transform(X).indices.reshape(len(X), n_trees) % (1 << depth)


def boosted(parts, facts, epsilon, setting, seed):
    """Return the accuracy of rounds that compose to ε."""
    X, X_test, y, y_test = parts
    rounds, per, depth, rate = setting
    here, there = (leaves(part, facts, rounds * per, depth, seed) for part in (X, X_test))
    sensitivity = np.sqrt(per * (1.0 + UNIT**2 / 16.0))
    noise = sensitivity * np.sqrt(rounds) / gdp_mu(epsilon, 1e-5)
    rng, y = np.random.default_rng(seed), np.asarray(y, dtype=float)
    scores, test = np.zeros(len(y)), np.zeros(len(X_test))
    for start in range(0, rounds * per, per):
        p = expit(scores)
        for tree in range(start, start + per):
            g, h = (
                np.bincount(here[:, tree], values, 1 << depth) + rng.normal(0.0, sd, 1 << depth)
                for values, sd in ((y - p, noise), (p * (1.0 - p), noise / UNIT))
            )
            step = np.clip(g / (np.maximum(h, 0.0) + 2.0 * noise), -LONGEST, LONGEST) * rate / per
            scores += step[here[:, tree]]
            test += step[there[:, tree]]
    return ((test > 0) == y_test).mean()


def forest(parts, facts, epsilon, seed):
    """Return the accuracy of the forest by defaults."""
    X, X_test, y, y_test = parts
    model = DPRandomForestClassifier(
        epsilon=epsilon, neighboring="add_remove_one", random_state=seed, **facts
    )
    return model.fit(X, y).score(X_test, y_test)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=None, help="folder of the files")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--smallest", action="store_true")
    options = parser.parse_args()
    if options.smallest:
        options.data, options.seeds = None, 1
    print("| data | rounds, trees, depth, rate |" + "".join(f" ε = {e:g} |" for e in EPSILONS))
    print("|---" * (2 + len(EPSILONS)) + "|")
    for name in ["digits"] if options.data is None else ["magic04", "Adult"]:
        X, y, facts = digits(None) if options.data is None else SETS[name](options.data)
        for setting in [None, *SETTINGS[: 2 if options.smallest else None]]:
            cells = []
            for epsilon in EPSILONS:
                found = [
                    boosted(parts_of(name, X, y, seed), facts, epsilon, setting, seed)
                    if setting
                    else forest(parts_of(name, X, y, seed), facts, epsilon, seed)
                    for seed in range(options.seeds)
                ]
                cells.append(f" {np.mean(found):.3f} |")
            print(f"| {name} | {setting or 'forest'} |{''.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
