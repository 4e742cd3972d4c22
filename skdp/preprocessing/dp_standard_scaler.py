"""Scaling by means and deviations that are bought."""

from __future__ import annotations

from typing import Any

import numpy as np

from skdp._columns import column_bounds
from skdp.preprocessing._base import PrivateScaler
from skdp.statistics import variance

__all__ = ["DPStandardScaler"]

_LEAST = 1e-3  # deviation, in units of half the distance of the bounds


class DPStandardScaler(PrivateScaler):
    """Shift and scale each feature to mean 0 and variance 1, by released means and variances.

    Parameters
    ----------
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend.
    delta : float, default 1e-5
        *Public.* Probability, in [0, 1), with which the ε bound may fail; 0 for pure privacy.
    bounds : pair (low, high), or one pair per feature, default (-1, 1)
        *Public.* As in `BoundsScaler`, outer ones: they may be wide, at the price of more noise.
    noise : str
        *Public.* A name of `skdp.workloads.NOISES`, or ``"auto"`` for the least.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbouring data sets differ in the value of one row (then n is public)
        or in its presence (then it is private).
    budget : PrivacyBudget or None
        What pays for the fit, before the fit reads the data.
    random_state : int, Generator, RandomState or None
        *Secret.* For tests only: whoever knows the seed can subtract the noise.

    Attributes
    ----------
    mean_, var_, scale_ : ndarray of shape (n_features,)
        *Released*, or computed from it; `scale_` is the deviation, and at least a thousandth of
        half the distance of the bounds.
    privacy_ : PrivacyGuarantee
        *Public.* What was paid for and what it guarantees.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if X had string column names.

    Notes
    -----
    **Guarantee.** That of `skdp.statistics.variance`. A model behind this scaler composes with it:
    give both one budget, as `skdp.pipeline.make_private_pipeline` does.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPStandardScaler
    >>> heights = np.random.default_rng(0).normal(170.0, 10.0, size=(5000, 1))
    >>> scaler = DPStandardScaler(bounds=(0, 250), random_state=0).fit(heights)
    >>> bool(abs(scaler.mean_[0] - 170.0) < 1.0), bool(abs(scaler.scale_[0] - 10.0) < 2.0)
    (True, True)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        bounds: Any = (-1.0, 1.0),
        noise: str = "auto",
        neighboring: str = "replace_one",
        budget: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.noise = noise
        self.neighboring = neighboring
        self.budget = budget
        self.random_state = random_state

    def _learn(self, X: np.ndarray) -> None:
        found = variance(X, noise=self.noise, **self._terms)
        low, high = column_bounds(self.bounds, X.shape[1])
        self.mean_, self.var_, self.privacy_ = found.mean, found.value, found.privacy
        self.scale_ = np.maximum(np.sqrt(found.value), _LEAST * 0.5 * (high - low))

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        X -= self.mean_
        X /= self.scale_
        return X
