"""Reproductions of papers that no default uses: samplers, solvers and noise.

Estimators accept those that certify a run that is short enough for a fit, by name, as in
``sampler="localized"`` or ``solver="phased_sgd"``, or as an instance. The other samplers are for
`draw_samples` and `draw_black_box`, which draw **without privacy**.
"""

from skdp.research.draw_samples import draw_black_box, draw_samples
from skdp.research.noise.data_dependent_noise import DataDependentNoise
from skdp.research.noise.event import DataDependentNoiseEvent
from skdp.research.samplers.black_box import BlackBox
from skdp.research.samplers.diagnostics import (
    DistributionCheck,
    compare_with_quadrature,
    effective_sample_size,
    split_rhat,
)
from skdp.research.samplers.gibbs import HingeGibbsSampler, LogisticGibbsSampler
from skdp.research.samplers.hit_and_run import HitAndRunSampler
from skdp.research.samplers.localized import LocalizedSampler
from skdp.research.samplers.mala import MALASampler
from skdp.research.samplers.renyi_langevin import RenyiLangevinSampler
from skdp.research.samplers.smoothed_langevin import SmoothedLangevinSampler
from skdp.research.samplers.walks import BallWalkSampler, GridWalkSampler
from skdp.research.samplers.zeroth_order import AlternatingSchedule, ZerothOrderSampler
from skdp.research.solvers.coordinate_descent import CoordinateDescent
from skdp.research.solvers.expected_evaluations import expected_evaluations
from skdp.research.solvers.exponential_mechanism import ExponentialMechanismSolver
from skdp.research.solvers.phased_sgd import PhasedSGD

__all__ = [
    "AlternatingSchedule",
    "BallWalkSampler",
    "BlackBox",
    "CoordinateDescent",
    "DataDependentNoise",
    "DataDependentNoiseEvent",
    "DistributionCheck",
    "ExponentialMechanismSolver",
    "GridWalkSampler",
    "HingeGibbsSampler",
    "HitAndRunSampler",
    "LocalizedSampler",
    "LogisticGibbsSampler",
    "MALASampler",
    "PhasedSGD",
    "RenyiLangevinSampler",
    "SmoothedLangevinSampler",
    "ZerothOrderSampler",
    "compare_with_quadrature",
    "draw_black_box",
    "draw_samples",
    "effective_sample_size",
    "expected_evaluations",
    "split_rhat",
]
