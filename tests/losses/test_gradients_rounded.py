"""Rounding errors of gradients at given scores, against 200 bits: the step "Slopes" of the page."""

import math

import mpmath as mp
import numpy as np
import pytest

from skdp.linear_model._records import ExposureLoss
from skdp.losses import (
    ClippedLogisticLoss,
    CompetitorLoss,
    HuberLoss,
    LogisticLoss,
    MultinomialLoss,
    PoissonLoss,
    QuantileLoss,
    SmoothedHingeLoss,
    SquaredLoss,
)
from skdp.losses.base import adapted
from skdp.losses.classification import AdaptiveCompetitorLoss
from skdp.losses.weighted import (
    ClassWeightedLoss,
    WeightedLoss,
    weighted_targets,
)
from skdp.research.pairwise_loss import PairwiseLoss
from skdp.solvers._releases import record_error

UNIT = 2.0**-53
PRECISION = 200
BASES = [LogisticLoss(), ClippedLogisticLoss(), ClippedLogisticLoss(0.01), SmoothedHingeLoss()]
BASES += [SmoothedHingeLoss(0.01), SmoothedHingeLoss(2.5), SmoothedHingeLoss(1e-3)]
OF_ONE = [*BASES, HuberLoss(), SquaredLoss(0.7), QuantileLoss((0.9,), 0.01), PoissonLoss(0.01)]
OF_SEVERAL = [kind(base, K) for kind in (CompetitorLoss, PairwiseLoss)
              for base in BASES for K in (3, 10)]  # fmt: skip
OF_SEVERAL += [CompetitorLoss(ClippedLogisticLoss(), 40), CompetitorLoss(SmoothedHingeLoss(), 2)]
OF_SEVERAL += [adapted(AdaptiveCompetitorLoss(ClippedLogisticLoss(), 5), 100.0)]
OF_SEVERAL += [MultinomialLoss(3), MultinomialLoss(40), QuantileLoss((0.1, 0.5, 0.7), 0.4)]
OF_SEVERAL += [ClassWeightedLoss(CompetitorLoss(SmoothedHingeLoss(), 4), (0.5, 3.0, 1.0, 2.0))]
WEIGHTED = [WeightedLoss(one, 2.5) for one in (LogisticLoss(), HuberLoss(), OF_SEVERAL[2])]
WEIGHTED += [ExposureLoss(PoissonLoss(0.3), 2.5), ExposureLoss(PoissonLoss(3.0), 2.5)]
LOSSES = [*OF_ONE, *OF_SEVERAL, *WEIGHTED]


def real(x):
    return mp.mpf(float(x))


def clip(x, low, high):
    return min(max(x, low), high)


def derivative(phi, m):
    """φ' of a margin."""
    if isinstance(phi, SmoothedHingeLoss):
        return -clip((1 - m) / real(phi.width), 0, 1)
    knee = real(phi.knee) if isinstance(phi, ClippedLogisticLoss) else -mp.inf
    return -1 / (1 + mp.exp(max(m, knee)))


def of_leads(y, slopes):
    """The gradient in z of a function of the leads z_j − z_y, by its slopes in them."""
    slopes[y] = -mp.fsum(slopes[:y] + slopes[y + 1 :])
    return slopes


def of_pairs(loss, y, z):
    return of_leads(y, [-derivative(loss.margin_loss, z[y] - one) / loss.n_scores for one in z])


def of_competitors(loss, y, z):
    """φ'(M − δ)·∇M, with the constants of the loss as the machine has them."""
    rivals, beta = loss.n_scores - 1, loss._sharpness
    a, single = loss._length * math.sqrt(0.5), real(beta * loss._length * math.sqrt(0.5))
    logs = real(math.log(0.8)), real(math.log((1.0 - 0.8) / rivals))
    v = [one - z[y] for one in z]
    uniform = mp.exp(real(beta) * mp.fsum(v) / rivals + logs[0])
    singles = [mp.exp(single * one + logs[1]) for one in v]
    singles[y] = mp.mpf(0)
    total = uniform + mp.fsum(singles)
    lead = -mp.log(total) / real(beta) - real(0.5 * loss.margin_loss.noise_scale)
    rise = -derivative(loss.margin_loss, lead) / total
    return of_leads(y, [rise * (real(a) * one + uniform / rivals) for one in singles])


