"""What public facts choose: the loss, the solver, and the probabilities that scores stand for."""

import math
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from problems import problem_with
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from skdp import DPHingeClassifier, DPLinearRegression, DPLogisticRegression
from skdp.losses import (
    ClippedLogisticLoss,
    CompetitorLoss,
    HuberLoss,
    LogisticLoss,
    MultinomialLoss,
    QuantileLoss,
    SmoothedHingeLoss,
    SquaredLoss,
)
from skdp.losses.base import adapted
from skdp.losses.classification import (
    AdaptiveCompetitorLoss,
    AdaptiveHingeLoss,
    AdaptiveLogisticLoss,
)
from skdp.losses.weighted import ClassWeightedLoss, SharedLoss, WeightedLoss
from skdp.preprocessing import BoundsScaler
from skdp.privacy import Neighboring
from skdp.solvers import AdaSSP, AutoSolver, NoisyGD, RegularizedExponential


def problem(n, *, loss=None, d=20, neighboring=Neighboring.ADD_REMOVE_ONE):
    return problem_with(loss or AdaptiveLogisticLoss(), n, neighboring, intercept=0.3, n_features=d)


def data(n, d=3, classes=2):
    rng = np.random.default_rng()
    X = rng.normal(size=(n, d)) / math.sqrt(d)
    return X, np.argmax(X[:, :classes] + 0.3 * rng.normal(size=(n, classes)), axis=1)


@pytest.mark.parametrize(
    ("signal", "expected"),
    [
        (10.0, ClippedLogisticLoss(0.35, link_clip=0.7)),
        (1000.0, ClippedLogisticLoss(0.35, link_clip=0.6)),
        (3000.0, ClippedLogisticLoss(0.5, link_clip=0.5)),
        (24_000.0, LogisticLoss()),
        (math.inf, LogisticLoss()),
    ],
)
def test_the_clip_rises_to_the_full_loss(signal, expected):
    assert AdaptiveLogisticLoss().adapted(signal) == expected


def test_every_wrapped_loss_adapts_and_others_stay():
    margin = AdaptiveLogisticLoss()
    assert AdaptiveCompetitorLoss(margin, 4).adapted(1e6) == MultinomialLoss(4)
    several = AdaptiveCompetitorLoss(margin, 4).adapted(3000.0)
    assert several == CompetitorLoss(margin.adapted(3000.0), 4)
    weighted = ClassWeightedLoss(WeightedLoss(margin, 2.0), (1.0, 3.0)).adapted(1e6)
    assert weighted == ClassWeightedLoss(WeightedLoss(LogisticLoss(), 2.0), (1.0, 3.0))
    assert [AdaptiveHingeLoss().adapted(x).width for x in (3999, 4000)] == [2 / 3, 1.0]
    for loss in (SmoothedHingeLoss(0.4), LogisticLoss(), MultinomialLoss(3)):
        assert adapted(loss, 1e6) is loss


@pytest.mark.parametrize("clip", [0.5, 0.7, 0.99])
@pytest.mark.parametrize("p", [0.1, 0.4, 0.5, 0.8])
def test_the_link_is_that_of_the_conditional_minimizer(clip, p):
    """The score of least mean loss of records of which a share p is +1 is read as p."""
    loss, both = ClippedLogisticLoss(clip), np.array([1.0, -1.0])
    mean = minimize_scalar(
        lambda z: [p, 1.0 - p] @ loss.value(both, np.full(2, z)), (-3.0, 3.0), tol=1e-12
    )
    read = np.exp(loss.log_probabilities(np.array([mean.x])))
    assert read[0] == pytest.approx([1.0 - p, p], abs=1e-6)


def test_probabilities_sum_to_one_and_follow_the_scores():
    z = np.linspace(-800.0, 800.0, 401)
    for clip in (0.2, 0.5, 0.9):
        p = np.exp(ClippedLogisticLoss(clip).log_probabilities(z))
        assert np.allclose(p.sum(axis=1), 1.0)
        assert np.all(np.diff(p[:, 1]) >= 0.0)
    plain = LogisticLoss().log_probabilities(z[150:250])
    assert np.allclose(np.exp(plain[:, 1]), expit(z[150:250]))


