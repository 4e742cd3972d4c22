"""A ball to which a law is restricted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from skdp._validation import check_size, make_plain
from skdp.samplers._cap import Cap

__all__ = ["Ball", "RestrictedGaussian"]


@dataclass(frozen=True)
class Ball:
    """The coefficients with |θ| ≤ radius.

    Parameters
    ----------
    radius : float
        *Public.* In the units of θ, the intercept's coefficient included.
    """

    radius: float

    def __post_init__(self) -> None:
        make_plain(self)
        check_size("radius", self.radius)

    def holds(self, theta: np.ndarray) -> bool:
        """Tell whether θ lies in the ball."""
        return float(np.vdot(theta, theta)) <= self.radius**2

    def project(self, theta: np.ndarray) -> np.ndarray:
        """Return the point of the ball that is nearest to θ."""
        return theta if self.holds(theta) else theta * (self.radius / np.linalg.norm(theta))

    def gaussian(self, mean: np.ndarray, sd: float) -> RestrictedGaussian:
        """Return N(mean, sd²·I) restricted to the ball."""
        return RestrictedGaussian(self, mean, sd)

    def lowest(self, curvature: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Return where in the ball ½·Σ w_j·|x_j|² − Σ ⟨e_j, x_j⟩ is least.

        Parameters
        ----------
        curvature : ndarray of shape (d,)
            w > 0.
        slope : ndarray of shape (d,) or (d, K)
            e.
        """

        def beyond(multiplier: float) -> float:
            return float(np.linalg.norm(slope.T / (curvature + multiplier))) - self.radius

        if beyond(0.0) <= 0.0:
            return (slope.T / curvature).T
        most = (
            2.0 * float(np.linalg.norm(slope)) / self.radius
        )  # x is short enough, rounding or not
        multiplier = brentq(beyond, 0.0, most)
        return self.project((slope.T / (curvature + multiplier)).T)


@dataclass(frozen=True, eq=False)
class RestrictedGaussian:
    """N(mean, sd²·I) restricted to a ball."""

    ball: Ball
    mean: np.ndarray
    sd: float

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Draw one point.

        A point of the whole Gaussian that falls inside has this law, and so has what is drawn by
        other means where it falls outside.
        """
        theta = self.mean + self.sd * rng.standard_normal(self.mean.shape)
        if self.ball.holds(theta):
            return theta
        return self.sd * self._cap.draw(rng).reshape(self.mean.shape)

    @cached_property
    def _cap(self) -> Cap:
        return Cap(self.ball.radius / self.sd, self.mean.ravel() / self.sd)
