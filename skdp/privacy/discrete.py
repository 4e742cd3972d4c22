"""Pairs of laws on finitely many points: piecewise-linear curves and trade-off functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.tradeoff import TradeoffFunction

__all__ = ["DiscretePairCurve", "PiecewiseLinearTradeoff"]

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
                    f"{min(law, default=0.0)!r} and the sum {sum(law)!r}. Nothing was spent."
                )

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return _hockey_stick(np.array(self.p), np.array(self.q), epsilon)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return _hockey_stick(np.array(self.q), np.array(self.p), epsilon)

    def ordered(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return p, q and the order of the points from the largest loss log p/q to the least."""
        p, q = np.array(self.p), np.array(self.q)
        return p, q, np.argsort(-_losses(p, q), kind="stable")

    def dominating_pair(self) -> DiscretePairCurve:  # noqa: D102
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
                "[0, 1 - alpha] and 0 at the end. Nothing was spent."
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
