"""Spark data frames: rows without an order, tasks that fail, and what is refused."""

import contextlib
import importlib.util
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_engines import BOUNDS, FRAME, GAUSSIAN, NUMBERS, SECRET, TABLE, TERMS, spark

from skdp import DPPCA, DPGaussianNB, DPLogisticRegression, PrivacyBudget
from skdp import statistics as st
from skdp.data.spark import SparkBlocks
from skdp.solvers import DPSGD

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(
        not (importlib.util.find_spec("pyspark") and shutil.which("java")), reason="no Spark"
    ),
]


def frame(table=None):
    return spark().createDataFrame(TABLE.select(NUMBERS) if table is None else table)


@pytest.fixture
def read_anew(monkeypatch):
    """Let every read compute all rows."""
    monkeypatch.setattr(SparkBlocks, "kept", lambda blocks: blocks)
    monkeypatch.setattr("skdp.data.spark._NUMBERS", 2**14)


def in_another_order():
    """Return a function of batches. Workers cannot import those of this module."""

    def rows(batches):
        rng = np.random.default_rng()
        for batch in batches:
            yield batch.take(pa.array(rng.permutation(batch.num_rows)))

    return rows


def dies_once(folder, read):
    """Return a function of batches, whose worker dies in one of the reads."""

    def rows(batches):
        for batch in batches:
            with contextlib.suppress(FileExistsError):
                (folder / str(len(os.listdir(folder)))).open("x").close()
            if len(os.listdir(folder)) == read:
                os._exit(1)
            yield batch

    return rows


def test_another_order_changes_nothing(read_anew):
    source = frame().mapInArrow(in_another_order(), frame().schema)
    found = st.covariance(source, **BOUNDS, **TERMS).value
    np.testing.assert_array_equal(
        found, st.covariance(TABLE.select(NUMBERS), **BOUNDS, **TERMS).value
    )


def test_a_lost_worker_changes_nothing(read_anew, tmp_path):
    """Its task is tried again. The budget pays once."""
    source = frame().mapInArrow(dies_once(tmp_path, 15), frame().schema)
    budget = PrivacyBudget(epsilon=3.0, delta=1e-6)
    found = st.mean(source, epsilon=1.0, budget=budget, **BOUNDS)
    assert len(os.listdir(tmp_path)) > 15
    assert budget.spent.epsilon == pytest.approx(1.0)
    assert np.abs(found.value - FRAME[NUMBERS].mean()).max() < 1e-3 + 20 / len(FRAME)


def test_a_fit_is_the_same_in_any_order(read_anew):
    table = TABLE.select([*NUMBERS, "sex"])
    model = DPLogisticRegression(solver=DPSGD(n_steps=3), **GAUSSIAN)
    source = frame(table)
    shuffled = source.mapInArrow(in_another_order(), source.schema)
    first, second = (model.fit(x, "sex").coef_ for x in (source, shuffled.repartition(3)))
    np.testing.assert_array_equal(first, second)


def test_rows_that_change_are_found_and_stay_paid(read_anew):
    def noisy(batches):
        for batch in batches:
            columns = [pa.array(np.random.default_rng().random(batch.num_rows)) for _ in NUMBERS]
            yield pa.RecordBatch.from_arrays(columns, names=NUMBERS)

    budget = PrivacyBudget(epsilon=3.0, delta=1e-6)
    with pytest.raises(ValueError, match="changed between two reads"):
        st.mean(frame().mapInArrow(noisy, frame().schema), epsilon=1.0, budget=budget, **BOUNDS)
    assert budget.spent.epsilon == pytest.approx(1.0)


def test_nothing_stays_in_the_memory_of_spark():
    before = len(spark().sparkContext._jsc.getPersistentRDDs())
    st.mean(frame(), **BOUNDS, **TERMS)
    assert len(spark().sparkContext._jsc.getPersistentRDDs()) == before


