"""Additive features by scikit-learn's own objects.

The features of a number are affine in u and cos(w·u + b), and those of a category are indicators.
A missing number gets u = 0, whose features an indicator takes away again.
"""

from __future__ import annotations

import math

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder

from skdp.features.additive import AdditiveMap, amplitudes
from skdp.features.table import TableFacts

__all__ = ["additive_columns"]


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
    facts, g = feature_map.facts, feature_map.linear_share
    p, n_terms, has_line = facts.numbers.size, feature_map.n_terms, int(g > 0.0)
    n_waves = n_terms if g < 1.0 else 0
    factors = math.sqrt(1.0 - g) * amplitudes(feature_map.from_low, n_terms)
    first = p * (1 + n_waves)  # of the indicators
    sizes = [_known(facts, j).size for j in facts.categories]
    A = np.zeros((feature_map.n_features_out, first + p * facts.has_missing + sum(sizes)))
    b = np.zeros(feature_map.n_features_out)
    for i, low in enumerate(feature_map.from_low.tolist()):
        start, stop = feature_map.spans[i][1].start, feature_map.spans[i][1].stop
        if has_line:
            A[start, i], b[start] = math.sqrt(g) * (1.0 if low else 2.0), -math.sqrt(g) * (not low)
        waves = start + has_line + np.arange(n_waves)
        A[waves, p + i * n_waves + np.arange(n_waves)] = (
            math.sqrt(0.5 * p * n_terms) * factors[i, :n_waves]
        )
        if facts.has_missing:
            A[start:stop, first + i] = -b[start:stop]
            A[waves, first + i] = -(not low) * factors[i, :n_waves]
            A[stop - 1, first + i] = 1.0
    place = first + p * facts.has_missing
    for (j, values), (_, span) in zip(facts.categories.items(), feature_map.spans[p:], strict=True):
        known = _known(facts, j).tolist()
        codes = {value: code for code, value in enumerate(values.tolist())}
        for k, value in enumerate(known):
            A[span.start + codes.get(value, values.size), place + k] = 1.0
        place += len(known)
    return feature_map.scale * A, feature_map.scale * b
