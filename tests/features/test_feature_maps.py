"""Public feature maps: norms, domains, missing values, frames, and what is refused."""

import itertools
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import all_estimators

from skdp.features import (
    AdditiveFeatures,
    FeatureMixture,
    RandomFourierFeatures,
    RandomTreeFeatures,
)
from skdp.features.row_wise import check_row_wise
from skdp.preprocessing import BoundsScaler

MAPS = [AdditiveFeatures, RandomFourierFeatures, RandomTreeFeatures]
SMALL = {RandomFourierFeatures: {"n_components": 20}, RandomTreeFeatures: {"n_trees": 9}}
every_map = pytest.mark.parametrize("Map", MAPS)
PEOPLE = {
    "job": ["clerk", "smith", None, "pirate"],
    "age": [20.0, 65.0, np.nan, 300.0],
    "income": [0.0, 1e5, 2e4, np.nan],
}
FACTS = {"bounds": {"age": (0, 100), "income": (0, 1e6)}, "categories": {"job": ["clerk", "smith"]}}


def made(Map, **parameters):
    return Map(**{**SMALL.get(Map, {}), **parameters})


def rows_of(features):
    return features.toarray() if sparse.issparse(features) else np.asarray(features)


numbers = st.floats(-1e300, 1e300) | st.just(np.nan) | st.just(np.inf)


@settings(deadline=None, max_examples=200)
@given(
    x=numbers,
    n_terms=st.integers(1, 40),
    share=st.floats(0, 1),
    reference=st.sampled_from([None, "low"]),
    transformation=st.sampled_from([None, "log", {0: 37.0}]),
)
def test_the_features_of_a_number_are_no_longer_than_one(
    x, n_terms, share, reference, transformation
):
    features = AdditiveFeatures(
        bounds=(-3.0, 1e6),
        n_terms=n_terms,
        linear_share=share,
        reference=reference,
        transformation=transformation,
    )
    assert np.linalg.norm(features.fit_transform([[x]])) <= 1.0 + 1e-12


@settings(deadline=None, max_examples=50)
@given(st.lists(numbers, min_size=3, max_size=3), st.sampled_from([None, "pairs", [(0, 2)]]))
def test_blocks_that_are_shortened_are_no_longer_than_one(row, interactions):
    features = AdditiveFeatures(
        bounds={0: (0, 1), 2: (-5, 5)},
        categories={1: [0.0, 1.0]},
        interactions=interactions,
        norm="blocks",
    )
    assert np.linalg.norm(features.fit_transform([row])) <= 1.0 + 1e-12


@pytest.mark.parametrize("Map", [RandomFourierFeatures, RandomTreeFeatures])
def test_random_features_have_norm_one_whatever_the_row(Map):
    features = rows_of(made(Map, **FACTS).fit_transform(pd.DataFrame(PEOPLE)))
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("n_components", [1, 2, 7])
def test_waves_have_norm_one_however_many(n_components):
    waves = RandomFourierFeatures(**FACTS, n_components=n_components)
    rows = waves.fit_transform(pd.DataFrame(PEOPLE))
    assert rows.shape[1] == n_components == len(waves.get_feature_names_out())
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-12)


def test_numbers_become_the_lines_and_waves_of_the_formula():
    u = np.linspace(0, 1, 7)
    k, g = np.arange(1, 4), 0.3
    w = (1 / k) / (1 / k).sum()
    line = np.sqrt(g) * (2 * u - 1)
    waves = np.sqrt((1 - g) * w) * np.cos(np.pi * np.outer(u, k))
    features = AdditiveFeatures(bounds=(0, 10), n_terms=3, linear_share=g, missing="error")
    np.testing.assert_allclose(
        features.fit_transform(10 * u[:, None]), np.column_stack([line, waves]), atol=1e-14
    )
    sines = np.sin(np.pi * np.outer(u, k - 0.5)) * np.sqrt(2 * (1 - g)) / ((k - 0.5) * np.pi)
    low = clone(features).set_params(reference="low")
    expected = np.column_stack([np.sqrt(g) * u, sines])
    np.testing.assert_allclose(low.fit_transform(10 * u[:, None]), expected, atol=1e-14)


def test_a_straight_line_alone_is_the_scaler_by_bounds():
    X = np.random.default_rng(0).normal(size=(50, 3))
    lines = AdditiveFeatures(bounds=(-1, 2), linear_share=1.0, missing="error").fit_transform(X)
    np.testing.assert_allclose(lines, BoundsScaler(bounds=(-1, 2)).fit_transform(X), atol=1e-14)


