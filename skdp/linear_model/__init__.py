"""Private linear models."""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.linear_model.hinge import DPHingeClassifier as DPHingeClassifier
    from skdp.linear_model.huber import DPHuberRegressor as DPHuberRegressor
    from skdp.linear_model.lad import DPLADRegressor as DPLADRegressor
    from skdp.linear_model.linear_regression import DPLinearRegression as DPLinearRegression
    from skdp.linear_model.logistic import DPLogisticRegression as DPLogisticRegression
    from skdp.linear_model.poisson import DPPoissonRegressor as DPPoissonRegressor
    from skdp.linear_model.quantile import DPQuantileRegressor as DPQuantileRegressor
    from skdp.linear_model.sgd_classifier import DPSGDClassifier as DPSGDClassifier
    from skdp.linear_model.sgd_regressor import DPSGDRegressor as DPSGDRegressor
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.linear_model.hinge": ["DPHingeClassifier"],
            "skdp.linear_model.huber": ["DPHuberRegressor"],
            "skdp.linear_model.lad": ["DPLADRegressor"],
            "skdp.linear_model.linear_regression": ["DPLinearRegression"],
            "skdp.linear_model.logistic": ["DPLogisticRegression"],
            "skdp.linear_model.poisson": ["DPPoissonRegressor"],
            "skdp.linear_model.quantile": ["DPQuantileRegressor"],
            "skdp.linear_model.sgd_classifier": ["DPSGDClassifier"],
            "skdp.linear_model.sgd_regressor": ["DPSGDRegressor"],
        },
    )
