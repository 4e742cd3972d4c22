"""Effects of single columns and pairs: their curves, constraints on these, and explanations.

The projection moves the released coefficients to the nearest ones with monotone curves. It reads no
data and costs no privacy. No guarantee depends on a constant of this file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import nnls
from sklearn.base import BaseEstimator, is_classifier

from skdp.data.column import array_of_list
from skdp.data.column_facts import ColumnBounds, by_column
from skdp.data.columns import column_name
from skdp.design import Center
from skdp.features.additive import AdditiveMap, as_additive
from skdp.features.base import TableFacts
from skdp.linear_model._plans import Learned
from skdp.linear_model._records import AnyMap, LinearRecords
from skdp.solvers import Solution
from skdp.support.types import Label, VectorLike

_POINTS_OF_EFFECTS, _PAIR_POINTS = 101, 33
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
        *Public.* For each column points between the bounds, in its units, or its categories, those
        of an ordinal column from the lowest to the highest.
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

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPAdditiveRegressor
    >>> X = np.random.default_rng(0).uniform(size=(5000, 1))
    >>> model = DPAdditiveRegressor(bounds=(0, 1), target_bounds=(0, 1), random_state=0)
    >>> (effect,) = model.fit(X, X[:, 0] ** 2).explain_global().values()
    >>> effect.values[0][[0, 50, 100]], effect.effect[[0, 50, 100]].round(1)
    (array([0. , 0.5, 1. ]), array([-0.4, -0.1,  0.7]))
    >>> low, high = effect.band
    >>> (high - low)[[0, 50, 100]].round(1)
    array([0.3, 0.1, 0.3])
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


def _typical_square(feature_map: AdditiveMap) -> float:
    """Return the mean |Φ|² over uniform u, of rows that are not clipped."""
    pairs = 1 + bool(feature_map.pairs)  # which have half of it
    return feature_map.scale**2 * feature_map.typical_square * pairs


def _factor(square: np.ndarray | float, data_norm: float) -> np.ndarray:
    """Return the clipping factor of a row with a squared norm, which may be 0."""
    return np.asarray(1.0 / np.sqrt(np.maximum(1.0, square / data_norm**2)))


def effect_of(
    feature_map: AdditiveMap,
    term: int,
    coef: np.ndarray,
    data_norm: float,
    noise: NoiseBound | None,
    signs: Mapping[int, int],
) -> AdditiveEffect:
    """Return a term's effect for coefficients of shape (n_scores, n_features_out).

    Rows are clipped to `data_norm`, as if all other terms had their mean squared norm. A curve that
    has to be monotone is clipped by one factor, as `SteadyClip` does.
    """
    (columns, span), facts = feature_map.spans[term], feature_map.facts
    known = {**facts.categories} | {j: np.array(bag.labels) for j, bag in facts.bags.items()}
    known |= {j: array_of_list(levels) for j, levels in facts.levels.items()}
    most = _PAIR_POINTS if len(columns) > 1 else _POINTS_OF_EFFECTS
    values = tuple(_places(facts, j, np.linspace(0.0, 1.0, most)) for j in columns)
    n = _MIDPOINTS if len(columns) == 1 else _PAIR_MIDPOINTS
    middles = tuple(_places(facts, j, (np.arange(n) + 0.5) / n) for j in columns)
    many = _features(feature_map, term, middles)
    usual = float(np.square(many).sum(axis=1).mean())
    others = max(0.0, _typical_square(feature_map) - usual)
    is_steady = len(columns) == 1 and columns[0] in signs

    def clipped(features: np.ndarray) -> np.ndarray:
        own = usual if is_steady else np.square(features).sum(axis=1, keepdims=True)
        return features * _factor(others + own, data_norm)

    many = clipped(many)
    mean = many.mean(axis=0)
    there = clipped(_features(feature_map, term, values)) - mean
    shape = (*map(len, values), *coef.shape[:-1][: len(coef) > 1])
    missing = None
    if len(columns) == 1 and facts.has_missing:
        missing = clipped(_features(feature_map, term, (np.array([np.nan]),))) - mean
        missing = (missing @ coef[:, span].T).reshape(shape[1:])
    return AdditiveEffect(
        columns=tuple(map(facts.term_name, columns)),
        categorical=tuple(j in known for j in columns),
        values=tuple(known.get(j, x) for j, x in zip(columns, values, strict=True)),
        effect=(there @ coef[:, span].T).reshape(shape),
        noise=None if noise is None else noise.of(term, there).reshape(shape[: len(values)]),
        missing_effect=missing,
        importance=float(np.sqrt((((many - mean) @ coef[:, span].T) ** 2).mean())),
        units=tuple(map(facts.unit, columns)),
        monotonic=signs.get(columns[0], 0) if len(columns) == 1 else 0,
    )


def _places(facts: TableFacts, j: int, u: np.ndarray) -> np.ndarray:
    """Return coded values of a column: at u in [0, 1], or all categories, levels or words."""
    if j in facts.bags:
        return np.arange(facts.bags[j].size, dtype=float)
    if j in facts.categories or j in facts.levels:
        return np.arange(len(facts.levels.get(j, facts.categories.get(j, ()))), dtype=float)
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


_SLOPES_PER_WAVE, _FINE_SLOPES_PER_WAVE = 32, 512
_POINTS = 1024  # for means over u
# Chosen by experiment: precision of the curve in L2, against a precision 1 of each coefficient.
_CURVE_PRECISION = 30.0
_ROUNDING = 1e-9  # relative; features are right to 1e-13, divided by steps above 1e-4


@dataclass(frozen=True, eq=False)
class Curve:
    """The features of one numeric column, for u in [0, 1]."""

    feature_map: AdditiveMap  # *public*
    column: int  # *public* number of a numeric column

    @cached_property
    def span(self) -> slice:
        """The place of the features."""
        return next(s for columns, s in self.feature_map.spans if columns == (self.column,))

    def features(self, u: np.ndarray) -> np.ndarray:
        """Return the features of places u, of shape (n_places, n_features)."""
        whole, first = self.feature_map, np.zeros(1, dtype=int)
        unit = ColumnBounds(np.zeros(1), np.ones(1))
        facts = TableFacts(1, first, unit, np.full(1, np.inf), {}, whole.facts.missing)
        from_low = whole.from_low[whole.facts.numbers == self.column]
        alone = replace(whole, facts=facts, from_low=from_low, pairs=(), shortened=False)
        return np.ascontiguousarray(whole.scale * alone.expand(u[:, None]))

    def slopes(self, n: int) -> np.ndarray:
        """Return the mean slopes of the features in n equal intervals, and those at 0 and 1.

        Those at the ends are from three values each. Their error, and the difference between a mean
        slope and the smallest one in the interval if the latter is inside of [0, 1], are at most
        h²/3 times the largest third derivative, with h = 1/n: Taylor's formula.
        """
        f = self.features(np.linspace(0.0, 1.0, n + 1))
        start, end = 4.0 * f[1] - 3.0 * f[0] - f[2], 3.0 * f[-1] - 4.0 * f[-2] + f[-3]
        return np.asarray(n * np.vstack([np.diff(f, axis=0), 0.5 * start, 0.5 * end]))

    def lifted(self, coef: np.ndarray, sign: int) -> np.ndarray:
        """Return coefficients whose curve is monotone everywhere, not on a grid only.

        The k-th wave has frequency kπ at most and is largest at u = 1, so its third derivative is
        at most (kπ)³ times its value there. What the slopes may lack is added to the line.
        """
        n = _FINE_SLOPES_PER_WAVE * self.feature_map.n_terms
        slopes, waves = self.slopes(n), slice(1, 1 + self._n_waves)
        k = np.pi * np.arange(1, 1 + self._n_waves)
        third = (k**3 * np.abs(self.features(np.ones(1))[0, waves] * coef[waves])).sum()
        rounding = _ROUNDING * np.abs(coef[: 1 + self._n_waves]).sum()
        lacking = third / (3.0 * n**2) + rounding - (sign * slopes @ coef).min()
        lifted = coef.copy()
        lifted[0] += sign * max(0.0, lacking) / slopes[0, 0]
        return lifted

    @property
    def _n_waves(self) -> int:
        return self.feature_map.n_terms if self.feature_map.linear_share < 1.0 else 0

    @cached_property
    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Features at places in [0, 1], and weights of the places: uniform without densities."""
        shares = self.feature_map.densities.get(self.column, np.ones(1))
        weights = np.repeat(shares, _POINTS // shares.size) / shares.sum()
        features = self.features((np.arange(_POINTS) + 0.5) / _POINTS)
        return features, weights * shares.size / _POINTS

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean features of rows."""
        features, weights = self._rows
        return weights @ features

    @cached_property
    def mean_square(self) -> float:
        """Mean squared length of the features of rows."""
        features, weights = self._rows
        return float(weights @ (features * features).sum(axis=1))

    @property
    def root(self) -> np.ndarray:
        """A root of the covariance that is assumed of the coefficients, if none is known.

        Noise is alike in all coefficients at first. Where there are rows, they keep the curve near
        the best one.
        """
        features, weights = self._rows
        apart = features - self.mean
        spread = (apart.T * weights) @ apart / max(1.0, self.feature_map.typical_square)
        precision = np.eye(len(spread)) + _CURVE_PRECISION * spread
        return np.linalg.cholesky(np.linalg.inv(precision))


def signs_of(
    monotonic_cst: VectorLike | Mapping[Label, int], feature_map: AnyMap
) -> dict[int, int]:
    """Return 1 or −1 for each constrained column, after checks."""
    facts = as_additive(feature_map).facts
    n_columns, names = facts.n_columns, facts.names
    if monotonic_cst is None:
        return {}
    if isinstance(monotonic_cst, Mapping):
        if not names:
            raise ValueError(
                "monotonic_cst is a dict, but X has no column names. Pass a data frame, or one of "
                "-1, 0 and 1 for each column."
            )
        found = by_column("monotonic_cst", monotonic_cst, n_columns, names)
    else:
        if isinstance(monotonic_cst, str) or np.shape(monotonic_cst) != (n_columns,):
            raise ValueError(
                f"monotonic_cst must have one of -1, 0 and 1 for each of the {n_columns} columns, "
                f"or be a dict of column names; got {monotonic_cst!r}."
            )
        found = dict(enumerate(monotonic_cst))
    for j, sign in found.items():
        if not (isinstance(sign, Real) and sign in (-1, 0, 1)):
            column = column_name(names, j)
            raise ValueError(f"monotonic_cst of {column!r} must be -1, 0 or 1, got {sign!r}.")
    return {j: int(sign) for j, sign in sorted(found.items()) if sign}


def check_constraints(model: BaseEstimator, records: LinearRecords[Any]) -> None:
    """Raise ValueError if a model cannot satisfy its constraints. Reads no private value."""
    feature_map = as_additive(records.facts.feature_map)
    facts, names = feature_map.facts, feature_map.facts.names
    signs = signs_of(model.monotonic_cst, feature_map)
    if not signs:
        return
    if others := [facts.term_name(j) for j in signs if j not in facts.numbers]:
        raise ValueError(
            f"monotonic_cst is only for numeric columns, and {others} are not numeric."
        )
    if feature_map.linear_share == 0.0:
        raise ValueError("monotonic_cst needs linear_share > 0.")
    paired = {j for pair in feature_map.pairs for j in pair}
    found = [column_name(names, j) for j in signs if j in paired]
    if isinstance(model.interactions, str) or found:
        raise ValueError(
            f"interactions may not contain columns of monotonic_cst: "
            f"{found or [column_name(names, j) for j in signs]}. List pairs of other columns."
        )
    if is_classifier(model) and len(records.facts.task) > 2:
        raise ValueError("monotonic_cst is not available for more than two classes.")


def projected(learned: Learned, signs: Mapping[int, int]) -> Learned:
    """Return a *released* fit with monotone curves, the nearest in the metric of its noise.

    If the solver has released a metric, other coefficients move with those of the curves, as their
    noise does. Otherwise the intercept moves so that the mean score of rows stays. A center has
    the same effect.
    """
    fitted = learned.fitted
    if not signs or not isinstance(fitted, Solution):
        return learned
    feature_map = as_additive(learned.facts.feature_map)
    curves = {Curve(feature_map, j): sign for j, sign in signs.items()}
    theta = fitted.theta.copy()
    flat = theta.reshape(-1)
    where = np.concatenate([np.arange(flat.size)[curve.span] for curve in curves])
    n_slopes = _SLOPES_PER_WAVE * feature_map.n_terms
    rows = block_diag(*(sign * curve.slopes(n_slopes) for curve, sign in curves.items()))
    root = fitted.noise_root
    if root is None:
        root = np.zeros((flat.size, where.size))
        root[where] = block_diag(*(curve.root for curve in curves))
    flat[: len(root)] += root @ _least_move(rows @ root[where], rows @ flat[where])
    for curve, sign in curves.items():
        flat[curve.span] = curve.lifted(flat[curve.span], sign)
    if fitted.noise_root is None and learned.facts.center is None:
        flat[-1] -= _mean_score(learned, curves, flat - fitted.theta.reshape(-1))
    return learned._replace(fitted=replace(fitted, theta=theta, noise=None))


def _mean_score(learned: Learned, curves: Iterable[Curve], theta: np.ndarray) -> float:
    """Return the intercept's coefficient with the mean score of rows of typical length."""
    problem = learned.plan.problem
    square = _typical_square(as_additive(learned.facts.feature_map))
    mean = sum(float(curve.mean @ theta[curve.span]) for curve in curves)
    return float(_factor(square, problem.data_norm)) * mean / float(problem.intercept_scaling)


def _least_move(G: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return the shortest x with Gx + slopes ≥ 0, or 0 if it is not found.

    Lawson and Hanson 1974, *Solving Least Squares Problems*, chapter 23, section 4: with
    r = (Gᵀ, h)u − (0, 1), of the least |r| over u ≥ 0, the solution of Gx ≥ h is −r/r_last.
    """
    size = np.linalg.norm(G, axis=1)
    size[size == 0.0] = 1.0
    G, h = G / size[:, None], -slopes / size
    if (h <= 0.0).all():
        return np.zeros(G.shape[1])
    unit = max(h.max(), np.finfo(float).tiny)
    E, last = np.vstack([G.T, h / unit]), np.zeros(G.shape[1] + 1)
    last[-1] = 1.0
    try:
        r = E @ nnls(E, last)[0] - last
    except RuntimeError:  # too many iterations; the line alone makes the curves monotone
        return np.zeros(G.shape[1])
    return -unit * r[:-1] / r[-1] if r[-1] < 0.0 else np.zeros(G.shape[1])


@dataclass(frozen=True, eq=False)
class SteadyClip:
    """Rows clipped by factors that do not depend on the numbers in constrained columns.

    A row's own factor 1/max(1, |Φ|) depends on all of its columns, so scores of monotone curves
    need not be monotone. Here each constrained column has the mean square of rows instead of its
    own. The fit clips rows to their true length: its guarantee does not rest on this.
    """

    curves: Sequence[Curve]  # *public* ones of the constrained columns
    data_norm: float  # *public* R
    center: Center | None  # *released*

    def pieces(self, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the clipped features of coded *private* rows, some at a time."""
        for where, features in self.curves[0].feature_map.pieces(rows):
            missing, ones = self._missing(features), np.ones(len(features))
            nothing = np.zeros(features.shape[1])
            factors = self._factors(features, missing, ones, nothing, self.data_norm)
            clipped = features * factors[:, None]
            if self.center is not None:
                point, radius = self.center.point, self.center.radius
                shifted = clipped - point
                again = self._factors(shifted, missing, factors, point, radius)
                clipped = point + shifted * again[:, None]
            yield where, clipped

    def _missing(self, features: np.ndarray) -> np.ndarray:
        """Return where values of constrained columns are missing, (n_curves, n_rows)."""
        if not self.curves[0].feature_map.facts.has_missing:
            return np.zeros((len(self.curves), len(features)), dtype=bool)
        return np.stack([features[:, curve.span.stop - 1] > 0.0 for curve in self.curves])

    def _factors(
        self,
        rows: np.ndarray,
        missing: np.ndarray,
        factors: np.ndarray,
        point: np.ndarray,
        norm: float,
    ) -> np.ndarray:
        """Return factors for rows, which are features times `factors` minus a point."""
        if math.isinf(norm):
            return np.ones(len(rows))
        squares = np.einsum("ij,ij->i", rows, rows)
        for curve, unknown in zip(self.curves, missing, strict=True):
            own, m = rows[:, curve.span], point[curve.span]
            typical = factors**2 * curve.mean_square - 2.0 * factors * (curve.mean @ m) + m @ m
            squares += np.where(unknown, 0.0, typical - np.einsum("ij,ij->i", own, own))
        return np.asarray(norm / np.sqrt(np.maximum(squares, norm**2)))


def noise_of(
    learned: Any, unit: float, feature_map: AnyMap
) -> tuple[float | None, list[np.ndarray] | None]:
    """Return the noise bound of the coefficients, and a root for each term (see `NoiseBound`).

    The bound is for the unit of the score.
    """
    if not isinstance(learned, Solution):  # without privacy
        return 0.0, None
    assert isinstance(feature_map, AdditiveMap), "the map of AdditiveFeatures"
    sigma, root = learned.noise_bound, learned.noise_root
    roots = None
    if root is not None:  # square ones with the same SSᵀ: whole ones would make pickles large
        roots = [np.linalg.qr(root[span].T).R.T for _, span in feature_map.spans]
    return None if sigma is None else sigma * unit, roots
