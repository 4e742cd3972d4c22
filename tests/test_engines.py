"""The conformance suite of engines: the same releases as in memory from any layout of the rows.

A new engine is a line of `ENGINES`: a function of tables, one for each block, and a folder.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from functools import cache, reduce
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skdp import (
    DPPCA,
    DPGaussianNB,
    DPKMeans,
    DPLinearRegression,
    DPLogisticRegression,
    DPTreeDensity,
    PrivacyBudget,
    metrics,
)
from skdp import statistics as st
from skdp.data.arrow import Stored
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.solvers import DPSGD, NoisyGD

pytestmark = pytest.mark.usefixtures("one_thread")

pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")
csv = pytest.importorskip("pyarrow.csv")
dd = pytest.importorskip("dask.dataframe")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

N = 20_000
SECRET = "SECRET"
rng = np.random.default_rng(0)
FRAME = pd.DataFrame(rng.random((N, 3)), columns=["a", "b", "c"]).assign(
    d=rng.integers(0, 2, N), w=rng.random(N), sex=rng.choice(["f", "m"], N)
)
FRAME["who"] = rng.choice(rng.integers(-(2**60), 2**60, 4000), N)  # a person of each row
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)
NUMBERS = ["a", "b", "c"]


def of_dask(tables, folder):
    frames = [table.to_pandas() for table in tables]
    return dd.from_map(lambda i: frames[i], range(len(frames)), meta=frames[0][:0])


def of_function(tables, folder):
    return lambda: (batch for table in tables for batch in table.to_batches() or [empty(table)])


SPARK = importlib.util.find_spec("pyspark") and shutil.which("java")


@cache
def spark():
    """Return the one session, in which tasks are tried three times, and blocks are short."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2,3]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "3000")
    return builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()


def of_spark(tables, folder):
    frames = [spark().createDataFrame(table) for table in tables if len(table) or len(tables) == 1]
    return reduce(type(frames[0]).unionByName, frames)


def empty(table):
    return pa.RecordBatch.from_pylist([], schema=table.schema)


def of_files(format, write):
    def dataset(tables, folder):
        for i, table in enumerate(tables):
            write(table, folder / f"{i:05}")
        return ds.dataset(folder, format=format, schema=tables[0].schema)

    return dataset


ENGINES = {
    "dask": of_dask,
    "function": of_function,
    "parquet": of_files("parquet", lambda t, at: parquet.write_table(t, at, row_group_size=7000)),
    "feather": of_files("feather", lambda t, at: feather.write_feather(t, str(at))),
    "csv": of_files("csv", lambda t, at: csv.write_csv(t, at)),
    "table": lambda tables, folder: ds.dataset(pa.concat_tables(tables)),
    "scanner": lambda tables, folder: ds.dataset(pa.concat_tables(tables)).scanner(batch_size=999),
} | ({"spark": of_spark} if SPARK else {})
LAYOUTS = {
    "one block": [N],
    "single rows": [*[1] * 20, N - 20],
    "empty blocks": [0, 0, 5000, 0, N - 5000, 0],
    "unequal": [16384, 1, 3000, N - 19385],
}


@pytest.fixture(params=ENGINES)
def engine(request, tmp_path):
    return lambda tables: ENGINES[request.param](tables, tmp_path)


@pytest.fixture(params=[name for name in ENGINES if name not in ("dask", "spark")])
def batches(request, tmp_path):
    return lambda tables: ENGINES[request.param](tables, tmp_path)


def cut(table, lengths):
    ends = np.cumsum([0, *lengths])
    return [table.slice(int(a), n) for a, n in zip(ends, lengths, strict=False)]


