"""Attacks on worst-case neighbors: what they prove never exceeds the claim.

Each audit fits many times on two neighboring data sets whose differing record is the only one
that pulls, guesses the data set from the coefficient, and turns its hit rates into a lower bound
on μ. The bound exceeds the truth with probability 1e-6 (Clopper and Pearson, over all thresholds),
so that a right claim fails with that probability. The audit must also reach a good part of the
claim: one that proves nothing would let any mistake pass. Short ones must tell the data sets apart
by a sixth of what they may, which is five standard deviations below what they do.
"""

import numpy as np
import pytest
from audit_bounds import lower_bound
from problems import problem_with
from sklearn.base import is_regressor

from skdp import (
    DPHingeClassifier,
    DPHuberRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
)
from skdp.accounting import gdp_mu
from skdp.design import ClippedDesign
from skdp.losses import SquaredLoss
from skdp.losses.weighted import WeightedLoss
from skdp.privacy import Neighboring
from skdp.research.solvers.coordinate_descent import CoordinateDescent
from skdp.research.solvers.phased_sgd import PhasedSGD
from skdp.solvers import DPSGD, AdaSSP, NoisyGD

MODELS = [
    DPLogisticRegression(classes=(0, 1)),
    DPHingeClassifier(classes=(0, 1)),
    DPHingeClassifier(classes=(0, 1, 2)),
    DPLogisticRegression(classes=(0, 1), class_weight={0: 0.5, 1: 20.0}),
    DPHingeClassifier(classes=(0, 1), C=1e-3),
    DPHuberRegressor(target_bounds=(-1.0, 1.0)),
    DPPoissonRegressor(target_bounds=(0.0, 1.0)),
    DPQuantileRegressor(quantile=(0.8, 0.9), target_bounds=(-1.0, 1.0)),
    DPLinearRegression(solver="adassp", target_bounds=(-1.0, 1.0)),
]
CASES = [("replace_one", None), ("add_remove_one", 3), ("add_remove_one", None)]
WEIGHTED = [
    DPLogisticRegression(classes=(0, 1), max_weight=2.0),
    DPHuberRegressor(target_bounds=(-1.0, 1.0), max_weight=3.0),
    DPHingeClassifier(classes=(0, 1, 2), max_weight=0.5, solver=NoisyGD(5)),
    *(
        DPLogisticRegression(classes=(0, 1), max_weight=2.0, solver=solver, C=1.0)
        for solver in (
            "output_perturbation",
            DPSGD(3, sampling_rate=1.0, clip_norm=0.5),
            PhasedSGD(n_phases=1),
            CoordinateDescent(n_cycles=5),
            "exponential_mechanism",
        )
    ),
]
LONG_WEIGHTED = [
    *WEIGHTED,
    DPHingeClassifier(classes=(0, 1, 2), max_weight=0.5),
    DPLogisticRegression(classes=(0, 1), max_weight=2.0, solver="noisy_gd"),
]
every_case = pytest.mark.parametrize(("neighboring", "hint"), CASES)
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)
EPSILON = 5.0


def neighbors(neighboring, n=3):
    X, y = np.zeros((n, 1)), np.ones(n, dtype=int)
    X[0] = 1e6  # clipped to 1
    if neighboring == "replace_one":
        return (X, y), (-X, y)
    return (X, y), (X[1:], y[1:])


def weighted_neighbors(neighboring, n=3):
    """The record that pulls speaks as loud as it can; what replaces it, the other way or not."""
    X, y = np.zeros((n, 1)), np.ones(n, dtype=int)
    X[0] = 1e6  # clipped to 1
    loud, silent = np.zeros(n), np.zeros(n)
    loud[0] = 1e9  # clipped to max_weight
    if neighboring == "replace_one":
        return (X, y, loud), (-X, y, loud), (X, y, silent)
    return (X, y, loud), (X[1:], y[1:], silent[1:])


def pull(model):
    """What the record moves most: of classes, the coefficient of class 1 over the others'."""
    coef = np.atleast_2d(model.coef_)[:, 0]
    if coef.size == 1 or is_regressor(model):
        return coef.mean()
    return coef[1] - np.delete(coef, 1).mean()


def pulls(model, neighboring, fits):
    """Coefficients with the record that pulls, and without it."""
    model.set_params(
        epsilon=EPSILON,
        neighboring=neighboring,
        fit_intercept=False,
        random_state=np.random.default_rng(0),
    )
    worlds = neighbors(neighboring)
    return [np.array([pull(model.fit(*world)) for _ in range(fits)]) for world in worlds]


def attack(model, neighboring, fits):
    samples = pulls(model, neighboring, fits)
    return lower_bound(*samples), model.privacy_.gdp_mu


