"""The transaction of a private fit: check, plan, spend, forget the old model, read, publish."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial, reduce
from operator import or_
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from skdp import accounting, workloads
from skdp import budget as budgets
from skdp.accounting import gdp_mu, rows_needed
from skdp.accounting.base import AccountedCurve
from skdp.accounting.calibration import LEAST_SIGNAL
from skdp.data.column import check_plain, received
from skdp.data.schema import TableSchema, groups_of, schemas_in
from skdp.exceptions import FewRowsWarning, WeakPrivacyWarning
from skdp.privacy import (
    ComposedEvent,
    Event,
    GaussianCurve,
    Neighboring,
    NonPrivateEvent,
    PrivacyCurve,
    PrivacyGuarantee,
    SelfComposedEvent,
    Unit,
)
from skdp.privacy.combined import MaximumCurve
from skdp.privacy.events import NoClosedCurveError
from skdp.privacy.guarantee import DEFAULT_DELTA, LARGE_DELTA
from skdp.privacy.neighboring import UNIT_OF_FITS, Composition
from skdp.support.display import at_least, caller_outside
from skdp.support.other_libraries import (
    CallbackSupportMixin,
    allow_replaced_fit,
    check_no_fit_is_replaced,
    fit_as_task,
    public_words,
)
from skdp.support.random import hidden, noise_generator
from skdp.support.types import Countable, MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_choice, check_delta, check_epsilon, explain_keywords

_LARGE_EPSILON = 10.0
_TYPICAL_DELTA = 1e-5  # for the number of rows where δ = 0
_REFUSED = "Nothing was spent."
_IN_DOUBT = (
    "The ledger may have recorded this release: count it as spent. Any earlier fit is dropped."
)
_KEPT = {"n_features_in_", "feature_names_in_"}  # set by the checks, from public facts


class ReleasePlan(Protocol):
    """A description of a release before it is made."""

    @property
    def event(self) -> Event:
        """What will be released."""

    @property
    def theorem(self) -> str:
        """The statement that proves the event."""

    @property
    def exact(self) -> bool:
        """Whether it also holds for the numbers that a computer adds (*Machine numbers*)."""


@dataclass(frozen=True)
class NonPrivatePlan:
    """A release at ``epsilon=inf``, which protects nobody."""

    event: Event = field(default_factory=NonPrivateEvent)
    theorem: str = "none, epsilon=inf"
    exact: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleaseParameters:
    """The checked public parameters of one release, and the way to spend them.

    `delta` is resolved, and `name` is the name of the release in the history of the budget. `rng`
    is *secret*; `seeded` is true if somebody may know its noise, which voids the guarantee.
    `unit` is the privacy unit: a record, or a person with all of their rows.
    """

    epsilon: float
    delta: float
    neighboring: Neighboring
    budget: budgets.BudgetHandle | None
    name: str
    rng: np.random.Generator
    seeded: bool
    unit: Unit = Unit.RECORD

    @property
    def composition(self) -> Composition | None:
        """How the budget adds releases up, None without a budget."""
        return None if self.budget is None else self.budget.composition

    @property
    def counts_gaussians(self) -> bool:
        """Whether the budget counts Gaussian noise at its exact cost, and other noise at more."""
        return self.composition is not None and self.composition.counts_gaussians

    @property
    def is_rehearsal(self) -> bool:
        """Whether the fit ends after the spend, before it reads a row."""
        return self.budget is not None and self.budget.is_rehearsal

    @property
    def is_private(self) -> bool:
        return math.isfinite(self.epsilon)

    def plan_queries(
        self,
        queries: Sequence[workloads.Query],
        noise: str,
        epsilon: float | None = None,
        *,
        weighted: bool = False,
    ) -> workloads.QueryPlan:
        """Return noise with which all answers together cost `epsilon`, by default that of the fit.

        A query bounds the change by one row. If the unit is a person, it is applied to the mean of
        each person's rows. If rows are `weighted`, it is applied to a row times a share of 1.
        """
        if weighted or self.unit is Unit.PERSON:
            queries = [query.of_persons() for query in queries]
        epsilon = self.epsilon if epsilon is None else epsilon
        return workloads.plan_queries(
            queries, epsilon, self.delta, noise, composition=self.composition
        )

    def warn_of_weakness(self, n_records: int) -> None:
        """Warn of an ε, and of a δ, that protect little; n counts if it is public."""
        if not self.is_private:
            return
        if self.epsilon > _LARGE_EPSILON:
            _warn(
                f"epsilon={self.epsilon:g} protects records little: one record may change the "
                f"probability of a result by a factor of e^{self.epsilon:g}. Take an epsilon of at "
                f"most {_LARGE_EPSILON:g}, or epsilon=inf if no privacy is needed."
            )
        why = None
        if self.delta > LARGE_DELTA:
            why = f"{100.0 * self.delta:.4g} % of the records could be published as they are"
        elif self.neighboring.count_is_public and self.delta * n_records >= 1.0:
            why = "one of the records, chosen at random, could be published"
        if why is not None:
            _warn(
                f"delta={self.delta:g} is large: {why} under that guarantee. Take a delta well "
                "below 1/n."
            )

    @property
    def typical_mu(self) -> float:
        """The Gaussian-DP parameter by which public rules choose. δ = 0 counts as 1e-5."""
        return gdp_mu(self.epsilon, self.delta or _TYPICAL_DELTA)

    def are_few(self, n_records: int) -> bool:
        """Return whether a public number of records is too small for a model."""
        is_judged = self.is_private and self.neighboring.count_is_public
        return is_judged and n_records * self.typical_mu < LEAST_SIGNAL

    def warn_of_few(self, n_records: int) -> None:
        """Warn of a public number of records that is too small for a model."""
        delta = self.delta or _TYPICAL_DELTA
        enough = f"about {rows_needed(epsilon=self.epsilon, delta=delta)} {self._records}"
        epsilon = _least_epsilon(n_records, delta)
        if epsilon <= _LARGE_EPSILON:
            enough += f" or epsilon={at_least(epsilon, 2):g}"
        effect = f"noise may outweigh what the model learns. It needs {enough}."
        self.warn_of_noise(n_records, effect)

    def warn_of_noise(self, n_records: int, effect: str) -> None:
        """Warn of the effect of noise on a public number of records."""
        _warn(
            f"{n_records} {self._records} are few for epsilon={self.epsilon:g} and "
            f"delta={self.delta:g}: {effect}",
            FewRowsWarning,
        )

    @property
    def _records(self) -> str:
        return "rows" if self.unit is Unit.RECORD else "persons"

    def guarantee(self, plan: ReleasePlan) -> PrivacyGuarantee:
        """Return the guarantee of the release, by an accountant's curve if its event has none."""
        event = plan.event  # which plans of several stages compose each time
        part = None if self.budget is None else self.budget.partition
        return PrivacyGuarantee(
            event,
            self.neighboring,
            plan.theorem,
            _bound(event, self.neighboring),
            asked=(self.epsilon, self.delta) if self.is_private else None,
            seeded=self.seeded,
            by_part=((part, event),),
            unit=self.unit,
            exact=plan.exact,
        )

    def spend(
        self,
        guarantee: PrivacyGuarantee,
        records: Countable,
        before_commit: Callable[[], None],
        note: str,
    ) -> None:
        """Record the cost of the release, with a note, in the budget, if there is one."""
        if self.budget is not None:
            self.budget.spend(
                guarantee,
                delta=self.delta,
                name=self.name,
                epsilon=self.epsilon if self.is_private else None,
                before_commit=before_commit,
                tag=note,
                n=records.n_records if self.neighboring.count_is_public else None,
            )


