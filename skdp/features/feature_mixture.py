"""Additive features and random ones side by side, in public shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skdp.features.additive_features import AdditiveFeatures
from skdp.features.base import FeatureMap
from skdp.features.mixture import MixtureMap
from skdp.features.public_features import PublicFeatures
from skdp.features.random_fourier_features import RandomFourierFeatures
from skdp.features.random_tree_features import RandomTreeFeatures
from skdp.support.validation import check_real

__all__ = ["FeatureMixture"]

_RANDOM = (RandomFourierFeatures, RandomTreeFeatures)


class FeatureMixture(PublicFeatures):
    r"""Put additive features and random features of the same columns side by side.

    A row becomes [√s·a/max(1, \|a\|), √(1 − s)·b], with a its additive features, b its random
    features and s = `additive_share`. It has norm 1 at most. The additive features learn the effect
    of each column, and the random features learn interactions of columns. The `DPKernel...` and
    `DPRandomForest...` models use this mixture. `fit` learns nothing.

    Parameters
    ----------
    additive : AdditiveFeatures
        *Public.* The additive features.
    random : RandomFourierFeatures or RandomTreeFeatures
        *Public.* The random features; `categories` and `missing` must be those of `additive`.
    additive_share : float in [0, 1], default 0.5
        *Public.* s, the share of the additive features in a row's squared norm. With 0 there are
        only random features, with 1 only additive ones, which are not shortened.

    Attributes
    ----------
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** A row of the output depends on the same row of the input and on public numbers,
    so neighboring inputs give neighboring outputs; *Feature maps* in the documentation has the
    proof of the norms.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPHuberRegressor
    >>> from skdp.features import AdditiveFeatures, FeatureMixture, RandomTreeFeatures
    >>> columns = {"bounds": (-1, 1)}
    >>> features = FeatureMixture(
    ...     additive=AdditiveFeatures(**columns), random=RandomTreeFeatures(n_trees=50, **columns)
    ... )
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(5000, 2))
    >>> y = X[:, 0] * X[:, 1]
    >>> model = DPHuberRegressor(
    ...     epsilon=3.0, features=features, target_bounds=(-1, 1), random_state=0
    ... )
    >>> model.fit(X, y).score(X, y) > 0.5
    True
    """

    def __init__(self, *, additive: Any, random: Any, additive_share: float = 0.5) -> None:
        self.additive = additive
        self.random = random
        self.additive_share = additive_share

    def feature_map(self, n_columns: int, names: Sequence[Any] = ()) -> FeatureMap:
        share = check_real("additive_share", self.additive_share, low=0.0, high=1.0, closed="[]")
        self._check_parts()
        alone = self.additive.feature_map(n_columns, names)
        other = self.random.feature_map(n_columns, names)
        if share in (0.0, 1.0):
            return alone if share else other
        if not alone.facts.codes_as(other.facts):
            raise ValueError("additive and random must have the same categories and missing.")
        return MixtureMap(additive=alone, other=other, additive_share=share)

    def _check_parts(self) -> None:
        if not isinstance(self.additive, AdditiveFeatures):
            raise ValueError(f"additive must be an AdditiveFeatures, got {self.additive!r}.")
        if not isinstance(self.random, _RANDOM):
            raise ValueError(
                "random must be a RandomFourierFeatures or a RandomTreeFeatures, got "
                f"{self.random!r}."
            )

    def _takes_missing(self) -> bool:
        return bool(getattr(self.random, "missing", None) == "indicator")
