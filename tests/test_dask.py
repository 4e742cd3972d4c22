"""What rests on sums gives the same release on Dask collections as in memory, bit by bit."""

import logging
import os
import pickle
import signal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skdp import (
    DPPCA,
    DPCategoricalNB,
    DPGaussianNB,
    DPKMeans,
    DPLogisticRegression,
    DPMixedNB,
    DPTreeDensity,
    DPTreeNB,
    PrivacyBudget,
)
from skdp import statistics as st
from skdp.calibration import DPCalibratedClassifier
from skdp.data.blocks import Blocks
from skdp.features import AdditiveFeatures
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import (
    BoundsScaler,
    DPMinMaxScaler,
    DPQuantileClipper,
    DPStandardScaler,
    RowClipper,
)

pytestmark = pytest.mark.usefixtures("one_thread")

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

rng = np.random.default_rng(0)
X = rng.random((400, 3))
X[7, 1] = np.nan
FRAME = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(1000, 1400))
LABELS = np.where(X[:, 0] > 0.5, "yes", "no")
SEX = pd.Series(rng.choice(["f", "m"], 400), index=FRAME.index, name="sex")
MIXED = FRAME.assign(sex=SEX)
ARRAY = da.from_array(X, chunks=(150, 2))
TABLE = dd.from_pandas(FRAME, npartitions=3)
Y_ARRAY = da.from_array(LABELS, chunks=150)

STATISTICS = {
    "count": lambda x, **k: st.count(x > 0.5, **k).value,
    "sum": lambda x, **k: st.sum(x, bounds=(0, 1), **k).value,
    "mean": lambda x, **k: st.mean(x, bounds=(0, 1), **k).value,
    "variance": lambda x, **k: st.variance(x, bounds=(0, 1), **k).value,
    "covariance": lambda x, **k: st.covariance(x, bounds=(0, 1), **k).value,
    "quantile": lambda x, **k: st.quantile(x, q=[0.1, 0.5], bounds=(0, 1), **k).value,
    "histogram": lambda x, **k: st.histogram(x, edges=[[0, 0.5, 1]] * 3, **k).value,
    "PCA": lambda x, **k: DPPCA(bounds=(0, 1), n_components=2, **k).fit(x).components_,
    "PCA's variances": lambda x, **k: DPPCA(bounds=(0, 1), **k).fit(x).explained_variance_,
    "clusters": lambda x, **k: DPKMeans(bounds=(0, 1), n_clusters=2, **k).fit(x).cluster_centers_,
    "standard": lambda x, **k: DPStandardScaler(bounds=(0, 1), **k).fit(x).scale_,
    "minimum": lambda x, **k: DPMinMaxScaler(bounds=(0, 1), **k).fit(x).data_min_,
    "clipper": lambda x, **k: DPQuantileClipper(bounds=(0, 1), **k).fit(x).high_,
    "naive Bayes": lambda x, **k: (
        DPGaussianNB(bounds=(0, 1), classes=["no", "yes"], **k).fit(x, labels_of(x)).theta_
    ),
    "density": lambda x, **k: DPTreeDensity(bounds=(0, 1), **k).fit(x).sample(50, 0),
    "tree naive Bayes": lambda x, **k: (
        DPTreeNB(bounds=(0, 1), **k).fit(x, labels_of(x)).sample(50, 0)[0]
    ),
}

GAUSSIAN = {"PCA", "PCA's variances", "clusters", "density", "tree naive Bayes"}


def labels_of(x):
    """Return labels that are cut as X is."""
    if x is ARRAY:
        return Y_ARRAY
    return dd.from_pandas(pd.Series(LABELS, FRAME.index), 3) if hasattr(x, "dask") else LABELS


@pytest.mark.parametrize("name", STATISTICS)
def test_releases_are_those_of_memory(name, neighboring):
    release = STATISTICS[name]
    delta = 1e-5 if name in GAUSSIAN else 0.0  # 0 is planned at once
    terms = {"epsilon": 1.0, "delta": delta, "random_state": 0, "neighboring": neighboring}
    for memory, lazy in ((X, ARRAY), (FRAME, TABLE), (X, TABLE.to_dask_array())):
        np.testing.assert_array_equal(release(lazy, **terms), release(memory, **terms))


