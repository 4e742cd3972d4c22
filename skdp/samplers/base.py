"""What a sampler draws from, and what every sampler answers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from skdp._validation import make_plain
from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import Loss
from skdp.samplers.ball import Ball

__all__ = ["Certificate", "Progress", "Sample", "Sampler", "SamplerPlan", "Setting", "Target"]

Progress = Callable[[int, int], None]
"""Called with (step, n_steps), both public, after each step."""

Slope = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Of labels y and scores z, one slope in z each."""

Certificate = Literal["exact", "stable", "tv", "asymptotic"]
"""What is proved about a draw.

exact
    It has the target's law.
stable
    Two of the sampler's own outputs are close: see `SamplerPlan.stability`. Nothing is said of the
    target.
tv
    Its law is within a given total variation of the target's.
asymptotic
    It comes near the target in the long run. Nothing is proved of any finite run.
"""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is public about a target while α is still open: c = C·α.

    Parameters
    ----------
    loss : Loss
    row_norm : float
        R, with |a_i| ≤ R for every row that can occur.
    n_samples : int or None
        About how many rows there are: public, released, or None where neither.
    n_is_public : bool
        Whether every data set that can occur has exactly `n_samples` rows.
    n_features : int or None
        d, the intercept's column included.
    C : float
        c/α.
    flow_time : float
        t, the sum of all steps c·η of a run that has no other reason to end.
    prior_precision : float
        α, of a run with `SamplerPlan.stability` 1.
    domain : Ball or None
        Where the target lives; None for all of space.
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

    def __post_init__(self) -> None:
        make_plain(self)

    @property
    def offers(self) -> frozenset[str]:
        """What a sampler may require, by the name that a refusal gives it."""
        facts = {
            "a loss with a continuous gradient": math.isfinite(self.loss.smoothness),
            "a loss of one score a record": self.loss.n_scores == 1,
            "a number of features": self.n_features is not None,
            "a row count": self.n_samples is not None,
            "a row count that all neighbours share": self.n_is_public,
        }
        return frozenset(name for name, holds in facts.items() if holds)

    @property
    def dimension(self) -> int:
        """k, the number of coefficients."""
        assert self.n_features is not None, "a sampler that needs the number is given it"
        return self.n_features * self.loss.n_scores

    @property
    def steepness(self) -> float:
        """Γ = c·n·R·L, a Lipschitz constant of c·Σ ℓ for any rows, where `stability` is 1."""
        assert self.n_samples is not None, "a sampler that counts rows is given a number"
        c = self.C * self.prior_precision
        return c * self.n_samples * self.row_norm * self.loss.lipschitz

    @property
    def worst_curvature(self) -> float:
        """Largest curvature of Σ ℓ for the worst `n_samples` rows; inf if the loss has kinks."""
        assert self.n_samples is not None, "a sampler that counts rows is given a number"
        return self.n_samples * self.loss.smoothness * self.row_norm**2

    @property
    def worst_trace(self) -> float:
        """Trace that the Hessian of Σ ℓ has for the worst `n_samples` rows."""
        assert self.n_samples is not None, "a sampler that counts rows is given a number"
        return self.n_samples * self.loss.curvature_trace * self.row_norm**2

    @property
    def worst_rank(self) -> int:
        """Rank that the Hessian of Σ ℓ may have."""
        assert self.n_samples is not None, "a sampler that counts rows is given a number"
        return self.loss.n_directions * min(self.n_samples, self.n_features or self.n_samples)


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
        c times the variance of the draw where the data say nothing, roughly.
    tv : float
        Bound of the distance in total variation between draw and target; 0 unless certified "tv".
    contraction : float
        Times √(E|θ|² + d·η), θ from the target, it bounds in the quadratic mean how far draw and
        target are apart, but for `tv`; inf if nothing of the kind is known.
    """

    n_steps: int
    step: float
    stability: float
    spread: float
    tv: float = 0.0
    contraction: float = math.inf


@dataclass(frozen=True, eq=False, kw_only=True)
class Target:
    """The law with density proportional to exp(−c·Σ ℓ(y_i, a_i·θ) − (α/2)·|θ|²) on a domain.

    Parameters
    ----------
    design : ClippedDesign
        Rows a_i.
    y : ndarray of shape (n_samples,)
        Labels, coded as the loss wants them.
    loss : Loss
    row_norm : float
        R, with |a_i| ≤ R for every row.
    temperature : float
        c, the weight of each record's loss.
    prior_precision : float
        α, in 1/coefficient².
    domain : Ball or None
        To which the density is restricted.
    """

    design: ClippedDesign
    y: np.ndarray
    loss: Loss
    row_norm: float
    temperature: float
    prior_precision: float
    domain: Ball | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of θ: (d,) for one score a record, else (d, K)."""
        d, k = self.design.n_features, self.loss.n_scores
        return (d,) if k == 1 else (d, k)

    def minorant_gradient(self, theta: np.ndarray) -> np.ndarray:
        """Return the slope of an affine function below c·Σ ℓ that nearly touches it at θ.

        It is the gradient where the loss is smooth. One pass over the data.
        """
        return self.temperature * self._sum(self.loss.minorant_gradient, theta)

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Return a (sub)gradient of the potential at θ. One pass over the data."""
        return self.temperature * self._sum(self.loss.gradient, theta) + (
            self.prior_precision * theta
        )

    def _sum(self, slope: Slope, theta: np.ndarray) -> np.ndarray:
        """Return Σ a_i ⊗ slope(y_i, a_i·θ)."""
        total = np.zeros(self.shape)
        for rows, block in self.design.blocks():
            total += block.rmatvec(slope(self.y[rows], block.matvec(theta)))
        return total


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample, with what may be looked at but is *not private*.

    Every sampler's diagnostics have `n_queries`: how many times it looked at a record, each time at
    one point θ, for the loss or its slope there or both. A pass over the data is n queries.
    """

    theta: np.ndarray
    diagnostics: dict[str, Any] = field(default_factory=dict)


