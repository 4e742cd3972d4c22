"""Private trees of tables: sensitivities, costs, consistency, and what follows from them."""

import itertools
import math
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from sklearn.base import clone

from skdp import DPTreeDensity, DPTreeNB, TableSchema
from skdp.density import _cliques
from skdp.density._cliques import fitted_pair, level_counts, with_sums
from skdp.exceptions import (
    FewRowsWarning,
    OutOfRangeError,
    WeakPrivacyWarning,
)
from skdp.mechanisms import ExponentialMechanism
from skdp.workloads.plan import ROUNDED_ONCE, GaussianPlan

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.FewRowsWarning")

RNG = np.random.default_rng(0)
LETTERS = {"a": ["x", "y", "z"], "b": ["u", "v"], "c": ["p", "q", "r"], "d": ["no", "yes"]}


def letters(n, seed=0):
    """A table in which b follows a, c follows b, and d follows a and c."""
    rng = np.random.default_rng(seed)
    a = rng.integers(3, size=n)
    b = (a + (rng.random(n) < 0.2)) % 2
    c = (b + rng.integers(2, size=n)) % 3
    d = ((a + c > 2) ^ (rng.random(n) < 0.1)).astype(int)
    codes = dict(zip(LETTERS, (a, b, c, d), strict=True))
    return pd.DataFrame({name: np.array(LETTERS[name])[code] for name, code in codes.items()})


def density_of(n=3000, **more):
    model = DPTreeDensity(categories=LETTERS, missing="error", random_state=0, **more)
    return model.fit(letters(n))


