"""Pipelines of which every step that learns spends from one budget."""

from __future__ import annotations

import math
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

from skdp._private_fit import resolved_delta
from skdp._validation import check_real
from skdp.accounting import gdp_mu
from skdp.budget import PrivacyBudget
from skdp.privacy import GDPEvent, Neighboring

__all__ = ["make_private_pipeline"]

_MARGIN = 1.0 - 1e-9  # no guarantee rests on it: the budget checks what is asked for


def make_private_pipeline(
    *steps: Any,
    epsilon: float = 1.0,
    delta: float | None = None,
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    model_share: float = 0.9,
) -> Pipeline:
    """Return a pipeline whose private steps together spend (ε, δ), with the split chosen.

    Parameters
    ----------
    *steps : estimators
        As in scikit-learn's `make_pipeline`. Each that has a parameter `epsilon` is private: it is
        cloned, and its `epsilon`, `delta`, `neighboring` and `budget` are set. All others must
        learn nothing from the data, as `BoundsScaler` does; one that does is refused.
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit of the whole pipeline may spend.
    delta : float or None, default None
        *Public.* Probability with which the ε bound may fail, well below 1/n. ``None`` takes the
        budget's, or 1e-5 without a budget.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbouring data sets differ in the value of one record (then n is
        public) or in its presence (then it is private).
    budget : PrivacyBudget or None, default None
        *Public.* What every step spends from. ``None`` makes one of just (ε, δ), for one fit.
    model_share : float in (0, 1), default 0.9
        *Public.* Part of the squared Gaussian-DP parameter that goes to the last private step, of
        ε and δ where the budget adds those. The others share the rest evenly.

    Returns
    -------
    sklearn.pipeline.Pipeline
        With clones of the private steps; those that were given are left alone.

    Raises
    ------
    ValueError
        If no step is private, a step learns from the data without privacy, or a parameter is
        wrong.

    Notes
    -----
    **Guarantee.** That of the budget, which every step spends before it reads the data. A step that
    is chosen by what an earlier one released is covered as well, since budgets are adaptive.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> from skdp.pipeline import make_private_pipeline
    >>> from skdp.preprocessing import DPStandardScaler
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(2000, random_state=0)
    >>> model = make_private_pipeline(
    ...     DPStandardScaler(bounds=(-10, 10)), DPLogisticRegression(data_norm=5.0), epsilon=3.0
    ... )
    >>> model = model.fit(X, y)
    >>> round(model[-1].budget.spent.epsilon, 2)
    2.99
    """
    check_real("epsilon", epsilon, low=0.0, high=1e9)
    delta = resolved_delta(delta, budget)
    check_real("model_share", model_share, low=0.0, high=1.0)
    relation = str(Neighboring(neighboring))
    private = [i for i, step in enumerate(steps) if "epsilon" in _parameters(step)]
    if not private:
        raise ValueError("No step has a parameter epsilon: nothing is private.")
    for i, step in enumerate(steps):
        if i not in private:
            _check_learns_nothing(step)
    if budget is None:
        composition = "gdp" if delta else "pure"
        budget = PrivacyBudget(epsilon, delta, composition=composition, neighboring=relation)
    made = list(steps)
    for i, share in zip(private, _shares(len(private), model_share), strict=True):
        part = _part(epsilon, delta, share, budget)
        made[i] = clone(steps[i]).set_params(**part, neighboring=relation, budget=budget)
    return make_pipeline(*made)


def _parameters(step: Any) -> Any:
    return step.get_params(deep=False) if hasattr(step, "get_params") else ()


def _check_learns_nothing(step: Any) -> None:
    if isinstance(step, BaseEstimator) and get_tags(step).requires_fit:
        raise ValueError(
            f"{step!r} learns from the data without privacy. If its parameters make it learn "
            "nothing, as an encoder's public categories do, put it in front of the private "
            "pipeline by scikit-learn's make_pipeline."
        )


def _shares(n: int, model_share: float) -> list[float]:
    if n == 1:
        return [1.0]
    return [(1.0 - model_share) / (n - 1)] * (n - 1) + [model_share]


def _part(epsilon: float, delta: float, share: float, budget: PrivacyBudget) -> dict[str, float]:
    """Return the (ε, δ) of a share: of μ² at the same δ, or of ε and δ.

    What the budget sets aside of δ for releases that no Gaussian covers is not shared out.
    """
    if share == 1.0:
        return {"epsilon": epsilon * _MARGIN, "delta": delta}
    if delta == 0.0 or budget.composition in ("basic", "pure"):
        return {"epsilon": share * epsilon * _MARGIN, "delta": share * delta * _MARGIN}
    shared = delta * (1.0 - budget.slack / budget.delta) * _MARGIN
    mu = gdp_mu(epsilon, shared) * math.sqrt(share) * _MARGIN
    return {"epsilon": GDPEvent(mu).curve(Neighboring.REPLACE_ONE).epsilon(delta), "delta": delta}
