"""Private reports: near to scikit-learn's metrics, honest about noise, and paid for."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit
from sklearn import metrics as exact

from skdp import PrivacyBudget
from skdp.exceptions import FewRowsWarning
from skdp.metrics import (
    confusion_report,
    dp_average_precision_score,
    dp_mean_absolute_error,
    dp_mean_squared_error,
    dp_r2_score,
    regression_report,
    score_report,
)
from skdp.metrics.error_scores import possible_sums

FALSE_ALARM = 1e-6


def scored(n, rng, slope=1.5):
    score = expit(slope * rng.normal(size=n))
    return (rng.uniform(size=n) < score).astype(int), score


def labeled(n, rng):
    y = rng.integers(4, size=n)
    return y, np.where(rng.uniform(size=n) < 0.7, y, rng.integers(4, size=n))


def numbers(n, rng):
    y = rng.uniform(2.0, 8.0, n)
    return y, y + rng.normal(size=n)


def test_without_noise_to_speak_of_scores_are_judged_as_by_scikit_learn(neighboring):
    y, score = scored(20_000, np.random.default_rng(0))
    edges = np.linspace(0.0, 1.0, 201)
    report = score_report(y, score, epsilon=1000.0, edges=edges, neighboring=neighboring)
    assert report.roc_auc == pytest.approx(exact.roc_auc_score(y, score), abs=1e-3)
    assert report.accuracy() == pytest.approx(np.mean((score >= 0.5) == y), abs=1e-9)
    assert report.brier_score == pytest.approx(exact.brier_score_loss(y, score), abs=5e-3)
    precision = exact.average_precision_score(y, score)
    assert report.average_precision == pytest.approx(precision, abs=5e-3)
    matrix = exact.confusion_matrix(y, score >= 0.3)
    np.testing.assert_array_equal(report.confusion_matrix(0.3), matrix)
    fpr, tpr, thresholds = report.roc_curve()
    k = np.argmin(np.abs(thresholds - 0.3))
    assert tpr[k] == pytest.approx(np.mean(score[y == 1] >= 0.3))
    assert fpr[k] == pytest.approx(np.mean(score[y == 0] >= 0.3))


def test_labels_are_judged_as_by_scikit_learn():
    y, guess = labeled(5000, np.random.default_rng(0))
    report = confusion_report(y, guess, epsilon=1000.0, classes=range(4))
    np.testing.assert_array_equal(report.counts, exact.confusion_matrix(y, guess))
    assert report.accuracy == pytest.approx(exact.accuracy_score(y, guess))
    assert report.balanced_accuracy == pytest.approx(exact.balanced_accuracy_score(y, guess))
    np.testing.assert_allclose(report.recall, exact.recall_score(y, guess, average=None))
    np.testing.assert_allclose(report.precision, exact.precision_score(y, guess, average=None))


def test_numbers_are_judged_as_by_scikit_learn(neighboring):
    y, guess = numbers(5000, np.random.default_rng(0))
    guess = np.clip(guess, 0.0, 10.0)
    report = regression_report(
        y, guess, epsilon=1e4, target_bounds=(0, 10), neighboring=neighboring
    )
    square, absolute = exact.mean_squared_error(y, guess), exact.mean_absolute_error(y, guess)
    assert report.mean_squared_error == pytest.approx(square, rel=1e-3)
    assert report.root_mean_squared_error == pytest.approx(np.sqrt(square), rel=1e-3)
    assert report.mean_absolute_error == pytest.approx(absolute, rel=1e-3)
    assert report.r2 == pytest.approx(exact.r2_score(y, guess), abs=1e-3)


def test_the_area_is_as_near_as_it_can_be():
    """1000 rows at ε = 1: RMSE .011 by experiment; 100 reports reach .018 less than once in 1e9."""
    rng, errors = np.random.default_rng(), []
    for _ in range(100):
        y, score = scored(1000, rng)
        errors.append(score_report(y, score, epsilon=1.0).roc_auc - exact.roc_auc_score(y, score))
    assert np.sqrt(np.mean(np.square(errors))) < 0.018


@pytest.mark.slow
@pytest.mark.parametrize("sampling", [True, False])
def test_intervals_hold_the_area_as_often_as_they_say(neighboring, sampling):
    """At 90 %, of 150; the limit is passed once in a million runs where 88 % is true."""
    rng, held = np.random.default_rng(), 0
    population = exact.roc_auc_score(*scored(200_000, np.random.default_rng(0)))
    for _ in range(150):
        y, score = scored(1000, rng)
        report = score_report(y, score, epsilon=1.0, neighboring=neighboring)
        low, high = report.interval("roc_auc", 0.9, sampling=sampling)
        held += low <= (population if sampling else exact.roc_auc_score(y, score)) <= high
    assert held > stats.binom.ppf(FALSE_ALARM, 150, 0.88)


def overconfident(n, rng):
    """Rows whose scores pile up in the first and the last bins."""
    y, score = scored(n, rng)
    return y, expit(3.0 * logit(score))


def test_the_area_of_a_rare_class_is_found_as_often_as_intervals_say(neighboring):
    """Equal bins held it in 8 of 20 intervals. Fewer than 38 of 50 has a probability of 1e-6."""
    hits = 0
    for _ in range(50):
        rng = np.random.default_rng()
        score = expit(rng.normal(size=20_000) + logit(0.02) - 0.5)
        y = rng.uniform(size=20_000) < score
        report = score_report(y, score, epsilon=1.0, neighboring=neighboring)
        low, high = report.interval("roc_auc", sampling=False)
        hits += low <= exact.roc_auc_score(y, score) <= high
    assert hits >= 38


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_intervals_for_the_rows_allow_for_what_bins_hide(metric):
    """At 95 %, of 20; the limit is passed once in a million runs where 90 % is true.

    Without an estimate of what 16 bins hide, none of 400 such intervals held its number.
    """
    rng, held = np.random.default_rng(), 0
    for _ in range(20):
        y, score = overconfident(5000, rng)
        report = score_report(y, score, epsilon=1.0, neighboring="add_remove_one")
        low, high = report.interval(metric, sampling=False)
        held += low <= getattr(exact, f"{metric}_score")(y, score) <= high
    assert held > stats.binom.ppf(FALSE_ALARM, 20, 0.9)


def test_areas_are_near_those_of_the_rows_in_few_bins():
    """No false alarm: the rows are fixed, and at ε = 1000 there is no noise."""
    y, score = overconfident(20_000, np.random.default_rng(0))
    report = score_report(y, score, epsilon=1000.0, neighboring="add_remove_one")
    precision = exact.average_precision_score(y, score)
    assert report.roc_auc == pytest.approx(exact.roc_auc_score(y, score), abs=0.004)
    assert report.average_precision == pytest.approx(precision, abs=0.01)


def test_bins_of_one_score_each_hide_nothing():
    """No false alarm, as at ε = 1000 there is no noise."""
    y, score = scored(2000, np.random.default_rng(0))
    points = np.round(10.0 * score)
    report = score_report(y, points, epsilon=1000.0, edges=np.arange(-0.5, 11.0))
    area = exact.roc_auc_score(y, points)
    low, high = report.interval("roc_auc", sampling=False, binning="ignored")
    assert low - 1e-9 <= area <= high + 1e-9
    assert high - low < 1e-6


def test_intervals_of_sums_hold_what_the_rows_say():
    rng, held = np.random.default_rng(), np.zeros(3)
    y, guess = numbers(3000, rng)
    names = ("mean_squared_error", "mean_absolute_error", "r2_score")
    truth = [getattr(exact, name)(y, guess) for name in names]
    for _ in range(100):
        report = regression_report(y, guess, epsilon=1.0, target_bounds=(-5, 15))
        for j, name in enumerate(names):
            low, high = report.interval(name.removesuffix("_score"), 0.9, sampling=False)
            held[j] += low <= truth[j] <= high
    assert np.all(held > stats.binom.ppf(FALSE_ALARM / 3, 100, 0.88))


@pytest.mark.slow
def test_intervals_of_errors_hold_the_population(neighboring):
    """At 90 %, of 100; the limit is passed once in a million runs where 88 % is true."""
    rng, held = np.random.default_rng(), np.zeros(4)
    names = ("mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "r2")
    truth = (0.25, 0.5, 0.5 * np.sqrt(2.0 / np.pi), 1.0 - 0.25 * 12 / 36)
    for _ in range(100):
        y = rng.uniform(-3.0, 3.0, 1000)
        guess = y + rng.normal(0.0, 0.5, 1000)
        terms = {"target_bounds": (-6, 6), "neighboring": neighboring}
        report = regression_report(y, guess, epsilon=10.0, **terms)
        for j, name in enumerate(names):
            low, high = report.interval(name, 0.9)
            held[j] += low <= truth[j] <= high
            inner = report.interval(name, 0.9, sampling=False)
            assert low <= inner[0] <= inner[1] <= high
    assert np.all(held > stats.binom.ppf(FALSE_ALARM / 4, 100, 0.88))


def test_what_is_shown_is_possible_and_within_its_interval(neighboring):
    y = np.linspace(0.0, 1.0, 50)
    terms = {"target_bounds": (0, 1), "error_bound": 0.5, "neighboring": neighboring}
    seen = set()
    for seed in range(40):
        report = regression_report(y, y, epsilon=0.5, random_state=seed, **terms)
        seen.add(bool(report.sums[0] < 0.0))
        if np.isfinite(report.mean_squared_error) and report._count(report.sums) > 0.0:
            absolute, root = report.mean_absolute_error, report.root_mean_squared_error
            assert -1e-12 <= absolute <= root + 1e-12 <= 0.5 + 1e-9
            low, high = report.interval("root_mean_squared_error")
            assert 0.0 <= low <= root <= high <= 0.5
        for line in str(report).splitlines()[:4]:
            _, shown, low, high = line.replace(",", "").replace("[", "").split()
            assert shown == "nan" or float(low) <= float(shown) <= float(high.strip("]")), line
    assert seen == {True, False}


def test_a_matrix_is_shown_and_is_a_frame():
    pytest.importorskip("pandas")
    report = confusion_report(
        ["<a", "b"] * 50, ["<a", "<a"] * 50, epsilon=1000.0, classes=["<a", "b"]
    )
    assert "<tr><th>&lt;a</th><td>50</td><td>0</td></tr>" in report._repr_html_()
    frame = report.to_frame()
    assert frame.loc["b", "<a"] == 50.0
    assert (frame.index.name, frame.columns.name) == ("true", "predicted")


PREDICTED = {
    "exact": lambda y: y,
    "constant": lambda y: np.full_like(y, y.mean()),
    "as far off everywhere": lambda y: y + 0.2,
    "noisy": lambda y: y + np.random.default_rng(0).normal(0.0, 0.3, y.size),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PREDICTED)
@pytest.mark.parametrize("delta", [1e-5, 0.0])
def test_sums_that_rows_can_have_are_nearer_to_theirs(name, delta):
    """Whatever the noise: of 200 releases none may be farther off, and some are nearer."""
    y = np.random.default_rng(0).beta(0.3, 0.6, 300)
    guess = PREDICTED[name](y)
    error, u = np.minimum(np.abs(np.clip(guess, 0.0, 1.0) - y), 0.5) / 0.5, 2.0 * y - 1.0
    truth = np.array([(error**2).sum(), error.sum(), u.sum(), (u**2).sum()])
    nearer = 0
    for _ in range(200):
        report = regression_report(
            y, guess, epsilon=0.3, delta=delta, target_bounds=(0, 1), error_bound=0.5
        )
        for pair in ([0, 1], [2, 3]):
            before = np.linalg.norm((report.sums - truth)[pair])
            after = np.linalg.norm((report._possible - truth)[pair])
            assert after <= before + 1e-9
            nearer += after < before - 1e-6
    assert nearer > 10


def test_the_nearest_possible_sums_are_those_of_a_search():
    rng = np.random.default_rng()
    for low in (-1, 0):
        t = np.linspace(low, 1.0, 2001)
        ends = (1.0 + low) * t - low
        rows = np.concatenate([t**2 + share * (ends - t**2) for share in np.linspace(0, 1, 201)])
        columns = np.tile(t, 201)
        for x, y in rng.uniform(-2.0, 2.0, (40, 2)):
            found = np.array(possible_sums(7.0 * x, 7.0 * y, 7.0, low)) / 7.0
            distance = np.hypot(found[0] - x, found[1] - y)
            assert distance == pytest.approx(np.hypot(columns - x, rows - y).min(), abs=4e-3)
            assert found[0] ** 2 <= found[1] + 1e-12
            assert found[1] <= (1.0 + low) * found[0] - low + 1e-12


@pytest.mark.parametrize("metric", [dp_mean_squared_error, dp_mean_absolute_error, dp_r2_score])
def test_a_largest_error_cuts_errors_and_their_noise(metric):
    """The width of intervals is that of the noise, here of errors alone: no false alarm."""
    y, guess = np.tile([0.0, 10.0, 20.0, 30.0], 5000), np.tile([1.0, 9.0, 30.0, 28.0], 5000)
    terms = {"target_bounds": (-50.0, 50.0)}
    found = metric(y, guess, epsilon=1e4, error_bound=4.0, **terms)
    errors = np.array([1.0, 1.0, 4.0, 2.0])
    squared = (errors**2).mean()
    wanted = {
        dp_mean_squared_error: squared,
        dp_mean_absolute_error: errors.mean(),
        dp_r2_score: np.nan,  # a quarter of the errors is larger
    }
    assert found.value == pytest.approx(wanted[metric], rel=1e-2, nan_ok=True)
    guess[guess == 30.0] = 24.0
    widths = [
        np.ptp(metric(y, guess, epsilon=1.0, error_bound=most, **terms).interval(sampling=False))
        for most in (4.0, None)
    ]
    assert widths[0] < 0.1 * widths[1]


def test_a_report_cuts_errors_as_one_number_does(neighboring):
    y, guess = numbers(20_000, np.random.default_rng(0))
    terms = {"target_bounds": (-5, 15), "neighboring": neighboring}
    report = regression_report(y, guess, epsilon=1e4, error_bound=1.0, **terms)
    cut = np.minimum(np.abs(y - guess), 1.0)
    assert report.mean_absolute_error == pytest.approx(cut.mean(), rel=1e-3)
    assert report.root_mean_squared_error == pytest.approx(np.sqrt((cut**2).mean()), rel=1e-3)
    assert np.isnan(report.r2)
    assert "more than 1 %" in str(report)
    assert regression_report(y, guess, epsilon=1e4, error_bound=1e9, **terms).error_bound == 20.0


@pytest.mark.parametrize("place", ["mean", "median", "zero"])
def test_a_constant_explains_nothing_however_small_the_largest_error(neighboring, place):
    """No clipped R² is near 0 for skewed targets: .99 was released for the mean."""
    y = np.minimum(np.random.default_rng(3).lognormal(3.0, 1.2, 20_000), 1000.0)
    at = {"mean": y.mean(), "median": np.median(y), "zero": 0.0}[place]
    terms = {"target_bounds": (0, 1000), "epsilon": 1.0, "neighboring": neighboring}
    for most in (5.0, 50.0, 200.0):
        report = regression_report(y, np.full(y.size, at), error_bound=most, **terms)
        assert np.isnan(report.r2) or report.r2 < 0.01, most
        assert np.isnan(dp_r2_score(y, np.full(y.size, at), error_bound=most, **terms).value) == (
            np.isnan(report.r2)
        )
    good = y + np.random.default_rng(4).normal(size=y.size)
    report = regression_report(y, good, error_bound=10.0, **terms)
    assert 0.95 < report.r2 <= 1.02
    assert "Errors above 10 count as that." in str(report)


def test_noise_alone_hardly_ever_hides_r2():
    """It does in 2.3 % of releases, so more than 14 of 100 have a probability of 1e-7."""
    y = np.random.default_rng(5).uniform(0.0, 10.0, 200)
    terms = {"epsilon": 1.0, "target_bounds": (0, 10), "error_bound": 3.0}
    scores = [dp_r2_score(y, y + 0.5, **terms) for _ in range(100)]
    assert sum("nan" in str(score) for score in scores) <= 14


def test_scores_beyond_given_edges_count_in_the_last_bins():
    y, score = np.array([0, 0, 1, 1]), np.array([-50.0, 0.2, 0.8, 1e6])
    report = score_report(y, score, epsilon=1000.0, edges=[0.0, 0.5, 1.0])
    np.testing.assert_array_equal(report.counts, [[2, 0], [0, 2]])


def test_a_class_without_rows_has_no_balanced_accuracy():
    report = confusion_report([0] * 50, [0] * 50, epsilon=1000.0, classes=(0, 1))
    assert report.accuracy == 1.0
    assert np.isnan(report.balanced_accuracy)
    assert report.interval("balanced_accuracy") == (0.0, 1.0)


def test_displays_show_what_was_released():
    pytest.importorskip("matplotlib")
    y, score = scored(2000, np.random.default_rng(0))
    report = score_report(y, score, epsilon=1.0)
    for display in (report.roc_display(), report.precision_recall_display()):
        assert display.plot().ax_.lines
    assert report.calibration_display().plot().ax_.lines
    assert confusion_report(y, y, epsilon=1.0, classes=(0, 1)).display().plot().ax_.images
    assert "roc_auc" in str(report)


def test_reports_are_shown_as_tables_of_what_was_released():
    y = np.arange(400) % 2
    report = score_report(y, 0.2 + 0.6 * y, epsilon=1.0, random_state=0)
    assert repr(report) == str(report)
    view = report._repr_html_()
    assert view.count("<tr>") == 4
    assert "roc_auc" in view
    assert "VOID" in view  # as its guarantee says beside a seed


def test_bins_hide_less_than_the_rigorous_interval_allows_for():
    y, score = scored(1000, np.random.default_rng(0))
    report = score_report(y, score, epsilon=1.0)
    (low, high), (least, most) = (
        report.interval("roc_auc", sampling=False, binning=one) for one in ("estimated", "rigorous")
    )
    assert least < low < high < most
    with pytest.raises(ValueError, match="binning must be one of"):
        report.interval("roc_auc", binning="none")


def test_scores_beyond_probabilities_have_areas_and_no_calibration():
    y, score = scored(1000, np.random.default_rng(0))
    report = score_report(y, 10.0 * score - 5.0, epsilon=1.0, edges=np.linspace(-5, 5, 17))
    assert 0.5 < report.roc_auc < 1.1
    assert np.isnan([report.brier_score, report.expected_calibration_error]).all()
    with pytest.raises(ValueError, match="no calibration"):
        report.calibration_curve()


def test_a_report_says_before_the_spend_which_errors_the_noise_hides():
    y = np.linspace(0.0, 100.0, 1200)
    terms = {"target_bounds": (0, 100), "random_state": 0}
    with pytest.warns(FewRowsWarning, match=r"hides errors below about 12, 12% of the width"):
        report = regression_report(y, y, epsilon=0.7, **terms)
    assert report.interval("root_mean_squared_error", sampling=False)[1] > 10.0
    regression_report(y, y, epsilon=0.7, error_bound=30, **terms)
    regression_report(y, y, epsilon=0.7, neighboring="add_remove_one", **terms)  # n is private
    with pytest.warns(FewRowsWarning, match="hides errors"):
        dp_mean_absolute_error(y, y, epsilon=0.01, **terms)


@pytest.mark.filterwarnings("error::skdp.exceptions.FewRowsWarning")
def test_the_warning_of_few_rows_comes_before_the_spend():
    y, budget = np.linspace(0.0, 100.0, 1200), PrivacyBudget(epsilon=1.0, delta=1e-5)
    with pytest.raises(FewRowsWarning, match="hides errors"):
        regression_report(y, y, epsilon=0.7, target_bounds=(0, 100), budget=budget)
    assert not budget.history()


@pytest.mark.parametrize("share", [0.003, 0.01])
def test_the_average_precision_of_few_positives_is_nan_with_a_reason(share):
    """12 or 40 of 4000 rows; the noise in their number has a standard deviation of 13."""
    y = (np.arange(4000) < 4000 * share).astype(int)
    score = np.where(y == 1, 0.7, 0.2) + np.linspace(-0.2, 0.2, 4000)
    report = score_report(y, score, epsilon=1.0, classes=[0, 1])
    assert math.isnan(report.average_precision)
    assert report.interval("average_precision") == (0.0, 1.0)
    assert "average precision is nan" in str(report)
    alone = dp_average_precision_score(y, score, epsilon=1.0, classes=[0, 1])
    assert math.isnan(alone.value)
    assert "average precision is nan" in str(alone)
    more = score_report(y, score, epsilon=100.0, classes=[0, 1], delta=1e-6)
    assert more.average_precision > 0.9


def test_a_mean_absolute_error_is_not_limited_by_squares_that_are_noise():
    """Σe² is 10⁻⁶ of a noise that is 10⁻⁴ of Σe; a limit by it was wrong in half of the runs.

    Intervals are those of normal noise; the tails of this noise are heavier, and miss in 7e-4.
    """
    y, held = np.linspace(0.0, 1.0, 4000), 0
    for _ in range(20):
        report = regression_report(y, y + 0.1, epsilon=1e4, target_bounds=(-1e4, 1e4))
        low, high = report.interval("mean_absolute_error", 1.0 - 1e-9, sampling=False)
        held += low <= 0.1 <= high
        assert report.root_mean_squared_error >= report.mean_absolute_error * (1.0 - 1e-9)
    assert held >= 16


@pytest.mark.parametrize("relation", ["replace_one", "add_remove_one"])
@pytest.mark.parametrize(("high", "is_said"), [(100.0, True), (2e5, False), (1e9, True)])
def test_targets_at_an_end_of_their_bounds_are_named(high, is_said, relation):
    """Noise hides the end, or makes one, in one of 10⁶ releases."""
    rng = np.random.default_rng(0)
    y = rng.uniform(2e4, 8e4, 20_000)
    guess, terms = 1.1 * y, {"epsilon": 1.0, "neighboring": relation, "target_bounds": (0.0, high)}
    for found in (
        regression_report(y, guess, **terms),
        dp_r2_score(y, guess, **terms),
    ):
        assert ("at an end of target_bounds" in str(found)) == is_said
