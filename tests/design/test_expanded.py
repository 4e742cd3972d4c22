"""The expanded design is the clipped matrix of features, of which only blocks are ever there."""

import tracemalloc
from operator import methodcaller

import numpy as np
import pytest

from skdp.design import (
    ClippedDesign,
    ExpandedDesign,
    ForestDesign,
    FreshDesign,
    TabulatedDesign,
    design_kind,
    expanded,
    expanded_scores,
)
from skdp.design.base import SumGrid
from skdp.features.additive import AdditiveFeatures, AdditiveMap
from skdp.features.base import TableFacts
from skdp.features.combined import FeatureMixture, MixtureMap
from skdp.features.random_maps import FourierMap, PhaseMap, RandomFourierFeatures, TreeMap

FACTS = TableFacts.of(4, (), bounds=(-1.0, 1.0), categories={3: [0.0, 1.0, 2.0]})
MAPS = {
    "additive": AdditiveMap.of(FACTS, AdditiveFeatures(interactions="pairs", reference=[1])),
    "sparse pairs": AdditiveMap.of(
        FACTS, AdditiveFeatures(interactions="pairs", norm="blocks")
    ).for_fits(),
    "tables": AdditiveMap.of(FACTS, AdditiveFeatures(reference=[1])).for_fits(),
    "waves": FourierMap(facts=FACTS, n_components=22).for_fits(),
    "trees": TreeMap(facts=FACTS, n_trees=7, depths=(3, 3)),
}
KINDS = {"tables": TabulatedDesign}
for name, trees in (
    ("forest", {"depths": (1, 5), "n_trees": 12}),
    ("deep forest", {"depths": (13, 13), "n_trees": 2}),
):
    CURVES = AdditiveMap.of(FACTS, AdditiveFeatures(reference=[1]))
    MAPS[name] = MixtureMap(
        additive=CURVES,
        other=TreeMap(facts=FACTS, **trees),
        additive_share=0.3,
        most_square=CURVES.most_square,
    ).for_fits()
    KINDS[name] = ForestDesign
for name, size in (("waves and curves", 22), ("more waves", 24), ("odd waves", 21)):
    MAPS[name] = MixtureMap(
        additive=CURVES,
        other=FourierMap(facts=FACTS, n_components=size),
        additive_share=0.3,
        most_square=CURVES.most_square,
    ).for_fits()
    KINDS[name] = ForestDesign
every_map = pytest.mark.parametrize("feature_map", MAPS.values(), ids=MAPS)
SMALL = {name: one for name, one in MAPS.items() if one.n_features_out < 2000}  # for dense matrices
DENSE = {name: one for name, one in MAPS.items() if not one.is_sparse}


def table(n=700):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-1.5, 1.5, size=(n, 3)), rng.integers(-1, 3, size=n)])
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def pair(feature_map, monkeypatch, b0=0.3, n=700):
    """Return an expanded design of several blocks, and the clipped matrix of its features."""
    features = feature_map.whole(feature_map.prepare(table(n)))
    monkeypatch.setattr(expanded, "_IN_MEMORY", 8 * 70 * feature_map.n_entries)
    monkeypatch.setattr(expanded, "_FEWEST_ROWS", 200)
    monkeypatch.setattr(expanded, "_BLOCK_ROWS", 300)
    monkeypatch.setattr(expanded, "_FOREST_ROWS", 300)
    name = next(name for name, one in MAPS.items() if one is feature_map)
    kind = design_kind(feature_map)
    assert kind is KINDS.get(name, ExpandedDesign)
    design = kind.clip(table(n), feature_map, 0.8, b0)
    assert type(design) is kind
    return design, ClippedDesign.clip(features, 0.8, b0)


