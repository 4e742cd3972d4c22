"""What a sampler samples from, and what every sampler answers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from skdp.design import Design, scored
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import GradientDirections, Loss, Minorant
from skdp.samplers.ball import Ball
from skdp.support.validation import make_plain

__all__ = [
    "Certificate",
    "Effort",
    "Progress",
    "Requirement",
    "Sample",
    "Sampler",
    "SamplerPlan",
    "Setting",
    "Target",
]

Progress = Callable[[int, int], None]
"""Called with (step, n_steps), both public, after each step."""


class Certificate(StrEnum):
    """What is proved about a sample. A string of the same value is as good."""

    EXACT = "exact"
    """It has the target's distribution."""

    STABLE = "stable"
    """Two of the sampler's own outputs are close: see `SamplerPlan.stability`. Nothing is said of
    the target."""

    TV = "tv"
    """Its distribution is within a given total variation of the target's."""

    ASYMPTOTIC = "asymptotic"
    """It comes near the target in the long run. Nothing is proved of any finite run."""


class Requirement(Enum):
    """What a sampler may need of a setting; the value is the name that a refusal gives it."""

    SMOOTH_LOSS = "a loss with a continuous gradient"
    ONE_SCORE = "a loss of one score a record"
    FEATURE_COUNT = "a number of features"
    ROW_COUNT = "a row count"
    SHARED_ROW_COUNT = "a row count that all neighbors share"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is public about a target while α is still open: c = C·α.

    Parameters
    ----------
    loss : Loss
        *Public.* ℓ.
    row_norm : float
        *Public.* R, with |a_i| ≤ R for every row that can occur.
    n_samples : int or None
        About how many rows there are: *public*, *released*, or None where neither.
    n_is_public : bool
        *Public.* Whether every data set that can occur has exactly `n_samples` rows.
    n_features : int or None
        *Public.* d, the intercept's column included.
    C : float
        *Public.* c/α.
    flow_time : float
        *Public.* t, the sum of all steps c·η of a run that has no other reason to end.
    prior_precision : float
        *Public.* α, in 1/coefficient², of a run with `SamplerPlan.stability` 1.
    domain : Ball or None
        *Public.* Where the target lives; None for all of space.
    row_trace : float or None
        Trace of Σ a_i·a_iᵀ, about: *public*, *released*, or None for that of the worst rows.
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
        """What a sampler may require, as far as this setting has it."""
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
        assert self.n_features is not None, "a sampler that needs the number is given it"
        return self.n_features * self.loss.n_scores

    @property
    def lipschitz(self) -> float:
        """Γ = c·n·R·L, a Lipschitz constant of c·Σ ℓ for any rows, where `stability` is 1."""
        c = self.C * self.prior_precision
        return c * self._rows * self.row_norm * self.loss.lipschitz

    @property
    def worst_curvature(self) -> float:
        """Largest curvature of Σ ℓ for the worst `n_samples` rows; inf for a non-smooth loss."""
        return self._rows * self.loss.smoothness * self.row_norm**2

    @property
    def worst_trace(self) -> float:
        """Trace that the Hessian of Σ ℓ has for the worst `n_samples` rows of that `row_trace`."""
        trace = self._rows * self.row_norm**2 if self.row_trace is None else self.row_trace
        return trace * Minorant.of(self.loss).curvature_trace

    @property
    def worst_rank(self) -> int:
        """Rank that the Hessian of Σ ℓ may have."""
        return GradientDirections.of(self.loss).dimension * min(
            self._rows, self.n_features or self._rows
        )

    @property
    def _rows(self) -> int:
        assert self.n_samples is not None, "a sampler that counts rows is given a number"
        return self.n_samples


@dataclass(frozen=True, kw_only=True)
class SamplerPlan:
    """Public numbers of one run of a sampler.

    Parameters
    ----------
    n_steps : int
        T; 1 for a sampler that takes as many as the data need and does not say how many.
    step : float
        h = c·η, each step's multiplier of the gradient of Σ ℓ.
    stability : float
        f ≤ 1: on two targets whose potentials differ by an L-Lipschitz function, outputs are no
        easier to tell apart than N(0, 1) and N(f·L/√α, 1), but for `tv`.
    spread : float
        c times the variance of the sample where the data say nothing, roughly.
    tv : float
        Bound of the distance in total variation between the distributions of sample and target; 0
        unless certified "tv".
    contraction : float
        Times √(E|θ|² + d·η), θ from the target, it bounds in the quadratic mean how far sample and
        target are apart, but for `tv`; inf if nothing of the kind is known.
    """

    n_steps: int
    step: float
    stability: float
    spread: float
    tv: float = 0.0
    contraction: float = math.inf


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Target:
    """The distribution with density ∝ exp(−c·Σ ℓ(y_i, a_i·θ) − (α/2)·|θ|²) on a domain.

    Parameters
    ----------
    design : Design
        *Private.* Rows a_i and their targets y_i, coded as the loss wants them.
    loss : Loss
        *Public.* ℓ.
    row_norm : float
        *Public.* R, with |a_i| ≤ R for every row.
    temperature : float
        *Public.* c, the weight of each record's loss.
    prior_precision : float
        *Public.* α, in 1/coefficient².
    domain : Ball or None
        *Public.* To which the density is restricted.
    row_trace : float or None
        *Released.* About Σ |a_i|²; None: as much as R allows.
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
        """Shape of θ: (d,) for one score a record, else (d, K)."""
        d, k = self.design.n_features, self.loss.n_scores
        return (d,) if k == 1 else (d, k)

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Return a (sub)gradient of the potential at θ. One pass over the data.

        Parameters
        ----------
        theta : ndarray of shape (d,) or (d, K)
            θ.

        Returns
        -------
        ndarray of the same shape
            *Private.*
        """
        total = self.design.slope_sum(self.loss.gradient, theta)
        return self.temperature * total + self.prior_precision * theta

    def scored_gradient(self, theta: np.ndarray) -> tuple[Design, np.ndarray]:
        """Return the rows scored at θ and a (sub)gradient of the potential. One pass over the data.

        Parameters
        ----------
        theta : ndarray of shape (d,) or (d, K)
            θ.

        Returns
        -------
        rows : Design
            *Private.* As `design.scored` returns them.
        gradient : ndarray of the shape of θ
            *Private.*
        """
        rows, total = scored(self.design, self.loss.gradient, theta)
        return rows, self.temperature * total + self.prior_precision * theta

    def scored_minorant(self, theta: np.ndarray) -> tuple[Design, np.ndarray]:
        """Return the rows scored at θ, and the gradient of an affine minorant of c·Σ ℓ.

        It nearly touches at θ; of a smooth loss it is the tangent. One pass over the data.

        Parameters
        ----------
        theta : ndarray of shape (d,) or (d, K)
            θ.

        Returns
        -------
        rows : Design
            *Private.* As `design.scored` returns them.
        gradient : ndarray of the shape of θ
            *Private.*
        """
        rows, total = scored(self.design, self.minorant.gradient, theta)
        return rows, self.temperature * total


