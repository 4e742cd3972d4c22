"""A private split of the records: some are held out, a model learns from the others."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from skdp.data.records import Records
from skdp.model_selection._row_score import steps_of
from skdp.privacy import Neighboring, PrivacyGuarantee


def assigned(
    records: Records[Any], share: float, neighboring: Neighboring, rng: np.random.Generator
) -> tuple[Records[Any], Records[Any]]:
    """Return held-out and other records, drawn after the spend.

    If n is public, a fixed number is held out, otherwise each record independently with probability
    `share`. No value of a record has an influence.
    """
    n = records.n_records
    if neighboring.count_is_public:
        judges = rng.permutation(n) < math.ceil(share * n)
    else:
        judges = rng.uniform(size=n) < share
    return records.chosen(np.flatnonzero(judges)), records.chosen(np.flatnonzero(~judges))


def learned(rows: Records[Any], others: Records[Any], model: BaseEstimator) -> BaseEstimator:
    """Fit a model to some records; the others are used only if there are none."""
    if others.n_records and not rows.n_records:
        return _learn_nothing(others, model)
    return learn(rows, model)


def learn(records: Records[Any], model: BaseEstimator) -> BaseEstimator:
    """Fit a model to records, with the person of each row if there are persons."""
    if records.persons is None:
        return model.fit(records.X, records.y)
    name = "groups"
    if isinstance(model, Pipeline) and not get_config()["enable_metadata_routing"]:
        name = f"{model.steps[-1][0]}__groups"
    return model.fit(records.X, records.y, **{name: records.persons.codes})


def _learn_nothing(records: Records[Any], model: BaseEstimator) -> BaseEstimator:
    """Fit a model to no record, when all records were held out.

    Most transformers raise an error for a table without rows. They learn nothing, so they transform
    one row, and the last step is fitted to its columns without rows.
    """
    one = records.chosen(np.arange(1))
    *before, last = steps_of(model)
    for step in before:
        if step not in (None, "passthrough"):
            one = replace(one, X=step.fit_transform(one.X, one.y))
    learn(one.chosen(np.arange(0)), last)
    return model


def promise(fitted: BaseEstimator, guarantee: PrivacyGuarantee) -> None:
    """Set the guarantee of a fit, and of fits inside it, to that of the whole release.

    What is chosen or measured on the held-out records reveals something about records too.
    """
    last = steps_of(fitted)[-1]
    last.privacy_ = guarantee
    if hasattr(last, "report_"):
        last.report_ = replace(last.report_, privacy=guarantee)
    if hasattr(last, "best_estimator_"):
        promise(last.best_estimator_, guarantee)
