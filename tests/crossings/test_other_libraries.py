"""Verdicts of check_pipeline beside other libraries, in the versions that `.ci/crossings` installs.

Each test is skipped where its library is missing, as in the usual run of the tests.
"""

import warnings
from datetime import date

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import DPLinearRegression, DPLogisticRegression, PrivacyBudget, statistics
from skdp.exceptions import PrivacyLeakError
from skdp.model_selection import DPGridSearchCV
from skdp.pipeline import allow_replaced_fit, check_pipeline, make_private_pipeline
from skdp.preprocessing import BoundsScaler, DPStandardScaler

pytestmark = pytest.mark.filterwarnings("ignore")
X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(300, 3))
Y = (X[:, 0] > 0).astype(int)
SCALER = BoundsScaler(bounds=(-1, 1))


@pytest.fixture
def budget():
    made = PrivacyBudget(epsilon=10.0, delta=1e-5)
    yield made
    assert made.history() == []  # no check has spent


def classifier(budget=None):
    return DPLogisticRegression(classes=[0, 1], data_norm=2.0, budget=budget)


def regressor(budget=None):
    return DPLinearRegression(data_norm=2.0, target_bounds=(-2, 2), budget=budget)


def verdict(estimator):
    """Return kinds and severities; `strict` raises whatever they are, because nothing is proved."""
    leaks = check_pipeline(estimator)
    assert leaks
    with pytest.raises(PrivacyLeakError):
        check_pipeline(estimator, strict=True)
    return {(leak.kind, leak.severity) for leak in leaks}


UNKNOWN_STAGE = {("unknown stage", "high")}
NOTE = ("untested", "unknown")


def test_imbalanced_learn(budget):
    pytest.importorskip("imblearn")
    from imblearn.over_sampling import SMOTE, RandomOverSampler
    from imblearn.pipeline import make_pipeline as with_samplers
    from imblearn.under_sampling import RandomUnderSampler

    assert verdict(with_samplers(SCALER, classifier(budget))) == {NOTE}
    learning = with_samplers(StandardScaler(), classifier(budget))
    assert verdict(learning) == {NOTE, ("learns", "high")}
    for sampler in (RandomOverSampler(), SMOTE(), RandomUnderSampler()):
        assert verdict(with_samplers(sampler, classifier(budget))) == {NOTE, ("rows", "high")}
        assert verdict(sampler) == {("rows", "high")}
        with pytest.raises(PrivacyLeakError, match="rows"):
            make_private_pipeline(sampler, classifier())
        with pytest.raises(PrivacyLeakError, match="rows"):
            DPGridSearchCV(with_samplers(sampler, classifier()), {}, budget=budget).fit(X, Y)
    public = RandomOverSampler(sampling_strategy={0: 200, 1: 200})
    assert "k is at most 200" in str(check_pipeline(public))
    with pytest.raises(ValueError, match="beside the budget"):
        make_private_pipeline(with_samplers(DPStandardScaler(bounds=(-1, 1))), classifier())


def test_fairlearn(budget):
    pytest.importorskip("fairlearn")
    from fairlearn.postprocessing import ThresholdOptimizer
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient, GridSearch

    assert verdict(ThresholdOptimizer(estimator=classifier(budget))) == UNKNOWN_STAGE
    for search in (ExponentiatedGradient, GridSearch):
        assert verdict(search(classifier(budget), DemographicParity())) == UNKNOWN_STAGE


def test_mapie(budget):
    pytest.importorskip("mapie")
    from mapie.classification import CrossConformalClassifier, SplitConformalClassifier
    from mapie.regression import (
        CrossConformalRegressor,
        JackknifeAfterBootstrapRegressor,
        SplitConformalRegressor,
    )

    for kind in (CrossConformalClassifier, SplitConformalClassifier):
        assert verdict(kind(classifier(budget))) == UNKNOWN_STAGE
    for kind in (
        CrossConformalRegressor,
        JackknifeAfterBootstrapRegressor,
        SplitConformalRegressor,
    ):
        assert verdict(kind(regressor(budget))) == UNKNOWN_STAGE
        assert "exact scores" in str(check_pipeline(kind(regressor(budget))))


def test_mlxtend(budget):
    pytest.importorskip("mlxtend")
    from mlxtend.classifier import EnsembleVoteClassifier, StackingClassifier
    from mlxtend.feature_selection import SequentialFeatureSelector
    from mlxtend.regressor import StackingCVRegressor

    one, other = classifier(budget), regressor(budget)
    for estimator in (
        StackingClassifier([one], one),
        EnsembleVoteClassifier([one, one]),
        StackingCVRegressor([other], other),
        SequentialFeatureSelector(one),
    ):
        assert verdict(estimator) == UNKNOWN_STAGE


