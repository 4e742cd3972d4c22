"""Estimates of coefficients with their covariance: intervals, tests and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri
from scipy.stats import norm

from skdp.linear_model._inference.covariance import Covariance
from skdp.linear_model._inference.inferred import InferredSolution
from skdp.linear_model._inference.summary import CoefficientSummary
from skdp.linear_model._inference.units import Units
from skdp.support.validation import check_real

_NOT_IDENTIFIED = "nan: not identified at this epsilon."
_SPLIT = "std err is the root of the sum of the squares of sampling and noise."


@dataclass(frozen=True, eq=False)
class Inference:
    """*Released.* Coefficients and then the intercept, if there is one, with their covariance."""

    estimates: np.ndarray  # (n_coefficients,), the intercept last
    covariance: Covariance
    n_columns: int  # coefficients without the intercept
    kind: str
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        solution: InferredSolution,
        coef: np.ndarray,
        intercept: float,
        unit: float,
        intercept_scaling: float,
    ) -> Inference:
        """Return the inference of published coefficients, in `unit` for each unit of a score."""
        coef = coef.ravel()
        if intercept_scaling == 0.0:
            covariance = solution.covariance.of(unit * np.eye(coef.size))
            return cls(coef, covariance, coef.size, solution.kind, solution.notes)
        scales = unit * np.append(np.ones(coef.size), intercept_scaling)
        covariance = solution.covariance.of(np.diag(scales))
        estimates = np.append(coef, intercept)
        return cls(estimates, covariance, coef.size, solution.kind, solution.notes)

    @property
    def has_intercept(self) -> bool:
        return self.estimates.size > self.n_columns

    def in_units(self, units: Units) -> Inference:
        """Return coefficients of the columns x = center + scale·x' instead of those of x'."""
        slopes = np.diag(1.0 / units.scale)
        if not self.has_intercept:
            if units.center.any():
                raise ValueError("Coefficients in other units need fit_intercept=True.")
            matrix = slopes
        else:
            matrix = np.eye(self.estimates.size)
            matrix[:-1, :-1] = slopes
            matrix[-1, :-1] = -units.center / units.scale
        moved = self.covariance.of(matrix)
        return replace(self, estimates=matrix @ self.estimates, covariance=moved)

    def interval(self, level: float, *, sampling: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the intervals of all coefficients."""
        level = check_real("level", level, low=0.0, high=1.0)
        half = ndtri(0.5 + 0.5 * level) * self.covariance.std_errors(sampling=sampling)
        return self.estimates - half, self.estimates + half

    def names(self, columns: Sequence[str]) -> list[str]:
        """Return the names of all coefficients."""
        return [*columns, *(["Intercept"] if self.has_intercept else [])]

    def summary(
        self,
        columns: Sequence[str],
        level: float,
        title: str,
        facts: Sequence[tuple[str, str]],
        notes: Sequence[str],
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
            notes=[_SPLIT, *notes, *self.notes, *missing],
        )
