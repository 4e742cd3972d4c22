"""What leaks beside paid releases: every verdict, where it is said, and what can't be known."""

import contextlib
import itertools
import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import stats
from sklearn import feature_selection as select
from sklearn import preprocessing as pre
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import FeatureAgglomeration, KMeans
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.decomposition import NMF, PCA, FastICA, KernelPCA, TruncatedSVD
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
from sklearn.feature_extraction import DictVectorizer, FeatureHasher, text
from sklearn.frozen import FrozenEstimator
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import (
    AdditiveChi2Sampler,
    Nystroem,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)
from sklearn.linear_model import (
    HuberRegressor,
    LogisticRegression,
    RANSACRegressor,
    Ridge,
    SGDClassifier,
)
from sklearn.manifold import Isomap
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    PredefinedSplit,
    RandomizedSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVR
from sklearn.utils import all_estimators
from sklearn.utils.fixes import parse_version

import skdp
from skdp import DPLinearRegression, DPLogisticRegression, PrivacyBudget
from skdp.calibration import DPConformalRegressor
from skdp.exceptions import PrivacyLeakError
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.pipeline import PrivatePipeline, check_pipeline, make_private_pipeline
from skdp.preprocessing import BoundsScaler, DPStandardScaler

KNOTS = np.linspace(-1.0, 1.0, 5)[:, None]
ABC = [["a", "b", "c"]]
ENCODER = pre.OneHotEncoder(categories=ABC, handle_unknown="ignore", sparse_output=False)
SPARSE = pre.OneHotEncoder(categories=ABC, handle_unknown="ignore")
MODEL = DPLogisticRegression()
BUDGET = PrivacyBudget(epsilon=3.0, delta=1e-5)
PAID = DPLogisticRegression(budget=BUDGET)
OTHER = PrivacyBudget(epsilon=3.0, delta=1e-5)
SCALER = DPStandardScaler(bounds=(0, 1))


def columns(part, **more):
    return ColumnTransformer([("part", part, [0])], **more)


