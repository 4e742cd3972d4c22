"""Differentially private additive models of a number."""

from __future__ import annotations

from typing import Any

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.additive.explanations import (
    explain_global,
    explain_local,
    noise_of,
    term_importances,
    term_names,
)
from skdp.additive.ranks import features_of, plan_ranked, read_ranked, unranked
from skdp.features import AdditiveFeatures
from skdp.linear_model import DPLinearRegression
from skdp.linear_model._base import is_auto
from skdp.linear_model._records import LinearRecords
from skdp.privacy import PrivacyGuarantee

__all__ = ["DPAdditiveRegressor"]


class DPAdditiveRegressor(DPLinearRegression):
    r"""A generalized additive model (GAM), with (ε, δ)-differentially private curves.

    The score is a sum of one function a column: a curve of a number between its bounds, and a
    number for each category and for missing values. The model is short for `DPLinearRegression`
    with ``features=AdditiveFeatures(...)`` of `skdp.features`, which has the formulas; its
    coefficients are the same, bit for bit. Use that class for its other parameters, and other
    linear models with the same features for other losses. Data frames of numbers and text are
    accepted as they are.

    This class adds what a feature map cannot give: explanations, and ``bounds="auto"``.
    `explain_global` returns the curves, `explain_local` the parts of a score, and
    `skdp.inspection.AdditiveEffectsDisplay` draws them with bands of noise. With ``epsilon=inf`` it
    is scikit-learn's linear model on the same features.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or "auto"
        *Public.* The dict is from names or numbers of columns to pairs. A list of tuples has a pair
        for each column; a tuple of two lists has all lows and all highs. Bounds come from knowledge
        about the columns, never from the data. There is no default that would be right: without
        bounds `fit` raises. ``"auto"`` is for columns of which nothing is known: a tenth of the
        fit's μ² is spent on a histogram of each, and the rank in it takes the place of the number.
        As good as known bounds from n·μ/p = 20 to 50 on, and poor below; for solvers that are
        Gaussian DP.
    categories : dict, list or None, default None
        *Public.* The values that columns can have: a dict from names or numbers of columns to
        lists, or one list for all columns. Other columns are numeric and have `bounds`. Other
        values belong to no category.
    target_bounds : (float, float)
        *Public.* Interval of the targets, in their units, from knowledge and never from the data;
        it has no default. Targets outside are clipped, and so are predictions.
    max_weight : float or None
        *Public.* Largest weight of a record: the `sample_weight` of `fit`, which is private, is
        clipped to [0, max_weight], and the noise grows in proportion to it. ``None`` refuses
        weights in a private fit.
    max_rows : int or None
        *Public.* Maximum number of rows used per person, only with the `groups` of `fit`. If a
        person has more, each `fit` draws a uniform subset. ``None`` uses all rows. The rows of a
        person weigh as much as one record in any case.
    missing : {"indicator", "error"}, default "indicator"
        *Public.* How NaN, ``None`` and ``pandas.NA`` are treated. ``"indicator"``: as a category
        of their own, in numeric columns as well. ``"error"``: they raise ValueError.
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend.
    delta : float or None
        *Public.* Probability with which the ε bound may fail, well below 1/n. ``None`` takes the
        budget's, or 1e-5 without a budget.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbouring data sets differ in the value of one record (then n is
        public) or in its presence (then it is private).
    budget : PrivacyBudget or None
        *Public.* What the fit spends from, before it reads the data.
    target_transform : None, "log", "sqrt" or number, default None
        *Public.* Scale on which targets are learnt: sign(y)·log(1 + \|y\|), for counts and waiting
        times; sign(y)·√\|y\|; or for a number, the unit, sign(y)·log(1 + \|y\|/unit). Predictions
        are turned back, which makes them medians rather than means.
    n_terms : int, default 8
        *Public.* K, the number of Fourier features of a numeric column.
    linear_share : float in [0, 1], default 0.5
        *Public.* g, the share of the straight line. 1: only the line, as in `BoundsScaler`. 0: only
        Fourier features.
    transformation : None, "log" or dict, default None
        *Public.* Scale of numeric columns. Use ``"log"`` for amounts and counts; their bounds may
        then be generous. A dict maps names or numbers of columns to ``None``, to ``"log"``, which
        has the unit 1, or to a number, the unit of a logarithmic scale.
    reference : None, "low" or list, default None
        *Public.* Numeric columns whose features are zero at the low bound, ``"low"`` for all. Use
        it if most values are at the low bound, as in counts of words. Their features are √g·u and
        √(2(1 − g))·sin((k − ½)πu)/((k − ½)π).
    interactions : None, "pairs" or list of pairs, default None
        *Public.* Pairs of columns by name or number, ``"pairs"`` for all pairs. The first three
        Fourier features, or the categories, of the two columns are multiplied. All pairs together
        have about half of the squared norm of a row.
    norm : {"rows", "blocks"}, default "rows"
        *Public.* ``"rows"``: the features of each column have norm 1 at most, and a model clips the
        row. ``"blocks"``: all features are divided by one number, so that no row is longer than 1
        and none is clipped at that norm. The model is then exactly additive, but noisier.
    solver : str or Solver, default "auto"
        *Public.* How the coefficients are learnt: a name of `skdp.solvers.SOLVERS` or an instance.
        ``"auto"`` takes ``"regularized_exponential"``, or ``"noisy_gd"`` where that one's run would
        have more than 128 steps, or 64 with several scores a record, and for more than 1024
        columns or with `groups`; `solver_` says which.
    random_state : None, int, Generator or RandomState
        *Secret.* ``None`` takes fresh entropy from the operating system for each fit. A seed voids
        the guarantee, for whoever knows it can subtract the noise, and is refused beside a budget:
        for tests only.
    verbose : int
        *Public.* Above 0, show steps done, by tqdm where it is installed; their number is public.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_out,)
        *Released*, computed from what was rounded to a public grid, or rounded itself.
    coef_noise_bound_ : float or None
        *Public, or computed from the noisy count*: σ such that the privacy noise in the product of
        a vector v and the coefficients has a standard deviation of at most σ·\|v\|, to first order
        where the solver takes steps; 0 without privacy, None for a solver of which no bound is
        known. Where the solver has released a metric, bands of effects are narrower by it, and
        hold for fits in that metric.
    feature_map_ : object
        *Public*, with ``bounds="auto"`` *released*. The map of rows to features;
        `skdp.features.AdditiveFeatures` makes the same from bounds.
    term_names_ : list of str
        *Public.* Columns of numbers, columns of categories, then pairs.
    target_bounds_ : (float, float)
        *Public.* The interval to which prediction clips scores, on the scale of `target_transform`.

    Notes
    -----
    **Guarantee.** As `DPLinearRegression`, of rows Φ(x) in place of x: the map Φ is public, so
    neighbouring tables have neighbouring features, clipped to the same public norm (*Feature maps*
    in the documentation). Transforming a target by a public function costs nothing.
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
        bounds: Any = None,
        categories: Any = None,
        target_bounds: Any = None,
        max_weight: float | None = None,
        max_rows: int | None = None,
        missing: str = "indicator",
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: Any = None,
        target_transform: Any = None,
        n_terms: int = 8,
        linear_share: float = 0.5,
        transformation: Any = None,
        reference: Any = None,
        interactions: Any = None,
        norm: str = "rows",
        solver: Any = "auto",
        random_state: Any = None,
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
        self.norm = norm

    term_names_ = property(term_names)
    explain_global = explain_global
    explain_local = explain_local
    term_importances = term_importances

    def _features(self) -> AdditiveFeatures:
        return features_of(self)

    def _plan_fit(self, parameters: ReleaseParameters, records: LinearRecords) -> Any:
        plan = super()._plan_fit
        if is_auto(self.bounds):
            return plan_ranked(parameters, records, plan)
        return plan(parameters, records)

    def _read_fit(self, plan: Any, records: LinearRecords, rng: np.random.Generator) -> Any:
        read = super()._read_fit
        if is_auto(self.bounds):
            return read_ranked(plan, records, rng, read)
        return read(plan, records, rng)

    def _publish(self, plan: Any, records: Any, released: Any, guarantee: PrivacyGuarantee) -> Any:
        records, learnt = unranked(records, released)
        noise = noise_of(learnt, self._unit(records.facts.task))
        self.coef_noise_bound_, self._noise_root_ = noise
        return super()._publish(plan, records, learnt, guarantee)
