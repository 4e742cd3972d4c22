"""One private number at a time: near to scikit-learn's, with little noise, and paid for."""

import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit
from sklearn import metrics as exact
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score

from skdp import PrivacyBudget
from skdp.data.dask import DaskBlocks
from skdp.exceptions import BudgetExceededError
from skdp.metrics import (
    confusion_report,
    dp_accuracy_score,
    dp_average_precision_score,
    dp_brier_score_loss,
    dp_log_loss,
    dp_mean_absolute_error,
    dp_mean_squared_error,
    dp_r2_score,
    dp_roc_auc_score,
    make_private_scorer,
    one_vs_rest_report,
    regression_report,
    score_report,
)
from skdp.workloads import QueryPlan

FALSE_ALARM = 1e-6
NUMBERS = {"target_bounds": (0.0, 10.0)}
SCORES = {
    dp_accuracy_score: (lambda y, s: exact.accuracy_score(y, s > 0.5), {}),
    dp_log_loss: (exact.log_loss, {"classes": (0, 1), "error_bound": 20.0}),
    dp_brier_score_loss: (exact.brier_score_loss, {"classes": (0, 1)}),
    dp_roc_auc_score: (exact.roc_auc_score, {"classes": (0, 1)}),
    dp_average_precision_score: (exact.average_precision_score, {"classes": (0, 1)}),
    dp_mean_squared_error: (exact.mean_squared_error, NUMBERS),
    dp_mean_absolute_error: (exact.mean_absolute_error, NUMBERS),
    dp_r2_score: (exact.r2_score, NUMBERS),
}
MEANS = [m for m in SCORES if m not in (dp_roc_auc_score, dp_average_precision_score)]
every_score = pytest.mark.parametrize("metric", SCORES)


def rows_for(metric, n, rng):
    """Return what is true and what was guessed, as the metric takes them."""
    if SCORES[metric][1] is NUMBERS:
        y = rng.uniform(2.0, 8.0, n)
        return y, np.clip(y + rng.normal(size=n), 0.0, 10.0)
    score = expit(1.5 * rng.normal(size=n))
    y = (rng.uniform(size=n) < score).astype(int)
    return y, (score > 0.5).astype(int) if metric is dp_accuracy_score else score


@every_score
def test_without_noise_to_speak_of_a_score_is_that_of_scikit_learn(metric, neighboring):
    y, guess = rows_for(metric, 20_000, np.random.default_rng(0))
    truth, terms = SCORES[metric]
    edges = {"edges": np.linspace(0, 1, 65)} if metric not in MEANS else {}
    found = metric(y, guess, epsilon=1e4, neighboring=neighboring, **terms, **edges)
    assert float(found) == pytest.approx(truth(y, guess), rel=3e-3)
    low, high = found.interval()
    assert low <= found.value <= high
    assert str(found).startswith(f"{found.value:.6g}")
    assert (found.n_samples is None) == (neighboring == "add_remove_one")


@pytest.mark.slow
@pytest.mark.parametrize("metric", MEANS)
def test_intervals_hold_the_number_of_these_rows_as_often_as_they_say(metric, neighboring):
    """At 90 %, of 60; the limit is passed less than once in a million runs if 87 % is true."""
    rng, held = np.random.default_rng(), 0
    y, guess = rows_for(metric, 2000, rng)
    truth, terms = SCORES[metric]
    truth = truth(y, guess)
    for _ in range(60):
        found = metric(y, guess, epsilon=1.0, neighboring=neighboring, **terms)
        low, high = found.interval(0.9, sampling=False)
        held += low <= truth <= high
        wide = found.interval(0.9)
        assert wide[0] <= low
        assert high <= wide[1]
    assert held > stats.binom.ppf(FALSE_ALARM, 60, 0.87)


def tied_scores(kind, p):
    """Scores with ties, of rows with the probabilities p of the positive class."""
    ninth = np.quantile(p, 0.9)
    return {
        "zeros": lambda: np.zeros_like(p),
        "ones": lambda: np.ones_like(p),
        "labels": lambda: (p > ninth).astype(float),
        "zeros and others": lambda: np.where(np.arange(len(p)) % 2, p, 0.0),
        "equal": lambda: np.full_like(p, 0.03),
        "leaves": lambda: np.quantile(p, 0.2 * np.floor(stats.rankdata(p) / len(p) * 4.99) + 0.1),
        "tenths": lambda: p.round(1),
    }[kind]()


