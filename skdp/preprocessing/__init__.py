"""Transformers that learn nothing, or spend a budget on what they learn."""

from skdp.preprocessing.additive_features import AdditiveFeatures
from skdp.preprocessing.bounds_scaler import BoundsScaler
from skdp.preprocessing.dp_min_max_scaler import DPMinMaxScaler
from skdp.preprocessing.dp_quantile_clipper import DPQuantileClipper
from skdp.preprocessing.dp_standard_scaler import DPStandardScaler
from skdp.preprocessing.random_fourier_features import RandomFourierFeatures
from skdp.preprocessing.random_tree_features import RandomTreeFeatures
from skdp.preprocessing.row_clipper import RowClipper

__all__ = [
    "AdditiveFeatures",
    "BoundsScaler",
    "DPMinMaxScaler",
    "DPQuantileClipper",
    "DPStandardScaler",
    "RandomFourierFeatures",
    "RandomTreeFeatures",
    "RowClipper",
]