def _warn(message: str, kind: type[Warning] = WeakPrivacyWarning) -> None:
    warnings.warn(message, kind, stacklevel=caller_outside())


class PaidWarning(UserWarning):
    """A warning that follows from what was released. A fit that publishes this one repeats it."""


def warn_paid(message: str, kind: type[Warning] = PaidWarning) -> None:
    """Warn of what was released."""
    with suppress(Warning):  # once paid, nothing raises
        _warn(message, kind)


@lru_cache(maxsize=64)
def _least_epsilon(n_records: int, delta: float) -> float:
    """Return the ε at which so many records are enough; all of it is public."""
    return GaussianCurve(LEAST_SIGNAL / n_records).epsilon(delta)


RecordsT = TypeVar("RecordsT", bound=Countable)
PlanT = TypeVar("PlanT", bound=ReleasePlan)
ReleasedT = TypeVar("ReleasedT")


class PrivateFit(Generic[RecordsT, PlanT, ReleasedT]):
    """A model or statistic learned from records by one private release, after the spend.

    It is generic in the results of `_check_data`, `_plan` and `_read`. A subclass has the
    attributes epsilon, delta, neighboring, budget and random_state, and fills in the hooks that
    `_fit_privately` calls. `released_as` is the name of its releases, None for the name of the
    class. `takes_infinite_epsilon` is true if it can be fitted without privacy. `is_model` is true
    if few records are not enough to learn from, so that `fit` warns.
    """

    released_as: ClassVar[str | None] = None
    takes_infinite_epsilon: ClassVar[bool] = True
    is_model: ClassVar[bool] = False
    _is_part: bool = False  # whether a larger release counts the fit as Gaussian DP, in private

    epsilon: float
    delta: float | None
    neighboring: str
    budget: budgets.BudgetHandle | None
    random_state: RandomState

    def _fit_privately(self, *data: MatrixLike, **more: MatrixLike) -> Any:
        """Check, plan, spend, forget, read, publish; return the result of `_publish`.

        If `groups` are given, or a schema identifies persons, the privacy unit is a person.
        """
        # A user's `numpy.seterr` could raise errors after the spend, which would reveal values.
        with np.errstate(all="ignore"), self._restored_on_error() as commits:
            check_no_fit_is_replaced()
            data = tuple(map(received, data))
            more = {name: received(value) for name, value in more.items()}
            check_plain(*data, *more.values())
            if schemas := self._schemas():
                _check_units(schemas, self.budget)
                groups = groups_of(schemas, data[0], more.get("groups"))
                more |= {} if groups is None else {"groups": groups}
            unit = Unit.RECORD if more.get("groups") is None else Unit.PERSON
            parameters = self._release_parameters(unit)
            with public_words():
                records = self._check_data(parameters, *data, **more)
            plan = self._plan(parameters, records)
            now = parameters.guarantee(plan)
            guarantee = self._published_guarantee(now, records)
            if not parameters.is_rehearsal:
                self._warn(parameters, plan, records)
            mark = partial(commits.append, True)
            parameters.spend(now, records, mark, _note_of(schemas))
            if parameters.is_rehearsal:
                return self
            commits.append(True)  # from here on the release counts as made, even without a budget
            self._forget()
            # Fits inside of this one are paid, so none of them may raise.
            with allow_replaced_fit(), warnings.catch_warnings(action="ignore"):
                released = self._read(plan, records, parameters.rng)
            return self._publish(plan, records, released, guarantee)

    def _schemas(self) -> list[TableSchema]:
        """Return the schemas among the public parameters."""
        state = vars(self).items()  # that of an earlier fit does not count
        return schemas_in(value for name, value in state if "_" not in (name[0], name[-1]))

    @contextmanager
    def _restored_on_error(self) -> Iterator[list[bool]]:
        """Restore the object if an error occurs before the ledger commits, and say so.

        Later errors, such as an interrupt while the data are read, leave a release that may be in
        the ledger. The old fit is then dropped, and the error says that the release was spent.

        Yields a list that has an entry if the ledger may have recorded the release. It is appended
        to before the ledger does, so never too late.
        """
        before, commits = vars(self).copy(), list[bool]()
        try:
            yield commits
        except BaseException as error:
            if commits:
                self._forget()
            else:
                vars(self).clear()
                vars(self).update(before)
            # what was passed as the budget may be of any type here
            if self.budget is not None and getattr(self.budget, "has_limit", True):
                _add_sentence(error, _IN_DOUBT if commits else _REFUSED)
            raise

    def _release(
        self,
        data: tuple[MatrixLike, ...],
        groups: VectorLike | None,
        epsilon: float,
        delta: float | None,
        neighboring: str,
        budget: budgets.BudgetHandle | None,
        random_state: RandomState,
        sample_weight: VectorLike | None = None,
    ) -> Any:
        """Set the public parameters and fit, for objects that are used for one fit only."""
        self.epsilon, self.delta, self.neighboring = epsilon, delta, neighboring
        self.budget, self.random_state = budget, random_state
        more = {"groups": groups, "sample_weight": sample_weight}
        return self._fit_privately(*data, **{k: v for k, v in more.items() if v is not None})

    def _release_parameters(self, unit: Unit = Unit.RECORD) -> ReleaseParameters:
        """Return the parameters, each checked; raise ValueError for the first that is wrong."""
        budget = self.budget
        if not (budget is None or isinstance(budget, budgets.BudgetHandle)):
            raise ValueError(f"budget must be a PrivacyBudget or None, got {budget!r}.")
        if budget is not None and self.random_state is not None:
            raise ValueError(
                "random_state must be None if there is a budget, because anyone who knows the seed "
                "can subtract the noise. Ensembles of scikit-learn set and publish the seeds of "
                "their members."
            )
        delta = resolved_delta(self.delta, budget)
        if budget is not None and budget.has_limit and delta > budget.delta:
            raise ValueError(
                f"delta={delta:g} is larger than the delta={budget.delta:g} of the budget. Leave "
                "out delta to use that of the budget."
            )
        name = type(self).__name__ if self.released_as is None else self.released_as
        parameters = ReleaseParameters(
            epsilon=check_epsilon(self.epsilon),
            delta=delta,
            neighboring=Neighboring(check_choice("neighboring", self.neighboring, Neighboring)),
            budget=budget,
            name=name if budget is None or budget.release_name is None else budget.release_name,
            rng=noise_generator(self.random_state),
            seeded=self.random_state is not None,
            unit=unit,
        )
        if not (parameters.is_private or self.takes_infinite_epsilon):
            raise ValueError(f"epsilon must be finite for {name}, got {self.epsilon!r}.")
        return parameters

    def _warn(self, parameters: ReleaseParameters, plan: PlanT, records: RecordsT) -> None:
        """Warn of weak privacy, and of few rows for a model, before the spend."""
        parameters.warn_of_weakness(records.n_records)
        if self.is_model and parameters.are_few(records.n_records):
            parameters.warn_of_few(records.n_records)
        is_judged = parameters.is_private and parameters.neighboring.count_is_public
        if is_judged and (effect := self._effect_of_noise(plan, records)):
            parameters.warn_of_noise(records.n_records, effect)

    def _effect_of_noise(self, plan: PlanT, records: RecordsT) -> str | None:
        """Return the text of a warning if noise is known to outweigh the result, else None."""
        return None

    def _is_gaussian(self) -> bool:
        """Return whether a release at (ε, δ > 0) enters a Gaussian budget as Gaussian noise would.

        The answer follows from public parameters. Other releases may be counted at more than
        `epsilon`.
        """
        return False

    @abstractmethod
    def _check_data(
        self, parameters: ReleaseParameters, *data: MatrixLike, **more: MatrixLike
    ) -> RecordsT:
        """Check everything but the values, and return the records with their `n_records`."""

    @abstractmethod
    def _plan(self, parameters: ReleaseParameters, records: RecordsT) -> PlanT:
        """Return the plan of the release, computed from public facts about `records` alone."""

    def _published_guarantee(self, now: PrivacyGuarantee, records: RecordsT) -> PrivacyGuarantee:
        """Return the guarantee to publish, of this release and earlier ones that it adds to."""
        return now

    def _forget(self) -> None:
        """Drop the attributes of an earlier fit, so that none remain if this fit fails."""
        for name in [*vars(self)]:
            if name.endswith("_") and name not in _KEPT:
                delattr(self, name)

    @abstractmethod
    def _read(self, plan: PlanT, records: RecordsT, rng: np.random.Generator) -> ReleasedT:
        """Read the values and return the released numbers."""

    @abstractmethod
    def _publish(
        self, plan: PlanT, records: RecordsT, released: ReleasedT, guarantee: PrivacyGuarantee
    ) -> Any:
        """Set the released attributes from `released` and public facts; return the result."""


