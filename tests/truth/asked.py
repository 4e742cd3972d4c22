"""Calls of every public release on hard tables, and the numbers they release with the truth.

The releases and their calls are those of the metamorphic suite. A call here has the parameters that
have no default, and public facts of the table; all else is the default.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import releases as suite
import sklearn.metrics
from hard import FIRST_DAY, LABELS, LEVELS, N_CATEGORIES, NUMBERS, TARGETS, Columns, Target
from releases import Case, Record
from sklearn.utils import get_tags

from skdp import TableSchema

__all__ = [
    "call",
    "case_of",
    "is_of_numbers",
    "labels",
    "models",
    "numbers",
    "released",
    "statistics",
    "tables_of",
    "targets_of",
    "truth",
]

RELEASES = suite.releases()
PLAIN = {case.name: case for case in reversed(suite.cases()) if not (case.persons or case.keyed)}
OTHERS = ("keys", "estimator", "param_grid", "param_distributions", "n_iter", "n_clusters")
Q = [0.25, 0.5, 0.9]


@dataclass(frozen=True, eq=False)
class Dated(Case):
    """A call in which the first column has dates, with their schema; numbers are its days."""

    def table(self, rows: Sequence[Record]) -> pd.DataFrame:
        days, others = numbers(rows, "numbers").T
        return pd.DataFrame({"0": FIRST_DAY + days.astype("timedelta64[D]"), "1": others})


def statistics() -> list[str]:
    """Return the releases whose results are numbers with intervals."""
    return [name for name in RELEASES if name.startswith(("statistics.", "metrics."))]


def models() -> list[str]:
    """Return the releases that predict."""
    return [name for name, kind in RELEASES.items() if hasattr(kind, "predict")]


def tables_of(name: str) -> list[Columns]:
    """Return the tables whose columns a statistic or metric reads."""
    case, read = PLAIN[name], set(PLAIN[name].given)
    if is_of_numbers(name) and "y_true" in read:
        return [one for one in NUMBERS if not one.has_dates and "gaps" not in one.name]
    if "y_true" in read:
        return LABELS
    if "condition" in read or {"bounds", "edges"}.isdisjoint(case.settings):
        return LEVELS
    return [one for one in NUMBERS if not (one.has_dates and "edges" in case.settings)]


def is_of_numbers(name: str) -> bool:
    """Return whether targets are numbers."""
    return PLAIN[name].task == "numbers"


def targets_of(name: str) -> list[Target]:
    """Return the targets that a model takes; one inside another release has two classes."""
    most = math.inf if "classes" in PLAIN[name].settings else 2
    found = [one for one in TARGETS if bool(one.n_classes) != is_of_numbers(name)]
    return [one for one in found if one.n_classes <= most and _takes(name, one)]


def _takes(name: str, target: Target) -> bool:
    """Whether a model takes such columns and targets."""
    case = case_of(name, target, 1.0)
    if target.n_levels and not {"bounds", "categories"} <= case.parameters:
        return False
    if target.has_persons and "groups" not in case.data:
        return False
    if target.gaps:
        make = suite.MADE.get(name, case.kind)
        return get_tags(make(**case.settings)).input_tags.allow_nan
    return "Poisson" not in name or (target.bounds[0] == 0.0 and "far" not in target.name)


def call(name: str, table: Columns, epsilon: float, **more: Any) -> Callable[[], Any]:
    """Return a function that calls a release with the rows and the public facts of a table."""
    case = case_of(name, table, epsilon, **more)
    return partial(case.release, case.arguments(table.persons))


def case_of(name: str, table: Columns | Target, epsilon: float, **more: Any) -> Case:
    """Return the call of a release with the public facts of a table."""
    usual, facts = PLAIN[name].settings, _facts_of(name, table)
    own = {key: facts.get(key, usual[key]) for key in usual if key in facts or key in OTHERS}
    if "estimator" in own and "param_grid" not in own and is_of_numbers(name):
        own["estimator"] = own["estimator"].set_params(target_bounds=table.bounds)
    given = {key: value for key, value in more.items() if key in PLAIN[name].parameters}
    changed = {
        "settings": {**own, "epsilon": epsilon, **given},
        "relation": more.get("neighboring", "replace_one"),
        "persons": table.has_persons,
    }
    parts = {one.name: getattr(PLAIN[name], one.name) for one in fields(Case)}
    return (Dated if table.has_dates else Case)(**{**parts, **changed})


def _facts_of(name: str, table: Columns | Target) -> dict[str, Any]:
    usual, is_target = PLAIN[name].settings, isinstance(table, Target)
    bounds = dict(enumerate(((-1.0, 1.0),) * 2 if is_target else table.bounds))
    if table.has_dates:
        columns = {"0": _dates(*table.bounds[0]), "1": {"bounds": table.bounds[1]}}
        bounds = TableSchema(columns, source="simulated")
    codes = list(range(table.n_levels or N_CATEGORIES))
    categories = codes if usual.get("categories") else None
    has_levels = is_target and table.n_levels > 0
    if has_levels or isinstance(usual.get("categories"), dict):
        bounds, categories = {0: bounds[0]}, {1: codes if has_levels else [0, 1]}
    n_classes = max(len(usual.get("classes", ())), table.n_classes if is_target else 2)
    facts = {
        "bounds": bounds,
        "categories": categories,
        "classes": list(range(n_classes)),
        "target_bounds": table.bounds if is_target else table.bounds[0],
        "q": Q,
    }
    if name == "statistics.difference":
        facts["keys"] = [0, 1, 2]
    if name == "statistics.treatment_effect":  # the outcome is the first column
        facts |= {"bounds": table.bounds[0], "covariate_bounds": bounds}
    if name in ("statistics.histogram", "statistics.survival_curve"):  # others have defaults
        facts["edges"] = _edges(table)
    return facts


def _dates(*ends: float) -> dict[str, Any]:
    return {"bounds": [str(FIRST_DAY + int(days)) for days in ends]}


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
        return {name or "value": (x, *_of_rows(result, name)) for name, x, _ in result._numbers()}
    frame = result.to_frame()
    rows = frame[["estimate", "lower", "upper"]].itertuples(index=False)
    return {str(at): tuple(row) for at, row in zip(frame.index, rows, strict=True)}


def _of_rows(score: Any, name: str) -> tuple[float, float]:
    """Return an interval for the score of the rows, without the sampling error."""
    asked = [name.split(" at ")[0]] if name else []
    return score.interval(*asked, sampling=False)


Truth = tuple[float, float, float]
"""The least and the largest number that is true, and the scale of errors."""


def truth(name: str, table: Columns, shown: Iterable[str]) -> dict[str, Truth]:
    """Return the true numbers, by the names that `released` gives them."""
    rows, shares = _rows_of(table)
    if name.startswith("metrics."):
        return dict(_of_metric(name, table, rows, shares, shown))
    X, codes, flag = (numbers(rows, field) for field in ("numbers", "categories", "flag"))
    X = np.clip(X, *np.transpose(table.bounds))
    keys = numbers(rows, "key")
    found = TRUTHS[name](Rows(table, X, codes, flag, shares, keys))
    pairs = ((one if len(one) == 3 else (one[0], *one)) for one in found)
    return dict(zip(shown, pairs, strict=True))


def _rows_of(table: Columns) -> tuple[list[Record], np.ndarray]:
    """Return all rows, and their shares: those of a person add up to 1."""
    shares = [1.0 / len(own) for own in table.persons for _ in own]
    return [row for own in table.persons for row in own], np.array(shares)


@dataclass(frozen=True, eq=False)
class Rows:
    """Clipped numbers, categories, conditions, shares and keys of rows."""

    table: Columns
    X: np.ndarray
    codes: np.ndarray
    flag: np.ndarray
    shares: np.ndarray
    keys: np.ndarray

    @property
    def present(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The values that are present in each column, and their shares."""
        return [(x[~np.isnan(x)], self.shares[~np.isnan(x)]) for x in self.X.T]


