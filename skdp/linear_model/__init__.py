"""Private linear models."""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.linear_model.hinge import DPHingeClassifier as DPHingeClassifier
    from skdp.linear_model.linear_regression import DPLinearRegression as DPLinearRegression
    from skdp.linear_model.linear_regression import DPPoissonRegressor as DPPoissonRegressor
    from skdp.linear_model.logistic import DPLogisticRegression as DPLogisticRegression
    from skdp.linear_model.robust import DPHuberRegressor as DPHuberRegressor
    from skdp.linear_model.robust import DPQuantileRegressor as DPQuantileRegressor
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.linear_model.hinge": ["DPHingeClassifier"],
            "skdp.linear_model.linear_regression": ["DPLinearRegression", "DPPoissonRegressor"],
            "skdp.linear_model.logistic": ["DPLogisticRegression"],
            "skdp.linear_model.robust": ["DPHuberRegressor", "DPQuantileRegressor"],
        },
    )
