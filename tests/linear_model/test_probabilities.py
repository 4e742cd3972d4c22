"""Probabilities of private classifiers: the forward model, the link, and what it must not do."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss

from skdp import DPAdditiveClassifier, DPLogisticRegression
from skdp.features import AdditiveFeatures, FeatureMixture, RandomFourierFeatures
from skdp.linear_model._evidence import _BETAS, _FINE_BETAS, _FINE_TAUS, _geometries, _run
from skdp.linear_model._probabilities import PublicSpread
from skdp.solvers import NoisyGD


def weak(n, rng, d=15, tau=0.8, K=2):
    X = rng.normal(size=(n, d))
    rule = rng.normal(size=(d, K)) / np.sqrt(d)
    scores = tau * (X @ rule) + rng.gumbel(size=(n, K))
    return X / np.linalg.norm(X, axis=1, keepdims=True), scores.argmax(axis=1)


def fitted(n=3000, epsilon=1.0, seed=0, K=2, tau=0.8, **parameters):
    rng = np.random.default_rng(seed)
    X, y = weak(n + 4000, rng, tau=tau, K=K)
    model = DPLogisticRegression(
        epsilon=epsilon, classes=range(K), random_state=seed, **parameters
    ).fit(X[:n], y[:n])
    return model, X[n:], y[n:]


@pytest.mark.parametrize("parameters", [{}, {"C": 1.0}, {"loss_clip": None}])
@pytest.mark.parametrize("K", [2, 3])
def test_probabilities_are_those_of_their_logarithms(K, parameters):
    """In as many rows as there are blocks, and for none."""
    model, X, _ = fitted(n=500, K=K, **parameters)
    X = np.tile(X, (5, 1))
    found, expected = model.predict_proba(X), np.exp(model.predict_log_proba(X))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_weak_signals_are_not_below_the_constant(K, seed):
    model, X, y = fitted(seed=seed, K=K)
    constant = log_loss(y, np.tile(np.bincount(y) / y.size, (y.size, 1)))
    assert log_loss(y, model.predict_proba(X)) < constant + 0.01
    plain = np.exp(model.loss_.log_probabilities(linear(model, X)))
    assert log_loss(y, model.predict_proba(X)) < log_loss(y, plain)


def linear(model, X):
    scores = model._scores(X)
    return scores.ravel() if scores.shape[1] == 1 else scores


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("n", [300, 3000, 20_000])
def test_prediction_is_the_likeliest_class(K, n):
    model, X, _ = fitted(n=n, K=K)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), p.argmax(axis=1))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    scores = model.decision_function(X)
    best = scores > 0 if K == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), best)


@pytest.mark.parametrize("n", [300, 3000, 30_000])
def test_ranks_of_two_classes_are_those_of_the_linear_score(n):
    model, X, _ = fitted(n=n)
    rising = np.argsort(linear(model, X), kind="stable")
    wide = np.linspace(-30.0, 30.0, 2001)
    found = model._probabilities_.log_probabilities(wide)
    assert (np.diff(found[:, 1] - found[:, 0]) > 0.0).all()
    assert (np.diff(model.decision_function(X)[rising]) >= 0.0).all()


def test_probabilities_are_post_processing():
    """Nothing but released and public numbers is read, in a fit or afterwards."""
    model, X, _ = fitted(solver="regularized_exponential")
    before = dict(vars(model))
    found = model.predict_proba(X)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), found)
    facts = model._probabilities_.facts
    assert facts.square == pytest.approx(float((model.coef_**2).sum()))
    assert facts.intercept == pytest.approx(float(model.intercept_[0]))
    assert facts.signal == pytest.approx(3000 * model.privacy_.gdp_mu / 2, rel=1e-3)


@pytest.mark.parametrize("solver", ["auto", NoisyGD()])
def test_row_counts_are_public_or_released(solver):
    """The noise of a count has a standard deviation of 27 (1 % of μ²): 300 are 11 of them."""
    public = fitted(solver=solver)[0]
    noisy = [fitted(seed=seed, solver=solver, neighboring="add_remove_one")[0] for seed in range(2)]
    counts = [model._probabilities_.facts.flow.n_samples for model in noisy]
    assert public._probabilities_.facts.flow.n_samples == 3000
    assert len({*counts}) == 2
    assert max(abs(count - 3000) for count in counts) < 300


def test_guesses_of_row_counts_are_used_as_they_are(neighboring):
    hinted, *_ = fitted(neighboring="add_remove_one", n_samples_hint=2000)
    assert hinted._probabilities_.facts.flow.n_samples == 2000
    half, *_ = fitted(neighboring=neighboring, n_samples_hint=3000, subsample=0.5)
    assert half._probabilities_.facts.flow.n_samples == 1500


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": np.inf},
        {"solver": "objective_perturbation"},
        {"fit_intercept": False},
        {"C": 1.0, "n": 1000},  # with more rows than those whose shares of classes are released
        {"solver": NoisyGD(domain_radius=0.5), "n": 1000},
        {"solver": NoisyGD(average=0.5), "n": 1000},
        {"class_weight": {0: 1.0, 1: 3.0}},
        {"K": 3, "class_weight": {0: 1.0, 1: 3.0, 2: 1.0}},
    ],
)
def test_the_link_of_the_loss_stays_where_the_run_is_not_a_flow(parameters):
    model, X, _ = fitted(**{"n": 500, **parameters})
    wanted = model.loss_.log_probabilities(linear(model, X))
    np.testing.assert_array_equal(model.predict_log_proba(X), wanted)
    np.testing.assert_array_equal(model.decision_function(X), linear(model, X))


def additive(n_classes, seed=0):
    """A fit to noise with more features than the norm of the coefficients says anything about."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(size=(300, 40)), np.arange(300) % n_classes
    model = DPAdditiveClassifier(bounds=(0, 1), classes=range(n_classes), random_state=seed)
    return model.fit(X, y), X


