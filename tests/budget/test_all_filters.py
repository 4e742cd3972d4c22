"""All filters of the registry: what each promises, whatever the next release depends on."""

import math
from dataclasses import replace
from decimal import Decimal

import mpmath as mp
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skdp.accounting import gdp_mu
from skdp.budget import FILTERS, Release
from skdp.budget.filters import priced_release
from skdp.ledger.release import Totals
from skdp.privacy import GDPEvent, NonPrivateEvent, PrivacyGuarantee, PureDPEvent

DELTA = 1e-5

EXACT = {name: FILTERS[name] for name in ("gdp", "basic")}
exact_filter = pytest.mark.parametrize("kind", EXACT.values(), ids=EXACT)
RULES = {name: kind(1.0, 0.0 if name == "pure" else DELTA) for name, kind in FILTERS.items()}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
epsilons = st.floats(-1.5, 1.5).map(lambda x: 10.0**x)
# Numbers of four digits, so that basic composition's sums and differences are exact in binary too.
short = st.integers(1, 9999).map(lambda digits: digits / 10_000)
shares = st.lists(st.integers(1, 60), min_size=1, max_size=8)


def summed(rule, releases):
    sums = Totals()
    for one in releases:
        sums.add(one.part, rule.costs(one))
    return sums


def totals(rule, releases):
    """Return the largest sums over the parts."""
    return summed(rule, releases).worst(rule.nothing)


def spent(rule, releases):
    """Return the (ε, δ) of admitted releases."""
    return rule.spent_at(totals(rule, releases))


def remaining(rule, releases):
    """Return the largest single release on all parts that would still be admitted."""
    return rule.left_at(summed(rule, releases))


def release(epsilon, delta=DELTA, label="a fit"):
    """Return what a fit at (ε, δ) writes into the ledger."""
    event = GDPEvent(gdp_mu(epsilon, delta))
    return priced_release(PrivacyGuarantee(event, "replace_one", "test"), delta, label)


def costing(epsilon, delta=0.0):
    """Return a release that costs exactly (ε, δ) under basic composition."""
    return Release(
        label="a fit",
        epsilon=epsilon,
        delta=delta,
        gdp_mu=math.inf,
        neighboring="replace_one",
        event={},
    )


def row_of(rule, guarantee, delta=DELTA):
    """Return what a release writes into a ledger of this rule."""
    facts = rule.facts(guarantee.event, guarantee.neighboring, lambda: 0.0)
    return priced_release(guarantee, delta, "a fit", **facts)


def some_release(rule, epsilon, delta=None):
    """Return a release at (ε, δ) that the rule takes: pure, or Gaussian."""
    delta = rule.delta / 1000 if delta is None else delta
    event = PureDPEvent(epsilon) if rule.delta == 0.0 else GDPEvent(gdp_mu(epsilon, delta))
    return row_of(rule, PrivacyGuarantee(event, "replace_one", "test"), delta)


def admitted(kind, percents):
    """Return what a filter lets through of a list of releases, each so many per cent of it."""
    rule, ledger = kind(1.0, DELTA), []
    for percent in percents:
        wanted = release(percent / 100, round(DELTA * percent / 100, 7))
        if rule.admits([*ledger, wanted]):
            ledger.append(wanted)
    return rule, ledger


@exact_filter
@given(epsilon=epsilons, delta=st.floats(-12.0, -1.0).map(lambda x: 10.0**x))
def test_one_release_may_cost_the_whole_budget(kind, epsilon, delta):
    assert kind(epsilon, delta).admits([release(epsilon, delta)])


@exact_filter
@given(epsilon=epsilons)
def test_one_release_may_not_cost_more_than_the_budget(kind, epsilon):
    assert not kind(epsilon, DELTA).admits([release(epsilon * 1.000001, DELTA)])


@every_rule
def test_a_release_without_privacy_is_never_admitted(rule):
    guarantee = PrivacyGuarantee(NonPrivateEvent(), "replace_one", "none")
    assert not type(rule)(1e6, min(0.99, rule.delta * 9e4)).admits([row_of(rule, guarantee)])


