"""Transformers that learn nothing, and so leave a pipeline as private as its last step."""

from skdp.preprocessing.bounds_scaler import BoundsScaler
from skdp.preprocessing.row_clipper import RowClipper

__all__ = ["BoundsScaler", "RowClipper"]
