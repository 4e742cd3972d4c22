"""What a search gives away: an attack on the best of its runs, and all that it shows beside it."""

import itertools
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin

from skdp import DPGaussianNB, PrivacyBudget
from skdp._private_fit import PrivateFit
from skdp.accounting import gdp_mu
from skdp.mechanisms import Gaussian, Laplace, PermuteAndFlip
from skdp.mechanisms.selection import ExponentialMechanism
from skdp.model_selection import DPGridSearchCV
from skdp.privacy import GDPEvent
from skdp.workloads import QueryPlan

FALSE_ALARM = 1e-6
PLACES = np.column_stack([np.zeros(400), np.random.default_rng(0).uniform(-4.0, 6.0, 400)])
ONES = np.ones(400, dtype=int)
RELATIONS = ("replace_one", "add_remove_one")
PUBLIC = {
    "_judged_by",
    "_tried",
    "best_estimator_",
    "best_index_",
    "best_params_",
    "best_score_",
    "classes_",
    "cv_results_",
    "epsilon_spent_",
    "feature_names_in_",
    "n_features_in_",
    "n_splits_",
    "privacy_",
}


@dataclass(frozen=True)
class OneNumber:
    """A plan of one Gaussian release."""

    event: GDPEvent
    theorem: str = "a sum with noise"
    exact: bool = False


@dataclass(frozen=True)
class Rows:
    X: np.ndarray

    @property
    def n_records(self):
        return len(self.X)


class Threshold(ClassifierMixin, PrivateFit, BaseEstimator):
    """Learns a noisy sum of the first column, and says 1 where the second is below it.

    So the best run, where all labels are 1, is the one with the largest sum: its privacy loss is
    about the largest of all runs'.
    """

    def __init__(
        self,
        epsilon=1.0,
        delta=None,
        neighboring="replace_one",
        budget=None,
        random_state=None,
        noise=1.0,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.random_state = random_state
        self.noise = noise

    def fit(self, X, y):
        return self._fit_privately(X)

    def _check_data(self, parameters, X):
        return Rows(X)

    def _plan(self, parameters, records):
        return OneNumber(GDPEvent(gdp_mu(parameters.epsilon, parameters.delta)))

    def _read(self, plan, records, rng):
        return records.X[:, 0].sum() + rng.normal(0.0, self.noise / plan.event.mu)

    def _publish(self, plan, records, released, guarantee):
        self.value_, self.classes_, self.privacy_ = released, np.array([0, 1]), guarantee
        return self

    def predict(self, X):
        return (X[:, 1] < self.value_).astype(int)


def searched(contribution, noise=1.0):
    """Return a search in which the first record adds so much to the sum."""
    X = PLACES.copy()
    X[0, 0] = contribution
    terms = {"method": "repeat", "holdout": 0.05, "mean_runs": 4}
    return DPGridSearchCV(Threshold(noise=noise), {}, epsilon=1.0, delta=1e-3, **terms).fit(X, ONES)


def proved_delta(one, other, epsilon):
    """Return a δ that is below the true one at ε, but for a chance of FALSE_ALARM.

    One half of the runs chooses a threshold, the other is counted (Clopper and Pearson).
    """
    half = one.size // 2
    guesses = np.quantile(one[:half], np.linspace(0.02, 0.98, 49))
    gain = [np.mean(one[:half] > t) - np.exp(epsilon) * np.mean(other[:half] > t) for t in guesses]
    t = guesses[int(np.argmax(gain))]
    hits, alarms = np.sum(one[half:] > t), np.sum(other[half:] > t)
    least = stats.beta.ppf(FALSE_ALARM / 2, hits, half - hits + 1) if hits else 0.0
    most = stats.beta.ppf(1.0 - FALSE_ALARM / 2, alarms + 1, half - alarms)
    return least - np.exp(epsilon) * most


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "caught"), [(1.0, False), (0.1, True)])
def test_attacks_prove_no_more_than_the_total_where_the_runs_have_their_noise(noise, caught):
    """Wrong about the right noise once in 1e5, about a tenth of it once in 1e4."""
    one, other = (
        np.array([searched(x, noise).best_estimator_.value_ for _ in range(300)]) for x in (1, 0)
    )
    claim = searched(0.0).privacy_
    assert claim.epsilon(1e-3) <= 1.0
    proved = [proved_delta(one, other, x) > claim.delta(x) for x in (0.0, 0.25, 0.5, 1.0)]
    assert any(proved) == caught


def everything_shown(search, X, y, capsys):
    """Return what a search shows, its model by what that shows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    shown = {
        name: value
        for name, value in vars(search).items()
        if name not in ("best_estimator_", "budget")
    }
    assert set(shown) - set(search.get_params(deep=False)) <= PUBLIC
    said = [str(w.message) for w in caught], capsys.readouterr(), repr(search), str(search.privacy_)
    rows = [{**row, "time": ""} for row in search.budget.history()]
    return repr(sorted(shown.items())), repr(vars(search.best_estimator_)), said, rows


@pytest.mark.parametrize(
    ("method", "neighboring"),
    [*itertools.product(["repeat", "all", "cheapest"], RELATIONS), ("scored", "replace_one")],
)
def test_two_data_sets_show_the_same_but_for_what_is_released(
    method, neighboring, capsys, monkeypatch
):
    """Scores and sums are constants here; one data set is wild, and of any size where it may."""
    for kind, value in ((Gaussian, 500.0), (Laplace, 500.0), (PermuteAndFlip, 0)):
        monkeypatch.setattr(kind, "release", lambda self, *args, value=value: value)
    monkeypatch.setattr(ExponentialMechanism, "release", lambda self, *args: 0)
    monkeypatch.setattr(
        QueryPlan, "release", lambda plan, *args: {q.name: np.ones(q.size) for q in plan.queries}
    )
    n_wild = 200 if neighboring == "replace_one" else 3000
    tame = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) % 2
    wild = 1e6 * np.ones((n_wild, 3)), np.ones(n_wild, dtype=int)
    shown = []
    for X, y in (tame, wild):
        model = DPGaussianNB(bounds=(-8, 8), classes=(0, 1), delta=0.0)
        terms = {"method": method, "neighboring": neighboring, "epsilon": 3.0, "delta": 0.0}
        if method == "cheapest":
            terms |= {"threshold": 0.3}
        if method == "scored":
            terms |= {"method": "all", "release_scores": True}
        budget = PrivacyBudget(epsilon=9.0, delta=0.0, composition="pure", neighboring=neighboring)
        search = DPGridSearchCV(
            model, {"epsilon": [1.0]} if method == "cheapest" else {}, budget=budget, **terms
        )
        shown.append(everything_shown(search, X, y, capsys))
    assert shown[0] == shown[1]