def test_a_logarithmic_scale_has_a_unit():
    x = np.array([[-50.0], [0.0], [3.0], [700.0]])
    features = AdditiveFeatures(
        bounds=(-50, 700), linear_share=1.0, transformation={0: 20.0}, missing="error"
    )
    t = np.sign(x) * np.log1p(np.abs(x) / 20)
    expected = 2 * (t - t[0]) / (t[-1] - t[0]) - 1
    np.testing.assert_allclose(features.fit_transform(x), expected, atol=1e-14)


def test_categories_are_ones_and_unknown_ones_are_zeros():
    features = AdditiveFeatures(**FACTS, n_terms=1, linear_share=1.0)
    out = features.fit_transform(pd.DataFrame(PEOPLE))
    names = features.get_feature_names_out().tolist()
    assert names == [
        *("age", "missing_age", "income", "missing_income"),
        *("job_clerk", "job_smith", "missing_job"),
    ]
    np.testing.assert_array_equal(out[:, 4:], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(out[:, 1], [0, 0, 1, 0])
    np.testing.assert_array_equal(out[2, 0], 0)


def test_pairs_are_products_and_have_half_of_the_squared_norm():
    X = np.random.default_rng(0).random((20_000, 3))
    alone = AdditiveFeatures(bounds=(0, 1), missing="error")
    both = clone(alone).set_params(interactions=[(2, 0)])
    out = both.fit_transform(X)
    n = alone.fit_transform(X).shape[1]
    assert out.shape[1] == n + 9
    one, other = (np.cos(np.pi * np.outer(X[:, j], [1, 2, 3])) for j in (0, 2))
    products = (one[:, :, None] * other[:, None]).reshape(-1, 9)
    ratios = out[:, n:] / products
    assert (ratios.std(axis=0) < 1e-6 * ratios.mean(axis=0)).all()
    squares = [(part**2).sum(axis=1).mean() for part in (out[:, :n], out[:, n:])]
    assert squares[0] == pytest.approx(squares[1], rel=0.03)
    assert both.get_feature_names_out()[-1] == "x0_wave3 x2_wave3"


@every_map
def test_frames_of_two_libraries_and_arrays_become_the_same(Map):
    polars = pytest.importorskip("polars")
    features = made(Map, **FACTS)
    table = pd.DataFrame(PEOPLE)
    expected = rows_of(features.fit_transform(table))
    np.testing.assert_array_equal(
        rows_of(clone(features).fit_transform(polars.DataFrame(PEOPLE, strict=False))), expected
    )
    by_number = made(Map, bounds={1: (0, 100), 2: (0, 1e6)}, categories={0: ["clerk", "smith"]})
    np.testing.assert_array_equal(
        rows_of(by_number.fit_transform(table.to_numpy(dtype=object))), expected
    )


@every_map
def test_a_row_becomes_the_same_alone_and_names_fit(Map):
    features = made(Map, bounds=(-1, 1))
    X = np.random.default_rng(0).normal(size=(3000, 4))
    out = features.fit_transform(X)
    assert out.shape[1] == len(set(features.get_feature_names_out()))
    alone = rows_of(features.transform(X[1234:1235]))
    np.testing.assert_allclose(alone, rows_of(out)[1234:1235], atol=1e-14)


@pytest.mark.parametrize("kind", ["additive", "fourier", "trees", "with fourier", "with trees"])
def test_a_row_has_the_same_bits_wherever_it_stands(kind, rng):
    """Beside any rows, in designs of fits too: proofs for rounded sums need it."""
    parts = {"bounds": (-1, 1), "categories": {40: [0.0, 1.0, 2.0]}, "transformation": "log"}
    own = {
        "additive": AdditiveFeatures(**parts),
        "fourier": RandomFourierFeatures(**parts, n_components=101),
        "trees": RandomTreeFeatures(**parts, n_trees=9),
    }
    if kind not in own:
        own[kind] = FeatureMixture(additive=own["additive"], random=own[kind.split()[1]])
    X = np.column_stack([rng.normal(size=(3000, 40)), rng.integers(3, size=3000)])
    X[rng.random(X.shape) < 0.1] = np.nan
    given = own[kind].feature_map(41)
    for feature_map in (given, given.for_fits()):
        whole = rows_of(feature_map.expand(feature_map.prepare(X)))
        for rows in (slice(1234, 1235), slice(7, 2022), slice(None, None, -1), slice(0, 3000, 7)):
            alone = rows_of(feature_map.expand(feature_map.prepare(X[rows])))
            np.testing.assert_array_equal(alone, whole[rows])


@every_map
def test_single_precision_is_kept(Map):
    X = np.random.default_rng(0).random((30, 4)).astype(np.float32)
    features = made(Map, bounds=(0, 1))
    out = features.fit_transform(X)
    assert out.dtype == np.float32
    np.testing.assert_allclose(
        rows_of(out), rows_of(features.transform(X.astype(float))), atol=1e-6
    )


@pytest.mark.parametrize("Map", [RandomFourierFeatures, RandomTreeFeatures])
def test_the_public_seed_alone_decides(Map):
    X = np.random.default_rng(0).random((200, 4))
    one, same, other = (
        rows_of(made(Map, bounds=(0, 1), feature_seed=seed).fit_transform(X)) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_products_of_random_waves_are_near_their_kernel():
    """Each of 200 products is within 6 of its standard deviations, √(1/D): 4e-7 in all."""
    X = np.random.default_rng(0).random((200, 3))
    out = RandomFourierFeatures(bounds=(0, 1), n_components=20_000).fit_transform(X)
    near = (out[:-1] * out[1:]).sum(axis=1)
    square = ((2 * np.diff(X, axis=0)) ** 2).sum(axis=1)
    assert np.abs(near - np.exp(-0.5 * 4.0 * square)).max() < 6.0 * np.sqrt(1 / 20_000)


def test_trees_split_the_public_cells_and_every_leaf_is_one_of_them():
    X = np.random.default_rng(0).random((5000, 2))
    trees = RandomTreeFeatures(bounds=(0, 1), n_trees=20, depth=3)
    out = trees.fit_transform(X).toarray().reshape(5000, 20, 8)
    np.testing.assert_allclose(out.sum(axis=2), 1 / np.sqrt(20))
    assert (out.sum(axis=0) > 0).mean() > 0.9


def test_depths_of_a_pair_are_spread_over_the_trees():
    X = np.random.default_rng(0).random((500, 2))
    features = RandomTreeFeatures(bounds=(0, 1), n_trees=6, depth=(1, 3))
    rows = features.fit_transform(X)
    sizes = [2, 4, 8, 2, 4, 8]
    assert rows.shape[1] == sum(sizes) == len(features.get_feature_names_out())
    starts = np.cumsum([0, *sizes[:-1]])
    one_each = np.add.reduceat(rows.toarray(), starts, axis=1)
    np.testing.assert_allclose(one_each, 1 / np.sqrt(6))
    for depth in (0, 17, (3, 2), (1, 2, 3), "deep"):
        with pytest.raises((ValueError, TypeError), match="depth must be"):
            RandomTreeFeatures(bounds=(0, 1), depth=depth).fit(X)


@pytest.mark.parametrize("scale", [0.0, -1.0, 1e6, np.inf])
def test_the_scale_of_waves_has_public_limits(scale):
    with pytest.raises(ValueError, match="scale must be"):
        RandomFourierFeatures(bounds=(0, 1), scale=scale).fit([[0.5]])


@every_map
def test_features_do_not_depend_on_the_order_in_which_categories_are_named(Map):
    X = [["a", "x", 0.5], ["b", "y", 0.1]]
    kinds = {0: ["a", "b"], 1: ["x", "y"]}
    one, other = (
        made(Map, bounds={2: (0, 1)}, categories=dict(items)).fit_transform(X)
        for items in (kinds.items(), reversed(kinds.items()))
    )
    np.testing.assert_array_equal(rows_of(one), rows_of(other))


@every_map
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"bounds": None}, "bounds must be given"),
        ({"bounds": (1, 0)}, "are reversed"),
        ({"bounds": {0: (0, 1)}}, r"bounds have no pair for the columns"),
        ({"bounds": {0: (0, 1), "b": (0, 1)}}, "Unknown columns in"),
        ({"bounds": (0, 1), "categories": {1: []}}, "at least one"),
        ({"bounds": (0, 1), "categories": {"nobody": ["a"]}}, "Unknown columns in"),
        ({"bounds": (0, 1), "transformation": "sqrt"}, "log"),
        ({"bounds": (0, 1), "transformation": {5: "log"}}, "Unknown columns in"),
        ({"bounds": (0, 1), "missing": "middle"}, "missing must be one of"),
    ],
)
def test_wrong_parameters_say_what_is_allowed(Map, parameters, words):
    with pytest.raises(ValueError, match=words):
        made(Map, **parameters).fit([[0.5, 0.5]])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"interactions": [(0, 0)]}, "pairs of different columns"),
        ({"interactions": [(0, 1), (1, 0)]}, "each pair of columns once"),
        ({"interactions": [(0, 2)]}, "Unknown columns in"),
        ({"interactions": "triples"}, "interactions must be one of"),
        ({"n_terms": 0}, "n_terms"),
        ({"linear_share": 1.5}, "linear_share"),
        ({"reference": ["c"]}, "Unknown columns in reference"),
        ({"reference": "a"}, "reference must be None, 'low' or a list of numeric columns"),
        ({"reference": 0}, "reference must be None, 'low' or a list of numeric columns"),
        ({"norm": "l1"}, "norm must be one of"),
    ],
)
def test_wrong_additive_parameters_say_what_is_allowed(parameters, words):
    with pytest.raises(ValueError, match=words):
        AdditiveFeatures(bounds=(0, 1), **parameters).fit([[0.5, 0.5]])


