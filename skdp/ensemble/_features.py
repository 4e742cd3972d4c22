"""The features of the forests, and the importances of their columns."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skdp.features import AdditiveFeatures, FeatureMixture, RandomTreeFeatures
from skdp.linear_model._base import dense
from skdp.linear_model._records import scores_of

_PUBLIC_ROWS = 1000  # shares then have errors of about 0.02; no guarantee rests on it
_COLUMNS = ("bounds", "categories", "transformation", "missing")


def forest_features(model: BaseEstimator) -> FeatureMixture:
    columns = {name: getattr(model, name) for name in _COLUMNS}
    random = RandomTreeFeatures(
        n_trees=model.n_trees,
        depth=model.depth,
        feature_seed=model.feature_seed,
        **columns,
    )
    return FeatureMixture(
        additive=AdditiveFeatures(n_terms=model.n_terms, **columns),
        random=random,
        additive_share=model.additive_share,
    )


def column_importances(model: BaseEstimator) -> np.ndarray:
    """Return the share of each column in the variance of scores over rows drawn from the bounds.

    A column's part is half the mean squared change of a score when its value is drawn again, while
    the other columns stay: its total Sobol index.
    """
    check_is_fitted(model, "coef_")
    rng = np.random.default_rng(0)  # public: no secret is drawn from it
    rows, again = (model.feature_map_.facts.even_rows(_PUBLIC_ROWS, rng) for _ in range(2))
    scores, parts = _linear_scores(model, rows), np.zeros(rows.shape[1])
    for j in range(rows.shape[1]):
        changed = rows.copy()
        changed[:, j] = again[:, j]
        parts[j] = ((_linear_scores(model, changed) - scores) ** 2).sum()
    total = parts.sum()
    return parts / total if total > 0.0 else parts


def _linear_scores(model: BaseEstimator, rows: np.ndarray) -> np.ndarray:
    coef = np.atleast_2d(dense(model.coef_))
    return scores_of(model.feature_map_, rows, coef.T, model.data_norm_)
