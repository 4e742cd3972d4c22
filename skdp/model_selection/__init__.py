"""Choosing hyper-parameters of private estimators, the choice included in what is paid for."""

from skdp.model_selection.grid_search import DPGridSearchCV
from skdp.model_selection.randomized_search import DPRandomizedSearchCV

__all__ = ["DPGridSearchCV", "DPRandomizedSearchCV"]
