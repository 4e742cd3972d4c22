"""What a default fit costs: time beside scikit-learn's, passes over the data, and memory."""

import time
import tracemalloc

import numpy as np
from sklearn.linear_model import LogisticRegression

from skdp import DPAdditiveClassifier, DPGaussianNB, DPLogisticRegression

ROUNDS = 7
MODELS = {
    "DPLogisticRegression": lambda: DPLogisticRegression(epsilon=1.0, random_state=0),
    "DPAdditiveClassifier": lambda: DPAdditiveClassifier(
        epsilon=1.0, bounds=(-4, 4), random_state=0
    ),
    "DPGaussianNB": lambda: DPGaussianNB(epsilon=1.0, bounds=(-4, 4), random_state=0),
}
TABLES = {
    "2000 x 10": (2000, 10, 2),
    "50000 x 20": (50_000, 20, 2),
    "5000 x 20, 5 classes": (5000, 20, 5),
}
WIDE = {"10000 x 2000": (10_000, 2000, 2)}  # "auto" reads samples of its rows


def table(n, d, k):
    """Return Gaussian rows, and labels by k noisy linear scores."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(n, d)), rng.normal(size=(d, k))
    return X, (X @ weights + rng.gumbel(size=(n, k))).argmax(axis=1)


def seconds(model, X, y):
    """Return the processor time of a fit."""
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


class Fit:
    """Default fits at ε = 1 with a fixed seed, so that all but time is the same in each run."""

    params = (list(MODELS), list(TABLES))
    param_names = ("model", "table")
    number = repeat = 1
    timeout = 300

    def setup(self, model, table_name):
        """Make the table, and fit once, which imports what a fit needs."""
        self.X, self.y = table(*(TABLES | WIDE)[table_name])
        MODELS[model]().fit(self.X, self.y)

    def track_time_ratio(self, model, table_name):
        """Return the time over that of scikit-learn's logistic regression, the median of pairs."""
        pairs = [
            seconds(MODELS[model](), self.X, self.y) / seconds(LogisticRegression(), self.X, self.y)
            for _ in range(ROUNDS)
        ]
        return float(np.median(pairs))

    def track_passes(self, model, table_name):
        """Return how often the rows are read to learn the coefficients; without solver, nan."""
        fitted, found = MODELS[model](), {}
        if publish := getattr(fitted, "_publish", None):

            def keep(plan, records, released, guarantee):
                solution = getattr(released, "fitted", None)
                found.update(getattr(solution, "diagnostics", {}))
                return publish(plan, records, released, guarantee)

            fitted._publish = keep
        fitted.fit(self.X, self.y)
        return float(found.get("n_evaluations", np.nan) / len(self.X))

    def track_memory(self, model, table_name):
        """Return the peak of what is allocated, over the size of X."""
        tracemalloc.start()
        MODELS[model]().fit(self.X, self.y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak / self.X.nbytes

    track_time_ratio.unit = "times scikit-learn's logistic regression"
    track_passes.unit = "passes"
    track_memory.unit = "times X"


class WideFit(Fit):
    """The same for a table so wide that steps read Poisson samples."""

    params = (["DPLogisticRegression"], list(WIDE))
