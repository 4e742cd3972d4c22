"""Blocks of Dask collections: read in order, in one round trip, and the same every time."""

import dataclasses
import importlib
import logging
import pkgutil
import warnings
from decimal import Decimal
from enum import Enum
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

import skdp
from skdp import DPGaussianNB, DPLogisticRegression
from skdp import statistics as st
from skdp.data.blocks import Block, Blocks, stacked
from skdp.data.column import Column, is_collection, is_missing
from skdp.data.columns import Columns
from skdp.data.persons import Persons
from skdp.data.records import Records
from skdp.design import ClippedDesign
from skdp.design.base import SlopeSum
from skdp.exceptions import InvalidDataError
from skdp.metrics import score_report
from skdp.solvers import Solution

pytestmark = pytest.mark.usefixtures("one_thread")

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

rng = np.random.default_rng(0)
X = rng.random((100, 3))
Y = (X[:, 0] > 0.5).astype(int)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
ARRAY = da.from_array(X, chunks=(30, 3))
TABLE = dd.from_pandas(FRAME, npartitions=4)


@pytest.fixture
def trips(caplog):
    caplog.set_level(logging.DEBUG, "skdp.blocks")
    return lambda: len(caplog.records)


def shape(block):
    return block.X.shape


def rows_of(block):
    return block.X.toarray() if sparse.issparse(block.X) else np.asarray(block.X)


def both(block):
    return np.column_stack([block.X, block.y, block.sample_weight])


def one_row(row, block):
    return np.asarray(block.X)[row]


def refuse_large(block):
    if np.asarray(block.X).max() == 1.0:
        raise InvalidDataError("something is wrong here.")


def never_twice(values):
    return values + np.random.default_rng().random(values.shape)


def checked(*data):
    blocks = Blocks.of(*data)
    blocks.check(shape)
    return blocks


UNKNOWN = TABLE.to_dask_array()
COLLECTIONS = {
    "array": ARRAY,
    "columns apart": da.from_array(X, chunks=(30, 2)),
    "persisted": (ARRAY * 1.0).persist(scheduler="synchronous"),
    "unknown": UNKNOWN,
    "frame": TABLE,
    "filtered frame": TABLE[TABLE.a < 2.0],
    "persisted frame": TABLE.persist(scheduler="synchronous"),
    "empty partitions": dd.concat([TABLE[TABLE.a > 2.0], TABLE]),
    "sparse": ARRAY.map_blocks(sparse.csr_matrix),
}


@pytest.mark.parametrize("name", COLLECTIONS)
def test_blocks_are_the_rows_in_order(name, trips):
    blocks = Blocks.of(COLLECTIONS[name])
    shapes = blocks.check(shape)
    assert np.array_equal(np.vstack(blocks.gather(rows_of)), X)
    assert [rows for rows, _ in shapes] == blocks.n_rows
    assert sum(blocks.n_rows) == 100
    assert trips() == 2


@pytest.mark.parametrize("name", COLLECTIONS)
@pytest.mark.parametrize("kind", ["array", "series", "memory"])
def test_targets_and_weights_stand_beside_their_rows(name, kind):
    x = COLLECTIONS[name]
    if "sparse" in name or (kind != "memory" and "empty" in name):
        return
    y = {"array": da.from_array(Y, chunks=30), "memory": Y}.get(kind)
    if kind == "series" or (kind == "array" and not hasattr(x, "chunks")):
        y = dd.from_pandas(pd.Series(Y), npartitions=4)
    if kind != "memory" and hasattr(x, "chunks") != (kind == "array"):
        return
    if name == "unknown" and kind == "array":
        y = dd.from_pandas(pd.Series(Y), npartitions=4).to_dask_array()
    found = np.vstack(checked(x, y, X[:, 0]).gather(both))
    assert np.array_equal(found, np.column_stack([X, Y, X[:, 0]]))


def test_some_blocks_alone_are_read_with_an_argument_each():
    blocks = checked(ARRAY)
    found = blocks.gather(one_row, {2: 5, 0: 1})
    assert np.array_equal(found, X[[65, 1]])


def test_a_map_is_kept_where_its_blocks_are(trips):
    blocks = checked(ARRAY)
    doubled = blocks.map(rows_of).map(partial(np.multiply, 2.0))
    assert doubled.is_kept
    assert np.array_equal(np.vstack(doubled.gather(np.asarray)), 2.0 * X)
    assert trips() == 2


