"""Covariances of clipped values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.budget import PrivacyBudget
from skdp.data.exact_sums import Sums
from skdp.data.records import Records
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._moments import (
    Facts,
    Interval,
    Means,
    Moments,
    MomentsStatistic,
    Part,
    largest_square,
    least_square,
    product,
)
from skdp.statistics._result import Labels
from skdp.support.types import Bounds, MatrixLike, RandomState, VectorLike
from skdp.workloads import QueryPlan

__all__ = ["Covariance", "covariance"]


@dataclass(frozen=True, eq=False, repr=False)
class Covariance(Moments):
    """A released covariance matrix, with the means.

    Parameters
    ----------
    value : ndarray of shape (n_columns, n_columns)
        *Released.*
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    mean : ndarray of shape (n_columns,)
        *Released*, together with the matrix.
    _means, _bounds : object
        *Released* and *public*: what `interval` is computed from.
    _labels : object
        *Public.* The labels in `to_frame`.
    """

    mean: np.ndarray

    def _ends(self, risk: float) -> Interval:
        """Return ends for each entry: the mean product minus the product of the means."""
        means = self._means
        least, most = (_linear if np.all(means.is_precise("x", risk)) else _safe)(means, risk)
        np.fill_diagonal(least, np.maximum(np.diag(least), 0.0))
        unit = np.outer(self._bounds.half, self._bounds.half)
        return unit * np.clip(least, -1.0, 1.0), unit * np.clip(most, -1.0, 1.0)


def _linear(means: Means, risk: float) -> Interval:
    """Return ends for small noise, in which every entry is nearly linear."""
    first, second = means.ratio("x"), means.ratio("square")
    values, widths = np.diag(second + 0.5 - first**2), np.zeros((first.size, first.size))
    alone = [("x", -2.0 * first), ("square", np.ones(first.size))]
    np.fill_diagonal(widths, means.linear_half_width(alone, second - 2.0 * first**2, risk))
    i, j = np.triu_indices(first.size, 1)
    if i.size:
        both, found = first[i] * first[j], means.ratio("product")
        values[i, j] = values[j, i] = found - both
        slopes = [("x", -first[j]), ("x", -first[i]), ("product", np.ones(i.size))]
        widths[i, j] = widths[j, i] = means.linear_half_width(slopes, found - 2.0 * both, risk)
    return values - widths, values + widths


def _safe(means: Means, risk: float) -> Interval:
    """Return ends from intervals of the three kinds of means, each with a third of the risk."""
    low, high = means.safe_ends("x", risk / 3.0)
    pairs = np.triu_indices(low.size, 1)
    least, most = (np.empty((low.size, low.size)) for _ in range(2))
    squares = means.safe_ends("square", risk / 3.0)
    np.fill_diagonal(least, squares[0] + 0.5 - largest_square(low, high))
    np.fill_diagonal(most, squares[1] + 0.5 - least_square(low, high))
    if pairs[0].size:
        i, j = pairs
        smallest, largest = product((low[i], high[i]), (low[j], high[j]))
        products = means.safe_ends("product", risk / 3.0)
        least[i, j] = least[j, i] = products[0] - largest
        most[i, j] = most[j, i] = products[1] - smallest
    return least, most


def covariance(
    x: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    bounds: Bounds,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Covariance:
    """Release the covariance matrix of the columns and their means together, privately.

    Values outside the bounds are clipped. Missing values count as the middle of the bounds;
    `describe` leaves them out.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_columns)
        *Private.* Numbers: an array, a list, or a series or frame.
    epsilon : float
        *Public.* Privacy loss of all numbers together, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n; 0 for pure privacy. ``None``:
        the budget's δ, or 1e-5.
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Never taken from the data: see :term:`bounds`.
    groups : array-like of shape (n_rows,), str or None, default None
        *Private.* The person of each row, or the public name of that column of a data frame. All
        rows of a person are one record, and each of its rows has the same weight. ``None``: each
        row is a record.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`; "auto" minimizes the variance.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None, default None
        *Public.* Budget that the release is spent from before the data are read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Returns
    -------
    Covariance
        Its `value` (``ddof=0``) is positive semidefinite: negative eigenvalues are set to 0.

    Raises
    ------
    ValueError, BudgetExceededError, BudgetClosedError
        If an argument is wrong, or the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** The release contains the sums of u, of u² − 1/2 and of the products of two
    columns, where u are the values mapped to [−1, 1]. A replaced row changes most products if half
    of its values change sign: ⌊d²/4⌋ of them by 2 each, for d columns. Under ``add_remove_one`` the
    number of rows is part of the release.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import covariance
    >>> x = np.arange(1000.0) % 10
    >>> table = np.column_stack([x, 9.0 - x])
    >>> found = covariance(table, epsilon=1.0, bounds=(0, 9), random_state=0)
    >>> bool(found.value[0, 1] < -7.0)
    True
    """
    return CovarianceStatistic(bounds, noise)._release(
        (x,), groups, epsilon, delta, neighboring, budget, random_state
    )


class CovarianceStatistic(MomentsStatistic):
    """The release of `covariance`."""

    released_as = "statistics.covariance"

    def _parts(self, n_columns: int) -> tuple[Part, ...]:
        alone = Part("x", n_columns), Part("square", n_columns, 0.5)
        n_pairs, farthest = n_columns * (n_columns - 1) // 2, 2.0 * (n_columns**2 // 4)
        return (*alone, Part("product", n_pairs, farthest=farthest)) if n_pairs else alone

    @staticmethod
    def _numbers(units: np.ndarray) -> Sums:
        i, j = np.triu_indices(units.shape[1], 1)
        return {"x": units, "square": units**2 - 0.5, "product": units[:, i] * units[:, j]}

    def _publish(
        self, plan: QueryPlan, records: Records[Facts], released: Sums, guarantee: PrivacyGuarantee
    ) -> Covariance:
        facts = records.facts
        means, bounds = self._means(plan, facts, released), facts.bounds
        first = means.mean("x")
        moments = np.diag(means.mean("square") + 0.5)
        i, j = np.triu_indices(first.size, 1)
        if i.size:
            moments[i, j] = moments[j, i] = means.mean("product")
        unit = np.outer(bounds.half, bounds.half)
        value = _semidefinite(moments - np.outer(first, first)) * unit
        center = bounds.middle + bounds.half * first
        names = facts.columns.labels
        return Covariance(
            value,
            guarantee,
            center,
            _means=means,
            _bounds=bounds,
            _labels=Labels((("column", names), ("with", names)), facts.columns.library),
        )


def _semidefinite(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T
