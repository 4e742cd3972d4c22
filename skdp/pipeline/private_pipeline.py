"""Pipelines of which every step that learns spends from one budget."""

from __future__ import annotations

import math
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from skdp._private_fit import PrivateFit, resolved_delta
from skdp.budget import Amount, BudgetHandle, PrivacyBudget
from skdp.budget.dry_run import DryRun, StandIns
from skdp.budget.filters.base import largest_gaussian
from skdp.exceptions import PrivacyLeakError
from skdp.pipeline._payers import payers
from skdp.pipeline._rehearsal import rehearsing
from skdp.pipeline.check_pipeline import check_pipeline
from skdp.privacy import GDPEvent, Neighboring, Unit
from skdp.support.public_words import public_words
from skdp.support.rounding import ROOT, down
from skdp.support.validation import check_real

__all__ = ["PrivatePipeline", "make_private_pipeline"]

_MARGIN = down(1.0, ROOT)  # no guarantee rests on it: the budget checks what is asked for


def _ends_with_a_transform(pipeline: Pipeline) -> bool:
    last = pipeline.steps[-1][1]
    return last in (None, "passthrough") or hasattr(last, "transform")


class PrivatePipeline(Pipeline):
    """scikit-learn's pipeline, which spends nothing where one of its steps would be refused.

    Before the first step of several that spend is fitted, copies of all steps rehearse the fit: in
    each the parameters, columns, labels and weights are checked, its release is planned, and the
    budget is asked whether it would admit it after those before. As what a step releases is not
    known then, those behind it see rows transformed by a fit to synthetic rows that fill the public
    bounds. All other steps are fitted twice. `make_private_pipeline` makes it.

    Parameters
    ----------
    steps : list of (name, estimator)
        *Public.* As in scikit-learn's `Pipeline`, which this is otherwise.
    transform_input : list of str or None, default None
        *Public.* As there.
    memory : str, object or None, default None
        *Public.* As there. What is cached is as private as its step.
    verbose : bool, default False
        *Public.* As there.

    Notes
    -----
    **Guarantee.** That of the budget; a rehearsal releases whether the fit is refused, as a fit
    does. What another process spends from the budget in the meantime is not foreseen.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> from skdp.pipeline import make_private_pipeline
    >>> from skdp.preprocessing import DPStandardScaler
    >>> scaler, model = DPStandardScaler(bounds=(0, 1)), DPLogisticRegression()
    >>> pipeline = make_private_pipeline(scaler, model, epsilon=1.0)
    >>> pipeline.fit([[0.2], [0.3]], [0, None])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: y has missing values ... Nothing was spent.
    >>> pipeline[0].budget.history()
    []
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> PrivatePipeline:
        """Fit all steps, after a rehearsal that spends nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* What the first step takes.
        y : array-like of shape (n_samples,)
            *Private.* What the last step takes.
        **params : dict
            *Private.* What goes to the steps, such as weights, as in scikit-learn's `Pipeline`.
            ``groups``, whose each row is, goes to every step that spends; with metadata routing to
            those that request it.

        Returns
        -------
        self : PrivatePipeline
            With fitted steps.

        Raises
        ------
        ValueError
            If a step would be refused.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit all steps.
        """
        params = self._with_groups(params)
        with public_words():  # of steps that are not skdp's
            self._rehearse(X, y, params)
            return super().fit(X, y, **params)

    @available_if(_ends_with_a_transform)
    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit all steps, after a rehearsal that spends nothing, and return what becomes of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* What the first step takes.
        y : array-like of shape (n_samples,) or None
            *Private.* What the steps take.
        **params : dict
            *Private.* What goes to the steps, as in `fit`.

        Returns
        -------
        array-like of shape (n_samples, n_outputs)
            The rows, as private as X.
        """
        params = self._with_groups(params)
        with public_words():  # of steps that are not skdp's
            self._rehearse(X, y, params)
            return super().fit_transform(X, y, **params)

    def _with_groups(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return what goes to the steps, with groups for each that spends, unless it is routed."""
        groups = params.get("groups")
        if groups is not None and get_config()["enable_metadata_routing"]:
            return params
        rest = {name: value for name, value in params.items() if name != "groups"}
        if groups is None:
            return rest
        spending = {name: step for name, step in self.steps if _spends(step)}
        for step in spending.values():
            if not has_fit_parameter(step, "groups"):
                raise ValueError(
                    f"{type(step).__name__} takes no groups, and would not protect all rows of a "
                    "person together."
                )
        return {f"{name}__groups": groups for name in spending} | rest

    def _rehearse(self, X: Any, y: Any, params: dict[str, Any]) -> None:
        """Fit copies that end before they read, up to a spending step of another library."""
        steps = [step for _, step in self.steps]
        private = [step for step in steps if isinstance(step, PrivateFit)]
        _check_one_partition(private)
        if len(private) < 2 or any(map(_is_dry, private)):
            return  # one transaction spends nothing where it is refused, and a dry run never does
        foreign = [_spends(step) and not isinstance(step, PrivateFit) for step in steps]
        known = foreign.index(True) if any(foreign) else len(steps)
        budgets = StandIns()
        copies = [
            (name, rehearsing(step, budgets) if i < known else "passthrough")
            for i, (name, step) in enumerate(self.steps)
        ]
        Pipeline(copies, transform_input=self.transform_input).fit(X, y, **params)


def _check_one_partition(steps: list[PrivateFit]) -> None:
    """Raise ValueError for different partitions, whose releases would not add up."""
    named: set[str] = {step.budget.partition for step in steps if step.budget is not None} - {None}
    if len(named) > 1:
        raise ValueError(
            f"The budgets of the steps name different partitions: {sorted(named)}. All steps read "
            "the same records, so give all of them the same partition."
        )


def _is_dry(step: PrivateFit) -> bool:
    return isinstance(getattr(step.budget, "_ledger", None), DryRun)


def make_private_pipeline(
    *steps: Any,
    epsilon: float = 1.0,
    delta: float | None = None,
    neighboring: str = "replace_one",
    unit: str | None = None,
    budget: PrivacyBudget | None = None,
    model_share: float = 0.9,
) -> PrivatePipeline:
    """Return a pipeline whose private steps together spend (ε, δ), with the split chosen.

    Parameters
    ----------
    *steps : estimators
        As in scikit-learn's `make_pipeline`. Each that has a parameter `epsilon` is private: it is
        cloned, and its `epsilon`, `delta`, `neighboring` and `budget` are set. All others must
        learn nothing from the data, as `BoundsScaler` does, or a ColumnTransformer of encoders
        with public categories; one of which `check_pipeline` says anything is refused.
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit of the whole pipeline may spend.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails. ``None``: the budget's δ, or 1e-5.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record or in its presence.
    unit : {"record", "person"} or None, default None
        *Public.* Whose contribution the budget covers as a whole: that of one record, or of all
        rows of a person where `fit` is given ``groups=``. ``None`` takes the budget's, or
        ``"record"`` without a budget.
    budget : PrivacyBudget or None, default None
        *Public.* What every step spends from. ``None`` makes one of just (ε, δ), for one fit, with
        composition ``"gdp"`` where all steps are Gaussian DP, else ``"basic"``.
    model_share : float in (0, 1), default 0.9
        *Public.* Part of the squared Gaussian-DP parameter that goes to the last private step, of
        ε and δ where the budget adds those. The others share the rest evenly.

    Returns
    -------
    PrivatePipeline
        With clones of the private steps; those that were given are left alone.

    Raises
    ------
    ValueError
        If no step is private, a step learns from the data without privacy, has a budget of its own
        or parts that spend, a parameter is wrong, or the budget might admit some of the steps and
        then refuse another.

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
    private = [i for i, step in enumerate(steps) if _spends(step)]
    if not private:
        raise ValueError("No step has a parameter epsilon: nothing is private.")
    for i, step in enumerate(steps):
        if i not in private:
            _check_learns_nothing(step)
        elif getattr(step, "budget", None) not in (None, budget):
            raise ValueError(
                f"{type(step).__name__} has a budget that would not be spent from: give it as "
                "budget= of make_private_pipeline, for all steps."
            )
    gaussian = len(private) == 1 or all(_is_gaussian(steps[i]) for i in private)
    if budget is None:
        composition = ("gdp" if gaussian else "basic") if delta else "pure"
        budget = PrivacyBudget(
            epsilon=epsilon,
            delta=delta,
            composition=composition,
            neighboring=relation,
            unit=Unit.RECORD if unit is None else unit,
        )
    elif unit not in (None, budget.unit):
        raise ValueError(f"unit={unit!r} is not that of the budget, {str(budget.unit)!r}.")
    made = list(steps)
    parts = _parts(epsilon, delta, _shares(len(private), model_share), budget, gaussian)
    for i, part in zip(private, parts, strict=True):
        given = {"epsilon": part.epsilon, "delta": part.delta}
        made[i] = clone(steps[i]).set_params(**given, neighboring=relation, budget=budget)
    return PrivatePipeline(make_pipeline(*made).steps)


def _spends(step: Any) -> bool:
    return hasattr(step, "get_params") and "epsilon" in step.get_params(deep=False)


def _check_learns_nothing(step: Any) -> None:
    """Raise if a step that does not spend is known to leak, or nothing is known of it."""
    if not isinstance(step, BaseEstimator):
        return
    leaks = check_pipeline(step)
    if leaks:
        raise PrivacyLeakError(f"{step!r} is no step in front of a private model. {leaks}")
    if payers(step):
        raise ValueError(
            f"{type(step).__name__} has parts that would spend beside the budget of the pipeline: "
            "each that spends must be a step of its own."
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
    if budget.composition.adds_epsilon:
        parts, left = [Amount(*_times(s, epsilon, delta)) for s in shares], budget.remaining
        admitted = epsilon * _MARGIN <= left.epsilon and delta * _MARGIN <= left.delta
    else:
        _check_gaussian(delta, budget, gaussian)
        mu = budget.gaussian_mu(epsilon=epsilon, delta=delta) * _MARGIN
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
            "refuse the last one after the others were spent. Give a budget with "
            "composition='basic', or none; or take steps that are Gaussian DP, with delta > 0, "
            "noise='auto' and a solver such as the default one."
        )
