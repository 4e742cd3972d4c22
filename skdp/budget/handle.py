"""Base class of a budget and its shares: a limit, and a ledger to spend from."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Self

import numpy as np

from skdp.accounting import gdp_mu
from skdp.budget._messages import MOST_ROWS, shortfall
from skdp.budget.cost import priced_release
from skdp.budget.dry_run import DryRun
from skdp.budget.filters import Amount, rule_of
from skdp.budget.filters.base import Allowance, largest_gaussian
from skdp.budget.plan import PlanCost, PlannedRelease, cost_of_plan
from skdp.budget.price import Price
from skdp.budget.reader import LedgerReader
from skdp.exceptions import BudgetExceededError
from skdp.ledger.release import Release
from skdp.ledger.store import SpendRequest
from skdp.privacy import Event, PrivacyGuarantee
from skdp.support.rounding import ROOT, down
from skdp.support.types import MatrixLike
from skdp.support.validation import (
    check_count,
    check_delta,
    check_partition,
    check_real,
    check_release_name,
)

if TYPE_CHECKING:  # skdp.budget does not import scikit-learn
    from sklearn.base import BaseEstimator

__all__ = ["BudgetHandle"]

_IN_DOUBT = "The ledger may have recorded this release: count it as spent."
_BELOW = down(1.0, ROOT)  # no guarantee rests on it: the budget checks each release


class _RefusedError(BudgetExceededError):
    """One handle does not admit a release."""

    def __init__(self, handle: BudgetHandle, request: SpendRequest) -> None:
        super().__init__(f"{request.release.label} is not admitted.")
        self.handle, self.request = handle, request

    def message(self) -> str:
        if self.request.number > MOST_ROWS:
            return self._message_after(())
        return str(self.handle._ledger.releases(self._message_after))

    def _message_after(self, releases: Iterable[Release]) -> str:
        handle, wanted = self.handle, self.request.release
        earlier = [*filter(handle._owns, islice(releases, self.request.number))]
        before = self.request.before[handle._account]
        return shortfall(handle._filter, handle._account, wanted, before, earlier)


class _Commit:
    """Calls `before_commit`, and remembers that the ledger may have recorded the release since."""

    def __init__(self, before_commit: Callable[[], None] | None) -> None:
        self._before_commit = before_commit
        self.may_be_recorded = False

    def __call__(self) -> None:
        if self._before_commit is not None:
            self._before_commit()
        self.may_be_recorded = True


class BudgetHandle(LedgerReader):
    """A handle on a ledger, with a limit: a `PrivacyBudget` or one of its shares.

    Copies, clones, pickles, threads and worker processes share the ledger.
    """

    _parent: BudgetHandle | None = None
    has_limit = True
    """Whether a release may be refused; never in the dry run of an estimator without a budget."""

    @property
    def is_rehearsal(self) -> bool:
        """Whether a fit ends after it has spent, before it reads a row."""
        return isinstance(self._ledger, DryRun) and not self._ledger.reads

    @abstractmethod
    def share(
        self, *, epsilon: float, delta: float | None = None, name: str = "share"
    ) -> BudgetHandle:
        """Return a handle on the same ledger with its own limit.

        Parameters
        ----------
        epsilon : float
            *Public.* The ε of the share, at most that of the budget.
        delta : float or None
            *Public.* The δ of the share, at most that of the budget. ``None``: that of the budget.
        name : str
            *Public.* Name of the share. Equal names are one share, in every process.

        Returns
        -------
        BudgetShare
            Nothing is reserved for it: each release must also fit into the budget.
        """

    @property
    def exact(self) -> bool:
        """Whether only releases with a theorem about machine numbers are admitted."""
        return self._filter.exact

    def at(
        self,
        *,
        name: str | None = None,
        partition: str | int | None = None,
        n: int | None = None,
    ) -> Self:
        """Return a handle on the same ledger that names its releases or reads one partition.

        Pass it as ``budget=`` to estimators and functions.

        Parameters
        ----------
        name : str or None
            *Public.* Name of the releases in the history. ``None``: the earlier one, by default the
            name of the class or function that spends.
        partition : str, int or None
            *Public.* Partition that the releases read. Releases on different partitions do not add
            up. Each record is in one partition, the same for all releases. The partition must not
            depend on other records, nor, under ``replace_one``, on the values of the record: its
            replacement is in the same partition. An integer is converted to a string. ``None``: the
            earlier one, by default all partitions.
        n : int or None
            *Public.* Number of records in the partition, only under ``replace_one``. A release on
            more records raises ValueError. ``None``: the earlier one of this partition, by default
            any number.

        Returns
        -------
        PrivacyBudget or BudgetShare
            Its `share` keeps the name and the partition.

        Examples
        --------
        >>> from skdp import DPLogisticRegression
        >>> from skdp.budget import PrivacyBudget
        >>> X, y = [[0.1], [0.2]] * 200, [0, 1] * 200
        >>> budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
        >>> for region in ("north", "south"):
        ...     own = budget.at(name=f"model of {region}", partition=region)
        ...     fit = DPLogisticRegression(epsilon=1.0, budget=own).fit(X, y)
        >>> round(budget.spent.epsilon, 3)
        1.0
        """
        name, partition = check_release_name(name), check_partition(partition)
        if n is not None and not self.neighboring.count_is_public:
            raise ValueError(f"n is private under {str(self.neighboring)!r}. Leave it out.")
        if name is None and partition is None and n is None:
            return self
        handle = object.__new__(type(self))
        vars(handle).update(vars(self))
        handle._release_name = self._release_name if name is None else name
        handle._partition = self._partition if partition is None else partition
        kept = self._n if handle._partition == self._partition else None
        handle._n = kept if n is None else check_count("n", n)
        return handle

    def spend(
        self,
        guarantee: PrivacyGuarantee,
        *,
        delta: float,
        name: str | None = None,
        epsilon: float | None = None,
        tag: str = "",
        partition: str | int | None = None,
        n: int | None = None,
        before_commit: Callable[[], None] | None = None,
    ) -> None:
        """Write one release into the ledger, before its data are read.

        The check and the entry are one transaction. After an error before the commit the ledger is
        as it was. After a later error, such as a failing disk or an interrupt, the release may be
        recorded: count it as spent.

        Parameters
        ----------
        guarantee : PrivacyGuarantee
            *Public.* The guarantee of the release.
        delta : float
            *Public.* The δ at which basic composition and the history quote the release.
        name : str or None
            *Public.* Name of the release in the history. ``None``: the name from `at`, or
            "release".
        epsilon : float or None
            *Public.* The ε at `delta`, if known; it is checked, and saves a search.
        tag : str
            *Public.* A note for the history.
        partition : str, int or None
            *Public.* As in `at`, which it overrides.
        n : int or None
            *Public.* Number of records that the release reads, for the report. ``None``: private,
            as under ``add_remove_one``, or not stated.
        before_commit : callable or None
            *Public.* Called without arguments just before the commit. If it was not called, nothing
            was recorded. If it raises, the release is not recorded.

        Raises
        ------
        BudgetExceededError
            If the budget does not admit the release. Nothing is recorded.
        BudgetClosedError
            If the ledger is gone, replaced, read-only, full or damaged, before or after the commit.
        ValueError
            If a parameter is out of range, the release has another neighboring relation or unit
            than the budget, or it reads more records than `at` states. Nothing is recorded.
        """
        if epsilon is not None:
            epsilon = check_real("epsilon", epsilon, low=0.0, closed="[]")
        name = name or self._release_name or "release"
        self._check_relation(guarantee, name)
        part = self._partition if partition is None else check_partition(partition)
        n = int(n) if isinstance(n, np.integer) else n
        self._check_size(n, name, self._n if part == self._partition else None)
        release = self._priced(guarantee, delta, name, part, epsilon=epsilon, tag=tag, n=n)
        refused, commit = None, _Commit(before_commit)
        try:
            self._ledger.append(release, self._check, commit)
            return
        except _RefusedError as error:
            refused = error
        except BaseException as error:
            if commit.may_be_recorded:
                error.add_note(_IN_DOUBT)
            raise
        # Raised after the transaction, so that the message is written without the lock.
        raise BudgetExceededError(refused.message())

    def plan(
        self,
        releases: Iterable[PlannedRelease | PrivacyGuarantee | Event],
        *,
        n_folds: int | None = None,
        delta: float | None = None,
    ) -> PlanCost:
        """Return the cost of a fixed list of releases, without reading or spending anything.

        Parameters
        ----------
        releases : iterable of Event, PrivacyGuarantee or PlannedRelease
            *Public.* The planned releases. A `PlannedRelease` may leave out one fold or read one
            partition.
        n_folds : int or None
            *Public.* The number of folds, if releases leave one out. Each record is in one fold,
            the same for the whole plan.
        delta : float or None
            *Public.* Where to quote ε. ``None``: the δ of the budget.

        Returns
        -------
        PlanCost
            The (ε, δ) of the whole list, and whether the budget would admit it now.

        Examples
        --------
        >>> from skdp.privacy import GDPEvent
        >>> from skdp.budget import PlannedRelease, PrivacyBudget
        >>> budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
        >>> fits = [PlannedRelease(GDPEvent(0.1), fold=fold) for fold in range(5)]
        >>> round(budget.plan(fits, n_folds=5).epsilon, 4)
        0.7255
        >>> round(budget.plan([GDPEvent(0.1)] * 5).epsilon, 4)
        0.8197
        """
        planned = [self._placed(PlannedRelease.of(release)) for release in releases]
        for release in planned:
            if isinstance(release.event, PrivacyGuarantee):
                self._check_relation(release.event, "A planned release")
        delta = self.delta if delta is None else check_delta(delta)
        n_folds = None if n_folds is None else check_count("n_folds", n_folds)
        return PlanCost(
            epsilon=cost_of_plan(planned, self.neighboring, delta, n_folds),
            delta=delta,
            admitted=self._admits(planned, delta),
            n_releases=len(planned),
        )

    def check(
        self,
        releases: Iterable[
            tuple[str, PrivacyGuarantee] | tuple[str, PrivacyGuarantee, str | int | None]
        ],
    ) -> None:
        """Raise unless the ledger would now admit all of these releases, one after the other.

        Nothing is reserved: spends in the meantime may leave too little.

        Parameters
        ----------
        releases : iterable of (name, PrivacyGuarantee) or (name, PrivacyGuarantee, partition)
            *Public.* The releases, each at its own (ε, δ).

        Raises
        ------
        BudgetExceededError
            As in `spend`, for the first release that is not admitted.
        ValueError
            If a release has another neighboring relation or unit than the budget.
        """
        dry = DryRun(self._ledger).handle(self)
        for name, guarantee, *place in releases:
            planned = PlannedRelease(guarantee, partition=place[0] if place else None)
            dry._spend(planned, name, self.delta)

    def price(
        self,
        estimator: BaseEstimator,
        X: tuple[int, int] | MatrixLike,
        y: tuple[int, int] | MatrixLike = None,
        **fit_params: object,
    ) -> PlanCost:
        """Return the cost of a fit, a pipeline or a search, without spending or private data.

        A copy is fitted to synthetic rows in this process. Its budgets are replaced by a dry run,
        wherever they are in its parameters. A copy that spends from this budget in another way,
        such as by a global variable, raises ValueError.

        Parameters
        ----------
        estimator : estimator
            *Public.* A private estimator, or one that fits private ones, such as a pipeline,
            scikit-learn's ``GridSearchCV`` and ``OneVsRestClassifier``, or an ensemble that sets
            no seeds, such as ``VotingClassifier``. An estimator without a budget spends from this
            one. Releases of other libraries are not counted.
        X : (int, int) or array-like of shape (n_samples, n_features)
            *Public.* The numbers of rows and columns. Pass synthetic rows, such as a frame of
            made-up values, if an estimator needs columns of certain names or types.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), (int, int) or None
            *Public.* Synthetic targets, or the numbers of rows and targets. ``None``: the `classes`
            of the estimator in turn, two classes if it has none, or zeros for a regressor. Required
            if the estimator takes several targets.
        **fit_params : dict
            *Public.* Other synthetic arguments of ``fit``. In a budget with ``unit="person"`` each
            row is a person of its own unless `groups` are given.

        Returns
        -------
        PlanCost
            The cost of these releases alone. `spent` may rise by more, because a Gaussian budget
            counts another release as the smallest Gaussian one that covers it; `admitted` takes
            this into account. A scikit-learn search with `refit` is assumed to choose the most
            expensive candidate.

        Raises
        ------
        ValueError
            If the copy spends nothing, or spends from another budget or in another process; if it
            refers to this budget in another way than by a parameter; or if it fails for another
            reason than its cost.

        Examples
        --------
        >>> from skdp import DPLogisticRegression
        >>> from skdp.budget import PrivacyBudget
        >>> from sklearn.model_selection import GridSearchCV, KFold
        >>> budget = PrivacyBudget(epsilon=3.0, delta=1e-5)
        >>> search = GridSearchCV(DPLogisticRegression(epsilon=0.3), {"C": [1, 10]}, cv=KFold(5))
        >>> cost = budget.price(search, (1000, 5))
        >>> cost.n_releases, round(cost.epsilon, 2), cost.admitted
        (11, 1.11, True)
        """
        price = Price(self, reads=not hasattr(estimator, "_fit_privately"))
        return price.of(estimator, X, y, **fit_params)

    def epsilon_each(
        self, n_releases: int, *, epsilon: float | None = None, delta: float | None = None
    ) -> Amount:
        """Return the (ε, δ) of each of several equal releases that share a total.

        Parameters
        ----------
        n_releases : int
            *Public.* Number of releases. They must be Gaussian DP, unless the budget adds ε and δ.
        epsilon : float or None
            *Public.* Total ε. ``None``: all that is left.
        delta : float or None
            *Public.* Total δ. ``None``: all that is left.

        Returns
        -------
        Amount
            The (ε, δ) of one release.

        Examples
        --------
        >>> from skdp.budget import PrivacyBudget
        >>> round(PrivacyBudget(epsilon=3.0, delta=1e-5).epsilon_each(11).epsilon, 3)
        0.79
        """
        k, left = check_count("n_releases", n_releases), self.remaining
        asked = epsilon is not None and check_real("epsilon", epsilon, low=0.0)
        delta = left.delta if delta is None else check_delta(delta)
        if self.composition.adds_epsilon or not self._filter.fits(self._totals(self._partition)):
            return Allowance((asked or left.epsilon) / k * _BELOW, delta / k * _BELOW)
        total = asked or self.epsilon, delta
        most = gdp_mu(*left) if left.epsilon and left.delta else 0.0
        mu = min(self.gaussian_mu(epsilon=total[0], delta=total[1]), most)
        if mu == 0.0:
            return Allowance(0.0, delta)
        return Allowance(*largest_gaussian(mu / math.sqrt(k) * _BELOW, delta))

    def gaussian_mu(self, *, epsilon: float, delta: float) -> float:
        """Return the total μ of Gaussian releases within (ε, δ), after the reserves of the budget.

        Parameters
        ----------
        epsilon : float
            *Public.* Total ε of the releases.
        delta : float
            *Public.* Total δ of the releases.

        Returns
        -------
        float
            The total μ, 0 if nothing fits.
        """
        of_delta = delta / self.delta if self.delta else 0.0
        reserves = {name: of_delta * self._filter.terms[name] for name in ("slack", "tv")}
        rule = rule_of(self.composition, epsilon, delta, **reserves)
        largest = rule.left(rule.nothing[: len(rule.limits)])
        return gdp_mu(*largest) if largest.epsilon else 0.0

    def _priced(
        self,
        guarantee: PrivacyGuarantee,
        delta: float,
        label: str,
        part: str | None,
        *,
        epsilon: float | None,
        tag: str,
        n: int | None,
    ) -> Release:
        """Return the ledger's row for a release."""
        left = partial(self._slack_left, part)
        facts = self._filter.facts(guarantee.event, self.neighboring, left)
        where = {"account": self._account, "part": part, "tag": tag, "n": n}
        return priced_release(
            guarantee, check_delta(delta), label, epsilon=epsilon, **where, **facts
        )

    def _slack_left(self, part: str | None) -> float:
        return min(handle._filter.slack_left(handle._totals(part)) for handle in self._chain())

    def _check(self, request: SpendRequest) -> None:
        """Raise _RefusedError unless this handle and its parents admit the release."""
        wanted = request.release
        for handle in self._chain():
            rule, before = handle._filter, request.before[handle._account]
            if not rule.admits_next(before, wanted):
                raise _RefusedError(handle, request)

    def _admits(self, planned: Iterable[PlannedRelease], delta: float) -> bool:
        price = Price(self)
        handle = price.handle(self)
        for release in planned:
            handle._spend(release, "plan", delta)
            if not price.admitted:
                return False
        return True

    def _placed(self, release: PlannedRelease) -> PlannedRelease:
        """Place a release in the partition of this handle, unless it names its own."""
        known = release.partition is not None
        return release if known else replace(release, partition=self._partition)

    def _spend(self, planned: PlannedRelease, name: str, delta: float) -> None:
        """Spend a planned release at its own (ε, δ), or at `delta`."""
        guarantee, place = planned.event, planned.partition
        if not isinstance(guarantee, PrivacyGuarantee):
            # An event has no theorem: only whether there is room for it is asked.
            guarantee = PrivacyGuarantee(
                guarantee, self.neighboring, "plan", unit=self.unit, exact=self.exact
            )
        epsilon, delta = guarantee.asked or (None, delta)
        self.spend(guarantee, delta=delta, name=name, epsilon=epsilon, partition=place)

    def _check_size(self, n: int | None, label: str, most: int | None) -> None:
        if n is None:
            return
        if not self.neighboring.count_is_public:
            raise ValueError(f"n is private under {str(self.neighboring)!r}. Leave it out.")
        if most is not None and n > most:
            raise ValueError(
                f"{label} reads {n} {self.unit}s, but budget.at(n={most}) states less."
            )

    def _check_relation(self, guarantee: PrivacyGuarantee, label: str) -> None:
        if not isinstance(guarantee, PrivacyGuarantee):
            raise ValueError(f"guarantee must be a PrivacyGuarantee, got {guarantee!r}.")
        if guarantee.neighboring != self.neighboring:
            raise ValueError(
                f"{label} has neighboring={str(guarantee.neighboring)!r}, but this budget has "
                f"neighboring={str(self.neighboring)!r}."
            )
        if guarantee.unit != self.unit:
            raise ValueError(
                f"{label} protects one {guarantee.unit}, but this budget has "
                f"unit={str(self.unit)!r}. A fit protects persons with groups=, otherwise records."
            )