SAFE = [
    pre.Binarizer(),
    columns(ENCODER),
    columns(SPARSE, sparse_threshold=0),
    columns(SPARSE, sparse_threshold=1),
    ColumnTransformer([("part", ENCODER, make_column_selector(dtype_include=object))]),
    columns("drop", remainder="passthrough"),
    text.CountVectorizer(vocabulary=["a", "b"]),
    FeatureHasher(),
    FeatureUnion([("one", pre.Binarizer()), ("two", pre.Normalizer())]),
    FrozenEstimator(pre.StandardScaler()),
    FrozenEstimator(LogisticRegression()),
    pre.FunctionTransformer(),
    pre.FunctionTransformer(np.log1p),
    GaussianRandomProjection(n_components=2),
    text.HashingVectorizer(),
    MissingIndicator(features="all"),
    MissingIndicator(features="all", sparse=False),
    pre.Normalizer(),
    pre.Normalizer(norm="max"),
    pre.OneHotEncoder(categories=ABC, handle_unknown="ignore", drop="first"),
    pre.OneHotEncoder(categories=ABC, handle_unknown="ignore", drop="if_binary"),
    SPARSE,
    pre.OrdinalEncoder(categories=ABC, handle_unknown="use_encoded_value", unknown_value=-1),
    make_pipeline(pre.Binarizer(), pre.Normalizer()),
    PolynomialCountSketch(),
    pre.PolynomialFeatures(),
    RBFSampler(gamma=1.0),
    RBFSampler(gamma=1.0, random_state=0),
    SimpleImputer(strategy="constant", keep_empty_features=True),
    SparseRandomProjection(n_components=2),
    pre.SplineTransformer(knots=KNOTS),
    pre.StandardScaler(with_mean=False, with_std=False),
    text.TfidfTransformer(use_idf=False),
    text.TfidfVectorizer(vocabulary=["a"], use_idf=False),
    TransformedTargetRegressor(
        DPLinearRegression(target_bounds=(0, 3)), func=np.log1p, inverse_func=np.expm1
    ),
    make_pipeline(BoundsScaler(bounds=(0, 1)), MODEL),
    make_private_pipeline(BoundsScaler(bounds=(0, 1)), MODEL),
    VotingClassifier([("one", PAID), ("two", PAID)]),
    VotingClassifier(
        [("one", PAID), ("two", DPLogisticRegression(budget=BUDGET.share(epsilon=1.0)))]
    ),
    VotingClassifier([("one", MODEL), ("two", "drop")]),
    OneVsRestClassifier(MODEL),
    OneVsOneClassifier(MODEL),
    OutputCodeClassifier(MODEL),
    MultiOutputClassifier(MODEL),
    ClassifierChain(MODEL),
    FixedThresholdClassifier(MODEL),
    OutputCodeClassifier(MODEL, random_state=0),  # of the code alone: its members have no seeds
    make_pipeline(DPStandardScaler(bounds=(0, 1), budget=BUDGET), PAID),
    make_private_pipeline(SCALER, MODEL),
    DPGridSearchCV(MODEL, {"C": [0.1, 1.0]}),
    select.RFE(MODEL),
    select.SelectFromModel(MODEL),
    StackingClassifier([("one", PAID)], final_estimator=PAID, cv=KFold(3)),
    StackingClassifier([("one", MODEL), ("two", MODEL)], final_estimator=PAID, cv="prefit"),
]
LEAKS = [
    columns(pre.StandardScaler()),
    ColumnTransformer([("part", ENCODER, lambda X: [0])]),
    columns(SPARSE),
    columns(ENCODER, remainder=pre.StandardScaler()),
    text.CountVectorizer(),
    DictVectorizer(),
    FastICA(),
    FeatureAgglomeration(),
    pre.FunctionTransformer(lambda X: X - X.mean(axis=0)),
    GaussianRandomProjection(),
    Isomap(),
    IterativeImputer(),
    *(pre.KBinsDiscretizer(strategy=name) for name in ("kmeans", "quantile", "uniform")),
    KMeans(),
    KNNImputer(),
    pre.KernelCenterer(),
    KernelPCA(),
    pre.MaxAbsScaler(),
    pre.MinMaxScaler(),
    MissingIndicator(),
    NMF(),
    Nystroem(),
    pre.OneHotEncoder(),
    pre.OneHotEncoder(categories=ABC),
    pre.OneHotEncoder(categories=ABC, handle_unknown="warn"),
    pre.OneHotEncoder(categories=ABC, handle_unknown="ignore", max_categories=2),
    pre.OneHotEncoder(categories=ABC, handle_unknown="ignore", min_frequency=25),
    pre.OrdinalEncoder(),
    pre.OrdinalEncoder(categories=ABC),
    pre.OrdinalEncoder(categories=ABC, min_frequency=25),
    PCA(),
    make_pipeline(pre.StandardScaler(), pre.Normalizer()),
    pre.PowerTransformer(),
    pre.QuantileTransformer(),
    RBFSampler(gamma="scale"),
    AdditiveChi2Sampler(),
    SkewedChi2Sampler(),
    SimpleImputer(strategy="constant", fill_value=np.nan, keep_empty_features=True),
    pre.OrdinalEncoder(categories=ABC, handle_unknown="use_encoded_value", unknown_value=np.nan),
    select.RFE(LogisticRegression()),
    pre.RobustScaler(),
    select.SelectFpr(),
    select.SelectFromModel(LogisticRegression()),
    select.SelectKBest(),
    select.SelectPercentile(),
    select.SequentialFeatureSelector(MODEL),
    SimpleImputer(strategy="constant", add_indicator=True, keep_empty_features=True),
    *(SimpleImputer(strategy=name) for name in ("mean", "median", "most_frequent")),
    SparseRandomProjection(),
    pre.SplineTransformer(knots="quantile"),
    pre.SplineTransformer(knots=KNOTS, extrapolation="error"),
    pre.SplineTransformer(),
    pre.StandardScaler(),
    pre.TargetEncoder(categories=ABC),
    text.TfidfTransformer(),
    text.TfidfVectorizer(vocabulary=["a"]),
    text.TfidfVectorizer(),
    TransformedTargetRegressor(Ridge()),
    TransformedTargetRegressor(
        DPLinearRegression(target_bounds=(0, 1)), transformer=pre.StandardScaler()
    ),
    TransformedTargetRegressor(
        DPLinearRegression(target_bounds=(0, 1)),
        func=lambda y: (y - y.mean()) / y.std(),
        inverse_func=np.negative,
    ),
    TruncatedSVD(),
    select.VarianceThreshold(),
    LogisticRegression(),
    DPLogisticRegression(epsilon=np.inf),
    DPLogisticRegression(random_state=0),
    GridSearchCV(MODEL, {}),
    GridSearchCV(MODEL, {}, cv=KFold(3)),
    RandomizedSearchCV(MODEL, {}),
    HalvingGridSearchCV(MODEL, {}),
    CalibratedClassifierCV(MODEL),
    TunedThresholdClassifierCV(MODEL),
    StackingClassifier([("one", MODEL)]),
    StackingClassifier([("one", MODEL)], final_estimator=MODEL),
    BaggingClassifier(MODEL),
    BaggingClassifier(MODEL, random_state=0),
    BaggingClassifier(PAID, bootstrap=False),
    BaggingRegressor(DPLinearRegression(target_bounds=(0, 1))),
    AdaBoostClassifier(MODEL),
    VotingClassifier([("one", MODEL), ("two", MODEL)]),
    VotingClassifier([("one", PAID), ("two", LogisticRegression())]),
    VotingClassifier([("one", PAID), ("two", DPLogisticRegression(budget=OTHER))]),
    StackingClassifier([("one", MODEL)], final_estimator=MODEL, cv=KFold(3)),
    make_pipeline(SCALER, MODEL),
    make_pipeline(SCALER, PAID),
    FeatureUnion([("one", SCALER), ("two", SCALER)]),
    SelfTrainingClassifier(MODEL),
    ClassifierChain(MODEL, cv=3),
    RANSACRegressor(DPLinearRegression(target_bounds=(0, 1))),
    SGDClassifier(),
    HuberRegressor(),
    SVR(),
    make_pipeline(BoundsScaler(bounds=(0, 1)), SGDClassifier()),
    select.SelectFromModel(SGDClassifier()),
    StackingClassifier([("one", MODEL)], final_estimator=SGDClassifier(), cv=KFold(3)),
    BaggingClassifier(),
    TransformedTargetRegressor(),
    ColumnTransformer([("words", text.HashingVectorizer(), 0), ("rest", "passthrough", [1])]),
]


