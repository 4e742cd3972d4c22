"""Private clusters."""

from skdp.cluster.dp_kmeans import DPKMeans

__all__ = ["DPKMeans"]