class PrivateEstimator(PrivateFit[RecordsT, PlanT, ReleasedT], CallbackSupportMixin, BaseEstimator):
    """A private fit with scikit-learn's interface, whose displays show no secret.

    scikit-learn prints parameters and, in notebooks, fitted attributes. Pipelines and searches
    print the parameters of their steps. All of them call `get_params`.
    """

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        explain_keywords(cls)

    if not TYPE_CHECKING:  # checkers would accept any attribute

        def __getattr__(self, name: str) -> Any:
            """Raise NotFittedError, an AttributeError, for what only a fitted estimator has."""
            kind, known = type(self).__name__, vars(self).keys() - _KEPT
            results = (one for one in known if one.endswith("_") and one[0] != "_")
            if name.endswith("_") and not name.startswith("_") and not any(results):
                raise NotFittedError(
                    f"This {kind} instance is not fitted yet, so it has no {name!r}. Call fit "
                    "first."
                )
            raise AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=self)

    def _fit_privately(self, *data: MatrixLike, **more: MatrixLike) -> Any:
        """Fit, as a task of scikit-learn's callbacks if there are any."""
        fit = super()._fit_privately
        listens = hasattr(self, "_skl_callbacks") or hasattr(self, "_parent_callback_ctx")
        if listens and not getattr(self.budget, "is_rehearsal", False):
            return fit_as_task(self, fit, *data, **more)
        return fit(*data, **more)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; a seed among them does not print.

        Parameters
        ----------
        deep : bool, default True
            *Public.* Whether to include the parameters of inner estimators.

        Returns
        -------
        dict
            As in scikit-learn. An integer seed equals the given one; any other seed, such as a
            list, is the `value` of a stand-in.
        """
        found: dict[str, Any] = super().get_params(deep=deep)
        if "random_state" in found:
            found["random_state"] = hidden(found["random_state"])
        return found


def _note_of(schemas: Sequence[TableSchema]) -> str:
    """Return a note for the ledger: the fingerprints of schemas, and units that they state."""
    said = {one: " (unit='record')" if one.unit == Unit.RECORD else "" for one in schemas}
    return ", ".join(f"schema {one.fingerprint}{words}" for one, words in said.items())


def _check_units(schemas: Sequence[TableSchema], budget: object) -> None:
    """Raise if the unit of a schema differs from the unit of the budget, which may be left out."""
    if not isinstance(budget, budgets.BudgetHandle) or not budget.has_limit:
        return
    for one in schemas:
        if one.unit not in (None, UNIT_OF_FITS[budget.unit]):
            why = f" (columns of the kind 'id': {one.ids})" if one.unit == Unit.PERSON else ""
            raise ValueError(
                f"the schema has the unit {one.unit!r}{why}, but this budget has "
                f"unit={str(budget.unit)!r}. Pass unit={one.unit!r} to PrivacyBudget, or "
                f"unit={str(budget.unit)!r} to TableSchema."
            )


def _add_sentence(error: BaseException, sentence: str) -> None:
    """Add a sentence to the message of an error, or a note if the error is more than a message."""
    if isinstance(error, Exception) and error.args == (str(error),):
        error.args = (f"{error} {sentence}",)
    else:
        error.add_note(sentence)


def resolved_delta(delta: float | None, budget: budgets.BudgetHandle | None) -> float:
    """Return δ: as given, or the budget's, or 1e-5."""
    if delta is not None:
        return check_delta(delta)
    return DEFAULT_DELTA if budget is None else budget.delta


