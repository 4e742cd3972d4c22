"""Displays and cards of released models, which read no data."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from skdp.additive.effects import AdditiveEffect
from skdp.budget.report import NEIGHBORS, UNPROTECTED
from skdp.ledger.release import VERSION
from skdp.privacy import PrivacyGuarantee
from skdp.privacy.guarantee import DEFAULT_DELTA
from skdp.support.display import at_least, percents
from skdp.support.types import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST_IN_A_ROW = 4
_MOST_TICKS = 7  # about so many powers of ten on an axis


def _new_axes(n: int) -> np.ndarray:
    """Return the axes of a new figure, four in a row."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(
            "AdditiveEffectsDisplay needs matplotlib. Install it with: pip install skdp[plot]."
        ) from error
    columns = min(n, _MOST_IN_A_ROW)
    rows = -(-n // columns)
    size = (3.2 * columns, 2.8 * rows)
    _, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for unused in axes.ravel()[n:]:
        unused.set_axis_off()
    return np.asarray(axes)


def set_scale(ax: Axes, name: str, unit: float, places: np.ndarray) -> None:
    """Set the scale of axis "x" or "y" for increasing places: logarithmic beyond a finite unit."""
    if math.isfinite(unit):
        getattr(ax, f"set_{name}scale")("asinh", linear_width=unit)
        if len(ticks := _ticks(unit, places[0], places[-1])) > 1:
            getattr(ax, f"set_{name}ticks")(ticks)
        getattr(ax, f"set_{name}lim")(places[0], places[-1])


def _ticks(unit: float, low: float, high: float) -> np.ndarray:
    """Return 0 and the powers of ten beyond the unit, within the bounds."""
    low, high = (float(f"{end:.9g}") for end in (low, high))  # ends are bounds up to rounding
    last = math.floor(math.log10(max(-low, high, unit)))
    powers = 10.0 ** np.arange(math.ceil(math.log10(unit)), last + 1)
    powers = powers[:: 1 + len(powers) // _MOST_TICKS]
    ticks = np.concatenate([-powers[::-1], [0.0], powers])
    return ticks[(low <= ticks) & (ticks <= high)]


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
        n = len(self.effects)
        axes = np.atleast_1d(_new_axes(n) if ax is None else ax).ravel()[:n]
        if len(axes) < n:
            raise ValueError(f"ax must have {n} axes, one per term, got {len(axes)}.")
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


@dataclass(frozen=True)
class ModelCard:
    """The guarantee and the parameters of a fitted model.

    ``str(card)`` is a README.md for the Hugging Face Hub: a YAML header, then Markdown. `metadata`
    are the same facts for other registries, such as MLflow.

    Parameters
    ----------
    title : str
        *Public.* The heading.
    metadata : dict of str to str or float
        *Public, or computed from released values.* Numbers of the guarantee by name.
    sections : tuple of (str, str)
        *Public, or computed from released values.* Headings and texts in Markdown.
    tags : dict of str to str or list
        *Public.* The entries of the YAML header before the metadata.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> X, y = [[0.0], [1.0]] * 1000, [0, 1] * 1000
    >>> card = model_card(DPLogisticRegression(epsilon=1.0).fit(X, y), title="Churn")
    >>> [heading for heading, text in card.sections]
    ['Privacy guarantee', 'What an attacker gains', 'What is not protected', 'Model']
    >>> for line in str(card).splitlines()[1:6]:
    ...     print(line)
    library_name: "sklearn"
    tags: ["differential-privacy", "sklearn", "skdp"]
    pipeline_tag: "tabular-classification"
    privacy_epsilon: 1.0
    privacy_delta: 1e-05
    """

    title: str
    metadata: dict[str, str | float]
    sections: tuple[tuple[str, str], ...]
    tags: dict[str, str | list[str]]

    def __str__(self) -> str:
        header = (f"{name}: {json.dumps(v)}" for name, v in (self.tags | self.metadata).items())
        parts = (f"## {heading}\n\n{text}" for heading, text in self.sections)
        return "\n\n".join(["\n".join(["---", *header, "---"]), f"# {self.title}", *parts, ""])


def model_card(model: BaseEstimator, *, title: str | None = None) -> ModelCard:
    """Describe a fitted model and its guarantee for a model registry.

    Parameters
    ----------
    model : estimator
        *Released.* A fitted estimator or private pipeline.
    title : str or None
        *Public.* The heading. ``None``: the name of the class.

    Returns
    -------
    ModelCard
        It costs no privacy. It contains the parameters of the model, but not its budget or seed.

    Raises
    ------
    ValueError
        If the model has no guarantee, because of ``epsilon=inf`` or a seed.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLogisticRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> card = model_card(DPLogisticRegression(epsilon=1.0).fit(X, X[:, 0] > 0))
    >>> card.metadata["privacy_epsilon"], card.metadata["privacy_unit"]
    (1.0, 'record')
    """
    found: PrivacyGuarantee = model.privacy_
    delta = DEFAULT_DELTA if found.asked is None else found.asked[1]
    epsilon = at_least(found.epsilon(delta))
    if found.seeded or epsilon == float("inf"):
        raise ValueError(
            "The model has no guarantee. Fit it with a finite epsilon and random_state=None."
        )
    return ModelCard(
        title=type(model).__name__ if title is None else title,
        metadata={
            "privacy_epsilon": epsilon,
            "privacy_delta": at_least(delta),
            "privacy_unit": str(found.unit),
            "privacy_neighboring": str(found.neighboring),
            "privacy_theorem": found.theorem,
            "privacy_gdp_mu": at_least(found.gdp_mu) if found.gdp_mu < math.inf else "inf",
            "privacy_library": f"skdp {VERSION}",
        },
        sections=(*_of_guarantee(found), ("Model", f"```\n{_parameters(model)}\n```")),
        tags=_tags(model),
    )


def _of_guarantee(found: PrivacyGuarantee) -> list[tuple[str, str]]:
    relation = found.neighboring
    neighbors = NEIGHBORS[found.unit, relation.count_is_public]
    risks = [f"| {name} | {percents(risk)} |" for name, risk in found.risk().to_dict().items()]
    return [
        ("Privacy guarantee", f"{found}\n\nNeighboring data sets ({relation}): {neighbors}."),
        ("What an attacker gains", "\n".join(["| attack | at most |", "|---|---|", *risks])),
        ("What is not protected", "\n".join(f"- {text}" for text in UNPROTECTED)),
    ]


def _tags(model: BaseEstimator) -> dict[str, str | list[str]]:
    tags: dict[str, str | list[str]] = {"library_name": "sklearn"}
    tags["tags"] = ["differential-privacy", "sklearn", "skdp"]
    if is_classifier(model):
        tags["pipeline_tag"] = "tabular-classification"
    elif is_regressor(model):
        tags["pipeline_tag"] = "tabular-regression"
    return tags


def _parameters(model: BaseEstimator) -> str:
    """Return the parameters without budgets, whose paths name a machine."""
    budgets = [name for name in model.get_params() if name.split("__")[-1] == "budget"]
    return clone(model).set_params(**dict.fromkeys(budgets)).__repr__(N_CHAR_MAX=10_000)
