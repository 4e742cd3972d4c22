"""What opening, spending and stalling cost others: no lock, no time that grows, a deadline."""

import os
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from labels import COST, TERMS, spend
from opened import close_connections, session_of

from skdp import PrivacyBudget
from skdp.exceptions import BudgetClosedError
from skdp.ledger import store
from skdp.ledger.release import Entry, Verification


@pytest.fixture
def remembering(monkeypatch):
    monkeypatch.setattr(store, "FULL_EVERY", 4)
    store._verified_before.clear()


@pytest.fixture
def read(monkeypatch):
    """Return the numbers of the entries that were verified."""
    numbers, add = [], Verification._add

    def counted(self, entry):
        numbers.append(entry.number)
        return add(self, entry)

    monkeypatch.setattr(Verification, "_add", counted)
    return numbers


def test_opening_again_verifies_what_is_new_and_every_nth_time_all(place, remembering, read):
    budget = PrivacyBudget(**TERMS, path=place)
    for name in ("a", "b", "c"):
        spend(budget, name)
    found = []
    for i in range(6):
        read.clear()
        PrivacyBudget(**TERMS, path=place)
        found.append([*read])
        if i == 1:
            spend(budget, "d")
    everything = [1, 2, 3, 4]
    assert found == [[1, 2, 3], [], [4], everything, [], []]
    read.clear()
    budget.verify()
    assert read == everything


def test_an_older_copy_in_the_same_file_is_verified_as_a_whole(tmp_path, remembering, read):
    path = tmp_path / "study.db"
    budget = PrivacyBudget(**TERMS, path=path)
    spend(budget, "a")
    close_connections()
    old = path.read_bytes()
    spend(budget, "b")
    PrivacyBudget(**TERMS, path=path)
    close_connections()
    path.write_bytes(old)
    read.clear()
    assert len(PrivacyBudget(**TERMS, path=path).history()) == 1
    assert read == [1]


def test_verifying_takes_no_lock(tmp_path, monkeypatch):
    path = tmp_path / "study.db"
    budget = PrivacyBudget(**TERMS, path=path)
    spend(budget, "a")
    follow, seen = Verification.follow, []

    def slowly(self, tables):
        follow(self, tables)
        with closing(sqlite3.connect(path, timeout=0.0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
        seen.append(True)

    monkeypatch.setattr(Verification, "follow", slowly)
    PrivacyBudget(**TERMS, path=path)
    budget.verify()
    assert len(seen) == 2


def test_nothing_but_lists_reads_entries(place, monkeypatch):
    budget = PrivacyBudget(**TERMS, path=place)
    for name in ("a", "b", "a"):
        spend(budget, name)
    monkeypatch.setattr("skdp.ledger.store.Tables.entries", None)
    spend(budget, "b")
    assert budget.plan([COST] * 3).admitted
    assert "in 4 releases" in str(budget)
    rows = [line for line in budget.report().splitlines() if "GDPEvent" in line and "|" in line]
    assert len(rows) == 2  # the groups
    assert budget.head.startswith("4-")


def test_a_report_reads_one_release_of_each_kind_of_its_account(place, monkeypatch):
    budget, read, known = PrivacyBudget(**TERMS, path=place), [], Entry.release.fget
    share = budget.share(epsilon=1.0, name="a_b")
    for handle, name in ((budget, "a"), (budget, "a"), (budget, "b"), (share, "c"), (share, "c")):
        spend(handle, name)
    spend(budget.share(epsilon=1.0, name="a%b"), "d")
    monkeypatch.setattr(Entry, "release", property(lambda one: read.append(one) or known(one)))
    assert '"n_releases": 6' in budget.report("json")
    assert len(read) == 4
    read.clear()
    assert '"n_releases": 2' in share.report("json")
    assert len(read) == 1


def test_a_spender_waits_for_a_file_until_its_deadline(tmp_path):
    path = tmp_path / "study.db"
    budget = PrivacyBudget(**TERMS, path=path, timeout=0.3)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        start = time.monotonic()
        with pytest.raises(BudgetClosedError, match="locked"):
            spend(budget)
        assert 0.2 < time.monotonic() - start < 10.0
        assert budget.history() == []
    spend(budget)


@pytest.mark.parametrize("moment", ["before", "commit"])
def test_a_server_that_stalls_holds_a_spend_until_its_deadline(address, server, moment):
    budget = PrivacyBudget(**TERMS, path=address, timeout=2.0)
    spend(budget, "a")
    with session_of(budget) as session:
        pid = session.connection.info.backend_pid
    stop = lambda: os.kill(pid, signal.SIGSTOP)  # noqa: E731
    start = time.monotonic()
    try:
        if moment == "before":
            stop()
        with pytest.raises(BudgetClosedError) as error:
            spend(budget, "b", before_commit=stop if moment == "commit" else None)
        assert time.monotonic() - start < 15.0
    finally:
        os.kill(pid, signal.SIGCONT)
    said = " ".join([str(error.value), *getattr(error.value, "__notes__", ())])
    assert ("may have been paid" in said) == (moment == "commit")
    spend(budget, "c")
    names = [row["label"] for row in budget.history()]
    assert names in (["a", "c"], ["a", "b", "c"])
    budget.verify()


def test_a_full_server_is_asked_again_until_the_deadline(server, address, monkeypatch):
    from skdp.ledger.server import storage as sessions

    budget, calls = PrivacyBudget(**TERMS, path=address), []
    connect = sessions._Connection.connect

    def full(**parameters):
        calls.append(True)
        if len(calls) < 4:
            raise sessions.OperationalError("FATAL:  sorry, too many clients already")
        return connect(**parameters)

    def full_for_good():
        raise sessions.OperationalError("FATAL:  sorry, too many clients already")

    close_connections()
    monkeypatch.setattr(sessions._Connection, "connect", full)
    spend(budget)
    assert len(calls) == 4
    impatient = PrivacyBudget(**TERMS, path=address, timeout=0.2)
    monkeypatch.setattr(sessions._Connection, "connect", lambda **_: full_for_good())
    with (
        ThreadPoolExecutor(1) as pool,  # another thread has no connection yet
        pytest.raises(BudgetClosedError, match="too many clients"),
    ):
        pool.submit(spend, impatient).result(30)


def test_an_owner_can_end_a_client_that_holds_the_lock(address, server):
    ledger = address.partition("ledger=")[2]
    impatient = PrivacyBudget(**TERMS, path=address, timeout=0.5)
    stalling = server.connect()
    stalling.execute(f'BEGIN; SELECT "{ledger}".lock_ledger()')
    with pytest.raises(BudgetClosedError, match="lock timeout"):
        spend(impatient)
    with server.connect() as own:
        table = f"'\"{ledger}\".terms'::regclass"
        own.execute(f"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = {table}")
    spend(PrivacyBudget(**TERMS, path=address))
    assert len(impatient.history()) == 1
    with pytest.raises(Exception, match=r"terminat|closed|lost"):
        stalling.execute("COMMIT")
    stalling.close()