TERMS = {"epsilon": 1.0, "delta": 0.0, "random_state": 0}
GAUSSIAN = {"epsilon": 1.0, "delta": 1e-7, "random_state": 0}
BOUNDS = {"bounds": (0, 1)}
STATISTICS = {
    "mean": (NUMBERS, lambda x, **who: st.mean(x, **BOUNDS, **TERMS, **who)),
    "integers": (["d"], lambda x, **who: st.sum(x, **BOUNDS, **TERMS, **who)),
    "variance": (NUMBERS, lambda x, **who: st.variance(x, **BOUNDS, **TERMS, **who)),
    "covariance": (NUMBERS, lambda x, **who: st.covariance(x, **BOUNDS, **TERMS, **who)),
    "quantile": (
        NUMBERS,
        lambda x, **who: st.quantile(x, q=[0.1, 0.5], **BOUNDS, **TERMS, **who),
    ),
    "histogram": (["a"], lambda x, **who: st.histogram(x, edges=[[0, 0.5, 1]], **TERMS, **who)),
    "by integers": (
        [*NUMBERS, "d"],
        lambda x, **who: st.mean(x, by="d", keys=[0, 1], **BOUNDS, **TERMS, **who),
    ),
    "by strings": (
        ["a", "sex"],
        lambda x, **who: st.mean(x, by="sex", keys=["f", "m"], **BOUNDS, **TERMS, **who),
    ),
    "marginals": (
        ["sex"],
        lambda x, **who: st.marginals(x, categories={"sex": ["f", "m"]}, **TERMS, **who),
    ),
    "description": (
        ["a", "sex"],
        lambda x, **who: st.describe(
            x, bounds={"a": (0, 1)}, categories={"sex": ["f", "m"]}, **TERMS, **who
        ),
    ),
}
UNSUPERVISED = {
    "components": lambda x, **who: DPPCA(**BOUNDS, **GAUSSIAN).fit(x, **who).components_,
    "clusters": lambda x, **who: DPKMeans(n_clusters=2, max_iter=2, **BOUNDS, **GAUSSIAN).fit(
        x, **who
    ),
    "scaler": lambda x, **who: DPStandardScaler(**BOUNDS, **TERMS).fit(x, **who).scale_,
    "density": lambda x, **who: DPTreeDensity(**BOUNDS, **GAUSSIAN).fit(x, **who).sample(50, 0),
}
SUPERVISED = {
    "naive Bayes": (["a", "b", "sex"], DPGaussianNB(**BOUNDS, **TERMS), "theta_"),
    "descent": ([*NUMBERS, "sex"], DPLogisticRegression(**GAUSSIAN), "coef_"),
    "regression": (
        [*NUMBERS, "d"],
        DPLinearRegression(solver="adassp", target_bounds=(0, 1), **GAUSSIAN),
        "coef_",
    ),
}


def values_of(found):
    found = getattr(found, "value", getattr(found, "cluster_centers_", found))
    return list(found.values()) if isinstance(found, dict) else found


OF_PERSONS = STATISTICS | {name: (NUMBERS, release) for name, release in UNSUPERVISED.items()}


@cache
def found_in_memory(name, groups=None):
    columns, release = OF_PERSONS[name]
    return values_of(release(TABLE.select(columns), groups=groups and TABLE[groups]))


SHORT = {"noisy_gd": NoisyGD(5), "dp_sgd": DPSGD(10)}


@cache
def fitted_in_memory(name="descent", solver=None):
    columns, model, _ = SUPERVISED[name]
    fitted = clone(model).set_params(**({"solver": SHORT[solver]} if solver else {}))
    return fitted.fit(TABLE.select(columns[:-1]), TABLE[columns[-1]])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_statistics_are_those_of_memory(engine, layout):
    lazy = engine(cut(TABLE.select(NUMBERS), LAYOUTS[layout]))
    found = STATISTICS["covariance"][1](lazy).value
    np.testing.assert_array_equal(found, found_in_memory("covariance"))


@pytest.mark.parametrize("name", STATISTICS)
def test_every_statistic_is_that_of_memory(engine, name):
    columns, release = STATISTICS[name]
    lazy = engine(cut(TABLE.select(columns), LAYOUTS["unequal"]))
    np.testing.assert_array_equal(values_of(release(lazy)), found_in_memory(name))


