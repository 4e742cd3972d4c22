"""Privacy budgets: limits on the privacy loss of many releases, kept in a ledger."""

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
