"""A fit of Dask collections is the fit of the same rows in memory, bit by bit."""

import logging
import os
import signal
import warnings
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from linear_models import HUBER, LEAST_SQUARES, QUANTILE
from scipy import sparse
from sklearn.model_selection import GridSearchCV

from skdp import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPHingeClassifier,
    DPLogisticRegression,
    DPRandomForestRegressor,
    DPTabularClassifier,
    PrivacyBudget,
)
from skdp.data.blocks import Blocks
from skdp.exceptions import IncompatibleSolverError
from skdp.features import RandomFourierFeatures
from skdp.research.solvers.coordinate_descent import CoordinateDescent
from skdp.solvers import DPSGD, SOLVERS, NoisyGD, RegularizedExponential

pytestmark = pytest.mark.usefixtures("one_thread")

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

RNG = np.random.default_rng(0)
N, D = 900, 4
X = RNG.normal(size=(N, D))
CODES = (X[:, 0] + 0.3 * RNG.normal(size=N) > 0).astype(int)
LABELS = np.array(["no", "yes"])[CODES]
SEVERAL = np.sort(np.digitize(X[:, 1], [-0.5, 0.5]))  # most blocks have one class
NUMBERS = np.clip(X[:, 0] - X[:, 1], -1.0, 1.0)
WEIGHTS = RNG.random(N)
CHUNKS = {"one": (900,), "some": (400, 400, 100), "uneven": (1, 0, 299, 600), "many": (90,) * 10}
FRAME = pd.DataFrame(X, columns=list("abcd"), index=np.arange(1000, 1000 + N))
SETTINGS = {"epsilon": 1.0, "random_state": 0}
BLOCKWISE = [name for name, kind in SOLVERS.items() if kind().takes_blocks]


def lazy(values, chunks=CHUNKS["some"]):
    return da.from_array(values, chunks=(chunks, *(-1,) * (values.ndim - 1)))


def assert_equal_fits(model, memory, blocks):
    one = model.fit(*memory)
    coef, intercept = one.coef_, one.intercept_
    other = model.fit(*blocks)
    np.testing.assert_array_equal(other.coef_, coef)
    np.testing.assert_array_equal(other.intercept_, intercept)
    return other


def model_of(solver, **more):
    """Return the model that a solver is shown with."""
    if solver == "adassp":
        return LEAST_SQUARES(solver=solver, **SETTINGS, **more), NUMBERS
    return DPLogisticRegression(solver=solver, **SETTINGS, **more), LABELS


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("name", ["regularized_exponential", "phased_sgd"])
def test_how_the_rows_are_cut_does_not_matter(chunks, name):
    """For other solvers `test_bits.py` shows it of the exact sums."""
    model, y = model_of(name)
    assert_equal_fits(model, (X, y), (lazy(X, chunks), lazy(y, chunks)))


@pytest.mark.parametrize("sampler", ["proximal", "exact", "langevin", "proximal_tv"])
def test_samplers(sampler):
    model = DPLogisticRegression(
        solver="regularized_exponential", sampler=sampler, C=1e-3, **SETTINGS
    )
    assert_equal_fits(model, (X[:80], LABELS[:80]), (lazy(X)[:80], lazy(LABELS)[:80]))


def frames(X, y):
    names = pd.Series(y, index=X.index, name="y")
    return dd.from_pandas(X, npartitions=4), dd.from_pandas(names, npartitions=4)


