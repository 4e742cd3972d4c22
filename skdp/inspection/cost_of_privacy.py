"""The costs of clipping, regularization and noise in a private linear model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skdp.design import Design, LossSum, scored
from skdp.inspection._axes import pyplot
from skdp.inspection._scores import (
    CV,
    Scoring,
    last_step,
    mean_and_error,
    refuse_private_data,
    scores_of,
)
from skdp.privacy import NonPrivateEvent
from skdp.samplers import Progress
from skdp.solvers import Plan, Problem, Solution, Solver
from skdp.support.types import MatrixLike, VectorLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CostOfPrivacyDisplay"]

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
        _require_solver(estimator)
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


def _require_solver(estimator: BaseEstimator) -> None:
    model = last_step(estimator)
    if not {"solver", "epsilon"} <= set(model.get_params()):
        raise TypeError(
            f"{type(model).__name__} has no parameters solver and epsilon. Nothing was fitted."
        )


@dataclass(frozen=True)
class _Minimizer(Solver):
    """Minimize Σ ℓ + |θ|²/(2C) over clipped rows, without privacy.

    C = "auto" is a ridge of 1e-4, because nothing stops early here.
    """

    def plan(self, problem: Problem, epsilon: float, delta: float) -> Plan:
        return Plan(
            problem=problem, event=NonPrivateEvent(), theorem="none, minimized without noise"
        )

    def solve(
        self, plan: Plan, design: Design, rng: np.random.Generator, progress: Progress
    ) -> Solution:
        loss, shape = plan.problem.loss, plan.problem.shape(design.n_features)
        ridge = _WEAK_RIDGE if isinstance(plan.problem.C, str) else 1.0 / plan.problem.C

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            theta = flat.reshape(shape)
            rows, slope = scored(design, loss.gradient, theta)
            value = rows.total(LossSum(loss.value, theta)) + 0.5 * ridge * (flat @ flat)
            return value, (slope + ridge * theta).ravel()

        least = minimize(
            objective, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=_LIMITS
        )
        return Solution(least.x.reshape(shape), int(least.nit))
