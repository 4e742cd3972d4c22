"""Probabilities of two classes from the scores of a private fit, by empirical Bayes.

The page *Probabilities* in the documentation derives the model. Everything here is computed from
public and released numbers, so it costs no privacy. No guarantee rests on any constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.interpolate import RegularGridInterpolator
from scipy.special import expit, log_expit
from sklearn.isotonic import isotonic_regression

from skdp.losses import Loss
from skdp.solvers.base import Flow, ScoreMeans

# Priors. The true log-odds of a row are β + τ·u with u ~ N(0, 1).
_BASE_SPREAD = 2.5  # standard deviation of β: base rates from 1 % to 99 %
_SIGNAL_SPREAD = 2.0  # where the density τ/(1 + (τ/2)²) of log τ is largest: an AUC of about 0.85
_LEAST_TAU = 0.05
_NO_SIGNAL = 0.02  # prior weight of τ = 0
# Means determine τ. With them, a prior flatter in log τ makes fewer fits worse than a constant.
_POWER_WITH_MEANS, _NO_SIGNAL_WITH_MEANS = 0.5, 0.1

# Errors of the model itself, measured on simulated fits.
_SIGNAL_ERROR = 0.3  # relative, of w
_MEAN_ERROR = 0.1  # relative, of the mean score
_LEAST_ERROR = 0.05  # of the mean score
_NORM_ERROR = 0.15  # of log|θ|²
_OWN_SHARE = 0.15  # of time·R²·L, by which a row's own gradient moves its score at most
_LEAST_LABEL_ERROR = 0.001  # of the mean label; .01 would be a rare class itself
_PRODUCT_ERROR = 0.15  # relative, of the covariance of label and score

# Below the first power, |θ|² says little about the signal. The weight of the link is then a quarter
# below the first n·μ/k and all of it above the second. More of it for fewer rows gained up to 0.03
# in log-loss on weak signals, but lost up to 0.1 on pairs of digits.
_LEAST_TRUST = 0.25
_TRUSTED_ROWS = (60.0, 300.0)
# Runs that a ridge ends have little noise for their few rows. Separable tables then lose most.
_LEAST_RIDGE, _TRUSTED_ROWS_OF_RIDGES = 0.3, (300.0, 1500.0)  # of ridge·time; of n·μ/k
_LEAST_POWER, _FULL_POWER = 0.4, 1.0
_TYPICAL_TAU = 1.5
# Covariances of label and clipped score. In between the link goes over to that of the loss, because
# the model of a run takes separable tables for weaker than they are.
_STRONG, _SEPARABLE = 1.3, 2.0
# Between these n·μ/k the link goes over to that of the loss, which tends to the true one.
_FEW, _MANY = 2000.0, 8000.0

_STEPS = np.diff(np.r_[0.0, np.geomspace(1e-3, 1.0, 16)])  # of the flow, as shares of its time
_BETAS = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.75, 4.5, 5.5])
_TAUS = np.array([0.0, 0.15, 0.3, 0.5, 0.75, 1.1, 1.6, 2.3, 3.3, 5.0, 8.0])
_FINE_BETAS = np.linspace(-5.5, 5.5, 111)
_FINE_TAUS = np.r_[0.0, np.geomspace(_LEAST_TAU, 8.0, 50)]
_LEAST_SLOPE = 1e-3  # of the logit: pooled pieces keep the ranks of rows


class Facts(NamedTuple):
    """Public and released numbers of a fit.

    `square` is |θ|² without the intercept; `signal` is n·μ/k; `mean_shares` are shares of a row's
    squared norm in the mean row, equally likely. Rows vary evenly in `n_columns` directions.
    """

    flow: Flow
    loss: Loss
    data_norm: float
    intercept_scaling: float
    n_columns: float
    square: float
    intercept: float
    signal: float
    mean_shares: tuple[float, ...]
    means: ScoreMeans | None = None


class Link(NamedTuple):
    """Log-odds at increasing scores, linear between them and beyond."""

    scores: np.ndarray
    log_odds: np.ndarray

    def __call__(self, z: np.ndarray) -> np.ndarray:
        s, values = self.scores, self.log_odds
        low = (values[6] - values[0]) / (s[6] - s[0])
        high = (values[-1] - values[-7]) / (s[-1] - s[-7])
        inside = np.interp(z, s, values)
        return inside + low * np.minimum(z - s[0], 0.0) + high * np.maximum(z - s[-1], 0.0)


class _Geometry(NamedTuple):
    """Squared length of the mean row, and variance of rows in each direction."""

    mean: float
    spread: float


class _End(NamedTuple):
    """Mean score m, signal w, and variances v of noise in a score and in the mean score."""

    mean: np.ndarray
    signal: np.ndarray
    noise: np.ndarray
    mean_noise: np.ndarray


class Posterior(NamedTuple):
    """Hypotheses, one an entry, with weights."""

    weight: np.ndarray
    beta: np.ndarray
    tau: np.ndarray
    signal: np.ndarray
    noise: np.ndarray
    center: np.ndarray  # of the mean score, given the intercept
    center_noise: np.ndarray


def _normal_nodes(n: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return nodes, weights / weights.sum()


_U, _U_WEIGHTS = _normal_nodes(11)
_V, _V_WEIGHTS = _normal_nodes(5)


def expected_decay(x: np.ndarray) -> np.ndarray:
    """Return (1 − e^−x)/x: an exponential Euler step over a plain one."""
    return np.where(x > 1e-6, -np.expm1(-x) / np.maximum(x, 1e-12), 1.0)


def _geometries(facts: Facts) -> list[_Geometry]:
    """Return rows that fill `data_norm`: centered, or most of them their mean."""
    square = facts.data_norm**2
    return [
        _Geometry(share * square, (1.0 - share) * square / facts.n_columns)
        for share in facts.mean_shares
    ]


def _run(facts: Facts, rows: _Geometry) -> _End:
    """Return the end of the run. It is the same for all coefficients, so it is cached for folds."""
    run = facts._replace(square=0.0, intercept=0.0, signal=0.0, mean_shares=(), means=None)
    return _followed(run, rows)


@lru_cache(maxsize=16)
def _followed(facts: Facts, rows: _Geometry) -> _End:
    """Follow the expected gradient for the time of the run, at each β ≥ 0 and τ of the grid.

    Exponential Euler steps for the mean score m, the signal w, and four errors: the privacy noise
    in a score (v) and in the mean score (b), and the same of sampling rows, which adds up along
    the run instead of its squares (a, c).
    """
    flow, loss, n, s2 = facts.flow, facts.loss, facts.flow.n_samples, facts.flow.noise**2
    base, others = rows.mean + facts.intercept_scaling**2, max(facts.n_columns - 1, 1)
    spread, mean = (L * flow.gain(n * L) for L in (rows.spread, base))
    pace, mean_pace = n * flow.time * spread, n * flow.time * mean
    pull, mean_pull = (flow.ridge * flow.time * flow.gain(n * L) for L in (rows.spread, base))
    beta, tau = np.meshgrid(_BETAS, _TAUS, indexing="ij")
    p = expit(beta[..., None] + tau[..., None] * _U)
    m, w, v, b, a, c = (np.zeros_like(beta) for _ in range(6))
    for ds in _STEPS:
        z = (m[..., None] + w[..., None] * _U)[..., None] + np.sqrt(v + a * a)[..., None, None] * _V
        force, square, curvature = _expectations(loss, p, z)
        h0, hu = curvature @ _U_WEIGHTS, (curvature * _U**2) @ _U_WEIGHTS
        h, along = ((pace * bend + pull) * ds for bend in (h0, np.maximum(hu, 0.3 * h0)))
        h_mean = (mean_pace * h0 + mean_pull) * ds
        w = w + (pace * ((force * _U) @ _U_WEIGHTS) - pull * w) * ds * expected_decay(along)
        m = m + (mean_pace * (force @ _U_WEIGHTS) - mean_pull * m) * ds * expected_decay(h_mean)
        v = v * np.exp(-2 * h) + others * spread * s2 * ds * expected_decay(2 * h)
        b = b * np.exp(-2 * h_mean) + mean * s2 * ds * expected_decay(2 * h_mean)
        error = np.sqrt(square / n) * ds
        a = a * np.exp(-h) + pace * np.sqrt(others) * error * expected_decay(h)
        c = c * np.exp(-h_mean) + mean_pace * error * expected_decay(h_mean)
    return _End(_fine(m, -1.0), _fine(w), _fine(v + a * a), _fine(b + c * c))


def _expectations(
    loss: Loss, p: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means over labels and noise of −ℓ', and over noise of ℓ'', and E(ℓ')² over rows."""
    score, p, shape = z.ravel(), p[..., None], z.shape
    one = np.ones(score.size)
    up, down = (-loss.gradient(y, score).reshape(shape) for y in (one, -one))
    bend = [loss.curvature(y, score).reshape(shape) for y in (one, -one)]
    force = (p * up + (1.0 - p) * down) @ _V_WEIGHTS
    square = (p * up**2 + (1.0 - p) * down**2) @ _V_WEIGHTS @ _U_WEIGHTS
    return force, square, (p * bend[0] + (1.0 - p) * bend[1]) @ _V_WEIGHTS


