"""What type checkers see: the names that the module imports on their first use."""

from skdp import (
    accounting,
    additive,
    budget,
    cluster,
    decomposition,
    design,
    ensemble,
    exceptions,
    inspection,
    kernel_approximation,
    linear_model,
    losses,
    mechanisms,
    metrics,
    model_selection,
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
from skdp.ensemble import DPRandomForestClassifier, DPRandomForestRegressor
from skdp.kernel_approximation import DPKernelClassifier, DPKernelRegressor
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
    "DPKernelClassifier",
    "DPKernelRegressor",
    "DPLADRegressor",
    "DPLinearRegression",
    "DPLogisticRegression",
    "DPMixedNB",
    "DPQuantileRegressor",
    "DPRandomForestClassifier",
    "DPRandomForestRegressor",
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
    "ensemble",
    "exceptions",
    "inspection",
    "kernel_approximation",
    "linear_model",
    "losses",
    "mechanisms",
    "metrics",
    "model_selection",
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
