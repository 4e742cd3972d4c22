"""Counts of rows by the categories of some columns at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from skdp._columns import category_codes, checked_categories
from skdp._validation import check_count
from skdp.budget import PrivacyBudget
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._columns import as_columns
from skdp.statistics._release import Terms
from skdp.statistics._result import half_width, risk_of
from skdp.workloads import Query, QueryPlan

__all__ = ["Marginals", "marginals"]

Columns = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Marginals:
    """Released tables of counts, by the columns that they are about.

    Attributes
    ----------
    value : dict
        *Released.* A tuple of columns to an array with an axis for each, in the order of its
        categories. Counts may be negative: they are unbiased.
    privacy : PrivacyGuarantee
        What the release promises; of all tables together.
    """

    value: Mapping[Columns, np.ndarray]
    privacy: PrivacyGuarantee
    _plan: QueryPlan = field(repr=False)

    def __getitem__(self, columns: Columns) -> np.ndarray:
        return self.value[columns]

    def interval(self, level: float = 0.95) -> dict[Columns, tuple[np.ndarray, np.ndarray]]:
        """Return, for each table, where each count of the same data lies without noise.

        Parameters
        ----------
        level : float in (0, 1)
            *Public.* For each count by itself, over the noise.
        """
        risk = risk_of(level)
        widths = {key: half_width(self._plan, str(key), risk) for key in self.value}
        return {key: (t - widths[key], t + widths[key]) for key, t in self.value.items()}


def marginals(
    x: Any,
    *,
    categories: Mapping[Any, Any],
    epsilon: float,
    n_ways: int = 1,
    delta: float = 0.0,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
) -> Marginals:
    """Count the rows by the categories of each set of `n_ways` columns, all tables together.

    Parameters
    ----------
    x : frame, or array-like of shape (n_rows, n_columns)
        *Private.* A row with another value than the categories counts in no table of that column.
    categories : dict
        *Public.* The values of each column that is asked about, by its name or number.
    n_ways : int
        *Public.* How many columns a table has: 1 for one-way marginals.
    epsilon, delta, noise, neighboring, budget, random_state
        As in `count`; the guarantee is of all tables together.

    Returns
    -------
    Marginals

    Notes
    -----
    **Guarantee.** A row lies in at most one cell of each table. With k tables and Laplace noise of
    pure ε/k each, the mean error of a count is at most 2k/ε; with δ > 0 Gaussian noise makes it
    proportional to √(k·log(1/δ))/ε (Tian 2024, Proposition 1, both parts).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.statistics import marginals
    >>> people = np.array([["f", "no"], ["m", "yes"], ["f", "yes"], ["m", "no"]] * 250)
    >>> asked = {0: ["f", "m"], 1: ["no", "yes"]}
    >>> tables = marginals(people, categories=asked, n_ways=2, epsilon=1.0, random_state=0)
    >>> tables[0, 1].shape
    (2, 2)
    """
    terms = Terms(epsilon, delta, noise, neighboring, budget, random_state)
    if not isinstance(categories, Mapping):
        raise ValueError(
            "categories must be a dict, from columns to the values that each can have; got "
            f"{categories!r}."
        )
    values = {key: checked_categories(key, known) for key, known in dict(categories).items()}
    if check_count("n_ways", n_ways) > len(values):
        raise ValueError(
            f"n_ways must be at most {len(values)}, the number of columns with categories, got "
            f"{n_ways}."
        )
    columns = {key: _column(x, key) for key in values}
    keys = list(combinations(values, n_ways))
    queries = [_query(key, values, terms.n_changed) for key in keys]
    plan, privacy = terms.buy(queries, "statistics.marginals")
    codes = {key: category_codes(column, values[key]) for key, column in columns.items()}
    answers = {str(key): _table(key, codes, values) for key in keys}
    released = plan.release(answers, terms.rng)
    tables = {key: released[str(key)].reshape([len(values[j]) for j in key]) for key in keys}
    return Marginals(tables, privacy, plan)


def _column(x: Any, key: Any) -> np.ndarray:
    if hasattr(x, "columns"):
        if key not in list(x.columns):
            raise ValueError(f"x has the columns {list(x.columns)}, but categories name {key!r}.")
        return np.asarray(x[key])
    columns, _ = as_columns(x)
    if not (isinstance(key, int) and 0 <= key < columns.shape[1]):
        raise ValueError(
            f"x has {columns.shape[1]} columns by number, but categories name {key!r}."
        )
    return columns[:, key]


def _query(key: Columns, values: Mapping[Any, np.ndarray], n_changed: int) -> Query:
    size = int(np.prod([values[j].size for j in key]))
    return Query(str(key), size=size, linf_sensitivity=1.0, l0_sensitivity=n_changed, integer=True)


def _table(
    key: Columns, codes: Mapping[Any, np.ndarray], values: Mapping[Any, np.ndarray]
) -> np.ndarray:
    """Return the *private* counts, flattened."""
    shape = tuple(values[j].size for j in key)
    known = np.all([codes[j] >= 0 for j in key], axis=0)
    cells = np.ravel_multi_index(tuple(codes[j][known] for j in key), shape)
    return np.bincount(cells, minlength=int(np.prod(shape)))
