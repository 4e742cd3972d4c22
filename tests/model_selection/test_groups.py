"""A search over rows of which several are one person's."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from skdp import DPHuberRegressor, DPLogisticRegression, PrivacyBudget
from skdp.data.records import Records
from skdp.model_selection import DPGridSearchCV

rng = np.random.default_rng(0)
GROUPS = rng.permutation(np.repeat(np.arange(80), rng.integers(1, 6, 80)))
X = 0.5 * rng.normal(size=(len(GROUPS), 2))
y = (X[:, 0] + 0.2 * rng.normal(size=len(X)) > 0).astype(int)
GRID = {"data_norm": [0.5, 1.0]}


def search(model=None, **more):
    return DPGridSearchCV(model or DPLogisticRegression(), GRID, **more)


@pytest.mark.parametrize("method", ["all", "repeat"])
def test_whole_persons_judge_or_are_learned_from(monkeypatch, method, neighboring):
    seen, take = [], Records.chosen

    def spied(self, records):
        seen.append(set(GROUPS[np.isin(self.X[:, 0], take(self, records).X[:, 0])]))
        return take(self, records)

    monkeypatch.setattr(Records, "chosen", spied)
    found = search(method=method, neighboring=neighboring).fit(X, y, groups=GROUPS)
    assert found.privacy_.unit == found.best_estimator_.privacy_.unit == "person"
    judges, others = seen[-2:]
    assert not judges & others
    assert len(judges | others) == 80
    assert neighboring == "add_remove_one" or len(judges) == 16


@pytest.mark.parametrize("regresses", [False, True])
def test_a_person_changes_a_score_by_one_at_most(regresses):
    """Exact: any rows of one person who judges, in place of any others or of none."""
    model = DPHuberRegressor(target_bounds=(0.0, 1.0)) if regresses else DPLogisticRegression()
    asked = search(model, epsilon=5.0).fit(X, y, groups=GROUPS)
    scores = []
    for count in (0, 1, 7, 50):
        for label in (0, 1):
            groups = np.r_[np.arange(80), np.full(count, 80)]
            labels = np.r_[np.arange(80) % 2, np.full(count, label)]
            rows = np.r_[np.zeros((80, 2)), np.full((count, 2), 9.0)]
            records = Records.of_rows(rows, labels, groups)
            scores.append(asked._score(asked.best_estimator_, records))
    assert max(scores) - min(scores) <= 1.0 + 1e-9


def test_the_last_step_of_a_pipeline_gets_the_groups():
    grid = {"dplogisticregression__data_norm": [0.5, 1.0]}
    pipeline = make_pipeline(Normalizer(), DPLogisticRegression())
    found = DPGridSearchCV(pipeline, grid).fit(X, y, groups=GROUPS)
    assert found.best_estimator_[-1].privacy_.unit == "person"
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(Normalizer(), DPLogisticRegression().set_fit_request(groups=True))
        found = DPGridSearchCV(pipeline, grid).fit(X, y, groups=GROUPS)
    assert found.best_estimator_[-1].privacy_.unit == "person"


def test_bad_groups_and_budgets_of_records_are_refused_before_the_spend():
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, unit="person")
    for groups, match in [(GROUPS[1:], "one value for each"), (None, "persons with groups=")]:
        with pytest.raises(ValueError, match=match):
            search(budget=budget).fit(X, y, groups=groups)
    assert budget.history() == []
    search(budget=budget).fit(X, y, groups=GROUPS)
    assert len(budget.history()) == 1
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5)
    with pytest.raises(ValueError, match=r"unit='record'.*Nothing was spent\."):
        search(budget=budget).fit(X, y, groups=GROUPS)
    assert budget.history() == []


class Forgetful(DPLogisticRegression):
    def fit(self, X, y, groups=None):
        return super().fit(X, y)


def test_a_fit_of_another_unit_than_the_search_is_refused_before_the_spend():
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, unit="person")
    forgetful = DPGridSearchCV(Forgetful(classes=[0, 1]), {"C": [0.1, 1.0]}, budget=budget)
    with pytest.raises(ValueError, match=r"does not protect a person.*Nothing was spent"):
        forgetful.fit(np.ones((40, 2)), np.arange(40) % 2, groups=np.arange(40) // 2)
    assert budget.history() == []
