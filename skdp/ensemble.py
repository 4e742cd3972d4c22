"""Forests of random trees with public splits and privately learned leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skdp.budget import BudgetHandle
from skdp.features import AdditiveFeatures, FeatureMixture, RandomTreeFeatures
from skdp.linear_model._records import dense, scores_of
from skdp.linear_model.linear_regression import LeastSquaresModel
from skdp.linear_model.logistic import LogisticModel
from skdp.solvers import Solver
from skdp.support.types import Bounds, Categories, Label, RandomState, Transformation
from skdp.support.validation import parameters

__all__ = ["DPRandomForestClassifier", "DPRandomForestRegressor"]

_PUBLIC_ROWS = 1000  # shares then have errors of about 0.02; no guarantee rests on it
_COLUMNS = ("bounds", "categories", "transformation", "missing")


def _forest_features(model: BaseEstimator) -> FeatureMixture:
    columns = {name: getattr(model, name) for name in _COLUMNS}
    random = RandomTreeFeatures(
        n_trees=model.n_trees,
        depth=model.depth,
        feature_seed=model.feature_seed,
        **columns,
    )
    return FeatureMixture(
        additive=AdditiveFeatures(n_terms=model.n_terms, **columns),
        random=random,
        additive_share=model.additive_share,
    )


def _column_importances(model: BaseEstimator) -> np.ndarray:
    """Shares of the columns in the variance of scores over rows drawn from the bounds.

    A column's part is half the mean squared change of a score when its value is drawn again, while
    the other columns stay: its total Sobol index.
    """
    check_is_fitted(model, "coef_")
    rng = np.random.default_rng(0)  # public: no secret is drawn from it
    rows, again = (model.feature_map_.facts.even_rows(_PUBLIC_ROWS, rng) for _ in range(2))
    scores, parts = _linear_scores(model, rows), np.zeros(rows.shape[1])
    for j in range(rows.shape[1]):
        changed = rows.copy()
        changed[:, j] = again[:, j]
        parts[j] = ((_linear_scores(model, changed) - scores) ** 2).sum()
    total = parts.sum()
    return parts / total if total > 0.0 else parts


def _linear_scores(model: BaseEstimator, rows: np.ndarray) -> np.ndarray:
    coef = np.atleast_2d(dense(model.coef_))
    return scores_of(model.feature_map_, rows, coef.T, model.data_norm_)


@parameters
class DPRandomForestClassifier(LogisticModel):
    """A forest of totally random trees with (ε, δ)-differentially private leaves.

    The trees follow from public bounds, categories and a public seed, never from the data. Only the
    values of the leaves are learned, jointly for all trees. The coefficients equal those of
    `DPLogisticRegression` with ``features=FeatureMixture(...)`` of `AdditiveFeatures` and
    `RandomTreeFeatures` from `skdp.features`, bit for bit. Use that class to set its other
    parameters. Data frames are accepted.

    A forest learns interactions of columns, and the scale of a column has little effect. Its
    predictions are constant in small boxes. Private fits tend to that with ``epsilon=inf``, which
    has the same clipped rows and a ridge.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
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
    n_trees : int, default 100
        *Public.* T, the number of trees.
    depth : int or pair (least, most), default (1, 8)
        *Public.* Depth of the trees, at most 16. A pair spreads the depths evenly over the trees:
        shallow trees learn smooth effects from few rows, deep trees learn the rest.
    additive_share : float in [0, 1], default 0.5
        *Public.* Share of the additive features, clipped to norm 1, in a row's squared norm. The
        leaves have the rest. 0: no additive features. 1: no leaves.
    n_terms : int, default 8
        *Public.* K, the number of Fourier features of a numeric column.
    transformation : None, "log" or dict, default None
        *Public.* Scale of numeric columns. Use ``"log"`` for amounts and counts. A dict maps
        columns to ``None``, ``"log"`` (unit 1) or the unit of a logarithmic scale.
    feature_seed : int, default 0
        *Public.* Seed of the random features; not secret, unlike `random_state`.
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
    feature_map_ : object
        *Public.* The map of rows to features. Its method `get_feature_names_out` names the
        coefficients.
    feature_importances_ : ndarray of shape (n_features_in_,)
        *Computed from released and public values.* Shares of the columns in the variance of scores
        over rows drawn evenly from the bounds and categories; they sum to 1. They contain the noise
        of the fit, and do not reflect how the columns are distributed or correlated in the data.

    Notes
    -----
    **Guarantee.** As `DPLogisticRegression`: the map Φ is public, so neighboring tables have
    neighboring features Φ(x), clipped to the same public norm (*Feature maps* in the user guide).
    **Assumed.** As there; bounds and categories come from knowledge, never from the data.

    The other attributes are those of `DPLogisticRegression`.

    References
    ----------
    Geurts, Ernst and Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPRandomForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(4000, 2))
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> model = DPRandomForestClassifier(bounds=(-1, 1), random_state=0).fit(X, y)
    >>> model.predict([[0.5, 0.5], [0.5, -0.5]]), round(model.score(X, y), 1)
    (array([1, 0]), 1.0)
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
    n_trees: int = 100
    depth: int | Sequence[int] = (1, 8)
    additive_share: float = 0.5
    n_terms: int = 8
    transformation: Transformation | None = None
    feature_seed: int = 0
    class_weight: dict[Label, float] | None = None
    solver: str | Solver = "auto"
    random_state: RandomState = None
    verbose: int = 0

    _features = _forest_features
    feature_importances_ = property(_column_importances)


