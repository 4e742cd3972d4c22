"""Effects of a treatment cover the truth, and no record moves more than was spent for."""

import warnings
from itertools import islice, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression

from skdp import PrivacyBudget, statistics
from skdp.statistics.effects import ARMS, Models
from skdp.workloads import QueryPlan
from skdp.workloads.plan import GaussianPlan

BOX = {"bounds": (0, 1), "covariate_bounds": (0, 1)}
SETTINGS = [  # rows, share of the treated, ε, covariates, neighbors, and other terms
    (1000, 0.5, 0.3, 1, "replace_one", {}),
    (1000, 0.5, 3.0, 3, "replace_one", {}),
    (1000, 0.2, 1.0, 3, "replace_one", {}),
    (3000, 0.5, 1.0, 3, "add_remove_one", {"bounds": None}),
    (3000, 0.5, 1.0, 3, "replace_one", {"noise": "laplace", "delta": 0.0}),
    (3000, 0.5, 1.0, 0, "add_remove_one", {}),
    (100_000, 0.5, 0.3, 3, "replace_one", {"delta": 1e-6}),
]
OBSERVED = [  # rows, ε, covariates, least propensity, log-odds of controls beside 0, neighbors
    (1200, 1.0, 1, 0.2, 0.0, "replace_one"),  # near the least rows and far above
    (3200, 1.0, 3, 0.1, 0.0, "replace_one"),
    (2500, 3.0, 3, 0.1, 0.0, "add_remove_one"),
    (6000, 1.0, 5, 0.05, 0.0, "replace_one"),
    (20_000, 1.0, 3, 0.05, 1.55, "replace_one"),  # 18 % are treated, who need 13 000 rows
    (50_000, 0.3, 3, 0.1, 0.0, "replace_one"),
    (50_000, 3.0, 3, 0.05, 0.0, "replace_one"),
]


def trial(n, share, d, rng):
    """Return covariates, treated rows and outcomes; the mean effect is .1, and it differs."""
    X, treated = rng.random((n, max(d, 1))), rng.random(n) < share
    y = 0.2 + 0.3 * X[:, 0] + 0.2 * X[:, -1] ** 2 + (0.05 + 0.1 * X[:, 0]) * treated
    return X, treated, y


def trials_of(n, share, epsilon, d, neighboring, terms):
    """Yield for ever whether the interval of the effect contains it."""
    rng, asked = np.random.default_rng(), {**BOX, "neighboring": neighboring, **terms}
    while True:
        X, treated, y = trial(n, share, d, rng)
        is_boolean = asked["bounds"] is None
        y = rng.random(n) < y if is_boolean else y + 0.05 * rng.standard_normal(n)
        found = statistics.treatment_effect(y, treated, X if d else None, epsilon=epsilon, **asked)
        low, high = found.interval()
        yield low[0] <= 0.1 <= high[0]


@pytest.mark.parametrize("n_treated", [0, 5, 200, 1000, 19_000, 20_000])
def test_an_observed_effect_of_a_small_arm_is_nan_with_a_reason(n_treated, neighboring, rng):
    """An arm needs 2400 of 20 000 rows. Noise in its number has a deviation of 150 at most."""
    X, treated = rng.uniform(size=(20_000, 2)), rng.permutation(20_000) < n_treated
    y = np.clip(0.3 + 0.2 * X[:, 0] + rng.normal(0.0, 0.1, 20_000), 0.0, 1.0)
    asked = {"epsilon": 1.0, "min_propensity": 0.1, "neighboring": neighboring, **BOX}
    found = statistics.treatment_effect(y, treated, X, **asked)
    assert np.isnan(found.value).all()
    assert "outweighs" in found.notes[0]


