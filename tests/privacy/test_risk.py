"""What an attacker gains: against exact tests, simulated attacks and the way back to ε."""

import numpy as np
import pytest
from scipy import stats

from skdp.privacy import (
    AttackRisk,
    GaussianEvent,
    GDPEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    PrivacyGuarantee,
    PureDPEvent,
)
from skdp.privacy.guarantee import gaussian_mu_for

FALSE_ALARM = 1e-6


def risk_of(event):
    return PrivacyGuarantee(event, "replace_one", "as in the literature").risk()


@pytest.mark.parametrize(
    ("mu", "expected"),
    [
        (0.268051, (0.107, 0.0198, 0.155, 0.0024, 0.553)),
        (0.719117, (0.281, 0.054, 0.287, 0.0089, 0.640)),
    ],
)
def test_the_numbers_of_a_gaussian_release(mu, expected):
    assert [*risk_of(GDPEvent(mu)).to_dict().values()] == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("event", [GDPEvent(0.8), PureDPEvent(0.7), LaplaceEvent(1.5)], ids=repr)
@pytest.mark.parametrize("prior", [0.05, 0.5, 0.8])
def test_accuracy_is_that_of_the_best_test(event, prior):
    risk, alpha = risk_of(event), np.linspace(0.0, 1.0, 20_001)
    errors = prior * risk.tradeoff(alpha) + (1.0 - prior) * alpha
    assert risk.accuracy(prior) == pytest.approx(1.0 - errors.min(), abs=2e-5)


def test_randomized_response_is_attacked_as_well_as_it_can_be():
    """It tells the truth with probability e/(1 + e), which is all that an attacker can use."""
    risk, truth = risk_of(PureDPEvent(1.0)), np.e / (1.0 + np.e)
    assert risk.advantage == pytest.approx(2.0 * truth - 1.0)
    assert risk.accuracy() == pytest.approx(truth)
    assert risk.posterior(1.0 - truth) == pytest.approx(truth)
    assert risk.posterior(1e-9) <= truth + 1e-9  # odds grow by e at most, however rare the evidence


def test_no_guess_of_one_of_ten_values_beats_the_bound():
    """Values at the corners of a simplex, each sqrt(2)/2·mu from their mean; 1e-6 of runs fail."""
    rng, mu, n = np.random.default_rng(), 1.0, 20_000
    corners = mu * np.eye(10) / np.sqrt(2.0)
    value = rng.integers(10, size=n)
    guess = np.argmax(corners[value] + rng.normal(size=(n, 10)), axis=1)
    bound = risk_of(GDPEvent(mu)).reconstruction(0.1)
    assert stats.binomtest(int((guess == value).sum()), n, bound, "greater").pvalue > FALSE_ALARM
    assert np.mean(guess == value) > 0.15


@pytest.mark.parametrize(
    ("target", "measured"),
    [
        ({"advantage": 0.1}, lambda risk: risk.advantage),
        ({"true_positive_rate": (0.02, 0.01)}, lambda risk: risk.true_positive_rate(0.01)),
        ({"accuracy": (0.7, 0.6)}, lambda risk: risk.accuracy(0.6)),
        ({"reconstruction": (0.01, 0.001)}, lambda risk: risk.reconstruction(0.001)),
    ],
)
def test_a_target_is_met_by_its_mu(target, measured):
    (wanted,) = target.values()
    mu = gaussian_mu_for(**target)
    expected = wanted if isinstance(wanted, float) else wanted[0]
    assert measured(risk_of(GDPEvent(mu))) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({}, "exactly one of"),
        ({"advantage": 0.1, "accuracy": (0.6, 0.5)}, "exactly one of"),
        ({"advantage": 1.5}, "advantage"),
        ({"accuracy": 0.7}, "pair of probabilities"),
        ({"accuracy": (0.6, 0.7)}, "without a release"),
        ({"reconstruction": (0.1, 0.2)}, "without a release"),
    ],
)
def test_an_impossible_target_is_refused(target, message):
    with pytest.raises(ValueError, match=message):
        gaussian_mu_for(**target)


def test_views_show_every_number():
    risk = risk_of(GDPEvent(0.268051))
    assert "10.67%  advantage" in str(risk)
    assert str(risk).count("%  ") == len(risk.to_dict()) == 5
    assert risk._repr_html_().count("<td>") == 6


def test_both_orders_of_the_neighbors_count():
    """A removal is easier to see than an addition, or harder; guesses of values mix both."""
    event, alpha = PoissonSampledEvent(0.3, GaussianEvent(1.0)), np.linspace(0.0, 1.0, 101)
    curve = event.curve("add_remove_one")
    one, other = curve.tradeoff()(alpha), curve.reversed().tradeoff()(alpha)
    assert np.abs(one - other).max() > 0.01
    risk = AttackRisk(curve)
    np.testing.assert_array_equal(risk.tradeoff(alpha), np.minimum(one, other))
    rates = np.array([risk.reconstruction(kappa) for kappa in alpha])
    assert np.all(rates >= 1.0 - np.minimum(one, other) - 1e-12)
    assert np.all(np.diff(rates, 2) <= 1e-6)  # concave, so that a mean over values keeps to it
