"""Private searches over a grid and over random candidates, and folds of persons."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from hashlib import blake2b

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator, ParameterGrid, ParameterSampler

from skdp.data.persons import Persons, name_of, one_each
from skdp.model_selection._held_out import Setting
from skdp.model_selection._private_search import PrivateSearch
from skdp.privacy import Neighboring
from skdp.support.random import child_generator, noise_generator
from skdp.support.types import Label, MatrixLike, VectorLike
from skdp.support.validation import check_choice, check_count, parameters


@parameters
class DPGridSearchCV(PrivateSearch):
    """A hyper-parameter search over a grid, with one guarantee for everything.

    See *Private hyper-parameter search* in the user guide for methods and secrets.

    Parameters
    ----------
    estimator : estimator
        *Public.* An estimator of skdp, or a pipeline whose last step is one and whose other steps
        learn nothing. Its fits must be Gaussian DP, as with the default solvers, or pure DP if
        ``delta=0``. The search sets `epsilon`, `delta`, `neighboring`, `budget` and `random_state`.
    param_grid : dict or list of dict
        *Public.* As in scikit-learn's `GridSearchCV`: values to try, by name of the parameter.
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

    Attributes
    ----------
    best_estimator_ : estimator
        *Released.* The best candidate, fitted to the rows that were not held out. Its `privacy_` is
        that of the search, because the choice reveals something about the rows too.
    best_params_ : dict
        *Released.* Its setting.
    best_index_ : int or None
        *Released.* Its position among the candidates. None, without a `best_estimator_`, if no
        candidate of "cheapest" is good enough.
    best_score_ : float
        *Released.* Its noisy mean score, biased upwards by the choice. Only under ``replace_one``,
        with "repeat", "cheapest" or `release_scores`.
    epsilon_spent_ : float
        *Released.* Only with "cheapest": the ε that the result reveals. The budget keeps the
        largest possible one.
    cv_results_ : dict
        *Public.* "params" and one masked array "param_<name>" per parameter. With `release_scores`
        also *released* noisy scores, "mean_test_score" and "rank_test_score".
    n_splits_ : int
        *Public.* 1.
    classes_ : ndarray
        *Public.* Labels. Only for classifiers.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        *Public.* Only if the column names of X are strings.
    privacy_ : PrivacyGuarantee
        *Public.* The guarantee of all attributes together.

    Notes
    -----
    **Guarantee.** A record is used to fit or to score, never both, so a run costs at most the
    larger of the two. A record changes a sum of scores, scaled to [0, 1], by at most 1; a person
    counts with the mean over their rows.

    - "repeat": theorem *Best of K* in the documentation. The number of runs, their order and time,
      and all other fits and scores must stay secret.
    - "all": k fits of μ²/k each and one choice by the exponential mechanism are μ-Gaussian DP. So
      are k fits and, on other rows, k scores of μ²/k each (`release_scores`).
    - "cheapest": ex post, the probability of publishing a candidate of ε is at most e^(m·ε) times
      that under any neighbor. m is 3, or 2 with a logarithmic `distribution`. If no candidate is
      good enough, ε is the largest one, which also counts in the budget (*Best of K*, Choosing ε).

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from skdp import DPLogisticRegression
    >>> from skdp.model_selection import DPGridSearchCV
    >>> X, y = make_classification(4000, random_state=0)
    >>> search = DPGridSearchCV(DPLogisticRegression(), {"data_norm": [0.1, 1.0, 5.0]}, epsilon=3.0)
    >>> round(search.fit(X, y).score(X, y), 1)
    0.9
    """

    estimator: BaseEstimator = field(kw_only=False)
    param_grid: Mapping[str, Sequence[object]] | Sequence[Mapping[str, Sequence[object]]] = field(
        kw_only=False
    )

    def _candidates(self) -> list[Setting]:
        return list(ParameterGrid(self.param_grid))


@parameters
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
    >>> round(search.fit(X, y).score(X, y), 1)
    0.9
    """

    estimator: BaseEstimator = field(kw_only=False)
    param_distributions: Mapping[str, object] | Sequence[Mapping[str, object]] = field(
        kw_only=False
    )
    n_iter: int = 10

    def _candidates(self) -> list[Setting]:
        shown = child_generator(
            noise_generator(self.random_state)
        )  # it reveals nothing about the noise
        seed = np.random.RandomState(shown.integers(2**32, size=4))
        drawn = ParameterSampler(self.param_distributions, self.n_iter, random_state=seed)
        return list(drawn)


_BITS = 64


