"""Between neighbors no answer, and no utility, moves farther than what was spent for."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skdp import statistics
from skdp.mechanisms import ExponentialMechanism
from skdp.statistics._moments import Part, count_weight, present_query
from skdp.workloads import QueryPlan

BOUNDS = ([-1.0, 0.0], [3.0, 10.0])
ROUNDING = 1e-8
values = st.floats(-20.0, 20.0) | st.sampled_from([-1.0, 0.0, 1.0, 3.0, 10.0, np.nan, np.inf])
rows = st.tuples(values, values, st.sampled_from([0.0, 1.0, 2.0, 7.0, np.nan]))
relations = st.sampled_from(["replace_one", "add_remove_one"])
ALONE = {
    "sum": lambda x, **terms: statistics.sum(x, bounds=BOUNDS, **terms),
    "mean": lambda x, **terms: statistics.mean(x, bounds=BOUNDS, **terms),
    "variance": lambda x, **terms: statistics.variance(x, bounds=BOUNDS, **terms),
    "covariance": lambda x, **terms: statistics.covariance(x, bounds=BOUNDS, **terms),
    "count": lambda x, **terms: statistics.count(x > 1.0, **terms),
    "histogram": lambda x, **terms: statistics.histogram(
        x, edges=[[-1, 1, 3], [0, 5, 10]], **terms
    ),
    "marginals": lambda x, **terms: statistics.marginals(
        np.floor(x), categories={0: [-1, 0, 1, 2], 1: [0, 3, 9]}, n_ways=1, **terms
    ),
    "describe": lambda x, **terms: statistics.describe(
        x, bounds={1: (0.0, 10.0)}, categories={0: [-1.0, 0.0, 3.0]}, quantiles=(), **terms
    ),
}
GROUPED = ("sum", "mean", "variance", "count", "describe")
ASKED = {name: lambda x, ask=ask, **terms: ask(x[:, :2], **terms) for name, ask in ALONE.items()}
ASKED |= {
    f"{name} by": lambda x, ask=ALONE[name], **terms: ask(
        x[:, :2], by=x[:, 2], keys=[0.0, 1.0, 2.0], **terms
    )
    for name in GROUPED
}


def neighbors(one, other, neighboring):
    rest = [(0.5, 7.0, 1.0), (2.0, 1.0, 0.0)]
    first, second = [*rest, one], [*rest, other] if neighboring == "replace_one" else rest
    return (np.array(table, dtype=float) for table in (first, second))


def test_no_statistic_is_missing():
    """A quantile has no queries, and a test of its own below."""
    assert {*ALONE, "quantile"} == {name for name in statistics.__all__ if name.islower()}


def persons(one, other, neighboring):
    """Return tables that differ in the rows of one person, and whose each row is."""
    rest = [(0.5, 7.0, 1.0), (2.0, 1.0, 0.0), (2.0, 9.0, 0.0)]
    for mine in (one, other if neighboring == "replace_one" else []):
        whose = [0, 0, 1, *[2] * len(mine)]
        yield np.array([*rest, *mine], dtype=float), np.array(whose)


def watched(monkeypatch):
    """Return a list that gets the plan and the exact answers of each release from now on."""
    seen = []

    def release(plan, answers, rng):
        seen.append((plan, {key: np.ravel(answer) for key, answer in answers.items()}))
        return {query.name: np.ones(query.size) for query in plan.queries}

    monkeypatch.setattr(QueryPlan, "release", release)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
@given(one=rows, other=rows, neighboring=relations)
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_answers_are_no_farther_apart_than_declared(name, one, other, neighboring, monkeypatch):
    seen = watched(monkeypatch)
    for x in neighbors(one, other, neighboring):
        ASKED[name](x, epsilon=1.0, neighboring=neighboring, random_state=0)
    check_distances(*seen)


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
@given(
    one=st.lists(rows, min_size=1, max_size=5),
    other=st.lists(rows, min_size=1, max_size=5),
    neighboring=relations,
)
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_answers_of_persons_are_no_farther_apart_than_declared(
    name, one, other, neighboring, monkeypatch
):
    seen = watched(monkeypatch)
    for x, whose in persons(one, other, neighboring):
        terms = {"neighboring": neighboring, "random_state": 0, "delta": 1e-5}
        found = ASKED[name](x, epsilon=1.0, groups=whose, **terms)
        assert found.privacy.unit == "person"
    check_distances(*seen)


def check_distances(first, second):
    (plan, before), (same, after) = first, second
    assert plan == same
    for query in plan.queries:
        distance = np.abs(before[query.name].astype(float) - after[query.name])
        assert distance.size == query.size
        assert np.count_nonzero(distance) <= query.l0_sensitivity
        assert distance.max() <= query.linf_sensitivity * (1.0 + ROUNDING)
        assert distance.sum() <= query.l1_sensitivity * (1.0 + ROUNDING)
        assert np.linalg.norm(distance) <= query.l2_sensitivity * (1.0 + ROUNDING)


@pytest.mark.slow
@given(
    one=st.lists(rows, min_size=1, max_size=4),
    other=st.lists(rows, min_size=1, max_size=4),
    neighboring=relations,
    q=st.sampled_from([0.0, 0.1, 1.0 / 3.0, 0.5, 0.9, 1.0]),
    level=st.none() | st.just(0.9),
    sampling=st.booleans(),
    grouped=st.booleans(),
    described=st.booleans(),
    in_persons=st.booleans(),
)
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_utilities_are_no_farther_apart_than_declared(
    one, other, neighboring, q, level, sampling, grouped, described, in_persons, monkeypatch
):
    seen, spent = [], []

    def release(mechanism, utilities, rng):
        nats = mechanism.epsilon / (2.0 * mechanism.sensitivity)
        seen.append((mechanism.sensitivity, nats, utilities))
        return 0

    monkeypatch.setattr(ExponentialMechanism, "release", release)
    if not in_persons:
        one, other = one[:1], other[:1]
    for x, whose in persons(one, other, neighboring):
        by = {"by": x[:, 2], "keys": [0.0, 1.0, 2.0]} if grouped else {}
        asked = {"bounds": BOUNDS, "level": level, "neighboring": neighboring} | by
        asked["groups"] = whose if in_persons else None
        if described:
            found = statistics.describe(x[:, :2], epsilon=1.0, delta=0.0, quantiles=[q], **asked)
            spent.append(found.privacy.event.events[1])
        else:
            found = statistics.quantile(
                x[:, :2], epsilon=1.0, delta=0.0, q=q, sampling=sampling, **asked
            )
            spent.append(found.privacy.event)
    half, together = len(seen) // 2, 0.0
    for (sensitivity, nats, before), (*same, after) in zip(seen[:half], seen[half:], strict=True):
        assert [sensitivity, nats] == same
        moved = before - after
        assert np.abs(moved).max() <= sensitivity * (1.0 + ROUNDING)
        together += nats * np.ptp(moved)
    assert spent[0] == spent[1]
    assert together <= spent[0].pure_epsilon(neighboring) * (1.0 + ROUNDING)


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
def test_ranks_of_very_many_rows_are_rounded_within_the_sensitivity(q):
    """What `_choose` computes for n and for n + 1 rows, up to the most that are allowed."""
    rng = np.random.default_rng(0)
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
    weight = count_weight(noise, n_parts, n_changed, n_groups)
    parts = [Part("x", 1), Part("square", 1, 0.5)][:n_parts]
    query = present_query(parts, weight, n_changed, n_groups)
    rows = _points(n_parts, weight, n_groups or 1)
    persons = 0.5 * (rows[:, None] + rows[::7]).reshape(-1, rows.shape[1])
    for records in (rows, persons):
        others = records if n_changed == 2 else np.zeros_like(records[:1])
        moves = np.abs(records[:, None] - others).reshape(-1, rows.shape[1])
        assert moves.max() <= query.linf_sensitivity
        assert moves.sum(axis=1).max() <= query.l1_sensitivity
        assert np.sqrt((moves**2).sum(axis=1)).max() <= query.l2_sensitivity
    if n_parts == 1:  # where the bounds are attained
        moves = np.abs(rows[:, None] - (rows if n_changed == 2 else 0.0)).reshape(-1, rows.shape[1])
        l1, l2 = moves.sum(axis=1).max(), np.sqrt((moves**2).sum(axis=1)).max()
        assert (l1 if noise == "laplace" else l2) > 0.999 * (
            query.l1_sensitivity if noise == "laplace" else query.l2_sensitivity
        )


def test_the_number_of_values_costs_nothing_if_a_value_is_replaced():
    """As much noise as for the sums alone, for Gaussian and for Laplace noise."""
    for noise in ("gaussian", "laplace"):
        query = present_query([Part("x", 3)], count_weight(noise, 1, 2, None), 2, None)
        alone = Part("x", 3).query(2)
        name = "l2_sensitivity" if noise == "gaussian" else "l1_sensitivity"
        assert getattr(query, name) == pytest.approx(getattr(alone, name), rel=1e-5)
