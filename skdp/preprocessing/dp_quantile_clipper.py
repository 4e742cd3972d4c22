"""Clipping to quantiles that are bought."""

from __future__ import annotations

from typing import Any

import numpy as np

from skdp.preprocessing._base import PrivateScaler
from skdp.statistics import quantile

__all__ = ["DPQuantileClipper"]


class DPQuantileClipper(PrivateScaler):
    """Clip each feature to two quantiles that are released.

    Parameters
    ----------
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend.
    delta : float, default 1e-5
        *Public.* Probability, in [0, 1), with which the ε bound may fail; 0 for pure privacy.
    bounds : pair (low, high), or one pair per feature, default (-1, 1)
        *Public.* As in `BoundsScaler`, outer ones: they may be wide, at the price of more noise.
    quantiles : pair of float, default (0.01, 0.99)
        *Public.* Two increasing probabilities in [0, 1].
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbouring data sets differ in the value of one row (then n is public)
        or in its presence (then it is private).
    budget : PrivacyBudget or None
        What pays for the fit, before the fit reads the data.
    random_state : int, Generator, RandomState or None
        *Secret.* For tests only: whoever knows the seed can subtract the noise.

    Attributes
    ----------
    low_, high_ : ndarray of shape (n_features,)
        *Released* quantiles.
    privacy_ : PrivacyGuarantee
        *Public.* What was paid for and what it guarantees.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if X had string column names.

    Notes
    -----
    **Guarantee.** That of `skdp.statistics.quantile`. A model behind this clipper composes with it:
    give both one budget, as `skdp.pipeline.make_private_pipeline` does.

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
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        bounds: Any = (-1.0, 1.0),
        quantiles: Any = (0.01, 0.99),
        neighboring: str = "replace_one",
        budget: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.quantiles = quantiles
        self.neighboring = neighboring
        self.budget = budget
        self.random_state = random_state

    def _learn(self, X: np.ndarray) -> None:
        if not (np.shape(self.quantiles) == (2,) and self.quantiles[0] < self.quantiles[1]):
            raise ValueError(
                f"quantiles must be two increasing probabilities, got {self.quantiles!r}."
            )
        found = quantile(X, self.quantiles, **self._terms)
        (self.low_, self.high_), self.privacy_ = found.value, found.privacy

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        return np.clip(X, self.low_, self.high_, out=X)
