"""How a search scores candidates: as scikit-learn does, and by no more than 1 for each record."""

import itertools

import numpy as np
import pytest
from sklearn import metrics as exact
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

from skdp import (
    DPGaussianNB,
    DPHingeClassifier,
    DPLinearRegression,
    DPLogisticRegression,
    DPQuantileRegressor,
)
from skdp.data.records import Records
from skdp.model_selection import DPGridSearchCV
from skdp.model_selection._held_out import GaussianRun, PureRun, row_score
from skdp.preprocessing import BoundsScaler

LABELS = make_classification(600, n_features=6, n_informative=4, n_classes=3, random_state=0)
X, THREE = LABELS
TWO = (THREE > 0).astype(int)
NUMBERS = np.clip(X[:, 0] + 0.1 * np.arange(600) / 600, -2.0, 3.0)
MODEL = DPLogisticRegression(classes=(0, 1))
LINE = DPLinearRegression(target_bounds=(-2.0, 3.0))
GRID = {"data_norm": [1.0, 3.0]}


class Fitted:
    """A fit of scikit-learn with the bounds of one of skdp's."""

    target_bounds = (-2.0, 3.0)

    def __init__(self, model, y):
        self.model = model.fit(X, y)
        self.classes_ = getattr(self.model, "classes_", None)

    def predict(self, X):
        return self.model.predict(X)

    def predict_proba(self, X):
        return self.model.predict_proba(X)


def gap(truth, found):
    return -abs(float(truth) - float(found))


def wild(truth, found):
    """Give what no score should be."""
    odd = {0: np.inf, 1: -np.inf, 2: np.nan, 3: 1e300, 4: "no number"}
    return odd[int(abs(10.0 * float(found)))]


def brier_of_three(y, shares):
    return 0.5 * np.mean(np.sum((shares - np.eye(3)[y]) ** 2, axis=1))


SCORES = {
    "accuracy": (TWO, lambda m: exact.accuracy_score(TWO, m.predict(X))),
    "neg_log_loss": (TWO, lambda m: -exact.log_loss(TWO, m.predict_proba(X))),
    "neg_brier_score": (TWO, lambda m: -exact.brier_score_loss(TWO, m.predict_proba(X)[:, 1])),
    "of three": (THREE, lambda m: -brier_of_three(THREE, m.predict_proba(X))),
    "neg_mean_squared_error": (
        NUMBERS,
        lambda m: -exact.mean_squared_error(NUMBERS, np.clip(m.predict(X), -2, 3)),
    ),
    "neg_mean_absolute_error": (
        NUMBERS,
        lambda m: -exact.mean_absolute_error(NUMBERS, np.clip(m.predict(X), -2, 3)),
    ),
    "gap": (NUMBERS, lambda m: -exact.mean_absolute_error(NUMBERS, m.predict(X))),
    "wild": (NUMBERS, None),
}


def asked(name):
    """Return the score of that name, and a fit to judge by it."""
    y = SCORES[name][0]
    model = LINE if y is NUMBERS else DPLogisticRegression()
    fitted = Fitted(LinearRegression() if y is NUMBERS else LogisticRegression(), y)
    own = {"gap": gap, "wild": wild}.get(name)
    name = {"of three": "neg_brier_score"}.get(name, name)
    return row_score(own or name, (-20.0, 0.0) if own else None, [model]), fitted


@pytest.mark.parametrize("name", [name for name in SCORES if name != "wild"])
def test_a_score_is_that_of_scikit_learn(name):
    score, fitted = asked(name)
    y, wanted = SCORES[name]
    assert score.value(score.shares(fitted, X, y).mean()) == pytest.approx(wanted(fitted))
    assert score.value(score.share(-0.3)) == pytest.approx(-0.3)


