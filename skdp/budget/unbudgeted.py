"""The budget of a dry run for estimators without a budget."""

from __future__ import annotations

from typing import Self

from skdp.budget.deltas import DEFAULT_DELTA
from skdp.budget.filters import rule_of
from skdp.budget.handle import BudgetHandle
from skdp.privacy import PrivacyGuarantee

__all__ = ["Unbudgeted"]


class Unbudgeted(BudgetHandle):
    """A handle that admits and remembers all releases; fits end before they read.

    Noise is planned as without a budget.
    """

    is_rehearsal = True
    has_limit = False

    def __init__(self) -> None:
        self._filter = rule_of("basic", 1.0, DEFAULT_DELTA)
        self.promised: list[PrivacyGuarantee] = []

    def share(self, *, epsilon: float, delta: float | None = None, name: str = "share") -> Self:
        return self

    def spend(self, guarantee: PrivacyGuarantee, **terms: object) -> None:
        """Remember a release."""
        self.promised.append(guarantee)
