"""Releases at real sizes: thousands of records with a signal, eight columns, and a schema.

Few records reach the same code, but not all of it: searches, means, centers, pairs and merged bins
begin at some number of records. Each setting names the stages that its data must reach.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from neighbors import MOST_ROWS, Domain
from releases import (
    ABSENT,
    CATEGORIES,
    KEYS,
    LABELS,
    OWN,
    SETTINGS,
    TARGETS,
    Case,
    Record,
    public_classifier,
)
from releases import releases as named_releases

from skdp import PrivacyBudget, TableSchema
from skdp.features import RandomFourierFeatures
from skdp.solvers import noisy_gd

__all__ = ["REAL", "RealCase", "corners", "population"]

N_RECORDS = 3000  # as many persons
N_NUMBERS = 8
MISSING = 0.02

SCHEMA = TableSchema(
    {
        "number": (-1.0, 1.0),
        "amount": {"kind": "number", "bounds": (0.0, 1e6), "scale": "log"},
        "spelled": {"kind": "number", "bounds": (-1.0, 1.0), "missing": False},
        "integer": {"kind": "integer", "bounds": (-10, 10)},
        "boolean": "boolean",
        "category": list(CATEGORIES),
        "ordinal": {"kind": "ordinal", "categories": list(CATEGORIES)},
        "date": {"kind": "date", "bounds": ("2020-01-01", "2021-01-01"), "parts": ("weekday",)},
        "code": {"kind": "code", "buckets": 8},
        "id": "ignored",  # of the kind "id" it would make persons the unit of all settings
        "ignored": "ignored",
    },
    source="the suite",
)
"""Every kind of column but text, which only feature maps take."""

ONLY_NUMBERS = SCHEMA.drop(["category", "ordinal", "date", "code"])
WITH_TEXT = TableSchema({**SCHEMA.columns, "text": {"kind": "text", "buckets": 8}})
WITH_LISTED_DATES = TableSchema({"listed date": SCHEMA.columns["date"], "number": (-1.0, 1.0)})
WORDS = ("low", "middle", "high low", "", None)
FIRST_DAY = np.datetime64("2020-01-01", "ns")


@dataclass(frozen=True, eq=False)
class RealCase(Case):
    """A release at a real size.

    Attributes
    ----------
    in_budget : bool
        Whether a budget that counts Gaussian noise pays.
    """

    n_numbers: int = N_NUMBERS
    in_budget: bool = False

    def __str__(self) -> str:
        marks = [mark for mark in ("persons", "weighted", "in_budget") if getattr(self, mark)]
        return f"{self.name}({', '.join(self.own)}) {self.relation} {' '.join(marks)}".rstrip()

    def run(self, persons: Sequence[Sequence[Record]]) -> Any:
        """Return the result for the rows of some persons."""
        if not self.in_budget:
            with mock.patch.object(noisy_gd, "_FEWEST_NUMBERS", 0.0):
                return super().run(persons)
        unit = "person" if self.persons else "record"
        budget = PrivacyBudget(epsilon=1e3, delta=1e-3, neighboring=self.relation, unit=unit)
        paid = {**self.settings, "budget": budget, "random_state": None}
        return replace(self, settings=paid, in_budget=False).run(persons)

    @np.errstate(over="ignore")
    def table(self, rows: Sequence[Record]) -> Any:
        """Return numbers, or a frame with every kind of column for a schema."""
        numbers = np.array([row.numbers for row in rows], dtype=float)
        schema = self.settings.get("bounds")
        if not isinstance(schema, TableSchema):
            return numbers
        known = np.clip(np.nan_to_num(numbers), -1.0, 1.0)
        days = (known[:, 4] * 400.0).astype("timedelta64[D]").astype("timedelta64[ns]")
        days[np.isnan(numbers[:, 4])] = np.timedelta64("NaT")
        columns = {
            "number": numbers[:, 0],
            "amount": numbers[:, 1] * 1e6,
            "spelled": [f"{x!r}" for x in numbers[:, 2].tolist()],
            "integer": numbers[:, 3] * 10.0,
            "boolean": pd.array([row.flag for row in rows], dtype="boolean"),
            "category": pd.array([row.categories[0] for row in rows], dtype="Int64"),
            "ordinal": pd.array([row.categories[-1] for row in rows], dtype="Int64"),
            "date": FIRST_DAY + days,
            "listed date": pd.Categorical(pd.Series(FIRST_DAY + days)),
            "code": pd.array([row.key for row in rows], dtype="Int64"),
            "id": [row.label for row in rows],
            "ignored": numbers[:, 5],
            "text": [WORDS[row.guess] if row.flag is not None else None for row in rows],
        }
        return pd.DataFrame({name: columns[name] for name in schema.columns})


def population(case: RealCase, domain: Domain, rng: np.random.Generator) -> list[list[Record]]:
    """Return persons whose columns have means, whose targets follow them, and some gaps."""
    sizes = rng.integers(1, 4, N_RECORDS) if case.persons else np.ones(N_RECORDS, int)
    n = int(sizes.sum())
    numbers = rng.uniform(-0.4, 1.1, (n, case.n_numbers))
    signal = numbers[:, 0] + 2.0 * (numbers[:, 1] - 0.3) * (numbers[:, 2] - 0.3)
    noise = rng.normal(scale=0.3, size=(2, n))
    labels, guesses = (signal + noise > 0.3).astype(int)
    targets, guessed = 2.0 + signal + noise
    codes = rng.integers(len(CATEGORIES), size=(2, n))
    missing = rng.random((2, n)) < MISSING
    numbers[(rng.random(numbers.shape) < MISSING) & domain.has_gaps] = math.nan
    rows = [
        Record(
            numbers=tuple(numbers[i].tolist()),
            categories=tuple(None if missing[0, i] else CATEGORIES[k] for k in codes[:, i]),
            flag=None if missing[1, i] else bool(signal[i] > 0.5),
            label=int(labels[i]),
            guess=int(guesses[i]),
            target=float(targets[i]),
            guessed=float(guessed[i]),
            score=float(rng.random()),
            weight=float(rng.uniform(0.0, 2.0)),
            key=None if missing[0, i] else KEYS[codes[0, i]],
        )
        for i in range(n)
    ]
    ends = np.cumsum(sizes)
    return [rows[end - size : end] for size, end in zip(sizes.tolist(), ends.tolist(), strict=True)]


def corners(
    case: RealCase, domain: Domain, rng: np.random.Generator
) -> Iterator[tuple[list[Record], list[Record]]]:
    """Yield directed pairs of persons, far apart in all that a release may read.

    Later pairs are random corners of the bounds and their opposites.
    """
    high = Record(
        numbers=(1.0,) * case.n_numbers,
        categories=(CATEGORIES[0], CATEGORIES[0]),
        flag=True,
        label=1,
        guess=1,
        target=TARGETS[1],
        guessed=TARGETS[1],
        score=1.0,
        weight=max(domain.accepted["weight"], default=1.0),
        key=KEYS[0],
    )
    low = high._replace(numbers=(-1.0,) * case.n_numbers, flag=False, key=KEYS[1])
    low = low._replace(categories=(CATEGORIES[1],) * 2, score=0.0)
    other = {"label": 0, "guess": 1, "target": TARGETS[0]}
    gap = math.nan if domain.has_gaps else 0.0
    rare = high._replace(numbers=(gap,) * case.n_numbers, categories=(ABSENT[0], None), flag=None)
    rare = rare._replace(label=2, guess=2, key=ABSENT[0], guessed=TARGETS[0])
    single = high._replace(numbers=(1.0, *(0.0,) * (case.n_numbers - 1)))
    pairs = [
        (high, low._replace(**other)),  # all of it
        (high, high._replace(**other)),  # the target alone
        (high, low),  # the columns alone
        (single, single._replace(numbers=(*(0.0,) * (case.n_numbers - 1), 1.0), **other)),
        (rare, high._replace(**other)),  # a rare label, and gaps in all columns
        (high, high._replace(weight=0.0)),
    ]
    n_rows = MOST_ROWS if case.persons else 1
    for one, two in itertools.chain(pairs, _random_corners(high, low, rng)):
        yield [one] * n_rows, [two] * n_rows


def _random_corners(
    high: Record, low: Record, rng: np.random.Generator
) -> Iterator[tuple[Record, Record]]:
    """Yield pairs whose columns are at random ends, which are the same or the other ones."""
    while True:
        signs, others = rng.choice([-1.0, 0.0, 1.0], size=(2, len(high.numbers)))
        if rng.random() < 0.5:
            others = -signs
        a, b = rng.permutation(TARGETS).tolist()
        yield _at(high, signs, a, int(rng.integers(2))), _at(low, others, b, int(rng.integers(2)))


def _at(record: Record, signs: np.ndarray, target: float, label: int) -> Record:
    numbers = tuple(signs.tolist())
    return record._replace(numbers=numbers, target=target, label=label, guess=1 - label)


ROWS = ({}, {"relation": "add_remove_one"})
PERSONS = ({"persons": True}, {"persons": True, "relation": "add_remove_one"})
WEIGHTED = ({"weighted": True}, {"weighted": True, "relation": "add_remove_one"})


def real(
    name: str, own: Mapping[str, Any], stages: Mapping[str, int], ways: Any = None, **more: Any
) -> list[RealCase]:
    """Return a release in several ways, in all of them if none are given."""
    kind = named_releases()[name]
    plain = Case(name, kind, {})
    usual = {key: value for key, value in SETTINGS.items() if key in plain.parameters}
    settings = {**usual, **OWN.get(name, {}), **own}
    made = RealCase(name, kind, settings, stages=stages, **more)
    if ways is None:
        weights = WEIGHTED if "sample_weight" in plain.data and "max_weight" in settings else ()
        ways = (*ROWS, *PERSONS, *weights)
    return [replace(made, **way) for way in ways]


def has_center(model: Any) -> bool:
    return model.center_ is not None


def is_recalibrated(model: Any) -> bool:
    return model._probabilities_.moved is not None


def reads_samples(model: Any) -> bool:
    return "Poisson" in model.privacy_.theorem


def has_range(model: Any) -> bool:
    return model.target_bounds_ != TARGETS


def has_merged_bins(model: Any) -> bool:
    return min(len(levels) for levels in model.levels_[:2]) < 64


SEARCH = "linear_model._first_releases _noisy"
CENTER = "linear_model._first_releases CenterRelease"
CLASSES = "linear_model._last_releases ClassShift"
RANKS = "linear_model._first_releases RankRelease"
COUNTED, TRIAL = "linear_model._plans CountedPlan", "linear_model._plans Trial"
ERRORS = "linear_model._standard_errors"
TILTED, MOMENTS = f"{ERRORS} Tilted", f"{ERRORS} Moment"
STEPS, MEANS = "solvers.noisy_gd", "solvers._releases MeansRelease"
TREE = "density._release"
ROW_NUMBERS = "linear_model._last_releases RowNumbers"
LINEAR, LOGISTIC = "linear_model.DPLinearRegression", "linear_model.DPLogisticRegression"
HUBER, ROBUST = "linear_model.DPHuberRegressor", {"standard_errors": "robust"}
ADDITIVE = "additive.DPAdditiveRegressor"
MANY = {"epsilon": 80.0}  # n·μ, also of weighted records, is then enough for a search for pairs
TRIED = {"epsilon": 80.0}  # n·μ/p is then enough for a trial of trees
ENOUGH = {"epsilon": 10.0}  # n·μ/2 is then enough for errors of probabilities
WITH_SCHEMA: dict[str, Any] = {"bounds": SCHEMA, "categories": None}
CENTERED = {"center": True}

REAL: dict[str, list[RealCase]] = {
    "means and center": real(LOGISTIC, CENTERED, {CENTER: 1, MEANS: 1, STEPS: 4}, shows=has_center),
    "means": real(LOGISTIC, {}, {MEANS: 1}),
    "steps on samples of wide rows": real(
        LOGISTIC,
        CENTERED,
        {CENTER: 1, MEANS: 1, STEPS: 4},
        ROWS[:1],
        n_numbers=250,
        shows=reads_samples,
    ),
    "steps on samples of features": real(
        LOGISTIC,
        {"features": RandomFourierFeatures(bounds=(-1.0, 1.0), n_components=250)},
        {STEPS: 4, "solvers._releases GramRelease": 1},
        ROWS[:1],
        shows=reads_samples,
    ),
    "choice of the link": real(
        LOGISTIC, {"epsilon": 3.0}, {MEANS: 1, ROW_NUMBERS: 1}, (*ROWS, *PERSONS)
    ),
    "a rare class": real(
        LOGISTIC, {"classes": list(LABELS)}, {STEPS: 4, ROW_NUMBERS: 2}, (*ROWS, *PERSONS)
    ),
    "counts of classes": real(
        LOGISTIC,
        {"epsilon": 0.1, "n_samples_hint": N_RECORDS},
        {ROW_NUMBERS: 1},
        (*ROWS, *PERSONS),
        shows=is_recalibrated,
    ),
    "errors of probabilities": real(
        LOGISTIC, ENOUGH, {CLASSES: 1}, (*ROWS, *PERSONS), shows=is_recalibrated
    ),
    "errors of several classes": real(
        LOGISTIC,
        {**ENOUGH, "classes": list(LABELS)},
        {CLASSES: 2},
        (*ROWS, *PERSONS),
        shows=is_recalibrated,
    ),
    "range of targets": real(LINEAR, {}, {SEARCH: 19}, shows=has_range),
    "range that keeps its low end": real(
        "linear_model.DPPoissonRegressor", {"target_bounds": (0.0, 10.0)}, {SEARCH: 19}
    ),
    "range, center, moments": real(
        LINEAR,
        {"solver": "adassp", **CENTERED},
        {SEARCH: 19, CENTER: 1, "solvers.adassp": 1},
        (*ROWS, *PERSONS),
        shows=has_center,
    ),
    "ranks": real(ADDITIVE, {"bounds": "auto"}, {RANKS: 1, SEARCH: 19}),
    "densities of columns": real(
        ADDITIVE, {"monotonic_cst": [1, -1, *[0] * 6]}, {"additive.stages": 1, SEARCH: 19}
    ),
    "pairs of numbers": real(
        ADDITIVE,
        {**MANY, **WITH_SCHEMA, "interactions": "auto"},
        {"additive.stages": 1, SEARCH: 38},
    ),
    "pairs of classes": real(
        "additive.DPAdditiveClassifier",
        {**MANY, **WITH_SCHEMA, "interactions": "auto"},
        {"additive.stages": 1, STEPS: 8},
    ),
    "features by a count": real(
        "tabular.DPTabularClassifier",
        {"bounds": WITH_TEXT},
        {COUNTED: 1, MEANS: 1},
        (ROWS[1], PERSONS[1]),
    ),
    "trial of classes": real(
        "tabular.DPTabularClassifier",
        {**TRIED, "bounds": SCHEMA},
        {TRIAL: 1, STEPS: 8},
        (ROWS[1], WEIGHTED[0]),
    ),
    "trial of numbers": real(
        "tabular.DPTabularRegressor",
        {**TRIED, "bounds": SCHEMA},
        {TRIAL: 1, SEARCH: 19},
        (ROWS[0], WEIGHTED[1]),
    ),
    "features of a schema": real("tabular.DPTabularRegressor", {"bounds": WITH_TEXT}, {SEARCH: 19}),
    "ranks of a table": real(
        "tabular.DPTabularRegressor",
        {"bounds": "auto"},
        {RANKS: 1, SEARCH: 19},
    ),
    "trees of a schema": real("ensemble.DPRandomForestClassifier", WITH_SCHEMA, {STEPS: 4}),
    "merged bins": real(
        "density.DPTreeDensity",
        WITH_SCHEMA,
        {f"{TREE} tables": 1, f"{TREE} pairs": 1, TREE: 20},
        shows=has_merged_bins,
    ),
    "dates as categories of the library": real(
        "density.DPTreeDensity", {**WITH_SCHEMA, "bounds": WITH_LISTED_DATES}, {}
    ),
    "numeric target": real(
        "density.DPTreeDensity",
        {**WITH_SCHEMA, "target": "integer"},
        {f"{TREE} target": 1, f"{TREE} tables": 1, f"{TREE} pairs": 1, TREE: 20},
    ),
    "density of labels": real("density.DPTreeNB", WITH_SCHEMA, {f"{TREE} pairs": 1}),
    "standard errors by moments": real(
        LINEAR,
        {"standard_errors": True, "solver": "adassp"},
        {"solvers.adassp": 1, MOMENTS: 1},
        (*ROWS, *PERSONS),
    ),
    "robust errors by moments": real(
        LINEAR,
        {"standard_errors": "robust", "solver": "adassp"},
        {"solvers.adassp": 1, MOMENTS: 2},
        (*ROWS, *PERSONS),
    ),
    "standard errors": real(HUBER, {"standard_errors": True}, {TILTED: 2}, (*ROWS, *WEIGHTED)),
    "errors of counts": real(
        "linear_model.DPPoissonRegressor",
        {"standard_errors": True, "target_bounds": (0.0, 10.0)},
        {TILTED: 2},
        (*ROWS, *WEIGHTED),
    ),
    "robust errors": real(LOGISTIC, ROBUST, {TILTED: 2}, (*ROWS, *WEIGHTED)),
    "errors by person": real(HUBER, {**ROBUST, "max_rows": 3}, {TILTED: 3}, PERSONS),
    "errors of classes by person": real(LOGISTIC, {**ROBUST, "max_rows": 3}, {TILTED: 2}, PERSONS),
    "conformal choices": real(
        "calibration.DPConformalRegressor", {}, {SEARCH: 19, "statistics._choices": 1}
    ),
    "conformal searches": real(
        "calibration.DPConformalRegressor", {}, {"calibration._conformal": 10}, in_budget=True
    ),
    "conformal sets": real(
        "calibration.DPConformalClassifier",
        {"class_conditional": True},
        {"calibration._conformal": 10},
        in_budget=True,
    ),
    "calibration": real(
        "calibration.DPCalibratedClassifier",
        {"epsilon": 1.0, "estimator": public_classifier(N_NUMBERS)},
        {"metrics._evaluation cells": 1},
    ),
    "search of candidates": real(
        "model_selection.DPGridSearchCV", {}, {"model_selection._private_search": 1}
    ),
    "clusters": real("cluster.DPKMeans", {}, {"cluster": 2, "statistics._bounded_rows": 3}),
    "components": real("decomposition.DPPCA", {}, {"decomposition": 1}),
    "naive Bayes": real("naive_bayes.DPMixedNB", WITH_SCHEMA, {"naive_bayes": 1}),
    "description": real("statistics.describe", WITH_SCHEMA, {"statistics": 20}, in_budget=True),
    "quantiles": real("statistics.quantile", {"bounds": ONLY_NUMBERS}, {"statistics._choices": 2}),
    "mean": real("statistics.mean", {"bounds": ONLY_NUMBERS}, {"statistics": 1}),
    "observational effect": real(
        "statistics.treatment_effect",
        {"epsilon": 10.0, "min_propensity": 0.1, "delta": 1e-5},
        {"statistics.effects": 2},
    ),
    "covariance": real("statistics.covariance", {"bounds": ONLY_NUMBERS}, {"statistics": 1}),
}
"""Settings by what they reach."""
