"""The number of records that each release has read, in the ledger and in reports."""

import json
import math

import numpy as np
import pytest

from skdp import DPLogisticRegression, PrivacyBudget, statistics
from skdp.budget import BudgetHandle
from skdp.exceptions import BudgetClosedError
from skdp.ledger.release import Release
from skdp.privacy import GDPEvent, PrivacyGuarantee

TERMS = {"epsilon": 3.0, "delta": 1e-5}


def count(budget: BudgetHandle, n: int, **more: object) -> None:
    statistics.count(np.ones(n, bool), epsilon=0.1, budget=budget, **more)


def test_a_ledger_stores_the_number_of_records(place):
    budget = PrivacyBudget(**TERMS, path=place)
    count(budget, 800)
    count(budget, 200)  # nothing is refused for two sizes
    count(budget.share(epsilon=1.0).at(partition="north"), 30)
    assert budget.to_json().count('\\"n\\"') == 3
    again = PrivacyBudget(**TERMS, path=place)
    assert [row["n"] for row in again.history()] == [800, 200, 30]
    moved = PrivacyBudget.from_json(again.to_json())
    assert moved.history() == again.history()
    assert moved.head == again.head
    again.verify()


def test_the_number_of_persons_is_that_of_records(place):
    budget = PrivacyBudget(**TERMS, unit="person", path=place)
    count(budget, 90, groups=np.repeat(np.arange(30), 3))
    assert budget.history()[0]["n"] == 30


def test_a_private_number_of_records_is_never_stored(place):
    budget = PrivacyBudget(**TERMS, neighboring="add_remove_one", path=place)
    count(budget.at(partition="north"), 797, neighboring="add_remove_one")
    (row,) = budget.history()
    assert row["n"] is None
    assert '\\"n\\": null' in budget.to_json()
    assert json.loads(budget.report("json", audience="internal"))["partitions"] == {}
    with pytest.raises(ValueError, match="n is private under 'add_remove_one'"):
        budget.at(partition="north", n=797)
    release = PrivacyGuarantee(GDPEvent(0.1), "add_remove_one", "test")
    with pytest.raises(ValueError, match="n is private"):
        budget.spend(release, delta=1e-5, n=797)
    assert len(budget.history()) == 1


def test_a_report_lists_the_sizes_of_named_partitions():
    budget = PrivacyBudget(**TERMS)
    for partition, n in (("train", 800), ("test", 200), ("train", 640), (None, 5), ("test", 200)):
        count(budget.at(partition=partition), n)
    report = budget.report()
    assert "- Partition 'train': 640, 800 records." in report
    assert "- Partition 'test': 200 records." in report
    assert "With folds by ID, the person keeps the ID." in report
    assert "folds by ID" not in PrivacyBudget(**TERMS).report()
    data = json.loads(budget.report("json"))
    assert data["partitions"] == {"test": [200], "train": [640, 800]}


def test_more_records_than_stated_raise_before_the_spend():
    budget = PrivacyBudget(**TERMS)
    north = budget.at(partition="north", n=200)
    assert "n=200" in repr(north)
    count(north, 200)
    count(north.at(name="fewer"), 100)
    with pytest.raises(ValueError, match=r"reads 201 records, but budget.at\(n=200\).*Nothing was"):
        count(north.share(epsilon=1.0), 201)
    model = DPLogisticRegression(epsilon=0.5, budget=north, classes=[0, 1])
    with pytest.raises(ValueError, match="reads 300 records"):
        model.fit(np.zeros((300, 1)), np.resize([0, 1], 300))
    count(north.at(partition="south"), 300)  # another partition has no stated size
    count(north.at(n=300), 300)
    assert [row["n"] for row in budget.history()] == [200, 100, 300, 300]
    for wrong in (0, -1, 2.5, True, "many"):
        with pytest.raises(ValueError, match="n must be a positive integer"):
            budget.at(n=wrong)


def test_a_stated_size_is_that_of_its_partition_alone():
    budget = PrivacyBudget(**TERMS)
    own, release = (
        budget.at(partition="a", n=5),
        PrivacyGuarantee(GDPEvent(0.1), "replace_one", "t"),
    )
    own.spend(release, delta=1e-5, partition="other", n=80)
    for again in (
        own,
        own.at(partition="a"),
        own.at(name="again"),
        own.at(partition="a", name="x"),
    ):
        with pytest.raises(ValueError, match="reads 6 records, but"):
            again.spend(release, delta=1e-5, n=6)
        with pytest.raises(ValueError, match="reads 6 records, but"):
            again.spend(release, delta=1e-5, n=6, partition="a")
    own.at(partition="b").spend(release, delta=1e-5, n=6)
    own.at(partition="a", n=7).spend(release, delta=1e-5, n=6)
    assert [row["n"] for row in budget.history()] == [80, 6, 6]


@pytest.mark.parametrize("kind", [int, np.int8, np.int64, np.uint16])
def test_a_number_of_records_may_be_one_of_numpy(kind, place):
    budget = PrivacyBudget(**TERMS, path=place)
    release = PrivacyGuarantee(GDPEvent(0.1), "replace_one", "test")
    budget.spend(release, delta=1e-5, n=kind(5))
    assert type(budget.history()[0]["n"]) is int


def test_a_release_never_holds_a_private_number():
    terms = {"label": "x", "epsilon": 1.0, "delta": 0.0, "gdp_mu": 1.0, "event": {}}
    assert Release(**terms, neighboring="replace_one", n=3).n == 3
    assert Release(**terms, neighboring="add_remove_one").n is None
    with pytest.raises(ValueError, match="n is private under 'add_remove_one'"):
        Release(**terms, neighboring="add_remove_one", n=3)


@pytest.mark.parametrize("n", [-1, 2.5, True, "3", math.inf])
def test_a_wrong_number_of_records_is_no_release(n):
    budget = PrivacyBudget(**TERMS)
    release = PrivacyGuarantee(GDPEvent(0.1), "replace_one", "test")
    with pytest.raises((ValueError, TypeError)):
        budget.spend(release, delta=1e-5, n=n)
    assert budget.history() == []
    budget.spend(release, delta=1e-5, n=3)
    edited = budget.to_json().replace('\\"n\\": 3', f'\\"n\\": {json.dumps(n)}')
    with pytest.raises((ValueError, BudgetClosedError)):
        PrivacyBudget.from_json(edited)