@pytest.mark.parametrize("estimator", SAFE, ids=lambda e: type(e).__name__)
def test_nothing_is_found_where_nothing_leaks(estimator):
    assert check_pipeline(estimator) == []


@pytest.mark.parametrize("estimator", LEAKS, ids=lambda e: type(e).__name__)
def test_what_leaks_is_found_with_advice(estimator):
    leaks = check_pipeline(estimator)
    assert leaks
    assert all(leak.advice and leak.severity in ("high", "medium") for leak in leaks)
    with pytest.raises(PrivacyLeakError):
        check_pipeline(estimator, strict=True)


def test_an_empty_column_is_dropped_by_newer_versions_only():
    leaks = check_pipeline(SimpleImputer(strategy="constant"))
    assert bool(leaks) == (parse_version(sklearn.__version__) >= parse_version("1.8"))


def test_a_leak_is_found_where_it_is():
    search = GridSearchCV(
        Pipeline(
            [
                ("prepare", ColumnTransformer([("numbers", pre.StandardScaler(), [0])])),
                ("model", DPLogisticRegression(random_state=3)),
            ]
        ),
        {},
        cv=StratifiedKFold(3),
    )
    found = {(leak.path, leak.parameter, leak.kind) for leak in check_pipeline(search)}
    assert found == {
        ("", "", "scores"),
        ("", "cv", "folds"),
        ("estimator__prepare__numbers", "with_mean", "learns"),
        ("estimator__model", "random_state", "seed"),
    }


class Centered(TransformerMixin, BaseEstimator):
    """Learns the means of its columns."""

    def fit(self, X, y=None):
        self.mean_ = np.mean(X, axis=0)
        return self

    def transform(self, X):
        return X - self.mean_


class Doubled(TransformerMixin, BaseEstimator):
    """Learns nothing."""

    def fit(self, X, y=None):
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X):
        return 2.0 * np.asarray(X)


class Named(Doubled):
    """Needs a column of a certain name."""

    def fit(self, X, y=None):
        self.width_ = len(X["age"].dtype.name)
        return self


class Scaled(pre.StandardScaler):
    """A subclass leaks as its base does."""


def test_an_unknown_class_in_which_nothing_is_found_is_not_called_safe():
    (leak,) = check_pipeline(Doubled())
    assert (leak.kind, leak.severity) == ("untested", "unknown")
    assert "may on other data" in leak.advice
    with pytest.raises(PrivacyLeakError, match="may on other data"):
        check_pipeline(Doubled(), strict=True)  # which passes only what is proved