@every_map
@pytest.mark.parametrize("b0", [0.0, 0.3])
@pytest.mark.parametrize("k", [(), (3,)])
def test_it_multiplies_like_the_clipped_matrix(feature_map, b0, k, monkeypatch):
    design, whole = pair(feature_map, monkeypatch, b0)
    rng = np.random.default_rng(1)
    theta, residual = rng.normal(size=(whole.n_features, *k)), rng.normal(size=(700, *k))
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(design.scores(theta), whole.scores(theta), **close)
    np.testing.assert_allclose(design.weighted_sum(residual), whole.weighted_sum(residual), **close)
    assert design.reach(theta) == pytest.approx(whole.reach(theta))
    assert (design.n_samples, design.n_features) == (whole.n_samples, whole.n_features)


@pytest.mark.parametrize("feature_map", SMALL.values(), ids=SMALL)
def test_its_products_are_those_of_the_clipped_matrix(feature_map, monkeypatch):
    design, whole = pair(feature_map, monkeypatch)
    w = np.random.default_rng(2).random(700)
    np.testing.assert_allclose(design.gram(w), whole.gram(w), atol=1e-10)
    np.testing.assert_allclose(design.cross_product(), whole.cross_product(), atol=1e-10)
    np.testing.assert_allclose(design.gram_diagonal(w), whole.gram_diagonal(w), atol=1e-10)
    np.testing.assert_allclose(design.row_norms(), whole.row_norms(), rtol=1e-12)
    assert (design.row_norms() <= np.hypot(0.8, 0.3) * (1.0 + 1e-10)).all()


@every_map
@pytest.mark.parametrize("most_rows", [None, 30, 333])
def test_blocks_and_rows_taken_are_those_of_the_clipped_matrix(feature_map, most_rows, monkeypatch):
    design, whole = pair(feature_map, monkeypatch)
    theta = np.random.default_rng(3).normal(size=whole.n_features)
    scores = np.concatenate([block.scores(theta) for _, block in design.blocks(most_rows)])
    np.testing.assert_allclose(scores, whole.scores(theta), atol=1e-10)
    for rows in (np.arange(650, 5, -1), np.array([5, 5, 6]), slice(3, 690), slice(None)):
        taken = design.take(rows).scores(theta)
        np.testing.assert_allclose(taken, whole.take(rows).scores(theta), atol=1e-10)
    np.testing.assert_allclose(design.in_memory().scores(theta), whole.scores(theta), atol=1e-10)


@pytest.mark.parametrize("feature_map", DENSE.values(), ids=DENSE)
def test_features_of_a_row_do_not_depend_on_other_rows(feature_map):
    """The same bits in blocks of any size, also of rows without missing values."""
    X = np.tile(table(), (8, 1))  # several blocks that are coded at a time
    whole = np.concatenate([features.copy() for _, features in feature_map.made(X)])
    np.testing.assert_allclose(whole, feature_map.whole(feature_map.prepare(X)), atol=1e-12)
    for rows in ([0], [5, 3], range(0, 700, 3), range(511, 4100), range(4090, 4100), [5599]):
        again = [features.copy() for _, features in feature_map.made(X[rows])]
        np.testing.assert_array_equal(np.concatenate(again), whole[rows])


@pytest.mark.parametrize("more", [{"transformation": "log"}, {"bounds": (-1, 7)}], ids=repr)
def test_each_part_of_a_mixture_has_its_own_scale(more):
    bounds, X = {"bounds": (-2, 5)}, table()[:, :3]
    features = FeatureMixture(
        additive=AdditiveFeatures(**bounds | more),
        random=RandomFourierFeatures(n_components=21, **bounds),
    )
    own = features.feature_map(3).for_fits()
    made = np.concatenate([features.copy() for _, features in own.made(X)])
    np.testing.assert_allclose(made, own.whole(own.prepare(X)), atol=1e-12)


