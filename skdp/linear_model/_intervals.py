"""Covariances of released coefficients, and the intervals, tables and tests that follow from them.

All of it is computed from released and public numbers, so it costs no privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import chi2, norm
from sklearn.base import BaseEstimator, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import warn_paid
from skdp.data.validation import column_names
from skdp.linear_model._records import dense
from skdp.solvers import Solution
from skdp.support.display import html_table
from skdp.support.types import MatrixLike, VectorLike
from skdp.support.validation import check_real

if TYPE_CHECKING:
    import pandas

# Of noise, for `_largest_noise`.
_BEYOND = 1.7
_OF_FEW = 4.6
_MOST_WEAK = 0.05  # of a variance from directions that are not identified
_NOT_IDENTIFIED = "nan: not identified at this epsilon."
_SPLIT = "std err is the root of the sum of the squares of sampling and noise."
_DIGITS = {"z": ".3f", "P>|z|": ".3f"}
_NAME = 24  # characters of a name in text
_CLIPPED = "Rows longer than data_norm={:.4g} were scaled down to it."
# With 2.7 % clipped rows, 95 % intervals covered in .85 of samples of 20 000 rows, and in .32 of
# 200 000. With .7 % they covered in .92 or more of both.
_MOST_CLIPPED = 0.01
# Residuals whose spread and skewness depend on a column: with 2 %, intervals covered in none of 30
# samples of 20 000 rows, with .2 % in .93.
_MOST_RESIDUALS = 0.01
_SHORTER = (
    " were clipped. If they are skewed, or their spread varies, coefficients and intervals are not "
    "those of means: of targets that are 0 or 1, a slope may be a quarter of the true one. Pass "
    "slope_bound=2, which clips none, or solver='adassp'."
)
_LONG = "are longer than data_norm={:.4g}"
_OUTSIDE = " or have targets outside of target_bounds"
_ADVICE = (
    " Coefficients and intervals describe clipped rows. Pass a data_norm that no row exceeds, such "
    "as d**0.5 for d columns in [-1, 1]{}."
)


@dataclass(frozen=True, eq=False)
class Curvature:
    """*Released.* A noisy second derivative Ĥ, whose eigenvalues are raised to its noise.

    Directions whose eigenvalues were raised are *weak*: the data say less about them than the
    noise. So are those in which a ridge outweighs the data, where its bias is not small.
    """

    values: np.ndarray  # eigenvalues, raised
    vectors: np.ndarray
    is_weak: np.ndarray  # of each direction

    @classmethod
    def of(cls, matrix: np.ndarray, scale: float, ridge: float = 0.0) -> Curvature:
        """Return the curvature of a released matrix with noise of size σ = `scale`."""
        values, vectors = np.linalg.eigh(matrix)
        least = scale * _largest_noise(values / scale)
        return cls(np.maximum(values, least), vectors, values <= max(least, ridge))

    @cached_property
    def matrix(self) -> np.ndarray:
        return (self.vectors * self.values) @ self.vectors.T

    @cached_property
    def inverse(self) -> np.ndarray:
        return (self.vectors / self.values) @ self.vectors.T

    def bias_of_inverse(self, scale: float) -> np.ndarray:
        """Return B with E Ĥ⁻¹H ≈ I + B, to second order in noise of size σ = `scale`.

        Ĥ⁻¹ = H⁻¹ − H⁻¹NH⁻¹ + H⁻¹NH⁻¹NH⁻¹ − ..., and E NMN = ½σ²(M + tr(M)·I) for symmetric M.
        """
        trace = float((1.0 / self.values).sum())
        return 0.5 * scale**2 * self.inverse @ (self.inverse + trace * np.eye(self.values.size))

    def sandwich(self, sampling: np.ndarray, noise: np.ndarray) -> Covariance:
        """Return Ĥ⁻¹·J·Ĥ⁻¹ for the middle matrices of the gradients and of their noise."""
        inverse, weak = self.inverse, self.vectors[:, self.is_weak]
        of_weak = (weak / self.values[self.is_weak]) @ weak.T
        return Covariance(
            sampling=inverse @ sampling @ inverse,
            noise=inverse @ noise @ inverse,
            weak=of_weak @ (sampling + noise) @ of_weak,
        )


def _largest_noise(values: np.ndarray) -> float:
    """Return the size up to which rising eigenvalues may be noise of size 1.

    If m directions have no curvature, their eigenvalues are those of the noise of an m × m matrix.
    The largest is about √(2m) + m^(−1/6)·T/√2, T of the Tracy-Widom distribution, and N(0, 1) for
    m = 1. It exceeds √(2m) + 1.7·m^(−1/6) with a probability of .001 to .01. The answer is for the
    largest m whose m least eigenvalues are within that.

    Noise lowers the least of many equal eigenvalues, and so makes standard errors larger. Of few it
    may be raised, and those that pass a low bar would be: so the bar is higher for few.
    """
    m = np.arange(1, values.size + 1)
    sizes = np.sqrt(2.0 * m) + _BEYOND * m ** (-1.0 / 6.0)
    sizes = np.maximum(sizes, min(_OF_FEW, 2.2 + 15.0 / values.size))
    within = np.flatnonzero(values <= sizes)
    return float(sizes[within[-1]] if within.size else sizes[0])


@dataclass(frozen=True, eq=False)
class Covariance:
    """*Released.* The covariance of coefficients by its sources: a sample of records, and noise.

    `weak` is the part of both that is from directions that the release does not identify.
    """

    sampling: np.ndarray
    noise: np.ndarray
    weak: np.ndarray

    @property
    def total(self) -> np.ndarray:
        return self.sampling + self.noise

    @property
    def is_identified(self) -> np.ndarray:
        """Whether each coefficient has at most 5 % of its variance from weak directions."""
        return np.diag(self.weak) <= _MOST_WEAK * np.diag(self.total)

    def more(self, noise: np.ndarray) -> Covariance:
        """Return the covariance with more noise."""
        return replace(self, noise=self.noise + noise)

    def unknown(self) -> Covariance:
        """Return the same covariance with all coefficients marked as not identified."""
        return replace(self, weak=self.total)

    def of(self, matrix: np.ndarray) -> Covariance:
        """Return the covariance of `matrix` times the coefficients."""
        parts = (matrix @ part @ matrix.T for part in (self.sampling, self.noise, self.weak))
        return Covariance(*parts)

    def std_errors(self, *, sampling: bool = True) -> np.ndarray:
        """Return standard errors, nan where the release does not identify a coefficient."""
        variances = np.diag(self.total if sampling else self.noise)
        found = np.sqrt(np.maximum(variances, 0.0))
        return np.where(self.is_identified, found, np.nan)

    @property
    def shown(self) -> np.ndarray:
        """The total, nan in the rows and columns of coefficients that are not identified."""
        keep = self.is_identified
        return np.where(np.outer(keep, keep), self.total, np.nan)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class InferredSolution(Solution):
    """*Released.* Coefficients without the bias of a ridge, and their covariance."""

    covariance: Covariance
    kind: str  # of the covariance, in words
    notes: tuple[str, ...] = ()  # for a table
    clipped: float  # at least this share of the rows is longer than `data_norm`
    residuals: float = 0.0  # at least this share of them is clipped in a regression of means
    dispersion: float | None = None  # of counts: variance over mean, as a share of the largest


def coef_interval(
    self: Any, level: float = 0.95, *, sampling: bool | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Compute confidence intervals of the coefficients.

    With `standard_errors`, they cover the coefficients of the population, from which records
    are a sample. Without the sampling error they cover the coefficients of a fit to the same
    rows without noise, and without a ridge.

    Parameters
    ----------
    level : float in (0, 1)
        *Public.* Coverage of each interval.
    sampling : bool or None
        *Public.* Whether to include the variation between samples of records. ``None``: with
        `standard_errors`; otherwise intervals cover the regularized fit to the same rows.

    Returns
    -------
    low, high : ndarray of the shape of `coef_`
        Computed from released and public numbers; nan where the release does not identify a
        coefficient, and for all of them if the ridge outweighs a rare class.

    Raises
    ------
    ValueError
        If the fit has no standard errors, and its solver does not add Gaussian noise of known
        size to an optimum, as ``solver="output_perturbation"`` does.
    """
    check_is_fitted(self, "coef_")
    if hasattr(self, "_inference_"):
        ends = self._inference_.interval(level, sampling=sampling is not False)
        shape, n = np.shape(self.coef_), self._inference_.n_columns
        return ends[0][:n].reshape(shape), ends[1][:n].reshape(shape)
    if sampling or not hasattr(self, "coef_noise_"):
        raise ValueError(
            "Intervals of this fit are not available. Set standard_errors=True in "
            "DPLogisticRegression, DPLinearRegression or DPHuberRegressor, or use "
            "solver='output_perturbation' for intervals without the sampling error."
        )
    half = ndtri(0.5 + 0.5 * check_real("level", level, low=0.0, high=1.0)) * self.coef_noise_
    return dense(self.coef_) - half, dense(self.coef_) + half