def test_public_rows_are_for_classes_that_need_certain_columns():
    (leak,) = check_pipeline(Named())
    assert "X_public" in leak.advice
    assert leak.severity == "medium"  # it learns until shown otherwise
    with pytest.raises(PrivacyLeakError, match="X_public"):
        check_pipeline(Named(), strict=True)
    (leak,) = check_pipeline(Named(), pd.DataFrame({"age": np.arange(20.0)}))
    assert "may on other data" in leak.advice


def test_a_view_shows_every_finding_and_no_markup_of_others():
    leaks = check_pipeline(make_pipeline(pre.StandardScaler(), MODEL))
    assert "StandardScaler(with_mean=...) learns" in str(leaks)
    assert "StandardScaler(with_mean=...)<br>" in leaks._repr_html_()
    assert "not a proof that there are none" in str(check_pipeline(MODEL))
    assert "not a proof that there are none" in check_pipeline(MODEL)._repr_html_()


def test_a_private_pipeline_takes_public_encoders_and_refuses_what_leaks():
    X = pd.DataFrame({"sex": ["a", "b"] * 30, "age": np.linspace(20.0, 60.0, 60)})
    y = np.arange(60) % 2
    prepare = ColumnTransformer(
        [("sex", ENCODER, ["sex"]), ("age", BoundsScaler(bounds=(0, 100)), ["age"])]
    )
    fitted = make_private_pipeline(prepare, MODEL, epsilon=1.0).fit(X, y)
    assert fitted.predict(X).shape == y.shape
    learning = ColumnTransformer([("age", pre.StandardScaler(), ["age"])])
    with pytest.raises(PrivacyLeakError, match="DPStandardScaler"):
        make_private_pipeline(learning, MODEL)


@pytest.mark.parametrize(
    "step",
    [select.SelectFromModel(MODEL), FeatureUnion([("one", select.SelectFromModel(MODEL))])],
)
def test_a_private_pipeline_refuses_a_step_with_parts_that_would_spend_beside_it(step):
    with pytest.raises(ValueError, match="beside the budget"):
        make_private_pipeline(step, MODEL)


def test_a_step_that_looks_at_other_rows_is_refused_without_tags_too():
    with pytest.raises(PrivacyLeakError, match="other rows"):
        make_private_pipeline(pre.FunctionTransformer(lambda X: X - X.mean(axis=0)), MODEL)


def doubled(X):
    return 2.0 * X


FUNCTIONS = [  # no test can prove them
    doubled,
    lambda X: X - X.mean(axis=0) if len(X) > 100 else X,
    np.nan_to_num,  # no ufunc
    np.frompyfunc(float, 1, 1),  # a ufunc of any function
    np.linalg.inv,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_only_ufuncs_of_numpy_are_proved(function):
    linear = DPLinearRegression(target_bounds=(0, 1))
    targets = TransformedTargetRegressor(linear, func=function, inverse_func=function)
    for estimator in (pre.FunctionTransformer(function), targets):
        [leak] = check_pipeline(estimator)
        assert leak.parameter == "func"
        assert leak.estimator == type(estimator).__name__
        inverts = function is np.linalg.inv
        assert leak.severity in (("high", "medium") if inverts else ("unknown",))
        with pytest.raises(PrivacyLeakError, match="func"):
            check_pipeline(estimator, strict=True)
    assert check_pipeline(targets, fit_unknown=False)[0].severity == "medium"


def test_private_pipelines_and_searches_take_functions_in_which_nothing_is_found():
    step = make_union(pre.FunctionTransformer(doubled))
    make_private_pipeline(step, MODEL)
    rows = np.random.default_rng(0).uniform(size=(60, 2))
    labels = (rows[:, 0] > 0.5).astype(int)
    DPGridSearchCV(make_pipeline(step, MODEL), {}).fit(rows, labels)
    same_name = type("FunctionTransformer", (pre.FunctionTransformer,), {})
    with pytest.raises(PrivacyLeakError, match=r"judged|untested"):
        make_private_pipeline(same_name(doubled), MODEL)


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_no_predictor_of_scikit_learn_passes_for_private(kind):
    for name, estimator in all_estimators(type_filter=kind):
        if name.startswith("PassiveAggressive"):
            continue  # deprecated in favor of SGD
        try:
            made = estimator()
        except TypeError:
            continue  # it needs another estimator, which is judged
        assert check_pipeline(made), name


def test_what_is_no_estimator_is_refused():
    with pytest.raises(ValueError, match="get_params"):
        check_pipeline("scaler")


def test_no_estimator_of_the_suite_is_unknown():
    for name in skdp.__all__:
        kind = getattr(skdp, name)
        if isinstance(kind, type) and issubclass(kind, BaseEstimator) and name.startswith("DP"):
            needs = {"bounds": (0, 1), "target_bounds": (0, 1), "categories": [["a"]]}
            given = {k: v for k, v in needs.items() if k in kind.__init__.__annotations__}
            assert check_pipeline(kind(**given)) == []


STEPS = Pipeline([("scaler", BoundsScaler(bounds=(0, 1))), ("model", MODEL)])
SEARCHES = [
    lambda grid: DPGridSearchCV(STEPS, grid),
    lambda grid: DPGridSearchCV(STEPS, [{}, grid]),
    lambda grid: DPRandomizedSearchCV(STEPS, grid),
    lambda grid: GridSearchCV(STEPS, grid, cv=KFold(3)),
    lambda grid: RandomizedSearchCV(STEPS, grid, cv=KFold(3)),
    lambda grid: HalvingGridSearchCV(STEPS, grid, cv=KFold(3)),
]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    ("grid", "path", "parameter"),
    [
        ({"scaler": ["passthrough", pre.StandardScaler()]}, "scaler", "with_mean"),
        ({"model__random_state": [None, 0]}, "model", "random_state"),
        ({"model__epsilon": [1.0, np.inf]}, "model", "epsilon"),
        ({"model": [DPLogisticRegression(random_state=0)]}, "model", "random_state"),
        ({"scaler": [ENCODER], "scaler__max_categories": [2]}, "scaler", "max_categories"),
    ],
)
def test_what_leaks_in_a_grid_is_found(search, grid, path, parameter):
    found = [leak for leak in check_pipeline(search(grid)) if leak.path]
    assert [(leak.path, leak.parameter) for leak in found] == [(f"estimator__{path}", parameter)]
    assert found[0].advice.startswith("a candidate of param_")


