"""Steps of Gaussian noise: together what is asked, by their shares, each once."""

import numpy as np
import pytest

from skdp.accounting import gdp_mu
from skdp.exceptions import OutOfRangeError
from skdp.privacy import GaussianCurve
from skdp.workloads.plan import GaussianStep, plan_steps

STEPS = [
    GaussianStep("first", 3, 2.0, 0.25),
    GaussianStep("second", 100_000, 1.0, 0.7),
    GaussianStep("third", 1, 5.0, 0.05),
]


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 10.0, 1e4])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
def test_all_steps_together_are_what_is_asked_and_hardly_less(epsilon, delta):
    plan, mu = plan_steps("test", STEPS, epsilon, delta), gdp_mu(epsilon, delta)
    spent = plan.event.gdp_mu("replace_one")
    assert mu * (1.0 - 1e-6) < spent <= mu
    assert GaussianCurve(spent).delta(epsilon) <= delta
    for step, mechanism in zip(STEPS, plan.mechanisms, strict=True):
        assert mechanism.event.mu <= mu * np.sqrt(step.share)
        noise = step.l2_sensitivity / (mu * np.sqrt(step.share))
        assert plan.scale(step.name) == pytest.approx(noise, rel=1e-5)


def test_a_step_of_fewer_numbers_has_the_noise_that_was_planned():
    """Within six standard errors of the mean and of the deviation: 2e-9 each."""
    plan, rng = plan_steps("test", STEPS, 1.0, 1e-5), np.random.default_rng(0)
    found = plan.release("second", np.full(20_000, 7.0), rng)
    noise = plan.scale("second")
    assert abs(found.mean() - 7.0) < 6.0 * noise / np.sqrt(20_000)
    assert abs(found.std() / noise - 1.0) < 6.0 / np.sqrt(40_000)
    assert plan.release("first", np.zeros((1, 3)), rng).shape == (1, 3)
    with pytest.raises(ValueError, match=r"planned for 3 numbers, got 4\. Nothing was released"):
        plan.release("first", np.zeros(4), rng)


def test_a_delta_of_zero_is_refused():
    with pytest.raises(OutOfRangeError, match="test needs delta > 0"):
        plan_steps("test", STEPS, 1.0, 0.0)