def test_the_error_of_the_first_block_names_it_by_number():
    large = X.copy()
    large[70] = large[95] = 1.0
    with pytest.raises(ValueError, match=r"^In block 2 of the rows: something is wrong here\.$"):
        Blocks.of(da.from_array(large, chunks=(30, 3))).check(refuse_large)


def test_a_column_that_is_missing_in_one_partition_is_named():
    lame = dd.from_map(lambda i: FRAME if i < 2 else FRAME[["a", "c"]], [0, 1, 2], meta=FRAME[:0])
    with pytest.raises(ValueError, match=r"block 2 .*\['b'\] are not there"):
        checked(lame)


def test_chunks_of_other_lengths_are_refused_by_number():
    y = da.from_array(Y, chunks=((30, 31, 29, 10),))
    with pytest.raises(ValueError, match=r"In block 1 .* the same chunks"):
        checked(ARRAY, y)
    with pytest.raises(ValueError, match="X has 4 blocks of rows, and y 2"):
        Blocks.of(ARRAY, da.from_array(Y, chunks=50))
    with pytest.raises(ValueError, match="y must have as many rows as X"):
        Blocks.of(ARRAY, Y[:9])


def test_targets_alone_may_not_be_lazy():
    with pytest.raises(ValueError, match="y is a dask collection, but X is in memory"):
        Blocks.of(X, da.from_array(Y))


@pytest.mark.parametrize("other", [dask.delayed(1), da.ones((2, 2, 2)), ARRAY.sum()])
def test_other_collections_are_refused(other):
    assert is_collection(other)
    with pytest.raises(ValueError, match="must be a dask array or dataframe"):
        Blocks.of(other)


@pytest.mark.parametrize("other", [X, FRAME, [[1.0]], pl.DataFrame({"a": [1]}), None])
def test_what_is_in_memory_is_no_collection(other):
    assert not is_collection(other)


def test_random_blocks_that_fit_are_kept():
    blocks = checked(ARRAY.map_blocks(never_twice, dtype=float, meta=np.empty((0, 3))))
    first, second = (np.vstack(blocks.gather(rows_of)) for _ in range(2))
    assert np.array_equal(first, second)


def test_random_blocks_that_do_not_fit_are_found_out(monkeypatch):
    monkeypatch.setattr("skdp.data.engine.KEPT_LOCALLY", 0)
    blocks = checked(ARRAY.map_blocks(never_twice, dtype=float, meta=np.empty((0, 3))))
    assert not blocks.is_kept
    with pytest.raises(ValueError, match=r"Block . .* changed .*persist"):
        blocks.gather(rows_of)


@pytest.mark.parametrize("name", COLLECTIONS)
def test_what_does_not_fit_is_read_again(name, monkeypatch):
    monkeypatch.setattr("skdp.data.engine.KEPT_LOCALLY", 0)
    found = checked(COLLECTIONS[name]).map(rows_of).gather(np.asarray)
    assert np.array_equal(np.vstack(found), X)


def test_texts_and_times_have_fingerprints_too(monkeypatch):
    monkeypatch.setattr("skdp.data.engine.KEPT_LOCALLY", 0)
    texts = np.array([["a", 1, None]] * 4, dtype=object)
    times = np.array([["2020-01-01"]] * 4, dtype="datetime64[D]")
    for table in (texts, times):
        blocks = checked(da.from_array(table, chunks=(2, -1)).map_blocks(np.copy))
        assert np.vstack(blocks.gather(rows_of)).shape == table.shape


def in_lengths(values, lengths):
    """Return blocks of lengths that Dask does not know."""
    parts = np.split(values, np.cumsum(lengths)[:-1])
    lazy = [
        da.from_delayed(dask.delayed(one), (np.nan, *one.shape[1:]), values.dtype) for one in parts
    ]
    return da.concatenate(lazy, allow_unknown_chunksizes=True)


@pytest.mark.parametrize("model", [DPGaussianNB(bounds=(0, 1)), DPLogisticRegression()])
def test_targets_beside_a_block_without_rows_are_refused(model):
    x, y = in_lengths(X, [0, 50, 50]), in_lengths(np.r_[Y, Y[:5]], [5, 50, 50])
    with pytest.raises(ValueError, match=r"In block 0 .* different numbers of rows"):
        model.fit(x, y)