def _fine(coarse: np.ndarray, sign: float = 1.0) -> np.ndarray:
    """Return values on the fine grid. By symmetry, a value at −β is `sign` times that at β."""
    between = RegularGridInterpolator((_BETAS, _TAUS), coarse)
    beta, tau = np.meshgrid(_FINE_BETAS, _FINE_TAUS, indexing="ij")
    return np.where(beta < 0.0, sign, 1.0) * between((np.abs(beta), tau))


def _log_prior(power: float, of_none: float) -> np.ndarray:
    """Return log-densities of log τ that rise as τ^power and fall as 1/τ, and of β."""
    tau = np.maximum(_FINE_TAUS, _LEAST_TAU)
    density = tau**power / (1.0 + (tau / _SIGNAL_SPREAD) ** (power + 1.0))
    of_tau = np.log(np.where(_FINE_TAUS > 0.0, density, of_none))
    return of_tau - 0.5 * (_FINE_BETAS[:, None] / _BASE_SPREAD) ** 2


class _Norm(NamedTuple):
    """Expected |θ|² at each hypothesis, and the variance of its logarithm."""

    mean: np.ndarray
    log_variance: np.ndarray


def _norm(facts: Facts, rows: _Geometry, end: _End) -> _Norm:
    """Add up |θ|² from the directions of the mean row and of the signal, and from noise in all
    others."""
    d, base = facts.n_columns, rows.mean + facts.intercept_scaling**2
    of_mean = end.mean**2 * rows.mean / base**2
    of_signal = end.signal**2 / rows.spread
    of_noise = end.noise / rows.spread + (facts.flow.noise**2 if rows.mean else 0.0)
    total = of_mean + of_signal + of_noise
    variance = 2.0 / d * of_noise**2 + 4.0 / d * (of_signal + of_mean) * of_noise
    variance += (2 * _SIGNAL_ERROR * of_signal) ** 2 + (2 * _MEAN_ERROR * of_mean) ** 2
    variance += 4.0 * of_mean * end.mean_noise * rows.mean / base**2
    return _Norm(total, variance / total**2 + _NORM_ERROR**2)


