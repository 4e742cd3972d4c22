"""Transformers that learn nothing, learn from public rows, or spend on what they learn."""

from skdp.preprocessing.bounds_scaler import BoundsScaler
from skdp.preprocessing.dp_min_max_scaler import DPMinMaxScaler
from skdp.preprocessing.dp_quantile_clipper import DPQuantileClipper
from skdp.preprocessing.dp_standard_scaler import DPStandardScaler
from skdp.preprocessing.public_directions import PublicDirections
from skdp.preprocessing.row_clipper import RowClipper

__all__ = [
    "BoundsScaler",
    "DPMinMaxScaler",
    "DPQuantileClipper",
    "DPStandardScaler",
    "PublicDirections",
    "RowClipper",
]
