"""Samplers of log-concave densities, each with a certificate of its samples.

Estimators accept the names in `SAMPLERS` as `sampler`; `sampler="auto"` means "proximal".
`REFERENCE_SAMPLERS` are other samplers from papers, for research only.
"""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.samplers.base import REFERENCE_SAMPLERS as REFERENCE_SAMPLERS
    from skdp.samplers.base import SAMPLERS as SAMPLERS
    from skdp.samplers.base import Requirement as Requirement
    from skdp.samplers.base import Sample as Sample
    from skdp.samplers.base import Sampler as Sampler
    from skdp.samplers.base import SamplerPlan as SamplerPlan
    from skdp.samplers.base import Setting as Setting
    from skdp.samplers.base import Target as Target
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.samplers.base": [
                "REFERENCE_SAMPLERS",
                "SAMPLERS",
                "Requirement",
                "Sample",
                "Sampler",
                "SamplerPlan",
                "Setting",
                "Target",
            ],
        },
    )
