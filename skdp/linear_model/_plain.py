"""Fitted linear models as pipelines of scikit-learn's own objects."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import block_diag
from scipy.special import log_expit
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.svm import LinearSVC

from skdp.design.memory import factors_of
from skdp.features.additive import AdditiveMap, amplitudes
from skdp.features.base import TableFacts
from skdp.linear_model._evidence import Evidence, Link
from skdp.linear_model._probabilities import FARTHEST, LEAST_SLOPE, Probabilities
from skdp.losses import ClippedLogisticLoss, LogisticLoss
from skdp.losses.weighted import ClassWeightedLoss, SharedLoss, WeightedLoss


def additive_columns(
    feature_map: AdditiveMap, names: np.ndarray | None
) -> tuple[ColumnTransformer, np.ndarray, np.ndarray]:
    """Return a step F, a matrix A and a vector b: the features of rows are F·Aᵀ + b.

    Raises ValueError if scikit-learn has no such step.
    """
    facts = feature_map.facts
    given = facts.bags or facts.encoding is not None or facts.ranks is not None
    if feature_map.pairs or given or np.isfinite(facts.units).any():
        raise ValueError(
            "to_sklearn of additive features is for columns with bounds or categories, without a "
            "TableSchema, bounds='auto', interactions or a transformation."
        )
    numbers = [("numbers", _numbers(feature_map), facts.numbers.tolist())]
    parts = numbers if facts.numbers.size else []
    parts += [(f"column{j}", _encoder(facts, j), [j]) for j in facts.categories]
    columns = ColumnTransformer(parts, sparse_threshold=0.0).fit(_examples(facts))
    for name, part, places in columns.transformers_:
        first = part[0] if name == "numbers" else part
        if name != "numbers":  # the examples are objects, and columns may be numbers
            part.categories_ = [_known(facts, places[0])]
        elif feature_map.linear_share < 1.0:
            _set_waves(dict(part[-1].transformer_list)["waves"][-1], feature_map)
        if names is not None:
            first.feature_names_in_ = names[places]
    if names is not None:
        columns.feature_names_in_ = names
    return columns, *_affine(feature_map)


def _numbers(feature_map: AdditiveMap) -> Pipeline:
    """Return steps to u, waves and indicators of missing values."""
    has_missing, n_waves = feature_map.facts.has_missing, feature_map.n_terms
    filled = SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)
    if not has_missing:
        filled = FunctionTransformer()
    parts = [("line", filled)]
    if feature_map.linear_share < 1.0:
        sampler = RBFSampler(n_components=feature_map.facts.numbers.size * n_waves)
        parts.append(("waves", make_pipeline(filled, sampler)))
    if has_missing:
        parts.append(("missing", MissingIndicator(features="all")))
    return make_pipeline(MinMaxScaler(clip=True), FeatureUnion(parts))


def _set_waves(sampler: RBFSampler, feature_map: AdditiveMap) -> None:
    """Replace random waves by cos(πku), or cos((k − ½)πu − ½π) for features that are 0 at low."""
    low, k = feature_map.from_low[:, None], np.arange(1, feature_map.n_terms + 1)
    waves = np.pi * (k - 0.5 * low)
    sampler.random_weights_ = np.einsum("ij,ik->ijk", np.eye(len(low)), waves).reshape(len(low), -1)
    sampler.random_offset_ = np.broadcast_to(-0.5 * np.pi * low, waves.shape).ravel()


def _encoder(facts: TableFacts, j: int) -> OneHotEncoder:
    known = _known(facts, j)
    return OneHotEncoder(categories=[known], handle_unknown="ignore", sparse_output=False)


def _known(facts: TableFacts, j: int) -> np.ndarray:
    """Return the categories as an encoder needs them: numbers in order, missing values last."""
    values = facts.categories[j]
    if values.dtype.kind in "biuf":
        return np.append(np.sort(values.astype(float)), [np.nan] * facts.has_missing)
    return np.array([*values.tolist(), *[None, np.nan] * facts.has_missing], dtype=object)


def _examples(facts: TableFacts) -> np.ndarray:
    """Return rows with both bounds of numbers, and a category."""
    rows = np.empty((2, facts.n_columns), dtype=object if facts.categories else float)
    rows[:, facts.numbers] = [facts.bounds.low, facts.bounds.high]
    for j, values in facts.categories.items():
        rows[:, j] = values[0]
    return rows


def _affine(feature_map: AdditiveMap) -> tuple[np.ndarray, np.ndarray]:
    """Return A and b."""
    facts = feature_map.facts
    of_numbers, b = _of_numbers(feature_map)
    indicators = [_of_category(facts, j) for j in facts.categories]
    return feature_map.scale * block_diag(of_numbers, *indicators), feature_map.scale * b


def _of_numbers(feature_map: AdditiveMap) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of A for lines, waves and indicators of missing numbers, and b."""
    g, p, n_terms = feature_map.linear_share, feature_map.facts.numbers.size, feature_map.n_terms
    n_waves, has_line = n_terms if g < 1.0 else 0, int(g > 0.0)
    has_missing = int(feature_map.facts.has_missing)
    size = has_line + n_waves + has_missing  # features of a number
    A, b = np.zeros((p, size, p * (1 + n_waves + has_missing))), np.zeros((p, size))
    i, low = np.arange(p)[:, None], feature_map.from_low
    if has_line:
        A[i[:, 0], 0, i[:, 0]] = math.sqrt(g) * np.where(low, 1.0, 2.0)
        b[:, 0] = -math.sqrt(g) * ~low
    k = np.arange(n_waves)
    factors = (math.sqrt(1.0 - g) * amplitudes(low, n_terms))[:, :n_waves]
    A[i, has_line + k, p + i * n_waves + k] = math.sqrt(0.5 * p * n_terms) * factors
    if has_missing:  # takes away what a missing number has at u = 0
        first = p * (1 + n_waves)
        A[i, np.arange(size), first + i] = -b
        A[i, has_line + k, first + i] = -factors * ~low[:, None]
        A[i[:, 0], size - 1, first + i[:, 0]] = 1.0
    rest = feature_map.n_features_out - p * size
    return A.reshape(p * size, -1), np.concatenate([b.ravel(), np.zeros(rest)])


