"""How the scores of a released fit spread over public rows, as a guess of how data spread them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from skdp.design.memory import clip_factors
from skdp.features.base import FeatureMap
from skdp.linear_model._records import AnyMap

__all__ = ["PublicSpread"]

_ROWS = 400  # the error of a variance is then 7 %, half of what the model of a run is off by
_FEWEST_DIRECTIONS = 2.0


class PublicSpread(NamedTuple):
    """The spread of features and scores over rows drawn evenly from the bounds of a table.

    With the covariance Λ of their features, `rank` is (tr Λ)²/tr Λ²: about as many directions have
    most of the variance. `square` is rank·θᵀΛθ/tr Λ, which is |θ|² if these directions are equal
    and the only ones. `mean_share` is the share of the mean in the squared norm of features.
    """

    rank: float
    square: float
    mean_share: float

    @classmethod
    def of(cls, feature_map: AnyMap, coef: np.ndarray, data_norm: float) -> PublicSpread | None:
        """Return the spread for *released* coefficients, None if a map has no bounds."""
        if not isinstance(feature_map, FeatureMap):
            return None
        rows = feature_map.facts.even_rows(_ROWS, np.random.default_rng(0))  # public, as the seed
        features = feature_map.whole(feature_map.prepare(rows))
        factors = clip_factors(features, data_norm)
        products = features @ features.T
        products = products.toarray() if sparse.issparse(products) else products
        products = factors[:, None] * np.asarray(products, float) * factors
        return cls._of_products(products, factors * np.asarray(features @ coef), coef.size)

    @classmethod
    def _of_products(cls, products: np.ndarray, scores: np.ndarray, most: int) -> PublicSpread:
        """Return the spread for products of rows, whose square has the mean tr Λ² for two rows."""
        n, square = len(products), float(products.trace()) / len(products)
        means = products.mean(axis=0)
        centered = products - means - means[:, None] + means.mean()
        trace = float(centered.trace()) / (n - 1)
        if trace <= 0.0:
            return cls(_FEWEST_DIRECTIONS, 0.0, 0.0)
        others = float((centered**2).sum() - (centered.diagonal() ** 2).sum())
        rank = trace**2 * n * (n - 1) / max(others, np.finfo(float).tiny)
        rank = min(max(rank, _FEWEST_DIRECTIONS), most)
        return cls(rank, rank * float(scores.var()) / trace, max(0.0, 1.0 - trace / square))