@parameters
class DPRandomForestRegressor(LeastSquaresModel):
    r"""A forest of totally random trees with (ε, δ)-differentially private leaves.

    The trees follow from public bounds, categories and a public seed, never from the data. Only the
    values of the leaves are learned, jointly for all trees. The coefficients equal those of
    `DPLinearRegression` with ``features=FeatureMixture(...)`` of `AdditiveFeatures` and
    `RandomTreeFeatures` from `skdp.features`, bit for bit. Use that class to set its other
    parameters. Data frames are accepted.

    A forest learns interactions of columns, and the scale of a column has little effect. Its
    predictions are constant in small boxes. Private fits tend to that with ``epsilon=inf``, which
    has the same clipped rows and a ridge.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
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
    n_trees : int, default 100
        *Public.* T, the number of trees.
    depth : int or pair (least, most), default (1, 8)
        *Public.* Depth of the trees, at most 16. A pair spreads the depths evenly over the trees:
        shallow trees learn smooth effects from few rows, deep trees learn the rest.
    additive_share : float in [0, 1], default 0.5
        *Public.* Share of the additive features, clipped to norm 1, in a row's squared norm. The
        leaves have the rest. 0: no additive features. 1: no leaves.
    n_terms : int, default 8
        *Public.* K, the number of Fourier features of a numeric column.
    transformation : None, "log" or dict, default None
        *Public.* Scale of numeric columns. Use ``"log"`` for amounts and counts. A dict maps
        columns to ``None``, ``"log"`` (unit 1) or the unit of a logarithmic scale.
    feature_seed : int, default 0
        *Public.* Seed of the random features; not secret, unlike `random_state`.
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
    feature_map_ : object
        *Public.* The map of rows to features. Its method `get_feature_names_out` names the
        coefficients.
    target_bounds_ : (float, float)
        *Public, or released* if a narrower range was found. The interval to which targets and
        scores are clipped, on the scale of `target_transform`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        *Computed from released and public values.* Shares of the columns in the variance of scores
        over rows drawn evenly from the bounds and categories; they sum to 1. They contain the noise
        of the fit, and do not reflect how the columns are distributed or correlated in the data.

    Notes
    -----
    **Guarantee.** As `DPLinearRegression`: the map Φ is public, so neighboring tables have
    neighboring features Φ(x), clipped to the same public norm (*Feature maps* in the user guide).
    Transforming a target by a public function costs nothing.
    **Assumed.** As there; bounds and categories come from knowledge, never from the data.

    The other attributes are those of `DPLinearRegression`.

    References
    ----------
    Geurts, Ernst and Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPRandomForestRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(4000, 2))
    >>> y = X[:, 0] * X[:, 1]
    >>> model = DPRandomForestRegressor(bounds=(-1, 1), target_bounds=(-1, 1), random_state=0)
    >>> model.fit(X, y).predict([[0.7, 0.7], [0.7, -0.7]]).round(1)
    array([ 0.6, -0.5])
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
    n_trees: int = 100
    depth: int | Sequence[int] = (1, 8)
    additive_share: float = 0.5
    n_terms: int = 8
    transformation: Transformation | None = None
    feature_seed: int = 0
    solver: str | Solver = "auto"
    random_state: RandomState = None
    verbose: int = 0

    _features = _forest_features
    feature_importances_ = property(_column_importances)
