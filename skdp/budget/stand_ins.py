"""Stand-ins of budgets: of the same terms, but written nowhere, for copies that are only tried."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from skdp.budget.blank_ledger import BlankLedger
from skdp.privacy import Unit

__all__ = ["copied", "stand_ins"]

_HERE: ContextVar[dict[tuple[Any, str], Any] | None] = ContextVar("stand-ins", default=None)


@contextmanager
def stand_ins() -> Iterator[dict[tuple[Any, str], Any]]:
    """Let each copy of a budget, however deep in what is copied, be its stand-in inside.

    Of a budget that is copied more than once it is the same. Its unit is a record.
    """
    made: dict[tuple[Any, str], Any] = {}
    token = _HERE.set(made)
    try:
        yield made
    finally:
        _HERE.reset(token)


def copied(budget: Any) -> Any:
    """Return a copy of a budget: itself, for every copy is the same ledger, or its stand-in."""
    made = _HERE.get()
    if made is None or budget is None or isinstance(budget._ledger, BlankLedger):
        return budget
    key = budget._ledger.identity, budget._account
    if key not in made:
        made[key] = _stand_in(budget)
    stand_in = made[key]
    return stand_in.at(name=budget.release_name, partition=budget.partition)


def _stand_in(budget: Any) -> Any:
    parent = copied(budget._parent)
    ledger = BlankLedger(budget._ledger) if parent is None else parent._ledger
    made = object.__new__(type(budget))
    vars(made).update(vars(budget))
    vars(made).update(_ledger=ledger, _parent=parent, _unit=Unit.RECORD, _folder=None)
    vars(made).update(_release_name=None, _partition=None)
    return made