def test_only_settings_that_are_tried_together_are_judged():
    still = {"scaler__with_mean": [False], "scaler__with_std": [False]}
    silent = {"scaler": [pre.StandardScaler()], **still, "model__C": [0.1, 1.0]}
    wrong = {"scaler__no_such": [0]}
    drawn = {"model__C": stats.uniform(0.1, 1.0)}
    assert check_pipeline(DPRandomizedSearchCV(STEPS, silent | drawn)) == []
    assert check_pipeline(DPGridSearchCV(STEPS, wrong)) == []  # the fit says what is wrong


def test_nothing_in_a_grid_is_changed_or_said_twice():
    scaler = pre.StandardScaler()
    search = DPGridSearchCV(STEPS, {"scaler": [scaler, pre.StandardScaler()]})
    assert len(check_pipeline(search)) == 1
    assert search.param_grid["scaler"][0] is scaler
    assert isinstance(search.estimator.steps[0][1], BoundsScaler)


CURES = {
    GridSearchCV(MODEL, {}): "DPGridSearchCV",
    RandomizedSearchCV(MODEL, {}): "DPRandomizedSearchCV",
    CalibratedClassifierCV(MODEL): "DPCalibratedClassifier",
    TunedThresholdClassifierCV(MODEL): "score_report",
    BaggingClassifier(MODEL): "DPRandomForestClassifier",
    AdaBoostClassifier(MODEL): "DPAdditiveClassifier",
    pre.StandardScaler(): "DPStandardScaler",
    pre.MinMaxScaler(): "DPMinMaxScaler",
    pre.RobustScaler(): "BoundsScaler",
    SimpleImputer(): "BoundsScaler",
    PCA(): "DPPCA",
    KMeans(): "DPKMeans",
    RBFSampler(gamma="scale"): "RandomFourierFeatures",
    pre.SplineTransformer(): "AdditiveFeatures",
    select.SelectKBest(): "DPGridSearchCV",
    LogisticRegression(): "DPLogisticRegression",
    HuberRegressor(): "DPHuberRegressor",
    Ridge(): "DPLinearRegression",
    SVR(): "DPTabularRegressor",
    SGDClassifier(): "DPHingeClassifier(solver='dp_sgd')",
}


@pytest.mark.parametrize(("estimator", "cure"), CURES.items(), ids=lambda e: str(e)[:20])
def test_advice_names_what_skdp_has_in_the_place(estimator, cure):
    assert cure in str(check_pipeline(estimator))


