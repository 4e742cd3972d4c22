"""The registry of solvers."""

from __future__ import annotations

from skdp.solvers.base import Solver
from skdp.support.registry import Registry

__all__ = ["SOLVERS"]

SOLVERS: Registry[Solver] = Registry(
    {
        "auto": "skdp.solvers.auto:AutoSolver",
        "regularized_exponential": "skdp.solvers.regularized_exponential:RegularizedExponential",
        "noisy_gd": "skdp.solvers.noisy_gd:NoisyGD",
        "dp_sgd": "skdp.solvers.dp_sgd:DPSGD",
        "objective_perturbation": "skdp.solvers.objective_perturbation:ObjectivePerturbation",
        "output_perturbation": "skdp.solvers.output_perturbation:OutputPerturbation",
        "adassp": "skdp.solvers.adassp:AdaSSP",
        "phased_sgd": "skdp.research.solvers.phased_sgd:PhasedSGD",
        "coordinate_descent": "skdp.research.solvers.coordinate_descent:CoordinateDescent",
        "exponential_mechanism": (
            "skdp.research.solvers.exponential_mechanism:ExponentialMechanismSolver"
        ),
    }
)
"""Every solver by name."""
