"""A pipeline whose private steps spend from one budget."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.metadata_routing import MetadataRequest, MetadataRouter
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from skdp._private_fit import PrivateFit, resolved_delta, together
from skdp.budget import Amount, BudgetHandle, PrivacyBudget
from skdp.budget.budget import Unbudgeted
from skdp.budget.dry_run import DryRun, StandIns
from skdp.budget.filters import largest_gaussian
from skdp.data.schema import groups_of, schemas_in
from skdp.data.validation import encoding_for
from skdp.exceptions import PrivacyLeakError
from skdp.pipeline._known_estimators import fitted_leaves, is_part, is_private, leaves, ledgers_of
from skdp.pipeline.check_pipeline import refused_leaks
from skdp.privacy import GDPEvent, Neighboring, PrivacyGuarantee, Unit
from skdp.support.other_libraries import check_callbacks, check_no_fit_is_replaced, public_words
from skdp.support.safe_numbers import ROOT, down
from skdp.support.types import MatrixLike, VectorLike
from skdp.support.validation import check_real

_ROWS = 1000  # synthetic rows
_EPSILON = 1e3  # nats for a fit to them, so that its noise is negligible
_FAR = 1e100  # the largest accepted bounds; fits clip synthetic values to their own
_FRAMES = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table"))


def rehearsing(step: BaseEstimator, budgets: StandIns, free: Unbudgeted) -> BaseEstimator:
    """Return a copy of a step that ends before it reads; without a budget it spends from `free`."""
    if not hasattr(step, "get_params"):
        return step
    copy = clone(step)
    if not isinstance(step, PrivateFit):
        private = [path for path, leaf in leaves(step) if isinstance(leaf, PrivateFit)]
        places = step.get_params()
        given = {path: rehearsing(places[path], budgets, free) for path in private if path}
        sequential = {"n_jobs": None} if given and "n_jobs" in places else {}
        return copy.set_params(**given, **sequential)
    vars(copy).pop("_skl_callbacks", None)  # a fit to synthetic rows is no news
    if step.budget is None:  # a seed is allowed then, but does not change the plan
        copy.set_params(budget=free, random_state=None)
    elif isinstance(step.budget, BudgetHandle):  # for other values the fit raises the error
        copy.set_params(budget=budgets.stand_in(step.budget))
    return _Rehearsed(copy) if hasattr(copy, "transform") else copy


class _Rehearsed(TransformerMixin, BaseEstimator):
    """A transformer whose fit is a dry run; it transforms by a fit to synthetic rows.

    The synthetic rows lie at both ends of the public bounds, so the fit to them is as wide as any
    possible release.
    """

    def __init__(self, step: BaseEstimator) -> None:
        self.step = step

    def fit(self, X: MatrixLike, y: VectorLike = None, **params: object) -> Self:
        self.step.fit(X, y, **params)
        self._has_groups = params.get("groups") is not None
        return self

    def transform(self, X: MatrixLike) -> MatrixLike:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            person = {"groups": np.arange(_ROWS)} if self._has_groups else {}
            self.step.set_params(budget=None, epsilon=_EPSILON).fit(_synthetic(self.step), **person)
        return self.step.transform(X)

    def get_metadata_routing(self) -> MetadataRouter | MetadataRequest:
        return self.step.get_metadata_routing()


def _synthetic(step: BaseEstimator) -> MatrixLike:
    """Return rows with the columns that the step checked."""
    rows = np.full((_ROWS, step.n_features_in_), _FAR)
    rows[::2] *= -1.0
    names = getattr(step, "feature_names_in_", None)
    if names is None:
        return rows
    columns = dict(zip(names, rows.T, strict=True))
    if (encoding := encoding_for(step)) is not None:
        columns = encoding.widest(_ROWS)
    library, make = next(frame for frame in _FRAMES if frame[0] in sys.modules)
    return getattr(sys.modules[library], make)(columns)


_MARGIN = down(1.0, ROOT)  # no guarantee rests on it: the budget checks each release


def _ends_with_a_transform(pipeline: Pipeline) -> bool:
    last = pipeline.steps[-1][1]
    return last in (None, "passthrough") or hasattr(last, "transform")


class PrivatePipeline(Pipeline):
    """scikit-learn's pipeline, with a dry run of all steps before the first one spends.

    If two or more steps spend, `fit` first rehearses with copies: it checks parameters, columns,
    labels and weights, plans each release, and checks that the budget admits all of them. Steps
    after a private transformer are checked with rows transformed by a fit to synthetic rows. Steps
    that do not spend are fitted twice. Use `make_private_pipeline` to split one budget.

    Parameters
    ----------
    steps : list of (name, estimator)
        *Public.* As in scikit-learn's `Pipeline`.
    transform_input : list of str or None
        *Public.* As in scikit-learn's `Pipeline`.
    memory : str, object or None
        *Public.* As in scikit-learn's `Pipeline`. The files contain private rows.
    verbose : bool, default False
        *Public.* As in scikit-learn's `Pipeline`.

    Attributes
    ----------
    privacy_ : PrivacyGuarantee
        *Public.* The joint guarantee of all steps that spend, if all of them are of skdp.

    Notes
    -----
    **Guarantee.** That of the budget. A rehearsal reveals whether the fit raises an error, as a fit
    does. It cannot predict what other processes spend in the meantime.

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

    def fit(self, X: MatrixLike, y: VectorLike = None, **params: object) -> Self:
        """Fit all steps, after a rehearsal that spends nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Input of the first step.
        y : array-like of shape (n_samples,) or None
            *Private.* Targets.
        **params : dict
            *Private.* Parameters of the steps, such as weights, as in scikit-learn's `Pipeline`.
            ``groups``, the person of each row, goes to every step that spends; with metadata
            routing, to the steps that request it. So do the IDs of a schema in a step.

        Returns
        -------
        self
            The fitted pipeline.

        Raises
        ------
        ValueError
            If a step would raise an error.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit all steps.
        """
        params = self._with_groups(X, params)
        with public_words():  # errors of steps that are not skdp's may show values
            self._rehearse(X, y, params)
            return super().fit(X, y, **params)

    @available_if(_ends_with_a_transform)
    def fit_transform(self, X: MatrixLike, y: VectorLike = None, **params: object) -> MatrixLike:
        """Fit all steps, after a rehearsal that spends nothing, and transform X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Input of the first step.
        y : array-like of shape (n_samples,) or None
            *Private.* Targets.
        **params : dict
            *Private.* Parameters of the steps, as in `fit`.

        Returns
        -------
        array-like of shape (n_samples, n_outputs)
            The transformed rows, as private as X.
        """
        params = self._with_groups(X, params)
        with public_words():  # errors of steps that are not skdp's may show values
            self._rehearse(X, y, params)
            return super().fit_transform(X, y, **params)

    @property
    def privacy_(self) -> PrivacyGuarantee:
        """The joint guarantee of the steps, see *Attributes*."""
        found = [leaf.privacy_ for leaf in fitted_leaves(Pipeline(self.steps)) if is_private(leaf)]
        _check_one_unit(found)
        theorems = dict.fromkeys(one.theorem for one in found)  # without repetitions
        return replace(reduce(together, found), theorem="; ".join(theorems))

    def to_sklearn(self) -> Pipeline:
        """Return the fitted pipeline with scikit-learn's own objects only.

        See `to_sklearn` of the linear models.

        Returns
        -------
        Pipeline
            *Released.* It costs no privacy.

        Raises
        ------
        ValueError
            If a step has no counterpart in scikit-learn.
        """
        return Pipeline([(name, _plain(step)) for name, step in self.steps])

    def _with_groups(self, X: MatrixLike, params: dict[str, object]) -> dict[str, object]:
        """Pass groups to each step that spends, or to scikit-learn if it routes them."""
        spending = {name: step for name, step in self.steps if _spending(step)}
        rest = {name: value for name, value in params.items() if name != "groups"}
        if spending and all(rest.get(f"{name}__groups") is not None for name in spending):
            return rest
        groups = groups_of(schemas_in(self.get_params().values()), X, params.get("groups"))
        if groups is None:
            return rest
        if get_config()["enable_metadata_routing"]:
            return rest | {"groups": groups}
        for step in spending.values():
            if not has_fit_parameter(step, "groups"):
                raise ValueError(
                    f"{type(step).__name__} takes no groups, so it would not protect all rows of a "
                    "person together. The parts of a ColumnTransformer or FeatureUnion get groups "
                    "by metadata routing only."
                )
        return {f"{name}__groups": groups for name in spending} | rest

    def _rehearse(self, X: MatrixLike, y: VectorLike, params: dict[str, object]) -> None:
        """Fit copies in a dry run, up to a spending step of another library."""
        check_callbacks(self)
        check_no_fit_is_replaced(self)
        spending = [_spending(step) for _, step in self.steps]
        foreign = [not all(isinstance(one, PrivateFit) for one in found) for found in spending]
        private = [one for found in spending for one in found if isinstance(one, PrivateFit)]
        _check_one_partition(private)
        ledgers = [getattr(step.budget, "_ledger", None) for step in private]
        if len(private) < 2 or any(isinstance(one, DryRun) for one in ledgers):
            return  # one transaction spends nothing if it raises, and a dry run never spends
        known = foreign.index(True) if any(foreign) else len(self.steps)
        budgets, free = StandIns(), Unbudgeted()
        copies = [
            (name, rehearsing(step, budgets, free) if i < known else "passthrough")
            for i, (name, step) in enumerate(self.steps)
        ]
        Pipeline(copies, transform_input=self.transform_input).fit(X, y, **params)
        given = [step.budget for step in private if isinstance(step.budget, BudgetHandle)]
        _check_one_unit([*free.promised, *given])


