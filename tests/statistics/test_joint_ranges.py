"""One record moves all choices of quantiles together by at most the range that is charged."""

import sys
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from skdp import statistics
from skdp.accounting import PLDAccountant
from skdp.mechanisms import ExponentialMechanism
from skdp.preprocessing import DPMinMaxScaler, DPQuantileClipper
from skdp.statistics._choices import Grid

TAILS = [0.01, 0.99]
ROWS = [*product([0.25, 0.5, 0.75], [0, 1]), (0.5, 7)]  # 7 is no key
MANY = [  # values of a group, and how often; rows move the quantiles most beyond all of these
    [(0.25, 60), (0.5, 60)],
    [(0.5, 60), (0.75, 60)],
    [(0.25, 1), (0.5, 1), (0.75, 1)],
]
LARGE = [
    [(value, key) for key, group in enumerate(groups) for value, n in group for _ in range(n)]
    for groups in product(MANY, repeat=2)
]
SMALL = [list(rows) for n in (1, 2) for rows in combinations_with_replacement(ROWS, n)]


@pytest.fixture
def choices(monkeypatch):
    """Return utilities in nats, as the release computes them, on a grid of five points."""
    seen = []

    def release(mechanism, utilities, rng):
        seen.append(utilities * mechanism.epsilon / (2.0 * mechanism.sensitivity))
        return 0

    monkeypatch.setattr(ExponentialMechanism, "release", release)
    grid = Grid.of(np.linspace(0.0, 1.0, 5), exact=False)
    monkeypatch.setattr(sys.modules["skdp.statistics.quantile"], "grids_of", lambda _: [grid])

    def found(rows, whose, **asked):
        x, by = np.array(rows, dtype=float).reshape(-1, 2).T
        seen.clear()
        asked = {"bounds": (0, 1), "by": by, "keys": [0, 1], "groups": whose} | asked
        event = statistics.quantile(x, epsilon=1.0, **asked, random_state=0).privacy.event
        return np.array(seen), event

    return found


def worlds(choices, in_persons, bases, **asked):
    """Yield utilities of a data set without a record and with each possible one, and the cost."""
    records = [[row] for row in ROWS]
    if in_persons:
        records += combinations_with_replacement(ROWS, 2)
        records += list(combinations_with_replacement(ROWS, 3))[::4]
    for rest in bases:
        found = []
        for record in ([], *map(list, records)):
            whose = [*range(len(rest)), *[len(rest)] * len(record)] if in_persons else None
            utilities, event = choices(rest + record, whose, **asked)
            found.append(utilities)
        yield np.array(found), event


def pairs(utilities, neighboring):
    """Return indices of pairs of neighbors; data set 0 is the one without the record."""
    if neighboring == "add_remove_one":
        return np.zeros(len(utilities) - 1, dtype=int), np.arange(1, len(utilities))
    return np.array(list(combinations(range(1, len(utilities)), 2))).T


@pytest.mark.slow
@pytest.mark.parametrize("q", [[0.5], [0.9], TAILS])
def test_no_record_moves_all_choices_farther_than_charged(choices, neighboring, q):
    """More than 25 000 pairs of neighbors in all. Rows and persons attain the bound."""
    for in_persons in (False, True):
        farthest, n_pairs, event = 0.0, 0, None
        asked = {"delta": 0.0, "q": q, "neighboring": neighboring}
        bases = LARGE[:5] if in_persons else [*SMALL[::2], *LARGE]
        for utilities, cost in worlds(choices, in_persons, bases, **asked):
            first, second = pairs(utilities, neighboring)
            moved = utilities[first] - utilities[second]
            event, ranges = cost, np.ptp(moved, axis=2).sum(axis=1)
            farthest, n_pairs = max(farthest, ranges.max()), n_pairs + ranges.size
        assert farthest <= event.pure_epsilon(neighboring) <= 1.0
        assert farthest >= 0.98
        assert n_pairs >= (7_000 if in_persons and neighboring == "replace_one" else 150)


@pytest.mark.filterwarnings("ignore:delta=0.05 is large")
@pytest.mark.parametrize("in_persons", [False, True])
def test_joint_distributions_are_as_close_as_charged(choices, neighboring, in_persons):
    """Exactly, over all 625 joint outcomes of two quantiles in two groups."""
    asked = {"delta": 0.05, "q": [0.1, 0.8], "neighboring": neighboring}
    rng, levels, largest = np.random.default_rng(), np.array([0.1, 0.4, 0.8]), np.zeros(3)
    event = None
    for utilities, cost in worlds(choices, in_persons, [LARGE[1], LARGE[5], LARGE[8]], **asked):
        first, second = pairs(utilities, neighboring)
        event, some = cost, rng.permutation(first.size)[:60]
        joint = outer(np.exp(utilities - np.logaddexp.reduce(utilities, axis=2, keepdims=True)))
        one, other = joint[first[some]], joint[second[some]]
        for p, p_other in ((one, other), (other, one)):
            excess = p - np.exp(levels)[:, None, None] * p_other
            largest = np.maximum(largest, np.maximum(excess, 0.0).sum(axis=2).max(axis=1))
    allowed = [PLDAccountant(neighboring).delta(event, level) for level in levels]
    assert np.all(largest <= np.array(allowed) * (1.0 + 1e-9))
    assert largest[0] > 0.1 * allowed[0]


