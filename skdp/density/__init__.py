"""A private density of a table, from which samples, tables and predictions cost nothing more."""

from skdp.density.combine_estimates import CombinedEstimate, combine_estimates
from skdp.density.one_way import OneWayTable
from skdp.density.tree_density import DPTreeDensity
from skdp.density.tree_nb import DPTreeNB

__all__ = [
    "CombinedEstimate",
    "DPTreeDensity",
    "DPTreeNB",
    "OneWayTable",
    "combine_estimates",
]
