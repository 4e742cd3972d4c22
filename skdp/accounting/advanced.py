"""Sums of ε and δ, and advanced composition."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from skdp.accounting.base import Accountant, EventCount
from skdp.support.safe_numbers import FORMULA, SUM, arithmetic, bisect, down, up
from skdp.support.validation import check_choice

_POINTS = 400
_SMALLEST, _LARGEST = -50.0, 750.0  # of the logarithm of a Lagrange multiplier, over 0.9
_ROUNDING = up(1.0, FORMULA)


@dataclass(frozen=True)
class BasicAccountant(Accountant):
    r"""Basic composition: Σ k_i·ε_i at Σ k_i·δ_i, for k_i releases of leaf i.

    A leaf with a curve is (ε_i(δ_i), δ_i)-DP for every δ_i, and any split of δ is valid. The better
    of two splits counts: equal ones, and the Lagrangian rule (see *Basic composition* in the user
    guide).

    Parameters
    ----------
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).

    Notes
    -----
    **Guarantee.** Dwork, Kenthapadi, McSherry, Mironov and Naor 2006; Dwork and Roth 2014,
    Theorem B.1. Also for adaptively chosen releases (Rogers, Roth, Ullman and Vadhan 2016).

    Examples
    --------
    >>> from skdp.privacy import GaussianEvent, SelfComposedEvent
    >>> event = SelfComposedEvent(GaussianEvent(20.0), 10)
    >>> round(BasicAccountant().epsilon(event, 1e-5), 3)
    3.969
    """

    def _epsilon(self, leaves: tuple[EventCount, ...], delta: float) -> float:
        if delta == 0.0:
            return _total(leaves, [0.0] * len(leaves))
        floors = [leaf.floor for leaf in leaves]
        left = delta - math.fsum(leaf.count * f for leaf, f in zip(leaves, floors, strict=True))
        if left < 0.0:
            return math.inf
        releases = sum(leaf.count for leaf in leaves)
        equal = _total(leaves, [f + left / releases / _ROUNDING for f in floors])
        if len(leaves) == 1 or math.isinf(equal):
            return equal
        return min(equal, _total(leaves, _lagrangian(leaves, delta)))


def _total(leaves: tuple[EventCount, ...], deltas: list[float]) -> float:
    costs = (leaf.count * leaf.epsilon(d) for leaf, d in zip(leaves, deltas, strict=True))
    return math.fsum(costs) * _ROUNDING


def _lagrangian(leaves: tuple[EventCount, ...], delta: float) -> list[float]:
    """Return the δ_i of one release, with Σ k_i·δ_i ≤ δ.

    Each leaf is at the ε_i that minimizes ε_i + λ·δ_i(ε_i), with the least λ that δ allows; then
    the δ_i are scaled up to use δ completely. This is the best split if all ε(δ) are convex.
    """
    counts = np.array([leaf.count for leaf in leaves], dtype=float)
    grids = [_grid(leaf, delta) for leaf in leaves]
    tables = [(grid, leaf.delta(grid)) for leaf, grid in zip(leaves, grids, strict=True)]

    def is_enough(log_multiplier: float) -> bool:
        return bool(counts @ _choices(tables, math.exp(log_multiplier * 0.9)) <= delta)

    least = bisect(is_enough, _LARGEST, _SMALLEST, arithmetic())
    chosen = _choices(tables, math.exp(least * 0.9))
    total = float(counts @ chosen)
    scale = delta / total / _ROUNDING if total > 0.0 else 0.0
    return [float(d) * min(scale, 1e300) for d in chosen]


def _grid(leaf: EventCount, delta: float) -> np.ndarray:
    end = min(leaf.pure, leaf.epsilon(max(1e-3 * delta / leaf.count, leaf.floor)), 650.0)
    return np.append(0.0, np.geomspace(1e-4 * end, end, _POINTS)) if end else np.zeros(1)


def _choices(tables: list[tuple[np.ndarray, np.ndarray]], multiplier: float) -> np.ndarray:
    return np.array([delta[np.argmin(grid + multiplier * delta)] for grid, delta in tables])


_UNIT = 2.0**-53
_TINY = 1e-290
Parts = tuple[tuple[float, float, int], ...]
"""(ε_i, δ_i, k_i) of each leaf."""
_SHARES = np.append(0.0, np.linspace(0.1, 1.0, 10))


@dataclass(frozen=True)
class AdvancedAccountant(Accountant):
    r"""Advanced composition of releases, from their (ε_i, δ_i) alone.

    Parameters
    ----------
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    form : {"best", "optimal", "tanh", "dwork_roth", "sqrt6"}
        *Public.* With L = log(1/δ'):

        - ``"dwork_roth"``: √(2L·Σε²) + Σ ε(e^ε − 1);
        - ``"tanh"``: √(2L·Σε²) + Σ ε·tanh(ε/2), never larger;
        - ``"sqrt6"``: ε·√(6kL), only if it follows from ``"dwork_roth"``;
        - ``"optimal"``: the exact value for equal releases;
        - ``"best"``: the least of ``"tanh"``, ``"optimal"`` and Σε.

    Notes
    -----
    Leaves without a pure ε get a share of δ: see *Advanced composition* in the user guide.

    **Guarantee.** Dwork and Roth 2014, Theorem 3.20; Kairouz, Oh and Viswanath 2015, Theorems 3.3
    and 3.5. `tanh`: the loss of randomized response has mean ε·tanh(ε/2) and lies in [−ε, ε], so
    Azuma's inequality applies.

    Examples
    --------
    >>> from skdp.privacy import GaussianEvent, SelfComposedEvent
    >>> event = SelfComposedEvent(GaussianEvent(200.0), 1000)
    >>> round(AdvancedAccountant().epsilon(event, 1e-5), 1)
    7.0
    """

    form: str = "best"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("form", self.form, FORMS)

    def _epsilon(self, leaves: tuple[EventCount, ...], delta: float) -> float:
        if delta == 0.0:
            pure = math.fsum(leaf.count * leaf.pure for leaf in leaves) * _ROUNDING
            return pure if self.form in ("best", "optimal") else math.inf if pure else 0.0
        if all(leaf.pure == 0.0 for leaf in leaves):
            return 0.0
        shares = _SHARES[:1] if all(math.isfinite(leaf.pure) for leaf in leaves) else _SHARES
        least = min(self._at(leaves, delta, float(f)) for f in shares) * _ROUNDING
        if math.isinf(least) and self.form in _NEEDS:
            raise self._refusal(leaves[0], _NEEDS[self.form])
        return least

    def _at(self, leaves: tuple[EventCount, ...], delta: float, share: float) -> float:
        """Return ε if leaves without a pure ε get this share of what is left of δ."""
        fixed = math.fsum(leaf.count * leaf.floor for leaf in leaves)
        open_ = sum(leaf.count for leaf in leaves if math.isinf(leaf.pure))
        if fixed > delta:
            return math.inf
        extra = share * (delta - fixed) / max(open_, 1) / _ROUNDING
        parts = tuple(_part(leaf, extra) for leaf in leaves)
        rest = delta - math.fsum(d * k for _, d, k in parts) * _ROUNDING
        return FORMS[self.form](parts, max(rest, 0.0))


def _part(leaf: EventCount, extra: float) -> tuple[float, float, int]:
    if math.isfinite(leaf.pure):
        return leaf.pure, 0.0, leaf.count
    return leaf.epsilon(leaf.floor + extra), leaf.floor + extra, leaf.count


def _best(parts: Parts, delta: float) -> float:
    basic = math.fsum(k * e for e, _, k in parts)
    return min(basic, _tanh(parts, delta), _optimal(parts, delta))


def _optimal(parts: Parts, delta: float) -> float:
    (epsilon, own, k), *others = parts
    if others:
        return math.inf
    lost = -math.expm1(k * math.log1p(-own))
    return optimal_epsilon(epsilon, own, k, lost + delta * (1.0 - lost) / _ROUNDING)


def _tanh(parts: Parts, delta: float) -> float:
    # The loss of randomized response is ±ε with mean ε·tanh(ε/2). Hoeffding's inequality for ranges
    # of 2ε: it exceeds the mean by t with probability e^(−2t²/Σ(2ε)²) = δ' at t = √(2L·Σε²).
    return _spread(parts, delta) + math.fsum(k * e * math.tanh(0.5 * e) for e, _, k in parts)


def _dwork_roth(parts: Parts, delta: float) -> float:
    return _spread(parts, delta) + math.fsum(k * e * math.expm1(min(e, 700.0)) for e, _, k in parts)


def _sqrt6(parts: Parts, delta: float) -> float:
    """Return ε·√(6k·log(1/δ')) where that is not below `_dwork_roth`; elsewhere it is false."""
    # ε·√(2kL) + k·ε·(e^ε − 1) ≤ ε·√(6kL), divided by ε·√k.
    (epsilon, _, k), *others = parts
    room = (math.sqrt(6.0) - math.sqrt(2.0)) * math.sqrt(-math.log(delta)) if delta else 0.0
    if others or not math.sqrt(k) * math.expm1(min(epsilon, 700.0)) <= room:
        return math.inf
    return math.sqrt(3.0) * _spread(parts, delta)


def _spread(parts: Parts, delta: float) -> float:
    if delta <= 0.0:
        return math.inf
    return math.sqrt(2.0 * -math.log(delta) * math.fsum(k * e * e for e, _, k in parts))


FORMS: dict[str, Callable[[Parts, float], float]] = {
    "best": _best,
    "optimal": _optimal,
    "tanh": _tanh,
    "dwork_roth": _dwork_roth,
    "sqrt6": _sqrt6,
}
"""ε of the composition at Σ k_i·δ_i + δ', by name."""
_NEEDS = {
    "optimal": "releases that are all equal",
    "sqrt6": "equal releases and sqrt(k)*(e^eps - 1) <= (sqrt 6 - sqrt 2)*sqrt(log 1/delta'), "
    "without which the printed form is false",
}


def optimal_epsilon(epsilon: float, delta: float, count: int, total: float) -> float:
    r"""Return the least ε' with k-fold (ε, δ)-DP inside (ε', `total`)-DP, rounded upwards.

    The dominating pair is randomized response with probability 1 − δ and an atom at infinite
    loss with probability δ (Kairouz, Oh and Viswanath 2015, Theorem 3.3), so

        1 − δ' = (1 − δ)^k·(1 − D(ε')),  D(ε') = Σ_j C(k,j) p^(k−j) q^j (1 − e^(ε' − l_j))_+,

    with l_j = (k − 2j)·ε and p = 1 − q = e^ε/(1 + e^ε). Between two l_j, D is A − e^ε'·B.
    """
    # (T − lost)/(1 − lost) falls as `lost` rises, so that is rounded up and the quotient down.
    lost = up(-math.expm1(count * math.log1p(-delta)), SUM)
    target = down((total - lost) / (1.0 - lost), FORMULA) if lost < 1.0 else -1.0
    if target < 0.0 or math.isinf(epsilon):
        return math.inf
    if target == 0.0 or epsilon == 0.0:
        return count * epsilon
    losses, a, b, rounding = _lines(epsilon, count)
    values = _line(a, b, losses, rounding)
    enough = np.flatnonzero(values <= target)
    j = int(enough[-1]) if enough.size else 0
    if j + 1 == losses.size and losses[j] <= 0.0:
        return 0.0
    return _within(losses, a, b, rounding, j, target)


def _lines(epsilon: float, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return l_0 > l_1 > ... ≥ 0, logs of P(L ≥ l_j), Q(L ≥ l_j), and their relative error."""
    j = np.arange(count // 2 + 1, dtype=float)
    losses = (count - 2.0 * j) * epsilon
    choose = gammaln(count + 1.0) - gammaln(j + 1.0) - gammaln(count - j + 1.0)
    log_p = choose - j * epsilon - count * math.log1p(math.exp(-epsilon))
    # Three log-gammas of up to k·log(k + 1), each off by 4 units of itself, and their sum: 15. The
    # products with ε and log1p are at most k·(ε + 1), and the k/2 additions below cost k/2. 64 is
    # for later operations on the logarithms: exp, products and a difference. Sums below 1e-290 of
    # their peak may have lost digits: P is at least, and Q at most, its exact value.
    rounding = _UNIT * (16.0 * count * (math.log(count + 1.0) + epsilon + 1.0) + 64.0)
    a, b = _log_cumulative(log_p, _TINY), _log_cumulative(log_p - losses, 0.0)
    return losses, a, b, rounding


def _log_cumulative(logs: np.ndarray, tiny: float) -> np.ndarray:
    """Return logs of sums, with `tiny` in place of sums below `_TINY`."""
    peak = float(logs.max())
    with np.errstate(divide="ignore", under="ignore"):
        sums = np.cumsum(np.exp(logs - peak))
        return peak + np.log(np.where(sums < _TINY, tiny, sums))


def _line(a: np.ndarray, b: np.ndarray, epsilon: np.ndarray, rounding: float) -> np.ndarray:
    return np.exp(a) * (1.0 + rounding) - np.exp(b + epsilon) * (1.0 - rounding)


def _within(
    losses: np.ndarray, a: np.ndarray, b: np.ndarray, rounding: float, j: int, target: float
) -> float:
    """Return ε' between l_{j+1} and l_j where the line of the atoms l_0, ..., l_j is at target."""
    excess = math.exp(a[j]) * (1.0 + rounding) - target
    below = float(losses[j + 1]) if j + 1 < losses.size else 0.0
    if excess <= 0.0:
        return below
    # ε' solves A − e^ε'·B = target, with A rounded up and B down. 1e-14 is for the two logarithms
    # and the two differences, 9 units of 2⁻⁵³ of their sizes at most.
    root = math.log(excess) - math.log1p(-rounding) - float(b[j])
    upwards = 1e-14 * (abs(root) + abs(float(b[j])) + 1.0)
    return min(max(root + upwards, below), float(losses[j]))