@parameters
class HashSplit(BaseCrossValidator):
    """Folds of persons by a public hash of their IDs.

    All rows of a person are in one fold. The fold depends on `n_splits`, `salt` and the value of
    the person's ID alone: not on its type, the other persons, the order of the rows, labels or any
    other value. A person who joins, leaves or changes moves no one else, and a person stays in
    their fold when the table grows. It can be used as ``cv=``, and each pair of `split` as a
    training set and a test set.

    A part that one split has made can be split again with another `n_splits` or `salt`, and the
    new folds are independent of the old ones. The same split again would put all persons of a fold
    into one fold, so that another side is empty.

    Parameters
    ----------
    n_splits : int, default 5
        *Public.* Number of folds, at least 2. A test set has about 1/n_splits of the persons.
    salt : str, default ""
        *Public.* Other values give other, independent folds.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether the set of IDs is public or private. Under ``replace_one`` the records of
        a person may change, but the ID stays, and `split` raises ValueError if a training or test
        set would be empty. Under ``add_remove_one`` it raises no such error, which would reveal
        whether a fold has persons, and a fit to no rows is a fit like any other.

    Notes
    -----
    **Guarantee.** Sets of rows of different folds are disjoint partitions of the persons: releases
    on training rows and on test rows do not add up (``budget.at(partition=...)``). Neighbors in
    which the rows of one person change, but not the ID, differ in one training or test set. Only
    these are protected if folds are partitions under ``replace_one``. If the ID changes as well, or
    a person joins or leaves, a test set loses or gains one person: use
    ``neighboring="add_remove_one"`` if the IDs are private. Scores of scikit-learn on the test sets
    are exact functions of private rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.model_selection import HashSplit
    >>> person = np.repeat(np.arange(1000), 3)
    >>> train, test = next(HashSplit(n_splits=4).split(person, groups=person))
    >>> set(person[train]) & set(person[test])
    set()
    >>> len(train), len(test)
    (2316, 684)
    """

    __metadata_request__split = {"groups": True}  # noqa: RUF012  # as scikit-learn's own have it

    n_splits: int = 5
    salt: str = ""
    neighboring: str = "replace_one"

    def split(
        self, X: MatrixLike, y: VectorLike = None, groups: VectorLike | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the training rows and the test rows of each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            *Private.* Only its length counts.
        y : object
            Ignored.
        groups : array-like of shape (n_samples,)
            *Private.* The ID of each row's person: a string, bytes, a number, a date, a time, a
            UUID, or a tuple of these. Equal values of different types are the same ID, such as 1,
            1.0 and True. The string "1" is another one.

        Yields
        ------
        train, test : ndarray of int
            Row numbers, as private as the IDs.

        Raises
        ------
        ValueError
            If `groups` or values of them are missing or of other types, or a parameter is wrong.
            Under ``replace_one`` also if a set would be empty. No set has been returned then.
        """
        folds = self._folds(X, groups)
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    def get_n_splits(
        self, X: MatrixLike = None, y: VectorLike = None, groups: VectorLike | None = None
    ) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object
            Ignored.

        Returns
        -------
        int
            *Public.*
        """
        return self.n_splits

    def _folds(self, X: MatrixLike, groups: VectorLike | None) -> np.ndarray:
        check_count("n_splits", self.n_splits)
        if self.n_splits < 2:
            raise ValueError(f"n_splits must be at least 2, got {self.n_splits!r}.")
        relation = Neighboring(check_choice("neighboring", self.neighboring, Neighboring))
        if groups is None:
            raise ValueError("HashSplit needs groups: the ID of each row's person.")
        persons = Persons.of(groups, X.shape[0] if hasattr(X, "shape") else len(X))
        folds = np.array([self._fold(one) for one in one_each(persons, groups)], dtype=int)
        if relation.count_is_public and len(np.unique(folds)) < self.n_splits:
            raise ValueError(
                f"a training or test set would be empty with n_splits={self.n_splits}: there are "
                "too few persons, or the rows are already a part that the same split has made. "
                "Take a smaller n_splits, or another salt."
            )
        return folds[persons.codes]

    def _fold(self, person: Label) -> int:
        # JSON quotes the salt and the name, so that different ones make different texts
        named = json.dumps([int(self.n_splits), str(self.salt), *name_of(person)])
        digest = blake2b(named.encode(), digest_size=_BITS // 8).digest()
        # The folds differ by at most 2^−64 in their share of all hashes.
        return int.from_bytes(digest) * int(self.n_splits) >> _BITS
