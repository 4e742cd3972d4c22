"""The link of a fitted classifier: probabilities from scores, by evidence or by the loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import log_expit, log_softmax

from skdp.linear_model._evidence import Evidence, Facts
from skdp.linear_model._evidence_of_classes import EvidenceOfClasses
from skdp.losses import ClassWeightedLoss, ClippedLogisticLoss, Loss, SharedLoss, WeightedLoss
from skdp.losses.base import ProbabilityLoss
from skdp.solvers import Problem, Solution

__all__ = ["Probabilities"]


@dataclass(frozen=True)
class Probabilities:
    """Probabilities of the classes, computed when first asked for.

    Parameters
    ----------
    loss : ProbabilityLoss
        *Public or released.* Its link is used without facts, and where they say too little.
    facts : Facts or None
        *Public or released.*
    """

    loss: ProbabilityLoss
    facts: Facts | None = None

    @classmethod
    def of(cls, solution: Solution, problem: Problem) -> Probabilities:
        """Return the link of what a solver released."""
        loss = problem.loss if solution.loss is None else solution.loss
        assert isinstance(loss, ProbabilityLoss), "both logistic losses have a link"
        return cls(loss, _facts(loss, solution, problem))

    @property
    def follows_evidence(self) -> bool:
        """Whether the link is any other than that of the loss."""
        return self.evidence is not None and self.evidence.trust > 0.0

    @cached_property
    def evidence(self) -> Evidence | EvidenceOfClasses | None:
        """What the fit says about its signal, None where the run is not known."""
        if self.facts is None:
            return None
        two = len(self.facts.intercept) == 1
        return Evidence(self.facts) if two else EvidenceOfClasses(self.facts)

    def log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return logarithms of probabilities for scores of shape (n,) or (n, K)."""
        plain, evidence = self.loss.log_probabilities(scores), self.evidence
        if evidence is None or evidence.trust == 0.0:
            return plain
        found = evidence.log_probabilities(scores)
        mixed = evidence.trust * found + (1.0 - evidence.trust) * plain
        if scores.ndim > 1:
            return np.asarray(log_softmax(mixed, axis=1))
        log_odds = mixed[:, 1] - mixed[:, 0]
        return np.column_stack([log_expit(-log_odds), log_expit(log_odds)])


def _facts(loss: Loss, solution: Solution, problem: Problem) -> Facts | None:
    """Return what the evidence is computed from.

    None where the run is not a plain flow to an intercept as well: where the solver is another, C
    is the user's own, or rows have weights, which are not public.
    """
    flow, inner = solution.flow, _of_one_row(loss)
    known = flow is not None and problem.intercept_scaling > 0.0 and isinstance(problem.C, str)
    if flow is None or inner is None or not known:
        return None
    theta = solution.theta.reshape(len(solution.theta), -1)
    theta = theta - theta.mean(axis=1, keepdims=True) if theta.shape[1] > 1 else theta
    share, norm = flow.clip_share, problem.row_norm
    if share < 1.0 and isinstance(inner, ClippedLogisticLoss):
        # What clipping a person's gradient leaves of the loss's clip, found by experiment.
        inner = replace(inner, clip=inner.clip * share**0.5)
    return Facts(
        flow=flow,
        loss=inner,
        data_norm=problem.data_norm,
        intercept_scaling=problem.intercept_scaling,
        n_columns=len(theta) - 1,
        square=float((theta[:-1] ** 2).sum()),
        intercept=tuple((problem.intercept_scaling * theta[-1]).tolist()),
        signal=flow.n_samples * flow.time * loss.lipschitz * norm * share / flow.noise,
    )


def _of_one_row(loss: Loss) -> Loss | None:
    """Return the loss of a row, None if rows have private weights."""
    if isinstance(loss, SharedLoss):
        return _of_one_row(loss.loss) if loss.largest == 1.0 else None
    if isinstance(loss, WeightedLoss):
        return None
    inner = loss.loss if isinstance(loss, ClassWeightedLoss) else loss
    return loss if isinstance(inner, ProbabilityLoss) else None
