"""Additive models: a sum of curves of single columns, and of tables of pairs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import NonPrivatePlan, ReleaseParameters
from skdp.additive.effects import (
    AdditiveEffect,
    Curve,
    NoiseBound,
    SteadyClip,
    check_constraints,
    effect_of,
    noise_of,
    projected,
    signs_of,
)
from skdp.additive.stages import DensityRelease, PairsOf, with_known_pairs
from skdp.budget import BudgetHandle
from skdp.data.lazy import lazy_on_blocks
from skdp.design import clip_factors
from skdp.design.transformed import CenteredMap
from skdp.features import AdditiveFeatures
from skdp.features.additive import AdditiveMap
from skdp.features.combined import unknown_numbers, with_wide_bounds
from skdp.linear_model._base import PrivateLinearModel, is_auto, progress_of
from skdp.linear_model._first_releases import map_of, ranks_release
from skdp.linear_model._plans import FitPlan, Learned, LinearPlan, PlanFit, is_gaussian, plan_after
from skdp.linear_model._records import (
    LinearRecords,
    TargetRange,
    TaskT,
    dense,
    learned_center,
    rows_of,
)
from skdp.linear_model.linear_regression import LeastSquaresModel
from skdp.linear_model.logistic import LogisticModel
from skdp.losses.base import ProbabilityLoss
from skdp.privacy import PrivacyGuarantee
from skdp.solvers import Solver
from skdp.support.types import (
    Bounds,
    Categories,
    Label,
    MatrixLike,
    RandomState,
    Transformation,
    VectorLike,
)
from skdp.support.validation import parameters

_FEATURES = (
    *("bounds", "categories", "n_terms", "linear_share", "transformation"),
    *("reference", "interactions", "norm", "missing"),
)


class _AdditiveModel(PrivateLinearModel[TaskT]):
    """The stages of a fit, and explanations, for either kind of targets.

    A subclass has `_residuals`: a function of a fit, targets and scores that returns residuals of
    shape (n_rows, n_outputs) with |r|₁ ≤ 1.
    """

    feature_map_: AdditiveMap  # type: ignore[assignment]  # the map of AdditiveFeatures

    @property
    def term_names_(self) -> list[str]:
        """Names of the terms, see *Attributes*."""
        check_is_fitted(self, "coef_")
        facts, spans = self.feature_map_.facts, self.feature_map_.spans
        return [" & ".join(str(facts.term_name(j)) for j in columns) for columns, _ in spans]

    @property
    def interactions_(self) -> list[tuple[Hashable, Hashable]]:
        """Pairs of columns whose features are multiplied, see *Attributes*."""
        check_is_fitted(self, "coef_")
        facts = self.feature_map_.facts
        return [(facts.term_name(i), facts.term_name(j)) for i, j in self.feature_map_.pairs]

    def explain_global(self) -> dict[str, AdditiveEffect]:
        """Compute the effect of each term: curves of numeric columns, values of categories, pairs.

        Returns
        -------
        dict of str to AdditiveEffect
            One effect for each of `term_names_`. Computed from released values; spends nothing.
        """
        check_is_fitted(self, "coef_")
        coef = np.atleast_2d(dense(self.coef_))
        sigma = self.coef_noise_bound_
        noise = None if sigma is None else NoiseBound(sigma, self._noise_roots_)
        return {
            term: effect_of(self.feature_map_, k, coef, self.data_norm_, noise, self._signs)
            for k, term in enumerate(self.term_names_)
        }

    @lazy_on_blocks
    def explain_local(self, X: MatrixLike) -> np.ndarray:
        """Compute the contribution of each term to the scores of rows.

        The contributions and `intercept_` add up to the linear score, from which a classifier
        computes `predict_proba`, or to the prediction of a regressor before it is clipped to the
        target bounds.

        Parameters
        ----------
        X : array-like, frame or dask collection of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_terms), and (n_scores,) for several scores
            In the order of `term_names_`. As private as X.
        """
        check_is_fitted(self, "coef_")
        rows, coef = rows_of(self, X), np.atleast_2d(dense(self.coef_))
        spans = self.feature_map_.spans
        parts = np.empty((len(rows), len(spans), len(coef)))
        for where, features in self._clipped(rows):
            for k, (_, span) in enumerate(spans):
                parts[where, k] = features[:, span] @ coef[:, span].T
        return parts[:, :, 0] if len(coef) == 1 else parts

    def term_importances(self) -> np.ndarray:
        """Compute the root mean square of each term's effect over its public values.

        Returns
        -------
        ndarray of shape (n_terms,)
            In the order of `term_names_`. Computed from released values; spends nothing.
        """
        return np.array([effect.importance for effect in self.explain_global().values()])

    def _clipped(self, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the features of rows, clipped as in `fit`."""
        center = learned_center(self)
        if self._signs:
            curves = [Curve(self.feature_map_, j) for j in self._signs]
            yield from SteadyClip(curves, self.data_norm_, center).pieces(rows)
            return
        if center is not None:
            yield from CenteredMap(self.feature_map_, center).clipped(rows)
            return
        for where, features in self.feature_map_.pieces(rows):
            if not math.isinf(self.data_norm_):
                features = features * clip_factors(features, self.data_norm_)[:, None]
            yield where, features

    def _scores(self, X: MatrixLike) -> np.ndarray:
        """Return scores of shape (n_samples, n_scores) that satisfy the constraints."""
        if not getattr(self, "_signs", None):
            return super()._scores(X)
        rows, coef = rows_of(self, X), np.atleast_2d(dense(self.coef_))
        scores = np.empty((len(rows), len(coef)))
        for where, features in self._clipped(rows):
            scores[where] = features @ coef.T
        return np.asarray(scores + self.intercept_)

    def _features(self) -> AdditiveFeatures:
        """Return the features of the parameters, with wide bounds if they are unknown."""
        given = {name: getattr(self, name) for name in _FEATURES}
        if is_auto(self.interactions):
            given["interactions"] = None  # until pairs are chosen
        return AdditiveFeatures(**with_wide_bounds(given))

    def _check_data(
        self, parameters: ReleaseParameters, *data: MatrixLike, **more: MatrixLike
    ) -> LinearRecords[TaskT]:
        records = super()._check_data(parameters, *data, **more)
        return with_known_pairs(records, parameters) if is_auto(self.interactions) else records

    def _plan(self, parameters: ReleaseParameters, records: LinearRecords[TaskT]) -> FitPlan:
        check_constraints(self, records)
        return super()._plan(parameters, records)

    def _plan_fit(self, parameters: ReleaseParameters, records: LinearRecords[TaskT]) -> LinearPlan:
        return self._plan_stages(super()._plan_fit, parameters, records)

    def _plan_without_privacy(
        self, parameters: ReleaseParameters, records: LinearRecords[TaskT]
    ) -> NonPrivatePlan | LinearPlan:
        return self._plan_stages(super()._plan_without_privacy, parameters, records)

    def _plan_stages(
        self, plan_fit: PlanFit, parameters: ReleaseParameters, records: LinearRecords[TaskT]
    ) -> LinearPlan:
        """Return the plan of a fit, after the releases that its parameters ask for."""
        if is_auto(self.interactions):
            plan_fit = PairsOf(plan_fit, progress_of(self), self._residuals).plan
        if columns := unknown_numbers(self.bounds, map_of(records).facts):
            ranks = ranks_release(parameters, records, columns)
            return plan_after(ranks, plan_fit, parameters, records)
        signs = signs_of(self.monotonic_cst, records.facts.feature_map)
        # Solvers that are not Gaussian leave no rest of the cost. Rows then count as uniform.
        if not signs or (parameters.is_private and not is_gaussian(parameters, records)):
            return plan_fit(parameters, records)
        densities = DensityRelease.of(parameters, tuple(signs))
        return plan_after(densities, plan_fit, parameters, records)

    def _publish(
        self,
        plan: FitPlan,
        records: LinearRecords[TaskT],
        released: Learned,
        guarantee: PrivacyGuarantee,
    ) -> Self:
        facts = released.facts
        unit = self._unit(facts.task) * facts.stretch
        noise = noise_of(released.fitted, unit, facts.feature_map)
        self.coef_noise_bound_, self._noise_roots_ = noise
        self._signs = signs_of(self.monotonic_cst, facts.feature_map)
        return super()._publish(plan, records, projected(released, self._signs), guarantee)