def fails_oddly(block):
    raise ArithmeticError(f"of {block.X}")


def test_a_check_that_fails_oddly_names_the_block_and_no_value():
    with pytest.raises(ValueError, match=r"^In block 0 of the rows: .* ArithmeticError\.$"):
        Blocks.of(ARRAY).check(fails_oddly)


def test_a_signalling_nan_is_a_missing_value():
    assert is_missing(Decimal("sNaN"))
    assert is_missing(Decimal("NaN"))
    assert not is_missing(Decimal(1))


@pytest.mark.parametrize("kind", ["array", "frame", "memory"])
def test_targets_as_a_column_vector_are_one_column_with_one_warning(kind):
    frame = pd.DataFrame({"y": Y})
    x = TABLE if kind == "frame" else ARRAY
    y = {"array": da.from_array(Y[:, None], chunks=(30, 1)), "memory": Y[:, None]}.get(kind)
    y = dd.from_pandas(frame, npartitions=4) if kind == "frame" else y
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = DPLogisticRegression(random_state=0).fit(x, y)
    assert [one.category for one in caught].count(DataConversionWarning) == 1
    of_column = DPLogisticRegression(random_state=0).fit(FRAME if kind == "frame" else X, Y)
    np.testing.assert_array_equal(model.coef_, of_column.coef_)


def test_messages_name_the_parameters_of_the_caller():
    scores = da.from_array(X[:, 0], chunks=30)
    with pytest.raises(ValueError, match="y_true is a dask collection, but y_score is in"):
        score_report(da.from_array(Y, chunks=30), X[:, 0], epsilon=1.0, classes=[0, 1])
    with pytest.raises(ValueError, match="y_score has 4 blocks of rows, and y_true 2"):
        score_report(da.from_array(Y, chunks=50), scores, epsilon=1.0, classes=[0, 1])


@pytest.mark.parametrize("frame", [FRAME.assign(job="SECRET"), TABLE.assign(job="SECRET")])
def test_text_in_a_linear_model_is_told_what_to_do_about_it(frame):
    with pytest.raises(ValueError, match=r"columns \['job'\].*categories=") as error:
        DPLogisticRegression().fit(frame, Y)
    assert "SECRET" not in str(error.value)


def test_the_log_counts_blocks_as_given(caplog):
    caplog.set_level(logging.DEBUG, "skdp.blocks")
    blocks = checked(in_lengths(X, [0, 50, 50]))
    blocks.map(rows_of).gather(np.shape)
    assert len(blocks) == 2
    assert [one.args[1] for one in caplog.records] == ["all", "3"]


def test_what_holds_rows_prints_none():
    secret = np.full((4, 2), 777.125)
    for one in (Block(secret, secret[:, 0]), Columns.of(secret), Columns.of(pd.DataFrame(secret))):
        assert "777.125" not in f"{one} {one!r}"


def dataclasses_of_skdp():
    for module in pkgutil.walk_packages(skdp.__path__, "skdp."):
        for kind in vars(importlib.import_module(module.name)).values():
            if dataclasses.is_dataclass(kind) and kind.__module__ == module.name:
                yield kind


def test_no_class_of_private_values_prints_its_fields():
    pytest.importorskip("psycopg")  # all modules are imported
    private = {kind for kind in dataclasses_of_skdp() if "*Private" in (kind.__doc__ or "")}
    private |= {SlopeSum}
    assert {Block, ClippedDesign, Columns, Persons, Records, Solution} < private
    assert [kind for kind in private if kind.__dataclass_params__.repr] == []


def test_a_missing_value_does_not_change_integers_of_another_block():
    """Blocks are joined where they are cut anew; pandas would join integers and nan as floats."""
    big = 2**53
    whole = pd.DataFrame({"code": np.full(3, big + 1), "size": 0.5})
    missing = pd.DataFrame({"code": [np.nan, 2.0], "size": [0.5, 0.25]})
    joined = stacked([whole, missing])
    assert joined["code"].tolist()[:3] == [big + 1] * 3
    assert pd.isna(joined["code"].iloc[3])
    assert stacked([whole, whole]).dtypes.equals(whole.dtypes)


