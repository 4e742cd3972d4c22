"""Privacy budgets and their ledgers: what is spent, and the filters that admit a release."""

from skdp.budget.budget import PrivacyBudget
from skdp.budget.filters import FILTERS, Amount
from skdp.budget.handle import BudgetHandle
from skdp.budget.plan import PlanCost, PlannedRelease
from skdp.budget.share import BudgetShare
from skdp.exceptions import BudgetClosedError, BudgetExceededError
from skdp.ledger.release import Release

__all__ = [
    "FILTERS",
    "Amount",
    "BudgetClosedError",
    "BudgetExceededError",
    "BudgetHandle",
    "BudgetShare",
    "PlanCost",
    "PlannedRelease",
    "PrivacyBudget",
    "Release",
]
