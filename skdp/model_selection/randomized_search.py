"""Search over random settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import ParameterSampler

from skdp.budget import PrivacyBudget
from skdp.model_selection._candidates import Setting
from skdp.model_selection._private_search import PrivateSearch
from skdp.model_selection._row_score import Scoring
from skdp.support.random import child_generator, noise_generator
from skdp.support.types import RandomState

__all__ = ["DPRandomizedSearchCV"]


class DPRandomizedSearchCV(PrivateSearch):
    """A hyper-parameter search over random settings, with one guarantee for everything.

    See *Private hyper-parameter search* in the user guide for methods and secrets.

    Parameters
    ----------
    estimator : estimator
        *Public.* An estimator of skdp, or a pipeline whose last step is one and whose other steps
        learn nothing. Its fits must be Gaussian DP, as with the default solvers, or pure DP if
        ``delta=0``. The search sets `epsilon`, `delta`, `neighboring`, `budget` and `random_state`.
    param_distributions : dict or list of dict
        *Public.* As in scikit-learn's `RandomizedSearchCV`: lists of values or distributions, by
        name of the parameter.
    n_iter : int, default 10
        *Public.* Number of candidates, drawn before the data are read.
    epsilon : float, default 1.0
        *Public.* Privacy loss of the whole search and its best fit, in nats; finite.
    delta : float or None
        *Public.* Probability that the ε bound fails, well below 1/n. ``None``: the budget's δ, or
        1e-5.
    method : {"auto", "repeat", "all", "cheapest"}
        *Public.* "repeat" fits random candidates, a secret random number of times, and keeps the
        best. "all" fits each candidate once, at a share of the cost. "cheapest" is "repeat" for
        candidates that set `epsilon`, without δ: it keeps the least ε among the runs whose
        noisy score reaches `threshold`. "auto" is "all" for up to 3 candidates or a "gdp" or
        "zcdp" budget, else "repeat".
    mean_runs : float, default 10
        *Public.* Mean number of runs of "repeat" and "cheapest", above 1.
    distribution : {"geometric", "logarithmic"}
        *Public.* Distribution of the number of runs. Without δ the search costs 3 times its largest
        run with "geometric", twice with "logarithmic".
    threshold : float or None
        *Public.* Mean score from which a candidate of "cheapest" is good enough.
    holdout : float in (0, 1), default 0.2
        *Public.* Share of the rows that are held out to score the candidates: by position if the
        number of rows is public, otherwise each row independently.
    scoring : str, callable or None
        *Public.* Mean of one bounded number per row; larger is better. Classifiers: "accuracy"
        (``None``), "neg_log_loss" or "neg_brier_score". Regressors: "neg_mean_squared_error",
        "neg_mean_absolute_error", or ``None`` for the mean of 1 − (error/width of
        `target_bounds`)². A callable ``scoring(y_true, y_pred)`` scores one row and must keep no
        state; if it fails, the row gets the lower bound.
    score_bounds : (low, high) or None
        *Public.* Bounds to which the numbers of a callable `scoring` are clipped.
    release_scores : bool, default False
        *Public.* Whether "all" releases a noisy score of each candidate and keeps the best, at the
        same cost. The choice is then less accurate. Only under ``replace_one``.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None
        *Public.* Budget that `fit` spends from before it reads the data.
    n_jobs : int or None
        *Public.* Number of processes that fit candidates, as in joblib.
    random_state : None, int, Generator or RandomState
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Notes
    -----
    **Guarantee.** That of `DPGridSearchCV`, which also documents the attributes. Candidates are
    drawn independently of the data.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import make_classification
    >>> from skdp import DPLogisticRegression
    >>> from skdp.model_selection import DPRandomizedSearchCV
    >>> X, y = make_classification(4000, random_state=0)
    >>> norms = {"data_norm": loguniform(0.1, 10.0)}
    >>> search = DPRandomizedSearchCV(DPLogisticRegression(), norms, epsilon=3.0)
    >>> bool(search.fit(X, y).score(X, y) > 0.7)
    True
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        param_distributions: Mapping[str, object] | Sequence[Mapping[str, object]],
        *,
        n_iter: int = 10,
        epsilon: float = 1.0,
        delta: float | None = None,
        method: str = "auto",
        mean_runs: float = 10,
        distribution: str = "geometric",
        threshold: float | None = None,
        holdout: float = 0.2,
        scoring: Scoring = None,
        score_bounds: tuple[float, float] | None = None,
        release_scores: bool = False,
        neighboring: str = "replace_one",
        budget: PrivacyBudget | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.mean_runs = mean_runs
        self.distribution = distribution
        self.threshold = threshold
        self.holdout = holdout
        self.scoring = scoring
        self.score_bounds = score_bounds
        self.release_scores = release_scores
        self.neighboring = neighboring
        self.budget = budget
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _candidates(self) -> list[Setting]:
        shown = child_generator(
            noise_generator(self.random_state)
        )  # it reveals nothing about the noise
        seed = np.random.RandomState(shown.integers(2**32, size=4))
        drawn = ParameterSampler(self.param_distributions, self.n_iter, random_state=seed)
        return list(drawn)
