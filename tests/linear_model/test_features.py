"""Linear models of public features: `features=`."""

import pickle
from dataclasses import replace
from itertools import cycle, islice

import numpy as np
import pandas as pd
import pytest
from additive_models import FACTS, JOBS, composed, labels, people
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

from skdp import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPHingeClassifier,
    DPHuberRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPQuantileRegressor,
    DPRandomForestClassifier,
    DPRandomForestRegressor,
    DPTabularClassifier,
    DPTabularRegressor,
    PrivacyBudget,
)
from skdp.features import (
    AdditiveFeatures,
    FeatureMixture,
    RandomFourierFeatures,
    RandomTreeFeatures,
)
from skdp.linear_model._records import matrix_of, rows_of
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.solvers import DPSGD

INF = float("inf")
TARGET = {"target_bounds": (0.0, 1.0)}
NUMBERS = ["age", "income"]
CURVES = AdditiveFeatures(**FACTS, n_terms=4)
WAVES = FeatureMixture(
    additive=CURVES, random=RandomFourierFeatures(**FACTS, n_components=12), additive_share=0.3
)
LEAVES = RandomTreeFeatures(**FACTS, n_trees=5, depth=3)
FOREST = FeatureMixture(additive=CURVES, random=LEAVES, additive_share=0.5)
NUMERIC = make_pipeline(
    SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True),
    BoundsScaler(bounds=[(0, 100), (0, 1e6)]),
    PolynomialFeatures(2),
)
CODED = ColumnTransformer(
    [
        ("numbers", NUMERIC, NUMBERS),
        ("job", OneHotEncoder(categories=[JOBS], handle_unknown="ignore"), ["job"]),
    ],
    sparse_threshold=0,
)
MIXED = make_union(CODED, ColumnTransformer([("curves", CURVES, ["age", "job", "income"])]))
MAPS = {
    "curves": CURVES,
    "mixture": WAVES,
    "leaves": LEAVES,
    "forest": FOREST,
    "coded": CODED,
    "union": MIXED,
}
every_map = pytest.mark.parametrize("features", MAPS.values(), ids=MAPS)
MODELS = [
    DPLogisticRegression(),
    DPHingeClassifier(),
    DPHingeClassifier(solver=DPSGD(n_steps=10)),
    DPLinearRegression(solver=DPSGD(n_steps=10), **TARGET),
    DPHuberRegressor(**TARGET),
    DPLinearRegression(**TARGET),
    DPQuantileRegressor(quantile=[0.2, 0.8], **TARGET),
]
FRONTS = [
    DPAdditiveClassifier(**FACTS, interactions=[("age", "job")], norm="blocks"),
    DPAdditiveRegressor(**FACTS, **TARGET, reference="low"),
    DPRandomForestClassifier(**FACTS, n_trees=4, transformation={"income": 1e3}),
    DPRandomForestRegressor(**FACTS, **TARGET, n_trees=4, depth=2, n_terms=3),
    DPTabularClassifier(**FACTS),
    DPTabularRegressor(**FACTS, **TARGET, transformation={"income": 1e3}),
]


def is_exact(features):
    """Whether rounding errors are bounded: not with a transformer of another library."""
    return features in (CURVES, WAVES, LEAVES, FOREST)


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def features_of(model, X):
    return dense(matrix_of(model.feature_map_, rows_of(model, X)))


def rounded(model, X):
    """Features as fits read them: levels of numbers, and phases of waves."""
    fitted = getattr(model.feature_map_, "for_fits", lambda: model.feature_map_)()
    return dense(matrix_of(fitted, rows_of(model, X))).astype(float)


@pytest.mark.parametrize("front", FRONTS, ids=lambda front: type(front).__name__)
def test_a_front_is_bit_for_bit_the_composition_that_it_is_short_for(front, neighboring):
    X, y = people(200), labels(people(200))
    front = clone(front).set_params(neighboring=neighboring, random_state=0)
    linear = composed(front).fit(X, y)
    assert type(linear).__name__ in ("DPLogisticRegression", "DPLinearRegression")
    front.fit(X, y)
    np.testing.assert_array_equal(front.coef_, linear.coef_)
    np.testing.assert_array_equal(front.predict(X), linear.predict(X))
    assert front.privacy_ == linear.privacy_
    assert len(front.get_params()) <= 21


