"""Scalers and clippers of privately released numbers."""

from __future__ import annotations

from abc import abstractmethod
from itertools import compress
from typing import Any, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import PrivateEstimator, ReleaseParameters, ReleasePlan, warn_paid
from skdp.budget import PrivacyBudget
from skdp.data.lazy import lazy_on_blocks
from skdp.data.records import Records
from skdp.data.validation import bounds_of_columns, encoding_for, validated_numbers
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._moments import BoundedStatistic, Facts, bounded
from skdp.statistics.means import Variance, VarianceStatistic, spread
from skdp.statistics.quantile import Quantile, QuantileStatistic
from skdp.support.types import Bounds, MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_real, parameters


@parameters
class PrivateScaler(
    OneToOneFeatureMixin, TransformerMixin, PrivateEstimator[Records[Facts], ReleasePlan, Any]
):
    """A scaler by a private statistic of each column, after clipping to public bounds."""

    takes_infinite_epsilon = False

    bounds: Bounds | None = None
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: PrivacyBudget | None = None

    def fit(
        self,
        X: MatrixLike,
        y: None = None,
        sample_weight: None = None,
        groups: VectorLike | None = None,
    ) -> Self:
        """Learn the scale of each column privately.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Values outside `bounds` are clipped. Missing values count as the middle of
            the bounds.
        y : None
            Ignored.
        sample_weight : None
            Weights raise ValueError.
        groups : array-like of shape (n_samples,) or None, default None
            *Private.* The person of each row. All rows of a person are one record. ``None``: each
            row is a record.

        Returns
        -------
        self : object
            The fitted scaler.

        Raises
        ------
        ValueError, BudgetExceededError, BudgetClosedError
            If an argument is wrong, or the budget does not admit the fit; then nothing is read.
        """
        fitted: Self = self._fit_privately(X, sample_weight=sample_weight, groups=groups)
        return fitted

    @lazy_on_blocks
    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the rows, clipped as in `fit` and scaled.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Values outside `bounds` are clipped. Missing values count as the middle of the bounds.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            As private as X: each row depends on one row of X and on released numbers.
        """
        check_is_fitted(self, "privacy_")
        X = validated_numbers(self, X, reset=False)
        return self._scaled(bounds_of_columns(self).clip(X))

    def get_feature_names_out(self, input_features: VectorLike = None) -> np.ndarray:
        """Return the names of the columns of the output.

        Parameters
        ----------
        input_features : array-like of str or None, default None
            *Public.* Names of the features. ``None``: the names in `fit`, or x0, x1, and so on.

        Returns
        -------
        ndarray of str
            The names of the features, without those that a schema leaves out.
        """
        names: np.ndarray = super().get_feature_names_out(input_features)
        encoding = encoding_for(self)
        return names if encoding is None else np.array(encoding.encoded_names, dtype=object)

    def _check_data(
        self,
        parameters: ReleaseParameters,
        X: MatrixLike,
        *,
        sample_weight: None,
        groups: VectorLike | None = None,
    ) -> Records[Facts]:
        if sample_weight is not None:
            raise ValueError(
                f"{type(self).__name__} does not take sample_weight: weights are private, and no "
                "public bound limits them."
            )
        records = Records.of(self, X, groups=groups)
        return bounded(records, bounds_of_columns(self))

    def _plan(self, parameters: ReleaseParameters, records: Records[Facts]) -> ReleasePlan:
        plan: ReleasePlan = self._statistic()._plan(parameters, records)
        return plan

    def _read(self, plan: ReleasePlan, records: Records[Facts], rng: np.random.Generator) -> Any:
        return self._statistic()._read(plan, records, rng)

    def _publish(
        self, plan: ReleasePlan, records: Records[Facts], released: Any, guarantee: PrivacyGuarantee
    ) -> Self:
        self._keep(self._statistic()._publish(plan, records, released, guarantee))
        self.privacy_ = guarantee
        return self

    def _is_gaussian(self) -> bool:
        return self._statistic()._is_gaussian()

    @abstractmethod
    def _statistic(self) -> BoundedStatistic[Any, Any]: ...

    @abstractmethod
    def _keep(self, found: Any) -> None:
        """Set the released attributes from the statistic's result."""

    @abstractmethod
    def _scaled(self, X: np.ndarray) -> np.ndarray:
        """Return scaled rows; X may be overwritten."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.allow_nan = True
        return tags


@parameters
class DPMinMaxScaler(PrivateScaler):
    """Map each feature to [−1, 1] by a low and a high private quantile.

    The quantiles replace the minimum and the maximum, which would reveal single records. Values
    beyond them are clipped.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n. ``None``: the budget's δ, or
        1e-5.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None, default None
        *Public.* Budget that `fit` spends from before it reads the data.
    tail : float in (0, 0.5), default 0.01
        *Public.* The quantiles are `tail` and 1 − `tail`.
    random_state : int, Generator, RandomState or None, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    data_min_, data_max_ : ndarray of shape (n_features,)
        *Released* quantiles.
    privacy_ : PrivacyGuarantee
        *Public.* The release and its guarantee.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** That of `skdp.statistics.quantile`, which charges both quantiles of a column
    jointly under ``add_remove_one``. A model behind this scaler spends too: give both one budget,
    as `skdp.pipeline.make_private_pipeline` does.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPMinMaxScaler
    >>> ages = np.arange(9000.0)[:, None] % 90
    >>> scaler = DPMinMaxScaler(bounds=(0, 1000), random_state=0).fit(ages)
    >>> scaler.data_min_.round(), scaler.data_max_.round()
    (array([0.]), array([89.]))
    """

    tail: float = 0.01
    random_state: RandomState = None

    def _statistic(self) -> QuantileStatistic:
        tail = check_real("tail", self.tail, low=0.0, high=0.5)
        return QuantileStatistic(self.bounds, [tail, 1.0 - tail])

    def _keep(self, found: Quantile) -> None:
        self.data_min_, self.data_max_ = found.value

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        half = 0.5 * (self.data_max_ - self.data_min_)
        X -= self.data_min_ + half
        X /= np.where(half > 0.0, half, 1.0)
        return np.clip(X, -1.0, 1.0, out=X)


@parameters
class DPQuantileClipper(PrivateScaler):
    """Clip each feature to two private quantiles.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n. ``None``: the budget's δ, or
        1e-5.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None, default None
        *Public.* Budget that `fit` spends from before it reads the data.
    quantiles : pair of float, default (0.01, 0.99)
        *Public.* Two increasing probabilities in [0, 1].
    random_state : int, Generator, RandomState or None, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    low_, high_ : ndarray of shape (n_features,)
        *Released* quantiles.
    privacy_ : PrivacyGuarantee
        *Public.* The release and its guarantee.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** That of `skdp.statistics.quantile`, which charges both quantiles of a column
    jointly under ``add_remove_one``. A model behind this clipper spends too: give both one budget,
    as `skdp.pipeline.make_private_pipeline` does.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPQuantileClipper
    >>> incomes = np.append(np.arange(9999.0), 1e9)[:, None]
    >>> clipper = DPQuantileClipper(bounds=(0, 1e5), random_state=0).fit(incomes)
    >>> clipper.transform(incomes)[[0, 5000, -1]].round(-2)
    array([[ 100.],
           [5000.],
           [9900.]])
    """

    quantiles: tuple[float, float] = (0.01, 0.99)
    random_state: RandomState = None

    def _statistic(self) -> QuantileStatistic:
        if not (np.shape(self.quantiles) == (2,) and self.quantiles[0] < self.quantiles[1]):
            raise ValueError(
                f"quantiles must be two increasing probabilities, got {self.quantiles!r}."
            )
        return QuantileStatistic(self.bounds, self.quantiles)

    def _keep(self, found: Quantile) -> None:
        self.low_, self.high_ = found.value

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        return np.clip(X, self.low_, self.high_, out=X)


_RISK = 0.617  # Gaussian noise exceeds half its deviation so often; no guarantee rests on it
_HIDDEN = 1e-3  # risk that a variance that is hidden by noise is not named


@parameters
class DPStandardScaler(PrivateScaler):
    """Shift and scale each feature to mean 0 and variance 1, by private means and variances.

    Let h be half the width of a column's bounds. The variance is lost in the noise if the standard
    deviation is below about √(5√d/(εn))·h, for d columns, n records and δ = 1e-5. Then `scale_` is
    closer to that number, and the scaled column is small instead of dominating the others. If all
    standard deviations are at least h/3, use `BoundsScaler`: models after it are as accurate, and
    it spends nothing.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n. ``None``: the budget's δ, or
        1e-5.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None, default None
        *Public.* Budget that `fit` spends from before it reads the data.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`; "auto" minimizes the variance.
    random_state : int, Generator, RandomState or None, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    mean_, var_, scale_ : ndarray of shape (n_features,)
        *Released.* `scale_` is the root of `var_`, but at least the root of the size that the noise
        in `var_` exceeds with probability 0.62.
    privacy_ : PrivacyGuarantee
        *Public.* The release and its guarantee.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** That of `skdp.statistics.variance`. A model behind this scaler spends too: give
    both one budget, as `skdp.pipeline.make_private_pipeline` does.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPStandardScaler
    >>> heights = np.random.default_rng(0).normal(170.0, 10.0, size=(5000, 1))
    >>> scaler = DPStandardScaler(bounds=(0, 250), random_state=0).fit(heights)
    >>> scaler.mean_.round(), scaler.scale_.round()
    (array([170.]), array([9.]))
    """

    noise: str = "auto"
    random_state: RandomState = None

    def _statistic(self) -> VarianceStatistic:
        return VarianceStatistic(self.bounds, self.noise)

    def _keep(self, found: Variance) -> None:
        means, bounds = found._means, found._bounds
        self.mean_ = bounds.middle + bounds.half * means.mean("x")
        self.var_ = bounds.half**2 * spread(means)
        least, names = found._half_width(_RISK), dict(found._labels.axes)["column"]
        self.scale_ = np.sqrt(np.maximum(self.var_, least))
        for sentence in means.at_bounds(names):
            warn_paid(sentence)
        if hidden := [*compress(names, self.var_ <= found._half_width(_HIDDEN))]:
            warn_paid(
                f"Noise hides the variance of columns {hidden}: scale_ is mostly noise. Pass "
                "narrower bounds, or use more rows or a larger epsilon."
            )

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        X -= self.mean_
        X /= self.scale_
        return X
