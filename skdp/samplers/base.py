"""The contract of a sampler: setting, plan, target, sample and certificate; balls as domains."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr

from skdp.design import Design, scored
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import GradientDirections, Loss, Minorant
from skdp.support.lazy_names import Registry
from skdp.support.safe_numbers import bisect, halvings
from skdp.support.validation import check_size, make_plain

Progress = Callable[[int, int], None]
"""Called with (step, n_steps), both public, after each step."""


class Certificate(StrEnum):
    """Proved property of a sample. A string of the same value is equivalent.

    Examples
    --------
    >>> from skdp.samplers import SAMPLERS
    >>> {name: str(SAMPLERS[name].certifies) for name in ("proximal", "exact", "proximal_tv")}
    {'proximal': 'stable', 'exact': 'exact', 'proximal_tv': 'tv'}
    """

    EXACT = "exact"
    """The sample has the target's distribution."""

    STABLE = "stable"
    """Two of the sampler's own outputs are close: see `SamplerPlan.stability`. Nothing is stated
    about the target."""

    TV = "tv"
    """The distribution is within a given total variation of the target's."""

    ASYMPTOTIC = "asymptotic"
    """The distribution converges to the target's. Nothing is proved about a finite run."""


class Requirement(Enum):
    """Something that a sampler may need of a setting; error messages show the value.

    Examples
    --------
    >>> from skdp.samplers import Requirement
    >>> from skdp.samplers.proximal import ExactSampler
    >>> [needed.value for needed in ExactSampler.requires]
    ['a row count']
    >>> Requirement.SMOOTH_LOSS in ExactSampler.requires
    False
    """

    SMOOTH_LOSS = "a loss with a continuous gradient"
    ONE_SCORE = "a loss of one score per record"
    FEATURE_COUNT = "a number of features"
    ROW_COUNT = "a row count"
    SHARED_ROW_COUNT = "a row count that all neighbors share"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Public facts about a target whose α is still open; c = C·α.

    Parameters
    ----------
    loss : Loss
        *Public.* ℓ.
    row_norm : float
        *Public.* R, with |a_i| ≤ R for every possible row.
    n_samples : int or None
        Approximate number of rows: *public*, *released*, or None.
    n_is_public : bool
        *Public.* Whether every possible data set has exactly `n_samples` rows.
    n_features : int or None
        *Public.* d, the intercept's column included.
    C : float
        *Public.* c/α.
    flow_time : float
        *Public.* t, the sum of all steps c·η of a run that has no other reason to end.
    prior_precision : float
        *Public.* α, in 1/coefficient², of a run with `SamplerPlan.stability` 1.
    domain : Ball or None
        *Public.* Domain of the target; None for all of space.
    row_trace : float or None
        Approximate trace of Σ a_i·a_iᵀ: *public*, *released*, or None for the worst rows.

    Examples
    --------
    >>> from skdp.losses import LogisticLoss
    >>> from skdp.samplers import Setting
    >>> public = {"n_samples": 1000, "n_is_public": True, "n_features": 3}
    >>> scales = {"C": 0.1, "flow_time": 1.0, "prior_precision": 2.0}
    >>> setting = Setting(loss=LogisticLoss(), row_norm=1.0, **public, **scales)
    >>> setting.dimension, setting.lipschitz, setting.worst_curvature
    (3, 200.0, 250.0)
    >>> len(setting.offers)
    5
    """

    loss: Loss
    row_norm: float
    n_samples: int | None
    n_is_public: bool
    n_features: int | None
    C: float
    flow_time: float
    prior_precision: float
    domain: Ball | None = None
    row_trace: float | None = None

    def __post_init__(self) -> None:
        make_plain(self)

    @property
    def offers(self) -> frozenset[Requirement]:
        """The requirements that this setting meets."""
        facts = {
            Requirement.SMOOTH_LOSS: math.isfinite(self.loss.smoothness),
            Requirement.ONE_SCORE: self.loss.n_scores == 1,
            Requirement.FEATURE_COUNT: self.n_features is not None,
            Requirement.ROW_COUNT: self.n_samples is not None,
            Requirement.SHARED_ROW_COUNT: self.n_is_public,
        }
        return frozenset(fact for fact, holds in facts.items() if holds)

    @property
    def dimension(self) -> int:
        """k, the number of coefficients."""
        assert self.n_features is not None, "a sampler that needs the number requires it"
        return self.n_features * self.loss.n_scores

    @property
    def lipschitz(self) -> float:
        """Γ = c·n·R·L, a Lipschitz constant of c·Σ ℓ for any rows, if `stability` is 1."""
        c = self.C * self.prior_precision
        return c * self._rows * self.row_norm * self.loss.lipschitz

    @property
    def worst_curvature(self) -> float:
        """Largest curvature of Σ ℓ for the worst `n_samples` rows; inf for a non-smooth loss."""
        return self._rows * self.loss.smoothness * self.row_norm**2

    @property
    def worst_trace(self) -> float:
        """Trace of the Hessian of Σ ℓ for the worst `n_samples` rows with this `row_trace`."""
        trace = self._rows * self.row_norm**2 if self.row_trace is None else self.row_trace
        return trace * Minorant.of(self.loss).curvature_trace

    @property
    def worst_rank(self) -> int:
        """Largest possible rank of the Hessian of Σ ℓ."""
        return GradientDirections.of(self.loss).dimension * min(
            self._rows, self.n_features or self._rows
        )

    @property
    def _rows(self) -> int:
        assert self.n_samples is not None, "a sampler that counts rows requires the number"
        return self.n_samples


@dataclass(frozen=True, kw_only=True)
class SamplerPlan:
    """Public numbers of one run of a sampler.

    Parameters
    ----------
    n_steps : int
        T; 1 for a sampler whose number of steps depends on the data and is not released.
    step : float
        h = c·η, each step's multiplier of the gradient of Σ ℓ.
    stability : float
        f ≤ 1. For two targets whose potentials differ by an L-Lipschitz function, outputs are no
        easier to distinguish than N(0, 1) and N(f·L/√α, 1), except for `tv`.
    spread : float
        c times the approximate variance of the sample in directions without data.
    tv : float
        Bound of the total variation between the distributions of sample and target; 0 unless the
        certificate is "tv".
    contraction : float
        Times √(E|θ|² + d·η), θ from the target, it bounds the distance of sample and target in
        the quadratic mean, except for `tv`; inf if no such bound is known.

    Examples
    --------
    >>> from skdp.losses import LogisticLoss
    >>> from skdp.samplers import Setting
    >>> from skdp.samplers.proximal import ProximalSampler
    >>> public = {"n_samples": 1000, "n_is_public": True, "n_features": 3}
    >>> scales = {"C": 0.1, "flow_time": 1.0, "prior_precision": 2.0}
    >>> setting = Setting(loss=LogisticLoss(), row_norm=1.0, **public, **scales)
    >>> plan = ProximalSampler().plan(setting, tv=0.0)
    >>> plan.n_steps, round(plan.stability, 3)
    (32, 1.0)
    """

    n_steps: int
    step: float
    stability: float
    spread: float
    tv: float = 0.0
    contraction: float = math.inf


def plan_at_once(C: float, tv: float = 0.0) -> SamplerPlan:
    """Return the plan of one sample within `tv` of a target with this C = c/α."""
    return SamplerPlan(n_steps=1, step=C, stability=1.0, spread=C, tv=tv, contraction=0.0)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Target:
    """The distribution with density ∝ exp(−c·Σ ℓ(y_i, a_i·θ) − (α/2)·|θ|²) on a domain.

    Parameters
    ----------
    design : Design
        *Private.* Rows a_i and their targets y_i, coded for the loss.
    loss : Loss
        *Public.* ℓ.
    row_norm : float
        *Public.* R, with |a_i| ≤ R for every row.
    temperature : float
        *Public.* c, the weight of each record's loss.
    prior_precision : float
        *Public.* α, in 1/coefficient².
    domain : Ball or None
        *Public.* Domain of the density; None for all of space.
    row_trace : float or None
        *Released.* Approximate Σ |a_i|²; None for the largest that R allows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.design import ClippedDesign
    >>> from skdp.losses import LogisticLoss
    >>> from skdp.samplers import Target
    >>> X, y = np.array([[1.0], [0.5], [-1.0]]), np.array([1.0, 1.0, -1.0])
    >>> rows = ClippedDesign.clip(X, data_norm=1.0, targets=y)
    >>> scales = {"row_norm": 1.0, "temperature": 1.0, "prior_precision": 1.0}
    >>> target = Target(design=rows, loss=LogisticLoss(), **scales)
    >>> target.shape, target.gradient(np.zeros(1))
    ((1,), array([-1.25]))
    """

    design: Design
    loss: Loss
    row_norm: float
    temperature: float
    prior_precision: float
    domain: Ball | None = None
    row_trace: float | None = None

    @cached_property
    def minorant(self) -> Minorant:
        """Affine minorants of ℓ."""
        return Minorant.of(self.loss)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of θ: (d,) for one score per record, else (d, K)."""
        d, k = self.design.n_features, self.loss.n_scores
        return (d,) if k == 1 else (d, k)

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Return a (sub)gradient of the potential at θ. Takes one pass over the data.

        Parameters
        ----------
        theta : ndarray of shape (d,) or (d, K)

        Returns
        -------
        ndarray of the same shape
            *Private.*
        """
        total = self.design.slope_sum(self.loss.gradient, theta)
        return self.temperature * total + self.prior_precision * theta

    def scored_gradient(self, theta: np.ndarray) -> tuple[Design, np.ndarray]:
        """Return the rows scored at θ and a (sub)gradient of the potential. Takes one pass.

        Parameters
        ----------
        theta : ndarray of shape (d,) or (d, K)

        Returns
        -------
        rows : Design
            *Private.* See `design.scored`.
        gradient : ndarray of the shape of θ
            *Private.*
        """
        rows, total = scored(self.design, self.loss.gradient, theta)
        return rows, self.temperature * total + self.prior_precision * theta


@dataclass(frozen=True)
class Effort:
    """Counts of proposals and of per-example evaluations; *not private*, they depend on the data.

    An evaluation computes the loss, its gradient or both for one record at one point θ.
    """

    n_tries: int = 0
    n_evaluations: int = 0

    def __add__(self, other: Effort) -> Effort:
        return Effort(self.n_tries + other.n_tries, self.n_evaluations + other.n_evaluations)


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """A sample and its diagnostics.

    Every sampler's diagnostics have `n_evaluations`, the number of per-example evaluations: the
    loss, its gradient or both for one record at one point θ. A pass over the data is n.

    Parameters
    ----------
    theta : ndarray of shape (d,) or (d, K)
        *Private* until a solver that planned for it releases it.
    diagnostics : mapping
        *Not private.*

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.samplers import Sample
    >>> sample = Sample(np.array([1.5, -0.5]), {"n_evaluations": 3000})
    >>> sample.theta, sample.diagnostics["n_evaluations"]
    (array([ 1.5, -0.5]), 3000)
    """

    theta: np.ndarray
    diagnostics: Mapping[str, object] = field(default_factory=dict)


class Sampler(ABC):
    """An algorithm that samples from a `Target`.

    A sampler uses potentials and constants only; it is independent of privacy. `check` and `plan`
    use public facts only; `sample` reads the data.

    Examples
    --------
    >>> from skdp.samplers import SAMPLERS
    >>> [name for name in SAMPLERS if SAMPLERS[name].takes_blocks]
    ['proximal', 'exact', 'langevin', 'proximal_tv', 'proximal_bundle']
    >>> SAMPLERS["proximal"].theorem
    "proximal sampler after finitely many steps, Theorem A'"
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Reset `theorem` in a class that changes `certifies` without naming a theorem."""
        super().__init_subclass__(**kwargs)
        if "certifies" in vars(cls) and "theorem" not in vars(cls):
            cls.theorem = f"no theorem is named by {cls.__name__}"

    certifies: ClassVar[Certificate]
    """Proved property of every sample."""

    theorem: ClassVar[str]
    """Name of the statement behind the certificate."""

    requires: ClassVar[frozenset[Requirement]] = frozenset()
    """The members of `Setting.offers` that the sampler needs."""

    counts_rows: ClassVar[bool] = True
    """Whether `plan` uses `Setting.n_samples`."""

    takes_domain: ClassVar[bool] = False
    """Whether samples stay in `Target.domain`."""

    takes_blocks: ClassVar[bool] = False
    """Whether `sample` needs only sums over the design and some of its rows, so that rows may be
    outside memory."""

    takes_long_runs: ClassVar[bool] = False
    """Whether the cost of a run is steady enough for thousands of steps."""

    def check(self, setting: Setting) -> None:
        """Raise if, by public facts, `sample` cannot handle the setting.

        Parameters
        ----------
        setting : Setting
            *Public.*

        Raises
        ------
        IncompatibleSolverError
            If a requirement is not met (the message names it), or a run would take too long.
        """
        for missing in sorted(self.requires - setting.offers, key=lambda fact: fact.value):
            hint = "Pass n_samples_hint, or use" if missing is Requirement.ROW_COUNT else "Use"
            raise IncompatibleSolverError(
                f"{type(self).__name__} needs {missing.value}, which this fit of {setting.loss!r} "
                f"does not have. {hint} sampler='proximal'."
            )
        if setting.domain is not None and not self.takes_domain:
            raise IncompatibleSolverError(
                f"{type(self).__name__} cannot restrict samples to {setting.domain!r}. "
                "Use sampler='proximal'."
            )

    @abstractmethod
    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        """Return the public numbers of a run, the same for the same arguments.

        Parameters
        ----------
        setting : Setting
            *Public.* A setting that `check` accepts.
        tv : float
            *Public.* The requested total variation; for certificate "tv" only.

        Returns
        -------
        SamplerPlan
            *Public.*

        Raises
        ------
        IncompatibleSolverError
            If no run of acceptable length is within `tv`.
        """

    @abstractmethod
    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        """Return one sample. Its diagnostics hold everything else that depends on the data.

        Parameters
        ----------
        target : Target
            *Private.*
        plan : SamplerPlan
            *Public.* From `plan`, for the target's setting.
        rng : numpy Generator
            *Secret.* Source of all randomness.
        progress : callable
            Called with (step, n_steps), both public, after each step.

        Returns
        -------
        Sample
            *Private.*
        """


SAMPLERS: Registry[Sampler] = Registry(
    {
        "proximal": "skdp.samplers.proximal:ProximalSampler",
        "exact": "skdp.samplers.proximal:ExactSampler",
        "langevin": "skdp.research.samplers.langevin:LangevinSampler",
        "proximal_tv": "skdp.research.samplers.proximal_chain:ProximalTVSampler",
        "localized": "skdp.research.samplers.localized:LocalizedSampler",
        "proximal_bundle": "skdp.research.samplers.proximal_bundle:ProximalBundleSampler",
    }
)
"""Names for an estimator's `sampler`; each certifies a run that is short enough for a fit."""