class Sampler(ABC):
    """A way to draw from a `Target`. It knows potentials and constants, nothing of privacy.

    `check` and `plan` see public facts only, `sample` reads the data.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let no class that changes what is certified inherit the reason for it."""
        super().__init_subclass__(**kwargs)
        if "certifies" in vars(cls) and "theorem" not in vars(cls):
            cls.theorem = f"no theorem is named by {cls.__name__}"

    certifies: ClassVar[Certificate]
    """What is proved about every draw."""

    theorem: ClassVar[str]
    """The statement behind the certificate, by name."""

    requires: ClassVar[frozenset[str]] = frozenset()
    """What of `Setting.offers` the sampler cannot do without."""

    counts_rows: ClassVar[bool] = True
    """Whether `plan` reads `Setting.n_samples`."""

    takes_domain: ClassVar[bool] = False
    """Whether `sample` keeps to `Target.domain`."""

    def check(self, setting: Setting) -> None:
        """Raise IncompatibleSolverError, naming what is missing, if `sample` would not do."""
        for name in sorted(self.requires - setting.offers):
            raise IncompatibleSolverError(
                f"{type(self).__name__} needs {name}; this fit, of {setting.loss!r}, has none. "
                "sampler='proximal' takes any."
            )
        if setting.domain is not None and not self.takes_domain:
            raise IncompatibleSolverError(
                f"{type(self).__name__} draws from all of space and cannot keep to "
                f"{setting.domain!r}. sampler='proximal' can."
            )

    @abstractmethod
    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        """Return the numbers of a run; ``tv`` is the total variation that is asked for.

        Raises IncompatibleSolverError if no run that is short enough comes within it.
        """

    @abstractmethod
    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        """Draw once. Whatever depends on the data goes into the diagnostics and nowhere else."""