def test_feature_engine(budget):
    pytest.importorskip("feature_engine")
    from feature_engine.datetime import DatetimeOrdinal
    from feature_engine.discretisation import DecisionTreeDiscretiser
    from feature_engine.encoding import DecisionTreeEncoder, OrdinalEncoder
    from feature_engine.imputation import DropMissingData
    from feature_engine.selection import (
        DropConstantFeatures,
        DropCorrelatedFeatures,
        DropDuplicateFeatures,
        RecursiveFeatureElimination,
        SelectByShuffling,
        SmartCorrelatedSelection,
    )
    from feature_engine.transformation import BoxCoxTransformer

    for learns in (
        BoxCoxTransformer(),
        DecisionTreeDiscretiser(),
        DecisionTreeEncoder(),
        DropConstantFeatures(),
        DropCorrelatedFeatures(),
        DropDuplicateFeatures(),
        DropMissingData(),
        OrdinalEncoder(encoding_method="arbitrary"),
        SmartCorrelatedSelection(),
    ):
        assert verdict(learns) == {("learns", "high")}, learns
    for holds in (RecursiveFeatureElimination, SelectByShuffling):
        assert verdict(holds(classifier(budget))) == UNKNOWN_STAGE
    # its get_params may raise an error
    assert verdict(DatetimeOrdinal(start_date=str(date(2020, 1, 1)))) <= {
        ("untested", "medium"), NOTE
    }  # fmt: skip


def test_category_encoders():
    encoders = pytest.importorskip("category_encoders")
    from category_encoders.wrapper import NestedCVWrapper

    for learns in (
        encoders.BinaryEncoder(),
        encoders.CountEncoder(),
        encoders.OneHotEncoder(),
        encoders.OrdinalEncoder(),
        encoders.TargetEncoder(),
        NestedCVWrapper(encoders.TargetEncoder()),
    ):
        assert verdict(learns) == {("learns", "high")}, learns
    assert verdict(encoders.HashingEncoder()) <= {NOTE, ("untested", "medium")}


def test_skrub(budget):
    skrub = pytest.importorskip("skrub")
    scaler = DPStandardScaler(bounds=(-1, 1), budget=budget)
    assert verdict(skrub.ApplyToCols(scaler)) == UNKNOWN_STAGE
    for learns in (
        skrub.ApplyToCols(StandardScaler()),
        skrub.GapEncoder(),
        skrub.StringEncoder(),
        skrub.TableVectorizer(),
    ):
        assert verdict(learns) == {("learns", "high")}, learns


def test_optuna(budget):
    optuna = pytest.importorskip("optuna")
    pytest.importorskip("optuna_integration")
    from optuna_integration import OptunaSearchCV

    norms = {"data_norm": optuna.distributions.FloatDistribution(1.0, 3.0)}
    with warnings.catch_warnings(action="ignore"):
        search = OptunaSearchCV(classifier(budget), norms, n_trials=2)
    assert verdict(search) == UNKNOWN_STAGE


@pytest.fixture
def tracked(tmp_path, monkeypatch):
    pytest.importorskip("sqlalchemy")
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.sklearn")

    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.set_experiment("crossing")
    mlflow.sklearn.autolog(log_models=False)
    yield mlflow
    mlflow.sklearn.autolog(disable=True)


def logged(mlflow):
    """Return the metrics and the data sets of all runs."""
    runs = mlflow.MlflowClient().search_runs(
        [mlflow.get_experiment_by_name("crossing").experiment_id]
    )
    return [(run.data.metrics, run.inputs.dataset_inputs) for run in runs]


def test_the_autologger_of_mlflow(tracked, budget):
    models = [
        make_pipeline(SCALER, classifier(budget)),
        make_private_pipeline(SCALER, classifier(), budget=budget),
    ]
    for model in models:
        assert ("replaced", "high") in {(one.kind, one.severity) for one in check_pipeline(model)}
        with pytest.raises(PrivacyLeakError, match=r"Pipeline.fit was replaced by mlflow"):
            model.fit(X, Y)
        assert budget.history() == []
    assert all(metrics == {} for metrics, _ in logged(tracked))
    check_pipeline(StandardScaler())
    DPLogisticRegression(classes=[0, 1]).fit(X, Y)  # mlflow does not replace this fit
    n_runs = len(logged(tracked))
    make_private_pipeline(SCALER, classifier()).set_params(verbose=False)
    with pytest.raises(PrivacyLeakError):
        models[1].fit(X, Y)
    assert len(logged(tracked)) == n_runs  # a private pipeline raises before mlflow is called
    with allow_replaced_fit():
        make_pipeline(SCALER, classifier()).fit(X, Y)
    assert any("training_accuracy_score" in metrics for metrics, _ in logged(tracked))
    tracked.sklearn.autolog(disable=True)
    make_pipeline(SCALER, classifier()).fit(X, Y)


