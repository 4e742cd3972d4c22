"""Copies of steps that spend in a dry run."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone

from skdp._private_fit import PrivateFit
from skdp.budget import BudgetHandle
from skdp.budget.dry_run import StandIns
from skdp.budget.unbudgeted import Unbudgeted

__all__ = ["rehearsing"]

_ROWS = 1000  # synthetic ones, and
_EPSILON = 1e3  # nats for a fit to them: what it learns is nearly what they hold
_FAR = 1e100  # the largest bounds that are accepted, to which values are clipped
_FRAMES = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table"))


def rehearsing(step: Any, budgets: StandIns) -> Any:
    """Return a copy of a step, which ends before it reads if it spends."""
    if not hasattr(step, "get_params"):
        return step
    copy = clone(step)
    if not isinstance(step, PrivateFit):
        return copy
    if step.budget is None:  # a seed, which is allowed then, changes nothing that is planned
        copy.set_params(budget=Unbudgeted(), random_state=None)
    elif isinstance(step.budget, BudgetHandle):  # of anything else the fit says what is wrong
        copy.set_params(budget=budgets.stand_in(step.budget))
    return _Rehearsed(copy) if hasattr(copy, "transform") else copy


class _Rehearsed(TransformerMixin, BaseEstimator):
    """A transformer whose fit ends before it reads: it transforms by a fit to synthetic rows.

    Those lie at both ends of the public bounds, so that what is learned from them is as wide as
    anything that may be released.
    """

    def __init__(self, step: Any) -> None:
        self.step = step

    def fit(self, X: Any, y: Any = None, **params: Any) -> _Rehearsed:
        self.step.fit(X, y, **params)
        return self

    def transform(self, X: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.step.set_params(budget=None, epsilon=_EPSILON).fit(_synthetic(self.step))
        return self.step.transform(X)

    def get_metadata_routing(self) -> Any:
        return self.step.get_metadata_routing()


def _synthetic(step: Any) -> Any:
    """Return rows with the columns of those that were checked."""
    rows = np.full((_ROWS, step.n_features_in_), _FAR)
    rows[::2] *= -1.0
    names = getattr(step, "feature_names_in_", None)
    if names is None:
        return rows
    library, make = next(frame for frame in _FRAMES if frame[0] in sys.modules)
    return getattr(sys.modules[library], make)(dict(zip(names, rows.T, strict=True)))
