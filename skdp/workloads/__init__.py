"""How several numbers are asked together, with noise for one guarantee of them all."""

from skdp.workloads.noise import NOISES
from skdp.workloads.plan import QueryPlan, plan_queries
from skdp.workloads.query import Query

__all__ = ["NOISES", "Query", "QueryPlan", "plan_queries"]