def mixed(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    x[:, 1] += x[:, 0]
    return x, (x[:, 0] * x[:, 2] > 0.0).astype(int)


# --- Sensitivities -------------------------------------------------------------------------------


class Transcript:
    """Fixed answers in the place of noisy ones, and the exact values that were asked for."""

    def __init__(self, monkeypatch):
        self.asked, self.planned = [], {}
        monkeypatch.setattr(GaussianPlan, "release", lambda *call: self.release(*call))
        monkeypatch.setattr(ExponentialMechanism, "release", lambda *call: self.choose(*call))

    def release(self, plan, name, values, rng):
        self.planned |= {step.name: step.l2_sensitivity for step in plan.steps}
        self.asked.append((name, np.array(values)))
        return 3.0 * np.random.default_rng(len(values)).random(len(values))

    def choose(self, mechanism, utilities, rng):
        self.planned["choice"] = mechanism.sensitivity
        self.asked.append(("choice", np.array(utilities)))
        return len(utilities) // 2


def answers(monkeypatch, rows, neighboring, levels=None, **more):
    transcript = Transcript(monkeypatch)
    terms = {"target": 0, "missing": "error", "neighboring": neighboring, "random_state": 0}
    model = DPTreeDensity(**terms, **(levels or {"categories": [0, 1]}))
    model.fit(np.array(rows).reshape(-1, 4), **more)
    return transcript


def largest_moves(monkeypatch, relation, **more):
    """Return the largest distance of each kind of answer over all pairs, and what was planned.

    Every row is in the place of one of five, or an additional one: three columns and a label.
    """
    comes = relation == "add_remove_one"
    neighbors = [FIXED] * comes + [[*FIXED, row] for row in ROWS]
    runs = [answers(monkeypatch, rows, relation, **more) for rows in neighbors]
    pairs = ((runs[0], run) for run in runs[1:]) if comes else itertools.combinations(runs, 2)
    found = dict.fromkeys(runs[0].planned, 0.0)
    for one, other in pairs:
        for (name, values), (_, others) in zip(one.asked, other.asked, strict=True):
            moved = np.abs(values - others).max()
            if name != "choice":
                moved = np.linalg.norm(values - others)
            found[name] = max(found[name], float(moved))
    return found, runs[0].planned


ROWS = list(itertools.product([0, 1], repeat=4))
FIXED = [(0, 1, 1, 0), (1, 1, 0, 0), (0, 0, 0, 1), (1, 1, 1, 1)]


def test_the_sensitivities_hold_for_all_neighbors_and_are_attained(relation, monkeypatch):
    found, planned = largest_moves(monkeypatch, relation)
    k = relation.n_changed
    attained = {"tables": math.sqrt(3 * k), "pairs": math.sqrt(3 * k), "choice": k}
    if relation == "add_remove_one":
        attained["count"] = 1.0
    assert found == pytest.approx(attained, rel=1e-12)
    assert found["choice"] <= k
    allowed = {name: size * ROUNDED_ONCE for name, size in attained.items()}
    assert planned == pytest.approx(allowed | {"choice": k}, rel=1e-12)


def test_the_sensitivities_hold_for_a_numeric_target(relation, monkeypatch):
    """The same rows as numbers, in two bins each: the target's bins are released first."""
    found, planned = largest_moves(monkeypatch, relation, levels={"bounds": (0, 1), "n_bins": 2})
    k = relation.n_changed
    sizes = {"target": math.sqrt(k), "tables": math.sqrt(3 * k), "pairs": math.sqrt(3 * k)}
    if relation == "add_remove_one":
        sizes["count"] = 1.0
    allowed = {name: size * ROUNDED_ONCE for name, size in sizes.items()}
    assert planned == pytest.approx(allowed | {"choice": k}, rel=1e-12)
    assert all(found[name] <= planned[name] for name in planned)
    assert found["target"] == pytest.approx(sizes["target"], rel=1e-12)


def test_fewer_pairs_have_less_noise_for_the_same_sensitivity(relation, monkeypatch):
    """A limit of the cells leaves a tree: two pairs, of three that are planned."""
    monkeypatch.setattr(_cliques, "_MOST_CELLS", 8)
    found, planned = largest_moves(monkeypatch, relation)
    assert found["pairs"] == pytest.approx(planned["pairs"] / ROUNDED_ONCE, rel=1e-12)
    monkeypatch.undo()
    with pytest.MonkeyPatch.context() as limit:
        limit.setattr(_cliques, "_MOST_CELLS", 4)
        tree = density_of(neighboring=relation)
    all_pairs = density_of(neighboring=relation)
    assert (len(tree.edges_), len(all_pairs.edges_)) == (3, 6)
    scales = [model._released_.scale_of_pairs for model in (tree, all_pairs)]
    assert scales[0] == pytest.approx(scales[1] / math.sqrt(2.0))


def test_utilities_are_exact_integers_of_a_grid(monkeypatch):
    asked = answers(monkeypatch, FIXED * 50, "add_remove_one").asked
    utilities = np.concatenate([values for name, values in asked if name == "choice"])
    assert np.array_equal(np.ldexp(utilities, 20), np.rint(np.ldexp(utilities, 20)))


def test_columns_that_belong_together_are_chosen():
    """The gap of 4000 records to the next utility is more than 500 times the scale of a choice."""
    x, _ = mixed(20_000)
    model = DPTreeDensity(bounds=(-4, 4), missing="error", epsilon=8.0).fit(x)
    assert tuple(sorted(model.edges_[0])) == (0, 1)


# --- Costs ---------------------------------------------------------------------------------------


def test_too_many_cells_are_rejected_before_the_spend(unspent):
    rows = np.zeros((10, 99))
    with pytest.raises(ValueError, match=r"would count \d+ cells .* 99 columns, at most 16777216"):
        DPTreeDensity(bounds=(0, 1), budget=unspent).fit(rows)
    with pytest.raises(ValueError, match="at most 16777216"):
        DPTreeNB(bounds=(0, 1), classes=range(400), budget=unspent).fit(rows[:, :9], [0] * 10)
    with pytest.raises(ValueError, match="at most 1024 columns"):
        DPTreeDensity(categories=[0], missing="error", budget=unspent).fit(np.zeros((10, 1025)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bounds": None}, "bounds must be given"),
        ({"n_bins": 1}, "n_bins must be from 2 to 1024"),
        ({"n_bins": 2.5}, "n_bins must be a positive integer"),
        ({"target": 7}, "Unknown column in target"),
        ({"missing": "drop"}, "missing must be one of"),
        ({"delta": 0.0}, "needs delta > 0"),
        ({"epsilon": -1.0}, "epsilon must be"),
    ],
)
def test_wrong_parameters_are_rejected_and_nothing_is_spent(settings, message, unspent):
    model = DPTreeDensity(**{"bounds": (0, 1), "budget": unspent} | settings)
    with pytest.raises((ValueError, OutOfRangeError), match=message):
        model.fit(np.zeros((10, 2)))


# --- The model -----------------------------------------------------------------------------------


def brute_force(density):
    """Return the whole joint distribution, by the order of `LETTERS`."""
    return density.marginal(list(LETTERS))


@pytest.mark.parametrize("target", [None, "d", "b"])
def test_marginals_are_sums_of_the_joint_distribution(target):
    density = density_of(target=target)
    joint = brute_force(density)
    assert joint.shape == (3, 2, 3, 2)
    assert joint.sum() == pytest.approx(1.0)
    for size in (1, 2, 3):
        for columns in itertools.permutations(range(4), size):
            summed = joint.sum(axis=tuple({*range(4)} - {*columns}))
            expected = summed.transpose(np.argsort(np.argsort(columns)))
            names = [list(LETTERS)[j] for j in columns]
            assert density.marginal(names) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("target", ["d", "b"])
def test_predictions_and_scores_are_those_of_the_joint_distribution(target):
    density, axis = density_of(target=target), list(LETTERS).index(target)
    joint = brute_force(density)
    rows = pd.DataFrame(itertools.product(*LETTERS.values()), columns=list(LETTERS))
    assert density.score_samples(rows) == pytest.approx(np.log(joint.ravel()))
    assert density.score(rows) == pytest.approx(np.log(joint).sum())
    conditional = joint / joint.sum(axis=axis, keepdims=True)
    codes = np.indices(joint.shape).reshape(4, -1)
    expected = np.moveaxis(conditional, axis, -1)[tuple(np.delete(codes, axis, axis=0))]
    assert density.predict_proba(rows) == pytest.approx(expected)


def test_the_classifier_is_the_density_whose_target_is_y():
    table = letters(3000)
    given = {"missing": "error", "random_state": 0}
    density = DPTreeDensity(categories=LETTERS, target="d", **given).fit(table)
    X, y = table.drop(columns="d"), table["d"]
    some = {name: values for name, values in LETTERS.items() if name != "d"}
    classifier = DPTreeNB(categories=some, **given).fit(X, y)
    assert np.array_equal(classifier.predict_proba(X), density.predict_proba(table))
    assert classifier.privacy_.event == density.privacy_.event
    assert classifier.edges_ == density.edges_
    assert not hasattr(DPTreeDensity(), "predict_proba")
    log_proba = classifier.predict_log_proba(X)
    assert np.exp(log_proba) == pytest.approx(classifier.predict_proba(X))
    assert (classifier.predict(X) == classifier.classes_[log_proba.argmax(axis=1)]).all()


def test_samples_have_the_frequencies_of_the_model():
    """χ² of 36 cells, with a false alarm of 1e-6."""
    density, n = density_of(target="d"), 20_000
    rows = density.sample(n, random_state=1)
    codes = [pd.Categorical(rows[name], LETTERS[name]).codes for name in LETTERS]
    seen = np.bincount(np.ravel_multi_index(codes, (3, 2, 3, 2)), minlength=36)
    expected = n * brute_force(density).ravel()
    large = expected >= 5.0
    seen, expected = (np.append(v[large], v[~large].sum()) for v in (seen, expected))
    assert ((seen - expected) ** 2 / np.maximum(expected, 1e-9))[expected > 0].sum() < chi2.isf(
        1e-6, large.sum()
    )


def test_sampled_numbers_are_uniform_in_their_bins():
    x = np.r_[np.zeros(500), np.ones(500)][:, None]
    density = DPTreeDensity(
        bounds=(0, 1), n_bins=4, missing="error", epsilon=math.inf, transformation=None
    ).fit(x)
    rows = density.sample(4000, random_state=0)[:, 0]
    assert ((rows < 0.25) | (rows > 0.75)).mean() > 0.99
    low = np.sort(rows[rows < 0.25]) * 4.0
    assert np.abs(low - np.linspace(0, 1, low.size)).max() < 0.09  # Kolmogorov: below 1e-6
    assert density.score_samples([[0.1], [0.9]]) == pytest.approx(np.log([2.0, 2.0]), abs=1e-3)


def test_densities_integrate_to_one_on_a_logarithmic_scale():
    x = np.random.default_rng(0).exponential(20.0, size=(2000, 1))
    model = DPTreeDensity(bounds=(0, 1000), transformation="log", missing="error", random_state=0)
    grid = np.linspace(0, 1000, 200_001)[:-1, None] + 0.0025
    assert np.exp(model.fit(x).score_samples(grid)).mean() * 1000 == pytest.approx(1.0, rel=1e-2)


def test_without_privacy_the_tree_has_the_frequencies_of_the_data():
    table = letters(20_000)
    density = DPTreeDensity(categories=LETTERS, missing="error", epsilon=math.inf).fit(table)
    for one, other in density.edges_:
        seen = pd.crosstab(table[one], table[other], normalize=True).to_numpy()
        assert density.marginal([one, other]) == pytest.approx(seen, abs=5e-3)


def test_the_classifier_learns_what_naive_bayes_cannot():
    """Accuracy of a constant is .5; at ε = 8 twenty seeds gave .93 and more."""
    x, y = mixed(20_000)
    model = DPTreeNB(bounds=(-4, 4), epsilon=8.0).fit(x[:10_000], y[:10_000])
    assert model.score(x[10_000:], y[10_000:]) > 0.85


def test_a_table_without_negative_numbers_is_the_nearest_one():
    table, totals = RNG.normal(2.0, 5.0, size=(12, 3)), np.array([30.0, 1.0, 8.0])
    found = with_sums(table, totals)
    assert found.sum(axis=0) == pytest.approx(totals)
    assert (found >= 0.0).all()
    for column, given in zip(found.T, table.T, strict=True):  # the conditions of the minimum
        shift = (given - column)[column > 0.0]
        assert np.ptp(shift) < 1e-12
        assert (given[column == 0.0] <= shift[0] + 1e-12).all()


def test_fitted_pairs_have_their_margins():
    one, other = RNG.random((4, 2)) * 100, RNG.random((3, 2)) * 100
    totals = np.array([120.0, 80.0])
    one, other = (v * totals / v.sum(axis=0) for v in (one, other))
    pair = one[:, None] * other[None] / totals + RNG.normal(0, 10, size=(4, 3, 2))
    found = fitted_pair(pair, one, other, totals, 3.0)
    assert (found > 0.0).all()
    assert found.sum(axis=1) == pytest.approx(one, rel=1e-3)
    assert found.sum(axis=0) == pytest.approx(other, rel=1e-9)


# --- Data ----------------------------------------------------------------------------------------


def test_a_numeric_target_is_a_part_of_samples_tables_and_predictions():
    """The noise of the mean of 2000 numbers is some .02: the false-alarm rate is below 1e-6."""
    x = np.random.default_rng(0).uniform(-1.0, 1.0, size=(20_000, 2))
    x[:, 1] = 0.5 * x[:, 0] + 0.5 * x[:, 1]
    model = DPTreeDensity(
        bounds=(-1, 1), target=1, missing="error", n_bins=16, epsilon=8.0, random_state=0
    ).fit(x)
    rows = model.sample(2000, random_state=0)
    assert rows.shape == (2000, 2)
    assert abs(np.corrcoef(rows.T)[0, 1] - np.corrcoef(x.T)[0, 1]) < 0.1
    middles = 0.5 * (model.levels_[1][:-1] + model.levels_[1][1:])
    places = np.column_stack([[-0.9, 0.9], [0.0, 0.0]])
    proba = model.predict_proba(places)
    assert proba.sum(axis=1) == pytest.approx(1.0)
    assert proba @ middles == pytest.approx([-0.45, 0.45], abs=0.15)
    grid = np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(model.score_samples(grid)).reshape(16, 16) / 64.0
    assert density == pytest.approx(model.marginal([0, 1]), rel=1e-9)
    assert model.marginal([1, 0]).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n_columns", [2, 4])
def test_a_numeric_target_may_have_missing_values(n_columns):
    x = np.random.default_rng(0).uniform(size=(400, n_columns))
    x[::2, 0] = np.nan
    model = DPTreeDensity(bounds=(0, 1), target=0, epsilon=8.0, random_state=0).fit(x)
    share = np.isnan(model.sample(1000, random_state=0)[:, 0]).mean()
    assert share == pytest.approx(0.5, abs=0.2)


def test_missing_and_unknown_values_are_one_level():
    table = letters(4000)
    table.loc[::2, "a"] = None
    table.loc[1::4, "a"] = "unheard of"
    density = DPTreeDensity(categories=LETTERS, random_state=0).fit(table)
    assert density.marginal("a")[-1] == pytest.approx(0.75, abs=0.05)
    assert density.sample(2000, random_state=0)["a"].isna().mean() == pytest.approx(0.75, abs=0.1)
    same = table[["a", "b", "c", "d"]].iloc[:2].copy()
    same["a"] = [None, "never seen"]
    same.loc[:, ["b", "c", "d"]] = ["u", "p", "no"]
    scores = density.score_samples(same)
    assert scores[0] == scores[1]


def test_missing_and_unknown_values_can_be_errors(unspent):
    model = DPTreeDensity(categories=LETTERS, missing="error", budget=unspent)
    for value in (None, "unheard of"):
        table = letters(100)
        table.loc[7, "a"] = value
        with pytest.raises(ValueError, match="column 'a'"):
            model.fit(table)


def test_numbers_may_be_missing():
    x, y = mixed(5000)
    x[:2500, 0] = np.nan
    model = DPTreeNB(bounds=(-4, 4), random_state=0).fit(x, y)
    assert np.isfinite(model.predict_proba(x)).all()
    rows, labels = model.sample(3000, random_state=0)
    assert np.isnan(rows[:, 0]).mean() == pytest.approx(0.5, abs=0.1)
    assert set(np.unique(labels)) <= {0, 1}


def test_one_row_each_is_the_same_as_persons_with_one_row():
    x, y = mixed(400)
    model = DPTreeNB(bounds=(-4, 4), random_state=0)
    alone = clone(model).fit(x, y).predict_proba(x)
    assert np.array_equal(clone(model).fit(x, y, groups=np.arange(400)).predict_proba(x), alone)
    model.set_params(neighboring="add_remove_one", max_weight=2.0)
    alone = clone(model).fit(x, y).predict_proba(x)
    clipped = clone(model).fit(x, y, sample_weight=np.full(400, 9.0))
    assert np.array_equal(clipped.predict_proba(x), alone)


SCHEMA = TableSchema(
    {
        "person": "id",
        "day": {"bounds": ("2020-01-01", "2020-12-31"), "parts": ["weekday"]},
        "plan": {"categories": ["basic", "plus"], "missing": False},
    },
    source="made up",
)


def visits(n):
    rng = np.random.default_rng(0)
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(366, size=n), unit="D")
    plan = np.where(days.day_of_year > 183, "plus", "basic")
    return pd.DataFrame({"person": np.arange(n), "day": days, "plan": plan})


