"""Locks of files: tested whenever a ledger is opened, and refused where they do nothing."""

import errno
import sqlite3

import pytest
from opened import close_connections

from skdp import PrivacyBudget
from skdp.exceptions import BudgetClosedError
from skdp.ledger import file_storage as locks

fcntl = pytest.importorskip("fcntl")
TERMS = {"epsilon": 1.0, "delta": 1e-5}


class Patched:
    """The module fcntl with some functions replaced."""

    def __init__(self, **functions):
        vars(self).update(functions)

    def __getattr__(self, name):
        return getattr(fcntl, name)


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.ENOLCK, errno.EBADF])
def test_a_folder_that_cannot_be_locked_is_refused(tmp_path, monkeypatch, code):
    def fail(*_):
        raise OSError(code, "no locks here")

    monkeypatch.setattr(locks, "fcntl", Patched(flock=fail))
    with pytest.raises(BudgetClosedError, match=r"cannot be used: .*no locks here.*with locks"):
        PrivacyBudget(**TERMS, path=tmp_path / "study.db")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_whose_lock_does_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "fcntl", Patched(flock=lambda *_: None))
    with pytest.raises(BudgetClosedError, match=r"cannot be locked .*Put it on a local disk"):
        PrivacyBudget(**TERMS, path=tmp_path / "study.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("existing", [False, True])
def test_a_database_whose_locks_do_nothing_is_refused(tmp_path, monkeypatch, existing):
    """SQLite's own `unix-none` grants every lock, as some file systems do."""
    if existing:
        PrivacyBudget(**TERMS, path=tmp_path / "study.db")
        close_connections()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    real = locks.uri_of
    monkeypatch.setattr(locks, "uri_of", lambda *args: real(*args) + "&vfs=unix-none")
    with pytest.raises(BudgetClosedError, match=r"lock that SQLite holds has no effect"):
        PrivacyBudget(**TERMS, path=tmp_path / "study.db")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("by_a_child", [False, True])
def test_a_lock_that_sqlite_holds_is_seen_and_one_that_it_does_not_hold_is_not(
    tmp_path, monkeypatch, by_a_child
):
    if by_a_child:
        monkeypatch.setattr(locks, "_is_locked", locks._is_locked_for_a_child)
    probe = str(tmp_path / "probe.db")
    assert locks._sqlite_excludes(probe, probe)
    connection = sqlite3.connect(probe, isolation_level=None)
    connection.execute("CREATE TABLE t (x)")
    assert not locks._is_locked(probe)
    connection.execute("BEGIN IMMEDIATE")
    assert locks._is_locked(probe)
    connection.close()


def test_the_test_of_locks_leaves_no_file(tmp_path):
    PrivacyBudget(**TERMS, path=tmp_path / "study.db")
    close_connections()
    assert [path.name for path in tmp_path.iterdir()] == ["study.db"]
