"""The read-only part of a ledger: terms, spent and remaining amounts, history, report."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any, Self

from skdp.budget._report_views import FORMATS
from skdp.budget._repr import as_html, as_text, show
from skdp.budget.dry_run import StandIns
from skdp.budget.filters import Amount, Filter
from skdp.budget.json_export import export_json
from skdp.budget.report import readable, report_data
from skdp.ledger.release import Release
from skdp.ledger.store import Ledger
from skdp.privacy import Neighboring, PrivacyCurve, Unit
from skdp.support.digits import at_least
from skdp.support.validation import check_choice, check_partition

__all__ = ["LedgerReader"]


class LedgerReader(ABC):
    """The read-only part of a budget or a share."""

    _filter: Filter
    _neighboring: Neighboring
    _unit: Unit
    _ledger: Ledger
    _account: str = ""
    _release_name: str | None = None
    _partition: str | None = None
    _n: int | None = None
    _parent: Any = None

    epsilon = property(attrgetter("_filter.epsilon"), doc="The ε of the limit. Read-only.")
    delta = property(attrgetter("_filter.delta"), doc="The δ of the limit. Read-only.")
    slack = property(attrgetter("_filter.slack"), doc="The reserved part of δ. Read-only.")
    composition = property(attrgetter("_filter.composition"), doc="What adds up. Read-only.")
    neighboring = property(attrgetter("_neighboring"), doc="Relation of all releases. Read-only.")
    unit = property(attrgetter("_unit"), doc="Unit of all releases. Read-only.")

    release_name = property(attrgetter("_release_name"), doc="Set by `at`, or None. Read-only.")
    partition = property(attrgetter("_partition"), doc="Set by `at`, or None. Read-only.")

    @property
    def spent(self) -> Amount:
        """The (ε, δ) of all releases so far, as if their list had been fixed in advance.

        This is for information. The guarantee for adaptively chosen releases is the limit.
        """
        return self._filter.spent_at(self._totals())

    @property
    def remaining(self) -> Amount:
        """The largest single release, as (ε, δ), that this handle still admits.

        With ``composition="gdp"`` it is larger than `epsilon` minus the ε spent.
        """
        return self.remaining_in(self._partition)

    def remaining_in(self, partition: str | int | None) -> Amount:
        """Return the largest single release, as (ε, δ), that is still admitted on a partition.

        Parameters
        ----------
        partition : str, int or None
            *Public.* As in `at`. ``None``: all partitions.

        Returns
        -------
        Amount
            At least the amount for all partitions.
        """
        partition = check_partition(partition)
        return min(
            handle._filter.left_at(handle._ledger.totals(handle._account, partition), partition)
            for handle in self._chain()
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
        return self._filter.curve_at(self._totals())

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
        rows = [release.as_row() for release in self._ledger.releases() if self._owns(release)]
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

        It states what is protected, how much an attacker may gain, every release, what is not
        protected, hazards, and fields for a register of deployments. It reads no data and spends
        nothing. See *Privacy budgets: risk targets, costs and reports* in the user guide.

        Parameters
        ----------
        format : {"markdown", "html", "json"}, default "markdown"
            *Public.* The format. Strings from users are escaped.
        audience : {"public", "internal"}, default "public"
            *Public.* "internal" adds tags, names of shares, process numbers and the head. The head
            hashes the other three, so it could confirm guesses of them.
        about : dict or None
            *Public.* Text for the fields "deployment", "curator", "subjects", "use", "period",
            "artifacts" and "contact". A missing one is "not stated".
        checked : iterable or None
            *Public.* The result of `skdp.pipeline.check_pipeline`.

        Returns
        -------
        str
            The report. All its numbers are functions of the ledger.

        Raises
        ------
        ValueError
            If the format, the audience or a field is unknown.
        BudgetClosedError
            If the ledger is gone, replaced or damaged.
        """
        check_choice("format", format, FORMATS)
        notices = [one.first for one in self._ledger.groups(of_releases=False)]
        groups = readable(self._ledger.groups(of_releases=True), notices)
        data = report_data(
            self._filter,
            self._neighboring,
            self._unit,
            owner=self._account,
            outer=None if self._parent is None else self._chain()[-1]._filter,
            groups=[one for one in groups if self._owns(one.release)],
            totals=self._ledger.totals(self._account),
            notices=notices,
            head=self.head,
            audience=audience,
            about=about,
            checked=checked,
        )
        return FORMATS[format](data)

    def to_json(self) -> str:
        """Return the whole ledger as JSON, for `PrivacyBudget.from_json`.

        Returns
        -------
        str
            Format number, terms, shares, releases and head.
        """
        ledger = self._ledger
        entries = ledger.entries()  # before accounts(): then no release has an unknown share
        return export_json(ledger.terms, ledger.accounts(), entries)

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
        """Return all entries of the ledger, oldest first: releases, adoptions, quarantines.

        Returns
        -------
        list of dict
            The number, hash, key and time of each entry, who made it (`role`), its `kind`
            ("release", "adoption", "quarantine" or "closing"), and its other fields.
        """
        return [entry.as_row() for entry in self._ledger.entries()]

    def _totals(self, part: str | None = None) -> Any:
        return self._ledger.totals(self._account, part).worst(self._filter.nothing, part)

    def _chain(self) -> list[Any]:
        """Return this handle and its parents."""
        return [self, *(self._parent._chain() if self._parent is not None else [])]

    def _owns(self, release: Release) -> bool:
        return f"{release.account}/".startswith(f"{self._account}/") or not self._account

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return memo.stand_in(self) if isinstance(memo, StandIns) else self

    def __repr__(self) -> str:
        terms = self._filter.shown_terms | {"epsilon": at_least(self.epsilon)}
        terms |= {"neighboring": str(self.neighboring)}
        terms |= {} if self.unit == Unit.RECORD else {"unit": str(self.unit)}
        share = f".share(name={self._account!r})" if self._account else ""
        place = {"name": self._release_name, "partition": self._partition, "n": self._n}
        given = ", ".join(f"{k}={v!r}" for k, v in place.items() if v is not None)
        at = f".at({given})" if given else ""
        return f"PrivacyBudget({', '.join(f'{k}={v!r}' for k, v in terms.items())}){share}{at}"

    def __str__(self) -> str:
        return show(self, as_text)

    def _repr_html_(self) -> str:
        return show(self, as_html)
