"""Errors of naive Bayes by kind of noise: for a total guarantee, and one number at a time.

Usage: python benchmarks/bench_naive_bayes.py --data FOLDER [--repeats 20]
       python benchmarks/bench_naive_bayes.py --data FOLDER --probabilities
       python benchmarks/bench_naive_bayes.py --smallest

FOLDER contains adult.data.csv.gz, bank-full.csv.gz and cylinder-bands.csv.gz; the smallest setting
needs none of them. In the first table every number is (1, 0.1)-DP by itself, to compare kinds of
noise as in Table 2 of Selvi, Liu and Wiesemann. This is no guarantee for the model. In the second
table all numbers together are (ε, δ)-DP. With --probabilities: the log-loss over a constant's, on
tables with rare classes, with and without tempered likelihoods and pooled classes.
"""

import argparse
from unittest.mock import patch

import numpy as np
from mixed_tables import made_up, tables
from scipy.stats import entropy
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from skdp import DPMixedNB
from skdp.mechanisms import Gaussian
from skdp.naive_bayes import _base
from skdp.workloads import NOISES, QueryPlan
from skdp.workloads.plan import Noise

TOTALS = [(1.0, 1e-5), (0.1, 1e-5), (1.0, 0.0)]


def classic_gaussian(queries, epsilon, delta):
    """The textbook's Gaussian noise, for comparison."""
    return [
        Gaussian.calibrate(
            epsilon, delta, query.l2_sensitivity, dimension=query.size, method="classic"
        )
        for query in queries
    ]


CLASSIC_GAUSSIAN = Noise("classic gaussian", classic_gaussian)


class EachNumber(DPMixedNB):
    """A model of which every query has the whole (ε, δ) for itself."""

    kind = None

    def _plan(self, terms, records):
        plan = super()._plan(terms, records)
        alone = [self.kind.mechanisms((query,), 1.0, 0.1)[0] for query in plan.queries]
        return QueryPlan(plan.queries, self.kind.name, tuple(alone))


def error(model, X, y, repeats):
    """Return the percentage of wrong labels of held-out rows, and its standard error."""
    wrong = []
    for seed in range(repeats):
        parts = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
        model.set_params(random_state=seed)
        wrong.append(100.0 * (1.0 - model.fit(parts[0], parts[2]).score(parts[1], parts[3])))
    return np.mean(wrong), np.std(wrong) / np.sqrt(repeats)


class Untempered(DPMixedNB):
    """The model whose likelihoods count in full, of classes as they were released."""

    def _tempered(self, joint):
        return joint

    def _publish(self, *given):
        with patch.object(_base, "_pooled", lambda numbers, noise, counts: numbers):
            return super()._publish(*given)


def rare_tables(rng, n=20_000):
    """Yield simulated tables of five numbers and four columns of categories, with rare classes."""
    for share in (0.5, 0.2, 0.02, 0.003):
        y = (rng.random(n) < share).astype(int)
        X = rng.normal(size=(n, 5)) + y[:, None] * [1.0, 0.5, 0.3, 0.0, 0.0]
        for width in (4.0, 40.0):
            yield f"numbers, {share}, bounds {width:g}", X, y, (-width, width), {}
        for levels in (4, 30):
            tables = rng.dirichlet(np.full(levels, 2.0), size=(2, 4))
            tables[1] = tables.mean(axis=0)
            codes = [[rng.choice(levels, p=tables[c, j]) for c in y] for j in range(4)]
            of_all = {j: list(range(levels)) for j in range(4)}
            yield f"{levels} levels, {share}", np.transpose(codes), y, None, of_all


def show_probabilities(folder):
    """Print the log-loss over a constant's."""
    for name, X, y, bounds, categories in [*rare_tables(np.random.default_rng(1)), *tables(folder)]:
        figures = []
        for kind in (Untempered, DPMixedNB):
            for epsilon in (0.3, 1.0, 3.0):
                model = kind(bounds=bounds, categories=categories, epsilon=epsilon)
                found = [model.fit(X, y).predict_proba(X) for _ in range(4)]
                constant = entropy(np.bincount(y) / y.size)
                figures.append(f"{np.mean([log_loss(y, p) for p in found]) / constant:.3f}")
        print(f"| {name} | {' | '.join(figures)} |")


def main():
    """Print both tables for every set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    sources = parser.add_mutually_exclusive_group(required=True)
    sources.add_argument("--data", help="folder of the tables")
    sources.add_argument("--smallest", action="store_true", help="two fits to a made-up table")
    parser.add_argument("--probabilities", action="store_true", help="log-loss on rare classes")
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    if options.smallest:
        options.repeats = 2
    if options.probabilities:
        return show_probabilities(options.data)
    kinds = [CLASSIC_GAUSSIAN, *(kind for kind in NOISES.values() if kind.needs_delta)]
    print(f"error in %, {options.repeats} splits")
    for name, X, y, bounds, categories in made_up() if options.smallest else tables(options.data):
        public = {"bounds": bounds, "categories": categories, "classes": [0, 1]}
        free = error(DPMixedNB(epsilon=float("inf"), **public), X, y, options.repeats)
        print(f"\n{name}: {X.shape[0]} rows, {X.shape[1]} columns; without privacy {free[0]:.2f}")
        model = EachNumber(noise="gaussian", **public)
        for kind in kinds:
            model.kind = kind
            print(
                f"  each query (1, 0.1)    {kind.name:18}",
                "{:.2f} ± {:.2f}".format(*error(model, X, y, options.repeats)),
            )
        for epsilon, delta in TOTALS:
            for noise in ("gaussian", "laplace", "auto"):
                if delta > 0.0 or noise != "gaussian":
                    model = DPMixedNB(epsilon=epsilon, delta=delta, noise=noise, **public)
                    figure = "{:.2f} ± {:.2f}".format(*error(model, X, y, options.repeats))
                    print(f"  all together ({epsilon}, {delta})   {noise:18}", figure)


if __name__ == "__main__":
    main()