def test_short_runs_are_samples_and_long_ones_are_steps(relation):
    solver, mu = AutoSolver(), 0.27
    few, more, many = (problem(n, neighboring=relation) for n in (500, 3000, 200_000))
    assert isinstance(solver.choice(few, mu).solver, RegularizedExponential)
    assert solver.choice(more, mu).solver == NoisyGD()
    assert solver.choice(many, mu).solver == NoisyGD()
    targets = replace(few, loss=HuberLoss(), n_samples=300 * few.neighboring.n_changed)
    assert isinstance(solver.choice(targets, mu).solver, RegularizedExponential)
    longer = replace(targets, n_samples=4 * targets.n_samples)
    assert solver.choice(longer, mu).solver == NoisyGD()
    features = replace(longer, has_features=True)
    assert isinstance(solver.choice(features, mu).solver, RegularizedExponential)
    assert solver.choice(replace(few, n_features=101), mu).solver == NoisyGD()
    assert solver.choice(replace(few, rows_each=3), mu).solver == NoisyGD()
    assert isinstance(solver.choice(problem(200, d=1025), mu).solver, NoisyGD)
    sharp = SmoothedHingeLoss(0.04)  # whose minorants leave a gap, which samples pay for
    assert isinstance(solver.choice(problem(200, loss=sharp), mu).solver, NoisyGD)


@pytest.mark.parametrize(
    ("level", "kind"),
    [(0.9, RegularizedExponential), (0.1, RegularizedExponential), (0.5, NoisyGD)],
)
def test_extreme_quantiles_of_wide_tables_are_samples(level, kind):
    """At 2000 rows of 150 columns, noisy steps to .9 lost .5 of D², to the median nothing."""
    facts = replace(problem(2000, d=151), loss=QuantileLoss(levels=(level,)))
    assert isinstance(AutoSolver().choice(facts, 0.27).solver, kind)


@pytest.mark.parametrize(
    ("loss", "d"),
    [*product([HuberLoss(), SquaredLoss()], [5, 20, 99]), (QuantileLoss((0.9,)), 150)],
    ids=repr,
)
def test_few_rows_more_never_read_much_more(loss, d):
    """Passes times rows, where each step of a sample reads the rows once, and e^E of 64."""

    def read(n):
        facts = problem(n, loss=loss, d=d, neighboring=Neighboring.REPLACE_ONE)
        facts = facts.adapted(n, 0.27)
        plan = AutoSolver().choice(facts, 0.27)
        if isinstance(plan.solver, AdaSSP):
            return n
        if isinstance(plan.solver, NoisyGD):
            return n * (plan.descent(n).n_steps + (plan.gram is not None))
        run = plan.schedule.sampler_plan
        proposals = math.exp(0.5 * run.step * facts.worst_curvature(n))
        return run.n_steps * (n + 64 * proposals)

    work = [read(n) for n in sorted({round(1.02**k) for k in range(240, 600)})]
    assert max(after / before for before, after in pairwise(work)) <= 1.5


@pytest.mark.parametrize("exact", [False, True])
def test_squares_of_many_records_are_fitted_by_moments(relation, exact):
    """From n·μ = 1000·d on, with any other loss, with weights or with random features never."""
    solver, mu = AutoSolver(exact=exact), 0.25
    facts = problem(80_000, loss=SquaredLoss(), neighboring=relation)
    shared = replace(facts, loss=SharedLoss(SquaredLoss(), 1.0), rows_each=3)
    for enough in (facts, shared, replace(facts, has_features=True)):
        assert solver.choice(enough, mu).solver == AdaSSP()
    for other in (
        replace(facts, n_samples=79_999),
        replace(facts, determines_all=False, has_features=True),
        replace(facts, loss=HuberLoss()),
        replace(facts, loss=WeightedLoss(SquaredLoss(), 1.0)),
        replace(shared, loss=SharedLoss(SquaredLoss(), 2.0)),
        replace(facts, n_features=2000, n_samples=10**8),
    ):
        assert solver.choice(other, mu).solver != AdaSSP()