def of_softmax(loss, y, z):
    total = mp.fsum(mp.exp(one) for one in z)
    return [mp.exp(one) / total - (j == y) for j, one in enumerate(z)]


def of_levels(loss, y, z):
    residuals = (one + real(start) - y for one, start in zip(z, loss.start, strict=True))
    rises = (clip(r / real(loss.smoothing) + 0.5, 0, 1) for r in residuals)
    return [rise - real(level) for rise, level in zip(rises, loss.levels, strict=True)]


def of_counts(loss, y, z):
    rise = mp.exp(min(z[0] + real(loss.start), 0)) - clip((1 + y) / 2, 0, 1)
    return [clip(rise, -real(loss.threshold), real(loss.threshold))]


def exact(loss, y, z, weight=None):
    """The gradient of a loss for one record, written without its code."""
    if isinstance(loss, ClassWeightedLoss):
        return [real(loss.weights[y]) * one for one in exact(loss.loss, y, z)]
    if isinstance(loss, ExposureLoss):
        inner, share = loss.loss, real(weight / loss.max_weight)
        rise = share * mp.exp(min(z[0] + real(inner.start), 0)) - clip((1 + y) / 2, 0, 1)
        return [real(loss.max_weight) * clip(rise, -real(inner.threshold), real(inner.threshold))]
    if isinstance(loss, WeightedLoss):
        return [real(weight) * one for one in exact(loss.loss, y, z)]
    kinds = {CompetitorLoss: of_competitors, PairwiseLoss: of_pairs, MultinomialLoss: of_softmax,
             QuantileLoss: of_levels, PoissonLoss: of_counts}  # fmt: skip
    if type(loss) in kinds:
        return kinds[type(loss)](loss, y, z)
    if isinstance(loss, HuberLoss):
        return [clip(z[0] - y, -real(loss.threshold), real(loss.threshold))]
    return [y * derivative(loss, y * z[0])]


def scores(y, K, size, rng):
    """Scores of this norm: random, or nearly tied far from the score of the true class y."""
    z, kind = rng.normal(size=K) * 10.0 ** rng.uniform(-9, 0), rng.random()
    if K > 1 and kind < 0.5:
        z[rng.permutation(K)[: rng.integers(1, K)]] += rng.choice([-1e3, 1e3])
    elif K > 2 and kind < 0.9:  # a hard competitor beside the mean of all
        a = math.sqrt(0.5 * K / (K - 1.0))
        z += 1e3 * (a * (K - 1) - 1.0) / (K - 2)
        z[y - 1] += 1e3 - z[y]
        z[y] = 0.0
    return z * size / np.linalg.norm(z)


def core_of(loss):
    """The loss without weights."""
    return core_of(loss.loss) if hasattr(loss, "loss") else loss


def records(loss, n, rng):
    """Targets, weights and scores, from those of a few rows to those of strong signals."""
    sizes, core, K = 10.0 ** rng.uniform(-3, 7, n), core_of(loss), loss.n_scores
    labels = rng.integers(K, size=n)
    z = np.array([scores(y, K, size, rng) for y, size in zip(labels, sizes, strict=True)])
    aimed = rng.random(n) < 0.6  # at derivatives that change
    if isinstance(core, (HuberLoss, QuantileLoss, PoissonLoss)):
        y = rng.uniform(-1.0, 1.0, n)
        z[aimed] = y[aimed, None] + 0.3 * rng.normal(size=z[aimed].shape)
        if isinstance(core, QuantileLoss):
            z = y[:, None] - core.start + core.smoothing * rng.uniform(-0.7, 0.7, z.shape)
        if isinstance(core, PoissonLoss):
            shares = np.maximum(0.5 + 0.5 * y + core.threshold * rng.uniform(-1.0, 1.0, n), 1e-9)
            z[aimed] = (np.log(shares) - core.start)[aimed, None]
    else:
        y = rng.choice([-1.0, 1.0], n) if K == 1 else labels
        if not isinstance(core, MultinomialLoss):
            z[aimed] = shifted(core, y[aimed], z[aimed], rng)
    return y, 2.5 * rng.random(n), z


