"""Every statistic spends first, is near the truth as it says, and shows nothing else."""

import math
import pickle
import sys
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from skdp import DPAdditiveClassifier, DPMixedNB, PrivacyBudget, statistics
from skdp.data.records import Records

RNG = np.random.default_rng(0)
X = RNG.beta(2.0, 4.0, size=(3000, 2)) * 10.0
CODES = np.floor(X / 4.0).astype(int)
B = {"bounds": (0, 10)}
ASKED = {
    "count": lambda **terms: statistics.count(X[:, 0] > 3.0, **terms),
    "sum": lambda **terms: statistics.sum(X[:, 0], **B, **terms),
    "mean": lambda **terms: statistics.mean(X, **B, **terms),
    "variance": lambda **terms: statistics.variance(X, **B, **terms),
    "covariance": lambda **terms: statistics.covariance(X, **B, **terms),
    "histogram": lambda **terms: statistics.histogram(X[:, 0], edges=[0, 2, 4, 10], **terms),
    "marginals": lambda **terms: statistics.marginals(
        CODES, categories={0: [0, 1, 2], 1: [0, 1, 2]}, n_ways=2, **terms
    ),
    "quantile": lambda **terms: statistics.quantile(X, q=[0.1, 0.5], **B, **terms),
    "survival_curve": lambda **terms: statistics.survival_curve(
        X[:, 0], CODES[:, 0] > 0, edges=[0, 2, 4, 6], **terms
    ),
    "difference": lambda **terms: statistics.difference(
        X, by=CODES[:, 0], keys=[0, 1, 2], **B, **terms
    ),
    "treatment_effect": lambda **terms: statistics.treatment_effect(
        X[:, 0] > 3.0, CODES[:, 1] > 0, X, covariate_bounds=(0, 10), **terms
    ),
    "describe": lambda **terms: statistics.describe(
        pd.DataFrame({"x": X[:, 0], "code": CODES[:, 0]}),
        bounds={"x": (0, 10)},
        categories={"code": [0, 1, 2]},
        **terms,
    ),
}
MEANS = np.stack([X[CODES[:, 0] == key].mean(axis=0) for key in range(3)])
TRUTH = {
    "count": np.count_nonzero(X[:, 0] > 3.0),
    "sum": X[:, 0].sum(),
    "mean": X.mean(axis=0),
    "variance": X.var(axis=0),
    "covariance": np.cov(X.T, ddof=0),
    "histogram": np.histogram(X[:, 0], [0, 2, 4, 10])[0],
    "difference": MEANS[1:] - MEANS[0],
}
every_statistic = pytest.mark.parametrize("name", ASKED)


def test_no_statistic_is_missing():
    assert set(ASKED) == {name for name in statistics.__all__ if name.islower()}


@pytest.mark.parametrize("name", TRUTH)
@pytest.mark.parametrize(
    "neighboring", [pytest.param("replace_one", marks=pytest.mark.slow), "add_remove_one"]
)
@pytest.mark.parametrize("delta", [pytest.param(0.0, marks=pytest.mark.slow), 1e-5])
def test_intervals_hold_the_truth_as_often_as_they_say(name, neighboring, delta):
    """200 releases. A true 50 or 90 % is counted outside of the limits in 1e-6 of runs each.

    Counts are integers, so their intervals hold too often rather than too rarely. Intervals of
    differences hold too often as well, because they also count sampling.
    """
    terms = {"epsilon": 1.0, "delta": delta, "neighboring": neighboring}
    released = [ASKED[name](random_state=seed, **terms) for seed in range(200)]
    for level in (0.5, 0.9):
        ends = [found.interval(level) for found in released]
        held = sum(np.ravel((low <= TRUTH[name]) & (TRUTH[name] <= high))[0] for low, high in ends)
        assert held >= stats.binom.ppf(1e-6, 200, level)
        if name not in ("count", "histogram", "difference"):
            assert held <= stats.binom.isf(1e-6, 200, level)


@pytest.mark.parametrize("name", ["mean", "variance", "covariance"])
def test_intervals_hold_where_there_is_little_but_noise(name, neighboring, is_covered):
    """Releases of 30 rows at level 0.9; a coverage of 0.7 is found in 99 of 100 runs."""
    few, ask = X[:30], getattr(statistics, name)
    truth = {"mean": few.mean(axis=0), "variance": few.var(axis=0)}.get(name, np.cov(few.T, ddof=0))

    def trials():
        while True:
            found = ask(few, **B, noise="laplace", epsilon=1.0, neighboring=neighboring)
            low, high = found.interval(0.9)
            yield np.ravel((low <= truth) & (truth <= high))[0]

    assert is_covered(trials(), good=0.9, poor=0.7, alarm=1e-6)


