"""Check a pipeline, or a search over it, for privacy leaks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from html import escape
from itertools import groupby, product

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.metadata_routing import get_routing_for_object

from skdp._private_fit import PrivateFit
from skdp.data.schema import schemas_in
from skdp.exceptions import PrivacyLeakError
from skdp.ledger.gate import without_spends
from skdp.pipeline._known_estimators import (
    CONDITIONS,
    WRAPPERS,
    Condition,
    Evidence,
    advice_on,
    evidence_of,
    held_in,
    home_of,
    inside,
    instead_of,
    is_part,
    is_prefit,
    is_private,
    known_as,
    leaves,
    ledgers_of,
    params_of,
)
from skdp.privacy import Unit
from skdp.support.display import html_table
from skdp.support.other_libraries import curious_callbacks, loaded_replacements, replaced_in
from skdp.support.types import MatrixLike

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
        *Public.* "learns", "scores", "folds", "errors", "seed", "budget", "unit", "unknown stage",
        "rows", "replaced", "callback", "files" or "untested"; see *Privacy leaks in pipelines* in
        the user guide.
    severity : str
        *Public.* "high", "medium", or "unknown" if nothing was found and nothing is proved.
    advice : str
        *Public.* The reason, and a replacement.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skdp import DPLogisticRegression
    >>> from skdp.pipeline import check_pipeline
    >>> leak = check_pipeline(make_pipeline(StandardScaler(), DPLogisticRegression()))[0]
    >>> leak.severity, leak.path, leak.kind
    ('high', 'standardscaler', 'learns')
    >>> leak.advice.partition(": ")[2]
    'BoundsScaler scales by public bounds, DPStandardScaler by private moments'
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

    Attributes
    ----------
    fitted : tuple of str
        *Public.* The unknown classes that were fitted to synthetic rows.

    Examples
    --------
    >>> from sklearn.ensemble import BaggingClassifier
    >>> from skdp import DPLogisticRegression
    >>> from skdp.pipeline import check_pipeline
    >>> print(check_pipeline(DPLogisticRegression()))
    No leaks found. This is not a proof that there are none.
    >>> [leak.kind for leak in check_pipeline(BaggingClassifier(DPLogisticRegression()))]
    ['seed']
    """

    fitted: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([*map(str, self), *self._notes])

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes)
        if not self:
            return notes
        rows = ((one.severity, one.kind, f"{one._where}\n{one.advice}") for one in self)
        return html_table(("severity", "kind", "where, and what to do instead"), rows) + notes

    @property
    def _notes(self) -> list[str]:
        names = ", ".join(self.fitted)
        fitted = [f"Fitted to synthetic rows: {names}."] if names else []
        return ([] if self else [_NOTHING_FOUND]) + fitted


def check_pipeline(
    estimator: BaseEstimator,
    X_public: MatrixLike = None,
    *,
    strict: bool = False,
    fit_unknown: bool = True,
) -> Leaks:
    """Find privacy leaks in an estimator, pipeline or search, without reading private data.

    A table says which parameters make scikit-learn's classes learn. A copy of an unknown class is
    fitted to pairs of synthetic data sets: it learns if the results differ. A class that can reach
    a private estimator or a budget is not fitted, and the spends of other fits are refused. See
    *Privacy leaks in pipelines* in the user guide for the limits of both.

    Parameters
    ----------
    estimator : estimator
        *Public.* Not fitted. Estimators of skdp count as private. So do estimators of other
        libraries with `epsilon` and one of `delta`, `bounds`, `budget` and `accountant`.
    X_public : array-like or frame of shape (n_samples, n_features) or None
        *Public.* Synthetic or public rows for unknown classes that need columns of certain names or
        types.
    strict : bool, default False
        *Public.* Whether to raise unless every part is proved.
    fit_unknown : bool, default True
        *Public.* Whether to fit unknown classes, which runs their code. With False they are only
        named.

    Returns
    -------
    leaks : Leaks
        The leaks, worst first. An empty list is no proof of privacy.

    Raises
    ------
    ValueError
        If `estimator` is not an estimator.
    PrivacyLeakError
        If `strict` and anything is found, also of unknown severity.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skdp import DPLogisticRegression
    >>> for leak in check_pipeline(make_pipeline(StandardScaler(), DPLogisticRegression())):
    ...     print(leak.path, leak.kind)
    standardscaler learns
    """
    if not is_part(estimator):
        raise ValueError(
            f"estimator must be an estimator, with fit or get_params, got {estimator!r}."
        )
    tests = _Tests(X_public, fit_unknown)
    found = Leaks(_leaks("", estimator, tests))
    found.sort(key=lambda leak: _ORDER.index(leak.severity))
    found.fitted = tuple(tests.fitted)
    if strict and found:
        raise PrivacyLeakError(str(found))
    return found