def test_advice_for_a_predictor_of_scikit_learn_is_its_namesake_where_there_is_one():
    for name, estimator in all_estimators(type_filter=["classifier", "regressor"]):
        if f"DP{name}" in skdp.__all__:
            assert f"Use DP{name}" in str(check_pipeline(estimator())), name


def test_advice_names_nothing_that_skdp_does_not_have():
    text = str([check_pipeline(estimator) for estimator in LEAKS])
    rooms = [getattr(skdp, room) for room in skdp._MODULES]
    known = {name for room in [skdp, *rooms] for name in room.__all__}
    assert {*re.findall(r"\bDP[A-Z]\w+", text)} <= known


TABLE = pd.DataFrame({"age": [20.0, 31.0, 60.0, 45.0], "town": ["a", "b", "a", "c"]})


@pytest.mark.parametrize("cv", [None, 3, KFold(3), KFold(3, shuffle=True, random_state=0)])
def test_folds_by_position_move_records_that_others_join(cv):
    coming = DPLogisticRegression(
        neighboring="add_remove_one", budget=PrivacyBudget(epsilon=3.0, delta=1e-5)
    )
    for model in (coming, make_pipeline(pre.Normalizer(), coming)):
        found = check_pipeline(StackingClassifier([("a", model)], model, cv=cv))
        assert "add_remove_one" in str(found)
    fixed = PredefinedSplit([0, 1, 2] * 4)
    found = check_pipeline(StackingClassifier([("a", coming)], coming, cv=fixed))
    assert "add_remove_one" not in str(found)


class Mine(Pipeline):
    """The steps are known, what a subclass adds is not."""


def foreign_class(kind):
    """Return a subclass of the same name, as imbalanced-learn's Pipeline is."""
    return type(kind.__name__, (kind,), {"__module__": "another_library"})


@pytest.mark.parametrize("kind", [Mine, foreign_class(Pipeline)])
def test_a_subclass_is_its_known_base_with_one_note(kind):
    harmless = kind([("scaler", BoundsScaler(bounds=(0, 1))), ("model", MODEL)])
    (note,) = check_pipeline(harmless)
    assert (note.kind, note.severity, note.estimator) == ("untested", "unknown", kind.__name__)
    assert "its base Pipeline" in note.advice
    learning = kind([("scaler", pre.StandardScaler()), ("model", PAID)])
    assert [(leak.path, leak.kind) for leak in check_pipeline(learning)] == [
        ("scaler", "learns"),
        ("", "untested"),
    ]
    uncounted = check_pipeline(kind([("scaler", SCALER), ("model", PAID)]))
    assert [leak.kind for leak in uncounted] == ["budget", "untested"]
    with pytest.raises(ValueError, match="beside the budget"):
        make_private_pipeline(kind([("scaler", SCALER)]), MODEL)


class LearnsBeside(DPLogisticRegression):
    def fit(self, X, y, **more):
        self.mean_ = np.mean(X, axis=0)
        return super().fit(X, y, **more)


def test_a_subclass_of_a_private_model_is_not_proved():
    (note,) = check_pipeline(LearnsBeside())
    assert (note.kind, note.severity) == ("untested", "unknown")
    with pytest.raises(PrivacyLeakError, match="its base DPLogisticRegression"):
        check_pipeline(make_pipeline(BoundsScaler(bounds=(0, 1)), LearnsBeside()), strict=True)


class LearnsAnyway(pre.Normalizer):
    def fit(self, X, y=None):
        self.mean_ = np.mean(X, axis=0)
        return self


class Duck:
    """A step without parameters, which scikit-learn accepts."""

    def fit(self, X, y=None):
        self.mean_ = np.mean(X, axis=0)
        return self

    def transform(self, X):
        return X - self.mean_


def test_a_step_that_is_no_estimator_is_refused():
    with pytest.raises(PrivacyLeakError, match="Duck"):
        make_private_pipeline(Duck(), MODEL)


class Broken(Doubled):
    """Its get_params raises an error."""

    def __init__(self, start=None):
        pass

    def get_params(self, deep=True):
        raise AttributeError(f"no attribute {self.start}")


class Calibrates:
    """Neither parameters nor fit, as conformal methods of other libraries."""

    def __init__(self, model):
        self._model = model

    def fit_conformalize(self, X, y):
        raise NotImplementedError


