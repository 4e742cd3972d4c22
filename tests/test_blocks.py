"""Blocks of Dask collections: read in order, in one round trip, and the same every time."""

import dataclasses
import importlib
import logging
import pkgutil
import warnings
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

import skdp
from skdp import DPGaussianNB, DPLogisticRegression
from skdp.data.blocks import Block, Blocks, stacked
from skdp.data.column import is_collection, is_missing
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
