"""The link of a fitted classifier, moves of it by released numbers, and the spread of public rows.

No guarantee rests on any constant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import log_expit, log_softmax

from skdp.design.memory import clip_factors
from skdp.features.base import FeatureMap
from skdp.linear_model._evidence import Evidence, Facts
from skdp.linear_model._plans import Learned
from skdp.losses import ClippedLogisticLoss, Loss
from skdp.losses.base import ProbabilityLoss
from skdp.losses.weighted import WeightedLoss
from skdp.solvers import Problem
from skdp.solvers._releases import loss_of_one_row
from skdp.solvers.base import Flow, ScoreMeans

FARTHEST = 8.0  # log-odds that count fully where they are recalibrated
LEAST_SLOPE = 1e-3  # by which the rest counts, so that the ranks of rows stay
_MOST_NEARER = 1.0  # of log-odds; with more, the noise in the choice of the link is larger
_MEAN_SHARES = (0.0, 0.7)  # rows that are not centered may be, or have most of it in their mean
_PUBLIC_ROWS = 400  # the error of a variance is then 7 %, half of what the model of a run is off by
_FEWEST_DIRECTIONS = 2.0
_ROWS = 8192  # that are processed at a time, so that arrays stay in the cache
_evidence = lru_cache(maxsize=4)(Evidence)  # whose link takes long: a fit asks for it four times


class PublicSpread(NamedTuple):
    """The spread of features and scores over rows drawn evenly from the bounds of a table.

    With the covariance Λ of their features, `rank` is (tr Λ)²/tr Λ²: about as many directions have
    most of the variance. `square` is rank·θᵀΛθ/tr Λ, which is |θ|² if these directions are equal
    and the only ones. `mean_share` is the share of the mean in the squared norm of features.
    """

    rank: float
    square: float
    mean_share: float

    @classmethod
    def of(cls, feature_map: FeatureMap, coef: np.ndarray, data_norm: float) -> PublicSpread:
        """Return the spread of scores of *released* coefficients."""
        rng = np.random.default_rng(0)  # public: no secret is drawn from it
        rows = feature_map.facts.even_rows(_PUBLIC_ROWS, rng)
        features = feature_map.whole(feature_map.prepare(rows))
        factors = clip_factors(features, data_norm)
        products = features @ features.T
        products = products.toarray() if sparse.issparse(products) else products
        products = factors[:, None] * np.asarray(products, float) * factors
        return cls._of_products(products, factors * np.asarray(features @ coef), coef.size)

    @classmethod
    def _of_products(cls, products: np.ndarray, scores: np.ndarray, most: int) -> PublicSpread:
        """Return the spread for products of rows, whose square has the mean tr Λ² for two rows."""
        n, square = len(products), float(products.trace()) / len(products)
        means = products.mean(axis=0)
        centered = products - means - means[:, None] + means.mean()
        trace = float(centered.trace()) / (n - 1)
        if trace <= 0.0:
            return cls(_FEWEST_DIRECTIONS, 0.0, 0.0)
        others = float((centered**2).sum() - (centered.diagonal() ** 2).sum())
        rank = trace**2 * n * (n - 1) / max(others, np.finfo(float).tiny)
        rank = min(max(rank, _FEWEST_DIRECTIONS), most)
        return cls(rank, rank * float(scores.var()) / trace, max(0.0, 1.0 - trace / square))


class Recalibration(NamedTuple):
    """*Released* shifts and slopes of log-odds, of shape (2, C), for one pass after the other.

    Log-odds of shape (n, C) are those of the second of two classes, or of each against the others.
    """

    passes: tuple[np.ndarray, ...] = ()

    def __call__(self, log_odds: np.ndarray) -> np.ndarray:
        """Return log-odds after all passes. Probabilities of several classes add up to 1."""
        for shifts, slopes in self.passes:
            inside = np.clip(log_odds, -FARTHEST, FARTHEST)
            log_odds = shifts + slopes * (inside + LEAST_SLOPE * (log_odds - inside))
            log_odds = against_others(log_expit(log_odds)) if shifts.size > 1 else log_odds
        return log_odds


class TowardShares(NamedTuple):
    """*Released*: probabilities p of several classes become p^w·q^(1−w), with shares q of classes.

    They are divided by their sum.
    """

    weight: float  # w
    log_shares: np.ndarray  # of q, of shape (K,)

    def scores(self, scores: np.ndarray) -> np.ndarray:
        """Return scores of shape (n, K), whose softmax has the mixed probabilities."""
        return self.weight * scores + (1.0 - self.weight) * self.log_shares

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return logarithms of probabilities for scores whose softmax has those of the fit."""
        return np.asarray(log_softmax(self.scores(scores), axis=1))


def against_others(scores: np.ndarray) -> np.ndarray:
    """Return the log-odds of each class by the softmax of scores; no large numbers cancel."""
    z, rows = scores - scores.max(axis=1, keepdims=True), np.arange(len(scores))
    odds, likeliest = np.exp(z), z.argmax(axis=1)
    odds[rows, likeliest] = 0.0
    second = odds.sum(axis=1)
    others = 1.0 + (second[:, None] - odds)
    others[rows, likeliest] = second
    return np.asarray(z - np.log(others + 1e-300))


