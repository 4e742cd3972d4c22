"""Algorithms 1 and 2 of Gopi, Lee and Liu: a sampler that evaluates single terms f_i(θ) only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr

from skdp.exceptions import IncompatibleSolverError
from skdp.samplers.base import (
    Ball,
    Certificate,
    Progress,
    Requirement,
    Sample,
    Sampler,
    SamplerPlan,
    Setting,
    Target,
    plan_at_once,
)
from skdp.support.validation import check_count, check_real, check_size, make_plain


@dataclass(frozen=True, eq=False, repr=False)
class BlackBox:
    """The distribution with density ∝ exp(−Σ f_i(θ) − (α/2)·|θ|²), i = 0, ..., n − 1.

    Parameters
    ----------
    values : callable
        ``values(rows, theta)`` returns f_i(θ) for each number i in the integer array ``rows``, of
        the shape of ``rows``. Each f_i is convex; no derivative is asked for.
    n_terms : int
        n.
    lipschitz : float
        Upper bound of the Lipschitz constant of every f_i. What is proved rests on it.
    prior_precision : float
        α > 0, in 1/coefficient².
    shape : tuple of int
        Shape of θ.
    domain : Ball or None
        To which the density is restricted; the functions are evaluated there only.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.research import BlackBox, draw_black_box
    >>> def values(rows, theta):
    ...     return 0.2 * np.abs(theta[0] - rows)
    >>> scales = {"lipschitz": 0.2, "prior_precision": 1.0}
    >>> potential = BlackBox(values, n_terms=3, **scales, shape=(1,))
    >>> potential.dimension, potential.values(np.arange(3), np.array([1.0]))
    (1, array([0.2, 0. , 0.2]))
    >>> draw_black_box(potential, tv=0.01, n_draws=20, random_state=0).shape
    (20, 1)
    """

    values: Callable[[np.ndarray, np.ndarray], np.ndarray]
    _: KW_ONLY
    n_terms: int
    lipschitz: float
    prior_precision: float
    shape: tuple[int, ...]
    domain: Ball | None = None

    def __post_init__(self) -> None:
        make_plain(self)
        check_count("n_terms", self.n_terms)
        check_real("lipschitz", self.lipschitz, low=0.0, high=1e50, closed="[")
        check_size("prior_precision", self.prior_precision)

    @classmethod
    def of(cls, target: Target) -> BlackBox:
        """Return a target for a sampler that only evaluates its terms.

        Parameters
        ----------
        target : Target
            *Private.*

        Returns
        -------
        BlackBox
            *Private.*
        """

        def values(rows: np.ndarray, theta: np.ndarray) -> np.ndarray:
            block = target.design.take(rows)
            return target.temperature * target.loss.value(block.targets, block.scores(theta))

        return cls(
            values,
            n_terms=target.design.n_samples,
            lipschitz=target.temperature * target.loss.lipschitz * target.row_norm,
            prior_precision=target.prior_precision,
            shape=target.shape,
            domain=target.domain,
        )

    @property
    def dimension(self) -> int:
        """Number of coefficients."""
        return math.prod(self.shape)


_ROUNDING = 1e-9
_FINER = 0.98
_TYPICAL_TV = 1e-6


@dataclass(frozen=True, kw_only=True)
class AlternatingSchedule:
    """Step size and number of steps of Algorithm 1, with what is proved about its last state."""

    lipschitz: float  # Γ, Lipschitz constant of every n·f_i
    prior_precision: float  # α
    dimension: int  # d
    step_size: float  # η
    # total variation that is asked for; half of it is left to the start, half to all the steps
    tv: float
    radius: float = math.inf  # of the ball to which the density is restricted

    @classmethod
    def within(
        cls,
        tv: float,
        *,
        lipschitz: float,
        prior_precision: float,
        dimension: int,
        radius: float = math.inf,
    ) -> AlternatingSchedule:
        """Return the longest steps, of a fine grid below 1/α, whose run comes within `tv`."""
        step_size = 1.0 / max(prior_precision, lipschitz**2)
        while True:
            schedule = cls(
                lipschitz=lipschitz,
                prior_precision=prior_precision,
                dimension=dimension,
                step_size=step_size,
                tv=tv,
                radius=radius,
            )
            if schedule.n_steps * schedule.inner_tv <= 0.5 * tv * (1.0 - _ROUNDING):
                return schedule
            step_size *= _FINER

    @property
    def variance(self) -> float:
        """σ² = 1/(α + 1/η), of the points that Algorithm 2 proposes."""
        return self.step_size / (1.0 + self.prior_precision * self.step_size)

    @property
    def n_steps(self) -> int:
        """T, after which an exact chain from 0 is within tv/2 of the target."""
        alpha, eta = self.prior_precision, self.step_size
        distance = math.sqrt(self.dimension / alpha) + self.lipschitz / alpha
        distance = min(distance, self.radius)
        logarithm = math.log(distance / math.sqrt(2.0 * math.pi * eta)) - math.log(0.5 * self.tv)
        relaxations = max(logarithm, 0.0) / math.log1p(alpha * eta)
        return 1 + math.ceil(relaxations * (1.0 + _ROUNDING))

    @property
    def inner_tv(self) -> float:
        """Bound of the total variation between one step of Algorithm 2 and an exact one."""
        s2 = 2.0 * self.lipschitz**2 * self.variance
        if s2 == 0.0:
            return 0.0
        tail = float(log_ndtr((2.0 * s2 - 1.0) / (2.0 * math.sqrt(s2))))
        return math.exp(0.5 * math.log(8.0 * math.pi * s2) + 0.5 * s2 + tail)

    @property
    def expected_evaluations(self) -> float:
        """Upper bound of the expected number of values f_i(θ) that a run needs.

        A try asks for 2e, and is accepted with probability (1 − `inner_tv`)/2 at least.
        """
        return self.n_steps * 4.0 * math.e / (1.0 - self.inner_tv)


@dataclass(frozen=True)
class ZerothOrderSampler(Sampler):
    """Alternate y = θ + √η·ξ with Algorithm 2's sample of exp(−U(θ) − |θ − y|²/(2η)).

    Algorithm 2 proposes θ, z ~ N(y/(1 + αη), σ²I) and accepts θ if a uniform number is at most ρ/2.
    ρ is an unbiased estimate of a multiple of exp(−Σ f_i(θ)) from a few random terms: 5.4 records
    per step, for any number of records. Steps must be short, about 1/(16·Γ²·ln(1/δ)) with
    Γ = n·c·R·L, so about n² steps are needed. A reference, not a tool for large data.

    Parameters
    ----------
    max_samples : int
        *Public.* More rows than this raise an error.
    max_steps : int
        *Public.* So are settings that ask for more steps, for a total variation of 1e-6.

    Notes
    -----
    **Certificate: tv.** An exact chain from 0 is within q^(T−1)·W/√(2πη) of its target, with
    q = 1/(1 + αη) and W = √(d/α) + Γ/α. Each inexact step adds at most
    √(8πs²)·e^(s²/2)·Φ(−(1 − 2s²)/(2s)), s² = 2Γ²σ². η and T make the sum at most what is asked
    for (*Reference samplers* in the documentation).

    References
    ----------
    Gopi, Lee and Liu, "Private convex optimization via exponential mechanism", COLT 2022,
    Algorithms 1 and 2, Theorem 5.6.
    """

    certifies: ClassVar[Certificate] = Certificate.TV
    theorem: ClassVar[str] = "alternating sampler from values, Gopi, Lee and Liu, Theorem 5.6"
    requires: ClassVar[frozenset[Requirement]] = frozenset({Requirement.ROW_COUNT})
    counts_rows: ClassVar[bool] = False
    takes_domain: ClassVar[bool] = True

    max_samples: int = 500
    max_steps: int = 10_000_000

    def __post_init__(self) -> None:
        make_plain(self)
        check_count("max_samples", self.max_samples)
        check_count("max_steps", self.max_steps)

    def check(self, setting: Setting) -> None:
        super().check(setting)
        if (setting.n_samples or 0) > self.max_samples:
            raise IncompatibleSolverError(
                f"ZerothOrderSampler takes time like n²; {setting.n_samples} rows are more than "
                f"max_samples={self.max_samples}. Use sampler='proximal'."
            )
        c, n = setting.C * setting.prior_precision, setting.n_samples or 0
        n_steps = AlternatingSchedule.within(
            _TYPICAL_TV,
            lipschitz=n * c * setting.loss.lipschitz * setting.row_norm,
            prior_precision=setting.prior_precision,
            dimension=(setting.n_features or 1) * setting.loss.n_scores,
            radius=math.inf if setting.domain is None else setting.domain.radius,
        ).n_steps
        if n_steps > self.max_steps:
            raise IncompatibleSolverError(
                f"ZerothOrderSampler would take {n_steps:.3g} steps, more than "
                f"max_steps={self.max_steps}: lower epsilon, or take another sampler."
            )

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        return plan_at_once(setting.C, tv)

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        draw = self.sample_black_box(BlackBox.of(target), plan.tv, rng)
        progress(1, plan.n_steps)
        return draw

    def sample_black_box(self, potential: BlackBox, tv: float, rng: np.random.Generator) -> Sample:
        """Draw once, within `tv` of the distribution of a potential that is known by its values."""
        schedule = AlternatingSchedule.within(
            check_real("tv", tv, low=0.0, high=1.0),
            lipschitz=potential.n_terms * potential.lipschitz,
            prior_precision=potential.prior_precision,
            dimension=potential.dimension,
            radius=math.inf if potential.domain is None else potential.domain.radius,
        )
        inner = _Inner(potential, schedule, rng)
        theta = np.zeros(potential.shape)
        for _ in range(schedule.n_steps):
            noise = rng.standard_normal(potential.shape)
            theta = inner.draw(theta + math.sqrt(schedule.step_size) * noise)
        return Sample(
            theta,
            {
                "n_evaluations": inner.n_evaluations,
                "n_tries": inner.n_tries,
                "n_steps": schedule.n_steps,
            },
        )


class _Inner:
    """Algorithm 2, and how many values it asked for."""

    def __init__(
        self, potential: BlackBox, schedule: AlternatingSchedule, rng: np.random.Generator
    ) -> None:
        self._potential, self._rng = potential, rng
        self._sd = math.sqrt(schedule.variance)
        self._shrink = schedule.variance / schedule.step_size  # 1/(1 + αη)
        self.n_evaluations = self.n_tries = 0

    def draw(self, y: np.ndarray) -> np.ndarray:
        while True:
            self.n_tries += 1
            x, z = self._pair(self._shrink * y)
            if self._rng.random() <= 0.5 * self._rho(x, z):
                return x

    def _pair(self, mean: np.ndarray) -> Sequence[np.ndarray] | np.ndarray:
        """Return two samples from N(mean, σ²·I), on the domain if there is one."""
        domain, sd, rng = self._potential.domain, self._sd, self._rng
        if domain is None:
            return mean + sd * rng.standard_normal((2, *mean.shape))
        gaussian = domain.gaussian(mean, sd)
        return gaussian.draw(rng), gaussian.draw(rng)

    def _rho(self, x: np.ndarray, z: np.ndarray) -> float:
        """Return 1 + Σ_a Π_(i≤a) n·(f_j(z) − f_j(x)), cut after term a with probability a/(1+a).

        Every factor has a fresh random index j. The cut does not look at the terms, so it is drawn
        first and all values are asked for at once.
        """
        n_terms = 1
        while self._rng.random() * (1 + n_terms) >= n_terms:
            n_terms += 1
        count = n_terms * (n_terms + 1) // 2
        rows = self._rng.integers(self._potential.n_terms, size=count)
        values = self._potential.values
        factors = self._potential.n_terms * (values(rows, z) - values(rows, x))
        self.n_evaluations += 2 * count
        starts = [a * (a - 1) // 2 for a in range(1, n_terms + 1)]
        return 1.0 + float(np.multiply.reduceat(factors, starts).sum())