def test_a_series_gives_one_number():
    found = st.mean(TABLE["a"], epsilon=1.0, bounds=(0, 1), random_state=0).value
    assert found == st.mean(FRAME["a"], epsilon=1.0, bounds=(0, 1), random_state=0).value
    assert isinstance(found, float)


@pytest.mark.parametrize("name", ["count", "sum", "mean", "variance", "quantile"])
def test_groups_are_those_of_memory(name):
    """By a column's name, by a lazy column, and by one in memory."""
    lazy = dd.from_pandas(MIXED, npartitions=3)
    more = {"q": 0.5} if name == "quantile" else {}
    terms = {"keys": ["m", "f"], "epsilon": 1.0, "delta": 0.0, "random_state": 0} | more
    terms |= {} if name == "count" else {"bounds": (0, 1)}
    numbers = ["a", "b", "c"]
    known, rows = (t[numbers] > 0.5 if name == "count" else t[numbers] for t in (MIXED, lazy))
    expected = getattr(st, name)(known, by=MIXED["sex"], **terms)
    for by in (lazy["sex"], MIXED["sex"]):
        found = getattr(st, name)(rows, by=by, **terms)
        np.testing.assert_array_equal(found.value, expected.value)
    assert found.to_frame().index.names[0] == "sex"
    if name != "count":
        np.testing.assert_array_equal(
            getattr(st, name)(lazy, by="sex", **terms).value, expected.value
        )


def test_a_release_takes_two_round_trips(caplog):
    caplog.set_level(logging.DEBUG, "skdp.blocks")
    st.covariance(ARRAY, epsilon=1.0, bounds=(0, 1))
    assert len(caplog.records) == 2


@pytest.mark.parametrize("weighted", [False, True])
def test_mixed_naive_bayes(neighboring, weighted):
    model = DPMixedNB(
        epsilon=1.0,
        delta=0.0,
        bounds=dict.fromkeys("abc", (0, 1)),
        categories={"sex": ["f", "m"]},
        max_weight=2.0,
        neighboring=neighboring,
        random_state=0,
    )
    weights = rng.random(400) if weighted else None
    lazy = dd.from_pandas(MIXED, npartitions=3)
    expected = model.fit(MIXED, LABELS, weights).predict_proba(MIXED)
    fitted = model.fit(lazy, labels_of(lazy), weights)
    np.testing.assert_array_equal(fitted.predict_proba(MIXED), expected)
    np.testing.assert_array_equal(fitted.predict_proba(lazy).compute(), expected)


def test_categorical_naive_bayes_of_an_array_of_codes():
    codes = rng.integers(0, 3, (400, 2))
    model = DPCategoricalNB(epsilon=1.0, categories=[0, 1, 2], random_state=0)
    expected = model.fit(codes, LABELS).predict_proba(codes)
    found = model.fit(da.from_array(codes, chunks=(150, 1)), Y_ARRAY).predict_proba(codes)
    np.testing.assert_array_equal(found, expected)


def test_without_privacy_naive_bayes_is_that_of_memory_up_to_rounding():
    whole = np.nan_to_num(X)
    model = DPGaussianNB(epsilon=np.inf)
    expected = model.fit(whole, LABELS, np.arange(400.0)).theta_
    lazy = da.from_array(whole, chunks=150)
    np.testing.assert_allclose(model.fit(lazy, Y_ARRAY, np.arange(400.0)).theta_, expected)


def test_predictions_are_lazy_and_keep_the_index():
    model = DPGaussianNB(epsilon=1.0, bounds=(0, 1), random_state=0).fit(FRAME, LABELS)
    expected = model.predict(FRAME)
    of_frame = model.predict(TABLE)
    computed = of_frame.compute()
    assert computed.index.equals(FRAME.index)
    np.testing.assert_array_equal(computed, expected)
    of_array = model.fit(X, LABELS).predict(TABLE.to_dask_array())
    assert isinstance(of_array, da.Array)
    assert of_array.dtype == expected.dtype
    np.testing.assert_array_equal(of_array.compute(), model.predict(X))


TRANSFORMERS = {
    "bounds": BoundsScaler(bounds=(0, 1), missing="indicator"),
    "standard": DPStandardScaler(bounds=(0, 1), random_state=0),
    "additive": AdditiveFeatures(bounds=(0, 1)),
    "components": DPPCA(bounds=(0, 1), n_components=2, random_state=0),
    "clusters": DPKMeans(bounds=(0, 1), n_clusters=2, random_state=0),
}


