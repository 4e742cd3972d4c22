"""Displays of what privacy costs, from public data."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import BaseCrossValidator, cross_val_score
from sklearn.utils import check_random_state

from skdp.design import Design, LossSum, scored
from skdp.exceptions import FewRowsWarning, WeakPrivacyWarning
from skdp.inspection.released import pyplot
from skdp.privacy import NonPrivateEvent
from skdp.samplers.base import Progress
from skdp.solvers import Plan, Problem, Solution, Solver
from skdp.support.types import MatrixLike, VectorLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CV: TypeAlias = int | BaseCrossValidator | Iterable[tuple[np.ndarray, np.ndarray]]
Scoring: TypeAlias = str | Callable[[BaseEstimator, MatrixLike, VectorLike], float] | None


def refuse_private_data(estimators: Iterable[BaseEstimator], public: bool) -> None:
    """Raise if an estimator, or a step of one, has a budget, unless the data are public."""
    for estimator in estimators:
        params = estimator.get_params().items()
        if not public and any(
            name.split("__")[-1] == "budget" and value is not None for name, value in params
        ):
            raise ValueError(
                f"{type(estimator).__name__} has a budget, so its data are private. A display "
                "scores exactly and spends nothing: pass public=True if the data are public or "
                "synthetic. Nothing was fitted."
            )


def scores_of(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: VectorLike,
    cv: CV,
    scoring: Scoring,
    seeds: np.ndarray,
    **params: object,
) -> np.ndarray:
    """Return held-out scores of shape (n_seeds, n_folds) of a copy without a budget.

    `params` are set on the estimator, or on the last step of a pipeline.
    """
    copy = clone(estimator)
    model = last_step(copy).set_params(budget=None, **params)
    rows = []
    with warnings.catch_warnings():  # a display shows what large and small ε do
        warnings.simplefilter("ignore", FewRowsWarning)
        warnings.simplefilter("ignore", WeakPrivacyWarning)
        for seed in seeds:
            model.set_params(random_state=int(seed))
            rows.append(cross_val_score(copy, X, y, cv=cv, scoring=scoring, error_score="raise"))
    return np.array(rows)


def last_step(estimator: BaseEstimator) -> BaseEstimator:
    """Return the estimator, or the last step of a pipeline."""
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Return the mean and its standard error, which is nan for a single value."""
    error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
    return float(values.mean()), float(error)


_AS_GOOD_AS_NO_NOISE = 1000.0  # ε; noise is then some 150 times less than at ε = 1
_WEAK_RIDGE = 1e-4
_LIMITS = {"maxiter": 5000, "maxfun": 10_000}


