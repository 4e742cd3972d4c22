"""Group privacy from (ε, δ) alone."""

from __future__ import annotations

import math

from skdp.support.validation import check_count, check_delta

__all__ = ["group_privacy"]


def group_privacy(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    """Return the (ε', δ') of a group of `size` changes, from the (ε, δ) of one.

    ε' = kε, δ' = δ·(e^(kε) − 1)/(e^ε − 1), capped at 1: Tian 2024, *Differential privacy*, Lemma 1.
    `PrivacyCurve.group` is never looser.

    Parameters
    ----------
    epsilon, delta : float
        *Public.* Guarantee for one change.
    size : int
        *Public.* How many changes, k.

    Returns
    -------
    epsilon, delta : float
        Guarantee for `size` changes.

    Examples
    --------
    >>> epsilon, delta = group_privacy(1.0, 1e-5, 2)
    >>> epsilon, round(delta, 11)
    (2.0, 3.718282e-05)
    """
    size, delta = check_count("size", size), check_delta(delta)
    if not 0.0 <= epsilon < math.inf:
        raise ValueError(f"epsilon must lie in [0, inf), got {epsilon!r}.")
    if size * epsilon > 700.0:
        return size * epsilon, 1.0 if delta else 0.0
    factor = math.expm1(size * epsilon) / math.expm1(epsilon) if epsilon else float(size)
    return size * epsilon, min(1.0, delta * factor)