def test_a_relation_of_duckdb():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("SELECT range / 1000.0 AS age FROM range(1000)")
    mean = statistics.mean(relation, epsilon=5.0, bounds=(0, 1))
    assert abs(float(np.ravel(mean.value)[0]) - 0.5) < 0.1  # more than 100 deviations of the noise
    reader = (
        relation.to_arrow_reader() if hasattr(relation, "to_arrow_reader") else relation.arrow()
    )
    if type(reader).__name__ == "RecordBatchReader":
        with pytest.raises(ValueError, match=r"reader\.read_all\(\)"):
            statistics.mean(reader, epsilon=5.0, bounds=(0, 1))
        statistics.mean(reader.read_all(), epsilon=5.0, bounds=(0, 1))


def test_a_frame_of_narwhals():
    narwhals = pytest.importorskip("narwhals")
    pandas = pytest.importorskip("pandas")
    frame = narwhals.from_native(pandas.DataFrame(X, columns=list("abc")))
    assert classifier().fit(frame, Y).predict(frame).shape == Y.shape


def test_a_formula_learns_before_any_estimator_sees_the_rows():
    formulaic = pytest.importorskip("formulaic")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": np.r_[np.zeros(99), 1.0]})
    other = frame.replace(1.0, 101.0)  # one record
    one, moved = (formulaic.model_matrix("0 + center(age)", x) for x in (frame, other))
    assert abs(float(one.iloc[0, 0] - moved.iloc[0, 0])) == pytest.approx(1.0)


def test_skops_needs_a_list_of_trusted_types(tmp_path):
    skops = pytest.importorskip("skops.io")
    model = classifier().fit(X, Y)
    skops.dump(model, tmp_path / "model.skops")
    types = skops.get_untrusted_types(file=tmp_path / "model.skops")
    assert any(name.startswith("skdp.") for name in types)
    loaded = skops.load(tmp_path / "model.skops", trusted=types)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    skops.dump(model.to_sklearn(), tmp_path / "plain.skops")
    assert skops.get_untrusted_types(file=tmp_path / "plain.skops") == []


def test_onnx_exports_the_model_of_scikit_learn():
    convert = pytest.importorskip("skl2onnx").to_onnx
    runtime = pytest.importorskip("onnxruntime")
    model, rows = classifier().fit(X, Y), X.astype(np.float32)
    session = runtime.InferenceSession(convert(model.to_sklearn(), rows[:1]).SerializeToString())
    labels = session.run(None, {"X": rows})[0]
    assert np.mean(labels == model.predict(X)) > 0.99  # rows at the boundary are rounded
    with pytest.raises(Exception, match="shape calculator"):
        convert(model, rows[:1])


def test_a_table_of_ibis():
    ibis = pytest.importorskip("ibis")
    pandas = pytest.importorskip("pandas")
    table = ibis.memtable(pandas.DataFrame({"age": np.arange(1000) / 1000.0}))
    mean = statistics.mean(table, epsilon=5.0, bounds=(0, 1))
    assert abs(float(np.ravel(mean.value)[0]) - 0.5) < 0.1  # more than 100 deviations of the noise


def test_a_plan_of_skrub_spends_while_it_is_written():
    skrub = pytest.importorskip("skrub")
    pandas = pytest.importorskip("pandas")
    budget = PrivacyBudget(epsilon=10.0, delta=1e-5)
    scaler = DPStandardScaler(epsilon=0.5, bounds=(-1, 1), budget=budget)
    frame = pandas.DataFrame(X, columns=list("abc"))
    skrub.var("rows", frame).skb.apply(scaler)
    assert len(budget.history()) == 1  # for its preview
    skrub.var("rows").skb.apply(scaler)
    assert len(budget.history()) == 1


def test_an_explainer_of_shap_keeps_its_background():
    shap = pytest.importorskip("shap")
    explainer = shap.KernelExplainer(classifier().fit(X, Y).predict_proba, X[:20])
    np.testing.assert_array_equal(explainer.data.data, X[:20])
