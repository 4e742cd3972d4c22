"""Pipelines of private steps: all of them spend, or none does."""

import inspect
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import all_estimators

from skdp import (
    DPGaussianNB,
    DPHingeClassifier,
    DPLinearRegression,
    DPLogisticRegression,
    PrivacyBudget,
)
from skdp.exceptions import BudgetExceededError, PrivacyLeakError
from skdp.pipeline import PrivatePipeline, make_private_pipeline
from skdp.preprocessing import DPMinMaxScaler, DPQuantileClipper, DPStandardScaler
from skdp.research.solvers.phased_sgd import PhasedSGD
from skdp.solvers import DPSGD, SOLVERS, NoisyGD

X = np.random.default_rng(0).normal(size=(200, 2))
Y = (X[:, 0] > 0).astype(int)
BOUNDS = (-10, 10)
SCALERS = [DPStandardScaler(bounds=BOUNDS), DPMinMaxScaler(bounds=BOUNDS)]
SCALERS += [DPQuantileClipper(bounds=BOUNDS), DPStandardScaler(bounds=BOUNDS, noise="laplace")]
MODELS = {name: DPLinearRegression(solver=name, target_bounds=(0, 1)) for name in SOLVERS}
MODELS |= {
    sampler: DPLogisticRegression(sampler=sampler)
    for sampler in ("exact", "langevin", "proximal_tv", "localized")
}
MODELS |= {
    "classifier": DPHingeClassifier(solver=DPSGD(n_steps=5)),
    "regressor": DPLinearRegression(solver=DPSGD(n_steps=5), target_bounds=(0, 1)),
    "naive Bayes": DPGaussianNB(bounds=BOUNDS),
    "naive Bayes, Laplace": DPGaussianNB(bounds=BOUNDS, noise="laplace"),
}
GAUSSIAN = {"auto", "regularized_exponential", "noisy_gd", "output_perturbation", "adassp"}
GAUSSIAN |= {"phased_sgd", "coordinate_descent", "exact", "langevin", "naive Bayes"}


def assert_all_is_spent(steps, least=0.99, **more):
    model = make_private_pipeline(*steps, epsilon=1.0, **more)
    budget = model[-1].budget
    assert not budget.history()
    model.fit(X, Y)
    assert len(budget.history()) == len(steps)
    assert least < budget.spent.epsilon <= 1.0
    assert budget.spent.delta <= 1e-5
    return budget


@pytest.mark.parametrize("name", MODELS)
def test_a_made_budget_admits_every_model(name):
    budget = assert_all_is_spent([SCALERS[0], MODELS[name]])
    assert budget.composition == ("gdp" if name in GAUSSIAN else "basic")


@pytest.mark.parametrize("composition", ["gdp", "zcdp", "rdp", "basic"])
@pytest.mark.parametrize("name", MODELS)
def test_a_given_budget_admits_all_steps_or_is_refused_before_any(name, composition):
    steps, budget = (
        [SCALERS[0], MODELS[name]],
        PrivacyBudget(epsilon=1.0, delta=1e-5, composition=composition),
    )
    if composition == "basic" or name in GAUSSIAN:
        assert_all_is_spent(steps, budget=budget)
        return
    with pytest.raises(ValueError, match="composition='basic'"):
        make_private_pipeline(*steps, budget=budget)
    assert not budget.history()


@pytest.mark.parametrize("composition", [None, "gdp", "zcdp", "rdp", "basic"])
@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_every_scaler_leaves_enough_for_the_model(scaler, composition):
    if composition is None or (composition != "basic" and scaler.get_params().get("noise") is None):
        budget = composition and PrivacyBudget(epsilon=1.0, delta=1e-5, composition=composition)
        assert_all_is_spent([scaler, DPLogisticRegression()], least=0.95, budget=budget)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("composition", ["gdp", "zcdp", "rdp", "basic"])
def test_a_part_of_a_larger_budget_costs_that_part(composition, epsilon):
    budget = PrivacyBudget(epsilon=10.0, delta=1e-5, composition=composition).share(epsilon=9.0)
    steps = SCALERS[0], SCALERS[2], DPLogisticRegression(solver=PhasedSGD())
    make_private_pipeline(*steps, epsilon=epsilon, budget=budget, model_share=0.5).fit(X, Y)
    assert len(budget.history()) == 3
    if composition != "rdp":  # which looks at one order, chosen for the whole budget
        assert 0.9 * epsilon < budget.spent.epsilon <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("composition", ["gdp", "zcdp", "rdp", "basic"])
