"""A budget made from what an attacker may gain keeps that promise, whatever is released."""

import json
import math

import numpy as np
import pytest

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.accounting.concentrated import covering_mu
from skdp.exceptions import BudgetClosedError, BudgetExceededError
from skdp.privacy import (
    ApproxDPEvent,
    AttackRisk,
    ComposedEvent,
    GaussianCurve,
    GaussianEvent,
    GDPEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    PrivacyGuarantee,
    PureDPEvent,
    SelfComposedEvent,
    event_from_dict,
)
from skdp.privacy.composed_events import ApproximatedEvent
from skdp.privacy.noise_events import BoundedRangeEvent

TARGETS = [
    ({"advantage": 0.1}, lambda risk: risk.advantage),
    ({"true_positive_rate": (0.05, 0.01)}, lambda risk: risk.true_positive_rate(0.01)),
    ({"accuracy": (0.7, 0.6)}, lambda risk: risk.accuracy(0.6)),
    ({"reconstruction": (0.3, 0.1)}, lambda risk: risk.reconstruction(0.1)),
]
EVENTS = [
    GDPEvent(0.05),
    LaplaceEvent(20.0),
    PureDPEvent(0.04),
    BoundedRangeEvent(0.05),
    GaussianEvent(30.0),
    SelfComposedEvent(LaplaceEvent(60.0), 5),
    ComposedEvent((LaplaceEvent(50.0), GDPEvent(0.02))),
]


def spend(budget, event, delta=1e-5, **more):
    relation = budget.neighboring
    budget.spend(PrivacyGuarantee(event, relation, "test"), delta=delta, name="a", **more)


def squared_limit(budget):
    """Return the largest Σ μ² that the budget admits, found from outside by exact halving."""
    low, high = 0.0, 4.0
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if budget.plan([GDPEvent(middle)]).admitted else (low, middle)
    return low**2


@pytest.mark.parametrize(("target", "gain"), TARGETS)
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9])
def test_the_largest_release_meets_the_target_and_no_more(target, gain, delta):
    budget = PrivacyBudget.from_risk(**target, delta=delta)
    (wanted,) = target.values()
    wanted = wanted if isinstance(wanted, float) else wanted[0]
    at_most = gain(AttackRisk(GaussianCurve(math.sqrt(squared_limit(budget)))))
    assert wanted * (1.0 - 1e-6) < at_most <= wanted


def test_whatever_is_admitted_keeps_the_trade_off_function():
    """In random order until nothing fits; then against the numerical accountant and Gaussians."""
    rng, alpha = np.random.default_rng(), np.linspace(0.0, 1.0, 201)
    for target, _ in TARGETS[:1]:
        budget = PrivacyBudget.from_risk(**target)
        for event in rng.permutation(np.array(EVENTS * 4, dtype=object)):
            try:
                spend(budget, event)
            except BudgetExceededError:
                break
        released = [event_from_dict(row["event"]) for row in budget.history()]
        covers = [covering_mu(leaf.curve("replace_one")) ** 2 * count
                  for event in released for leaf, count in event.leaves()]  # fmt: skip
        mu = math.sqrt(squared_limit(PrivacyBudget.from_risk(**target)))
        assert math.fsum(covers) <= mu**2 * (1.0 + 1e-4)  # covers are found to 1e-5, upwards
        everything = AttackRisk(budget.spent_curve())
        assert np.all(everything.tradeoff(alpha) >= GaussianCurve(mu).tradeoff()(alpha) - 1e-12)


@pytest.mark.parametrize(
    "event",
    [
        ApproxDPEvent(0.1, 1e-9),
        ApproximatedEvent(GDPEvent(0.01), 1e-9),
        PoissonSampledEvent(0.01, GaussianEvent(5.0)),
        SelfComposedEvent(PoissonSampledEvent(0.01, GaussianEvent(5.0)), 10),
    ],
)
@pytest.mark.parametrize("shared", [False, True])
def test_what_no_gaussian_covers_is_refused_even_as_the_first(event, shared):
    """A usual budget of the same ε and δ admits each of them."""
    budget = PrivacyBudget.from_risk(advantage=0.5)
    spend(PrivacyBudget(epsilon=budget.epsilon, delta=budget.delta), event)
    handle = budget.share(epsilon=0.5 * budget.epsilon) if shared else budget
    with pytest.raises(BudgetExceededError, match="No Gaussian covers it"):
        spend(handle, event)
    assert budget.history() == []