FORMS = {
    "frame": ((FRAME, LABELS), frames(FRAME, LABELS)),
    "frame, y in memory": ((FRAME, LABELS), (frames(FRAME, LABELS)[0], LABELS)),
    "unknown chunks": (
        (X, CODES),
        tuple(one.to_dask_array() for one in frames(FRAME, CODES)),
    ),
    "cut columns": ((X, LABELS), (da.from_array(X, chunks=(400, 3)), lazy(LABELS))),
    "sparse": (
        (sparse.csr_matrix(X * (X > 1)), LABELS),
        (lazy(X * (X > 1)).map_blocks(sparse.csr_matrix), lazy(LABELS)),
    ),
    "float32": ((X.astype("f4"), LABELS), (lazy(X.astype("f4")), lazy(LABELS))),
    "integers": ((CODES[:, None], LABELS), (lazy(CODES[:, None]), lazy(LABELS))),
    "weights": ((X, LABELS, WEIGHTS), (lazy(X), lazy(LABELS), lazy(WEIGHTS))),
    "sorted classes": ((X, SEVERAL), (lazy(X), lazy(SEVERAL))),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", ["noisy_gd", "regularized_exponential"])
def test_forms_of_rows_and_targets(form, solver):
    memory, blocks = FORMS[form]
    model = DPLogisticRegression(solver=solver, max_weight=0.5, **SETTINGS)
    fitted = assert_equal_fits(model, memory, blocks)
    found = fitted.predict(blocks[0])
    assert dask.is_dask_collection(found)
    np.testing.assert_array_equal(found.compute(), fitted.predict(memory[0]))
    for method in (fitted.decision_function, fitted.predict_proba):
        np.testing.assert_allclose(method(blocks[0]).compute(), method(memory[0]), atol=1e-12)


TABLES = {"bounds": (-1.0, 1.0), **SETTINGS}
MODELS = {
    "hinge": (DPHingeClassifier(**SETTINGS), LABELS),
    "sgd": (DPHingeClassifier(solver=DPSGD(n_steps=20), **SETTINGS), LABELS),
    "least squares": (LEAST_SQUARES(**SETTINGS), NUMBERS),
    "huber": (HUBER(solver="noisy_gd", **SETTINGS), NUMBERS),
    "median": (QUANTILE(solver="noisy_gd", **SETTINGS), NUMBERS),
    "quantiles": (QUANTILE(quantile=[0.2, 0.8], solver="noisy_gd", **SETTINGS), NUMBERS),
    "additive": (DPAdditiveClassifier(solver="noisy_gd", **TABLES), LABELS),
    "additive, classes": (DPAdditiveClassifier(solver="noisy_gd", **TABLES), SEVERAL),
    "bounds by histograms": (DPAdditiveClassifier(bounds="auto", **SETTINGS), LABELS),
    "roots": (
        DPAdditiveRegressor(target_bounds=(-1, 1), target_transform="sqrt", **TABLES),
        NUMBERS,
    ),
    "waves": (
        DPLogisticRegression(
            features=RandomFourierFeatures(bounds=TABLES["bounds"]), solver="noisy_gd", **SETTINGS
        ),
        LABELS,
    ),
    "forest": (DPRandomForestRegressor(target_bounds=(-1, 1), **TABLES), NUMBERS),
    "tabular": (DPTabularClassifier(solver="noisy_gd", **TABLES), LABELS),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_and_their_lazy_predictions(name):
    model, y = MODELS[name]
    rows, targets = frames(FRAME, y)
    fitted = assert_equal_fits(model, (FRAME, y), (rows, targets))
    found = fitted.predict(rows).compute()
    expected = fitted.predict(FRAME)
    if expected.dtype.kind == "f":  # up to the order in which BLAS adds
        np.testing.assert_allclose(found, expected, atol=1e-12)
    else:
        np.testing.assert_array_equal(found, expected)
    if found.ndim == 1:
        assert found.index.equals(FRAME.index)
    if hasattr(fitted, "explain_local"):
        found = fitted.explain_local(rows).compute()
        np.testing.assert_allclose(found, fitted.explain_local(FRAME), atol=1e-12)


def test_local_explanations_of_arrays():
    for y in (LABELS, SEVERAL):
        fitted = DPAdditiveClassifier(solver="noisy_gd", **TABLES).fit(X, y)
        found, expected = fitted.explain_local(lazy(X)), fitted.explain_local(X)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.compute(), expected, atol=1e-12)


def test_more_rows_go_on_from_released_coefficients():
    one, other = (DPHingeClassifier(solver=DPSGD(n_steps=5), **SETTINGS) for _ in range(2))
    for start in (0, 450):
        rows = slice(start, start + 450)
        one.partial_fit(X[rows], LABELS[rows], classes=["no", "yes"])
        other.partial_fit(lazy(X)[rows], lazy(LABELS)[rows], classes=["no", "yes"])
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.n_iter_ == other.n_iter_ == 10


# -- round trips ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "most"),
    [
        (NoisyGD(n_steps=20), 23),  # with the matrix AᵀA, the counts of classes and the checks
        (DPSGD(n_steps=20), 21),
        ("adassp", 3),
        ("phased_sgd", 3),  # with the counts of classes
        ("objective_perturbation", 40),
    ],
    ids=repr,
)
def test_round_trips(solver, most, caplog):
    caplog.set_level(logging.DEBUG, "skdp.blocks")
    model, y = model_of(solver)
    model.set_params(epsilon=0.5, center=False)  # without a search for the range of the targets
    model.fit(lazy(X), lazy(y))
    assert len(caplog.records) <= most


def test_a_search_for_the_range_of_the_targets_is_one_more_round_trip(caplog):
    caplog.set_level(logging.DEBUG, "skdp.blocks")
    model, y = model_of("adassp")
    model.set_params(center=False).fit(lazy(X), lazy(y))
    assert len(caplog.records) == 4