def test_a_count_of_conditions(batches):
    table = pa.table({"old": FRAME["a"] > 0.5, "d": FRAME["d"]})
    lazy = batches(cut(table, LAYOUTS["unequal"]))
    found = st.count(lazy, by="d", keys=[1], **TERMS)
    expected = st.count(table, by="d", keys=[1], **TERMS)
    np.testing.assert_array_equal(found.value, expected.value)


@pytest.mark.parametrize("name", UNSUPERVISED)
def test_models_are_those_of_memory(engine, name):
    lazy = engine(cut(TABLE.select(NUMBERS), LAYOUTS["unequal"]))
    found = values_of(UNSUPERVISED[name](lazy))
    np.testing.assert_array_equal(found, found_in_memory(name))


@pytest.mark.parametrize(("engine", "turn"), [*zip(ENGINES, count())], indirect=["engine"])
@pytest.mark.parametrize("name", SUPERVISED)
def test_targets_are_named_columns(engine, turn, name):
    columns, model, learned = SUPERVISED[name]
    layout = ["single rows", "empty blocks"][(turn + [*SUPERVISED].index(name)) % 2]
    lazy = engine(cut(TABLE.select(columns), LAYOUTS[layout]))
    found, expected = clone(model).fit(lazy, columns[-1]), fitted_in_memory(name)
    np.testing.assert_array_equal(getattr(found, learned), getattr(expected, learned))
    if not (hasattr(lazy, "dask") or hasattr(lazy, "mapInArrow")):  # there X must be without y
        predicted = expected.predict(TABLE.select(columns[:-1]))
        np.testing.assert_array_equal(found.predict(lazy), predicted)


def test_weights_are_a_named_column(engine):
    model = DPLogisticRegression(max_weight=1.0, **GAUSSIAN)
    columns = [*NUMBERS, "w", "sex"]
    lazy = engine(cut(TABLE.select(columns), LAYOUTS["unequal"]))
    found = model.fit(lazy, "sex", sample_weight="w").coef_
    expected = model.fit(TABLE.select(NUMBERS), TABLE["sex"], FRAME["w"]).coef_
    np.testing.assert_array_equal(found, expected)


EVERY_SECOND = [
    (one, name) for i, one in enumerate(ENGINES) for j, name in enumerate(OF_PERSONS) if (i + j) % 2
]
"""Each release of persons from half of the engines: all take every column and these persons."""


@pytest.mark.parametrize(("engine", "name"), EVERY_SECOND, indirect=["engine"])
def test_persons_are_those_of_memory(engine, name, monkeypatch):
    monkeypatch.setattr("skdp.data.blocks._OF_PERSONS", 2**18)
    columns, release = OF_PERSONS[name]
    lazy = engine(cut(TABLE.select([*columns, "who"]), LAYOUTS["unequal"]))
    found = values_of(release(lazy, groups="who"))
    np.testing.assert_array_equal(found, found_in_memory(name, "who"))


LABELS = {"classes": [0, 1]} | TERMS
METRICS = {  # one column is as good as a table of one
    "labels": (["d", "g"], lambda y, x, **who: metrics.confusion_report(y, x, **LABELS, **who)),
    "accuracy": (["d", "g"], lambda y, x, **who: metrics.dp_accuracy_score(y, x, **TERMS, **who)),
    "log-loss": (["d", "a"], lambda y, x, **who: metrics.dp_log_loss(y, x, **LABELS, **who)),
    "scores": (["d", "a"], lambda y, x, **who: metrics.score_report(y, x, **LABELS, **who)),
    "every class": (
        ["d", "a", "b"],
        lambda y, x, **who: metrics.one_vs_rest_report(y, x, **LABELS, **who).reports[0],
    ),
    "errors": (
        ["a", "b"],
        lambda y, x, **who: metrics.dp_mean_absolute_error(
            y, x, target_bounds=(0, 1), **TERMS, **who
        ),
    ),
}


