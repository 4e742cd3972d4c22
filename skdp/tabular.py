"""Private models of tables that choose their features by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skdp.budget import BudgetHandle
from skdp.features import AutoFeatures
from skdp.linear_model.linear_regression import LeastSquaresModel
from skdp.linear_model.logistic import LogisticModel
from skdp.solvers import Solver
from skdp.support.types import Bounds, Categories, Label, RandomState, Transformation
from skdp.support.validation import parameters

__all__ = ["DPTabularClassifier", "DPTabularRegressor"]


def _table_features(model: BaseEstimator) -> AutoFeatures:
    return AutoFeatures(
        bounds=model.bounds,
        categories=model.categories,
        missing=model.missing,
        transformation=model.transformation,
    )


@parameters
class DPTabularClassifier(LogisticModel):
    r"""Classification of a table with (ε, δ)-differential privacy: start here.

    The model is a `DPLogisticRegression` of features that it chooses by public facts: straight
    lines for few rows, curves of each column for more, and interactions for many. `AutoFeatures`
    of `skdp.features` has the rule. The coefficients equal those of `DPLogisticRegression` with
    ``features=AutoFeatures(...)``, bit for bit. Use that class to set its other parameters. Data
    frames are accepted.

    Use `DPAdditiveClassifier` instead if you need to explain the model.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict, TableSchema or "auto"
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Never taken from the data: see :term:`bounds`. ``"auto"``, for all columns or
        in a dict, spends a tenth of μ² on histograms: ranks in them replace the values.
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
    transformation : None, "log" or dict, default None
        *Public.* Scale of numeric columns. Use ``"log"`` for amounts and counts. A dict maps
        columns to ``None``, ``"log"`` (unit 1) or the unit of a logarithmic scale.
    class_weight : dict or None
        *Public.* Weights by label; the largest scales the noise. ``"balanced"`` raises ValueError.
    n_samples_hint : int or None
        *Public.* A guess of n for ``add_remove_one``; it should not be too low. ``None``: estimate
        n with 1 % of μ². See :term:`n_samples_hint`.
    subsample : float in (0, 1], "auto" or None
        *Public.* Probability with which each row is used. ``"auto"`` aims at a million rows.
        ``None``: all rows in memory, ``"auto"`` for Dask if that costs no more. See
        :term:`subsample`.
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
    features_ : AdditiveFeatures or FeatureMixture
        *Public, or computed from released numbers.* The chosen features.
    feature_map_ : object
        *Public, or computed from released numbers.* The map of rows to features. Its method
        `get_feature_names_out` names the coefficients.
    coef_ : ndarray of shape (1, n_features_out) for two classes, else (n_classes, n_features_out)
        *Released.*

    Notes
    -----
    **Guarantee.** As `DPLogisticRegression`: the features are public functions of single rows. The
    choice depends on public facts, or on a released count and two short fits, whose costs are part
    of `privacy_`.
    **Assumed.** As there; bounds and categories come from knowledge, never from the data.

    The other attributes are those of `DPLogisticRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skdp import DPTabularClassifier
    >>> rng = np.random.default_rng(0)
    >>> ages, jobs = rng.uniform(17, 90, size=4000), rng.choice(["a", "b"], size=4000)
    >>> table = pd.DataFrame({"age": ages, "job": jobs})
    >>> ill = table["age"] + 20 * (table["job"] == "b") > 60
    >>> model = DPTabularClassifier(
    ...     bounds={"age": (17, 90)}, categories={"job": ["a", "b"]}, random_state=0
    ... )
    >>> model.fit(table, ill).score(table, ill) > 0.9
    True
    >>> type(model.features_).__name__
    'AdditiveFeatures'
    """

    bounds: Bounds | None = None
    categories: Categories | None = None
    classes: ArrayLike | None = None
    max_weight: float | None = None
    max_rows: int | None = None
    missing: str = "indicator"
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: BudgetHandle | None = None
    transformation: Transformation | None = None
    class_weight: dict[Label, float] | None = None
    n_samples_hint: int | None = None
    subsample: float | Literal["auto"] | None = None
    solver: str | Solver = "auto"
    random_state: RandomState = None
    verbose: int = 0

    _features = _table_features


@parameters
class DPTabularRegressor(LeastSquaresModel):
    r"""Regression on a table with (ε, δ)-differential privacy: start here.

    The model is a `DPLinearRegression` of features that it chooses by public facts: straight lines
    for few rows, curves of each column for more, and interactions for many. `AutoFeatures` of
    `skdp.features` has the rule. The coefficients equal those of `DPLinearRegression` with
    ``features=AutoFeatures(...)``, bit for bit. Use that class to set its other parameters. Data
    frames are accepted.

    Use `DPAdditiveRegressor` instead if you need to explain the model.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict, TableSchema or "auto"
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Never taken from the data: see :term:`bounds`. ``"auto"``, for all columns or
        in a dict, spends a tenth of μ² on histograms: ranks in them replace the values.
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
    transformation : None, "log" or dict, default None
        *Public.* Scale of numeric columns. Use ``"log"`` for amounts and counts. A dict maps
        columns to ``None``, ``"log"`` (unit 1) or the unit of a logarithmic scale.
    target_transform : None, "log", "sqrt" or number, default None
        *Public.* Scale of the targets while learning: ``"log"`` sign(y)·log(1 + \|y\|), ``"sqrt"``
        sign(y)·√\|y\|, or a number, the unit of the logarithm. Predictions are then medians rather
        than means.
    n_samples_hint : int or None
        *Public.* A guess of n for ``add_remove_one``; it should not be too low. ``None``: estimate
        n with 1 % of μ². See :term:`n_samples_hint`.
    subsample : float in (0, 1], "auto" or None
        *Public.* Probability with which each row is used. ``"auto"`` aims at a million rows.
        ``None``: all rows in memory, ``"auto"`` for Dask if that costs no more. See
        :term:`subsample`.
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
    features_ : AdditiveFeatures or FeatureMixture
        *Public, or computed from released numbers.* The chosen features.
    feature_map_ : object
        *Public, or computed from released numbers.* The map of rows to features. Its method
        `get_feature_names_out` names the coefficients.
    coef_ : ndarray of shape (n_features_out,)
        *Released.*

    Notes
    -----
    **Guarantee.** As `DPLinearRegression`: the features are public functions of single rows. The
    choice depends on public facts, or on a released count and two short fits, whose costs are part
    of `privacy_`.
    **Assumed.** As there; bounds and categories come from knowledge, never from the data.

    The other attributes are those of `DPLinearRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skdp import DPTabularRegressor
    >>> rng = np.random.default_rng(0)
    >>> ages, jobs = rng.uniform(17, 90, size=4000), rng.choice(["a", "b"], size=4000)
    >>> table = pd.DataFrame({"age": ages, "job": jobs})
    >>> cost = 0.01 * table["age"] + 0.3 * (table["job"] == "b")
    >>> model = DPTabularRegressor(
    ...     bounds={"age": (17, 90)},
    ...     categories={"job": ["a", "b"]},
    ...     target_bounds=(0, 2),
    ...     random_state=0,
    ... )
    >>> people = pd.DataFrame({"age": [20.0, 80.0], "job": ["a", "b"]})
    >>> model.fit(table, cost).predict(people).round(1)
    array([0.2, 1.1])
    """

    bounds: Bounds | None = None
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
    transformation: Transformation | None = None
    n_samples_hint: int | None = None
    subsample: float | Literal["auto"] | None = None
    solver: str | Solver = "auto"
    random_state: RandomState = None
    verbose: int = 0

    _features = _table_features
