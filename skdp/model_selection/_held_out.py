"""Fits to some records, and scores of others by means over rows, with one guarantee together."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable

from skdp._private_fit import PlanT, PrivateEstimator, PrivateFit, RecordsT, ReleasedT, guarantee_of
from skdp.budget import Amount
from skdp.budget.budget import Unbudgeted
from skdp.budget.filters import largest_gaussian
from skdp.data.column import as_compared, untyped
from skdp.data.columns import refuse_lazy
from skdp.data.records import Records
from skdp.data.validation import check_lengths, one_column, places_of, refuse_collections
from skdp.exceptions import PrivacyLeakError
from skdp.mechanisms import Gaussian, Laplace
from skdp.metrics.error_scores import ErrorScale
from skdp.pipeline import Leaks
from skdp.pipeline._known_estimators import is_private
from skdp.pipeline.check_pipeline import refused_leaks
from skdp.privacy import ComposedEvent, Event, Neighboring, PrivacyGuarantee, Unit
from skdp.support.safe_numbers import ROOT, up
from skdp.support.types import Label, MatrixLike, VectorLike
from skdp.support.validation import check_real

_ROUNDED_UP = 1.0 + 1e-5  # of noise: sums of scores in floats are known only to 1e-6 of a row


@dataclass(frozen=True)
class GaussianRun:
    """μ-Gaussian DP."""

    mu: float
    delta: float

    @property
    def amount(self) -> Amount:
        """The `epsilon` and `delta` of a fit."""
        return largest_gaussian(self.mu, self.delta)

    def pays_for(self, event: Event, neighboring: Neighboring) -> bool:
        """Return whether the cost covers a fit."""
        return bool(event.gdp_mu(neighboring) <= up(self.mu, ROOT))

    def noisy(self, score: float, rng: np.random.Generator) -> float:
        """Add noise of the same cost to a sum of scores."""
        return float(Gaussian(sensitivity=1.0, scale=_ROUNDED_UP / self.mu).release(score, rng))


@dataclass(frozen=True)
class PureRun:
    """ε-DP."""

    epsilon: float

    @property
    def amount(self) -> Amount:
        return Amount(self.epsilon, 0.0)

    def pays_for(self, event: Event, neighboring: Neighboring) -> bool:
        return bool(event.pure_epsilon(neighboring) <= self.epsilon)

    def noisy(self, score: float, rng: np.random.Generator) -> float:
        return float(Laplace.calibrate(self.epsilon, 0.0, _ROUNDED_UP).release(score, rng))


@dataclass(frozen=True)
class ApproxRun:
    """(ε, δ)-DP, by any mechanism."""

    epsilon: float
    delta: float

    @property
    def amount(self) -> Amount:
        return Amount(self.epsilon, self.delta)

    def pays_for(self, event: Event, neighboring: Neighboring) -> bool:
        return guarantee_of(event, neighboring, "").epsilon(self.delta) <= self.epsilon


Run: TypeAlias = GaussianRun | PureRun | ApproxRun
"""The cost of one fit."""


def steps_of(estimator: BaseEstimator) -> list[BaseEstimator]:
    """Return the steps of a pipeline, or the estimator alone."""
    return [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]


class HeldOutFit(MetaEstimatorMixin, PrivateEstimator[RecordsT, PlanT, ReleasedT]):
    """A private estimator that fits another one to the records that are not held out."""

    takes_infinite_epsilon = False
    is_model = True

    estimator: BaseEstimator

    def _rows(self, X: MatrixLike, y: VectorLike) -> tuple[MatrixLike, np.ndarray]:
        """Return rows and targets of a type that does not depend on the values of other rows."""
        refuse_collections(self, X, y)
        refuse_lazy(X=X)
        X, y = indexable(untyped(X))[0], one_column(y)
        check_lengths(X, y)
        return X, y


def take_attributes(owner: BaseEstimator, fitted: BaseEstimator) -> None:
    """Set the public attributes of an inner estimator on the outer one."""
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        if hasattr(fitted, name):
            setattr(owner, name, getattr(fitted, name))


def n_held_out(share: float, records: Records[Any]) -> int | None:
    """Return the number of records that are held out, None if it is private."""
    return math.ceil(share * records.n_records) if records.count_is_public else None


def priced(
    model: BaseEstimator, run: Run, neighboring: Neighboring, seed: np.random.Generator | None
) -> BaseEstimator:
    """Return a model whose fit costs what a run may cost, and which reports nothing."""
    amount, last = run.amount, steps_of(model)[-1]
    last._is_part = True
    last.set_params(
        epsilon=amount.epsilon,
        delta=amount.delta,
        neighboring=str(neighboring),
        budget=None,
        random_state=seed,
    )
    silence(model)
    return model


def rehearsed(
    make: Callable[[], BaseEstimator], records: Records[Any], share: float
) -> Event | None:
    """Return the event of a fit without a `share`, by dry runs; None if it has another unit.

    It raises the errors of the fit.
    """

    def promised(some: Records[Any]) -> list[PrivacyGuarantee]:
        model, budget = make(), Unbudgeted()
        steps_of(model)[-1].set_params(budget=budget)
        learn(some, model)
        return budget.promised

    found = promised(records)  # checks all rows: any may be fitted to
    if (n_others := n_held_out(share, records)) is not None:  # a plan depends on the count
        found = promised(records.chosen(np.arange(n_others, records.n_records)))
    unit = Unit.RECORD if records.persons is None else Unit.PERSON
    if any(guarantee.unit is not unit for guarantee in found):
        return None
    return ComposedEvent(tuple(guarantee.event for guarantee in found))


def assigned(
    records: Records[Any], share: float, rng: np.random.Generator
) -> tuple[Records[Any], Records[Any]]:
    """Return held-out and other records, drawn after the spend.

    If n is public, a fixed number is held out, otherwise each record independently with probability
    `share`. No value of a record has an influence.
    """
    n, fixed = records.n_records, n_held_out(share, records)
    judges = rng.uniform(size=n) < share if fixed is None else rng.permutation(n) < fixed
    return records.chosen(np.flatnonzero(judges)), records.chosen(np.flatnonzero(~judges))


def learned(rows: Records[Any], others: Records[Any], model: BaseEstimator) -> BaseEstimator:
    """Fit a model to some records; the others are used only if there are none."""
    if others.n_records and not rows.n_records:
        return _learn_nothing(others, model)
    return learn(rows, model)


def learn(records: Records[Any], model: BaseEstimator) -> BaseEstimator:
    """Fit a model to records, with the person of each row if there are persons."""
    if records.persons is None:
        return model.fit(records.X, records.y)
    name = "groups"
    if isinstance(model, Pipeline) and not get_config()["enable_metadata_routing"]:
        name = f"{model.steps[-1][0]}__groups"
    return model.fit(records.X, records.y, **{name: records.persons.codes})


def _learn_nothing(records: Records[Any], model: BaseEstimator) -> BaseEstimator:
    """Fit a model to no record, when all records were held out.

    Most transformers raise an error for a table without rows. They learn nothing, so they transform
    one row, and the last step is fitted to its columns without rows.
    """
    one = records.chosen(np.arange(1))
    *before, last = steps_of(model)
    for step in before:
        if step not in (None, "passthrough"):
            one = replace(one, X=step.fit_transform(one.X, one.y))
    learn(one.chosen(np.arange(0)), last)
    return model


def promise(fitted: BaseEstimator, guarantee: PrivacyGuarantee) -> None:
    """Set the guarantee of a fit, and of fits inside it, to that of the whole release.

    What is chosen or measured on the held-out records reveals something about records too.
    """
    last = steps_of(fitted)[-1]
    last.privacy_ = guarantee
    if hasattr(last, "report_"):
        last.report_ = replace(last.report_, privacy=guarantee)
    if hasattr(last, "best_estimator_"):
        promise(last.best_estimator_, guarantee)


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


Score: TypeAlias = Callable[[Label, Label], float]
Scoring: TypeAlias = str | Score | None
OfRows: TypeAlias = Callable[[BaseEstimator, MatrixLike, np.ndarray], np.ndarray]
Number = TypeVar("Number", float, np.ndarray)

_MOST_LOSS = 5.0  # bound of a row's log loss, as in `skdp.metrics.dp_log_loss`
_SAME_WINNER = {  # scores that are not means over rows, by one that has the same winner
    "r2": "neg_mean_squared_error",
    "neg_root_mean_squared_error": "neg_mean_squared_error",
}


@dataclass(frozen=True)
class RowScore:
    """The mean of one number per row, clipped to public bounds.

    ``of_rows(fitted, X, y)`` returns the numbers; each must depend on its own row only.
    """

    bounds: tuple[float, float]
    of_rows: OfRows

    def shares(self, fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray) -> np.ndarray:
        """Return the *private* numbers of rows, scaled from the bounds to [0, 1]; NaN becomes 0.

        So one row moves their sum by at most 1 under either neighboring relation.
        """
        shares = self.share(self.of_rows(fitted, X, truth))
        return np.clip(np.nan_to_num(shares, nan=0.0), 0.0, 1.0)

    def share(self, value: Number) -> Number:
        """Scale a score from the bounds to [0, 1]."""
        return (value - self.bounds[0]) / (self.bounds[1] - self.bounds[0])

    def value(self, share: Number) -> Number:
        """Scale a share in [0, 1] to the bounds."""
        return self.bounds[0] + (self.bounds[1] - self.bounds[0]) * share


def row_score(
    scoring: Scoring, bounds: tuple[float, float] | None, candidates: Sequence[BaseEstimator]
) -> RowScore:
    """Return the score by name or callable, after checks against each candidate."""
    if callable(scoring):
        return RowScore(_checked(bounds), partial(_of_callable, scoring))
    if bounds is not None:
        raise ValueError("score_bounds needs a callable scoring. Set it to None.")
    if is_regressor(candidates[0]):
        return _of_numbers(scoring, candidates)
    name = "accuracy" if scoring is None else scoring
    name = _check_name(name, _OF_LABELS)
    needed = "predict" if name == "accuracy" else "predict_proba"
    if not all(hasattr(candidate, needed) for candidate in candidates):
        raise ValueError(f"scoring={name!r} needs classifiers that have {needed}.")
    return _OF_LABELS[name]


def check_callable(scoring: Score, values: Sequence[Label]) -> None:
    """Raise unless a callable returns a finite number for each pair of *public* values."""
    for truth in values:
        for found in values:
            number = _number(scoring, truth, found)
            if not math.isfinite(number):
                raise ValueError(
                    "scoring(y_true, y_pred) must return one finite number for the true and the "
                    f"predicted value of one row. It does not for {truth!r} and {found!r}."
                )


def _checked(bounds: tuple[float, float] | None) -> tuple[float, float]:
    try:
        low, high = map(float, () if bounds is None else bounds)
    except (TypeError, ValueError):
        low = high = math.nan
    if not -1e100 < low < high < 1e100:
        raise ValueError(
            "a callable scoring needs score_bounds=(low, high), two public numbers to which the "
            f"number of each row is clipped, got {bounds!r}."
        )
    return low, high


def _check_name(name: object, known: Collection[str]) -> str:
    if isinstance(name, str) and name in known:
        return name
    names = ", ".join(map(repr, known))
    other = _SAME_WINNER.get(name) if isinstance(name, str) else None
    hint = f" {other!r} has the same winner." if other in known else ""
    raise ValueError(
        f"scoring must be one of {names}, or a callable for one row, got {name!r}. Other scores "
        f"are not the mean of one bounded number per row.{hint}"
    )


def _of_numbers(scoring: str | None, candidates: Sequence[BaseEstimator]) -> RowScore:
    if any(np.ndim(getattr(steps_of(one)[-1], "quantile", 0.5)) for one in candidates):
        raise ValueError("a search scores one number per row. Pass one level as quantile.")
    scales = (ErrorScale.of(steps_of(one)[-1].target_bounds, None) for one in candidates)
    widths = {scale.error_bound for scale in scales}
    if scoring is None:
        return RowScore((0.0, 1.0), partial(_less_error, 1.0, 1.0, 2))
    power = _POWERS[_check_name(scoring, _POWERS)]
    if len(widths) > 1:
        raise ValueError(
            f"scoring={scoring!r} is in units of y, so all candidates need the same target_bounds."
        )
    most = widths.pop() ** power
    return RowScore((-most, 0.0), partial(_less_error, 0.0, most, power))


def _predicted(fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray) -> np.ndarray:
    return np.asarray(fitted.predict(X)).reshape(truth.shape)


def _right(fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray) -> np.ndarray:
    found, truth = as_compared(_predicted(fitted, X, truth), truth)
    return np.asarray(found == truth, dtype=float)


def _given(fitted: BaseEstimator, truth: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the probabilities of true labels, 0 for labels outside `classes_`."""
    codes = places_of(truth, fitted.classes_)
    return np.where(codes < 0, 0.0, shares[np.arange(codes.size), codes])