@dataclass(eq=False, repr=False, kw_only=True)
class CostOfPrivacyDisplay:
    """Breakdown of the score that privacy costs a linear model on given data.

    **Not private.** The display scores exactly and spends nothing. Use it on public data, or on
    synthetic data like your own. It compares four models:

    ================  =======================================================================
    no privacy        ``epsilon=inf``: scikit-learn's own model
    clipped           the minimum of the loss with clipped derivatives, over rows clipped to
                      `data_norm`; a ridge only if the estimator has a number for `C`
    stopped           the estimator's own solver at ε = 1000: it stops early, with 1/150
                      of the noise at ε = 1
    private           the estimator as it is
    ================  =======================================================================

    The differences of consecutive scores are the costs of *clipping*, *regularization* and *noise*.
    A cost may be negative: early stopping often helps. A private run stops earlier if it adds more
    noise; this counts as noise. Use `from_estimator` to create a display.

    Parameters
    ----------
    scores : dict of str to ndarray of shape (n_repeats, n_folds)
        Held-out scores of the four models; one repeat for those without randomness.
    score_name : str
        Name of the score.

    Attributes
    ----------
    ax_, figure_, bars_
        The parts of the plot.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from skdp import DPLogisticRegression
    >>> from skdp.inspection import CostOfPrivacyDisplay
    >>> X, y = make_blobs(500, centers=[[-1, 0], [1, 0]], random_state=0)
    >>> display = CostOfPrivacyDisplay.from_estimator(
    ...     DPLogisticRegression(epsilon=1.0), X, y, random_state=0
    ... )
    >>> list(display.costs)
    ['clipping', 'regularization', 'noise']
    """

    scores: dict[str, np.ndarray]
    score_name: str = "score"

    @property
    def costs(self) -> dict[str, np.ndarray]:
        """Loss of score by cause, for each repeat and fold."""
        open_, clipped, stopped, private = self.scores.values()
        return {
            "clipping": open_ - clipped,
            "regularization": clipped - stopped,
            "noise": stopped - private,
        }

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: VectorLike,
        *,
        cv: CV = 5,
        n_repeats: int = 5,
        scoring: Scoring = None,
        random_state: int | np.random.RandomState | None = None,
        public: bool = False,
        ax: Axes | None = None,
    ) -> Self:
        """Fit the four models on all folds, and plot.

        Parameters
        ----------
        estimator : private linear model, or a pipeline that ends with one
            It is cloned, not fitted.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Read without privacy.*
        y : array-like of shape (n_samples,)
            *Read without privacy.*
        cv, n_repeats, scoring, random_state, public, ax
            As in `PrivacyUtilityDisplay.from_estimators`.

        Returns
        -------
        CostOfPrivacyDisplay
            The display, drawn.
        """
        pyplot(cls.__name__)
        refuse_private_data([estimator], public)
        model = last_step(estimator)
        if not {"solver", "epsilon"} <= set(model.get_params()):
            raise TypeError(
                f"{type(model).__name__} has no parameters solver and epsilon. Nothing was fitted."
            )
        seeds = check_random_state(random_state).randint(2**31, size=n_repeats)
        settings: dict[str, tuple[np.ndarray, dict[str, object]]] = {
            "no privacy": (seeds[:1], {"epsilon": math.inf}),
            "clipped": (seeds[:1], {"solver": _Minimizer(), "sampler": "auto"}),
            "stopped": (seeds[:1], {"epsilon": _AS_GOOD_AS_NO_NOISE}),
            "private": (seeds, {}),
        }
        scores = {
            name: scores_of(estimator, X, y, cv, scoring, some, **params)
            for name, (some, params) in settings.items()
        }
        name = scoring if isinstance(scoring, str) else "score"
        return cls(scores=scores, score_name=name.replace("_", " ")).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Plot the scores with and without privacy, and the costs, with standard errors.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw. None: a new figure.

        Returns
        -------
        CostOfPrivacyDisplay
            The display, drawn.
        """
        if ax is None:
            ax = pyplot(type(self).__name__).subplots()[1]
        means = [float(values.mean()) for values in self.scores.values()]
        costs = [mean_and_error(values) for values in self.costs.values()]
        labels = ["no privacy", *self.costs, "private"]
        heights = [means[0], *(-cost for cost, _ in costs), means[-1]]
        errors = [
            math.nan,
            *(error for _, error in costs),
            mean_and_error(self.scores["private"])[1],
        ]
        colors = ["tab:gray", *("tab:red" if cost > 0 else "tab:green" for cost, _ in costs)]
        self.bars_ = ax.bar(
            labels,
            heights,
            bottom=[0.0, *means[:3], 0.0],
            yerr=errors,
            color=[*colors, "tab:blue"],
            capsize=3,
        )
        texts = [f"{means[0]:.3f}", *(f"{-cost:+.3f}" for cost, _ in costs), f"{means[-1]:.3f}"]
        ax.bar_label(self.bars_, texts, padding=3)
        spread = max(max(means) - min(means), 1e-3)
        ax.set_ylim(min(means) - 0.6 * spread, max(means) + 0.4 * spread)
        ax.set_ylabel(self.score_name)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass(frozen=True)
class _Minimizer(Solver):
    """Minimize Σ ℓ + |θ|²/(2C) over clipped rows, without privacy.

    C = "auto" is a ridge of 1e-4, because nothing stops early here.
    """

    def plan(self, problem: Problem, epsilon: float, delta: float) -> Plan:
        event = NonPrivateEvent()
        return _OfMinimum(problem=problem, event=event, theorem="none, minimized without noise")


@dataclass(frozen=True, kw_only=True)
class _OfMinimum(Plan):
    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        loss, shape = self.problem.loss, self.problem.shape(design.n_features)
        ridge = _WEAK_RIDGE if isinstance(self.problem.C, str) else 1.0 / self.problem.C

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            theta = flat.reshape(shape)
            rows, slope = scored(design, loss.gradient, theta)
            value = rows.total(LossSum(loss.value, theta)) + 0.5 * ridge * (flat @ flat)
            return value, (slope + ridge * theta).ravel()

        least = minimize(
            objective, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=_LIMITS
        )
        return Solution(least.x.reshape(shape), int(least.nit))


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