@pytest.mark.parametrize(
    ("neighboring", "sampling", "level"),
    [
        ("replace_one", False, 0.5),
        ("add_remove_one", True, 0.95),
        pytest.param("replace_one", True, 0.95, marks=pytest.mark.slow),
        pytest.param("add_remove_one", False, 0.5, marks=pytest.mark.slow),
    ],
)
def test_intervals_of_quantiles_hold_as_often_as_they_say(neighboring, sampling, level):
    """100 releases of the median of measurements; 1e-6 of runs are counted outside on each side.

    The level is true to 2 points on both sides: values are not everywhere as dense.
    """
    rng, held = np.random.default_rng(), 0
    for _ in range(100):
        x = rng.beta(2.0, 4.0, size=2000) * 10.0
        truth = stats.beta(2.0, 4.0).median() * 10.0 if sampling else np.median(x)
        asked = {"q": 0.5, "level": level, "sampling": sampling, "neighboring": neighboring}
        asked["ties"] = False
        low, high = statistics.quantile(x, **B, **asked, epsilon=1.0).interval()
        held += low <= truth <= high
    lowest, most = level - 0.02, min(level + 0.02, 1.0)
    assert stats.binom.ppf(1e-6, 100, lowest) <= held <= stats.binom.isf(1e-6, 100, most)


def test_ties_change_intervals_and_nothing_else():
    asked = {"q": [0.2, 0.7], "level": 0.9, "epsilon": 1.0, "random_state": 0, **B}
    wide, narrow = (statistics.quantile(X, ties=ties, **asked) for ties in (True, False))
    np.testing.assert_array_equal(wide.value, narrow.value)
    widths = [np.subtract(*found.interval()[::-1]) for found in (wide, narrow)]
    assert np.mean(widths[1]) < np.mean(widths[0])


def test_intervals_of_quantiles_of_few_rows_hold(neighboring):
    """60 releases about 30 rows. Of a true level 1e-6 of runs are counted outside."""
    rng, held = np.random.default_rng(), 0
    for _ in range(60):
        x = rng.normal(5.0, 1.0, size=30)
        asked = {"epsilon": 0.1, "neighboring": neighboring}
        low, high = statistics.quantile(x, q=0.5, level=0.9, **B, **asked).interval()
        held += low <= np.quantile(x, 0.5, method="inverted_cdf") <= high
    assert held >= stats.binom.ppf(1e-6, 60, 0.9)


def test_ranks_of_quantiles_are_as_near_as_they_say(neighboring):
    """300 quantiles, each beyond its bound with probability 0.01 at most; 1e-6 of runs fail."""
    beyond = 0
    for seed in range(150):
        found = statistics.quantile(
            X, q=0.3, **B, epsilon=0.2, neighboring=neighboring, random_state=seed
        )
        ranks = (found.value + 10.0 / 2**14 >= X).sum(axis=0), (found.value - 1e-3 > X).sum(axis=0)
        miss = np.maximum(0.3 * len(X) - ranks[0], ranks[1] - 0.3 * len(X))
        beyond += np.count_nonzero(miss > found.rank_error(0.99))
    assert beyond <= stats.binom.isf(1e-6, 300, 0.01)


def test_quantiles_are_in_the_order_of_their_probabilities():
    found = statistics.quantile(X, q=[0.9, 0.1, 0.5], **B, epsilon=0.05, random_state=0)
    assert found.value.shape == (3, 2)
    assert np.all(np.diff(found.value[[1, 2, 0]], axis=0) >= 0.0)


@pytest.mark.parametrize(("alpha", "epsilon", "d"), [(0.1, 0.5, 10), (0.02, 0.9, 40)])
def test_one_way_marginals_need_as_many_rows_as_proposition_1_says(alpha, epsilon, d):
    """2d/(αε) rows for pure privacy, 6·√(d·log(1/δ))/(αε) else, for a mean error of α."""
    delta = 1e-6
    for n, failure in (
        (math.ceil(2 * d / (alpha * epsilon)), 0.0),
        (math.ceil(6 * math.sqrt(d * math.log(1 / delta)) / (alpha * epsilon)), delta),
    ):
        found = statistics.mean(np.zeros((n, d)), bounds=(0, 1), epsilon=epsilon, delta=failure)
        noise = found._means.plan.mechanism("sums")
        assert 0.5 * noise.expected_loss("l1") / n <= alpha


