"""Plots of the effects in an additive model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from skdp.additive import AdditiveEffect
from skdp.inspection._axes import axes_for, set_scale
from skdp.support.types import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AdditiveEffectsDisplay"]


@dataclass(eq=False, repr=False, kw_only=True)
class AdditiveEffectsDisplay:
    """The effect of each column on the score, with a band for the privacy noise.

    **The display reads no data**, only a released model: show it wherever you may show the model.
    Columns that the model takes on a logarithmic scale are drawn on one. The band is 1.96 times an
    upper bound of the standard deviation of the privacy noise: it covers about 95 % of the noise or
    more, and no sampling error. Bands of curves with `monotonic_cst` are narrower. Use
    `from_estimator` to create a display.

    Parameters
    ----------
    effects : dict of str to AdditiveEffect
        The result of `explain_global` of a model.
    classes : sequence or None, default None
        Labels of the scores, if there are several.

    Attributes
    ----------
    axes_, figure_
        The parts of the plot.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPAdditiveClassifier
    >>> from skdp.inspection import AdditiveEffectsDisplay
    >>> X = np.random.default_rng(0).random((1000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = DPAdditiveClassifier(bounds=(0, 1)).fit(X, y)
    >>> sorted(AdditiveEffectsDisplay.from_estimator(model).effects)
    ['0', '1']
    """

    effects: Mapping[str, AdditiveEffect]
    classes: Sequence[Label] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        terms: Sequence[str] | None = None,
        ax: ArrayLike | None = None,
    ) -> Self:
        """Plot the effects of a fitted model.

        Parameters
        ----------
        estimator : DPAdditiveClassifier, DPAdditiveRegressor or Pipeline
            Fitted. Of a pipeline the last step is shown, in the units of its own input.
        terms : sequence of str or None, default None
            Some of its `term_names_`, in this order. ``None``: all, the most important first.
        ax : array of matplotlib axes or None, default None
            One for each term. ``None``: a new figure.

        Returns
        -------
        AdditiveEffectsDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the model has no such term.
        """
        if isinstance(estimator, Pipeline):
            estimator = estimator[-1]
        effects = estimator.explain_global()
        if terms is None:
            terms = sorted(effects, key=lambda term: -effects[term].importance)
        if unknown := [term for term in terms if term not in effects]:
            raise ValueError(f"Unknown terms: {unknown}. The model has {list(effects)}.")
        classes = getattr(estimator, "classes_", ())
        display = cls(
            effects={term: effects[term] for term in terms},
            classes=list(classes) if len(classes) > 2 else None,
        )
        return display.plot(ax)

    def plot(self, ax: ArrayLike | None = None) -> Self:
        """Draw curves, bars or a map for each term.

        Parameters
        ----------
        ax : array of matplotlib axes or None, default None
            One for each term. ``None``: a new figure.

        Returns
        -------
        AdditiveEffectsDisplay
            The display itself.
        """
        axes = axes_for(self, ax, len(self.effects), "term")
        for one, (term, effect) in zip(axes, self.effects.items(), strict=True):
            draw = _draw_map if len(effect.values) > 1 else self._draw_lines
            draw(one, effect)
            for name, unit, places in zip("xy", effect.units, effect.values, strict=False):
                set_scale(one, name, unit, places)
            one.set_title(term, fontsize="medium")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _draw_lines(self, ax: Axes, effect: AdditiveEffect) -> None:
        """Draw a line per score, or points for categories, with their bands."""
        x, curves = effect.values[0], effect.effect.reshape(len(effect.values[0]), -1)
        bands = (
            None if effect.band is None else [end.reshape(curves.shape).T for end in effect.band]
        )
        for k, curve in enumerate(curves.T):
            ends = None if bands is None else (bands[0][k], bands[1][k])
            label = None if self.classes is None else str(self.classes[k])
            if effect.categorical[0]:
                xerr = None if ends is None else (curve - ends[0], ends[1] - curve)
                ax.errorbar(curve, np.arange(len(x)), xerr=xerr, fmt="o", label=label)
                continue
            (line,) = ax.plot(x, curve, label=label)
            if ends is not None:
                ax.fill_between(x, *ends, alpha=0.25, color=line.get_color())
        if effect.categorical[0]:
            ax.set_yticks(np.arange(len(x)), [str(value) for value in x], fontsize="small")
        if self.classes is not None:
            ax.legend(fontsize="small")
        (ax.axvline if effect.categorical[0] else ax.axhline)(0.0, color="gray", linewidth=0.5)


def _draw_map(ax: Axes, effect: AdditiveEffect) -> None:
    """Draw the effect of a pair on the first score as a map."""
    sizes = tuple(map(len, effect.values))
    heights = effect.effect.reshape(*sizes, -1)[:, :, 0]
    places = [
        np.arange(size) if categorical else x
        for size, categorical, x in zip(sizes, effect.categorical, effect.values, strict=True)
    ]
    most = float(np.abs(heights).max())
    drawn = ax.pcolormesh(*places, heights.T, cmap="coolwarm", vmin=-most, vmax=most)
    for axis, categorical, x in zip(
        (ax.xaxis, ax.yaxis), effect.categorical, effect.values, strict=True
    ):
        if categorical:
            axis.set_ticks(np.arange(len(x)), [str(value) for value in x])
    ax.set(xlabel=effect.columns[0], ylabel=effect.columns[1])
    ax.figure.colorbar(drawn, ax=ax)
