"""Rows around a center whose zeros stay: the same sums, with errors that the plan allows for."""

import math

import numpy as np
import pytest
from problems import problem_with

from skdp.design import (
    Center,
    ClippedDesign,
    ExpandedDesign,
    ShiftedDesign,
    TabulatedDesign,
    design_kind,
    expanded,
)
from skdp.design.transformed import CenteredMap
from skdp.features import AdditiveFeatures
from skdp.losses import LogisticLoss
from skdp.privacy import Neighboring
from skdp.solvers._releases import gradient_sum, gram_sum, record_error, shifted

R, B0, STRETCH = 0.8, 0.3, math.sqrt(20.0)
COLUMNS = AdditiveFeatures(
    bounds={0: (-1, 1), 2: (-1, 1)}, categories={1: list(range(160))}
).feature_map(3)


def table(n):
    rng = np.random.default_rng(n)
    x = np.column_stack([rng.uniform(-1.5, 1.5, (n, 2)), rng.uniform(-1, 1, n)])
    x[:, 1] = rng.integers(-1, 162, n)
    x[rng.random(x.shape) < 0.1] = np.nan
    return COLUMNS.facts.coded(x)


def designs(n, radius=R / STRETCH, near=0.99):
    """Return both designs of the same rows. Half of the rows are close to the center."""
    rows, read = table(n), COLUMNS.for_fits()
    rows[::2] = rows[0]
    own = ClippedDesign.clip(read.whole(read.prepare(rows)), R)
    center = Center(near * own.take(np.arange(1)).weighted_sum(np.ones(1)), radius, R)
    read = CenteredMap(COLUMNS, center).for_fits()
    assert design_kind(read) is ShiftedDesign
    y = np.random.default_rng(1).choice([-1.0, 1.0], size=n)
    return design_kind(read).clip(rows, read, R, B0, y), ExpandedDesign.clip(rows, read, R, B0, y)


@pytest.fixture(params=["kept", "in tables"])
def kind(request, monkeypatch):
    """The design of the rows before the shift."""
    if request.param == "in tables":
        monkeypatch.setattr(expanded, "_IN_MEMORY", 0)
        return TabulatedDesign
    return ClippedDesign


@pytest.mark.parametrize("shape", [(), (3,)])
def test_it_multiplies_like_shifted_rows(kind, shape):
    n = 5000
    design, whole = designs(n)
    assert type(design.inner) is kind
    assert design.n_features == whole.n_features
    rng, close = np.random.default_rng(0), {"rtol": 0.0, "atol": 1e-11 * n}
    theta = rng.normal(size=(design.n_features, *shape))
    residual = rng.normal(size=(n, *shape))
    np.testing.assert_allclose(design.scores(theta), whole.scores(theta), **close)
    sums = whole.weighted_sum(residual)
    np.testing.assert_allclose(design.weighted_sum(residual), sums, **close)
    np.testing.assert_allclose(design.cross_product(), whole.cross_product(), **close)
    assert (design.row_norms() >= whole.row_norms() * (1.0 - 1e-11)).all()
    assert design.reach(theta) == whole.reach(theta)
    for rows in (np.arange(n - 20, 5, -7), slice(3, 690)):
        np.testing.assert_allclose(
            design.take(rows).scores(theta), design.scores(theta)[rows], **close
        )
    blocks = [block.scores(theta) for _, block in design.blocks(333)]
    np.testing.assert_allclose(np.concatenate(blocks), design.scores(theta), **close)
    weights = rng.random(n)
    np.testing.assert_allclose(design.gram_diagonal(weights), whole.gram_diagonal(weights))


@pytest.mark.parametrize("near", [0.99, 0.5, 0.0])
@pytest.mark.parametrize("radius", [R / STRETCH, 0.5 * R, R])
def test_no_row_is_longer_than_the_norm(near, radius):
    """In long doubles, from the stored numbers of each row."""
    design, _ = designs(400, radius, near)
    rows = design.inner.in_memory()
    exact = rows.X.toarray().astype(np.longdouble) * rows.factors[:, None]
    exact = (exact - design.point) * design.factors[:, None]
    norms = np.sqrt((exact * exact).sum(axis=1))
    assert norms.max() <= R
    assert (norms <= design.norms * (1.0 + 1e-15)).all()
    if near != 0.0:
        assert norms.max() > R * (1.0 - 1e-9)


def problem(loss, n, d, neighboring="replace_one"):
    plain = problem_with(
        loss, n, Neighboring(neighboring), norm=R, intercept=B0, n_features=d, clips=2.0
    )
    return shifted(plain, STRETCH, None), shifted(plain, STRETCH, COLUMNS.for_fits().n_entries)


def test_sums_are_within_their_bounds(kind):
    """Exact sums are known to 1e-19 of the sizes that they add."""
    n = 5000
    design, _ = designs(n)
    d, rng = design.n_features, np.random.default_rng(0)
    _, facts = problem(LogisticLoss(), n, d)
    rows = design.inner.in_memory()
    inner = rows.X.toarray().astype(np.longdouble) * rows.factors[:, None]
    A = np.full((n, d), np.longdouble(B0))
    A[:, :-1] = (inner - design.point) * design.factors[:, None]
    residual = rng.choice([-1.0, 1.0], size=n)
    error = design.weighted_sum(residual) - residual.astype(np.longdouble) @ A
    whole, of_score = record_error(
        *(facts.loss, facts.row_norm, d, 2**14), clips=facts.clips, parts=facts.parts
    )
    assert np.linalg.norm(error.astype(float)) <= n * whole
    theta = rng.normal(size=d)
    most = np.abs(design.scores(theta) - A @ theta).max()
    A, vector = A[:, :30], np.triu_indices(30)  # mostly columns of numbers
    gram = A.T @ A - design.cross_product()[:30, :30]
    scaled = gram[vector] * np.where(vector[0] == vector[1], 1.0, math.sqrt(2.0))
    assert np.linalg.norm(scaled.astype(float)) <= gram_sum(facts).errors / 2
    smoothness = facts.loss.smoothness * facts.row_norm
    assert smoothness * float(most) <= of_score * np.linalg.norm(theta)


def test_a_shift_of_sums_costs_little_noise():
    """No more than a shift of rows, which have more numbers than entries."""
    for n, most in ((10**5, 1e-4), (None, 0.02)):
        relation = "replace_one" if n else "add_remove_one"
        explicit, kept = problem(LogisticLoss(), n, 1000, relation)
        assert gradient_sum(kept).errors < 1.1 * gradient_sum(explicit).errors
        for sums in (gradient_sum(kept), gram_sum(kept)):
            assert sums.errors < most * sums.between


def test_clipped_gradients_of_short_rows_have_the_errors_of_their_parts():
    explicit, kept = problem(LogisticLoss(), 10**5, 50)
    longest = 0.1 * kept.loss.lipschitz * kept.row_norm
    errors = [
        record_error(p.loss, p.row_norm, 50, 2**14, p.clips, p.parts, longest)[0]
        for p in (explicit, kept)
    ]
    assert errors[1] > 2.0 * STRETCH * 2**14 * 2.0**-53 * kept.loss.lipschitz * kept.row_norm
    assert errors[0] < errors[1] < 1e-10
