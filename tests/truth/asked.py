"""Calls of every public release on hard tables, and the numbers they release with the truth.

The releases and their calls are those of the metamorphic suite. A call here has the parameters that
have no default, and public facts of the table; all else is the default.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import releases as suite
import sklearn.metrics
from hard import N_CATEGORIES, TARGETS, Columns, Target
from releases import Case, Record

__all__ = [
    "call",
    "case_of",
    "is_of_numbers",
    "labels",
    "models",
    "numbers",
    "released",
    "statistics",
    "targets_of",
    "truth",
]

CODES = list(range(N_CATEGORIES))
RELEASES = suite.releases()
PLAIN = {case.name: case for case in reversed(suite.cases()) if not (case.persons or case.keyed)}
OTHERS = ("estimator", "param_grid", "param_distributions", "n_iter", "n_clusters")
Q = [0.25, 0.5, 0.9]


def statistics() -> list[str]:
    """Return the releases whose results are numbers with intervals."""
    return [name for name in RELEASES if name.startswith(("statistics.", "metrics."))]


def models() -> list[str]:
    """Return the releases that predict."""
    return [name for name, kind in RELEASES.items() if hasattr(kind, "predict")]


def is_of_numbers(name: str) -> bool:
    """Return whether targets are numbers."""
    return PLAIN[name].task == "numbers"


def targets_of(name: str) -> list[Target]:
    """Return the targets that a model takes; one inside another release has two classes."""
    if is_of_numbers(name):
        return [target for target in TARGETS if not target.n_classes]
    most = math.inf if "classes" in PLAIN[name].settings else 2
    return [target for target in TARGETS if 2 <= target.n_classes <= most]


def call(
    name: str, table: Columns | Target, epsilon: float, **more: Any
) -> Callable[[list[Record]], Any]:
    """Return a function of rows that calls a release with the public facts of a table."""
    case = case_of(name, table, epsilon, **more)
    return lambda rows: case.run([[row] for row in rows])


def case_of(name: str, table: Columns | Target, epsilon: float, **more: Any) -> Case:
    """Return the call of a release with the public facts of a table."""
    usual, facts = PLAIN[name].settings, _facts_of(name, table)
    own = {key: facts.get(key, usual[key]) for key in usual if key in facts or key in OTHERS}
    if "estimator" in own and "param_grid" not in own and is_of_numbers(name):
        own["estimator"] = own["estimator"].set_params(target_bounds=table.bounds)
    given = {key: value for key, value in more.items() if key in PLAIN[name].parameters}
    relation = more.get("neighboring", "replace_one")
    settings = {**own, "epsilon": epsilon, **given}
    return replace(PLAIN[name], settings=settings, relation=relation)


def _facts_of(name: str, table: Columns | Target) -> dict[str, Any]:
    usual, is_target = PLAIN[name].settings, isinstance(table, Target)
    bounds = dict(enumerate(((-1.0, 1.0),) * 2 if is_target else table.bounds))
    if isinstance(usual.get("bounds"), dict):
        bounds = {0: bounds[0]}
    categories = {1: [0, 1]} if isinstance(usual.get("categories"), dict) else CODES
    n_classes = max(len(usual.get("classes", ())), table.n_classes if is_target else 2)
    facts = {
        "bounds": bounds,
        "categories": categories if usual.get("categories") else None,
        "classes": list(range(n_classes)),
        "target_bounds": table.bounds if is_target else table.bounds[0],
        "q": Q,
    }
    if name == "statistics.histogram":  # edges of others have defaults
        facts["edges"] = _edges(table)
    return facts


def _edges(table: Columns) -> list[float]:
    return np.linspace(*table.bounds[0], 8).tolist()


def labels(name: str, table: Columns | Target, rows: list[Record]) -> np.ndarray:
    """Return the labels that a release reads."""
    return np.array([row.label for row in rows]) % len(_facts_of(name, table)["classes"])


def numbers(rows: list[Record], field: str) -> np.ndarray:
    """Return one field of all rows."""
    return np.array([getattr(row, field) for row in rows])


def released(result: Any) -> dict[str, tuple[float, float, float]]:
    """Return the numbers of a result with the ends of their intervals, by name."""
    if hasattr(result, "_numbers"):
        return {name or "value": (x, *ends) for name, x, ends in result._numbers()}
    frame = result.to_frame()
    rows = frame[["estimate", "lower", "upper"]].itertuples(index=False)
    return {str(at): tuple(row) for at, row in zip(frame.index, rows, strict=True)}


Truth = tuple[float, float, float]
"""The least and the largest number that is true, and the scale of errors."""


def truth(name: str, table: Columns, rows: list[Record], shown: Iterable[str]) -> dict[str, Truth]:
    """Return the true numbers, by the names that `released` gives them."""
    if name.startswith("metrics."):
        return dict(_of_metric(name, table, rows, shown))
    X, codes, flag = (numbers(rows, field) for field in ("numbers", "categories", "flag"))
    found = TRUTHS[name](table, np.clip(X, *np.transpose(table.bounds)), codes, flag)
    pairs = ((one if len(one) == 3 else (one[0], *one)) for one in found)
    return dict(zip(shown, pairs, strict=True))


def _present(X: np.ndarray) -> list[np.ndarray]:
    return [column[~np.isnan(column)] for column in X.T]


def _filled(table: Columns, X: np.ndarray) -> list[np.ndarray]:
    """Return columns in which gaps are the middle of the bounds, as these statistics document."""
    middles = np.mean(table.bounds, axis=1)
    return [np.where(np.isnan(x), m, x) for x, m in zip(X.T, middles, strict=True)]


Found = Iterator[tuple[float, ...]]


def _mean(table: Columns, X: np.ndarray, codes: np.ndarray, flag: np.ndarray) -> Found:
    return ((x.mean(), x.std()) for x in _present(X))


def _variance(table: Columns, X: np.ndarray, codes: np.ndarray, flag: np.ndarray) -> Found:
    return ((x.var(), x.var()) for x in _present(X))


def _sum(table: Columns, X: np.ndarray, codes: np.ndarray, flag: np.ndarray) -> Found:
    return ((x.sum(), len(x) * x.std()) for x in _filled(table, X))


def _covariance(table: Columns, X: np.ndarray, codes: np.ndarray, flag: np.ndarray) -> Found:
    found = np.cov(_filled(table, X), ddof=0)
    scales = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    return zip(found.ravel(), scales.ravel(), strict=True)


def _quantile(table: Columns, X: np.ndarray, codes: np.ndarray, flag: np.ndarray) -> Found:
    return ((*_at(x, q), x.std()) for q in Q for x in _present(X))


def _at(x: np.ndarray, q: float) -> tuple[float, float]:
    """Return the ends of the quantiles: all numbers between two values if q·n is an integer."""
    places = np.ceil(q * len(x)) - 1, np.floor(q * len(x))
    low, high = np.sort(x)[np.clip(np.array(places, dtype=int), 0, len(x) - 1)]
    return float(low), float(high)


def _count(table: Columns, X: np.ndarray, codes: np.ndarray, flag: np.ndarray) -> Found:
    yield flag.sum(), len(flag)


def _histogram(table: Columns, X: np.ndarray, codes: np.ndarray, flag: np.ndarray) -> Found:
    cells, _ = np.histogram(_present(X)[0], _edges(table))
    return ((cell, len(X)) for cell in cells)


def _marginals(table: Columns, X: np.ndarray, codes: np.ndarray, flag: np.ndarray) -> Found:
    found = [np.bincount(code, minlength=N_CATEGORIES) for code in codes.T]
    return ((cell, len(X)) for cells in found for cell in cells)


def _describe(table: Columns, X: np.ndarray, codes: np.ndarray, flag: np.ndarray) -> Found:
    for x in _present(X):
        yield from ((len(x), len(X)), (x.mean(), x.std()), (x.std(), x.std()))
        yield from ((*_at(x, q), x.std()) for q in (0.25, 0.5, 0.75))


TRUTHS: dict[str, Callable[..., Found]] = {
    "statistics.count": _count,
    "statistics.covariance": _covariance,
    "statistics.describe": _describe,
    "statistics.histogram": _histogram,
    "statistics.marginals": _marginals,
    "statistics.mean": _mean,
    "statistics.quantile": _quantile,
    "statistics.sum": _sum,
    "statistics.variance": _variance,
}
"""The true numbers of each statistic and their scales, in the order of its frame."""

NOT_IN_SKLEARN = ("expected_calibration_error", "accuracy at 0.5")


def _of_metric(
    name: str, table: Columns, rows: list[Record], shown: Iterable[str]
) -> Iterator[tuple[str, Truth]]:
    for one in shown:
        if one not in NOT_IN_SKLEARN:
            asked = name.removeprefix("metrics.dp_") if one == "value" else one
            value, scale = _score(_function(asked), name, table, rows)
            yield one, (value, value, scale)


def _function(name: str) -> Any:
    found = (getattr(sklearn.metrics, f"{name}{end}", None) for end in ("", "_score", "_loss"))
    return next(one for one in found if inspect.isfunction(one))


def _score(function: Any, name: str, table: Columns, rows: list[Record]) -> tuple[float, float]:
    """Return scikit-learn's score, and the scale of errors of numbers."""
    if is_of_numbers(name):
        value = float(function(numbers(rows, "target"), numbers(rows, "guessed")))
        return value, 1.0 if function is sklearn.metrics.r2_score else max(value, 1e-3)
    y, score = labels(name, table, rows), numbers(rows, "score")
    if name == "metrics.one_vs_rest_report":  # the scores of other classes are numbers of a row
        others = np.clip(numbers(rows, "numbers"), 0.0, 1.0)
        each = enumerate((score, *others.T))
        return float(np.mean([function(y == k, own) for k, own in each])), 1.0
    is_of_labels = (
        "y_pred" in inspect.signature(function).parameters and function.__name__ != "log_loss"
    )
    return float(function(y, numbers(rows, "guess") if is_of_labels else score)), 1.0