def summary(
    self: Any, *, level: float = 0.95, scaler: BaseEstimator | None = None
) -> CoefficientSummary:
    """Return a table of the coefficients, as statsmodels does, for `standard_errors`.

    Its columns are the coefficient, its standard error with both parts, sampling and noise, the
    z statistic, its p-value for a coefficient of 0, and the interval.

    Parameters
    ----------
    level : float in (0, 1)
        *Public.* Coverage of each interval.
    scaler : transformer or None
        *Public.* The `BoundsScaler` in front of the model, or a pipeline or `ColumnTransformer`
        with such scalers. Coefficients are then in the units of its input. Scalers within
        `features` are found without it.

    Returns
    -------
    CoefficientSummary
        With ``as_text()``, ``as_html()`` and ``to_frame()``. It costs no privacy.

    Raises
    ------
    ValueError
        If the fit has no standard errors, or `scaler` has other columns.
    """
    check_is_fitted(self, "coef_")
    found, names = _inference_of(self, scaler)
    guarantee = "none, epsilon=inf"
    if self.privacy_.asked is not None:
        epsilon, delta = self.privacy_.asked
        guarantee = f"epsilon={epsilon:g}, delta={delta:g}, {self.privacy_.neighboring}"
    title = f"{type(self).__name__}: private coefficients"
    facts = [("Privacy", guarantee), ("Solver", self.solver_)]
    return found.summary(names, level, title, facts, _CLIPPED.format(self.data_norm_))