@pytest.mark.parametrize("name", SCORES)
def test_a_row_moves_its_own_share_alone_and_by_one_at_most(name):
    """Exact: of 40 rows, one is replaced by wild ones, and those of all others stay bit by bit."""
    rng = np.random.default_rng()
    score, fitted = asked(name)
    y = SCORES[name][0]
    rows, truth = X[:40], y[:40]
    before = score.shares(fitted, rows, truth)
    for k, size in itertools.product((0, 17), (1e-3, 1.0, 1e3, 1e9)):
        other, label = rows.copy(), truth.copy()
        other[k] = size * rng.normal(size=rows.shape[1])
        label[k] = truth.max() if y is not NUMBERS else size
        after = score.shares(fitted, other, label)
        assert np.isfinite(after).all()
        assert after.min() >= 0.0
        assert after.max() <= 1.0
        np.testing.assert_array_equal(np.delete(after, k), np.delete(before, k))


@pytest.mark.parametrize("name", ["neg_log_loss", "neg_brier_score"])
def test_a_label_that_no_row_learned_from_had_was_given_no_probability(name):
    score = row_score(name, None, [DPLogisticRegression()])
    fitted = Fitted(LogisticRegression(), TWO)
    shares = score.shares(fitted, X, np.full(600, 7))
    if name == "neg_log_loss":
        assert not shares.any()
    else:
        square = np.sum(fitted.predict_proba(X) ** 2, axis=1)
        np.testing.assert_allclose(shares, 1.0 - 0.5 * (square + 1.0))


CHEAP = DPGaussianNB(bounds=(-8, 8), classes=(0, 1))
EPSILONS = {"epsilon": [1.0, 2.0]}
SEARCHES = [
    (MODEL, GRID, TWO, {"scoring": "accuracy"}),
    (MODEL, GRID, TWO, {"scoring": "neg_log_loss"}),
    (MODEL, GRID, TWO, {"scoring": "neg_brier_score"}),
    (MODEL, GRID, TWO, {"scoring": gap, "score_bounds": (-1.0, 0.0)}),
    (LINE, GRID, NUMBERS, {}),
    (LINE, GRID, NUMBERS, {"scoring": "neg_mean_squared_error"}),
    (LINE, GRID, NUMBERS, {"scoring": "neg_mean_absolute_error"}),
    (LINE, GRID, NUMBERS, {"scoring": gap, "score_bounds": (-4.0, 0.0)}),
    (CHEAP, EPSILONS, TWO, {"method": "cheapest", "threshold": 0.0}),
    (CHEAP, EPSILONS, TWO, {"method": "cheapest", "scoring": "neg_log_loss", "threshold": -5.0}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "grid", "y", "terms"), SEARCHES)
def test_the_score_of_the_winner_is_the_mean_of_those_who_judge(model, grid, y, terms, monkeypatch):
    """Without noise in scores, exactly."""
    taken, take = [], Records.chosen

    def spied(self, records):
        taken.append(take(self, records))
        return taken[-1]

    monkeypatch.setattr(Records, "chosen", spied)
    for kind in (GaussianRun, PureRun):
        monkeypatch.setattr(kind, "noisy", lambda self, score, rng: score)
    search = DPGridSearchCV(model, grid, epsilon=6.0, **{"method": "repeat"} | terms).fit(X, y)
    (rows, _), score = taken[-2:], row_score(*map(terms.get, ("scoring", "score_bounds")), [model])
    wanted = score.value(score.shares(search.best_estimator_, rows.X, rows.y).mean())
    assert search.best_score_ == pytest.approx(wanted)
    assert score.bounds[0] <= search.best_score_ <= score.bounds[1]


@pytest.mark.parametrize("threshold", [-5.1, 0.1, None])
def test_a_threshold_lies_within_the_bounds_of_the_score(threshold):
    terms = {"method": "cheapest", "scoring": "neg_log_loss", "threshold": threshold}
    with pytest.raises(ValueError, match=r"threshold must be a number in \[-5, 0\]"):
        DPGridSearchCV(CHEAP, EPSILONS, epsilon=6.0, **terms).fit(X, TWO)


def test_scores_of_pipelines_and_of_all_at_once_are_taken():
    steps = make_pipeline(BoundsScaler(bounds=(-8, 8)), MODEL)
    search = DPGridSearchCV(steps, {}, method="all", scoring="neg_log_loss", epsilon=3.0)
    assert search.fit(X, TWO).privacy_.epsilon(1e-5) <= 3.0


