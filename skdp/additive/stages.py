"""The stages of a fit of an additive model: ranks or densities, pairs, and the fit itself."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from skdp._private_fit import ReleaseParameters
from skdp.additive.densities import plan_with_densities
from skdp.additive.interactions import Residuals
from skdp.additive.monotone import signs_of
from skdp.additive.pairs import PairsOf
from skdp.features import AdditiveFeatures
from skdp.features.auto import unknown_numbers, with_wide_bounds
from skdp.linear_model._base import is_auto
from skdp.linear_model._records import LinearRecords
from skdp.linear_model._sample import LinearPlan
from skdp.linear_model._stages.ranks import PlanFit, map_of, plan_ranked

_FEATURES = (
    *("bounds", "categories", "n_terms", "linear_share", "transformation"),
    *("reference", "interactions", "norm", "missing"),
)


def plan_stages(
    model: BaseEstimator,
    residuals: Residuals,
    plan_fit: PlanFit,
    parameters: ReleaseParameters,
    records: LinearRecords,
) -> LinearPlan:
    """Return the plan of a fit, after the releases that its parameters ask for."""
    if is_auto(model.interactions):
        plan_fit = PairsOf(plan_fit, model._read_fit, residuals).plan
    if columns := unknown_numbers(model.bounds, map_of(records).facts):
        return plan_ranked(parameters, records, plan_fit, columns)
    if signs := signs_of(model.monotonic_cst, records.facts.feature_map):
        return plan_with_densities(parameters, records, tuple(signs), plan_fit)
    return plan_fit(parameters, records)


def features_of(model: BaseEstimator) -> AdditiveFeatures:
    """Return the features of a model's parameters, with wide bounds if they are unknown."""
    given = {name: getattr(model, name) for name in _FEATURES}
    if is_auto(model.interactions):
        given["interactions"] = None  # until pairs are chosen
    return AdditiveFeatures(**with_wide_bounds(given))
