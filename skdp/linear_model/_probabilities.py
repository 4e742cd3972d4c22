"""The link of a fitted classifier, the evidence of several classes, and the spread of public rows.

Two classes: `Evidence`. More classes use the same model with the loss's own gradient on fixed
public draws. Rows are taken to be centered and to fill `data_norm`; the true scores of a row are
β_k + τ·u_k, u centered over the K classes. No guarantee rests on any constant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import log_expit, log_softmax, softmax

from skdp.design.memory import clip_factors
from skdp.features.base import FeatureMap
from skdp.linear_model._evidence import Evidence, Facts, expected_decay, way
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
_TAUS = np.array([0.05, 0.15, 0.3, 0.5, 0.8, 1.2, 1.8, 2.7, 4.0, 6.0])
_TYPICAL = 6  # the number of a τ of 1.8
_SIGNAL_SPREAD = 2.0  # as of two classes
_SIGNAL_ERROR = 0.6  # relative, of w²
_NORM_ERROR = 0.15  # of log|θ|²
_STEPS = np.diff(np.r_[0.0, np.geomspace(2e-3, 1.0, 16)])
_ROUNDS = 3  # in which β is found for which the run ends at the released intercepts
_MOST_DRAWS = 400.0  # over the number of classes, half of them mirrored
_FEWEST_DRAWS = 40  # fewer are so coarse that ten strong classes are spoilt
_LARGEST_BETA = 6.0
_MOST_RIDGE = 0.3  # of ridge·time; the model of the run of several classes has no ridge
# Below the first, |θ|² depends too little on the signal, and the link of the loss is used.
_LEAST_POWER, _FULL_POWER = 0.5, 1.5
# Ten classes with a strong signal lost up to 0.07 in log-loss, weak ones gained nothing.
_MOST_CLASSES = 5
# For strong signals |θ|² hardly grows with τ; the mean of both links then lost least.
_WEAK_TAU, _STRONG_TAU, _STRONG_SHARE = 1.5, 3.0, 0.5
_PUBLIC_ROWS = 400  # the error of a variance is then 7 %, half of what the model of a run is off by
_FEWEST_DIRECTIONS = 2.0
_ROWS = 8192  # that are processed at a time, so that arrays stay in the cache
_evidence = lru_cache(maxsize=4)(Evidence)  # whose link takes long: a fit asks for it four times


class _End(NamedTuple):
    """Mean scores (T, K), signal w (T,) and variance v of the noise in a score (T,)."""

    mean: np.ndarray
    signal: np.ndarray
    noise: np.ndarray


class _Found(NamedTuple):
    """Hypotheses, one per τ."""

    weight: np.ndarray
    beta: np.ndarray
    end: _End
    power: float
    excess: float


def _draws(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return public u and noise of shape (N, K), each centered and mirrored."""
    rng = np.random.default_rng(0)  # public: no secret is drawn from it
    half = max(_FEWEST_DRAWS, round(_MOST_DRAWS / n_classes / 2))
    u, noise = rng.normal(size=(2, half, n_classes))
    u -= u.mean(axis=1, keepdims=True)
    noise -= noise.mean(axis=1, keepdims=True)
    return np.concatenate([u, -u]), np.concatenate([noise, noise])