def wald_test(
    self: Any,
    hypothesis: MatrixLike | None = None,
    *,
    value: float | VectorLike = 0.0,
    scaler: BaseEstimator | None = None,
) -> WaldTest:
    """Test that several coefficients, or linear combinations of them, have given values.

    Parameters
    ----------
    hypothesis : list of str or int, ndarray of shape (n_tests, n_coefficients) or None
        *Public.* Names or positions of coefficients, ``"Intercept"`` being the last, or a row
        of factors for each combination. ``None``: all but the intercept.
    value : float or array-like of shape (n_tests,)
        *Public.* Values under the hypothesis.
    scaler : transformer or None
        *Public.* See `summary`.

    Returns
    -------
    WaldTest
        Named tuple of ``statistic``, ``df`` and ``pvalue``; nan if a coefficient is not
        identified. It costs no privacy.

    Raises
    ------
    ValueError
        If the fit has no standard errors, or a coefficient is unknown.
    """
    check_is_fitted(self, "coef_")
    found, columns = _inference_of(self, scaler)
    if hypothesis is None:
        hypothesis = list(range(found.n_columns))
    contrasts = contrasts_of(hypothesis, found.names(columns))
    return wald_statistic(found.estimates, found.covariance.shown, contrasts, value)


def check_standard_errors(model: Any) -> None:
    asked = model.standard_errors
    if not (isinstance(asked, bool | np.bool_) or (isinstance(asked, str) and asked == "robust")):
        raise ValueError(f"standard_errors must be False, True or 'robust', got {asked!r}.")
    if asked and isinstance(model.center, bool | np.bool_) and model.center:
        raise ValueError("standard_errors needs center=False or center='auto'.")


