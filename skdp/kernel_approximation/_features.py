"""The features of the kernel models."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from skdp.features import AdditiveFeatures, FeatureMixture, RandomFourierFeatures

_COLUMNS = ("bounds", "categories", "transformation", "missing")


def kernel_features(model: BaseEstimator) -> FeatureMixture:
    columns = {name: getattr(model, name) for name in _COLUMNS}
    random = RandomFourierFeatures(
        n_components=model.n_components,
        scale=model.scale,
        feature_seed=model.feature_seed,
        **columns,
    )
    return FeatureMixture(
        additive=AdditiveFeatures(n_terms=model.n_terms, **columns),
        random=random,
        additive_share=model.additive_share,
    )