REFERENCE_SAMPLERS: Registry[Sampler] = Registry(
    {
        "zeroth_order": "skdp.research.samplers.zeroth_order:ZerothOrderSampler",
        "renyi_langevin": "skdp.research.samplers.langevin:RenyiLangevinSampler",
        "smoothed_langevin": "skdp.research.samplers.langevin:SmoothedLangevinSampler",
        "mala": "skdp.research.samplers.reference:MALASampler",
        "hit_and_run": "skdp.research.samplers.reference:HitAndRunSampler",
        "ball_walk": "skdp.research.samplers.reference:BallWalkSampler",
        "grid_walk": "skdp.research.samplers.reference:GridWalkSampler",
        "hinge_gibbs": "skdp.research.samplers.reference:HingeGibbsSampler",
        "logistic_gibbs": "skdp.research.samplers.reference:LogisticGibbsSampler",
    }
)
"""Reference samplers from papers, for samples without privacy.

Some certify a total variation but need too many steps for a fit. The others certify nothing about a
finite run.
"""


_BISECTIONS = 40  # to choose a proposal; no guarantee rests on it
_ROOT_2PI = math.sqrt(2.0 * math.pi)


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
        return float(np.vdot(theta, theta)) <= self.radius**2

    def project(self, theta: np.ndarray) -> np.ndarray:
        return theta if self.holds(theta) else theta * (self.radius / np.linalg.norm(theta))

    def gaussian(self, mean: np.ndarray, sd: float) -> RestrictedGaussian:
        """Return N(mean, sd²·I) restricted to the ball."""
        return RestrictedGaussian(self, mean, sd)

    def lowest(self, curvature: np.ndarray, linear: np.ndarray) -> np.ndarray:
        """Return the point of the ball that minimizes ½·Σ w_j·|x_j|² − Σ ⟨e_j, x_j⟩."""

        def beyond(multiplier: float) -> float:
            return float(np.linalg.norm(linear.T / (curvature + multiplier))) - self.radius

        if beyond(0.0) <= 0.0:
            return (linear.T / curvature).T
        # twice the multiplier at which x is short enough, so rounding does not matter
        most = 2.0 * float(np.linalg.norm(linear)) / self.radius
        multiplier = brentq(beyond, 0.0, most)
        return self.project((linear.T / (curvature + multiplier)).T)


