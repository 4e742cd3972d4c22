"""Pipelines whose private steps share one budget, and a check for privacy leaks."""

from skdp.pipeline.check_pipeline import Leaks, check_pipeline
from skdp.pipeline.private_pipeline import PrivatePipeline, make_private_pipeline
from skdp.support.other_libraries import allow_replaced_fit

__all__ = [
    "Leaks",
    "PrivatePipeline",
    "allow_replaced_fit",
    "check_pipeline",
    "make_private_pipeline",
]
