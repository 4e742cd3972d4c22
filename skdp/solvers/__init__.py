"""Private learning of linear models: a plan from public facts, then a solution from the data."""

from skdp.solvers.adassp import AdaSSP
from skdp.solvers.auto import AutoSolver
from skdp.solvers.base import Plan, Problem, Solution, Solver
from skdp.solvers.dp_sgd import DPSGD
from skdp.solvers.noisy_gd import NoisyGD
from skdp.solvers.objective_perturbation import ObjectivePerturbation
from skdp.solvers.output_perturbation import OutputPerturbation
from skdp.solvers.regularized_exponential import RegularizedExponential, Schedule
from skdp.support.registry import Registry

__all__ = [
    "DPSGD",
    "SOLVERS",
    "AdaSSP",
    "AutoSolver",
    "NoisyGD",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Plan",
    "Problem",
    "RegularizedExponential",
    "Schedule",
    "Solution",
    "Solver",
]

SOLVERS: Registry[Solver] = Registry(
    {
        "auto": AutoSolver,
        "regularized_exponential": RegularizedExponential,
        "noisy_gd": NoisyGD,
        "dp_sgd": DPSGD,
        "objective_perturbation": ObjectivePerturbation,
        "output_perturbation": OutputPerturbation,
        "adassp": AdaSSP,
        "phased_sgd": "skdp.research.solvers.phased_sgd:PhasedSGD",
        "coordinate_descent": "skdp.research.solvers.coordinate_descent:CoordinateDescent",
        "exponential_mechanism": (
            "skdp.research.solvers.exponential_mechanism:ExponentialMechanismSolver"
        ),
    }
)
"""Every solver by name."""
