"""Private learning of linear models: a plan from public facts, then a solution from the data."""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.design.base import Design as Design
    from skdp.solvers.adassp import AdaSSP as AdaSSP
    from skdp.solvers.auto import AutoSolver as AutoSolver
    from skdp.solvers.base import SOLVERS as SOLVERS
    from skdp.solvers.base import Plan as Plan
    from skdp.solvers.base import Problem as Problem
    from skdp.solvers.base import Solution as Solution
    from skdp.solvers.base import Solver as Solver
    from skdp.solvers.dp_sgd import DPSGD as DPSGD
    from skdp.solvers.noisy_gd import NoisyGD as NoisyGD
    from skdp.solvers.perturbation import ObjectivePerturbation as ObjectivePerturbation
    from skdp.solvers.perturbation import OutputPerturbation as OutputPerturbation
    from skdp.solvers.regularized_exponential import (
        RegularizedExponential as RegularizedExponential,
    )
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.design.base": ["Design"],
            "skdp.solvers.adassp": ["AdaSSP"],
            "skdp.solvers.auto": ["AutoSolver"],
            "skdp.solvers.base": ["SOLVERS", "Plan", "Problem", "Solution", "Solver"],
            "skdp.solvers.dp_sgd": ["DPSGD"],
            "skdp.solvers.noisy_gd": ["NoisyGD"],
            "skdp.solvers.perturbation": ["ObjectivePerturbation", "OutputPerturbation"],
            "skdp.solvers.regularized_exponential": ["RegularizedExponential"],
        },
    )