@every_map
def test_missing_values_are_refused_where_none_may_be(Map):
    with pytest.raises(ValueError, match="missing values"):
        made(Map, bounds=(0, 1), missing="error").fit([[0.5], [np.nan]])


@every_map
def test_text_without_categories_is_refused_with_advice(Map):
    with pytest.raises(ValueError, match=r"column 'job' contains strings.*categories="):
        made(Map, bounds=(0, 1)).fit(pd.DataFrame(PEOPLE))


def test_pairs_of_one_column_are_none():
    X = [[0.1], [0.7]]
    np.testing.assert_array_equal(
        AdditiveFeatures(bounds=(0, 1), interactions="pairs").fit_transform(X),
        AdditiveFeatures(bounds=(0, 1)).fit_transform(X),
    )


@pytest.mark.parametrize(
    ("column", "categories"),
    [
        ([1, 2], ["1", "2"]),
        ([True, False], ["yes"]),
        (pd.array(["1", "2"], dtype="string"), [1, 2]),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), ["2020-01-01"]),
    ],
)
@every_map
def test_categories_of_another_type_than_their_column_are_refused(Map, column, categories):
    table = pd.DataFrame({"code": column})
    with pytest.raises(ValueError, match="cannot equal its categories"):
        made(Map, categories={"code": categories}).fit(table)
    empty = pd.DataFrame({"code": [np.nan, np.nan]})  # of floats, though its values are texts
    made(Map, categories={"code": ["a"]}).fit(empty)


