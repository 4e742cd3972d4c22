"""Rows of Dask collections are asked for the same sums as rows in memory, in few round trips."""

import logging
import operator

import numpy as np
import pytest
from scipy import sparse

from skdp.data.blocks import Blocks
from skdp.design import (
    Center,
    ClippedDesign,
    DaskDesign,
    ExpandedDesign,
    LossSum,
    ShiftedDesign,
    TabulatedDesign,
    TransformedDesign,
    in_memory,
    scored,
)
from skdp.design.transformed import CenteredMap
from skdp.features import AdditiveFeatures
from skdp.losses import CompetitorLoss, LogisticLoss

pytestmark = pytest.mark.usefixtures("one_thread")

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

N, D = 500, 6
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)) * (RNG.random((N, D)) < 0.5)
Y = np.where(X[:, 0] > 0, 1.0, -1.0)
ONE, THREE = LogisticLoss(), CompetitorLoss(LogisticLoss(), 3)
S = np.diag(np.linspace(0.1, 0.9, D + 1)) + 0.005
CHUNKS = [(500,), (170, 170, 160), (1, 0, 499), tuple([50] * 10)]
every_cut = pytest.mark.parametrize("chunks", CHUNKS, ids=str)
every_form = pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])


class Trips(logging.Handler):
    """What was read, a line for each round trip."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


@pytest.fixture
def trips():
    log, handler = logging.getLogger("skdp.blocks"), Trips()
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    yield handler.lines
    log.removeHandler(handler)
    log.setLevel(logging.NOTSET)


def check(block):
    """Find nothing."""


def design_of(block):
    return ClippedDesign.clip(block.X, 1.0, 0.3, block.y)


def pair(chunks=(170, 170, 160), form=np.asarray, y=Y):
    """Return the rows in memory, and in blocks."""
    lazy = da.from_array(X, chunks=(chunks, -1)).map_blocks(form)
    blocks = Blocks.of(lazy, da.from_array(y, chunks=(chunks,)))
    blocks.check(check)
    return ClippedDesign.clip(form(X), 1.0, 0.3, y), DaskDesign(blocks.map(design_of), D + 1)


@every_cut
@every_form
@pytest.mark.parametrize("loss", [ONE, THREE], ids=["two classes", "three"])
def test_sums_are_those_of_memory(chunks, form, loss):
    y = Y if loss is ONE else np.arange(N) % 3
    memory, blocks = pair(chunks, form, y)
    theta = RNG.normal(size=(D + 1, 3) if loss is THREE else D + 1)
    some, close = np.sort(RNG.choice(N, 70, replace=False)), {"rtol": 1e-12, "atol": 1e-12}
    assert (blocks.n_samples, blocks.n_features) == (N, D + 1)
    for one, other in (
        (memory, blocks),
        (TransformedDesign(memory, S), TransformedDesign(blocks, S)),
    ):
        slopes = one.slope_sum(loss.gradient, theta)
        np.testing.assert_allclose(other.slope_sum(loss.gradient, theta), slopes, **close)
        rows, total = scored(other, loss.gradient, theta)
        np.testing.assert_allclose(total, slopes, **close)
        value = pytest.approx(one.total(LossSum(loss.value, theta)))
        assert rows.total(LossSum(loss.value, theta)) == value
        np.testing.assert_allclose(
            other.slope_sum(loss.gradient, theta, records=some),
            one.slope_sum(loss.gradient, theta, records=some),
            **close,
        )
        np.testing.assert_allclose(other.cross_product(), one.cross_product(), **close)
        here, there = one.take(slice(None)), other.take(slice(None))
        np.testing.assert_allclose(there.scores(theta), here.scores(theta), **close)
        np.testing.assert_array_equal(there.targets, y)
        assert other.reach(theta) == pytest.approx(one.reach(theta), rel=1e-12)


@every_cut
@every_form
@pytest.mark.parametrize("ahead", [None, np.arange(0, N, 3), np.empty(0, dtype=int)])
def test_rows_are_those_of_memory_in_any_order(chunks, form, ahead):
    memory, blocks = pair(chunks, form)
    theta = RNG.normal(size=(D + 1, 2))
    wanted = np.array([3, 499, 3, 0, 171]), np.empty(0, dtype=int), slice(100, 400), slice(None)
    for rows in wanted:
        if ahead is not None:
            blocks.prefetch(ahead)
        one, other = memory.take(rows), blocks.take(rows)
        np.testing.assert_array_equal(other.scores(theta), one.scores(theta))
        np.testing.assert_array_equal(other.targets, one.targets)
    np.testing.assert_array_equal(in_memory(blocks).targets, Y)


def test_blocks_are_no_longer_than_is_asked_for():
    _, blocks = pair()
    sizes = list(blocks.parts(operator.attrgetter("n_samples"), 100))
    assert sizes == [100, 70, 100, 70, 100, 60]
    assert blocks.total(operator.attrgetter("n_samples"), 100) == N


def test_a_sum_is_one_round_trip_and_rows_come_along(trips):
    memory, blocks = pair()
    trips.clear()
    theta, ahead = RNG.normal(size=D + 1), np.array([5, 5, 480, 200])
    blocks.prefetch(ahead)
    total = blocks.slope_sum(ONE.gradient, theta)
    np.testing.assert_allclose(total, memory.slope_sum(ONE.gradient, theta))
    for rows in (ahead, np.array([200]), np.array([480, 5])):
        np.testing.assert_array_equal(blocks.take(rows).targets, Y[rows])
    assert len(trips) == 1
    blocks.take(np.array([5, 6]))  # 6 is elsewhere
    assert len(trips) == 2


def test_rows_of_many_batches_are_one_round_trip(trips):
    """Sums over rows that are announced are taken here, all others where the rows are."""
    memory, blocks = pair()
    trips.clear()
    batches, asked = np.arange(300).reshape(30, 10), (ONE.gradient, RNG.normal(size=D + 1))
    blocks.prefetch(batches.ravel())
    for rows in batches:
        expected = memory.slope_sum(*asked, records=rows)
        np.testing.assert_array_equal(blocks.slope_sum(*asked, records=rows), expected)
    assert len(trips) == 1
    rows = np.arange(290, 310)
    expected = memory.slope_sum(*asked, records=rows)
    np.testing.assert_allclose(blocks.slope_sum(*asked, records=rows), expected)
    assert len(trips) == 2


def test_only_blocks_that_have_the_rows_are_read(trips):
    _, blocks = pair(tuple([50] * 10))
    trips.clear()
    blocks.slope_sum(ONE.gradient, np.zeros(D + 1), records=np.array([3, 4, 460]))
    assert "of 2 blocks" in trips[0]


CATEGORIES = AdditiveFeatures(categories={j: range(160) for j in range(D)}).feature_map(D)
MAPS = {
    ExpandedDesign: CATEGORIES,
    TabulatedDesign: CATEGORIES.for_fits(),
    ShiftedDesign: CenteredMap(
        CATEGORIES, Center(np.full(CATEGORIES.n_features_out, 1e-3), 0.5, 1.0)
    ).for_fits(),
}


@pytest.mark.parametrize("kind", MAPS, ids=lambda kind: kind.__name__)
def test_blocks_of_features_reach_as_far_as_in_memory(kind):
    read, codes = MAPS[kind], np.random.default_rng(1).integers(0, 160, (N, D))
    blocks = Blocks.of(da.from_array(codes, chunks=(170, -1)), da.from_array(Y, chunks=170))
    blocks.check(check)
    made = blocks.map(lambda block: kind.clip(block.X, read, 1.0, 0.3, block.y))
    theta = RNG.normal(size=read.n_features_out + 1)
    here, there = kind.clip(codes, read, 1.0, 0.3, Y), DaskDesign(made, theta.size)
    assert there.reach(theta) == here.reach(theta)
    assert there.reach(theta) <= np.linalg.norm(theta) * (1.0 + 1e-12)
