"""A privacy budget that many fits, processes and sessions share."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from skdp._validation import check_choice, check_delta, check_real
from skdp.budget.filters import FILTERS, Amount
from skdp.budget.release import Release
from skdp.budget.store import Ledger
from skdp.exceptions import BudgetClosedError, BudgetExceededError
from skdp.privacy import Neighboring, PrivacyGuarantee

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
    composition : {"gdp", "basic"}
        *Public.* ``"gdp"`` adds Gaussian-DP parameters in squares, which lets many more fits
        through; ``"basic"`` adds ε and δ.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Relation of all fits; a fit under the other one is refused.
    path : path-like or None
        Where the ledger lives. ``None`` makes a temporary one, removed with this object. The files
        beside it whose names go on with ``-wal`` and ``-shm`` belong to it: copy all or none, and
        use it from one machine.

    Raises
    ------
    ValueError
        If a parameter is out of range, or `path` holds a ledger made with other parameters.

    Notes
    -----
    **Guarantee.** Gaussian filter: Koskela, Tobaben and Honkela 2022; basic filter: Rogers, Roth,
    Ullman and Vadhan 2016. Nothing is ever refunded.

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
    ) -> None:
        self.epsilon = check_real("epsilon", epsilon, low=0.0)
        self.delta = check_delta(delta)
        self.composition = check_choice("composition", composition, FILTERS)
        self.neighboring = Neighboring(check_choice("neighboring", neighboring, Neighboring))
        self._filter = FILTERS[composition](self.epsilon, self.delta)
        path = self._temporary_path() if path is None else Path(path).expanduser().resolve()
        self._ledger = Ledger(str(path), self._terms())
        self._ledger.create()

    def spend(self, guarantee: PrivacyGuarantee, *, delta: float, label: str) -> None:
        """Buy one release, before its data are read.

        Parameters
        ----------
        guarantee : PrivacyGuarantee
            What the release will satisfy.
        delta : float
            The δ at which basic composition and the history quote the release.
        label : str
            Who buys it, for the history.

        Raises
        ------
        BudgetExceededError
            If the budget does not admit the release; nothing is written.
        BudgetClosedError
            If the ledger is gone, read-only or damaged.
        ValueError
            If the release is private under another neighbouring relation than the budget.
        """
        if guarantee.neighboring != self.neighboring:
            raise ValueError(
                f"This budget counts releases under neighboring={str(self.neighboring)!r}; "
                f"{label} asks under {str(guarantee.neighboring)!r}. Nothing was read or spent."
            )
        self._ledger.append(Release.of(guarantee, delta, label), self._check)

    @property
    def spent(self) -> Amount:
        """The (ε, δ) that all releases so far satisfy together, had their list been fixed before.

        It is a meter: what is guaranteed, however the releases were chosen, is the ceiling.
        """
        return self._filter.spent(self._ledger.releases())

    @property
    def remaining(self) -> Amount:
        """The dearest single release, as (ε, δ), that the budget would still admit.

        Under ``composition="gdp"`` it is more than `epsilon` minus the ε spent.
        """
        return self._filter.remaining(self._ledger.releases())

    def history(self, *, as_frame: bool = False) -> Any:
        """Return one row a release, oldest first: dictionaries, or a DataFrame."""
        rows = [release.as_row() for release in self._ledger.releases()]
        if not as_frame:
            return rows
        import pandas as pd

        return pd.DataFrame(rows, columns=[field.name for field in fields(Release)])

    def _check(self, releases: Sequence[Release]) -> None:
        if not self._filter.admits(releases):
            raise BudgetExceededError(self._shortfall(releases))

    def _shortfall(self, releases: Sequence[Release]) -> str:
        *earlier, wanted = releases
        left = self._filter.remaining(earlier)
        others = [
            name
            for name, kind in FILTERS.items()
            if self.delta > 0.0 and kind(self.epsilon, self.delta).admits(releases)
        ]
        hint = f" composition={others[0]!r} would have admitted it." if others else ""
        return (
            f"{wanted.label} costs epsilon={wanted.epsilon:.6g} at delta={wanted.delta:g}, but of "
            f"the budget's epsilon={self.epsilon:g}, delta={self.delta:g} only "
            f"epsilon={left.epsilon:.6g} at delta={left.delta:.6g} is left for one more release."
            f"{hint} Nothing was read or spent."
        )

    def _terms(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "composition": self.composition,
            "neighboring": str(self.neighboring),
        }

    def _temporary_path(self) -> Path:
        folder = tempfile.mkdtemp(prefix="skdp-")
        weakref.finalize(self, _remove_in_creator, folder, os.getpid())
        return Path(folder) / "ledger.db"

    def __copy__(self) -> PrivacyBudget:
        return self

    def __deepcopy__(self, memo: Any) -> PrivacyBudget:
        return self

    def __repr__(self) -> str:
        terms = ", ".join(f"{name}={value!r}" for name, value in self._terms().items())
        return f"PrivacyBudget({terms})"

    def __str__(self) -> str:
        try:
            releases = self._ledger.releases()
        except BudgetClosedError:
            return f"{self!r}: the ledger is closed"
        spent, left = self._filter.spent(releases), self._filter.remaining(releases)
        filled = round(20 * min(1.0, spent.epsilon / self.epsilon))
        return (
            f"{self!r}\n"
            f"[{'#' * filled}{'.' * (20 - filled)}] spent epsilon={spent.epsilon:.4g} "
            f"at delta={spent.delta:g} in {len(releases)} releases; "
            f"left for one more release: epsilon={left.epsilon:.4g}"
        )


def _remove_in_creator(folder: str, creator: int) -> None:
    if os.getpid() == creator:
        shutil.rmtree(folder, ignore_errors=True)
