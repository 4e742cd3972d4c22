"""Reproductions of papers that no default uses: samplers, solvers and noise.

Estimators accept those that certify a run that is short enough for a fit, by name, as in
``sampler="localized"`` or ``solver="phased_sgd"``, or as an instance. The other samplers are for
`draw_samples` and `draw_black_box`, which draw **without privacy**.
"""

from skdp.research.data_dependent_noise import DataDependentNoise
from skdp.research.draw_samples import draw_black_box, draw_samples, expected_evaluations
from skdp.research.samplers.diagnostics import (
    compare_with_quadrature,
    effective_sample_size,
    split_rhat,
)
from skdp.research.samplers.zeroth_order import BlackBox

__all__ = [
    "BlackBox",
    "DataDependentNoise",
    "compare_with_quadrature",
    "draw_black_box",
    "draw_samples",
    "effective_sample_size",
    "expected_evaluations",
    "split_rhat",
]
