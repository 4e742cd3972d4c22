"""scikit-learn's own tests of its meta-estimators, with a private model at epsilon=inf in them.

The tests of voting, stacking, pipelines, multiclass, multioutput, calibration, feature selection
and thresholds use `LogisticRegression` as the estimator that everything must work with. Here
`DPLogisticRegression(epsilon=inf)` stands in its place, under its name. Parameters that it does not
have, such as ``max_iter`` or scikit-learn's names of solvers, are dropped: the tests set them for
speed. Prints what fails and how many pass.

    python benchmarks/dropin_sklearn.py               # a few minutes
    python benchmarks/dropin_sklearn.py --smallest    # one module
    python benchmarks/dropin_sklearn.py voting rfe    # some modules
    python benchmarks/dropin_sklearn.py --reference   # scikit-learn's own class, for comparison
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import warnings
from types import FunctionType
from typing import Any

import pytest
import sklearn.linear_model

from skdp import DPLogisticRegression
from skdp.solvers import SOLVERS

MODULES = [
    "sklearn.model_selection.tests.test_classification_threshold",
    "sklearn.ensemble.tests.test_voting",
    "sklearn.ensemble.tests.test_stacking",
    "sklearn.tests.test_pipeline",
    "sklearn.tests.test_multiclass",
    "sklearn.tests.test_multioutput",
    "sklearn.tests.test_calibration",
    "sklearn.feature_selection.tests.test_from_model",
    "sklearn.feature_selection.tests.test_rfe",
]
KNOWN = set(inspect.signature(DPLogisticRegression).parameters)


class Lenient(type):
    """Classes that drop the arguments that they do not know."""

    def __call__(cls, **params: Any) -> Any:
        """Return an instance made of the parameters that it has."""
        if params.get("solver") not in SOLVERS:
            params.pop("solver", None)
        return super().__call__(**{k: v for k, v in params.items() if k in KNOWN})


class LogisticRegression(DPLogisticRegression, metaclass=Lenient):
    """The private model, open by default."""

    _init = DPLogisticRegression.__init__.__wrapped__  # type: ignore[attr-defined]
    __init__ = FunctionType(_init.__code__, _init.__globals__, argdefs=(float("inf"), None))
    __init__.__kwdefaults__ = _init.__kwdefaults__


class Count:
    """What passed, and what failed, by name."""

    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note one report of a test's set-up, call or tear-down."""
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            message = "" if crash is None else crash.message.split("\n")[0]
            self.failed.add(report.nodeid)
            print(f"\nFAILED {report.nodeid.rpartition('/')[2]}: {message[:200]}", flush=True)
        elif report.passed and report.when == "call":
            self.passed.add(report.nodeid)


def run(modules: list[str]) -> Count:
    """Return how the tests of `modules` fared."""
    count = Count()
    quiet = ["-q", "--no-header", "--no-summary", "-p", "no:cacheprovider", "-c", os.devnull]
    pytest.main([*quiet, "--pyargs", *modules], plugins=[count])
    return count


def main(arguments: list[str]) -> None:
    """Put the private model in the place of scikit-learn's, run the tests and print the result."""
    named = [name for name in MODULES if name.rpartition("test_")[2] in arguments]
    modules = MODULES[:1] if "--smallest" in arguments else named or MODULES
    for name in modules:  # what is tested keeps scikit-learn's own class as a default
        importlib.import_module(name.replace(".tests.test_", ".").rpartition(".")[0])
    for module in ("calibration", "ensemble", "feature_selection", "model_selection", "pipeline"):
        importlib.import_module(f"sklearn.{module}")
    if "--reference" not in arguments:
        sklearn.linear_model.LogisticRegression = LogisticRegression
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        count = run(modules)
    print(f"{len(count.passed - count.failed)} passed, {len(count.failed)} failed")


if __name__ == "__main__":
    main(sys.argv[1:])
