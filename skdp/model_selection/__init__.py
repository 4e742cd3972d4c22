"""Private hyper-parameter search under one guarantee, and a public split of persons."""

from skdp.model_selection.searches import DPGridSearchCV, DPRandomizedSearchCV, HashSplit

__all__ = ["DPGridSearchCV", "DPRandomizedSearchCV", "HashSplit"]
