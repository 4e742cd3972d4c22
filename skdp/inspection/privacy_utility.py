"""Plots of scores against ε."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skdp.inspection._axes import pyplot
from skdp.inspection._scores import (
    CV,
    Scoring,
    last_step,
    mean_and_error,
    refuse_private_data,
    scores_of,
)
from skdp.support.types import MatrixLike, VectorLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PrivacyUtilityDisplay"]


@dataclass(eq=False, repr=False, kw_only=True)
class PrivacyUtilityDisplay:
    """Score against ε for several private models, beside the first of them without privacy.

    **Not private.** The display scores exactly and spends nothing. Use it on public data, or on
    synthetic data like your own. Use `from_estimator` or `from_estimators` to create a display.

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
        The parts of the plot.

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

    epsilons: np.ndarray
    scores: dict[str, np.ndarray]
    open_score: float
    score_name: str = "score"

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: MatrixLike, y: VectorLike, **more: Any
    ) -> Self:
        """Fit one model for every ε and fold, and plot.

        Parameters
        ----------
        estimator : private linear model, or a pipeline that ends with one
            It is cloned, not fitted.
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
        estimators: Mapping[str, BaseEstimator],
        X: MatrixLike,
        y: VectorLike,
        *,
        epsilons: Sequence[float] = (0.1, 0.3, 1.0, 3.0),
        cv: CV = 5,
        n_repeats: int = 5,
        scoring: Scoring = None,
        random_state: int | np.random.RandomState | None = None,
        public: bool = False,
        ax: Axes | None = None,
    ) -> Self:
        """Fit every model for every ε and fold, and plot.

        Parameters
        ----------
        estimators : dict of str to private linear models, or pipelines that end with one
            They are cloned, not fitted. The first one is also fitted without privacy.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Read without privacy.*
        y : array-like of shape (n_samples,)
            *Read without privacy.*
        epsilons : sequence of float, default (0.1, 0.3, 1.0, 3.0)
            Finite values of `epsilon`.
        cv : int, splitter or iterable, default 5
            As in scikit-learn's `cross_val_score`.
        n_repeats : int, default 5
            Number of private fits per ε and fold.
        scoring : str, callable or None, default None
            As in scikit-learn's `cross_val_score`.
        random_state : int, RandomState or None, default None
            Seed of the noise.
        public : bool, default False
            Whether the data are public or synthetic. If not, an estimator with a budget raises
            ValueError.
        ax : matplotlib Axes or None, default None
            Where to draw. None: a new figure.

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

    def plot(self, ax: Axes | None = None) -> Self:
        """Plot mean scores with standard errors.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw. None: a new figure.

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
