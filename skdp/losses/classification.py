"""Losses of classes: logistic, hinge, and those of several classes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, log_expit, log_softmax, logsumexp, softmax

from skdp.losses.base import (
    GradientDirections,
    Loss,
    LossFamily,
    MarginLoss,
    Minorant,
    ProbabilityLoss,
    adapted,
)
from skdp.support.validation import check_real, make_plain

# No guarantee rests on these, found by experiment (*The frontier* in the documentation).
_LEAST_CLIP = 0.35
_FULL_SIGNAL = 24_000.0  # from which on nothing is clipped
_LEAST_LINK = 0.5
_SEPARABLE_SIGNAL = 600.0  # over the signal: the clip of the link between both
_LARGEST_SCORE = 700.0  # e^z is a float up to here
_LARGEST_LINK = 0.7  # of all clips that on strong signals lose at most 0.02 in log-loss, the least


@dataclass(frozen=True)
class LogisticLoss(MarginLoss, ProbabilityLoss):
    """Logistic loss φ(m) = log(1 + e^−m).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.losses import LogisticLoss
    >>> loss = LogisticLoss()
    >>> loss.value(np.ones(3), np.array([-2.0, 0.0, 2.0])).round(3)
    array([2.127, 0.693, 0.127])
    >>> loss.gradient(np.ones(3), np.array([-2.0, 0.0, 2.0])).round(3)
    array([-0.881, -0.5  , -0.119])
    """

    lipschitz = 1.0
    smoothness = 0.25
    noise_scale = 4.0

    def value_at(self, x: np.ndarray) -> np.ndarray:
        return np.log1p(np.exp(-np.abs(x))) - np.minimum(x, 0.0)

    def derivative(self, x: np.ndarray) -> np.ndarray:
        return -expit(-x)

    def second_derivative(self, x: np.ndarray) -> np.ndarray:
        return expit(x) * expit(-x)

    def log_probabilities(self, z: np.ndarray) -> np.ndarray:
        return np.column_stack([log_expit(-z), log_expit(z)])

    def probabilities(self, z: np.ndarray) -> np.ndarray:
        out = np.empty((len(z), 2))
        expit(-z, out=out[:, 0])
        expit(z, out=out[:, 1])
        return out


_PLAIN = LogisticLoss()


@dataclass(frozen=True)
class ClippedLogisticLoss(MarginLoss, LossFamily, ProbabilityLoss):
    """The logistic loss with its derivative clipped at −`clip`: linear left of a margin b.

    φ(m) = log(1 + e^−m) for m ≥ b and φ(b) + clip·(b − m) for m < b, with b = log(1/clip − 1).
    It is convex and continuously differentiable. Noise is proportional to the largest absolute
    derivative. With clip ≤ 1/2 the derivative at m = 0, where learning starts, attains it; the
    derivative of the plain logistic loss starts at 1/2 of it.

    The link is p = a/(a + b) with a = min(σ(z), k) and b = min(σ(−z), k). At k = `clip`, z
    minimizes the mean loss of records with a share p of +1.

    Parameters
    ----------
    clip : float in (1e-6, 1)
        *Public.* Largest absolute derivative.
    link_clip : float in [0.5, 1] or None
        *Public.* Probability at which the link is clipped; None: `clip`, at least 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.losses import ClippedLogisticLoss
    >>> loss = ClippedLogisticLoss()
    >>> loss.gradient(np.ones(3), np.array([-2.0, 0.0, 2.0])).round(3), loss.lipschitz
    (array([-0.35 , -0.35 , -0.119]), 0.35)
    """

    clip: float = _LEAST_CLIP
    link_clip: float | None = None

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("loss_clip", self.clip, low=1e-6, high=1.0)

    def adapted(self, signal: float) -> Loss:
        of_signal = min(_LARGEST_LINK, _SEPARABLE_SIGNAL / signal)
        link = max(_LEAST_LINK, self.clip, of_signal)
        return replace(self, link_clip=min(1.0, link))

    def log_probabilities(self, z: np.ndarray) -> np.ndarray:
        both = np.minimum(np.column_stack([log_expit(-z), log_expit(z)]), math.log(self._link))
        return both - np.logaddexp(both[:, :1], both[:, 1:])

    def probabilities(self, z: np.ndarray) -> np.ndarray:
        odds = np.exp(np.clip(z, -_LARGEST_SCORE, _LARGEST_SCORE))
        most = self._link * (1.0 + odds)  # σ(z) and σ(−z), and the clip, times 1 + odds
        first, second = np.minimum(1.0, most), np.minimum(odds, most)
        total, out = first + second, np.empty((len(z), 2))
        np.divide(first, total, out=out[:, 0])
        np.divide(second, total, out=out[:, 1])
        return out

    @property
    def _link(self) -> float:
        return max(_LEAST_LINK, self.clip) if self.link_clip is None else self.link_clip

    @property
    def lipschitz(self) -> float:
        return self.clip

    @property
    def smoothness(self) -> float:
        return 0.25 if self.clip >= 0.5 else self.clip * (1.0 - self.clip)

    @property
    def noise_scale(self) -> float:
        return max(self.knee, 0.0) + self.lipschitz / self.smoothness

    @property
    def knee(self) -> float:
        """The margin b at which the loss turns linear."""
        return math.log(1.0 / self.clip - 1.0)

    def value_at(self, x: np.ndarray) -> np.ndarray:
        knee = self.knee
        return _PLAIN.value_at(np.maximum(x, knee)) - self.clip * np.minimum(x - knee, 0.0)

    def derivative(self, x: np.ndarray) -> np.ndarray:
        odds = np.exp(-np.maximum(x, self.knee))
        return odds / (-1.0 - odds)

    def second_derivative(self, x: np.ndarray) -> np.ndarray:
        return np.where(x >= self.knee, _PLAIN.second_derivative(x), 0.0)


@dataclass(frozen=True)
class AdaptiveLogisticLoss(ClippedLogisticLoss):
    """Clipped logistic loss whose clip rises with the signal, up to 1 (no clipping).

    k(x) = (x/24000)^(1/3), between 0.35 and 1, for a signal-to-noise ratio x. A low clip
    makes the first steps less noisy; a high one approaches the model learned without privacy.

    Parameters
    ----------
    clip : float in (1e-6, 1)
        *Public.* Largest absolute derivative, until it is adapted.
    link_clip : float in [0.5, 1] or None
        *Public.* Probability at which the link is clipped; None: `clip`, at least 1/2.
    """

    def adapted(self, signal: float) -> Loss:
        clip = max(_LEAST_CLIP, (signal / _FULL_SIGNAL) ** (1.0 / 3.0))
        return LogisticLoss() if clip >= 1.0 else ClippedLogisticLoss(clip).adapted(signal)


_WIDE_SIGNAL = 4000.0  # from which on a width of 1 is better; no guarantee rests on it
_SHARPEST = 0.05  # margins: the derivatives of minorants change over at least this width


@dataclass(frozen=True)
class SmoothedHingeLoss(MarginLoss):
    """Hinge loss with its corner rounded over a width of `width` margins.

    φ(m) = 0 for m ≥ 1, (1 − m)²/(2·width) on [1 − width, 1] and 1 − m − width/2 below. It lies
    at most width/2 under the hinge and has the same Lipschitz constant. A width above 1 wastes
    sensitivity: the derivative at m = 0 is then above −1.

    The highest affine minorant of derivative −s is s·(1 − m) − width·s²/2. With s = (1 − m)/width
    it is the tangent; for widths below h = 0.05 minorants take s = (1 − m)/h, clipped to [0, 1],
    and lie at most h/4 below φ.

    Parameters
    ----------
    width : float in (1e-6, 1e6)
        *Public.*

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.losses import SmoothedHingeLoss
    >>> loss = SmoothedHingeLoss()
    >>> loss.value(np.ones(3), np.array([-1.0, 0.5, 0.9])).round(3), loss.smoothness
    (array([1.667, 0.188, 0.007]), 1.5)
    """

    width: float = 2 / 3

    lipschitz = 1.0

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("smoothing", self.width, low=1e-6, high=1e6)

    @property
    def smoothness(self) -> float:
        return 1.0 / self.width

    @property
    def noise_scale(self) -> float:
        return max(1.0, self.width)

    def value_at(self, x: np.ndarray) -> np.ndarray:
        s = -self.derivative(x)
        return s * (1.0 - x) - 0.5 * self.width * s * s

    def derivative(self, x: np.ndarray) -> np.ndarray:
        return -np.clip((1.0 - x) / self.width, 0.0, 1.0)

    def second_derivative(self, x: np.ndarray) -> np.ndarray:
        height = 0.0 if self.width < _SHARPEST else 1.0 / self.width
        return np.where((x >= 1.0 - self.width) & (x <= 1.0), height, 0.0)

    @property
    def minorant(self) -> Minorant:
        """Lines s·(1 − m) − width·s²/2; tangents for widths from 0.05 on."""
        return Minorant(self, self) if self.width >= _SHARPEST else _lines(self, self.width)


@dataclass(frozen=True)
class AdaptiveHingeLoss(SmoothedHingeLoss, LossFamily):
    """Smoothed hinge of width 2/3, or of width 1 if the signal-to-noise ratio is high.

    Parameters
    ----------
    width : float in (1e-6, 1e6)
        *Public.* Width for a low signal.
    """

    def adapted(self, signal: float) -> Loss:
        return SmoothedHingeLoss(1.0 if signal >= _WIDE_SIGNAL else self.width)


@dataclass(frozen=True)
class HingeLoss(MarginLoss):
    """Hinge loss φ(m) = max(0, 1 − m), with derivative −1 at m = 1, where it is not smooth.

    Affine minorants are s·(1 − m) for s in [0, 1], chosen as for a sharp `SmoothedHingeLoss`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.losses import HingeLoss, Minorant
    >>> loss = HingeLoss()
    >>> loss.value(np.ones(3), np.array([-1.0, 0.5, 2.0])), loss.smoothness
    (array([2. , 0.5, 0. ]), inf)
    >>> Minorant.of(loss).gap
    0.0125
    """

    lipschitz = 1.0
    smoothness = math.inf
    noise_scale = 1.0

    def value_at(self, x: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, 1.0 - x)

    def derivative(self, x: np.ndarray) -> np.ndarray:
        return -(x <= 1.0).astype(float)

    @property
    def minorant(self) -> Minorant:
        """Lines s·(1 − m)."""
        return _lines(self, 0.0)


@dataclass(frozen=True)
class _Lines(MarginLoss):
    """The lines s·(1 − m') − width·s²/2 at m' = m, with s = (1 − m)/0.05 clipped to [0, 1]."""

    width: float

    lipschitz = 1.0
    smoothness = 1.0 / _SHARPEST

    @property
    def noise_scale(self) -> float:
        return max(1.0, self.width)

    def value_at(self, x: np.ndarray) -> np.ndarray:
        s = -self.derivative(x)
        return s * (1.0 - x) - 0.5 * self.width * s * s

    def derivative(self, x: np.ndarray) -> np.ndarray:
        return -np.clip((1.0 - x) / _SHARPEST, 0.0, 1.0)


def _lines(loss: MarginLoss, width: float) -> Minorant:
    # The loss is a supremum of such lines over s. The tangent has another s where width < 0.05;
    # with this one the line is at most s·(1 − s)·0.05 ≤ 0.05/4 below the loss.
    return Minorant(loss, _Lines(width), gap=0.25 * _SHARPEST)


@dataclass(frozen=True)
class MultinomialLoss(Loss, ProbabilityLoss):
    """Multinomial logistic loss log Σ_j e^(z_j) − z_y, as in scikit-learn.

    Its gradient is p − e_y, of norm below √2; its Hessian diag(p) − p·pᵀ has eigenvalues at most
    1/2 and trace 1 − |p|² at most 1 − 1/K.

    Parameters
    ----------
    n_scores : int
        *Public.* Number of classes K.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.losses import MultinomialLoss
    >>> loss = MultinomialLoss(n_scores=3)
    >>> y, z = np.array([0]), np.array([[2.0, 0.0, 0.0]])
    >>> loss.value(y, z).round(2), loss.gradient(y, z).round(2)
    (array([0.24]), array([[-0.21,  0.11,  0.11]]))
    >>> loss.probabilities(z).round(2)
    array([[0.79, 0.11, 0.11]])
    """

    n_scores: int

    lipschitz = math.sqrt(2.0)
    smoothness = 0.5
    noise_scale = 1.0

    @property
    def directions(self) -> GradientDirections:
        """The hull of the vectors e_j − e_y, j ≠ y."""
        return GradientDirections(
            dimension=self.n_scores - 1, n_extremes=self.n_scores - 1, cosine=0.5
        )

    @property
    def curvature_trace(self) -> float:
        return 1.0 - 1.0 / self.n_scores

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return logsumexp(z, axis=1) - z[np.arange(y.size), y]

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        g = softmax(z, axis=1)
        g[np.arange(y.size), y] -= 1.0
        return g

    def log_probabilities(self, z: np.ndarray) -> np.ndarray:
        return np.asarray(log_softmax(z, axis=1))

    def probabilities(self, z: np.ndarray) -> np.ndarray:
        return np.asarray(softmax(z, axis=1))

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        p = softmax(z, axis=1)
        return (1.0 - (p * p).sum(axis=1)) / (self.n_scores - 1)


_UNIFORM_WEIGHT = 0.8
_SHARPNESS = 12.0
_HEAD_START = 0.5
_NOISE_SHARE = 0.4


@dataclass(frozen=True)
class CompetitorLoss(Loss, ProbabilityLoss):
    """Competitor loss φ(M − δ), with M a soft minimum of the true class's leads over the others.

    With v_j = z_j − z_y, ρ² = K/(K − 1), a = ρ/√2 and v̄ the mean of the v_j over j ≠ y,

    M = −(1/β)·log( ω·e^(β·v̄) + (1 − ω)/(K − 1)·Σ_(j≠y) e^(β·a·v_j) ).

    At z = 0 the gradient separates y from all other classes at once. Later its whole length can
    point against one hard competitor, while a mean over pairs would use 1/K of it.

    *Constants.* The linear forms v̄ and a·v_j have gradients of norm exactly ρ, so any mixture of
    them has norm at most ρ: Lipschitz constant ρ·L. Its squared norm is at least a²·ρ², and the
    forms' gradients are at most ρ apart, so that their variance in any direction is at most ρ²/4
    and in all directions at most ρ²·(1 − a²). The Hessian is φ''·ḡḡᵀ + |φ'|·β·Cov: its largest
    eigenvalue is at most ρ²·max(w, (3w + β·L)/4), its trace at most
    ρ²·max(w, w·a² + β·L·(1 − a²)). Convex: −M is a log-sum-exp of linear forms and φ decreases.

    For K = 2 all forms coincide and M is the margin z_y − z_j.

    Parameters
    ----------
    margin_loss : MarginLoss
        *Public.* φ, with Lipschitz constant L, smoothness w and a natural scale s of margins;
        β = 12/s and δ = s/2.
    n_scores : int
        *Public.* Number of classes K.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.losses import CompetitorLoss, LogisticLoss
    >>> loss = CompetitorLoss(LogisticLoss(), n_scores=3)
    >>> loss.gradient(np.array([0]), np.zeros((1, 3))).round(2)
    array([[-0.86,  0.43,  0.43]])
    >>> round(loss.lipschitz, 2)
    1.22
    """

    margin_loss: MarginLoss
    n_scores: int

    def log_probabilities(self, z: np.ndarray) -> np.ndarray:
        return np.asarray(log_softmax(z, axis=1))

    def probabilities(self, z: np.ndarray) -> np.ndarray:
        return np.asarray(softmax(z, axis=1))

    @property
    def directions(self) -> GradientDirections:
        """The hull of the gradients of the K forms, v̄ and a·v_j.

        The cosine of v̄ and a v_j is a, of two v_j it is 1/2, and of the v̄ of two labels less.
        """
        return GradientDirections(
            dimension=self.n_scores - 1,
            n_extremes=self.n_scores,
            cosine=self._length * math.sqrt(0.5),
        )

    @property
    def lipschitz(self) -> float:
        return self._length * self.margin_loss.lipschitz

    @property
    def smoothness(self) -> float:
        return self._largest_eigenvalue(self.margin_loss.smoothness)

    @property
    def curvature_trace(self) -> float:
        w, a2 = self.margin_loss.smoothness, 0.5 * self._length**2
        steep = self._sharpness * self.margin_loss.lipschitz
        return self._length**2 * max(w, w * a2 + steep * (1.0 - a2))

    @property
    def noise_scale(self) -> float:
        return _NOISE_SHARE * self.margin_loss.noise_scale

    @property
    def score_units(self) -> float:
        """2K + 8, derived in *Machine numbers*."""
        return 2.0 * self.n_scores + 8.0

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.margin_loss.value_at(self._lead(y, z)[0])

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        lead, mixture = self._lead(y, z)
        return self.margin_loss.derivative(lead)[:, None] * -mixture

    @property
    def minorant(self) -> Minorant:
        """The linearized minorants of φ: φ(M − δ) is at least its minorant, which falls."""
        inner = Minorant.of(self.margin_loss)
        assert isinstance(inner.steady, MarginLoss), "a margin loss has minorants of the margin"
        return _CompetitorMinorant(self, replace(self, margin_loss=inner.steady), inner.gap)

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        lead, mixture = self._lead(y, z)
        squared = np.minimum((mixture * mixture).sum(axis=1), self._length**2)  # rounding errors
        pull = -self._sharpness * self.margin_loss.derivative(lead)
        trace = self.margin_loss.curvature(np.ones(1), lead) * squared
        trace += pull * (self._length**2 - squared)
        return trace / max(1, self.n_scores - 1)

    @property
    def _length(self) -> float:
        return math.sqrt(self.n_scores / (self.n_scores - 1.0))

    @property
    def _sharpness(self) -> float:
        return _SHARPNESS / self.margin_loss.noise_scale

    def _largest_eigenvalue(self, w: float) -> float:
        steep = self._sharpness * self.margin_loss.lipschitz
        return self._length**2 * max(w, 0.75 * w + 0.25 * steep)

    def _lead(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return M − δ, of shape (n,), and the gradient of −M in z, of shape (n, K)."""
        rows, rivals, beta = np.arange(y.size), self.n_scores - 1, self._sharpness
        v = z - z[rows, y][:, None]
        uniform = beta * v.sum(axis=1) / rivals + math.log(_UNIFORM_WEIGHT)
        v *= beta * self._length * math.sqrt(0.5)
        v += math.log((1.0 - _UNIFORM_WEIGHT) / rivals)
        v[rows, y] = -np.inf
        highest = np.maximum(uniform, v.max(axis=1))
        single, uniform = np.exp(v - highest[:, None]), np.exp(uniform - highest)
        total = uniform + single.sum(axis=1)
        mixture = self._length * math.sqrt(0.5) * single + (uniform / rivals)[:, None]
        mixture /= total[:, None]
        mixture[rows, y] = 0.0
        mixture[rows, y] = -mixture.sum(axis=1)
        lead = -(highest + np.log(total)) / beta
        return lead - _HEAD_START * self.margin_loss.noise_scale, mixture


@dataclass(frozen=True)
class _CompetitorMinorant(Minorant):
    """Minorants of a competitor loss; one call computes the leads of z and origin."""

    loss: CompetitorLoss
    steady: CompetitorLoss

    def excess(self, y: np.ndarray, z: np.ndarray, origin: np.ndarray) -> np.ndarray:
        # one call is faster than two for the few rows of a sampler
        both = np.concatenate([origin.T, z.T], axis=1).T
        lead, mixture = self.loss._lead(np.concatenate([y, y]), both)
        here, there = lead[: y.size], lead[y.size :]
        phi, line = self.loss.margin_loss, self.steady.margin_loss
        rise = line.derivative(here) * -(mixture[: y.size] * (z - origin)).sum(axis=1)
        return np.maximum(phi.value_at(there) - line.value_at(here) - rise, 0.0)


@dataclass(frozen=True)
class AdaptiveCompetitorLoss(CompetitorLoss, LossFamily):
    """Competitor loss of a family of margin losses, or the multinomial loss if nothing is clipped.

    Parameters
    ----------
    margin_loss : MarginLoss
        *Public.* The family.
    n_scores : int
        *Public.* Number of classes K.
    """

    def adapted(self, signal: float) -> Loss:
        margin_loss = adapted(self.margin_loss, signal)
        if isinstance(margin_loss, LogisticLoss):
            return MultinomialLoss(self.n_scores)
        assert isinstance(margin_loss, MarginLoss), "a margin loss adapts to another"
        return CompetitorLoss(margin_loss, self.n_scores)
