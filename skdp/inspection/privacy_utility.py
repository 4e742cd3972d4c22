"""Score against ε, one line an estimator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skdp.inspection._scores import (
    last_step,
    mean_and_error,
    pyplot,
    refuse_private_data,
    scores_of,
)

__all__ = ["PrivacyUtilityDisplay"]


class PrivacyUtilityDisplay:
    """Score against ε for several private models, beside the first of them without privacy.

    **Not private.** It reads the data, scores exactly and spends nothing from a budget. Use it on
    public data, or on synthetic data like your own. Estimators with a budget are refused unless
    ``public=True`` says that the data are public.

    Use `from_estimator` or `from_estimators` to make one.

    Parameters
    ----------
    epsilons : ndarray of shape (n_epsilons,)
        Values of `epsilon`.
    scores : dict of str to ndarray of shape (n_epsilons, n_repeats, n_folds)
        Held-out scores by name of the estimator.
    open_score : float
        Mean score without privacy.
    score_name : str
        Name of the score.

    Attributes
    ----------
    ax_, figure_, lines_
        What `plot` drew.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from skdp import DPLogisticRegression
    >>> from skdp.inspection import PrivacyUtilityDisplay
    >>> X, y = make_blobs(500, centers=[[-1, 0], [1, 0]], random_state=0)
    >>> display = PrivacyUtilityDisplay.from_estimators(
    ...     {"logistic": DPLogisticRegression()}, X, y, epsilons=[0.1, 1.0], random_state=0
    ... )
    >>> display.scores["logistic"].shape
    (2, 5, 5)
    """

    def __init__(
        self,
        *,
        epsilons: np.ndarray,
        scores: dict[str, np.ndarray],
        open_score: float,
        score_name: str = "score",
    ) -> None:
        self.epsilons = epsilons
        self.scores = scores
        self.open_score = open_score
        self.score_name = score_name

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **more: Any) -> PrivacyUtilityDisplay:
        """Learn one model at every ε on all folds, and plot.

        Parameters
        ----------
        estimator : private linear model, or a pipeline that ends with one
            It is copied, never fitted; its line bears the name of its class.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Read without privacy.*
        y : array-like of shape (n_samples,)
            *Read without privacy.*
        **more
            As for `from_estimators`.

        Returns
        -------
        PrivacyUtilityDisplay
            The display, drawn.
        """
        return cls.from_estimators({type(last_step(estimator)).__name__: estimator}, X, y, **more)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        epsilons: Sequence[float] = (0.1, 0.3, 1.0, 3.0),
        cv: Any = 5,
        n_repeats: int = 5,
        scoring: Any = None,
        random_state: Any = None,
        public: bool = False,
        ax: Any = None,
    ) -> PrivacyUtilityDisplay:
        """Learn every model at every ε on all folds, and plot.

        Parameters
        ----------
        estimators : dict of str to private linear models, or pipelines that end with one
            They are copied, never fitted. The first one is also learned without privacy.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Read without privacy.*
        y : array-like of shape (n_samples,)
            *Read without privacy.*
        epsilons : sequence of float
            Finite values of `epsilon`.
        cv : int, splitter or iterable
            As in scikit-learn's `cross_val_score`.
        n_repeats : int
            Number of fits at each ε and fold.
        scoring : str, callable or None
            As in scikit-learn's `cross_val_score`; None for the estimators' own score.
        random_state : int, RandomState or None
            Seed of the noise. With one a display repeats; it is no more or less private.
        public : bool
            Whether the data are public, or synthetic. Estimators with a budget are refused unless
            they are: a budget says that its data are private.
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.

        Returns
        -------
        PrivacyUtilityDisplay
            The display, drawn.
        """
        pyplot(cls.__name__)
        refuse_private_data(estimators.values(), public)
        seeds = check_random_state(random_state).randint(2**31, size=n_repeats)
        data = (X, y, cv, scoring)
        first = next(iter(estimators.values()))
        display = cls(
            epsilons=np.asarray(epsilons, dtype=float),
            scores={
                name: np.array([scores_of(one, *data, seeds, epsilon=e) for e in epsilons])
                for name, one in estimators.items()
            },
            open_score=float(scores_of(first, *data, seeds[:1], epsilon=math.inf).mean()),
            score_name=(scoring if isinstance(scoring, str) else "score").replace("_", " "),
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> PrivacyUtilityDisplay:
        """Draw means with standard errors over fits.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.

        Returns
        -------
        PrivacyUtilityDisplay
            The display, drawn.
        """
        if ax is None:
            ax = pyplot(type(self).__name__).subplots()[1]
        self.lines_ = {}
        for name, scores in self.scores.items():
            means, errors = np.transpose([mean_and_error(at) for at in scores])
            self.lines_[name] = ax.errorbar(
                self.epsilons, means, yerr=errors, marker="o", markersize=4, capsize=3, label=name
            )
        ax.axhline(self.open_score, color="black", linestyle="--", label="no privacy")
        ax.set(xscale="log", xlabel="ε", ylabel=self.score_name)
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
