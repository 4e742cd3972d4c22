"""Every public release, found through the `__all__` of each folder, and how to call it.

A release is a public name with a parameter `epsilon` and data: a function, or a class with `fit`.
Its arguments are found by the names of its parameters, in `SETTINGS` and `_COLUMNS`. A required
parameter that is in neither fails `test_every_release_can_be_called`.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import skdp
from skdp import DPLinearRegression, DPLogisticRegression
from skdp.features import AdditiveFeatures, RandomFourierFeatures
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.solvers import DPSGD, SOLVERS
from skdp.workloads import NOISES

__all__ = [
    "EXCLUDED",
    "Case",
    "Record",
    "cases",
    "public_classifier",
    "public_names",
    "releases",
    "variants",
    "ways",
]

RELATIONS = ("replace_one", "add_remove_one")

EXCLUDED = {
    "accounting.calibrate": "takes no data",
    "accounting.gdp_mu": "takes no data",
    "accounting.rows_needed": "takes no data",
    "auditing.check_private": "attacks a release that is in the suite by its own name",
    "metrics.make_private_scorer": "calls a metric that is in the suite by its own name",
    "pipeline.make_private_pipeline": "makes a PrivatePipeline, which is in the suite",
    "workloads.plan_queries": "takes no data; every plan that it makes is on the tape",
}
"""Public names with a parameter `epsilon` that are not tried, each with the reason."""

LABELS = (2**53, 2**53 + 1, 2**60 + 1)
"""Classes that are equal after a conversion to floats and back."""
CATEGORIES = (2**53, 2**53 + 1, -(2**62) - 1)
KEYS = (2**53 + 1, 2**53 + 2, 7)
PAIRS = [list(KEYS), [True, False]]
"""Keys of two columns."""
ABSENT = (2**53 + 3, None)  # no category, and no key
TARGETS = (-10.0, 10.0)


class Record(NamedTuple):
    """One row: all that any release may read of it."""

    numbers: tuple[float, ...]
    categories: tuple[int | None, int | None]
    flag: bool | None
    label: int
    guess: int
    target: float
    guessed: float
    score: float
    weight: float
    key: int | None


def public_classifier(n_numbers: int = 2) -> LogisticRegression:
    """Return a model of public rows."""
    rows = np.ones((3, n_numbers))
    rows[0], rows[2, 0] = 0.0, -1.0
    return LogisticRegression().fit(
        np.repeat(rows, 3, axis=0), np.repeat(LABELS[:2] + LABELS[:1], 3)
    )


SETTINGS: dict[str, Any] = {
    "epsilon": 1.0,
    "random_state": 0,
    "noise": "gaussian",  # which is planned fastest; others are among the variants
    "bounds": (-1.0, 1.0),
    "edges": [-1.0, -0.3, 0.0, 1.0],
    "q": [0.25, 0.9],
    "categories": list(CATEGORIES),
    "classes": list(LABELS[:2]),
    "target_bounds": TARGETS,
    "max_weight": 1.5,
    "estimator": public_classifier(),
    "n_clusters": 3,
    "n_trees": 3,
    "n_terms": 4,
    "n_steps": 20,
}
"""The value of each parameter, by its name, for all releases."""

MIXED = {"bounds": {0: (-1.0, 1.0)}, "categories": {1: list(CATEGORIES)}}
SEARCHED = {"estimator": DPLogisticRegression(classes=list(LABELS[:2]))}
GRID = {"data_norm": [0.5, 2.0]}
OWN: dict[str, dict[str, Any]] = {
    "calibration.DPCalibratedClassifier": {"epsilon": 100.0},  # 150/ε of a class are few
    "calibration.DPConformalClassifier": SEARCHED,
    "calibration.DPConformalRegressor": {"estimator": DPLinearRegression(target_bounds=TARGETS)},
    "metrics.one_vs_rest_report": {"classes": list(LABELS)},
    "model_selection.DPGridSearchCV": {**SEARCHED, "param_grid": GRID},
    "model_selection.DPRandomizedSearchCV": {
        **SEARCHED,
        "param_distributions": GRID,
        "n_iter": 2,
    },
    "linear_model.DPPoissonRegressor": {"target_bounds": (0.0, 1.0)},
    "naive_bayes.DPMixedNB": MIXED,
    "density.DPTreeDensity": MIXED,
    "density.DPTreeNB": MIXED,
    "additive.DPAdditiveClassifier": {"categories": None},
    "additive.DPAdditiveRegressor": {"categories": None},
    "ensemble.DPRandomForestClassifier": {"categories": None},
    "ensemble.DPRandomForestRegressor": {"categories": None},
    "statistics.describe": {"categories": None},
    "statistics.difference": {"keys": list(KEYS)},
    "statistics.treatment_effect": {"bounds": TARGETS, "covariate_bounds": (-1.0, 1.0)},
    "tabular.DPTabularClassifier": {"categories": None},
    "tabular.DPTabularRegressor": {"categories": None},
}
"""Values that replace `SETTINGS` for a release in which a name has another meaning."""

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "statistics.count": [
        *({"noise": name} for name in ("auto", *NOISES) if name != "optimized"),
        {"keys": PAIRS},
    ],
    "statistics.histogram": [{"edges": [-np.inf, -0.3, 0.0, np.inf]}],
    "statistics.mean": [
        {"noise": "laplace", "delta": 0.0},
        {"missing": "middle"},
        {"keys": PAIRS},
    ],
    "statistics.sum": [{"keys": PAIRS}],
    "statistics.survival_curve": [{"noise": "laplace"}, {"keys": PAIRS}],
    "statistics.variance": [{"missing": "middle"}, {"keys": PAIRS}],
    "statistics.difference": [
        {"bounds": None},
        {"bounds": None, "noise": "laplace"},
        {"noise": "laplace", "delta": 0.0},
    ],
    "statistics.marginals": [{"n_ways": 2}],
    "statistics.treatment_effect": [{"noise": "laplace", "delta": 0.0}],
    "statistics.quantile": [{"delta": 0.0}, {"missing": "middle"}, {"keys": PAIRS}],
    "additive.DPAdditiveClassifier": [
        {"bounds": "auto"},
        {"interactions": "pairs", "missing": "error"},
        MIXED,
    ],
    "additive.DPAdditiveRegressor": [
        {"bounds": "auto"},
        {"target_transform": "log", "target_bounds": (1.0, 10.0)},
    ],
    "calibration.DPConformalClassifier": [
        {"conformity_score": "aps", "confidence_level": [0.8, 0.5]},
        {"class_conditional": True, "conformalize_size": 0.9},
    ],
    "cluster.DPKMeans": [{"n_clusters": 1}],
    "density.DPTreeDensity": [{"target": 1}],
    "decomposition.DPPCA": [{"data_norm": 0.7}, {"n_components": 1}],
    "linear_model.DPLogisticRegression": [
        *({"solver": name, "n_samples_hint": 12} for name in SOLVERS if name != "adassp"),
        {"loss_clip": None},
        {"classes": list(LABELS)},
        {"classes": list(LABELS), "solver": "noisy_gd"},
        {"subsample": 0.5},
        {"subsample": 0.5, "center": True},
        {"fit_intercept": False},
        {"features": AdditiveFeatures(bounds=(-1.0, 1.0), n_terms=4)},
        {"features": RandomFourierFeatures(bounds=(-1.0, 1.0), n_components=6)},
        {"features": make_pipeline(BoundsScaler(bounds=(-1.0, 1.0)), PolynomialFeatures(2))},
        {"class_weight": {LABELS[0]: 2.0}},
    ],
    "linear_model.DPLinearRegression": [
        {"solver": "adassp"},
        {"n_samples_hint": 20_000},  # enough for a range of the targets, moments and a mean
        {"n_samples_hint": 8_000, "solver": "noisy_gd"},
    ],
    "linear_model.DPPoissonRegressor": [{"n_samples_hint": 20_000}],
    "linear_model.DPHingeClassifier": [
        {"classes": list(LABELS)},
        {"smoothing": 0.1},
        {"solver": DPSGD(20, clip_norm=0.2)},
        {"solver": DPSGD(20, sampling_rate=1.0)},
    ],
    "linear_model.DPHuberRegressor": [{"solver": DPSGD(20, clip_norm=0.2)}],
    "linear_model.DPQuantileRegressor": [{"quantile": [0.1, 0.9]}],
    "metrics.confusion_report": [{"classes": list(LABELS)}],
    "naive_bayes.DPGaussianNB": [{"classes": list(LABELS)}],
    "tabular.DPTabularClassifier": [{"subsample": 0.5}],
}
"""Settings of some releases that change how the data are read."""

SLOW_VARIANTS: dict[str, list[dict[str, Any]]] = {
    "statistics.count": [{"noise": "optimized"}],
    "statistics.describe": [MIXED, {**MIXED, "keys": PAIRS}],
    "statistics.quantile": [{"level": 0.9}, {"level": 0.9, "ties": False}],
    "model_selection.DPGridSearchCV": [{"method": "repeat"}, {"release_scores": True}],
}
"""More such settings, whose plans take seconds."""


def _pipeline(epsilon: float, unit: str = "record", neighboring: str = "replace_one") -> Any:
    scaler, model = DPStandardScaler(bounds=(-1.0, 1.0)), DPLogisticRegression(classes=LABELS[:2])
    asked = {"epsilon": epsilon, "unit": unit, "neighboring": neighboring}
    return make_private_pipeline(scaler, model, **asked)


MADE: dict[str, Callable[..., Any]] = {"pipeline.PrivatePipeline": _pipeline}
"""Functions that make releases whose constructors users do not call."""


def public_names() -> Iterator[tuple[str, Any]]:
    """Yield every public name of every public folder, with what it names."""
    for folder in skdp.__all__:
        module = getattr(skdp, folder)
        if not inspect.ismodule(module):
            continue
        for name in module.__all__:
            yield f"{folder}.{name}", getattr(module, name)


@cache
def releases() -> dict[str, Any]:
    """Return the public names that are called with data and an ε."""
    return {
        name: kind
        for name, kind in public_names()
        if name not in EXCLUDED and (name in MADE or _is_release(kind))
    }


def _is_release(kind: Any) -> bool:
    if inspect.isabstract(kind) or not callable(kind):
        return False
    try:
        parameters = inspect.signature(kind).parameters
    except (TypeError, ValueError):
        return False
    return "epsilon" in parameters and (not inspect.isclass(kind) or hasattr(kind, "fit"))


@dataclass(frozen=True, eq=False)
class Case:
    """One way to call a release.

    Attributes
    ----------
    name : str
        Of the release, such as "statistics.mean".
    kind : callable
        The function or the class.
    settings : mapping
        Public parameters.
    relation : str
        Which data sets are neighbors.
    persons, weighted, keyed : bool
        Whether `groups`, `sample_weight`, and `by` with `keys` are given.
    n_numbers : int
        Number of numeric columns of a record.
    stages : mapping of str to int
        Beginnings of the names of stages on the tape, and the fewest questions of each.
    shows : callable
        Whether a result shows that the stages found something.
    """

    name: str
    kind: Any
    settings: Mapping[str, Any]
    relation: str = "replace_one"
    persons: bool = False
    weighted: bool = False
    keyed: bool = False
    n_numbers: int = 2
    stages: Mapping[str, int] = field(default_factory=dict)
    shows: Callable[[Any], bool] = lambda result: True

    def __str__(self) -> str:
        changed = ", ".join(f"{name}={self.settings[name]!r}" for name in self.own)
        marks = [mark for mark in ("persons", "weighted", "keyed") if getattr(self, mark)]
        return f"{self.name}({changed}) {self.relation} {' '.join(marks)}".rstrip()

    @property
    def own(self) -> list[str]:
        """The names of parameters whose values differ from the usual ones of the release."""
        usual = {**SETTINGS, **OWN.get(self.name, {})}
        given = self.settings.items()
        return [k for k, v in given if k not in usual or repr(usual[k]) != repr(v)]

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The names of the parameters of the function or the constructor."""
        return frozenset(inspect.signature(MADE.get(self.name, self.kind)).parameters)

    @cached_property
    def data(self) -> tuple[str, ...]:
        """The names of the parameters that are data."""
        of = self.kind.fit if hasattr(self.kind, "fit") else self.kind
        if self.name in MADE:
            return ("X", "y", "groups")
        names = inspect.signature(of).parameters
        return tuple(name for name in names if name in _COLUMNS)

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the data that are passed."""
        skipped = set() if self.weighted else {"sample_weight"}
        skipped |= set() if self.persons else {"groups"}
        skipped |= set() if self.keyed or "keys" in self.settings else {"by"}
        return tuple(name for name in self.data if name not in skipped)

    @property
    def fields(self) -> set[str]:
        """The fields of a record with extreme values that may be read."""
        of = {
            "numbers": {"x", "X", "y_score", "time", "covariates"},
            "target": {"y", "y_true"},
            "guessed": {"y_pred"},
            "score": {"y_score", "y_prob"},
            "weight": {"sample_weight"},
        }
        return {field for field, names in of.items() if names & set(self.given)}

    def run(self, persons: Sequence[Sequence[Record]]) -> Any:
        """Return the result for the rows of some persons; a record alone is a person of one row."""
        return self.release(self.arguments(persons))

    def arguments(self, persons: Sequence[Sequence[Record]]) -> dict[str, Any]:
        """Return the data that are passed."""
        rows = [row for own in persons for row in own]
        arguments = {name: _COLUMNS[name](self, rows) for name in self.given}
        if self.persons:
            codes = np.repeat(np.arange(len(persons)), [len(own) for own in persons])
            arguments["groups"] = codes
        return arguments

    def release(self, arguments: Mapping[str, Any]) -> Any:
        """Return the result for these data."""
        made = self.made()
        return made.fit(**arguments) if hasattr(made, "fit") else made(**arguments)

    def made(self) -> Any:
        """Return the estimator, or the function with its settings."""
        settings = dict(self.settings, neighboring=self.relation)
        if self.keyed:
            settings["keys"] = list(KEYS)
        if self.persons and "unit" in self.parameters:
            settings["unit"] = "person"
        make = MADE.get(self.name, self.kind)
        return make(**settings) if hasattr(self.kind, "fit") else partial(make, **settings)

    @property
    def task(self) -> str:
        """Whether targets are labels or numbers."""
        of_numbers = {"target_bounds", "covariate_bounds"} & self.parameters
        return "numbers" if of_numbers else "labels"

    def table(self, rows: Sequence[Record]) -> Any:
        """Return the columns X or x."""
        numbers = np.array([row.numbers for row in rows], dtype=float)
        categories, bounds = self.settings.get("categories"), self.settings.get("bounds", ())
        if bounds is None and categories is None:  # booleans
            pairs = [(row.flag, row.label > 0) for row in rows]
            return pd.DataFrame(pairs, columns=range(2), dtype="boolean")
        if isinstance(categories, Mapping):
            return pd.DataFrame({0: numbers[:, 0], 1: _codes(rows)[1]})
        if categories is not None and bounds in ((), None):
            return _codes(rows)
        return numbers[:, 0] if "edges" in self.settings and "x" in self.data else numbers

    def labels(self, codes: Sequence[int]) -> np.ndarray:
        """Return labels that are known to the release."""
        classes = self.settings.get("classes") or list(LABELS[:2])
        return np.array([classes[code % len(classes)] for code in codes], dtype=np.int64)


def _codes(rows: Sequence[Record]) -> pd.DataFrame:
    return pd.DataFrame([row.categories for row in rows], columns=range(2), dtype="Int64")


def _truth(case: Case, rows: Sequence[Record]) -> np.ndarray:
    if case.task == "numbers":
        return np.array([row.target for row in rows], dtype=float)
    return case.labels([row.label for row in rows])


def _guess(case: Case, rows: Sequence[Record]) -> np.ndarray:
    if case.task == "numbers":
        return np.array([row.guessed for row in rows], dtype=float)
    return case.labels([row.guess for row in rows])


def _by(case: Case, rows: Sequence[Record]) -> Any:
    keys = pd.array([row.key for row in rows], dtype="Int64")
    several = case.settings.get("keys") is PAIRS
    return [keys, np.array([row.label > 0 for row in rows], dtype=bool)] if several else keys


def _scores(case: Case, rows: Sequence[Record]) -> np.ndarray:
    scores = np.array([row.score for row in rows], dtype=float)
    if case.name != "metrics.one_vs_rest_report":
        return scores
    others = np.array([row.numbers[:2] for row in rows], dtype=float)
    return np.column_stack([scores, np.clip(others, 0.0, 1.0)])


_COLUMNS: dict[str, Callable[[Case, Sequence[Record]], Any]] = {
    "x": lambda case, rows: case.table(rows),
    "X": lambda case, rows: case.table(rows),
    "covariates": lambda case, rows: case.table(rows),
    "treated": lambda case, rows: pd.array([row.flag for row in rows], dtype="boolean"),
    "y": _truth,
    "condition": lambda case, rows: pd.array([row.flag for row in rows], dtype="boolean"),
    "y_true": _truth,
    "y_pred": _guess,
    "y_score": _scores,
    "y_prob": _scores,
    "sample_weight": lambda case, rows: np.array([row.weight for row in rows], dtype=float),
    "by": lambda case, rows: _by(case, rows),
    "time": lambda case, rows: np.array([row.numbers[0] for row in rows], dtype=float),
    "event": lambda case, rows: pd.array([row.flag for row in rows], dtype="boolean"),
    "groups": lambda case, rows: None,
}
"""Data for a parameter of this name, as a function of the case and the rows."""


def _settings(name: str, kind: Any) -> dict[str, Any]:
    parameters = inspect.signature(MADE.get(name, kind)).parameters
    usual = {key: value for key, value in SETTINGS.items() if key in parameters}
    return {**usual, **OWN.get(name, {})}


def missing_parameters(name: str, kind: Any) -> list[str]:
    """Return the required parameters without a value in this file."""
    known = {*_settings(name, kind), *_COLUMNS}
    callables = [kind, *([kind.fit] if hasattr(kind, "fit") else [])]
    required = itertools.chain(*(inspect.signature(one).parameters.values() for one in callables))
    return [
        one.name
        for one in required
        if one.default is one.empty
        and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        and one.name not in (*known, "self")
        and name not in MADE
    ]


def cases() -> list[Case]:
    """Return each release as it is, under both relations, for rows and for persons."""
    plain = (Case(name, kind, _settings(name, kind)) for name, kind in releases().items())
    return [case for one in plain for case in ways(one)]


def variants(settings: Mapping[str, list[dict[str, Any]]] = VARIANTS) -> list[Case]:
    """Return the other settings of some releases."""
    kinds = releases()
    return [
        Case(name, kinds[name], {**_settings(name, kinds[name]), **own})
        for name, others in settings.items()
        for own in others
    ]


def ways(plain: Case) -> list[Case]:
    """Return a case under both relations, for rows and persons, with weights and with keys."""
    more = [{}]
    if "sample_weight" in plain.data and "max_weight" in plain.settings:
        more.append({"weighted": True})
    if "by" in plain.data and "keys" not in plain.settings:
        more.append({"keyed": True})
    units = [False, True] if "groups" in plain.data else [False]
    # In a Poisson sample a replaced record counts as one that goes and one that comes.
    relations = RELATIONS[1:] if "subsample" in plain.own else RELATIONS
    if "release_scores" in plain.own:  # means of scores need a public count
        relations = relations[:1]
    return [
        replace(plain, relation=relation, persons=persons, **given)
        for given in more
        for persons in units
        for relation in relations
    ]
