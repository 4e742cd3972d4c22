"""A private density of a table, from which samples, tables and predictions cost nothing more."""

from skdp.density.tree_density import DPTreeDensity
from skdp.density.tree_nb import DPTreeNB

__all__ = ["DPTreeDensity", "DPTreeNB"]
