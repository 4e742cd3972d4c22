"""Private conformal prediction: coverage with noise, intervals and sets, one release."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.stats import binom, norm
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import (
    DPLinearRegression,
    DPLogisticRegression,
    DPQuantileRegressor,
    DPRandomForestClassifier,
    PrivacyBudget,
)
from skdp.calibration import DPConformalClassifier, DPConformalRegressor
from skdp.exceptions import BudgetExceededError, FewRowsWarning, PrivacyLeakError
from skdp.pipeline import check_pipeline
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.solvers import DPSGD


class Known(RegressorMixin, BaseEstimator):
    """A regressor that predicts its only column."""

    def fit(self, X, y):
        raise AssertionError("it is fitted already")

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return np.asarray(X)[:, 0]


class Shares(ClassifierMixin, BaseEstimator):
    """A classifier whose columns are the probabilities of three classes."""

    classes_ = np.array(["a", "b", "c"])

    def fit(self, X, y):
        raise AssertionError("it is fitted already")

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, X):
        return np.asarray(X, dtype=float)

    def predict(self, X):
        return self.classes_[np.argmax(X, axis=1)]


def of_residuals(y, **settings):
    """Return half the width of intervals from residuals."""
    settings = {"target_bounds": (-10.0, 10.0), **settings}
    model = DPConformalRegressor(Known(), prefit=True, **settings)
    groups = settings.pop("groups", None)
    return model.conformalize(np.zeros((len(y), 1)), y, groups=groups)


def labels(shares, rng):
    return Shares.classes_[(rng.uniform(size=(len(shares), 1)) > shares.cumsum(axis=1)).sum(axis=1)]


def check_mean(values, least):
    """False alarms: each value is in [0, 1], and 6 standard errors below have 1e-9."""
    values = np.asarray(values)
    assert values.mean() + 6.0 * values.std() / np.sqrt(len(values)) >= least
    return values.mean()


@pytest.mark.parametrize(("m", "epsilon"), [(250, 0.5), (250, 1.0), (2500, 1.0)])
def test_coverage_of_a_known_distribution(neighboring, m, epsilon):
    rng = np.random.default_rng()
    terms = {"epsilon": epsilon, "neighboring": neighboring, "confidence_level": 0.9}
    found = [of_residuals(rng.normal(size=m), **terms).quantiles_[0] for _ in range(100)]
    check_mean(2.0 * norm.cdf(found) - 1.0, 0.9)


def test_coverage_in_a_budget_that_counts_gaussian_noise(neighboring):
    rng = np.random.default_rng()
    found, plain = [], []
    for _ in range(60):
        y = rng.normal(size=2500)
        budget = PrivacyBudget(epsilon=1.0, delta=1e-5, neighboring=neighboring)
        model = of_residuals(y, budget=budget, neighboring=neighboring)
        found.append(model.quantiles_[0])
        plain.append(np.sort(np.abs(y))[int(np.ceil(0.9 * 2501)) - 1])
    check_mean(2.0 * norm.cdf(found) - 1.0, 0.9)
    assert model.privacy_.gdp_mu < 0.2681
    assert np.mean(found) < 1.05 * np.mean(plain)  # by experiment 1.030 +- .002


def test_coverage_in_the_worst_case_of_the_theorem(neighboring):
    """All grid points but few are just below the rank: a choice among equals would be too low."""
    rng, m, alpha = np.random.default_rng(), 400, 0.2
    found = []
    for _ in range(200):
        y = np.where(rng.uniform(size=m) < 1.0 - alpha, 0.0, 9.99)
        model = of_residuals(y, confidence_level=1.0 - alpha, epsilon=1.0, neighboring=neighboring)
        found.append(1.0 if model.quantiles_[0] >= 9.99 else 1.0 - alpha)
    check_mean(found, 1.0 - alpha)


def test_width_is_near_that_without_noise():
    """By experiment 1.023; its standard error here is .003."""
    rng = np.random.default_rng()
    ratios = []
    for _ in range(60):
        y = rng.normal(size=2500)
        plain = np.sort(np.abs(y))[int(np.ceil(0.9 * 2501)) - 1]
        ratios.append(of_residuals(y, epsilon=1.0).quantiles_[0] / plain)
    assert np.mean(ratios) < 1.05


def test_without_noise_it_is_split_conformal_prediction():
    y = np.random.default_rng(0).normal(size=3000)
    model = of_residuals(y, epsilon=1e4, confidence_level=[0.9, 0.5])
    for level, found in zip((0.9, 0.5), model.quantiles_, strict=True):
        plain = np.quantile(np.abs(y), level, method="higher")
        assert plain <= found < 1.02 * plain + 0.01


@pytest.mark.parametrize("score", ["lac", "aps"])
@pytest.mark.parametrize("by_class", [False, True])
def test_sets_contain_the_labels(score, by_class):
    rng = np.random.default_rng()
    found = []
    for _ in range(20):
        X = rng.dirichlet([2.0, 1.0, 0.5], size=4000)
        y = labels(X, rng)
        model = DPConformalClassifier(
            Shares(), prefit=True, conformity_score=score, class_conditional=by_class
        )
        _, sets = model.conformalize(X[:2000], y[:2000]).predict_set(X[2000:])
        held = sets[np.arange(2000), np.searchsorted(Shares.classes_, y[2000:]), 0]
        groups = Shares.classes_ if by_class else [None]
        found.append([held[y[2000:] == k].mean() if by_class else held.mean() for k in groups])
        assert sets.shape == (2000, 3, 1)
    for of_group in np.transpose(found):
        check_mean(of_group, 0.9)


def test_sets_of_higher_levels_are_larger_and_aps_takes_the_most_probable(rng):
    X = rng.dirichlet([1.0, 1.0, 1.0], size=500)
    y = labels(X, rng)
    for score in ("lac", "aps"):
        model = DPConformalClassifier(
            Shares(),
            prefit=True,
            conformity_score=score,
            confidence_level=[0.95, 0.6, 0.8],
            epsilon=0.3,
        )
        _, sets = model.conformalize(X, y).predict_set(X)
        assert model.quantiles_.shape == (3,)
        assert np.all(sets[:, :, 1] <= sets[:, :, 2])
        assert np.all(sets[:, :, 2] <= sets[:, :, 0])
        out, in_ = np.where(sets, -1.0, X[:, :, None]).max(axis=1), np.where(sets, X[:, :, None], 2)
        assert np.all(out <= in_.min(axis=1))


def test_a_class_without_rows_is_in_most_sets():
    """Noise alone leaves it out of a twelfth of fits: of half of 40 with probability 1e-11."""
    X = np.full((600, 3), [0.6, 0.4, 0.0])
    y = np.repeat(["a", "b"], 300)
    model = DPConformalClassifier(Shares(), prefit=True, class_conditional=True, epsilon=5.0)
    found = [model.conformalize(X, y).predict_set(X[:2])[1][:, 2, 0].all() for _ in range(40)]
    assert sum(found) > 20
    assert model.quantiles_.shape == (1, 3)


def test_ties_count_as_covered():
    """9 of 10 residuals are 1, exactly on no grid point; the rest is larger."""
    y = np.where(np.arange(5000) % 20 == 0, 5.0, 1.0)
    assert of_residuals(y, epsilon=5.0, target_bounds=(-8, 8)).quantiles_[0] >= 1.0
    X = np.full((2000, 3), [0.5, 0.25, 0.25])
    model = DPConformalClassifier(Shares(), prefit=True, epsilon=5.0, confidence_level=0.8)
    _, sets = model.conformalize(X, np.repeat(["a", "b", "c", "a"], 500)).predict_set(X[:1])
    assert sets[0, :, 0].all()  # classes b and c are tied, and one of them is not enough


def test_coverage_of_a_random_row_of_a_new_person():
    """Persons with many rows have larger errors; each person counts once."""
    rng = np.random.default_rng()
    found = []
    for _ in range(60):
        many = rng.uniform(size=900) < 0.3
        groups = np.repeat(np.arange(900), np.where(many, 20, 1))
        y = rng.normal(size=len(groups)) * np.where(many[groups], 3.0, 1.0)
        model = DPConformalRegressor(Known(), prefit=True, target_bounds=(-30, 30), epsilon=1.0)
        width = model.conformalize(np.zeros((len(y), 1)), y, groups=groups).quantiles_[0]
        assert model.privacy_.unit == "person"
        found.append(0.7 * (2 * norm.cdf(width) - 1) + 0.3 * (2 * norm.cdf(width / 3.0) - 1))
    assert check_mean(found, 0.9) < 0.95


def draw(n, rng):
    X = rng.uniform(-0.5, 0.5, size=(n, 3))
    return X, X @ [1.0, -1.0, 0.5] + 0.2 * rng.normal(size=n)


def test_a_fit_learns_and_conformalizes_for_the_cost_of_one_fit(neighboring):
    rng = np.random.default_rng()
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, neighboring=neighboring)
    model = DPConformalRegressor(
        DPLinearRegression(), target_bounds=(-2, 2), neighboring=neighboring, budget=budget
    )
    X, y = draw(4000, rng)
    assert budget.price(model, (4000, 3)).epsilon <= 1.0
    model.fit(X, y)
    [row] = budget.history()
    assert row["label"] == "DPConformalRegressor"
    assert budget.spent.epsilon <= 1.0
    fresh, truth = draw(4000, rng)
    predicted, intervals = model.predict_interval(fresh)
    held = (intervals[:, 0, 0] <= truth) & (truth <= intervals[:, 1, 0])
    assert binom.cdf(held.sum(), 4000, 0.87) > 1e-9  # one rank in 2000 is off by .007
    assert np.abs(predicted - truth).mean() < 0.3
    assert intervals.min() >= -2.0
    assert intervals.max() <= 2.0
    assert model.estimator_.privacy_ == model.privacy_
    with pytest.raises(BudgetExceededError):
        clone(model).set_params(budget=budget).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_interval(fresh)[1], intervals)


def test_a_gaussian_budget_counts_one_gaussian_fit():
    X, y = make_classification(3000, random_state=0)
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, composition="gdp")
    model = DPConformalClassifier(DPLogisticRegression(classes=(0, 1)), budget=budget).fit(X, y)
    assert model.privacy_.gdp_mu < 0.27
    assert budget.spent.epsilon < 1.001
    assert model.score(X, y) > 0.7


def test_a_pipeline_with_public_steps_is_fitted():
    X, y = draw(3000, np.random.default_rng(0))
    inner = make_pipeline(BoundsScaler(bounds=(-0.5, 0.5)), DPLinearRegression())
    model = DPConformalRegressor(inner, target_bounds=(-2, 2)).fit(X, y)
    assert model.predict(X).shape == (3000,)


def test_a_forest_finds_the_labels_that_occur():
    X, y = make_classification(1500, n_classes=3, n_informative=5, random_state=0)
    inner = DPRandomForestClassifier(bounds=(-8, 8), n_trees=3, depth=3)
    model = DPConformalClassifier(inner, epsilon=3.0).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]


LEARNS = make_pipeline(StandardScaler(), DPLinearRegression())
SPENDS = make_pipeline(DPStandardScaler(bounds=(0, 1)), DPLinearRegression())
LEVELS = DPQuantileRegressor(quantile=[0.1, 0.9], target_bounds=(-2, 2))


@pytest.mark.parametrize(
    ("model", "more", "error", "message"),
    [
        (LinearRegression(), {}, PrivacyLeakError, "DPLinearRegression"),
        (LEARNS, {}, PrivacyLeakError, "standardscaler"),
        (SPENDS, {}, ValueError, "would spend as well"),
        (DPLinearRegression(), {}, ValueError, "target_bounds"),
        (DPLinearRegression(), {"confidence_level": 1.0}, ValueError, "confidence_level"),
        (DPLinearRegression(), {"confidence_level": []}, ValueError, "level"),
        (DPLinearRegression(), {"conformalize_size": 0}, ValueError, "_size"),
        (DPLinearRegression(), {"conformity_score": "lac"}, ValueError, "score"),
        (DPLinearRegression(), {"prefit": True}, ValueError, "Call conformalize"),
        (DPLinearRegression(), {"epsilon": np.inf}, ValueError, "finite"),
        (DPLogisticRegression(), {}, ValueError, "a regressor"),
        (LEVELS, {}, ValueError, "one level"),
    ],
)
def test_what_is_wrong_is_rejected_and_nothing_is_spent(model, more, error, message, unspent):
    X, y = draw(500, np.random.default_rng(0))
    conformal = DPConformalRegressor(model, budget=unspent, **more)
    with pytest.raises(error, match=message):
        conformal.fit(X, y)
    assert not hasattr(conformal, "quantiles_")


def test_a_classifier_is_asked_for_where_classes_are_predicted(unspent):
    with pytest.raises(ValueError, match="a classifier"):
        DPConformalClassifier(DPLinearRegression(), budget=unspent).fit([[0.0]] * 9, [0.0] * 9)


def test_more_that_is_wrong(budget):
    X, y = draw(500, np.random.default_rng(0))
    inner = DPLinearRegression(budget=budget)
    with pytest.raises(ValueError, match="its own budget"):
        DPConformalRegressor(inner, target_bounds=(-2, 2)).fit(X, y)
    with pytest.raises(ValueError, match="Call fit"):
        DPConformalRegressor(DPLinearRegression()).conformalize(X, y)
    with pytest.raises(ValueError, match="no rows"):
        DPConformalClassifier(Shares(), prefit=True).conformalize(X[:0], y[:0])
    with pytest.raises(NotFittedError):
        DPConformalRegressor(LinearRegression(), prefit=True).conformalize(X, y)
    with pytest.raises(ValueError, match="labels outside"):
        DPConformalClassifier(Shares(), prefit=True).conformalize(X, np.repeat("d", 500))
    with pytest.raises(ValueError, match="predict_proba"):
        DPConformalClassifier(Known(), prefit=True).conformalize(X, y)
    two = DPQuantileRegressor(quantile=[0.1, 0.9], target_bounds=(-2, 2)).fit(X, y)
    with pytest.raises(ValueError, match="withheld"):
        DPConformalRegressor(two, prefit=True).conformalize(X, y)
    gaussian = PrivacyBudget(epsilon=5.0, delta=1e-5, composition="gdp")
    sgd = DPLinearRegression(solver=DPSGD(sampling_rate=0.5, n_steps=3))
    model = DPConformalRegressor(sgd, target_bounds=(-2, 2), budget=gaussian)
    with pytest.raises(ValueError, match="Gaussian DP"):
        model.fit(X, y)
    assert gaussian.history() == []


@pytest.mark.filterwarnings("ignore:Predictions fill less")
def test_a_warning_of_few_rows_depends_on_public_numbers():
    y = np.random.default_rng(0).normal(size=100)
    with pytest.warns(FewRowsWarning, match="About 170 are needed"):
        of_residuals(y)
    with pytest.warns(FewRowsWarning, match="set aside|conformalize predictions"):
        DPConformalRegressor(DPLinearRegression(target_bounds=(-9, 9))).fit(y[:, None] / 9, y)
    assert of_residuals(y, neighboring="add_remove_one", epsilon=0.01).quantiles_[0] <= 20.0


def test_the_estimator_inside_is_checked():
    assert check_pipeline(DPConformalClassifier(DPLogisticRegression())) == []
    [leak] = check_pipeline(DPConformalClassifier(LogisticRegression()))
    assert leak.path == "estimator"


class Shows(DPLinearRegression):
    """A model that shows a value."""

    def predict(self, X):
        warnings.warn(f"The largest value is {np.max(X)}", stacklevel=2)
        return super().predict(X)

    def _publish(self, plan, records, *released):
        warnings.warn(f"The largest value is {np.max(records.y)}", stacklevel=2)
        return super()._publish(plan, records, *released)


@pytest.mark.parametrize("action", ["always", "error"])
def test_what_a_paid_fit_says_is_said_once_more_and_raises_nothing(action):
    X = np.random.default_rng().uniform(-1, 1, (4000, 1))
    inner = Shows(target_bounds=(-1000, 1000), center=False, solver="objective_perturbation")
    model = DPConformalRegressor(inner, epsilon=5.0)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)
        model.fit(X, X[:, 0])
    texts = [str(one.message) for one in found]
    assert not any("largest" in text for text in texts)
    assert action == "error" or any("narrower bounds" in text for text in texts)
