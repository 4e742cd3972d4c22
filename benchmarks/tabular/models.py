"""The models of the benchmark by library: defaults, public facts of a table, and nothing else.

Each takes (table, epsilon, seed) and returns an unfitted model for frames. The relation is one
record more or less wherever a library lets one choose, δ = 1e-5 wherever there is one.
"""

import warnings

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

DELTA = 1e-5
RELATION = "add_remove_one"


def encoded(table, model, *steps):
    """Return a model of the public encoding of a table."""
    return make_pipeline(FunctionTransformer(table.encoded), *steps, model)


class Skdp:
    """This library."""

    def models(self, table):
        import skdp

        kind = "Regressor" if table.is_regression else "Classifier"
        line = skdp.DPLinearRegression if table.is_regression else skdp.DPLogisticRegression
        yield "skdp linear", lambda e, s: encoded(table, line(epsilon=e, **self.given(table, s)))
        for name in ("Additive", "Kernel"):
            yield f"skdp {name.lower()}", self._of_columns(table, getattr(skdp, f"DP{name}{kind}"))
        if not table.is_regression:
            yield "skdp naive Bayes", self._of_columns(table, skdp.DPMixedNB)

    def given(self, table, seed):
        if table.is_regression:
            target = {"target_bounds": table.target_bounds}
        else:
            target = {"classes": table.classes}
        return {"delta": DELTA, "neighboring": RELATION, "random_state": seed} | target

    def _of_columns(self, table, kind):
        facts = {"bounds": table.bounds, "categories": table.categories or None}
        return lambda e, s: kind(epsilon=e, **facts, **self.given(table, s))


class Diffprivlib:
    """diffprivlib: pure ε; each of its models has the relation of its own sensitivities."""

    def models(self, table):
        from diffprivlib import models

        width = table.encoded(table.X.iloc[:1]).shape[1]
        bounds = (-np.ones(width), np.ones(width))
        if table.is_regression:
            yield "diffprivlib linear", self._linear(table, models, bounds)
            return
        norm = float(np.sqrt(len(table.bounds) + len(table.categories)))
        yield (
            "diffprivlib logistic",
            lambda e, s: encoded(
                table, models.LogisticRegression(epsilon=e, data_norm=norm, random_state=s)
            ),
        )
        yield (
            "diffprivlib naive Bayes",
            lambda e, s: encoded(
                table, models.GaussianNB(epsilon=e, bounds=bounds, random_state=s)
            ),
        )
        yield (
            "diffprivlib forest",
            lambda e, s: encoded(
                table,
                models.RandomForestClassifier(
                    epsilon=e, bounds=bounds, classes=table.classes, random_state=s
                ),
            ),
        )

    def _linear(self, table, models, bounds):
        return lambda e, s: encoded(
            table,
            models.LinearRegression(
                epsilon=e, bounds_X=bounds, bounds_y=table.target_bounds, random_state=s
            ),
        )


class Interpret:
    """DP-EBM of interpret-core: two classes, or a number."""

    def models(self, table):
        from interpret.privacy import (
            DPExplainableBoostingClassifier,
            DPExplainableBoostingRegressor,
        )

        if not table.is_regression and len(table.classes) > 2:
            return
        kinds = ["continuous" if c in table.bounds else "nominal" for c in table.X]
        given = {"feature_types": kinds, "privacy_bounds": table.bounds, "delta": DELTA}
        kind = DPExplainableBoostingClassifier
        if table.is_regression:
            kind, (low, high) = DPExplainableBoostingRegressor, table.target_bounds
            given |= {"privacy_target_min": low, "privacy_target_max": high}
        yield "DP-EBM", lambda e, s: kind(epsilon=e, random_state=s, n_jobs=1, **given)


class WithoutPrivacy:
    """scikit-learn, without privacy: what is there to be found, and what a constant reaches."""

    def models(self, table):
        from sklearn import dummy, ensemble, linear_model

        if table.is_regression:
            line, boosted = linear_model.RidgeCV(), ensemble.HistGradientBoostingRegressor
            constant = dummy.DummyRegressor()  # the mean of the targets
        else:
            line = linear_model.LogisticRegression(max_iter=2000)
            boosted = ensemble.HistGradientBoostingClassifier
            constant = dummy.DummyClassifier(strategy="prior")  # the shares of the classes
        yield "linear, no privacy", lambda e, s: encoded(table, line, StandardScaler())
        yield "boosting, no privacy", lambda e, s: encoded(table, boosted(random_state=s))
        yield "constant", lambda e, s: constant


LIBRARIES = {
    "skdp": Skdp,
    "diffprivlib": Diffprivlib,
    "interpret": Interpret,
    "scikit-learn": WithoutPrivacy,
}


def quiet():
    """Silence what the libraries say of seeds, which a benchmark gives."""
    warnings.simplefilter("ignore")
