"""The cheapest of K runs: its theorem by brute force, its price, and that it stops early enough."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from skdp import DPGaussianNB, DPLogisticRegression, PrivacyBudget
from skdp.model_selection import DPGridSearchCV
from skdp.preprocessing import BoundsScaler

X, Y = make_classification(3000, n_features=6, class_sep=2.0, random_state=0)
MODEL = DPGaussianNB(bounds=(-8, 8), classes=(0, 1))
GRID = {"epsilon": [0.1, 0.3, 1.0]}


def in_no_run_better(distribution, gamma, better):
    """Return P(no run of K is better), from the generating function of K."""
    t = 1.0 - better
    if distribution == "geometric":
        return gamma * t / (1.0 - (1.0 - gamma) * t)
    return np.log1p(-(1.0 - gamma) * t) / np.log(gamma)


def distribution_of_search(distribution, gamma, masses):
    """Return what the search publishes, for the masses of the outcomes of a run, best first."""
    better = np.minimum(np.concatenate([[0.0], np.cumsum(masses)]), 1.0)
    better[-1] = 1.0
    return -np.diff(in_no_run_better(distribution, gamma, better))


def random_runs(rng):
    """Return two neighbors' runs: the masses of each candidate, its ε, and who is good enough."""
    runs = []
    for epsilon in rng.choice([0.05, 0.3, 1.0, 3.0], size=rng.integers(1, 5)):
        p = rng.dirichlet(np.full(rng.integers(2, 5), rng.choice([0.3, 1.0])))
        q = p * np.exp(epsilon * rng.choice([0.0, 1.0], size=p.size))
        q /= q.sum()  # so that both ratios lie within e^(±ε)
        runs.append((epsilon, p, q, rng.uniform(size=p.size) < 0.6))
    return runs


def largest_excess(distribution, gamma, runs, cheapest_first=True):
    """Return the largest privacy loss of an outcome less what the theorem says, of both orders."""
    factor = {"geometric": 3.0, "logarithmic": 2.0}[distribution]
    order = sorted(range(len(runs)), key=lambda i: runs[i][0] * (1.0 if cheapest_first else -1.0))
    listed = [
        (p / len(runs), q / len(runs), runs[i][0])
        for i in order
        for p, q in zip(runs[i][1][runs[i][3]], runs[i][2][runs[i][3]], strict=True)
    ]
    none = [sum(np.sum(run[k][~run[3]]) for run in runs) / len(runs) for k in (1, 2)]
    listed.append((*none, max(run[0] for run in runs)))
    p, q, epsilon = np.array(listed).T
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.abs(
            np.log(distribution_of_search(distribution, gamma, p))
            - np.log(distribution_of_search(distribution, gamma, q))
        )
    return np.nanmax(np.where((p > 1e-9) & (q > 1e-9), loss - factor * epsilon, -np.inf))


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["geometric", "logarithmic"])
def test_no_outcome_loses_more_than_the_theorem_says(distribution):
    """10 000 exact distributions each."""
    rng = np.random.default_rng()
    worst = [
        largest_excess(distribution, rng.choice([0.5, 0.1, 0.01]), random_runs(rng))
        for _ in range(10_000)
    ]
    assert max(worst) <= 1e-7


def test_the_reversed_order_breaks_the_theorem():
    """In about one instance of eight; in none of 500 less than once in 1e20."""
    rng = np.random.default_rng()
    broken = [largest_excess("geometric", 0.05, random_runs(rng), False) for _ in range(500)]
    assert max(broken) > 0.01


@pytest.mark.parametrize(("distribution", "factor"), [("geometric", 3.0), ("logarithmic", 2.0)])
def test_what_is_spent_is_that_of_the_winner_and_what_is_charged_the_most(
    neighboring, distribution, factor
):
    """No run misses a threshold of 5 % but for once in 1e9."""
    budget = PrivacyBudget(epsilon=3.0, delta=0.0, composition="pure", neighboring=neighboring)
    terms = {
        "method": "cheapest",
        "threshold": 0.05,
        "distribution": distribution,
        "neighboring": neighboring,
    }
    search = DPGridSearchCV(MODEL, GRID, epsilon=3.0, budget=budget, **terms).fit(X, Y)
    assert search.epsilon_spent_ == pytest.approx(factor * search.best_params_["epsilon"])
    assert search.privacy_.epsilon(0.0) == pytest.approx(factor)
    assert budget.spent.epsilon == pytest.approx(factor)
    assert len(budget.history()) == 1
    assert search.best_estimator_.privacy_ == search.privacy_
    assert search.best_estimator_.epsilon == search.best_params_["epsilon"]
    assert hasattr(search, "best_score_") == (neighboring == "replace_one")
    assert getattr(search, "best_score_", 1.0) >= 0.05


