"""Basic and advanced composition against printed numbers, exact sums and 50-digit arithmetic."""

import math

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.accounting import AdvancedAccountant, BasicAccountant, UnpricedEventError
from skdp.accounting.advanced import optimal_epsilon
from skdp.privacy import ComposedEvent, GaussianCurve, GDPEvent, SelfComposedEvent

FORMS = ("dwork_roth", "tanh", "sqrt6", "optimal")
# k, ε, δ', basic, Dwork and Roth 3.20, tanh, √6, optimal
PRINTED = [
    (10, 0.1, 1e-6, 1.0, 1.7674, 1.7122, 2.8791, 0.9994),
    (100, 0.1, 1e-6, 10.0, 6.3082, 5.7561, 9.1046, 4.7746),
    (1000, 0.1, 1e-6, 100.0, 27.1397, 21.6184, 28.7912, 19.3447),
    (1000, 0.01, 1e-6, 10.0, 1.7628, 1.7123, 2.8791, 1.3654),
    (10, 1.0, 1e-5, 10.0, 32.3571, 19.7954, 26.2826, 9.9998),
    (100, 1.0, 1e-6, 100.0, 224.39, 98.78, 91.05, 83.5307),
    (1000, 1.0, 1e-5, 1000.0, 1870.0, 613.86, 262.83, 577.8332),
]
IS_FALSE = {(10, 1.0), (100, 1.0), (1000, 1.0)}  # where √6 does not follow from 3.20


@pytest.mark.parametrize("row", PRINTED)
def test_the_printed_table(black_box, row):
    k, size, delta, basic, *forms = row
    event = SelfComposedEvent(black_box(size), k)
    assert BasicAccountant().epsilon(event, 0.0) == pytest.approx(basic)
    for form, printed in zip(FORMS, forms, strict=True):
        accountant = AdvancedAccountant(form=form)
        if form == "sqrt6" and (k, size) in IS_FALSE:
            with pytest.raises(UnpricedEventError, match=r"printed form is false"):
                accountant.epsilon(event, delta)
        else:
            tolerance = 0.5 * 10.0 ** -len(str(printed).split(".")[1]) * 1.02
            assert accountant.epsilon(event, delta) == pytest.approx(printed, abs=tolerance)


def test_the_printed_sqrt6_form_is_false_where_it_is_refused(exact):
    epsilon = 1.0 * math.sqrt(6 * 1000 * math.log(1e5))
    assert epsilon == pytest.approx(262.83, abs=0.01)
    assert exact(0.0, 1.0, 0.0, 1000, epsilon) > 0.99


def theorem_3_3(k, size, failure, i):
    """Kairouz, Oh and Viswanath 2015: the lattice point (k − 2i)·ε and its δ."""
    with mp.workdps(60):
        e = mp.e ** mp.mpf(size)
        terms = (mp.binomial(k, m) * (e ** (k - m) - e ** (k - 2 * i + m)) for m in range(i))
        return 1 - (1 - mp.mpf(failure)) ** k * (1 - mp.fsum(terms) / (1 + e) ** k)