def test_a_schema_is_as_good_as_bounds_and_categories():
    table = visits(3000)
    first = table["day"].min()
    bounds = (str(first), str(first + pd.Timedelta(days=364.5)))
    schema = SCHEMA.confirm({"day": {"bounds": bounds}, "plan": {"missing": True}})
    density = DPTreeDensity(bounds=schema, target="plan", random_state=0).fit(table)
    encoded = pd.DataFrame({"day": (table["day"] - first).dt.days.astype(float)})
    encoded["day_weekday"] = table["day"].dt.strftime("%a")
    encoded["plan"] = table["plan"]
    known = {"day_weekday": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]}
    known["plan"] = ["basic", "plus"]
    same = DPTreeDensity(
        bounds={"day": (0, 364.5)}, categories=known, target="plan", random_state=0
    )
    same.fit(encoded)
    assert density.edges_ == same.edges_ == [("day_weekday", "day")]
    assert np.array_equal(density.score_samples(table), same.score_samples(encoded))
    assert np.array_equal(density.marginal(["day", "plan"]), same.marginal(["day", "plan"]))
    rows, others = (one.sample(20, random_state=0) for one in (density, same))
    assert rows["plan"].equals(others["plan"])
    days = (rows["day"] - first).dt.total_seconds() / 86400.0
    assert days.to_numpy() == pytest.approx(
        others["day"].to_numpy(), abs=1.1 / 86400.0, nan_ok=True
    )
    model = DPTreeNB(bounds=SCHEMA.drop("plan"), random_state=0)
    model.fit(table[["person", "day"]], table["plan"])
    assert model.score(table[["person", "day"]], table["plan"]) > 0.9


