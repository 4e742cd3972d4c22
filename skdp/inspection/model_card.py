"""A model card: the guarantee of a fitted model in the format of model registries."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

from skdp.budget.deltas import DEFAULT_DELTA
from skdp.budget.report import NEIGHBORS, UNPROTECTED
from skdp.privacy import PrivacyGuarantee
from skdp.support.digits import at_least, percents

__all__ = ["ModelCard", "model_card"]


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
        },
        sections=(*_of_guarantee(found), ("Model", f"```\n{_shown(model)}\n```")),
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


def _shown(model: BaseEstimator) -> str:
    """Return the parameters without budgets, whose paths name a machine."""
    budgets = [name for name in model.get_params() if name.split("__")[-1] == "budget"]
    return clone(model).set_params(**dict.fromkeys(budgets)).__repr__(N_CHAR_MAX=10_000)
