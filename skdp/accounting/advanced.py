"""Advanced composition: ε grows with the square root of the number of releases."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skdp._validation import check_choice
from skdp.accounting._leaf import Leaf
from skdp.accounting._randomised_response import optimal_epsilon
from skdp.accounting.base import Accountant

__all__ = ["FORMS", "AdvancedAccountant"]

Parts = tuple[tuple[float, float, int], ...]
"""(ε_i, δ_i, k_i) of each leaf."""

_SHARES = np.append(0.0, np.linspace(0.1, 1.0, 10))
_ROUNDING = 1.0 + 1e-14


def _dwork_roth(parts: Parts, delta: float) -> float:
    return _spread(parts, delta) + math.fsum(k * e * math.expm1(min(e, 700.0)) for e, _, k in parts)


def _tanh(parts: Parts, delta: float) -> float:
    return _spread(parts, delta) + math.fsum(k * e * math.tanh(0.5 * e) for e, _, k in parts)


def _sqrt6(parts: Parts, delta: float) -> float:
    """Return ε·√(6k·log(1/δ')) where that is not below `_dwork_roth`; elsewhere it is false."""
    (epsilon, _, k), *others = parts
    room = (math.sqrt(6.0) - math.sqrt(2.0)) * math.sqrt(-math.log(delta)) if delta else 0.0
    if others or not math.sqrt(k) * math.expm1(min(epsilon, 700.0)) <= room:
        return math.inf
    return math.sqrt(3.0) * _spread(parts, delta)


def _optimal(parts: Parts, delta: float) -> float:
    (epsilon, own, k), *others = parts
    if others:
        return math.inf
    lost = -math.expm1(k * math.log1p(-own))
    return optimal_epsilon(epsilon, own, k, lost + delta * (1.0 - lost) / _ROUNDING)


def _best(parts: Parts, delta: float) -> float:
    basic = math.fsum(k * e for e, _, k in parts)
    return min(basic, _tanh(parts, delta), _optimal(parts, delta))


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


@dataclass(frozen=True)
class AdvancedAccountant(Accountant):
    r"""Releases seen only through their (ε_i, δ_i).

    Parameters
    ----------
    neighboring : {"replace_one", "add_remove_one"}
        *Public.*
    form : {"best", "optimal", "tanh", "dwork_roth", "sqrt6"}
        *Public.* With L = log(1/δ'):

        - ``"dwork_roth"``: √(2L·Σε²) + Σ ε(e^ε − 1);
        - ``"tanh"``: √(2L·Σε²) + Σ ε·tanh(ε/2), never larger;
        - ``"sqrt6"``: ε·√(6kL), refused where it does not follow from ``"dwork_roth"``;
        - ``"optimal"``: the exact value for equal releases;
        - ``"best"``: the least of the valid ones, and of Σε.

    Notes
    -----
    A leaf with a pure ε uses it. Any other one gets δ_i = its unavoidable δ plus an equal share
    a release of f·(what is left), δ' the rest; f is the best of 0, 0.1, ..., 1.

    **Guarantee.** Dwork and Roth 2014, Theorem 3.20; Kairouz, Oh and Viswanath 2015, Theorems 3.3
    and 3.5. `tanh`: the loss of randomised response has mean ε·tanh(ε/2) and lies in [−ε, ε], so
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

    def _epsilon(self, leaves: tuple[Leaf, ...], delta: float) -> float:
        if delta == 0.0:
            pure = math.fsum(leaf.count * leaf.pure for leaf in leaves) * _ROUNDING
            return pure if self.form in ("best", "optimal") else math.inf if pure else 0.0
        if all(leaf.pure == 0.0 for leaf in leaves):
            return 0.0
        least = min(self._at(leaves, delta, float(f)) for f in self._shares(leaves)) * _ROUNDING
        if math.isinf(least) and self.form in _NEEDS:
            raise self._refusal(leaves[0], _NEEDS[self.form])
        return least

    def _shares(self, leaves: tuple[Leaf, ...]) -> np.ndarray:
        return _SHARES[:1] if all(math.isfinite(leaf.pure) for leaf in leaves) else _SHARES

    def _at(self, leaves: tuple[Leaf, ...], delta: float, share: float) -> float:
        fixed = math.fsum(leaf.count * leaf.floor for leaf in leaves)
        open_ = sum(leaf.count for leaf in leaves if math.isinf(leaf.pure))
        if fixed > delta:
            return math.inf
        extra = share * (delta - fixed) / max(open_, 1) / _ROUNDING
        parts = tuple(_part(leaf, extra) for leaf in leaves)
        rest = delta - math.fsum(d * k for _, d, k in parts) * _ROUNDING
        return FORMS[self.form](parts, max(rest, 0.0))


def _part(leaf: Leaf, extra: float) -> tuple[float, float, int]:
    if math.isfinite(leaf.pure):
        return leaf.pure, 0.0, leaf.count
    return leaf.epsilon(leaf.floor + extra), leaf.floor + extra, leaf.count
