"""The suite can fail: it finds each of these defects, which are inserted on purpose."""

import math
import warnings
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import releases as suite
from comparison import compare, compare_real
from real_sizes import REAL
from tape import forget_plans

from skdp import cluster
from skdp.additive import stages
from skdp.calibration import _conformal
from skdp.data import encoding
from skdp.data.column_facts import ColumnBounds
from skdp.data.exact_sums import STEP_BITS
from skdp.data.persons import Persons
from skdp.data.records import Records
from skdp.density import _release
from skdp.design import Design, memory
from skdp.design.transformed import SharedDesign
from skdp.linear_model import _first_releases, _last_releases, _standard_errors
from skdp.linear_model._base import PrivateLinearModel
from skdp.linear_model._last_releases import ScoreShift
from skdp.linear_model._standard_errors import MatrixRelease, SpreadRelease
from skdp.losses.weighted import WeightedLoss
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.metrics import _evaluation
from skdp.solvers import Problem, _releases, adassp
from skdp.solvers.base import RowCount
from skdp.solvers.noisy_gd import NoisyGDPlan
from skdp.statistics import _moments
from skdp.statistics._moments import present_query
from skdp.workloads import plan as plans
from skdp.workloads.plan import GaussianPlan

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

    def compare_once(self):
        compare(self.case, 1, 0)

    def compare(self, seed):
        compare(self.case, 2, seed)


def mutant(owner, name, instead, release, own=None, **way):
    return Mutant(owner, name, instead, release, way, own or {})


def halved(function):
    return lambda *args, **more: 0.5 * function(*args, **more)


def of_half_the_distance(l2, size, mu, plan=plans._gaussian):
    return plan(0.5 * l2, size, mu)


def unclipped(bounds, X):
    return (np.where(np.isnan(X), bounds.middle, X) - bounds.middle) / bounds.half


def filled_with_the_mean(bounds, X, missing=None):
    rows = np.clip(np.where(np.isnan(X), 0.0, X), bounds.low, bounds.high)
    return np.where(np.isnan(X), rows.mean(axis=0), rows)


def with_the_number_of_rows(model, *args, publish=PrivateLinearModel._publish):
    publish(model, *args)
    model.n_rows_ = args[1].n_records
    return model


def with_a_warning(model, records, *parameters, problem=PrivateLinearModel._problem):
    warnings.warn(f"{records.n_records} rows", stacklevel=1)
    return problem(model, records, *parameters)


def planned_for_all_rows(model, records, parameters, problem=PrivateLinearModel._problem):
    return replace(problem(model, records, parameters), n_samples=records.n_records)


def with_half_the_noise(plan, *facts, descent=NoisyGDPlan.descent):
    found = descent(plan, *facts)
    return replace(found, release=GridGaussian.of_scale(0.5 * found.release.scale))


def with_half_the_sensitivity(shift, *facts, numbers=ScoreShift._numbers):
    found = numbers(shift, *facts)
    return found._replace(between=0.5 * found.between)


def not_clipped(design, derivative, theta, longest=math.inf, records=None, grid=None):
    return Design.slope_sum(design, derivative, theta)


def of_one_cell(name, size, n_changed):
    return plans.counts_query(name, size, 1)


HALF = property(halved(Problem.lipschitz_difference.fget))
LOGISTIC = "linear_model.DPLogisticRegression"
REMOVED = {"relation": "add_remove_one"}
MIDDLE = {"missing": "middle"}
STEPS = {"solver": "noisy_gd"}


def without_a_count(vector, n_vectors, weight, *others):
    """Forget that the number of values changes too."""
    return present_query(vector, n_vectors, 0.0, *others)


