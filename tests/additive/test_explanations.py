"""What additive models say of themselves is what they do."""

import pickle

import numpy as np
import pytest
from additive_models import FACTS, JOBS, labels, people
from scipy.integrate import trapezoid
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skdp import DPAdditiveClassifier, DPAdditiveRegressor
from skdp.inspection import AdditiveEffectsDisplay
from skdp.pipeline import make_private_pipeline

INF = float("inf")
PAIR = {"interactions": [("age", "job"), ("age", "income")]}
MODELS = [
    DPAdditiveClassifier(**FACTS, **PAIR, random_state=0),
    DPAdditiveClassifier(epsilon=INF, **FACTS, **PAIR),
    DPAdditiveClassifier(**FACTS, transformation={"income": 1e3}, norm="blocks", random_state=0),
    DPAdditiveRegressor(**FACTS, reference=["income"], target_bounds=(0, 1), random_state=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=["pairs", "open", "blocks", "number"])


def linear_scores(model, X):
    scores = model._scores(X)
    return scores.ravel() if scores.shape[1] == 1 else scores


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
def test_local_parts_add_up_to_the_score(model, n_classes):
    X, y = people(), np.arange(400) % n_classes
    model = clone(model).fit(X, y)
    parts = model.explain_local(X)
    assert parts.shape[:2] == (400, len(model.term_names_))
    total = parts.sum(axis=1) + model.intercept_
    if hasattr(model, "decision_function"):
        np.testing.assert_allclose(total, linear_scores(model, X), atol=1e-12)
    else:
        np.testing.assert_allclose(np.clip(total, 0, 1), model.predict(X), atol=1e-12)


@every_model
def test_global_effects_are_centered_and_named(model):
    X, y = people(), labels(people())
    model = clone(model).fit(X, y)
    effects = model.explain_global()
    assert list(effects) == model.term_names_
    assert model.term_names_[:3] == ["age", "income", "job"]
    assert effects["job"].values[0].tolist() == JOBS
    assert effects["job"].effect.mean() == pytest.approx(0.0, abs=1e-12)
    assert effects["job"].missing_effect is not None
    np.testing.assert_allclose(effects["income"].values[0][[0, -1]], [0, 1e6])
    u = np.linspace(0, 1, 101)
    assert trapezoid(effects["age"].effect, u) == pytest.approx(0.0, abs=0.01)
    importances = model.term_importances()
    assert importances[2] == pytest.approx(np.sqrt((effects["job"].effect ** 2).mean()))
    assert (importances > 0).all()


def test_a_curve_is_what_the_column_adds_to_the_score_of_a_typical_row():
    """Where no row is clipped, differences of the curve are differences of scores."""
    X, y = people(2000), labels(people(2000))
    model = DPAdditiveClassifier(**FACTS, norm="blocks", random_state=0).fit(X, y)
    effect = model.explain_global()["age"]
    rows = people(1).iloc[[0] * 101].copy()
    rows["age"] = effect.values[0]
    scores = linear_scores(model, rows)
    np.testing.assert_allclose(scores - scores[0], effect.effect - effect.effect[0], atol=1e-9)
    rows["age"] = np.nan
    missing = linear_scores(model, rows[:1])[0] - scores[0]
    assert missing == pytest.approx(float(effect.missing_effect) - effect.effect[0], abs=1e-9)


def test_pairs_have_a_map_and_scores_of_classes_a_curve_each():
    X, y = people(), np.arange(400) % 3
    effects = DPAdditiveClassifier(**FACTS, **PAIR).fit(X, y).explain_global()
    assert effects["age"].effect.shape == (101, 3)
    assert effects["age"].noise.shape == (101,)
    assert effects["age & job"].effect.shape == (33, 3, 3)
    assert effects["age & job"].noise.shape == (33, 3)
    assert effects["age & income"].categorical == (False, False)


@pytest.mark.parametrize(
    ("solver", "epsilon"),
    [
        ("regularized_exponential", 0.5),
        ("regularized_exponential", 8.0),
        ("noisy_gd", 0.5),
        ("noisy_gd", 8.0),
        ("dp_sgd", 1.0),
        ("output_perturbation", 1.0),
    ],
)
def test_the_noise_of_refits_stays_within_its_bound(solver, epsilon):
    """A variance from 20 fits is 2.9 times the true one with probability 3e-5, for each number.

    The 404 numbers of four smooth curves vary like some 40 of them: a right bound fails in 1e-3 if
    it is attained everywhere, and curves where it is not have half of it.
    """
    X = np.random.default_rng(0).random((2000, 2))
    y = (X[:, 0] > 0.4).astype(int)
    model = DPAdditiveClassifier(
        epsilon=epsilon, bounds=(0, 1), n_terms=3, solver=solver, missing="error"
    )
    effects = [clone(model).fit(X, y) for _ in range(20)]
    bounds = np.mean([list(map(noise_of, fit.explain_global().values())) for fit in effects], 0)
    curves = [[effect.effect for effect in fit.explain_global().values()] for fit in effects]
    assert (np.var(curves, axis=0, ddof=1) < 2.9 * bounds**2).all()


def noise_of(effect):
    return effect.noise


@pytest.mark.parametrize("reference", ["low", None])
@pytest.mark.parametrize("linear_share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("data_norm", [0.4, 1.0, np.inf])
def test_the_effect_of_the_only_column_is_what_it_adds_to_predictions(
    reference, linear_share, data_norm
):
    """Also where all features are 0, as at the low end of waves."""
    X = np.random.default_rng(0).uniform(size=(20_000, 1))
    model = DPAdditiveRegressor(bounds=(0, 1), target_bounds=(0, 1), random_state=0)
    model.set_params(reference=reference, linear_share=linear_share, missing="error")
    model.fit(X, X[:, 0] ** 2)
    model.data_norm_ = data_norm
    (effect,) = model.explain_global().values()
    added = model.explain_local(effect.values[0][:, None])[:, 0]
    assert model.center_ is None
    np.testing.assert_allclose(np.diff(effect.effect), np.diff(added), atol=1e-5)


@pytest.mark.parametrize("ask", ["explain_global", "term_importances"])
def test_explanations_before_a_fit_are_refused(ask):
    with pytest.raises(NotFittedError):
        getattr(DPAdditiveClassifier(**FACTS), ask)()


def test_a_solver_without_a_known_bound_says_so():
    X, y = people(), labels(people())
    model = DPAdditiveClassifier(**FACTS, solver="objective_perturbation").fit(X, y)
    assert model.coef_noise_bound_ is None
    assert model.explain_global()["age"].noise is None
    AdditiveEffectsDisplay.from_estimator(model)


def test_the_display_takes_the_scales_of_the_model():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X = np.random.default_rng().uniform(0.0, 1e6, (200, 2))
    terms = {"bounds": (0, 1e6), "transformation": {0: 50.0}, "interactions": [(0, 1)]}
    model = DPAdditiveClassifier(**terms).fit(X, np.arange(200) % 2)
    display = AdditiveEffectsDisplay.from_estimator(model)
    scales = {ax.get_title(): (ax.get_xscale(), ax.get_yscale()) for ax in display.axes_}
    assert list(map(scales.get, "01")) == [("asinh", "linear"), ("linear", "linear")]
    assert display.effects["0"].units == (50.0,)
    (pair,) = (term for term in scales if len(term) > 1)
    assert scales[pair] == ("asinh", "linear")
    axis = display.axes_[[*scales].index("0")]
    assert axis.get_xlim() == pytest.approx((0.0, 1e6))
    assert axis.get_xticks().tolist() == [0.0, 1e2, 1e3, 1e4, 1e5, 1e6]
    matplotlib.pyplot.close("all")


def test_the_display_draws_every_term_and_classes():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X = people()
    model = DPAdditiveClassifier(**FACTS, **PAIR).fit(X, np.arange(400) % 3)
    display = AdditiveEffectsDisplay.from_estimator(model)
    assert len(display.axes_) == len(model.term_names_)
    importances = [effect.importance for effect in display.effects.values()]
    assert importances == sorted(importances, reverse=True)
    figure, axes = matplotlib.pyplot.subplots(1, 2)
    display = AdditiveEffectsDisplay.from_estimator(model, terms=["job", "age"], ax=axes)
    assert [ax.get_title() for ax in display.axes_] == ["job", "age"]
    assert display.figure_ is figure
    with pytest.raises(ValueError, match="Unknown terms"):
        AdditiveEffectsDisplay.from_estimator(model, terms=["nobody"])
    with pytest.raises(ValueError, match="2 axes"):
        AdditiveEffectsDisplay.from_estimator(model, terms=["age", "job"], ax=axes[0])
    matplotlib.pyplot.close("all")


def test_the_display_takes_a_pipeline():
    X = people(300)
    model = make_private_pipeline(DPAdditiveClassifier(**FACTS)).fit(X, labels(X))
    display = AdditiveEffectsDisplay.from_estimator(model)
    assert set(display.effects) == set(model[-1].term_names_)


def test_a_pickle_does_not_grow_with_the_square_of_the_columns():
    X = np.random.default_rng(0).uniform(size=(400, 40))
    model = DPAdditiveClassifier(bounds=(0, 1)).fit(X, np.arange(400) % 2)
    assert len(pickle.dumps(model)) < 1500 * 40
    assert pickle.loads(pickle.dumps(model)).explain_global()["7"].noise.shape == (101,)