@parameters
class DPAdditiveClassifier(_AdditiveModel[np.ndarray], LogisticModel):
    r"""A generalized additive model (GAM), with (ε, δ)-differentially private curves.

    The score is a sum of one function per column: a curve between the bounds of a numeric column,
    and a number for each category and for missing values. The coefficients equal those of
    `DPLogisticRegression` with ``features=AdditiveFeatures(...)``, bit for bit; see
    `skdp.features.AdditiveFeatures` for the formulas. Use that class to set its other parameters.
    Data frames are accepted.

    This class adds explanations and ``bounds="auto"``. `skdp.inspection.AdditiveEffectsDisplay`
    draws the curves with bands of noise. Private fits tend to that with ``epsilon=inf``, which has
    the same clipped rows and a ridge.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict, TableSchema or "auto"
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`. Use ``"auto"``,
        for all columns or in a dict, if a bound would be a guess: it spends a tenth of μ² on
        histograms and replaces numbers by ranks. It needs a Gaussian DP solver, n·μ/p of 20 to 50
        or more, and columns that vary by more than a few percent of their size.
    categories : dict, list or None, default None
        *Public.* Possible values of categorical columns: a dict from names or positions of columns
        to lists, or one list for all columns. Other values belong to no category.
    classes : array-like or None
        *Public.* All labels that may occur. ``None`` treats the labels in `y` as public; pass
        `classes` if a rare label would reveal something.
    max_weight : float or None
        *Public.* Private fits clip `sample_weight` to [0, max_weight]; the noise is proportional to
        it. ``None``: weights raise ValueError.
    max_rows : int or None
        *Public.* Maximum number of rows used per person. If a person has more, `fit` draws a random
        subset. ``None``: 16,384. Only used with `groups`.
    missing : {"indicator", "error"}, default "indicator"
        *Public.* Treatment of NaN, ``None`` and ``pandas.NA``: an indicator or category of their
        own, or a ValueError.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None
        *Public.* Probability that the ε bound fails, well below 1/n. ``None``: the budget's δ, or
        1e-5.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None
        *Public.* Budget that `fit` spends from before it reads the data.
    n_terms : int, default 8
        *Public.* K, the number of Fourier features of a numeric column.
    linear_share : float in [0, 1], default 0.5
        *Public.* Share g of the straight line, between 0 (only Fourier features) and 1 (only the
        line).
    transformation : None, "log" or dict, default None
        *Public.* Scale of numeric columns. Use ``"log"`` for amounts and counts. A dict maps
        columns to ``None``, ``"log"`` (unit 1) or the unit of a logarithmic scale.
    reference : None, "low" or list, default None
        *Public.* Numeric columns whose features are zero at the low bound, ``"low"`` for all. Use
        it if most values are at the low bound, as in counts of words.
    interactions : None, "auto", "pairs" or list of pairs, default None
        *Public.* Pairs of columns by name or position, ``"pairs"`` for all. The first three Fourier
        features, or the categories, of both columns are multiplied. ``"auto"``: all pairs of up to
        12 numeric columns if there are enough records, no pairs for few records, and otherwise up
        to three pairs that a private search with 15 % of μ² finds. See *Interactions* in the user
        guide.
    monotonic_cst : array-like of int, dict or None, default None
        *Public.* Knowledge that the score rises (1) or falls (-1) with a numeric column; 0 for no
        constraint. One number for each column, or a dict by column name. A classifier needs two
        classes. With a Gaussian DP solver it spends 2 % of μ² on a histogram of each such column,
        unless ``bounds="auto"``.
    norm : {"rows", "blocks"}, default "rows"
        *Public.* ``"rows"``: the features of each column have at most norm 1, and the model clips
        the row. ``"blocks"``: no row is longer than 1, so none is clipped; the model is then
        exactly additive, but noisier.
    class_weight : dict or None
        *Public.* Weights by label; the largest scales the noise. ``"balanced"`` raises ValueError.
    solver : str or Solver, default "auto"
        *Public.* How the coefficients are learned: a name of `skdp.solvers.SOLVERS` or an instance.
        ``"auto"`` picks by public facts (*Which solver?* in the user guide); see `solver_`.
    random_state : None, int, Generator or RandomState
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.
    verbose : int
        *Public.* If positive, show progress.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features_out) for two classes, else (n_classes, n_features_out)
        *Released.*
        With `monotonic_cst`, the nearest coefficients to the released ones with such curves.
    coef_noise_bound_ : float or None
        *Public, or computed from the noisy count.* σ such that the noise in the product of a vector
        v and the coefficients has a standard deviation of at most σ·\|v\|, to first order if the
        solver takes steps. 0 without privacy; None if no bound is known. If the solver has released
        a metric, bands of effects are narrower and hold for fits in that metric.
    feature_map_ : object
        *Public*; *released* with ``bounds="auto"`` or `monotonic_cst`. The map of rows to features.
        Its method `get_feature_names_out` names the coefficients.
    interactions_ : list of tuple
        *Public; released* if a private search or count has decided. Pairs of columns whose features
        are multiplied, by name or position.
    term_names_ : list of str
        *Public.* Numeric columns, categorical columns, then pairs.

    Notes
    -----
    **Guarantee.** As `DPLogisticRegression`: the map Φ is public, so neighboring tables have
    neighboring features Φ(x), clipped to the same public norm (*Feature maps* in the user guide).
    **Assumed.** As there; bounds and categories come from knowledge, never from the data.

    The other attributes are those of `DPLogisticRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPAdditiveClassifier
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(0, 100, size=(4000, 1))
    >>> ill = (np.abs(age[:, 0] - 50) > 25).astype(int)
    >>> model = DPAdditiveClassifier(bounds=(0, 100), random_state=0).fit(age, ill)
    >>> model.score(age, ill) > 0.9
    True
    >>> model.explain_global()["0"].effect.shape
    (101,)
    """

    bounds: Bounds | str | None = None
    categories: Categories | None = None
    classes: ArrayLike | None = None
    max_weight: float | None = None
    max_rows: int | None = None
    missing: str = "indicator"
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: BudgetHandle | None = None
    n_terms: int = 8
    linear_share: float = 0.5
    transformation: Transformation | None = None
    reference: str | Sequence[Label] | None = None
    interactions: str | Sequence[Sequence[Label]] | None = None
    monotonic_cst: VectorLike | Mapping[Label, int] = None
    norm: str = "rows"
    class_weight: dict[Label, float] | None = None
    solver: str | Solver = "auto"
    random_state: RandomState = None
    verbose: int = 0

    @staticmethod
    def _residuals(learned: Learned, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return (indicator − probability) of the second of two classes, or half of it for each.

        So |r|₁ ≤ 1: probabilities add up to 1.
        """
        loss = learned.fitted.loss or learned.plan.problem.loss
        assert isinstance(loss, ProbabilityLoss), "additive classifiers have such a loss"
        p = loss.probabilities(scores)
        if scores.ndim == 1:
            return np.asarray((y > 0.0) - p[:, 1])[:, None]
        return 0.5 * (np.eye(p.shape[1])[y.astype(np.intp)] - p)


@parameters
class DPAdditiveRegressor(_AdditiveModel[TargetRange], LeastSquaresModel):
    r"""A generalized additive model (GAM), with (ε, δ)-differentially private curves.

    The score is a sum of one function per column: a curve between the bounds of a numeric column,
    and a number for each category and for missing values. The coefficients equal those of
    `DPLinearRegression` with ``features=AdditiveFeatures(...)``, bit for bit; see
    `skdp.features.AdditiveFeatures` for the formulas. Use that class to set its other parameters.
    Data frames are accepted.

    This class adds explanations and ``bounds="auto"``. `skdp.inspection.AdditiveEffectsDisplay`
    draws the curves with bands of noise. Private fits tend to that with ``epsilon=inf``, which has
    the same clipped rows and a ridge.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict, TableSchema or "auto"
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`. Use ``"auto"``,
        for all columns or in a dict, if a bound would be a guess: it spends a tenth of μ² on
        histograms and replaces numbers by ranks. It needs a Gaussian DP solver, n·μ/p of 20 to 50
        or more, and columns that vary by more than a few percent of their size.
    categories : dict, list or None, default None
        *Public.* Possible values of categorical columns: a dict from names or positions of columns
        to lists, or one list for all columns. Other values belong to no category.
    target_bounds : (float, float)
        *Public.* Interval of the targets, from prior knowledge; required. Targets and predictions
        are clipped to it. If it is far too wide, `fit` finds a narrower one: see
        :term:`target_bounds`.
    max_weight : float or None
        *Public.* Private fits clip `sample_weight` to [0, max_weight]; the noise is proportional to
        it. ``None``: weights raise ValueError.
    max_rows : int or None
        *Public.* Maximum number of rows used per person. If a person has more, `fit` draws a random
        subset. ``None``: 16,384. Only used with `groups`.
    missing : {"indicator", "error"}, default "indicator"
        *Public.* Treatment of NaN, ``None`` and ``pandas.NA``: an indicator or category of their
        own, or a ValueError.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None
        *Public.* Probability that the ε bound fails, well below 1/n. ``None``: the budget's δ, or
        1e-5.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None
        *Public.* Budget that `fit` spends from before it reads the data.
    target_transform : None, "log", "sqrt" or number, default None
        *Public.* Scale of the targets while learning: ``"log"`` sign(y)·log(1 + \|y\|), ``"sqrt"``
        sign(y)·√\|y\|, or a number, the unit of the logarithm. Predictions are then medians rather
        than means.
    n_terms : int, default 8
        *Public.* K, the number of Fourier features of a numeric column.
    linear_share : float in [0, 1], default 0.5
        *Public.* Share g of the straight line, between 0 (only Fourier features) and 1 (only the
        line).
    transformation : None, "log" or dict, default None
        *Public.* Scale of numeric columns. Use ``"log"`` for amounts and counts. A dict maps
        columns to ``None``, ``"log"`` (unit 1) or the unit of a logarithmic scale.
    reference : None, "low" or list, default None
        *Public.* Numeric columns whose features are zero at the low bound, ``"low"`` for all. Use
        it if most values are at the low bound, as in counts of words.
    interactions : None, "auto", "pairs" or list of pairs, default None
        *Public.* Pairs of columns by name or position, ``"pairs"`` for all. The first three Fourier
        features, or the categories, of both columns are multiplied. ``"auto"``: all pairs of up to
        12 numeric columns if there are enough records, no pairs for few records, and otherwise up
        to three pairs that a private search with 15 % of μ² finds. See *Interactions* in the user
        guide.
    monotonic_cst : array-like of int, dict or None, default None
        *Public.* Knowledge that the score rises (1) or falls (-1) with a numeric column; 0 for no
        constraint. One number for each column, or a dict by column name. A classifier needs two
        classes. With a Gaussian DP solver it spends 2 % of μ² on a histogram of each such column,
        unless ``bounds="auto"``.
    norm : {"rows", "blocks"}, default "rows"
        *Public.* ``"rows"``: the features of each column have at most norm 1, and the model clips
        the row. ``"blocks"``: no row is longer than 1, so none is clipped; the model is then
        exactly additive, but noisier.
    solver : str or Solver, default "auto"
        *Public.* How the coefficients are learned: a name of `skdp.solvers.SOLVERS` or an instance.
        ``"auto"`` picks by public facts (*Which solver?* in the user guide); see `solver_`.
    random_state : None, int, Generator or RandomState
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.
    verbose : int
        *Public.* If positive, show progress.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_out,)
        *Released.*
        With `monotonic_cst`, the nearest coefficients to the released ones with such curves.
    coef_noise_bound_ : float or None
        *Public, or computed from the noisy count.* σ such that the noise in the product of a vector
        v and the coefficients has a standard deviation of at most σ·\|v\|, to first order if the
        solver takes steps. 0 without privacy; None if no bound is known. If the solver has released
        a metric, bands of effects are narrower and hold for fits in that metric.
    feature_map_ : object
        *Public*; *released* with ``bounds="auto"`` or `monotonic_cst`. The map of rows to features.
        Its method `get_feature_names_out` names the coefficients.
    interactions_ : list of tuple
        *Public; released* if a private search or count has decided. Pairs of columns whose features
        are multiplied, by name or position.
    term_names_ : list of str
        *Public.* Numeric columns, categorical columns, then pairs.
    target_bounds_ : (float, float)
        *Public, or released* if a narrower range was found. The interval to which targets and
        scores are clipped, on the scale of `target_transform`.

    Notes
    -----
    **Guarantee.** As `DPLinearRegression`: the map Φ is public, so neighboring tables have
    neighboring features Φ(x), clipped to the same public norm (*Feature maps* in the user guide).
    Transforming a target by a public function costs nothing.
    **Assumed.** As there; bounds and categories come from knowledge, never from the data.

    The other attributes are those of `DPLinearRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPAdditiveRegressor
    >>> rng = np.random.default_rng(0)
    >>> hour = rng.uniform(0, 24, size=(5000, 1))
    >>> load = np.cos(hour[:, 0] * np.pi / 12)
    >>> model = DPAdditiveRegressor(bounds=(0, 24), target_bounds=(-1, 1), random_state=0)
    >>> model.fit(hour, load).predict([[0.0], [6.0], [12.0]]).round(1)
    array([ 1.,  0., -1.])
    """

    bounds: Bounds | str | None = None
    categories: Categories | None = None
    target_bounds: Sequence[float] | None = None
    max_weight: float | None = None
    max_rows: int | None = None
    missing: str = "indicator"
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: BudgetHandle | None = None
    target_transform: str | float | None = None
    n_terms: int = 8
    linear_share: float = 0.5
    transformation: Transformation | None = None
    reference: str | Sequence[Label] | None = None
    interactions: str | Sequence[Sequence[Label]] | None = None
    monotonic_cst: VectorLike | Mapping[Label, int] = None
    norm: str = "rows"
    solver: str | Solver = "auto"
    random_state: RandomState = None
    verbose: int = 0

    @staticmethod
    def _residuals(learned: Learned, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return halved differences of numbers in [−1, 1], so that |r| ≤ 1."""
        return 0.5 * (learned.facts.task.encode(y) - np.clip(scores, -1.0, 1.0))[:, None]
