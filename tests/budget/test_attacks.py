"""Ways to overspend, or to lose what was spent, that must not work."""

import os
import pickle
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from labels import TERMS, labels, spend
from opened import close_connections, connection_of

from skdp import PrivacyBudget
from skdp.accounting import gdp_mu
from skdp.exceptions import BudgetClosedError, BudgetExceededError
from skdp.ledger.gate import Gate
from skdp.privacy import GDPEvent, PrivacyGuarantee

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@pytest.fixture
def budget(path):
    """Return a budget with three releases and an open connection."""
    budget = PrivacyBudget(**TERMS, path=path)
    for label in "abc":
        spend(budget, label)
    return budget


@pytest.mark.parametrize("gone", [("-wal",), ("-shm",), ("-wal", "-shm")], ids=str)
def test_a_log_deleted_under_an_open_handle_is_noticed_and_takes_nothing_with_it(
    budget, path, gone
):
    for suffix in gone:
        os.unlink(f"{path}{suffix}")
    for _ in range(2):
        with pytest.raises(BudgetClosedError, match=r"-wal or -shm file was deleted"):
            spend(budget, "lost")
        with pytest.raises(BudgetClosedError, match="-wal or -shm file was deleted"):
            budget.history()
    close_connections()
    assert labels(PrivacyBudget(**TERMS, path=path)) == ["a", "b", "c"]


def test_a_log_deleted_before_another_process_comes_takes_nothing_with_it(budget, path):
    for suffix in ("-wal", "-shm"):
        os.unlink(f"{path}{suffix}")
    code = (
        "import sys; from skdp import PrivacyBudget\n"
        "from skdp.privacy import GDPEvent, PrivacyGuarantee\n"
        "budget = PrivacyBudget(epsilon=1.0, delta=1e-5, path=sys.argv[1])\n"
        "assert [row['label'] for row in budget.history()] == ['a', 'b', 'c']\n"
        "cost = PrivacyGuarantee(GDPEvent(0.001), 'replace_one', '')\n"
        "for label in 'de': budget.spend(cost, delta=0.0, name=label)\n"
    )
    subprocess.run([sys.executable, "-c", code, path], check=True, timeout=100)
    with pytest.raises(BudgetClosedError):
        spend(budget, "lost")
    close_connections()
    assert labels(PrivacyBudget(**TERMS, path=path)) == ["a", "b", "c", "d", "e"]


def test_a_log_deleted_during_a_spend_does_not_let_the_fit_go_on(budget, path):
    check = budget._check
    budget._check = lambda request: (os.unlink(f"{path}-wal"), check(request))
    with pytest.raises(BudgetClosedError, match="-wal or -shm file was deleted"):
        spend(budget)


def test_what_was_spent_stands_in_the_database_itself(budget, path, tmp_path):
    (tmp_path / "alone.db").write_bytes(path.read_bytes())
    alone = PrivacyBudget.adopt(tmp_path / "alone.db", reason="a test")
    assert labels(alone) == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["epsilon", "delta", "composition", "neighboring"])
def test_the_terms_of_a_budget_cannot_be_assigned(budget, name):
    before = getattr(budget, name)
    with pytest.raises(AttributeError):
        setattr(budget, name, 100.0)
    assert getattr(budget, name) == before


@pytest.mark.parametrize("ceiling", [(1.0001, 1e-5), (0.5, 1.1e-5)])
def test_a_share_is_never_above_what_it_is_a_share_of(budget, ceiling):
    with pytest.raises(
        ValueError, match=r"exceeds the limit of its parent, epsilon=1, delta=1e-05"
    ):
        budget.share(epsilon=ceiling[0], delta=ceiling[1])
    with pytest.raises(ValueError, match=r"its parent, epsilon=0\.5"):
        budget.share(epsilon=0.5, name="outer").share(epsilon=0.6)