@dataclass(frozen=True)
class Probabilities:
    """Probabilities of the classes by *public and released* numbers, computed when first asked for.

    The link of the loss is used where the other numbers are None or say too little.
    """

    loss: Loss  # a `ProbabilityLoss`
    flow: Flow | None = None  # the run that ended at θ
    problem: Problem | None = None
    square: float = 0.0  # |θ|² without the intercept
    last: float = 0.0  # the intercept's part of θ of two classes
    n_columns: int = 0  # the others
    is_centered: bool = False  # whether the rows of the fit were shifted by their mean
    spread: PublicSpread | None = None  # of public rows; None for features without bounds
    means: ScoreMeans | None = None  # of labels and scores of the rows of the fit
    is_nearer: bool = False  # whether log-odds move toward those of the loss's link, by 1
    # Of these probabilities, or of those of several classes by the loss's link.
    moved: Recalibration | TowardShares | None = None

    @classmethod
    def of(cls, learned: Learned) -> Probabilities:
        solution, facts, fit, _ = learned
        spread, problem, flow = None, fit.problem, solution.flow
        is_known = solution.theta.ndim == 1 and flow is not None and problem.intercept_scaling > 0.0
        if isinstance(facts.feature_map, FeatureMap) and is_known:
            spread = PublicSpread.of(facts.feature_map, solution.theta[:-1], problem.data_norm)
        theta = solution.theta
        return cls(
            problem.loss if solution.loss is None else solution.loss,
            flow,
            problem,
            square=float((theta[:-1] ** 2).sum()),
            last=float(theta[-1]) if theta.ndim == 1 else 0.0,
            n_columns=len(theta) - 1,
            is_centered=facts.center is not None,
            spread=spread,
            means=solution.means,
            is_nearer=solution.is_nearer,
            moved=solution.moved,
        )

    @property
    def follows_evidence(self) -> bool:
        """Whether the link is any other than that of the loss."""
        return self.moved is not None or bool(self.evidence and self.evidence.trust > 0.0)

    @property
    def facts(self) -> Facts | None:
        """The numbers from which the evidence is computed.

        None if the model of a run does not apply: with several classes, with other solvers, without
        an intercept, with a number for C, or with weights of classes.
        """
        flow, problem, inner = self.flow, self.problem, loss_of_one_row(self.loss)
        if flow is None or problem is None or inner is None or inner.n_scores > 1:
            return None
        if problem.intercept_scaling == 0.0 or not isinstance(problem.C, str):
            return None
        share = flow.clip_share
        if share < 1.0 and isinstance(inner, ClippedLogisticLoss):
            # Clipping a person's gradient reduces the clip of the loss; the power was measured.
            inner = replace(inner, clip=inner.clip * share**0.5)
        pull = self.loss.lipschitz * problem.row_norm * share
        largest = self.loss.largest if isinstance(self.loss, WeightedLoss) else 1.0
        return Facts(
            flow=replace(flow, time=flow.time * largest, ridge=flow.ridge / largest),
            loss=inner,
            data_norm=problem.data_norm,
            intercept_scaling=problem.intercept_scaling,
            n_columns=self.n_columns,
            square=self.square,
            intercept=problem.intercept_scaling * self.last,
            signal=flow.n_samples * flow.time * pull / flow.noise,
            mean_shares=(0.0,) if self.is_centered else _MEAN_SHARES,
            means=self.means,
        )

    @cached_property
    def evidence(self) -> Evidence | None:
        """Evidence of a signal, None if the model of a run does not apply."""
        facts = self.facts
        if facts is None:
            return None
        if self.spread is None:
            return _evidence(facts)
        rank, square, mean_share = self.spread  # if rows vary as public rows do
        shares = (0.0,) if self.is_centered else (mean_share, _MEAN_SHARES[-1])
        other = facts._replace(n_columns=rank, square=square, mean_shares=shares)
        return _evidence(facts, (other,))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return probabilities for scores of shape (n,) or (n, K)."""
        starts = range(0, max(len(scores), 1), _ROWS)
        return np.concatenate([self._of_few(scores[start : start + _ROWS]) for start in starts])

    def _of_few(self, scores: np.ndarray) -> np.ndarray:
        if self.follows_evidence:
            return np.asarray(np.exp(self.log_probabilities(scores)))
        assert isinstance(self.loss, ProbabilityLoss), "both logistic losses have a link"
        return self.loss.probabilities(scores)

    def log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return logarithms of probabilities for scores of shape (n,) or (n, K)."""
        if self.moved is None:
            return self.before_moved(scores)
        if isinstance(self.moved, TowardShares):
            return self.moved(self.before_moved(scores))
        if scores.ndim > 1:
            return log_expit(self.moved(against_others(scores)))
        log_odds = self.moved(np.diff(self.before_moved(scores)))
        return np.asarray(log_expit(np.hstack([-log_odds, log_odds])))

    def before_moved(self, scores: np.ndarray) -> np.ndarray:
        """Return logarithms of probabilities before they are recalibrated."""
        assert isinstance(self.loss, ProbabilityLoss), "both logistic losses have a link"
        plain, evidence = self.loss.log_probabilities(scores), self.evidence
        if evidence is None or evidence.trust == 0.0:
            return plain
        found = evidence.log_probabilities(scores)
        mixed = evidence.trust * found + (1.0 - evidence.trust) * plain
        log_odds = mixed[:, 1] - mixed[:, 0]
        if self.is_nearer:
            own = plain[:, 1] - plain[:, 0]
            log_odds = np.clip(own, log_odds - _MOST_NEARER, log_odds + _MOST_NEARER)
        return log_expit(np.column_stack([-log_odds, log_odds]))