@dataclass(frozen=True)
class Effort:
    """Numbers of proposals and of per-example evaluations. They depend on the data: *not private*.

    Parameters
    ----------
    n_tries : int
        Proposals.
    n_evaluations : int
        Records times points θ at which their loss, its gradient or both were computed.
    """

    n_tries: int = 0
    n_evaluations: int = 0

    def __add__(self, other: Effort) -> Effort:
        return Effort(self.n_tries + other.n_tries, self.n_evaluations + other.n_evaluations)


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """A sample, with what may be looked at but is *not private*.

    Every sampler's diagnostics have `n_evaluations`, the number of per-example evaluations: of one
    record at one point θ, for the loss or its gradient there or both. A pass over the data is n.

    Parameters
    ----------
    theta : ndarray of shape (d,) or (d, K)
        *Private*, until a solver that planned for it releases it.
    diagnostics : dict
        *Not private.*
    """

    theta: np.ndarray
    diagnostics: dict[str, Any] = field(default_factory=dict)


class Sampler(ABC):
    """A way to sample from a `Target`. It knows potentials and constants, nothing of privacy.

    `check` and `plan` see public facts only, `sample` reads the data.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let no class that changes what is certified inherit the reason for it."""
        super().__init_subclass__(**kwargs)
        if "certifies" in vars(cls) and "theorem" not in vars(cls):
            cls.theorem = f"no theorem is named by {cls.__name__}"

    certifies: ClassVar[Certificate]
    """What is proved about every sample."""

    theorem: ClassVar[str]
    """The statement behind the certificate, by name."""

    requires: ClassVar[frozenset[Requirement]] = frozenset()
    """What of `Setting.offers` the sampler cannot do without."""

    counts_rows: ClassVar[bool] = True
    """Whether `plan` reads `Setting.n_samples`."""

    takes_domain: ClassVar[bool] = False
    """Whether `sample` keeps to `Target.domain`."""

    takes_blocks: ClassVar[bool] = False
    """Whether `sample` asks a design for sums and for some rows only, wherever they are."""

    takes_long_runs: ClassVar[bool] = False
    """Whether the cost of a run is so steady that it may take thousands of steps."""

    def check(self, setting: Setting) -> None:
        """Refuse, by public facts, what `sample` cannot do.

        Parameters
        ----------
        setting : Setting
            *Public.*

        Raises
        ------
        IncompatibleSolverError
            If something is missing, which the message names, or a run would take too long.
        """
        for missing in sorted(fact.value for fact in self.requires - setting.offers):
            raise IncompatibleSolverError(
                f"{type(self).__name__} needs {missing}; this fit, of {setting.loss!r}, has none. "
                "sampler='proximal' takes any."
            )
        if setting.domain is not None and not self.takes_domain:
            raise IncompatibleSolverError(
                f"{type(self).__name__} draws from all of space and cannot keep to "
                f"{setting.domain!r}. sampler='proximal' can."
            )

    @abstractmethod
    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        """Return the public numbers of a run.

        Parameters
        ----------
        setting : Setting
            *Public.* One that `check` admits.
        tv : float
            *Public.* The total variation that is asked for; for certificate "tv" only.

        Returns
        -------
        SamplerPlan
            *Public.* The same for the same arguments.

        Raises
        ------
        IncompatibleSolverError
            If no run that is short enough comes within `tv`.
        """

    @abstractmethod
    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        """Draw once. Whatever depends on the data goes into the diagnostics and nowhere else.

        Parameters
        ----------
        target : Target
            *Private.*
        plan : SamplerPlan
            *Public.* From `plan`, for the target's setting.
        rng : numpy Generator
            *Secret.* All randomness comes from it.
        progress : callable
            Called with (step, n_steps), both public, after each step.

        Returns
        -------
        Sample
            *Private.*
        """
