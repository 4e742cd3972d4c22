"""The privacy curve δ(ε): the one currency in which every guarantee is paid."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit

from skdp._validation import check_delta

__all__ = [
    "CurveTradeoff",
    "DiscretePairCurve",
    "FunctionTradeoff",
    "PiecewiseLinearTradeoff",
    "PrivacyCurve",
    "ReversedCurve",
    "SymmetricCurve",
    "TradeoffCurve",
    "TradeoffFunction",
    "connect_the_dots",
]

_WIDEST = 60.0
_GRID = np.linspace(-_WIDEST, _WIDEST, 241)


class TradeoffFunction(ABC):
    """Least type II error β of any test of Q against P with type I error α.

    P is the law under one data set, Q under its neighbour, and α = Q(reject Q).
    The closer to 1 − α, the more private.
    """

    def __call__(self, alpha: Any) -> Any:
        """Return β(α) for a number or an array of type I errors in [0, 1]."""
        values = self._beta(np.asarray(alpha, dtype=float))
        return values if values.ndim else float(values)

    @abstractmethod
    def _beta(self, alpha: np.ndarray) -> np.ndarray:
        """Return β(α) for an array."""

    def curve(self) -> PrivacyCurve:
        """Return the privacy curve with the same content, the convex conjugate.

        It is closed where a subclass has a closed form; else see `skdp.privacy.curve`.
        """

        return TradeoffCurve(self)

    def plot_data(self, alpha: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return arrays (α, β(α)) to draw; by default 201 values of α from 0 to 1."""
        alpha = np.linspace(0.0, 1.0, 201) if alpha is None else np.asarray(alpha, dtype=float)
        return alpha, np.asarray(self(alpha))


@dataclass(frozen=True)
class CurveTradeoff(TradeoffFunction):
    """The convex dual of a curve: β(α) = sup over real ε of 1 − δ(ε) − e^ε·α, at least 0."""

    source: PrivacyCurve

    def _beta(self, alpha: np.ndarray) -> np.ndarray:
        return np.vectorize(self._highest_line, otypes=[float])(alpha)

    def _highest_line(self, alpha: float) -> float:
        values = self._line(_GRID, alpha)
        best = int(np.argmax(values))
        around = _GRID[max(best - 1, 0)], _GRID[min(best + 1, _GRID.size - 1)]
        refined = minimize_scalar(
            lambda epsilon: -self._line(epsilon, alpha), bounds=around, method="bounded"
        )
        return max(0.0, float(values[best]), -float(refined.fun))

    def _line(self, epsilon: Any, alpha: float) -> Any:
        return 1.0 - self.source.delta(epsilon) - np.exp(epsilon) * alpha

    def curve(self) -> PrivacyCurve:
        return self.source


_LARGEST_EPSILON = 700.0  # e^ε is a double up to here
_CAPS = (1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 36.0)  # 1 + e^−36 is 1 in floats


