"""An existing ledger, by its own terms."""

from __future__ import annotations

from json import loads
from typing import Any

from skdp.budget.filters import Filter, rule_of
from skdp.exceptions import BudgetClosedError
from skdp.ledger.store import Ledger
from skdp.privacy import Neighboring, Unit

__all__ = ["ledger_at", "rule_in", "terms_at"]


def rule_in(terms: dict[str, Any]) -> Filter:
    """Return the filter of the terms that a ledger stores."""
    more = {name: value for name, value in terms.items() if name not in ("neighboring", "unit")}
    return rule_of(**more | {"orders": tuple(loads(terms["orders"]))})


def ledger_at(path: str) -> Ledger:
    """Return the ledger at a path with its own terms and rules, unchecked."""
    ledger = Ledger(path, {})
    terms: dict[str, Any] = ledger.known_terms()
    try:
        Neighboring(terms["neighboring"]), Unit(terms["unit"])
        return Ledger(path, terms, rule_in(terms))
    except (ValueError, TypeError) as error:
        raise BudgetClosedError(
            f"The ledger {path} cannot be used: its terms cannot be read."
        ) from error


def terms_at(path: str) -> dict[str, Any]:
    """Return the arguments of `PrivacyBudget` for the ledger at a path."""
    ledger = ledger_at(path)
    relation = {name: ledger.terms[name] for name in ("neighboring", "unit")}
    return rule_in(ledger.terms).terms | relation
