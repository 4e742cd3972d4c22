"""Wald tests of linear hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2


class WaldTest(NamedTuple):
    """The result of a Wald test; *released,* so that it costs no privacy."""

    statistic: float  # with a chi-squared distribution under the hypothesis
    df: int  # its degrees of freedom
    pvalue: float


def contrasts_of(hypothesis: Any, names: Sequence[str]) -> np.ndarray:
    """Return a matrix with a row for each restriction, from names, positions or a matrix."""
    n = len(names)
    if isinstance(hypothesis, str):
        hypothesis = [hypothesis]
    if np.ndim(hypothesis) == 2:
        matrix = np.asarray(hypothesis, dtype=float)
        if matrix.shape[1] != n or not len(matrix) or not np.isfinite(matrix).all():
            raise ValueError(f"hypothesis must have rows, and {n} finite columns: {list(names)}.")
        return matrix
    places = [_place(one, names) for one in np.ravel(np.asarray(hypothesis, dtype=object))]
    if not places or len(set(places)) < len(places):
        raise ValueError("hypothesis must name each coefficient once, and at least one.")
    return np.eye(n)[places]


def wald_test(
    estimates: np.ndarray, covariance: np.ndarray, contrasts: np.ndarray, value: object
) -> WaldTest:
    """Return the test of contrasts·θ = value; nan if a coefficient is not identified.

    Coefficients that no contrast involves do not matter.
    """
    used = (contrasts != 0.0).any(axis=0)
    R = contrasts[:, used]
    if np.linalg.matrix_rank(R) < len(R):
        raise ValueError("hypothesis must have linearly independent rows.")
    gap = R @ estimates[used] - _values(value, len(R))
    variance = R @ covariance[np.ix_(used, used)] @ R.T
    if np.isnan(variance).any():
        return WaldTest(np.nan, len(R), np.nan)
    statistic = float(gap @ np.linalg.solve(variance, gap))
    return WaldTest(statistic, len(R), float(chi2.sf(statistic, len(R))))


def _values(value: Any, n: int) -> np.ndarray:
    """Return a number, or one for each restriction, as an array."""
    values = np.asarray(value, dtype=float)
    if values.shape not in ((), (1,), (n,)) or not np.isfinite(values).all():
        raise ValueError(f"value must be a finite number, or one for each of {n} rows.")
    return values


def _place(one: object, names: Sequence[str]) -> int:
    if isinstance(one, str):
        if one not in names:
            raise ValueError(f"Unknown coefficient {one!r}. The coefficients are {list(names)}.")
        return list(names).index(one)
    if isinstance(one, int | np.integer) and not isinstance(one, bool) and 0 <= one < len(names):
        return int(one)
    raise ValueError(f"Coefficients are named, or numbered from 0 to {len(names) - 1}; got {one!r}")
