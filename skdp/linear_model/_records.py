"""The records of a linear model: rows of a public feature map, and their design for a solver."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import safe_sparse_dot

from skdp.data.records import Records
from skdp.data.validation import column_names, refuse_missing, validated, validated_table
from skdp.design import (
    Center,
    ClippedDesign,
    DaskDesign,
    Design,
    ExpandedDesign,
    FreshDesign,
    MemoryDesign,
    SharedDesign,
    ShiftedDesign,
    design_kind,
    expanded_scores,
)
from skdp.design.base import SumGrid
from skdp.design.transformed import CenteredMap
from skdp.features.additive import AdditiveMap
from skdp.features.base import FeatureMap, PublicFeatures
from skdp.features.combined import AutoFeatures, AutoMap, Rival
from skdp.features.row_wise import RowWiseMap
from skdp.losses import Loss
from skdp.losses.regression import PoissonLoss, shares_of_counts
from skdp.losses.weighted import SharedLoss, WeightedLoss, weighted_targets
from skdp.solvers import Problem, Solver
from skdp.support.types import Label, MatrixLike, VectorLike
from skdp.support.validation import check_choice, check_size

_LARGEST_VALUE = 1e100
_TINY = 1e-150  # an exposure, so that logarithms are finite; it counts as none
_INSIDE = 1.0 - 2.0**-53  # the largest float below 1
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_STORED = [np.dtype(t) for t in ("float64", "float32", "float16", *_INTEGERS, "bool")]
"""Types that X keeps. All others, such as objects and dates, become the first."""
_OF_TEXT = (
    " Encode strings by public categories: features=AdditiveFeatures(bounds=..., categories=...), "
    "or an additive model such as DPAdditiveClassifier."
)
AnyMap: TypeAlias = FeatureMap | AutoMap | RowWiseMap | None
TaskT = TypeVar("TaskT")
FactsT = TypeVar("FactsT")


@dataclass(frozen=True)
class TargetRange:
    """A public or released interval that targets are clipped to; losses see it as [−1, 1]."""

    low: float
    high: float
    shift: float = 0.0  # released: of predictions; of their logarithms for counts
    is_searched: bool = False  # whether a narrower range was looked for
    is_doubtful: bool = False  # released: there are too few of them, or most are too close together
    counts: bool = False  # whether targets are counts, or rates of weights that are exposures
    marks_outside: bool = False  # whether no target inside of the range is coded as −1 or 1

    @property
    def middle(self) -> float:
        """The target with code 0."""
        return 0.5 * self.low + 0.5 * self.high

    @property
    def half_width(self) -> float:
        """Units of the target per unit of the score."""
        return 0.5 * self.high - 0.5 * self.low

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return clipped targets as numbers in [−1, 1]."""
        scaled = np.clip(y, self.low, self.high) - self.middle
        scaled /= self.half_width  # in place, as there may be millions
        np.clip(scaled, -1.0, 1.0, out=scaled)
        if self.marks_outside:
            inside = (self.low <= y) & (y <= self.high)
            scaled = np.where(inside, np.clip(scaled, -_INSIDE, _INSIDE), np.sign(scaled))
        return scaled