@pytest.mark.parametrize("setting", SETTINGS[:-1], ids=str)
def test_intervals_cover_noise_and_sampling(setting, is_covered):
    assert is_covered(trials_of(*setting))


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_intervals_cover_noise_and_sampling_in_many_runs(setting):
    """Coverage of .94 is refused below .906, and of .965 above .99, at most once in 1e5."""
    assert stats.binom.cdf(906, 1000, 0.94) < 2e-5
    assert stats.binom.sf(989, 1000, 0.965) < 1e-5
    assert 0.906 <= np.mean([*islice(trials_of(*setting), 1000)]) <= 0.99


def observed(n, d, shift, rng):
    """Return covariates, treated rows and outcomes; the mean effect is .1.

    Propensities are logistic, and outcomes are no lines.
    """
    X = rng.random((n, d))
    treated = rng.random(n) < 1.0 / (1.0 + np.exp(shift + 1.0 - 1.5 * X[:, 0] - 0.5 * X[:, -1]))
    y = 0.2 + 0.4 * (X[:, 0] - 0.3) ** 2 + 0.3 * X[:, -1] + (0.05 + 0.1 * X[:, 0]) * treated
    return X, treated, y + 0.1 * rng.standard_normal(n)


def trials_where_observed(n, epsilon, d, least, shift, neighboring):
    """Yield for ever whether the interval of the effect contains it."""
    rng, asked = np.random.default_rng(), {**BOX, "neighboring": neighboring}
    while True:
        X, treated, y = observed(n, d, shift, rng)
        asked |= {"epsilon": epsilon, "min_propensity": least}
        low, high = statistics.treatment_effect(y, treated, X, **asked).interval()
        yield low[0] <= 0.1 <= high[0]


@pytest.mark.parametrize("setting", OBSERVED[:5], ids=str)
def test_intervals_of_observational_effects_cover(setting, is_covered):
    assert is_covered(trials_where_observed(*setting))


@pytest.mark.slow
@pytest.mark.parametrize("setting", OBSERVED, ids=str)
def test_intervals_of_observational_effects_cover_in_many_runs(setting):
    assert 0.906 <= np.mean([*islice(trials_where_observed(*setting), 1000)]) <= 0.99


def test_covariates_take_confounding_away_and_propensities_are_those_of_a_discriminant_analysis():
    """Without noise, against the same scores of models of all rows."""
    X, treated, y = observed(40_000, 2, 0.0, np.random.default_rng())
    y = np.clip(y, 0.0, 1.0)
    asked = {**BOX, "epsilon": 1e8}
    with warnings.catch_warnings(action="ignore"):
        found = statistics.treatment_effect(y, treated, X, min_propensity=0.3, **asked)
        naive = statistics.treatment_effect(y, treated, **asked | {"covariate_bounds": None})
    e = LinearDiscriminantAnalysis().fit(X, treated).predict_proba(X)[:, 1]
    outside = np.count_nonzero((e < 0.3) | (e > 0.7))
    e = np.clip(e, 0.3, 0.7)
    m0, m1 = (LinearRegression().fit(X[arm], y[arm]).predict(X) for arm in (~treated, treated))
    psi = m1 - m0 + np.where(treated, (y - m1) / e, (m0 - y) / (1 - e))
    low, high = found.interval()
    assert found.value[0] == pytest.approx(psi.mean(), abs=2e-3)
    assert high[0] - low[0] == pytest.approx(2 * 1.96 * psi.std() / 200, rel=0.03)
    assert abs(naive.value[0] - 0.1) > 0.02 > 4 * abs(found.value[0] - 0.1)
    assert np.isnan(found.means).all()
    (line,) = found._labels.rest
    assert str(line) in repr(found)
    clipped = float(line.split(" of ")[2].split(" to ")[0])
    assert clipped == pytest.approx(outside, abs=0.1 * outside)


