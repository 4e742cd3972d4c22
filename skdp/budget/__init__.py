"""Who has spent what: budgets, their ledgers, and the rules that admit a release."""

from skdp.budget.budget import PrivacyBudget
from skdp.budget.filters import FILTERS, Amount
from skdp.budget.plan import PlannedRelease, PlanPrice
from skdp.budget.release import Release
from skdp.exceptions import BudgetClosedError, BudgetExceededError

__all__ = [
    "FILTERS",
    "Amount",
    "BudgetClosedError",
    "BudgetExceededError",
    "PlanPrice",
    "PlannedRelease",
    "PrivacyBudget",
    "Release",
]