@pytest.mark.parametrize("groups", [None, "who"])
@pytest.mark.parametrize("name", METRICS)
def test_metrics_are_those_of_memory(engine, name, groups):
    (truth, *others), release = METRICS[name]
    columns = [truth, *others, *filter(None, [groups])]
    table = TABLE.append_column("g", pa.array(FRAME["a"] > 0.5).cast("int64"))
    lazy = engine(cut(table.select(columns), LAYOUTS["unequal"]))
    found, expected = (
        getattr(one, "counts", getattr(one, "value", None))
        for one in (
            release(truth, lazy, groups=groups),
            release(table[truth], table.select(others), groups=groups and table[groups]),
        )
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kept", [2**30, 0])
def test_persons_of_a_supervised_fit(engine, kept, monkeypatch):
    monkeypatch.setattr("skdp.data.blocks._OF_PERSONS", 2**18)
    monkeypatch.setattr("skdp.data.engine.KEPT_LOCALLY", kept)
    lazy = engine(cut(TABLE.select([*NUMBERS, "who", "sex"]), LAYOUTS["unequal"]))
    model = DPGaussianNB(**BOUNDS, **TERMS)
    found = model.fit(lazy, "sex", groups="who").theta_
    expected = model.fit(TABLE.select(NUMBERS), TABLE["sex"], groups=TABLE["who"]).theta_
    np.testing.assert_array_equal(found, expected)
    assert str(model.privacy_.unit) == "person"


def test_a_sample_of_persons_is_brought_to_memory(engine, monkeypatch):
    monkeypatch.setattr("skdp.data.blocks._OF_PERSONS", 2**18)
    table = TABLE.select([*NUMBERS, "who"]).append_column("y", pa.array(FRAME["a"] > 0.5))
    model = DPLogisticRegression(subsample=0.5, max_rows=2, **GAUSSIAN | {"epsilon": 5.0})
    model.fit(engine(cut(table, LAYOUTS["unequal"])), "y", groups="who")
    assert str(model.privacy_.unit) == "person"
    assert model.coef_[0, 0] > 2.0 * np.abs(model.coef_[0, 1:]).max()


def test_persons_without_an_id_cost_nothing(engine):
    table = pa.table({"a": [0.5] * 30, "who": [1, None, 2] * 10})
    budget = PrivacyBudget(epsilon=3.0, delta=1e-6, unit="person")
    with pytest.raises(ValueError, match=r"groups has missing values.* Nothing was spent\.$"):
        st.mean(engine([table]), groups="who", epsilon=1.0, budget=budget, **BOUNDS)
    assert budget.spent.epsilon == 0.0


@pytest.mark.filterwarnings("ignore::skdp.exceptions.FewRowsWarning")
@pytest.mark.parametrize("groups", [None, "who"])
@pytest.mark.parametrize("name", ["integers", "by strings", "marginals"])
def test_no_rows_cost_what_rows_cost(engine, name, groups, monkeypatch):
    """Where the number of rows is private, whether there are any is private, too."""
    monkeypatch.setitem(TERMS, "random_state", None)
    columns, release = STATISTICS[name]
    spent = []
    for rows in (slice(0, 30), slice(0, 0)):
        unit = "record" if groups is None else "person"
        terms = {"epsilon": 3.0, "delta": 1e-6, "neighboring": "add_remove_one", "unit": unit}
        budget = PrivacyBudget(**terms)
        lazy = engine([TABLE.select([*columns, *filter(None, [groups])])[rows]])
        release(lazy, groups=groups, neighboring="add_remove_one", budget=budget)
        spent.append(budget.spent.epsilon)
    assert spent[0] == spent[1] > 0.0


def test_errors_number_the_partitions_of_the_user_alone(engine):
    """Other blocks end after a private number of rows, or are sorted by value."""
    table = pa.table({"a": [0.5] * 20_001, "who": [*range(20_000), None]})
    lazy = engine([table])
    with pytest.raises(ValueError, match="groups has missing values") as found:
        st.mean(lazy, groups="who", **BOUNDS, **TERMS)
    place = "In block 0 of the rows: " if hasattr(lazy, "dask") else "In the rows: "
    assert str(found.value).startswith(place)


def test_rows_that_do_not_fit_are_read_again(engine, monkeypatch):
    monkeypatch.setattr("skdp.data.engine.KEPT_LOCALLY", 0)
    for solver in SHORT:
        model = DPLogisticRegression(solver=SHORT[solver], **GAUSSIAN)
        lazy = engine(cut(TABLE.select([*NUMBERS, "sex"]), LAYOUTS["unequal"]))
        if solver == "dp_sgd" and hasattr(lazy, "mapInArrow"):
            continue  # its rows have other numbers, so a sample has other rows
        found = model.fit(lazy, "sex").coef_
        np.testing.assert_array_equal(found, fitted_in_memory(solver=solver).coef_)


def test_missing_values_and_indicators(engine):
    table = pa.table({"a": [0.5, None, 0.25, None] * 100, "k": [1, None, 2, 3] * 100})
    lazy = engine(cut(table, [0, 7, 1, 392]))
    asked = {"bounds": (0, 3), "missing": "skip"} | TERMS
    np.testing.assert_array_equal(st.mean(lazy, **asked).value, st.mean(table, **asked).value)


def test_transformed_rows_are_in_memory(batches):
    X = TABLE.select(NUMBERS)
    lazy = batches(cut(X, LAYOUTS["unequal"]))
    scaler = BoundsScaler(bounds=(0, 1))
    np.testing.assert_array_equal(scaler.fit(lazy).transform(lazy), scaler.fit(X).transform(X))


class Reads:
    """A function of batches that counts its calls, and changes what it returns."""

    def __init__(self, change=lambda n, batches: batches, columns=NUMBERS):
        self.n, self.change = 0, change
        self.batches = TABLE.select(columns).to_batches(max_chunksize=9000)

    def __call__(self):
        self.n += 1
        return iter(self.change(self.n, self.batches))


@pytest.mark.parametrize(("kept", "n"), [(2**30, 3), (0, 4)])
def test_a_statistic_takes_one_pass_besides_the_check(monkeypatch, kept, n):
    """The schema and the check come first. Rows that are not kept are tried a second time."""
    monkeypatch.setattr("skdp.data.engine.KEPT_LOCALLY", kept)
    reads = Reads()
    st.mean(reads, **BOUNDS, **TERMS)
    assert reads.n == n


def no_file(**given):
    raise OSError


ROOM = {  # of the disk, and how often rows are read: for the schema, two checks, and passes
    "enough": ("disk_usage", lambda at: SimpleNamespace(free=2**40), 4),
    "none": ("disk_usage", lambda at: SimpleNamespace(free=2**17), 50),
    "no folder": ("TemporaryFile", no_file, 50),
}


@pytest.mark.parametrize("room", ROOM)
def test_many_passes_read_the_source_once(monkeypatch, room):
    """The rows are then in a temporary file, unless the disk has no room."""
    name, replacement, n = ROOM[room]
    monkeypatch.setattr("skdp.data.engine.KEPT_LOCALLY", 0)
    monkeypatch.setattr(f"skdp.data.arrow.{name}", replacement)
    reads = Reads(columns=[*NUMBERS, "sex"])
    found = DPLogisticRegression(**GAUSSIAN).fit(reads, "sex").coef_
    assert reads.n == n if n < 50 else reads.n >= 15
    np.testing.assert_array_equal(found, fitted_in_memory().coef_)


@pytest.mark.parametrize("room", ROOM)
def test_persons_are_brought_together_by_one_pass(monkeypatch, room):
    name, replacement, n = ROOM[room]
    monkeypatch.setattr("skdp.data.engine.KEPT_LOCALLY", 0)
    monkeypatch.setattr("skdp.data.blocks._OF_PERSONS", 2**17)
    monkeypatch.setattr(f"skdp.data.arrow.{name}", replacement)
    reads = Reads(columns=["a", "who"])
    found = st.mean(reads, groups="who", **BOUNDS, **TERMS).value
    assert reads.n == n - 1 if n < 50 else reads.n >= 7
    expected = st.mean(TABLE.select(["a"]), groups=TABLE["who"], **BOUNDS, **TERMS).value
    np.testing.assert_array_equal(found, expected)


def test_values_without_a_pickle_or_of_many_bytes_are_computed_again(monkeypatch):
    """A fit would otherwise end after it was paid."""
    for make, largest in ((lambda k: lambda: k, 2**30), (lambda k: np.full(4000, k), 2**14)):
        monkeypatch.setattr("skdp.data.arrow._LARGEST", largest)
        stored = Stored(3, lambda make=make: map(make, range(3)))
        assert [len([*stored.every()]) for _ in range(2)] == [3, 3]
        assert stored._file is None


@pytest.mark.parametrize("room", [2**40, 2**17, 0])
def test_values_of_many_blocks_take_one_file_which_ends_with_them(monkeypatch, room):
    """However many are held at once, and however often they are read without room for them."""
    opened = []

    def make(**given):
        opened.append(TemporaryFile(**given))  # noqa: SIM115
        return opened[-1]

    monkeypatch.setattr("skdp.data.arrow.TemporaryFile", make)
    monkeypatch.setattr("skdp.data.arrow.disk_usage", lambda at: SimpleNamespace(free=room))
    stored = Stored(300, lambda: ((k, np.full(4000, k)) for k in range(300)))
    next(stored.every())  # a read that ends early
    for _ in range(3):
        held = [*stored.every(2, 1)]
        assert [number for number, _ in held] == [*range(1, 300, 2)]
        assert all((values == number).all() and values.size == 4000 for number, values in held)
    assert len(opened) == (1 if room == 0 else 2)
    assert sum(not file.closed for file in opened) == (room == 2**40)
    del stored
    assert all(file.closed for file in opened)


CHANGES = {
    "fewer rows": lambda n, batches: batches[:-1] if n > 3 else batches,
    "more rows": lambda n, batches: batches * 2 if n > 3 else batches,
    "no batches": lambda n, batches: batches if n <= 3 else [],
    "other values": lambda n, batches: batches[::-1] if n > 3 else batches,
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_between_reads_is_found(name, monkeypatch):
    monkeypatch.setattr("skdp.data.engine.KEPT_LOCALLY", 0)
    budget = PrivacyBudget(epsilon=3.0, delta=1e-6)
    with pytest.raises(ValueError, match="changed between two reads"):
        st.mean(Reads(CHANGES[name]), epsilon=1.0, budget=budget, **BOUNDS)
    assert budget.spent.epsilon > 0.0


def other_type(n, batches):
    table = pa.Table.from_batches(batches[2:3])
    table = table.set_column(0, "a", pa.array([SECRET] * len(batches[2])))
    return [*batches[:2], *table.to_batches()]


def csv_with(value, folder):
    (folder / "rows.csv").write_text("a\n" + "0.5\n" * 400_000 + f"{value}\n")
    return ds.dataset(folder, format="csv")


def types_apart(folder):
    parquet.write_table(pa.table({"a": [0.5]}), folder / "0")
    parquet.write_table(pa.table({"a": [SECRET]}), folder / "1")
    return ds.dataset(folder)


def raises(n, batches):
    raise KeyError(SECRET)


def once(reader):
    return lambda: reader


READER = "can be read only once"
REFUSED = {
    "a reader": (lambda _: TABLE.to_reader(), READER),
    "an iterator": (lambda _: iter(TABLE.to_batches()), READER),
    "a function of one reader": (lambda _: once(TABLE.select(NUMBERS).to_reader()), READER),
    "a function of an iterator": (lambda _: once(iter(Reads().batches)), READER),
    "a scanner of a reader": (
        lambda _: ds.Scanner.from_batches(TABLE.select(NUMBERS).to_reader()),
        READER,
    ),
    "no batches": (lambda _: lambda: [], "returned no record batch"),
    "rows in lists": (lambda _: lambda: [[0.5, SECRET]], "record batches, got a list"),
    "nothing": (lambda _: lambda: None, "cannot be read: TypeError"),
    "another type": (lambda _: Reads(other_type), "batch 2 .* types differ"),
    "a missing column": (
        lambda _: Reads(lambda n, b: [b[0], b[1].select(["a", "c"])]),
        r"batch 1 .* those of the first batch, \['a', 'b', 'c'\]",
    ),
    "an error": (lambda _: Reads(raises), "cannot be read: KeyError"),
    "text in a CSV file": (lambda folder: csv_with(SECRET, folder), "cannot be read: Arrow"),
    "files of two types": (types_apart, "cannot be read: Arrow"),
    "strings": (lambda _: Reads(columns=["a", "sex"]), "column 'sex' contains strings"),
    "two columns of one name": (
        lambda _: lambda: [pa.RecordBatch.from_arrays([pa.array([0.5])] * 2, ["a", "a"])],
        "several columns of the batches have the name",
    ),
    "no rows": (lambda _: lambda: [empty(TABLE.select(NUMBERS))], "at least one row"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_before_the_spend(name, tmp_path, unspent):
    make, message = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        st.mean(make(tmp_path), epsilon=1.0, budget=unspent, **BOUNDS)
    assert "Nothing was spent." in str(caught.value)
    assert SECRET not in str(caught.value)


BY_NAME = {
    "an unknown target": (lambda b, x: DPGaussianNB(**BOUNDS, budget=b).fit(x, "e"), "y must be"),
    "targets in memory": (
        lambda b, x: DPGaussianNB(**BOUNDS, budget=b).fit(x, FRAME["d"]),
        "y must be the name of a column",
    ),
    "rows in memory": (
        lambda b, x: DPGaussianNB(**BOUNDS, budget=b).fit(FRAME[NUMBERS], x),
        "y must be the name of a column of X",
    ),
    "unknown groups": (
        lambda b, x: st.mean(x, groups="e", budget=b, epsilon=1.0, **BOUNDS),
        "groups must be one of the columns",
    ),
    "groups in memory": (
        lambda b, x: st.mean(x, groups=FRAME["d"], budget=b, epsilon=1.0, **BOUNDS),
        "groups must be the name of a column",
    ),
    "groups without a sample": (
        lambda b, x: DPLogisticRegression(budget=b).fit(x, "d", groups="a"),
        "as a sample of persons only",
    ),
    "keys in memory": (
        lambda b, x: st.mean(x, by=FRAME["d"], keys=[1], budget=b, epsilon=1.0, **BOUNDS),
        "by must be the name of a column",
    ),
    "without privacy": (
        lambda b, x: DPPCA(epsilon=np.inf, **BOUNDS, budget=b).fit(x),
        "DPPCA cannot read",
    ),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_other_columns_are_given_by_name(batches, name, unspent):
    fit, message = BY_NAME[name]
    with pytest.raises(ValueError, match=rf"(?s)({message}).*Nothing was spent"):
        fit(unspent, batches([TABLE.select([*NUMBERS, "d"])]))


@pytest.mark.slow
def test_a_large_file_takes_little_memory(tmp_path):
    """Ten million rows of ten columns are 800 MB; `bench_engines.py` has the figures of more."""
    program = Path(__file__).parents[1] / "benchmarks" / "bench_engines.py"
    if not program.exists():
        pytest.skip("needs a checkout")
    run = [sys.executable, str(program)]
    subprocess.run([*run, "make", str(tmp_path / "rows"), "10000000"], check=True)
    done = subprocess.run([*run, "measure", "mean", str(tmp_path / "rows"), "file"], stdout=-1)
    assert json.loads(done.stdout)[2] < 500.0  # MB beyond the interpreter; 60 in most runs


def test_without_pyarrow_rows_in_memory_are_read():
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from skdp import statistics\n"
        "statistics.mean([0.5] * 5000, epsilon=1.0, bounds=(0, 1))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
