"""Scaling to a range by quantiles that are released."""

from __future__ import annotations

from typing import Any

import numpy as np

from skdp.preprocessing._base import PrivateScaler
from skdp.statistics.quantile import Quantile, QuantileStatistic
from skdp.support.validation import check_real

__all__ = ["DPMinMaxScaler"]


class DPMinMaxScaler(PrivateScaler):
    """Map each feature to [−1, 1] by a low and a high quantile that are released.

    The least and the largest value of one record cannot be released; quantiles near the ends can.
    Values beyond them are clipped.

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
    tail : float in (0, 0.5), default 0.01
        *Public.* The quantiles are `tail` and 1 − `tail`.
    random_state : int, Generator, RandomState or None, default None
        *Secret.* ``None`` takes fresh entropy from the operating system for each fit. A seed voids
        the guarantee, for whoever knows it can subtract the noise, and is refused beside a budget:
        for tests only.

    Attributes
    ----------
    data_min_, data_max_ : ndarray of shape (n_features,)
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
    jointly under ``add_remove_one``. A model behind this scaler composes with it: give both one
    budget, as `skdp.pipeline.make_private_pipeline` does.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPMinMaxScaler
    >>> ages = np.arange(9000.0)[:, None] % 90
    >>> scaler = DPMinMaxScaler(bounds=(0, 1000), random_state=0).fit(ages)
    >>> bool(scaler.data_min_[0] < 5.0), bool(85.0 < scaler.data_max_[0] < 95.0)
    (True, True)
    """

    def __init__(
        self,
        *,
        bounds: Any = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: Any = None,
        tail: float = 0.01,
        random_state: Any = None,
    ) -> None:
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.tail = tail
        self.random_state = random_state

    def _statistic(self, bounds: Any) -> QuantileStatistic:
        tail = check_real("tail", self.tail, low=0.0, high=0.5)
        return QuantileStatistic(bounds, [tail, 1.0 - tail])

    def _keep(self, found: Quantile) -> None:
        self.data_min_, self.data_max_ = found.value

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        half = 0.5 * (self.data_max_ - self.data_min_)
        X -= self.data_min_ + half
        X /= np.where(half > 0.0, half, 1.0)
        return np.clip(X, -1.0, 1.0, out=X)