@pytest.mark.parametrize("base", [0.0, -3.5])
@pytest.mark.parametrize("kind", ["zeros", "ones", "labels", "zeros and others"])
def test_areas_of_scores_that_are_0_or_1_count_ties_as_ties(kind, base, rng):
    """Noise of .03 of a count in 40 bins moves an area by less than .001."""
    p = expit(base + 2.0 * rng.normal(size=20_000))
    y, scores = rng.uniform(size=p.size) < p, tied_scores(kind, p)
    report = score_report(y, scores, epsilon=50.0)
    right = 0.002 if kind != "zeros and others" else 0.01
    assert abs(report.roc_auc - exact.roc_auc_score(y, scores)) < right
    assert abs(report.average_precision - exact.average_precision_score(y, scores)) < right


@pytest.mark.parametrize("area", ["roc_auc", "average_precision"])
@pytest.mark.parametrize("base", [0.0, -3.5])
@pytest.mark.parametrize("kind", ["equal", "leaves", "tenths"])
def test_intervals_allow_for_ties_and_for_order_where_many_scores_may_be_equal(
    kind, base, area, rng
):
    """The bins hide whether the scores are equal; noise is negligible beside that."""
    p = expit(base + 2.0 * rng.normal(size=20_000))
    y, scores = rng.uniform(size=p.size) < p, tied_scores(kind, p)
    low, high = score_report(y, scores, epsilon=10.0).interval(area, sampling=False)
    assert low <= getattr(exact, f"{area}_score")(y, scores) <= high
    jittered = scores + 1e-6 * (p - 0.5)
    assert low <= getattr(exact, f"{area}_score")(y, jittered) <= high


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
@pytest.mark.parametrize(("n", "edges"), [(100, [0.0, 0.5, 1.0]), (20, "auto"), (50, "auto")])
def test_noise_that_outweighs_all_rows_gives_no_narrow_interval(n, edges, metric, neighboring, rng):
    """Less than .02 is narrower than the sampling of 20 to 100 rows without any noise."""
    y = np.arange(n) % 2
    asked = {"epsilon": 0.1, "classes": [0, 1], "edges": edges, "neighboring": neighboring}
    for _ in range(30):
        report = score_report(y, rng.uniform(size=n), **asked)
        low, high = report.interval(metric)
        assert high - low > 0.02
        low, high = report.interval("roc_auc", binning="rigorous")
        assert 0.0 <= low <= high <= 1.0


def test_only_the_automatic_bins_of_0_and_1_hold_one_score(rng):
    y = rng.integers(0, 2, 5000)
    scores = 1e-16 * np.clip(rng.normal(0.4 + 0.2 * y, 0.15), 0.0, 1.0)
    report = score_report(y, scores, epsilon=1.0, edges=np.linspace(0.0, 1e-16, 5))
    low, high = report.interval("roc_auc", binning="rigorous")
    assert low < exact.roc_auc_score(y, scores) < high


def test_intervals_hold_the_accuracy_of_the_population():
    """Exactly known: 90 % of rows are right."""
    rng, held = np.random.default_rng(), 0
    for _ in range(200):
        right = (rng.uniform(size=500) < 0.9).astype(int)
        low, high = dp_accuracy_score(np.ones(500, dtype=int), right, epsilon=0.5).interval(0.9)
        held += low <= 0.9 <= high
    assert held > stats.binom.ppf(FALSE_ALARM, 200, 0.87)


def test_one_number_has_less_noise_than_a_report():
    """By its intervals: the accuracy of one count against that of 32 cells."""
    y, score = rows_for(dp_roc_auc_score, 1000, np.random.default_rng())
    low, high = dp_accuracy_score(y, (score > 0.5).astype(int), epsilon=1.0).interval(
        sampling=False
    )
    wide = score_report(y, score, epsilon=1.0).interval("accuracy", sampling=False)
    assert 3.0 * (high - low) < wide[1] - wide[0]


@pytest.mark.parametrize("metric", [dp_roc_auc_score, dp_average_precision_score])
def test_scores_of_a_report_cost_nothing_and_a_second_call_costs_as_much_again(metric, budget):
    name = metric.__name__.removeprefix("dp_").removesuffix("_score")
    y, score = np.arange(400) % 2, np.linspace(0.0, 1.0, 400)
    same = {"epsilon": 1.0, "random_state": 0}
    assert getattr(score_report(y, score, **same), name) == metric(y, score, **same).value
    report = score_report(y, score, epsilon=1.0, delta=1e-6, budget=budget)
    assert np.isfinite([report.roc_auc, report.average_precision, report.accuracy()]).all()
    assert len(budget.history()) == 1
    metric(y, score, epsilon=1.0, delta=1e-6, budget=budget)
    assert len(budget.history()) == 2
    assert "The budget charges each call." in metric.__doc__


