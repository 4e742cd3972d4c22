"""Monotone constraints hold everywhere, at the same ε, and make curves more accurate."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from additive_models import JOBS
from sklearn.base import clone
from sklearn.metrics import r2_score

from skdp import DPAdditiveClassifier, DPAdditiveRegressor, TableSchema
from skdp.additive.stages import DensityRelease
from skdp.exceptions import FewRowsWarning
from skdp.features.base import TableFacts
from skdp.inspection import AdditiveEffectsDisplay
from skdp.linear_model._first_releases import counts_of
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import Neighboring

INF = float("inf")
FACTS = {"bounds": {"age": (0, 100), "dose": (0, 10), "wait": (0, 5)}, "categories": {"job": JOBS}}
SIGNS = {"age": 1, "dose": -1}
TARGET = {"target_bounds": (-4.0, 4.0)}
MODELS = {
    "classes": DPAdditiveClassifier(**FACTS, epsilon=0.3),
    "many waves": DPAdditiveClassifier(**FACTS, epsilon=3.0, n_terms=20),
    "blocks": DPAdditiveClassifier(**FACTS, epsilon=0.3, norm="blocks"),
    "auto": DPAdditiveClassifier(**(FACTS | {"bounds": "auto"})),
    "metric": DPAdditiveClassifier(**FACTS, epsilon=3.0, solver="noisy_gd"),
    "sampled": DPAdditiveClassifier(**FACTS, solver="regularized_exponential"),
    "number": DPAdditiveRegressor(**FACTS, **TARGET, epsilon=0.1),
    "low": DPAdditiveRegressor(**FACTS, **TARGET, reference="low", missing="error"),
    "line": DPAdditiveRegressor(**FACTS, **TARGET, linear_share=1.0, target_transform="log"),
    "pair": DPAdditiveRegressor(**FACTS, **TARGET, interactions=[("wait", "job")]),
    "open": DPAdditiveRegressor(**FACTS, **TARGET, epsilon=INF),
}
every_model = pytest.mark.parametrize("name", MODELS)


def table(n=300, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.uniform(-20, 120, size=n),
        "dose": rng.lognormal(0.0, 1.0, size=n),  # mostly at one end
        "wait": rng.uniform(0, 5, size=n),
    }
    for column in columns.values():
        column[rng.random(n) < missing] = np.nan
    return pd.DataFrame(columns | {"job": rng.choice([*JOBS, "pirate"], size=n)})


def truth(frame):
    dose = frame["dose"].clip(0, 10)
    return (np.sqrt(frame["age"].clip(0, 100) / 10) - 0.3 * dose + np.sin(frame["wait"])).to_numpy()


def fitted(model, seed=0, missing=0.0, **settings):
    """Return the model, fitted to few rows, where curves are mostly noise."""
    X = table(seed=seed, missing=missing)
    score = np.nan_to_num(truth(X)) - 1.5
    score = score + np.random.default_rng(seed).normal(size=len(X))
    y = (score > 0).astype(int) if isinstance(model, DPAdditiveClassifier) else score
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewRowsWarning)
        return clone(model).set_params(random_state=seed, **settings).fit(X, y)


def swept(X, column, n=301):
    """Return each row with values of a column from below its bounds to above them."""
    low, high = FACTS["bounds"][column]
    rows = X.loc[X.index.repeat(n)].reset_index(drop=True)
    values = np.linspace(low - 1.0, high + 1.0, n)
    rows[column] = np.tile(values, len(X))
    return rows


def outputs(model, X):
    if isinstance(model, DPAdditiveRegressor):
        return [model.predict(X)]
    return [model.decision_function(X), model.predict_proba(X)[:, 1], model.predict(X)]


@pytest.mark.parametrize(("name", "seed"), [(name, k % 2) for k, name in enumerate(MODELS)])
def test_no_prediction_violates_a_constraint(name, seed):
    model = MODELS[name]
    missing = 0.0 if model.missing == "error" else 0.2
    model = fitted(model, seed, missing, monotonic_cst=SIGNS)
    X = table(8, seed=seed + 10, missing=missing)
    for column, sign in SIGNS.items():
        for found in outputs(model, swept(X, column)):
            steps = sign * np.diff(found.reshape(len(X), -1), axis=1)
            assert steps.min() >= -1e-12 * np.abs(found).max()


def test_noise_violates_constraints_that_are_not_asked_for():
    found = outputs(fitted(MODELS["classes"]), swept(table(8), "age"))[0].reshape(8, -1)
    assert np.diff(found, axis=1).min() < -1e-3


@every_model
def test_constraints_cost_no_more_and_local_parts_add_up(name):
    missing = 0.0 if MODELS[name].missing == "error" else 0.1
    plain, model = (fitted(MODELS[name], 0, missing, monotonic_cst=c) for c in (None, SIGNS))
    if MODELS[name].epsilon < INF:
        spent, claimed = (m.privacy_.epsilon(1e-5) for m in (model, plain))
        assert spent <= claimed * (1.0 + 1e-9)
    X = table(20, 3, missing)
    parts = model.explain_local(X).sum(axis=1) + model.intercept_
    np.testing.assert_allclose(parts, model._scores(X).ravel(), atol=1e-9)


def test_lists_and_dicts_are_the_same_and_zeros_constrain_nothing():
    given = [SIGNS, [1, -1, 0, 0], np.array([1.0, -1.0, 0.0, 0.0]), {**SIGNS, "job": 0}]
    found = [fitted(MODELS["classes"], monotonic_cst=c).coef_ for c in given]
    for coef in found[1:]:
        np.testing.assert_array_equal(coef, found[0])
    plain = fitted(MODELS["classes"])
    zeros = fitted(MODELS["classes"], monotonic_cst=[0, 0, 0, 0])
    np.testing.assert_array_equal(zeros.coef_, plain.coef_)
    np.testing.assert_array_equal(zeros.predict_proba(table()), plain.predict_proba(table()))


def test_curves_that_are_monotone_stay(rng):
    X = rng.random((20_000, 1))
    y = (rng.logistic(size=20_000) < 8 * X[:, 0] - 4).astype(int)
    plain = DPAdditiveClassifier(
        bounds=(0, 1), epsilon=10.0, n_terms=2, random_state=0, solver="objective_perturbation"
    ).fit(X, y)  # which releases no histograms
    model = clone(plain).set_params(monotonic_cst=[1]).fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_missing_values_have_an_effect_of_their_own(rng):
    """All of the variance of the target is that of missing ages."""
    X = pd.DataFrame({"age": rng.uniform(0, 100, size=4000)})
    X.loc[rng.random(4000) < 0.5, "age"] = np.nan
    y = X["age"].isna().to_numpy(float)
    for sign in (1, -1):
        model = DPAdditiveRegressor(bounds=(0, 100), target_bounds=(0, 1), monotonic_cst=[sign])
        assert model.fit(X, y).score(X, y) > 0.8


def test_constraints_that_are_true_make_predictions_more_accurate():
    """The mean gain of 10 pairs of fits is .047 with a standard error of .006: eight of them."""
    X, test = table(1500, 1), table(2000, 2)
    rng, gains = np.random.default_rng(0), []
    for seed in range(10):
        y = truth(X) - 1.5 + rng.normal(size=len(X))
        model = DPAdditiveRegressor(
            **FACTS, **TARGET, transformation={"dose": "log"}, epsilon=0.1, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewRowsWarning)
            fits = model.fit(X, y), clone(model).set_params(monotonic_cst=SIGNS).fit(X, y)
        plain, constrained = (r2_score(truth(test) - 1.5, fit.predict(test)) for fit in fits)
        gains.append(constrained - plain)
    assert np.mean(gains) > 0.0


def test_noise_of_histograms_covers_all_neighbors(neighboring):
    """By brute force over rows at ends, between, missing and out of bounds."""
    columns, mu = (0, 2), 0.5
    release = DensityRelease.plan(columns, mu, Neighboring(neighboring))
    facts = TableFacts.of(3, (), bounds=(0.0, 1.0))
    rows = [*itertools.product([-1.0, 0.0, 0.49, 0.5, 2.0, np.nan], repeat=3)]
    counts = [counts_of(facts, np.array([row]), 16)[[0, 2]] for row in rows]
    apart = max(np.linalg.norm(count - counts[0]) for count in counts)
    alone = max(np.linalg.norm(count) for count in counts)
    most = apart if neighboring == "replace_one" else alone
    assert most / release.noise.scale <= release.mu
    assert release.mu == pytest.approx(np.sqrt(0.02) * mu)


def test_densities_are_shares_of_rows_and_noise_alone_is_uniform():
    X = table(20_000)
    model = DPAdditiveRegressor(**FACTS, **TARGET, epsilon=3.0, monotonic_cst=SIGNS)
    densities = model.fit(X, truth(X)).feature_map_.densities
    assert sorted(densities) == [0, 1]
    exact = np.histogram(X["dose"].clip(0, 10), bins=16, range=(0, 10))[0] / len(X)
    np.testing.assert_allclose(densities[1], exact, atol=0.02)  # 7 standard deviations or more
    release = DensityRelease(columns=(0,), mu=np.inf, noise=GridGaussian.of_scale(1e-9))
    empty = release.release(-np.ones((1, 16)), np.random.default_rng(0))
    np.testing.assert_array_equal(empty, np.full((1, 16), 1 / 16))


def test_wide_bounds_do_not_make_true_constraints_harmful():
    """All values are in a part of the bounds, and the data say nothing about the rest.

    The mean change of R² is −.001 with a standard error of .007. It was −.07 without histograms.
    """
    rng, changes = np.random.default_rng(0), []
    for seed in range(10):
        X = rng.normal([0.3, 0.3, 0.5], [0.06, 0.06, 0.15], size=(3000, 3))
        mean = np.tanh(8 * (X[:, 0] - 0.3)) - np.tanh(8 * (X[:, 1] - 0.3)) + np.sin(6 * X[:, 2])
        y = mean + rng.normal(size=len(X))
        model = DPAdditiveRegressor(
            bounds=(0, 1), target_bounds=(-6, 6), epsilon=1.0, random_state=seed
        )
        fits = model.fit(X, y), clone(model).set_params(monotonic_cst=[1, -1, 0]).fit(X, y)
        plain, constrained = (r2_score(mean, fit.predict(X)) for fit in fits)
        changes.append(constrained - plain)
    assert np.mean(changes) > -0.035


def test_bands_of_monotone_curves_are_narrower():
    effects = fitted(MODELS["classes"], monotonic_cst=SIGNS).explain_global()
    for term, sign in SIGNS.items():
        effect = effects[term]
        low, high = effect.band
        assert effect.monotonic == sign
        assert (sign * np.diff([low, effect.effect, high], axis=1) >= -1e-12).all()
        assert (low <= effect.effect).all()
        assert (effect.effect <= high).all()
        widths = high - low
        assert (widths <= 2 * 1.96 * effect.noise * (1 + 1e-12)).all()
        assert widths.mean() < 0.999 * (2 * 1.96 * effect.noise).mean()
    low, high = effects["wait"].band
    np.testing.assert_allclose(high - low, 2 * 1.96 * effects["wait"].noise)


def test_bands_cover_the_mean_curve_of_refits():
    """In 20 fits of 2 curves a band covers .95 of the points or more.

    The 101 points of a smooth curve vary like some ten, so these are about 400 numbers: a share of
    .9 would be 4.6 standard errors too low. The bound of the noise is loose, which leaves more.
    """
    X = table(1000)
    y = truth(X) - 1.5
    model = DPAdditiveRegressor(**FACTS, **TARGET, monotonic_cst=SIGNS)
    fits = [clone(model).fit(X, y).explain_global() for _ in range(20)]
    for term in SIGNS:
        center = np.mean([fit[term].effect for fit in fits], axis=0)
        bands = [fit[term].band for fit in fits]
        assert np.mean([(low <= center) & (center <= high) for low, high in bands]) > 0.9


def test_the_display_draws_bands_of_constrained_models():
    pytest.importorskip("matplotlib")
    model = fitted(MODELS["classes"], monotonic_cst=SIGNS)
    display = AdditiveEffectsDisplay.from_estimator(model, terms=["age", "job"])
    drawn = display.axes_[0].collections[0].get_paths()[0].vertices[:, 1]
    low, high = model.explain_global()["age"].band
    assert drawn.min() == pytest.approx(low.min())
    assert drawn.max() == pytest.approx(high.max())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"monotonic_cst": {"aga": 1}}, "Unknown columns in monotonic_cst"),
        ({"monotonic_cst": {"age": 2}}, "monotonic_cst of 'age' must be -1, 0 or 1"),
        ({"monotonic_cst": [1, 0, 0, "up"]}, "'job' must be -1, 0 or 1"),
        ({"monotonic_cst": [1, 0]}, "one of -1, 0 and 1 for each of the 4 columns"),
        ({"monotonic_cst": "age"}, "one of -1, 0 and 1 for each of the 4 columns"),
        ({"monotonic_cst": {"job": 1}}, "only for numeric columns.*'job'"),
        ({"linear_share": 0.0}, "linear_share > 0"),
        ({"interactions": "pairs"}, "interactions may not contain.*age"),
        ({"interactions": [("job", "dose")]}, "interactions may not contain.*dose"),
        ({"classes": [0, 1, 2]}, "more than two classes"),
    ],
)
def test_wrong_constraints_cost_nothing(settings, words, unspent):
    X = table()
    model = DPAdditiveClassifier(**FACTS, budget=unspent, monotonic_cst=SIGNS)
    with pytest.raises(ValueError, match=f"(?s){words}.*Nothing was spent"):
        model.set_params(**settings).fit(X, np.arange(300) % 2)


def test_dicts_need_names():
    X = np.random.default_rng(0).random((100, 2))
    model = DPAdditiveRegressor(bounds=(0, 1), target_bounds=(0, 1), monotonic_cst={"x0": 1})
    with pytest.raises(ValueError, match="X has no column names"):
        model.fit(X, X[:, 0])


@pytest.mark.parametrize("interactions", [None, "auto"])
def test_levels_of_an_ordinal_column_are_monotone_and_keep_their_order(rng, interactions):
    """At ε = 3 the noise of an effect has a standard deviation of .01, beside a bias of .11.

    The bias is that of clipping rows as if all other terms had their mean squared norm.
    """
    levels = ["none", "school", "college", "doctor"]
    codes = rng.integers(4, size=4000)
    X = pd.DataFrame({"degree": np.array(levels)[codes], "age": rng.uniform(0, 9, 4000)})
    schema = TableSchema(
        {"degree": {"kind": "ordinal", "categories": levels}, "age": (0, 9)}, source="made up"
    )
    y = np.array([0.0, 0.4, 0.4, 1.0])[codes] + rng.normal(scale=0.1, size=4000)
    given = {"bounds": schema, "target_bounds": (-1, 2), "random_state": 0}
    free = DPAdditiveRegressor(**given, interactions=interactions, epsilon=3.0).fit(X, y)
    model = DPAdditiveRegressor(**given, monotonic_cst={"degree": 1}, epsilon=3.0).fit(X, y)
    for one in (free, model):
        effect = one.explain_global()["degree"]
        assert effect.values[0].tolist() == levels
        assert effect.categorical == (True,)
        assert effect.effect.mean() == pytest.approx(0.0, abs=1e-9)
        assert np.abs(effect.effect - [-0.45, -0.05, -0.05, 0.55]).max() < 0.15
        assert (effect.effect >= effect.band[0]).all()
        assert (effect.effect <= effect.band[1]).all()
    rows = pd.DataFrame({"degree": levels, "age": 3.0})
    assert (np.diff(model.predict(rows)) >= 0.0).all()
    display = AdditiveEffectsDisplay.from_estimator(model, terms=["degree"])
    assert [one.get_text() for one in display.axes_[0].get_yticklabels()] == levels
    if interactions is None:
        assert free.to_sklearn().predict(X) == pytest.approx(free.predict(X), abs=1e-12)
    sorted_ = X.astype({"degree": pd.CategoricalDtype(levels, ordered=True)})
    assert np.array_equal(model.predict(sorted_), model.predict(X))
