"""Releases on disjoint parts of the records: what they cost, and that no choice beats the rule."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from skdp import DPHingeClassifier, DPLogisticRegression, PrivacyBudget
from skdp.budget import FILTERS, PlannedRelease
from skdp.budget.filters import priced_release, rule_of
from skdp.exceptions import BudgetExceededError
from skdp.ledger.release import Totals
from skdp.privacy import GDPEvent, PrivacyGuarantee, PureDPEvent
from skdp.solvers import DPSGD

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2000, 2)), RNG.integers(2, size=2000)


def test_twenty_disjoint_chunks_cost_one(budget):
    for k, rows in enumerate(np.array_split(np.arange(2000), 20)):
        DPLogisticRegression(epsilon=0.5, budget=budget.at(partition=k), classes=[0, 1]).fit(
            X[rows], Y[rows]
        )
    assert budget.spent.epsilon == pytest.approx(0.5, rel=1e-6)
    assert [row["part"] for row in budget.history()] == [str(k) for k in range(20)]
    assert "in 20 releases on 20 parts;" in str(budget)
    assert "in 20 releases on 20 parts;" in budget._repr_html_()
    copy = PrivacyBudget.from_json(budget.to_json())
    assert copy.spent == budget.spent
    entry = json.loads(budget.to_json())["entries"][3]
    assert json.loads(entry["content"])["part"] == "3"
    DPLogisticRegression(epsilon=0.5, budget=budget.at(partition=3)).fit(X[:500], Y[:500])
    assert budget.spent.epsilon == pytest.approx(0.730, abs=1e-3)  # a part twice adds up


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "north \udcff"])
def test_names_that_no_ledger_can_keep_are_refused(place, text):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, path=place)
    guarantee = PrivacyGuarantee(GDPEvent(0.1), "replace_one", "")
    for use in (
        lambda: budget.spend(guarantee, delta=0.0, name="a", partition=text),
        lambda: budget.at(partition=text),
        lambda: budget.share(epsilon=0.5, name=text),
    ):
        with pytest.raises(ValueError, match="must not contain NUL characters or halves"):
            use()
    assert budget.history() == []


def test_two_ways_to_write_a_letter_are_one_name(place):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, path=place)
    guarantee = PrivacyGuarantee(GDPEvent(0.1), "replace_one", "")
    composed, apart = "\u00e9", "e\u0301"
    for name in (composed, apart):
        share = budget.share(epsilon=0.5, name=name)
        share.spend(guarantee, delta=0.0, name="a", partition=name)
    assert {(row["part"], row["account"]) for row in budget.history()} == {(composed, composed)}
    left = [budget.at(partition=name).remaining for name in (apart, composed)]
    assert left == [budget.remaining] * 2


@pytest.mark.parametrize("part", [1.5, True, b"north", ["north"]])
def test_a_part_is_a_text_or_a_whole_number(part, unspent):
    for spend in (
        lambda: DPLogisticRegression(budget=unspent.at(partition=part)).fit(X, Y),
        lambda: PlannedRelease(GDPEvent(0.1), partition=part),
    ):
        with pytest.raises(ValueError, match="partition must be a string, an integer or None"):
            spend()


def test_parts_without_a_gaussian_take_slack_each_for_itself(budget):
    for k in range(5):
        DPHingeClassifier(solver=DPSGD(n_steps=10), epsilon=0.5, budget=budget.at(partition=k)).fit(
            X, Y
        )
    rows = budget.history()
    assert len({row["slack"] for row in rows}) == len({row["gdp_mu"] for row in rows}) == 1
    one = PrivacyBudget(epsilon=3.0, delta=1e-5)
    DPHingeClassifier(solver=DPSGD(n_steps=10), epsilon=0.5, budget=one).fit(X, Y)
    assert budget.spent == one.spent
    planned = [PlannedRelease(PureDPEvent(0.3), partition=k) for k in range(100)]
    assert budget.plan(planned).admitted


def test_a_share_counts_parts_as_the_budget_does():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    share, other = budget.share(epsilon=0.5, name="a"), budget.share(epsilon=0.9, name="b")
    guarantee = PrivacyGuarantee(GDPEvent(0.13), "replace_one", "test")  # ε = 0.456
    for part in (1, 2, 3):
        share.spend(guarantee, delta=1e-5, name="a", partition=part)
    assert share.spent == budget.spent
    with pytest.raises(BudgetExceededError, match="the share 'a'"):
        share.spend(guarantee, delta=1e-5, name="a", partition=1)
    with pytest.raises(BudgetExceededError, match="the share 'a'"):
        share.spend(guarantee, delta=1e-5, name="a")
    share.spend(guarantee, delta=1e-5, name="a", partition=4)
    other.spend(guarantee, delta=1e-5, name="b", partition=1)
    assert other.spent == share.spent  # of what it released itself
    assert budget.spent.epsilon > share.spent.epsilon  # part 1 was read from both
    assert budget.at(partition=1).remaining == budget.remaining
    assert budget.at(partition=2).remaining.epsilon > budget.remaining.epsilon
    assert share.at(partition=5).remaining.epsilon == pytest.approx(0.5, rel=0.01)


# Brute force: the best adaptive analyst against two records, one in each part. A release is a
# randomized response with a pure ε: about the record of part "a", that of part "b", or the record
# of "a" again, as a release on all. The neighbors differ in the record of "a". The analyst's
# largest P(S) − e^ε·Q(S) is a recursion over what was answered, as what is left is again a game.

COSTS = (0.3, 0.5)
ACTIONS = [*itertools.product(("a", "b", None), COSTS)]
ROUNDS = 4
CEILINGS = {"gdp": (1.0, 0.05), "basic": (1.0, 0.0), "pure": (1.0, 0.0)}
CEILINGS |= {"zcdp": (0.8, 0.05), "rdp": (0.8, 0.05)}


def row_of(rule, epsilon, part):
    guarantee = PrivacyGuarantee(PureDPEvent(epsilon), "replace_one", "test")
    facts = rule.facts(guarantee.event, guarantee.neighboring, lambda: 0.0)
    return priced_release(guarantee, 0.0, "an answer", part=part, **facts)


class Game:
    """Value of the best strategy among those that a rule admits."""

    def __init__(self, rule, admits):
        self.c = math.exp(rule.epsilon)
        self.rows = {(part, e): row_of(rule, e, part) for part, e in ACTIONS}
        self.rule, self.admits, self.known = rule, admits, {}

    def admissible(self, done):
        if done not in self.known:
            totals = Totals()
            for action in done:
                totals.add(action[0], self.rule.costs(self.rows[action]))
            self.known[done] = [a for a in ACTIONS if self.admits(totals, self.rows[a], done)]
        return self.known[done]

    def value(self, p, q, done=(), rounds=ROUNDS):
        best = max(p - self.c * q, 0.0)
        if rounds == 0:
            return best
        for action in self.admissible(done):
            part, epsilon = action
            true = 1.0 / (1.0 + math.exp(-epsilon))
            answers = [(true, true if part == "b" else 1 - true)]
            answers += [(1 - p_one, 1 - q_one) for p_one, q_one in answers]
            after = tuple(sorted([*done, action], key=str))
            worth = sum(self.value(p * x, q * y, after, rounds - 1) for x, y in answers)
            best = max(best, worth)
        return best


@pytest.mark.parametrize("name", FILTERS)
def test_no_adaptive_choice_of_parts_beats_a_filter(name):
    rule = rule_of(name, *CEILINGS[name])
    game = Game(rule, lambda totals, row, done: rule.admits_next(totals, row))
    value = game.value(1.0, 1.0)
    deepest = max(map(len, game.known))
    assert value <= rule.delta * (1 + 1e-9) + 1e-12
    assert deepest >= 3
    assert any({part for part, _ in done} == {"a", "b", None} for done in game.known)


@pytest.mark.parametrize("name", FILTERS)
def test_the_game_finds_a_rule_that_forgets_releases_on_all(name):
    rule = rule_of(name, *CEILINGS[name])

    def forgetful(totals, row, done):
        own = [game.rows[action] for action in done if action[0] == row.part]
        return rule.admits([*(replace(one, part=None) for one in own), replace(row, part=None)])

    game = Game(rule, forgetful)
    assert game.value(1.0, 1.0) > rule.delta + 1e-3
