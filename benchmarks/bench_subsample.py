"""How good a fit to a sample of n records is, by the number of rows in the sample.

Usage: OMP_NUM_THREADS=2 python benchmarks/bench_subsample.py [--data FOLDER] [--seeds 3]
       [--records 1e7 1e9] [--picture FILE] [--smallest]

FOLDER holds the files of Adult; without it that population is left out. A population is a
distribution that is known: labels of a noisy rule on drawn columns, or the uniform one on all
records of Adult. A Poisson sample of n independent records is as many independent records, so only
the sample is drawn: what is fitted is what `subsample` fits, at the cost that is left for it by
`sampled_gdp_mu`. Printed are excess log-loss, beside the best of the same kind, and accuracy, on
records of their own; means over seeds. ε is in all, δ = 1/(10·n), under replace_one.
"""

import argparse
import time

import numpy as np
from data_sets import raw_adult
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from skdp import DPLogisticRegression
from skdp.accounting.calibration import sampled_gdp_mu
from skdp.features import AdditiveFeatures
from skdp.preprocessing import RowClipper
from skdp.privacy import GaussianCurve

ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
EPSILONS = (0.1, 1.0)
TEST_ROWS = 200_000


class Linear:
    """Labels of a noisy linear rule; columns uniform on [−1, 1]."""

    def __init__(self, d):
        self.name, self.d = f"linear, {d} columns", d
        rule = np.random.default_rng(0).normal(size=d)
        self.rule = 2.0 * rule / np.linalg.norm(rule) * 3.0**0.5

    def scores(self, X):
        """Return the log-odds of the label 1."""
        return X @ self.rule

    def draw(self, n, rng):
        """Return n independent records."""
        X = rng.uniform(-1.0, 1.0, size=(n, self.d))
        return X, (self.scores(X) + rng.logistic(size=n) > 0.0).astype(int)

    def model(self, **asked):
        """Return what is fitted."""
        return DPLogisticRegression(data_norm=(self.d / 3.0) ** 0.5, **asked)

    def least(self, X, y):
        """Return log-loss and accuracy of the rule itself."""
        p = 1.0 / (1.0 + np.exp(-self.scores(X)))
        return log_loss(y, p), float(((p > 0.5) == y).mean())


class Curved(Linear):
    """The same with a curve of each column in place of a line, and a model of curves."""

    def __init__(self, d):
        super().__init__(d)
        self.name = f"curves of {d} columns"

    def scores(self, X):
        return np.sin(np.pi * X) @ self.rule

    def model(self, **asked):
        return DPLogisticRegression(features=AdditiveFeatures(bounds=(-1.0, 1.0)), **asked)


class Adult:
    """All records of Adult, each as likely as any other."""

    name = "Adult"

    def __init__(self, folder):
        X, X_test, y, y_test = raw_adult(folder)
        self.X, self.y = np.vstack([X, X_test]), np.concatenate([y, y_test])

    def draw(self, n, rng):
        rows = rng.integers(len(self.y), size=n)
        return self.X[rows], self.y[rows]

    def model(self, **asked):
        return DPLogisticRegression(**asked)

    def least(self, X, y):
        """Return log-loss and accuracy of the best linear rule of rows of norm 1, as in the fit."""
        clip = RowClipper().fit(self.X)
        best = LogisticRegression(C=1e4, max_iter=2000).fit(clip.transform(self.X), self.y)
        X = clip.transform(X)
        return log_loss(y, best.predict_proba(X)), best.score(X, y)


def measured(population, n, epsilon, m, seed, test):
    """Return log-loss, accuracy and seconds of a fit to about m of n records."""
    delta = 0.1 / n
    mu = sampled_gdp_mu(epsilon, delta, m / n, "replace_one")
    inside = {"neighboring": "add_remove_one", "n_samples_hint": m, "delta": delta}
    model = population.model(epsilon=GaussianCurve(mu).epsilon(delta), classes=[0, 1], **inside)
    X, y = population.draw(m, np.random.default_rng(1000 + seed))
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    p = np.clip(model.predict_proba(test[0])[:, 1], 1e-15, 1.0 - 1e-15)
    return log_loss(test[1], p), float(((p > 0.5) == test[1]).mean()), seconds


def curve(population, n, epsilon, sizes, seeds):
    """Return for each size the excess log-loss, the accuracy and its loss, and seconds."""
    test = population.draw(TEST_ROWS, np.random.default_rng(1))
    least, most = population.least(*test)
    rows = []
    for m in (m for m in sizes if m <= n):
        found = np.mean([measured(population, n, epsilon, m, s, test) for s in range(seeds)], 0)
        rows.append((m, found[0] - least, found[1], most - found[1], found[2]))
        print(
            f"{population.name:22}{n:8.0e}{epsilon:6.2f}{m:10d}{found[0] - least:12.5f}"
            f"{found[1]:10.4f}{most - found[1]:12.5f}{found[2]:9.2f}",
            flush=True,
        )
    return np.array(rows)


def draw_picture(curves, path):
    """Draw excess log-loss against rows of the sample, one panel a population."""
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(name for name, *_ in curves))
    kinds = sorted({(n, epsilon) for _, n, epsilon, _ in curves})
    size = (3.2 * len(names), 3.0)
    figure, axes = plt.subplots(1, len(names), figsize=size, squeeze=False, layout="tight")
    for axis, name in zip(axes[0], names, strict=True):
        for own, n, epsilon, rows in curves:
            if own == name:
                label = f"n = {n:.0e}, ε = {epsilon:g}".replace("e+0", "e")
                color = f"C{kinds.index((n, epsilon))}"
                axis.loglog(
                    rows[:, 0], np.maximum(rows[:, 1], 1e-6), color, marker="o", label=label
                )
        axis.axvline(1e6, color="gray", linestyle=":")
        axis.set(title=name, xlabel="rows of the sample")
    axes[0, 0].set_ylabel("excess log-loss")
    axes[0, 0].legend(fontsize=7)
    figure.savefig(path)


def main():
    """Print the curves, and draw them if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--records", type=float, nargs="+", default=[1e7, 1e9])
    parser.add_argument("--picture")
    parser.add_argument("--smallest", action="store_true")
    given = parser.parse_args()
    populations = [Linear(20), Linear(100), Curved(10)]
    if given.data:
        populations.append(Adult(given.data))
    sizes, epsilons = ROWS, EPSILONS
    if given.smallest:
        populations, sizes, epsilons, given.seeds = populations[:1], ROWS[:1], EPSILONS[1:], 1
    print(
        f"{'population':22}{'n':>8}{'ε':>6}{'rows':>10}{'excess loss':>12}{'accuracy':>10}"
        f"{'below best':>12}{'seconds':>9}"
    )
    curves = [
        (population.name, n, epsilon, curve(population, n, epsilon, sizes, given.seeds))
        for population in populations
        for n in given.records
        for epsilon in epsilons
    ]
    if given.picture:
        draw_picture(curves, given.picture)


if __name__ == "__main__":
    main()