@pytest.mark.parametrize("seed", range(3))
def test_the_prior_has_a_quarter_of_the_link_where_the_norm_says_nothing(seed):
    model, X = additive(2, seed)
    scores, evidence = linear(model, X), model._probabilities_.evidence
    plain, prior = model.loss_.log_probabilities(scores), evidence.log_probabilities(scores)
    wanted = 0.75 * np.diff(plain)[:, 0] + 0.25 * np.diff(prior)[:, 0]
    found = np.diff(model._probabilities_.before_moved(scores))[:, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert np.abs(wanted).mean() < np.abs(np.diff(plain)).mean()


def noise_with_kernels(n, seed=0, **more):
    """A fit of kernel features to labels without a signal."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(size=(n + 2000, 10)), rng.integers(2, size=n + 2000)
    features = FeatureMixture(
        additive=AdditiveFeatures(bounds=(0, 1)),
        random=RandomFourierFeatures(bounds=(0, 1), n_components=200),
    )
    model = DPLogisticRegression(features=features, classes=[0, 1], random_state=seed, **more)
    return model.fit(X[:n], y[:n]), X[n:], y[n:]


@pytest.mark.parametrize("seed", range(3))
def test_wide_features_are_not_far_below_the_constant(seed):
    """The loss's own link is worse than a constant by 0.1 to 0.25 here."""
    model, X, y = noise_with_kernels(3000, seed)
    assert model._probabilities_.evidence.trust == 1.0
    assert log_loss(y, model.predict_proba(X)) < np.log(2.0) + 0.06


@pytest.mark.parametrize(("n", "low", "high"), [(300, 0.25, 0.25), (1000, 0.4, 0.9), (3000, 1, 1)])
def test_the_weight_of_the_link_grows_with_rows_where_there_are_no_means(n, low, high):
    assert low <= noise_with_kernels(n, solver="noisy_gd")[0]._probabilities_.evidence.trust <= high


def test_a_ridge_is_part_of_the_model_of_a_run(rng):
    X, y = rng.uniform(size=(600, 8)), np.arange(600) % 2
    model = DPAdditiveClassifier(bounds=(0, 1), epsilon=10.0, solver="noisy_gd", random_state=0)
    model.fit(X, y)
    facts = model._probabilities_.facts
    assert facts.flow.ridge * facts.flow.time > 0.3
    without = facts._replace(flow=replace(facts.flow, ridge=0.0))
    pulled, free = (_run(some, _geometries(some)[0]) for some in (facts, without))
    assert (pulled.signal[:, 1:] < free.signal[:, 1:]).all()
    assert (pulled.noise < free.noise).all()
    assert model._probabilities_.evidence.trust < 1.0


def test_public_rows_are_read_and_no_others():
    """The spread follows from released coefficients; that of straight lines is even."""
    features = AdditiveFeatures(bounds=(-1, 1), linear_share=1.0)
    X, y = np.random.default_rng(0).normal(size=(2000, 12)), np.arange(2000) % 2
    model = DPLogisticRegression(features=features, random_state=0).fit(X, y)
    spread = model._probabilities_.spread
    coef = model.coef_[0] / (1.0 if model.center_ is None else 1.0 / model.center_radius_)
    assert spread == pytest.approx(PublicSpread.of(model.feature_map_, coef, 1.0))
    assert spread.mean_share < 0.1
    assert len(model._probabilities_.evidence.others) == 1
    assert fitted(n=500)[0]._probabilities_.evidence.others == ()


@pytest.mark.parametrize("n_columns", [3, 12])
def test_the_rank_of_independent_columns_is_their_number(n_columns):
    """Of 400 rows the rank is off by 1 %, and by 20 % with a chance below 1e-6."""
    features = AdditiveFeatures(bounds=(0, 1), linear_share=1.0).feature_map(n_columns)
    coef = np.random.default_rng(0).normal(size=features.n_features_out)
    spread = PublicSpread.of(features, coef, 1.0)
    assert spread.rank == pytest.approx(n_columns, rel=0.2)


def test_signal_is_seen_where_there_is_one():
    with_signal = [fitted(seed=seed, tau=2.0)[0].signal_ for seed in range(4)]
    without = [fitted(seed=seed, tau=0.0)[0].signal_ for seed in range(8)]
    assert min(with_signal) > 2.0
    assert max(without) < 2.0
    assert fitted(solver="objective_perturbation", n=500)[0].signal_ is None


@pytest.mark.parametrize("tau", [0.0, 0.75, 2.3])
def test_the_forward_model_says_where_runs_end(tau):
    """Mean and signal of simulated runs, of which the forward model sees no row."""
    beta, n, d, ends = 1.0, 3000, 15, []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        u = X[:, 0] * np.sqrt(d)
        y = (rng.random(n) < expit(beta + tau * u)).astype(int)
        model = DPLogisticRegression(solver="regularized_exponential", random_state=seed)
        model.fit(X, y)
        rest = (model.coef_[0, 1:] ** 2).sum() / d
        ends.append((model.intercept_[0], model.coef_[0, 0] / np.sqrt(d), rest))
    facts = model._probabilities_.facts
    end = _run(facts, _geometries(facts)[0])
    at = np.abs(_FINE_BETAS - beta).argmin(), np.abs(_FINE_TAUS - tau).argmin()
    mean, signal, noise = np.mean(ends, axis=0)
    assert beta in _BETAS
    assert end.mean[at] == pytest.approx(mean, abs=0.15)
    assert end.signal[at] == pytest.approx(signal, abs=0.2)
    assert end.noise[at] == pytest.approx(noise, rel=0.45)  # the rest of it is _NORM_ERROR


@pytest.mark.parametrize("max_rows", [None, 2])
def test_persons_have_the_evidence_of_persons(max_rows, rng):
    X, y = weak(6000, rng)
    groups = np.repeat(np.arange(1500), 4)
    model = DPLogisticRegression(max_rows=max_rows, random_state=0).fit(X, y, groups=groups)
    facts = model._probabilities_.facts
    assert facts.flow.n_samples == 1500
    assert facts.flow.clip_share < 1.0
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_fits_with_private_weights_release_means_too():
    X, y = weak(3000, np.random.default_rng(0))
    model = DPLogisticRegression(max_weight=2.0, random_state=0)
    model.fit(X, y, sample_weight=np.ones(3000))
    assert model._probabilities_.means is not None


@pytest.mark.parametrize("seed", range(3))
def test_means_tell_noise_from_a_signal(seed):
    """Without them kernels are up to 0.06 above the constant here."""
    model, X, y = noise_with_kernels(3000, seed)
    assert model._probabilities_.means is not None
    assert log_loss(y, model.predict_proba(X)) < np.log(2.0) + 0.02


def test_the_link_of_the_loss_stays_for_separable_tables(rng):
    X = rng.choice([-0.7, 0.7], size=(1000, 1)) + rng.normal(scale=0.05, size=(1000, 1))
    model = DPLogisticRegression(epsilon=3.0, center=False, random_state=0)
    model.fit(X, (X[:, 0] > 0.0).astype(int))
    assert model._probabilities_.means.covariance > 1.3
    assert model._probabilities_.evidence.trust < 1.0
