"""Check a pipeline, or a search over it, for privacy leaks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, product

from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

from skdp._private_fit import PrivateFit, schemas_in
from skdp.exceptions import PrivacyLeakError
from skdp.pipeline._known_estimators import (
    CONDITIONS,
    LEARNS,
    SAFE,
    WRAPPERS,
    Condition,
    instead_of,
    is_private,
)
from skdp.pipeline._synthetic import what_differs
from skdp.pipeline._wrappers import inside, is_wrapper, ledgers_of
from skdp.privacy import Unit
from skdp.support.html import html_table
from skdp.support.types import MatrixLike

__all__ = ["Leak", "Leaks", "check_pipeline"]

_ORDER = ("high", "medium", "unknown")
_GRIDS = ("param_grid", "param_distributions")
_NOTHING_FOUND = "No leaks found. This is not a proof that there are none."


@dataclass(frozen=True)
class Leak:
    """A privacy leak, or a possible one.

    Parameters
    ----------
    path : str
        *Public.* Its place, as in `set_params`; empty for the outermost estimator. For a candidate
        of a search, the place where the search would set it.
    estimator : str
        *Public.* The class.
    parameter : str
        *Public.* The parameter that makes it leak; empty if no parameter can help.
    kind : str
        *Public.* "learns", "scores", "folds", "errors", "seed", "budget" or "untested"; see
        *Privacy leaks in pipelines* in the user guide.
    severity : str
        *Public.* "high", "medium", or "unknown" if nothing was found and nothing is proved.
    advice : str
        *Public.* The reason, and a replacement.
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
    """A list of leaks, worst first; a notebook shows it as a table.

    Parameters
    ----------
    iterable : iterable of Leak, default ()
        *Public.* The leaks.
    """

    def __str__(self) -> str:
        return "\n".join(map(str, self)) if self else _NOTHING_FOUND

    def _repr_html_(self) -> str:
        if not self:
            return f"<p>{_NOTHING_FOUND}</p>"
        rows = ((one.severity, one.kind, f"{one._where}\n{one.advice}") for one in self)
        return html_table(("severity", "kind", "where, and what to do instead"), rows)


