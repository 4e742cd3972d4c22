"""What in a pipeline, or in a search over it, leaks beside the releases that are paid for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import is_classifier, is_regressor

from skdp._private_fit import PrivateFit
from skdp.exceptions import PrivacyLeakError
from skdp.pipeline._candidates import GRIDS, candidates
from skdp.pipeline._payers import inside, is_wrapper, payers
from skdp.pipeline._synthetic import what_differs
from skdp.pipeline._verdicts import (
    CONDITIONS,
    LEARNS,
    SAFE,
    WRAPPERS,
    Condition,
    instead_of,
    is_private,
)
from skdp.support.html import html_table

__all__ = ["Leak", "Leaks", "check_pipeline"]

_ORDER = ("high", "medium", "unknown")
_NOTHING_FOUND = "No leak was found. That does not show that there is none."


@dataclass(frozen=True)
class Leak:
    """One thing that leaks, or might.

    Parameters
    ----------
    path : str
        *Public.* Where it is, in the words of `set_params`; empty for the outermost estimator. What
        a candidate of a search leaks is where the search would set it.
    estimator : str
        *Public.* The class.
    parameter : str
        *Public.* Which parameter makes it leak; empty where none can help.
    kind : str
        *Public.* "learns": from values, without privacy. "errors": messages quote values.
        "scores": exact scores or errors of records choose something, or are published. "folds":
        other records move when one changes. "seed": whoever knows it can take the noise off.
        "budget": several parts spend, and no budget adds it up. "untested": an unknown class of
        which nothing is proved.
    severity : str
        *Public.* "high", "medium", or "unknown" where nothing was found and nothing is proved.
    advice : str
        *Public.* Why it leaks, and what to do instead.
    """

    path: str
    estimator: str
    parameter: str
    kind: str
    severity: str
    advice: str

    def __str__(self) -> str:
        return f"[{self.severity}] {self._where} {self.kind}: {self.advice}"

    @property
    def _where(self) -> str:
        path = f"{self.path}: " if self.path else ""
        parameter = f"({self.parameter}=...)" if self.parameter else ""
        return f"{path}{self.estimator}{parameter}"


class Leaks(list[Leak]):
    """Findings, worst first; a list that a notebook shows as a table.

    Parameters
    ----------
    iterable : iterable of Leak, default ()
        *Public.*
    """

    def __str__(self) -> str:
        return "\n".join(map(str, self)) if self else _NOTHING_FOUND

    def _repr_html_(self) -> str:
        if not self:
            return f"<p>{_NOTHING_FOUND}</p>"
        rows = ((one.severity, one.kind, f"{one._where}\n{one.advice}") for one in self)
        return html_table(("severity", "kind", "where, and what to do instead"), rows)


def check_pipeline(estimator: Any, X_public: Any = None, *, strict: bool = False) -> Leaks:
    """Return what an estimator, pipeline or search leaks beside the releases that it pays for.

    No data of yours are read. scikit-learn's classes are judged by a table of what their
    parameters make them learn, estimators inside of others by themselves. An unknown class is
    fitted to two synthetic data sets: where what it holds differs, it learns.

    Parameters
    ----------
    estimator : estimator
        *Public.* Not fitted. Estimators of skdp count as private, and those of other libraries that
        have parameters `epsilon` and `delta`, `bounds`, `budget` or `accountant`.
    X_public : array-like or frame of shape (n_samples, n_features), default None
        *Public.* Rows that are nobody's, on which unknown classes are tried; for those that need
        columns of certain names or types.
    strict : bool, default False
        *Public.* Whether to raise where something of high or medium severity is found.

    Returns
    -------
    leaks : Leaks
        A list of `Leak`, worst first; empty where nothing is found. It proves leaks, never safety.

    Raises
    ------
    PrivacyLeakError
        If `strict` and something is found.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skdp import DPLogisticRegression
    >>> for leak in check_pipeline(make_pipeline(StandardScaler(), DPLogisticRegression())):
    ...     print(leak.path, leak.kind)
    standardscaler learns
    """
    if not hasattr(estimator, "get_params"):
        raise ValueError(f"estimator must be an estimator with get_params, got {estimator!r}.")
    found = Leaks(_leaks("", estimator, X_public))
    found.sort(key=lambda leak: _ORDER.index(leak.severity))
    if strict and any(leak.severity != "unknown" for leak in found):
        raise PrivacyLeakError(str(found))
    return found


def _leaks(path: str, estimator: Any, X_public: Any) -> Iterator[Leak]:
    """Yield what one estimator leaks, those in its parameters, and those in its grid."""
    kind = type(estimator)
    name, known = kind.__name__, kind.__module__.split(".")[0] in ("sklearn", "skdp")
    if is_wrapper(estimator):
        yield from _of_wrapper(path, estimator, X_public)
    elif is_private(estimator):
        yield from _of_private(path, estimator)
        yield from _of_parts(inside(path, estimator, ("estimator",)), X_public)
        yield from _of_candidates(path, estimator, X_public)
    elif known and name in CONDITIONS:
        yield from _broken(path, estimator, CONDITIONS[name])
    elif known and name in LEARNS:
        yield Leak(path, name, "", "learns", "high", LEARNS[name])
    elif known and name in SAFE:  # a frozen predictor learns no more
        return
    elif is_classifier(estimator) or is_regressor(estimator):
        yield Leak(path, name, "", "learns", "high", instead_of(estimator))
    elif not (known and kind.__module__.startswith("skdp.")):
        yield from _of_unknown(path, estimator, known, X_public)


def _of_wrapper(path: str, estimator: Any, X_public: Any) -> Iterator[Leak]:
    parameters, conditions = WRAPPERS[type(estimator).__name__]
    parts = list(inside(path, estimator, parameters))
    yield from _broken(path, estimator, conditions)
    yield from _moved(path, estimator, [part for _, part in parts])
    yield from _uncounted(path, estimator, [part for _, part in parts])
    yield from _of_parts(parts, X_public)
    yield from _of_candidates(path, estimator, X_public)


def _of_parts(parts: Iterable[tuple[str, Any]], X_public: Any) -> Iterator[Leak]:
    for path, part in parts:
        yield from _leaks(path, part, X_public)


def _of_candidates(path: str, search: Any, X_public: Any) -> Iterator[Leak]:
    """Yield what candidates leak beside what the estimator of a search does, each once."""
    inner = f"{path}__estimator" if path else "estimator"
    for grid in GRIDS:
        found: dict[Leak, None] = {}  # in order
        for candidate in candidates(search, grid):
            found |= dict.fromkeys(_leaks(inner, candidate, X_public))
        known = [*_leaks(inner, search.estimator, X_public)] if found else []
        for leak in found:
            if leak not in known:
                yield replace(leak, advice=f"a candidate of {grid}; {leak.advice}")


def _moved(path: str, estimator: Any, parts: list[Any]) -> Iterator[Leak]:
    """Yield a finding where folds are made by position, and a record may come or go."""
    cv = getattr(estimator, "cv", "prefit")
    is_fixed = cv == "prefit" or type(cv).__name__ == "PredefinedSplit"
    if not is_fixed and any("add_remove_one" in _relations(part) for part in parts):
        advice = (
            "under add_remove_one a record more or less moves others to other folds: take "
            "PredefinedSplit, by something of each record alone, or neighboring='replace_one'"
        )
        yield Leak(path, type(estimator).__name__, "cv", "folds", "medium", advice)


def _relations(part: Any) -> set[str]:
    """Return the neighboring relations of all that is in an estimator."""
    params = part.get_params() if hasattr(part, "get_params") else {}
    return {str(value) for name, value in params.items() if name.split("__")[-1] == "neighboring"}


def _uncounted(path: str, estimator: Any, parts: list[Any]) -> Iterator[Leak]:
    """Yield a finding where several parts spend, and no one budget adds that up."""
    found = [ledgers for ledgers in map(payers, parts) if ledgers]
    if len(found) > 1 and (None in set().union(*found) or len(set().union(*found)) > 1):
        advice = (
            f"{len(found)} parts spend on the same records, and no budget adds it up: give all the "
            "same budget=, as make_private_pipeline does"
        )
        yield Leak(path, type(estimator).__name__, "", "budget", "medium", advice)


def _broken(path: str, estimator: Any, conditions: tuple[Condition, ...]) -> Iterator[Leak]:
    name = type(estimator).__name__
    for one in conditions:
        if not one.holds(estimator):
            yield Leak(path, name, one.parameter, one.kind, one.severity, one.advice)
    if hasattr(estimator, "estimator") or hasattr(estimator, "regressor"):
        slot = "estimator" if hasattr(estimator, "estimator") else "regressor"
        if getattr(estimator, slot) is None:
            advice = "without one, scikit-learn's own estimator learns: give a private one"
            yield Leak(path, name, slot, "learns", "high", advice)


def _of_private(path: str, estimator: Any) -> Iterator[Leak]:
    name = type(estimator).__name__
    if isinstance(estimator.epsilon, float | int) and math.isinf(estimator.epsilon):
        advice = "epsilon=inf protects nobody: a finite one"
        yield Leak(path, name, "epsilon", "learns", "high", advice)
    if getattr(estimator, "random_state", None) is not None and isinstance(estimator, PrivateFit):
        advice = "whoever knows the seed can take the noise off: random_state=None"
        yield Leak(path, name, "random_state", "seed", "high", advice)


def _of_unknown(path: str, estimator: Any, known: bool, X_public: Any) -> Iterator[Leak]:
    name = type(estimator).__name__
    found = what_differs(estimator, X_public)
    if found is not None and not found.startswith("it could not"):
        advice = f"{found}; a step in front of a private model must learn nothing"
        yield Leak(path, name, "", "learns", "high", advice)
    elif found is not None or not known:
        advice = found or "on synthetic data it learns nothing; it may on others: read its source"
        yield Leak(path, name, "", "untested", "unknown", advice)
