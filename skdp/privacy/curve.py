"""Pairs of distributions, as privacy curves and as trade-off functions.

P and Q are the distributions of a release under two neighboring data sets. A `PrivacyCurve` says
how far apart they are by δ(ε), a `TradeoffFunction` by the errors of tests between them. Each is
the convex dual of the other (Dong, Roth and Su 2022, section 2). A finite pair has both exactly,
and every other one is covered by a finite pair whose curve is nowhere below its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from skdp.privacy.piecewise_linear import (
    TABLE_ERROR,
    chords_above,
    hockey_stick,
    is_tradeoff,
    iterate_tests,
    lines_below,
    privacy_losses,
)
from skdp.privacy.renyi import renyi_divergence
from skdp.support.root_search import arithmetic, bisect
from skdp.support.types import Number
from skdp.support.validation import check_count, check_delta, set_checked

__all__ = [
    "CurveTradeoff",
    "DiscretePairCurve",
    "FunctionTradeoff",
    "GroupCurve",
    "PiecewiseLinearTradeoff",
    "PrivacyCurve",
    "ReversedCurve",
    "SymmetricCurve",
    "TradeoffCurve",
    "TradeoffFunction",
    "both_orders",
]

_LARGEST_EPSILON = 700.0  # e^ε is a double up to here
_CAPS = (1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 36.0)  # 1 + e^−36 is 1 in floats

# Lines below a trade-off function. No guarantee rests on these: every line is valid.
_SLOPES = np.linspace(-60.0, 60.0, 241)  # ε of the first lines
_FINER = np.linspace(-1.0, 1.0, 33)  # around the best line, in units of the last spacing
_ROUNDS = 4


class PrivacyCurve(ABC):
    r"""Privacy curve of two distributions P, Q: δ(ε) = sup over S of P(S) − e^ε·Q(S).

    The curve is defined for every real ε; negative values describe the reversed pair. It is
    nonincreasing, convex in e^ε, lies above max(0, 1 − e^ε) and below 1.
    """

    def delta(self, epsilon: Number) -> Number:
        """Return δ(ε).

        Parameters
        ----------
        epsilon : float or ndarray
            *Public.*

        Returns
        -------
        float or ndarray
        """
        return _entrywise(self._delta, epsilon)

    @abstractmethod
    def _delta(self, epsilon: np.ndarray) -> np.ndarray: ...

    def log_delta(self, epsilon: Number) -> Number:
        """Return log δ(ε), which is finite where δ itself is too small for a float.

        Parameters
        ----------
        epsilon : float or ndarray
            *Public.*

        Returns
        -------
        float or ndarray
        """
        return _entrywise(self._log_delta, epsilon)

    def _log_delta(self, epsilon: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self._delta(epsilon))

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        """Return the δ(ε) of the reversed pair, 1 − e^ε + e^ε·δ(−ε), rounded upwards."""
        # The difference cancels for large ε, where the value at a smaller ε may be the better
        # bound. Subclasses override this if they have a more exact form.
        return np.min([self._canceling(np.minimum(epsilon, cap)) for cap in _CAPS], axis=0)

    def _canceling(self, epsilon: np.ndarray) -> np.ndarray:
        excess = self._delta(-epsilon) + np.expm1(-epsilon)
        rounding = np.where(epsilon > 0.0, 4.0 * np.finfo(float).eps, 0.0)
        return np.clip(np.exp(epsilon) * (excess + rounding), 0.0, 1.0)

    def epsilon(self, delta: float) -> float:
        """Return the least ε ≥ 0 with δ(ε) ≤ `delta`, rounded upwards.

        Parameters
        ----------
        delta : float in [0, 1)
            *Public.*

        Returns
        -------
        float
            ``inf`` if there is none.
        """
        delta = check_delta(delta)
        if self.delta(0.0) <= delta:
            return 0.0
        if self.delta(_LARGEST_EPSILON) > delta:
            return math.inf
        return bisect(lambda x: self.delta(x) <= delta, _LARGEST_EPSILON, 0.0, arithmetic())

    def reversed(self) -> PrivacyCurve:
        """Return the curve of the pair (Q, P).

        Returns
        -------
        PrivacyCurve
            δ'(ε) = 1 − e^ε + e^ε·δ(−ε).
        """
        return ReversedCurve(self)

    def tradeoff(self) -> TradeoffFunction:
        """Return the trade-off function with the same content.

        Returns
        -------
        TradeoffFunction
            Nowhere above the true one.
        """
        return CurveTradeoff(self)

    def group(self, size: int) -> PrivacyCurve:
        """Return the curve for data sets that are several changes apart.

        Parameters
        ----------
        size : int
            *Public.* How many changes.

        Returns
        -------
        PrivacyCurve
            Nowhere below the true one; see `GroupCurve`. Exact for Gaussian curves.
        """
        return GroupCurve(self, size)

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence of P from Q, rounded upwards.

        Parameters
        ----------
        order : float
            *Public.* Above 1.

        Returns
        -------
        float
            See `skdp.privacy.renyi_divergence`.
        """
        return renyi_divergence(self, order)

    def _mirrored_renyi(self, order: float) -> float:
        """Return the Rényi divergence of Q from P."""
        return renyi_divergence(ReversedCurve(self), order)

    def dominating_pair(self) -> DiscretePairCurve:
        """Return a pair of distributions on finitely many points that covers this one.

        Returns
        -------
        DiscretePairCurve
            Nowhere below this curve, in both orders, and equal to it at 6001 values of ε.
        """
        return DiscretePairCurve(*map(tuple, chords_above(self)))

    def plot_data(self, epsilon: ArrayLike | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return points of the curve for a plot.

        Parameters
        ----------
        epsilon : array-like or None
            *Public.* By default 201 values from 0 to where δ is 1e-9.

        Returns
        -------
        epsilon, delta : ndarrays
        """
        if epsilon is None:
            widest = self.epsilon(1e-9)
            epsilon = np.linspace(0.0, widest if 0.0 < widest < math.inf else 10.0, 201)
        epsilon = np.asarray(epsilon, dtype=float)
        return epsilon, self.delta(epsilon)


def _entrywise(function: Callable[[np.ndarray], np.ndarray], x: Number) -> Number:
    """Apply a function of arrays to an array or a number."""
    values = function(np.asarray(x, dtype=float))
    return values if values.ndim else float(values)  # type: ignore[return-value]


def both_orders(curve: PrivacyCurve) -> tuple[PrivacyCurve, ...]:
    """Return the curve, and that of the reversed pair unless it is the same."""
    backwards = curve.reversed()
    return (curve,) if backwards == curve else (curve, backwards)


@dataclass(frozen=True)
class ReversedCurve(PrivacyCurve):
    """The curve of (Q, P): δ'(ε) = 1 − e^ε + e^ε·δ(−ε)."""

    curve: PrivacyCurve

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return self.curve._mirrored(epsilon)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self.curve._delta(epsilon)

    def reversed(self) -> PrivacyCurve:
        return self.curve

    def renyi(self, order: float) -> float:
        return self.curve._mirrored_renyi(order)


class SymmetricCurve(PrivacyCurve):
    """The curve of a pair that is its own mirror image, known by its values at ε ≥ 0."""

    @abstractmethod
    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        """Return δ(ε) for ε ≥ 0."""

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        size = np.abs(epsilon)
        forward = np.clip(self._forward(size), 0.0, 1.0)
        mirrored = -np.expm1(-size) + np.exp(-size) * forward
        return np.where(epsilon >= 0.0, forward, np.minimum(mirrored, 1.0))

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self._delta(epsilon)

    def reversed(self) -> Self:
        return self


@dataclass(frozen=True)
class GroupCurve(PrivacyCurve):
    """The curve of a group: G(a) = sup{P(S): Q(S) ≤ a} of one change, iterated `size` times.

    G is replaced by that of a finite pair, which is piecewise linear and above it, and functions
    of that kind compose exactly. Valid, and tight for a black-box curve: Dong, Roth and Su 2022,
    Theorem 2.14.

    Parameters
    ----------
    curve : PrivacyCurve
        *Public.* Of one change.
    size : int
        *Public.* How many changes.
    """

    curve: PrivacyCurve
    size: int

    def __post_init__(self) -> None:
        check_count("size", self.size)

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return self.curve._delta(epsilon) if self.size == 1 else self._pair._delta(epsilon)

    def reversed(self) -> PrivacyCurve:
        backwards = self.curve.reversed()
        return self if backwards == self.curve else GroupCurve(backwards, self.size)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self.reversed()._delta(epsilon)

    @cached_property
    def _pair(self) -> DiscretePairCurve:
        pair = self.curve.dominating_pair().ordered()
        return DiscretePairCurve(*map(tuple, iterate_tests(*pair, self.size)))


@dataclass(frozen=True)
class DiscretePairCurve(PrivacyCurve):
    r"""The curve of two distributions on finitely many points: δ(ε) = Σ max(0, pᵢ − e^ε·qᵢ).

    Every term is pᵢ·(1 − e^(ε − ℓᵢ)) with ℓᵢ = log pᵢ/qᵢ, so nothing cancels and both orders are
    accurate in the tails. δ is piecewise linear in e^ε, with knots at the likelihood ratios.

    Parameters
    ----------
    p, q : tuples of float
        *Public.* Masses of the two distributions; each sums to 1.

    Examples
    --------
    >>> round(DiscretePairCurve((0.75, 0.25), (0.25, 0.75)).delta(0.0), 12)
    0.5
    """

    p: tuple[float, ...]
    q: tuple[float, ...]

    def __post_init__(self) -> None:
        set_checked(self, p=tuple(map(float, self.p)), q=tuple(map(float, self.q)))
        if len(self.p) != len(self.q):
            raise ValueError(f"p and q need the same length, got {len(self.p)} and {len(self.q)}.")
        for masses in (self.p, self.q):
            if not (masses and min(masses) >= 0.0 and abs(sum(masses) - 1.0) <= TABLE_ERROR):
                raise ValueError(
                    "The masses of a distribution must be at least 0 and sum to 1, got a minimum "
                    f"of {min(masses, default=0.0)!r} and a sum of {sum(masses)!r}."
                )

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return hockey_stick(np.array(self.p), np.array(self.q), epsilon)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return hockey_stick(np.array(self.q), np.array(self.p), epsilon)

    def ordered(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the masses, from the largest loss log p/q to the least.

        Returns
        -------
        p, q : ndarrays of shape (n_points,)
        """
        p, q = np.array(self.p), np.array(self.q)
        order = np.argsort(-privacy_losses(p, q), kind="stable")
        return p[order], q[order]

    def dominating_pair(self) -> DiscretePairCurve:
        return self

    def tradeoff(self) -> PiecewiseLinearTradeoff:
        # Randomized likelihood-ratio tests are best (Neyman-Pearson).
        p, q = self.ordered()
        alpha = np.concatenate([[0.0], np.cumsum(q)])
        beta = np.concatenate([np.cumsum(p[::-1])[::-1], [0.0]])
        return PiecewiseLinearTradeoff(tuple(alpha / alpha[-1]), tuple(beta / beta[0]))


class TradeoffFunction(ABC):
    """Least type II error β of any test of Q against P with type I error α.

    P is the distribution under one data set, Q under its neighbor, and α = Q(reject Q).
    The closer to 1 − α, the more private.
    """

    def __call__(self, alpha: Number) -> Number:
        """Return β(α) for a number or an array of type I errors in [0, 1]."""
        return _entrywise(self._beta, alpha)

    @abstractmethod
    def _beta(self, alpha: np.ndarray) -> np.ndarray: ...

    def curve(self) -> PrivacyCurve:
        """Return the privacy curve with the same content, the convex conjugate.

        Returns
        -------
        PrivacyCurve
            Nowhere below the true one.
        """
        return TradeoffCurve(self)

    def plot_data(self, alpha: ArrayLike | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return points of the function for a plot.

        Parameters
        ----------
        alpha : array-like or None
            *Public.* Type I errors; by default 201 values from 0 to 1.

        Returns
        -------
        alpha, beta : ndarrays
        """
        alpha = np.linspace(0.0, 1.0, 201) if alpha is None else np.asarray(alpha, dtype=float)
        return alpha, self(alpha)


@dataclass(frozen=True)
class CurveTradeoff(TradeoffFunction):
    """The convex dual of a curve: β(α) = sup over real ε of 1 − δ(ε) − e^ε·α, at least 0.

    Every line in the supremum lies below β, so a grid of ε suffices, and ever finer ones around
    its best point.
    """

    source: PrivacyCurve

    def _beta(self, alpha: np.ndarray) -> np.ndarray:
        flat, spacing = np.ravel(alpha)[:, None], float(_SLOPES[1] - _SLOPES[0])
        epsilon = _SLOPES[np.argmax(self._lines(_SLOPES, flat), axis=1)]
        for _ in range(_ROUNDS):
            lines = self._lines(found := epsilon[:, None] + spacing * _FINER, flat)
            best = np.argmax(lines, axis=1)[:, None]
            epsilon = np.take_along_axis(found, best, axis=1)[:, 0]
            spacing *= float(_FINER[1] - _FINER[0])
        highest = np.take_along_axis(lines, best, axis=1)
        return np.maximum(highest, 0.0).reshape(alpha.shape)

    def _lines(self, epsilon: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        return 1.0 - self.source.delta(epsilon) - np.exp(epsilon) * alpha

    def curve(self) -> PrivacyCurve:
        return self.source


@dataclass(frozen=True)
class PiecewiseLinearTradeoff(TradeoffFunction):
    """The trade-off function through the points (`alpha`, `beta`), straight between them.

    Parameters
    ----------
    alpha : tuple of float
        *Public.* Nondecreasing, from 0 to 1. A repeated value is a jump, at 0 only.
    beta : tuple of float
        *Public.* Convex and nonincreasing, at most 1 − α, from at most 1 to 0.
    """

    alpha: tuple[float, ...]
    beta: tuple[float, ...]

    def __post_init__(self) -> None:
        set_checked(self, alpha=tuple(map(float, self.alpha)), beta=tuple(map(float, self.beta)))
        if not is_tradeoff(np.array(self.alpha), np.array(self.beta)):
            raise ValueError(
                "A trade-off table needs alpha from 0 to 1, and beta convex, nonincreasing, in "
                "[0, 1 - alpha] and 0 at the end."
            )

    def _beta(self, alpha: np.ndarray) -> np.ndarray:
        knots, values = np.array(self.alpha), np.array(self.beta)
        start = int(np.flatnonzero(knots == 0.0)[-1])
        return np.interp(alpha, knots[start:], values[start:])

    def curve(self) -> DiscretePairCurve:
        # Each straight piece is a point with masses −Δβ and Δα.
        alpha, beta = np.array(self.alpha), np.array(self.beta)
        q, p = np.diff(alpha, prepend=0.0), -np.diff(beta, prepend=1.0)
        return DiscretePairCurve(tuple(np.maximum(p, 0.0)), tuple(np.maximum(q, 0.0)))


@dataclass(frozen=True)
class FunctionTradeoff(TradeoffFunction):
    """A trade-off function given as a vectorized function of α.

    Parameters
    ----------
    function : callable
        *Public.* Convex, nonincreasing, with 0 ≤ β(α) ≤ 1 − α; checked on a grid.
    """

    function: Callable[[np.ndarray], ArrayLike]

    def __post_init__(self) -> None:
        alpha = np.linspace(0.0, 1.0, 101)
        beta = self._beta(alpha)
        inside = np.all(beta >= 0.0) and np.all(beta <= 1.0 - alpha + 1e-12)
        if not (inside and np.all(np.diff(beta, 2) >= -1e-9) and np.all(np.diff(beta) <= 1e-12)):
            raise ValueError("A trade-off function is convex, nonincreasing and in [0, 1 - alpha].")

    def _beta(self, alpha: np.ndarray) -> np.ndarray:
        return np.asarray(self.function(alpha), dtype=float)


@dataclass(frozen=True)
class TradeoffCurve(PrivacyCurve):
    """The curve of a trade-off function: δ(ε) = sup over α of 1 − β(α) − e^ε·α, rounded upwards.

    β is evaluated on a fine grid and replaced by a convex piecewise-linear function *below* it:
    between two grid points a convex function lies above the continuations of the neighboring
    chords. The conjugate of that function is exact, and is never below the curve.

    Parameters
    ----------
    source : TradeoffFunction
        *Public.*
    """

    source: TradeoffFunction

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return self._pair._delta(epsilon)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self._pair._mirrored(epsilon)

    @cached_property
    def _pair(self) -> DiscretePairCurve:
        return DiscretePairCurve(*map(tuple, lines_below(self.source)))

    def tradeoff(self) -> TradeoffFunction:
        return self.source