def test_a_population_interval_is_wider_than_that_of_the_rows():
    found = statistics.mean(X[:, 0], **B, epsilon=1.0, random_state=0)
    inner, outer = found.interval(), found.population_interval()
    assert outer[0] < inner[0] < inner[1] < outer[1]


def test_a_covariance_is_semidefinite_whatever_the_noise(neighboring):
    """The second pair of columns is the first: without noise two eigenvalues are 0."""
    for seed in range(20):
        found = statistics.covariance(
            X.repeat(2, axis=1), **B, epsilon=0.5, neighboring=neighboring, random_state=seed
        )
        assert np.linalg.eigvalsh(found.value).min() > -1e-9


def test_quantiles_have_the_intervals_that_were_released_and_no_others():
    asked = {"q": [0.25, 0.5], **B, "epsilon": 1.0, "random_state": 0}
    found = statistics.quantile(X, level=0.9, **asked)
    low, high = found.interval()
    assert low.shape == high.shape == found.value.shape == (2, 2)
    assert np.all((low < found.value) & (found.value < high))
    np.testing.assert_array_equal(found.interval(0.9), (low, high))
    for terms in ({"level": 0.95}, {"simultaneous": True}):
        with pytest.raises(ValueError, match="intervals at level"):
            found.interval(**terms)
    alone = statistics.quantile(X, **asked)
    with pytest.raises(ValueError, match=r"with level=0\.95"):
        alone.interval()
    assert alone.to_frame().lower.isna().all()
    assert alone.rank_error() < found.rank_error()


FRAME = pd.DataFrame({"t": ["a", "b", None] * 1000, "x": X[:, 0], "sex": ["f", "m"] * 1500})
FRAME.loc[::5, "x"] = np.nan
DESCRIBED = {"bounds": {"x": (0, 10)}, "categories": {"t": ["b", "a"]}}


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_description_is_that_of_pandas(neighboring, delta):
    terms = {"epsilon": 2000.0, "delta": delta, "neighboring": neighboring, "random_state": 0}
    found = statistics.describe(FRAME, **DESCRIBED, **terms)
    truth, rows = FRAME["x"].describe(), found.to_frame()
    assert rows.index.tolist() == [
        *(("t", one) for one in ["b", "a"]),
        *(("x", one) for one in ["count", "mean", "std", "25%", "50%", "75%"]),
    ]
    for name in ("count", "mean", "std", "25%", "50%", "75%"):
        assert found["x", name] == pytest.approx(truth[name], rel=0.01)
        low, estimate, high = rows.loc[("x", name), ["lower", "estimate", "upper"]]
        assert low <= estimate <= high
        assert low - 0.01 <= truth[name] <= high + 0.01
    assert found["t", "a"] == pytest.approx(1000.0, abs=1.0)
    grouped = statistics.describe(FRAME, by="sex", keys=["m", "f"], **DESCRIBED, **terms)
    for key in ("m", "f"):
        own = FRAME[FRAME["sex"] == key]
        assert grouped[key, "x", "std"] == pytest.approx(own["x"].std(), rel=0.01)
        assert grouped[key, "t", "b"] == pytest.approx((own["t"] == "b").sum(), abs=1.0)
        assert grouped[key, "x", "75%"] == pytest.approx(own["x"].quantile(0.75), rel=0.01)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas])
@pytest.mark.parametrize("order", [["on", "level"], ["level", "on"]])
def test_frames_tell_true_from_one(order, library):
    """They are equal in Python, and an index of pandas keeps the first of equal labels."""
    n = 600
    frame = pd.DataFrame({"on": np.arange(n) % 2 == 0, "level": np.arange(n) % 3})[order]
    asked = {"epsilon": 1e4, "categories": {"on": [False, True], "level": [0, 1, 2]}}
    expected = {"on": {"False": 300, "True": 300}, "level": {"0": 200, "1": 200, "2": 200}}
    described = statistics.describe(library(frame), **asked).to_frame()
    one_way = statistics.marginals(library(frame), **asked).to_frame()
    for found in (described, one_way):
        rows = found.reset_index() if library is pd.DataFrame else found.to_pandas()
        told = {name: {} for name in order}
        for name, label, estimate in rows.iloc[:, :3].itertuples(index=False):
            told[name][str(label)] = round(estimate, -1)
        assert told == expected


