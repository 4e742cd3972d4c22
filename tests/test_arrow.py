"""Frames whose columns pyarrow holds, and its tables, are read as plain frames are."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from skdp import (
    DPGaussianNB,
    DPLogisticRegression,
    DPMixedNB,
)
from skdp import statistics as st
from skdp.data.columns import Columns
from skdp.preprocessing import BoundsScaler

pa = pytest.importorskip("pyarrow")

rng = np.random.default_rng(0)
PLAIN = pd.DataFrame({"a": rng.integers(0, 3, 60), "b": rng.random(60), "c": rng.random(60) > 0.5})
ARROW = PLAIN.astype({"a": "int64[pyarrow]", "b": "double[pyarrow]", "c": "bool[pyarrow]"})
HOLES = ARROW.copy()
HOLES.loc[0, "b"] = None
LABELS = pd.Series(np.resize(["no", "yes"], 60))
KINDS = {"float": pa.float32(), "int16": pa.int16(), "bool": pa.bool_()}
NUMBERS = dict.fromkeys(PLAIN, (0, 3))
CLASSIFIERS = [
    partial(DPLogisticRegression, epsilon=50.0),
    partial(DPGaussianNB, epsilon=50.0, bounds=NUMBERS),
    partial(
        DPMixedNB, epsilon=50.0, bounds={"b": (0, 1), "c": (0, 1)}, categories={"a": [0, 1, 2]}
    ),
]


def as_table(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def in_chunks(frame):
    return pa.concat_tables([as_table(frame[:25]), as_table(frame[25:])])


def test_a_batch_has_to_become_a_table():
    batch = as_table(PLAIN).to_batches()[0]
    for read in (DPGaussianNB(bounds=NUMBERS).fit, DPLogisticRegression().fit):
        with pytest.raises(ValueError, match=r"from_batches\(\[X\]\)"):
            read(batch, LABELS)
    with pytest.raises(ValueError, match=r"from_batches\(\[x\]\)"):
        st.mean(batch, epsilon=1.0, bounds=NUMBERS)


def test_a_reader_of_batches_has_to_be_read_once():
    for read in (DPGaussianNB(bounds=NUMBERS).fit, DPLogisticRegression().fit):
        with pytest.raises(ValueError, match=r"reader\.read_all\(\)"):
            read(as_table(PLAIN).to_reader(), LABELS)
    with pytest.raises(ValueError, match=r"reader\.read_all\(\)"):
        st.mean(as_table(PLAIN).to_reader(), epsilon=1.0, bounds=NUMBERS)


def test_holes_in_tables_are_named_or_filled():
    table = in_chunks(PLAIN.assign(b=PLAIN["b"].where(PLAIN.index > 0)))
    with pytest.raises(ValueError, match="column 'b' has missing values"):
        DPLogisticRegression().fit(table, LABELS)
    assert BoundsScaler(bounds=NUMBERS, missing="middle").fit_transform(table)[0, 1] == 0.0
    integers = pa.table({"a": pa.array([1, None, 0] * 20)})
    filled = BoundsScaler(bounds=(0, 2), missing="middle").fit_transform(integers)
    np.testing.assert_array_equal(filled[:3], [[0.0], [0.0], [-1.0]])


@pytest.mark.parametrize("kind", ["float", "int16", "bool"])
def test_small_numbers_stay_small(kind):
    table = pa.table({name: pa.array(PLAIN["a"] % 2).cast(KINDS[kind]) for name in "xy"})
    matrix = Columns.of(table).matrix()
    assert matrix.dtype == {"float": np.float32, "int16": np.int16, "bool": bool}[kind]
    np.testing.assert_array_equal(matrix[:, 0], PLAIN["a"] % 2)
    scaled = BoundsScaler(bounds=(0, 1)).fit_transform(table)
    assert scaled.dtype == (np.float32 if kind == "float" else float)
