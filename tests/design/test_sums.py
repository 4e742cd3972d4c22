"""Whatever a solver asks of all rows is the sum over blocks of them, with their targets."""

import operator
import pickle

import numpy as np
import pytest
from scipy import sparse

from skdp.design import ClippedDesign, LossSum, SlopeSum, TransformedDesign, scored
from skdp.losses import CompetitorLoss, LogisticLoss

N, D = 30_000, 12  # several blocks
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)) * (RNG.random((N, D)) < 0.5)
S = np.diag(np.linspace(0.1, 0.9, D + 1)) + 0.005
ONE, THREE = LogisticLoss(), CompetitorLoss(LogisticLoss(), 3)
CASES = [(ONE, np.where(X[:, 0] > 0, 1.0, -1.0)), (THREE, np.arange(N) % 3)]


def designs(y):
    dense = ClippedDesign.clip(X, 1.0, 0.3, y)
    yield dense, dense.scores(np.eye(D + 1))
    yield ClippedDesign.clip(sparse.csr_matrix(X), 1.0, 0.3, y), dense.scores(np.eye(D + 1))
    yield TransformedDesign(dense, S), dense.scores(np.eye(D + 1)) @ S


@pytest.mark.parametrize(("loss", "y"), CASES, ids=["two classes", "three"])
def test_sums_are_those_of_the_explicit_matrix(loss, y):
    theta = RNG.normal(size=(D + 1, 3) if loss is THREE else D + 1)
    some = np.sort(RNG.choice(N, 500, replace=False))
    for design, A in designs(y):
        slopes, close = loss.gradient(y, A @ theta), {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(design.slope_sum(loss.gradient, theta), A.T @ slopes, **close)
        over = design.slope_sum(loss.gradient, theta, records=some)
        np.testing.assert_allclose(over, A[some].T @ slopes[some], **close)
        assert design.total(LossSum(loss.value, theta)) == pytest.approx(
            loss.value(y, A @ theta).sum()
        )
        np.testing.assert_allclose(design.cross_product(), A.T @ A, **close)
        rows = design.take(slice(None))
        np.testing.assert_allclose(rows.scores(theta), A @ theta, **close)
        np.testing.assert_array_equal(rows.targets, y)
        np.testing.assert_array_equal(design.take(some).targets, y[some])


@pytest.mark.parametrize("most_rows", [None, 1000])
def test_blocks_cover_the_rows_once_and_in_order(most_rows):
    y = np.arange(float(N))
    for design, _ in designs(y):
        seen = list(design.parts(operator.attrgetter("targets"), most_rows))
        np.testing.assert_array_equal(np.concatenate(seen), y)
        assert design.total(operator.attrgetter("n_samples"), most_rows) == N
        assert most_rows is None or max(map(len, seen)) <= most_rows


def test_scored_rows_know_their_scores_and_all_that_they_knew(monkeypatch):
    """At an equal θ nothing is computed again, in other coordinates neither."""
    theta, some = RNG.normal(size=D + 1), np.array([5, 7, N - 1])
    for design, A in designs(CASES[0][1]):
        rows, total = scored(design, ONE.gradient, theta)
        np.testing.assert_array_equal(total, design.slope_sum(ONE.gradient, theta))
        other = rows.take(some).scores(2.0 * theta)
        np.testing.assert_allclose(other, A[some] @ (2.0 * theta), atol=1e-12)
        value = design.total(LossSum(ONE.value, theta))
        with monkeypatch.context() as patched:
            patched.setattr(ClippedDesign, "scores", None)
            taken = rows.take(some).scores(theta.copy())
            assert rows.total(LossSum(ONE.value, theta)) == value
        np.testing.assert_allclose(taken, A[some] @ theta, atol=1e-12)


def test_what_is_asked_of_a_block_can_be_sent_to_it():
    theta = RNG.normal(size=D + 1)
    design, _ = next(designs(CASES[0][1]))
    sent = pickle.loads(pickle.dumps(SlopeSum(ONE.gradient, theta)))
    np.testing.assert_array_equal(design.total(sent), design.slope_sum(ONE.gradient, theta))
