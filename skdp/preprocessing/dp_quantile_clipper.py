"""Clipping to quantiles that are released."""

from __future__ import annotations

from typing import Any

import numpy as np

from skdp.preprocessing._base import PrivateScaler
from skdp.statistics.quantile import Quantile, QuantileStatistic

__all__ = ["DPQuantileClipper"]


class DPQuantileClipper(PrivateScaler):
    """Clip each feature to two quantiles that are released.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, or dict
        *Public.* The dict is from names or numbers of columns to pairs. A list of tuples has a pair
        for each column; a tuple of two lists has all lows and all highs. Bounds come from knowledge
        about the columns, never from the data. There is no default that would be right: without
        bounds `fit` raises.
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend.
    delta : float or None, default None
        *Public.* Probability with which the ε bound may fail, well below 1/n. ``None`` takes the
        budget's, or 1e-5 without a budget.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbouring data sets differ in the value of one record (then n is
        public) or in its presence (then it is private).
    budget : PrivacyBudget or None, default None
        *Public.* What the fit spends from, before it reads the data.
    quantiles : pair of float, default (0.01, 0.99)
        *Public.* Two increasing probabilities in [0, 1].
    random_state : int, Generator, RandomState or None, default None
        *Secret.* ``None`` takes fresh entropy from the operating system for each fit. A seed voids
        the guarantee, for whoever knows it can subtract the noise, and is refused beside a budget:
        for tests only.

    Attributes
    ----------
    low_, high_ : ndarray of shape (n_features,)
        *Released* quantiles.
    privacy_ : PrivacyGuarantee
        *Public.* What was released and what it guarantees.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if X had string column names.

    Notes
    -----
    **Guarantee.** That of `skdp.statistics.quantile`, which charges both quantiles of a column
    jointly under ``add_remove_one``. A model behind this clipper composes with it: give both one
    budget, as `skdp.pipeline.make_private_pipeline` does.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPQuantileClipper
    >>> incomes = np.append(np.arange(9999.0), 1e9)[:, None]
    >>> clipper = DPQuantileClipper(bounds=(0, 1e5), random_state=0).fit(incomes)
    >>> bool(clipper.transform(incomes).max() < 1.1e4)
    True
    """

    def __init__(
        self,
        *,
        bounds: Any = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: Any = None,
        quantiles: Any = (0.01, 0.99),
        random_state: Any = None,
    ) -> None:
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.quantiles = quantiles
        self.random_state = random_state

    def _statistic(self, bounds: Any) -> QuantileStatistic:
        if not (np.shape(self.quantiles) == (2,) and self.quantiles[0] < self.quantiles[1]):
            raise ValueError(
                f"quantiles must be two increasing probabilities, got {self.quantiles!r}."
            )
        return QuantileStatistic(bounds, self.quantiles)

    def _keep(self, found: Quantile) -> None:
        self.low_, self.high_ = found.value

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        return np.clip(X, self.low_, self.high_, out=X)