def test_means_of_skewed_targets_are_right_with_many_records(neighboring, rng):
    """The noise moves the mean by less than a tenth of it: its standard deviation is .002."""
    X = rng.uniform(-0.5, 0.5, size=(60_000, 2))
    y = np.minimum(rng.poisson(0.05 * np.exp(2 * X[:, 0])), 3)
    model = DPLinearRegression(target_bounds=(0, 3), neighboring=neighboring).fit(X, y)
    assert model.solver_ == "adassp"
    assert model.predict(X).mean() == pytest.approx(y.mean(), rel=0.3)
    features = make_pipeline(BoundsScaler(bounds=(-0.5, 0.5)), PolynomialFeatures(2))
    model.set_params(features=features, data_norm=3.0).fit(X, y)
    assert model.solver_ != "adassp"


@pytest.mark.parametrize("n", [300, 100_000, None])
def test_the_plan_is_gaussian_and_spends_what_was_asked_for(n):
    facts = problem(n)
    plan = AutoSolver().plan(facts, 1.0, 1e-5)
    delta = plan.event.curve(facts.neighboring).delta(1.0)
    assert delta == pytest.approx(1e-5, rel=1e-6)
    assert delta <= 1e-5


@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_says_what_it_took(neighboring, classes):
    few, many = data(30, classes=classes), data(60_000, classes=classes)
    model = DPLogisticRegression(epsilon=8.0, neighboring=neighboring)
    assert model.fit(*few).solver_ == "regularized_exponential"
    assert model.fit(*many).solver_ == "noisy_gd"
    assert model.loss_ == (LogisticLoss() if classes == 2 else MultinomialLoss(3))
    assert model.n_iter_ < 100
    assert model.score(*many) > 0.75
    assert np.allclose(model.predict_proba(many[0][:50]).sum(axis=1), 1.0)


def test_a_sampler_of_the_users_own_keeps_the_exponential_mechanism():
    X, y = data(60_000)
    model = DPLogisticRegression(epsilon=3.0, sampler="proximal").fit(X, y)
    assert model.solver_ == "regularized_exponential"
    assert model.n_iter_ <= 171


def test_a_sparse_matrix_gives_the_fit_of_the_dense_one():
    X, y = data(20_000)
    fits = [
        DPLogisticRegression(epsilon=3.0, random_state=0).fit(kind(X), y)
        for kind in (np.asarray, sparse.csr_matrix)
    ]
    assert fits[0].solver_ == "noisy_gd"
    assert np.allclose(fits[0].coef_, fits[1].coef_, atol=1e-4)


def test_a_large_epsilon_gives_the_fit_without_privacy():
    X, y = data(20_000)
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    private = DPLogisticRegression(epsilon=300.0).fit(X, y)
    open_fit = DPLogisticRegression(epsilon=math.inf, C=1e6).fit(X, y)
    difference = private.predict_proba(X) - open_fit.predict_proba(X)
    assert np.abs(difference).mean() < 0.02


def test_numbers_of_the_users_own_stay():
    X, y = data(60_000)
    model = DPLogisticRegression(epsilon=3.0, loss_clip=0.4).fit(X, y)
    assert model.loss_.clip == 0.4
    assert DPLogisticRegression(epsilon=3.0, loss_clip=None).fit(X, y).loss_ == LogisticLoss()
    assert DPHingeClassifier(epsilon=3.0, smoothing=0.5).fit(X, y).loss_ == SmoothedHingeLoss(0.5)
    assert DPHingeClassifier(epsilon=3.0).fit(X, y).loss_ == SmoothedHingeLoss(1.0)
