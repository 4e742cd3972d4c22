"""A private density of a table, from which samples, tables and predictions cost nothing more."""

from skdp.density._base import combine_estimates
from skdp.density.trees import DPTreeDensity, DPTreeNB

__all__ = [
    "DPTreeDensity",
    "DPTreeNB",
    "combine_estimates",
]
