"""Covariances of clipped values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skdp.budget import PrivacyBudget
from skdp.statistics._columns import Box, largest_square, least_square, numeric_columns, product
from skdp.statistics._means import Means, Part, purchase
from skdp.statistics._release import Terms
from skdp.statistics._result import Statistic

__all__ = ["Covariance", "covariance"]


@dataclass(frozen=True, eq=False, repr=False)
class Covariance(Statistic):
    """A released covariance matrix, and the means that came with it.

    Attributes
    ----------
    mean : ndarray of shape (n_columns,)
        *Released*, in the same purchase.
    """

    mean: np.ndarray
    _means: Means = field(kw_only=True)
    _box: Box = field(kw_only=True)

    def _ends(self, risk: float) -> tuple[Any, Any]:
        """Return ends for each entry: of the mean product less the product of the means."""
        low, high = self._means.ends("x", risk / 3.0)
        pairs = np.triu_indices(low.size, 1)
        least, most = (np.empty((low.size, low.size)) for _ in range(2))
        squares = self._means.ends("square", risk / 3.0)
        np.fill_diagonal(least, np.maximum(squares[0] + 0.5 - largest_square(low, high), 0.0))
        np.fill_diagonal(most, squares[1] + 0.5 - least_square(low, high))
        if pairs[0].size:
            i, j = pairs
            smallest, largest = product((low[i], high[i]), (low[j], high[j]))
            products = self._means.ends("product", risk / 3.0)
            least[i, j] = least[j, i] = products[0] - largest
            most[i, j] = most[j, i] = products[1] - smallest
        unit = np.outer(self._box.half, self._box.half)
        return unit * np.clip(least, -1.0, 1.0), unit * np.clip(most, -1.0, 1.0)


def covariance(
    x: Any,
    *,
    bounds: Any,
    epsilon: float,
    delta: float = 0.0,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
) -> Covariance:
    """Release the covariance matrix of the columns and their means together, privately.

    Parameters
    ----------
    x : array-like of shape (n_rows, n_columns)
        *Private.* Values outside `bounds` are clipped; ``nan`` counts as the middle of the bounds.
    bounds : pair (low, high), or one pair per column
        *Public.* As in `skdp.preprocessing.BoundsScaler`.
    epsilon, delta, noise, neighboring, budget, random_state
        As in `count`.

    Returns
    -------
    Covariance
        `value` (with ``ddof=0``) is positive semidefinite: negative eigenvalues, which come from
        the noise, are raised to 0.

    Notes
    -----
    **Guarantee.** Released are the means of u, of u² − 1/2 and of the products of two columns,
    where u are values mapped to [−1, 1]. Of a row that is replaced most products change where half
    of its values change sign: ⌊d²/4⌋ of them by 2 each, for d columns. Under ``add_remove_one`` the
    number of rows is part of the purchase.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import covariance
    >>> x = np.arange(1000.0) % 10
    >>> table = np.column_stack([x, 9.0 - x])
    >>> found = covariance(table, bounds=(0, 9), epsilon=1.0, random_state=0)
    >>> bool(found.value[0, 1] < -7.0)
    True
    """
    terms = Terms(epsilon, delta, noise, neighboring, budget, random_state)
    columns, _ = numeric_columns(x, count_is_public=terms.count_is_public)
    n = columns.shape[1]
    box = Box.of(bounds, n)
    i, j = np.triu_indices(n, 1)
    parts = [Part("x", n), Part("square", n, 0.5)]
    parts += [Part("product", i.size, farthest=2.0 * (n * n // 4))] if i.size else []
    bought = purchase(parts, terms, "statistics.covariance")
    u = box.unit(columns)
    means = bought.release({"x": u, "square": u**2 - 0.5, "product": u[:, i] * u[:, j]})
    first = means.mean("x")
    moments = np.diag(means.mean("square") + 0.5)
    if i.size:
        moments[i, j] = moments[j, i] = means.mean("product")
    value = _semidefinite(moments - np.outer(first, first)) * np.outer(box.half, box.half)
    centre = box.centre + box.half * first
    return Covariance(value, bought.privacy, centre, _means=means, _box=box)


def _semidefinite(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T
