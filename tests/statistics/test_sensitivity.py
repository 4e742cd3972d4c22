"""Between neighbors no answer, and no utility, moves farther than what was spent for."""

from itertools import product

import numpy as np
import pytest

from skdp import statistics
from skdp.mechanisms import ExponentialMechanism
from skdp.statistics._moments import OF_MEAN, OF_SPREAD, Part, count_weight, present_query
from skdp.statistics.means import CovarianceStatistic
from skdp.workloads import QueryPlan

ROUNDING = 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 99, 100, 101, 130, 150, 5000])
@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_margins_that_grow_with_a_private_number_of_rows_are_paid_for(n, q, monkeypatch):
    """Where the margin grows it moves the utilities farther than a rank alone does."""
    seen = []

    def release(mechanism, utilities, rng):
        seen.append((mechanism.sensitivity, utilities))
        return 0

    monkeypatch.setattr(ExponentialMechanism, "release", release)
    asked = {"q": q, "bounds": (0, 10), "level": 0.9, "sampling": True}
    rng = np.random.default_rng()
    x = rng.uniform(0.0, 10.0, n + 1)
    for rows in (x, x[:-1]):
        statistics.quantile(rows, epsilon=5.0, delta=0.0, **asked, neighboring="add_remove_one")
    moved = [
        np.abs(one - other).max() for (_, one), (_, other) in zip(seen[:3], seen[3:], strict=True)
    ]
    assert max(moved) <= seen[0][0] * (1.0 + ROUNDING)
    assert (max(moved) > max(q, 1.0 - q) * (1.0 + 1e-6)) == (n >= 100)


@pytest.mark.parametrize("q", [0.1, 1.0 / 3.0, 0.7])
def test_ranks_of_very_many_rows_are_rounded_within_the_sensitivity(q, rng):
    """What `_choose` computes for n and for n + 1 rows, up to the most that are allowed."""
    n = rng.integers(2**20, 2**31, size=100_000).astype(float)
    below = np.floor(n * rng.random(n.size))
    for added in (0.0, 1.0):
        moved = np.abs((below + added - q * (n + 1.0)) - (below - q * n))
        assert moved.max() <= max(q, 1.0 - q) * (1.0 + 2.0**-19)


