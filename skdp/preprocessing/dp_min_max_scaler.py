"""Scaling to a range by private quantiles."""

from __future__ import annotations

import numpy as np

from skdp.budget import PrivacyBudget
from skdp.preprocessing._base import PrivateScaler
from skdp.statistics.quantile import Quantile, QuantileStatistic
from skdp.support.types import Bounds, RandomState
from skdp.support.validation import check_real

__all__ = ["DPMinMaxScaler"]


class DPMinMaxScaler(PrivateScaler):
    """Map each feature to [−1, 1] by a low and a high private quantile.

    The quantiles replace the minimum and the maximum, which would reveal single records. Values
    beyond them are clipped.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n. ``None``: the budget's δ, or
        1e-5.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None, default None
        *Public.* Budget that `fit` spends from before it reads the data.
    tail : float in (0, 0.5), default 0.01
        *Public.* The quantiles are `tail` and 1 − `tail`.
    random_state : int, Generator, RandomState or None, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    data_min_, data_max_ : ndarray of shape (n_features,)
        *Released* quantiles.
    privacy_ : PrivacyGuarantee
        *Public.* The release and its guarantee.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** That of `skdp.statistics.quantile`, which charges both quantiles of a column
    jointly under ``add_remove_one``. A model behind this scaler spends too: give both one budget,
    as `skdp.pipeline.make_private_pipeline` does.

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
        bounds: Bounds | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: PrivacyBudget | None = None,
        tail: float = 0.01,
        random_state: RandomState = None,
    ) -> None:
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.tail = tail
        self.random_state = random_state

    def _statistic(self) -> QuantileStatistic:
        tail = check_real("tail", self.tail, low=0.0, high=0.5)
        return QuantileStatistic(self.bounds, [tail, 1.0 - tail])

    def _keep(self, found: Quantile) -> None:
        self.data_min_, self.data_max_ = found.value

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        half = 0.5 * (self.data_max_ - self.data_min_)
        X -= self.data_min_ + half
        X /= np.where(half > 0.0, half, 1.0)
        return np.clip(X, -1.0, 1.0, out=X)