def test_a_first_release_outside_of_the_gaussian_limit_is_refused():
    """A usual budget admits it, as (ε, δ) hold; but a tester of it gains more than was promised."""
    budget = PrivacyBudget.from_risk(advantage=0.1)
    pure = PureDPEvent(0.9 * budget.epsilon)
    spend(PrivacyBudget(epsilon=budget.epsilon, delta=1e-5), pure)
    assert AttackRisk(pure.curve("replace_one")).advantage > 0.3
    with pytest.raises(BudgetExceededError, match="squared gdp_mu"):
        spend(budget, pure)
    with pytest.raises(BudgetExceededError, match="squared gdp_mu"):
        spend(budget, pure, partition="north")
    assert budget.history() == []


def test_what_is_said_to_be_left_is_admitted_and_is_all():
    budget = PrivacyBudget.from_risk(advantage=0.2)
    assert budget.remaining == pytest.approx((budget.epsilon, 1e-5), rel=1e-9)
    left = budget.remaining.epsilon
    assert budget.plan([GDPEvent(0.5 * math.sqrt(squared_limit(budget)))] * 4).admitted
    rows = np.random.default_rng().normal(size=(50, 2)), np.arange(50) % 2
    DPLogisticRegression(epsilon=left, delta=1e-5, budget=budget).fit(*rows)
    assert budget.remaining.epsilon < 1e-3
    with pytest.raises(BudgetExceededError):
        spend(budget, GDPEvent(0.01))


def test_a_fit_of_sampled_steps_is_refused_and_says_why():
    budget = PrivacyBudget.from_risk(advantage=0.2)
    rows = np.random.default_rng().normal(size=(500, 2)), np.arange(500) % 2
    model = DPLogisticRegression(epsilon=0.5, delta=1e-6, budget=budget, solver="dp_sgd")
    with pytest.raises(BudgetExceededError, match=r"strict budget.*Nothing was spent\."):
        model.fit(*rows)


def test_the_promise_is_one_of_the_terms_of_a_ledger(place):
    budget = PrivacyBudget.from_risk(advantage=0.1, path=place, neighboring="add_remove_one")
    terms = {"neighboring": "add_remove_one", "path": place}
    spend(budget, GDPEvent(0.1))
    assert "strict=True" in repr(budget)
    with pytest.raises((ValueError, BudgetClosedError), match="was made for"):
        PrivacyBudget(epsilon=budget.epsilon, delta=1e-5, slack=0.0, **terms)
    again = PrivacyBudget(epsilon=budget.epsilon, delta=1e-5, strict=True, **terms)
    assert again.history() == budget.history()
    assert PrivacyBudget.from_risk(advantage=0.1, **terms).history() == budget.history()


def test_an_export_keeps_the_promise_and_who_edits_it_is_found_out():
    budget = PrivacyBudget.from_risk(advantage=0.1)
    spend(budget, GDPEvent(0.1))
    again = PrivacyBudget.from_json(budget.to_json())
    assert again.extends(budget.head)
    with pytest.raises(BudgetExceededError):
        spend(again, PureDPEvent(0.9))
    data = json.loads(budget.to_json())
    data["terms"]["strict"] = False
    with pytest.raises(ValueError, match="do not match its head"):
        PrivacyBudget.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"composition": "basic"}, "composition='gdp'"),
        ({"slack": 1e-7}, "slack and tv at 0"),
        ({"tv": 1e-7}, "slack and tv at 0"),
        ({"strict": "yes"}, "strict must be"),
    ],
)
def test_a_strict_budget_has_no_reserves(terms, message):
    with pytest.raises(ValueError, match=message):
        PrivacyBudget(epsilon=1.0, delta=1e-5, **{"strict": True} | terms)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({}, "exactly one of"),
        ({"advantage": 0.1, "accuracy": (0.7, 0.5)}, "exactly one of"),
        ({"advantage": 1e-6}, "Pass a smaller delta"),
        ({"advantage": 0.1, "delta": 0.0}, "delta"),
        ({"reconstruction": (0.1, 0.2)}, "without a release"),
    ],
)
def test_an_impossible_target_makes_no_budget(target, message):
    with pytest.raises(ValueError, match=message):
        PrivacyBudget.from_risk(**target)
