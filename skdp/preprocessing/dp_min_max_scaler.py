"""Scaling to a range by quantiles that are bought."""

from __future__ import annotations

from typing import Any

import numpy as np

from skdp._validation import check_real
from skdp.preprocessing._base import PrivateScaler
from skdp.statistics import quantile

__all__ = ["DPMinMaxScaler"]


class DPMinMaxScaler(PrivateScaler):
    """Map each feature to [−1, 1] by a low and a high quantile that are released.

    The least and the largest value of one person cannot be released; quantiles near the ends can.
    Values beyond them are clipped.

    Parameters
    ----------
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend.
    delta : float, default 1e-5
        *Public.* Probability, in [0, 1), with which the ε bound may fail; 0 for pure privacy.
    bounds : pair (low, high), or one pair per feature, default (-1, 1)
        *Public.* As in `BoundsScaler`, outer ones: they may be wide, at the price of more noise.
    tail : float in (0, 0.5), default 0.01
        *Public.* The quantiles are `tail` and 1 − `tail`.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbouring data sets differ in the value of one row (then n is public)
        or in its presence (then it is private).
    budget : PrivacyBudget or None
        What pays for the fit, before the fit reads the data.
    random_state : int, Generator, RandomState or None
        *Secret.* For tests only: whoever knows the seed can subtract the noise.

    Attributes
    ----------
    data_min_, data_max_ : ndarray of shape (n_features,)
        *Released* quantiles.
    privacy_ : PrivacyGuarantee
        *Public.* What was paid for and what it guarantees.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if X had string column names.

    Notes
    -----
    **Guarantee.** That of `skdp.statistics.quantile`. A model behind this scaler composes with it:
    give both one budget, as `skdp.pipeline.make_private_pipeline` does.

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
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        bounds: Any = (-1.0, 1.0),
        tail: float = 0.01,
        neighboring: str = "replace_one",
        budget: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.tail = tail
        self.neighboring = neighboring
        self.budget = budget
        self.random_state = random_state

    def _learn(self, X: np.ndarray) -> None:
        tail = check_real("tail", self.tail, low=0.0, high=0.5)
        found = quantile(X, [tail, 1.0 - tail], **self._terms)
        (self.data_min_, self.data_max_), self.privacy_ = found.value, found.privacy

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        half = 0.5 * (self.data_max_ - self.data_min_)
        X -= self.data_min_ + half
        X /= np.where(half > 0.0, half, 1.0)
        return np.clip(X, -1.0, 1.0, out=X)
