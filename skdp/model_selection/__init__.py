"""Private hyper-parameter search under one guarantee, and a public split of persons."""

from skdp.model_selection.hash_split import HashSplit
from skdp.model_selection.searches import DPGridSearchCV, DPRandomizedSearchCV

__all__ = ["DPGridSearchCV", "DPRandomizedSearchCV", "HashSplit"]
