"""Private hyper-parameter search under one guarantee, and a public split of persons."""

from skdp.model_selection.grid_search import DPGridSearchCV
from skdp.model_selection.hash_split import HashSplit
from skdp.model_selection.randomized_search import DPRandomizedSearchCV

__all__ = ["DPGridSearchCV", "DPRandomizedSearchCV", "HashSplit"]
