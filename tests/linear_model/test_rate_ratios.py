"""Rate ratios of counts and of rates with exposure: intervals cover, and losses keep constants."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from skdp import DPPoissonRegressor, PrivacyBudget
from skdp.linear_model._records import ExposureLoss
from skdp.losses import PoissonLoss, WeightedLoss
from skdp.losses.weighted import weighted_targets

LOGS = np.array([0.8, -0.5])
MODEL = DPPoissonRegressor(
    target_bounds=(0, 20), data_norm=1.12, intercept_scaling=1.0, standard_errors=True
)
SETTINGS = [  # rows, variance over mean, whether there are exposures, and parameters
    (20_000, 1.0, False, {"epsilon": 3.0}),
    (20_000, 2.5, False, {"epsilon": 3.0, "slope_bound": 0.5}),
    (50_000, 2.5, False, {"epsilon": 1.0, "slope_bound": 0.5, "standard_errors": "robust"}),
    (20_000, 1.0, True, {"epsilon": 3.0, "target_bounds": (0, 10), "slope_bound": 0.5}),
    (50_000, 2.5, True, {"epsilon": 3.0, "neighboring": "add_remove_one", "slope_bound": 0.5}),
]


def survey(n, dispersion, rng):
    """Return rows, exposures of .05 to 1 that depend on the first column, and counts."""
    X = np.column_stack([rng.random(n) < 0.5, rng.uniform(-0.5, 0.5, n)])
    exposure = rng.choice([0.05, 0.3, 1.0], n) * np.where(X[:, 0] > 0, 0.5, 1.0)
    return (
        X,
        exposure,
        lambda mean: (
            rng.poisson(mean)
            if dispersion == 1.0
            else rng.negative_binomial(mean / (dispersion - 1.0), 1.0 / dispersion)
        ),
    )


def fits(setting, runs):
    """Yield fits to new rows and counts."""
    n, dispersion, is_exposed, parameters = setting
    rng = np.random.default_rng()
    model = clone(MODEL).set_params(**parameters, max_weight=1.0 if is_exposed else None)
    for _ in range(runs):
        X, exposure, counts = survey(n, dispersion, rng)
        exposure = exposure if is_exposed else np.ones(n)
        y = counts(exposure * np.exp(X @ LOGS + 0.3))
        yield model.fit(X, y / exposure, **({"sample_weight": exposure} if is_exposed else {}))


every_setting = pytest.mark.parametrize("setting", SETTINGS, ids=str)


@every_setting
def test_errors_of_rate_ratios_are_as_large_as_their_standard_errors(setting):
    """Squared errors of each logarithm, and Wald statistics of both, over 60 fits: chi-squared.

    False alarms have a chance of 1.2e-4. The factor 1.15 allows for a coverage of .94, and for the
    noise of the matrices. Standard errors of both that are too small by 1.7, whose intervals cover
    .75, are found with a chance of .99. Fits without intervals count as ones that miss.
    """
    found = np.full((60, 3), np.sqrt(stats.chi2(1).isf(0.05)))
    for row, fit in zip(found, fits(setting, 60), strict=True):
        if np.isfinite(fit.coef_std_error_).all():
            wald = fit.wald_test([0, 1], value=LOGS).statistic
            row[:] = *(fit.coef_ - LOGS) / fit.coef_std_error_, np.sqrt(wald)
    each, both = stats.chi2(60).isf(3e-5), stats.chi2(120).isf(6e-5)
    assert ((found**2).sum(axis=0) < 1.15 * np.array([each, each, both])).all()


@pytest.mark.slow
@every_setting
def test_intervals_of_rate_ratios_cover_noise_and_sampling(setting):
    """Coverage of .94 is refused with probability 3e-5 a number at most."""
    assert stats.binom.cdf(905, 1000, 0.94) < 3e-5
    intervals = (np.exp(fit.coef_interval()) for fit in fits(setting, 1000))
    covered = [(low <= np.exp(LOGS)) & (np.exp(LOGS) <= high) for low, high in intervals]
    assert np.mean(covered, axis=0).min() >= 0.906


def test_the_summary_states_the_dispersion():
    """Its sampling error is .03 and its noise .05, so .5 is nine standard deviations."""
    rng = np.random.default_rng()
    X, _, counts = survey(50_000, 2.5, rng)
    y = counts(np.exp(X @ LOGS + 0.3))
    model = clone(MODEL).set_params(epsilon=5.0, slope_bound=1.0)
    (note,) = [one for one in model.fit(X, y).summary().notes if "over their mean" in one]
    assert float(note.split()[-1].rstrip(".")) == pytest.approx(2.5, abs=0.5)
    assert "variance in proportion to mean" in str(model.summary())
    assert "residuals were clipped" not in str(model.summary())


@pytest.mark.parametrize("threshold", [0.01, 0.25, 3.0])
@pytest.mark.parametrize("largest", [0.5, 2.5])
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 100.0])
def test_the_loss_with_exposure_has_the_constants_of_a_count(threshold, largest, scale):
    rng, n = np.random.default_rng(), 20_000
    loss = ExposureLoss(PoissonLoss(threshold), largest)
    exposure = largest * rng.choice([0.0, 1e-200, 1e-9, 0.01, 0.5, 1.0], n) * rng.random()
    y = weighted_targets(rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], n), exposure)
    z, other = scale * rng.normal(size=(2, n))
    value, slope = loss.value(y, z), loss.gradient(y, z)
    excess = loss.value(y, other) - value - slope * (other - z)
    assert (excess >= -1e-9 * (1.0 + np.abs(value) + np.abs(slope * (other - z)))).all()
    assert np.abs(slope).max() <= loss.lipschitz * (1.0 + 1e-12)
    assert (
        np.abs(loss.gradient(y, other) - slope) <= loss.smoothness * np.abs(other - z) + 1e-12
    ).all()
    steps = loss.gradient(y, z + 1e-6) - loss.gradient(y, z - 1e-6)
    assert np.mean(np.abs(loss.hessian(y, z) - steps / 2e-6) > 1e-4 * largest) < 0.001


def test_the_loss_with_exposure_is_the_weighted_one_where_nothing_is_clipped():
    rng, n = np.random.default_rng(), 1000
    exposure, rates, z = rng.uniform(0.0, 2.0, n), rng.random(n), rng.normal(size=n)
    of_counts = weighted_targets(rates * exposure - 1.0, exposure)  # 2·u − 1 with u = rate·e/2
    of_rates = weighted_targets(2.0 * rates - 1.0, exposure)
    one, other = ExposureLoss(PoissonLoss(3.0), 2.0), WeightedLoss(PoissonLoss(3.0), 2.0)
    np.testing.assert_allclose(one.gradient(of_counts, z), other.gradient(of_rates, z), atol=1e-14)
    np.testing.assert_allclose(one.value(of_counts, z), other.value(of_rates, z), atol=1e-13)


def test_counts_in_short_exposures_are_not_cut_off():
    """One count in an exposure of .01 is a rate of 100, above the largest one of 40.

    The sampling error of the mean rate is 1.6 %, so 10 % are six standard deviations.
    """
    rng, n = np.random.default_rng(), 200_000
    exposure = rng.choice([0.01, 0.05], n)
    y = rng.poisson(0.7 * exposure) / exposure
    model = DPPoissonRegressor(
        target_bounds=(0, 40), max_weight=0.05, epsilon=10.0, delta=1e-6, slope_bound=1.0
    )
    model.fit(np.zeros((n, 1)), y, sample_weight=exposure)
    assert np.exp(model.intercept_) == pytest.approx(0.7, rel=0.1)


@pytest.mark.parametrize(
    ("exposure", "words"), [(0.0, "infinity"), (np.nan, "infinity|missing"), (-np.inf, "finite")]
)
def test_wrong_exposures_are_refused_before_the_spend(exposure, words):
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5)
    X, e = np.zeros((100, 1)), np.ones(100)
    e[3] = exposure
    with np.errstate(all="ignore"):
        y = np.ones(100) / e
    model = DPPoissonRegressor(target_bounds=(0, 10), max_weight=1.0, budget=budget)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y, sample_weight=e)
    assert budget.history() == []