MUTANTS = [
    mutant(plans, "_gaussian", of_half_the_distance, "statistics.mean"),
    mutant(plans, "_gaussian", of_half_the_distance, "naive_bayes.DPGaussianNB", weighted=True),
    mutant(ColumnBounds, "unit", unclipped, "statistics.mean"),
    mutant(ColumnBounds, "clip", filled_with_the_mean, "statistics.variance", MIDDLE, **REMOVED),
    mutant(_moments, "present_query", without_a_count, "statistics.mean", **REMOVED),
    mutant(_evaluation, "counts_query", of_one_cell, "metrics.confusion_report"),
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
    mutant(NoisyGDPlan, "descent", with_half_the_noise, LOGISTIC, STEPS),
    mutant(
        adassp,
        "_sensitivity",
        halved(adassp._sensitivity),
        "linear_model.DPLinearRegression",
        {"solver": "adassp"},
    ),
    mutant(
        ScoreShift,
        "_numbers",
        with_half_the_sensitivity,
        "linear_model.DPLinearRegression",
        {"n_samples_hint": 8_000},
        **REMOVED,
    ),
    mutant(
        cluster,
        "shortened",
        lambda lengths, largest: np.ones(len(lengths)),
        "cluster.DPKMeans",
        **REMOVED,
    ),
    mutant(PrivateLinearModel, "_publish", with_the_number_of_rows, LOGISTIC, **REMOVED),
    mutant(PrivateLinearModel, "_problem", with_a_warning, LOGISTIC, **REMOVED),
    mutant(PrivateLinearModel, "_problem", planned_for_all_rows, LOGISTIC, **REMOVED),
    mutant(
        GaussianPlan,
        "event",
        property(lambda plan: plan.mechanisms[-1].event),
        "decomposition.DPPCA",
    ),
]


@dataclass
class RealMutant(Mutant):
    """A defect of a stage that few rows do not reach; the release is a setting of `REAL`."""

    way: dict

    @property
    def case(self):
        given = {"persons": False, "weighted": False, "relation": "replace_one", **self.way}
        (found,) = (
            case
            for case in REAL[self.release]
            if all(getattr(case, name) == value for name, value in given.items())
        )
        return found

    def compare_once(self):
        compare_real(self.case, 0, 1, 0)

    def compare(self, seed):
        compare_real(self.case, 2, 6, seed)


def real_mutant(owner, name, instead, setting, **way):
    return RealMutant(owner, name, instead, setting, way, {})


def halves(table):
    return {relation: 0.5 * distance for relation, distance in table.items()}


def without_noise(count, records, rng):
    return records.n_records


def of_unbounded_scores(theta, largest, block):
    y = block.targets
    scores = block.scores(theta) / _releases._MOST_SCORE
    signed = np.where(y > 0, 1.0, -1.0)
    return np.array([signed.sum(), scores.sum(), signed @ scores])


def of_half_the_gains(*facts, gains=_last_releases.gains_of):
    found = gains(*facts)
    return found._replace(between=0.5 * found.between)


def of_steep_gains(log_shares, y, scores, own=_last_releases._gains_of_weights):
    return 2.0 * own(log_shares, y, scores)


def of_two_for_each(n_classes, y, scores, own=_last_releases._one_hot):
    return 2.0 * own(n_classes, y, scores)


def of_equal_rows(theta, of_rows, largest, block):
    y = block.targets if block.targets.dtype.names is None else block.targets["target"]
    return of_rows(y, block.scores(theta)).sum(axis=1)


def of_all_residuals(loss, longest, y, z):
    targets, shares = _standard_errors.targets_and_shares(loss, y)
    return shares * (z - targets)


def nulls_take_the_first(part, date_format, moments_of=encoding.moments):
    found = moments_of(part, date_format)
    return np.where(np.isnan(found), np.nanmin(found), found)


def from_the_exact_count(plan, records, exact, rng, merged=_release._merged_levels):
    levels = merged(plan, records, exact, rng)
    inner = 1 + records.n_records % 2
    return replace(levels, edges={j: ends[[0, inner, -1]] for j, ends in levels.edges.items()})


def by_the_middle_of_the_data(bounds, records, below=_first_releases.counts_below):
    return below(replace(bounds, high=float(records.y.max()) + 1.0), records)


def of_one_table(name, size, squared, share, step=_release._step):
    return step(name, size, 1, share)


def of_one_column(n_columns, n_bins, mu, neighboring, noise=_first_releases.histogram_noise):
    return noise(1, n_bins, mu, neighboring)


def of_every_row(facts, n_bins, records):
    return {"counts": np.ldexp(_first_releases.counts_of(facts, records.X, n_bins), STEP_BITS)}


def half_as_far(*facts, farthest=_conformal._farthest):
    return 0.5 * farthest(*facts)


def of_one_error(errors, problem, facts=_last_releases.Errors.facts):
    """Forget that the errors of probabilities are released twice: whole, and by log-odds."""
    found = facts(errors, problem)
    return replace(found, between=0.6 * found.between)


def of_unbounded_errors(errors, block, own=_last_releases.Errors.__call__):
    log_odds = errors.link(block.scores(errors.theta))
    return own(errors, block) + 0.5 * np.atleast_2d(log_odds.T)[0].sum()


