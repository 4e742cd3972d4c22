"""Differential privacy behind scikit-learn's interface: estimators, scalers and statistics.

An **estimator** gets a plan of its releases from a **solver**, which uses public facts only. It
spends the cost of the plan from a **budget**. Only then does the solver read the data, with rows
clipped to public bounds.

Array-like data are NumPy arrays, lists, and tables and columns of pandas, polars, Arrow and Dask.
Searches and probability calibration do not take Dask.

Modules for users, mostly with scikit-learn's names:

- `skdp.tables`: `TableSchema`: what is public about a table, stated once for every tool.
- `skdp.tabular`: `DPTabularClassifier`, `DPTabularRegressor`: start here with a data frame.
- `skdp.linear_model`: `DPLogisticRegression`, `DPHingeClassifier`, `DPLinearRegression`,
  `DPHuberRegressor`, `DPPoissonRegressor`, `DPQuantileRegressor`.
- `skdp.additive`: `DPAdditiveClassifier`, `DPAdditiveRegressor`.
- `skdp.ensemble`: `DPRandomForestClassifier`, `DPRandomForestRegressor`.
- `skdp.naive_bayes`: `DPGaussianNB`, `DPCategoricalNB`, `DPMixedNB`.
- `skdp.density`: `DPTreeDensity`, `DPTreeNB`: synthetic tables.
- `skdp.decomposition`: `DPPCA`. `skdp.cluster`: `DPKMeans`.
- `skdp.features`: public feature maps, `features=` of every linear model.
- `skdp.preprocessing`: scalers and clippers, of public or of privately released numbers.
- `skdp.statistics`: counts, sums, means, variances, quantiles, histograms, tables.
- `skdp.metrics`: private scores and reports on test rows.
- `skdp.calibration`: private calibration of probabilities, prediction intervals and sets.
- `skdp.model_selection`: private searches for hyper-parameters.
- `skdp.pipeline`: pipelines of private steps under one budget, and checks for leaks.
- `skdp.auditing`: attacks that test whether an estimator keeps its claim.
- `skdp.inspection`: displays and cards of released models.
- `skdp.budget`: `PrivacyBudget`, its ledger, and the rules that admit a release.

Building blocks:

- `skdp.solvers`: private learning algorithms.
- `skdp.workloads`: several queries under one guarantee.
- `skdp.samplers`: samplers of log-concave densities, independent of privacy.
- `skdp.mechanisms`: noise and private choices for single answers.
- `skdp.accounting`: the cost of guarantees and of their composition; `rows_needed`.
- `skdp.privacy`: guarantees: privacy curves, trade-off functions, events.
- `skdp.losses`: losses with their constants.
- `skdp.exceptions`: errors and warnings.
- `skdp.research`: reproductions of papers, which are never used by default.

Every module and estimator is imported when it is first used.
"""

import sys
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_MODULES = (
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
    "samplers",
    "solvers",
    "statistics",
    "tables",
    "tabular",
    "workloads",
)
_HOMES = {
    "DPAdditiveClassifier": "additive",
    "DPAdditiveRegressor": "additive",
    "DPCategoricalNB": "naive_bayes",
    "DPGaussianNB": "naive_bayes",
    "DPHingeClassifier": "linear_model",
    "DPHuberRegressor": "linear_model",
    "DPKMeans": "cluster",
    "DPLinearRegression": "linear_model",
    "DPLogisticRegression": "linear_model",
    "DPMixedNB": "naive_bayes",
    "DPPCA": "decomposition",
    "DPPoissonRegressor": "linear_model",
    "DPQuantileRegressor": "linear_model",
    "DPRandomForestClassifier": "ensemble",
    "DPRandomForestRegressor": "ensemble",
    "DPTabularClassifier": "tabular",
    "DPTabularRegressor": "tabular",
    "DPTreeDensity": "density",
    "DPTreeNB": "density",
    "PrivacyBudget": "budget",
    "TableSchema": "tables",
    "rows_needed": "accounting",
}

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"skdp.{name}")
    if name not in _HOMES:
        module = sys.modules[__name__]  # from which Python suggests names
        raise AttributeError(f"module 'skdp' has no attribute {name!r}", name=name, obj=module)
    return getattr(import_module(f"skdp.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
