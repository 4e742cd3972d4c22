"""How often intervals from several synthetic tables cover the numbers of the population.

Usage: python benchmarks/bench_density_intervals.py [--runs 200] [--bins 16] [--smallest]

Each run draws made-up records of five columns, fits `DPTreeDensity` with a target at δ = 1e-5 under
replace_one, samples 20 tables of as many rows, and combines the estimates from each at the level
95 %. Tables in which a group has no rows are left out. The lines are

- means of age and log income, and the share of smokers;
- with the target: differences of mean age by illness, and of illness by smoking;
- pairs: the slope of log income on age, the differences of smoking by region and of mean age by
  smoking, apart for runs in whose tree the pair is an edge, and for the others;
- three columns: the coefficients of age and smoking in a linear model of illness.

The columns are the number of runs, the coverage, and in brackets the mean error of the estimates
in standard deviations. The lines "naive" take one sample for data: the estimate ± 1.96 standard
errors.
"""

import argparse
import warnings

import numpy as np

from skdp import DPTreeDensity
from skdp.density import combine_estimates

SIZES, EPSILONS, TABLES = (1000, 5000, 20_000), (0.3, 1.0, 3.0), 20
AGE, INCOME, REGION, SMOKES, ILL = range(5)
PUBLIC = {
    "bounds": {AGE: (18, 100), INCOME: (0, 1000)},
    "categories": {REGION: [0, 1, 2], SMOKES: [0, 1], ILL: [0, 1]},
    "transformation": {INCOME: "log"},
    "missing": "error",
    "target": ILL,
}
NAMES = [
    "mean age",
    "mean log income",
    "smokers",
    "age by illness",
    "illness by smoking",
    "log income on age",
    "smoking by region",
    "age by smoking",
    "age, in a model",
    "smoking, in a model",
]
PAIRS = {"log income on age": (0, 1), "smoking by region": (2, 3), "age by smoking": (0, 3)}


def population(n, rng):
    """Return made-up records."""
    age = np.clip(rng.normal(48, 14, n), 18, 90)
    income = np.clip(np.exp(rng.normal(3.0 + 0.02 * (age - 48), 0.6)), 0, 1000)
    region = np.searchsorted([0.5, 0.8], rng.random(n))
    smokes = rng.random(n) < 0.2 + 0.15 * (region == 0) - 0.004 * (age - 48)
    ill = rng.random(n) < 1.0 / (1.0 + np.exp(3.5 - 0.04 * age - 0.9 * smokes))
    return np.column_stack([age, income, region, smokes, ill])


def mean(x):
    """Return a mean and its variance."""
    return x.mean(), x.var() / len(x)


def difference(x, where):
    """Return a difference of means and its variance."""
    (one, first), (other, second) = mean(x[where]), mean(x[~where])
    return one - other, first + second


def slopes(y, *columns):
    """Return the coefficients of least squares, and their variances (White 1980)."""
    X = np.column_stack([np.ones(len(y)), *columns])
    inverse = np.linalg.pinv(X.T @ X)
    beta = inverse @ (X.T @ y)
    half = (X * (y - X @ beta)[:, None]) @ inverse
    return [*zip(beta[1:], (half**2).sum(axis=0)[1:], strict=True)]


def analyzed(rows):
    """Return the estimates and variances in the order of `NAMES`."""
    age, income, region, smokes, ill = rows.T
    logs, smoking = np.log1p(income), smokes == 1
    found = [mean(age), mean(logs), mean(smokes)]
    found += [difference(age, ill == 1), difference(ill, smoking)]
    found += [*slopes(logs, age), difference(smokes, region == 0), difference(age, smoking)]
    return np.array(found + slopes(ill, age, smokes)).T


def run(n, epsilon, n_bins, truth, rng):
    """Return errors of the estimates, which intervals cover, and which pairs are edges."""
    seeds = [int(seed) for seed in rng.integers(2**31, size=3)]
    density = DPTreeDensity(**PUBLIC, epsilon=epsilon, n_bins=n_bins, random_state=seeds[0])
    density.fit(population(n, rng))
    parts = map(analyzed, density.sample_several(n, n_tables=TABLES, random_state=seeds[1]))
    parts = [part for part in parts if np.isfinite(part).all()]
    both = combine_estimates(*np.swapaxes(parts, 0, 1))
    low, high = both.interval()
    naive, variance = analyzed(density.sample(n, random_state=seeds[2]))
    edges = {tuple(sorted(edge)) for edge in density.edges_}
    return (
        both.value - truth,
        (low <= truth) & (truth <= high),
        naive - truth,
        np.abs(naive - truth) <= 1.96 * np.sqrt(variance),
        np.array([PAIRS.get(name, (0, 0)) in edges for name in NAMES]),
    )


def report(n, epsilon, runs):
    """Print the lines of one setting."""
    errors, covers, naive_errors, naive, is_edge = map(np.array, zip(*runs, strict=True))
    print(f"n = {n}, ε = {epsilon:g}", flush=True)
    for j, name in enumerate(NAMES):
        if name not in PAIRS:
            line(name, errors[:, j], covers[:, j])
            continue
        for part, chosen in (("edge", is_edge[:, j]), ("no edge", ~is_edge[:, j])):
            line(f"{name}, {part}", errors[chosen, j], covers[chosen, j])
    for j, name in enumerate(NAMES[:5]):
        line(f"naive: {name}", naive_errors[:, j], naive[:, j])


def line(name, errors, covers):
    """Print the coverage and the bias of one number, over at least ten runs."""
    if len(errors) >= 10:
        bias = errors.mean() / errors.std()
        print(f"  {name:28s}{len(errors):5d}  {covers.mean():.3f} ({bias:.2f})", flush=True)


def main():
    """Print the coverages for each number of records and ε."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--bins", type=int, default=16)
    parser.add_argument("--smallest", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    settings = [(n, epsilon) for n in SIZES for epsilon in EPSILONS]
    runs, settings = (10, settings[:1]) if given.smallest else (given.runs, settings)
    size = 200_000 if given.smallest else 4_000_000
    truth = analyzed(population(size, np.random.default_rng(7)))[0]
    for n, epsilon in settings:
        rng = np.random.default_rng([n, int(10 * epsilon)])
        report(n, epsilon, [run(n, epsilon, given.bins, truth, rng) for _ in range(runs)])


if __name__ == "__main__":
    main()
