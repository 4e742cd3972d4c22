"""What type checkers see: the names that the module imports on their first use."""

from skdp import (
    accounting,
    additive,
    budget,
    design,
    exceptions,
    inspection,
    linear_model,
    losses,
    mechanisms,
    naive_bayes,
    pipeline,
    preprocessing,
    privacy,
    samplers,
    solvers,
    statistics,
    workloads,
)
from skdp.additive import DPAdditiveClassifier, DPAdditiveRegressor
from skdp.budget import PrivacyBudget
from skdp.linear_model import (
    DPHingeClassifier,
    DPHuberRegressor,
    DPLADRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPQuantileRegressor,
    DPSGDClassifier,
    DPSGDRegressor,
)
from skdp.naive_bayes import DPCategoricalNB, DPGaussianNB, DPMixedNB

__all__ = [
    "DPAdditiveClassifier",
    "DPAdditiveRegressor",
    "DPCategoricalNB",
    "DPGaussianNB",
    "DPHingeClassifier",
    "DPHuberRegressor",
    "DPLADRegressor",
    "DPLinearRegression",
    "DPLogisticRegression",
    "DPMixedNB",
    "DPQuantileRegressor",
    "DPSGDClassifier",
    "DPSGDRegressor",
    "PrivacyBudget",
    "__version__",
    "accounting",
    "additive",
    "budget",
    "design",
    "exceptions",
    "inspection",
    "linear_model",
    "losses",
    "mechanisms",
    "naive_bayes",
    "pipeline",
    "preprocessing",
    "privacy",
    "samplers",
    "solvers",
    "statistics",
    "workloads",
]

__version__: str