@dataclass(frozen=True)
class ExposureLoss(WeightedLoss):
    """The Poisson loss w·(e·e^s − u·s) of a count u in an exposure e, with w = `max_weight`.

    e in [0, 1] is the weight over w, e^s the predicted rate, and u in [0, 1] the count, as shares
    of the largest exposure, rate and count. It is the weighted loss of the rate u/e, but only the
    whole derivative is clipped: w·clip(e·e^s − u, ±h). So counts in short exposures, whose rates
    are far above the largest one, are not cut off.

    *Constants.* With the offset log e the loss is that of a count, moved by log e. A clip at ±h and
    e·e^s, u in [0, 1] give the Lipschitz constant w·min(h, 1), and e·e^s ≤ 1 the smoothness w, as
    for `WeightedLoss`, whatever the exposure is.
    """

    loss: PoissonLoss

    def _parts(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return e, u, s, and the nearest point to s at which the derivative is not clipped."""
        e, u, s = y["weight"] / self.max_weight, shares_of_counts(y["target"]), z + self.loss.start
        tiny, h = np.maximum(e, _TINY), self.loss.threshold
        most = np.minimum(np.log((u + h) / tiny), 0.0)
        least = np.log(np.maximum(u - h, _TINY**2) / tiny)
        return e, u, s, np.clip(s, np.minimum(least, most), most)

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        e, u, s, inside = self._parts(y, z)
        slope = np.clip(e * np.exp(inside) - u, -self.loss.threshold, self.loss.threshold)
        return self.max_weight * (e * np.exp(inside) - u * inside + slope * (s - inside))

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        e, u = y["weight"] / self.max_weight, shares_of_counts(y["target"])
        rise = e * np.exp(np.minimum(z + self.loss.start, 0.0)) - u
        return self.max_weight * np.clip(rise, -self.loss.threshold, self.loss.threshold)

    curvature = PoissonLoss.curvature

    def hessian(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        e, _, s, inside = self._parts(y, z)
        steep = e * np.exp(np.minimum(s, 0.0))
        return self.max_weight * np.where((s < 0.0) & (inside == s), steep, 0.0)


@dataclass(frozen=True)
class TargetScale:
    """A public function of targets: y ↦ sign(y)·log(1 + |y|/unit)."""

    unit: float | None  # inf for y ↦ sign(y)·√|y|; None for the targets themselves

    @classmethod
    def of(cls, kind: object) -> TargetScale:
        """Check a parameter `target_transform` and return its scale."""
        if kind is None:
            return cls(None)
        if isinstance(kind, str):
            check_choice("target_transform", kind, ("log", "sqrt"))
            return cls(1.0 if kind == "log" else math.inf)
        return cls(check_size("the unit of target_transform", kind))

    def scaled(self, y: np.ndarray) -> np.ndarray:
        """Return targets on the scale on which they are learned."""
        if self.unit is None:
            return y
        size = np.sqrt(np.abs(y)) if math.isinf(self.unit) else np.log1p(np.abs(y) / self.unit)
        return np.asarray(np.copysign(size, y))

    def unscaled(self, scores: np.ndarray) -> np.ndarray:
        """Return targets in their own units."""
        if self.unit is None:
            return scores
        is_root = math.isinf(self.unit)
        size = scores**2 if is_root else self.unit * np.expm1(np.abs(scores))
        return np.asarray(np.copysign(size, scores))


@dataclass(frozen=True, eq=False)
class LinearFacts(Generic[TaskT]):
    """Public facts about the records of a linear model."""

    task: TaskT  # the array of classes, or the range of the targets
    solver: Solver
    feature_map: AnyMap  # None for the columns themselves; an AutoMap before the choice
    n_columns: int  # number of features without the intercept
    n_known: int | None  # number of records under replace_one, otherwise a guess
    start: np.ndarray | None = None  # released coefficients of an earlier fit of `n_iter` steps
    n_iter: int = 0
    features: PublicFeatures | None = None  # the choice of `AutoFeatures`
    rival: Rival | None = None  # which short fits may find better
    searched: tuple[int, ...] = ()  # numbers whose ranks are released first
    center: Center | None = None  # released

    @property
    def determines_all(self) -> bool:
        """Whether many rows determine all coefficients; see `Problem`."""
        feature_map = self.feature_map
        has_curves = isinstance(feature_map, AdditiveMap) and not feature_map.pairs
        return feature_map is None or has_curves

    @property
    def stretch(self) -> float:
        """*Released.* Factor from coefficients of shifted rows to coefficients of rows."""
        return 1.0 if self.center is None else self.center.stretch


LinearRecords: TypeAlias = Records[LinearFacts[TaskT]]


def records_of(
    model: BaseEstimator,
    X: MatrixLike,
    y: VectorLike,
    sample_weight: VectorLike | None,
    groups: VectorLike | None,
    *,
    resume: bool,
) -> Records[AnyMap]:
    """Return checked records of rows as the feature map takes them, with the map as facts.

    `resume` takes the map of the fitted model.
    """
    features = learned_map(model) if resume else model._features()
    records = Records.of(
        *(model, X, y, sample_weight, groups),
        max_weight=model.max_weight,
        is_private=math.isfinite(model.epsilon),
        reset=not resume,
        validate=partial(_checked, features is not None),
    )
    names = column_names(model)
    if not (resume or features is None):
        features = _map_of(features, records.X, names)
    if features is not None:
        records = records.mapped(lambda rows: replace(rows, X=_rows_by(features, names, rows.X)))
    return records.with_facts(features)


def _map_of(features: BaseEstimator, table: MatrixLike, names: Sequence[Hashable]) -> AnyMap:
    """Return the map of a transformer, from public facts about the columns of a table.

    Only the number of columns is read and, for transformers of scikit-learn, which columns hold
    text.
    """
    if isinstance(features, str):
        raise ValueError(
            f"features cannot be a string, got {features!r}. To let the model choose, "
            "pass features=AutoFeatures(bounds=..., categories=...), or use DPTabularClassifier or "
            "DPTabularRegressor."
        )
    if isinstance(features, AutoFeatures):
        return features.auto_map(table.shape[1], names)
    if isinstance(features, PublicFeatures):
        return features.feature_map(table.shape[1], names)
    return RowWiseMap.of(features, table, names)


def learned_map(model: BaseEstimator) -> AnyMap:
    return getattr(model, "feature_map_", None)


def learned_center(model: BaseEstimator) -> Center | None:
    point = getattr(model, "center_", None)
    return None if point is None else Center(point, model.center_radius_, model.data_norm_)


def rows_of(model: BaseEstimator, X: MatrixLike) -> MatrixLike:
    """Return checked rows for the map of a fitted model."""
    feature_map = learned_map(model)
    X = _checked(feature_map is not None, model, X, reset=False)
    return _rows_by(feature_map, column_names(model), X)


def _rows_by(feature_map: AnyMap, names: Sequence[Label], X: MatrixLike) -> MatrixLike:
    """Return checked X as rows for a map: features, or a coded table that the map expands."""
    if feature_map is None:
        return X
    if not isinstance(feature_map, RowWiseMap):
        return feature_map.facts.coded(X, names)
    features = feature_map.features(X)
    refuse_missing(features, most=_LARGEST_VALUE)
    return features


def _checked(
    is_table: bool,
    model: BaseEstimator,
    X: MatrixLike,
    y: VectorLike = "no_validation",
    *,
    reset: bool,
    reads_values: bool = True,
) -> Any:
    """Return X, and y if it is given, after checks; no error quotes a value.

    A table keeps its values; other data become finite numbers, with `reads_values`.
    """
    if is_table:
        return validated_table(model, X, y, reset=reset)
    most = math.inf if isinstance(y, str) else _LARGEST_VALUE
    options: dict[str, Any] = {"accept_sparse": "csr", "dtype": _STORED, "advice": _OF_TEXT}
    return validated(model, X, y, reset=reset, most=most, reads_values=reads_values, **options)


def matrix_of(feature_map: AnyMap, rows: MatrixLike) -> MatrixLike:
    expanded = _expanded(feature_map)
    return rows if expanded is None else expanded.whole(expanded.prepare(rows))


def scores_of(
    feature_map: AnyMap,
    rows: MatrixLike,
    coef: np.ndarray | sparse.spmatrix,
    data_norm: float,
    center: Center | None = None,
) -> np.ndarray:
    """Return products of clipped features and coefficients, dense unless nothing is clipped."""
    expanded = _expanded(feature_map)
    if center is not None:
        near = None if expanded is None else expanded.for_scores()
        if near is not None and near.is_sparse:
            design = ShiftedDesign.clip(rows, CenteredMap(near, center), data_norm)
            return design.scores(coef) / center.stretch + center.point @ coef
        scores = np.empty((rows.shape[0], coef.shape[1]))
        for where, clipped in CenteredMap(near, center).clipped(rows):
            scores[where] = clipped @ coef
        return scores
    if expanded is not None:
        return expanded_scores(rows, expanded, data_norm, coef)
    if math.isinf(data_norm):
        return np.asarray(safe_sparse_dot(rows, coef, dense_output=True))
    return ClippedDesign.clip(rows, data_norm).scores(coef)


def clipped_scores(model: BaseEstimator, X: MatrixLike, coef: np.ndarray) -> np.ndarray:
    """Return products of clipped rows, without features or a center, and coefficients.

    The norms of the rows show whether a value is not finite, so no read of X looks for it.
    """
    X = _checked(False, model, X, reset=False, reads_values=False)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = ClippedDesign.clip(X, model.data_norm_)
    if not rows.factors.min(initial=1.0) > 0.0:  # nan, or 0 for an infinite norm
        refuse_missing(X, column_names(model))
    return rows.scores(coef)


def weighted(loss: Loss, records: LinearRecords[TaskT]) -> Loss:
    """Return the loss of weighted rows if the records have weights."""
    largest = records.max_weight
    if largest is None:  # weights without a public bound: without privacy only
        largest = 1.0 if records.weights is None else float(records.weights.max(initial=1.0))
    if records.persons is not None:
        return SharedLoss(loss, largest)
    if isinstance(loss, PoissonLoss) and _has_exposures(records):
        return ExposureLoss(loss, largest)
    return loss if records.weights is None else WeightedLoss(loss, largest)


def _has_exposures(records: LinearRecords[TaskT]) -> bool:
    """Return whether weights are exposures of counts. The shares of a person's rows are not."""
    counts = isinstance(records.facts.task, TargetRange) and records.facts.task.counts
    return counts and records.max_weight is not None and records.persons is None


def row_weights(records: LinearRecords[TaskT]) -> np.ndarray | None:
    """Return row weights, by which a person counts as one record; None if all are 1."""
    if records.persons is None:
        return records.weights
    shares = records.persons.row_weights()
    return shares if records.weights is None else shares * records.weights


def design_of(records: LinearRecords[TaskT], problem: Problem, by_samples: bool = False) -> Design:
    """Return the clipped rows and their targets, as the loss expects them, for a solver."""
    norm, scaling, loss = problem.data_norm, problem.intercept_scaling, problem.loss
    if by_samples and (read := _read_map(records)) is not None:
        return FreshDesign(records.X, read, norm, scaling, _targets(records))
    rows: Any = records.each(partial(_clipped, norm, scaling))
    if records.blocks is not None:
        return DaskDesign(rows, records.facts.n_columns + (scaling > 0.0))
    if records.persons is None or not isinstance(loss, SharedLoss):
        return rows  # type: ignore[no-any-return]
    return SharedDesign(rows, records.persons, loss.largest)


def row_sums(
    data_norm: float, intercept_scaling: float, grid: SumGrid, records: LinearRecords[TaskT]
) -> dict[str, np.ndarray]:
    """Return Σ s·(ã, b) over rows ã clipped to R, with the row's share s of a record, on a grid."""
    shares = np.ones(records.n_rows) if records.shares is None else records.shares
    rows = _clipped(data_norm, intercept_scaling, records, shares)
    return {"sums": rows.exact_total(lambda block: block.weighted_sum(block.targets), grid)}


def row_scores(problem: Problem, theta: np.ndarray, records: LinearRecords[TaskT]) -> np.ndarray:
    """Return the scores of rows, clipped as in the fit of `theta` to the problem."""
    norm, scaling = problem.data_norm, problem.intercept_scaling
    return _clipped(norm, scaling, records).scores(theta)


def _targets(records: LinearRecords[TaskT]) -> np.ndarray:
    """Return targets as the loss expects them."""
    weights, targets, task = row_weights(records), records.y, records.facts.task
    if isinstance(task, TargetRange):
        assert not _has_exposures(records) or records.shares is not None, "weights have a bound"
        targets = task.encode(targets * records.shares if _has_exposures(records) else targets)
    return targets if weights is None else weighted_targets(targets, weights)


def retargeted(design: Design, records: LinearRecords[TaskT], problem: Problem) -> Design:
    """Return the rows of a fit with the targets of `records`; its features are not made again."""
    rows = design.inner if isinstance(design, SharedDesign) else design
    if not isinstance(rows, (ClippedDesign, ExpandedDesign, FreshDesign, ShiftedDesign)):
        return design_of(records, problem)
    rows = replace(rows, targets=_targets(records))
    return replace(design, inner=rows) if isinstance(design, SharedDesign) else rows


def _clipped(
    data_norm: float,
    intercept_scaling: float,
    records: LinearRecords[TaskT],
    targets: np.ndarray | None = None,
) -> MemoryDesign:
    """Return clipped rows with their targets, as the loss expects them, or with other numbers."""
    targets, read = _targets(records) if targets is None else targets, _read_map(records)
    if read is None:
        return ClippedDesign.clip(records.X, data_norm, intercept_scaling, targets)
    return design_kind(read).clip(records.X, read, data_norm, intercept_scaling, targets)


def _read_map(records: LinearRecords[Any]) -> FeatureMap | None:
    """Return the map with which fits read rows, None for the rows themselves."""
    expanded, center = _expanded(records.facts.feature_map), records.facts.center
    if center is not None:
        expanded = CenteredMap(expanded, center)
    return None if expanded is None else expanded.for_fits()


def _expanded(feature_map: AnyMap) -> FeatureMap | None:
    """Return the map if it expands rows whenever they are read."""
    assert not isinstance(feature_map, AutoMap), "features are chosen before rows are read"
    return None if isinstance(feature_map, RowWiseMap) else feature_map


def entries_kept(feature_map: AnyMap) -> int | None:
    """Entries of a row, if the center is subtracted from sums of rows; None if from each row."""
    read = feature_map.for_fits() if isinstance(feature_map, FeatureMap) else None
    return read.n_entries if read is not None and read.is_sparse else None


def dense(coef: np.ndarray | sparse.spmatrix) -> np.ndarray:
    """Return coefficients as an array, also after `sparsify`."""
    return coef if isinstance(coef, np.ndarray) else coef.toarray()
