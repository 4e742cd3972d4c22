"""Additive features by steps of scikit-learn's own objects."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)

from skdp.features.additive import AdditiveMap, amplitudes
from skdp.features.base import TableFacts


def additive_steps(feature_map: AdditiveMap, names: np.ndarray | None) -> list[BaseEstimator]:
    """Return steps to additive features; raise ValueError if scikit-learn has none."""
    facts = feature_map.facts
    if facts.encoding is not None:
        from skdp.features.plain_tables import read_as

        read, facts = read_as(facts, facts.encoding)
        return [*read, *additive_steps(replace(feature_map, facts=facts), None)]
    if feature_map.pairs or facts.ranks is not None or np.isfinite(facts.units).any():
        raise ValueError(
            "to_sklearn of additive features is for columns with bounds or categories, without "
            "bounds='auto' and interactions. A transformation needs a TableSchema."
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
    matrix, bias = _affine(feature_map)
    return [columns, linear(matrix), minus(-bias)]


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
    return A.reshape(p * size, p * (1 + n_waves + has_missing)), np.concatenate(
        [b.ravel(), np.zeros(rest)]
    )


def _of_category(facts: TableFacts, j: int) -> np.ndarray:
    """Return the columns of A for a category: the place of each value of `_known`."""
    known = _known(facts, j).tolist()
    codes = {value: code for code, value in enumerate(facts.categories[j].tolist())}
    A = np.zeros((facts.size(j), len(known)))
    A[[codes.get(value, len(codes)) for value in known], np.arange(len(known))] = 1.0
    return A


def minus(mean: np.ndarray) -> StandardScaler:
    """Return the map z ↦ z − mean."""
    return fitted(StandardScaler(with_std=False), mean_=mean, scale_=None, n_samples_seen_=1)


def linear(coef: np.ndarray) -> TruncatedSVD:
    """Return the map x ↦ coef·x, for dense and sparse rows."""
    svd = TruncatedSVD(n_components=len(coef))
    return fitted(svd, components_=coef, n_features_in_=coef.shape[1])


def fitted(estimator: BaseEstimator, **attributes: object) -> BaseEstimator:
    """Return an estimator with the attributes that its fit would give it."""
    for name, value in attributes.items():
        setattr(estimator, name, value)
    return estimator
