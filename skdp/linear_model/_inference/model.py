"""Standard errors of a linear model: its parameter, its solver, and what it shows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from skdp.data.validation import column_names
from skdp.exceptions import IncompatibleSolverError
from skdp.linear_model._inference.inference import Inference
from skdp.linear_model._inference.inferred import InferredSolution
from skdp.linear_model._inference.moments import MomentInference
from skdp.linear_model._inference.summary import CoefficientSummary
from skdp.linear_model._inference.tilted import TiltedInference
from skdp.linear_model._inference.units import units_of
from skdp.linear_model._inference.wald import WaldTest, contrasts_of, wald_test
from skdp.solvers import Plan, Problem, Solver

_KINDS: dict[str, type[MomentInference] | type[TiltedInference]] = {
    "adassp": MomentInference,
    "objective_perturbation": TiltedInference,
}
_CLIPPED = "Rows longer than data_norm={:.4g} were scaled down to it."


def check_standard_errors(model: Any) -> None:
    """Raise unless the parameters of a model suit its standard errors."""
    asked = model.standard_errors
    if not (isinstance(asked, bool | np.bool_) or (isinstance(asked, str) and asked == "robust")):
        raise ValueError(f"standard_errors must be False, True or 'robust', got {asked!r}.")
    if asked and isinstance(model.center, bool | np.bool_) and model.center:
        raise ValueError("standard_errors needs center=False or center='auto'.")


def solver_with_errors(model: Any) -> Solver:
    """Return the solver of a model with standard errors."""
    names, asked = model.with_errors, model.solver
    if not names:
        raise ValueError(f"{type(model).__name__} has no standard errors.")
    if isinstance(asked, str) and asked in ("auto", *names):
        name = names[0] if asked == "auto" else asked
        return _KINDS[name](is_robust=isinstance(model.standard_errors, str))
    raise IncompatibleSolverError(
        f"standard_errors=True needs solver='auto' or one of {list(names)}, got {asked!r}."
    )


def plan_without_noise(solver: Solver, problem: Problem) -> Plan:
    """Return the plan of a fit at ``epsilon=inf``."""
    assert isinstance(solver, MomentInference | TiltedInference), "chosen by `solver_with_errors`"
    return solver.plan_without_noise(problem)


def publish_inference(
    model: Any, solution: InferredSolution, unit: float, intercept_scaling: float
) -> None:
    """Set the standard errors of published coefficients, in `unit` for each unit of a score."""
    intercept = float(np.ravel(model.intercept_)[0])
    found = Inference.of(solution, model.coef_, intercept, unit, intercept_scaling)
    errors, noise = (found.covariance.std_errors(sampling=both) for both in (True, False))
    n, shape = found.n_columns, model.coef_.shape
    model._inference_ = found
    model.coef_std_error_ = errors[:n].reshape(shape)
    model.coef_noise_std_ = noise[:n].reshape(shape)
    model.coef_covariance_ = found.covariance.shown


def summary_of(model: Any, level: float, scaler: object) -> CoefficientSummary:
    """Return the table of a fitted model."""
    found, names = _inference_of(model, scaler)
    return found.summary(
        names,
        level,
        title=f"{type(model).__name__}: private coefficients",
        facts=_facts(model),
        notes=[_CLIPPED.format(model.data_norm_)],
    )


def wald_test_of(model: Any, hypothesis: object, value: object, scaler: object) -> WaldTest:
    """Return a Wald test for a fitted model."""
    found, columns = _inference_of(model, scaler)
    if hypothesis is None:
        hypothesis = list(range(found.n_columns))
    contrasts = contrasts_of(hypothesis, found.names(columns))
    return wald_test(found.estimates, found.covariance.shown, contrasts, value)


def _inference_of(model: Any, scaler: object) -> tuple[Inference, list[str]]:
    """Return the inference in the units of the columns, and the names of the coefficients."""
    found: Inference | None = getattr(model, "_inference_", None)
    if found is None:
        raise ValueError(
            "This fit has no standard errors. Set standard_errors=True in DPLogisticRegression, "
            "DPLinearRegression or DPHuberRegressor."
        )
    feature_map = getattr(model, "feature_map_", None)
    if scaler is None:
        scaler = getattr(feature_map, "transformer", None)
    if isinstance(scaler, Pipeline) and hasattr(scaler[-1], "predict"):
        scaler = scaler[:-1]  # the model itself, at the end of its pipeline
    units = units_of(scaler, found.n_columns)
    return found.in_units(units), _names(model, feature_map, scaler, found.n_columns)


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


def _facts(model: Any) -> list[tuple[str, str]]:
    """Return what a table says of the guarantee."""
    privacy = model.privacy_
    if privacy.asked is None:
        return [("Privacy", "none, epsilon=inf"), ("Solver", model.solver_)]
    epsilon, delta = privacy.asked
    guarantee = f"epsilon={epsilon:g}, delta={delta:g}, {privacy.neighboring}"
    return [("Privacy", guarantee), ("Solver", model.solver_)]
