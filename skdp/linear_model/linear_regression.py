"""Differentially private regression of means and of counts, and the base of all regressors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression, PoissonRegressor, Ridge
from sklearn.metrics import d2_tweedie_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from skdp._private_fit import ReleaseParameters, warn_paid
from skdp.data.lazy import lazy_on_blocks
from skdp.data.records import Records
from skdp.data.validation import check_no_missing
from skdp.linear_model._base import PrivateLinearModel, can_resume
from skdp.linear_model._first_releases import is_searchable, plan_search
from skdp.linear_model._last_releases import MeanShift, shift_kind
from skdp.linear_model._plans import Compared, FitPlan, is_gaussian
from skdp.linear_model._records import AnyMap, LinearRecords, TargetRange, TargetScale
from skdp.losses import Loss, SquaredLoss
from skdp.losses.regression import PoissonLoss
from skdp.samplers import Sampler
from skdp.solvers import Solver
from skdp.support.types import MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_real, parameters

if TYPE_CHECKING:
    from skdp.budget import BudgetHandle


FactsT = TypeVar("FactsT")
_LARGEST_BOUND = 1e50
_TOO_WIDE = (
    "Most targets have one value, and noise hides how far the others are from it. If they fill "
    "less than a tenth of target_bounds, pass narrower bounds: the noise of the fit grows "
    "with their width."
)
_CLIPPED = (
    "Most targets lie within a five-hundredth of target_bounds, and those outside of the range "
    "that was found, target_bounds_, are clipped. Pass narrower bounds that hold all that matter."
)
_TOO_FEW = (
    "no range of the targets narrower than target_bounds is searched for, and the noise of the fit "
    "grows with their width. Pass the narrowest bounds that are known to hold the targets."
)
_NARROW = 0.1  # of the bounds; no guarantee rests on it
_NOT_SEARCHED = (
    "Predictions fill less than a tenth of target_bounds, and this fit does not look for a "
    "narrower range. If the targets fill as little, pass narrower bounds: the noise of the fit "
    "grows with their width."
)
_EVERYTHING = TargetRange(-math.inf, math.inf)


class PrivateLinearRegressor(RegressorMixin, PrivateLinearModel[TargetRange]):
    """A linear regressor, learned privately.

    Its task is the range of the targets, on the scale of `target_transform`.
    """

    target_transform: str | float | None = None
    _first_releases = (plan_search, *PrivateLinearModel._first_releases)

    @available_if(can_resume)
    def partial_fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        sample_weight: VectorLike | None = None,
        groups: VectorLike | None = None,
    ) -> Self:
        """Learn from more rows, starting from the released coefficients, with ``solver="dp_sgd"``.

        Each call spends (`epsilon`, `delta`), and `privacy_` is the composition of all calls, if
        their parameters were fixed beforehand. Calls on disjoint partitions do not add up:
        ``set_params(budget=budget.at(partition=k))``. A call that fails after the spend drops the
        coefficients and `privacy_`; only the ledger of the budget keeps the earlier costs.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* As in `fit`.
        y : array-like or dask collection of shape (n_samples,)
            *Private.* As in `fit`.
        sample_weight : array-like or dask collection of shape (n_samples,) or None
            *Private.* As in `fit`.
        groups : array-like of shape (n_samples,) or None
            *Private.* As in `fit`; in every call or in none. All rows of a person belong to one
            partition.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            As in `fit`. Nothing is spent.
        """
        resume, more = hasattr(self, "coef_"), {"sample_weight": sample_weight, "groups": groups}
        return self._fit_privately(X, y, resume=resume, **more)

    def _warn(
        self,
        parameters: ReleaseParameters,
        plan: FitPlan,
        records: LinearRecords[TargetRange],
    ) -> None:
        super()._warn(parameters, plan, records)
        n = records.facts.n_known
        if not parameters.is_private or n is None or parameters.are_few(n):
            return
        if not is_searchable(parameters, n):
            parameters.warn_of_noise(n, _TOO_FEW)

    def _learned_coefficients(self, task: TargetRange) -> tuple[np.ndarray, np.ndarray]:
        intercept = (np.atleast_1d(self.intercept_) - task.middle) / task.half_width
        return np.atleast_2d(self.coef_) / task.half_width, intercept - _start_of(self, task)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not self._is_reference:
            self._target_range()
        self._loss_of(_EVERYTHING)

    def _target_range(self) -> TargetRange:
        low = high = math.nan
        with suppress(TypeError, ValueError):
            low, high = (float(side) for side in self.target_bounds)
        if not (max(-low, high) < _LARGEST_BOUND and TargetRange(low, high).half_width > 0.0):
            raise ValueError(
                "target_bounds must be a pair of numbers (low, high) with low < high, both within "
                f"±{_LARGEST_BOUND:g}, got {self.target_bounds!r}. There is no default: pass the "
                "interval of the targets, from public knowledge."
            )
        low, high = TargetScale.of(self.target_transform).scaled(np.array([low, high])).tolist()
        return TargetRange(low, high, marks_outside=bool(self.standard_errors))

    def _with_targets(
        self, records: Records[AnyMap], known_task: TargetRange | None
    ) -> tuple[Records[AnyMap], TargetRange]:
        """Return the targets on their scale, and their public range; all without privacy."""
        task = _EVERYTHING if self._is_reference else self._target_range()
        records = records.mapped(partial(_scaled, TargetScale.of(self.target_transform)))
        records.check(lambda rows: None)  # `_scaled` checks the targets
        return records, task

    def _last_releases(
        self, parameters: ReleaseParameters, records: LinearRecords[TargetRange]
    ) -> Sequence[MeanShift]:
        kind = shift_kind(self._loss_of(records.facts.task))
        if kind is None or self.standard_errors or not self.fit_intercept:
            return ()
        return kind.plan(parameters, records) if is_gaussian(parameters, records) else ()

    def _publish_coefficients(
        self, coef: np.ndarray, intercept: np.ndarray, task: TargetRange
    ) -> None:
        intercept = intercept + _start_of(self, task)
        intercept = task.middle + task.half_width * intercept + task.shift
        self._set_coefficients(task.half_width * coef, intercept, task)
        reach = float(np.linalg.norm(coef, axis=1).max()) * self.data_norm
        is_searched = task.is_searched or task.is_doubtful
        if reach < _NARROW and not is_searched and self.epsilon != math.inf:
            warn_paid(_NOT_SEARCHED)

    def _unit(self, task: TargetRange) -> float:
        return task.half_width

    def _publish_reference(self, reference: BaseEstimator, task: TargetRange) -> None:
        self._set_coefficients(
            np.atleast_2d(reference.coef_), np.atleast_1d(reference.intercept_), task
        )

    def _set_coefficients(self, coef: np.ndarray, intercept: np.ndarray, task: TargetRange) -> None:
        """Set arrays with one row per output, or a vector and a number for a single output."""
        one = len(coef) == 1
        self.coef_ = coef[0] if one else coef
        self.intercept_ = float(intercept[0]) if one else intercept
        self.target_bounds_ = self._ends(task)
        if task.is_doubtful:
            is_found = task.half_width < self._target_range().half_width
            searched = _CLIPPED if is_found else _TOO_WIDE
            warn_paid(searched if task.is_searched else f"With so few records {_TOO_FEW}")

    def _ends(self, task: TargetRange) -> tuple[float, float]:
        """Return the range of predictions. One that was found is shifted as they are."""
        if task.shift == 0.0 or (bounds := self._target_range()).half_width == task.half_width:
            return task.low, task.high
        return max(task.low + task.shift, bounds.low), min(task.high + task.shift, bounds.high)

    @lazy_on_blocks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict targets, clipped to `target_bounds`, for rows clipped as in `fit`.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_outputs) for several
            Predictions, in the units of the targets. They are as private as X.
        """
        predictions = self._predicted(self._scores(X))
        return predictions.ravel() if np.ndim(self.coef_) == 1 else predictions

    def _plain(self) -> list[BaseEstimator]:
        from skdp.linear_model._plain import plain_regressor

        sorts = type(self).predict is not PrivateLinearRegressor.predict and np.ndim(self.coef_) > 1
        is_linear = type(self)._predicted is PrivateLinearRegressor._predicted
        if sorts or not is_linear or TargetScale.of(self.target_transform) != TargetScale(None):
            raise ValueError(
                f"{type(self).__name__} transforms its predictions, which a linear model of "
                "scikit-learn does not."
            )
        return plain_regressor(*self.target_bounds_, n_scores=np.size(self.intercept_))

    def _predicted(self, scores: np.ndarray) -> np.ndarray:
        """Convert scores to targets."""
        return TargetScale.of(self.target_transform).unscaled(np.clip(scores, *self.target_bounds_))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self.epsilon != math.inf  # noise, on tiny data
        return tags