Found = Iterator[tuple[float, ...]]


def _moments(x: np.ndarray, shares: np.ndarray) -> tuple[float, float]:
    mean = np.average(x, weights=shares)
    return float(mean), float(np.average((x - mean) ** 2, weights=shares))


def _mean(rows: Rows) -> Found:
    found = (_moments(*one) for one in rows.present)
    return ((mean, math.sqrt(variance)) for mean, variance in found)


def _variance(rows: Rows) -> Found:
    found = (_moments(*one)[1] for one in rows.present)
    return ((variance, variance) for variance in found)


def _sum(rows: Rows) -> Found:
    found = ((shares.sum(), *_moments(x, shares)) for x, shares in rows.present)
    return ((n * mean, n * math.sqrt(variance)) for n, mean, variance in found)


def _covariance(rows: Rows) -> Found:
    whole = ~np.isnan(rows.X).any(axis=1)
    found = np.cov(rows.X[whole].T, ddof=0, aweights=rows.shares[whole])
    scales = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    return zip(found.ravel(), scales.ravel(), strict=True)


def _difference(rows: Rows) -> Found:
    found = np.array([[*_in_group(rows, key)] for key in range(3)])  # group, column, mean and scale
    for one in found[1:]:
        yield from zip(one[:, 0] - found[0, :, 0], one[:, 1] + found[0, :, 1], strict=True)


def _in_group(rows: Rows, key: int) -> Found:
    for x in rows.X.T:
        some = ~np.isnan(x) & (rows.keys == key)
        mean, variance = _moments(x[some], rows.shares[some])
        yield mean, math.sqrt(variance)


def _quantile(rows: Rows) -> Found:
    return ((*_at(*one, q), math.sqrt(_moments(*one)[1])) for q in Q for one in rows.present)