def test_cells_of_pairs_tell_true_from_one():
    n = 600
    frame = pd.DataFrame({"on": np.arange(n) % 2 == 0, "a": np.arange(n) % 3, "b": 1})
    known = {"on": [True, False], "a": [0, 1, 2], "b": [0, 1]}
    found = statistics.marginals(frame, epsilon=1e4, categories=known, n_ways=2).to_frame()
    texts = [str(row) for row in found.index.tolist()]
    assert len({*texts}) == 2 * 3 + 2 * 2 + 3 * 2
    assert sum("True" in text for text in texts) == 3 + 2


def test_a_description_of_an_array_or_of_categories_alone():
    numbers = statistics.describe(X, epsilon=2000.0, bounds=(0, 10), quantiles=(), random_state=0)
    assert numbers.to_frame().index.tolist() == [
        (j, one) for j in range(2) for one in ("count", "mean", "std")
    ]
    codes = statistics.describe(CODES, epsilon=2000.0, categories=[0, 1, 2], random_state=0)
    assert codes[1, 2] == pytest.approx((CODES[:, 1] == 2).sum(), abs=1.0)
    assert len(codes.value) == 6


def test_a_description_keeps_no_rows_and_has_quantiles_at_its_own_level():
    found = statistics.describe(FRAME, epsilon=1.0, **DESCRIBED)
    assert len(pickle.dumps(found)) < 0.5 * len(pickle.dumps(FRAME["x"]))
    low, _ = found.interval(0.9)
    assert np.isnan(low[5:]).all()
    assert not np.isnan(low[:5]).any()
    assert "<td>x</td><td>75%</td>" in found._repr_html_()
    assert "x, mean: " in repr(found)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({}, "bounds or categories must be given"),
        ({"bounds": {"x": (0, 10)}, "categories": {"x": [1]}}, r"\['x'\] have both"),
        ({"bounds": {"t": (0, 10)}}, "column 't' contains strings"),
        ({"bounds": {"y": (0, 10)}}, "Unknown columns in"),
        ({"bounds": {"x": (0, 10)}, "quantiles": [2.0]}, "q must be a probability"),
        ({"bounds": {"x": (0, 10)}, "level": 1.0}, "level must"),
        ({"bounds": {"x": (0, 10)}, "by": "sex"}, "by and keys go together"),
    ],
)
def test_bad_descriptions_are_refused_before_the_spend(terms, message, unspent):
    with pytest.raises(ValueError, match=rf"(?s)({message}).*Nothing was spent"):
        statistics.describe(FRAME, epsilon=1.0, **terms, budget=unspent)


KEYS = np.array(["f", "m", "other", None] * 750, dtype=object)
BY = {"by": KEYS, "keys": ["m", "f"]}
WHERE = [np.arange(3000) % 4 == 1, np.arange(3000) % 4 == 0]
BY_GROUP = {
    "count": (lambda **t: statistics.count(X > 3.0, **BY, **t), lambda x: (x > 3.0).sum(axis=0)),
    "sum": (lambda **t: statistics.sum(X, **B, **BY, **t), lambda x: x.sum(axis=0)),
    "mean": (lambda **t: statistics.mean(X, **B, **BY, **t), lambda x: x.mean(axis=0)),
    "variance": (lambda **t: statistics.variance(X, **B, **BY, **t), lambda x: x.var(axis=0)),
    "quantile": (
        lambda **t: statistics.quantile(X, q=[0.2, 0.7], level=0.9, **B, **BY, **t),
        lambda x: np.quantile(x, [0.2, 0.7], axis=0),
    ),
}


@pytest.mark.parametrize("name", BY_GROUP)
def test_groups_are_those_of_their_public_keys(name, neighboring):
    ask, truth = BY_GROUP[name]
    found = ask(epsilon=1000.0, neighboring=neighboring, random_state=0)
    expected = np.stack([truth(X[rows]) for rows in WHERE])
    assert found.value.shape == expected.shape
    np.testing.assert_allclose(found.value, expected, rtol=0.02)
    low, high = found.interval()
    assert np.all((low <= found.value) & (found.value <= high))
    assert found.to_frame().index.names[0] == "by"
    assert found.to_frame().index.get_level_values(0).unique().tolist() == ["m", "f"]
    one = getattr(statistics, name)
    single = {"q": 0.5, **B} if name == "quantile" else B if name != "count" else {}
    x = X[:, 0] > 3.0 if name == "count" else X[:, 0]
    assert one(x, epsilon=1.0, **single, **BY, random_state=0).value.shape == (2,)


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_GROUP)
def test_groups_have_the_price_of_one_where_records_come_and_go(name):
    ask, _ = BY_GROUP[name]
    terms = {"epsilon": 1.0, "delta": 0.0, "neighboring": "add_remove_one"}
    grouped, alone = ask(**terms), ASKED[name](**terms)
    assert grouped.privacy.epsilon(0.0) <= 1.0
    if name in ("mean", "variance"):  # of two columns both
        assert [m.scale for m in grouped._means.plan.mechanisms] == [
            pytest.approx(m.scale, rel=1e-6) for m in alone._means.plan.mechanisms
        ]