def _log(fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray) -> np.ndarray:
    given = _given(fitted, truth, fitted.predict_proba(X))
    return np.log(np.maximum(given, math.exp(-_MOST_LOSS)))


def _less_brier(fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray) -> np.ndarray:
    """Return −Σₖ(pₖ − 1[y = k])²/2, within [−1, 0]."""
    shares = fitted.predict_proba(X)
    given = _given(fitted, truth, shares)
    return -0.5 * (np.sum(shares * shares, axis=1) - 2.0 * given + 1.0)


def _less_error(
    best: float, most: float, power: int, fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray
) -> np.ndarray:
    """Return scores by errors of clipped numbers, in units of the width of `target_bounds`."""
    low, high = steps_of(fitted)[-1].target_bounds
    found = np.clip(_predicted(fitted, X, truth), low, high)
    errors = np.abs(np.clip(truth.astype(float), low, high) - found) / (high - low)
    return best - most * errors**power


def _of_callable(
    scoring: Score, fitted: BaseEstimator, X: MatrixLike, truth: np.ndarray
) -> np.ndarray:
    """Call a scoring for each row by itself, so that no result depends on another row."""
    found = _predicted(fitted, X, truth)
    return np.array([_number(scoring, *pair) for pair in zip(truth, found, strict=True)])


def _number(scoring: Score, truth: Label, found: Label) -> float:
    """Return the number of one row, NaN on failure: an error would reveal something about it."""
    try:
        return float(scoring(truth, found))
    except Exception:
        return math.nan


_OF_LABELS = {
    "accuracy": RowScore((0.0, 1.0), _right),
    "neg_log_loss": RowScore((-_MOST_LOSS, 0.0), _log),
    "neg_brier_score": RowScore((-1.0, 0.0), _less_brier),
}
_POWERS = {"neg_mean_squared_error": 2, "neg_mean_absolute_error": 1}


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
