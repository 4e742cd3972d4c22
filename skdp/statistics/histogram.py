"""Counts of rows in cells of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from skdp.budget import PrivacyBudget
from skdp.statistics._columns import numeric_columns
from skdp.statistics._release import Terms
from skdp.statistics._result import NoisyNumbers
from skdp.workloads import Query

__all__ = ["histogram"]


def histogram(
    x: Any,
    *,
    edges: Any,
    epsilon: float,
    delta: float = 0.0,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
) -> NoisyNumbers:
    """Count the rows in each cell between public edges, privately.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Values beyond the edges count in the first or last cell; a row with ``nan``
        counts in none.
    edges : array-like, or one for each column
        *Public.* Increasing ends of the cells; the last cell holds its right end.
    epsilon, delta, noise, neighboring, budget, random_state
        As in `count`.

    Returns
    -------
    NoisyNumbers
        `value` has an axis for each column; counts may be negative, as they are unbiased.

    Notes
    -----
    **Guarantee.** A row lies in at most one cell: one count changes by 1 under ``add_remove_one``,
    two under ``replace_one``, however many cells there are.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import histogram
    >>> ages = np.arange(1000) % 90
    >>> found = histogram(ages, edges=[0, 30, 60, 90], epsilon=1.0, random_state=0)
    >>> low, high = found.interval(simultaneous=True)
    >>> bool(np.all((low <= [340, 330, 330]) & ([340, 330, 330] <= high)))
    True
    """
    terms = Terms(epsilon, delta, noise, neighboring, budget, random_state)
    columns, _ = numeric_columns(x, count_is_public=False)
    grid = _checked_edges(edges, columns.shape[1])
    shape = tuple(len(ends) - 1 for ends in grid)
    query = Query(
        "cells",
        size=int(np.prod(shape)),
        linf_sensitivity=1.0,
        l0_sensitivity=terms.n_changed,
        integer=True,
    )
    plan, privacy = terms.buy([query], "statistics.histogram")
    released = plan.release({"cells": _cells(columns, grid, shape)}, terms.rng)
    return NoisyNumbers(released["cells"].reshape(shape), privacy, _plan=plan)


def _checked_edges(edges: Any, n_columns: int) -> list[np.ndarray]:
    if np.ndim(edges) == 0 and not isinstance(edges, (list, tuple)):
        raise ValueError(
            f"edges must be the ends of the cells, public numbers, not how many there are; got "
            f"{edges!r}."
        )
    one = n_columns == 1 and np.ndim(edges[0]) == 0
    grid = [np.asarray(ends, dtype=float) for ends in ([edges] if one else edges)]
    increasing = all(
        ends.ndim == 1 and ends.size > 1 and np.isfinite(ends).all() and (np.diff(ends) > 0.0).all()
        for ends in grid
    )
    if len(grid) != n_columns or not increasing:
        raise ValueError(
            f"edges must be increasing finite numbers, at least two, for each of {n_columns} "
            f"columns; got {edges!r}."
        )
    return grid


def _cells(columns: np.ndarray, grid: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """Return the *private* counts, flattened."""
    known = ~np.isnan(columns.astype(float)).any(axis=1)
    inner = (np.searchsorted(g[1:-1], columns[known, j], "right") for j, g in enumerate(grid))
    cells = np.ravel_multi_index(tuple(inner), shape)
    return np.bincount(cells, minlength=int(np.prod(shape)))
