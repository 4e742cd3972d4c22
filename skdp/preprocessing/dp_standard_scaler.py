"""Scaling by private means and standard deviations."""

from __future__ import annotations

import numpy as np

from skdp.budget import PrivacyBudget
from skdp.preprocessing._base import PrivateScaler
from skdp.statistics.variance import Variance, VarianceStatistic, spread
from skdp.support.types import Bounds, RandomState

__all__ = ["DPStandardScaler"]

_RISK = 0.617  # Gaussian noise exceeds half its deviation so often; no guarantee rests on it


class DPStandardScaler(PrivateScaler):
    """Shift and scale each feature to mean 0 and variance 1, by private means and variances.

    Let h be half the width of a column's bounds. The variance is lost in the noise if the standard
    deviation is below about √(5√d/(εn))·h, for d columns, n records and δ = 1e-5. Then `scale_` is
    closer to that number, and the scaled column is small instead of dominating the others. If all
    standard deviations are at least h/3, use `BoundsScaler`: models after it are as accurate, and
    it spends nothing.

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
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`; "auto" minimizes the variance.
    random_state : int, Generator, RandomState or None, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    mean_, var_, scale_ : ndarray of shape (n_features,)
        *Released.* `scale_` is the root of `var_`, but at least the root of the size that the noise
        in `var_` exceeds with probability 0.62.
    privacy_ : PrivacyGuarantee
        *Public.* The release and its guarantee.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** That of `skdp.statistics.variance`. A model behind this scaler spends too: give
    both one budget, as `skdp.pipeline.make_private_pipeline` does.

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
        *,
        bounds: Bounds | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: PrivacyBudget | None = None,
        noise: str = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.noise = noise
        self.random_state = random_state

    def _statistic(self) -> VarianceStatistic:
        return VarianceStatistic(self.bounds, self.noise)

    def _keep(self, found: Variance) -> None:
        means, bounds = found._means, found._bounds
        self.mean_ = bounds.middle + bounds.half * means.mean("x")
        self.var_ = bounds.half**2 * spread(means)
        self.scale_ = np.sqrt(np.maximum(self.var_, found._half_width(_RISK)))

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        X -= self.mean_
        X /= self.scale_
        return X