def test_a_budget_with_too_little_left_is_refused_before_any_step_spends(composition):
    budget = PrivacyBudget(epsilon=2.0, delta=1e-5, composition=composition)
    DPLogisticRegression(epsilon=1.5, delta=5e-6, budget=budget).fit(X, Y)
    steps = SCALERS[0], DPLogisticRegression(solver=NoisyGD())
    with pytest.raises(ValueError, match="cost more than the rest"):
        make_private_pipeline(*steps, epsilon=1.9, budget=budget)
    with pytest.raises(ValueError, match="cost more than the rest"):
        make_private_pipeline(*steps, epsilon=2.1, budget=PrivacyBudget(epsilon=2.0, delta=1e-5))


@pytest.mark.parametrize("epsilon", [1e-5, 1e-6])
def test_an_epsilon_that_leaves_nothing_for_a_step_is_refused(epsilon):
    with pytest.raises(ValueError, match="too small for"):
        make_private_pipeline(SCALERS[0], DPLogisticRegression(), epsilon=epsilon)


FRAME = pd.DataFrame(X, columns=["a", "b"])
NAMED = {"a": BOUNDS, "b": BOUNDS}
LOGISTIC, LINEAR = DPLogisticRegression, DPLinearRegression
WRONG = {
    "loss of another solver": ({}, LOGISTIC(solver="adassp")),
    "Gaussian noise at delta 0": ({"delta": 0.0}, LINEAR(solver="adassp", target_bounds=(0, 1))),
    "names behind an array": ({}, DPGaussianNB(bounds=NAMED)),
    "no target_bounds": ({}, LINEAR()),
    "no bounds": ({}, DPGaussianNB()),
    "negative C": ({}, LOGISTIC(C=-1.0)),
    "wrong priors": ({}, DPGaussianNB(bounds=BOUNDS, priors=[1.0])),
    "class outside": ({}, LOGISTIC(classes=(5, 6))),
    "missing label": ({"y": np.where(Y, np.nan, 1.0)}, LOGISTIC()),
    "missing target": ({"y": np.where(Y, np.nan, 1.0)}, LINEAR(target_bounds=(0, 1))),
    "rows without labels": ({"y": Y[1:]}, LOGISTIC()),
    "no max_weight": ({"sample_weight": np.ones(200)}, LOGISTIC()),
    "missing weight": ({"sample_weight": np.where(Y, np.nan, 1.0)}, LOGISTIC(max_weight=2.0)),
    "no such argument": ({"wait": 3}, LOGISTIC()),
}


@pytest.mark.parametrize(
    ("wrong", "scaler"),
    [*zip(WRONG, itertools.cycle([*SCALERS[:3], make_pipeline(SCALERS[2], SCALERS[0])]))],
    ids=repr,
)
def test_nothing_is_spent_where_the_model_is_refused(wrong, scaler):
    given, model = WRONG[wrong]
    given = {"y": Y, "delta": 1e-5} | given
    steps = [step for _, step in getattr(scaler, "steps", [("", scaler)])]
    pipeline = make_private_pipeline(*steps, model, delta=given.pop("delta"))
    y, name = given.pop("y"), pipeline.steps[-1][0]
    with pytest.raises((ValueError, TypeError)) as refusal:
        pipeline.fit(FRAME, y, **{f"{name}__{key}": value for key, value in given.items()})
    assert pipeline[0].budget.history() == []
    assert not hasattr(pipeline[0], "privacy_")
    said = str(refusal.value) + "".join(getattr(refusal.value, "__notes__", ()))
    assert wrong == "no such argument" or said.endswith("Nothing was spent.")


def test_frames_that_scalers_return_are_known_by_name_in_the_rehearsal():
    pipeline = make_private_pipeline(DPQuantileClipper(bounds=NAMED), DPGaussianNB(bounds=NAMED))
    pipeline.set_output(transform="pandas").fit(FRAME, Y)
    assert len(pipeline[0].budget.history()) == 2


def test_rows_between_the_steps_are_such_as_a_scaler_may_release():
    within = FunctionTransformer(lambda rows: np.log(rows - BOUNDS[0]))
    clipped = DPQuantileClipper(bounds=(-9, 9))
    make_private_pipeline(clipped, within, LOGISTIC(data_norm=3.0)).fit(X, Y)
    inverse = FunctionTransformer(np.arcsin)
    make_private_pipeline(SCALERS[1], inverse, LOGISTIC()).fit(X, Y)


@pytest.mark.parametrize("composition", ["gdp", "zcdp", "rdp", "basic"])
def test_a_second_fit_is_refused_before_its_first_step_spends(composition):
    budget = PrivacyBudget(epsilon=1.2, delta=1e-5, composition=composition)
    pipeline = make_private_pipeline(SCALERS[0], LOGISTIC(), epsilon=1.0, delta=5e-6, budget=budget)
    pipeline.fit(X, Y)
    with pytest.raises(BudgetExceededError, match=r"DPLogisticRegression costs.*Nothing was spent"):
        pipeline.fit(X, Y)
    assert len(budget.history()) == 2


