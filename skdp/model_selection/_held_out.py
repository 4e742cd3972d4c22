"""Fits to some records and a release from the others, which have one guarantee together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable

from skdp._private_fit import PlanT, PrivateEstimator, PrivateFit, RecordsT, ReleasedT, guarantee_of
from skdp.budget import Amount
from skdp.budget.filters import largest_gaussian
from skdp.budget.handle import Unbudgeted
from skdp.data.column import untyped
from skdp.data.columns import refuse_lazy
from skdp.data.records import Records
from skdp.data.validation import check_lengths, one_column, refuse_collections
from skdp.exceptions import PrivacyLeakError
from skdp.mechanisms import Gaussian, Laplace
from skdp.pipeline import Leaks
from skdp.pipeline._known_estimators import is_private
from skdp.pipeline.check_pipeline import refused_leaks
from skdp.privacy import ComposedEvent, Event, Neighboring, PrivacyGuarantee, Unit
from skdp.support.rounding import ROOT, up
from skdp.support.types import MatrixLike, VectorLike

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
    amount = run.amount
    steps_of(model)[-1].set_params(
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
