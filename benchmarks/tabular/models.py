"""The models of the benchmark by library: public facts of a table, defaults, one grid.

`models(table, relation)` yields names and settings. A setting takes (epsilon, seed) and returns an
unfitted model for frames. A model with several settings is tuned. δ is 1e-5 wherever there is one.
"""

import itertools
import warnings

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

DELTA = 1e-5
GRID = {"max_rounds": (30, 100), "learning_rate": (0.03, 0.1, 0.3, 1.0), "max_bins": (8, 32)}
"""Settings of the tuned DP-EBM, beside its defaults (300, 0.01, 32). Noise and steps grow with
max_rounds times learning_rate, which is 0.9 to 100 here and 3 by default."""


def encoded(table, model, *steps):
    """Return a model of the public encoding of a table."""
    return make_pipeline(FunctionTransformer(table.encoded), *steps, model)


class Skdp:
    """This library."""

    relations = ("replace_one", "add_remove_one")

    def models(self, table, relation):
        import skdp

        kind = "Regressor" if table.is_regression else "Classifier"
        line = skdp.DPLinearRegression if table.is_regression else skdp.DPLogisticRegression
        given = self._given(table, relation)
        for name in ("Tabular", "Additive"):
            model = getattr(skdp, f"DP{name}{kind}")
            yield f"skdp {name.lower()}", self._of_columns(table, model, given)
        yield "skdp kernel", self._kernel(table, line, given)
        crossed = given | {"interactions": "auto"}
        additive = getattr(skdp, f"DPAdditive{kind}")
        yield "skdp additive, interactions", self._of_columns(table, additive, crossed)
        yield (
            "skdp linear",
            lambda e, s: encoded(table, line(epsilon=e, random_state=s, **given)),
        )
        if not table.is_regression:
            yield "skdp naive Bayes", self._of_columns(table, skdp.DPMixedNB, given)

    def _given(self, table, relation):
        if table.is_regression:
            target = {"target_bounds": table.target_bounds}
        else:
            target = {"classes": table.classes}
        return {"delta": DELTA, "neighboring": relation} | target

    def _of_columns(self, table, model, given):
        facts = {"bounds": table.bounds, "categories": table.categories or None}
        return lambda e, s: model(epsilon=e, random_state=s, **facts, **given)

    def _kernel(self, table, line, given):
        from skdp.features import AdditiveFeatures, FeatureMixture, RandomFourierFeatures

        facts = {"bounds": table.bounds, "categories": table.categories or None}
        curves, waves = AdditiveFeatures(**facts), RandomFourierFeatures(**facts)
        features = FeatureMixture(additive=curves, random=waves)
        return lambda e, s: line(features=features, epsilon=e, random_state=s, **given)


class Diffprivlib:
    """diffprivlib: pure ε; each of its models has the relation of its own sensitivities."""

    relations = ("its own",)

    def models(self, table, relation):
        from diffprivlib import models

        width = table.encoded(table.X.iloc[:1]).shape[1]
        bounds = (-np.ones(width), np.ones(width))
        if table.is_regression:
            yield "diffprivlib linear", self._linear(table, models, bounds)
            return
        norm = float(np.sqrt(len(table.bounds) + len(table.categories)))
        yield (
            "diffprivlib linear",
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

    relations = ("its own",)

    def models(self, table, relation):
        if not table.is_regression and len(table.classes) > 2:
            return
        default = self._setting(table)
        yield "DP-EBM", default
        grid = [zip(GRID, values, strict=True) for values in itertools.product(*GRID.values())]
        settings = (self._setting(table, **dict(of)) for of in grid)
        yield "DP-EBM, tuned on the test rows", default, *settings

    def _setting(self, table, **chosen):
        from interpret import privacy

        kinds = ["continuous" if c in table.bounds else "nominal" for c in table.X]
        given = {"feature_types": kinds, "privacy_bounds": table.bounds, "delta": DELTA} | chosen
        kind = privacy.DPExplainableBoostingClassifier
        if table.is_regression:
            kind, (low, high) = privacy.DPExplainableBoostingRegressor, table.target_bounds
            given |= {"privacy_target_min": low, "privacy_target_max": high}
        return lambda e, s: kind(epsilon=e, random_state=s, n_jobs=1, **given)


class Truth(BaseEstimator):
    """The formula that a simulated table was drawn from, without noise."""

    def __init__(self, formula):
        self.formula = formula

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.formula(X)

    def predict_proba(self, X):
        p = self.formula(X)
        return np.column_stack([1 - p, p])


class WithoutPrivacy:
    """scikit-learn, without privacy: what is there to be found, and what a constant reaches."""

    relations = ("none",)

    def models(self, table, relation):
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
        if table.truth is not None:
            yield "formula of the simulation", lambda e, s: Truth(table.truth)


LIBRARIES = {
    "skdp": Skdp,
    "diffprivlib": Diffprivlib,
    "interpret": Interpret,
    "scikit-learn": WithoutPrivacy,
}


def quiet():
    """Silence what the libraries say of seeds, which a benchmark gives."""
    warnings.simplefilter("ignore")
