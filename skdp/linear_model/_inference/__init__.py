"""Standard errors, intervals and tests for the coefficients of private fits."""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.linear_model._inference.model import check_standard_errors as check_standard_errors
    from skdp.linear_model._inference.model import plan_without_noise as plan_without_noise
    from skdp.linear_model._inference.model import publish_inference as publish_inference
    from skdp.linear_model._inference.model import solver_with_errors as solver_with_errors
    from skdp.linear_model._inference.model import summary_of as summary_of
    from skdp.linear_model._inference.model import wald_test_of as wald_test_of
    from skdp.linear_model._inference.summary import CoefficientSummary as CoefficientSummary
    from skdp.linear_model._inference.wald import WaldTest as WaldTest
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.linear_model._inference.model": [
                "check_standard_errors",
                "plan_without_noise",
                "publish_inference",
                "solver_with_errors",
                "summary_of",
                "wald_test_of",
            ],
            "skdp.linear_model._inference.summary": ["CoefficientSummary"],
            "skdp.linear_model._inference.wald": ["WaldTest"],
        },
    )