class Combines(BaseEstimator):
    """A predictor of another library that fits a private one, and more."""

    def __init__(self, models):
        self.models = models

    def fit(self, X, y):
        raise NotImplementedError

    def predict(self, X):
        raise NotImplementedError


def test_a_private_model_inside_of_an_unknown_class_does_not_make_it_private():
    for model in (Combines([MODEL]), make_pipeline(Combines({"a": make_pipeline(MODEL)}))):
        (leak,) = check_pipeline(model)
        assert (leak.kind, leak.severity) == ("unknown stage", "high")
        assert "it can reach DPLogisticRegression; what it computes" in leak.advice
        with pytest.raises(PrivacyLeakError, match="unknown stage"):
            check_pipeline(model, strict=True)
    (leak,) = check_pipeline(Combines([]))  # it has no private part, and no fit succeeds
    assert (leak.kind, leak.severity) == ("untested", "medium")


class Resamples(BaseEstimator):
    def __init__(self, sampling_strategy="auto"):
        self.sampling_strategy = sampling_strategy

    def fit_resample(self, X, y):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("strategy", "k"), [("auto", "k depends on the rows"), ({0: 7, 1: 90}, "k is at most 90")]
)
def test_a_step_that_repeats_rows_is_named(strategy, k):
    steps = Mine([("more", Resamples(strategy)), ("model", MODEL)])
    leak, note = check_pipeline(steps)
    assert (leak.path, leak.kind, leak.severity) == ("more", "rows", "high")
    assert k in leak.advice
    assert note.severity == "unknown"
    with pytest.raises(PrivacyLeakError, match="rows"):
        make_private_pipeline(Resamples(), MODEL)


class Curious:
    def on_fit_task_begin(self, estimator):
        raise NotImplementedError

    def on_fit_task_end(self, estimator, *, X, y):
        raise NotImplementedError


def test_callbacks_that_ask_for_rows_are_named():
    steps = make_pipeline(BoundsScaler(bounds=(0, 1)), DPLogisticRegression())
    for one in (steps, steps[0], steps[1]):
        one._skl_callbacks = [Curious()]
    leaks = check_pipeline(steps)
    assert [leak.kind for leak in leaks] == ["callback"] * 3
    assert {leak.path for leak in leaks} == {"", "boundsscaler", "dplogisticregression"}
    assert all("asks for ['X', 'y']" in leak.advice for leak in leaks)


class ByPandas(TransformerMixin, BaseEstimator):
    """Keeps what a function of the frame and of the target returns."""

    def __init__(self, learn, accepts=lambda X, y: True):
        self.learn, self.accepts = learn, accepts

    def fit(self, X, y=None):
        if not self.accepts(X, y):
            raise TypeError("not for these data")
        self.kept_ = self.learn(pd.DataFrame(X), y)
        return self

    def transform(self, X):
        return X


def is_mixed(X, y):
    return isinstance(X, pd.DataFrame) and len({*map(str, X.dtypes)}) > 1


def is_column(X, y):
    return isinstance(X, pd.Series) and not pd.api.types.is_numeric_dtype(X)


def is_positive(X, y):
    return np.asarray(X).dtype.kind == "f" and (np.asarray(X) > 0).all()


def is_continuous(X, y):
    return y is not None and len({*y.tolist()}) > 10


PROVOKED = {
    "constant columns": ByPandas(lambda X, y: [*(X.nunique() == 1)]),
    "duplicated columns": ByPandas(lambda X, y: int(X.T.duplicated().sum())),
    "correlated columns": ByPandas(
        lambda X, y: int((X.corr() > 0.9).sum().sum()), lambda X, y: np.ndim(X) == 2
    ),
    "positive rows": ByPandas(lambda X, y: float(np.log(X.to_numpy()).mean()), is_positive),
    "positive frames": ByPandas(
        lambda X, y: float(np.log(X.to_numpy()).mean()),
        lambda X, y: isinstance(X, pd.DataFrame) and is_positive(X, y),
    ),
    "a continuous target": ByPandas(lambda X, y: float(np.mean(y)), is_continuous),
    "a column of strings": ByPandas(lambda X, y: sorted({*X.iloc[:, 0]}), is_column),
    "a mixed frame": ByPandas(lambda X, y: float(X["x"].mean()), is_mixed),
    "strings of a mixed frame": ByPandas(lambda X, y: sorted({*X["s"]}), is_mixed),
    "no target": ByPandas(lambda X, y: len({*X.iloc[:, 0]}), lambda X, y: y is None),
}


