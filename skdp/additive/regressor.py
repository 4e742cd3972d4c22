"""Differentially private additive regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from skdp._private_fit import NonPrivatePlan, ReleaseParameters
from skdp.additive.explanations import (
    explain_global,
    explain_local,
    noise_of,
    pair_names,
    scores_of_clipped,
    term_importances,
    term_names,
)
from skdp.additive.interactions import residuals_of_numbers
from skdp.additive.monotone import check_constraints, projected, signs_of
from skdp.additive.pairs import with_known_pairs
from skdp.additive.stages import features_of, plan_stages
from skdp.budget import BudgetHandle
from skdp.features import AdditiveFeatures
from skdp.linear_model import DPLinearRegression
from skdp.linear_model._base import Learned, is_auto
from skdp.linear_model._records import LinearRecords
from skdp.linear_model._sample import FitPlan, LinearPlan
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

__all__ = ["DPAdditiveRegressor"]


class DPAdditiveRegressor(DPLinearRegression):
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
    >>> model.fit(hour, load).score(hour, load) > 0.9
    True
    """

    def __init__(
        self,
        *,
        bounds: Bounds | str | None = None,
        categories: Categories | None = None,
        target_bounds: Sequence[float] | None = None,
        max_weight: float | None = None,
        max_rows: int | None = None,
        missing: str = "indicator",
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: BudgetHandle | None = None,
        target_transform: str | float | None = None,
        n_terms: int = 8,
        linear_share: float = 0.5,
        transformation: Transformation | None = None,
        reference: str | Sequence[Label] | None = None,
        interactions: str | Sequence[Sequence[Label]] | None = None,
        monotonic_cst: VectorLike | Mapping[Label, int] = None,
        norm: str = "rows",
        solver: str | Solver = "auto",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            target_bounds=target_bounds,
            max_weight=max_weight,
            max_rows=max_rows,
            epsilon=epsilon,
            delta=delta,
            neighboring=neighboring,
            budget=budget,
            solver=solver,
            random_state=random_state,
            verbose=verbose,
        )
        self.bounds = bounds
        self.categories = categories
        self.missing = missing
        self.target_transform = target_transform
        self.n_terms = n_terms
        self.linear_share = linear_share
        self.transformation = transformation
        self.reference = reference
        self.interactions = interactions
        self.monotonic_cst = monotonic_cst
        self.norm = norm

    interactions_ = property(pair_names)
    term_names_ = property(term_names)
    explain_global = explain_global
    explain_local = explain_local
    term_importances = term_importances

    def _features(self) -> AdditiveFeatures:
        return features_of(self)

    def _check_data(
        self, parameters: ReleaseParameters, *data: MatrixLike, **more: MatrixLike
    ) -> LinearRecords:
        records = super()._check_data(parameters, *data, **more)
        return with_known_pairs(records, parameters) if is_auto(self.interactions) else records

    def _scores(self, X: MatrixLike) -> np.ndarray:
        return scores_of_clipped(self, X) if getattr(self, "_signs", None) else super()._scores(X)

    def _plan(self, parameters: ReleaseParameters, records: LinearRecords) -> FitPlan:
        check_constraints(self, records)
        return super()._plan(parameters, records)

    def _plan_fit(self, parameters: ReleaseParameters, records: LinearRecords) -> LinearPlan:
        return plan_stages(self, residuals_of_numbers, super()._plan_fit, parameters, records)

    def _plan_without_privacy(
        self, parameters: ReleaseParameters, records: LinearRecords
    ) -> NonPrivatePlan | LinearPlan:
        plan_fit = super()._plan_without_privacy
        return plan_stages(self, residuals_of_numbers, plan_fit, parameters, records)

    def _publish(
        self,
        plan: FitPlan,
        records: LinearRecords,
        released: Learned,
        guarantee: PrivacyGuarantee,
    ) -> Self:
        facts = released.facts
        unit = self._unit(facts.task) * facts.stretch
        noise = noise_of(released.fitted, unit, facts.feature_map)
        self.coef_noise_bound_, self._noise_roots_ = noise
        self._signs = signs_of(self.monotonic_cst, facts.feature_map)
        return super()._publish(plan, records, projected(released, self._signs), guarantee)
