"""The effect of one term of an additive model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skdp.features.additive import AdditiveMap
from skdp.features.table import TableFacts

__all__ = ["AdditiveEffect", "NoiseBound", "effect_of", "typical_factor"]

_POINTS, _PAIR_POINTS = 101, 33
_COVERED = 1.96  # standard deviations that 95 % of a normal variable lie within
_MIDPOINTS, _PAIR_MIDPOINTS = 1000, 64  # for means over uniform u


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditiveEffect:
    """Contribution of one column or pair of columns to the score.

    Its mean over the public interval or categories is 0. It holds for a row of typical length,
    because rows are clipped; `explain_local` computes the contributions for given rows.

    Parameters
    ----------
    columns : tuple
        *Public.* Names or positions of the columns.
    categorical : tuple of bool
        *Public.* Whether each column is categorical.
    values : tuple of ndarray
        *Public.* For each column points between the bounds, in its units, or its categories.
    effect : ndarray of shape (n_values,) or (n_values, n_others), and (n_scores,) if several
        *Released.* In the units of the score; for a pair on the grid of both columns' values.
    noise : ndarray of the shape of the values, or None
        *Public, or computed from released values.* Bound of the standard deviation of the noise in
        each effect. 0 without privacy; None if no bound is known.
    missing_effect : ndarray of shape () or (n_scores,), or None
        *Released.* Effect of a missing value; None for pairs and with ``missing="error"``.
    importance : float
        *Released.* Root mean square of the effect over the public values.
    units : tuple of float
        *Public.* Unit of each column's logarithmic scale, inf for none.
    monotonic : {-1, 0, 1}, default 0
        *Public.* The constraint of the curve, as in `monotonic_cst`.
    """

    columns: tuple[object, ...]
    categorical: tuple[bool, ...]
    values: tuple[np.ndarray, ...]
    effect: np.ndarray
    noise: np.ndarray | None
    missing_effect: np.ndarray | None
    importance: float
    units: tuple[float, ...]
    monotonic: int = 0

    @property
    def band(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Ends of bands that cover about 95 % of the privacy noise or more; None if it is unknown.

        They are 1.96 times `noise` from the effect, as an array like it. The band of a monotone
        curve leaves out what no monotone curve within the band reaches.
        """
        if self.noise is None:
            return None
        half = (_COVERED * self.noise).reshape(
            *self.noise.shape, *[1] * (self.effect.ndim - self.noise.ndim)
        )
        low, high = self.effect - half, self.effect + half
        if self.monotonic == 0:
            return low, high
        step = self.monotonic  # a falling curve rises from right to left
        least = np.maximum.accumulate(low[::step])[::step]
        return least, np.minimum.accumulate(high[::-step])[::-step]


@dataclass(frozen=True, eq=False)
class NoiseBound:
    """The covariance of a term's coefficients is at most σ²·SSᵀ; no roots mean the identity."""

    sigma: float
    roots: list[np.ndarray] | None

    def of(self, term: int, directions: np.ndarray) -> np.ndarray:
        """Bound the standard deviations of products of directions and a term's coefficients."""
        if self.roots is not None:
            directions = directions @ self.roots[term]
        return np.asarray(self.sigma * np.linalg.norm(directions, axis=1))


def typical_factor(feature_map: AdditiveMap, data_norm: float) -> float:
    """Return κ, the clipping factor of a row with the mean squared norm over uniform u."""
    typical = feature_map.scale**2 * feature_map.typical_square * (1 + bool(feature_map.pairs))
    return 1.0 if math.isinf(data_norm) else min(1.0, data_norm / math.sqrt(typical))


def effect_of(
    feature_map: AdditiveMap,
    term: int,
    coef: np.ndarray,
    factor: float,
    noise: NoiseBound | None,
    signs: Mapping[int, int],
) -> AdditiveEffect:
    """Return a term's effect for coefficients of shape (n_scores, n_features_out) and κ."""
    (columns, span), facts = feature_map.spans[term], feature_map.facts
    known = {**facts.categories} | {j: np.array(bag.labels) for j, bag in facts.bags.items()}
    most = _PAIR_POINTS if len(columns) > 1 else _POINTS
    values = tuple(_places(facts, j, np.linspace(0.0, 1.0, most)) for j in columns)
    many = _features(feature_map, term, _midpoints(feature_map, columns))
    mean = many.mean(axis=0)
    there = factor * (_features(feature_map, term, values) - mean)
    shape = (*map(len, values), *coef.shape[:-1][: len(coef) > 1])
    missing = None
    if len(columns) == 1 and facts.has_missing:
        missing = factor * (_features(feature_map, term, (np.array([np.nan]),)) - mean)
        missing = (missing @ coef[:, span].T).reshape(shape[1:])
    return AdditiveEffect(
        columns=tuple(map(facts.term_name, columns)),
        categorical=tuple(j in known for j in columns),
        values=tuple(known.get(j, x) for j, x in zip(columns, values, strict=True)),
        effect=(there @ coef[:, span].T).reshape(shape),
        noise=None if noise is None else noise.of(term, there).reshape(shape[: len(values)]),
        missing_effect=missing,
        importance=factor * float(np.sqrt((((many - mean) @ coef[:, span].T) ** 2).mean())),
        units=tuple(map(facts.unit, columns)),
        monotonic=signs.get(columns[0], 0) if len(columns) == 1 else 0,
    )


def _midpoints(feature_map: AdditiveMap, columns: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Return coded values for means."""
    n = _MIDPOINTS if len(columns) == 1 else _PAIR_MIDPOINTS
    return tuple(_places(feature_map.facts, j, (np.arange(n) + 0.5) / n) for j in columns)


def _places(facts: TableFacts, j: int, u: np.ndarray) -> np.ndarray:
    """Return coded values of a column: at u in [0, 1], or all categories or words."""
    if j in facts.bags:
        return np.arange(facts.bags[j].size, dtype=float)
    if j in facts.categories:
        return np.arange(facts.categories[j].size, dtype=float)
    return facts.values_at(j, u)


def _features(feature_map: AdditiveMap, term: int, values: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the features of a term on the grid of values, one row per point."""
    columns, span = feature_map.spans[term]
    grid = np.meshgrid(*values, indexing="ij")
    rows = np.zeros((grid[0].size, feature_map.facts.n_columns))
    for j, x in zip(columns, grid, strict=True):
        rows[:, j] = x.ravel()
    if columns[0] in feature_map.facts.bags:
        bag, words = feature_map.facts.bags[columns[0]], rows[:, columns[0]]
        rows[:, columns[0] : columns[0] + bag.size] = np.where(
            np.isnan(words)[:, None], np.nan, bag.norm * (words[:, None] == np.arange(bag.size))
        )
    return np.ascontiguousarray(feature_map.expand(rows)[:, span])
