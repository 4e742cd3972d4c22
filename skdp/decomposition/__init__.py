"""Private principal components."""

from skdp.decomposition.dp_pca import DPPCA

__all__ = ["DPPCA"]