def _of_category(facts: TableFacts, j: int) -> np.ndarray:
    """Return the columns of A for a category: the place of each value of `_known`."""
    known = _known(facts, j).tolist()
    codes = {value: code for code, value in enumerate(facts.categories[j].tolist())}
    A = np.zeros((facts.size(j), len(known)))
    A[[codes.get(value, len(codes)) for value in known], np.arange(len(known))] = 1.0
    return A


def plain_scores(model: BaseEstimator, coef: np.ndarray) -> list[BaseEstimator]:
    """Return steps that compute scores (n, n_scores) as the fitted model does.

    Raises ValueError if the model has other than additive features, or a center.
    """
    names = getattr(model, "feature_names_in_", None)
    features = _features(model, names)
    if model.center_ is not None:
        raise ValueError(
            "to_sklearn is for models without a center_: fit with center=False. For additive "
            "models, fit a linear model with center=False and features=AdditiveFeatures(...)."
        )
    shift = _minus(-np.atleast_1d(model.intercept_))
    if features:
        names = None
    if math.isinf(model.data_norm_):
        return [*features, _named(_linear(coef), names), shift]
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
    columns, matrix, bias = additive_columns(model.feature_map_, names)
    return [columns, _linear(matrix), _minus(-bias)]


def _clipped_scores(coef: np.ndarray, norm: float, names: np.ndarray | None) -> list[BaseEstimator]:
    """Return steps that compute the scores of clipped rows.

    With a = |s|, b = |t|, the smaller one is b − max(b − a, 0). Positive and negative parts of s
    and t are kept apart. Nothing exceeds R·|coef|, so these parts can be clipped to it.
    """
    eye = np.eye(len(coef))
    kept = factors_of(np.zeros(1), coef.shape[1], norm)[0]  # below 1 by a margin for rounding
    most = max(1.0, norm * float(np.linalg.norm(coef, axis=1).max()))
    inside = _named(_linear(kept * coef), names)
    normalized = _named(Normalizer().fit(np.zeros((1, coef.shape[1]))), names)
    outside = make_pipeline(normalized, _linear(kept * norm * coef))
    return [
        FeatureUnion([("inside", inside), ("outside", outside)]),
        _linear(np.kron([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], eye)),
        _clip(0.0, most, 4 * len(coef)),  # max(s, 0), max(−s, 0), max(t, 0), max(−t, 0)
        _linear(np.kron([[0, 0, 1, 0], [0, 0, 0, 1], [-1, 0, 1, 0], [0, -1, 0, 1]], eye)),
        _clip(0.0, most, 4 * len(coef)),
        _linear(np.kron([[1.0, -1.0, -1.0, 1.0]], eye)),
    ]