@pytest.mark.parametrize("relation", ["add_remove_one", "replace_one"])
@pytest.mark.parametrize("d", [1, 3])
def test_a_record_moves_scores_as_far_as_stated_whatever_was_released(relation, d, monkeypatch):
    """Brute force over corners of a row, its arm and gaps, and over models of the halves."""
    seen, rng, largest = [], np.random.default_rng(), 0.0

    def release(plan, name, values, _):
        step = next(step for step in plan.steps if step.name == name)
        seen.append((np.array(values), step.l2_sensitivity))
        return np.ones(np.size(values))

    monkeypatch.setattr(GaussianPlan, "release", release)
    asked = {"bounds": (-1, 1), "covariate_bounds": (-1, 1), "neighboring": relation}
    asked |= {"epsilon": 1e4, "delta": 1e-5, "min_propensity": 0.1}
    for k in range(160):
        is_worst, n = k % 4 > 1, 40 + 1
        lines = 100.0 * rng.standard_normal((2, d + 1))
        odds = np.r_[100.0 - 200.0 * (k % 2), np.zeros(d)] if is_worst else lines.sum(axis=0)
        models = Models(lines[:1].repeat(2, axis=0) if is_worst else lines, odds, 0.1)
        monkeypatch.setattr(Models, "of", lambda *_, models=models: models)
        X, arm = rng.choice([-1.0, 1.0], (n, d + 1)), rng.integers(0, 2, n).astype(float)
        arm[-1], X[-1, 0] = k % 2, 1.0
        tables = [(X.copy(), arm.copy())]
        X[-1] = -X[-1]
        if not is_worst:
            X[-1] = rng.choice([-1.0, 1.0, np.nan], d + 1, p=[0.48, 0.48, 0.04])
            arm[-1] = rng.choice([0.0, 1.0, 2.0])
        tables.append((X[:-1], arm[:-1]) if relation == "add_remove_one" else (X, arm))
        groups, seed = np.minimum(np.arange(n), n - 1 - k % 3), int(rng.integers(2**31))
        with warnings.catch_warnings(action="ignore"):
            for rows, own in tables:
                statistics.treatment_effect(
                    rows[:, 0], own, rows[:, 1:], **asked,
                    groups=groups[: len(rows)] if k % 3 else None, random_state=seed,
                )  # fmt: skip
        for (first, limit), (second, _) in zip(seen[-4:-2], seen[-2:], strict=True):
            moved = np.linalg.norm(first - second)
            assert moved <= limit
        largest = max(largest, moved / limit)
    assert largest > 0.8


@pytest.mark.parametrize("is_high", [True, False])
def test_intervals_cover_where_adjusted_outcomes_leave_their_bounds(is_high, is_covered):
    """Treated outcomes lie at an end of the bounds, and slopes move them beyond it."""
    rng, true = np.random.default_rng(), 0.5 if is_high else -0.5

    def trials():
        while True:
            x, treated = rng.random(20_000) < 0.5, rng.random(20_000) < 0.8
            y = np.where(treated, is_high, x)
            found = statistics.treatment_effect(1.0 * y, treated, x, epsilon=3.0, **BOX)
            low, high = found.interval()
            yield low[0] <= true <= high[0]

    assert is_covered(trials())


def test_without_noise_it_is_least_squares_with_interactions():
    """The coefficient, and its robust interval with the sampling of the mean covariates."""
    rng, n = np.random.default_rng(), 40_000
    X, treated, y = trial(n, 0.3, 3, rng)
    y = np.clip(y + 0.2 * rng.standard_normal(n), 0.0, 1.0)
    centered = X - X.mean(axis=0)
    A = np.c_[treated, centered, treated[:, None] * centered, np.ones(n)]
    theta, *_ = np.linalg.lstsq(A, y, rcond=None)
    inverse = np.linalg.inv(A.T @ A)
    robust = (inverse @ (A.T * (y - A @ theta) ** 2) @ A @ inverse)[0, 0]
    variance = robust + theta[4:7] @ np.cov(X.T) @ theta[4:7] / n
    with warnings.catch_warnings(action="ignore"):
        found = statistics.treatment_effect(y, treated, X, epsilon=1e8, **BOX)
    low, high = found.interval()
    assert found.value[0] == pytest.approx(theta[0], abs=1e-6)
    assert high[0] - low[0] == pytest.approx(2 * 1.96 * variance**0.5, rel=0.01)
    assert np.diff(found.means) == pytest.approx(found.value)


