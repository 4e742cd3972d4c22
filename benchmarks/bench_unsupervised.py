"""Private principal components and clusters beside those without privacy and another library's.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_unsupervised.py [--data FOLDER] [--seeds 10]
       [--smallest]

FOLDER holds magic04.csv.gz, the gamma telescope; without it that set is left out. Of components the
share of the variance that they capture is printed, of centers the inertia relative to that of one
center: means over fits, standard errors, and seconds of a fit. δ = 1e-5 and both relations.
diffprivlib's are purely ε-DP; they are left out where it is not installed.
"""

import argparse
import time
import warnings

import numpy as np
from data_sets import magic
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from skdp import DPPCA, DPKMeans

EPSILONS = (0.1, 0.3, 1.0, 3.0)
RELATIONS = ("replace_one", "add_remove_one")


def blobs(n_rows=5000, n_clusters=15, seed=0):
    """Return normal clusters in a square."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-0.8, 0.8, (n_clusters, 2))
    rows = centers[rng.integers(n_clusters, size=n_rows)] + rng.normal(0.0, 0.06, (n_rows, 2))
    return np.clip(rows, -1.0, 1.0)


def sets(options):
    """Return {name: (rows, bounds, components or None, clusters)}."""
    digits = load_digits().data
    if options.smallest:
        return {"digits": (digits[:300], (0, 16), 3, 3)}
    found = {"digits": (digits, (0, 16), 10, 10), "blobs": (blobs(), (-1, 1), None, 15)}
    if options.data is not None:
        found["magic04"] = (magic(options.data)[0], (-1, 1), 3, 8)
    return found


def captured(model, rows):
    """Return the share of the variance along the components."""
    rows = rows - rows.mean(axis=0)
    return ((rows @ model.components_.T) ** 2).sum() / (rows**2).sum()


def inertia(model, rows):
    """Return the inertia relative to that of one center."""
    return -model.score(rows) / ((rows - rows.mean(axis=0)) ** 2).sum()


def diffprivlib(kind, size, bounds, rows):
    """Return a function of ε and a seed that makes diffprivlib's model, None without it."""
    try:
        from diffprivlib import models
    except ImportError:
        return None
    if kind == "pca":
        norm = float(np.abs(np.asarray(bounds)).max() * np.sqrt(rows.shape[1]))
        return lambda epsilon, seed: models.PCA(
            size, epsilon=epsilon, bounds=bounds, data_norm=norm, random_state=seed
        )
    return lambda epsilon, seed: models.KMeans(
        size, epsilon=epsilon, bounds=bounds, random_state=seed
    )


def row(name, make, measure, rows, options):
    """Print a line of figures at each ε."""
    cells, seconds = [], 0.0
    for epsilon in EPSILONS:
        found = []
        for seed in range(options.seeds):
            start = time.perf_counter()
            model = make(epsilon, seed).fit(rows)
            seconds += time.perf_counter() - start
            found.append(measure(model, rows))
        cells.append(f"{np.mean(found):.3f} ± {np.std(found) / np.sqrt(len(found)):.3f}")
    seconds /= len(EPSILONS) * options.seeds
    print(f"  {name:28}", "   ".join(cells), f"  {seconds:.3f} s", flush=True)


def tasks(n_components, n_clusters, bounds, rows):
    """Yield what is asked: its name, measure, exact model, private model and peer."""
    if n_components is not None:
        yield (
            "pca",
            captured,
            PCA(n_components),
            lambda **more: DPPCA(n_components=n_components, bounds=bounds, **more),
            diffprivlib("pca", n_components, bounds, rows),
        )
    yield (
        "k-means",
        inertia,
        KMeans(n_clusters, n_init=4, random_state=0),
        lambda **more: DPKMeans(n_clusters=n_clusters, bounds=bounds, **more),
        diffprivlib("k-means", n_clusters, bounds, rows),
    )


def main():
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder of magic04.csv.gz")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--smallest", action="store_true", help="two fits to a few digits")
    options = parser.parse_args()
    if options.smallest:
        options.seeds = 2
    print("epsilon:", *EPSILONS)
    for name, (rows, bounds, n_components, n_clusters) in sets(options).items():
        for kind, measure, exact, private, peer in tasks(n_components, n_clusters, bounds, rows):
            best = measure(exact.fit(rows), rows)
            print(f"{name}, {kind}: {rows.shape[0]} × {rows.shape[1]}, exact {best:.3f}")
            for relation in RELATIONS:
                row(
                    f"skdp, {relation}",
                    lambda epsilon, seed, make=private, relation=relation: make(
                        epsilon=epsilon, neighboring=relation, random_state=seed
                    ),
                    measure,
                    rows,
                    options,
                )
            if peer is not None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    row("diffprivlib", peer, measure, rows, options)


if __name__ == "__main__":
    main()
