"""Samplers of log-concave densities, each with a certificate of its samples.

Estimators accept the names in `SAMPLERS` as `sampler`; `sampler="auto"` means "proximal".
`REFERENCE_SAMPLERS` are other samplers from papers, for research only.
"""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.samplers.ball import Ball as Ball
    from skdp.samplers.base import Certificate as Certificate
    from skdp.samplers.base import Progress as Progress
    from skdp.samplers.base import Requirement as Requirement
    from skdp.samplers.base import Sample as Sample
    from skdp.samplers.base import Sampler as Sampler
    from skdp.samplers.base import SamplerPlan as SamplerPlan
    from skdp.samplers.base import Setting as Setting
    from skdp.samplers.base import Target as Target
    from skdp.samplers.exact import ExactSampler as ExactSampler
    from skdp.samplers.langevin import LangevinSampler as LangevinSampler
    from skdp.samplers.proximal import ProximalSampler as ProximalSampler
    from skdp.samplers.proximal_bundle import ProximalBundleSampler as ProximalBundleSampler
    from skdp.samplers.proximal_tv import ProximalTVSampler as ProximalTVSampler
    from skdp.samplers.registry import REFERENCE_SAMPLERS as REFERENCE_SAMPLERS
    from skdp.samplers.registry import SAMPLERS as SAMPLERS
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.samplers.ball": ["Ball"],
            "skdp.samplers.base": [
                "Certificate",
                "Progress",
                "Requirement",
                "Sample",
                "Sampler",
                "SamplerPlan",
                "Setting",
                "Target",
            ],
            "skdp.samplers.exact": ["ExactSampler"],
            "skdp.samplers.langevin": ["LangevinSampler"],
            "skdp.samplers.proximal": ["ProximalSampler"],
            "skdp.samplers.proximal_bundle": ["ProximalBundleSampler"],
            "skdp.samplers.proximal_tv": ["ProximalTVSampler"],
            "skdp.samplers.registry": ["REFERENCE_SAMPLERS", "SAMPLERS"],
        },
    )