# -- what is refused -----------------------------------------------------------------------------


def with_nan(values, row):
    values = values.copy()
    values[row] = np.nan
    return lazy(values)


HINGE = partial(DPHingeClassifier, solver="noisy_gd")
REFUSED = {
    "NaN in one block": (HINGE, with_nan(X, 850), lazy(LABELS), r"In block 2 .* column 0 has miss"),
    "NaN in y": (
        partial(LEAST_SQUARES, solver="noisy_gd"),
        lazy(X),
        with_nan(NUMBERS, 500),
        "In block 1 of the rows: y has missing",
    ),
    "an infinity": (HINGE, lazy(np.where(X[3, 2] == X, np.inf, X)), lazy(LABELS), "In block 0 .*2"),
    "another label": (partial(HINGE, classes=["no", "?"]), lazy(X), lazy(LABELS), "outside class"),
    "one class": (HINGE, lazy(X), lazy(np.full(N, "no")), "at least two classes"),
    "no targets": (HINGE, lazy(X), None, "requires y"),
    "no rows": (HINGE, lazy(X)[:0], lazy(LABELS)[:0], "0 sample"),
    "text": (
        HINGE,
        dd.from_pandas(FRAME.assign(c="x"), npartitions=3),
        lazy(LABELS, (300,) * 3),
        "In block 0 .* strings",
    ),
    "coordinates": (
        partial(HINGE, solver=CoordinateDescent()),
        lazy(X),
        lazy(LABELS),
        r"'noisy_gd', .*'proximal', 'exact'",
    ),
    "all scores": (
        partial(DPLogisticRegression, solver="regularized_exponential", sampler="localized"),
        lazy(X),
        lazy(LABELS),
        "needs all rows in memory",
    ),
    "a solver that does not say": (
        partial(HINGE, solver=type("Mine", (NoisyGD,), {"takes_blocks": False})()),
        lazy(X),
        lazy(LABELS),
        "cannot read blocks",
    ),
    "no privacy": (partial(HINGE, epsilon=np.inf), lazy(X), lazy(LABELS), "a finite epsilon"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_before_the_spend(name, unspent):
    Model, rows, targets, message = REFUSED[name]
    with pytest.raises((ValueError, IncompatibleSolverError), match=message) as caught:
        Model(budget=unspent).fit(rows, targets)
    assert "Nothing was spent." in str(caught.value)


def test_what_does_not_fit_into_memory_is_read_anew_each_time(monkeypatch):
    monkeypatch.setattr("skdp.data.engine.KEPT_LOCALLY", 0)
    model, y = model_of("noisy_gd")
    assert_equal_fits(model, (X, y), (lazy(X).map_blocks(np.copy), lazy(y)))


# -- a cluster -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    own = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**own) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def on_cluster(client):
    with dask.config.set(scheduler=client):
        yield client


SHORT = {"noisy_gd": NoisyGD(n_steps=5), "dp_sgd": DPSGD(n_steps=5)}


@pytest.mark.parametrize("name", sorted({*BLOCKWISE} - {"auto", "exponential_mechanism"}))
def test_every_solver_learns_on_a_cluster(name, on_cluster):
    model, y = model_of(SHORT.get(name, name))
    if name == "adassp":
        model, y = model_of(name)
    if name == "regularized_exponential":
        model.set_params(solver=RegularizedExponential().with_sampler("exact"), C=1e-3)
    assert_equal_fits(model, (X, y), (lazy(X), lazy(y).persist()))


def test_a_worker_that_dies_loses_nothing(on_cluster, monkeypatch):
    model, y = model_of(NoisyGD(n_steps=20))
    expected, gather, reads = model.fit(X, y).coef_, Blocks.gather, []

    def gather_after_a_death(*args):
        reads.append(1)
        if len(reads) == 10:
            os.kill(next(iter(on_cluster.run(os.getpid).values())), signal.SIGKILL)
        return gather(*args)

    monkeypatch.setattr(Blocks, "gather", gather_after_a_death)
    np.testing.assert_array_equal(model.fit(lazy(X), lazy(y)).coef_, expected)
    assert len(reads) > 20


def test_all_fits_of_a_search_on_the_cluster_are_on_one_ledger(on_cluster, tmp_path):
    budget = PrivacyBudget(epsilon=10.0, delta=1e-4, path=tmp_path / "ledger.db")
    search = GridSearchCV(HINGE(epsilon=0.5, budget=budget), {"data_norm": [0.5, 1.0]}, cv=2)
    with joblib.parallel_backend("dask"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        search.fit(X, LABELS)
    assert len(budget.history()) == 5