def test_a_budget_that_is_none_is_refused_by_its_step():
    pipeline = make_private_pipeline(SCALERS[0], LOGISTIC())
    pipeline.set_params(dplogisticregression__budget="mine")
    with pytest.raises(ValueError, match="budget must be a PrivacyBudget"):
        pipeline.fit(X, Y)
    assert pipeline[0].budget.history() == []


def test_steps_of_other_budgets_are_foreseen_each_by_its_own():
    pipeline = make_private_pipeline(SCALERS[0], LOGISTIC())
    other = PrivacyBudget(epsilon=1.0, delta=1e-5)
    pipeline.set_params(dplogisticregression__budget=other, dplogisticregression__epsilon=1.0)
    pipeline.fit(X, Y)
    assert len(pipeline[0].budget.history()) == len(other.history()) == 1


class Foreign(BaseEstimator):
    """A step of another library that spends."""

    def __init__(self, epsilon=1.0, delta=None, neighboring="replace_one", budget=None):
        self.epsilon, self.delta = epsilon, delta
        self.neighboring, self.budget = neighboring, budget

    def fit(self, X, y):
        self.n_fits_ = getattr(self, "n_fits_", 0) + 1
        return self


def test_a_step_of_another_library_is_fitted_once():
    pipeline = make_private_pipeline(SCALERS[0], SCALERS[2], Foreign()).fit(X, Y)
    assert pipeline[-1].n_fits_ == 1
    assert len(pipeline[0].budget.history()) == 2


def test_it_is_a_pipeline_of_scikit_learn():
    budget = PrivacyBudget(epsilon=50.0, delta=1e-5)
    steps = SCALERS[0], LOGISTIC(data_norm=3.0, max_weight=1.0)
    pipeline = make_private_pipeline(*steps, budget=budget)
    assert isinstance(pipeline, Pipeline)
    assert set(clone(pipeline).get_params()) == set(pipeline.get_params())
    assert pipeline.named_steps["dpstandardscaler"] is pipeline[0]
    assert pipeline[:1].fit_transform(X).shape == X.shape
    assert not hasattr(pipeline, "fit_transform")
    grid = {"dplogisticregression__data_norm": [2.0, 3.0]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, Y)
    assert type(search.best_estimator_) is type(pipeline)
    assert search.predict(X).shape == Y.shape
    assert len(budget.history()) == 1 + 2 * (2 * 2 + 1)
    fitted = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(fitted.predict(X), search.predict(X))
    grid = {"dpstandardscaler": ["passthrough", clone(SCALERS[0]).set_params(budget=budget)]}
    GridSearchCV(pipeline, grid, cv=2, refit=False).fit(X, Y)
    assert len(budget.history()) == 11 + 2 * 3


@pytest.mark.parametrize("routing", [False, True])
def test_weights_reach_the_model_and_its_rehearsal(routing):
    model = LOGISTIC(max_weight=1.0)
    with config_context(enable_metadata_routing=routing):
        if routing:
            model.set_fit_request(sample_weight=True)
            SCALERS[0].set_fit_request(sample_weight=False)
        pipeline = make_private_pipeline(SCALERS[0], model)
        name = "sample_weight" if routing else "dplogisticregression__sample_weight"
        with pytest.raises(ValueError, match="sample_weight"):
            pipeline.fit(X, Y, **{name: np.ones(3)})
        assert pipeline[0].budget.history() == []
        pipeline.fit(X, Y, **{name: np.ones(200)})
        assert len(pipeline[0].budget.history()) == 2


def test_a_step_with_a_budget_of_its_own_is_refused(budget):
    steps = [SCALERS[0], DPLogisticRegression(budget=budget)]
    with pytest.raises(ValueError, match="DPLogisticRegression has its own budget"):
        make_private_pipeline(*steps)
    with pytest.raises(ValueError, match="has its own budget"):
        make_private_pipeline(*steps, budget=PrivacyBudget(epsilon=1.0, delta=1e-5))
    assert make_private_pipeline(*steps, epsilon=0.5, budget=budget)[-1].budget is budget


def test_steps_on_the_same_rows_have_one_partition(budget):
    scaler = DPStandardScaler(bounds=(0, 1), budget=budget.at(partition="a"))
    X, y = np.eye(20), np.arange(20) % 2
    for partition, said in (("b", "different partitions"), ("a", None), (None, None)):
        model = DPLogisticRegression(budget=budget.at(partition=partition))
        pipeline = PrivatePipeline([("scaler", scaler), ("model", model)])
        if said is None:
            pipeline.fit(X, y)
            continue
        with pytest.raises(ValueError, match=said):
            pipeline.fit(X, y)
        assert budget.history() == []