def test_a_schema_admits_no_error_for_a_value():
    schema = SCHEMA.select(["plan"])
    model = DPTreeDensity(bounds=schema, missing="error")
    for plan in ("basic", "unheard of"):
        with pytest.raises(ValueError, match="missing='error' is not available"):
            model.fit(pd.DataFrame({"plan": [plan] * 9}), groups=range(9))


@pytest.mark.parametrize(
    ("weight", "message"),
    [(0.0, "sample_weight is zero for all"), (1e10, "sum of sample_weight must be below")],
)
def test_weights_without_privacy_have_a_range(weight, message):
    x, y = mixed(50)
    with pytest.raises(ValueError, match=message):
        DPTreeNB(epsilon=math.inf, bounds=(-4, 4)).fit(x, y, sample_weight=np.full(50, weight))


@pytest.mark.parametrize("seed", range(8))
def test_noise_that_outweighs_all_records_leaves_a_density(seed):
    """Counts of a column by its own table and by those of its pairs have no level in common."""
    x = np.random.default_rng(seed).integers(40, size=(5, 3))
    model = DPTreeDensity(
        categories=range(40), missing="error", epsilon=1e-4, delta=1e-8, random_state=seed
    ).fit(x)
    assert np.isfinite(model.score_samples(x)).all()
    assert model.sample_several(5, n_tables=1)[0].shape == (5, 3)


