"""How a model is learnt privately: a plan from public facts, then a solution from the data."""

from skdp.solvers.base import Plan, Problem, Solution, Solver
from skdp.solvers.regularized_exponential import RegularizedExponential

__all__ = ["SOLVERS", "Plan", "Problem", "RegularizedExponential", "Solution", "Solver"]

SOLVERS = {"regularized_exponential": RegularizedExponential}
"""Every solver by name."""
