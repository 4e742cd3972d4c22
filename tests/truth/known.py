"""Numbers that are known to be wrong: each must fail, until a mend removes its line."""

from __future__ import annotations

import pytest

__all__ = ["KNOWN", "asked_of"]

ADDITIVE, KERNEL = "additive.DPAdditive", "kernel_approximation.DPKernel"
FOREST, TABULAR = "ensemble.DPRandomForest", "tabular.DPTabular"
LINEAR, CONFORMAL = "linear_model.DPLinearRegression", "calibration.DPConformalRegressor"
LOGISTIC, POISSON = "linear_model.DPLogisticRegression", "linear_model.DPPoissonRegressor"
SEARCHES = ["model_selection.DPGridSearchCV", "model_selection.DPRandomizedSearchCV"]

COLLAPSE = "few targets differ from a point mass, and derivatives at them are clipped"
RARE = "slopes are too steep for rare classes, and no shift mends the mean"
SHRUNK = "means of skewed targets are clipped"
ROWS = "the guard counts no records of the rarer class, and does not warn of few"

STRICT = [
    (COLLAPSE, "mean", "rare counts", [f"{KERNEL}Regressor", f"{TABULAR}Regressor"]),
    (COLLAPSE, "constant", "rare counts", [f"{KERNEL}Regressor", f"{TABULAR}Regressor"]),
    (
        COLLAPSE,
        "constant",
        "zeros and money",
        [f"{family}Regressor" for family in (ADDITIVE, KERNEL, TABULAR)],
    ),
    (
        RARE,
        "mean",
        "three classes",
        [*(f"{family}Classifier" for family in (ADDITIVE, KERNEL, TABULAR)), LOGISTIC],
    ),
    (RARE, "constant", "three classes", [f"{FOREST}Classifier"]),
    (ROWS, "speaks", "", ["calibration.DPCalibratedClassifier"]),
]
"""Reason, question, table and releases."""

ALL_REGRESSORS = [
    *(f"{family}Regressor" for family in (ADDITIVE, FOREST, KERNEL, TABULAR)),
    *(CONFORMAL, LINEAR, POISSON),
]
ALL_CLASSIFIERS = [
    *(f"{family}Classifier" for family in (ADDITIVE, FOREST, KERNEL, TABULAR)),
    *(LOGISTIC, *SEARCHES, "pipeline.PrivatePipeline", "calibration.DPConformalClassifier"),
]
MIXED = "a mean absolute error is limited by a root mean squared error that is only noise"
WIDE = ("bounds 1000 times too wide", "bounds 10^6 times too wide", "heavy tails")
SOMETIMES = [
    *(
        (COLLAPSE, question, table, ALL_REGRESSORS)
        for question in ("mean", "constant")
        for table in ("rare counts", "zeros and money")
    ),
    *((MIXED, "limit", table, ["metrics.regression_report"]) for table in WIDE),
    (SHRUNK, "mean", "log-normal", [f"{FOREST}Regressor", CONFORMAL, LINEAR]),
    (RARE, "mean", "2% positives", ALL_CLASSIFIERS),
    (RARE, "mean", "three classes", [f"{FOREST}Classifier"]),
    (RARE, "constant", "2% positives", [f"{ADDITIVE}Classifier", f"{FOREST}Classifier"]),
    (RARE, "constant", "2% positives", ["density.DPTreeNB"]),
]
"""Cells where the noise decides whether a fit fails; the mend removes these lines too."""


def _by_cell(lines: list[tuple[str, str, str, list[str]]]) -> dict[tuple[str, str, str], str]:
    return {(ask, name, table): why for why, ask, table, names in lines for name in names}


KNOWN = _by_cell(STRICT)
"""Reasons by question, release and table."""
_SOMETIMES = _by_cell(SOMETIMES)


def asked_of(question: str, name: str, table: object = "") -> list[pytest.MarkDecorator]:
    """Return the mark of a known failure, if it is one."""
    cell = question, name, str(table)
    if cell in KNOWN:
        return [pytest.mark.xfail(strict=True, reason=KNOWN[cell])]
    return [pytest.mark.xfail(reason=_SOMETIMES[cell])] if cell in _SOMETIMES else []
