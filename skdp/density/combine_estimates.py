"""Combining rules: one estimate and its interval from several synthetic tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from skdp.support.validation import check_real

__all__ = ["CombinedEstimate", "combine_estimates"]

Numbers = float | np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class CombinedEstimate:
    """An estimate from several synthetic tables.

    Parameters
    ----------
    value : float or ndarray
        *Released.* The mean of the estimates.
    standard_error : float or ndarray
        *Released.* It covers the noise, the choice of the records and that of the synthetic rows.
    degrees_of_freedom : float or ndarray
        *Released.* Those of a t distribution.
    """

    value: Numbers
    standard_error: Numbers
    degrees_of_freedom: Numbers

    def interval(self, level: float = 0.95) -> tuple[Numbers, Numbers]:
        """Return a confidence interval for the population that the records come from.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* Probability that the interval covers, over records, noise and synthetic rows.
            `combine_estimates` says when it holds.

        Returns
        -------
        low, high : float or ndarray
            *Released.* They have the shape of `value`.
        """
        level = check_real("level", level, low=0.0, high=1.0)
        width = stdtrit(self.degrees_of_freedom, 0.5 + 0.5 * level) * self.standard_error
        return self.value - width, self.value + width

    def __repr__(self) -> str:
        low, high = self.interval()
        if np.ndim(self.value):
            return f"{self.value}\n95 % intervals from {low}\nto {high}"
        return f"{self.value:.6g}, 95 % interval [{low:.6g}, {high:.6g}]"


def combine_estimates(estimates: ArrayLike, variances: ArrayLike) -> CombinedEstimate:
    r"""Combine the estimates of several synthetic tables into one with a confidence interval.

    The tables must come from `sample_several`, and have at least as many rows as the private data
    have records. Estimate the same number from each table, with the variance that you would
    report if the table were real. The rule then covers the noise and the choice of the records.

    **It covers no error of the model.** Intervals are good for shares of categories, and for
    differences between categories of the target or of a pair in `edges_`. Intervals for means of
    numbers may be too short, because noise in empty bins and wide bins move the means. Slopes
    between two numbers are too small, and intervals for them wrong. So are all intervals for pairs
    of columns that are not in `edges_`. *Measured coverage* in the user guide has figures.

    Parameters
    ----------
    estimates : array-like of shape (n_tables,) or (n_tables, n_estimates)
        *Released.* The estimates from each table.
    variances : array-like of the same shape
        *Released.* Their squared standard errors.

    Returns
    -------
    CombinedEstimate
        The estimate with its standard error and interval.

    Raises
    ------
    ValueError
        If the shapes differ, there are fewer than two tables, or a number is not finite or a
        variance negative.

    Notes
    -----
    With the mean :math:`\bar q` and the variance :math:`b` of m estimates, and the mean
    :math:`\bar v` of the variances, the squared standard error is :math:`T=(1+1/m)b-\bar v`, the
    rule for fully synthetic data. It is at least :math:`\bar v`: an estimate from no more records
    than rows has no smaller variance. The degrees of freedom are :math:`(m-1)(T/((1+1/m)b))^2`.
    The rule covers the noise because each table of `sample_several` has noise of its own.

    References
    ----------
    T. Raghunathan, J. Reiter and D. Rubin, *Multiple imputation for statistical disclosure
    limitation*, Journal of Official Statistics 19(1), 2003.

    O. Räisä, J. Jälkö, S. Kaski and A. Honkela, *Noise-aware statistical inference with
    differentially private synthetic data*, AISTATS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.density import DPTreeDensity, combine_estimates
    >>> X = np.random.default_rng(0).normal(2.0, 1.0, size=(5000, 2))
    >>> density = DPTreeDensity(bounds=(-4, 8), missing="error", random_state=0).fit(X)
    >>> tables = density.sample_several(5000, n_tables=50, random_state=0)
    >>> means = [table[:, 0].mean() for table in tables]
    >>> mean = combine_estimates(means, [table[:, 0].var() / 5000 for table in tables])
    >>> low, high = mean.interval()
    >>> bool(low < 2.0 < high)
    True
    """
    q, v = np.asarray(estimates, dtype=float), np.asarray(variances, dtype=float)
    if q.shape != v.shape or q.ndim == 0 or len(q) < 2:
        raise ValueError(
            "estimates and variances must have the same shape, with a row for each of at least two "
            f"tables, got {q.shape} and {v.shape}."
        )
    if not (np.isfinite(q).all() and np.isfinite(v).all() and (v >= 0.0).all()):
        raise ValueError("estimates must be finite, and variances finite and not negative.")
    m, within = len(q), v.mean(axis=0)
    between = (1.0 + 1.0 / m) * q.var(axis=0, ddof=1)
    total = np.maximum(between - within, within)
    share = np.divide(total, between, out=np.full_like(total, np.inf), where=between > 0.0)
    return CombinedEstimate(*map(_plain, (q.mean(axis=0), np.sqrt(total), (m - 1) * share**2)))


def _plain(values: np.ndarray) -> Numbers:
    return values if np.ndim(values) else float(values)
