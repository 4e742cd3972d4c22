"""The contract of a loss: constants, directions of gradients, affine minorants."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

# Both values are exact to a few units of 2⁻⁵³, relative to the larger one. A guarantee may rest on
# the bound of their difference.
_OSCILLATION_MARGIN = 1e-14
_CHORD = 0.2  # half the width of scores over which curvature is averaged; for speed only


class Loss(ABC):
    """A convex loss of one record's target y and raw score z.

    - Two classes: ``y`` in {−1, +1} and ``z``, both of shape (n,).
    - K classes: integer ``y`` in 0..K−1 of shape (n,) and ``z`` of shape (n, K).
    - Regression: real ``y`` of shape (n,), and ``z`` of shape (n,), or (n, K) for K predictions.

    All constants refer to z, in the l2 norm, and hold for every z and y.

    Methods that a loss may have besides: `directions` and `minorant`, in place of what holds for
    every loss, `oscillation(radius)`, a bound of its variation, and `score_units`. A loss that
    compares large differences of scores must have the latter, on which a guarantee rests: its
    units b by which rounding moves a gradient, of 2⁻⁵³·smoothness times \\|z\\| + 2·noise_scale,
    beside relative errors (*Machine numbers*).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.losses import LogisticLoss
    >>> loss = LogisticLoss()
    >>> y, z = np.array([1.0, -1.0]), np.array([0.0, 2.0])
    >>> loss.value(y, z).round(3), loss.gradient(y, z).round(3)
    (array([0.693, 2.127]), array([-0.5  ,  0.881]))
    >>> loss.lipschitz, loss.smoothness, loss.noise_scale
    (1.0, 0.25, 4.0)
    """

    n_scores: int = 1
    """Scores per record: 1 for two classes or one prediction, else K."""

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """Least upper bound of the gradient's norm."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """Upper bound of the Hessian's largest eigenvalue; ``inf`` for a non-smooth loss."""

    @property
    def curvature_trace(self) -> float:
        """Upper bound of the Hessian's trace; ``inf`` for a non-smooth loss."""
        return self.smoothness

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """Standard deviation of the noise in a score up to which more steps improve the fit.

        It is about the width of the scores over which the derivative changes.
        """

    @abstractmethod
    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return each record's loss.

        Parameters
        ----------
        y, z : ndarray
            Targets of shape (n,), and scores of shape (n,) or (n, K).

        Returns
        -------
        ndarray of shape (n,)
        """

    @abstractmethod
    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return each record's (sub)gradient in z, of norm at most `lipschitz`.

        Parameters
        ----------
        y, z : ndarray
            Targets of shape (n,), and scores of shape (n,) or (n, K).

        Returns
        -------
        ndarray of the shape of z
        """

    @abstractmethod
    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return one nonnegative number per record that represents its Hessian near z.

        Samplers use it as a preconditioner. It does not change the distribution of a sample.

        Parameters
        ----------
        y, z : ndarray
            Targets of shape (n,), and scores of shape (n,) or (n, K).

        Returns
        -------
        ndarray of shape (n,)
        """


@runtime_checkable
class LossFamily(Protocol):
    """A loss that stands for a family of losses."""

    def adapted(self, signal: float) -> Loss:
        """Return the member of the family that suits a signal-to-noise ratio.

        Parameters
        ----------
        signal : float
            *Public or released.* n·μ/k, k the number of records that neighbors differ in.

        Returns
        -------
        Loss
        """


@runtime_checkable
class ProbabilityLoss(Protocol):
    """A loss with a link from scores to probabilities of the classes."""

    def log_probabilities(self, z: np.ndarray) -> np.ndarray:
        """Return the natural logarithms of the class probabilities.

        Parameters
        ----------
        z : ndarray of shape (n,) or (n, K)
            Scores.

        Returns
        -------
        ndarray of shape (n, 2) or (n, K)
        """

    def probabilities(self, z: np.ndarray) -> np.ndarray:
        """Return the class probabilities, where their logarithms are not needed.

        Parameters
        ----------
        z : ndarray of shape (n,) or (n, K)
            Scores.

        Returns
        -------
        ndarray of shape (n, 2) or (n, K)
        """
        return np.asarray(np.exp(self.log_probabilities(z)))


def adapted(loss: Loss, signal: float) -> Loss:
    """Return the member of a family of losses that suits a signal-to-noise ratio.

    Parameters
    ----------
    loss : Loss
        *Public.*
    signal : float
        *Public or released.* n·μ/k, k the number of records that neighbors differ in.

    Returns
    -------
    Loss
        `loss` itself if it is not a family.
    """
    return loss.adapted(signal) if isinstance(loss, LossFamily) else loss


def oscillation(loss: Loss, radius: float) -> float:
    """Return a bound of the variation of ℓ(y, ·) over all |z| ≤ `radius`, for every y."""
    known: Callable[[float], float] | None = getattr(loss, "oscillation", None)
    return 2.0 * loss.lipschitz * radius if known is None else known(radius)


class _ScalarLoss(Loss):
    """A loss φ(x) of one number x, computed from the target and the score; φ is convex."""

    @abstractmethod
    def _argument(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return x."""

    @abstractmethod
    def value_at(self, x: np.ndarray) -> np.ndarray:
        """Return φ(x).

        Parameters
        ----------
        x : ndarray
            Margins or residuals, of any shape.

        Returns
        -------
        ndarray of the shape of x
        """

    @abstractmethod
    def derivative(self, x: np.ndarray) -> np.ndarray:
        """Return φ'(x), or a subgradient where φ is not smooth.

        Parameters
        ----------
        x : ndarray
            Margins or residuals, of any shape.

        Returns
        -------
        ndarray of the shape of x
        """

    def second_derivative(self, x: np.ndarray) -> np.ndarray:
        """Return φ''(x) if φ'' rises and then falls, so that its least value is at an end, else 0.

        Parameters
        ----------
        x : ndarray
            Margins or residuals, of any shape.

        Returns
        -------
        ndarray of the shape of x
        """
        return np.zeros_like(x)

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.value_at(self._argument(y, z))

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        x = self._argument(y, z)
        return (self.derivative(x + _CHORD) - self.derivative(x - _CHORD)) / (2.0 * _CHORD)

    def hessian(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return each record's second derivative in z, at most `smoothness`.

        Parameters
        ----------
        y, z : ndarray of shape (n,)
            Targets and scores.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.second_derivative(self._argument(y, z))

    def least_curvature(self, y: np.ndarray, z: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return the smaller φ'' of both ends.

        Parameters
        ----------
        y, z, radius : ndarray of shape (n,)
            See `Minorant.least_curvature`.

        Returns
        -------
        ndarray of shape (n,)
        """
        x = self._argument(y, z)
        return np.minimum(self.second_derivative(x - radius), self.second_derivative(x + radius))


@dataclass(frozen=True)
class MarginLoss(_ScalarLoss):
    """A loss φ(m) of the margin m = y·z of two classes; φ is convex and decreasing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.losses import LogisticLoss, MarginLoss
    >>> loss: MarginLoss = LogisticLoss()
    >>> loss.value_at(np.array([-1.0, 0.0, 1.0])).round(3)
    array([1.313, 0.693, 0.313])
    >>> round(loss.oscillation(radius=1.0), 3)
    1.0
    """

    def _argument(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return y * z

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return y * self.derivative(y * z)

    def oscillation(self, radius: float) -> float:
        """Return φ(−r) − φ(r) or, if smaller, the bound by the Lipschitz constant.

        Parameters
        ----------
        radius : float
            r, the largest absolute margin.

        Returns
        -------
        float
            The bound, rounding included.
        """
        highest, least = self.value_at(np.array([-radius, radius]))
        fall = float(highest - least + _OSCILLATION_MARGIN * abs(highest))
        return min(fall, 2.0 * self.lipschitz * radius)


@dataclass(frozen=True)
class ResidualLoss(_ScalarLoss):
    """A loss φ(r) of the residual r = z − y for a numeric target y; φ is convex.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.losses import HuberLoss, ResidualLoss
    >>> loss: ResidualLoss = HuberLoss(threshold=0.5)
    >>> residuals = np.array([-2.0, 0.1, 2.0])
    >>> loss.derivative(residuals), loss.second_derivative(residuals)
    (array([-0.5,  0.1,  0.5]), array([0., 1., 0.]))
    """

    def _argument(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return z - y

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.derivative(z - y)


@dataclass(frozen=True, kw_only=True)
class GradientDirections:
    """The set of all gradients of a loss in z, up to their largest norm, `Loss.lipschitz`.

    All gradients of a record with one label lie in the convex hull of 0 and p fixed vectors, the
    extremes, none longer than `Loss.lipschitz`. Guarantees rest on `dimension`, `n_extremes` and
    `cosine`.

    Parameters
    ----------
    dimension : int
        Of the space of all gradients; the number of scores, less 1 if gradients sum to 0.
    n_extremes : int
        p; 0 if p is not known to be small.
    cosine : float
        A bound c: of the p² pairs of extremes of two records, at most p have a cosine above c. For
        any two labels and any x in [−1, 1], p pairs excepted, x times the cosine is at most c.
    slowness : float
        Factor on the length of a run of gradient steps in a metric, for losses with small
        gradients. No guarantee rests on it.

    Examples
    --------
    >>> from skdp.losses import GradientDirections, LogisticLoss, MultinomialLoss
    >>> GradientDirections.of(LogisticLoss())
    GradientDirections(dimension=1, n_extremes=1, cosine=0.0, slowness=1.0)
    >>> GradientDirections.of(MultinomialLoss(n_scores=3)).dimension
    2
    """

    dimension: int
    n_extremes: int
    cosine: float
    slowness: float = 1.0

    @classmethod
    def of(cls, loss: Loss) -> GradientDirections:
        """Return a loss's own `directions`, or the values that hold for every loss.

        Parameters
        ----------
        loss : Loss
            *Public.*

        Returns
        -------
        GradientDirections
        """
        known: GradientDirections | None = getattr(loss, "directions", None)
        if known is not None:
            return known
        if loss.n_scores > 1:
            return cls(dimension=loss.n_scores, n_extremes=0, cosine=1.0)
        # A margin loss falls, so its gradients for one label have one sign; others have two.
        n_extremes = 1 if isinstance(loss, MarginLoss) else 2
        return cls(dimension=1, n_extremes=n_extremes, cosine=0.0)


@dataclass(frozen=True)
class Minorant:
    """For each record and each point z, an affine minorant of ℓ(y, ·) that nearly touches it at z.

    For a smooth loss it is the tangent. For a non-smooth loss the gradients of the minorants change
    steadily where the loss's own gradient jumps; `gap` is the cost.

    Parameters
    ----------
    loss : Loss
        *Public.* ℓ.
    steady : Loss
        *Public.* Its `value` and `gradient` at z are those of the minorant; ℓ itself for tangents.
    gap : float
        *Public.* Upper bound of the distance between ℓ and its minorant where they nearly touch.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.losses import LogisticLoss, Minorant
    >>> tangents = Minorant.of(LogisticLoss())
    >>> tangents.excess(np.ones(2), z=np.array([1.0, 0.0]), origin=np.zeros(2)).round(3)
    array([0.12, 0.  ])
    >>> tangents.excess_bound(radius=1.0)
    0.125
    """

    loss: Loss
    steady: Loss
    gap: float = 0.0

    @classmethod
    def of(cls, loss: Loss) -> Minorant:
        """Return a loss's own `minorant`, or its tangents.

        Parameters
        ----------
        loss : Loss
            *Public.*

        Returns
        -------
        Minorant
        """
        supplied: Minorant | None = getattr(loss, "minorant", None)
        return cls(loss, loss) if supplied is None else supplied

    @property
    def smoothness(self) -> float:
        """Lipschitz constant of `gradient` in z; finite for every loss."""
        return self.steady.smoothness

    @property
    def curvature_trace(self) -> float:
        """Trace bound that matches `smoothness`; finite for every loss, nominal for some."""
        return self.steady.curvature_trace

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the gradients of the minorants at z.

        Parameters
        ----------
        y, z : ndarray
            Targets of shape (n,), and scores of shape (n,) or (n, K).

        Returns
        -------
        ndarray of the shape of z
        """
        return self.steady.gradient(y, z)

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the values at z of the minorants.

        Parameters
        ----------
        y, z : ndarray
            Targets of shape (n,), and scores of shape (n,) or (n, K).

        Returns
        -------
        ndarray of shape (n,)
            Between ℓ(y, z) − `gap` and ℓ(y, z).
        """
        return self.steady.value(y, z)

    def excess(self, y: np.ndarray, z: np.ndarray, origin: np.ndarray) -> np.ndarray:
        """Return ℓ(y, z) less the minorant at `origin`, per record.

        For a smooth loss this is the Bregman divergence.

        Parameters
        ----------
        y, z : ndarray
            Targets of shape (n,), and scores of shape (n,) or (n, K).
        origin : ndarray of the shape of z
            Scores at which the minorants nearly touch.

        Returns
        -------
        ndarray of shape (n,)
            At least 0.
        """
        rise = self.gradient(y, origin) * (z - origin)
        minorant = self.value(y, origin) + (rise if z.ndim == 1 else rise.sum(axis=1))
        return np.maximum(self.loss.value(y, z) - minorant, 0.0)

    def excess_bound(self, radius: float) -> float:
        """Return an upper bound of `excess` over all y and all \\|z − origin\\| ≤ `radius`.

        Parameters
        ----------
        radius : float
            Largest distance of a record's scores.

        Returns
        -------
        float
        """
        # Loss and minorant change by at most L·radius each. Over a tangent the loss also rises by
        # at most smoothness·radius²/2, and the lesser of the two bounds counts.
        if self.gap or not radius:
            return self.gap + 2.0 * self.loss.lipschitz * radius
        return radius * min(0.5 * self.loss.smoothness * radius, 2.0 * self.loss.lipschitz)

    def least_curvature(self, y: np.ndarray, z: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return a lower bound of ℓ''(y, ·) within `radius` of z, per record; 0 if unknown.

        For losses of one score whose affine minorants are tangents. Single points do not count.
        The certificate of a sampler may rest on it.

        Parameters
        ----------
        y, z, radius : ndarray of shape (n,)
            Targets, scores, and distances from the scores.

        Returns
        -------
        ndarray of shape (n,)
            At least 0.
        """
        known: Callable[..., np.ndarray] | None = getattr(self.loss, "least_curvature", None)
        return np.zeros(y.size) if known is None else known(y, z, radius)