def outer(probabilities):
    """Return the joint distributions of independent choices, one for each data set."""
    joint = np.ones((len(probabilities), 1))
    for j in range(probabilities.shape[1]):
        joint = (joint[:, :, None] * probabilities[:, None, j]).reshape(len(joint), -1)
    return joint


def noise(monkeypatch, fit):
    """Return the number of rows by which a probability falls by a factor e."""
    scales = set()

    def release(mechanism, utilities, rng):
        scales.add(2.0 * mechanism.sensitivity / mechanism.epsilon)
        return 0

    with monkeypatch.context() as patched:
        patched.setattr(ExponentialMechanism, "release", release)
        fit()
    (scale,) = scales
    return scale


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("described", [False, True])
def test_noise_of_persons_does_not_grow_with_the_number_of_groups(
    monkeypatch, described, neighboring, delta
):
    x, terms = np.linspace(0.0, 1.0, 60), {"bounds": (0, 1), "neighboring": neighboring}

    def of(n_groups):
        asked = terms | {"by": np.arange(60) % 5, "keys": list(range(n_groups))}
        asked["groups"] = np.arange(60) // 4
        if described:
            return statistics.describe(
                x, epsilon=1.0, delta=delta, quantiles=[0.9], level=None, **asked
            )
        return statistics.quantile(x, epsilon=1.0, delta=delta, q=0.9, **asked)

    few, many = (noise(monkeypatch, lambda n=n: of(n)) for n in (4, 50))
    assert many == pytest.approx(few, rel=1e-3)


@pytest.mark.parametrize("scaler", [DPMinMaxScaler, DPQuantileClipper])
def test_two_tails_cost_less_than_two_quantiles(monkeypatch, scaler):
    """A row beyond one tail is within the other: 1.98 + 1 rows in place of 1.98 + 1.98."""
    X, terms = np.linspace(0.0, 1.0, 60)[:, None], {"bounds": (0, 1), "random_state": 0}

    def of(delta, neighboring):
        fit = scaler(epsilon=1.0, delta=delta, **terms, neighboring=neighboring).fit
        return noise(monkeypatch, lambda: fit(X))

    assert of(0.0, "add_remove_one") == pytest.approx(2.98, rel=1e-4)
    assert of(0.0, "replace_one") == pytest.approx(4.0, rel=1e-4)
    assert of(1e-5, "add_remove_one") < 0.76 * of(1e-5, "replace_one")


@pytest.mark.parametrize(
    ("q", "level", "rows"),
    [
        ([0.5], None, 1.0),
        ([0.25, 0.5, 0.75], None, 3.5),
        ([0.75, 0.25, 0.5], 0.9, 10.5),  # the same three times, each with one margin
        ([0.4, 0.4, 0.4, 0.99], None, 4.98),
        ([0.0, 1.0], None, 3.0),
    ],
)
def test_ranks_of_a_column_share_what_a_row_can_move(monkeypatch, q, level, rows):
    x, asked = np.linspace(0.0, 1.0, 60), {"bounds": (0, 1), "neighboring": "add_remove_one"}
    ask = lambda: statistics.quantile(x, epsilon=1.0, delta=0.0, q=q, level=level, **asked)  # noqa: E731
    assert noise(monkeypatch, ask) == pytest.approx(rows, rel=1e-4)


@pytest.mark.parametrize("q", [0.5, 0.75, 0.95])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("in_persons", [False, True])
def test_two_groups_never_cost_more_than_two_choices(monkeypatch, q, delta, in_persons):
    """The joint range 4·max(q, 1 − q) of a record that changes groups is one way to count it."""
    x, asked = np.linspace(0.0, 1.0, 60), {"bounds": (0, 1), "q": q}
    by = {"by": np.arange(60) % 2, "keys": [0, 1]}
    whose = {"groups": np.arange(60) // 2 if in_persons else None}
    grouped = noise(
        monkeypatch,
        lambda: statistics.quantile(x, epsilon=1.0, delta=delta, **asked, **by, **whose),
    )
    twice = asked | {"q": [q, q]}
    assert grouped <= noise(
        monkeypatch, lambda: statistics.quantile(x, epsilon=1.0, delta=delta, **twice)
    ) * (1.0 + 1e-4)