def test_a_group_without_a_count_of_its_own_keeps_that_of_its_pairs():
    table, group = np.array([[9e9], [-9e9], [-9e9]]), np.array([0, 1, 1])
    found = level_counts(table, group, np.array([[0.0], [6.0]]), 1e6)
    assert found.ravel() == pytest.approx([0.0, 3.0, 3.0], abs=3.0)
    assert found[1:].min() > 0.0


def test_few_rows_are_warned_of():
    with pytest.warns(FewRowsWarning):
        DPTreeDensity(bounds=(-4, 4)).fit(mixed(20)[0])


def test_a_marginal_takes_no_memory_for_each_label(rng):
    """The table has 0.5 MB, and with each of the thirty labels it would have 15 MB."""
    x, y = rng.integers(40, size=(2000, 3)), rng.integers(30, size=2000)
    density = DPTreeNB(categories=range(40), classes=range(30), missing="error", random_state=0)
    model = density.fit(x, y)._released_.model
    tracemalloc.start()
    table = model.marginal([0, 1, 2], by_value=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.shape == (40, 40, 40)
    assert peak < 7e6
    by_value = model.marginal([0, 1, 2], by_value=True)
    assert by_value.sum(axis=-1) == pytest.approx(table, rel=1e-9)


def test_wrong_columns_of_a_marginal_are_rejected():
    density = density_of()
    for columns in ([], ["a", "a"], "e", [True]):
        with pytest.raises(ValueError, match="column"):
            density.marginal(columns)
    numbers = DPTreeDensity(bounds=(-4, 4), n_bins=999).fit(np.zeros((5000, 3)))
    with pytest.raises(ValueError, match="at most 16777216"):
        numbers.marginal([0, 1, 2])


# --- Without noise the shares are those of the records -------------------------------------------


@pytest.mark.parametrize("target", [None, "c1"])
def test_shares_of_rare_levels_are_right_where_noise_is_small(target, neighboring):
    """Cliques of many columns have many rows with few records; no gap is made up in any of them.

    At this ε the noise moves a share by less than 1e-4 with all but negligible probability.
    """
    n, rng = 7000, np.random.default_rng(0)
    common = rng.normal(size=n)
    codes = [common + rng.normal(size=n) for _ in range(9)]
    ends = [[-1.0, 0.0, 1.0], [0.9], [0.0, 3.0]]
    table = pd.DataFrame({f"c{j}": np.digitize(u, ends[j % 3]) for j, u in enumerate(codes)})
    known = {f"c{j}": list(range(len(ends[j % 3]) + 1)) for j in range(9)}
    given = {"categories": known, "target": target, "neighboring": neighboring, "random_state": 0}
    with pytest.warns(WeakPrivacyWarning):
        density = DPTreeDensity(epsilon=1e4, **given).fit(table)
    for name in table:
        shares = density.marginal(name)
        assert shares[:-1] == pytest.approx(
            table[name].value_counts(normalize=True).sort_index(), abs=1e-3
        )
        assert shares[-1] < 3e-4


# --- Few rows ------------------------------------------------------------------------------------


def test_too_many_columns_for_few_rows_are_named_before_the_spend(rng, unspent):
    answers = pd.DataFrame(rng.integers(3, size=(900, 20))).add_prefix("q")
    warnings.simplefilter("error", FewRowsWarning)
    with pytest.raises(FewRowsWarning, match=r"900 rows are few for .* level of 20 columns"):
        DPTreeDensity(categories=[0, 1, 2], budget=unspent).fit(answers)
    given = {"categories": [0, 1, 2], "random_state": 0}
    DPTreeDensity(**given, neighboring="add_remove_one").fit(answers)  # n is private
    DPTreeDensity(**given).fit(answers.iloc[:, :4])


@pytest.mark.parametrize("target", [None, "q0"])
def test_the_error_of_shares_that_is_named_is_that_of_the_noise(target, rng):
    """A share is beyond two deviations in 4.6 % of cases; of 60, 15 or more in less than 1e-6."""
    answers = pd.DataFrame(rng.integers(3, size=(900, 20))).add_prefix("q")
    with pytest.warns(FewRowsWarning, match="wrong by") as seen:
        model = DPTreeDensity(categories=[0, 1, 2], target=target).fit(answers)
    named = float(str(seen[0].message).split("wrong by ")[1].split(". ")[0])
    counts = [model._released_.level_counts(i)[0][:3] for i in range(20 - (target is not None))]
    columns = [name for name in answers if name != target]
    true = [np.bincount(answers[name], minlength=3) for name in columns]
    errors = np.abs(np.array(counts) - true) / 900
    assert (errors > named * 1.1).sum() < 15  # two digits are shown
    assert (errors > 0.5 * named).mean() > 0.03  # 32 %; less than 3 % in less than 1e-6