def _forces(facts: Facts, p: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means over labels of −∇ℓ, of shape (T, N, K), and of the curvature, (T,)."""
    n_taus, n_draws, n_classes = z.shape
    rows = np.tile(z.reshape(-1, n_classes), (n_classes, 1))
    labels = np.repeat(np.arange(n_classes), n_taus * n_draws)
    shares = np.moveaxis(p, 2, 0)
    gradient = facts.loss.gradient(labels, rows).reshape(n_classes, *z.shape)
    bend = facts.loss.curvature(labels, rows).reshape(n_classes, n_taus, n_draws)
    force = -(gradient * shares[..., None]).sum(axis=0)
    return force, (bend * shares).sum(axis=0).mean(axis=1)


def _run(facts: Facts, beta: np.ndarray) -> _End:
    """Follow the expected gradient for the time of the run, from each β and its τ."""
    flow, n, K = facts.flow, facts.flow.n_samples, len(facts.intercept)
    u, xi = _draws(K)
    spread = facts.data_norm**2 / facts.n_columns
    scaling = facts.intercept_scaling**2
    gain = flow.gain(n * spread)
    pace, mean_pace = n * flow.time * spread * gain, n * flow.time * scaling
    mean_pace *= flow.gain(n * scaling)
    rate = facts.data_norm**2 * flow.noise**2 * gain
    p = softmax(beta[:, None, :] + _TAUS[:, None, None] * u, axis=2)
    m, w, v = np.zeros_like(beta), np.zeros(_TAUS.size), np.zeros(_TAUS.size)
    for ds in _STEPS:
        z = m[:, None, :] + w[:, None, None] * u + np.sqrt(v)[:, None, None] * xi
        force, bend = _forces(facts, p, z)
        h, h_mean = pace * bend * ds, mean_pace * bend * ds
        w = w + pace * (force * u).sum(axis=(1, 2)) / (u * u).sum() * ds * expected_decay(h)
        m = m + (mean_pace * ds * expected_decay(h_mean))[:, None] * force.mean(axis=1)
        v = v * np.exp(-2 * h) + rate * ds * expected_decay(2 * h)
    return _End(m, w, v)


def _solved(facts: Facts) -> tuple[np.ndarray, _End]:
    """Return β for which mean scores end at the intercepts, about, and where the run ends."""
    beta = np.tile(0.6 * np.array(facts.intercept), (_TAUS.size, 1))
    end = _run(facts, beta)
    for _ in range(_ROUNDS - 1):
        found = np.maximum(np.linalg.norm(end.mean, axis=1), 0.1)
        slope = 0.8 * np.clip(np.linalg.norm(beta, axis=1) / found, 0.3, 1.5)
        beta = beta + slope[:, None] * (np.array(facts.intercept) - end.mean)
        beta = np.clip(beta, -_LARGEST_BETA, _LARGEST_BETA)
        end = _run(facts, beta)
    return beta, end


@dataclass(frozen=True, eq=False)
class EvidenceOfClasses:
    """Evidence of a signal in a released fit of several classes, computed on first use."""

    facts: Facts

    @cached_property
    def _found(self) -> _Found:
        facts, (beta, end) = self.facts, _solved(self.facts)
        rivals = len(facts.intercept) - 1
        spread = facts.data_norm**2 / facts.n_columns
        w2, v = end.signal**2, end.noise
        expected, entries = rivals * (w2 + v) / spread, rivals * facts.n_columns
        variance = (2 * v * v + 4 * w2 * v) / entries + (_SIGNAL_ERROR * w2) ** 2
        variance = variance / (w2 + v) ** 2 + _NORM_ERROR**2
        above = np.log(facts.square + 1e-12) - np.log(expected)
        prior = np.log(_TAUS / (1.0 + (_TAUS / _SIGNAL_SPREAD) ** 2))
        weight = np.exp(-0.5 * above**2 / variance - 0.5 * np.log(variance) + prior)
        power = np.log(expected[_TYPICAL] / expected[0]) / np.sqrt(variance[0])
        excess = float(above[0] / np.sqrt(variance[0]))
        return _Found(weight / weight.sum(), beta, end, float(power), excess)

    @property
    def power(self) -> float:
        """By how many standard deviations a typical signal moves log|θ|²."""
        return self._found.power

    @property
    def signal(self) -> float:
        """Standard deviations by which log|θ|² exceeds its mean for noise and base rates alone."""
        return self._found.excess

    @property
    def trust(self) -> float:
        """Weight of the link in [0, 1]; the rest is that of the loss's own link."""
        if len(self.facts.intercept) > _MOST_CLASSES:
            return 0.0
        excess_of_tau = (self._found.weight @ _TAUS - _WEAK_TAU) / (_STRONG_TAU - _WEAK_TAU)
        strong = float(np.clip(excess_of_tau, 0.0, 1.0))
        return way(self.power, _LEAST_POWER, _FULL_POWER) * (1.0 - _STRONG_SHARE * strong)

    def log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return logarithms of probabilities averaged over hypotheses, of shape (n, K)."""
        found, total = self._found, 0.0
        z = scores - scores.mean(axis=1, keepdims=True) - np.array(self.facts.intercept)
        for weight, beta, tau, w, v in zip(
            found.weight, found.beta, _TAUS, found.end.signal, found.end.noise, strict=True
        ):
            spread = w * w + v
            factor = 1.0 / np.sqrt(1.0 + np.pi / 8.0 * tau**2 * v / spread)
            total = total + weight * softmax(factor * (beta + tau * w / spread * z), axis=1)
        return np.asarray(log_softmax(np.log(total + 1e-300), axis=1))


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
    square: float = 0.0  # |θ|² without the intercept, centered over classes
    last: tuple[float, ...] = ()  # the intercept's part of θ, one a score
    n_columns: int = 0  # the others
    is_centered: bool = False  # whether the rows of the fit were shifted by their mean
    spread: PublicSpread | None = None  # of public rows; None for features without bounds
    means: ScoreMeans | None = None  # of labels and scores of the rows of the fit
    is_nearer: bool = False  # whether log-odds move toward those of the loss's link, by 1
    # Of these probabilities, or of those of several classes by the loss's link.
    moved: Recalibration | None = None

    @classmethod
    def of(cls, learned: Learned) -> Probabilities:
        solution, facts, fit, _ = learned
        spread, problem, flow = None, fit.problem, solution.flow
        is_known = solution.theta.ndim == 1 and flow is not None and problem.intercept_scaling > 0.0
        if isinstance(facts.feature_map, FeatureMap) and is_known:
            spread = PublicSpread.of(facts.feature_map, solution.theta[:-1], problem.data_norm)
        theta = solution.theta.reshape(len(solution.theta), -1)
        theta = theta - theta.mean(axis=1, keepdims=True) if theta.shape[1] > 1 else theta
        return cls(
            problem.loss if solution.loss is None else solution.loss,
            flow,
            problem,
            square=float((theta[:-1] ** 2).sum()),
            last=tuple(theta[-1].tolist()),
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
        return bool(self.moved or (self.evidence and self.evidence.trust > 0.0))

    @property
    def facts(self) -> Facts | None:
        """The numbers from which the evidence is computed.

        None if the model of a run does not apply: with other solvers, without an intercept, with a
        number for C, with weights of classes, or if a ridge ended a run of several classes.
        """
        flow, problem, inner = self.flow, self.problem, loss_of_one_row(self.loss)
        if flow is None or problem is None or inner is None:
            return None
        if problem.intercept_scaling == 0.0 or not isinstance(problem.C, str):
            return None
        if len(self.last) > 1 and flow.ridge * flow.time > _MOST_RIDGE:
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
            intercept=tuple(problem.intercept_scaling * b for b in self.last),
            signal=flow.n_samples * flow.time * pull / flow.noise,
            mean_shares=(0.0,) if self.is_centered else _MEAN_SHARES,
            means=self.means,
        )

    @cached_property
    def evidence(self) -> Evidence | EvidenceOfClasses | None:
        """Evidence of a signal, None if the model of a run does not apply."""
        facts = self.facts
        if facts is None:
            return None
        if len(facts.intercept) > 1:
            return EvidenceOfClasses(facts)
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
        if scores.ndim > 1:
            return log_softmax(mixed, axis=1)
        log_odds = mixed[:, 1] - mixed[:, 0]
        if self.is_nearer:
            own = plain[:, 1] - plain[:, 0]
            log_odds = np.clip(own, log_odds - _MOST_NEARER, log_odds + _MOST_NEARER)
        return log_expit(np.column_stack([-log_odds, log_odds]))