def _check_one_partition(steps: list[PrivateFit]) -> None:
    """Raise if partitions differ: the budget would not add up releases of the same records."""
    named: set[str] = {step.budget.partition for step in steps if step.budget is not None} - {None}
    if len(named) > 1:
        raise ValueError(
            f"The budgets of the steps name different partitions: {sorted(named)}. All steps read "
            "the same records, so give all of them the same partition."
        )


def _check_one_unit(releases: Sequence[PrivacyGuarantee | BudgetHandle]) -> None:
    if len({one.unit for one in releases}) > 1:
        raise ValueError(
            "Some steps protect a person, and others only a record. Pass groups=, which goes to "
            "every step that spends, or stepname__groups= for each of them."
        )


def _spending(step: BaseEstimator) -> list[BaseEstimator]:
    return [leaf for _, leaf in leaves(step) if is_private(leaf)]


def make_private_pipeline(
    *steps: BaseEstimator,
    epsilon: float = 1.0,
    delta: float | None = None,
    neighboring: str = "replace_one",
    unit: str | None = None,
    budget: PrivacyBudget | None = None,
    model_share: float = 0.9,
) -> PrivatePipeline:
    """Make a pipeline whose private steps together spend (ε, δ).

    Parameters
    ----------
    *steps : estimators
        As in scikit-learn's `make_pipeline`. A step with a parameter `epsilon` is private: it is
        cloned, and `epsilon`, `delta`, `neighboring` and `budget` are set. So is each branch of a
        `ColumnTransformer` or `FeatureUnion`. `check_pipeline` must find nothing in the other
        steps, except functions of `FunctionTransformer` that it cannot prove.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit of the whole pipeline, in nats.
    delta : float or None
        *Public.* Probability that the ε bound fails, well below 1/n. ``None``: the budget's δ, or
        1e-5.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    unit : {"record", "person"} or None
        *Public.* Privacy unit: one record, or all rows of a person if `fit` gets ``groups=``.
        ``None``: the budget's, or that of a schema in the steps, or ``"record"``.
    budget : PrivacyBudget or None
        *Public.* Budget of all steps. ``None``: a new one of (ε, δ) for one fit, with composition
        ``"gdp"`` if all steps are Gaussian DP, else ``"basic"``.
    model_share : float in (0, 1), default 0.9
        *Public.* Share of the last private step, of the squared Gaussian-DP parameter, or of ε and
        δ if the budget adds these. The other private steps share the rest evenly.

    Returns
    -------
    PrivatePipeline
        Clones of the private steps, and the other steps.

    Raises
    ------
    ValueError
        If no step is private, a parameter is wrong, a step has another budget or parts that spend,
        or the budget might admit only some of the steps.
    PrivacyLeakError
        If a step learns from the data without privacy.

    Notes
    -----
    **Guarantee.** That of the budget, which every step spends before it reads the data. It also
    covers a step that is chosen after an earlier release, since budgets are adaptive.

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
    found = [(i, path, leaf) for i, step in enumerate(steps) for path, leaf in leaves(step)]
    private = [(i, path, leaf) for i, path, leaf in found if is_private(leaf)]
    if not private:
        raise ValueError(
            "No step is private. Pass one with an epsilon of its own; nothing was spent."
        )
    for _, _, leaf in found:
        _check_leaf(leaf, budget)
    gaussian = len(private) == 1 or all(
        isinstance(leaf, PrivateFit) and leaf._is_gaussian() for _, _, leaf in private
    )
    if budget is None:
        units = (one.unit for one in schemas_in(steps) if one.unit is not None)
        budget = PrivacyBudget(
            epsilon=epsilon,
            delta=delta,
            composition=("gdp" if gaussian else "basic") if delta else "pure",
            neighboring=relation,
            unit=unit or next(units, Unit.RECORD),
        )
    elif unit not in (None, budget.unit):
        raise ValueError(
            f"unit={unit!r} differs from the unit of the budget, {str(budget.unit)!r}."
        )
    changed = {i for i, _, _ in private}
    made = [clone(step) if i in changed else step for i, step in enumerate(steps)]
    others = len(private) - 1
    shares = [(1.0 - model_share) / others] * others + [model_share] if others else [1.0]
    parts = _parts(epsilon, delta, shares, budget, gaussian)
    for (i, path, _), part in zip(private, parts, strict=True):
        given: dict[str, object] = {"epsilon": part.epsilon, "delta": part.delta}
        given |= {"neighboring": relation, "budget": budget}
        before = f"{path}__" if path else ""
        made[i].set_params(**{f"{before}{name}": value for name, value in given.items()})
    for step in made:
        if is_part(step) and not is_private(step) and (leaks := refused_leaks(step)):
            raise PrivacyLeakError(
                f"{step!r} may learn from the data without spending budget. {leaks}"
            )
    return PrivatePipeline(make_pipeline(*made).steps)


def _plain(step: BaseEstimator) -> BaseEstimator:
    """Return a fitted step as objects of scikit-learn."""
    if hasattr(step, "to_sklearn"):
        return step.to_sklearn()
    for leaf in fitted_leaves(step):
        if not (isinstance(leaf, str) or type(leaf).__module__.startswith("sklearn.")):
            raise ValueError(f"{type(leaf).__name__} has no counterpart in scikit-learn.")
    return step


def _check_leaf(leaf: BaseEstimator, budget: BudgetHandle | None) -> None:
    """Raise if a part has a budget of its own, or parts that would spend."""
    if not is_private(leaf) and ledgers_of(leaf):
        raise ValueError(
            f"{type(leaf).__name__} has parts that would spend beside the budget of the pipeline. "
            "Make each of them a step of its own."
        )
    if is_private(leaf) and getattr(leaf, "budget", None) not in (None, budget):
        raise ValueError(
            f"{type(leaf).__name__} has its own budget. Pass budget= to make_private_pipeline "
            "instead, for all steps."
        )


def _parts(
    epsilon: float, delta: float, shares: list[float], budget: BudgetHandle, gaussian: bool
) -> list[Amount]:
    """Return the (ε, δ) of each share: of ε and δ, or of μ² at the same δ.

    The budget admits all of them together if releases are Gaussian DP as `gaussian` says.
    """
    if len(shares) == 1:
        return [Amount(epsilon * _MARGIN, delta)]
    if budget.composition.adds_epsilon:
        left = budget.remaining
        parts = [Amount(s * epsilon * _MARGIN, s * delta * _MARGIN) for s in shares]
        admitted = epsilon * _MARGIN <= left.epsilon and delta * _MARGIN <= left.delta
    else:
        _check_gaussian(delta, budget, gaussian)
        mu = budget.gaussian_mu(epsilon=epsilon, delta=delta) * _MARGIN
        mus = [mu * math.sqrt(share) for share in shares]
        parts = [largest_gaussian(one, delta) if one else Amount(0.0, delta) for one in mus]
        admitted = budget.plan(map(GDPEvent, mus)).admitted
    if min(part.epsilon for part in parts) == 0.0:
        raise ValueError(f"epsilon={epsilon:g} is too small for {len(parts)} steps.")
    if not admitted:
        raise ValueError(f"The steps cost more than the rest of the budget, {budget.remaining}.")
    return parts


def _check_gaussian(delta: float, budget: BudgetHandle, gaussian: bool) -> None:
    if delta == 0.0 or not gaussian:
        raise ValueError(
            f"composition={budget.composition!r} may count a step at more than its epsilon, and "
            "reject the last step after the others were spent. Pass a budget with "
            "composition='basic', or none, or make all steps Gaussian DP: delta > 0, noise='auto' "
            "and the default solver."
        )
