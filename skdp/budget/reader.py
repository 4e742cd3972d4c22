"""What a handle on a ledger tells: its terms, what is spent and left, the history, a report."""

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
from skdp.budget.report import report_data
from skdp.ledger.chain import head_of
from skdp.ledger.release import Release
from skdp.ledger.store import Ledger
from skdp.privacy import Neighboring, PrivacyCurve, Unit
from skdp.support.validation import check_choice, check_partition

__all__ = ["LedgerReader"]


class LedgerReader(ABC):
    """What a budget and its shares say of their ledger; nothing here writes into it."""

    _filter: Filter
    _neighboring: Neighboring
    _unit: Unit
    _ledger: Ledger
    _account: str = ""
    _release_name: str | None = None
    _partition: str | None = None
    _parent: Any = None

    epsilon = property(attrgetter("_filter.epsilon"), doc="The ε of the ceiling. Read-only.")
    delta = property(attrgetter("_filter.delta"), doc="The δ of the ceiling. Read-only.")
    slack = property(attrgetter("_filter.slack"), doc="What of δ is set aside. Read-only.")
    composition = property(attrgetter("_filter.composition"), doc="How it adds up. Read-only.")
    neighboring = property(attrgetter("_neighboring"), doc="The relation of all. Read-only.")
    unit = property(attrgetter("_unit"), doc="The unit of all. Read-only.")

    release_name = property(attrgetter("_release_name"), doc="Given by `at`, or None. Read-only.")
    partition = property(attrgetter("_partition"), doc="Given by `at`, or None. Read-only.")

    @property
    def spent(self) -> Amount:
        """The (ε, δ) that all releases so far satisfy together, had their list been fixed before.

        It is a meter: what is guaranteed, however the releases were chosen, is the ceiling.
        """
        return self._filter.spent_at(self._totals())

    @property
    def remaining(self) -> Amount:
        """The largest single release, as (ε, δ), that this handle still admits.

        It reads the `partition` of the handle, or all of them. Under ``composition="gdp"`` it is
        more than `epsilon` minus the ε spent.
        """
        return self.remaining_in(self._partition)

    def remaining_in(self, partition: str | int | None) -> Amount:
        """Return the largest single release on one partition, as (ε, δ), that is still admissible.

        Parameters
        ----------
        partition : str, int or None
            *Public.* As in `at`; None is all partitions.

        Returns
        -------
        Amount
            At least that of all partitions.
        """
        partition = check_partition(partition)
        return min(
            handle._filter.left_at(handle._ledger.totals(handle._account, partition), partition)
            for handle in self._chain()
        )

    def spent_curve(self) -> PrivacyCurve:
        """Return δ(ε) of everything spent so far, in the budget's composition.

        Returns
        -------
        PrivacyCurve
            A meter. As a *guarantee* it holds at a time fixed beforehand; where one stops because
            of what one has seen, what holds is the budget's own (`epsilon`, `delta`), or the
            smallest of a public list of shares, one inside of the other, that the run has kept
            within. Under ``composition="pure"`` and ``"basic"`` it holds at every time.
        """
        return self._filter.curve_at(self._totals())

    def history(self, *, as_frame: bool = False) -> Any:
        """Return what was released, oldest first.

        Parameters
        ----------
        as_frame : bool
            *Public.* Whether to return a pandas DataFrame.

        Returns
        -------
        list of dict, or DataFrame
            One row a release, with the fields of `Release`.
        """
        rows = [release.as_row() for release in self._ledger.releases() if self._owns(release)]
        if not as_frame:
            return rows
        import pandas as pd

        return pd.DataFrame(rows, columns=[field.name for field in fields(Release)])

    @property
    def head(self) -> str:
        """The number of releases in the ledger, and a hash of its terms and of all of them.

        Each release's hash covers the one before, and the first that of the terms. Who has kept a
        head can ask `extends` later whether anything before it was changed or removed.
        """
        return str(self._ledger.head())

    def extends(self, head: str) -> bool:
        """Return whether the ledger goes on from an earlier `head`, with nothing of it changed.

        Parameters
        ----------
        head : str
            *Public.* What `head` was, of this ledger or of one that was exported to it.

        Returns
        -------
        bool
        """
        releases = self._ledger.releases()
        number = head.partition("-")[0]
        if not number.isdecimal() or int(number) > len(releases):
            return False
        return head == str(head_of(self._ledger.terms, releases[: int(number)]))

    def report(
        self,
        format: str = "markdown",
        *,
        audience: str = "public",
        about: Mapping[str, Any] | None = None,
        checked: Iterable[Any] | None = None,
    ) -> str:
        """Return what the ledger says, for those who have to decide about it.

        What is protected and how much may be learned, with what an attacker gains at the ceiling
        and so far; every release; what is not protected; hazards; fields for a register of
        deployments. Nothing is read from data, and nothing is spent.

        Parameters
        ----------
        format : {"markdown", "html", "json"}, default "markdown"
            *Public.* The same data in each; no text in it is markup.
        audience : {"public", "internal"}, default "public"
            *Public.* Tags, names of shares, process numbers and the head, a hash of all of them, by
            which a guess could be confirmed, are for the second only.
        about : dict or None
            *Public.* Text for the fields "deployment", "curator", "subjects", "use", "period",
            "artifacts" and "contact"; any other one is "not stated".
        checked : iterable or None
            *Public.* What `skdp.pipeline.check_pipeline` has found, if it was asked.

        Returns
        -------
        str
            Every number in it is a function of the ledger.

        Raises
        ------
        ValueError
            If the format, the audience or a field is unknown.
        BudgetClosedError
            If the ledger is gone, replaced or damaged.
        """
        check_choice("format", format, FORMATS)
        releases = self._ledger.releases()
        data = report_data(
            self._filter,
            self._neighboring,
            self._unit,
            owner=self._account,
            outer=None if self._parent is None else self._chain()[-1]._filter,
            releases=filter(self._owns, releases),
            head=str(head_of(self._ledger.terms, releases)),
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
            Terms, shares, every release and the head, with the number of the format.
        """
        ledger, releases = self._ledger, self._ledger.releases()  # a share is older than its rows
        return export_json(ledger.terms, ledger.accounts(), releases)

    def _totals(self, part: str | None = None) -> Any:
        return self._ledger.totals(self._account, part).worst(self._filter.nothing, part)

    def _chain(self) -> list[Any]:
        """Return this handle and all that it is a share of."""
        return [self, *(self._parent._chain() if self._parent is not None else [])]

    def _owns(self, release: Release) -> bool:
        return f"{release.account}/".startswith(f"{self._account}/") or not self._account

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return memo.stand_in(self) if isinstance(memo, StandIns) else self

    def __repr__(self) -> str:
        terms = self._filter.shown_terms | {"neighboring": str(self.neighboring)}
        terms |= {} if self.unit == Unit.RECORD else {"unit": str(self.unit)}
        share = f".share(name={self._account!r})" if self._account else ""
        place = {"name": self._release_name, "partition": self._partition}
        given = ", ".join(f"{k}={v!r}" for k, v in place.items() if v is not None)
        at = f".at({given})" if given else ""
        return f"PrivacyBudget({', '.join(f'{k}={v!r}' for k, v in terms.items())}){share}{at}"

    def __str__(self) -> str:
        return show(self, as_text)

    def _repr_html_(self) -> str:
        return show(self, as_html)