def _at(x: np.ndarray, shares: np.ndarray, q: float) -> tuple[float, float]:
    """Return the ends of the quantiles: all numbers between two values if q·n is reached."""
    order = np.argsort(x)
    below = np.cumsum(shares[order]) / shares.sum()
    places = np.searchsorted(below, [q - 1e-12, q + 1e-12])
    low, high = x[order][np.minimum(places, len(x) - 1)]
    return float(low), float(high)


def _count(rows: Rows) -> Found:
    yield rows.shares @ rows.flag, rows.shares.sum()


def _histogram(rows: Rows) -> Found:
    cells, _ = np.histogram(rows.X[:, 0], _edges(rows.table), weights=rows.shares)
    return ((cell, rows.shares.sum()) for cell in cells)


def _survival(rows: Rows) -> Found:
    """By the actuarial rule; a missing time is left out."""
    known, edges = ~np.isnan(rows.X[:, 0]), _edges(rows.table)
    cells = np.searchsorted(edges[1:], rows.X[known, 0], "right")
    flag, shares = rows.flag[known].astype(float), rows.shares[known]
    all_, events = (np.bincount(cells, w, len(edges)) for w in (shares, shares * flag))
    at_risk = np.cumsum(all_[::-1])[::-1] - 0.5 * (all_ - events)
    left = np.cumprod(1.0 - events / np.maximum(at_risk, 1e-9))
    return ((one, 1.0) for one in left[:-1])


def _effect(rows: Rows) -> Found:
    """Between that without slopes and 0, as the outcome is a covariate: noise shrinks slopes."""
    y = rows.X[:, 0]
    known = ~np.isnan(rows.X).any(axis=1)
    arms = [known & (rows.flag == arm) for arm in (0, 1)]
    means = [np.average(y[arm], weights=rows.shares[arm]) for arm in arms]
    raw = means[1] - means[0]
    yield min(raw, 0.0), max(raw, 0.0), y[known].std()


def _marginals(rows: Rows) -> Found:
    n_levels, shares = rows.table.n_levels, rows.shares
    found = [np.bincount(code, shares, n_levels) for code in rows.codes.T]
    return ((cell, shares.sum()) for cells in found for cell in cells)


def _describe(rows: Rows) -> Found:
    for x, shares in rows.present:
        mean, variance = _moments(x, shares)
        spread = math.sqrt(variance)
        yield from ((shares.sum(), rows.shares.sum()), (mean, spread), (spread, spread))
        yield from ((*_at(x, shares, q), spread) for q in (0.25, 0.5, 0.75))


TRUTHS: dict[str, Callable[..., Found]] = {
    "statistics.count": _count,
    "statistics.covariance": _covariance,
    "statistics.describe": _describe,
    "statistics.difference": _difference,
    "statistics.histogram": _histogram,
    "statistics.marginals": _marginals,
    "statistics.mean": _mean,
    "statistics.quantile": _quantile,
    "statistics.sum": _sum,
    "statistics.survival_curve": _survival,
    "statistics.treatment_effect": _effect,
    "statistics.variance": _variance,
}
"""The true numbers of each statistic and their scales, in the order of its frame."""

NOT_IN_SKLEARN = ("expected_calibration_error", "accuracy at 0.5")


def _of_metric(
    name: str, table: Columns, rows: list[Record], shares: np.ndarray, shown: Iterable[str]
) -> Iterator[tuple[str, Truth]]:
    for one in shown:
        if one not in NOT_IN_SKLEARN:
            asked = name.removeprefix("metrics.dp_") if one == "value" else one
            function = partial(_function(asked), sample_weight=shares)
            value, scale = _score(function, name, table, rows)
            yield one, (value, value, scale)


def _function(name: str) -> Any:
    found = (getattr(sklearn.metrics, f"{name}{end}", None) for end in ("", "_score", "_loss"))
    return next(one for one in found if inspect.isfunction(one))


def _score(function: Any, name: str, table: Columns, rows: list[Record]) -> tuple[float, float]:
    """Return scikit-learn's score, and the scale of errors of numbers."""
    asked = function.func.__name__
    if is_of_numbers(name):
        both = (numbers(rows, field) for field in ("target", "guessed"))
        value = float(function(*(np.clip(one, *table.bounds[0]) for one in both)))
        return value, 1.0 if asked == "r2_score" else max(value, 1e-3)
    y, score = labels(name, table, rows), numbers(rows, "score")
    if name == "metrics.one_vs_rest_report":  # the scores of other classes are numbers of a row
        others = np.clip(numbers(rows, "numbers"), 0.0, 1.0)
        each = enumerate((score, *others.T))
        return float(np.mean([function(y == k, own) for k, own in each])), 1.0
    is_of_labels = "y_pred" in inspect.signature(function).parameters and asked != "log_loss"
    return float(function(y, numbers(rows, "guess") if is_of_labels else score)), 1.0