def guarantee_of(
    event: Event, neighboring: Neighboring, theorem: str, **more: Any
) -> PrivacyGuarantee:
    """Return the guarantee of a release, by an accountant's curve if its event has none."""
    return PrivacyGuarantee(event, neighboring, theorem, _bound(event, neighboring), **more)


def _bound(event: Event, neighboring: Neighboring) -> PrivacyCurve | None:
    """Return an accountant's curve of an event without a curve in closed form, else None."""
    try:
        event.curve(neighboring)
    except NoClosedCurveError:
        return AccountedCurve(event, accounting.PLDAccountant(neighboring))
    return None


def together(earlier: PrivacyGuarantee, now: PrivacyGuarantee) -> PrivacyGuarantee:
    """Return the joint guarantee of fits whose parameters were fixed beforehand.

    Fits to one partition and fits to all records read a record of that partition. A guarantee that
    holds for every partition holds for all records (*Disjoint parts* in the user guide).
    """
    if earlier.unit != now.unit:
        raise ValueError(
            f"Earlier calls protected one {earlier.unit}, and this call protects one {now.unit}. "
            "Pass groups in every call of partial_fit or in none."
        )
    by_part = _summed(earlier.by_part + now.by_part)
    every = by_part.get(None, Counter())
    read = [every + own for part, own in by_part.items() if part is not None] or [every]
    distinct = [own for k, own in enumerate(read) if own not in read[:k]]
    relation, event = now.neighboring, _composed(reduce(or_, distinct))
    facts: dict[str, Any] = {
        "seeded": earlier.seeded or now.seeded,
        "by_part": tuple((part, _composed(own)) for part, own in by_part.items()),
        "unit": now.unit,
        "exact": earlier.exact and now.exact,
    }
    if len(distinct) == 1:
        return guarantee_of(event, relation, now.theorem, **facts)
    parts = [_composed(own) for own in distinct]
    curves = tuple(_bound(part, relation) or part.curve(relation) for part in parts)
    return PrivacyGuarantee(event, relation, now.theorem, MaximumCurve(curves), **facts)


def _summed(releases: Iterable[tuple[str | None, Event]]) -> dict[str | None, Counter[Event]]:
    """Count the releases of each event, for each partition."""
    found: dict[str | None, Counter[Event]] = {}
    for part, event in releases:
        counts = found.setdefault(part, Counter())
        for leaf, count in event.leaves():
            counts[leaf] += count
    return found


def _composed(counts: Counter[Event]) -> Event:
    """Return the composition, flat: nested events would overflow the stack after many calls."""
    if NonPrivateEvent() in counts:
        return NonPrivateEvent()
    leaves = tuple(
        leaf if count == 1 else SelfComposedEvent(leaf, count) for leaf, count in counts.items()
    )
    return leaves[0] if len(leaves) == 1 else ComposedEvent(leaves)
