"""Several queries under one guarantee: their sensitivities, and noise chosen for them jointly."""

from skdp.workloads.plan import NOISES, Noise, Query, QueryPlan, plan_queries

__all__ = ["NOISES", "Noise", "Query", "QueryPlan", "plan_queries"]
