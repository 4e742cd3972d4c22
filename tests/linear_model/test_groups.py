"""Several rows a person: they are protected together, and count together as one record."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from audit_bounds import lower_bound
from linear_models import CLASSIFIERS, LEAST_SQUARES, REGRESSORS, reading
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from test_audit import EPSILON, claimed_mu, pull

from skdp import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPHingeClassifier,
    DPLinearRegression,
    DPLogisticRegression,
    DPRandomForestRegressor,
    DPTabularClassifier,
    PrivacyBudget,
)
from skdp.data.records import Records
from skdp.exceptions import IncompatibleSolverError
from skdp.features import RandomFourierFeatures
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.research.solvers.coordinate_descent import CoordinateDescent
from skdp.solvers import DPSGD, SOLVERS, NoisyGD, RegularizedExponential, Solution

rng = np.random.default_rng(0)
N_PERSONS = 60
COUNTS = rng.integers(1, 8, N_PERSONS)
GROUPS = rng.permutation(np.repeat(np.arange(N_PERSONS), COUNTS))
X = 0.5 * rng.normal(size=(len(GROUPS), 3))
y = (X[:, 0] + 0.2 * rng.normal(size=len(X)) > 0).astype(int)
TAKING = [name for name, kind in SOLVERS.items() if kind.takes_persons]
ON_TWO = [name for name in TAKING if name not in ("adassp", "exponential_mechanism")]
MAPPED = [
    DPAdditiveClassifier(bounds=(-1.0, 1.0)),
    DPAdditiveClassifier(bounds="auto"),
    DPAdditiveRegressor(bounds=(-1.0, 1.0), target_bounds=(0.0, 1.0)),
    DPLogisticRegression(features=RandomFourierFeatures(bounds=(-1.0, 1.0))),
    DPRandomForestRegressor(bounds=(-1.0, 1.0), target_bounds=(0.0, 1.0)),
    DPTabularClassifier(bounds=(-1.0, 1.0)),
]


@dataclass(frozen=True)
class Spy(RegularizedExponential):
    """Keeps what a real solver would have read, and releases a constant."""

    seen: ClassVar[list] = []

    def plan(self, problem, epsilon, delta):
        return reading(super().plan(problem, epsilon, delta), self.read)

    def read(self, plan, design, rng, progress):
        self.seen[:] = [plan, design]
        return Solution(np.ones(plan.problem.shape(design.n_features)), 7)


def seen_by_solver(model, *data, **more):
    model.set_params(solver=Spy()).fit(*data, **more)
    return Spy.seen


@pytest.mark.parametrize("Model", CLASSIFIERS + REGRESSORS)
def test_the_weights_of_a_person_add_up_to_that_of_one_record(Model):
    plan, design = seen_by_solver(Model(), X, y, groups=GROUPS)
    weights = design.inner.targets["weight"]
    np.testing.assert_allclose(np.bincount(GROUPS, weights), 1.0)
    assert plan.problem.n_samples == design.n_records == N_PERSONS
    assert plan.problem.loss.largest == 1.0
    assert design.n_samples == len(X)


def test_with_sample_weight_they_add_up_to_the_mean_of_the_weights_given():
    given = rng.uniform(0.0, 4.0, len(X))
    model = DPLogisticRegression(max_weight=3.0)
    plan, design = seen_by_solver(model, X, y, sample_weight=given, groups=GROUPS)
    means = np.bincount(GROUPS, np.minimum(given, 3.0)) / COUNTS
    np.testing.assert_allclose(np.bincount(GROUPS, design.inner.targets["weight"]), means)
    assert plan.problem.loss.largest == 3.0
    with pytest.raises(ValueError, match="max_weight"):
        DPLogisticRegression().fit(X, y, sample_weight=given, groups=GROUPS)


def test_of_many_rows_of_a_person_some_are_kept():
    _, design = seen_by_solver(DPLogisticRegression(max_rows=2), X, y, groups=GROUPS)
    kept = np.minimum(COUNTS, 2)
    assert design.n_samples == kept.sum()
    np.testing.assert_allclose(
        np.sort(design.inner.targets["weight"]), np.sort(np.repeat(1 / kept, kept))
    )


def test_of_very_many_rows_of_a_person_some_are_kept():
    """Rounding errors are bounded for so many rows of a person."""
    n, most = 20_000, 1 << 14
    rows, groups = np.resize(X, (n, X.shape[1])), np.minimum(np.arange(n), 5)
    _, design = seen_by_solver(DPLogisticRegression(), rows, np.resize(y, n), groups=groups)
    assert design.n_samples == most + 5


def test_without_privacy_all_rows_of_a_person_are_kept(monkeypatch):
    kept, original = [], Records.kept

    def spy(self, max_rows, rng):
        kept.append(original(self, max_rows, rng))
        return kept[-1]

    monkeypatch.setattr(Records, "kept", spy)
    n = 20_000
    rows = np.resize(X, (n, X.shape[1]))
    DPLogisticRegression(epsilon=np.inf).fit(rows, np.resize(y, n), groups=np.zeros(n))
    assert kept[-1].n_rows == n


def test_a_sample_holds_whole_persons():
    labeled = np.c_[X, GROUPS]
    model = DPLogisticRegression(subsample=0.5, data_norm=1e9)
    plan, design = seen_by_solver(model, labeled, y, groups=GROUPS)
    ids = np.rint(design.inner.in_memory().X[:, -1]).astype(int)
    np.testing.assert_array_equal(np.bincount(ids)[np.unique(ids)], COUNTS[np.unique(ids)])
    assert plan.problem.n_samples == round(0.5 * N_PERSONS)
    assert design.n_records == np.unique(ids).size


CLIPPING = ("objective_perturbation", "auto", "noisy_gd")
SAME = [name for name in ON_TWO if name not in CLIPPING]
SAME += [NoisyGD(clip_share=1.0)]


@pytest.mark.parametrize("solver", SAME, ids=repr)
def test_persons_of_one_row_are_records(solver, neighboring):
    """The same noise on the same sums; what is released is rounded to a public grid."""
    model = DPLogisticRegression(solver=solver, neighboring=neighboring, random_state=0)
    alone = model.fit(X, y).coef_
    shared = model.fit(X, y, groups=np.arange(len(X))).coef_
    np.testing.assert_allclose(shared, alone, atol=1e-6)


@pytest.mark.parametrize("solver", [DPSGD(20, clip_norm=0.1), NoisyGD(clip_share=0.5)], ids=repr)
def test_clipped_sums_of_persons_of_one_row_are_those_of_records(solver, monkeypatch):
    """Without noise: its scale covers the rounding errors of a person's rows besides."""
    monkeypatch.setattr(GridGaussian, "noise", lambda self, size, rng: np.zeros(size, np.int64))
    test_persons_of_one_row_are_records(solver, "replace_one")