def test_models_with_equal_parameters_are_told_apart():
    """As dataclasses they had one name in Dask's graph, and one of them predicted for both."""
    models = [DPLogisticRegression(random_state=0).fit(X[:, :1], y) for y in (LABELS, LABELS[::-1])]
    lazy = [model.decision_function(ARRAY[:, :1]) for model in models]
    for model, found in zip(models, dask.compute(*lazy), strict=True):
        np.testing.assert_array_equal(found, model.decision_function(X[:, :1]))


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformed_collections(name):
    model = TRANSFORMERS[name]
    expected = model.fit(FRAME).transform(FRAME)
    expected = expected.toarray() if sparse.issparse(expected) else expected
    found = model.fit(TABLE).transform(TABLE)
    assert isinstance(found, dd.DataFrame)
    assert list(found.columns) == list(model.get_feature_names_out())
    computed = found.compute()
    assert computed.index.equals(FRAME.index)
    np.testing.assert_array_equal(computed, expected)
    array = model.fit(ARRAY).transform(ARRAY)
    assert array.shape == expected.shape
    computed = array.compute()
    computed = computed.toarray() if sparse.issparse(computed) else computed
    np.testing.assert_array_equal(computed, expected)


def test_rows_are_clipped_where_they_are():
    full = da.from_array(np.ones((6, 4)), chunks=(2, 2))
    np.testing.assert_allclose(RowClipper(max_norm=1.0).fit(full).transform(full).compute(), 0.5)


def test_columns_have_to_be_those_of_the_fit():
    scaler = DPStandardScaler(bounds=(0, 1), random_state=0).fit(TABLE)
    with pytest.raises(ValueError, match="feature names"):
        scaler.transform(TABLE[["a", "c", "b"]])


def test_a_pipeline_of_private_steps_spends_one_budget():
    steps = DPStandardScaler(bounds=(0, 1)), DPGaussianNB(bounds=(-10, 10))
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, composition="gdp")
    model = make_private_pipeline(*steps, budget=budget).fit(TABLE, labels_of(TABLE))
    assert 0.9 < budget.spent.epsilon <= 1.0
    assert len(model.predict(TABLE)) == 400


@pytest.mark.parametrize("solver", ["noisy_gd", "regularized_exponential"])
def test_a_scaler_and_a_linear_model_give_the_bits_of_memory(solver):
    def fitted(x, y):
        steps = DPStandardScaler(bounds=(0, 1)), DPLogisticRegression(solver=solver)
        model = make_private_pipeline(*steps, epsilon=2.0)
        for step in model:
            step.set_params(budget=None, random_state=0)
        return model.fit(x, y)

    whole, lazy = fitted(FRAME, LABELS), fitted(TABLE, labels_of(TABLE))
    np.testing.assert_array_equal(lazy[-1].coef_, whole[-1].coef_)
    predicted = lazy.predict(TABLE).compute()
    np.testing.assert_array_equal(predicted, whole.predict(FRAME))
    assert predicted.index.equals(FRAME.index)


def test_workers_see_neither_the_budget_nor_the_seed(monkeypatch):
    model = DPGaussianNB(
        epsilon=1.0, bounds=(0, 1), budget=PrivacyBudget(epsilon=3.0, delta=1e-5, path=None)
    )
    model.fit(ARRAY, Y_ARRAY)
    model.random_state = 123456789
    sent = pickle.dumps(dict(model.predict(ARRAY).__dask_graph__()))
    assert b"PrivacyBudget" not in sent
    assert (123456789).to_bytes(4, "little") not in sent


def with_nan(block_of=300):
    labels = np.arange(400.0) % 2
    labels[block_of] = np.nan
    return da.from_array(labels, chunks=150)


def two_types(n):
    return pd.Series([0, 1] * 50 if n == 100 else LABELS[:n])


def naive(X, y, bounds=(0, 1), **more):
    return lambda b: DPGaussianNB(epsilon=1.0, bounds=bounds, budget=b, **more).fit(X, y)


def average(x):
    return lambda b: st.mean(x, epsilon=1.0, bounds=(0, 1), budget=b)