def refused_leaks(estimator: BaseEstimator) -> Leaks:
    """Return the leaks beside functions in which tests find nothing, which users answer for."""
    trusted = ("untested", "func", "unknown")
    found = check_pipeline(estimator)
    return Leaks(one for one in found if (one.kind, one.parameter, one.severity) != trusted)


@dataclass
class _Tests:
    """The tests of unknown classes in one check, and the names of the classes that were fitted."""

    X_public: MatrixLike
    fit_unknown: bool
    fitted: dict[str, None] = field(default_factory=dict)

    def of(self, estimator: BaseEstimator) -> Evidence:
        if not self.fit_unknown:
            return Evidence("medium", "it was not fitted, and may learn: fit_unknown=False")
        if replaced := loaded_replacements():  # it might record the fits
            return Evidence("medium", f"it was not fitted, because {replaced[0]}, and may learn")
        self.fitted[type(estimator).__name__] = None
        set_here = config_context(**get_config())  # the thread of the check has its own
        return without_spends(lambda: set_here(evidence_of)(estimator, self.X_public))


def _leaks(path: str, estimator: BaseEstimator, tests: _Tests) -> Iterator[Leak]:
    """Yield the leaks of an estimator, of estimators in its parameters and in its grid."""
    name, known = type(estimator).__name__, known_as(estimator)
    for said in curious_callbacks(estimator):
        yield Leak(path, name, "", "callback", "high", said)
    for said in replaced_in(estimator):
        advice = f"{said}, which may record exact scores or rows. Switch that off"
        yield Leak(path, name, "", "replaced", "high", advice)
    is_own = home_of(type(estimator)) is not None
    if hasattr(estimator, "fit_resample"):
        yield _of_resampler(path, estimator)
    elif known in WRAPPERS:
        yield from _of_wrapper(path, estimator, known, tests)
    elif is_private(estimator):
        if isinstance(estimator, PrivateFit):
            yield from _note(path, estimator)
        yield from _of_private(path, estimator)
        if is_part(part := getattr(estimator, "estimator", None)):
            yield from _leaks(_inner(path), part, tests)
        yield from _of_candidates(path, estimator, tests)
    elif leaks := [*_broken(path, estimator, CONDITIONS.get(known or "", ()))]:
        judged = "" if is_own else f"judged as its base {known}; "
        yield from (replace(leak, advice=judged + leak.advice) for leak in leaks)
    elif type(estimator) is FunctionTransformer:
        yield from _of_function(path, estimator, estimator, tests)
    elif not is_own:
        yield from _of_unknown(path, estimator, tests)
    elif name == "PublicDirections":
        advice = "fit it to public rows before, and pass FrozenEstimator of it"
        yield Leak(path, name, "", "learns", "high", advice)
    elif home_of(type(estimator)) == "sklearn" and known is None:
        yield Leak(path, name, "", "learns", "high", advice_on(estimator))


def _inner(path: str) -> str:
    return f"{path}__estimator" if path else "estimator"


def _of_resampler(path: str, estimator: BaseEstimator) -> Leak:
    """Return the leak of a step that repeats rows; a dictionary of class sizes is public."""
    sizes = getattr(estimator, "sampling_strategy", None)
    known = sizes.values() if isinstance(sizes, Mapping) else []
    k = f"k is at most {max(known)} here" if known else "k depends on the rows"
    advice = (
        "it repeats rows, invents rows from others or drops some. A row that occurs k times costs "
        f"its owner k times the μ of the model; {k}. Use class_weight={{...}} with public weights"
    )
    return Leak(path, type(estimator).__name__, "", "rows", "high", advice)


def _note(path: str, estimator: BaseEstimator) -> Iterator[Leak]:
    """Yield a note on a subclass in another library."""
    if home_of(type(estimator)) is None:
        bases = (one for one in type(estimator).__mro__ if home_of(one))
        advice = f"it is judged as its base {next(bases).__name__}. What it adds is not proved"
        yield Leak(path, type(estimator).__name__, "", "untested", "unknown", advice)


def _of_wrapper(path: str, estimator: BaseEstimator, known: str, tests: _Tests) -> Iterator[Leak]:
    parts = list(inside(path, estimator))
    yield from _note(path, estimator)
    yield from _broken(path, estimator, WRAPPERS[known])
    yield from _of_folds(path, estimator, [part for _, part in parts])
    yield from _uncounted(path, estimator, [part for _, part in parts])
    if known == "Pipeline":  # a private pipeline passes IDs to all steps
        yield from _without_ids(parts)
    if known == "TransformedTargetRegressor":
        yield from _of_function(path, estimator, FunctionTransformer(estimator.func), tests)
    for inner, part in parts:
        yield from _leaks(inner, part, tests)
    yield from _of_candidates(path, estimator, tests)


