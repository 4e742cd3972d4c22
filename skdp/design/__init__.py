"""The data, seen by a solver: a linear operator whose rows are bounded by a public norm."""

from skdp.design.clipped import ClippedDesign, clip_factors

__all__ = ["ClippedDesign", "clip_factors"]
