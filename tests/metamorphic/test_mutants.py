"""The suite can fail: it finds each of these defects, which are inserted on purpose."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import releases as suite
from comparison import compare
from tape import forget_plans

from skdp.cluster import _lloyd
from skdp.data.column_facts import ColumnBounds
from skdp.data.persons import Persons
from skdp.design import Design, memory
from skdp.design.shared import SharedDesign
from skdp.linear_model._base import PrivateLinearModel
from skdp.losses import WeightedLoss
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.metrics import _counts
from skdp.solvers import NoisyGD, Problem, adassp
from skdp.workloads import Query
from skdp.workloads import plan as plans
from skdp.workloads.gaussian_steps import GaussianPlan

SEEDS = 5  # each finds most mutants alone


@dataclass
class Mutant:
    """A defect: an attribute, its replacement, and the release that it breaks."""

    owner: Any
    name: str
    instead: Any
    release: str
    way: dict
    own: dict

    def __str__(self):
        return f"{getattr(self.owner, '__name__', self.owner)}.{self.name} of {self.release}"

    @property
    def case(self):
        kind = suite.releases()[self.release]
        (found,) = suite.variants({self.release: [self.own]})
        assert found.kind is kind
        return replace(found, **self.way)


def mutant(owner, name, instead, release, own=None, **way):
    return Mutant(owner, name, instead, release, way, own or {})


def halved(function):
    return lambda *args, **more: 0.5 * function(*args, **more)


def of_half_the_distance(query, mu, plan=plans._gaussian):
    return plan(replace(query, l2_sensitivity=0.5 * query.l2_sensitivity), mu)


def unclipped(bounds, X):
    return (np.where(np.isnan(X), bounds.middle, X) - bounds.middle) / bounds.half


def filled_with_the_mean(bounds, X, missing=None):
    rows = np.clip(np.where(np.isnan(X), 0.0, X), bounds.low, bounds.high)
    return np.where(np.isnan(X), rows.mean(axis=0), rows)


def with_the_number_of_rows(model, *args, publish=PrivateLinearModel._publish):
    publish(model, *args)
    model.n_rows_ = args[1].n_records
    return model


def planned_for_all_rows(model, records, parameters, problem=PrivateLinearModel._problem):
    return replace(problem(model, records, parameters), n_samples=records.n_records)


def with_half_the_noise(solver, plan, n, descent=NoisyGD.descent):
    found = descent(solver, plan, n)
    return replace(found, release=GridGaussian.of_scale(0.5 * found.noise))


def not_clipped(design, derivative, theta, longest=math.inf, records=None, grid=None):
    return Design.slope_sum(design, derivative, theta)


def of_one_cell(name, **facts):
    return Query(name, **{**facts, "l0_sensitivity": 1})


HALF = property(halved(Problem.lipschitz_difference.fget))
LOGISTIC = "linear_model.DPLogisticRegression"
REMOVED = {"relation": "add_remove_one"}
STEPS = {"solver": "noisy_gd"}
MUTANTS = [
    mutant(plans, "_gaussian", of_half_the_distance, "statistics.mean"),
    mutant(plans, "_gaussian", of_half_the_distance, "naive_bayes.DPGaussianNB", weighted=True),
    mutant(ColumnBounds, "unit", unclipped, "statistics.sum"),
    mutant(ColumnBounds, "clip", filled_with_the_mean, "statistics.mean", **REMOVED),
    mutant(_counts, "Query", of_one_cell, "metrics.confusion_report"),
    mutant(Problem, "lipschitz_difference", HALF, LOGISTIC),
    mutant(Persons, "row_weights", lambda p: np.ones(len(p.codes)), LOGISTIC, persons=True),
    mutant(
        Persons, "row_weights", lambda p: np.ones(len(p.codes)), "cluster.DPKMeans", persons=True
    ),
    mutant(
        WeightedLoss, "lipschitz", property(lambda w: w.loss.lipschitz), LOGISTIC, weighted=True
    ),
    mutant(memory, "clip_factors", lambda X, norm: np.ones(X.shape[0]), LOGISTIC),
    mutant(SharedDesign, "slope_sum", not_clipped, LOGISTIC, STEPS, persons=True),
    mutant(NoisyGD, "descent", with_half_the_noise, LOGISTIC, STEPS),
    mutant(
        adassp,
        "_sensitivity",
        halved(adassp._sensitivity),
        "linear_model.DPLinearRegression",
        {"solver": "adassp"},
    ),
    mutant(
        _lloyd,
        "shortened",
        lambda lengths, largest: np.ones(len(lengths)),
        "cluster.DPKMeans",
        **REMOVED,
    ),
    mutant(PrivateLinearModel, "_publish", with_the_number_of_rows, LOGISTIC, **REMOVED),
    mutant(PrivateLinearModel, "_problem", planned_for_all_rows, LOGISTIC, **REMOVED),
    mutant(
        GaussianPlan,
        "event",
        property(lambda plan: plan.mechanisms[-1].event),
        "decomposition.DPPCA",
    ),
]


def finds(case):
    """Return whether neighbors differ by too much for some seed."""
    for seed in range(SEEDS):
        try:
            compare(case, 2, seed)
        except AssertionError:
            return True
    return False


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_defect_is_found(mutant, monkeypatch):
    compare(mutant.case, 1, 0)
    forget_plans()
    monkeypatch.setattr(mutant.owner, mutant.name, mutant.instead)
    try:
        assert finds(mutant.case)
    finally:
        forget_plans()
