"""The candidates of a search: settings of an estimator, checked and made."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from skdp._private_fit import PrivateFit
from skdp.exceptions import PrivacyLeakError
from skdp.model_selection._row_score import steps_of
from skdp.pipeline import Leaks
from skdp.pipeline._known_estimators import is_private
from skdp.pipeline.check_pipeline import refused_leaks
from skdp.support.validation import check_real

Setting = dict[str, object]


def checked_settings(
    estimator: BaseEstimator, settings: list[Setting], may_vary: frozenset[str]
) -> list[Setting]:
    if not settings:
        raise ValueError("the search needs at least one candidate.")
    fixed = {"epsilon", "delta", "budget", "neighboring", "random_state"} - may_vary
    for setting in settings:
        if wrong := sorted({name.split("__")[-1] for name in setting} & fixed):
            raise ValueError(
                f"{wrong} cannot be searched over: the search sets them for each fit. Compare "
                "values of epsilon with method='cheapest', or on public data."
            )
        _check_names(estimator, setting)
        _check_candidate(estimator, candidate_of(estimator, setting))
    return settings


def _check_names(estimator: BaseEstimator, setting: Setting) -> None:
    """Raise ValueError for a name that is not a parameter of the estimator or of a part of it."""
    made = clone(estimator)
    for name in sorted(setting, key=lambda name: name.count("__")):  # a new part before its own
        if name not in (valid := made.get_params()):
            raise ValueError(
                f"Invalid parameter {name!r} for estimator {type(estimator).__name__}. "
                f"Valid parameters are: {sorted(valid)}."
            )
        made.set_params(**{name: clone(setting[name], safe=False)})


def shown(settings: list[Setting]) -> dict[str, object]:
    """Return the settings as columns of `cv_results_`."""
    copies: list[Setting] = [clone(setting, safe=False) for setting in settings]
    shown: dict[str, object] = {"params": copies}
    for name in dict.fromkeys(name for setting in settings for name in setting):
        given = [(i, setting[name]) for i, setting in enumerate(copies) if name in setting]
        column = np.ma.masked_all(len(settings), dtype=_dtype([value for _, value in given]))
        for i, value in given:
            column.data[i], column.mask[i] = value, False
        shown[f"param_{name}"] = column
    return shown


def _dtype(values: list[object]) -> np.dtype:
    """Return the common type of numbers or of booleans, object for other values."""
    if not all(map(np.isscalar, values)):
        return np.dtype(object)
    found = [np.asarray(value).dtype for value in values]
    kinds = {dtype.kind for dtype in found}
    return np.result_type(*found) if kinds <= set("iuf") or kinds == {"b"} else np.dtype(object)


def candidate_of(estimator: BaseEstimator, setting: Setting) -> BaseEstimator:
    return clone(estimator).set_params(**clone(setting, safe=False))


def epsilon_in(estimator: BaseEstimator, setting: Setting) -> float | None:
    """Return the ε that a setting gives to the last step, if any."""
    before = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    epsilon = setting.get(f"{before}epsilon")
    return None if epsilon is None else check_real("epsilon", epsilon, low=0.0)


def _check_candidate(estimator: BaseEstimator, candidate: BaseEstimator) -> None:
    """Raise unless only the last step learns, and it is a predictor of skdp like `estimator`.

    Every candidate is checked, because a setting may replace steps.
    """
    check_learner(candidate, "The search")
    kind = (is_classifier(candidate), is_regressor(candidate))
    if not any(kind) or kind != (is_classifier(estimator), is_regressor(estimator)):
        raise ValueError(
            "candidates must all be classifiers or all regressors, like estimator: the search "
            f"scores predictions, got {steps_of(candidate)[-1]!r}."
        )


def check_learner(estimator: BaseEstimator, whole: str) -> None:
    """Raise unless only the last step learns, privately; `whole` covers its cost."""
    *before, last = steps_of(estimator)
    if spending := [step for step in before if is_private(step)]:
        raise ValueError(f"{spending} would spend as well. {whole} covers the last step only.")
    silence(made := clone(estimator))  # as the fits are
    # A private model of another library is trusted as the last step.
    note = ("untested", type(last).__name__ if isinstance(last, PrivateFit) else "")
    found = (one for one in refused_leaks(made) if one.kind != "unit")  # the rehearsal finds it
    leaks = Leaks(one for one in found if (one.kind, one.estimator) != note)
    if leaks:
        raise PrivacyLeakError(str(leaks))
    if not isinstance(last, PrivateFit):
        raise ValueError(f"estimator must be, or end with, an estimator of skdp, got {last!r}.")


def unnamed_classes(candidate: BaseEstimator) -> list[str]:
    """Return the parameters `classes` of the last step that are None."""
    params = steps_of(candidate)[-1].get_params() if is_classifier(candidate) else {}
    return [name for name in params if name.split("__")[-1] == "classes" and params[name] is None]


def silence(made: BaseEstimator) -> None:
    """Turn off output, caches and callbacks: they would reveal the number of runs."""
    for name, value in {"": made, **made.get_params()}.items():
        if isinstance(value, BaseEstimator):
            vars(value).pop("_skl_callbacks", None)
        if name.split("__")[-1] == "verbose":
            made.set_params(**{name: False})
        if name.split("__")[-1] == "memory":
            made.set_params(**{name: None})