def _weigh(facts: Facts, rows: _Geometry, end: _End, norm: _Norm) -> tuple[np.ndarray, Posterior]:
    """Return log-likelihoods, and hypotheses that are not yet weighted."""
    base = rows.mean + facts.intercept_scaling**2
    share = facts.intercept_scaling**2 / base  # of the mean score in the intercept
    across = share * facts.flow.noise**2 * rows.mean  # additional noise of the intercept
    expected, b = share * end.mean, facts.intercept
    error = (_MEAN_ERROR * end.mean) ** 2 + _LEAST_ERROR**2
    of_b = end.mean_noise * share**2 + across + (_MEAN_ERROR * expected) ** 2 + _LEAST_ERROR**2
    log_likelihood = -0.5 * (np.log(facts.square + 1e-12) - np.log(norm.mean)) ** 2
    log_likelihood = log_likelihood / norm.log_variance - 0.5 * np.log(norm.log_variance)
    log_likelihood = log_likelihood - 0.5 * (b - expected) ** 2 / of_b - 0.5 * np.log(of_b)
    seen, prior = across / share**2 + 1e-6, end.mean_noise + error
    center_noise = 1.0 / (1.0 / prior + 1.0 / seen)
    center = (end.mean / prior + b / share / seen) * center_noise
    beta, tau = np.meshgrid(_FINE_BETAS, _FINE_TAUS, indexing="ij")
    values = (log_likelihood, beta, tau, end.signal, end.noise, center, center_noise)
    return log_likelihood, Posterior(*(np.ravel(value) for value in values))


