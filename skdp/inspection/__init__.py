"""Displays and model cards of released models, which read no data."""

from skdp.inspection.released import AdditiveEffectsDisplay, MarginalsDisplay, model_card

__all__ = ["AdditiveEffectsDisplay", "MarginalsDisplay", "model_card"]