def test_shares_and_parts_together_never_pass_the_ceiling(budget):
    large = PrivacyGuarantee(GDPEvent(gdp_mu(0.5, 1e-5)), "replace_one", "test")
    for name in "abcdef":
        share = (
            pickle.loads(pickle.dumps(budget))
            .share(epsilon=0.6, name=name)
            .share(epsilon=0.6, name="inner")
        )
        for part in ("north", "south", None):
            try:
                spend(share, cost=large, partition=part)
            except BudgetExceededError:
                assert share.spent.epsilon <= 0.6
    assert 0.5 < budget.spent.epsilon <= 1.0


def test_a_cost_below_zero_is_no_refund(budget):
    class Refund(GDPEvent):
        def gdp_mu(self, neighboring):
            return -1.0

        def zcdp_rho(self, neighboring):
            return -1.0

    for mu in (0.1, float("nan")):
        with pytest.raises(ValueError, match=r"negative|mu"):
            spend(budget, cost=PrivacyGuarantee(Refund(mu), "replace_one", ""))
    assert labels(budget) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "bad", [{"tag": 3}, {"partition": 0.5}, {"partition": False}, {"partition": b"a"}, {"name": 3}]
)
def test_what_is_no_text_is_refused(budget, bad):
    with pytest.raises(ValueError, match=r"must be (a )?(text|string)"):
        spend(budget, **bad)
    close_connections()
    assert labels(PrivacyBudget(**TERMS, path=budget._ledger.path)) == ["a", "b", "c"]


def test_an_interrupt_right_after_a_transaction_begins_leaves_no_lock(budget, path):
    """The signal comes between SQLite's BEGIN and the next line of Python."""

    class Interrupting:
        def __init__(self, connection):
            self.connection = connection

        def __getattr__(self, name):
            return getattr(self.connection, name)

        def execute(self, statement, *values):
            result = self.connection.execute(statement, *values)
            if statement.startswith("BEGIN"):
                raise KeyboardInterrupt
            return result

    with connection_of(budget) as connection:
        session = budget._ledger.storage.own.tables
    session.connection = Interrupting(connection)
    with pytest.raises(KeyboardInterrupt):
        spend(budget)
    session.connection = connection
    other = sqlite3.connect(path, timeout=0.0)
    other.execute("BEGIN IMMEDIATE")
    other.rollback()
    other.close()
    spend(budget, "d")
    assert labels(budget) == ["a", "b", "c", "d"]


def test_a_spend_inside_of_a_spend_is_refused_and_leaves_no_row(budget):
    check = budget._check
    budget._check = lambda request: spend(budget) if check(request) is None else None
    with pytest.raises(BudgetClosedError, match="within a transaction"):
        spend(budget)
    del budget._check
    assert labels(budget) == ["a", "b", "c"]


