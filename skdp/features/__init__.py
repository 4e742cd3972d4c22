"""Public feature maps: transformers that learn nothing, and lazy maps for linear models.

Each feature map is a scikit-learn transformer. Given to a linear model as `features=`, it is
expanded a block of rows at a time. A row of the output depends on the same row of the input and
on public parameters only, so that it costs no privacy.
"""

from skdp.features.additive import AdditiveFeatures
from skdp.features.combined import AutoFeatures, FeatureMixture
from skdp.features.random_maps import RandomFourierFeatures, RandomTreeFeatures

__all__ = [
    "AdditiveFeatures",
    "AutoFeatures",
    "FeatureMixture",
    "RandomFourierFeatures",
    "RandomTreeFeatures",
]
