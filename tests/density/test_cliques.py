"""Cliques of columns: which pairs they admit, and tables fitted to pairs."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from skdp import DPTreeDensity
from skdp.density import _cliques
from skdp.density._cliques import Cliques, fitted_cliques

SIZES = (2, 3, 4, 2, 3, 5)
TREE = [(0, 1), (1, 2), (1, 3), (3, 4), (4, 5)]


def random_graph(seed):
    """A tree of six nodes and some more pairs."""
    rng = np.random.default_rng(seed)
    tree = [(int(rng.integers(k)), k) for k in range(1, 6)]
    others = [pair for pair in itertools.combinations(range(6), 2) if pair not in tree]
    return tree + [others[k] for k in rng.permutation(len(others))[: rng.integers(5)]]


@pytest.mark.parametrize("seed", range(20))
def test_a_node_and_its_parents_are_a_clique_next_to_that_of_its_last_parent(seed):
    edges = random_graph(seed)
    cliques = Cliques.of(SIZES, 2, edges)
    assert sorted(cliques.order) == list(range(6))
    for i, parents in enumerate(cliques.parents):
        places = [cliques.order.index(k) for k in (*parents, i)]
        assert places == sorted(places)
        if parents:
            assert {*parents[:-1]} <= {*cliques.parents[parents[-1]]}
    for pair in edges:
        assert {*pair} <= {*cliques.scope(cliques.home(pair))}


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_admitted_that_leave_all_cliques_small(seed, monkeypatch):
    monkeypatch.setattr(_cliques, "_MOST_CELLS", 60)
    monkeypatch.setattr(_cliques, "_MOST_IN_ALL", 160)
    edges = random_graph(seed)
    cliques = Cliques.of(SIZES, 2, edges)
    pairs = [pair for pair in itertools.combinations(range(6), 2) if pair not in edges]
    for pair, admitted in zip(pairs, cliques.admits(pairs), strict=True):
        more = Cliques.in_order(SIZES, 2, [*edges, pair], cliques.order)
        cells = [2 * math.prod(SIZES[k] for k in more.scope(i)) for i in range(6)]
        assert admitted == (max(cells) <= 60 and sum(cells) <= 160)


def test_a_pair_counts_only_the_cliques_that_it_changes(monkeypatch):
    """Of 60 nodes in a line, a pair k apart changes k - 1."""
    counted, nodes = [], range(60)
    cells_of = _cliques._cells_of
    monkeypatch.setattr(
        _cliques, "_cells_of", lambda p, masks: counted.append(masks.size) or cells_of(p, masks)
    )
    cliques = Cliques.in_order((2,) * 60, 1, list(itertools.pairwise(nodes)), nodes)
    assert cliques.admits([(20, 23), (7, 9), (0, 3)]).all()
    assert sum(counted) == 2 + 1 + 2


def test_the_better_of_two_orders_is_taken():
    """Of the order so far and of a new one: each is the better one for some graphs."""
    wins = np.zeros(2, int)
    for seed in range(40):
        edges = random_graph(seed)
        cliques = Cliques.of(SIZES, 2, edges[:-1])
        found = cliques.with_edge(edges[-1])
        both = [
            sum(Cliques.in_order(SIZES, 2, edges, cliques.order).cells),
            sum(Cliques.of(SIZES, 2, edges).cells),
        ]
        assert sum(found.cells) == min(both)
        wins += np.array(both) < both[::-1]
    assert (wins > 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_fitted_cliques_have_the_pairs_of_a_distribution(seed):
    """Pairs of one table agree, so the fit reaches all of them."""
    rng = np.random.default_rng(seed)
    joint = 1000.0 * rng.dirichlet(np.ones(math.prod(SIZES) * 2)).reshape(*SIZES, 2)
    edges = random_graph(seed)
    pairs = {(i, j): joint.sum(axis=tuple({*range(6)} - {i, j})) for i, j in edges}
    margins = [joint.sum(axis=tuple({*range(6)} - {i})) for i in range(6)]
    cliques = Cliques.of(SIZES, 2, edges)
    tables = fitted_cliques(cliques, margins, pairs, joint.sum(axis=tuple(range(6))))
    for i, j in edges:
        scope = cliques.scope(cliques.home((i, j)))
        axes = [0, *range(1, len(scope) + 1)]
        found = np.einsum(tables[scope[-1]], axes, [1 + scope.index(i), 1 + scope.index(j), 0])
        assert found == pytest.approx(pairs[i, j], rel=1e-2, abs=0.5)


def circle(n):
    """Return three columns. Each two are often equal, which no tree of pairs can describe."""
    rng = np.random.default_rng(0)
    x = rng.integers(3, size=(n, 3))
    kind = rng.integers(4, size=n)
    for k, (i, j) in enumerate(itertools.combinations(range(3), 2)):
        x[kind == k, j] = x[kind == k, i]
    return x


def test_pairs_that_close_a_circle_are_those_of_the_data():
    """At ε = 8 the noise of a share is about .0005: the false alarm is below 1e-9."""
    x = circle(20_000)
    model = DPTreeDensity(categories=[0, 1, 2], missing="error", epsilon=8.0, random_state=0)
    model.fit(x)
    assert len(model.edges_) == 3
    for i, j in itertools.combinations(range(3), 2):
        seen = pd.crosstab(x[:, i], x[:, j], normalize=True).to_numpy()
        assert model.marginal([i, j]) == pytest.approx(seen, abs=4e-3)


def test_counts_of_new_rows_have_the_distribution_of_samples():
    """Means of 400 counts, each within five standard deviations: the false alarm is below 1e-4."""
    x = circle(2000)
    model = DPTreeDensity(categories=[0, 1, 2], missing="error", epsilon=8.0, random_state=0)
    found = model.fit(x)._released_.model
    rng, n, m = np.random.default_rng(3), 300, 400
    draws = [found.counts(n, rng) for _ in range(m)]
    for i, j in found.cliques.edges:
        counts = np.array([pairs[i, j][..., 0] for _, pairs, _ in draws])
        shares = found.marginal([i, j], by_value=False)
        assert counts.sum(axis=(1, 2)).tolist() == [n] * m
        error = np.abs(counts.mean(axis=0) - n * shares)
        assert (error < 5.0 * np.sqrt(n * shares / m)).all()


def test_more_columns_than_bits_are_a_tree():
    x = np.random.default_rng(0).integers(2, size=(50, 65))
    model = DPTreeDensity(categories=[0, 1], missing="error", random_state=0).fit(x)
    assert len(model.edges_) == 64


def test_sampled_counts_are_the_nearest_to_their_expectations():
    """Whole rows of one column, and of each value of a target."""
    x = np.random.default_rng(0).integers(5, size=(2000, 1))
    model = DPTreeDensity(categories=range(5), missing="error", random_state=0).fit(x)
    counts = np.bincount(model.sample(999, random_state=1)[:, 0].astype(int), minlength=5)
    assert np.abs(counts - 999 * model.marginal(0)).max() < 1.0


def test_rows_of_a_sample_come_in_random_order():
    """A run of equal values is longer than 60 with a probability below 1e-12."""
    x = np.arange(10_000)[:, None] % 2
    model = DPTreeDensity(categories=[0, 1], missing="error", random_state=0).fit(x)
    changes = np.flatnonzero(np.diff(model.sample(10_000, random_state=2)[:, 0].astype(int)))
    assert np.diff(changes).max() < 60


@pytest.mark.parametrize("seed", range(3))
def test_cliques_of_a_fit_are_as_small_as_those_that_were_admitted(seed, monkeypatch):
    """A greedy order of the same pairs may have cliques that are larger by far."""
    monkeypatch.setattr(_cliques, "_MOST_CELLS", 512)
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, size=24)
    x = (rng.random((300, 24)) * sizes).astype(int)
    levels = {j: range(size) for j, size in enumerate(sizes.tolist())}
    model = DPTreeDensity(categories=levels, missing="error", random_state=seed).fit(x)
    assert len(model.edges_) > 23
    assert max(table.size for table in model._released_.model.given_parents) <= 512


@pytest.mark.parametrize("n_columns", [30, 70])
def test_columns_of_a_single_level_do_not_make_large_cliques(n_columns, monkeypatch):
    """Each takes an axis of a table, and arrays have at most 32 axes in some functions."""
    monkeypatch.setattr(_cliques, "_MOST_CELLS", 2**10)
    x = np.zeros((300, n_columns))
    model = DPTreeDensity(categories=[0], missing="error", random_state=0).fit(x)
    assert max(map(len, model._released_.cliques.parents)) <= 9
    assert (model.sample_several(5, n_tables=1)[0] == 0).all()
    assert model.marginal([0, 1, 2]) == pytest.approx(np.ones((1, 1, 1)))


def test_a_line_of_columns_may_be_longer_than_python_calls_within_calls():
    n = 1500
    pairs = {(i, i + 1): np.array([[[30.0], [10.0]], [[10.0], [50.0]]]) for i in range(n - 1)}
    cliques = Cliques.in_order((2,) * n, 1, [*pairs], range(n))
    margins = [np.array([[40.0], [60.0]])] * n
    tables = fitted_cliques(cliques, margins, pairs, np.array([100.0]))
    assert np.array(tables[1:])[:, 0] == pytest.approx(np.tile(pairs[0, 1][..., 0], (n - 1, 1, 1)))