def pairs(start):
    """Return each model with one of the maps, so that each map occurs."""
    return list(zip(MODELS, islice(cycle(MAPS.values()), start, None), strict=False))


@pytest.mark.parametrize(
    ("model", "features"), pairs(0) + pairs(2), ids=lambda value: type(value).__name__
)
def test_linear_models_take_maps_and_name_their_coefficients(model, features):
    X, y = people(300), labels(people(300))
    model = clone(model).set_params(features=features, random_state=0).fit(X, y)
    assert model.coef_.shape[-1] == model.feature_map_.n_features_out
    names = clone(features).fit(X).get_feature_names_out()
    np.testing.assert_array_equal(model.feature_map_.get_feature_names_out(), names)
    assert np.isfinite(model.predict(X)).all()
    again = pickle.loads(pickle.dumps(model)).set_params(features=None)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert "feature_map_" not in vars(again.fit(X[["age"]].fillna(0.0), y))


def test_columns_without_names_are_counted():
    curves = AdditiveFeatures(bounds=(0, 1), n_terms=1, missing="error")
    X = np.random.default_rng(0).random((50, 2))
    model = DPLogisticRegression(classes=[0, 1], features=curves).fit(X, np.arange(50) % 2)
    names = model.feature_map_.get_feature_names_out().tolist()
    assert names == ["x0", "x0_wave1", "x1", "x1_wave1"]


@every_map
def test_the_features_are_those_of_the_transformer(features):
    """Fits round features of numbers publicly; those with equal rows have the same noise."""
    X, y = people(), labels(people())
    terms = {"solver": "noisy_gd", "random_state": 0, "center": False}
    model = DPLogisticRegression(features=features, **terms).fit(X, y)
    expected = dense(clone(features).fit_transform(X)).astype(float)
    np.testing.assert_allclose(features_of(model, X), expected, atol=1e-15)
    linear = DPLogisticRegression(**terms).fit(rounded(model, X), y)
    np.testing.assert_allclose(model.coef_, linear.coef_, atol=1e-9)
    assert linear.privacy_.exact
    assert model.privacy_ == replace(linear.privacy_, exact=is_exact(features))
    ridge = {"C": 1.0, "fit_intercept": False}
    public = DPLogisticRegression(epsilon=INF, features=features, **ridge).fit(X, y)
    rows = rounded(public, X)
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    reference = LogisticRegression(tol=1e-8, max_iter=10_000, **ridge).fit(rows, y)
    np.testing.assert_allclose(public.coef_, reference.coef_, atol=1e-3)


@pytest.mark.parametrize(
    "make",
    [DPHuberRegressor, lambda **given: DPQuantileRegressor(quantile=0.5, **given)],
    ids=["huber", "quantile"],
)
def test_an_additive_robust_regressor_learns_a_curve(make, rng):
    X = rng.uniform(0, 24, size=(4000, 1))
    y = np.cos(X[:, 0] * np.pi / 12)
    given = {"epsilon": 3.0, "target_bounds": (-1, 1), "random_state": 0}
    curve = make(features=AdditiveFeatures(bounds=(0, 24)), **given).fit(X, y)
    line = make(features=BoundsScaler(bounds=(0, 24)), **given).fit(X, y)
    assert curve.score(X, y) > 0.9
    assert line.score(X, y) < 0.2


def test_parameters_of_a_map_are_searched():
    X, y = people(300), labels(people(300))
    model = DPLogisticRegression(features=CURVES)
    grid = {"features__n_terms": [1, 6], "C": [1.0]}
    found = GridSearchCV(model, grid, cv=KFold(3), error_score="raise").fit(X, y)
    sizes = {p["features__n_terms"]: p for p in found.cv_results_["params"]}
    assert sizes.keys() == {1, 6}
    assert model.features is CURVES
    assert CURVES.n_terms == 4
    assert clone(model).features is not CURVES
    mixed = DPLogisticRegression(features=WAVES).set_params(features__random__n_components=6)
    assert mixed.fit(X, y).coef_.shape[1] == mixed.feature_map_.n_features_out


