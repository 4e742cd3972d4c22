"""Pipelines whose private steps share one budget, and a check for privacy leaks."""

from skdp.pipeline.check_pipeline import Leak, Leaks, check_pipeline
from skdp.pipeline.private_pipeline import PrivatePipeline, make_private_pipeline

__all__ = ["Leak", "Leaks", "PrivatePipeline", "check_pipeline", "make_private_pipeline"]
