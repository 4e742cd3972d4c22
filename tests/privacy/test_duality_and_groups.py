"""Curves and trade-off functions as objects: duality, mixtures, groups, post-processing."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.privacy import (
    ApproxDPEvent,
    GaussianCurve,
    GaussianEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    ZCDPEvent,
)
from skdp.privacy.combined import MaximumCurve, MixtureCurve, SymmetrizedCurve
from skdp.privacy.curve import (
    DiscretePairCurve,
    renyi_divergence,
)


def lemma_1(epsilon, delta, size):
    """Return the (ε', δ') of a group of `size` changes, from the (ε, δ) of one (Tian 2024)."""
    factor = math.expm1(size * epsilon) / math.expm1(epsilon)
    return size * epsilon, min(1.0, delta * factor)


weights = st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4).filter(lambda w: sum(w) > 0.1)
distributions = weights.map(lambda w: tuple(np.array(w) / sum(w)))
GRID = np.linspace(-4.0, 4.0, 33)
ALPHA = np.linspace(0.0, 1.0, 41)


@given(p=distributions, q=distributions)
def test_a_finite_pair_is_the_conjugate_of_its_table(p, q):
    pair = DiscretePairCurve(p, q)
    alpha = np.append(0.0, np.cumsum(pair.ordered()[1]))  # the table is straight between these
    lines = 1.0 - pair.tradeoff()(alpha) - np.exp(GRID)[:, None] * alpha
    np.testing.assert_allclose(np.maximum(lines.max(axis=1), 0.0), pair.delta(GRID), atol=1e-14)


@given(p=distributions, q=distributions)
@settings(max_examples=25, deadline=None)
def test_the_table_is_the_conjugate_of_the_curve(discrete_curve, p, q):
    by_lines = discrete_curve(p, q).tradeoff()
    alpha = np.linspace(0.01, 0.99, 7)
    np.testing.assert_allclose(
        DiscretePairCurve(p, q).tradeoff()(alpha), by_lines(alpha), atol=2e-3
    )
    assert np.all(by_lines(alpha) <= DiscretePairCurve(p, q).tradeoff()(alpha) + 1e-12)


def test_the_table_of_laplace_noise_is_its_closed_form():
    curve = LaplaceEvent(1.0).curve("add_remove_one")
    beta = curve.tradeoff()(ALPHA)
    assert np.all(beta <= 1 - ALPHA + 1e-15)
    assert beta[20] == pytest.approx(math.exp(-1) / 4 / 0.5, rel=1e-5)


@pytest.mark.parametrize(("p", "q"), [((0.5,), (1.0,)), ((1.0,), (0.5, 0.5)), ((), ())])
def test_masses_that_are_no_distribution_are_refused(p, q):
    with pytest.raises(ValueError, match=r"sum to 1|same length"):
        DiscretePairCurve(p, q)


@given(p=distributions, q=distributions, merge=st.permutations(range(4)))
def test_merging_outcomes_never_raises_the_curve(p, q, merge):
    first, second, *rest = merge
    merged = [
        (distribution[first] + distribution[second], *(distribution[i] for i in rest))
        for distribution in (p, q)
    ]
    before, after = DiscretePairCurve(p, q), DiscretePairCurve(*merged)
    assert np.all(after.delta(GRID) <= before.delta(GRID) + 1e-15)
    assert np.all(after.tradeoff()(ALPHA) >= before.tradeoff()(ALPHA) - 1e-14)


@given(
    p=distributions, q=distributions, r=distributions, s=distributions, weight=st.floats(0.0, 1.0)
)
def test_a_mixture_is_exact_if_its_branch_is_released_and_above_it_else(p, q, r, s, weight):
    curves = DiscretePairCurve(p, q), DiscretePairCurve(r, s)
    mixed = MixtureCurve((weight, 1 - weight), curves)
    a, b = weight * np.array(p), (1 - weight) * np.array(r)
    c, d = weight * np.array(q), (1 - weight) * np.array(s)
    released = DiscretePairCurve((*a, *b), (*c, *d))
    hidden = DiscretePairCurve(tuple(a + b), tuple(c + d))
    for one, exact, below in (
        (mixed, released, hidden),
        (mixed.reversed(), released.reversed(), hidden.reversed()),
    ):
        np.testing.assert_allclose(one.delta(GRID), exact.delta(GRID), atol=1e-14)
        assert np.all(below.delta(GRID) <= one.delta(GRID) + 1e-14)


@pytest.mark.parametrize("shares", [(0.5, 0.6), (1.5, -0.5), (1.0,)])
def test_weights_that_do_not_mix_are_refused(shares):
    with pytest.raises(ValueError, match="weights must be one for each curve"):
        MixtureCurve(shares, (GaussianCurve(1.0), GaussianCurve(2.0)))


@given(p=distributions, q=distributions)
def test_symmetrized_is_the_larger_order_at_every_epsilon(p, q):
    one, other = DiscretePairCurve(p, q), DiscretePairCurve(q, p)
    both = SymmetrizedCurve(one)
    assert both.reversed() is both
    np.testing.assert_array_equal(both.delta(GRID), np.maximum(one.delta(GRID), other.delta(GRID)))
    envelope = MaximumCurve((one, other))
    np.testing.assert_array_equal(envelope.delta(GRID), both.delta(GRID))
    np.testing.assert_allclose(envelope.reversed().delta(GRID), both.delta(GRID), atol=1e-15)


@pytest.mark.parametrize(
    ("epsilon", "delta", "size", "printed"),
    [(1.0, 1e-5, 2, 3.718282e-5), (1.0, 1e-5, 3, 1.110734e-4), (0.5, 1e-6, 5, 1.723775e-5)],
)
def test_lemma_1_and_the_curve_version_agree_for_a_black_box(epsilon, delta, size, printed):
    group = ApproxDPEvent(epsilon, delta).curve("replace_one").group(size)
    bound, failure = lemma_1(epsilon, delta, size)
    assert bound == size * epsilon
    assert failure == pytest.approx(printed, rel=1e-6)
    assert group.delta(bound) == pytest.approx(printed, rel=1e-6)


CURVES = [
    GaussianCurve(0.3),
    GaussianCurve(2.0),
    LaplaceEvent(1.0).curve("add_remove_one"),
    ApproxDPEvent(0.5, 1e-4).curve("replace_one"),
    ZCDPEvent(0.05).curve("replace_one"),
    PoissonSampledEvent(0.1, GaussianEvent(0.8)).curve("add_remove_one"),
    DiscretePairCurve((0.5, 0.3, 0.2), (0.2, 0.35, 0.45)),
]


@pytest.mark.parametrize("curve", CURVES, ids=repr)
@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.05, 0.4, 1.5])
def test_the_curve_version_of_the_group_rule_is_never_looser_than_lemma_1(curve, size, epsilon):
    bound, failure = lemma_1(epsilon, min(curve.delta(epsilon), 0.999), size)
    assert curve.group(size).delta(bound) <= failure * (1 + 1e-3) + 1e-12


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("mu", [0.05, 0.7])
def test_the_numeric_group_rule_is_just_above_the_gaussian(discrete_curve, size, mu):
    class Hidden(GaussianCurve):
        group = GaussianCurve.__mro__[1].group

    exact, found = GaussianCurve(size * mu), Hidden(mu).group(size)
    epsilon = np.linspace(-3.0, 3.0, 31) * size * mu
    assert np.all(found.delta(epsilon) >= exact.delta(epsilon) * (1 - 1e-12))
    np.testing.assert_allclose(found.delta(epsilon), exact.delta(epsilon), rtol=1e-3)
    assert GaussianCurve(mu).group(size) == exact


def test_converting_before_the_group_rule_loses():
    exact = GaussianCurve(0.268051).group(3).delta(3.0)
    assert exact == pytest.approx(7.6442e-5, rel=1e-3)
    assert exact < lemma_1(1.0, 1e-5, 3)[1]


@given(p=distributions, q=distributions, r=distributions)
@settings(deadline=None)
def test_a_group_of_two_covers_every_path_of_two_changes(p, q, r):
    step = MaximumCurve((DiscretePairCurve(p, q), DiscretePairCurve(q, r)))
    pair = DiscretePairCurve(p, r)
    assert np.all(pair.delta(GRID) <= step.group(2).delta(GRID) + 1e-9)


@pytest.mark.parametrize("size", [0, -1, 1.5, True])
def test_an_impossible_group_is_refused(size):
    for curve in (GaussianCurve(1.0), LaplaceEvent(1.0).curve("replace_one")):
        with pytest.raises(ValueError, match="size must be a positive integer"):
            curve.group(size)


@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_connected_dots_lie_above_the_curve_in_both_orders(curve):
    pair, epsilon = curve.dominating_pair(), np.linspace(-6.0, 6.0, 401)
    for one, above in ((curve, pair), (curve.reversed(), pair.reversed())):
        assert np.all(above.delta(epsilon) >= one.delta(epsilon) - 1e-14)
        np.testing.assert_allclose(above.delta(epsilon), one.delta(epsilon), atol=2e-6)


@pytest.mark.parametrize("mu", [0.01, 1.0, 5.0])
@pytest.mark.parametrize("order", [1.0 + 1e-6, 1.01, 2.0, 10.0, 100.0, 1e4])
def test_the_renyi_divergence_of_a_gaussian_from_its_curve(mu, order):
    found = renyi_divergence(GaussianCurve(mu), order)
    assert 1 - 1e-12 <= found / (order * mu**2 / 2) <= 1 + (1e-3 if order <= 100.0 else 1e-2)


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0, 64.0])
@pytest.mark.parametrize("multiplier", [0.5, 10.0])
def test_the_renyi_divergence_of_laplace_from_its_curve(order, multiplier):
    event = LaplaceEvent(multiplier)
    found = renyi_divergence(event.curve("add_remove_one"), order)
    assert found == pytest.approx(event.rdp(order, "add_remove_one"), rel=1e-5)


def test_the_renyi_divergence_of_a_sampled_gaussian_from_its_curve():
    event = PoissonSampledEvent(0.01, GaussianEvent(1.0))
    exact = math.log1p(1e-4 * math.expm1(1.0))  # order 2, closed form
    assert event.rdp(2.0, "add_remove_one") == pytest.approx(exact, rel=1e-3)
    assert event.rdp(2.0, "add_remove_one") >= exact


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "scale", "order"),
    [(0.01, 1.0, 1.1), (0.01, 1.0, 20.0), (0.3, 0.5, 3.0), (0.05, 4.0, 1.1), (0.05, 4.0, 20.0)],
)
def test_the_renyi_divergence_of_a_sampled_gaussian_under_replace_one(rate, scale, order):
    curve = PoissonSampledEvent(rate, GaussianEvent(scale)).curve("replace_one")
    from_delta = renyi_divergence(curve, order)
    assert curve.renyi(order) == pytest.approx(from_delta, rel=2e-3)
    assert curve.renyi(order) <= from_delta


def test_the_renyi_divergence_is_infinite_where_the_record_may_be_given_away():
    assert renyi_divergence(ApproxDPEvent(1.0, 1e-12).curve("replace_one"), 2.0) == math.inf