TIME = np.datetime64("2020-01-01T12:00")
BIG = 2**60
ONE_ROW = {
    "integer": np.array([1]),
    "unsigned": np.array([2**63 + 5], dtype=np.uint64),
    "float": np.array([0.5]),
    "half": np.array([0.5], dtype=np.float16),
    "boolean": np.array([True]),
    "complex": np.array([1j]),
    "text": np.array(["long text"]),
    "bytes": np.array([b"z"]),
    "time": np.array([TIME], dtype="M8[ns]"),
    "span": np.array([1], dtype="m8[D]"),
    "object": np.array([None]),
}
OTHERS = {
    "integers": np.arange(BIG, BIG + 3),
    "floats": np.array([0.1, 1.0, np.inf]),
    "booleans": np.array([True, False, True]),
    "texts": np.array(["a", "b", "1"]),
    "times": np.array([TIME, TIME + 1, TIME + 2**50]),
    "spans": np.array([1, 2, 2**60], dtype="m8[s]"),
}


@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("row", ONE_ROW)
@pytest.mark.parametrize("n_columns", [0, 2])
def test_the_type_of_one_row_changes_no_other_row(others, row, n_columns):
    """NumPy would make floats of integers, strings of numbers, and integers of times."""
    whole, last = OTHERS[others], ONE_ROW[row]
    if n_columns:
        whole, last = (np.stack([one] * n_columns, axis=1) for one in (whole, last))
    joined = stacked([whole, last])
    assert joined.shape == (4, *whole.shape[1:])
    expected, found = ([*Column(one.ravel()).values()] for one in (whole, joined[:3]))
    assert found == expected
    assert [*map(type, found)] == [*map(type, expected)]


def in_chunks(values, last):
    """Return values in three chunks. The last chunk has one row of any type."""
    cut = [*np.array_split(values, 2), last]
    lazy = [da.from_delayed(dask.delayed(one), one.shape, values.dtype) for one in cut]
    return da.concatenate(lazy)


@pytest.mark.filterwarnings("ignore:epsilon")
@pytest.mark.parametrize("row", ["integer", "unsigned", "float", "text", "time", "boolean"])
def test_neighbors_of_another_type_change_the_result_of_one_person(row):
    """Persons are joined in one block, where IDs, codes and keys of the others stay as they are."""
    n, far = 300, {"epsilon": 1e6, "delta": 0.0, "random_state": 0}
    last = ONE_ROW[row]
    ones = in_chunks(np.ones((n, 1)), np.ones((1, 1)))
    ids = in_chunks(np.arange(BIG, BIG + n), last)
    count = st.sum(ones, bounds=(0, 1), groups=ids, **far).value
    assert np.rint(count) == n + 1
    who, codes = in_chunks(np.arange(n), np.array([n])), np.full((n, 1), BIG + 1)
    cells = st.marginals(
        in_chunks(codes, last[:, None]), categories=[BIG, BIG + 1], groups=who, **far
    )
    assert np.rint(cells[0,]).tolist() == [0, n]


def test_dask_arrays_have_no_name_in_messages_and_results():
    """Dask names an array by a hash of its values."""
    given = {"epsilon": 1.0, "delta": 0.0, "bounds": (0, 1)}
    keys = da.from_array(np.array(["a", "b"] * 50), chunks=30)
    with pytest.raises(ValueError, match="column 'by' contains strings"):
        st.sum(ARRAY, by=keys, keys=[0, 1], **given)
    series = dd.from_pandas(pd.Series(["a", "b"] * 50, name="sex"), npartitions=4)
    with pytest.raises(ValueError, match="column 'sex' contains strings"):
        st.sum(TABLE, by=series, keys=[0, 1], **given)


class Color(Enum):
    RED = 1


@pytest.mark.parametrize("size", [2**28, 2**5])
@pytest.mark.parametrize("odd", [Color.RED, (1, Color.RED), frozenset([1])])
def test_the_types_of_ids_are_checked_in_any_number_of_blocks(odd, size, monkeypatch):
    """How many blocks there are depends on private sizes."""
    monkeypatch.setattr("skdp.data.blocks._OF_PERSONS", size)
    ids = np.empty(100, dtype=object)
    ids[:] = [(1, "a")] * 99 + [odd]
    who = da.from_array(ids, chunks=30)
    with pytest.raises(ValueError, match="IDs must be strings, bytes, numbers"):
        Blocks.of(ARRAY, None, None, who).check(shape, of_persons=True)
