"""Records are the same wherever their rows are."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin

from skdp.data.columns import Columns
from skdp.data.exact_sums import exact_sums, sums_of_means
from skdp.data.records import Records, check_numeric, labels_of
from skdp.design import ClippedDesign, DaskDesign

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(N, 3))
Y = RNG.integers(0, 2, N)
WEIGHTS = 3.0 * RNG.random(N)
GROUPS = RNG.integers(0, 20, N)
CHUNKS = (20, 0, 39, 1)


class Model(BaseEstimator):
    def __init__(self, neighboring="replace_one"):
        self.epsilon, self.neighboring = 1.0, neighboring


class Labels(ClassifierMixin, Model):
    pass


def lazy(values):
    return da.from_array(values, chunks=(CHUNKS, *(-1,) * (values.ndim - 1)))


def checked(*data, **more):
    records = Records.of(Model(), *data, **more)
    records.check(check_numeric)
    return records


WHERE = {
    "memory": lambda: checked(X, Y, WEIGHTS, max_weight=2.0),
    "blocks": lambda: checked(lazy(X), lazy(Y), lazy(WEIGHTS), max_weight=2.0),
    "frames in blocks": lambda: checked(
        dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=4),
        dd.from_pandas(pd.Series(Y), npartitions=4),
        WEIGHTS,
        max_weight=2.0,
    ),
}


def numbers_of(records):
    """Return rows in memory as plain arrays."""
    return records.columns.matrix(), np.array(list(records.y)), records.weights


@pytest.mark.parametrize("where", WHERE)
def test_operations_are_the_same_wherever_rows_are(where):
    records, expected = WHERE[where](), WHERE["memory"]()
    assert records.n_records == records.n_known == N
    assert records.is_weighted
    rows = np.array([0, 3, 19, 20, 58, 59])
    for found, wanted in [
        (records.take(rows), expected.take(rows)),
        (records.take(rows[:0]), expected.take(rows[:0])),
        (
            records.sampled(0.4, np.random.default_rng(1)),
            expected.sampled(0.4, np.random.default_rng(1)),
        ),
    ]:
        assert found.blocks is None
        assert found.n_rows == wanted.n_rows
        for one, other in zip(numbers_of(found), numbers_of(wanted), strict=True):
            np.testing.assert_array_equal(one, other)
    assert records.sampled(0.4, RNG).rate == 0.4
    squares = records.mapped(squared).total(summed)
    np.testing.assert_allclose(squares["sum"], (X**2).sum(axis=0))


def squared(records):
    return records.mapped(lambda one: Records(one.columns.matrix() ** 2, None, one.y))


def summed(records):
    return {"sum": records.X.sum(axis=0)}


def test_weights_are_clipped_and_count_in_units_of_their_bound():
    records = checked(X, Y, WEIGHTS, max_weight=2.0)
    np.testing.assert_array_equal(records.weights, np.minimum(WEIGHTS, 2.0))
    np.testing.assert_array_equal(records.shares, np.minimum(WEIGHTS, 2.0) / 2.0)
    assert records.steps.max() == 2**31
    free = checked(X, Y, WEIGHTS, is_private=False)
    np.testing.assert_array_equal(free.weights, WEIGHTS)
    with pytest.raises(ValueError, match="max_weight"):
        checked(X, Y, WEIGHTS)


def test_a_person_is_one_record_and_counts_one_at_most():
    records = checked(X, Y, WEIGHTS, GROUPS, max_weight=1.0)
    assert records.n_records == len(np.unique(GROUPS))
    steps = np.bincount(GROUPS, records.steps)
    assert steps.max() <= 2**31
    kept = records.kept(2, np.random.default_rng(0))
    assert kept.persons.counts.max() == 2
    assert kept.n_records == records.n_records
    assert records.kept(int(records.persons.counts.max()), RNG) is records
    sample = records.sampled(0.5, np.random.default_rng(0))
    assert 0 < sample.n_records < records.n_records
    whole = records.persons.counts[np.unique(records.persons.codes)]
    assert set(sample.persons.counts) <= set(whole)


def test_labels_are_numbered_by_public_classes():
    texts = np.array(["no", "yes"])[Y]
    for data in ((X, texts), (lazy(X), lazy(texts))):
        for known in (None, ["no", "perhaps", "yes"]):
            records, classes = labels_of(Records.of(Labels(), *data), "It", known, check_numeric)
            assert classes.tolist() == (["no", "yes"] if known is None else known)
            taken = records.take(np.arange(N))
            assert classes[taken.y].tolist() == texts.tolist()
        with pytest.raises(ValueError, match="outside classes"):
            labels_of(Records.of(Labels(), *data), "It", ["no", "never"], check_numeric)


def test_what_is_made_of_rows_stays_where_they_are():
    make = partial(designed, 2.0)
    here = checked(X, Y).each(make)
    there = DaskDesign(checked(lazy(X), lazy(Y)).each(make), 3)
    np.testing.assert_array_equal(there.take(slice(None)).X, here.X)


def designed(data_norm, records):
    return ClippedDesign.clip(records.X, data_norm, 0.0, records.y)


@pytest.mark.parametrize(
    "table",
    [X, sparse.csr_matrix(X), pd.DataFrame(X), pl.DataFrame(X), pa.table({"a": X[:, 0]})],
    ids=lambda x: type(x).__name__,
)
def test_rows_of_any_container_can_be_taken(table):
    rows = np.array([1, 4, 7])
    records = Records.of_rows(table, Y).take(rows)
    assert records.n_rows == 3
    np.testing.assert_array_equal(records.y, Y[rows])
    if not sparse.issparse(table):
        columns = Records(Columns.of(table), None).take(rows).columns
        np.testing.assert_array_equal(columns.matrix()[:, 0], X[rows, 0])
        np.testing.assert_array_equal(records.columns.matrix()[:, 0], X[rows, 0])


@pytest.mark.parametrize(
    "data", [(X[:0], Y[:0]), (lazy(X)[:0], lazy(Y)[:0])], ids=["memory", "dask"]
)
def test_no_rows_raise_only_where_their_number_is_public(data):
    with pytest.raises(ValueError, match=r"at least one row|0 sample"):
        checked(*data)
    assert Records.of(Model("add_remove_one"), *data).check(check_numeric) == [None]


@pytest.mark.parametrize("cut_up", [np.asarray, lazy], ids=["memory", "dask"])
@pytest.mark.parametrize("most", [2**28, 200])
def test_persons_in_blocks_are_those_of_memory(cut_up, most, monkeypatch):
    monkeypatch.setattr("skdp.data.blocks._OF_PERSONS", most)
    alone = checked(X, Y, groups=GROUPS)
    records = checked(lazy(X), lazy(Y), groups=cut_up(GROUPS))
    assert records.n_records == alone.n_records
    chosen = [0, *range(2, alone.n_records)]
    found = records.chosen(np.array(chosen))
    assert found.n_records == len(chosen)
    whose = {tuple(row): person for row, person in zip(X, GROUPS, strict=True)}
    persons = [whose[tuple(row)] for row in np.asarray(found.X)]
    assert len({*zip(persons, found.persons.codes, strict=True)}) == len(chosen)
    left = {*GROUPS} - {*persons}
    assert len(left) == 1
    assert len(persons) == len(GROUPS) - (np.asarray(GROUPS) == left.pop()).sum()


@pytest.mark.parametrize("width", [1, 2**12])
def test_chunks_hold_all_rows_with_what_they_count(width):
    large = RNG.normal(size=(1000, 3)).astype(np.float32)
    records = checked(large, None, RNG.random(1000), max_weight=1.0)
    rows, targets, steps = zip(*records.chunks(width), strict=True)
    assert {*targets} == {None}
    assert max(map(len, rows)) * max(width, 3) <= 2**18
    np.testing.assert_array_equal(np.concatenate(rows), large.astype(float))
    np.testing.assert_array_equal(np.concatenate(steps), records.steps)


def of_rows(records):
    for rows, _, _ in records.chunks():
        units = np.clip(rows, -1.0, 1.0)
        yield {"x": units[:, :2], "square": units[:, 2:] ** 2}


def test_sums_of_means_add_one_mean_for_each_person():
    sizes = {"x": 2, "square": 1}
    found = sums_of_means(sizes, checked(X, Y, groups=GROUPS), of_rows)
    units = pd.DataFrame(np.clip(X, -1.0, 1.0)).assign(square=lambda x: x[2] ** 2)
    means = units.groupby(GROUPS).mean().to_numpy()
    steps = np.rint(means * 2.0**31).sum(axis=0) / 2.0**31
    np.testing.assert_allclose([*found["x"], *found["square"]], steps[[0, 1, 3]], atol=2.0**-30)
    alone = sums_of_means(sizes, checked(X, Y), of_rows)
    for name, total in exact_sums(sizes, checked(lazy(X), lazy(Y)), of_rows).items():
        np.testing.assert_array_equal(alone[name], total)
    blocks = sums_of_means(sizes, checked(lazy(X), lazy(Y)), of_rows)
    assert all(np.array_equal(blocks[name], alone[name]) for name in sizes)
