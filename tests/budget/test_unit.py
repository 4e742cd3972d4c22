"""The unit of privacy: part of a ledger's terms, and what no release may differ from."""

import json
import pickle

import pytest

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.budget import PlannedRelease
from skdp.exceptions import BudgetClosedError
from skdp.privacy import GDPEvent, PrivacyGuarantee, Unit

EVENT = GDPEvent(0.1)
UNITS = [Unit.RECORD, Unit.PERSON]  # of fits; person-months are in test_periods.py


def guarantee(unit):
    return PrivacyGuarantee(EVENT, "replace_one", "test", unit=unit)


def test_a_guarantee_says_its_unit_and_is_equal_by_it():
    of_record, of_person = map(guarantee, UNITS)
    assert PrivacyGuarantee(EVENT, "replace_one", "test") == of_record != of_person
    assert "under replace_one of a person (test)" in str(of_person)
    assert "person" not in str(of_record)
    assert pickle.loads(pickle.dumps(of_person)).unit is Unit.PERSON
    with pytest.raises(ValueError, match="unit must be one of"):
        guarantee("user")


def test_an_unknown_unit_of_a_budget_is_refused():
    with pytest.raises(ValueError, match="unit must be one of 'record', 'person'"):
        PrivacyBudget(epsilon=1.0, delta=1e-5, unit="user")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("shared", [False, True])
def test_a_release_of_another_unit_is_refused(place, unit, shared):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, path=place, unit=unit)
    handle = budget.share(epsilon=0.5).share(epsilon=0.4) if shared else budget
    assert handle.unit == unit
    other = guarantee(UNITS[1 - UNITS.index(unit)])
    for refused in (
        lambda: handle.spend(other, delta=1e-5, name="a fit"),
        lambda: handle.plan([other]),
        lambda: handle.plan([PlannedRelease(other, partition="a")]),
    ):
        with pytest.raises(ValueError, match=f"protects one {other.unit}.*unit={str(unit)!r}"):
            refused()
    assert budget.history() == []
    assert handle.plan([EVENT]).admitted
    assert handle.plan([guarantee(unit)]).admitted
    handle.spend(guarantee(unit), delta=1e-5, name="a fit")
    assert len(budget.history()) == 1


def test_a_fit_without_groups_is_refused_by_a_budget_of_persons():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, unit="person")
    with pytest.raises(ValueError, match=r"protects persons with groups=.*Nothing was spent\."):
        DPLogisticRegression(budget=budget).fit([[0.0], [1.0]], [0, 1])
    assert budget.history() == []


def test_the_unit_is_one_of_the_terms_of_a_ledger(place):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, path=place, unit="person")
    budget.spend(guarantee("person"), delta=1e-5, name="a fit")
    assert "unit='person'" in repr(budget)
    assert pickle.loads(pickle.dumps(budget)).unit == "person"
    again = PrivacyBudget(epsilon=1.0, delta=1e-5, path=place, unit="person")
    assert again.history() == budget.history()
    with pytest.raises((ValueError, BudgetClosedError), match="was made for"):
        PrivacyBudget(epsilon=1.0, delta=1e-5, path=place)
    assert len(PrivacyBudget(epsilon=1.0, delta=1e-5, path=place, unit="person").history()) == 1


@pytest.mark.parametrize("unit", UNITS)
def test_an_export_keeps_the_unit(unit):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, unit=unit)
    budget.spend(guarantee(unit), delta=1e-5, name="a fit")
    assert json.loads(budget.to_json())["terms"]["unit"] == unit
    again = PrivacyBudget.from_json(budget.to_json())
    assert again.unit == unit
    assert again.extends(budget.head)