LABELS_OF_TWO_TYPES = dd.from_map(two_types, [150, 150, 100], meta=pd.Series([], dtype=object))
PUBLIC = DPGaussianNB(bounds=(0, 1)).fit(X, LABELS)
STEPS = BoundsScaler(bounds=(0, 1)), DPGaussianNB(bounds=(-1, 1))
UNREADABLE = "cannot read data outside of memory"
REFUSED = {
    "NaN in one block": (naive(ARRAY, with_nan()), "In block 2 of the rows: y has missing values"),
    "another label": (naive(ARRAY, Y_ARRAY, classes=["no", "?"]), "outside classes"),
    "labels of two types": (naive(ARRAY, LABELS_OF_TWO_TYPES), "labels of one type"),
    "text in one block": (
        average(dd.from_pandas(MIXED, npartitions=2)),
        "column 'sex' contains strings",
    ),
    "sparse blocks": (average(ARRAY.map_blocks(sparse.csr_matrix)), "dense data are required"),
    "no rows": (average(TABLE[TABLE.a > 2.0]), "at least one row"),
    "without privacy": (
        lambda b: DPPCA(epsilon=np.inf, bounds=(0, 1), budget=b).fit(ARRAY),
        f"DPPCA {UNREADABLE}",
    ),
    "a classifier of anybody": (
        lambda b: DPCalibratedClassifier(PUBLIC, budget=b).fit(ARRAY, Y_ARRAY),
        f"DPCalibratedClassifier {UNREADABLE}",
    ),
    "a scaler that refuses what is missing": (
        lambda b: make_private_pipeline(*STEPS, budget=b).fit(ARRAY, Y_ARRAY),
        "column 1 has missing values",
    ),
    "a lazy frame of polars": (average(pl.DataFrame({"a": [1.0]}).lazy()), r"call \.collect\(\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_before_the_spend(name, unspent):
    release, message = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=rf"(?s)({message}).*Nothing was spent"):
        release(unspent)


def test_a_fit_that_dies_while_it_reads_stays_spent(monkeypatch):
    monkeypatch.setattr("skdp.data.engine.KEPT_LOCALLY", 0)
    budget, reads = PrivacyBudget(epsilon=3.0, delta=1e-5), []

    def worse(values):
        reads.append(1)
        return values + len(reads)

    with pytest.raises(ValueError, match="changed between two reads"):
        st.mean(ARRAY.map_blocks(worse, meta=X[:0]), epsilon=1.0, bounds=(0, 1), budget=budget)
    assert budget.spent.epsilon == pytest.approx(1.0, rel=0.01)


def test_set_output_is_not_for_collections():
    scaler = BoundsScaler(bounds=(0, 1), missing="middle").set_output(transform="pandas")
    with pytest.raises(ValueError, match="set_output"):
        scaler.fit(TABLE).transform(TABLE)


def test_a_cluster_gives_the_same_bits_also_when_a_worker_dies():
    distributed = pytest.importorskip("distributed")
    terms = {"bounds": (0, 1), "random_state": 0}
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        dask.config.set(scheduler=client),
    ):
        found = st.mean(ARRAY, epsilon=1.0, delta=0.0, **terms).value
        np.testing.assert_array_equal(found, st.mean(X, epsilon=1.0, delta=0.0, **terms).value)
        blocks = Blocks.of(ARRAY.persist(), LABELS)
        blocks.check(shape_of)
        before = blocks.gather(sum_of)
        os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)
        assert blocks.gather(sum_of) == before
        labels = (
            DPGaussianNB(epsilon=1.0, delta=0.0, **terms)
            .fit(TABLE, LABELS)
            .predict(TABLE)
            .compute()
        )
    expected = DPGaussianNB(epsilon=1.0, delta=0.0, **terms).fit(FRAME, LABELS).predict(FRAME)
    np.testing.assert_array_equal(labels, expected)


def shape_of(block):
    return block.X.shape


def sum_of(block):
    return float(np.nansum(block.X)), len(block.y)


def test_the_score_of_clusters_is_a_sum_over_blocks():
    model = DPKMeans(bounds=(0, 1), n_clusters=2, random_state=0).fit(X)
    assert model.score(ARRAY) == pytest.approx(model.score(X), rel=1e-12)


def test_keys_in_blocks_need_rows_in_blocks(budget):
    """They were read as no keys at all: each count was 0, after the spend."""
    by = da.from_array(np.arange(6) % 3, chunks=2)
    with pytest.raises(ValueError, match="by is a dask collection, but condition is in memory"):
        st.count(np.ones(6, dtype=bool), by=by, keys=[0, 1, 2], epsilon=0.5, budget=budget)
    assert len(budget.history()) == 0
