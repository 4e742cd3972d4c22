"""A privacy budget that many fits, processes and sessions share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from json import dumps, loads
from operator import attrgetter
from pathlib import Path
from typing import Any

from skdp._validation import check_choice, check_count, check_delta
from skdp.budget._messages import shortfall
from skdp.budget._repr import as_html, as_text, show
from skdp.budget.filters import Amount, Filter, rule_of
from skdp.budget.ledger import json_export
from skdp.budget.ledger.files import temporary_path
from skdp.budget.ledger.store import Ledger, Purchase
from skdp.budget.plan import PlannedRelease, PlanPrice, price_of_plan
from skdp.budget.release import Release
from skdp.exceptions import BudgetExceededError
from skdp.privacy import Event, Neighboring, PrivacyCurve, PrivacyGuarantee

__all__ = ["PrivacyBudget"]


class PrivacyBudget:
    """A ceiling on what everything learnt from one data set may reveal.

    Pass it as ``budget=`` to any number of estimators. Each fit pays before it reads its data; a
    fit that cannot be paid raises `BudgetExceededError` and leaves the ledger as it was. The
    object is a handle: copies, clones, pickles, threads and worker processes share one ledger.

    Parameters
    ----------
    epsilon, delta : float
        *Public.* Everything admitted is, together, (`epsilon`, `delta`)-DP, even though each fit
        may be chosen after seeing the results of those before.
    composition : {"gdp", "basic", "zcdp", "rdp", "pure"}
        *Public.* ``"gdp"`` adds Gaussian-DP parameters in squares, which lets many more fits
        through; ``"basic"`` adds ε and δ; ``"zcdp"`` adds ρ; ``"rdp"`` adds Rényi divergences;
        ``"pure"``, for ``delta=0``, admits pure releases only.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Relation of all fits; a fit under the other one is refused.
    path : path-like or None
        Where the ledger lives. ``None`` makes a temporary one, removed with this object. The files
        beside it whose names go on with ``-wal`` and ``-shm`` belong to it: copy all or none, and
        use it from one machine.
    slack : float
        *Public.* Under ``"gdp"``, the part of `delta` set aside for releases that no Gaussian
        covers exactly; each of them takes at most 0.01·`delta` of it.
    tv : float
        *Public.* Under ``"gdp"``, the total variation set aside for samplers that are not exact;
        it costs (1 + e^ε)·`tv` of `delta`.

    Raises
    ------
    ValueError
        If a parameter is out of range, or `path` holds a ledger made with other parameters.

    Notes
    -----
    **Guarantee.** Gaussian filter: Koskela, Tobaben and Honkela 2022; basic and pure filters:
    Rogers, Roth, Ullman and Vadhan 2016; zCDP and Rényi filters: Feldman and Zrnic 2021. All
    limits are fixed when the budget is made. Nothing is ever refunded.

    Examples
    --------
    >>> from skdp import DPLogisticRegression, PrivacyBudget
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(random_state=0)
    >>> budget = PrivacyBudget(epsilon=3.0, delta=1e-5)
    >>> _ = DPLogisticRegression(epsilon=1.0, delta=1e-5, budget=budget).fit(X, y)
    >>> round(budget.spent.epsilon, 3), round(budget.remaining.epsilon, 3)
    (1.0, 2.756)
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        composition: str = "gdp",
        neighboring: str = "replace_one",
        path: Any = None,
        slack: float = 0.0,
        tv: float = 0.0,
    ) -> None:
        rule = rule_of(composition, epsilon, delta, slack, tv)
        relation = check_choice("neighboring", neighboring, Neighboring)
        self._open(rule, Neighboring(relation), path)

    def _open(
        self, rule: Filter, neighboring: Neighboring, path: Any, releases: Iterable[Release] = ()
    ) -> None:
        self._parent: PrivacyBudget | None = None
        self._account = ""
        self._filter, self._neighboring = rule, neighboring
        path = temporary_path(self) if path is None else Path(path).expanduser().resolve()
        self._ledger = Ledger(str(path), self._terms() | {"orders": dumps(rule.orders)}, rule.price)
        self._ledger.create(releases)
        self._filter = replace(rule, orders=tuple(loads(self._ledger.terms["orders"])))

    epsilon = property(attrgetter("_filter.epsilon"), doc="The ε of the ceiling. Read-only.")
    delta = property(attrgetter("_filter.delta"), doc="The δ of the ceiling. Read-only.")
    composition = property(attrgetter("_filter.composition"), doc="How it adds up. Read-only.")
    neighboring = property(attrgetter("_neighboring"), doc="The relation of all. Read-only.")

    def spend(
        self,
        guarantee: PrivacyGuarantee,
        *,
        delta: float,
        label: str,
        epsilon: float | None = None,
        tag: str = "",
        part: str | None = None,
    ) -> None:
        """Buy one release, before its data are read.

        Parameters
        ----------
        guarantee : PrivacyGuarantee
            What the release will satisfy.
        delta : float
            The δ at which basic composition and the history quote the release.
        label : str
            Who buys it, for the history.
        epsilon : float or None
            The ε at `delta`, where the caller knows it; it is checked, and saves a search.
        tag : str
            The caller's own note, for the history. *Public.*
        part : str or None
            *Public.* The release reads records of this part only; a record lies in one part, the
            same for all releases, and only parts add up where they overlap with releases on all.
            Which part must not depend on other records, nor, under ``replace_one``, on the
            record's own values: the record that replaces it has to lie in the same part.

        Raises
        ------
        BudgetExceededError
            If the budget does not admit the release; nothing is written.
        BudgetClosedError
            If the ledger is gone, replaced, read-only, full or damaged.
        ValueError
            If the release is private under another neighbouring relation than the budget, or has
            no price under its composition.
        """
        self._check_relation(guarantee, label)
        release = self._priced(guarantee, delta, label, epsilon=epsilon, tag=tag, part=part)
        self._ledger.append(release, self._check)

    def plan(
        self,
        releases: Iterable[PlannedRelease | PrivacyGuarantee | Event],
        *,
        n_folds: int | None = None,
        delta: float | None = None,
    ) -> PlanPrice:
        """Price a fixed list of releases without touching data and without writing.

        Parameters
        ----------
        releases : iterable of Event, PrivacyGuarantee or PlannedRelease
            *Public.* What would be released; a `PlannedRelease` says which fold it leaves out and
            which part it reads.
        n_folds : int or None
            *Public.* The number of folds, where releases leave one out. A record lies in one of
            them, the same throughout the plan.
        delta : float or None
            *Public.* Where to quote; the budget's own by default.

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
        planned = [PlannedRelease.of(release) for release in releases]
        for release in planned:
            if isinstance(release.event, PrivacyGuarantee):
                self._check_relation(release.event, "A planned release")
        delta = self.delta if delta is None else check_delta(delta)
        n_folds = n_folds if n_folds is None else check_count("n_folds", n_folds)
        epsilon = price_of_plan(planned, self.neighboring, delta, n_folds)
        return PlanPrice(epsilon, delta, self._would_admit(planned, delta), len(planned))

    def share(
        self, epsilon: float, delta: float | None = None, *, name: str = "share"
    ) -> PrivacyBudget:
        """Return a handle on the same ledger with a ceiling of its own.

        Parameters
        ----------
        epsilon, delta : float
            *Public.* The ceiling of what is bought through the share, at most the budget's own;
            that is the default of `delta`. Nothing is reserved: each release has to fit into the
            budget as well.
        name : str
            *Public.* The same name and ceiling is the same share, in every process.

        Notes
        -----
        **Guarantee.** The budget's filter counts every share's releases one by one, so all shares
        together keep its (ε, δ); this is never worse than adding the shares' ceilings. The
        ceiling of a share is a guarantee of its own for releases that are not chosen by what
        other shares have released.
        """
        rule = self._filter.share(name, epsilon, self.delta if delta is None else delta)
        share = object.__new__(PrivacyBudget)
        vars(share).update(vars(self), _parent=self, _filter=rule)
        share._account = f"{self._account}/{name}".lstrip("/")
        self._ledger.open_account(share._account, rule.epsilon, rule.delta)
        return share

    @property
    def spent(self) -> Amount:
        """The (ε, δ) that all releases so far satisfy together, had their list been fixed before.

        It is a meter: what is guaranteed, however the releases were chosen, is the ceiling.
        """
        return self._filter.amount(self._totals())

    @property
    def remaining(self) -> Amount:
        """The dearest single release, as (ε, δ), that the budget would still admit.

        Under ``composition="gdp"`` it is more than `epsilon` minus the ε spent.
        """
        return min(budget._filter.left(budget._totals()) for budget in self._chain())

    def spent_curve(self) -> PrivacyCurve:
        """Return δ(ε) of everything bought so far, in the budget's composition.

        This is a meter. As a *guarantee* it holds at a time fixed beforehand; where one stops
        because of what one has seen, what holds is the budget's own (`epsilon`, `delta`), or the
        smallest of a public list of shares, one inside of the other, that the run has kept within.
        Under ``composition="pure"`` and ``"basic"`` it holds at every time.
        """
        return self._filter.curve(self._totals())

    def history(self, *, as_frame: bool = False) -> Any:
        """Return one row a release, oldest first: dictionaries, or a DataFrame."""
        rows = [release.as_row() for release in self._ledger.releases() if self._owns(release)]
        if not as_frame:
            return rows
        import pandas as pd

        return pd.DataFrame(rows, columns=[field.name for field in fields(Release)])

    def to_json(self) -> str:
        """Return the ledger as JSON: terms, shares and every release, with the schema's version."""
        ledger, releases = self._ledger, self._ledger.releases()  # a share is older than its rows
        return json_export.dump(ledger.terms, ledger.accounts(), releases)

    @classmethod
    def from_json(cls, text: str, *, path: Any = None) -> PrivacyBudget:
        """Make a new ledger from `to_json`; the two are not linked, so go on with one of them only.

        Raises
        ------
        ValueError
            If the text is no export, holds more than its own terms admit, or `path` exists.
        """
        export = json_export.load(text)
        budget = object.__new__(cls)
        with json_export.whole_or_absent(path) as draft:
            budget._open(export.rule, export.neighboring, draft, export.releases)
            for share in export.shares:
                budget._ledger.open_account(*share)
            budget._ledger.close()
        if path is not None:
            budget._open(export.rule, export.neighboring, path)
        return budget

    def _priced(
        self, guarantee: PrivacyGuarantee, delta: float, label: str, **more: Any
    ) -> Release:
        delta = check_delta(delta)
        facts = self._filter.facts(guarantee.event, self.neighboring, self._slack_left)
        return Release.of(guarantee, delta, label, account=self._account, **facts | more)

    def _slack_left(self) -> float:
        return min(budget._filter.slack_left(budget._totals()) for budget in self._chain())

    def _check(self, purchase: Purchase) -> None:
        wanted = purchase.release
        for budget in self._chain():
            rule, account = budget._filter, budget._account
            if not rule.fits(purchase.totals[account].worst(rule.nothing)):
                before = self._ledger.totals(account, wanted.part).worst(rule.nothing, wanted.part)
                bought = filter(budget._owns, purchase.bought())
                raise BudgetExceededError(shortfall(rule, account, wanted, before, bought))

    def _would_admit(self, planned: Iterable[PlannedRelease], delta: float) -> bool:
        """Return whether the ledger, release by release, would let all of it pass."""
        bought = self._ledger.releases()
        wanted = [self._as_release(release, delta) for release in planned]
        return all(b._filter.admits([*filter(b._owns, bought), *wanted]) for b in self._chain())

    def _as_release(self, planned: PlannedRelease, delta: float) -> Release:
        guarantee = PrivacyGuarantee(planned.as_event, self.neighboring, "plan")
        return self._priced(guarantee, delta, "plan", part=planned.part)

    def _check_relation(self, guarantee: PrivacyGuarantee, label: str) -> None:
        if not isinstance(guarantee, PrivacyGuarantee):
            raise ValueError(f"A release is a PrivacyGuarantee, got {guarantee!r}.")
        if guarantee.neighboring != self.neighboring:
            raise ValueError(
                f"This budget counts releases under neighboring={str(self.neighboring)!r}; "
                f"{label} asks under {str(guarantee.neighboring)!r}."
            )

    def _totals(self) -> Any:
        return self._ledger.totals(self._account).worst(self._filter.nothing)

    def _chain(self) -> list[PrivacyBudget]:
        return [self, *(self._parent._chain() if self._parent is not None else [])]

    def _owns(self, release: Release) -> bool:
        return f"{release.account}/".startswith(f"{self._account}/") or not self._account

    def _terms(self) -> dict[str, Any]:
        return self._filter.terms | {"neighboring": str(self.neighboring)}

    def __copy__(self) -> PrivacyBudget:
        return self

    def __deepcopy__(self, memo: Any) -> PrivacyBudget:
        return self

    def __repr__(self) -> str:
        terms = ", ".join(f"{name}={value!r}" for name, value in self._terms().items())
        share = f".share({self._account!r})" if self._account else ""
        return f"PrivacyBudget({terms}){share}"

    def __str__(self) -> str:
        return show(self, as_text)

    def _repr_html_(self) -> str:
        return show(self, as_html)