HALF_NOISE = SimpleNamespace(
    at=lambda mu, between, *more: GridGaussian.at(mu, 0.5 * between, *more)
)
UNSCALED = property(lambda records: records.weights)
ERRORS = _last_releases.Errors
SPREAD = property(halved(SpreadRelease.scale.fget))
ONE = staticmethod(lambda mu, largest, relation: MatrixRelease(mu, 0.5 * largest / mu))
PERSONS = {"persons": True}
WEIGHTED = {"weighted": True}
REAL_MUTANTS = [
    real_mutant(_first_releases, "GridGaussian", HALF_NOISE, "range of targets"),
    real_mutant(_first_releases, "counts_below", by_the_middle_of_the_data, "range of targets"),
    real_mutant(
        _first_releases, "_SENSITIVITY", halves(_first_releases._SENSITIVITY), "means and center"
    ),
    real_mutant(memory, "clip_factors", lambda X, norm: np.ones(len(X)), "means and center"),
    real_mutant(Records, "shares", UNSCALED, "means and center", **WEIGHTED),
    real_mutant(_releases, "_SENSITIVITY", halves(_releases._SENSITIVITY), "means"),
    real_mutant(_releases, "_sums", of_unbounded_scores, "means"),
    real_mutant(NoisyGDPlan, "descent", with_half_the_noise, "steps on samples of wide rows"),
    real_mutant(_last_releases, "gains_of", of_half_the_gains, "choice of the link"),
    real_mutant(_last_releases, "gains_of", of_half_the_gains, "choice of the link", **REMOVED),
    real_mutant(_last_releases, "_sums", of_equal_rows, "choice of the link", **PERSONS),
    real_mutant(_last_releases, "_gains_of_weights", of_steep_gains, "a rare class"),
    real_mutant(_last_releases, "_one_hot", of_two_for_each, "counts of classes"),
    real_mutant(_last_releases, "_one_hot", of_two_for_each, "counts of classes", **REMOVED),
    real_mutant(_last_releases, "_sums", of_equal_rows, "a rare class", **PERSONS),
    real_mutant(
        RowCount, "release", lambda count, records, rng: records.n_records, "means", **REMOVED
    ),
    real_mutant(ERRORS, "facts", of_one_error, "errors of probabilities"),
    real_mutant(ERRORS, "facts", of_one_error, "errors of several classes", **REMOVED),
    real_mutant(ERRORS, "__call__", of_unbounded_errors, "errors of probabilities"),
    real_mutant(ERRORS, "__call__", of_unbounded_errors, "errors of several classes", **PERSONS),
    real_mutant(_first_releases, "histogram_noise", of_one_column, "ranks"),
    real_mutant(_first_releases, "histogram_noise", of_one_column, "ranks of a table"),
    real_mutant(_first_releases, "histogram_noise", of_one_column, "densities of columns"),
    real_mutant(_first_releases, "_bin_counts", of_every_row, "ranks", **PERSONS),
    real_mutant(stages, "SENSITIVITY", 0.25, "pairs of numbers"),
    real_mutant(_release, "_step", of_one_table, "merged bins"),
    real_mutant(_release, "_merged_levels", from_the_exact_count, "merged bins", **REMOVED),
    real_mutant(Records, "shares", UNSCALED, "numeric target", **WEIGHTED),
    real_mutant(encoding, "moments", nulls_take_the_first, "merged bins"),
    real_mutant(SpreadRelease, "scale", SPREAD, "standard errors"),
    real_mutant(MatrixRelease, "plan", ONE, "robust errors"),
    real_mutant(
        Persons, "row_weights", lambda p: np.ones(len(p.codes)), "errors by person", **PERSONS
    ),
    real_mutant(_standard_errors, "_residual", of_all_residuals, "robust errors by moments"),
    real_mutant(_conformal, "_farthest", half_as_far, "conformal searches"),
]


def finds(mutant):
    """Return whether neighbors differ by too much for some seed."""
    for seed in range(SEEDS):
        try:
            mutant.compare(seed)
        except AssertionError:
            return True
    return False


WITHOUT_DEFECTS = set()
"""Releases and settings that were found to be without a defect."""


@pytest.mark.parametrize("mutant", [*MUTANTS, *REAL_MUTANTS], ids=str)
def test_a_defect_is_found(mutant, monkeypatch):
    released = repr((mutant.release, mutant.own, mutant.way))
    if released not in WITHOUT_DEFECTS:
        mutant.compare_once()
    WITHOUT_DEFECTS.add(released)
    forget_plans()
    monkeypatch.setattr(mutant.owner, mutant.name, mutant.instead)
    try:
        assert finds(mutant)
    finally:
        forget_plans()