def test_groups_may_be_a_column_of_the_frame_by_name():
    polars = pytest.importorskip("polars")
    frame = pd.DataFrame({"a": X[:, 0], "sex": KEYS, "b": X[:, 1]})
    asked = {"keys": ["m", "f"], "epsilon": 1.0, "random_state": 0}
    found = statistics.mean(frame, by="sex", **B, **asked)
    apart = statistics.mean(frame[["a", "b"]], by=frame["sex"], **B, **asked)
    np.testing.assert_array_equal(found.value, apart.value)
    table = found.to_frame(0.9)
    assert table.index.names == ["sex", "column"]
    assert table.index.tolist() == [("m", "a"), ("m", "b"), ("f", "a"), ("f", "b")]
    assert table.columns.tolist() == ["estimate", "lower", "upper", "level"]
    assert table.loc[("f", "b"), "estimate"] == found.value[1, 1]
    assert table.loc[("f", "b"), "upper"] == found.interval(0.9)[1][1, 1]
    other = polars.from_pandas(frame)
    same = statistics.mean(other, by="sex", **B, **asked).to_frame()
    assert isinstance(same, polars.DataFrame)
    assert same.columns == ["sex", "column", "estimate", "lower", "upper", "level"]
    assert same["column"].to_list() == ["a", "b", "a", "b"]
    assert "<td>m</td><td>a</td>" in found._repr_html_()


@pytest.mark.parametrize("name", ASKED)
def test_every_statistic_becomes_a_frame(name):
    found = ASKED[name](epsilon=1.0)
    frame = found.to_frame()
    tables = found.value.values() if name == "marginals" else [found.value]
    assert len(frame) == sum(map(np.size, tables))
    assert frame.columns.tolist() == ["estimate", "lower", "upper", "level"]


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"by": KEYS}, "by and keys go together"),
        ({"keys": ["m"]}, "by and keys go together"),
        ({"by": KEYS[:-1], "keys": ["m"]}, "as many rows as x"),
        ({"by": np.stack([KEYS, KEYS], axis=1), "keys": ["m"]}, "one column with as many rows"),
        ({"by": KEYS, "keys": ["m", "m"]}, "keys must be a list of different values"),
        ({"by": KEYS, "keys": "m"}, "keys must be a list of different values"),
        ({"by": np.zeros(3000, int), "keys": ["m"]}, "cannot equal its categories"),
        ({"by": "sex", "keys": ["m"]}, r"by must be one of the columns \[\]"),
    ],
)
def test_bad_groups_are_refused_before_the_spend(terms, message, budget):
    with pytest.raises(ValueError, match=rf"(?s)({message}).*Nothing was spent") as error:
        statistics.mean(X, epsilon=1.0, **B, **terms, budget=budget)
    assert "f" not in str(error.value).split(";")[-1].split("'")  # no value is quoted


@every_statistic
def test_nothing_but_what_was_released_is_shown(name):
    found = ASKED[name](epsilon=1.0)
    shown = {key for key in vars(found) if not key.startswith("_")}
    assert shown - {"mean", "means", "ratio"} == {"value", "privacy"}
    assert ("mean" in shown) == (name in ("variance", "covariance"))


BAD = [
    ("mean", {"bounds": (10, 0)}, "bounds of column .* are reversed"),
    ("mean", {"bounds": (0, math.inf)}, "must be finite"),
    ("mean", {"bounds": ([0, 0, 0], [1, 1, 1])}, "bounds must be a pair"),
    ("histogram", {"edges": [0.0]}, "edges of columns .* are missing or wrong"),
    ("histogram", {"edges": [3.0, 1.0]}, "edges of columns .* are missing or wrong"),
    ("histogram", {"edges": 10}, "not the number of cells"),
    ("mean", {"bounds": None}, "bounds must be given"),
    ("mean", {"bounds": {0: (0, 1)}}, r"no pair for the columns \[1\]"),
    ("mean", {"bounds": {0: (0, 1), 2: (0, 1)}}, "Unknown columns in"),
    ("mean", {"bounds": {0: (0, 1), 1: 3}}, "each of bounds must be a pair"),
    ("mean", {"noise": "uniform", **B}, "noise must be one of"),
    ("marginals", {"categories": [[0, 1]]}, "categories must be a list of values, or a dict"),
    ("marginals", {"categories": None}, "categories must be given"),
    ("marginals", {"categories": {0: []}}, "must be different values"),
    ("marginals", {"categories": {7: [1, 2]}}, "Unknown columns in"),
    ("marginals", {"categories": {0: [1]}, "n_ways": 2}, "columns with categories, 1"),
    ("quantile", {"q": 1.5, **B}, "q must be a probability"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), BAD)
