"""Public feature maps: transformers that learn nothing, and lazy maps for linear models.

Each feature map is a scikit-learn transformer. Given to a linear model as `features=`, it is
expanded a block of rows at a time. A row of the output depends on the same row of the input and
on public parameters only, so that it costs no privacy.
"""

from skdp.features.additive import AdditiveFeatures
from skdp.features.auto import AutoFeatures
from skdp.features.fourier import RandomFourierFeatures
from skdp.features.mixture import FeatureMixture
from skdp.features.trees import RandomTreeFeatures

__all__ = [
    "AdditiveFeatures",
    "AutoFeatures",
    "FeatureMixture",
    "RandomFourierFeatures",
    "RandomTreeFeatures",
]