def plain_regressor(low: float, high: float, *, n_scores: int) -> list[BaseEstimator]:
    """Return steps that clip predictions to the bounds of the targets."""
    one = n_scores == 1
    identity, bias = (np.ones(1), 0.0) if one else (np.eye(n_scores), np.zeros(n_scores))
    last = _fitted(LinearRegression(), coef_=identity, intercept_=bias, n_features_in_=n_scores)
    return [last] if math.isinf(high) else [_clip(low, high, n_scores), last]


def plain_classifier(
    classes: np.ndarray, link: Probabilities | None, reach: float
) -> list[BaseEstimator]:
    """Return steps with the same link from scores to probabilities, None for no probabilities.

    No score exceeds `reach` in absolute value. Raises ValueError for several classes whose link
    follows the evidence of a signal.
    """
    if classes.size > 2 and link is not None and link.follows_evidence:
        raise ValueError(
            "The link of these classes is one that scikit-learn does not have. to_sklearn is for "
            "two classes, or for models of few rows whose signal_ is None, as with a number for C."
        )
    last = LinearSVC() if link is None else LogisticRegression()
    if link is None or classes.size > 2:
        n_scores = 1 if classes.size == 2 else classes.size
        return [_with_classes(last, classes, np.eye(n_scores))]
    parts, weights, bias = _log_odds(link, reach)
    union = FeatureUnion([(f"part{i}", part) for i, part in enumerate(parts)])
    first = union if len(parts) > 1 else parts[0]
    if link.is_nearer:
        own = np.r_[_log_odds_of_loss(link)[1], np.zeros(len(weights))][: len(weights)]
        most = 2.0 + float(np.abs(link.log_probabilities(np.array([-reach, reach]))).max())
        both = np.array([weights, most * (own - weights)])  # and the way to those of the loss
        first = make_pipeline(first, _linear(both), _minus(bias * np.array([-1.0, most])))
        first, weights, bias = make_pipeline(first, _clip(-most, most, 2)), [1.0, 1.0 / most], 0.0
    if link.moved is not None:
        (((shift,), (slope,)),) = link.moved.passes
        own = make_pipeline(first, _linear(np.array([weights])), _minus(np.array([-bias])))
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
    scaled = _linear(1.0 / widths[:, None])
    return make_pipeline(scaled, _minus(knots[:-1] / widths), _clip(0.0, 1.0, widths.size))


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


def _minus(mean: np.ndarray) -> StandardScaler:
    """Return the map z ↦ z − mean."""
    return _fitted(StandardScaler(with_std=False), mean_=mean, scale_=None, n_samples_seen_=1)


def _clip(low: float, high: float, n_columns: int = 1) -> MinMaxScaler:
    """Return a scaler of [low, high] to itself, which clips."""
    ends = np.tile([[low], [high]], n_columns)
    return MinMaxScaler(feature_range=(low, high), clip=True).fit(ends)


def _linear(coef: np.ndarray) -> TruncatedSVD:
    """Return the map x ↦ coef·x, for dense and sparse rows."""
    svd = TruncatedSVD(n_components=len(coef))
    return _fitted(svd, components_=coef, n_features_in_=coef.shape[1])


def _with_classes(
    classifier: BaseEstimator, classes: np.ndarray, weights: np.ndarray, bias: float = 0.0
) -> BaseEstimator:
    return _fitted(
        classifier,
        classes_=classes,
        coef_=weights,
        intercept_=np.full(len(weights), bias),
        n_features_in_=weights.shape[1],
    )


def _fitted(estimator: BaseEstimator, **attributes: object) -> BaseEstimator:
    for name, value in attributes.items():
        setattr(estimator, name, value)
    return estimator


def _named(estimator: BaseEstimator, names: np.ndarray | None) -> BaseEstimator:
    """Return a first step that expects the columns of the model."""
    if names is not None:
        estimator.feature_names_in_ = names
    return estimator
