"""Several queries under one guarantee: their sensitivities, and noise chosen for them jointly."""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.workloads.plan import NOISES as NOISES
    from skdp.workloads.plan import Query as Query
    from skdp.workloads.plan import QueryPlan as QueryPlan
    from skdp.workloads.plan import plan_queries as plan_queries
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.workloads.plan": ["NOISES", "Query", "QueryPlan", "plan_queries"],
        },
    )
