"""How several numbers are asked together, with noise for one guarantee of them all."""

from skdp.queries.noise import NOISES
from skdp.queries.plan import QueryPlan, plan_queries
from skdp.queries.query import Query

__all__ = ["NOISES", "Query", "QueryPlan", "plan_queries"]
