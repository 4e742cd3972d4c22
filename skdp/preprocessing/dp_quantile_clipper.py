"""Clipping to private quantiles."""

from __future__ import annotations

import numpy as np

from skdp.budget import PrivacyBudget
from skdp.preprocessing._base import PrivateScaler
from skdp.statistics.quantile import Quantile, QuantileStatistic
from skdp.support.types import Bounds, RandomState

__all__ = ["DPQuantileClipper"]


class DPQuantileClipper(PrivateScaler):
    """Clip each feature to two private quantiles.

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
    quantiles : pair of float, default (0.01, 0.99)
        *Public.* Two increasing probabilities in [0, 1].
    random_state : int, Generator, RandomState or None, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    low_, high_ : ndarray of shape (n_features,)
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
    jointly under ``add_remove_one``. A model behind this clipper spends too: give both one budget,
    as `skdp.pipeline.make_private_pipeline` does.

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
        bounds: Bounds | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: PrivacyBudget | None = None,
        quantiles: tuple[float, float] = (0.01, 0.99),
        random_state: RandomState = None,
    ) -> None:
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.quantiles = quantiles
        self.random_state = random_state

    def _statistic(self) -> QuantileStatistic:
        if not (np.shape(self.quantiles) == (2,) and self.quantiles[0] < self.quantiles[1]):
            raise ValueError(
                f"quantiles must be two increasing probabilities, got {self.quantiles!r}."
            )
        return QuantileStatistic(self.bounds, self.quantiles)

    def _keep(self, found: Quantile) -> None:
        self.low_, self.high_ = found.value

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        return np.clip(X, self.low_, self.high_, out=X)
