"""Pipelines of which every step that spends is told whose each row is."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

from skdp import DPPCA, DPKMeans, DPLinearRegression, DPLogisticRegression, PrivacyBudget
from skdp.pipeline import check_pipeline, make_private_pipeline
from skdp.preprocessing import BoundsScaler, DPStandardScaler

RNG = np.random.default_rng(0)
WHOSE = np.repeat(np.arange(200), RNG.integers(1, 5, 200))
X = RNG.normal(size=(WHOSE.size, 2))
Y = (X[:, 0] > 0).astype(int)
BOUNDS = (-10, 10)
SCALER = DPStandardScaler(bounds=BOUNDS)
PCA = DPPCA(n_components=1, bounds=(-100, 100))


class OfRecords(BaseEstimator):
    """A private model of another library, whose fit takes no groups."""

    def __init__(self, epsilon=1.0, delta=None, neighboring="replace_one", budget=None):
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget

    def fit(self, X, y=None):
        raise AssertionError("was told of no persons, and is fitted")


def units(pipeline):
    return [step.privacy_.unit for step in pipeline if hasattr(step, "privacy_")]


@pytest.mark.parametrize("composition", [None, "gdp", "basic"])
@pytest.mark.parametrize("last", [DPLogisticRegression(), DPKMeans(epsilon=2, bounds=BOUNDS)])
def test_groups_reach_every_step_that_spends(last, composition):
    terms = {"unit": "person"}
    if composition is not None:
        terms = {
            "budget": PrivacyBudget(epsilon=1.0, delta=1e-5, composition=composition, unit="person")
        }
    steps = BoundsScaler(bounds=BOUNDS), SCALER, PCA, last
    pipeline = make_private_pipeline(*steps, **terms).fit(X, Y, groups=WHOSE)
    assert units(pipeline) == ["person"] * 3
    budget = pipeline[-1].budget
    assert len(budget.history()) == 3
    assert 0.95 < budget.spent.epsilon <= 1.0


def test_coordinates_are_those_of_a_fit_of_persons():
    pipeline = make_private_pipeline(SCALER, PCA, unit="person")
    assert pipeline.fit_transform(X, groups=WHOSE).shape == (WHOSE.size, 1)
    assert units(pipeline) == ["person"] * 2


@pytest.mark.parametrize(
    ("unit", "given", "message"),
    [
        ("record", {"groups": WHOSE}, "unit='record'"),
        ("person", {}, "unit='person'"),
        ("person", {"groups": None}, "unit='person'"),
        ("person", {"groups": WHOSE[1:]}, "one value for each row"),
        ("person", {"dpstandardscaler__groups": WHOSE}, "DPLogisticRegression protects one record"),
        ("person", {"dplogisticregression__groups": WHOSE}, "DPStandardScaler protects one record"),
    ],
)
def test_units_are_never_mixed_and_nothing_is_spent(unit, given, message):
    pipeline = make_private_pipeline(SCALER, DPLogisticRegression(), unit=unit)
    with pytest.raises(ValueError, match=message):
        pipeline.fit(X, Y, **given)
    assert pipeline[0].budget.history() == []


def test_a_step_that_takes_no_groups_is_refused_before_any_is_fitted():
    pipeline = make_private_pipeline(SCALER, OfRecords(), unit="person")
    with pytest.raises(ValueError, match="OfRecords takes no groups"):
        pipeline.fit(X, Y, groups=WHOSE)
    solver = DPLinearRegression(solver="phased_sgd", target_bounds=(0, 1))
    pipeline = make_private_pipeline(SCALER, solver, unit="person")
    with pytest.raises(ValueError, match="cannot protect a person"):
        pipeline.fit(X, Y, groups=WHOSE)
    assert pipeline[0].budget.history() == []


def test_a_unit_that_is_not_the_budgets_is_refused():
    with pytest.raises(ValueError, match="differs from the unit of the budget"):
        make_private_pipeline(SCALER, unit="person", budget=PrivacyBudget(epsilon=1.0, delta=1e-5))
    with pytest.raises(ValueError, match="unit"):
        make_private_pipeline(SCALER, unit="household")


@pytest.mark.parametrize("made", [True, False], ids=["private pipeline", "pipeline"])
def test_groups_are_routed_to_the_steps_that_request_them(made):
    with config_context(enable_metadata_routing=True):
        budget = PrivacyBudget(epsilon=3.0, delta=1e-5, unit="person")
        scaler = DPStandardScaler(bounds=BOUNDS, budget=budget).set_fit_request(groups=True)
        pca = DPPCA(n_components=1, bounds=(-9, 9), budget=budget).set_fit_request(groups=True)
        model = DPLogisticRegression(budget=budget).set_fit_request(groups=True)
        steps = scaler, pca, model
        pipeline = make_private_pipeline(*steps, budget=budget) if made else make_pipeline(*steps)
        pipeline.fit(X, Y, groups=WHOSE)
        assert units(pipeline) == ["person"] * 3
        assert len(budget.history()) == 3


@pytest.mark.parametrize("request_of", [None, False])
def test_a_step_that_requests_no_groups_is_refused(request_of):
    """By scikit-learn if nothing was said, by the budget if it is to have none."""
    with config_context(enable_metadata_routing=True):
        scaler, model = DPStandardScaler(bounds=BOUNDS), DPLogisticRegression()
        model.set_fit_request(groups=True)
        if request_of is False:
            scaler.set_fit_request(groups=False)
        pipeline = make_private_pipeline(scaler, model, unit="person")
        with pytest.raises(ValueError, match="groups"):
            pipeline.fit(X, Y, groups=WHOSE)
        assert pipeline[0].budget.history() == []


def test_steps_of_a_plain_pipeline_are_given_groups_by_name():
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, unit="person")
    scaler = DPStandardScaler(bounds=BOUNDS, budget=budget)
    pipeline = make_pipeline(scaler, DPLogisticRegression(budget=budget))
    given = {"dpstandardscaler__groups": WHOSE, "dplogisticregression__groups": WHOSE}
    assert units(pipeline.fit(X, Y, **given)) == ["person"] * 2


def test_the_check_of_leaks_asks_for_no_groups():
    assert check_pipeline(make_private_pipeline(SCALER, PCA, unit="person")) == []