def publish_inference(
    model: Any, solution: InferredSolution, unit: float, intercept_scaling: float
) -> None:
    """Set the standard errors of published coefficients, in `unit` for each unit of a score."""
    n, shape, estimates = model.coef_.size, model.coef_.shape, model.coef_.ravel()
    scales = np.full(n, unit)
    if intercept_scaling > 0.0:
        estimates = np.append(estimates, np.ravel(model.intercept_)[0])
        scales = np.append(scales, unit * intercept_scaling)
    covariance = solution.covariance.of(np.diag(scales))
    notes = solution.notes
    if solution.dispersion is not None:
        most = model.target_bounds_[1]
        notes = (*notes, f"Variance of counts over their mean: {most * solution.dispersion:.3g}.")
    if solution.clipped > _MOST_CLIPPED:
        outside, bounds = (_OUTSIDE, ", and wider bounds") if is_regressor(model) else ("", "")
        long = _LONG.format(model.data_norm_) + outside
        notes = (*notes, f"At least {solution.clipped:.0%} of the rows {long}.")
        warn_paid(notes[-1] + _ADVICE.format(bounds))
    if solution.residuals > _MOST_RESIDUALS:
        warn_paid(f"At least {solution.residuals:.0%} of the residuals{_SHORTER}")
    model._inference_ = Inference(estimates, covariance, n, solution.kind, notes)
    model.coef_std_error_ = covariance.std_errors()[:n].reshape(shape)
    model.coef_noise_std_ = covariance.std_errors(sampling=False)[:n].reshape(shape)
    model.coef_covariance_ = covariance.shown


def _inference_of(model: Any, scaler: object) -> tuple[Inference, list[str]]:
    """Return the inference in the units of the columns, and the names of the coefficients."""
    found: Inference | None = getattr(model, "_inference_", None)
    if found is None:
        raise ValueError(
            "This fit has no standard errors. Set standard_errors=True in DPLogisticRegression, "
            "DPLinearRegression, DPHuberRegressor or DPPoissonRegressor."
        )
    feature_map = getattr(model, "feature_map_", None)
    if scaler is None:
        scaler = getattr(feature_map, "transformer", None)
    if isinstance(scaler, Pipeline) and hasattr(scaler[-1], "predict"):
        scaler = scaler[:-1]  # the model itself, at the end of its pipeline
    center, scale = units_of(scaler, found.n_columns)
    return found.in_units(center, scale), _names(model, feature_map, scaler, found.n_columns)


def _names(model: Any, feature_map: Any, scaler: Any, n_columns: int) -> list[str]:
    """Return the names of the columns, or else x0, x1 and so on."""
    for named in (feature_map, scaler):
        try:
            names = [str(name) for name in named.get_feature_names_out()]
        except (AttributeError, ValueError):
            continue
        if len(names) == n_columns:
            return names
    names = [str(name) for name in column_names(model)]
    return names if len(names) == n_columns else [f"x{j}" for j in range(n_columns)]