class PrivacyCurve(ABC):
    r"""How far two output laws P, Q are apart: δ(ε) = sup over S of P(S) − e^ε·Q(S).

    The curve is defined for every real ε; negative values describe the reversed pair. It is
    nonincreasing, lies above max(0, 1 − e^ε) and below 1.
    """

    def delta(self, epsilon: Any) -> Any:
        """Return δ(ε) for a number or an array of real ε, with the same shape."""
        values = self._delta(np.asarray(epsilon, dtype=float))
        return values if values.ndim else float(values)

    @abstractmethod
    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        """Return δ(ε) for an array."""

    def log_delta(self, epsilon: Any) -> Any:
        """Return log δ(ε), which is finite where δ itself is too small for a float."""
        values = self._log_delta(np.asarray(epsilon, dtype=float))
        return values if values.ndim else float(values)

    def _log_delta(self, epsilon: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self._delta(epsilon))

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        """Return the δ(ε) of the reversed pair, 1 − e^ε + e^ε·δ(−ε), rounded upwards.

        The difference cancels for large ε, where the value at a smaller ε may be the better bound;
        a curve that knows better overrides this.
        """
        return np.min([self._cancelling(np.minimum(epsilon, cap)) for cap in _CAPS], axis=0)

    def _cancelling(self, epsilon: np.ndarray) -> np.ndarray:
        excess = self._delta(-epsilon) + np.expm1(-epsilon)
        rounding = np.where(epsilon > 0.0, 4.0 * np.finfo(float).eps, 0.0)
        return np.clip(np.exp(epsilon) * (excess + rounding), 0.0, 1.0)

    def epsilon(self, delta: float) -> float:
        """Return the least ε ≥ 0 with δ(ε) ≤ `delta`, rounded upwards; ``inf`` if there is none.

        Parameters
        ----------
        delta : float in [0, 1)
        """
        delta = check_delta(delta)
        if self.delta(0.0) <= delta:
            return 0.0
        if self.delta(_LARGEST_EPSILON) > delta:
            return math.inf
        return self._bisect(delta)

    def _bisect(self, delta: float) -> float:
        low, high = 0.0, _LARGEST_EPSILON
        while low < (middle := 0.5 * (low + high)) < high:
            if self.delta(middle) > delta:
                low = middle
            else:
                high = middle
        return high

    def reversed(self) -> PrivacyCurve:
        """Return the curve of the pair (Q, P)."""
        return ReversedCurve(self)

    def tradeoff(self) -> TradeoffFunction:
        """Return the trade-off function with the same content."""
        return CurveTradeoff(self)

    def group(self, size: int) -> PrivacyCurve:
        """Return the curve for data sets that are `size` changes apart, never below the truth.

        See `skdp.privacy.group.GroupCurve`; exact for Gaussian curves.
        """
        from skdp.privacy.group import GroupCurve  # the group rule is built on curves

        return GroupCurve(self, size)

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence of P from Q, from above: see `skdp.privacy.renyi`."""
        from skdp.privacy.renyi import renyi_divergence  # integrals are built on curves

        return renyi_divergence(self, order)

    def _mirrored_renyi(self, order: float) -> float:
        """Return the Rényi divergence of Q from P; a curve that knows better overrides this."""
        from skdp.privacy.renyi import renyi_divergence

        return renyi_divergence(ReversedCurve(self), order)

    def dominating_pair(self) -> DiscretePairCurve:
        """Return a pair of laws on finitely many points whose curve is nowhere below this one."""

        return connect_the_dots(self)

    def plot_data(self, epsilon: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return arrays (ε, δ(ε)) to draw; by default 201 values of ε from 0 to where δ is 1e-9."""
        if epsilon is None:
            widest = self.epsilon(1e-9)
            epsilon = np.linspace(0.0, widest if 0.0 < widest < math.inf else 10.0, 201)
        epsilon = np.asarray(epsilon, dtype=float)
        return epsilon, np.asarray(self.delta(epsilon))


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

    def reversed(self) -> PrivacyCurve:
        return self


_ROUNDING = 1e-9  # how far a table may be from a trade-off function before it is refused
_CHUNK = 2_000_000