def _power(norm: _Norm) -> float:
    """Return by how many standard deviations a typical signal moves log|θ|², at β = 0."""
    middle, typical = _FINE_BETAS.size // 2, int(np.searchsorted(_FINE_TAUS, _TYPICAL_TAU))
    rise = np.log(norm.mean[middle, typical] / norm.mean[middle, 0])
    return float(abs(rise) / np.sqrt(norm.log_variance[middle, 0]))


def _excess(facts: Facts, null_weight: np.ndarray, norm: _Norm) -> float:
    """Return the excess of log|θ|² over its value at the likeliest β without a signal."""
    best = int(np.argmax(null_weight))
    excess = np.log(facts.square + 1e-12) - np.log(norm.mean[best, 0])
    return float(excess / np.sqrt(norm.log_variance[best, 0]))


def _found(facts: Facts) -> tuple[Posterior, float, float]:
    """Return the posterior; power and excess for rows with the first of the mean shares."""
    parts, seen = [], []
    for rows in _geometries(facts):
        end = _run(facts, rows)
        norm = _norm(facts, rows, end)
        likelihood, part = _weigh(facts, rows, end, norm)
        log_weight = likelihood + _log_prior(1.0, _NO_SIGNAL)
        seen.append((_power(norm), _excess(facts, log_weight[:, 0], norm)))
        if facts.means is not None:
            log_weight = likelihood + _log_prior(_POWER_WITH_MEANS, _NO_SIGNAL_WITH_MEANS)
        part = part._replace(weight=log_weight.ravel())
        parts.append(part if facts.means is None else _with_means(part, facts, facts.means))
    return _normalized(parts), *seen[0]


def _with_means(found: Posterior, facts: Facts, means: ScoreMeans) -> Posterior:
    """Return hypotheses that are likely, with log-weights that count the released means.

    y has the mean E y = E(2p − 1) over u. Given u, z has the mean m + wu and the variance v, and
    c(z) the mean f(u). Rows pull their own scores toward their labels. The mean score, which is
    uncertain given a hypothesis, is updated as in a Kalman filter.
    """
    found = Posterior(*(column[found.weight > found.weight.max() - 25.0] for column in found))
    n, most = means.n_records, means.most_score
    noise = means.noise**2
    sign = np.tanh(0.5 * (found.beta[:, None] + found.tau[:, None] * _U))
    label, spread = sign @ _U_WEIGHTS, np.minimum(found.signal**2 + found.noise, most**2) / n
    variance = noise + 1.0 / n + _LEAST_LABEL_ERROR**2 + (means.count_noise * label) ** 2
    log_weight = found.weight + _log_normal(means.label - label, variance)

    center, of_center = found.center, found.center_noise
    score = _clipped(found, center, most) @ _U_WEIGHTS
    variance = most**2 * noise + spread + of_center + (means.count_noise * score) ** 2
    log_weight += _log_normal(means.score - score, variance)
    center = center + of_center * (means.score - score) / variance
    of_center = of_center * (1.0 - of_center / variance)

    f = _clipped(found, center, most)
    flow = facts.flow
    longest = flow.time * facts.data_norm**2 * facts.loss.lipschitz * flow.clip_share
    own = _OWN_SHARE * longest
    product = (sign * f) @ _U_WEIGHTS + own * (1.0 - label**2)
    covariance = product - label * (f @ _U_WEIGHTS)
    variance = most**2 * noise + spread + own**2 + label**2 * of_center
    variance += (_PRODUCT_ERROR * covariance) ** 2 + (means.count_noise * product) ** 2
    log_weight += _log_normal(means.product - product, variance)
    return found._replace(weight=log_weight, center=center, center_noise=of_center)


def _clipped(found: Posterior, center: np.ndarray, most: float) -> np.ndarray:
    """Return the mean clipped score at each hypothesis and u."""
    scores = center[:, None] + found.signal[:, None] * _U
    noise = np.sqrt(found.noise)[:, None, None] * _V
    return np.asarray(np.clip(scores[..., None] + noise, -most, most) @ _V_WEIGHTS)


def _log_normal(error: np.ndarray, variance: np.ndarray) -> np.ndarray:
    return -0.5 * error**2 / variance - 0.5 * np.log(variance)