@pytest.mark.parametrize("relation", ["add_remove_one", "replace_one"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("d", [0, 1, 3])
def test_a_record_moves_the_sums_as_far_as_stated(noise, relation, d, monkeypatch):
    """Brute force over all pairs of corners, gaps, other values and arms of one row or of two."""
    seen = []

    def release(plan, answers, rng):
        seen.append((np.ravel(answers["sums"]), plan.queries[0]))
        return {"sums": np.ones(plan.queries[0].size)}

    monkeypatch.setattr(QueryPlan, "release", release)
    rng, values = np.random.default_rng(), np.array([-1.0, 1.0, np.nan, 0.5, 0.1])
    corners = [*product([-1.0, 1.0], repeat=d + 1)]

    def some():
        numbers = rng.choice(values, d + 1) if rng.random() < 0.5 else rng.choice(corners)
        return numbers, rng.choice([0.0, 1.0, 2.0, np.nan])

    of_one = [[(numbers, arm)] for numbers in corners for arm in (0.0, 1.0)]
    of_one += [[some()] for _ in range(30)]
    of_two = [[some(), some()] for _ in range(30)]
    asked = {"bounds": (-1, 1), "covariate_bounds": (-1, 1), "neighboring": relation}
    largest = 0.0
    for records in ([*of_one, []], [*of_two, []]):
        seen.clear()
        for own in records:
            rows = np.array([np.zeros(d + 1), np.ones(d + 1), *(numbers for numbers, _ in own)])
            arms = np.array([0.0, 1.0, *(arm for _, arm in own)])
            groups = [0, 1, *[2] * len(own)] if records[0] is of_two[0] else None
            with warnings.catch_warnings(action="ignore"):
                statistics.treatment_effect(
                    rows[:, 0], arms, rows[:, 1:] if d else None, **asked,
                    groups=groups, noise=noise, epsilon=1.0,
                )  # fmt: skip
        sums, query = np.array([sums for sums, _ in seen]), seen[0][1]
        others = sums[-1:] if relation == "add_remove_one" else sums[:-1]
        moved = np.abs(sums[:-1, None] - others)
        assert moved.max() <= query.linf_sensitivity
        assert moved.sum(axis=2).max() <= query.l1_sensitivity
        farthest = np.linalg.norm(moved, axis=2).max()
        assert farthest <= query.l2_sensitivity
        largest = max(largest, farthest / query.l2_sensitivity)
    assert largest > 0.8


def test_booleans_without_covariates_are_the_difference_of_two_rates():
    _, treated, y = trial(3000, 0.5, 1, np.random.default_rng(0))
    asked = {"epsilon": 1.0, "random_state": 0}
    found = statistics.treatment_effect(y > 0.5, treated, **asked)
    same = statistics.difference(y > 0.5, by=treated, keys=ARMS, **asked)
    assert (found.value, found.interval()) == (same.value, same.interval())


def test_covariates_make_intervals_narrower():
    X, treated, y = trial(20_000, 0.5, 1, np.random.default_rng())
    found = [
        statistics.treatment_effect(y, treated, of, epsilon=1.0, **BOX).interval()
        for of in (X, None)
    ]
    widths = [high[0] - low[0] for low, high in found]
    assert widths[0] < 0.6 * widths[1]


def test_columns_of_a_frame_are_given_by_name():
    X, treated, y = trial(2000, 0.5, 2, np.random.default_rng(0))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y, arm=treated)
    asked = {"epsilon": 1.0, "random_state": 0, "bounds": (0, 1)}
    one = statistics.treatment_effect("y", "arm", frame, covariate_bounds=[(0, 1)] * 2, **asked)
    other = statistics.treatment_effect(y, treated, X, covariate_bounds=(0, 1), **asked)
    assert one.value == other.value
    assert one.to_frame().index.names == ["arm", "column"]


@pytest.mark.parametrize("covariates", [True, False])
def test_rows_with_gaps_or_in_no_arm_are_left_out(covariates):
    X, treated, y = trial(4000, 0.5, 2, np.random.default_rng())
    arm = treated.astype(float)
    arm[:500], arm[500:800], y[800:1100] = 2.0, np.nan, np.nan
    if covariates:
        X[1100:1300, 1] = np.nan
    kept = slice(1300 if covariates else 1100, None)
    found = []
    for rows in (slice(None), kept):
        with warnings.catch_warnings(action="ignore"):
            given = X[rows] if covariates else None
            found.append(
                statistics.treatment_effect(y[rows], arm[rows], given, epsilon=1e7, **BOX).value
            )
    assert found[0] == pytest.approx(found[1], abs=1e-5)


@pytest.mark.parametrize("d", [0, 2])
@pytest.mark.parametrize("empty", [0, 1])
def test_an_empty_arm_is_nan_with_a_reason(d, empty):
    """The noise in a count of 0 exceeds two standard deviations in 5 %: it is seeded."""
    X, _, y = trial(4000, 0.5, 2, np.random.default_rng(0))
    given = X if d else None
    asked = {"epsilon": 1.0, "random_state": 1, **BOX}
    found = statistics.treatment_effect(y, np.full(4000, 1 - empty), given, **asked)
    assert np.isnan([*found.value, *found.p_value]).all()
    assert "The noise outweighs" in found.notes[0]
    assert found.interval() == ([-1.0], [1.0])


@pytest.mark.parametrize("least", [None, 0.1])
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_few_rows_raise_nothing(n, least):
    X, treated, y = trial(4, 0.5, 2, np.random.default_rng(0))
    asked = {"epsilon": 1.0, "neighboring": "add_remove_one", "min_propensity": least, **BOX}
    found = statistics.treatment_effect(y[:n], treated[:n], X[:n], **asked)
    assert found.interval()[0] >= -1.0


def test_wrong_arguments_are_refused_before_the_spend():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    X, treated, y = trial(40, 0.5, 2, np.random.default_rng(0))
    right = {"y": y, "treated": treated, "covariates": X, **BOX}
    for wrong, words in [
        ({"y": X}, "y must be one column with as many rows as covariates"),
        ({"y": X, "covariates": None}, "y must be one column"),
        ({"y": X > 0.5, "covariates": None, "bounds": None}, "y must be one column"),
        ({"treated": "arm"}, r"treated must be one of the columns \[\] of covariates"),
        ({"treated": treated[:9]}, "treated must be one column with as many rows"),
        ({"bounds": None}, "y must hold True and False.*Numbers need bounds"),
        ({"covariate_bounds": None}, "covariate_bounds must be given"),
        ({"covariates": X.astype(str)}, "numeric|not numbers"),
        ({"treated": treated.astype(str)}, "contains strings"),
        ({"covariates": np.zeros((40, 4096))}, "at most 4096 columns"),
        ({"min_propensity": 0.1}, "40 records are too few.*1939 are needed"),
        ({"min_propensity": 0.1, "covariates": None}, "which need covariates"),
        ({"min_propensity": 0.5}, r"min_propensity must be a number in \[0.001, 0.5\)"),
        ({"min_propensity": 0.1, "noise": "laplace"}, "noise must be one of 'auto', 'gaussian'"),
        ({"min_propensity": 0.1, "delta": 0.0}, "needs delta > 0"),
        ({"min_propensity": 0.1, "covariates": np.zeros((40, 4096))}, "at most 4095 covariates"),
    ]:
        with pytest.raises((ValueError, TypeError), match=f"(?s){words}.*Nothing was spent"):
            statistics.treatment_effect(**right | wrong, epsilon=1.0, budget=budget)
    assert budget.history() == []
