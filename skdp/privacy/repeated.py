"""The curve of the best of a random number of runs: *Best of K* in the user guide."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp, ndtr

from skdp.privacy.combined import HullCurve
from skdp.privacy.curve import DiscretePairCurve, PrivacyCurve, TradeoffFunction
from skdp.privacy.gaussian import GaussianCurve
from skdp.support.rounding import ROOT, SUM, margin

__all__ = ["BestOfCurve", "RunCount"]

_CELLS = 4000  # of p; no guarantee rests on their number nor on their ends
_SCORES = np.linspace(-38.0, 8.3, 20_001)  # Φ⁻¹(p) among which ends of cells are chosen
_LOG_RANGE = 30.0  # of the weights; smaller weights do not make cells narrower
_LOG_RATIOS = np.concatenate(
    [
        np.linspace(-1.0, 2.0, 150, False),
        np.linspace(2.0, 12.0, 200, False),
        np.linspace(12.0, 600.0, 99),
    ]
)

_SLOPE = 1e-4  # so that cells have an end where the weights hardly vary
_CHUNK = 256
_ROUNDED_UP = margin(SUM)  # added to G
_ROUNDING = margin(ROOT)  # added to log δ; its sums of positive terms are good to 1e-11


@dataclass(frozen=True)
class RunCount:
    """The distribution of K, the number of runs, seen through E[K·t^(K−1)]."""

    distribution: str  # "negative_binomial" (truncated: at least 1 run), "poisson" or "fixed"
    parameter: float  # γ in (0, 1); the mean; K itself
    shape: float = 1.0  # η > −1 of the negative binomial: 1 is geometric, 0 logarithmic

    @property
    def mean(self) -> float:
        """E[K]."""
        gamma, eta = self.parameter, self.shape
        if self.distribution != "negative_binomial":
            return self.parameter
        if eta == 0.0:
            return (1.0 / gamma - 1.0) / -math.log(gamma)
        return eta * (1.0 - gamma) / (gamma * -math.expm1(eta * math.log(gamma)))

    def log_weight(self, p: np.ndarray) -> np.ndarray:
        """Return log w(p), w(p) = E[K·(1 − p)^(K−1)], for the probability p of a better run.

        w is nonincreasing and says by how much a run of rank p is favored.
        """
        log_mean, gamma = math.log(self.mean), self.parameter
        if self.distribution == "poisson":
            return log_mean - self.parameter * p
        with np.errstate(divide="ignore"):
            if self.distribution == "fixed":
                return log_mean + (self.parameter - 1.0) * np.log1p(-p) if gamma > 1 else 0.0 * p
        return log_mean - (1.0 + self.shape) * np.log1p(p * (1.0 - gamma) / gamma)


@dataclass(frozen=True)
class BestOfCurve(HullCurve):
    r"""The curve of the best of K runs, each of them dominated by a pair with the curve δ.

    With w of `RunCount` and G(p) = max{Q(S): P(S) ≤ p} of the pair (P, Q),

    .. math:: δ_A(ε) \le E_P\, Ψ(e^ε \tfrac{dQ}{dP}), \qquad
        Ψ(x) = \sup_p \{w(p) - w(G(p))·x\}_+ .

    Ψ is convex and falls, so chords between knots lie above it: a sum of hinges c·(1 − x/t)₊. And
    the mean of such a hinge is a value of the curve: δ_A(ε) ≤ Σ c_j·δ(ε − log t_j).
    """

    curve: PrivacyCurve  # of one run, its score included
    count: RunCount

    @property
    def _farthest(self) -> float:
        epsilon = 1.0
        while float(self._log_bound(np.asarray(epsilon))) > math.log(0.5) and epsilon < 600.0:
            epsilon *= 2.0
        return epsilon + 1.0  # (1 − F)/(1 + e^ε) is there at least half of its supremum beyond

    def _log_bound(self, epsilon: np.ndarray) -> np.ndarray:
        flat = np.ravel(epsilon)
        chunks = np.array_split(flat, 1 + flat.size // _CHUNK)
        return np.concatenate([self._of_few(part) for part in chunks]).reshape(epsilon.shape)

    def _of_few(self, epsilon: np.ndarray) -> np.ndarray:
        bounds = []
        for curve, hinges in self._orders:
            logs = curve.log_delta(epsilon[:, None] - hinges.log_ends) + hinges.log_weights
            bounds.append(np.logaddexp(logsumexp(logs, axis=1), hinges.log_rest))
        return np.max(bounds, axis=0) + _ROUNDING

    @cached_property
    def _orders(self) -> list[tuple[PrivacyCurve, _Hinges]]:
        """Return, for each order of a pair that covers one run, its curve and Ψ."""
        if isinstance(self.curve, GaussianCurve):
            return [(self.curve, _Hinges.above(self.curve, self.count))]
        ahead = self.curve.dominating_pair()
        back = DiscretePairCurve(ahead.q, ahead.p)
        orders = ((ahead, back), (back, ahead))
        return [(curve, _Hinges.above(other, self.count)) for curve, other in orders]


@dataclass(frozen=True, eq=False)
class _Hinges:
    """Chords above Ψ: Σ c·(1 − x/t)₊, and a constant for what is left beyond the last t."""

    log_ends: np.ndarray
    log_weights: np.ndarray
    log_rest: float

    @classmethod
    def above(cls, back: PrivacyCurve, count: RunCount) -> _Hinges:
        """Return chords between knots of Ψ, with each cell of p taken at its worse end."""
        ends, reached = _cells(count, back.tradeoff())
        high = np.exp(count.log_weight(ends[:-1]))
        low = np.exp(count.log_weight(reached[1:]))
        x = np.concatenate([[0.0], np.exp(_LOG_RATIOS)])
        psi = np.array([max(float(np.max(high - low * at)), 0.0) for at in x])
        slopes = np.append(np.diff(psi) / np.diff(x), 0.0)
        weights = np.maximum(np.diff(slopes) * x[1:], 0.0)
        some = weights > 0.0
        with np.errstate(divide="ignore"):
            return cls(_LOG_RATIOS[some], np.log(weights[some]), float(np.log(psi[-1])))


def _cells(count: RunCount, tests: TradeoffFunction) -> tuple[np.ndarray, np.ndarray]:
    """Return ends of cells of p and G there, rounded upwards; w and w∘G vary little in a cell."""

    def reached(p: np.ndarray) -> np.ndarray:
        return np.minimum(1.0 - tests(p) + _ROUNDED_UP, 1.0)

    p = ndtr(_SCORES)
    fall = -_SLOPE * _SCORES
    for at in (p, reached(p)):
        fall += np.maximum(count.log_weight(at), math.log(count.mean) - _LOG_RANGE)
    fall = np.maximum.accumulate(fall[0] - fall)
    inner = np.interp(np.linspace(0.0, fall[-1], _CELLS), fall, p)
    ends = np.concatenate([[0.0], inner, [1.0]])
    return ends, reached(ends)