def test_bad_public_input_is_settled_without_the_budget(name, arguments, message, unspent):
    with pytest.raises(ValueError, match=rf"(?s)({message}).*Nothing was spent"):
        getattr(statistics, name)(CODES, epsilon=1.0, budget=unspent, **arguments)


@pytest.mark.parametrize(
    "terms", [{"epsilon": 0.0}, {"epsilon": 1.0, "delta": 1.0}, {"epsilon": math.inf}]
)
@every_statistic
def test_bad_terms_are_settled_without_the_budget(name, terms, unspent):
    with pytest.raises(ValueError, match="Nothing was spent"):
        ASKED[name](**terms, budget=unspent)


def break_reading(monkeypatch, name, error):
    """Make the first look at a value fail, for the statistic of that name."""
    where = {
        "count": (Records, "total"),
        "marginals": (sys.modules["skdp.statistics.counts"], "category_codes"),
    }

    def die(*_):
        raise error

    monkeypatch.setattr(*where.get(name, (Records, "chunks")), die)


@every_statistic
def test_values_are_read_after_the_spend(name, monkeypatch):
    """A release that dies while it reads stays spent."""
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, composition="basic")
    break_reading(monkeypatch, name, MemoryError)
    with pytest.raises(MemoryError):
        ASKED[name](epsilon=1.0, budget=budget)
    assert len(budget.history()) == 1


MISSING = [1.0, None, 2.0, 1.0] * 50
FILLED = np.array([1.0, 1.5, 2.0, 1.0] * 50)
NUMERIC_TYPES = ["Int64", "Float64", "float64", "object", "category"]


@pytest.mark.parametrize("dtype", NUMERIC_TYPES)
def test_a_missing_number_is_the_middle_of_its_bounds_in_every_type(dtype):
    series = pd.Series(MISSING, dtype=dtype, name="x")
    terms = {"epsilon": 1.0, "random_state": 0}
    middle = {"missing": "middle"}
    of = {"mean": middle, "variance": middle, "quantile": {"q": 0.5, **middle}}
    for name, more in of.items():
        pair = [
            getattr(statistics, name)(x, bounds={key: (1, 2)}, **more, **terms).value
            for x, key in ((series, "x"), (FILLED, 0))
        ]
        np.testing.assert_array_equal(*pair)
    cells = statistics.histogram(series, edges=[0, 1.5, 3], **terms).value
    known = statistics.histogram(FILLED[FILLED != 1.5], edges=[0, 1.5, 3], **terms).value
    np.testing.assert_array_equal(cells, known)
    frame = pd.DataFrame({"x": series, "y": series})
    both = statistics.mean(frame, bounds={"y": (1, 2), "x": (1, 2)}, **terms).value
    np.testing.assert_array_equal(both, statistics.mean(frame, bounds=(1, 2), **terms).value)


@pytest.mark.parametrize("dtype", NUMERIC_TYPES)
@pytest.mark.parametrize("name", ["mean", "variance", "quantile", "sum", "covariance"])
def test_a_missing_number_is_left_out_in_every_type(name, dtype):
    series = pd.Series(MISSING, dtype=dtype, name="x")
    terms = {"epsilon": 1.0, "random_state": 0, "bounds": (1, 2), "neighboring": "add_remove_one"}
    more = {"q": 0.5} if name == "quantile" else {}
    pair = [getattr(statistics, name)(x, **more, **terms).value for x in (series, series.dropna())]
    np.testing.assert_array_equal(*pair)


TWO = [(0, 120), (60, 250)]


@pytest.mark.parametrize(
    "bounds", [np.array(TWO), [[*pair] for pair in TWO], tuple(TWO), np.array(TWO).T]
)
def test_bounds_of_two_columns_that_may_be_pairs_or_sides_are_refused(bounds):
    rows = np.tile([40.0, 90.0], (500, 1))
    with pytest.raises(ValueError, match="may be two pairs, or the lows and the highs"):
        statistics.mean(rows, epsilon=1.0, bounds=bounds)