@pytest.mark.parametrize("model", MAPPED, ids=repr)
def test_models_of_public_features_take_persons(model):
    fitted = model.fit(X, y, groups=GROUPS)
    assert fitted.privacy_.unit == "person"
    assert "of a person" in str(fitted.privacy_)


def test_least_squares_takes_persons_by_its_moments():
    model = DPLinearRegression(
        epsilon=100.0, solver="adassp", target_bounds=(-1.0, 1.0), random_state=0
    )
    model.fit(X, X[:, 0], groups=GROUPS)
    weights = 1.0 / COUNTS[GROUPS]
    given = DPLinearRegression(epsilon=float("inf")).fit(X, X[:, 0], sample_weight=weights)
    assert model.privacy_.unit == "person"
    assert model.score(X, X[:, 0]) > 0.5
    same = DPLinearRegression(epsilon=float("inf")).fit(X, X[:, 0], groups=GROUPS)
    np.testing.assert_allclose(same.coef_, given.coef_, atol=1e-12)
    with_weights = LEAST_SQUARES(solver="adassp", max_weight=1.0)
    with_weights.fit(X, X[:, 0], sample_weight=weights, groups=GROUPS)


@pytest.mark.parametrize("solver", TAKING)
def test_a_budget_of_persons_admits_fits_with_groups_alone(solver):
    Model = LEAST_SQUARES if solver == "adassp" else DPLogisticRegression
    few = {"epsilon": 0.1} if solver == "exponential_mechanism" else {}
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, unit="person")
    model = Model(solver=solver, budget=budget, **few)
    with pytest.raises(ValueError, match=r"protects one record.*Nothing was spent\."):
        model.fit(X[:, :1], y)
    assert budget.history() == []
    model.fit(X[:, :1], y, groups=GROUPS)
    assert len(budget.history()) == 1
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5)
    with pytest.raises(ValueError, match=r"unit='record'.*Nothing was spent\."):
        model.set_params(budget=budget).fit(X[:, :1], y, groups=GROUPS)
    assert budget.history() == []