@dataclass(frozen=True, eq=False)
class Inference:
    """*Released.* Coefficients and then the intercept, if there is one, with their covariance."""

    estimates: np.ndarray  # (n_coefficients,), the intercept last
    covariance: Covariance
    n_columns: int  # coefficients without the intercept
    kind: str
    notes: tuple[str, ...]

    @property
    def has_intercept(self) -> bool:
        return self.estimates.size > self.n_columns

    def in_units(self, center: np.ndarray, scale: np.ndarray) -> Inference:
        """Return coefficients of the columns x = center + scale·x' instead of those of x'."""
        matrix = np.diag(np.append(1.0 / scale, [1.0] * self.has_intercept))
        if self.has_intercept:
            matrix[-1, :-1] = -center / scale
        elif center.any():
            raise ValueError("Coefficients in other units need fit_intercept=True.")
        moved = self.covariance.of(matrix)
        return replace(self, estimates=matrix @ self.estimates, covariance=moved)

    def interval(self, level: float, *, sampling: bool = True) -> tuple[np.ndarray, np.ndarray]:
        level = check_real("level", level, low=0.0, high=1.0)
        half = ndtri(0.5 + 0.5 * level) * self.covariance.std_errors(sampling=sampling)
        return self.estimates - half, self.estimates + half

    def names(self, columns: Sequence[str]) -> list[str]:
        return [*columns, *(["Intercept"] if self.has_intercept else [])]

    def summary(
        self,
        columns: Sequence[str],
        level: float,
        title: str,
        facts: Sequence[tuple[str, str]],
        note: str,
    ) -> CoefficientSummary:
        """Return the table of the coefficients, the intercept first."""
        low, high = self.interval(level)
        errors = self.covariance.std_errors()
        is_known = np.isfinite(errors)
        z = np.where(is_known, self.estimates / np.where(is_known, errors, 1.0), np.nan)
        variance = np.maximum(np.diag(self.covariance.sampling), 0.0)
        tail = 0.5 - 0.5 * level
        table = {
            "coef": np.where(is_known, self.estimates, np.nan),
            "std err": errors,
            "sampling": np.where(is_known, np.sqrt(variance), np.nan),
            "noise": self.covariance.std_errors(sampling=False),
            "z": z,
            "P>|z|": 2.0 * norm.sf(np.abs(z)),
            f"[{tail:.4g}": low,
            f"{1.0 - tail:.4g}]": high,
        }
        order = np.roll(np.arange(z.size), 1) if self.has_intercept else np.arange(z.size)
        names = self.names(columns)
        missing = [] if is_known.all() else [_NOT_IDENTIFIED]
        return CoefficientSummary(
            title=title,
            facts=[*facts, ("Covariance", self.kind)],
            names=[names[k] for k in order],
            columns={name: column[order] for name, column in table.items()},
            notes=[_SPLIT, note, *self.notes, *missing],
        )


