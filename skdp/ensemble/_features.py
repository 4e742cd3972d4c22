"""The features of the forests."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from skdp.features import AdditiveFeatures, FeatureMixture, RandomTreeFeatures

__all__ = ["forest_features"]

_COLUMNS = ("bounds", "categories", "transformation", "missing")


def forest_features(model: BaseEstimator) -> FeatureMixture:
    columns = {name: getattr(model, name) for name in _COLUMNS}
    random = RandomTreeFeatures(
        n_trees=model.n_trees,
        depth=model.depth,
        feature_seed=model.feature_seed,
        **columns,
    )
    return FeatureMixture(
        additive=AdditiveFeatures(n_terms=model.n_terms, **columns),
        random=random,
        additive_share=model.additive_share,
    )