ODD = {  # values of which one more, of another type, would change what NumPy makes of the others
    "text": ([1] * 20, "a", [1, "a"]),
    "nothing": ([True] * 20, None, [True]),
    "float": ([2**53 + 1] * 20, 0.5, [2**53, 2**53 + 1, 0.5]),
    "long": ([2**53 + 1] * 20, 2**70, [2**53, 2**53 + 1]),
    "scalar": ([np.int64(2**53 + 1)] * 20, 0.5, [2**53, 2**53 + 1]),
    "nul": (["a\0"] * 20, 1, ["a", "a\0", 1]),
    "bytes": ([b"a"] * 20, "a", [b"a", "a"]),
    "time": ([np.datetime64("2020-01-01")] * 20, "a", [np.datetime64("2020-01-01")]),
    "unit": ([np.datetime64("2020-01-01")] * 20, np.datetime64(1, "ns"), [np.datetime64(1, "ns")]),
}
GROUPED = {
    "count": lambda x, known: statistics.count(
        np.ones(len(x), bool),
        epsilon=1.0,
        delta=0.0,
        by=x,
        keys=known,
        neighboring="add_remove_one",
    ),
    "marginals": lambda x, known: statistics.marginals(
        x, epsilon=1.0, delta=0.0, categories=known, neighboring="add_remove_one"
    ),
    "describe": lambda x, known: statistics.describe(
        x, epsilon=1.0, delta=0.0, categories=known, neighboring="add_remove_one"
    ),
    "mean": lambda x, known: statistics.mean(
        np.ones(len(x)),
        epsilon=1.0,
        delta=0.0,
        bounds=(0, 1),
        by=x,
        keys=known,
        neighboring="add_remove_one",
    ),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", GROUPED)
def test_the_type_of_one_value_in_a_list_changes_no_other(name, kind, monkeypatch):
    seen = []

    def release(plan, answers, rng):
        seen.append(np.concatenate([np.ravel(answers[query.name]) for query in plan.queries]))
        return {query.name: np.ones_like(answers[query.name]) for query in plan.queries}

    monkeypatch.setattr(QueryPlan, "release", release)
    usual, odd, known = ODD[kind]
    GROUPED[name](usual, known)
    GROUPED[name]([*usual, odd], known)
    assert np.abs(seen[0] - seen[1]).max() <= 1.0


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_a_null_makes_no_floats_of_whole_numbers(library):
    made = pytest.importorskip(library)
    frame = made.table if library == "pyarrow" else made.DataFrame
    table = frame({"x": [2**53 + 1, None, 0]})
    asked = {"categories": {"x": [0, 2**53, 2**53 + 1]}, "random_state": 0}
    counts = statistics.marginals(table, epsilon=1e6, **asked)["x",]
    np.testing.assert_allclose(counts, [1, 0, 1], atol=1e-3)


def _points(n_parts, weight, n_groups):
    """Return what one value adds in each group, for corners and inner points, and a gap."""
    u = np.linspace(-1.0, 1.0, 41)
    parts = [u, 2.0 * (u**2 - 0.5)][:n_parts]
    numbers = np.stack([*parts, np.full(u.shape, weight)], axis=1)
    own = np.zeros((n_groups, *numbers.shape[:1], n_groups, n_parts + 1))
    for group in range(n_groups):
        own[group, :, group] = numbers
    every = own.reshape(-1, n_groups * (n_parts + 1))
    return np.vstack([every, np.zeros_like(every[:1])])


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("n_parts", [1, 2])
@pytest.mark.parametrize("n_groups", [None, 2])
@pytest.mark.parametrize("n_changed", [1, 2])
def test_sums_over_values_present_move_as_far_as_stated(noise, n_parts, n_groups, n_changed):
    """Brute force over values, gaps and groups, and over persons with two halves of rows."""
    vector = (OF_MEAN, OF_SPREAD)[n_parts - 1]
    weight = count_weight(noise, vector, n_changed, n_groups)
    query = present_query(vector, 1, weight, n_changed, n_groups)
    rows = _points(n_parts, weight, n_groups or 1)
    persons = 0.5 * (rows[:, None] + rows[::7]).reshape(-1, rows.shape[1])
    for records in (rows, persons):
        others = records if n_changed == 2 else np.zeros_like(records[:1])
        moves = np.abs(records[:, None] - others).reshape(-1, rows.shape[1])
        assert moves.max() <= query.linf_sensitivity
        assert moves.sum(axis=1).max() <= query.l1_sensitivity
        assert np.sqrt((moves**2).sum(axis=1)).max() <= query.l2_sensitivity
    if n_parts == 1 or n_groups is None:  # where the bounds are attained
        moves = np.abs(rows[:, None] - (rows if n_changed == 2 else 0.0)).reshape(-1, rows.shape[1])
        l1, l2 = moves.sum(axis=1).max(), np.sqrt((moves**2).sum(axis=1)).max()
        assert (l1 if noise == "laplace" else l2) > 0.99 * (
            query.l1_sensitivity if noise == "laplace" else query.l2_sensitivity
        )


def test_the_number_of_values_costs_nothing_if_a_value_is_replaced():
    """As much noise as for the sums alone, for Gaussian and for Laplace noise."""
    for noise in ("gaussian", "laplace"):
        query = present_query(OF_MEAN, 3, count_weight(noise, OF_MEAN, 2, None), 2, None)
        alone = Part("x", 3).query(2)
        name = "l2_sensitivity" if noise == "gaussian" else "l1_sensitivity"
        assert getattr(query, name) == pytest.approx(getattr(alone, name), rel=1e-5)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("n_changed", [1, 2])
@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_rows_of_a_covariance_move_as_far_as_stated(n_columns, n_changed, noise):
    """Brute force over corners, inner points and a row that is left out."""
    statistic = CovarianceStatistic((0, 1))
    vector = statistic._vector(n_columns)
    weight = count_weight(noise, vector, n_changed, None)
    query = present_query(vector, 1, weight, n_changed, None)
    u = np.array([*product(np.linspace(-1.0, 1.0, (41, 15, 7)[n_columns - 1]), repeat=n_columns)])
    sums, radii = statistic._numbers(u), {"square": 0.5}
    names = [part.name for part in statistic._parts(n_columns)]
    numbers = [sums[name] / radii.get(name, 1.0) for name in names]
    rows = np.column_stack([*numbers, np.full(len(u), weight)])
    assert rows.shape[1] == query.size
    rows = np.vstack([rows, np.zeros(rows.shape[1])])
    moves = np.abs(rows[:, None] - (rows if n_changed == 2 else 0.0)).reshape(-1, rows.shape[1])
    assert moves.max() <= query.linf_sensitivity
    assert moves.sum(axis=1).max() <= query.l1_sensitivity
    assert np.sqrt((moves**2).sum(axis=1)).max() <= query.l2_sensitivity