@dataclass(frozen=True, eq=False)
class RestrictedGaussian:
    """N(mean, sd²·I) restricted to a ball."""

    ball: Ball
    mean: np.ndarray
    sd: float

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        # A point of the whole Gaussian that falls inside has this distribution. If it falls
        # outside, an exact sample replaces it, so the result has this distribution in both cases.
        theta = self.mean + self.sd * rng.standard_normal(self.mean.shape)
        if self.ball.holds(theta):
            return theta
        return self.sd * self._truncated.draw(rng).reshape(self.mean.shape)

    @cached_property
    def _truncated(self) -> TruncatedGaussian:
        return TruncatedGaussian(self.ball.radius / self.sd, self.mean.ravel() / self.sd)


class TruncatedGaussian:
    """N(m·u, I) restricted to |x| ≤ ρ, u a unit vector; samples are exact for any mean.

    With x = a·u + w, w at a right angle to u and v = |w|², a is in [−b, b], b = √(ρ² − v), and v
    has a density ∝ v^((d−3)/2)·exp(−v/2)·g(v), g(v) the probability that N(m, 1) is in [−b, b].
    log g is concave, so it lies below its tangent at any v₀, of derivative −κ: w is proposed from
    N(0, s²·I), 1/s² = 1 + 2κ, and accepted with probability g(v)/g(v₀)·exp(κ·(v − v₀)). Then a is
    drawn.
    """

    def __init__(self, radius: float, mean: np.ndarray) -> None:
        self._radius, self._m = radius, float(np.linalg.norm(mean))
        first = np.zeros(mean.shape)
        first[0] = 1.0
        self._axis = mean / self._m if self._m else first
        self._v0 = self._best_tangency(mean.size - 1)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return one point, of shape (d,)."""
        b0, derivative = self._half_chord(self._v0), self._derivative(self._v0)
        sd = 1.0 / math.sqrt(1.0 - 2.0 * derivative)
        while True:
            w = sd * rng.standard_normal(self._axis.shape)
            w -= self._axis * (self._axis @ w)
            v = float(w @ w)
            gap = derivative * (v - self._v0)
            if v >= self._radius**2 or rng.standard_exponential() < gap - self._gain(v, b0):
                continue
            b = self._half_chord(v)
            return (b - _depth(b - self._m, b, rng)) * self._axis + w

    def _half_chord(self, v: float) -> float:
        return math.sqrt(self._radius**2 - v)

    def _mass(self, b: float) -> float:
        """Return log of g times exp((b − m)²/2), which has no large terms for b < m."""
        low = _log_tail(-b - self._m) - _log_tail(b - self._m) - 2.0 * b * self._m
        return _log_tail(b - self._m) + math.log(-math.expm1(min(low, -1e-300)))

    def _gain(self, v: float, b0: float) -> float:
        """Return log g(v) − log g(v₀)."""
        b = self._half_chord(v)
        longer = (self._v0 - v) / (b + b0)
        return self._mass(b) - self._mass(b0) - 0.5 * longer * (b + b0 - 2.0 * self._m)

    def _derivative(self, v: float) -> float:
        """Return −κ, the derivative of log g at v."""
        b = self._half_chord(v)
        ends = 1.0 + math.exp(-2.0 * b * self._m)
        return -ends * math.exp(-self._mass(b)) / (2.0 * b * _ROOT_2PI)

    def _best_tangency(self, k: int) -> float:
        """Return v₀ = k·s²(v₀), which needs the fewest proposals in k dimensions."""

        def is_below(v: float) -> bool:
            return v * (1.0 - 2.0 * self._derivative(v)) < k

        return bisect(is_below, 0.0, self._radius**2, halvings(_BISECTIONS)) if k else 0.0


def _log_tail(x: float) -> float:
    """Return log Φ(x) + x²/2."""
    if x < 0.0:
        return math.log(0.5 * erfcx(-x / math.sqrt(2.0)))
    return float(log_ndtr(x)) + 0.5 * x * x


def _depth(x: float, b: float, rng: np.random.Generator) -> float:
    """Return a sample t in [0, 2b] with density ∝ exp(x·t − t²/2); few proposals are rejected."""
    while True:
        if x > -1.0 and b > 0.5:
            t = x - rng.standard_normal()
            if 0.0 <= t <= 2.0 * b:
                return float(t)
            continue
        u = rng.random()
        t = math.log1p(u * math.expm1(2.0 * b * x)) / x if x else 2.0 * b * u
        if rng.standard_exponential() >= 0.5 * t * t:
            return t
