"""What type checkers see: the names that the module imports on their first use."""

from skdp import (
    accounting,
    additive,
    budget,
    cluster,
    decomposition,
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
from skdp.cluster import DPKMeans
from skdp.decomposition import DPPCA
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
    "DPPCA",
    "DPAdditiveClassifier",
    "DPAdditiveRegressor",
    "DPCategoricalNB",
    "DPGaussianNB",
    "DPHingeClassifier",
    "DPHuberRegressor",
    "DPKMeans",
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
    "cluster",
    "decomposition",
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