def units_of(transformer: Any, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return c and s of the columns of a fitted transformer, which were c + s·x before it.

    Scalers, which have `output_units`, are found as the only step of a pipeline that changes units,
    and as parts of a `ColumnTransformer`. Columns of other transformers are their own units.
    """
    center, scale = np.zeros(n_columns), np.ones(n_columns)
    if hasattr(transformer, "output_units"):
        center, scale = transformer.output_units()
    elif isinstance(transformer, Pipeline):
        steps = [step for _, step in transformer.steps if step not in (None, "passthrough")]
        if len(steps) > 1 and any(hasattr(step, "output_units") for step in steps):
            raise ValueError(
                "scaler is a pipeline of several transformers, whose units are unknown. If only "
                "one of them changes units, pass that one."
            )
        return units_of(steps[0] if len(steps) == 1 else None, n_columns)
    elif isinstance(transformer, ColumnTransformer):
        for name, part, _ in transformer.transformers_:
            own = transformer.output_indices_[name]
            center[own], scale[own] = units_of(part, own.stop - own.start)
    if scale.size != n_columns:
        raise ValueError(
            f"scaler returns {scale.size} columns, and the model has {n_columns} coefficients. "
            "Pass the transformer whose output the model was fitted to."
        )
    return center, scale


class WaldTest(NamedTuple):
    """The result of a Wald test; *released,* so that it costs no privacy."""

    statistic: float  # with a chi-squared distribution under the hypothesis
    df: int  # its degrees of freedom
    pvalue: float


def contrasts_of(hypothesis: Any, names: Sequence[str]) -> np.ndarray:
    """Return a matrix with a row for each restriction, from names, positions or a matrix."""
    n = len(names)
    if isinstance(hypothesis, str):
        hypothesis = [hypothesis]
    if np.ndim(hypothesis) == 2:
        matrix = np.asarray(hypothesis, dtype=float)
        if matrix.shape[1] != n or not len(matrix) or not np.isfinite(matrix).all():
            raise ValueError(f"hypothesis must have rows, and {n} finite columns: {list(names)}.")
        return matrix
    places = [_place(one, names) for one in np.ravel(np.asarray(hypothesis, dtype=object))]
    if not places or len(set(places)) < len(places):
        raise ValueError("hypothesis must name each coefficient once, and at least one.")
    return np.eye(n)[places]


def wald_statistic(
    estimates: np.ndarray, covariance: np.ndarray, contrasts: np.ndarray, value: Any
) -> WaldTest:
    """Return the test of contrasts·θ = value; nan if a coefficient is not identified.

    Coefficients that no contrast involves do not matter.
    """
    used = (contrasts != 0.0).any(axis=0)
    R = contrasts[:, used]
    if np.linalg.matrix_rank(R) < len(R):
        raise ValueError("hypothesis must have linearly independent rows.")
    values = np.asarray(value, dtype=float)
    if values.shape not in ((), (1,), (len(R),)) or not np.isfinite(values).all():
        raise ValueError(f"value must be a finite number, or one for each of {len(R)} rows.")
    gap = R @ estimates[used] - values
    variance = R @ covariance[np.ix_(used, used)] @ R.T
    if np.isnan(variance).any():
        return WaldTest(np.nan, len(R), np.nan)
    statistic = float(gap @ np.linalg.solve(variance, gap))
    return WaldTest(statistic, len(R), float(chi2.sf(statistic, len(R))))


def _place(one: object, names: Sequence[str]) -> int:
    if isinstance(one, str):
        if one not in names:
            raise ValueError(f"Unknown coefficient {one!r}. The coefficients are {list(names)}.")
        return list(names).index(one)
    if isinstance(one, int | np.integer) and not isinstance(one, bool) and 0 <= one < len(names):
        return int(one)
    raise ValueError(f"Coefficients are named, or numbered from 0 to {len(names) - 1}; got {one!r}")


@dataclass(frozen=True, eq=False, repr=False)
class CoefficientSummary:
    """A table of coefficients, computed from *released* numbers; it costs no privacy.

    Parameters
    ----------
    title : str
        *Public.*
    facts : sequence of (str, str)
        *Public.* Names and values above the table.
    names : sequence of str
        *Public.* Names of the coefficients.
    columns : dict of str to ndarray
        *Released.* The columns of the table.
    notes : sequence of str
        *Released.* Sentences below the table.
    """

    title: str
    facts: Sequence[tuple[str, str]]
    names: Sequence[str]
    columns: dict[str, np.ndarray]
    notes: Sequence[str]

    def to_frame(self) -> pandas.DataFrame:
        """Return the table as a pandas data frame, with full precision.

        Returns
        -------
        DataFrame
            A row for each coefficient.
        """
        import pandas

        return pandas.DataFrame(self.columns, index=list(self.names))

    def as_text(self) -> str:
        """Return the table as text.

        Returns
        -------
        str
        """
        cells = self._cells()
        first = max(len("Intercept"), *(min(len(name), _NAME) for name in self.names))
        widths = [max(map(len, column), default=0) for column in zip(*cells, strict=True)]
        widths = [max(w, len(n)) for w, n in zip(widths, self.columns, strict=True)]
        head = _line("", self.columns, first, widths)
        rows = [_line(n, c, first, widths) for n, c in zip(self.names, cells, strict=True)]
        double, single = "=" * len(head), "-" * len(head)
        facts = [f"{name + ':':<14}{value}" for name, value in self.facts]
        above = [self.title.center(len(head)).rstrip(), double, *facts, double, head, single]
        return "\n".join([*above, *rows, double, *self.notes])

    def as_html(self) -> str:
        """Return the table as HTML.

        Returns
        -------
        str
        """
        facts = html_table(("", ""), self.facts, named=True)
        rows = [(name, *row) for name, row in zip(self.names, self._cells(), strict=True)]
        table = html_table(("", *self.columns), rows, named=True)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<p><b>{escape(self.title)}</b></p>{facts}{table}{notes}"

    def __repr__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()

    def _cells(self) -> list[list[str]]:
        texts = [
            [format(x, _DIGITS.get(name, ".4g")) for x in column]
            for name, column in self.columns.items()
        ]
        return [list(row) for row in zip(*texts, strict=True)]


def _line(name: str, cells: Any, first: int, widths: Sequence[int]) -> str:
    name = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
    return f"{name:<{first}}  " + "  ".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))