def _without_ids(parts: list[tuple[str, BaseEstimator]]) -> Iterator[Leak]:
    """Yield leaks of steps that protect records although a schema beside them has IDs."""
    if not any(one.unit == Unit.PERSON for one in schemas_in(part for _, part in parts)):
        return
    for path, leaf in (found for name, part in parts for found in leaves(part, name)):
        unit = getattr(getattr(leaf, "budget", None), "unit", None)
        of_persons = unit in (Unit.PERSON, Unit.PERSON_MONTH)
        told = of_persons or get_routing_for_object(leaf).consumes("fit", ["groups"])
        if is_private(leaf) and not (told or any(one.unit for one in schemas_in([leaf]))):
            advice = (
                "a schema in the pipeline identifies persons, but this step gets no IDs, so it "
                f"protects records. Use make_private_pipeline, or pass {path}__groups= to fit"
            )
            yield Leak(path, type(leaf).__name__, "", "unit", "medium", advice)


def _of_function(
    path: str, estimator: BaseEstimator, step: FunctionTransformer, tests: _Tests
) -> Iterator[Leak]:
    """Yield the leak of a function, unless it is one of NumPy's of single numbers."""
    func = step.func
    is_ufunc = isinstance(func, np.ufunc) and func.signature is None  # `frompyfunc` makes others
    is_numpys = is_ufunc and getattr(np, func.__name__, None) is func
    if step.kw_args or not (func is None or is_numpys):
        for leak in _of_unknown(path, step, tests):
            yield replace(leak, estimator=type(estimator).__name__, parameter="func")


def _of_candidates(path: str, search: BaseEstimator, tests: _Tests) -> Iterator[Leak]:
    """Yield leaks of candidates that the estimator of a search does not have itself."""
    inner = _inner(path)
    for grid in _GRIDS:
        found: dict[Leak, None] = {}  # in order
        for candidate in _candidates(search, grid):
            found |= dict.fromkeys(_leaks(inner, candidate, tests))
        known = [*_leaks(inner, search.estimator, tests)] if found else []
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


def _of_folds(path: str, estimator: BaseEstimator, parts: list[BaseEstimator]) -> Iterator[Leak]:
    """Yield leaks of folds in which a record moves others, or that divide the rows of a person."""
    cv, name = getattr(estimator, "cv", "prefit"), type(estimator).__name__
    folds, params = type(cv).__name__, [params_of(part, deep=True).items() for part in parts]
    relations = {str(x) for one in params for k, x in one if k.split("__")[-1] == "neighboring"}
    is_fixed = is_prefit(estimator) or folds in ("str", "PredefinedSplit")
    if "add_remove_one" in relations and not is_fixed:
        advice = (
            "under add_remove_one one record moves others to other folds. Use PredefinedSplit by a "
            "property of each record, or neighboring='replace_one'"
        )
        yield Leak(path, name, "cv", "folds", "medium", advice)
    by_person = cv == "prefit" or "Group" in folds or folds in ("HashSplit", "PredefinedSplit")
    if not by_person and any(one.unit == Unit.PERSON for one in schemas_in(parts)):
        advice = (
            "a schema identifies persons, but folds divide the rows of a person. Pass "
            "cv=HashSplit() and groups= to fit, or use DPGridSearchCV"
        )
        yield Leak(path, name, "cv", "folds", "medium", advice)


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


def _of_unknown(path: str, estimator: BaseEstimator, tests: _Tests) -> Iterator[Leak]:
    name = type(estimator).__name__
    if held := held_in(estimator):
        advice = (
            f"it can reach {', '.join(held)}; what it computes from the rows beside that, such as "
            "exact scores, is not paid. Use a class of skdp or scikit-learn, or read its source"
        )
        yield Leak(path, name, "", "unknown stage", "high", advice)
    elif _predicts(estimator):
        yield Leak(path, name, "", "learns", "high", instead_of(estimator))
    else:
        severity, text = tests.of(estimator)
        if severity == "high":
            advice = f"{text}. A step in front of a private model must learn nothing"
            yield Leak(path, name, "", "learns", "high", advice)
        else:
            yield Leak(path, name, "", "untested", severity, text)


def _predicts(estimator: BaseEstimator) -> bool:
    with suppress(Exception):  # objects without the tags of scikit-learn
        return bool(is_classifier(estimator) or is_regressor(estimator))
    return False