def shifted(core, y, z, rng):
    """Scores with a score of the true class that takes the margin to where φ' changes."""
    phi = getattr(core, "margin_loss", core)
    wanted = 1.0 - getattr(phi, "width", 2.0) * rng.uniform(-0.1, 1.1, y.size)
    if not hasattr(phi, "width"):
        wanted = getattr(phi, "knee", -2.0) + rng.uniform(-0.5, 4.0, y.size)
    if z.shape[1] == 1:
        return (y * wanted)[:, None]
    z, rows, largest = z.copy(), np.arange(y.size), 3.0 * (10.0 + np.abs(z).max(axis=1))
    low, high = -largest, largest
    for _ in range(80):
        z[rows, y] = 0.5 * (low + high)
        below = margins(core, y, z) < wanted
        low, high = np.where(below, z[rows, y], low), np.where(below, high, z[rows, y])
    return z


def margins(core, y, z):
    if isinstance(core, CompetitorLoss):
        return core._lead(y, z)[0]
    others = np.where(np.arange(z.shape[1]) == y[:, None], -np.inf, z)
    return z[np.arange(y.size), y] - others.max(axis=1)


def worst(loss, n=60, seed=0):
    """The largest error over its bound, in some records."""
    rng, K, found = np.random.default_rng(seed), loss.n_scores, 0.0
    y, weights, z = records(loss, n, rng)
    targets = weighted_targets(y, weights) if isinstance(loss, WeightedLoss) else y
    gradients = loss.gradient(targets, z if K > 1 else z[:, 0]).reshape(n, K)
    for i in range(n):
        target = int(y[i]) if y.dtype.kind == "i" else real(y[i])
        parts = zip(gradients[i], exact(loss, target, [*map(real, z[i])], weights[i]), strict=True)
        error = float(mp.norm([real(one) - other for one, other in parts]) / UNIT)
        found = max(found, error / allowed(loss, float(np.linalg.norm(z[i]))))
    return found


def allowed(loss, size):
    """The bound of *Machine numbers* for a gradient at exact scores of this norm."""
    K, of_scores = loss.n_scores, size + 2.0 * loss.noise_scale
    relative, of_targets = (32 + K) * loss.lipschitz, 4.0 * math.sqrt(K) * loss.smoothness
    units = getattr(loss, "score_units", 0.0)
    return relative + of_targets + units * loss.smoothness * of_scores


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_gradient_is_within_the_bound(loss):
    with mp.workprec(PRECISION):
        assert 0.0 < worst(loss) <= 1.0


@pytest.mark.parametrize(
    "loss", [one for one in LOSSES if getattr(one, "score_units", 0.0)], ids=repr
)
def test_the_bound_counts_in_a_record(loss):
    with_units = record_error(loss, 2.0, 5, 2**14)
    kind, units = type(core_of(loss)), loss.score_units
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "score_units", 0.0)
        without = record_error(loss, 2.0, 5, 2**14)
    more = units * loss.smoothness * UNIT
    assert with_units[0] - without[0] == pytest.approx(4.0 * more * loss.noise_scale, rel=1e-3)
    assert with_units[1] - without[1] == pytest.approx(4.0 * more, rel=1e-9)


@pytest.mark.parametrize(
    "loss", [one for one in OF_SEVERAL if getattr(one, "score_units", 0.0)], ids=repr
)
def test_scores_that_cancel_need_their_own_term(loss, monkeypatch):
    """A soft worst competitor weighs large scores against each other; for two classes all agree."""
    monkeypatch.setattr(CompetitorLoss, "score_units", 0.0)
    with mp.workprec(PRECISION):
        assert (worst(loss, n=120) > 5.0) == (loss.n_scores > 2)
