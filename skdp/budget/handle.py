"""A limit on releases, and a ledger to spend from: the base of a budget and its shares."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import partial
from html import escape
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skdp.accounting import gdp_mu
from skdp.budget.dry_run import DryRun, PlanCost, PlannedRelease, Price, StandIns, cost_of_plan
from skdp.budget.filters import Allowance, Amount, Filter, largest_gaussian, priced_release, rule_of
from skdp.budget.report import FORMATS, RefusedError, Report
from skdp.exceptions import BudgetClosedError, BudgetExceededError
from skdp.ledger.release import EVERY, PEAK, Amounts, Release, head_of, owns
from skdp.ledger.store import FORMAT, Ledger, SpendRequest
from skdp.privacy import Event, Neighboring, PrivacyCurve, PrivacyGuarantee, Unit
from skdp.privacy.neighboring import UNIT_OF_FITS
from skdp.support.display import at_least, at_most
from skdp.support.safe_numbers import ROOT, down
from skdp.support.types import MatrixLike
from skdp.support.validation import (
    check_choice,
    check_count,
    check_delta,
    check_partition,
    check_real,
    check_release_name,
    check_text,
)

if TYPE_CHECKING:  # skdp.budget does not import scikit-learn
    from sklearn.base import BaseEstimator

QUOTED = ("time", "content", "seal")  # of an entry, in an export
_IN_DOUBT = "The ledger may have recorded this release: count it as spent."
_CELLS, _DIGITS = 20, 4
_BELOW = down(1.0, ROOT)  # no guarantee rests on it: the budget checks each release


class BudgetHandle:
    """A handle on a ledger, with a limit: a `PrivacyBudget` or one of its shares.

    Copies, clones, pickles, threads and worker processes share the ledger.

    Examples
    --------
    >>> from skdp import PrivacyBudget
    >>> from skdp.statistics import count
    >>> budget = PrivacyBudget(epsilon=3.0, delta=1e-5)
    >>> team = budget.share(epsilon=1.0, name="team")
    >>> found = count([True, False] * 500, epsilon=0.5, budget=team.at(name="smokers"))
    >>> team.remaining, budget.remaining
    (Amount(epsilon=0.830319, delta=1e-05), Amount(epsilon=2.92406, delta=1e-05))
    >>> budget.history()[0]["label"]
    'smokers'
    """

    _filter: Filter
    _neighboring: Neighboring
    _unit: Unit
    _ledger: Ledger
    _account: str = ""
    _release_name: str | None = None
    _partition: str | None = None
    _n: int | None = None
    _parent: BudgetHandle | None = None

    epsilon = property(attrgetter("_filter.epsilon"), doc="The ε of the limit. Read-only.")
    delta = property(attrgetter("_filter.delta"), doc="The δ of the limit. Read-only.")
    composition = property(attrgetter("_filter.composition"), doc="What adds up. Read-only.")
    neighboring = property(attrgetter("_neighboring"), doc="Relation of all releases. Read-only.")
    unit = property(attrgetter("_unit"), doc="Unit of all releases. Read-only.")
    exact = property(attrgetter("_filter.exact"), doc="As in `PrivacyBudget`. Read-only.")
    release_name = property(attrgetter("_release_name"), doc="Set by `at`, or None. Read-only.")
    partition = property(attrgetter("_partition"), doc="Set by `at`, or None. Read-only.")
    has_limit = True
    """Whether a release may be refused; never in the dry run of an estimator without a budget."""

    @property
    def is_rehearsal(self) -> bool:
        """Whether a fit ends after it has spent, before it reads a row."""
        return isinstance(self._ledger, DryRun) and not self._ledger.reads

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
        BudgetHandle
            Nothing is reserved for it: each release must also fit into the budget.

        Raises
        ------
        ValueError
            If the limit is above that of the budget, the name contains ``/``, or a share of that
            name has another limit.

        Notes
        -----
        **Guarantee.** The budget counts the releases of all shares one by one, so all shares
        together keep its (ε, δ); this is never worse than adding up their limits. The limit of a
        share is a guarantee for releases that are not chosen after seeing the releases of other
        shares.

        Examples
        --------
        >>> from skdp import PrivacyBudget
        >>> team = PrivacyBudget(epsilon=3.0, delta=1e-5).share(epsilon=1.0, name="team a")
        >>> team.remaining
        Amount(epsilon=1.0, delta=1e-05)
        """
        rule = self._filter.share(name, epsilon, delta)
        account = f"{self._account}/{check_text('name', name)}".lstrip("/")
        self._ledger.open_share((account, rule.epsilon, rule.delta), rule.ceilings)
        return self._copied(BudgetHandle, _parent=self, _filter=rule, _account=account)

    def at(
        self,
        *,
        name: str | None = None,
        partition: str | int | None = None,
        period: str | int | None = None,
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
        period : str, int or None
            *Public.* Partition of a budget with ``unit="person-month"``, such as "2025-03": all
            rows of a calendar month, or those without a readable date. Under ``replace_one`` it
            needs `n`, because a replaced person stays in the period, whose size is then public.
        n : int or None
            *Public.* Number of records in the partition, only under ``replace_one``. A release on
            more records raises ValueError. ``None``: the earlier one of this partition, by default
            any number.

        Returns
        -------
        BudgetHandle
            Its `share` keeps the name and the partition.

        Raises
        ------
        ValueError
            If a name, a partition or `n` is wrong, or the unit has no periods.

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
        self._check_period(partition, period, n)
        partition = check_partition(period) if partition is None else partition
        if name is None and partition is None and n is None:
            return self
        partition = self._partition if partition is None else partition
        kept = self._n if partition == self._partition else None
        return self._copied(
            _release_name=self._release_name if name is None else name,
            _partition=partition,
            _n=kept if n is None else check_count("n", n),
        )

    def _check_period(self, partition: object, period: object, n: int | None) -> None:
        """Raise ValueError unless the period is one of this unit, which replaced persons keep."""
        if period is not None and self.unit is not Unit.PERSON_MONTH:
            why = f"not unit={str(self.unit)!r}: a person may have rows in several periods"
            raise ValueError(f"period needs a budget with unit='person-month', {why}.")
        if partition is not None and self.unit is Unit.PERSON_MONTH:
            raise ValueError("a budget with unit='person-month' has periods. Pass period.")
        if period is not None and n is None and self.neighboring.count_is_public:
            raise ValueError(
                "period needs n, the public number of persons in it, under 'replace_one'. If a "
                "replaced person may move to another period, use neighboring='add_remove_one'."
            )

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
        part = self._partition if partition is None else check_partition(partition)
        n = int(n) if isinstance(n, np.integer) else n
        known = part == self._partition or not self.neighboring.count_is_public
        if self.unit is Unit.PERSON_MONTH and (part is None or not known):
            raise ValueError(f"{name} names no period, or not its n. Pass budget.at(period=...).")
        self._check_stated(guarantee, name, n, self._n if part == self._partition else None)

        facts = self._filter.facts(
            guarantee.event,
            self.neighboring,
            lambda: min(one._filter.slack_left(sums_of(one, part)) for one in self._chain()),
        )
        where = {"account": self._account, "part": part, "tag": tag, "n": n}
        delta = check_delta(delta)
        release = priced_release(guarantee, delta, name, epsilon=epsilon, **where, **facts)
        doubt = list[bool]()
        steps = [] if before_commit is None else [before_commit]
        try:
            self._ledger.append(release, self._check, [*steps, partial(doubt.append, True)])
            return
        except RefusedError as error:
            refused = error
        except BaseException as error:
            if doubt:
                error.add_note(_IN_DOUBT)
            raise
        # Raised after the transaction, so that the message is written without the lock.
        message = refused.message()
        del refused  # its traceback would hold the ledger
        raise BudgetExceededError(message)

    def plan(
        self,
        releases: Iterable[PlannedRelease | PrivacyGuarantee | Event],
        *,
        delta: float | None = None,
    ) -> PlanCost:
        """Return the cost of a fixed list of releases, without reading or spending anything.

        Parameters
        ----------
        releases : iterable of Event, PrivacyGuarantee or PlannedRelease
            *Public.* The planned releases. A `PlannedRelease` may read one partition. In
            cross-validation each record is left out of one fit.
        delta : float or None
            *Public.* Where to quote ε. ``None``: the δ of the budget.

        Returns
        -------
        PlanCost
            The (ε, δ) of the whole list, and whether the budget would admit it now.

        Examples
        --------
        >>> from skdp.privacy import GDPEvent
        >>> from skdp.budget import PrivacyBudget
        >>> budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
        >>> round(budget.plan([GDPEvent(0.1)] * 5).epsilon, 4)
        0.8197
        """
        stated = (r if isinstance(r, PlannedRelease) else PlannedRelease(r) for r in releases)
        delta = self.delta if delta is None else check_delta(delta)
        part = self._partition
        own = [replace(one, partition=part) if one.partition is None else one for one in stated]
        for release in own:
            if isinstance(release.event, PrivacyGuarantee):
                self._check_stated(release.event, "A planned release")
        epsilon = cost_of_plan(own, self.neighboring, delta)
        price = Price(self)
        handle = price.handle(self)
        for release in own:
            guarantee = release.event
            if not isinstance(guarantee, PrivacyGuarantee):  # without a theorem: is there room?
                guarantee = PrivacyGuarantee(
                    guarantee,
                    self.neighboring,
                    "plan",
                    unit=UNIT_OF_FITS[self.unit],
                    exact=self.exact,
                )
            asked, quoted = guarantee.asked or (None, delta)
            handle.spend(guarantee, delta=quoted, epsilon=asked, partition=release.partition)
        return PlanCost(epsilon=epsilon, delta=delta, admitted=price.admitted, n_releases=len(own))

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
        return price.of(estimator, (X, y, fit_params))

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
        if self.composition.adds_epsilon or not self._filter.fits(sums_of(self, self._partition)):
            return Allowance((asked or left.epsilon) / k * _BELOW, delta / k * _BELOW)
        most = gdp_mu(*left) if left.epsilon and left.delta else 0.0
        mu = min(self.gaussian_mu(epsilon=asked or self.epsilon, delta=delta), most)
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

    @property
    def spent(self) -> Amount:
        """The (ε, δ) of all releases so far, as if their list had been fixed in advance.

        This is for information. The guarantee for adaptively chosen releases is the limit.
        """
        return self._filter.spent_at(sums_of(self))

    @property
    def remaining(self) -> Amount:
        """The largest single release, as (ε, δ), that this handle still admits.

        With ``composition="gdp"`` it is larger than `epsilon` minus the ε spent. On a partition,
        ``budget.at(partition=...).remaining``, it is at least the amount for all partitions.
        """
        part = self._partition
        return min(
            one._filter.left_at(one._ledger.totals(one._account, part), part)
            for one in self._chain()
        )

    def spent_curve(self) -> PrivacyCurve:
        """Return δ(ε) of all releases so far, in the budget's composition.

        Returns
        -------
        PrivacyCurve
            A guarantee at a time that was fixed in advance, and at any time with
            ``composition="pure"`` or ``"basic"``. If the results decide when to stop, the
            guarantee is the limit of the budget. If nested shares were listed in advance, it is the
            limit of the smallest share that contains all releases.
        """
        return self._filter.curve_at(sums_of(self))

    def history(self, *, as_frame: bool = False) -> Any:
        """Return the releases, oldest first.

        Parameters
        ----------
        as_frame : bool
            *Public.* Whether to return a pandas DataFrame.

        Returns
        -------
        list of dict, or DataFrame
            One row per release, with the fields of `Release`.
        """
        rows = [one.as_row() for one in self._ledger.releases() if owns(self._account, one.account)]
        if not as_frame:
            return rows
        import pandas as pd

        return pd.DataFrame(rows, columns=[field.name for field in fields(Release)])

    @property
    def head(self) -> str:
        """The number of releases in the ledger, and a hash of its terms and all releases.

        Keep a head to ask `extends` later whether an earlier release was changed or removed.
        """
        return str(self._ledger.head())

    def extends(self, head: str) -> bool:
        """Return whether the ledger still holds everything that an earlier `head` covers.

        Parameters
        ----------
        head : str
            *Public.* An earlier `head` of this ledger, or of the one that it was imported from.

        Returns
        -------
        bool
            False if a release or the terms were changed or removed.
        """
        self._ledger.verify()
        return self._ledger.has_passed(head)

    def report(
        self,
        format: str = "markdown",
        *,
        audience: str = "public",
        about: Mapping[str, object] | None = None,
        checked: Iterable[object] | None = None,
    ) -> str:
        """Return a report on the ledger, for example for a privacy officer.

        It states what is protected, how much an attacker may gain, every release, and what is not
        protected, or is a record for the public register of deployments of OpenDP. It reads no data
        and spends nothing. See *Privacy budgets: risk targets, costs and reports* in the user
        guide.

        Parameters
        ----------
        format : {"markdown", "json", "register"}, default "markdown"
            *Public.* The format. Markdown escapes strings from users. "register" is JSON.
        audience : {"public", "internal"}, default "public"
            *Public.* "internal" adds tags, names of shares, process numbers and the head. The head
            hashes the other three, so it could confirm guesses of them.
        about : dict or None
            *Public.* Fields of the register that the ledger does not contain, such as "name" and
            "data_curators". The report lists what is missing, and "register" requires some.
        checked : iterable or None
            *Public.* The result of `skdp.pipeline.check_pipeline`.

        Returns
        -------
        str
            The report. All its numbers are functions of the ledger.

        Raises
        ------
        ValueError
            If the format, the audience or a field is unknown, or the register requires a field.
        """
        check_choice("format", format, FORMATS)
        return str(getattr(Report(self, audience, about, checked), format)())

    def to_json(self) -> str:
        """Return the whole ledger as JSON, for `PrivacyBudget.from_json`.

        Returns
        -------
        str
            Format number, terms, shares, releases and head.
        """
        ledger = self._ledger
        entries = ledger.entries()  # before shares(): then no release has an unknown share
        terms, shares = ledger.terms, ledger.shares()
        # An entry is quoted as it is written, because the hashes cover every character.
        data = {
            "format": "skdp ledger",
            "version": FORMAT,
            "terms": terms,
            "shares": [dict(zip(("name", "epsilon", "delta"), row, strict=True)) for row in shares],
            "entries": [{name: getattr(entry, name) for name in QUOTED} for entry in entries],
            "head": str(head_of(terms, entries)),
        }
        return json.dumps(data, indent=1, allow_nan=False)

    def verify(self) -> str:
        """Check every entry of the ledger: hashes, sums, groups, terms.

        Opening checks all entries the first time that a process opens the ledger, and every
        hundredth time, otherwise only those since.

        Returns
        -------
        str
            The `head`.

        Raises
        ------
        BudgetClosedError
            If an entry was changed or removed, or sums do not match; with the number of the first.
        """
        return str(self._ledger.verify())

    def entries(self) -> list[dict[str, Any]]:
        """Return all entries of the ledger, oldest first: releases and adoptions.

        Returns
        -------
        list of dict
            The number, hash, key and time of each entry, who made it (`role`), its `kind`
            ("release", "adoption" or "closing"), and its other fields.
        """
        return [entry.as_row() for entry in self._ledger.entries()]

    def _check(self, request: SpendRequest) -> None:
        """Raise RefusedError unless this handle and its parents admit the release."""
        if not self._filter.admits_next(request.before[self._account], request.release):
            raise RefusedError(self, request)
        if self._parent is not None:
            self._parent._check(request)

    def _check_stated(
        self, guarantee: PrivacyGuarantee, label: str, n: int | None = None, most: int | None = None
    ) -> None:
        """Raise ValueError unless the relation, the unit and the size are those of the budget."""
        if not isinstance(guarantee, PrivacyGuarantee):
            raise ValueError(f"guarantee must be a PrivacyGuarantee, got {guarantee!r}.")
        if guarantee.neighboring != self.neighboring:
            raise ValueError(
                f"{label} has neighboring={str(guarantee.neighboring)!r}, but this budget has "
                f"neighboring={str(self.neighboring)!r}."
            )
        if guarantee.unit != UNIT_OF_FITS[self.unit]:
            raise ValueError(
                f"{label} protects one {guarantee.unit}, but this budget has "
                f"unit={str(self.unit)!r}. A fit protects persons with groups=, otherwise records."
            )
        if n is not None and most is not None and n > most:
            raise ValueError(
                f"{label} reads {n} {self.unit}s, but budget.at(n={most}) states less."
            )

    def _chain(self) -> list[BudgetHandle]:
        """Return this handle and its parents."""
        return [self, *([] if self._parent is None else self._parent._chain())]

    def _copied(self, kind: type[BudgetHandle] | None = None, **changed: object) -> Any:
        """Return a handle on the same ledger."""
        handle = object.__new__(kind or type(self))
        vars(handle).update(vars(self), **changed)
        return handle

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return memo.stand_in(self) if isinstance(memo, StandIns) else self

    def __repr__(self) -> str:
        rule = self._filter
        defaults: dict[str, Any] = {"slack": rule.default_slack(self.delta, rule.strict), "tv": 0.0}
        defaults |= {"strict": False, "exact": False, "unit": str(Unit.RECORD)}
        relation = {"neighboring": str(self.neighboring), "unit": str(self.unit)}
        known = rule.terms | {"epsilon": at_least(self.epsilon)} | relation
        terms = {k: v for k, v in known.items() if k not in defaults or v != defaults[k]}
        share = f".share(name={self._account!r})" if self._account else ""
        place = {"name": self._release_name, "partition": self._partition, "n": self._n}
        given = ", ".join(f"{k}={v!r}" for k, v in place.items() if v is not None)
        at = f".at({given})" if given else ""
        return f"PrivacyBudget({', '.join(f'{k}={v!r}' for k, v in terms.items())}){share}{at}"

    def __str__(self) -> str:
        return _shown(self, html=False)

    def _repr_html_(self) -> str:
        return _shown(self, html=True)


def sums_of(handle: BudgetHandle, part: str | None = None) -> Amounts:
    """Return the sums that decide on a release of a handle."""
    return handle._ledger.totals(handle._account, part).worst(handle._filter.nothing, part)


def _shown(budget: Any, *, html: bool) -> str:
    """Return a bar of the spent part and the amounts, or say that the ledger is closed."""
    name = repr(budget)
    try:
        spent, left, releases = budget.spent, budget.remaining, _releases(budget)
        head = f"; head {budget.head}" if html else ""  # a terminal has no room for it
    except BudgetClosedError:
        return f"{name}: the ledger is closed"
    account = (
        f"spent epsilon={at_least(spent.epsilon, _DIGITS):g} at delta={at_least(spent.delta):g} in "
        f"{releases}; left for one more release: epsilon={at_most(left.epsilon, _DIGITS):g} "
        f"at delta={at_most(left.delta, _DIGITS):g}{head}"
    )
    filled = min(1.0, spent.epsilon / budget.epsilon)
    if not html:
        return f"{name}\n[{'#' * round(_CELLS * filled):.<{_CELLS}}] {account}"
    bar = (
        '<div style="width:20em;height:.8em;border:1px solid #888;background:#eee">'
        f'<div style="width:{100.0 * filled:.4g}%;height:100%;background:#4878a8"></div></div>'
    )
    said = f"<code>{escape(name)}</code>{bar}<small>{escape(account)}</small>"
    return f'<div style="overflow-wrap:anywhere">{said}</div>'  # a head is long


def _releases(budget: Any) -> str:
    """Return the number of releases and their partitions; the ledger does not count shares.

    Both come from sums that the ledger keeps, because it may have many rows.
    """
    scopes = budget._ledger.scopes(budget._account)
    number = budget._ledger.head().number if scopes else 0
    counted = f"{number} release{'s' * (number != 1)}"
    releases = "releases" if scopes and budget._account else counted
    named = len(scopes - {EVERY, PEAK})
    parts = f" on {named} part{'s' * (named > 1)}{' and on all' * (EVERY in scopes)}"
    return releases + (parts if named else "")