def test_zeros_and_nans_of_all_kinds_have_one_place(read_anew):
    values = np.array([0.0, -0.0, np.nan, -np.nan, 0.5] * 2000)
    source = frame(pa.table({"a": values})).mapInArrow(in_another_order(), "a double")
    asked = {"bounds": (-1, 1), "missing": "skip"} | TERMS
    found = st.mean(source, **asked).value
    np.testing.assert_array_equal(found, st.mean(pd.DataFrame({"a": values}), **asked).value)


def fails():
    def rows(batches):
        raise ValueError(SECRET)

    return rows


REFUSED = {
    "a failed task": (
        lambda b: st.mean(frame().mapInArrow(fails(), "a double"), epsilon=1.0, budget=b, **BOUNDS),
        "cannot be read: PythonException",
    ),
    "strings": (
        lambda b: st.mean(frame(TABLE.select(["a", "sex"])), epsilon=1.0, budget=b, **BOUNDS),
        "column 'sex' contains strings",
    ),
    "a column": (
        lambda b: DPGaussianNB(**BOUNDS, budget=b).fit(frame(), frame()["a"]),
        "y must be the name of a column",
    ),
    "another frame": (
        lambda b: DPGaussianNB(**BOUNDS, budget=b).fit(frame(), FRAME["sex"]),
        "y must be the name of a column",
    ),
    "arrays": (
        lambda b: st.mean(frame(pa.table({"a": [[0.5]]})), epsilon=1.0, budget=b, **BOUNDS),
        "",
    ),
    "without privacy": (
        lambda b: DPPCA(epsilon=np.inf, **BOUNDS, budget=b).fit(frame()),
        "DPPCA cannot read",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_costs_nothing(name):
    fit, message = REFUSED[name]
    budget = PrivacyBudget(epsilon=3.0, delta=1e-6)
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        fit(budget)
    assert "Nothing was spent." in str(caught.value)
    assert SECRET not in str(caught.value)
    assert budget.spent.epsilon == 0.0


def test_predictions_are_made_in_a_function_of_spark():
    table = TABLE.select([*NUMBERS, "sex"])
    model = DPGaussianNB(**BOUNDS, **TERMS).fit(frame(table), "sex")
    with pytest.raises(ValueError, match="predict cannot return the rows of a Spark data frame"):
        model.predict(frame(table))
    columns = [*NUMBERS]

    def predicted(batches):
        for batch in batches:
            guess = model.predict(pa.Table.from_batches([batch]).select(columns))
            yield pa.RecordBatch.from_arrays([pa.array(guess)], names=["guess"])

    found = frame(table).mapInArrow(predicted, "guess string").toPandas()["guess"]
    assert sorted(found) == sorted(model.predict(FRAME[NUMBERS]))


@pytest.mark.parametrize("library", ["duckdb", "pyspark"])
def test_the_examples_of_the_page_run(library, tmp_path, monkeypatch):
    pytest.importorskip(library)
    page = Path(__file__).parents[1] / "docs" / "large_data.md"
    if not page.exists():
        pytest.skip("needs a checkout")
    blocks = page.read_text().split("```{code-block} python\n")
    (code,) = (one.split("\n", 1)[1].split("```")[0] for one in blocks if f"{library}" in one[:150])
    (tmp_path / "visits").mkdir()
    ages = FRAME["a"] * 100.0
    table = pa.table({"age": ages, "cost": FRAME["b"], "sick": ages > 50.0})
    parquet.write_table(table, tmp_path / "visits" / "0.parquet")
    monkeypatch.chdir(tmp_path)  # of this process; that of Java stays where it is
    spark()  # the session of all tests
    found = {}
    exec(code.replace('"visits"', repr(str(tmp_path / "visits"))), found)
    if library == "duckdb":
        assert abs(found["mean"].value - ages[ages >= 18.0].mean()) < 1.0
    else:
        rows = found["visits"].mapInArrow(found["predict"], "cost double, guess boolean")
        assert rows.count() == len(FRAME)