@dataclass(frozen=True)
class DiscretePairCurve(PrivacyCurve):
    r"""The curve of two laws on finitely many points: δ(ε) = Σ max(0, pᵢ − e^ε·qᵢ).

    Every term is pᵢ·(1 − e^(ε − ℓᵢ)) with ℓᵢ = log pᵢ/qᵢ, so nothing cancels and both orders are
    accurate in the tails. δ is piecewise linear in e^ε, with knots at the likelihood ratios.

    Parameters
    ----------
    p, q : tuples of float
        *Public.* Masses of the two laws; each sums to 1.

    Examples
    --------
    >>> round(DiscretePairCurve((0.75, 0.25), (0.25, 0.75)).delta(0.0), 12)
    0.5
    """

    p: tuple[float, ...]
    q: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("p", "q"):
            object.__setattr__(self, name, tuple(map(float, getattr(self, name))))
        if len(self.p) != len(self.q):
            raise ValueError(f"p and q need the same length, got {len(self.p)} and {len(self.q)}.")
        for law in (self.p, self.q):
            if not (law and min(law) >= 0.0 and abs(sum(law) - 1.0) <= _ROUNDING):
                raise ValueError(
                    "The masses of a law must be at least 0 and sum to 1, got a least one of "
                    f"{min(law, default=0.0)!r} and the sum {sum(law)!r}."
                )

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return _hockey_stick(np.array(self.p), np.array(self.q), epsilon)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return _hockey_stick(np.array(self.q), np.array(self.p), epsilon)

    def ordered(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return p, q and the order of the points from the largest loss log p/q to the least."""
        p, q = np.array(self.p), np.array(self.q)
        return p, q, np.argsort(-_losses(p, q), kind="stable")

    def dominating_pair(self) -> DiscretePairCurve:
        return self

    def tradeoff(self) -> PiecewiseLinearTradeoff:
        """Return the trade-off function: randomised likelihood-ratio tests (Neyman-Pearson)."""
        p, q, order = self.ordered()
        alpha = np.concatenate([[0.0], np.cumsum(q[order])])
        beta = np.concatenate([np.cumsum(p[order][::-1])[::-1], [0.0]])
        return PiecewiseLinearTradeoff(tuple(alpha / alpha[-1]), tuple(beta / beta[0]))


def _losses(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0.0, np.log(p) - np.log(q), -np.inf)


def _hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    p, losses = p[p > 0.0], _losses(p, q)[p > 0.0]
    flat = np.ravel(epsilon)
    parts = np.array_split(flat, max(1, flat.size * p.size // _CHUNK))
    sums = [-np.expm1(np.minimum(part[:, None] - losses, 0.0)) @ p for part in parts]
    return np.minimum(np.concatenate(sums).reshape(np.shape(epsilon)), 1.0)


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
        for name in ("alpha", "beta"):
            object.__setattr__(self, name, tuple(map(float, getattr(self, name))))
        if not _is_tradeoff(np.array(self.alpha), np.array(self.beta)):
            raise ValueError(
                "A trade-off table needs alpha from 0 to 1, and beta convex, nonincreasing, in "
                "[0, 1 - alpha] and 0 at the end."
            )

    def _beta(self, alpha: np.ndarray) -> np.ndarray:
        knots, values = np.array(self.alpha), np.array(self.beta)
        start = int(np.flatnonzero(knots == 0.0)[-1])
        return np.interp(alpha, knots[start:], values[start:])

    def curve(self) -> DiscretePairCurve:
        """Return the curve: each straight piece is a point with masses −Δβ and Δα."""
        alpha, beta = np.array(self.alpha), np.array(self.beta)
        q, p = np.diff(alpha, prepend=0.0), -np.diff(beta, prepend=1.0)
        return DiscretePairCurve(tuple(np.maximum(p, 0.0)), tuple(np.maximum(q, 0.0)))


def _is_tradeoff(alpha: np.ndarray, beta: np.ndarray) -> bool:
    if alpha.size != beta.size or alpha.size < 2 or alpha[0] != 0.0 or beta[-1] != 0.0:
        return False
    width, fall = np.diff(alpha), -np.diff(beta)
    cross = fall[:-1] * width[1:] - fall[1:] * width[:-1]  # slopes, steepest first
    ordered = np.all(width >= 0.0) and np.all(fall >= 0.0) and np.all(cross >= -_ROUNDING)
    return bool(ordered and alpha[-1] == 1.0 and np.all(beta <= 1.0 - alpha + _ROUNDING))


_PIECES = 3000
_SPREAD = np.sinh(np.linspace(0.0, 4.0, _PIECES + 1)) / math.sinh(4.0)
_NEGLIGIBLE = 1e-20
_DOTS_WIDEST = 300.0
_NARROWEST = 0.01  # closer knots would measure rounding


def connect_the_dots(curve: PrivacyCurve) -> DiscretePairCurve:
    """Return a finite pair whose curve is `curve` at 6001 values of ε and above it elsewhere.

    δ is convex in c = e^ε, so its chords lie above it; the chords' curve belongs to the pair whose
    masses under Q are the changes of slope (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022).
    Each half is taken from the order of the pair in which it is small, where nothing cancels.
    """
    backwards = curve.reversed()
    up, q_up, right, p_top = _half(curve)
    down, p_down, left, q_bottom = _half(backwards)
    middle = max(0.0, 1.0 - curve.delta(0.0) + right + left)  # the bend at ε = 0
    p = [p_top, *(q_up * np.exp(up)), middle, *p_down, 0.0]
    q = [0.0, *q_up, middle, *(p_down * np.exp(down)), q_bottom]
    return DiscretePairCurve(tuple(p), tuple(q))


def _half(curve: PrivacyCurve) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return the knots ε > 0, the bends there, the slope at 0 and the δ at the last knot.

    Slopes are made monotone against rounding, from the right and downwards: the masses still sum
    to 1, and the chords do not fall.
    """
    epsilon = _SPREAD * _range(curve)
    delta = np.minimum.accumulate(np.asarray(curve.delta(epsilon)))
    slope = np.append(np.diff(delta) / np.diff(np.exp(epsilon)), 0.0)
    slope = np.minimum.accumulate(slope[::-1])[::-1]
    return epsilon[1:], np.diff(slope), float(slope[0]), float(delta[-1])


def _range(curve: PrivacyCurve) -> float:
    """Return the ε beyond which the curve stays within 1e-20 of its limit."""
    limit = curve.delta(_DOTS_WIDEST) * (1.0 + 1e-9) + _NEGLIGIBLE
    if limit >= 1.0:
        return 1.0
    return float(np.clip(curve.epsilon(limit) + 1e-9, _NARROWEST, _DOTS_WIDEST))


_HALF = expit(np.linspace(-27.6, 0.0, 3000))  # β is 1 − O(α) below 1e-12: no digits are left
_TINY = np.geomspace(1e-300, 1e-12, 4000, endpoint=False)  # for β that falls steeply at 0
_LEVELS = np.concatenate([_HALF, 1.0 - _HALF[-2::-1], [1.0]])


@dataclass(frozen=True)
class FunctionTradeoff(TradeoffFunction):
    """A trade-off function given as a vectorised function of α.

    Parameters
    ----------
    function : callable
        *Public.* Convex, nonincreasing, with 0 ≤ β(α) ≤ 1 − α; checked on a grid.
    """

    function: Callable[[Any], Any]

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
    between two grid points a convex function lies above the continuations of the neighbouring
    chords. The conjugate of that function is exact, and is never below the curve.
    """

    source: TradeoffFunction

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return self._table._delta(epsilon)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self._table._mirrored(epsilon)

    @cached_property
    def _table(self) -> DiscretePairCurve:
        visible = _TINY[self.source(_TINY) < 1.0 - 1e-9]
        levels = np.concatenate([[0.0], visible, _LEVELS])
        return _pair_below(levels, np.clip(self.source(levels), 0.0, 1.0 - levels))

    def tradeoff(self) -> TradeoffFunction:
        return self.source


def _pair_below(alpha: np.ndarray, beta: np.ndarray) -> DiscretePairCurve:
    """Return a pair whose trade-off function lies below every convex one through these points."""
    width, fall = np.diff(alpha), -np.diff(beta)
    slope = fall / width
    steep = np.concatenate([[np.inf], slope[:-1]])  # continued from the left
    flat = np.concatenate([slope[1:], [0.0]])  # continued from the right
    # They meet after a part t of the cell: steep·t + flat·(width − t) = fall.
    bends = steep > flat * (1.0 + 1e-9)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(bends, (fall - flat * width) / (steep - flat), 0.5 * width)
    part = np.clip(part, 0.0, width)
    drop = np.where(bends, np.clip(fall - flat * (width - part), 0.0, fall), 0.5 * fall)
    q = np.ravel(np.column_stack([part, width - part]))
    p = np.ravel(np.column_stack([drop, fall - drop]))
    at_once = 1.0 - float(beta[0])
    return DiscretePairCurve((at_once, *p), (0.0, *q))
