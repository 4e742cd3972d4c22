"""A budget is a handle: whatever holds it, copies it or carries it away spends from one ledger."""

import copy
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import weakref
from contextlib import suppress
from pathlib import Path

import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.datasets import make_classification

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.budget import PlannedRelease
from skdp.exceptions import BudgetClosedError, BudgetExceededError
from skdp.privacy import GDPEvent, PrivacyGuarantee

X, Y = make_classification(n_samples=60, n_features=5, random_state=0)
RELEASE = PrivacyGuarantee(GDPEvent(0.03), "replace_one", "test")


def spend(budget, name="a fit"):
    budget.spend(RELEASE, delta=1e-5, name=name)


@pytest.fixture(params=["temporary", "server"])
def budget(request):
    path = None if request.param == "temporary" else request.getfixturevalue("address")
    return PrivacyBudget(epsilon=1.0, delta=1e-4, path=path)


def through_estimator(budget):
    return clone(DPLogisticRegression(budget=budget)).budget


def through_pickled_estimator(budget):
    return pickle.loads(pickle.dumps(DPLogisticRegression(budget=budget))).budget


def through_pickle(budget):
    return pickle.loads(pickle.dumps(budget))


WAYS = [copy.copy, copy.deepcopy, through_estimator, through_pickle, through_pickled_estimator]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_copy_is_the_same_ledger(budget, way):
    other = way(budget)
    spend(other, "there")
    spend(budget, "here")
    assert [row["label"] for row in budget.history()] == ["there", "here"]
    assert other.history() == budget.history()
    assert other.spent == budget.spent


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_joblib_workers_spend_from_the_same_ledger(budget, backend):
    Parallel(n_jobs=2, backend=backend)(
        delayed(budget.spend)(RELEASE, delta=1e-5, name=str(i)) for i in range(6)
    )
    assert sorted(row["label"] for row in budget.history()) == list("012345")


def test_a_process_of_its_own_spends_from_the_same_ledger(budget):
    terms = {"delta": 1e-5, "name": "child"}
    process = multiprocessing.get_context("spawn").Process(
        target=budget.spend, args=(RELEASE,), kwargs=terms
    )
    process.start()
    process.join(60)
    assert process.exitcode == 0
    spend(budget, "parent")  # the child's exit did not remove the ledger
    child, parent = budget.history()
    assert child["label"] == "child"
    assert child["process"] == process.pid != parent["process"]


def test_a_temporary_ledger_goes_with_its_creator():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-4)
    folder = Path(budget._ledger.path).parent
    survivor = through_pickle(budget)
    del budget
    gc.collect()
    assert not folder.exists()
    with pytest.raises(BudgetClosedError, match=r"does not exist"):
        spend(survivor)
    with pytest.raises(BudgetClosedError, match="does not exist"):
        survivor.history()
    assert repr(survivor).startswith("PrivacyBudget(epsilon=1.0")
    assert str(survivor) == f"{survivor!r}: the ledger is closed"


def test_a_copy_that_dies_leaves_the_ledger_alone(budget):
    pickled = through_pickle(budget)
    del pickled
    gc.collect()
    spend(budget)
    assert len(budget.history()) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_that_exits_leaves_the_ledger_alone():
    # In an interpreter of its own, which has one thread and may fork.
    code = (
        "import os, sys; from skdp import PrivacyBudget\n"
        "budget = PrivacyBudget(epsilon=1.0, delta=1e-5)\n"
        "if os.fork() == 0: sys.exit()\n"
        "os.wait(); assert budget.history() == []"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_model_predicts_when_its_ledger_is_gone():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-4)
    model = pickle.loads(pickle.dumps(DPLogisticRegression(budget=budget).fit(X, Y)))
    del budget
    gc.collect()
    assert model.predict(X).shape == Y.shape
    with pytest.raises(BudgetClosedError):
        model.fit(X, Y)


def test_a_relative_path_is_settled_when_the_budget_is_made(tmp_path, monkeypatch):
    budgets = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        budgets.append(PrivacyBudget(epsilon=1.0, delta=1e-5, path="ledger.db"))
    guarantee = PrivacyGuarantee(GDPEvent(0.1), "replace_one", "a test")
    budgets[0].spend(guarantee, delta=1e-5, name="from elsewhere")
    assert [len(budget.history()) for budget in budgets] == [1, 0]


def test_a_handle_names_its_releases_and_their_partition():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    north = budget.at(name="ages", partition="north")
    seven = north.at(partition=7)
    assert (seven.release_name, seven.partition) == ("ages", "7")
    assert (budget.release_name, budget.partition, budget.at()) == (None, None, budget)
    share = seven.share(epsilon=0.5, name="team")
    copies = [copy.deepcopy(share), pickle.loads(pickle.dumps(share))]
    for handle in (budget, north, seven, share, *copies):
        handle.spend(RELEASE, delta=1e-5)
    share.spend(RELEASE, delta=1e-5, name="mine", partition="south")
    rows = [(row["label"], row["part"]) for row in budget.history()]
    assert rows == [
        ("release", None),
        ("ages", "north"),
        *[("ages", "7")] * 4,
        ("mine", "south"),
    ]
    assert seven.spent == budget.spent
    assert seven.remaining == budget.at(partition=7).remaining
    assert north.remaining.epsilon > budget.remaining.epsilon
    assert repr(north).endswith(".at(name='ages', partition='north')")


@pytest.mark.parametrize("wrong", [{"name": 3}, {"partition": False}, {"partition": 0.5}])
def test_what_no_handle_can_be_named_is_refused(wrong):
    with pytest.raises(ValueError, match="must be a string"):
        PrivacyBudget(epsilon=1.0, delta=1e-5).at(**wrong)


def test_a_plan_is_of_the_partition_of_its_handle():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    parts = [budget.at(partition=k) for k in range(2)]
    planned = [PlannedRelease(RELEASE, partition=k) for k in range(2)]
    assert budget.plan(planned).epsilon == parts[0].plan([RELEASE]).epsilon


def test_a_rejected_release_does_not_keep_the_ledger_open():
    """Otherwise its connection would last until the next garbage collection."""
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    storage = weakref.ref(budget._ledger.storage)
    gc.disable()
    try:
        with suppress(BudgetExceededError):
            budget.spend(PrivacyGuarantee(GDPEvent(5.0), "replace_one", "test"), delta=1e-5)
        del budget
        assert storage() is None
    finally:
        gc.enable()
