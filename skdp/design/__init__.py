"""The data, seen by a solver: a linear operator whose rows are bounded by a public norm."""

from skdp.design.base import (
    Design,
    LossSum,
    MemoryDesign,
    SlopeSum,
    in_memory,
    prefetch,
    row_products,
    scored,
    slope_products,
)
from skdp.design.dask import DaskDesign
from skdp.design.expanded import (
    ExpandedDesign,
    ForestDesign,
    FreshDesign,
    ShiftedDesign,
    TabulatedDesign,
    design_kind,
    expanded_scores,
)
from skdp.design.memory import ClippedDesign, clip_factors
from skdp.design.transformed import Center, SharedDesign, TransformedDesign

__all__ = [
    "Center",
    "ClippedDesign",
    "DaskDesign",
    "Design",
    "ExpandedDesign",
    "ForestDesign",
    "FreshDesign",
    "LossSum",
    "MemoryDesign",
    "SharedDesign",
    "ShiftedDesign",
    "SlopeSum",
    "TabulatedDesign",
    "TransformedDesign",
    "clip_factors",
    "design_kind",
    "expanded_scores",
    "in_memory",
    "prefetch",
    "row_products",
    "scored",
    "slope_products",
]
