"""Differentially private regression by random Fourier features."""

from __future__ import annotations

from collections.abc import Sequence

from skdp.budget import BudgetHandle
from skdp.features import FeatureMixture
from skdp.kernel_approximation._features import kernel_features
from skdp.linear_model import DPLinearRegression
from skdp.solvers import Solver
from skdp.support.types import Bounds, Categories, RandomState, Transformation

__all__ = ["DPKernelRegressor"]


class DPKernelRegressor(DPLinearRegression):
    r"""Kernel regression with (ε, δ)-differentially private coefficients.

    Random cosines and sines of all columns learn interactions; additive features learn the effect
    of each column. The coefficients equal those of `DPLinearRegression` with
    ``features=FeatureMixture(...)`` of `AdditiveFeatures` and `RandomFourierFeatures` from
    `skdp.features`, bit for bit. Use that class to set its other parameters. Data frames are
    accepted.

    It is more accurate than an additive model if columns interact and n·ε is a few thousand or
    more. Private fits tend to that with ``epsilon=inf``, which has the same clipped rows and a
    ridge.

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
    n_components : int, default 500
        *Public.* D, the number of features. If it is odd, one feature is constant.
    scale : float, default 2.0
        *Public.* τ, the standard deviation of the angles W·z of a row that is uniform in its
        bounds. Larger values fit rougher functions.
    additive_share : float in [0, 1], default 0.5
        *Public.* Share of the additive features, clipped to norm 1, in a row's squared norm. The
        random features have the rest. 0: no additive features. 1: no random features.
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

    Notes
    -----
    **Guarantee.** As `DPLinearRegression`: the map Φ is public, so neighboring tables have
    neighboring features Φ(x), clipped to the same public norm (*Feature maps* in the user guide).
    Transforming a target by a public function costs nothing.
    **Assumed.** As there; bounds and categories come from knowledge, never from the data.

    The other attributes are those of `DPLinearRegression`.

    References
    ----------
    Rahimi and Recht 2007, "Random features for large-scale kernel machines".

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPKernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(4000, 2))
    >>> y = X[:, 0] * X[:, 1]
    >>> model = DPKernelRegressor(bounds=(-1, 1), target_bounds=(-1, 1), random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.8
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
        n_components: int = 500,
        scale: float = 2.0,
        additive_share: float = 0.5,
        n_terms: int = 8,
        transformation: Transformation | None = None,
        feature_seed: int = 0,
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
        self.n_components = n_components
        self.scale = scale
        self.additive_share = additive_share
        self.n_terms = n_terms
        self.transformation = transformation
        self.feature_seed = feature_seed

    def _features(self) -> FeatureMixture:
        return kernel_features(self)
