"""Solvers and samplers as parameters of linear models: their own parameters, and what they take."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from skdp.exceptions import IncompatibleSolverError
from skdp.samplers import SAMPLERS
from skdp.solvers import SOLVERS, Problem, Solver
from skdp.support.lazy_names import Registry
from skdp.support.validation import check_choice

PARTS: dict[str, Registry[Any]] = {"solver": SOLVERS, "sampler": SAMPLERS}


def replaced(part: str, current: Any, new: dict[str, Any]) -> Any:
    """Return a solver or a sampler, or the one of a name, with other parameters."""
    if isinstance(current, str):
        current = PARTS[part][check_choice(part, current, PARTS[part])]()
    known = [field.name for field in fields(current)] if is_dataclass(current) else []
    if unknown := sorted(new.keys() - set(known)):
        raise ValueError(f"Unknown parameters of {part}={current!r}: {unknown}. It has {known}.")
    return replace(current, **new)


def check_reads_blocks(solver: Solver, *, epsilon: float, is_sampled: bool) -> None:
    """Raise if the rows must be in memory. The rows of a sample are."""
    if math.isinf(epsilon):
        raise ValueError(
            "epsilon=inf fits scikit-learn's own estimator, which reads no blocks of rows. "
            "Pass a finite epsilon, or read X and y into memory if they fit."
        )
    if not (solver.takes_blocks or is_sampled):
        raise IncompatibleSolverError(
            f"{solver!r} needs all rows in memory and cannot read blocks. Use a solver "
            f"of {[name for name, kind in SOLVERS.items() if kind().takes_blocks]} with a sampler "
            f"of {[name for name, kind in SAMPLERS.items() if kind.takes_blocks]}, or "
            "subsample=, or read X and y into memory if they fit."
        )


def check_takes_persons(solver: Solver) -> None:
    """Raise if a solver protects single rows only."""
    if not solver.takes_persons:
        raise IncompatibleSolverError(
            f"{type(solver).__name__} cannot protect a person with several rows. With groups, use "
            f"one of {[name for name, kind in SOLVERS.items() if kind.takes_persons]}."
        )


def check_start(start: np.ndarray, solver: Solver, problem: Problem) -> None:
    """Raise unless a solver can start from learned coefficients, and they have its shape."""
    if not hasattr(solver, "resume"):
        raise IncompatibleSolverError(
            "partial_fit needs a solver that can start from earlier coefficients, not "
            f"{type(solver).__name__}. Use one of "
            f"{[name for name, kind in SOLVERS.items() if hasattr(kind, 'resume')]}."
        )
    assert problem.n_features is not None, "known of linear models"
    if start.shape != (wanted := problem.shape(problem.n_features)):
        raise ValueError(
            f"partial_fit cannot continue: the learned coefficients have shape {start.shape}, and "
            f"this fit needs shape {wanted}."
        )
