"""How a model is learnt privately: a plan from public facts, then a solution from the data."""

from skdp.solvers.adassp import AdaSSP
from skdp.solvers.auto import AutoSolver
from skdp.solvers.base import Plan, Problem, Solution, Solver
from skdp.solvers.coordinate_descent import CoordinateDescent
from skdp.solvers.dp_sgd import DPSGD
from skdp.solvers.exponential_mechanism import ExponentialMechanismSolver
from skdp.solvers.noisy_gd import NoisyGD
from skdp.solvers.objective_perturbation import ObjectivePerturbation
from skdp.solvers.output_perturbation import OutputPerturbation
from skdp.solvers.phased_sgd import PhasedSGD
from skdp.solvers.regularized_exponential import RegularizedExponential, Schedule

__all__ = [
    "DPSGD",
    "SOLVERS",
    "AdaSSP",
    "AutoSolver",
    "CoordinateDescent",
    "ExponentialMechanismSolver",
    "NoisyGD",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "PhasedSGD",
    "Plan",
    "Problem",
    "RegularizedExponential",
    "Schedule",
    "Solution",
    "Solver",
]

SOLVERS: dict[str, type[Solver]] = {
    "auto": AutoSolver,
    "regularized_exponential": RegularizedExponential,
    "noisy_gd": NoisyGD,
    "dp_sgd": DPSGD,
    "objective_perturbation": ObjectivePerturbation,
    "output_perturbation": OutputPerturbation,
    "adassp": AdaSSP,
    "phased_sgd": PhasedSGD,
    "coordinate_descent": CoordinateDescent,
    "exponential_mechanism": ExponentialMechanismSolver,
}
"""Every solver by name."""