def test_the_guarantee_of_a_pipeline_is_that_of_all_its_steps_together():
    model = make_private_pipeline(SCALERS[0], DPGaussianNB(bounds=BOUNDS), epsilon=1.0)
    with pytest.raises(AttributeError, match="not fitted"):
        _ = model.privacy_
    found = model.fit(X, Y).privacy_
    assert found.epsilon(1e-5) == pytest.approx(model[-1].budget.spent.epsilon, rel=1e-6)
    assert all(step.privacy_.theorem in found.theorem for step in model)
    alone = make_private_pipeline(DPGaussianNB(bounds=BOUNDS)).fit(X, Y)
    assert alone.privacy_ == alone[-1].privacy_


def test_a_pipeline_is_priced_in_a_budget_of_persons():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, unit="person")
    model = make_private_pipeline(SCALERS[0], DPLogisticRegression(), budget=budget)
    price = budget.price(model, (200, 2))
    assert price == budget.price(model, (200, 2), groups=np.arange(200))
    assert price.admitted
    assert price.n_releases == 2


BRANCHES = {
    "columns": ColumnTransformer(
        [("a", SCALERS[0], [0]), ("b", make_pipeline(SCALERS[2], SCALERS[1]), [1])], n_jobs=2
    ),
    "union": FeatureUnion([("one", SCALERS[0]), ("two", SCALERS[1]), ("three", SCALERS[2])]),
    "remainder": ColumnTransformer([("a", make_pipeline(*SCALERS[:2]), [0])], remainder=SCALERS[2]),
}


@pytest.mark.parametrize("branches", BRANCHES.values(), ids=BRANCHES)
def test_each_branch_is_a_step_that_spends(branches):
    pipeline = make_private_pipeline(branches, LOGISTIC(), epsilon=2.0)
    budget = pipeline[-1].budget
    assert budget.price(pipeline, (200, 2)).n_releases == 4
    with pytest.raises(ValueError, match="Nothing was spent"):
        pipeline.fit(X, np.where(Y, np.nan, 1.0))
    assert budget.history() == []
    pipeline.fit(X, Y)
    assert len(budget.history()) == 4
    assert 1.9 < budget.spent.epsilon <= 2.0
    assert pipeline.privacy_.epsilon(1e-5) == pytest.approx(budget.spent.epsilon, rel=0.02)
    with pytest.raises(ValueError, match="has no counterpart"):
        pipeline.to_sklearn()


def test_branches_may_return_frames():
    columns = ColumnTransformer([("p", SCALERS[0], ["a"]), ("q", SCALERS[1], ["b"])])
    pipeline = make_private_pipeline(columns.set_output(transform="pandas"), LOGISTIC())
    assert pipeline.fit(FRAME, Y)[-1].feature_names_in_.tolist() == ["p__a", "q__b"]


def test_branches_that_learn_or_have_another_budget_are_refused(budget):
    learns = ColumnTransformer([("a", SCALERS[0], [0]), ("b", StandardScaler(), [1])])
    with pytest.raises(PrivacyLeakError, match="StandardScaler"):
        make_private_pipeline(learns, LOGISTIC())
    chooses = ColumnTransformer([("a", SCALERS[0], lambda X: [0])])
    with pytest.raises(PrivacyLeakError, match="function of the values"):
        make_private_pipeline(chooses, LOGISTIC())
    other = FeatureUnion([("one", clone(SCALERS[0]).set_params(budget=budget))])
    with pytest.raises(ValueError, match="has its own budget"):
        make_private_pipeline(other, LOGISTIC())


def test_branches_get_groups_by_metadata_routing():
    columns, groups = ColumnTransformer([("a", SCALERS[0], [0, 1])]), np.arange(200) // 2
    with pytest.raises(ValueError, match="by metadata routing only"):
        make_private_pipeline(columns, LOGISTIC(), unit="person").fit(X, Y, groups=groups)
    with config_context(enable_metadata_routing=True):
        scaler = clone(SCALERS[0]).set_fit_request(groups=True)
        model = LOGISTIC().set_fit_request(groups=True, sample_weight=False)
        columns = ColumnTransformer([("a", scaler, [0, 1])])
        pipeline = make_private_pipeline(columns, model, unit="person").fit(X, Y, groups=groups)
    assert pipeline.privacy_.unit == "person"


WITH_OTHER_EPSILON = [
    kind for _, kind in all_estimators() if "epsilon" in inspect.signature(kind).parameters
]


@pytest.mark.filterwarnings("ignore::FutureWarning")  # one of them is deprecated
@pytest.mark.parametrize("kind", WITH_OTHER_EPSILON)
def test_an_epsilon_of_scikit_learn_is_no_cost(kind):
    """It is the width of a loss."""
    with pytest.raises(PrivacyLeakError, match=kind.__name__):
        make_private_pipeline(DPStandardScaler(bounds=(0, 1)), kind(), epsilon=1.0)