@pytest.mark.parametrize(
    ("model", "neighboring", "hint"),
    [(model, *CASES[0]) for model in MODELS[::3]]
    + [
        pytest.param(model, *CASES[0], marks=pytest.mark.slow)
        for model in MODELS
        if model not in MODELS[::3]
    ]
    + [
        pytest.param(model, *case, marks=pytest.mark.slow)
        for case in CASES[1:]
        for model in (MODELS[0], MODELS[5], MODELS[7])
    ],
    ids=repr,
)
def test_the_claim_survives_a_short_attack(model, neighboring, hint):
    high, low = pulls(model.set_params(n_samples_hint=hint), neighboring, fits=200)
    assert apart(high, low) > 0.15 * gdp_mu(EPSILON, 1e-5)
    assert lower_bound(high, low) <= model.privacy_.gdp_mu


def weighted_pulls(model, neighboring, fits, n_worlds=None):
    """Coefficients with the loud record, and with each of what may stand in its place."""
    hint = 3 if model.solver == "exponential_mechanism" else None
    model.set_params(epsilon=EPSILON, neighboring=neighboring, fit_intercept=False)
    model.set_params(n_samples_hint=hint)
    worlds = weighted_neighbors(neighboring)[:n_worlds]
    return [np.array([pull(model.fit(*world)) for _ in range(fits)]) for world in worlds]


def claimed_mu(model):
    """μ of the guarantee; steps on all records are Gaussian, though no closed curve says so."""
    mu = model.privacy_.gdp_mu
    return mu if np.isfinite(mu) else gdp_mu(EPSILON, 1e-5)


def apart(high, low):
    """The distance of two samples in standard deviations; μ, were they Gaussian."""
    return (high.mean() - low.mean()) / np.sqrt(0.5 * (high.var() + low.var()))


def least_shares(model):
    """Shares of μ that a long attack proves at least, of the worlds of `weighted_neighbors`.

    Two solvers are far from their claims. Their bounds were 0.24 and 0.19 of μ, and 0.45 and 0.31.
    """
    if isinstance(model.solver, PhasedSGD):
        return 0.2, 0.15
    return (0.4, 0.2) if model.solver == "exponential_mechanism" else (0.5, 0.2)


@pytest.mark.slow
@pytest.mark.parametrize("model", LONG_WEIGHTED, ids=repr)
def test_the_claim_survives_a_long_attack_with_weights(model, relation):
    """A weight of 0 for the largest one is half of the change of a record that turns around."""
    loud, *others = weighted_pulls(model, relation, fits=20_000)
    proved = [lower_bound(loud, other) for other in others]
    least = gdp_mu(EPSILON, 1e-5) * np.array(least_shares(model))
    assert max(proved) <= claimed_mu(model)
    assert (np.array(proved) > least[: len(proved)]).all()


def test_the_attack_catches_weights_that_are_not_in_the_sensitivity(monkeypatch):
    """With the noise of weight 1, a record of weight 4 refutes the claim.

    The fits to both data sets are 4·μ apart, and 120 of each prove more than μ nearly always.
    """
    monkeypatch.setattr(WeightedLoss, "lipschitz", property(lambda self: self.loss.lipschitz))
    model = DPLogisticRegression(classes=(0, 1), max_weight=4.0, solver=NoisyGD(5))
    loud, other = weighted_pulls(model, "replace_one", fits=120, n_worlds=2)
    assert lower_bound(loud, other) > claimed_mu(model)


@pytest.mark.slow
@every_model
@every_case
def test_the_claim_survives_a_long_attack(model, neighboring, hint):
    proved, claimed = attack(model.set_params(n_samples_hint=hint), neighboring, fits=20_000)
    assert 0.6 * claimed < proved <= claimed


@pytest.mark.slow
def test_the_moments_survive_a_long_attack_on_all_that_is_released(relation):
    """The most powerful test of AdaSSP's release: along the line between the neighbors' means."""
    solver, rng = AdaSSP(), np.random.default_rng(0)
    plan = solver.plan(problem_with(SquaredLoss(), 3, relation), EPSILON, 1e-5)
    with_it, without = neighbors(relation)
    if relation is Neighboring.REPLACE_ONE:
        without = with_it[0], np.r_[-1, with_it[1][1:]]

    def scores(X, y):
        design = ClippedDesign.clip(X, 1.0)
        releases = (solver.release(plan, design, y, rng) for _ in range(100_000))
        weight = 0.0 if relation is Neighboring.REPLACE_ONE else plan.gram_noise**-2
        return np.array(
            [weight * m.gram[0, 0] + m.moment[0] / plan.moment_noise**2 for m in releases]
        )

    proved, claimed = lower_bound(scores(*with_it), scores(*without)), gdp_mu(EPSILON, 1e-5)
    assert 0.9 * claimed < proved <= claimed


def test_the_attack_catches_a_sensitivity_that_is_wrong_by_two(monkeypatch):
    """Under replacement with the noise of add/remove, the same attack refutes the claim."""
    monkeypatch.setattr(Neighboring.REPLACE_ONE, "n_changed", 1)
    model = DPHingeClassifier(classes=(0, 1), solver=NoisyGD(5))
    proved, claimed = attack(model, "replace_one", fits=500)
    assert proved > claimed
