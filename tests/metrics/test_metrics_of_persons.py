"""Reports and scores of persons with several test rows: all of them count together as one."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn import metrics as exact
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import PredefinedSplit, cross_validate

from skdp import DPLogisticRegression, PrivacyBudget, metrics
from skdp.metrics import dp_accuracy_score, make_private_scorer
from skdp.workloads.plan import QueryPlan

RNG = np.random.default_rng(0)
N = 3000
COUNTS = RNG.integers(1, 6, N)
WHOSE = RNG.permutation(np.repeat(np.arange(N), COUNTS))
W = 1.0 / COUNTS[WHOSE]
S = np.clip(RNG.random(WHOSE.size) * (0.6 + 0.08 * COUNTS[WHOSE]), 0.0, 1.0)
Y = (RNG.random(WHOSE.size) < S).astype(int)
LABEL = (S > 0.5).astype(int)
LOSS = np.minimum(-np.log(np.where(Y == 1, S, 1.0 - S)), 5.0)
TWO, PUBLIC = {"classes": [0, 1]}, {"target_bounds": (0, 1)}
SCORES = {
    "confusion_report": (
        lambda y, s, **t: metrics.confusion_report(y, s > 0.5, **TWO, **t).accuracy,
        W @ (Y == LABEL) / N,
    ),
    "score_report": (
        lambda y, s, **t: metrics.score_report(y, s, **TWO, **t).accuracy(0.5),
        W @ (Y == LABEL) / N,
    ),
    "one_vs_rest_report": (
        lambda y, s, **t: metrics.one_vs_rest_report(y, np.c_[1 - s, s], **TWO, **t).roc_auc,
        exact.roc_auc_score(Y, S, sample_weight=W),
    ),
    "regression_report": (
        lambda y, s, **t: metrics.regression_report(y, s, **PUBLIC, **t).r2,
        exact.r2_score(Y, S, sample_weight=W),
    ),
    "dp_accuracy_score": (
        lambda y, s, **t: metrics.dp_accuracy_score(y, s > 0.5, **t),
        W @ (Y == LABEL) / N,
    ),
    "dp_log_loss": (lambda y, s, **t: metrics.dp_log_loss(y, s, **TWO, **t), W @ LOSS / N),
    "dp_brier_score_loss": (
        lambda y, s, **t: metrics.dp_brier_score_loss(y, s, **TWO, **t),
        W @ (S - Y) ** 2 / N,
    ),
    "dp_roc_auc_score": (
        lambda y, s, **t: metrics.dp_roc_auc_score(y, s, **TWO, **t),
        exact.roc_auc_score(Y, S, sample_weight=W),
    ),
    "dp_average_precision_score": (
        lambda y, s, **t: metrics.dp_average_precision_score(y, s, **TWO, **t),
        exact.average_precision_score(Y, S, sample_weight=W),
    ),
    "dp_mean_absolute_error": (
        lambda y, s, **t: metrics.dp_mean_absolute_error(y, s, **PUBLIC, **t),
        W @ np.abs(S - Y) / N,
    ),
    "dp_mean_squared_error": (
        lambda y, s, **t: metrics.dp_mean_squared_error(y, s, **PUBLIC, **t),
        W @ (S - Y) ** 2 / N,
    ),
    "dp_r2_score": (
        lambda y, s, **t: metrics.dp_r2_score(y, s, **PUBLIC, **t),
        exact.r2_score(Y, S, sample_weight=W),
    ),
}
every_score = pytest.mark.parametrize("name", SCORES)


def test_no_score_is_missing():
    public = {n for n in metrics.__all__ if n.endswith("_report") or n.startswith("dp_")}
    assert set(SCORES) == public


@every_score
def test_persons_count_alike(name, neighboring):
    score, expected = SCORES[name]
    terms = {"epsilon": 500.0, "neighboring": neighboring, "random_state": 0}
    assert float(score(Y, S, groups=WHOSE, **terms)) == pytest.approx(expected, abs=0.01)


def person(rng):
    count = rng.choice([1, 2, 3, 50])
    corners = rng.integers(2, size=count), rng.choice([0.0, 0.25, 0.75, 1.0], size=count)
    return corners if rng.random() < 0.5 else tuple(np.repeat(one[:1], count) for one in corners)


@pytest.mark.slow
@every_score
def test_some_persons_are_nearly_as_far_apart_as_declared(name, neighboring, monkeypatch):
    """Else the noise could be less. The suite of neighbors only asks that none are farther."""
    rng, asked, release = np.random.default_rng(3), [], QueryPlan.release

    def spy(plan, answers, rng):
        asked.append((plan.queries, {k: np.asarray(v, float).ravel() for k, v in answers.items()}))
        return release(plan, answers, rng)

    monkeypatch.setattr(QueryPlan, "release", spy)
    shares = []
    for _ in range(25):
        rest, asked[:] = [person(rng) for _ in range(3)], []
        others = [*rest, person(rng)] if neighboring == "replace_one" else rest
        for persons in ([*rest, person(rng)], others):
            y, s = (np.concatenate(column) for column in zip(*persons, strict=True))
            groups = np.repeat(np.arange(len(persons)), [len(one) for one, _ in persons])
            terms = {"epsilon": 1.0, "neighboring": neighboring, "random_state": 0}
            SCORES[name][0](y, s, groups=groups, **terms)
        (queries, one), (_, other) = asked
        for query in queries:
            moved = np.linalg.norm(one[query.name] - other[query.name])
            shares.append(moved / query.l2_sensitivity)
    assert 0.85 < max(shares) <= 1.0


def test_the_number_of_rows_is_told_by_nothing_but_the_noise():
    """What is public are the persons: bins and counts are chosen by their number."""
    once = np.unique(WHOSE, return_index=True)[1]
    reports = [
        metrics.score_report(Y[rows], S[rows], epsilon=1.0, **TWO, groups=WHOSE[rows])
        for rows in (slice(None), once)
    ]
    assert reports[0].n_samples == reports[1].n_samples == N
    np.testing.assert_array_equal(reports[0].edges, reports[1].edges)


@pytest.mark.parametrize("several", [False, True])
def test_a_scorer_that_asks_for_groups_judges_persons_in_a_cross_validation(several):
    X, y, groups = np.linspace(-1, 1, 900)[:, None], np.arange(900) % 2, np.arange(900) % 300
    budget = PrivacyBudget(epsilon=50.0, delta=1e-4, unit="person")
    scorer = make_private_scorer(dp_accuracy_score, epsilon=1.0, budget=budget)
    model = DPLogisticRegression(classes=(0, 1), budget=budget)
    with config_context(enable_metadata_routing=True):
        folds = {
            "cv": PredefinedSplit(groups % 3),
            "params": {"groups": groups},
            "error_score": "raise",
        }
        model.set_fit_request(groups=True)
        with pytest.raises(UnsetMetadataPassedError, match="groups"):
            cross_validate(model, X, y, scoring=scorer, **folds)
        assert budget.history() == []
        asking = scorer.set_score_request(groups=True)
        found = cross_validate(
            model, X, y, scoring={"one": asking, "two": asking} if several else asking, **folds
        )
    assert np.isfinite(found["test_one" if several else "test_score"]).all()
    labels = [row["label"] for row in budget.history()]
    assert labels.count("metrics.dp_accuracy_score") == 3 * (1 + several)
