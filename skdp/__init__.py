"""Differential privacy behind scikit-learn's interface: estimators, scalers and statistics.

An **estimator** clips its rows to public bounds, asks a **solver** for a plan (which says, from
public facts alone, what will be released), spends that plan from a **budget**, and only then lets
the solver read the data.

Array-like data are NumPy arrays, lists, and tables and columns of pandas, polars, Arrow and Dask.
Searches and probability calibration do not take Dask.

What a user calls, in scikit-learn's own module names:

- `skdp.tabular`: `DPTabularClassifier`, `DPTabularRegressor`: start here with a data frame.
- `skdp.linear_model`: `DPLogisticRegression`, `DPHingeClassifier`, `DPSGDClassifier`;
  `DPLinearRegression`, `DPHuberRegressor`, `DPLADRegressor`, `DPPoissonRegressor`,
  `DPQuantileRegressor`, `DPSGDRegressor`.
- `skdp.additive`: `DPAdditiveClassifier`, `DPAdditiveRegressor`.
- `skdp.kernel_approximation`: `DPKernelClassifier`, `DPKernelRegressor`.
- `skdp.ensemble`: `DPRandomForestClassifier`, `DPRandomForestRegressor`.
- `skdp.naive_bayes`: `DPGaussianNB`, `DPCategoricalNB`, `DPMixedNB`.
- `skdp.decomposition`: `DPPCA`. `skdp.cluster`: `DPKMeans`.
- `skdp.features`: public feature maps, `features=` of every linear model.
- `skdp.preprocessing`: scalers and clippers, of public or of privately released numbers.
- `skdp.statistics`: counts, sums, means, variances, quantiles, histograms, tables.
- `skdp.metrics`: how good a model is on private test rows.
- `skdp.calibration`: probabilities that are right on average, from the same.
- `skdp.model_selection`: private searches for hyper-parameters.
- `skdp.pipeline`: pipelines of private steps under one budget, and checks for leaks.
- `skdp.auditing`: whether an estimator is as private as it says, as far as attacks show.
- `skdp.inspection`: displays of what privacy costs, for public data.
- `skdp.budget`: `PrivacyBudget`, its ledger, and the rules that admit a release.

What these are made of:

- `skdp.solvers`: how a model is learned privately.
- `skdp.workloads`: several queries under one guarantee.
- `skdp.samplers`: how a log-concave density is sampled. Knows nothing of privacy.
- `skdp.mechanisms`: how one answer is released.
- `skdp.accounting`: what a guarantee costs.
- `skdp.privacy`: what a guarantee is: curves, trade-off functions, events.
- `skdp.losses`: what is fitted.
- `skdp.design`: the data, seen by a solver.
- `skdp.exceptions`: what is raised, and what is warned of.
- `skdp.research`: reproductions of the papers, which no default chooses.

Every module and estimator is imported when it is first used.
"""

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
    "design",
    "ensemble",
    "exceptions",
    "features",
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
    "research",
    "samplers",
    "solvers",
    "statistics",
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
    "DPKernelClassifier": "kernel_approximation",
    "DPKernelRegressor": "kernel_approximation",
    "DPLADRegressor": "linear_model",
    "DPLinearRegression": "linear_model",
    "DPLogisticRegression": "linear_model",
    "DPMixedNB": "naive_bayes",
    "DPPCA": "decomposition",
    "DPPoissonRegressor": "linear_model",
    "DPQuantileRegressor": "linear_model",
    "DPRandomForestClassifier": "ensemble",
    "DPRandomForestRegressor": "ensemble",
    "DPSGDClassifier": "linear_model",
    "DPSGDRegressor": "linear_model",
    "DPTabularClassifier": "tabular",
    "DPTabularRegressor": "tabular",
    "PrivacyBudget": "budget",
}

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"skdp.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'skdp' has no attribute {name!r}")
    return getattr(import_module(f"skdp.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