def _start_of(model: PrivateLinearRegressor, task: TargetRange) -> Any:
    """Return the predictions, on the scale of the loss, at which its scores are 0."""
    return getattr(model._loss_of(task), "start", 0.0)


def _scaled(scale: TargetScale, records: Records[FactsT]) -> Records[FactsT]:
    """Return records with checked targets as numbers on the scale."""
    y = records.y
    check_no_missing("y", y)
    try:
        y = y.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        # NumPy's message quotes a value.
        raise ValueError("y must hold numbers. Use a classifier for labels.") from None
    if not np.isfinite(y).all():  # scikit-learn does not check strings, for example
        raise ValueError("y must hold finite numbers.")
    return replace(records, y=scale.scaled(y))


def _half_squares(y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return 0.5 * (y - np.clip(scores, -1.0, 1.0)) ** 2  # Lipschitz with 2, as all are in [−1, 1]


class LeastSquaresModel(PrivateLinearRegressor):
    """A regression of means. Its attributes are the values of parameters that a class lacks."""

    with_errors: ClassVar[tuple[str, ...]] = ("objective_perturbation", "adassp")
    slope_bound: float = 0.25
    intercept_scaling: float = 0.5

    @staticmethod
    def _compared() -> Compared:
        return Compared(_half_squares, 0.03, 0.0002)

    def _loss_of(self, task: TargetRange) -> Loss:
        return SquaredLoss(check_real("slope_bound", self.slope_bound, low=1e-6, high=1e6))

    def _reference(self, n_samples: int) -> LinearRegression | Ridge:
        if isinstance(self.C, Real):
            return Ridge(alpha=1.0 / self.C, fit_intercept=self.fit_intercept)
        return LinearRegression(fit_intercept=self.fit_intercept)


@parameters
class DPLinearRegression(LeastSquaresModel):
    """Linear regression by least squares with (ε, δ)-differentially private coefficients.

    The solver learns the coefficients from rows clipped to `data_norm` and targets scaled from
    `target_bounds` to [−1, 1], with the squared loss, its derivative clipped at ±`slope_bound`. The
    defaults depend on public numbers only, so no parameter needs tuning on the data. See *Which
    solver?* in the user guide. A number for `C` makes it ridge regression. With enough rows,
    predictions are shifted so that their mean is right (*Models* in the user guide).

    ``solver="adassp"`` releases the moments AᵀA and Aᵀy with Gaussian noise instead and solves the
    normal equations. It is exact least squares for large n·ε and up to some thousand columns,
    noisier otherwise, and takes no weights. ``"auto"`` takes it where its noise is small. With
    ``epsilon=inf`` it is scikit-learn's `LinearRegression`, or ``Ridge(alpha=1/C)`` if `C` is a
    number, and nothing is clipped.

    Parameters
    ----------
    target_bounds : (float, float)
        *Public.* Interval of the targets, from prior knowledge; required. Targets and predictions
        are clipped to it. If it is far too wide, `fit` finds a narrower one: see
        :term:`target_bounds`.
    features : transformer or None, default None
        *Public.* Feature map: one of `skdp.features`, or scikit-learn transformers that read one
        row at a time and learn nothing. X may then be a data frame with strings and missing values.
        ``None``: the columns of X.
    data_norm : float, default 1.0
        *Public.* Rows are scaled down to at most this l2 norm, in `fit` and in prediction. Scale
        columns by public bounds first, for example with `skdp.preprocessing.BoundsScaler`.
    max_weight : float or None
        *Public.* Private fits clip `sample_weight` to [0, max_weight]; the noise is proportional to
        it. ``None``: weights raise ValueError.
    max_rows : int or None
        *Public.* Maximum number of rows used per person. If a person has more, `fit` draws a random
        subset. ``None``: 16,384. Only used with `groups`.
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
    C : float or "auto"
        *Public.* Inverse regularization strength: the penalty on the coefficients and the intercept
        is |θ|²/(2C). ``"auto"`` relies on early stopping; C then has almost no effect.
    slope_bound : float, default 0.25
        *Public.* Bound of the loss's derivative, as a share of half the width of `target_bounds`,
        or of the largest count. The noise is proportional to it. A small bound moves the fit from
        the mean toward the median. Not used by ``"adassp"``.
    fit_intercept : bool, default True
        *Public.* Whether each row gets a constant column.
    intercept_scaling : float, default 0.5
        *Public.* Value of the constant column. Larger values add noise; smaller values slow down
        the intercept.
    center : bool or "auto", default "auto"
        *Public.* Whether to spend a tenth of μ² on a noisy mean of the rows and fit the model to
        shifted rows, for which the same noise weighs less. ``"auto"`` decides by public facts. See
        *A learned center* in the user guide.
    standard_errors : bool or "robust", default False
        *Public.* Whether to release what standard errors, intervals and tests need. `coef_` then
        has no bias from a ridge. ``"robust"``: valid also if the spread of the residuals varies.
        With `groups` they are cluster-robust. See *Standard errors* in the user guide.
    solver : str or Solver, default "auto"
        *Public.* How the coefficients are learned: a name of `skdp.solvers.SOLVERS` or an instance.
        ``"auto"`` picks by public facts (*Which solver?* in the user guide); see `solver_`.
    sampler : str or Sampler, default "auto"
        *Public.* Sampler of the exponential mechanism: a name of `skdp.samplers.SAMPLERS` or an
        instance. ``"auto"`` is ``"proximal"``.
    n_samples_hint : int or None
        *Public.* A guess of n for ``add_remove_one``; it should not be too low. ``None``: estimate
        n with 1 % of μ² if the solver needs it. See :term:`n_samples_hint`.
    subsample : float in (0, 1], "auto" or None
        *Public.* Probability with which each row is used. ``"auto"`` aims at a million rows.
        ``None``: all rows in memory, ``"auto"`` for Dask if that costs no more. See
        :term:`subsample`.
    random_state : None, int, Generator or RandomState
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.
    verbose : int
        *Public.* If positive, show progress.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        *Released*, in units of the targets.
    intercept_ : float
        *Released*, in units of the targets.
    target_bounds_ : (float, float)
        *Public, or released* if a narrower range was found. The interval to which targets and
        predictions are clipped.
    loss_ : Loss
        *Public, or computed from the noisy count.* The loss. Only for private fits.
    solver_ : str
        *Public, or computed from the noisy count.* Name of the solver. Only for private fits.
    n_iter_ : int
        *Public, or computed from what was released.* Number of steps of the solver.
    coef_noise_ : float
        *Public.* Standard deviation of the noise in each coefficient, if the solver adds Gaussian
        noise to an optimum.
    coef_std_error_ : ndarray of the shape of `coef_`
        *Released,* like the next two; only with `standard_errors`. Standard errors, by the sample
        and by the noise; nan if a coefficient is not identified.
    coef_noise_std_ : ndarray of the shape of `coef_`
        The part of `coef_std_error_` that is noise.
    coef_covariance_ : ndarray of shape (n_coefficients, n_coefficients)
        Covariance of the coefficients and, last, the intercept.
    privacy_ : PrivacyGuarantee
        *Public.* The release and its guarantee.
    feature_map_ : object
        *Public.* The feature map; only with `features`. Its method `get_feature_names_out` names
        the coefficients.
    data_norm_ : float
        *Public.* The norm to which prediction clips rows.
    n_features_in_ : int
        *Public.* Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** (`epsilon`, `delta`)-DP under `neighboring`, and by default also
    `privacy_.gdp_mu`-Gaussian DP. Of many features `privacy_` may be another curve (*Steps on
    samples* in the user guide). Samples: Gopi, Lee and Liu 2022, Theorem 4.1, and for finite runs
    Theorem A' (*Finitely many steps* in the user guide). Noisy steps: Dong, Roth and Su 2022,
    Corollary 2 (*The frontier*).
    ``"adassp"``: the Gaussian mechanism (*Least squares from noisy moments*).
    **Assumed.** Records are finite vectors with finite targets; all parameters, the columns and,
    under ``replace_one``, n are public; the noise is secret; running time is not observed.
    **Uncertainty.** `standard_errors`: *Standard errors* in the user guide.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(2000, 2))
    >>> y = X @ [1.0, -0.5] + 0.1 * rng.normal(size=2000)
    >>> model = DPLinearRegression(target_bounds=(-1, 1), random_state=0).fit(X, y)
    >>> round(model.privacy_.gdp_mu, 6)
    0.268051
    >>> model.score(X, y) > 0.7
    True
    """

    target_bounds: Sequence[float] | None = None
    features: BaseEstimator | None = None
    data_norm: float = 1.0
    max_weight: float | None = None
    max_rows: int | None = None
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: BudgetHandle | None = None
    C: float | Literal["auto"] = "auto"
    slope_bound: float = 0.25
    fit_intercept: bool = True
    intercept_scaling: float = 0.5
    center: bool | Literal["auto"] = "auto"
    standard_errors: bool | Literal["robust"] = False
    solver: str | Solver = "auto"
    sampler: str | Sampler = "auto"
    n_samples_hint: int | None = None
    subsample: float | Literal["auto"] | None = None
    random_state: RandomState = None
    verbose: int = 0


class DPPoissonRegressor(DPLinearRegression):
    """Poisson regression of counts and rates with (ε, δ)-differentially private coefficients.

    The model is E[y] = exp(x·coef + intercept), a generalized linear model with a log link: each
    coefficient multiplies the expected count. Targets are at least 0, so pass
    ``target_bounds=(0, high)``. For rates pass ``y = counts / exposure``, the exposure as
    `sample_weight`, as to scikit-learn, and its bound as `max_weight`. This is the model of counts
    with the offset log(exposure). The loss is e^s − t·s, with the score s, the offset included, and
    the count t divided by `high` or, for rates, by `high` · `max_weight`. Its derivative is clipped
    at `slope_bound`. So rates above `high` count in full, if their counts are not too large.

    Solvers, ridge and intercept are those of `DPLinearRegression`, with scores on the scale of
    logarithms. With ``epsilon=inf`` it is scikit-learn's `PoissonRegressor`, with ``alpha=1/(C·n)``
    if `C` is a number, and nothing is clipped.

    Parameters
    ----------
    target_bounds : (float, float)
        *Public.* Interval of the targets, from prior knowledge; required. Targets and predictions
        are clipped to it. If it is far too wide, `fit` finds a narrower one: see
        :term:`target_bounds`.
    features : transformer or None, default None
        *Public.* Feature map: one of `skdp.features`, or scikit-learn transformers that read one
        row at a time and learn nothing. X may then be a data frame with strings and missing values.
        ``None``: the columns of X.
    data_norm : float, default 1.0
        *Public.* Rows are scaled down to at most this l2 norm, in `fit` and in prediction. Scale
        columns by public bounds first, for example with `skdp.preprocessing.BoundsScaler`.
    max_weight : float or None
        *Public.* Private fits clip `sample_weight` to [0, max_weight]; the noise is proportional to
        it. ``None``: weights raise ValueError.
    max_rows : int or None
        *Public.* Maximum number of rows used per person. If a person has more, `fit` draws a random
        subset. ``None``: 16,384. Only used with `groups`.
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
    C : float or "auto"
        *Public.* Inverse regularization strength: the penalty on the coefficients and the intercept
        is |θ|²/(2C). ``"auto"`` relies on early stopping; C then has almost no effect.
    slope_bound : float, default 0.25
        *Public.* Bound of the loss's derivative, as a share of half the width of `target_bounds`,
        or of the largest count. The noise is proportional to it. A small bound moves the fit from
        the mean toward the median. Not used by ``"adassp"``.
    fit_intercept : bool, default True
        *Public.* Whether each row gets a constant column.
    intercept_scaling : float, default 0.5
        *Public.* Value of the constant column. Larger values add noise; smaller values slow down
        the intercept.
    center : bool or "auto", default "auto"
        *Public.* Whether to spend a tenth of μ² on a noisy mean of the rows and fit the model to
        shifted rows, for which the same noise weighs less. ``"auto"`` decides by public facts. See
        *A learned center* in the user guide.
    standard_errors : bool or "robust", default False
        *Public.* Whether to release what standard errors, intervals and tests of the coefficients,
        the logarithms of rate ratios, need. The variance is proportional to the mean, by a factor
        that `summary` states (quasi-Poisson). ``"robust"``: valid also if it is not, as for weights
        that are not exposures. With `groups` they are cluster-robust.
    solver : str or Solver, default "auto"
        *Public.* How the coefficients are learned: a name of `skdp.solvers.SOLVERS` or an instance.
        ``"auto"`` picks by public facts (*Which solver?* in the user guide); see `solver_`.
    sampler : str or Sampler, default "auto"
        *Public.* Sampler of the exponential mechanism: a name of `skdp.samplers.SAMPLERS` or an
        instance. ``"auto"`` is ``"proximal"``.
    n_samples_hint : int or None
        *Public.* A guess of n for ``add_remove_one``; it should not be too low. ``None``: estimate
        n with 1 % of μ² if the solver needs it. See :term:`n_samples_hint`.
    subsample : float in (0, 1], "auto" or None
        *Public.* Probability with which each row is used. ``"auto"`` aims at a million rows.
        ``None``: all rows in memory, ``"auto"`` for Dask if that costs no more. See
        :term:`subsample`.
    random_state : None, int, Generator or RandomState
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.
    verbose : int
        *Public.* If positive, show progress.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        *Released.*
    intercept_ : float
        *Released* likewise: the logarithm of the expected count of a row of zeros.
    coef_std_error_, coef_noise_std_, coef_covariance_ : ndarray
        *Released,* only with `standard_errors`: see `DPLinearRegression`.
    target_bounds_ : (float, float)
        *Public, or released* if a narrower range was found. No prediction is above the upper bound.

    Notes
    -----
    **Guarantee.** As `DPLinearRegression` without ``"adassp"``. One record more or less changes the
    sum of the losses by a function whose Lipschitz constant is at most `slope_bound` times the
    norm of a row, the constant column included (proof: `skdp.losses.PoissonLoss`). An offset moves
    the argument of a loss, which leaves its Lipschitz constant as it is.
    **Assumed.** As there.

    The other attributes are those of `DPLinearRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPPoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 2))
    >>> visits = rng.poisson(3.0 * np.exp(X @ [2.0, -1.0]))
    >>> model = DPPoissonRegressor(target_bounds=(0, 20), random_state=0).fit(X, visits)
    >>> model.predict([[0.0, 0.0]]).round(1)
    array([2.8])
    """

    with_errors = ("objective_perturbation",)

    def _target_range(self) -> TargetRange:
        target_range = super()._target_range()
        if target_range.low != 0.0:
            raise ValueError(
                "target_bounds of DPPoissonRegressor must begin at 0, for example (0, 20), got "
                f"{self.target_bounds!r}."
            )
        return replace(target_range, counts=True)

    def _loss_of(self, task: TargetRange) -> PoissonLoss:
        return PoissonLoss(check_real("slope_bound", self.slope_bound, low=1e-6, high=1e6))

    def _publish_coefficients(
        self, coef: np.ndarray, intercept: np.ndarray, task: TargetRange
    ) -> None:
        start = self._loss_of(task).start + math.log(task.high) + task.shift
        self._set_coefficients(coef, intercept + start, task)

    def _learned_coefficients(self, task: TargetRange) -> tuple[np.ndarray, np.ndarray]:
        start = self._loss_of(task).start + math.log(task.high)
        return np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_) - start

    def _ends(self, task: TargetRange) -> tuple[float, float]:
        """The upper end of a range that was found moves with the predictions."""
        if task.shift == 0.0 or (most := self._target_range().high) == task.high:
            return task.low, task.high
        return task.low, min(task.high * math.exp(task.shift), most)

    def _unit(self, task: TargetRange) -> float:
        return 1.0  # coefficients are logarithms, which have no unit

    def _reference(self, n_samples: int) -> PoissonRegressor:
        alpha = 1.0 / (float(self.C) * n_samples) if isinstance(self.C, Real) else 1.0
        return PoissonRegressor(alpha=alpha, fit_intercept=self.fit_intercept, max_iter=10_000)

    def _predicted(self, scores: np.ndarray) -> np.ndarray:
        return np.exp(np.minimum(scores, np.log(self.target_bounds_[1])))

    def score(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None) -> float:
        """Compute D², the explained share of the Poisson deviance.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.
        y : array-like of shape (n_samples,)
            *Private.* Targets of at least 0. They are not clipped.
        sample_weight : array-like of shape (n_samples,) or None
            *Private.* Weights of the rows. They are not clipped.

        Returns
        -------
        float
            The score, **not private**: it is computed from these rows without noise.
        """
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
