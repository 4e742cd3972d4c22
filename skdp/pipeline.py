"""Pipelines of which every step that learns spends from one budget."""

from __future__ import annotations

import math
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

from skdp._private_fit import PrivateFit, resolved_delta
from skdp._validation import check_real
from skdp.accounting import gdp_mu
from skdp.budget import Amount, BudgetHandle, PrivacyBudget
from skdp.budget.filters import rule_of
from skdp.budget.filters.base import largest_gaussian
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
        *Public.* What every step spends from. ``None`` makes one of just (ε, δ), for one fit, with
        composition ``"gdp"`` where all steps are Gaussian DP, else ``"basic"``.
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
        If no step is private, a step learns from the data without privacy, a parameter is wrong,
        or the budget might admit some of the steps and then refuse another.

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
    gaussian = len(private) == 1 or all(_is_gaussian(steps[i]) for i in private)
    if budget is None:
        composition = ("gdp" if gaussian else "basic") if delta else "pure"
        budget = PrivacyBudget(epsilon, delta, composition=composition, neighboring=relation)
    made = list(steps)
    parts = _parts(epsilon, delta, _shares(len(private), model_share), budget, gaussian)
    for i, part in zip(private, parts, strict=True):
        given = {"epsilon": part.epsilon, "delta": part.delta}
        made[i] = clone(steps[i]).set_params(**given, neighboring=relation, budget=budget)
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


def _is_gaussian(step: Any) -> bool:
    return isinstance(step, PrivateFit) and step._is_gaussian()


def _parts(
    epsilon: float, delta: float, shares: list[float], budget: BudgetHandle, gaussian: bool
) -> list[Amount]:
    """Return the (ε, δ) of each share: of ε and δ, or of μ² at the same δ.

    The budget admits all of them together, for releases that are as `gaussian` says.
    """
    if len(shares) == 1:
        return [Amount(epsilon * _MARGIN, delta)]
    if budget.composition in ("basic", "pure"):
        parts, left = [Amount(*_times(s, epsilon, delta)) for s in shares], budget.remaining
        admitted = epsilon * _MARGIN <= left.epsilon and delta * _MARGIN <= left.delta
    else:
        _check_gaussian(delta, budget, gaussian)
        mu = _gaussian_of(epsilon, delta, budget) * _MARGIN
        mus = [mu * math.sqrt(share) for share in shares]
        parts = [largest_gaussian(one, delta) if one else Amount(0.0, delta) for one in mus]
        admitted = budget.plan(map(GDPEvent, mus)).admitted
    if min(part.epsilon for part in parts) == 0.0:
        raise ValueError(f"epsilon={epsilon:g} is too little to be shared by {len(parts)} steps.")
    if not admitted:
        raise ValueError(f"The budget has less left than the steps ask for: {budget.remaining}.")
    return parts


def _times(share: float, epsilon: float, delta: float) -> tuple[float, float]:
    return share * epsilon * _MARGIN, share * delta * _MARGIN


def _check_gaussian(delta: float, budget: BudgetHandle, gaussian: bool) -> None:
    if delta == 0.0 or not gaussian:
        raise ValueError(
            f"composition={budget.composition!r} may count a step at more than it asks for, and so "
            "refuse the last one after the others were paid. Give a budget with "
            "composition='basic', or none; or take steps that are Gaussian DP, with delta > 0, "
            "noise='auto' and a solver such as the default one."
        )


def _gaussian_of(epsilon: float, delta: float, budget: BudgetHandle) -> float:
    """Return the μ of the Gaussian releases that (ε, δ) admits, counted as the budget counts.

    What the budget sets aside of δ for releases that no Gaussian covers is not shared out.
    """
    of_delta = delta / budget.delta
    reserves = {name: of_delta * budget._filter.terms[name] for name in ("slack", "tv")}
    rule = rule_of(budget.composition, epsilon, delta, **reserves)
    largest = rule.left(rule.nothing[: len(rule.limits)])
    return gdp_mu(*largest) if largest.epsilon else 0.0