@pytest.mark.parametrize(
    "bounds",
    [
        TWO,
        ([0, 60], [120, 250]),
        tuple(np.array(TWO).T),
        {1: (60, 250), 0: (0, 120)},
        (0, 250),
        [[0, 120], [0, 250]],
        ((0, 0), (120, 250)),
        np.array([[0, 0], [120, 250]]),
    ],
)
def test_bounds_of_two_columns_are_read_as_they_can_be_meant(bounds):
    found = statistics.mean(np.tile([40.0, 90.0], (500, 1)), epsilon=1e4, bounds=bounds)
    assert found.value == pytest.approx([40.0, 90.0], abs=0.5)  # a false alarm in 1e9 runs


TABLE = pd.DataFrame({"age": [40.0, 50.0], "sex": ["f", "m"], "race": ["a", "b"]})
WRONG = {
    "two columns by": (
        lambda: statistics.mean(
            TABLE[["age"]], epsilon=1.0, bounds=(0, 1), by=TABLE[["sex", "race"]], keys=["f"]
        ),
        "by must be one column",
    ),
    "two names": (
        lambda: statistics.describe(
            TABLE, epsilon=1.0, bounds={"age": (0, 1)}, by=["sex", "race", "sex"], keys=["f"]
        ),
        "by must be one column",
    ),
    "keys of several": (
        lambda: statistics.mean(
            TABLE[["age"]], epsilon=1.0, bounds=(0, 1), by=["sex"], keys=[("f", "a")]
        ),
        "by must be one of the columns",
    ),
    "texts beside": (
        lambda: statistics.mean(TABLE, epsilon=1.0, bounds={"age": (0, 120)}),
        r"no pair for the columns \['sex', 'race'\]. Add",
    ),
    "rows": (
        lambda: statistics.count(TABLE[["age"]], epsilon=1.0),
        r"To count rows give np.ones\(len\(x\)",
    ),
    "more than there are": (
        lambda: statistics.marginals(
            TABLE[["sex"]], epsilon=1.0, categories={"sex": ["f"], "race": ["a"]}
        ),
        r"\['race'\]. The columns are \['sex'\]",
    ),
    "classes of another type": (
        lambda: DPMixedNB(bounds=(0, 120), classes=["0", "1"]).fit(TABLE[["age"]], [0, 1]),
        "y contains numbers, but classes contains strings",
    ),
}


@pytest.mark.parametrize(("release", "said"), WRONG.values(), ids=WRONG)
def test_a_refusal_says_what_to_give_instead(release, said):
    with pytest.raises(ValueError, match=said):
        release()


def test_reversed_bounds_are_told_of_the_column():
    frame = pd.DataFrame({"age": [40.0], "t": ["a"], "income": [9.0]})
    bounds = {"age": (0, 120), "income": (9, 1)}
    said = "bounds of column 'income' are reversed: low=9.0, high=1.0"
    for release in (
        lambda: statistics.mean(frame[["age", "income"]], epsilon=1.0, bounds=bounds),
        lambda: statistics.describe(frame, epsilon=1.0, bounds=bounds),
        lambda: DPMixedNB(bounds=bounds, categories={"t": ["a"]}).fit(frame, [1]),
        lambda: DPAdditiveClassifier(bounds=bounds, categories={"t": ["a"]}).fit(frame, [1]),
    ):
        with pytest.raises(ValueError, match=said):
            release()


@pytest.mark.parametrize(
    ("ask", "public"),
    [
        (statistics.mean, {"bounds": (1, 0)}),
        (statistics.sum, {"bounds": {"x": (1, 0)}}),
        (statistics.quantile, {"bounds": {"z": (0, 1)}, "q": 0.5}),
        (statistics.histogram, {"edges": [1, 0]}),
    ],
)
def test_public_bounds_are_checked_before_the_data(ask, public):
    frame = pd.DataFrame({"x": [1.0, "a secret"]})
    with pytest.raises(
        ValueError, match=r"are reversed|Unknown columns in bounds|edges of columns"
    ):
        ask(frame, epsilon=1.0, **public)