@every_rule
@settings(max_examples=25, deadline=None)
@given(percents=shares)
@example(percents=[34, 38, 40, 42, 47, 55, 60])
def test_every_rule_keeps_below_its_ceiling_and_minds_no_order(rule, percents):
    ledger = []
    for percent in percents:
        wanted = some_release(rule, percent / 100)
        if rule.admits([*ledger, wanted]):
            ledger.append(wanted)
    assert all(a <= b for a, b in zip(spent(rule, ledger), (rule.epsilon, rule.delta), strict=True))
    assert rule.curve_at(totals(rule, ledger)).delta(rule.epsilon) <= rule.delta * (1 + 1e-9)
    assert rule.admits(ledger[::-1])
    assert totals(rule, ledger[::-1]) == totals(rule, ledger)


@every_rule
@settings(max_examples=25, deadline=None)
@given(first=st.integers(1, 99))
def test_what_every_rule_says_is_left_can_be_spent(rule, first):
    ledger = [some_release(rule, first / 100)]
    left = remaining(rule, ledger)
    if left.epsilon > 1e-6:
        assert rule.admits([*ledger, some_release(rule, left.epsilon * (1 - 1e-12), left.delta)])
        more = 1.001 if type(rule) in EXACT.values() else 1.6
        assert not rule.admits([*ledger, some_release(rule, left.epsilon * more, left.delta)])


@every_rule
def test_an_empty_ledger_has_the_whole_budget_left(rule):
    assert spent(rule, []).epsilon == 0.0
    assert remaining(rule, []).delta == rule.delta
    assert 0.85 < remaining(rule, []).epsilon <= 1.0  # zCDP and Rényi lose by the conversion
    assert rule.admits([])


@every_rule
def test_disjoint_parts_cost_what_the_largest_costs(rule):
    half = some_release(rule, 0.4)
    parts = [replace(half, part=name) for name in "abc"]
    assert totals(rule, parts) == totals(rule, [half])
    assert totals(rule, [half, *parts, parts[0]]) == totals(rule, [half] * 3)


@settings(max_examples=40, deadline=None)
@given(percents=shares)
def test_gaussian_spending_is_never_understated(percents):
    rule, ledger = admitted(FILTERS["gdp"], percents)
    with mp.workdps(60):
        mu = mp.sqrt(mp.fsum(mp.mpf(one.gdp_mu) ** 2 for one in ledger))
        if mu > 0:
            epsilon = mp.mpf(spent(rule, ledger).epsilon)
            exact = mp.ncdf(mu / 2 - epsilon / mu)
            exact -= mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)
            assert exact <= DELTA * (1 + 1e-11)  # the curve has eleven digits


def test_equal_gaussian_parts_fill_the_budget_exactly():
    rule = FILTERS["gdp"](1.0, DELTA)
    for k in range(1, 200):
        guarantee = PrivacyGuarantee(GDPEvent(gdp_mu(1.0, DELTA) / k**0.5), "replace_one", "")
        part = priced_release(guarantee, DELTA, "a fit")
        assert rule.admits([part] * k)
        assert not rule.admits([part] * (k + 1))


def test_three_times_a_tenth_is_three_tenths():
    rule = FILTERS["basic"](0.3, 0.0)
    assert rule.admits([costing(0.1)] * 3)
    assert spent(rule, [costing(0.1)] * 3).epsilon == 0.3
    assert remaining(rule, [costing(0.1)] * 3).epsilon == 0.0
    assert not rule.admits([costing(0.1)] * 3 + [costing(1e-12)])


@given(costs=st.lists(short, max_size=9))
def test_basic_sums_are_the_sums_of_the_printed_decimals(costs):
    rule = FILTERS["basic"](10.0, 0.5)
    pair = spent(rule, [costing(cost, cost / 100) for cost in costs])
    parts = [Decimal(str(cost)) for cost in costs], [Decimal(str(cost / 100)) for cost in costs]
    for total, part in zip(pair, parts, strict=True):
        assert total == pytest.approx(float(sum(part)), rel=1e-15)
        assert Decimal(repr(total)) >= sum(part)


@pytest.mark.parametrize("cost", [(0.5, 2e-5), (2.0, 1e-6)])
def test_basic_composition_minds_both_epsilon_and_delta(cost):
    assert not FILTERS["basic"](1.0, DELTA).admits([costing(*cost)])


@given(cost=st.floats(0.0, 1.0))
def test_what_basic_composition_has_left_can_be_spent_to_the_last_digit(cost):
    rule = FILTERS["basic"](1.0, 0.0)
    left = remaining(rule, [costing(cost)])
    assert rule.admits([costing(cost), costing(*left)])


def test_basic_sums_are_exact_however_small_a_part_is():
    assert not FILTERS["basic"](1.0, DELTA).admits([costing(1.0, DELTA), costing(1e-30, 1e-40)])
