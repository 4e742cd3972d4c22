"""Fitted linear models as pipelines of scikit-learn's own objects."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_expit
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
)
from sklearn.svm import LinearSVC

from skdp.design.memory import factors_of
from skdp.features.additive import AdditiveMap
from skdp.features.plain import additive_steps, fitted, linear, minus
from skdp.linear_model._evidence import Evidence, Link
from skdp.linear_model._probabilities import (
    FARTHEST,
    LEAST_SLOPE,
    Probabilities,
    Recalibration,
    TowardShares,
)
from skdp.linear_model._records import learned_center
from skdp.losses import ClippedLogisticLoss, LogisticLoss
from skdp.losses.weighted import ClassWeightedLoss, SharedLoss, WeightedLoss


def plain_scores(model: BaseEstimator, coef: np.ndarray) -> list[BaseEstimator]:
    """Return steps that compute scores (n, n_scores) as the fitted model does.

    Raises ValueError if the model has other than additive features.
    """
    names = getattr(model, "feature_names_in_", None)
    features = _features(model, names)
    names = None if features else names
    shift = minus(-np.atleast_1d(model.intercept_))
    if (center := learned_center(model)) is not None:
        rows = _clipped_scores(np.eye(coef.shape[1]), center.data_norm, names)
        near = [minus(center.point), *_clipped_scores(coef, center.radius, None)]
        return [*features, *rows, *near, minus(-coef @ center.point), shift]
    if math.isinf(model.data_norm_):
        return [*features, _named(linear(coef), names), shift]
    return [*features, *_clipped_scores(coef, model.data_norm_, names), shift]


def _features(model: BaseEstimator, names: np.ndarray | None) -> list[BaseEstimator]:
    """Return steps that compute the features of a model, none for the columns themselves."""
    if model._features() is None:
        return []
    if not isinstance(model.feature_map_, AdditiveMap) or getattr(model, "_signs", None):
        raise ValueError(
            f"{type(model).__name__} has features that scikit-learn does not have. to_sklearn is "
            "for additive features and for the columns themselves, without monotonic_cst."
        )
    return additive_steps(model.feature_map_, names)


def _clipped_scores(coef: np.ndarray, norm: float, names: np.ndarray | None) -> list[BaseEstimator]:
    """Return steps that compute the scores of clipped rows.

    With a = |s|, b = |t|, the smaller one is b − max(b − a, 0). Positive and negative parts of s
    and t are kept apart. Nothing exceeds R·|coef|, so these parts can be clipped to it.
    """
    eye = np.eye(len(coef))
    kept = factors_of(np.zeros(1), coef.shape[1], norm)[0]  # below 1 by a margin for rounding
    most = max(1.0, norm * float(np.linalg.norm(coef, axis=1).max()))
    inside = _named(linear(kept * coef), names)
    normalized = _named(Normalizer().fit(np.zeros((1, coef.shape[1]))), names)
    outside = make_pipeline(normalized, linear(kept * norm * coef))
    return [
        FeatureUnion([("inside", inside), ("outside", outside)]),
        linear(np.kron([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], eye)),
        _clip(0.0, most, 4 * len(coef)),  # max(s, 0), max(−s, 0), max(t, 0), max(−t, 0)
        linear(np.kron([[0, 0, 1, 0], [0, 0, 0, 1], [-1, 0, 1, 0], [0, -1, 0, 1]], eye)),
        _clip(0.0, most, 4 * len(coef)),
        linear(np.kron([[1.0, -1.0, -1.0, 1.0]], eye)),
    ]


def plain_regressor(low: float, high: float, *, n_scores: int) -> list[BaseEstimator]:
    """Return steps that clip predictions to the bounds of the targets."""
    one = n_scores == 1
    identity, bias = (np.ones(1), 0.0) if one else (np.eye(n_scores), np.zeros(n_scores))
    last = fitted(LinearRegression(), coef_=identity, intercept_=bias, n_features_in_=n_scores)
    return [last] if math.isinf(high) else [_clip(low, high, n_scores), last]


def plain_classifier(
    classes: np.ndarray, link: Probabilities | None, reach: float
) -> list[BaseEstimator]:
    """Return steps with the same link from scores to probabilities, None for no probabilities.

    No score exceeds `reach` in absolute value. Raises ValueError for several classes whose link
    is recalibrated.
    """
    last, eye = LinearSVC() if link is None else LogisticRegression(), np.eye(classes.size)
    moved = None if link is None else link.moved
    if classes.size > 2 and isinstance(moved, TowardShares):
        own = (1.0 - moved.weight) * moved.log_shares
        return [_with_classes(last, classes, moved.weight * eye, own)]
    if classes.size > 2 and link is not None and link.follows_evidence:
        raise ValueError(
            "The link of these classes is one that scikit-learn does not have. to_sklearn is for "
            "two classes, or for models of so few rows that probabilities are not recalibrated."
        )
    if link is None or classes.size > 2:
        return [_with_classes(last, classes, eye if classes.size > 2 else np.eye(1))]
    parts, weights, bias = _log_odds(link, reach)
    union = FeatureUnion([(f"part{i}", part) for i, part in enumerate(parts)])
    first = union if len(parts) > 1 else parts[0]
    if link.is_nearer:
        own = np.r_[_log_odds_of_loss(link)[1], np.zeros(len(weights))][: len(weights)]
        most = 2.0 + float(np.abs(link.log_probabilities(np.array([-reach, reach]))).max())
        both = np.array([weights, most * (own - weights)])  # and the way to those of the loss
        first = make_pipeline(first, linear(both), minus(bias * np.array([-1.0, most])))
        first, weights, bias = make_pipeline(first, _clip(-most, most, 2)), [1.0, 1.0 / most], 0.0
    if isinstance(moved, TowardShares):
        weights = [moved.weight * weight for weight in weights]
        bias = float(moved.weight * bias + (1.0 - moved.weight) * np.diff(moved.log_shares)[0])
    if isinstance(moved, Recalibration):
        (((shift,), (slope,)),) = moved.passes
        own = make_pipeline(first, linear(np.array([weights])), minus(np.array([-bias])))
        inside = make_pipeline(own, _clip(-FARTHEST, FARTHEST))
        first, bias = FeatureUnion([("own", own), ("inside", inside)]), float(shift)
        weights = [slope * LEAST_SLOPE, slope * (1.0 - LEAST_SLOPE)]
    return [first, _with_classes(last, classes, np.array([weights]), bias)]


def _log_odds(link: Probabilities, reach: float) -> tuple[list[BaseEstimator], list[float], float]:
    """Return functions of the score, the weights of their columns in the log-odds, and a bias."""
    evidence = link.evidence
    trust = evidence.trust if isinstance(evidence, Evidence) else 0.0
    own = trust < 1.0 or link.is_nearer
    parts, weights = _log_odds_of_loss(link) if own else ([], [])
    weights = [(1.0 - trust) * weight for weight in weights]
    if not isinstance(evidence, Evidence) or trust == 0.0:
        return parts, weights, 0.0
    knots, values = _with_ends(evidence.link, reach)
    steps = trust * np.diff(values)
    return [*parts, _pieces(knots)], [*weights, *steps.tolist()], trust * float(values[0])


def _with_ends(link: Link, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the knots of a link with two more, beyond which no score lies."""
    low, high = min(-reach, link.scores[0]) - 1.0, max(reach, link.scores[-1]) + 1.0
    knots = np.r_[low, link.scores, high]
    return knots, np.r_[link(np.array([low])), link.log_odds, link(np.array([high]))]