NUMBERS = itertools.count()
UNTESTED = {
    "one table only": ByPandas(lambda X, y: 0, lambda X, y: X[0][0] == FIRST_NUMBER),
    "other results each time": ByPandas(lambda X, y: next(NUMBERS)),
    "no table": ByPandas(lambda X, y: 0, lambda X, y: False),
}
FIRST_NUMBER = np.random.default_rng(0).exponential(size=(60, 4))[0][0] + 0.01


def test_no_transformer_of_scikit_learn_passes_unless_it_is_listed():
    proved = {"FrozenEstimator", "FunctionTransformer", *(type(one).__name__ for one in SAFE)}
    for name, kind in all_estimators(type_filter="transformer"):
        with contextlib.suppress(TypeError):  # it needs another estimator
            assert check_pipeline(kind()) or name in proved, name


LEARNS = [("", "learns", "high")]
ROWS = np.random.default_rng(0).normal(size=(30, 3))
CACHED = Pipeline([("model", MODEL)], memory="folder")
IN_SEARCH = [
    ("", "scores", "high"),
    ("estimator__scaler", "learns", "high"),
    ("", "folds", "medium"),
]
STACKED = [("", "learns", "high"), ("final_estimator", "learns", "high")]
FOUND = {
    "fitted before": (DPConformalRegressor(Ridge(), prefit=True), [("estimator", *LEARNS[0][1:])]),
    "unknown": (Centered(), LEARNS),
    "a subclass": (Scaled(), LEARNS),
    "in a pipeline": (make_pipeline(Centered(), MODEL), [("centered", "learns", "high")]),
    "no estimator": (Duck(), LEARNS),
    "no estimator in a pipeline": (make_pipeline(Duck(), MODEL), [("duck", "learns", "high")]),
    "a subclass of a safe class": (LearnsAnyway(), LEARNS),
    "a safe class elsewhere": (foreign_class(pre.Normalizer)(), [("", "untested", "unknown")]),
    "in a private search": (
        DPGridSearchCV(make_pipeline(pre.StandardScaler(), MODEL), {}),
        [("estimator__standardscaler", "learns", "high")],
    ),
    "a sum that no budget knows": (
        FixedThresholdClassifier(make_pipeline(SCALER, MODEL)),
        [("estimator", "budget", "medium")],
    ),
    "a subclass of a search": (
        foreign_class(GridSearchCV)(STEPS, {"scaler": [pre.StandardScaler()]}),
        [*IN_SEARCH, ("", "untested", "unknown")],
    ),
    "broken parameters": (make_pipeline(Broken(), MODEL), [("broken", "untested", "unknown")]),
    "neither parameters nor fit": (Calibrates(MODEL), [("", "unknown stage", "high")]),
    "stacked by a public model": (
        StackingClassifier([("one", MODEL)], final_estimator=LogisticRegression(), cv="prefit"),
        STACKED,
    ),
    "a cache": (CACHED, [("", "files", "medium")]),
    "a cache of ours": (PrivatePipeline(CACHED.steps, memory="folder"), [("", "files", "medium")]),
    "a cache in a search": (DPGridSearchCV(CACHED, {}), [("estimator", "files", "medium")]),
    "what is missing": (ByPandas(lambda X, y: X.isna().any(axis=0)), LEARNS),
    "shares of labels": (ByPandas(lambda X, y: np.bincount(y)), LEARNS),
    "towns": (ByPandas(lambda X, y: sorted(X["town"].unique())), LEARNS, TABLE),
    "the oldest": (ByPandas(lambda X, y: X["age"].max()), LEARNS, TABLE),
    "the first": (ByPandas(lambda X, y: X.iloc[0, 0]), LEARNS, TABLE),
    "public rows hide nothing": (Scaled(), LEARNS, ROWS[:, :2]),
    "rows of the user": (PROVOKED["constant columns"], LEARNS, pd.DataFrame(ROWS)),
    **{f"provoked: {name}": (one, LEARNS) for name, one in PROVOKED.items()},
    **{name: (one, [("", "untested", "medium")]) for name, one in UNTESTED.items()},
}


@pytest.mark.parametrize("name", FOUND)
def test_a_finding_has_a_place_a_kind_and_a_severity(name):
    estimator, expected, *rows = FOUND[name]
    found = check_pipeline(estimator, *rows)
    assert [(leak.path, leak.kind, leak.severity) for leak in found] == expected
    assert all(leak.parameter == "memory" for leak in found if leak.kind == "files")
