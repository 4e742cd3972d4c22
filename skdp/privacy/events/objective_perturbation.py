"""Objective perturbation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, log_ndtr

from skdp.privacy.combined import HullCurve
from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events.base import Event
from skdp.privacy.events.objective_pulls import (
    LeastCurve,
    PullsCurve,
    ScorePullsCurve,
    covering_pull,
)
from skdp.privacy.gaussian import GaussianCurve, gaussian_log_delta
from skdp.privacy.neighboring import Neighboring
from skdp.support.validation import check_count, check_real, check_size

__all__ = ["ObjectivePerturbationCurve", "ObjectivePerturbationEvent"]

_CELLS = 8192
_WIDTH = 40.0  # standard deviations past √k: the tail is below 1e-340 there
_ROUNDING = 1e-9  # added to log δ of a table; its sums are good to 1e-11
_LARGEST_COVER = 2.3  # in units of m: beyond, a union bound is taken, which holds as well


@dataclass(frozen=True)
class ObjectivePerturbationCurve(HullCurve):
    """The curve of a privacy loss that is at most Z = a + m²/2 + m·χ, χ of chi distribution.

    With t = (ε − a − m²/2)/m and the survival function S of χ, F(ε) is the integral of
    m·e^(−m(x−t))·S(x) over x > t if t ≥ 0, else 1 − e^(mt)·(1 − F(a + m²/2)). In one dimension it
    is 2·δ_m(ε − a), δ_m a Gaussian curve. In more, S is replaced cell by cell by tangents of its
    logarithm: see "Evaluation of the bound with χ" of *Objective perturbation* in the user guide.
    """

    mu: float  # m
    log_determinant: float  # a
    dimension: int  # degrees of freedom of χ

    @property
    def _least_loss(self) -> float:
        return self.log_determinant + 0.5 * self.mu**2

    @property
    def _farthest(self) -> float:
        # They touch where S − F = e^ε·(1 − S), so that S is at least 1/2; the median is below √k.
        return self._least_loss + self.mu * math.sqrt(self.dimension)

    def _log_bound(self, epsilon: np.ndarray) -> np.ndarray:
        start = self._least_loss
        above = self._log_tail(np.maximum(epsilon, start))
        rest = -math.expm1(min(float(self._log_tail(np.asarray(start))), 0.0))
        with np.errstate(divide="ignore"):
            below = np.log1p(-np.exp(np.minimum(epsilon - start, 0.0)) * rest)
        return np.where(epsilon >= start, above, below)

    def _log_tail(self, epsilon: np.ndarray) -> np.ndarray:
        """Return log F(ε) for ε ≥ a + m²/2."""
        if self.dimension == 1:
            shifted = np.maximum(epsilon - self.log_determinant, 0.0)
            return math.log(2.0) + gaussian_log_delta(shifted, self.mu)
        return self._integral(np.maximum(epsilon - self._least_loss, 0.0) / self.mu)

    def _integral(self, t: np.ndarray) -> np.ndarray:
        x, log_s, hazard = _log_survival(self.dimension)
        m, width = self.mu, x[1]
        j = np.minimum(t / width, x.size - 1).astype(int)
        past = t - x[j]
        rest = np.where(j + 1 < x.size, width - past, np.inf)
        partial = log_s[j] - hazard[j] * past + self._log_cell(hazard[j], rest)
        whole = self._table[np.minimum(j + 1, x.size - 1)] - m * rest
        return np.logaddexp(partial, whole) + _ROUNDING

    @cached_property
    def _table(self) -> np.ndarray:
        """Return the log of the integral from each grid point on."""
        x, log_s, hazard = _log_survival(self.dimension)
        width = np.append(np.diff(x), np.inf)
        parts = log_s + self._log_cell(hazard, width) - self.mu * x
        return np.logaddexp.accumulate(parts[::-1])[::-1] + self.mu * x

    def _log_cell(self, hazard: np.ndarray, width: np.ndarray) -> np.ndarray:
        """Return the log of the integral of m·e^(−(m + hazard)·u) over [0, width]."""
        rate = self.mu + hazard
        with np.errstate(divide="ignore"):
            return math.log(self.mu) - np.log(rate) + np.log(-np.expm1(-rate * width))


@lru_cache(maxsize=16)
def _log_survival(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a grid x from 0, log P(χ_k > x), and the hazard rates (its negative slopes).

    With y = x²/2, Q(a + 1, y) = Q(a, y) + y^a·e^(−y)/Γ(a + 1): all terms are positive.
    """
    x = np.linspace(0.0, math.sqrt(k) + _WIDTH, _CELLS + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        y, log_y = 0.5 * x * x, np.log(0.5 * x * x)
        log_s = math.log(2.0) + log_ndtr(-x) if k % 2 else -y
        for a in np.arange(1.0 - 0.5 * (k % 2), 0.5 * k):
            log_s = np.logaddexp(log_s, a * log_y - y - gammaln(a + 1.0))
        log_density = math.log(2.0) + (0.5 * k - 0.5) * log_y - y - gammaln(0.5 * k)
        hazard = np.exp(log_density - 0.5 * math.log(2.0) - log_s)
    return x, np.minimum(log_s, 0.0), hazard


@dataclass(frozen=True)
class ObjectivePerturbationEvent(Event):
    """The exact minimizer of Σ loss + (λ/2)·|θ|² + b·θ, b ~ N(0, (`noise_multiplier`·L)²·I).

    L bounds the gradient of one record's loss. Adding or removing a record changes the log
    density of the minimizer by at most a + m²/2 + m·χ_k, m = 1/`noise_multiplier`. Here a bounds
    the log-determinant, and χ_k is the length of b/s in the k possible directions of the record's
    gradient. Replacing a record doubles m and k, unless the gradients of all records together have
    fewer than 2k directions.

    Known `pulls` give a lower bound, and with one score and one pull the event is Gaussian DP.
    Proofs: *Objective perturbation* in the user guide, after Redberg, Koskela and Wang 2023.

    Parameters
    ----------
    noise_multiplier : float
        *Public.* s/L.
    log_determinant : float
        *Public.* a, a bound on the change of the log-determinant of the Hessian by one record.
    dimension : int
        *Public.* k: 1 for a loss of one score; for K scores, the dimension of the space of their
        gradients.
    pulls : int, default 0
        *Public.* p, such that all gradients of a record lie in the hull of 0 and p vectors no
        longer than L. 0 if nothing is known.
    cosine : float in [0, 1], default 1.0
        *Public.* At most p pairs of two records' pulls have a cosine of larger size.
    joint_dimension : int, default 0
        *Public.* Dimension of a space that contains the gradients of all records; 0: unknown.

    Examples
    --------
    >>> event = ObjectivePerturbationEvent(4.0, 0.025317808, 1)
    >>> print(f"{event.curve('add_remove_one').delta(1.0):.5e}")
    9.00470e-06
    >>> event = ObjectivePerturbationEvent(4.0, 0.025317808, 1, pulls=1)
    >>> print(f"{event.curve('add_remove_one').delta(1.0):.1e}")
    2.9e-06
    """

    version: ClassVar[int] = 3

    noise_multiplier: float
    log_determinant: float
    dimension: int
    pulls: int = 0
    cosine: float = 1.0
    joint_dimension: int = 0

    def __post_init__(self) -> None:
        self._set(
            noise_multiplier=check_size("noise_multiplier", self.noise_multiplier),
            log_determinant=check_real(
                "log_determinant", self.log_determinant, low=0.0, high=1e9, closed="["
            ),
            dimension=check_count("dimension", self.dimension),
            pulls=check_count("pulls", self.pulls, low=0),
            cosine=check_real("cosine", self.cosine, low=0.0, high=1.0, closed="[]"),
            joint_dimension=check_count("joint_dimension", self.joint_dimension, low=0),
        )

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        relation = Neighboring(neighboring)
        if not self.pulls:
            return self._in_any_direction(relation)
        m, a = 1.0 / self.noise_multiplier, float(self.log_determinant)
        if relation is Neighboring.ADD_REMOVE_ONE and self.dimension == 1:
            return ScorePullsCurve(m, a, self.pulls)
        mu = self.gdp_mu(relation)
        if mu <= _LARGEST_COVER * m:
            return GaussianCurve(mu)
        bounds = (*self._along_pulls(relation), self._in_any_direction(relation))
        return LeastCurve(bounds, relation.n_changed * m, a)

    def gdp_mu(self, neighboring: Neighboring) -> float:
        if self.pulls != 1 or self.dimension > 1:
            return math.inf
        m = 1.0 / self.noise_multiplier
        alone = covering_pull(m, float(self.log_determinant))
        return alone if Neighboring(neighboring) is Neighboring.ADD_REMOVE_ONE else m + alone

    def _in_any_direction(self, relation: Neighboring) -> ObjectivePerturbationCurve:
        changed = relation.n_changed
        together = changed * self.dimension
        k = min(together, self.joint_dimension or together)
        return ObjectivePerturbationCurve(
            changed / self.noise_multiplier, float(self.log_determinant), k
        )

    def _along_pulls(self, relation: Neighboring) -> tuple[PullsCurve, ...]:
        """Return the union bounds: over pulls, over pairs of pulls, over pulls twice as long."""
        p, m, a = self.pulls, 1.0 / self.noise_multiplier, float(self.log_determinant)
        if relation is Neighboring.ADD_REMOVE_ONE:
            return (PullsCurve(((p, m),), a),)
        over_pulls = PullsCurve(((2 * p, 2.0 * m),), a)
        if self.cosine == 1.0 and p > 1:  # then the pairs, p² of length 2m, cost more everywhere
            return (over_pulls,)
        return PullsCurve(self._pairs(m), a), over_pulls

    def _pairs(self, m: float) -> tuple[tuple[int, float], ...]:
        """Return how often two records' pulls differ by how much: each alone, and all pairs."""
        p, oblique = self.pulls, m * math.sqrt(2.0 + 2.0 * self.cosine)
        pairs = ((p, 2.0 * m), (p * (p - 1), oblique), (2 * p, m))
        return tuple((count, size) for count, size in pairs if count)