@needs_fork
def test_threads_that_open_ledgers_while_others_fork_never_wait_in_a_ring(tmp_path):
    # In an interpreter of its own, which a ring would hang: that is what the time limit is for.
    code = (
        "import os, sys, threading, time\n"
        "from skdp import PrivacyBudget\n"
        "from skdp.ledger.gate import gate\n"
        "from skdp.privacy import GDPEvent, PrivacyGuarantee\n"
        "cost = PrivacyGuarantee(GDPEvent(1e-4), 'replace_one', '')\n"
        "terms = {'epsilon': 1.0, 'delta': 1e-5}\n"
        "budgets = [PrivacyBudget(**terms, path=f'{sys.argv[1]}/{i}.db') for i in range(2)]\n"
        "stop, admitted = threading.Event(), []\n"
        "for one, another in (budgets, budgets[::-1]):\n"
        "    def check(request, one=one, another=another, check=one._check):\n"
        "        if threading.current_thread() in threads:\n"
        "            one._ledger.totals(); another.spent\n"
        "        check(request)\n"
        "    one._check = check\n"
        "def spend(i):\n"
        "    while not stop.is_set():\n"
        "        budgets[i].spend(cost, delta=0.0, name='a fit'); admitted.append(i)\n"
        "        gate.before_fork(); gate.after_fork()\n"
        "        PrivacyBudget(**terms).spent; time.sleep(0.01)\n"
        "threads = [threading.Thread(target=spend, args=(i,)) for i in range(2)]\n"
        "for thread in threads: thread.start()\n"
        "def fork():\n"
        "    for _ in range(6):\n"
        "        if (child := os.fork()) == 0:\n"
        "            for budget in budgets: budget.spend(cost, delta=0.0, name='child')\n"
        "            os._exit(0)\n"
        "        assert os.waitpid(child, 0)[1] == 0\n"
        "forks = [threading.Thread(target=fork) for _ in range(2)]\n"
        "for thread in forks: thread.start()\n"
        "for thread in forks: thread.join()\n"
        "stop.set()\n"
        "for thread in threads: thread.join()\n"
        "assert admitted, 'no thread has spent'\n"
        "for i in (0, 1):\n"
        "    found = [row['label'] for row in budgets[i].history()]\n"
        "    assert found.count('child') == 12, found.count('child')\n"
        "    assert found.count('a fit') == admitted.count(i), (found, admitted)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True, timeout=120)


def test_sqlite_is_called_inside_of_the_gate_only(monkeypatch, tmp_path):
    """A fork elsewhere could copy a lock that SQLite holds, and the child would wait for ever."""
    connect, outside = sqlite3.connect, []

    def watched(*args, **more):
        frame, codes = sys._getframe(), []
        while frame := frame.f_back:
            codes.append(frame.f_code)
        outside.extend([] if Gate._inside.__code__ in codes else [args])
        return connect(*args, **more)

    monkeypatch.setattr(sqlite3, "connect", watched)
    budget = PrivacyBudget(**TERMS, path=tmp_path / "study.db")
    spend(budget)
    PrivacyBudget.open(tmp_path / "study.db").verify()
    spend(PrivacyBudget(**TERMS))
    assert outside == []


def alone(gate, action):
    """Return the result of an action at the place of a fork."""
    gate.before_fork()
    try:
        return action()
    finally:
        gate.after_fork()


def test_a_thread_that_waits_to_be_alone_closes_nothing_until_it_is(monkeypatch):
    """A finalizer may run while it waits, and a fork then would copy a lock of SQLite."""
    gate, closed, waited = Gate(), [], threading.Event()

    class Unused:
        def close(self):
            closed.append(threading.current_thread().name)

    def sleep(seconds):
        if threading.current_thread().name == "waits" and not waited.is_set():
            gate.drop(Unused(), os.getpid())
            waited.set()

    monkeypatch.setattr("skdp.ledger.gate.time.sleep", sleep)
    other = threading.Thread(target=lambda: alone(gate, list), name="waits")

    def first():
        other.start()
        assert waited.wait(10.0)
        assert closed == []

    alone(gate, first)
    other.join(10.0)
    assert not other.is_alive()
    gate.run(list)
    assert len(closed) == 1


def test_a_gate_lets_one_alone_and_then_all():
    gate, entered = Gate(), []

    def enter():
        gate.run(lambda: entered.append(True))

    with ThreadPoolExecutor(2) as pool:

        def wait():
            waiting = pool.submit(enter)
            assert not entered
            return waiting

        waiting = gate.run(lambda: alone(gate, wait))  # who is inside may be alone
        waiting.result(10)
        inside, leave = threading.Event(), threading.Event()

        def stay():
            inside.set()
            leave.wait(10)
            gate.run(lambda: None)  # and may come in again while somebody waits to be alone

        staying = pool.submit(gate.run, stay)
        inside.wait(10)
        pool.submit(leave.set)
        alone(gate, lambda: staying.result(10))
    assert entered == [True]