@every_map
def test_lists_of_numbers_and_texts_are_tables(Map):
    features = made(Map, bounds={0: (0, 100)}, categories={1: ["a", "b"]})
    frame = pd.DataFrame({"age": [30.0, 50.0], "job": ["a", "x"]})
    listed = rows_of(features.fit_transform([[30, "a"], [50, "x"]]))
    by_name = made(Map, bounds={"age": (0, 100)}, categories={"job": ["a", "b"]})
    np.testing.assert_array_equal(listed, rows_of(by_name.fit_transform(frame)))


def test_bounds_that_are_one_number_on_a_logarithmic_scale_are_refused():
    features = AdditiveFeatures(bounds=(1e10, 1e10 + 2e-6), transformation="log")
    with pytest.raises(ValueError, match="too close for a logarithmic scale"):
        features.fit([[1.0]])


def test_of_two_columns_a_list_of_tuples_is_of_pairs():
    rows = [[5.0, 100.0], [10.0, 5.0]]
    pairs = BoundsScaler(bounds=[(0, 10), (5, 100)]).fit_transform(rows)
    sides = BoundsScaler(bounds=([0, 5], [10, 100])).fit_transform(rows)
    np.testing.assert_array_equal(pairs, sides)
    np.testing.assert_array_equal(pairs, [[0.0, 1.0], [1.0, -1.0]])


def refusal(transformer):
    """Return why a transformer is refused as features, None if it is not."""
    try:
        check_row_wise(transformer)
    except ValueError as refused:
        return str(refused)
    return None


OF_SKLEARN = [kind for _, kind in all_estimators(type_filter="transformer")]
DEFAULTS = [
    kind
    for kind in OF_SKLEARN
    if all(one.default is not one.empty for one in signature(kind).parameters.values())
]


@pytest.mark.parametrize("Kind", DEFAULTS, ids=lambda Kind: Kind.__name__)
def test_each_transformer_of_sklearn_is_a_feature_map_or_refused_with_a_reason(Kind):
    why = refusal(Kind())
    assert why is None or why.startswith(f"features cannot contain {Kind.__name__}")


def test_most_transformers_of_sklearn_are_refused_and_some_are_not():
    refused = [refusal(Kind()) is not None for Kind in DEFAULTS]
    assert 5 < refused.count(False) < 10 < refused.count(True)


@pytest.mark.parametrize("interactions", [None, [(0, 1)]])
def test_one_more_category_costs_no_jump_of_the_numbers_that_are_stored(interactions):
    """Above some number of categories, zeros are not stored any more."""
    stored, bounds = [], {0: (-1.0, 1.0)}
    for k in range(20, 400):
        categories = {1: list(range(k))}
        features = AdditiveFeatures(bounds=bounds, categories=categories, interactions=interactions)
        stored.append(features.feature_map(2).for_fits().n_entries)
    assert all(more <= 1.06 * few for few, more in itertools.pairwise(stored))
    assert stored[-1] < 30