@every_score
def test_a_score_is_paid_for_or_not_made(metric):
    y, guess = rows_for(metric, 500, np.random.default_rng())
    budget, terms = PrivacyBudget(epsilon=1.0, delta=1e-5), SCORES[metric][1]
    metric(y, guess, epsilon=0.6, budget=budget, **terms)
    assert budget.spent.epsilon == pytest.approx(0.6, rel=0.05)
    assert budget.history()[0]["label"] == f"metrics.{metric.__name__}"
    with pytest.raises(BudgetExceededError):
        metric(y, guess, epsilon=0.9, budget=budget, **terms)
    assert len(budget.history()) == 1


ARRAYS = np.array([0, None], dtype=object)
ARRAYS[1] = np.array([0, 1])
BAD = [
    (dp_accuracy_score, [0, 1], [0], {}, "as many"),
    (dp_accuracy_score, [], [], {}, "at least"),
    (dp_accuracy_score, [[0], [1]], [0, 1], {}, "one column"),
    (dp_accuracy_score, [0.0, np.nan], [0, 1], {}, "missing"),
    (dp_accuracy_score, ARRAYS, [0, 1], {}, "arrays"),
    (dp_accuracy_score, [0, 1], ARRAYS, {}, "arrays"),
    (dp_accuracy_score, [0, 1], [0, 1], {"epsilon": np.inf}, "finite"),
    (dp_accuracy_score, ["a.", "b."], ["a", "b"], {"classes": ["b", "a"]}, "y_true has labels out"),
    (
        dp_accuracy_score,
        [0, 1],
        ["0", "1"],
        {"classes": [0, 1]},
        "y_pred contains strings, but classes",
    ),
    (dp_log_loss, [0, 1], [0.5, 1.5], {}, "outside"),
    (dp_log_loss, [0, 1], [0.5, np.nan], {}, "missing"),
    (dp_log_loss, [0, 1, 2], [0.5, 0.4, 0.1], {}, "one column for each"),
    (dp_log_loss, [0, 1], np.full((2, 3), 0.3), {}, "one column for each"),
    (dp_log_loss, [0, 1], [0.5, 0.5], {"error_bound": 0.0}, "error_bound"),
    (dp_log_loss, [0, 2], [0.5, 0.5], {"classes": (0, 1)}, "classes"),
    (dp_brier_score_loss, [0, 1, 2], np.full((3, 2), 0.3), {}, "one column for each"),
    (dp_roc_auc_score, [0, 0], [0.5, 0.5], {}, "two classes"),
    (dp_roc_auc_score, [0, 1], [0.5, 0.5], {"classes": (1, 0)}, "increasing"),
    (dp_log_loss, [0, 1], [0.5, 0.5], {"classes": (1, 0)}, "increasing"),
    (one_vs_rest_report, [0, 1], np.full((2, 2), 0.3), {"classes": (1, 0)}, "increasing"),
    (dp_mean_squared_error, [1.0], [2.0], {"target_bounds": (1, 0)}, "low"),
    (dp_r2_score, ["a"], [2.0], NUMBERS, "numbers"),
    (one_vs_rest_report, [0, 1], np.full((2, 3), 0.3), {"classes": (0, 1)}, "column for each"),
    (one_vs_rest_report, [0, 2], np.full((2, 2), 0.3), {"classes": (0, 1)}, "classes"),
    (one_vs_rest_report, [0, 1], np.full((2, 2), 1.3), {"classes": (0, 1)}, "outside"),
    (one_vs_rest_report, [0, 1], np.full((2, 2), 0.3), {"classes": None}, "classes"),
    (one_vs_rest_report, [0, 1], [0.2, 0.8], {"classes": ()}, "two labels or more"),
    (dp_log_loss, [0, 1], [0.2, 0.8], {"classes": ()}, "two labels or more"),
    (score_report, [0, 1], [0.2, 0.8], {"classes": ()}, "two labels or more"),
    (score_report, [0, 1], [0.5, 1.5], {}, "outside of"),
    (score_report, [0, 1], [0.5, np.nan], {}, "missing"),
    (score_report, [0, 0], [0.5, 0.6], {}, "two classes"),
    (score_report, [0, 1, 2], [0.5] * 3, {}, "two classes"),
    (score_report, [0, 1], [0.5], {}, "as many"),
    (score_report, [], [], {}, "at least"),
    (score_report, [0, 1], [0.5, 0.6], {"edges": [1, 0]}, "edges"),
    (score_report, [0, 1], [0.5, 0.6], {"edges": "all"}, "edges"),
    (confusion_report, [0, 1], [0, 2], {"classes": (0, 1)}, "y_pred"),
    (confusion_report, [0, 2], [0, 1], {"classes": (0, 1)}, "outside"),
    (confusion_report, [0, 1], [0, 1], {"classes": None}, "classes"),
    (regression_report, [1.0], [2.0], {"target_bounds": (1, 0)}, "low"),
    (regression_report, [1.0], [2.0], NUMBERS | {"error_bound": 0}, "error_bound"),
    (regression_report, [1.0], ["a"], NUMBERS, "numbers"),
]