@pytest.mark.parametrize("failure", [0.0, 1e-7])
@pytest.mark.parametrize(("k", "size"), [(7, 0.3), (20, 1.0), (51, 0.05), (200, 0.2)])
def test_the_optimal_form_on_the_lattice(k, size, failure):
    for i in range(1, k // 2 + 1):
        total = float(theorem_3_3(k, size, failure, i))
        if 1e-250 < total < 1.0 - 1e-9 and total > 1.001 * k * failure:
            found = optimal_epsilon(size, failure, k, total)
            assert found == pytest.approx((k - 2 * i) * size, rel=1e-6, abs=1e-6)


@given(
    size=st.floats(0.01, 2.0),
    failure=st.sampled_from([0.0, 1e-9, 1e-7]),
    k=st.integers(1, 60),
    total=st.floats(-6.0, -0.5).map(lambda x: 10.0**x),
)
def test_the_optimal_form_between_the_lattice(exact, size, failure, k, total):
    if k * failure > 0.9 * total:
        return
    found = optimal_epsilon(size, failure, k, total)
    assert exact(0.0, size, failure, k, found) <= total * (1 + 1e-9)
    if found > 1e-6:
        assert exact(0.0, size, failure, k, found * (1 - 1e-6)) > total * (1 - 1e-9)


def test_a_failure_that_the_target_cannot_pay_for_costs_everything(black_box):
    event = SelfComposedEvent(black_box(0.1, 1e-6), 100)
    for kind in (BasicAccountant, AdvancedAccountant):
        assert kind().epsilon(event, 0.9e-4) == math.inf
        assert kind().epsilon(event, 1.2e-4) <= 10.0 * (1 + 1e-9)
        assert kind().epsilon(event, 0.0) == math.inf


@given(
    sizes=st.lists(st.floats(0.01, 1.0), min_size=2, max_size=4, unique=True),
    delta=st.floats(-9.0, -2.0).map(lambda x: 10.0**x),
)
def test_tanh_for_unequal_releases_is_between_the_best_and_3_20(black_box, sizes, delta):
    event = ComposedEvent(tuple(SelfComposedEvent(black_box(size), 50) for size in sizes))
    best, tanh, old = (
        AdvancedAccountant(form=form).epsilon(event, delta)
        for form in ("best", "tanh", "dwork_roth")
    )
    assert best <= tanh <= old
    with pytest.raises(UnpricedEventError, match="all equal"):
        AdvancedAccountant(form="optimal").epsilon(event, delta)


def test_an_unknown_form_is_refused():
    with pytest.raises(ValueError, match="form must be one of"):
        AdvancedAccountant(form="sqrt")


@pytest.mark.parametrize(("mu", "k"), [(0.1, 1), (0.1, 10), (1.0, 3)])
def test_equal_gaussians_share_delta_equally(mu, k):
    found = BasicAccountant().epsilon(SelfComposedEvent(GDPEvent(mu), k), 1e-5)
    assert found == pytest.approx(k * GaussianCurve(mu).epsilon(1e-5 / k), rel=1e-10)


@settings(max_examples=10)
@given(a=st.floats(0.05, 1.0), ratio=st.floats(1.0, 8.0), k=st.integers(1, 30))
def test_unequal_gaussians_split_delta_as_a_fine_search_does(a, ratio, k):
    delta, b = 1e-5, a * ratio
    event = ComposedEvent((SelfComposedEvent(GDPEvent(a), k), GDPEvent(b)))
    first, second = GaussianCurve(a), GaussianCurve(b)
    shares = [i / 200 for i in range(1, 200)]
    searched = min(
        k * first.epsilon(s * delta / k) + second.epsilon((1 - s) * delta) for s in shares
    )
    found = BasicAccountant().epsilon(event, delta)
    assert found <= searched * (1 + 2e-3)


def test_pure_releases_add_at_delta_zero(black_box):
    event = ComposedEvent((black_box(0.1), SelfComposedEvent(black_box(0.2), 3)))
    assert BasicAccountant().epsilon(event, 0.0) == pytest.approx(0.7, rel=1e-12)
    assert BasicAccountant().epsilon(event, 0.0) >= 0.7


def test_the_optimal_form_is_rounded_upwards_where_probabilities_underflow():
    count, total = 900, 8.342511455646964e-46
    found = optimal_epsilon(1.0, 0.0, count, total)  # 751.58, where 751.69 is right
    with mp.workdps(50):
        p = 1 / (1 + mp.exp(-1))
        exact = mp.fsum(
            mp.binomial(count, j) * p ** (count - j) * (1 - p) ** j * (1 - mp.exp(found - loss))
            for j, loss in ((j, count - 2 * j) for j in range(count // 2))
            if loss > found
        )
        assert exact <= mp.mpf(total)
