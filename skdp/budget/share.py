"""A share of a privacy budget: a handle on the same ledger with its own limit."""

from __future__ import annotations

from skdp.budget.handle import BudgetHandle
from skdp.support.validation import check_text

__all__ = ["BudgetShare"]


class BudgetShare(BudgetHandle):
    """A handle on the ledger of a budget with its own limit, made by `share`.

    Parameters
    ----------
    parent : PrivacyBudget or BudgetShare
        *Public.* The budget or share that it is a share of.
    epsilon : float
        *Public.* The ε of the share, at most that of `parent`.
    delta : float or None
        *Public.* The δ of the share, at most that of `parent`. ``None``: that of `parent`.
    name : str
        *Public.* Name of the share. Equal names are one share, in every process.

    Raises
    ------
    ValueError
        If the limit is above that of `parent`, the name contains ``/``, or a share of that name has
        another limit.

    Notes
    -----
    **Guarantee.** The budget counts the releases of all shares one by one, so all shares together
    keep its (ε, δ); this is never worse than adding up their limits. The limit of a share is a
    guarantee for releases that are not chosen after seeing the releases of other shares.

    Examples
    --------
    >>> from skdp import PrivacyBudget
    >>> team = PrivacyBudget(epsilon=3.0, delta=1e-5).share(epsilon=1.0, name="team a")
    >>> team.remaining
    Amount(epsilon=1.0, delta=1e-05)
    """

    def __init__(
        self, parent: BudgetHandle, *, epsilon: float, delta: float | None, name: str
    ) -> None:
        self._parent = parent
        self._neighboring, self._unit = parent._neighboring, parent._unit
        self._release_name, self._partition = parent._release_name, parent._partition
        self._n = parent._n
        self._ledger = parent._ledger
        self._filter = parent._filter.share(name, epsilon, delta)
        name = check_text("name", name)
        self._account = f"{parent._account}/{name}".lstrip("/")
        account = self._account, self.epsilon, self.delta
        self._ledger.open_account(account, self._filter.ceilings)

    def share(
        self, *, epsilon: float, delta: float | None = None, name: str = "share"
    ) -> BudgetShare:
        return BudgetShare(self, epsilon=epsilon, delta=delta, name=name)
