"""Every loss of the registry keeps the constants that privacy and run time rest on."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.losses import (
    LOSSES,
    ClippedLogisticLoss,
    CompetitorLoss,
    HingeLoss,
    HuberLoss,
    LogisticLoss,
    Loss,
    Minorant,
    MultinomialLoss,
    PoissonLoss,
    QuantileLoss,
    ResidualLoss,
    SmoothedHingeLoss,
    SquaredLoss,
)
from skdp.losses.base import adapted
from skdp.losses.classification import (
    AdaptiveCompetitorLoss,
    AdaptiveHingeLoss,
    AdaptiveLogisticLoss,
)
from skdp.losses.weighted import ClassWeightedLoss, WeightedLoss, weighted_targets
from skdp.research.pairwise_loss import PairwiseLoss


def subclasses_of(kind):
    return {kind}.union(*(subclasses_of(one) for one in kind.__subclasses__()))


def test_a_loss_around_another_passes_its_score_units_on():
    """A guarantee rests on them, and a loss without them is taken to need none."""
    wrappers = {
        kind for kind in subclasses_of(Loss) if "loss" in getattr(kind, "__match_args__", ())
    }
    assert {ClassWeightedLoss, WeightedLoss} <= wrappers
    assert {kind for kind in wrappers if not hasattr(kind, "score_units")} == set()


INSTANCES = [
    AdaptiveLogisticLoss(),
    AdaptiveHingeLoss(),
    AdaptiveCompetitorLoss(AdaptiveLogisticLoss(), 3),
    LogisticLoss(),
    ClippedLogisticLoss(),
    ClippedLogisticLoss(0.2),
    ClippedLogisticLoss(0.8),
    HingeLoss(),
    SmoothedHingeLoss(),
    SmoothedHingeLoss(0.3),
    SmoothedHingeLoss(2.5),
    SmoothedHingeLoss(0.01),
    MultinomialLoss(4),
    PairwiseLoss(ClippedLogisticLoss(), 3),
    CompetitorLoss(ClippedLogisticLoss(), 3),
    CompetitorLoss(SmoothedHingeLoss(), 10),
    CompetitorLoss(ClippedLogisticLoss(0.2), 5),
    CompetitorLoss(HingeLoss(), 4),
    CompetitorLoss(SmoothedHingeLoss(0.05), 3),
    CompetitorLoss(SmoothedHingeLoss(0.001), 3),
    ClassWeightedLoss(HingeLoss(), (2.0, 3.0)),
    PairwiseLoss(SmoothedHingeLoss(), 5),
    PairwiseLoss(HingeLoss(), 3),
    ClassWeightedLoss(ClippedLogisticLoss(), (0.5, 3.0)),
    ClassWeightedLoss(MultinomialLoss(3), (0.5, 3.0, 1.0)),
    WeightedLoss(ClippedLogisticLoss(), 2.5),
    WeightedLoss(HingeLoss(), 0.5),
    WeightedLoss(CompetitorLoss(HingeLoss(), 3), 4.0),
    WeightedLoss(CompetitorLoss(SmoothedHingeLoss(), 4), 3.0),
    WeightedLoss(QuantileLoss((0.1, 0.7), 0.4), 2.0),
    HuberLoss(),
    HuberLoss(3.0),
    SquaredLoss(0.7),
    QuantileLoss(),
    QuantileLoss((0.9,), 0.01),
    QuantileLoss((0.1, 0.5, 0.7), 0.4),
    PoissonLoss(),
    PoissonLoss(0.01),
    PoissonLoss(1e-6),
    PoissonLoss(3.0),
    WeightedLoss(PoissonLoss(0.5), 2.0),
]
WITH_TANGENTS = [loss for loss in INSTANCES if Minorant.of(loss).gap == 0.0]
every_loss = pytest.mark.parametrize("loss", INSTANCES, ids=repr)


def some_seeds(test):
    """Run a test on rows of four seeds, 3200 in all."""
    return given(seed=st.integers(0, 2**32 - 1))(settings(max_examples=4, deadline=None)(test))


every_smooth_loss = pytest.mark.parametrize(
    "loss", [loss for loss in INSTANCES if np.isfinite(loss.smoothness)], ids=repr
)


def draw(loss, seed, n=800):
    """Return targets and two sets of scores, from small ones to large ones."""
    rng = np.random.default_rng(seed)
    if isinstance(loss, WeightedLoss):
        y, z, other = draw(loss.loss, seed, n)
        return weighted_targets(y, rng.uniform(0.0, loss.max_weight, n)), z, other
    scale = 10.0 ** rng.uniform(-2, 1.5, (n, 1))
    z, other = scale * rng.normal(size=(2, n, loss.n_scores))
    y = rng.choice([-1.0, 1.0], n) if loss.n_scores == 1 else rng.integers(loss.n_scores, size=n)
    if isinstance(loss, (ResidualLoss, QuantileLoss, PoissonLoss)):
        y = scale[:, 0] * rng.normal(size=n)
    return (y, z[:, 0], other[:, 0]) if loss.n_scores == 1 else (y, z, other)


def inner(a, b):
    return a * b if a.ndim == 1 else (a * b).sum(axis=1)


def test_every_registered_loss_is_covered():
    assert {type(loss) for loss in INSTANCES} == set(LOSSES.values())


@every_loss
@some_seeds
def test_convex_with_a_subgradient(loss, seed):
    y, z, other = draw(loss, seed)
    bregman = loss.value(y, other) - loss.value(y, z) - inner(loss.gradient(y, z), other - z)
    assert (bregman >= -1e-9 * (1.0 + np.abs(loss.value(y, other)))).all()


@every_loss
@some_seeds
def test_the_gradient_is_within_the_lipschitz_constant(loss, seed):
    y, z, _ = draw(loss, seed)
    g = loss.gradient(y, z)
    assert np.sqrt(inner(g, g)).max() <= loss.lipschitz * (1.0 + 1e-12)


@every_smooth_loss
@some_seeds
def test_the_gradient_moves_within_the_smoothness(loss, seed):
    y, z, other = draw(loss, seed)
    step = loss.gradient(y, z) - loss.gradient(y, other)
    assert (
        np.sqrt(inner(step, step)) <= loss.smoothness * np.sqrt(inner(z - other, z - other)) + 1e-12
    ).all()


@every_smooth_loss
@some_seeds
def test_the_gradient_is_the_derivative(loss, seed):
    y, z, direction = draw(loss, seed)
    direction /= np.sqrt(inner(direction, direction)).max()
    derivative = (loss.value(y, z + 1e-6 * direction) - loss.value(y, z - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(derivative, inner(loss.gradient(y, z), direction), atol=3e-6)


def test_the_smoothness_is_attained_in_the_narrow_bend_of_a_competitor_loss():
    loss, y, h = CompetitorLoss(SmoothedHingeLoss(0.05), 3), np.array([0]), 1e-7
    steps = h * np.eye(3)
    largest = 0.0
    for lead in np.linspace(1.4, 1.5, 50):  # of the one competitor that is not far behind
        z = np.array([[lead, 0.0, -50.0]])
        rows = [loss.gradient(y, z + e) - loss.gradient(y, z - e) for e in steps]
        hessian = np.concatenate(rows) / (2.0 * h)
        largest = max(largest, np.linalg.eigvalsh(0.5 * (hessian + hessian.T)).max())
    assert largest == pytest.approx(loss.smoothness, rel=1e-5)


@every_smooth_loss
@some_seeds
def test_the_trace_of_the_hessian_is_bounded(loss, seed):
    y, z, _ = draw(loss, seed)
    steps = 1e-5 * np.eye(loss.n_scores)
    steps = steps[:, 0] if loss.n_scores == 1 else steps
    trace = sum(
        inner(loss.gradient(y, z + e) - loss.gradient(y, z - e), np.broadcast_to(e, z.shape))
        for e in steps
    ) / (2 * 1e-10)
    assert (trace <= loss.curvature_trace + 1e-4).all()


@every_loss
def test_the_lipschitz_constant_is_attained(loss, rng):
    y = np.array([1.0]) if loss.n_scores == 1 else np.array([1])
    if isinstance(loss, WeightedLoss):
        y = weighted_targets(y, np.array([loss.max_weight]))
    z = 50.0 * rng.normal(size=(2000, *draw(loss, 0, 1)[1].shape[1:]))
    z[0] = 0.0
    g = loss.gradient(np.repeat(y, 2000), z)
    assert np.sqrt(inner(g, g)).max() > 0.97 * loss.lipschitz


@every_loss
def test_a_loss_is_a_value(loss):
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert hash(loss) == hash(pickle.loads(pickle.dumps(loss)))


@every_loss
@some_seeds
def test_the_support_lies_below_the_loss_and_within_its_bound(loss, seed):
    y, z, other = draw(loss, seed)
    minorant = Minorant.of(loss)
    rise = inner(minorant.gradient(y, z), other - z)
    excess = loss.value(y, other) - minorant.value(y, z) - rise
    assert (excess >= -1e-9 * (1.0 + np.abs(loss.value(y, other)))).all()
    np.testing.assert_allclose(minorant.excess(y, other, z), np.maximum(excess, 0.0), atol=1e-9)
    radius, few = np.sqrt(inner(z - other, z - other)), slice(300)
    bound = np.array([minorant.excess_bound(r) for r in radius[few]])
    assert (excess[few] <= bound * (1.0 + 1e-9) + 1e-9).all()
    assert minorant.excess_bound(0.0) == minorant.gap


def every_lead(loss):
    """Records of the largest weight: each class ahead of the others, or of one, by −3 to 3."""
    if isinstance(loss, WeightedLoss):
        y, z = every_lead(loss.loss)
        return weighted_targets(y, np.full(y.size, loss.max_weight)), z
    lead, k = np.linspace(-3.0, 3.0, 6001), loss.n_scores
    if isinstance(loss, QuantileLoss):
        return lead, np.zeros(lead.size) if k == 1 else np.zeros((lead.size, k))
    if k == 1:
        return np.repeat([-1.0, 1.0], lead.size), np.concatenate([-lead, lead])
    y = np.repeat(np.arange(k), 2 * lead.size)
    z = np.zeros((y.size, k))
    z[np.arange(y.size) % (2 * lead.size) >= lead.size] = -50.0  # far behind
    z[np.arange(y.size), (y + 1) % k] = 0.0
    z[np.arange(y.size), y] = np.tile(lead, 2 * k)
    return y, z


@every_loss
def test_where_they_nearly_touch_the_loss_lies_above_its_support_by_the_gap_and_no_more(loss):
    y, z = every_lead(loss)
    minorant = Minorant.of(loss)
    most = minorant.excess(y, z, z).max()
    assert 0.7 * minorant.gap <= most <= minorant.gap * (1.0 + 1e-12) + 1e-12


@every_loss
@some_seeds
def test_the_derivative_of_the_minorant_moves_steadily(loss, seed):
    y, z, other = draw(loss, seed)
    minorant = Minorant.of(loss)
    step = minorant.gradient(y, z) - minorant.gradient(y, other)
    limit = minorant.smoothness * np.sqrt(inner(z - other, z - other))
    assert (np.sqrt(inner(step, step)) <= limit * (1.0 + 1e-9) + 1e-12).all()


@pytest.mark.parametrize("loss", WITH_TANGENTS, ids=repr)
def test_the_support_of_a_smooth_loss_is_its_tangent(loss):
    y, z, _ = draw(loss, 3)
    np.testing.assert_allclose(Minorant.of(loss).gradient(y, z), loss.gradient(y, z))
    np.testing.assert_allclose(Minorant.of(loss).value(y, z), loss.value(y, z))


@every_loss
def test_the_curvature_is_one_number_a_record(loss):
    y, z, _ = draw(loss, 1)
    curvature = loss.curvature(y, z)
    assert curvature.shape == y.shape
    assert (curvature >= 0).all()
    if np.isfinite(loss.smoothness):
        assert (curvature <= loss.smoothness + 1e-12).all()


def test_smoothing_lies_at_most_half_its_width_under_the_hinge():
    m = np.linspace(-3, 3, 601)
    gap = HingeLoss().value_at(m) - SmoothedHingeLoss(0.6).value_at(m)
    assert gap.min() >= -1e-15
    assert gap.max() <= 0.3 + 1e-15


@pytest.mark.parametrize("levels", [(0.5,), (0.1, 0.9)])
def test_rounding_lies_at_most_an_eighth_of_its_width_above_each_pinball_loss(levels):
    loss, y = QuantileLoss(levels, 0.4), np.linspace(-2, 2, 401)
    z = np.zeros((401, len(levels))) if len(levels) > 1 else np.zeros(401)
    r, tau = loss.start - y[:, None], np.array(levels)
    gap = loss.value(y, z) - np.maximum(r * (1.0 - tau), -r * tau).sum(axis=1)
    assert gap.min() >= -1e-15
    assert gap.max() <= len(levels) * 0.4 / 8 + 1e-15


def test_several_levels_cost_less_than_one_after_the_other():
    """One joint constant, √Σ max(τ, 1 − τ)², where separate fits would split the budget."""
    assert QuantileLoss((0.1, 0.5, 0.9)).lipschitz == pytest.approx(np.sqrt(0.81 + 0.25 + 0.81))


@given(level=st.floats(0.05, 0.95))
@settings(max_examples=20, deadline=None)
def test_a_rounded_pinball_loss_is_least_at_the_quantile(level):
    """Of evenly spaced numbers, whatever the level: rounding is symmetric."""
    loss, y = QuantileLoss((level,), 0.05), np.linspace(-1, 1, 20_001)
    quantile = 2.0 * level - 1.0 - loss.start[0]
    assert abs(loss.gradient(y, np.full(y.size, quantile)).mean()) < 1e-3


def test_the_huber_loss_is_the_clipped_square():
    r = np.linspace(-3, 3, 601)
    inside = np.abs(r) <= 0.7
    np.testing.assert_allclose(HuberLoss(0.7).value_at(r)[inside], 0.5 * r[inside] ** 2)
    np.testing.assert_allclose(
        HuberLoss(0.7).value_at(r)[~inside], 0.7 * np.abs(r[~inside]) - 0.5 * 0.49
    )


def test_clipping_leaves_the_flat_side_of_the_logistic_loss_alone():
    loss = ClippedLogisticLoss()
    m = np.linspace(loss.knee, 9, 50)
    np.testing.assert_allclose(loss.value_at(m), LogisticLoss().value_at(m), rtol=1e-14)


def test_clipping_at_one_half_halves_the_sensitivity():
    assert ClippedLogisticLoss(0.5).lipschitz == 0.5 * LogisticLoss().lipschitz


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: HuberLoss(0.0), "threshold"),
        (lambda: SquaredLoss(float("inf")), "threshold"),
        (lambda: QuantileLoss((0.5, 1.0)), "quantile"),
        (lambda: QuantileLoss(smoothing=0.0), "smoothing"),
    ],
)
def test_a_shape_outside_its_range_is_refused(make, name):
    with pytest.raises(ValueError, match=name):
        make()


@pytest.mark.parametrize("clip", [0.0, 1.0, -0.5, float("nan"), "half"])
def test_a_clip_outside_its_range_is_refused(clip):
    with pytest.raises(ValueError, match="loss_clip"):
        ClippedLogisticLoss(clip)


@pytest.mark.parametrize("loss", [loss for loss in INSTANCES if loss.n_scores == 1], ids=repr)
@some_seeds
def test_the_least_curvature_is_below_every_rise_of_the_gradient(loss, seed):
    y, z, radius = draw(loss, seed)
    radius, (s, t) = (
        np.abs(radius),
        np.sort(np.random.default_rng(seed).uniform(-1, 1, (2, 800)), 0),
    )
    minorant = Minorant.of(loss)
    least = minorant.least_curvature(y, z, radius)
    assert ((least >= 0.0) & (least <= loss.smoothness)).all()
    assert (least <= minorant.least_curvature(y, z, 0.5 * radius)).all()
    rise = loss.gradient(y, z + t * radius) - loss.gradient(y, z + s * radius)
    assert (rise >= least * (t - s) * radius * (1.0 - 1e-9) - 1e-12 * (1.0 + np.abs(z))).all()


def test_the_least_curvature_is_that_of_the_worse_end():
    y, z, radius = np.array([1.0]), np.array([0.5]), np.array([1.0])
    end = 1.0 / (2.0 + np.exp(1.5) + np.exp(-1.5))
    assert LogisticLoss().least_curvature(y, z, radius) == pytest.approx(end)
    assert HuberLoss(2.0).least_curvature(y, z, radius) == 1.0
    assert SmoothedHingeLoss(4.0).least_curvature(y, -z, radius) == 0.25
    assert SmoothedHingeLoss(0.01).least_curvature(y, y, 0.0 * radius) == 0.0


@pytest.mark.parametrize(
    ("signal", "wanted"), [(0.0, 0.16), (14.5, 0.08), (22.5, 0.12), (30.0, 0.16), (1e9, 0.16)]
)
def test_runs_on_targets_are_short_for_a_low_signal(signal, wanted):
    once = adapted(SquaredLoss(), signal)
    assert once.noise_scale == pytest.approx(wanted)
    assert adapted(once, signal) == once