@every_map
def test_the_features_of_a_row_follow_from_this_row_alone(features, rng):
    """Other rows change the types of columns, what is missing, and the order of blocks."""
    dask_frame = pytest.importorskip("dask.dataframe")
    X, y = people(60), labels(people(60))
    model = DPLogisticRegression(features=features, random_state=0).fit(X, y)
    expected = features_of(model, X)
    for i in (0, 20):
        alone = X.iloc[[i]]
        others = X.sample(5, random_state=i).assign(age=1e300, job=None, income=-3)
        integers = others.assign(age=rng.integers(0, 9, 5), income=7, job="pirate")
        for rows in ([alone], [alone, others], [alone, integers, X], [alone.astype(object), X]):
            found = features_of(model, pd.concat(rows))[0]
            np.testing.assert_allclose(found, expected[i], rtol=1e-12, atol=1e-15)
    lazy, targets = (dask_frame.from_pandas(one, npartitions=4) for one in (X, pd.Series(y)))
    again = clone(model).fit(lazy, targets)
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-6)
    found = again.decision_function(lazy).compute()
    np.testing.assert_allclose(found, again.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("features", [CURVES, WAVES, CODED], ids=["curves", "mixture", "coded"])
def test_more_rows_go_on_from_released_coefficients(features):
    X, y = people(200), labels(people(200))
    model = DPHingeClassifier(solver=DPSGD(n_steps=5), features=features, random_state=0)
    model.partial_fit(X[:100], y[:100], classes=[0, 1])
    before = model.feature_map_
    model.partial_fit(X[100:], y[100:])
    assert model.n_iter_ == 10
    assert model.feature_map_ is before


@every_map
def test_weights_and_groups_are_those_of_the_linear_model(features):
    X, y, rng = people(200), labels(people(200)), np.random.default_rng(0)
    terms = {"max_weight": 1.0, "random_state": 0, "solver": "noisy_gd", "center": False}
    model = DPLogisticRegression(features=features, **terms)
    for more in ({"sample_weight": rng.random(200)}, {"groups": np.arange(200) // 3}):
        model.fit(X, y, **more)
        linear = DPLogisticRegression(**terms).fit(rounded(model, X), y, **more)
        np.testing.assert_allclose(model.coef_, linear.coef_, atol=1e-9)
        assert linear.privacy_.exact
        assert model.privacy_ == replace(linear.privacy_, exact=is_exact(features))


class Mine(TransformerMixin, BaseEstimator):
    """A transformer of the user's own."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (StandardScaler(), "means and variances would be learned"),
        (make_pipeline(BoundsScaler(bounds=(0, 1)), StandardScaler()), "means and variances"),
        (FeatureUnion([("scaled", StandardScaler())]), "means and variances"),
        (
            ColumnTransformer([("job", OneHotEncoder(), ["job"])], sparse_threshold=0),
            "the categories would be learned",
        ),
        (ColumnTransformer([("a", "drop", ["age"])], remainder=StandardScaler()), "means"),
        (
            ColumnTransformer([("a", "passthrough", make_column_selector(dtype_include="number"))]),
            "selection of columns by type",
        ),
        (ColumnTransformer([("a", "passthrough", lambda X: [0])]), "function of the values"),
        (SplineTransformer(), "knots would be learned"),
        (FunctionTransformer(lambda X: X - X.mean(axis=0)), "FunctionTransformer"),
        (DPStandardScaler(bounds=(0, 1)), "DPStandardScaler"),
        (AdditiveFeatures, r"the class AdditiveFeatures, only an instance: AdditiveFeatures\("),
        (Mine(), "Mine, which may learn"),
        (Pipeline([("mine", Mine())]), "Mine"),
        ("auto", r"string.*AutoFeatures\("),
        (OneHotEncoder(categories=[JOBS], handle_unknown="error"), "quotes a value"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else None,
)
def test_what_may_learn_or_read_other_rows_is_refused(features, words, unspent):
    X, y = people(50), labels(people(50))
    model = DPLogisticRegression(features=features, budget=unspent)
    with pytest.raises(ValueError, match=f"(?s)features cannot.*({words}).*Nothing was spent"):
        model.fit(X, y)


def test_a_map_of_two_facts_about_one_column_is_refused():
    wrong = FeatureMixture(additive=CURVES, random=RandomTreeFeatures(**FACTS, missing="error"))
    X = people(50)
    with pytest.raises(ValueError, match="same categories and missing"):
        DPLogisticRegression(features=wrong).fit(X, labels(X))
    for parts in ({"additive": LEAVES, "random": LEAVES}, {"additive": CURVES, "random": CURVES}):
        with pytest.raises(ValueError, match="must be a"):
            DPLogisticRegression(features=FeatureMixture(**parts)).fit(X, labels(X))


@pytest.mark.parametrize("features", [CURVES, CODED], ids=["curves", "coded"])
def test_sparse_rows_and_other_columns_are_refused(features):
    X, y = people(50), labels(people(50))
    model = DPLogisticRegression(features=features)
    with pytest.raises((TypeError, ValueError), match=r"[sS]parse"):
        model.fit(sparse.csr_matrix(np.eye(50)), y)
    with pytest.raises(ValueError, match="feature names"):
        model.fit(X, y).predict(X.rename(columns={"age": "years"}))


def test_text_is_hashed_row_by_row():
    X = pd.DataFrame({"text": ["good film", "bad film"] * 200, "stars": np.arange(400) % 2})
    words = ColumnTransformer(
        [("words", HashingVectorizer(n_features=16), "text")], sparse_threshold=1
    )
    budget = PrivacyBudget(epsilon=8.0, delta=1e-5)
    model = DPLogisticRegression(epsilon=8.0, features=words, budget=budget)
    assert model.fit(X, X["stars"]).score(X, X["stars"]) == 1.0
    assert budget.price(model, X).epsilon == pytest.approx(8.0, rel=1e-3)


@pytest.mark.parametrize(
    "features",
    [
        PolynomialFeatures(degree=60),
        make_pipeline(FeatureUnion([("x", Normalizer()), ("all", PolynomialFeatures(40))])),
    ],
    ids=["powers", "a union"],
)
@pytest.mark.parametrize("value", [0.5, 1e90])
def test_no_value_is_refused_by_what_a_map_makes_of_it(features, value):
    X = np.full((20, 1), 0.25)
    X[3] = value
    DPLogisticRegression(features=features).fit(X, np.arange(20) % 2)


def test_missing_features_are_refused_before_the_spend(unspent):
    X, y = people(50), labels(people(50))
    numbers = ColumnTransformer([("numbers", "passthrough", NUMBERS)])
    with pytest.raises(ValueError, match=r"missing values.*Nothing was spent"):
        DPLogisticRegression(features=numbers, budget=unspent).fit(X, y)


@every_map
def test_no_rows_at_all_are_fitted_where_their_number_is_private(features):
    X = people(50)
    model = DPLogisticRegression(
        features=features, classes=[0, 1], neighboring="add_remove_one", n_samples_hint=50
    )
    assert model.fit(X[:0], labels(X)[:0]).predict(X).shape == (50,)


def test_errors_of_a_transformer_quote_no_value():
    X = pd.DataFrame({"a": [1.0, 2.0, "secret"] * 20})
    model = DPLogisticRegression(features=make_pipeline(PolynomialFeatures(2)))
    plain = pd.DataFrame({"a": np.linspace(0, 1, 60)})
    model.fit(plain, np.arange(60) % 2)
    for call in (lambda: model.predict(X), lambda: clone(model).fit(X, np.arange(60) % 2)):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            call()
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_features_that_are_no_rows_are_refused_before_the_spend(n_columns):
    X = pd.DataFrame(
        {f"text {j}": ["good film", "bad film"] * 20 + ["film"] for j in range(n_columns)}
    )
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, neighboring="add_remove_one")
    model = DPLogisticRegression(
        features=HashingVectorizer(n_features=4), neighboring="add_remove_one", budget=budget
    )
    with pytest.raises(ValueError, match=r"one row for each row.*Nothing was spent") as refused:
        model.fit(X, [0, 1] * 20 + [0])
    assert "41" not in str(refused.value)
    assert budget.history() == []


@pytest.mark.parametrize(
    "telling",
    [
        OneHotEncoder(categories=[["a", "b"]], handle_unknown="warn"),
        SplineTransformer(knots=np.array([[0.0], [0.5], [1.0]]), extrapolation="error"),
    ],
)
def test_what_warns_or_raises_for_some_values_is_refused(telling):
    with pytest.raises(ValueError, match="features cannot contain"):
        DPLogisticRegression(features=telling).fit([[0.1], [0.2]], [0, 1])


def test_knots_of_your_own_make_splines():
    X = np.random.default_rng(0).uniform(size=(50, 2))
    curves = SplineTransformer(knots=np.array([[0.0, 0.0], [0.5, 0.4], [1.0, 1.0]]))
    model = DPLogisticRegression(features=curves).fit(X, [0, 1] * 25)
    assert model.coef_.shape == (1, curves.fit(X).n_features_out_)
