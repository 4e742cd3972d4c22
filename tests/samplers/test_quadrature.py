"""The distributions that samplers are compared with have the printed numbers."""

import numpy as np
import one_dimension
import pytest
import two_dimensions

from skdp.losses import HingeLoss, HuberLoss, LogisticLoss

ABSOLUTE, PINBALL = one_dimension.NonSmoothLoss(1.0, 1.0), one_dimension.NonSmoothLoss(0.3, 0.7)


@pytest.mark.parametrize(
    ("target", "printed"),
    [
        (
            one_dimension.target(LogisticLoss()),
            (0.202875, 1.008168, -1.44443, 0.19755, 1.86846, -1.846981),
        ),
        (
            one_dimension.target(HingeLoss()),
            (0.350849, 0.979776, -1.29146, 0.40375, 1.87546, -2.925515),
        ),
        (
            one_dimension.regression_target(HuberLoss(1.0)),
            (-0.122691, 0.636168, -1.15875, -0.12418, 0.91826, -0.106331),
        ),
        (
            one_dimension.regression_target(ABSOLUTE),
            (-0.187708, 0.522033, -1.00346, -0.20980, 0.69506, -1.381647),
        ),
        (
            one_dimension.regression_target(PINBALL),
            (-0.183215, 0.773647, -1.42841, -0.20501, 1.12558, -0.198650),
        ),
    ],
    ids=lambda value: str(getattr(value, "loss", "")),
)
def test_one_coefficient(target, printed):
    grid = np.linspace(-12.0, 12.0, 300_001)
    energy, step = one_dimension.potential(target, grid), grid[1] - grid[0]
    mass = np.exp(-energy).sum() * step
    masses = np.exp(-energy) / mass
    mean = (masses * grid).sum() * step
    sd = np.sqrt((masses * (grid - mean) ** 2).sum() * step)
    quantiles = grid[np.searchsorted(np.cumsum(masses) * step, [0.05, 0.5, 0.95])]
    np.testing.assert_allclose((mean, sd, np.log(mass)), [*printed[:2], printed[5]], atol=6e-7)
    np.testing.assert_allclose(quantiles, printed[2:5], atol=1e-4)


@pytest.mark.parametrize(
    ("loss", "mean", "covariance"),
    [
        (LogisticLoss(), (0.226777, 0.332496), (1.174216, -0.025232, 1.208936)),
        (HingeLoss(), (0.343169, 0.631414), (1.056561, -0.049158, 1.105208)),
    ],
    ids=repr,
)
def test_two_coefficients(loss, mean, covariance):
    points, weight = two_dimensions.masses(two_dimensions.target(loss))
    centered = points - weight @ points
    second = (centered * weight[:, None]).T @ centered
    np.testing.assert_allclose(weight @ points, mean, atol=2e-5)
    np.testing.assert_allclose(second[np.triu_indices(2)], covariance, atol=1e-4)