def test_edges_may_be_named_by_column_and_differ_in_number():
    frame = pd.DataFrame({"x": [0.5, 1.5, 2.5, 2.5], "t": [0, 0, 1, 1]})
    edges = {"t": [-1, 0.5, 2], "x": [0, 1, 2, 3]}
    terms = {"epsilon": 2000.0, "random_state": 0}
    found = statistics.histogram(frame, edges=edges, **terms).value
    np.testing.assert_allclose(found, [[1, 0], [1, 0], [0, 2]], atol=0.1)
    same = statistics.histogram(frame, edges=[edges["x"], edges["t"]], **terms).value
    np.testing.assert_array_equal(found, same)
    for wrong, said in [
        ({"x": [0, 1]}, r"of columns \['t'\] are missing or wrong"),
        (edges | {"x": [1, 0]}, r"of columns \['x'\] are missing"),
        (edges | {"y": [0, 1]}, r"\['y'\]. The columns are \['x', 't'\]"),
        ([[0, 1]], r"of columns \['t'\] are missing"),
        ([[0, 1]] * 3, "given for 3 columns, and x has 2"),
        (["a", "b"], r"of columns \['x', 't'\] are missing"),
        (None, "not the number of cells"),
    ]:
        with pytest.raises(ValueError, match=said):
            statistics.histogram(frame, edges=wrong, **terms)


def test_columns_of_one_name_are_refused():
    frame = pd.DataFrame(np.ones((5, 2)), columns=["x", "x"])
    with pytest.raises(ValueError, match=r"x has several columns of one name, \['x'\]"):
        statistics.mean(frame, epsilon=1.0, bounds=(0, 2))
    with pytest.raises(ValueError, match=r"x has several columns of one name, \['x'\]"):
        statistics.marginals(frame, epsilon=1.0, categories=[0, 1])


def test_quantiles_and_tables_are_shown_as_numbers_and_what_they_cost():
    x = np.linspace(0.0, 1.0, 101)
    found = statistics.quantile(x, epsilon=1.0, q=0.5, bounds=(0, 1), random_state=0)
    first, second = str(found).split("\n")
    assert first == f"{found.value:.6f}, within {found.rank_error():.3g} rows of the rank"
    assert second == str(found.privacy)
    frame = pd.DataFrame({"x": [0, 1, 1], "t": ["a", "b", "b"]})
    values = {"x": [0, 1], "t": ["a", "b"]}
    terms = {"epsilon": 2000.0, "random_state": 0}
    one = statistics.marginals(frame, categories=values, **terms)
    rest = [f"{name}: None of these values: 0 of 3, 95 % interval [0, 0]" for name in "xt"]
    assert str(one).split("\n") == ["x: [1. 2.]", "t: [1. 2.]", *rest, str(one.privacy)]
    two = statistics.marginals(frame, categories=values, n_ways=2, **terms)
    assert str(two).startswith("x, t: [[1. 0.]\n")


def test_a_mean_of_many_rows_takes_little_memory():
    """Not even one copy of the table, where three were made before."""
    table = np.ones((500_000, 4))
    tracemalloc.start()
    statistics.mean(table, epsilon=1.0, delta=0.0, bounds=(0, 2))
    statistics.quantile(table, epsilon=1.0, delta=0.0, q=0.5, bounds=(0, 2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * table.nbytes
    many, few = (
        statistics.sum(t, epsilon=1.0, delta=0.0, bounds=(0, 2), random_state=0)
        for t in (table, table[:9])
    )
    np.testing.assert_array_equal(many.value - few.value, [499_991.0] * 4)


def test_intervals_that_were_not_asked_for_are_empty_cells_and_columns_of_them_left_out():
    frame = pytest.importorskip("pandas").DataFrame({"a": np.arange(300.0)})
    bounds = {"a": (0, 300)}
    some, none = (
        statistics.describe(frame, epsilon=1.0, bounds=bounds, level=None),
        statistics.quantile(frame, epsilon=1.0, q=[0.5], bounds=bounds),
    )
    assert "<td></td><td></td><td></td>" in some._repr_html_()
    assert "<td></td>" not in none._repr_html_()
    assert "lower" not in none._repr_html_()
    for found in (some, none):
        assert "nan" not in found._repr_html_()
        shown = found.to_frame()
        np.testing.assert_array_equal(shown["level"].isna(), shown["lower"].isna())


@pytest.mark.slow
def test_few_rows_have_intervals_as_wide_as_the_bounds():
    """The margin of each rank is beyond all rows: each end is the bound in 95 % of 40 releases.

    Fewer than 29 of one kind have a chance of 1e-6.
    """
    asked, found = {"q": [0.9, 0.1], "bounds": (0, 10), "level": 0.9}, np.zeros((2, 2))
    for _ in range(40):
        ends = statistics.quantile(np.full(50, 3.0), epsilon=0.1, delta=0.0, **asked).interval()
        found += np.array(ends) == [[0.0, 0.0], [10.0, 10.0]]
    assert found.min() >= stats.binom.ppf(1e-6, 40, 0.95)
