"""Transformers that learn nothing, learn from public rows, or spend on what they learn."""

from skdp.preprocessing.private_scalers import DPMinMaxScaler, DPQuantileClipper, DPStandardScaler
from skdp.preprocessing.public_scalers import BoundsScaler, PublicDirections, RowClipper

__all__ = [
    "BoundsScaler",
    "DPMinMaxScaler",
    "DPQuantileClipper",
    "DPStandardScaler",
    "PublicDirections",
    "RowClipper",
]