@pytest.mark.parametrize("feature_map", DENSE.values(), ids=DENSE)
@pytest.mark.parametrize("norm", [0.8, 1.5])
@pytest.mark.parametrize(
    "rows", [None, np.arange(3, 690, 2), np.arange(0)], ids=["all", "some", "no"]
)
def test_rows_made_anew_add_up_like_the_clipped_matrix(feature_map, norm, rows, monkeypatch):
    """A sample may have no rows, and must not raise then."""
    features, y = feature_map.whole(feature_map.prepare(table())), np.arange(700) - 300.0
    whole = ClippedDesign.clip(features, norm, 0.3, y)
    design, grid = FreshDesign(table(), feature_map, norm, 0.3, y), SumGrid.of(1e6)
    monkeypatch.setattr(expanded, "ROWS_SUMMED", 300)
    theta = np.random.default_rng(3).normal(size=whole.n_features)
    sums = [
        one.slope_sum(lambda y, z: y * z, theta, records=rows, grid=grid) for one in (design, whole)
    ]
    np.testing.assert_allclose(*sums, rtol=1e-9, atol=1e-7)
    function = methodcaller("cross_product")
    products = [one.exact_sum(function, grid, rows) for one in (design, whole)]
    np.testing.assert_allclose(*products, atol=1e-9)
    taken = slice(None) if rows is None else rows
    scores = [one.take(taken).scores(theta) for one in (design, whole)]
    np.testing.assert_allclose(*scores, atol=1e-10)


@every_map
def test_scores_of_new_rows_are_clipped_alike(feature_map, monkeypatch):
    design, whole = pair(feature_map, monkeypatch, b0=0.0)
    coef = np.random.default_rng(4).normal(size=(whole.n_features, 2))
    scores = expanded_scores(table(), feature_map, 0.8, coef)
    np.testing.assert_allclose(scores, design.scores(coef), atol=1e-10)


@pytest.mark.parametrize("missing", ["indicator", "error"])
def test_tables_hold_the_features_of_rounded_numbers(missing):
    facts = TableFacts.of(4, (), bounds=(-1.0, 1.0), categories={3: [0, 1, 2]}, missing=missing)
    exact = AdditiveMap.of(facts, AdditiveFeatures(reference=[1]))
    X = table()
    if missing == "error":
        X = X[~np.isnan(X).any(axis=1)]
    near, there = exact.for_fits(), exact.whole(X)
    rounded = near.whole(near.prepare(X))
    assert 0.0 < np.abs(rounded - there).max() < 2e-3
    np.testing.assert_array_equal(rounded[:, -3:], there[:, -3:])
    assert np.linalg.norm(rounded, axis=1).max() <= 2.0 + 1e-12


