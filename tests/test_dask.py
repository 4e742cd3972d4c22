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
    DPGaussianNB,
    DPKMeans,
    DPLogisticRegression,
    PrivacyBudget,
)
from skdp import statistics as st
from skdp.calibration import DPCalibratedClassifier
from skdp.data.blocks import Blocks
from skdp.features import AdditiveFeatures
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import (
    BoundsScaler,
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


def labels_of(x):
    """Return labels that are cut as X is."""
    if x is ARRAY:
        return Y_ARRAY
    return dd.from_pandas(pd.Series(LABELS, FRAME.index), 3) if hasattr(x, "dask") else LABELS


def test_a_series_gives_one_number():
    found = st.mean(TABLE["a"], epsilon=1.0, bounds=(0, 1), random_state=0).value
    assert found == st.mean(FRAME["a"], epsilon=1.0, bounds=(0, 1), random_state=0).value
    assert isinstance(found, float)


def test_a_release_takes_two_round_trips(caplog):
    caplog.set_level(logging.DEBUG, "skdp.blocks")
    st.covariance(ARRAY, epsilon=1.0, bounds=(0, 1))
    assert len(caplog.records) == 2


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
