"""What type checkers see: the names that the module imports on their first use."""

from skdp import (
    accounting,
    additive,
    auditing,
    budget,
    calibration,
    cluster,
    decomposition,
    density,
    ensemble,
    exceptions,
    features,
    inspection,
    linear_model,
    losses,
    mechanisms,
    metrics,
    model_selection,
    naive_bayes,
    pipeline,
    preprocessing,
    privacy,
    research,
    samplers,
    solvers,
    statistics,
    tables,
    tabular,
    workloads,
)
from skdp.accounting import rows_needed
from skdp.additive import DPAdditiveClassifier, DPAdditiveRegressor
from skdp.budget import PrivacyBudget
from skdp.cluster import DPKMeans
from skdp.decomposition import DPPCA
from skdp.density import DPTreeDensity, DPTreeNB
from skdp.ensemble import DPRandomForestClassifier, DPRandomForestRegressor
from skdp.linear_model import (
    DPHingeClassifier,
    DPHuberRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
)
from skdp.naive_bayes import DPCategoricalNB, DPGaussianNB, DPMixedNB
from skdp.tables import TableSchema
from skdp.tabular import DPTabularClassifier, DPTabularRegressor

__all__ = [
    "DPPCA",
    "DPAdditiveClassifier",
    "DPAdditiveRegressor",
    "DPCategoricalNB",
    "DPGaussianNB",
    "DPHingeClassifier",
    "DPHuberRegressor",
    "DPKMeans",
    "DPLinearRegression",
    "DPLogisticRegression",
    "DPMixedNB",
    "DPPoissonRegressor",
    "DPQuantileRegressor",
    "DPRandomForestClassifier",
    "DPRandomForestRegressor",
    "DPTabularClassifier",
    "DPTabularRegressor",
    "DPTreeDensity",
    "DPTreeNB",
    "PrivacyBudget",
    "TableSchema",
    "__version__",
    "accounting",
    "additive",
    "auditing",
    "budget",
    "calibration",
    "cluster",
    "decomposition",
    "density",
    "ensemble",
    "exceptions",
    "features",
    "inspection",
    "linear_model",
    "losses",
    "mechanisms",
    "metrics",
    "model_selection",
    "naive_bayes",
    "pipeline",
    "preprocessing",
    "privacy",
    "research",
    "rows_needed",
    "samplers",
    "solvers",
    "statistics",
    "tables",
    "tabular",
    "workloads",
]

__version__: str