def check_pipeline(
    estimator: BaseEstimator, X_public: MatrixLike = None, *, strict: bool = False
) -> Leaks:
    """Find privacy leaks in an estimator, pipeline or search, without reading private data.

    A table says which parameters make scikit-learn's classes learn. An unknown class is fitted to
    pairs of synthetic data sets: it learns if the results differ. See *Privacy leaks in pipelines*
    in the user guide.

    Parameters
    ----------
    estimator : estimator
        *Public.* Not fitted. Estimators of skdp count as private. So do estimators of other
        libraries with `epsilon` and one of `delta`, `bounds`, `budget` and `accountant`.
    X_public : array-like or frame of shape (n_samples, n_features) or None
        *Public.* Synthetic or public rows for unknown classes that need columns of certain names or
        types.
    strict : bool, default False
        *Public.* Whether to raise if a leak of high or medium severity is found.

    Returns
    -------
    leaks : Leaks
        The leaks, worst first. An empty list is no proof of privacy.

    Raises
    ------
    PrivacyLeakError
        If `strict` and a leak of high or medium severity is found.

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


def _leaks(path: str, estimator: BaseEstimator, X_public: MatrixLike) -> Iterator[Leak]:
    """Yield the leaks of an estimator, of estimators in its parameters and in its grid."""
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
    elif known and name in SAFE:  # before the next test: a frozen predictor does not learn
        return
    elif is_classifier(estimator) or is_regressor(estimator):
        yield Leak(path, name, "", "learns", "high", instead_of(estimator))
    elif not (known and kind.__module__.startswith("skdp.")):
        yield from _of_unknown(path, estimator, known, X_public)


def _of_wrapper(path: str, estimator: BaseEstimator, X_public: MatrixLike) -> Iterator[Leak]:
    parameters, conditions = WRAPPERS[type(estimator).__name__]
    parts = list(inside(path, estimator, parameters))
    yield from _broken(path, estimator, conditions)
    yield from _moved(path, estimator, [part for _, part in parts])
    yield from _apart(path, estimator, [part for _, part in parts])
    yield from _uncounted(path, estimator, [part for _, part in parts])
    yield from _of_parts(parts, X_public)
    yield from _of_candidates(path, estimator, X_public)


def _of_parts(parts: Iterable[tuple[str, BaseEstimator]], X_public: MatrixLike) -> Iterator[Leak]:
    for path, part in parts:
        yield from _leaks(path, part, X_public)


def _of_candidates(path: str, search: BaseEstimator, X_public: MatrixLike) -> Iterator[Leak]:
    """Yield leaks of candidates that the estimator of a search does not have itself."""
    inner = f"{path}__estimator" if path else "estimator"
    for grid in _GRIDS:
        found: dict[Leak, None] = {}  # in order
        for candidate in _candidates(search, grid):
            found |= dict.fromkeys(_leaks(inner, candidate, X_public))
        known = [*_leaks(inner, search.estimator, X_public)] if found else []
        for leak in found:
            if leak not in known:
                yield replace(leak, advice=f"a candidate of {grid}; {leak.advice}")


def _candidates(search: BaseEstimator, grid: str) -> Iterator[BaseEstimator]:
    """Yield copies of the estimator of a search, with settings of one of its grids.

    No value of a distribution is drawn. Settings that do not fit are left for the search to reject.
    """
    for settings in _settings(getattr(search, grid, None)):
        with suppress(AttributeError, TypeError, ValueError):
            yield clone(search.estimator).set_params(**clone(settings, safe=False))


def _settings(grid: object) -> Iterator[dict[str, object]]:
    """Yield all combinations of the settings of each step, because steps leak independently."""
    for one in grid if isinstance(grid, list | tuple) else [grid]:
        if isinstance(one, Mapping):
            names = sorted(name for name, values in one.items() if not hasattr(values, "rvs"))
            for _, of_step in groupby(names, lambda name: name.split("__")[0]):
                chosen = list(of_step)
                for values in product(*(one[name] for name in chosen)):
                    yield dict(zip(chosen, values, strict=True))


def _moved(path: str, estimator: BaseEstimator, parts: list[BaseEstimator]) -> Iterator[Leak]:
    """Yield a leak if folds go by position and a record may be added or removed."""
    cv = getattr(estimator, "cv", "prefit")
    is_fixed = cv == "prefit" or type(cv).__name__ == "PredefinedSplit"
    if not is_fixed and any("add_remove_one" in _relations(part) for part in parts):
        advice = (
            "under add_remove_one one record moves others to other folds. Use PredefinedSplit by a "
            "property of each record, or neighboring='replace_one'"
        )
        yield Leak(path, type(estimator).__name__, "cv", "folds", "medium", advice)


def _apart(path: str, estimator: BaseEstimator, parts: list[BaseEstimator]) -> Iterator[Leak]:
    """Yield a leak if folds divide the rows of a person whom a schema identifies."""
    cv = getattr(estimator, "cv", "prefit")
    name = "Group" if cv == "prefit" else type(cv).__name__
    by_person = "Group" in name or name in ("HashSplit", "PredefinedSplit")
    if not by_person and any(one.unit == Unit.PERSON for one in schemas_in(parts)):
        advice = (
            "a schema identifies persons, but folds divide the rows of a person. Pass "
            "cv=HashSplit() and groups= to fit, or use DPGridSearchCV"
        )
        yield Leak(path, type(estimator).__name__, "cv", "folds", "medium", advice)


def _relations(part: BaseEstimator) -> set[str]:
    params = part.get_params() if hasattr(part, "get_params") else {}
    return {str(value) for name, value in params.items() if name.split("__")[-1] == "neighboring"}


def _uncounted(path: str, estimator: BaseEstimator, parts: list[BaseEstimator]) -> Iterator[Leak]:
    """Yield a leak if several parts spend without one common budget."""
    found = [ledgers for ledgers in map(ledgers_of, parts) if ledgers]
    if len(found) > 1 and (None in set().union(*found) or len(set().union(*found)) > 1):
        advice = (
            f"{len(found)} parts spend on the same records without a common budget. Pass the same "
            "budget= to all, as make_private_pipeline does"
        )
        yield Leak(path, type(estimator).__name__, "", "budget", "medium", advice)


def _broken(
    path: str, estimator: BaseEstimator, conditions: tuple[Condition, ...]
) -> Iterator[Leak]:
    name = type(estimator).__name__
    for one in conditions:
        if not one.holds(estimator):
            yield Leak(path, name, one.parameter, one.kind, one.severity, one.advice)
    if hasattr(estimator, "estimator") or hasattr(estimator, "regressor"):
        slot = "estimator" if hasattr(estimator, "estimator") else "regressor"
        if getattr(estimator, slot) is None:
            advice = "the default estimator of scikit-learn learns. Pass a private one"
            yield Leak(path, name, slot, "learns", "high", advice)


def _of_private(path: str, estimator: BaseEstimator) -> Iterator[Leak]:
    name = type(estimator).__name__
    if isinstance(estimator.epsilon, float | int) and math.isinf(estimator.epsilon):
        advice = "epsilon=inf gives no privacy. Pass a finite number"
        yield Leak(path, name, "epsilon", "learns", "high", advice)
    if getattr(estimator, "random_state", None) is not None and isinstance(estimator, PrivateFit):
        advice = "a known seed voids the guarantee. Pass random_state=None"
        yield Leak(path, name, "random_state", "seed", "high", advice)


def _of_unknown(
    path: str, estimator: BaseEstimator, known: bool, X_public: MatrixLike
) -> Iterator[Leak]:
    name = type(estimator).__name__
    found = what_differs(estimator, X_public)
    if found is not None and not found.startswith("it could not"):
        advice = f"{found}. A step in front of a private model must learn nothing"
        yield Leak(path, name, "", "learns", "high", advice)
    elif found is not None or not known:
        advice = (
            found or "it learns nothing on synthetic data, but may on other data. Read its source"
        )
        yield Leak(path, name, "", "untested", "unknown", advice)
