"""What a budget and its shares have in common: a ceiling, and a ledger to spend from."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Self

from skdp.accounting import gdp_mu
from skdp.budget._messages import shortfall
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
from skdp.support.validation import (
    check_count,
    check_delta,
    check_partition,
    check_real,
    check_release_name,
)

__all__ = ["BudgetHandle"]

_BELOW = down(1.0, ROOT)  # no guarantee rests on it: the budget checks what is asked for


class _RefusedError(BudgetExceededError):
    """One handle does not admit a release."""

    def __init__(self, handle: BudgetHandle, request: SpendRequest) -> None:
        super().__init__(f"{request.release.label} is not admitted.")
        self.handle, self.request = handle, request

    def message(self) -> str:
        """Return what was asked and what is left."""
        return str(self.handle._ledger.releases(self._message_after))

    def _message_after(self, releases: Iterable[Release]) -> str:
        handle, wanted = self.handle, self.request.release
        earlier = filter(handle._owns, islice(releases, self.request.number))
        before = self.request.before[handle._account]
        return shortfall(handle._filter, handle._account, wanted, before, earlier)


class BudgetHandle(LedgerReader):
    """A handle on a ledger, with a ceiling: a `PrivacyBudget` or one of its shares.

    Copies, clones, pickles, threads and worker processes share the ledger.
    """

    _parent: BudgetHandle | None = None

    @property
    def is_rehearsal(self) -> bool:
        """Whether a fit ends when it has spent from here, before it reads a row."""
        return isinstance(self._ledger, DryRun) and not self._ledger.reads

    @abstractmethod
    def share(
        self, *, epsilon: float, delta: float | None = None, name: str = "share"
    ) -> BudgetHandle:
        """Return a handle on the same ledger with a ceiling of its own.

        Parameters
        ----------
        epsilon : float
            *Public.* The ε of its ceiling, at most that of the budget.
        delta : float or None
            *Public.* The δ of its ceiling, at most that of the budget, which None stands for.
        name : str
            *Public.* The same name and ceiling is the same share, in every process.

        Returns
        -------
        BudgetShare
            Nothing is reserved for it: each release has to fit into the budget as well.
        """

    def at(self, *, name: str | None = None, partition: str | int | None = None) -> Self:
        """Return a handle on the same ledger that names its releases or reads one partition.

        Pass it as ``budget=`` to estimators and functions.

        Parameters
        ----------
        name : str or None
            *Public.* Name of the releases in the history. None: as before, by default that of the
            class or function that spends.
        partition : str, int or None
            *Public.* The releases read records of this partition only, and releases on different
            partitions do not add up. Every record lies in one partition, the same for all
            releases. Which one must not depend on other records, nor, under ``replace_one``, on
            the record's own values: the record that replaces it lies in the same partition. An
            integer is the string that it prints as. None: as before, by default all partitions.

        Returns
        -------
        PrivacyBudget or BudgetShare
            Its `share` keeps the name and the partition.

        Examples
        --------
        >>> from skdp import DPLogisticRegression
        >>> from skdp.budget import PrivacyBudget
        >>> budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
        >>> for region in ("north", "south"):
        ...     own = budget.at(name=f"model of {region}", partition=region)
        ...     fit = DPLogisticRegression(epsilon=1.0, budget=own).fit([[0.1], [0.2]], [0, 1])
        >>> round(budget.spent.epsilon, 3)
        1.0
        """
        name, partition = check_release_name(name), check_partition(partition)
        if name is None and partition is None:
            return self
        handle = object.__new__(type(self))
        vars(handle).update(vars(self))
        handle._release_name = self._release_name if name is None else name
        handle._partition = self._partition if partition is None else partition
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
        before_commit: Callable[[], None] | None = None,
    ) -> None:
        """Write one release into the ledger, before its data are read.

        The check and the entry are one transaction. After an error that comes before the commit
        the ledger is as it was. After one that comes later (the disk fails, the files are gone
        when they are looked at again, an interrupt) the release may be recorded: count it as spent.

        Parameters
        ----------
        guarantee : PrivacyGuarantee
            *Public.* What the release will satisfy.
        delta : float
            *Public.* The δ at which basic composition and the history quote the release.
        name : str or None
            *Public.* Name of the release in the history. None: that given by `at`, or "release".
        epsilon : float or None
            *Public.* The ε at `delta`, where the caller knows it; it is checked, and saves a
            search.
        tag : str
            *Public.* The caller's own note, for the history.
        partition : str, int or None
            *Public.* As in `at`, which it overrides.
        before_commit : callable or None
            *Public.* Called without arguments just before the commit; after an error, who was not
            called knows that nothing was recorded. What it raises refuses the release.

        Raises
        ------
        BudgetExceededError
            If the budget does not admit the release; it says what was asked and what is left.
            Nothing is recorded.
        BudgetClosedError
            If the ledger is gone, replaced, read-only, full or damaged, before or after the commit.
        ValueError
            If the release is private under another neighboring relation than the budget, or for
            another unit, or a parameter is out of range. Nothing is recorded.
        """
        name = name or self._release_name or "release"
        self._check_relation(guarantee, name)
        part = self._partition if partition is None else check_partition(partition)
        release = self._priced(guarantee, delta, name, part, epsilon=epsilon, tag=tag)
        refused = None
        try:
            self._ledger.append(release, self._check, before_commit)
        except _RefusedError as error:
            refused = error
        if refused is not None:  # the ledger is free again while the message is written
            raise BudgetExceededError(refused.message())

    def plan(
        self,
        releases: Iterable[PlannedRelease | PrivacyGuarantee | Event],
        *,
        n_folds: int | None = None,
        delta: float | None = None,
    ) -> PlanCost:
        """Return the cost of a fixed list of releases; nothing is read and nothing is written.

        Parameters
        ----------
        releases : iterable of Event, PrivacyGuarantee or PlannedRelease
            *Public.* What would be released; a `PlannedRelease` says which fold it leaves out and
            which partition it reads.
        n_folds : int or None
            *Public.* The number of folds, where releases leave one out. A record lies in one of
            them, the same throughout the plan.
        delta : float or None
            *Public.* Where to quote; the budget's own by default.

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
        n_folds = n_folds if n_folds is None else check_count("n_folds", n_folds)
        return PlanCost(
            epsilon=cost_of_plan(planned, self.neighboring, delta, n_folds),
            delta=delta,
            admitted=self._admits(planned, delta),
            n_releases=len(planned),
        )

    def check(self, releases: Iterable[Sequence[Any]]) -> None:
        """Raise unless the ledger would now admit all of these, one after the other.

        Nothing is read and nothing is written or set aside: what is spent in the meantime may
        still leave too little.

        Parameters
        ----------
        releases : iterable of (name, PrivacyGuarantee) or (name, PrivacyGuarantee, partition)
            *Public.* What would be spent, at the (ε, δ) that each was asked for.

        Raises
        ------
        BudgetExceededError
            As `spend` would for the first that is not admitted.
        ValueError
            If one is private under another neighboring relation than the budget, or for another
            unit.
        """
        dry = DryRun(self._ledger).handle(self)
        for name, guarantee, *place in releases:
            planned = PlannedRelease(guarantee, partition=place[0] if place else None)
            dry._spend(planned, name, self.delta)

    def price(self, estimator: Any, X: Any, y: Any = None, **fit_params: Any) -> PlanCost:
        """Return what a fit, a pipeline or a search would cost here, before it is made.

        Nothing is spent, and no private data are read. A copy is fitted to synthetic rows in this
        process, and its budgets are replaced by a dry run, which counts what would be spent. The
        replacement reaches budgets in parameters, however deep. A copy that spends from this budget
        in another way, such as by a global variable, raises ValueError.

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
        y : array-like of shape (n_samples,) or None, default None
            *Public.* Synthetic targets. ``None``: the `classes` of the estimator in turn, two
            classes if it has none, or zeros for a regressor.
        **fit_params : dict
            *Public.* Other synthetic arguments of ``fit``, such as `groups`.

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
            If the copy spends nothing, has another budget, refers to this budget otherwise than by
            a parameter, spends in another process, or is rejected for another reason than its
            cost.

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
        """Return the (ε, δ) of each of several releases that together cost so much here.

        Parameters
        ----------
        n_releases : int
            *Public.* How many; Gaussian DP ones, unless the budget adds ε and δ, as it does where
            its first release was none.
        epsilon : float or None, default None
            *Public.* The ε of all of them together. None: all that is left.
        delta : float or None, default None
            *Public.* The δ of the same statement. None: all that is left.

        Returns
        -------
        Amount
            What each may ask for.

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
        """Return the μ of the Gaussian releases that (ε, δ) admits, counted as here.

        What the budget sets aside of δ for releases that no Gaussian covers is not among it.

        Parameters
        ----------
        epsilon : float
            *Public.* The ε of all of them together.
        delta : float
            *Public.* The δ of the same statement.

        Returns
        -------
        float
            The μ of all of them together; 0 where nothing fits.
        """
        of_delta = delta / self.delta if self.delta else 0.0
        reserves = {name: of_delta * self._filter.terms[name] for name in ("slack", "tv")}
        rule = rule_of(self.composition, epsilon, delta, **reserves)
        largest = rule.left(rule.nothing[: len(rule.limits)])
        return gdp_mu(*largest) if largest.epsilon else 0.0

    def _priced(
        self, guarantee: PrivacyGuarantee, delta: float, label: str, part: str | None, **more: Any
    ) -> Release:
        """Return the row of a release, as the ledger is now."""
        left = partial(self._slack_left, part)
        more |= {"account": self._account, "part": part}
        more |= self._filter.facts(guarantee.event, self.neighboring, left)
        return priced_release(guarantee, check_delta(delta), label, **more)

    def _slack_left(self, part: str | None) -> float:
        return min(handle._filter.slack_left(handle._totals(part)) for handle in self._chain())

    def _check(self, request: SpendRequest) -> None:
        """Raise _RefusedError unless this handle and all that it is a share of admit it."""
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
        """Return the release in the partition of this handle unless it names its own."""
        known = release.partition is not None
        return release if known else replace(release, partition=self._partition)

    def _spend(self, planned: PlannedRelease, name: str, delta: float) -> None:
        """Spend on a planned release, at what it was asked for or at `delta`."""
        guarantee, place = planned.event, planned.partition
        if not isinstance(guarantee, PrivacyGuarantee):
            guarantee = PrivacyGuarantee(guarantee, self.neighboring, "plan", unit=self.unit)
        epsilon, delta = guarantee.asked or (None, delta)
        self.spend(guarantee, delta=delta, name=name, epsilon=epsilon, partition=place)

    def _check_relation(self, guarantee: PrivacyGuarantee, label: str) -> None:
        if not isinstance(guarantee, PrivacyGuarantee):
            raise ValueError(f"A release is a PrivacyGuarantee, got {guarantee!r}.")
        if guarantee.neighboring != self.neighboring:
            raise ValueError(
                f"This budget counts releases under neighboring={str(self.neighboring)!r}; "
                f"{label} asks under {str(guarantee.neighboring)!r}."
            )
        if guarantee.unit != self.unit:
            raise ValueError(
                f"This budget counts releases by unit={str(self.unit)!r}; {label} protects one "
                f"{guarantee.unit}. A fit protects a person, with all rows of theirs, where "
                "groups= says whose each row is, and a record where it does not."
            )
