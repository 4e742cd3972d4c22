"""How much accuracy the rule of `AutoFeatures` loses against the best features of each table.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_tabular_rule.py [--data FOLDER] [--rows 800 3000]
       [--seeds 4] [--out lines.jsonl] [--smallest]

FOLDER is that of benchmarks/tabular/run.py. Each table is fitted to the given numbers of its rows,
or whole if it has fewer, at ε = .3, 1, 3 under both relations, with straight lines, curves, a few
or many Fourier features and trees, and by `AutoFeatures`, whose choice is noted. Up to 1000 rows
there are twice as many seeds. *Regret* is the accuracy or R² of the best of them, in points, minus
that of the rule's choice. The best is chosen by the mean on half of the seeds and scored on the
other half, and the other way round. A best that is chosen and scored on the same seeds wins by
their noise, even over an equal.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.accounting import gdp_mu
from skdp.features import (
    AdditiveFeatures,
    AutoFeatures,
    FeatureMixture,
    RandomFourierFeatures,
    RandomTreeFeatures,
)

sys.path.append(str(Path(__file__).parent / "tabular"))

from scores import scores
from tables import own_tables, tables

DELTA, TEST_ROWS, FEW_ROWS = 1e-5, 5000, 1000
CELL = ["table", "n", "epsilon", "neighboring"]


def kinds(columns):
    """Return the features by the names that `kind_of` gives them."""
    curves, waves = AdditiveFeatures(**columns), RandomFourierFeatures(**columns)
    return {
        "lines": AdditiveFeatures(linear_share=1.0, **columns),
        "curves": curves,
        "some": FeatureMixture(additive=curves, random=waves, additive_share=0.95),
        "Fourier": FeatureMixture(additive=curves, random=waves),
        "trees": FeatureMixture(
            additive=curves, random=RandomTreeFeatures(**columns), additive_share=0.75
        ),
    }


def kind_of(features):
    """Return the name of the features that the rule has chosen."""
    if isinstance(features, FeatureMixture):
        if isinstance(features.random, RandomTreeFeatures):
            return "trees"
        return "some" if features.additive_share > 0.5 else "Fourier"
    return "lines" if features.linear_share == 1.0 else "curves"


def splits(table, seeds, sizes):
    """Yield the seed, the rows to fit and the rows to test."""
    share = min(0.25, TEST_ROWS / len(table.X))
    for seed in range(2 * seeds):
        fit, test = train_test_split(np.arange(len(table.X)), test_size=share, random_state=seed)
        for n in sorted({min(n, len(fit)) for n in sizes}):
            if n <= FEW_ROWS or seed < seeds:
                yield seed, fit[:n], test


def cells(epsilons=(0.3, 1.0, 3.0)):
    """Yield (ε, relation)."""
    yield from ((e, r) for e in epsilons for r in ("replace_one", "add_remove_one"))


def fitted(table, features, epsilon, neighboring, seed, rows):
    """Return a fitted linear model of the features."""
    given = {"epsilon": epsilon, "delta": DELTA, "neighboring": neighboring, "features": features}
    if table.is_regression:
        model = DPLinearRegression(target_bounds=table.target_bounds, random_state=seed, **given)
    else:
        model = DPLogisticRegression(classes=table.classes, random_state=seed, **given)
    return model.fit(table.X.iloc[rows], table.y[rows])


def lines(table, seeds, sizes, epsilons):
    """Yield a line for each fit."""
    columns = {"bounds": table.bounds or None, "categories": table.categories or None}
    p = table.X.shape[1]
    for seed, rows, test in splits(table, seeds, sizes):
        for epsilon, neighboring in cells(epsilons):
            changed = 2 if neighboring == "replace_one" else 1
            signal = len(rows) * gdp_mu(epsilon, DELTA) / changed
            cell = (table.name, len(rows), epsilon, neighboring)
            choice = fitted(
                table, AutoFeatures(**columns), epsilon, neighboring, seed, rows
            ).features_
            for name, features in kinds(columns).items():
                model = fitted(table, features, epsilon, neighboring, seed, rows)
                found = scores(table, model, table.X.iloc[test], table.y[test])
                score = found.get("accuracy", found.get("R2"))
                yield dict(zip(CELL, cell, strict=True)) | {
                    "kind": name,
                    "chosen": kind_of(choice),
                    "q": signal / p,
                    "seed": seed,
                    "score": float(score),
                    "log-loss": float(found.get("log-loss", np.nan)),
                }


def regrets(rows):
    """Return the regret of each kind and of the rule by cell, in points."""
    means = rows.groupby([*CELL, rows["seed"] % 2, "kind"])["score"].mean().unstack("kind")
    other = means.rename(index=lambda half: 1 - half, level="seed")
    best = other.idxmax(axis=1).reindex(means.index)
    found = np.array([means.loc[cell, kind] for cell, kind in best.items()])
    regret = means.rsub(found, axis=0) * 100.0
    chosen = rows.groupby([*CELL, "seed"])["chosen"].first().groupby(CELL).first()
    regret["rule"] = [regret.loc[cell, chosen[cell[:-1]]] for cell in regret.index]
    return regret.groupby(CELL).mean()


def report(rows):
    """Print the regret by q, of each kind of features and of the rule."""
    rows = pd.DataFrame(rows)
    regret, q = regrets(rows), rows.groupby(CELL)["q"].first()
    bins = pd.cut(q, [0, 3, 10, 20, 50, 100, 150, 300, np.inf])
    pd.options.display.width = 120
    print("mean regret in points\n", regret.groupby(bins, observed=True).mean().round(2))
    print("largest\n", regret.groupby(bins, observed=True).max().round(1))
    print("cells\n", regret.groupby(bins, observed=True).size())
    print(regret["rule"].sort_values().tail(10).round(1))
    print(f"rule: mean {regret['rule'].mean():.2f}, worst {regret['rule'].max():.1f}")


def main():
    """Make the fits, keep their lines, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", default=None)
    parser.add_argument("--rows", type=int, nargs="+", default=[800, 3000, 12_000])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--out", default=None)
    parser.add_argument("--smallest", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [*own_tables()][:1] if args.smallest else [*tables(args.data)]
    settings = (args.seeds, args.rows, (0.3, 1.0, 3.0))
    if args.smallest:
        settings = (2, (400,), (1.0,))
    found = []
    for table in chosen:
        for line in lines(table, *settings):
            found.append(line)
            if args.out is not None:
                with Path(args.out).open("a") as file:
                    file.write(json.dumps(line) + "\n")
    report(found)


if __name__ == "__main__":
    main()