BAD = {
    "another length": (GROUPS[1:], {}, ValueError, "one value for each row"),
    "NaN": (np.where(GROUPS == 3, np.nan, GROUPS), {}, ValueError, "missing values"),
    "None": ([None, *GROUPS[1:].tolist()], {}, ValueError, "missing values"),
    "a solver of rows": (
        GROUPS,
        {"solver": "phased_sgd"},
        IncompatibleSolverError,
        "a person with",
    ),
    "no rows kept": (GROUPS, {"max_rows": 0}, ValueError, "max_rows must be"),
    "rows kept of nobody": (None, {"max_rows": 2}, ValueError, "needs groups"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_groups_are_refused_before_the_spend(case):
    groups, parameters, error, match = BAD[case]
    unit = "record" if groups is None else "person"
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, unit=unit)
    with pytest.raises(error, match=match) as caught:
        DPLogisticRegression(budget=budget, **parameters).fit(X, y, groups=groups)
    assert budget.history() == []
    assert str(caught.value).endswith("Nothing was spent.")


def test_dask_collections_with_groups_are_refused():
    array = pytest.importorskip("dask.array")
    rows, labels = array.from_array(X, chunks=(50, -1)), array.from_array(y, chunks=50)
    for groups in (GROUPS, array.from_array(GROUPS, chunks=50)):
        with pytest.raises(ValueError, match="rows outside of memory"):
            DPLogisticRegression().fit(rows, labels, groups=groups)
    with pytest.raises(ValueError, match="groups are outside of memory"):
        DPLogisticRegression().fit(X, y, groups=array.from_array(GROUPS, chunks=50))


def test_a_later_fit_of_records_does_not_add_to_one_of_persons():
    model = DPHingeClassifier(solver=DPSGD(n_steps=5), classes=(0, 1)).fit(X, y, groups=GROUPS)
    before = model.privacy_
    with pytest.raises(ValueError, match="groups in every call"):
        model.partial_fit(X, y)
    assert model.privacy_ == before
    model.partial_fit(X, y, groups=GROUPS)
    assert model.privacy_.unit == "person"
    assert model.privacy_.epsilon(1e-5) > before.epsilon(1e-5)


def test_the_default_for_persons_clips_their_rows_together():
    assert DPLogisticRegression().fit(X, y).solver_ == "regularized_exponential"
    assert DPLogisticRegression().fit(X, y, groups=GROUPS).solver_ == "noisy_gd"
    drawn = DPLogisticRegression(sampler="proximal").fit(X, y, groups=GROUPS)
    assert drawn.solver_ == "regularized_exponential"


def test_groups_are_metadata_that_can_be_routed():
    with config_context(enable_metadata_routing=True):
        model = DPLogisticRegression().set_fit_request(groups=True)
        pipeline = make_pipeline(Normalizer(), model).fit(X, y, groups=GROUPS)
    assert pipeline[-1].privacy_.unit == "person"


def worlds_of_persons(neighboring, rows=40):
    """One person of many rows, each at the bound, and two without any influence."""
    n = rows + 2
    data, groups = np.zeros((n, 1)), np.r_[np.zeros(rows), 1, 2]
    data[:rows] = 1e6  # clipped to 1
    labels = np.ones(n, dtype=int)
    if neighboring == "replace_one":
        return (data, labels, groups), (-data, labels, groups)
    return (data, labels, groups), tuple(part[rows:] for part in (data, labels, groups))


def pulls(model, neighboring, fits, *, protected=True):
    model.set_params(epsilon=EPSILON, neighboring=neighboring, fit_intercept=False)
    return [
        np.array([pull(model.fit(*data, groups=whose if protected else None)) for _ in range(fits)])
        for *data, whose in worlds_of_persons(neighboring)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        DPLogisticRegression(classes=(0, 1), solver=NoisyGD(20)),
        DPLogisticRegression(classes=(0, 1), solver="regularized_exponential"),
        DPLogisticRegression(classes=(0, 1), max_rows=3, solver="objective_perturbation"),
        DPLogisticRegression(classes=(0, 1), solver=DPSGD(5, sampling_rate=0.5)),
    ],
    ids=repr,
)
def test_the_claim_survives_an_attack_on_a_person_of_many_rows(model, neighboring):
    """False alarms: 1e-6, as in the audits of records."""
    assert lower_bound(*pulls(model, neighboring, 100)) <= claimed_mu(model)


ATTACKED = [
    NoisyGD(20),
    DPSGD(5, sampling_rate=0.5, clip_norm=0.1),
    CoordinateDescent(n_cycles=5),
    "regularized_exponential",
    "output_perturbation",
    "objective_perturbation",
]


@pytest.mark.slow
@pytest.mark.parametrize("solver", ATTACKED, ids=repr)
def test_the_claim_survives_a_long_attack_on_a_person_of_many_rows(solver, neighboring):
    model = DPLogisticRegression(classes=(0, 1), solver=solver)
    proved = lower_bound(*pulls(model, neighboring, 1000))
    assert 0.1 * claimed_mu(model) < proved <= claimed_mu(model)


def test_the_attack_catches_a_person_whose_rows_count_as_records():
    """Without groups the guarantee is that of a row, and 40 rows of one person refute it."""
    model = DPLogisticRegression(classes=(0, 1), solver=NoisyGD(5))
    high, low = pulls(model, "replace_one", 100, protected=False)
    assert lower_bound(high, low) > claimed_mu(model)