@pytest.mark.parametrize(("metric", "y", "guess", "terms", "message"), BAD)
def test_what_is_wrong_is_refused_and_nothing_is_spent(metric, y, guess, terms, message, unspent):
    with pytest.raises(ValueError, match=rf"(?s)({message}).*Nothing was spent"):
        metric(y, guess, **{"epsilon": 1.0, "budget": unspent} | terms)


def test_a_class_without_rows_has_no_area():
    found = dp_roc_auc_score([0] * 50, np.linspace(0, 1, 50), epsilon=1000.0, classes=(0, 1))
    assert np.isnan(found.value)
    assert found.interval() == (0.0, 1.0)


def test_labels_of_several_classes_have_a_log_loss(rng):
    shares = rng.dirichlet(np.ones(3), size=3000)
    y = np.array(["a", "b", "c"])[[rng.choice(3, p=row) for row in shares]]
    found = dp_log_loss(y, shares, epsilon=1000.0, error_bound=20.0)
    assert found.value == pytest.approx(exact.log_loss(y, shares), rel=1e-2)


def test_labels_of_several_classes_have_a_brier_score(neighboring, rng):
    shares = rng.dirichlet(np.full(3, 0.5), size=3000)
    codes = (rng.uniform(size=(3000, 1)) > shares.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    y = np.array(["a", "b", "c"])[codes]
    found = dp_brier_score_loss(y, shares, epsilon=1000.0, neighboring=neighboring)
    wanted = ((shares - np.eye(3)[codes]) ** 2).sum(axis=1).mean()
    assert found.value == pytest.approx(wanted, rel=1e-2)
    assert found.interval(1.0 - 1e-12)[1] <= 2.0
    model = LogisticRegression().fit(shares, y)
    scorer = make_private_scorer(dp_brier_score_loss, epsilon=1000.0, neighboring=neighboring)
    off = model.predict_proba(shares) - np.eye(3)[codes]
    assert scorer(model, shares, y) == pytest.approx(-(off**2).sum(axis=1).mean(), rel=1e-2)


def test_squares_that_do_not_belong_to_shares_are_cut(monkeypatch):
    """All five probabilities may be 1: the sum of squares is 4, and counts as 2."""
    seen = []

    def release(plan, answers, rng):
        seen.append((plan.queries[0], answers["sums"]))
        return {query.name: np.ones(query.size) for query in plan.queries}

    monkeypatch.setattr(QueryPlan, "release", release)
    for last in (np.eye(5)[4], np.ones(5)):
        dp_brier_score_loss([0, 4], np.stack([np.eye(5)[0], last]), epsilon=1.0, classes=range(5))
    (query, before), (_, after) = seen
    assert np.abs(before - after).sum() == 1.0 <= query.l1_sensitivity


@pytest.mark.slow
def test_each_of_several_classes_is_judged_against_the_others(neighboring, rng):
    shares = rng.dirichlet(np.full(4, 0.5), size=20_000)
    y = (rng.uniform(size=(20_000, 1)) > shares.cumsum(axis=1)).sum(axis=1).clip(0, 3)
    terms = {"classes": range(4), "neighboring": neighboring}
    found = one_vs_rest_report(y, shares, epsilon=1000.0, edges=np.linspace(0, 1, 129), **terms)
    wanted = exact.roc_auc_score(y, shares, multi_class="ovr")
    assert found.roc_auc == pytest.approx(wanted, abs=1e-3)
    assert found[2].roc_auc == pytest.approx(exact.roc_auc_score(y == 2, shares[:, 2]), abs=1e-3)
    assert len(list(found)) == 4
    noisy = one_vs_rest_report(y, shares, epsilon=0.5, **terms)
    low, high = noisy.interval("roc_auc", 1.0 - 1e-9)
    assert low <= wanted <= high
    assert "average_precision" in str(noisy)
    with pytest.raises(KeyError):
        noisy[7]


def test_a_report_without_an_edge_in_the_middle_can_be_printed():
    y, score = rows_for(dp_roc_auc_score, 500, np.random.default_rng(0))
    report = score_report(y, score, epsilon=1.0, edges=[0.0, 0.3, 1.0])
    assert "roc_auc" in str(report)
    with pytest.raises(ValueError, match="threshold"):
        report.interval("accuracy")


@every_score
def test_each_call_of_a_scorer_is_paid_for(metric):
    X, y = make_classification(600, random_state=0)
    model = LogisticRegression()
    if SCORES[metric][1] is NUMBERS:
        away = np.random.default_rng(0).choice([-4.0, 4.0], 600)  # errors well above their noise
        model, y = LinearRegression(), np.clip(X[:, 0] + 5.0 + away, 0.0, 10.0)
    model.fit(X[:300], y[:300])
    # So much that noise outweighs no score: with 1, a log-loss of 300 rows is nan in 1 % of runs.
    budget = PrivacyBudget(epsilon=600.0, delta=1e-4, composition="basic")
    terms = {name: value for name, value in SCORES[metric][1].items() if name != "classes"}
    scorer = make_private_scorer(metric, epsilon=100.0, delta=1e-5, budget=budget, **terms)
    assert np.isfinite(scorer(model, X[300:], y[300:]))
    assert len(budget.history()) == 1
    assert len(cross_val_score(model, X, y, scoring=scorer, cv=5)) == 5
    assert len(budget.history()) == 6
    with pytest.raises(BudgetExceededError):
        scorer(model, X[300:], y[300:])


@pytest.mark.parametrize("metric", [dp_accuracy_score, dp_roc_auc_score, dp_log_loss])
def test_a_scorer_does_not_pass_on_what_a_model_says_of_private_rows(metric):
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    scorer = make_private_scorer(metric, epsilon=1.0)
    with pytest.raises(ValueError, match="withheld") as refused:
        scorer(model, np.array([[0.5], ["secret-4711"]], dtype=object), [0, 1])
    assert "4711" not in str(refused.value)
    assert refused.value.__context__ is None


def test_losses_are_negative_and_other_metrics_are_refused():
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    scorer = make_private_scorer(dp_log_loss, epsilon=1000.0)
    assert scorer(model, [[0.0], [1.0]] * 50, [0, 1] * 50) < 0.0
    with pytest.raises(ValueError, match="metric"):
        make_private_scorer(exact.accuracy_score, epsilon=1.0)


def test_workers_are_told_neither_the_budget_nor_a_seed(monkeypatch):
    da, mapped, sent = pytest.importorskip("dask.array"), DaskBlocks.mapped, []

    def spy(blocks, function):
        sent.append(pickle.dumps(function))
        return mapped(blocks, function)

    monkeypatch.setattr(DaskBlocks, "mapped", spy)
    for metric, (_, terms) in SCORES.items():
        y, guess = rows_for(metric, 300, np.random.default_rng(0))
        lazy = (da.from_array(values, chunks=100) for values in (y, guess))
        metric(*lazy, epsilon=1.0, random_state=np.random.default_rng(0), **terms)
    assert len(sent) >= 2 * len(SCORES)
    assert not [one for one in sent for word in (b"PCG64", b"budget", b"seed") if word in one]


@pytest.mark.parametrize("metric", [dp_mean_absolute_error, dp_mean_squared_error])
def test_an_error_that_the_noise_outweighs_is_nan(metric, neighboring):
    """Under bounds that are far too wide, an error of 0 would look like that of a perfect model."""
    y = np.random.default_rng(0).normal(5.0, 1.0, 300)
    terms = {"epsilon": 1.0, "neighboring": neighboring, "target_bounds": (0.0, 1e9)}
    found = [metric(y, y + 1.0, **terms) for _ in range(30)]
    for score in found:
        low, high = score.interval()
        assert 0.0 <= low < high
        assert score.value >= 0.0 or ("noise outweighs" in str(score) and low == 0.0)
    # Noise alone exceeds its standard deviation in at most a fourth of releases (Laplace: .12).
    # So all 30 do, or more than 25, with a probability below 1e-9.
    assert sum(np.isnan(score.value) for score in found) > 5