@pytest.mark.slow
def test_the_least_that_is_good_enough_wins():
    """Searches of 60 runs on average miss ε = 0.2 once in 30, or find nothing: four once in 1e6."""
    grid = {"epsilon": [0.2, 2.0]}
    search = DPGridSearchCV(
        MODEL, grid, epsilon=6.0, method="cheapest", threshold=0.7, mean_runs=60
    )
    found = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="No candidate reached")
        for _ in range(4):
            search.fit(X, Y)
            found.append(None if search.best_index_ is None else search.best_params_["epsilon"])
    assert 0.2 in found


def test_where_none_is_good_enough_nothing_is_published_and_the_most_is_spent():
    noise = np.random.default_rng(0).integers(2, size=len(Y))
    search = DPGridSearchCV(MODEL, GRID, epsilon=3.0, method="cheapest", threshold=1.0)
    with pytest.warns(UserWarning, match="No candidate"):
        search.fit(X, noise)
    assert search.best_index_ is None
    assert search.epsilon_spent_ == pytest.approx(3.0)
    for name in ("best_estimator_", "best_params_", "best_score_", "classes_"):
        assert not hasattr(search, name)
    for method in (search.predict, search.predict_proba):
        with pytest.raises(NotFittedError, match="No candidate reached the threshold"):
            method(X)
    with pytest.raises(NotFittedError, match="No candidate reached the threshold"):
        search.score(X, noise)


def test_epsilon_of_the_last_step_of_a_pipeline_is_chosen():
    steps = make_pipeline(BoundsScaler(bounds=(-8, 8)), DPGaussianNB(bounds=(-1, 1)))
    grid = {"dpgaussiannb__epsilon": [0.5, 1.0]}
    search = DPGridSearchCV(steps, grid, epsilon=3.0, method="cheapest", threshold=0.5)
    assert search.fit(X, Y).best_params_["dpgaussiannb__epsilon"] in (0.5, 1.0)


def test_decimal_epsilons_fit_exactly():
    """3 times 0.1 is more than 0.3 in floats."""
    budget = PrivacyBudget(epsilon=0.3, delta=0.0, composition="pure")
    terms = {"method": "cheapest", "threshold": 0.0, "budget": budget}
    DPGridSearchCV(MODEL, {"epsilon": [0.1]}, epsilon=0.3, **terms).fit(X, Y)
    assert budget.spent.epsilon <= 0.3


@pytest.mark.parametrize(
    ("estimator", "grid", "terms", "message"),
    [
        (MODEL, GRID, {"threshold": None}, "threshold"),
        (MODEL, GRID, {"threshold": 1.5}, "threshold"),
        (MODEL, GRID, {"epsilon": 2.0}, "up to 0.666667"),
        (MODEL, {"epsilon": [0.1, -1.0]}, {}, "epsilon"),
        (MODEL, {"epsilon": [0.1, float("nan")]}, {}, "epsilon"),
        (MODEL, {"least_variance": [1e-9]}, {}, "needs an epsilon"),
        (MODEL, [{"epsilon": [0.1]}, {"least_variance": [1e-9]}], {}, "needs an epsilon"),
        (MODEL, GRID | {"delta": [0.0]}, {}, "cannot be searched"),
        (DPLogisticRegression(classes=(0, 1)), GRID, {}, "delta"),
        (MODEL, GRID, {"method": "repeat"}, "threshold"),
        (MODEL, GRID, {"method": "repeat", "threshold": None}, "cheapest"),
        (MODEL, GRID, {"method": "all", "threshold": None}, "cheapest"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_spent(estimator, grid, terms, message):
    budget = PrivacyBudget(epsilon=5.0, delta=1e-5, composition="basic")
    terms = {"epsilon": 3.0, "method": "cheapest", "threshold": 0.6, "budget": budget} | terms
    with pytest.raises(ValueError, match=rf"(?s)({message}).*Nothing was spent"):
        DPGridSearchCV(estimator, grid, **terms).fit(X, Y)
    assert budget.history() == []
