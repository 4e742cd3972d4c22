"""Displays and model cards of released models, which read no data."""

from skdp.inspection.released import AdditiveEffectsDisplay, model_card

__all__ = ["AdditiveEffectsDisplay", "model_card"]
