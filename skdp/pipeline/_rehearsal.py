"""Copies of steps that spend in a dry run."""

from __future__ import annotations

import sys
import warnings
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.metadata_routing import MetadataRequest, MetadataRouter

from skdp._private_fit import PrivateFit
from skdp.budget import BudgetHandle
from skdp.budget.dry_run import StandIns
from skdp.budget.unbudgeted import Unbudgeted
from skdp.data.validation import encoding_for
from skdp.pipeline._wrappers import leaves
from skdp.support.types import MatrixLike, VectorLike

_ROWS = 1000  # synthetic rows
_EPSILON = 1e3  # nats for a fit to them, so that its noise is negligible
_FAR = 1e100  # the largest accepted bounds; fits clip synthetic values to their own
_FRAMES = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table"))


def rehearsing(step: BaseEstimator, budgets: StandIns, free: Unbudgeted) -> BaseEstimator:
    """Return a copy of a step that ends before it reads; without a budget it spends from `free`."""
    if not hasattr(step, "get_params"):
        return step
    copy = clone(step)
    if not isinstance(step, PrivateFit):
        private = [path for path, leaf in leaves(step) if isinstance(leaf, PrivateFit)]
        places = step.get_params()
        given = {path: rehearsing(places[path], budgets, free) for path in private if path}
        sequential = {"n_jobs": None} if given and "n_jobs" in places else {}
        return copy.set_params(**given, **sequential)
    vars(copy).pop("_skl_callbacks", None)  # a fit to synthetic rows is no news
    if step.budget is None:  # a seed is allowed then, but does not change the plan
        copy.set_params(budget=free, random_state=None)
    elif isinstance(step.budget, BudgetHandle):  # for other values the fit raises the error
        copy.set_params(budget=budgets.stand_in(step.budget))
    return _Rehearsed(copy) if hasattr(copy, "transform") else copy


class _Rehearsed(TransformerMixin, BaseEstimator):
    """A transformer whose fit is a dry run; it transforms by a fit to synthetic rows.

    The synthetic rows lie at both ends of the public bounds, so the fit to them is as wide as any
    possible release.
    """

    def __init__(self, step: BaseEstimator) -> None:
        self.step = step

    def fit(self, X: MatrixLike, y: VectorLike = None, **params: object) -> Self:
        self.step.fit(X, y, **params)
        self._has_groups = params.get("groups") is not None
        return self

    def transform(self, X: MatrixLike) -> MatrixLike:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            person = {"groups": np.arange(_ROWS)} if self._has_groups else {}
            self.step.set_params(budget=None, epsilon=_EPSILON).fit(_synthetic(self.step), **person)
        return self.step.transform(X)

    def get_metadata_routing(self) -> MetadataRouter | MetadataRequest:
        return self.step.get_metadata_routing()


def _synthetic(step: BaseEstimator) -> MatrixLike:
    """Return rows with the columns that the step checked."""
    rows = np.full((_ROWS, step.n_features_in_), _FAR)
    rows[::2] *= -1.0
    names = getattr(step, "feature_names_in_", None)
    if names is None:
        return rows
    columns = dict(zip(names, rows.T, strict=True))
    if (encoding := encoding_for(step)) is not None:
        columns = encoding.widest(_ROWS)
    library, make = next(frame for frame in _FRAMES if frame[0] in sys.modules)
    return getattr(sys.modules[library], make)(columns)
