"""Privacy budgets: limits on the privacy loss of many releases, kept in a ledger."""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.budget.budget import PrivacyBudget as PrivacyBudget
    from skdp.budget.dry_run import PlannedRelease as PlannedRelease
    from skdp.budget.filters import FILTERS as FILTERS
    from skdp.budget.filters import Amount as Amount
    from skdp.budget.handle import BudgetHandle as BudgetHandle
    from skdp.ledger.release import Release as Release
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.budget.budget": ["PrivacyBudget"],
            "skdp.budget.filters": ["FILTERS", "Amount"],
            "skdp.budget.dry_run": ["PlannedRelease"],
            "skdp.budget.handle": ["BudgetHandle"],
            "skdp.ledger.release": ["Release"],
        },
    )
