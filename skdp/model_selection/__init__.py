"""Private hyper-parameter search: one guarantee covers all fits and the choice."""

from skdp.model_selection.grid_search import DPGridSearchCV
from skdp.model_selection.randomized_search import DPRandomizedSearchCV

__all__ = ["DPGridSearchCV", "DPRandomizedSearchCV"]