def _pieces(knots: np.ndarray) -> BaseEstimator:
    """Return how much of each interval between knots is below a score, from 0 to 1."""
    widths = np.diff(knots)
    scaled = linear(1.0 / widths[:, None])
    return make_pipeline(scaled, minus(knots[:-1] / widths), _clip(0.0, 1.0, widths.size))


def _log_odds_of_loss(link: Probabilities) -> tuple[list[BaseEstimator], list[float]]:
    """Return z, or min(log σ(z), log k) − min(log σ(−z), log k) for a clipped loss."""
    loss = link.loss
    while isinstance(loss, ClassWeightedLoss | WeightedLoss | SharedLoss):
        loss = loss.loss
    if isinstance(loss, LogisticLoss):
        return [FunctionTransformer()], [1.0]
    assert isinstance(loss, ClippedLogisticLoss), "the other logistic loss of two classes"
    most = math.log(loss._link)
    cut = FunctionTransformer(np.clip, kw_args={"a_min": None, "a_max": most})
    up = make_pipeline(FunctionTransformer(log_expit), cut)
    down = make_pipeline(FunctionTransformer(np.negative), FunctionTransformer(log_expit), cut)
    return [up, down], [1.0, -1.0]


def _clip(low: float, high: float, n_columns: int = 1) -> MinMaxScaler:
    """Return a scaler of [low, high] to itself, which clips."""
    ends = np.tile([[low], [high]], n_columns)
    return MinMaxScaler(feature_range=(low, high), clip=True).fit(ends)


def _with_classes(
    classifier: BaseEstimator, classes: np.ndarray, weights: np.ndarray, bias: ArrayLike = 0.0
) -> BaseEstimator:
    return fitted(
        classifier,
        classes_=classes,
        coef_=weights,
        intercept_=np.full(len(weights), bias),
        n_features_in_=weights.shape[1],
    )


def _named(estimator: BaseEstimator, names: np.ndarray | None) -> BaseEstimator:
    """Return a first step that expects the columns of the model."""
    if names is not None:
        estimator.feature_names_in_ = names
    return estimator