def test_a_candidate_is_chosen_by_the_score_that_was_asked_for():
    """At ε = 50 the better of two is missed less than once in 1e9."""

    def wrong(truth, found):
        return float(truth != found)

    grid = {"data_norm": [1e-9, 3.0]}
    best = {}
    for scoring, bounds in (("accuracy", None), (wrong, (0.0, 1.0))):
        search = DPGridSearchCV(
            MODEL, grid, epsilon=50.0, method="all", scoring=scoring, score_bounds=bounds
        )
        best[scoring] = search.fit(X, (X[:, 0] > 0).astype(int)).best_params_["data_norm"]
    assert best["accuracy"] == 3.0
    assert best[wrong] == 1e-9


SCORER = exact.make_scorer(exact.f1_score)
OTHER_BOUNDS = {
    "param_grid": {"target_bounds": [(-2, 3), (-2, 4)]},
    "scoring": "neg_mean_squared_error",
}
HINGE = DPHingeClassifier(classes=(0, 1))
LEVELS = DPQuantileRegressor(quantile=[0.1, 0.9], target_bounds=(-2, 3))


@pytest.mark.parametrize(
    ("model", "y", "terms", "message"),
    [
        (MODEL, TWO, {"scoring": "roc_auc"}, "scoring must be one of 'accuracy'"),
        (MODEL, TWO, {"scoring": "balanced_accuracy"}, "not the mean of one bounded number"),
        (MODEL, TWO, {"scoring": "neg_mean_squared_error"}, "scoring must be one of 'accuracy'"),
        (MODEL, TWO, {"scoring": ["accuracy"]}, "scoring must be"),
        (MODEL, TWO, {"scoring": "accuracy", "score_bounds": (0, 1)}, "needs a callable"),
        (MODEL, TWO, {"scoring": gap}, "needs score_bounds"),
        (MODEL, TWO, {"scoring": gap, "score_bounds": (1, 0)}, "needs score_bounds"),
        (MODEL, TWO, {"scoring": gap, "score_bounds": (0, np.inf)}, "needs score_bounds"),
        (MODEL, TWO, {"scoring": gap, "score_bounds": 1.0}, "needs score_bounds"),
        (MODEL, TWO, {"scoring": exact.f1_score, "score_bounds": (0, 1)}, "one row"),
        (MODEL, TWO, {"scoring": SCORER, "score_bounds": (0, 1)}, r"scoring\(y_true, y_pred\)"),
        (LINE, NUMBERS, {"scoring": exact.r2_score, "score_bounds": (0, 1)}, "one row"),
        (LINE, NUMBERS, {"scoring": "r2"}, "'neg_mean_squared_error' has the same winner"),
        (LINE, NUMBERS, {"scoring": "accuracy"}, "scoring must be one of 'neg_mean_squared"),
        (LINE, NUMBERS, OTHER_BOUNDS, "same target_bounds"),
        (DPLinearRegression(), NUMBERS, {}, "target_bounds"),
        (HINGE, TWO, {"scoring": "neg_brier_score"}, "that have predict_proba"),
        (LEVELS, NUMBERS, {}, "Pass one level as quantile"),
    ],
)
def test_what_is_no_bounded_sum_is_refused_and_nothing_is_spent(model, y, terms, message, unspent):
    terms = {"param_grid": GRID, "budget": unspent} | terms
    with pytest.raises(ValueError, match=rf"(?s)({message}).*Nothing was spent"):
        DPGridSearchCV(model, **terms).fit(X, y)


def test_an_error_of_a_callable_at_a_private_row_stays_inside():
    def secretive(truth, found):
        if truth not in (-0.75, 1.75):  # as no public value is
            raise RuntimeError(f"saw {truth}")
        return 0.0

    search = DPGridSearchCV(
        LINE, GRID, method="repeat", epsilon=5.0, scoring=secretive, score_bounds=(-1.0, 0.0)
    )
    assert search.fit(X, NUMBERS).best_score_ < -0.5  # −1 and noise, but for once in 1e9
