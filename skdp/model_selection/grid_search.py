"""Search over a grid of settings."""

from __future__ import annotations

from typing import Any

from sklearn.model_selection import ParameterGrid

from skdp.model_selection._private_search import PrivateSearch

__all__ = ["DPGridSearchCV"]


class DPGridSearchCV(PrivateSearch):
    """Choose hyper-parameters from a grid, the choice included in what is paid for.

    Parameters
    ----------
    estimator : estimator
        *Public.* An estimator of skdp whose fits are Gaussian DP, as by the default solvers, or a
        pipeline that ends with one and otherwise learns nothing. Where there is no delta, as in
        "cheapest", one whose fits need none, such as naive Bayes. Its own `epsilon`, `delta`,
        `neighboring`, `budget` and `random_state` are replaced.
    param_grid : dict or list of dict
        *Public.* As in scikit-learn's `GridSearchCV`: values to try, by name of the parameter.
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats of the whole search, with the fit that is kept; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails; 0 for pure privacy. ``None``: the budget's δ,
        or 1e-5.
    method : {"auto", "repeat", "all", "cheapest"}, default "auto"
        *Public.* "repeat" fits candidates drawn at random, a secret random number of times, and
        keeps the best: its cost hardly grows with the number of candidates. "all" fits each once,
        each at a part of the budget. "auto" takes "all" for up to 3 candidates and under a budget
        that adds squares ("gdp" or "zcdp"), which has no way to count repetition. "cheapest" is
        "repeat" for candidates that have an `epsilon` each: of those that reach the threshold it
        keeps one of the least.
    mean_runs : float, default 10
        *Public.* Mean number of runs of "repeat" and "cheapest", above 1.
    law : {"geometric", "logarithmic"}, default "geometric"
        *Public.* Distribution of that number; without a delta the search costs 3 times its largest
        run under the first, twice under the second.
    threshold : float or None, default None
        *Public.* Mean score of the judges from which a candidate of "cheapest" is good enough;
        within the bounds of the score.
    holdout : float in (0, 1), default 0.2
        *Public.* Share of the rows that are held out to score the candidates: by position if the
        number of rows is public, otherwise each row independently.
    scoring : str, callable or None, default None
        *Public.* How the rows that judge score a candidate; larger is better. Each has one number
        within public bounds, of which the score is the mean. Of classifiers "accuracy", within
        [0, 1], which is what ``None`` takes, "neg_log_loss", within [−5, 0], and
        "neg_brier_score", half the squared distance of probabilities and outcome, within [−1, 0].
        Of regressors, with errors r of numbers clipped to `target_bounds`, of width w:
        "neg_mean_squared_error", within [−w², 0], "neg_mean_absolute_error", within [−w, 0], and
        for ``None`` the mean of 1 − (r/w)², within [0, 1]. A callable is asked
        ``scoring(y_true, y_pred)`` of one row at a time and gives one number, clipped to
        `score_bounds`; the lower of them where it fails. It must keep nothing from one row to the
        next.
    score_bounds : (low, high) or None, default None
        *Public.* Bounds of the number that a callable `scoring` gives for a row.
    release_scores : bool, default False
        *Public.* Whether "all", which "auto" then takes, releases a noisy score of each candidate,
        of which the best wins, in place of the choice alone. The search costs the same; the choice
        is less sharp. Under ``replace_one`` only.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record or in its presence.
    budget : PrivacyBudget or None, default None
        *Public.* What the search spends from, once, before the number of runs is drawn.
    n_jobs : int or None, default None
        *Public.* Processes that fit candidates, as joblib counts them.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* ``None`` takes fresh entropy from the operating system for each search. A seed
        voids the guarantee, for whoever knows it can subtract the noise, and is refused beside a
        budget: for tests only.

    Attributes
    ----------
    best_estimator_ : estimator
        The fit that won, of the rows that did not judge. Its `privacy_` is the search's, for that
        it was chosen tells of the rows too; its `epsilon` is what its noise was chosen for.
    best_params_ : dict
        Its setting.
    best_index_ : int or None
        Its number among the candidates. None, without a `best_estimator_`, where "cheapest" has
        found no candidate that is good enough.
    best_score_ : float
        Its noisy mean of the judges' scores, in the units of `scoring`, of "repeat" and "cheapest"
        and with `release_scores`, under ``replace_one`` only. It flatters, being the best of
        several.
    epsilon_spent_ : float
        What has happened reveals no more than this ε, in "cheapest"; the budget counts what it
        might have been.
    cv_results_ : dict
        "params": the candidates, and "param_<name>": the values of each parameter, masked where a
        candidate does not set it. With `release_scores`, "mean_test_score": noisy means of the
        judges' scores, and "rank_test_score"; else no scores, which were not released.
    n_splits_ : int
        1: the rows are split once, into those that are learned from and those that judge.
    classes_ : ndarray
        Labels, of a classifier.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where all are strings.
    privacy_ : PrivacyGuarantee
        Of all attributes together.

    Notes
    -----
    **Guarantee.** A record is used to fit or to score, never both, so each run costs no more than
    its fit or its score alone. "repeat": the best of K runs satisfies the theorem *Best of K*.
    "all": k fits of μ²/k each and one choice by the exponential mechanism are μ-Gaussian DP, and so
    are k fits and, of other rows, k scores of μ²/k each (`release_scores`). The number of runs,
    their order, all other fits and their scores must stay secret under "repeat"; so must the time
    that the search takes, from which the number of runs could be told.

    "cheapest", ex post: what it publishes of a candidate of ε is at most e^(m·ε) times as probable
    as under any neighbor, with m = 3 or 2 by `law`, and that none is good enough e^(m·ε) times
    with the largest ε (*Best of K*, Choosing ε). Before that is known, and in a budget, the largest
    counts: nothing is refunded.

    Any score is a sum of numbers that rows have by themselves, scaled from its bounds to [0, 1]: a
    record moves it by 1 at most, and a person, by the mean of their rows, as well.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from skdp import DPLogisticRegression
    >>> from skdp.model_selection import DPGridSearchCV
    >>> X, y = make_classification(4000, random_state=0)
    >>> search = DPGridSearchCV(DPLogisticRegression(), {"data_norm": [0.1, 1.0, 5.0]}, epsilon=3.0)
    >>> bool(search.fit(X, y).score(X, y) > 0.7)
    True
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        method: str = "auto",
        mean_runs: float = 10,
        law: str = "geometric",
        threshold: float | None = None,
        holdout: float = 0.2,
        scoring: Any = None,
        score_bounds: tuple[float, float] | None = None,
        release_scores: bool = False,
        neighboring: str = "replace_one",
        budget: Any = None,
        n_jobs: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.mean_runs = mean_runs
        self.law = law
        self.threshold = threshold
        self.holdout = holdout
        self.scoring = scoring
        self.score_bounds = score_bounds
        self.release_scores = release_scores
        self.neighboring = neighboring
        self.budget = budget
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _candidates(self) -> list[dict[str, Any]]:
        return list(ParameterGrid(self.param_grid))
