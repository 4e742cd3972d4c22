"""Displays of a budget in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from skdp.budget.filters import Amount
from skdp.exceptions import BudgetClosedError
from skdp.ledger.totals import EVERY, PEAK
from skdp.support.digits import at_least, at_most

_CELLS, _DIGITS = 20, 4


def show(budget: Any, view: Callable[[str, float, str], str]) -> str:
    """Return a display of a budget, or say that its ledger is closed."""
    try:
        spent = budget.spent
        account = _account(spent, budget.remaining, _releases(budget))
        if view is as_html:  # it has room for the head
            account += f"; head {budget.head}"
    except BudgetClosedError:
        return f"{budget!r}: the ledger is closed"
    filled = min(1.0, spent.epsilon / budget.epsilon)
    return view(repr(budget), filled, account)


def as_text(name: str, filled: float, account: str) -> str:
    """Return a bar of the spent part, and the account."""
    cells = round(_CELLS * filled)
    return f"{name}\n[{'#' * cells}{'.' * (_CELLS - cells)}] {account}"


def as_html(name: str, filled: float, account: str) -> str:
    """Return the same for a notebook, without scripts."""
    bar = (
        '<div style="width:20em;height:.8em;border:1px solid #888;background:#eee">'
        f'<div style="width:{100.0 * filled:.4g}%;height:100%;background:#4878a8"></div></div>'
    )
    account = escape(account)
    style = "overflow-wrap:anywhere"  # a head is long
    return f'<div style="{style}"><code>{escape(name)}</code>{bar}<small>{account}</small></div>'


def _releases(budget: Any) -> str:
    """Return the number of releases and where they were; of a share the ledger has no number.

    The ledger's sums say so, without a look at its rows, of which there may be many.
    """
    scopes = budget._ledger.scopes(budget._account)
    number = budget._ledger.head().number if scopes else 0
    releases = "1 release" if number == 1 else f"{number} releases"
    releases = "releases" if scopes and budget._account else releases
    named = len(scopes - {EVERY, PEAK})
    if not named:
        return releases
    return (
        f"{releases} on {named} part{'s' if named > 1 else ''}{' and on all' * (EVERY in scopes)}"
    )


def _account(spent: Amount, left: Amount, releases: str) -> str:
    return (
        f"spent epsilon={at_least(spent.epsilon, _DIGITS):g} at delta={at_least(spent.delta):g} in "
        f"{releases}; left for one more release: epsilon={at_most(left.epsilon, _DIGITS):g} "
        f"at delta={at_most(left.delta, _DIGITS):g}"
    )
