"""Differentially private classification by totally random trees."""

from __future__ import annotations

from typing import Any

from skdp.ensemble._base import ForestModel
from skdp.linear_model import DPLogisticRegression

__all__ = ["DPRandomForestClassifier"]


class DPRandomForestClassifier(ForestModel, DPLogisticRegression):
    r"""A forest of totally random trees with (ε, δ)-differentially private leaves.

    It is `DPLogisticRegression` on the leaves of random trees: 1/√T in the column of the leaf that
    a row falls into in each of T trees, which are drawn from public bounds, categories and a public
    seed, never from the data (`skdp.preprocessing.RandomTreeFeatures`). So only what is in the
    leaves is learnt, all trees at once, by the linear mechanism; noisy counts of leaves are much
    noisier. With `additive_share` = s there are additive features a beside the leaves b: a row is
    [√s·a/max(1, \|a\|), √(1 − s)·b] and has norm 1 at most. The map of a row reads this row and
    public numbers, so that it costs no privacy, and every solver, budget and relation is that of
    the linear model. Tables of numbers and text go straight in.

    It sees how columns act together, needs no scale of them within their bounds, and makes
    predictions that are constant in small boxes. With ``epsilon=inf`` it is scikit-learn's
    `LogisticRegression` on the same features.

    Parameters
    ----------
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend.
    delta : float or None
        *Public.* Probability with which the ε bound may fail, well below 1/n. ``None`` takes the
        budget's, or 1e-5 without a budget.
    bounds : pair (low, high), one pair per column, or dict
        *Public.* The dict is from names or numbers of columns to pairs. A list of tuples has a pair
        for each column; a tuple of two lists has all lows and all highs. Bounds come from knowledge
        about the columns, never from the data. There is no default that would be right: without
        bounds `fit` raises.
    categories : dict, list or None, default None
        *Public.* The values that columns can have: a dict from names or numbers of columns to
        lists, or a list that holds for every column. Other columns are numbers, and have `bounds`.
        A value that is not in the list is none of them.
    n_trees : int, default 100
        *Public.* T.
    depth : int or pair (least, most), default (1, 8)
        *Public.* Questions on the way to a leaf, 16 at most; a tree of depth D has 2^D leaves. Of a
        pair the depths are spread evenly over the trees: shallow trees learn from few rows what is
        smooth, deep ones what is not.
    additive_share : float in [0, 1], default 0.5
        *Public.* Share of a row's squared norm that the additive features have, shortened to norm 1
        first; the leaves have the rest. 0: no additive features, 1: nothing else.
    n_terms : int, default 8
        *Public.* K, waves of a column of numbers.
    linear_share : float in [0, 1], default 0.5
        *Public.* g. 1: the straight line alone, as `BoundsScaler` has it; 0: no line beside the
        waves.
    transformation : None, "log" or dict, default None
        *Public.* Scale of the columns of numbers: ``"log"`` for amounts and counts, of which
        bounds may then be generous. A dict from names or numbers of columns to ``None``, ``"log"``,
        which has the unit 1, or a number, the unit of a logarithmic scale.
    feature_seed : int, default 0
        *Public.* From which the features follow; it may be published, unlike the `random_state` of
        an estimator, which makes noise.
    missing : {"indicator", "error"}, default "indicator"
        *Public.* What becomes of NaN, ``None`` and ``pandas.NA``: a category of their own, of
        numbers too, for which each column of X has a place; or they are refused.
    solver : str or Solver, default "auto"
        *Public.* How the coefficients are learnt: a name of `skdp.solvers.SOLVERS` or an instance.
        ``"auto"`` takes ``"regularized_exponential"``, or ``"noisy_gd"`` where that one's run would
        have more than 128 steps, or 64 with several scores a record, and for more than 1024
        columns or with `groups`; `solver_` says which.
    sampler : str or Sampler, default "auto"
        *Public.* What draws the sample: a name of `skdp.samplers.SAMPLERS` or an instance.
        ``"auto"`` is ``"proximal"``, which takes every loss and both relations. Only for solvers
        that sample; with one given, ``solver="auto"`` is ``"regularized_exponential"``.
    C : float or "auto"
        *Public.* Inverse regularisation strength: the ridge is |θ|²/(2C) beside the sum of the
        losses, the intercept included; of regressors on scores and targets scaled to [−1, 1].
        ``"auto"`` regularises by the length of the run instead, and so weakly otherwise that C
        hardly matters; scikit-learn's default with ``epsilon=inf``.
    loss_clip : float in (0, 1), "auto" or None
        *Public.* Bound of the loss's derivative. ``"auto"`` lets it rise with x = n·μ, n the number
        of rows and μ the Gaussian-DP parameter (half of x under ``replace_one``): 0.35 up to
        x = 1000, where a low bound wastes less noise, and 1 from 24 000 on, where nothing is
        clipped and the fit tends to the one without privacy. Where n is private and a solver does
        not estimate it, 0.35. ``None`` takes the plain logistic loss (multinomial for three or
        more classes).
    data_norm : float, default 1.0
        *Public.* Rows of features are scaled down to this l2 norm, in `fit` and in prediction; they
        have norm 1 at most as they are, unless they are additive ones alone.
    fit_intercept : bool, default True
        *Public.* Whether a constant column is part of each row.
    intercept_scaling : float, default 0.3
        *Public.* Size of the constant column. It is part of the row and of its norm: a large one
        makes the noise larger, a small one the intercept slower to learn.
    classes : array-like or None
        *Public.* All labels that may occur. ``None`` takes the labels found in `y` as public, which
        a rare label is not: pass them where that matters.
    class_weight : dict or None
        *Public.* Weights by label; the largest one scales the noise. ``"balanced"`` is refused.
    max_weight : float or None
        *Public.* Largest weight of a record: the `sample_weight` of `fit`, which is private, is
        clipped to [0, max_weight], and the noise grows in proportion to it. ``None`` refuses
        weights in a private fit.
    max_rows : int or None
        *Public.* Most rows of a person that count, where the `groups` of `fit` say whose each row
        is: of more, a uniform subset of as many is drawn for each fit. ``None``: all of them. The
        rows of a person weigh as much as one record in any case.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbouring data sets differ in the value of one record (then n is
        public) or in its presence (then it is private).
    n_samples_hint : int or None
        *Public.* A public guess of n, such as a study's planned size, for ``add_remove_one``. It
        sets the step size and costs no privacy, however wrong. Rather guess high: if it is
        ten times too low, a solver that draws samples may take very long. ``None`` estimates n
        privately, with 1 % of the fit's μ², where the solver needs it. Not used under
        ``replace_one``.
    subsample : float in (0, 1], "auto" or None
        *Public.* Rate q of the sample that is fitted in place of X: each row is in it with
        probability q, independently, and less noise costs the same (ε, δ). ``"auto"``: such that
        a million rows are expected, or 1 if the public count is less or there is none. ``None``: 1,
        all rows, of X in memory and with ``epsilon=inf``; of Dask collections as ``"auto"``, where
        solver and budget count a sample at what is asked.
    budget : PrivacyBudget or None
        *Public.* What the fit spends from, before it reads the data.
    random_state : None, int, Generator or RandomState
        *Secret.* ``None`` takes fresh entropy from the operating system for each fit. A seed voids
        the guarantee, for whoever knows it can subtract the noise, and is refused beside a budget:
        for tests only.
    tol : float, default 1e-4
        *Public.* Where scikit-learn's minimiser ends with ``epsilon=inf``, as its own `tol`. A
        private fit does not use it: the number of its steps, or the tolerance on which its
        guarantee rests, follows from other public numbers.
    verbose : int
        *Public.* Above 0, show steps done, by tqdm where it is installed; their number is public.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features_out) for two classes, else (n_classes, n_features_out)
        *Released*, computed from what was rounded to a public grid, or rounded itself.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        *Released* likewise.
    loss_ : Loss
        *Public, or computed from the noisy count*: what was minimised.
    solver_ : str
        *Public, or computed from the noisy count*: name of the solver that was taken.
    feature_map_ : object
        *Public.* The map of rows to features.
    coef_noise_ : float
        *Public.* Standard deviation of the noise in each coefficient; only where a solver releases
        an optimum plus Gaussian noise, as ``"output_perturbation"`` does. See `coef_interval`.
    privacy_ : PrivacyGuarantee
        *Public.* What was released and what it guarantees.
    classes_ : ndarray of shape (n_classes,)
        *Public* by assumption, sorted.
    n_iter_ : int
        Steps of the sampler: *public*, or computed from the noisy count that was *released*.
    data_norm_ : float
        *Public.* The norm to which prediction clips rows of features.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if X had string column names.

    Notes
    -----
    **Guarantee.** As `DPLogisticRegression`, of rows Φ(x) in place of x: the map Φ is public, so
    neighbouring tables have neighbouring features, clipped to the same public norm (*Feature maps*
    in the documentation).
    **Assumed.** As there; bounds and categories come from knowledge, never from the data.

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
    >>> DPRandomForestClassifier(bounds=(-1, 1), random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        bounds: Any = None,
        categories: Any = None,
        n_trees: int = 100,
        depth: Any = (1, 8),
        additive_share: float = 0.5,
        n_terms: int = 8,
        linear_share: float = 0.5,
        transformation: Any = None,
        feature_seed: int = 0,
        missing: str = "indicator",
        solver: Any = "auto",
        sampler: Any = "auto",
        C: Any = "auto",
        loss_clip: Any = "auto",
        data_norm: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.3,
        classes: Any = None,
        class_weight: dict[Any, float] | None = None,
        max_weight: float | None = None,
        max_rows: int | None = None,
        neighboring: str = "replace_one",
        n_samples_hint: int | None = None,
        subsample: float | str | None = None,
        budget: Any = None,
        random_state: Any = None,
        tol: float = 1e-4,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            solver=solver,
            sampler=sampler,
            C=C,
            loss_clip=loss_clip,
            data_norm=data_norm,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            classes=classes,
            class_weight=class_weight,
            max_weight=max_weight,
            max_rows=max_rows,
            neighboring=neighboring,
            n_samples_hint=n_samples_hint,
            subsample=subsample,
            budget=budget,
            random_state=random_state,
            tol=tol,
            verbose=verbose,
        )
        self.bounds = bounds
        self.categories = categories
        self.n_trees = n_trees
        self.depth = depth
        self.additive_share = additive_share
        self.n_terms = n_terms
        self.linear_share = linear_share
        self.transformation = transformation
        self.feature_seed = feature_seed
        self.missing = missing
