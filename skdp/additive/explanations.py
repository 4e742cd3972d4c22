"""Explanations of additive models: methods of the additive classes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skdp.additive.effects import AdditiveEffect, NoiseBound, effect_of, typical_factor
from skdp.additive.monotone import Curve, SteadyClip
from skdp.data.lazy import lazy_on_blocks
from skdp.design import clip_factors
from skdp.design.centered import CenteredMap
from skdp.features.additive import AdditiveMap
from skdp.linear_model._base import dense
from skdp.linear_model._records import AnyMap, learned_center, rows_of
from skdp.linear_model._sample import Fitted
from skdp.solvers import Solution
from skdp.support.types import MatrixLike

__all__ = [
    "explain_global",
    "explain_local",
    "noise_of",
    "pair_names",
    "scores_of_clipped",
    "term_importances",
    "term_names",
]


def term_names(model: BaseEstimator) -> list[str]:
    """Names of the terms: numeric columns, categorical columns, then pairs "a & b".

    Returns
    -------
    list of str
        *Public.* One name for each term.
    """
    check_is_fitted(model, "coef_")
    facts = model.feature_map_.facts
    return [
        " & ".join(str(facts.term_name(j)) for j in columns)
        for columns, _ in model.feature_map_.spans
    ]


def pair_names(model: BaseEstimator) -> list[tuple[Hashable, Hashable]]:
    """Pairs of columns whose features are multiplied, by name or position.

    Returns
    -------
    list of tuple
        *Public; released* if a private search or count has decided.
    """
    check_is_fitted(model, "coef_")
    facts = model.feature_map_.facts
    return [(facts.term_name(i), facts.term_name(j)) for i, j in model.feature_map_.pairs]


def explain_global(self: BaseEstimator) -> dict[str, AdditiveEffect]:
    """Compute the effect of each term: curves of numeric columns, values of categories, pairs.

    Returns
    -------
    dict of str to AdditiveEffect
        One effect for each of `term_names_`. Computed from released values; spends nothing.
    """
    check_is_fitted(self, "coef_")
    coef = np.atleast_2d(dense(self.coef_))
    factor = typical_factor(self.feature_map_, self.data_norm_)
    sigma = self.coef_noise_bound_
    noise = None if sigma is None else NoiseBound(sigma, self._noise_roots_)
    return {
        term: effect_of(self.feature_map_, k, coef, factor, noise, self._signs)
        for k, term in enumerate(self.term_names_)
    }


@lazy_on_blocks
def explain_local(self: BaseEstimator, X: MatrixLike) -> np.ndarray:
    """Compute the contribution of each term to the scores of rows.

    The contributions and `intercept_` add up to the linear score, from which a classifier computes
    `predict_proba`, or to the prediction of a regressor before it is clipped to the target bounds.

    Parameters
    ----------
    X : array-like, frame or dask collection of shape (n_samples, n_features)
        *Private.* Rows as in `fit`.

    Returns
    -------
    ndarray of shape (n_samples, n_terms), and (n_scores,) for several scores
        In the order of `term_names_`. As private as X.
    """
    check_is_fitted(self, "coef_")
    rows, coef = rows_of(self, X), np.atleast_2d(dense(self.coef_))
    spans = self.feature_map_.spans
    parts = np.empty((len(rows), len(spans), len(coef)))
    for where, features in _clipped(self, rows):
        for k, (_, span) in enumerate(spans):
            parts[where, k] = features[:, span] @ coef[:, span].T
    return parts[:, :, 0] if len(coef) == 1 else parts


def _clipped(model: BaseEstimator, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the features of rows, clipped as in `fit`."""
    center = learned_center(model)
    if model._signs:
        curves = [Curve(model.feature_map_, j) for j in model._signs]
        yield from SteadyClip(curves, model.data_norm_, center).pieces(rows)
        return
    if center is not None:
        yield from CenteredMap(model.feature_map_, center).clipped(rows)
        return
    for where, features in model.feature_map_.pieces(rows):
        if not math.isinf(model.data_norm_):
            features = features * clip_factors(features, model.data_norm_)[:, None]
        yield where, features


def term_importances(self: BaseEstimator) -> np.ndarray:
    """Compute the root mean square of each term's effect over its public values.

    Returns
    -------
    ndarray of shape (n_terms,)
        In the order of `term_names_`. Computed from released values; spends nothing.
    """
    return np.array([effect.importance for effect in self.explain_global().values()])


def scores_of_clipped(model: BaseEstimator, X: MatrixLike) -> np.ndarray:
    """Return scores of shape (n_samples, n_scores) that satisfy the model's constraints."""
    rows, coef = rows_of(model, X), np.atleast_2d(dense(model.coef_))
    scores = np.empty((len(rows), len(coef)))
    for where, features in _clipped(model, rows):
        scores[where] = features @ coef.T
    return np.asarray(scores + model.intercept_)


def noise_of(
    learned: Fitted, unit: float, feature_map: AnyMap
) -> tuple[float | None, list[np.ndarray] | None]:
    """Return the noise bound of the coefficients, and a root for each term (see `NoiseBound`).

    The bound is for the unit of the score.
    """
    if not isinstance(learned, Solution):  # without privacy
        return 0.0, None
    assert isinstance(feature_map, AdditiveMap), "the map of AdditiveFeatures"
    sigma, root = learned.noise_bound, learned.noise_root
    roots = None if root is None else [_small_root(root[span]) for _, span in feature_map.spans]
    return None if sigma is None else sigma * unit, roots


def _small_root(rows: np.ndarray) -> np.ndarray:
    """Return a square S with SSᵀ that of these rows; a whole root would make pickles large."""
    return np.asarray(np.linalg.qr(rows.T).R.T)