def way(value: float, low: float, high: float) -> float:
    """Return how much of the way from `low` to `high` a value is, on a logarithmic scale."""
    return float(np.clip(np.log(max(value, 1e-9) / low) / np.log(high / low), 0.0, 1.0))


def _of_rows(signal: float, few: float, enough: float) -> float:
    """Return the weight of a link for n·μ/k."""
    return _LEAST_TRUST + (1.0 - _LEAST_TRUST) * way(signal, few, enough)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence of a signal in a released fit of two classes, computed on first use.

    `others` are the facts for other guesses of how rows vary. They are equally likely, because |θ|²
    does not distinguish them.
    """

    facts: Facts
    others: tuple[Facts, ...] = ()

    @cached_property
    def trust(self) -> float:
        """Weight of the link in [0, 1]; the rest is that of the loss's own link."""
        flow, means = self.facts.flow, self.facts.means
        x = self.facts.signal * flow.clip_share
        few = 1.0 - way(x, _FEW, _MANY)
        if means is not None:
            strong = (means.covariance - _STRONG) / (_SEPARABLE - _STRONG)
            return few * (1.0 - float(np.clip(strong, 0.0, 1.0)))
        trust = max(way(self.power, _LEAST_POWER, _FULL_POWER), _of_rows(x, *_TRUSTED_ROWS))
        if flow.ridge * flow.time > _LEAST_RIDGE:
            trust *= _of_rows(x, *_TRUSTED_ROWS_OF_RIDGES)
        return trust * few

    @property
    def power(self) -> float:
        """By how many standard deviations a typical signal moves log|θ|². Public."""
        return self._found[1]

    @property
    def signal(self) -> float:
        """Standard deviations by which log|θ|² exceeds its mean for noise and base rate alone."""
        return self._found[2]

    @cached_property
    def _found(self) -> tuple[Posterior, float, float]:
        found, power, excess = _found(self.facts)
        every = [found, *(_found(facts)[0] for facts in self.others)]
        pooled = Posterior(*(np.concatenate(columns) for columns in zip(*every, strict=True)))
        return pooled._replace(weight=pooled.weight / len(every)), power, excess

    def log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return logarithms of probabilities, of shape (n, 2)."""
        log_odds = self.link(scores)
        return np.column_stack([log_expit(-log_odds), log_expit(log_odds)])

    @cached_property
    def link(self) -> Link:
        """The posterior predictive log-odds."""
        return two_class_link(self._found[0])


def _normalized(parts: list[Posterior]) -> Posterior:
    """Return all hypotheses that matter, with weights that sum to 1."""
    every = Posterior(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    weight = np.exp(every.weight - every.weight.max())
    kept = Posterior(*(column[weight > 1e-3] for column in every))
    weight = weight[weight > 1e-3]
    return kept._replace(weight=weight / weight.sum())


def two_class_link(found: Posterior) -> Link:
    """Return p(y = 1 | score) at 49 scores, averaged over hypotheses by how likely the score is.

    Score and log-odds are jointly normal given a hypothesis. The score has mean `center` and
    variance w² + v. The regression of the log-odds on the score has the coefficient τw/(w² + v).
    The probit approximation integrates over the remaining uncertainty of the log-odds.
    """
    weight, beta, tau, w, v, center, c2 = (column[:, None] for column in found)
    spread = w * w + v + 1e-9
    total = spread + c2
    slope = tau * w / total
    rest = tau**2 * v / spread + (tau * w / spread) ** 2 * c2 * spread / total
    middle = float((weight * center).sum())
    width = np.sqrt((weight * (total + (center - middle) ** 2)).sum())
    z = middle + width * np.linspace(-4.5, 4.5, 49)
    density = weight * np.exp(-0.5 * (z - center) ** 2 / total) / np.sqrt(total) + 1e-300
    p = expit((beta + slope * (z - center)) / np.sqrt(1.0 + np.pi / 8.0 * rest))
    mass = density.sum(axis=0)
    p = np.clip((density * p).sum(axis=0) / mass, 1e-7, 1.0 - 1e-7)
    log_odds = isotonic_regression(np.log(p / (1.0 - p)), sample_weight=mass / mass.sum() + 1e-6)
    return Link(z, log_odds + _LEAST_SLOPE * (z - middle))