@pytest.mark.parametrize("size", [1, 2, 21, 22, 24])
def test_phases_hold_the_waves_of_rounded_angles(size):
    """An angle moves by half a phase at most, also where a wave has an integer for itself."""
    waves = FourierMap(facts=FACTS, n_components=size)
    near = waves.for_fits()
    assert isinstance(near, PhaseMap)
    rounded, there = near.whole(near.prepare(table())), waves.whole(table())
    most = np.pi / 64.0 / np.sqrt((size + 1) // 2) if size > 1 else 0.0
    assert 0.5 * most <= np.abs(rounded - there).max() <= most * (1.0 + 1e-9)
    np.testing.assert_allclose((rounded**2).sum(axis=1), 1.0, rtol=1e-14)


def test_few_rows_are_expanded_once():
    design = ExpandedDesign.clip(table(), MAPS["additive"], 1.0)
    assert isinstance(design, ClippedDesign)


@pytest.mark.slow
def test_little_more_memory_than_the_table_is_needed(monkeypatch):
    """A pass and a Gram matrix over 20 columns with eight terms stay below half of the table."""
    feature_map = AdditiveMap.of(
        TableFacts.of(20, (), bounds=(0.0, 1.0)), AdditiveFeatures()
    ).for_fits()
    X = np.random.default_rng(0).random((300_000, 20))
    tracemalloc.start()
    design = TabulatedDesign.clip(X, feature_map, 1.0, 0.3)
    for _, block in design.blocks():
        block.weighted_sum(block.scores(np.ones(design.n_features)))
    design.cross_product()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * X.nbytes


def test_waves_are_the_same_numbers_kept_or_not(monkeypatch):
    """Whether features are kept depends on the number of rows, which may be private."""
    waves = FourierMap(facts=FACTS, n_components=21).for_fits()
    X, rng = table(), np.random.default_rng(0)
    kept = ExpandedDesign.clip(X, waves, 0.9, 0.3)
    monkeypatch.setattr(expanded, "_IN_MEMORY", 0)
    anew = ExpandedDesign.clip(X, waves, 0.9, 0.3)
    assert (type(kept), type(anew)) == (ClippedDesign, ExpandedDesign)
    np.testing.assert_array_equal(kept.X, anew.in_memory().X)
    theta, r = rng.normal(size=22), rng.normal(size=len(X))
    np.testing.assert_allclose(anew.scores(theta), kept.scores(theta), rtol=1e-12)
    np.testing.assert_allclose(anew.weighted_sum(r), kept.weighted_sum(r), rtol=1e-11)
    np.testing.assert_allclose(anew.cross_product(), kept.cross_product(), atol=1e-11)


@pytest.mark.parametrize("name", ["waves", "waves and curves", "odd waves", "forest"])
def test_no_row_is_longer_than_its_norm(name, monkeypatch):
    """In extended precision: features and their norms are rounded, but the norm is clipped."""
    feature_map = MAPS[name]
    monkeypatch.setattr(expanded, "_FEWEST_ROWS", 0)
    design = design_kind(feature_map).clip(table(), feature_map, 1.0)
    rows = design.scores(np.eye(design.n_features)).astype(np.longdouble)
    lengths = (rows**2).sum(axis=1)
    assert 1.0 - 1e-11 < lengths.max() <= 1.0


def test_pairs_with_categories_are_the_same_features_without_their_zeros():
    whole = AdditiveMap.of(FACTS, AdditiveFeatures(interactions="pairs", reference=[1]))
    few = whole.for_fits().whole(table())
    np.testing.assert_allclose(few.toarray(), whole.whole(table()), atol=1e-15)
    assert few.nnz == len(table()) * whole.for_fits().n_entries < 0.7 * few.toarray().size


@pytest.mark.parametrize("name", ["additive", "sparse pairs", "waves", "trees"])
def test_a_few_more_rows_than_memory_keeps_cost_a_pass_little_more(name, monkeypatch):
    """Only the features of rows in blocks that are not kept as a whole are made again."""
    feature_map, n, made = MAPS[name], 2000, []
    monkeypatch.setattr(type(feature_map), "rows_at_once", 64)
    monkeypatch.setattr(expanded, "_IN_MEMORY", 8 * n * feature_map.n_entries // feature_map.cost)
    expand = type(feature_map).expand

    def counted(self, rows):
        made.append(len(rows))
        return expand(self, rows)

    monkeypatch.setattr(type(feature_map), "expand", counted)
    for more, remade in ((0, 0), (1, 1 + 2000 % 64), (40, 40 + 2000 % 64)):
        y = np.ones(n + more)
        design = ExpandedDesign.clip(table(n + more), feature_map, 0.8, 0.3, y)
        whole = ClippedDesign.clip(
            feature_map.whole(feature_map.prepare(table(n + more))), 0.8, 0.3
        )
        made.clear()
        theta = np.ones(design.n_features)
        sums = design.slope_sum(lambda y, z: y * z, theta)
        assert sum(made) == remade
        np.testing.assert_allclose(sums, whole.weighted_sum(whole.scores(theta)), rtol=1e-6)
        taken = design.take(np.array([3, n + more - 1])).scores(theta)
        np.testing.assert_allclose(taken, whole.scores(theta)[[3, -1]], rtol=1e-6)
