"""Disks that fill up, files that change under a handle, clocks and killed processes."""

import errno
import os
import re
import shutil
import sqlite3
import subprocess

import pytest
from labels import TERMS, labels, spend
from opened import close_connections, connection_of

from skdp import PrivacyBudget
from skdp.exceptions import BudgetClosedError, BudgetExceededError
from skdp.privacy import GDPEvent, PrivacyGuarantee


def spend_without_end(budget):
    for i in range(100_000):
        spend(budget, name=f"{i}-" + "x" * 3000)


@pytest.fixture
def budget(path):
    """Return a budget with one release and an open connection."""
    budget = PrivacyBudget(**TERMS, path=path)
    spend(budget)
    return budget


@pytest.fixture
def tiny_disk(tmp_path):
    """Return a folder on a file system of 400 kB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_refuses_a_spend_whole_and_takes_the_next_when_there_is_room(tiny_disk):
    budget = PrivacyBudget(**TERMS, path=tiny_disk / "study.db")
    with pytest.raises(BudgetClosedError, match=r"cannot be used: .*full"):
        spend_without_end(budget)
    admitted = len(labels(budget))
    assert admitted > 3
    assert labels(budget)[-1].startswith(f"{admitted - 1}-")
    subprocess.run(["mount", "-o", "remount,size=2m", str(tiny_disk)], check=True)
    spend(budget, name="room again")
    assert labels(PrivacyBudget(**TERMS, path=tiny_disk / "study.db"))[admitted:] == ["room again"]
    close_connections()


def test_a_database_that_may_not_grow_refuses_a_spend_whole(budget, path):
    """The same without mounting anything: SQLite itself reports that the disk is full."""
    with connection_of(budget) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(BudgetClosedError, match="full"):
        spend(budget, name="x" * 30_000)
    with connection_of(budget) as connection:
        connection.execute("PRAGMA max_page_count=100000")
    n_admitted = len(labels(budget))
    spend(budget)
    assert len(labels(PrivacyBudget(**TERMS, path=path))) == n_admitted + 1


@pytest.mark.parametrize("how", ["new", "copy"])
def test_a_replaced_ledger_is_noticed_by_an_open_connection(budget, path, tmp_path, how):
    other = tmp_path / "other.db"
    if how == "new":
        PrivacyBudget(**TERMS, path=other)
    else:
        with sqlite3.connect(path) as source, sqlite3.connect(other) as target:
            source.backup(target)
        source.close()
        target.close()
        spend(budget, "after the copy")
    os.replace(other, path)
    for _ in range(2):
        with pytest.raises(BudgetClosedError, match=r"replaced by another one or by an older"):
            spend(budget)


def test_a_ledger_made_where_an_open_one_was_deleted_is_sound(budget, path):
    path.unlink()
    new = PrivacyBudget(**TERMS, path=path)
    spend(new, "new")
    with pytest.raises(BudgetClosedError):
        spend(budget, "old")
    del budget
    spend(new, "newer")
    close_connections()
    assert labels(PrivacyBudget(**TERMS, path=path)) == ["new", "newer"]


def test_a_ledger_replaced_during_a_spend_does_not_let_the_fit_go_on(budget, path, tmp_path):
    PrivacyBudget(**TERMS, path=tmp_path / "other.db")
    check = budget._check
    budget._check = lambda entries: (os.replace(tmp_path / "other.db", path), check(entries))
    with pytest.raises(BudgetClosedError, match=r"was replaced while it was in use"):
        spend(budget)


def test_a_ledger_that_is_cut_short_is_closed(budget, path):
    os.truncate(path, 100)
    with pytest.raises(BudgetClosedError, match="cut short"):
        spend(budget)
    with pytest.raises(BudgetClosedError):
        budget.history()


def test_a_corrupt_page_is_noticed_when_the_ledger_is_opened(budget, path):
    for i in range(200):
        spend(budget, f"{i}" * 50)
    close_connections()
    data = bytearray(path.read_bytes())
    data[4096 * 4 : 4096 * 6] = os.urandom(4096 * 2)
    path.write_bytes(data)
    with pytest.raises(BudgetClosedError, match="cannot be used"):
        PrivacyBudget(**TERMS, path=path)
    assert path.read_bytes() == bytes(data)


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM entries",
        "UPDATE totals SET amounts = '0 0 0'",
        "DELETE FROM totals",
    ],
)
def test_an_edited_ledger_is_refused_when_it_is_opened(budget, path, edit):
    close_connections()
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(edit)
    connection.close()
    with pytest.raises(BudgetClosedError, match="not the sums of its rows"):
        PrivacyBudget(**TERMS, path=path)


def test_a_read_only_ledger_can_be_read_by_an_open_handle_and_not_spent(budget, path):
    path.chmod(0o444)
    with pytest.raises(BudgetClosedError, match=r"read-only"):
        spend(budget)
    assert labels(budget) == ["a fit"]
    path.chmod(0o644)
    spend(budget, "writable again")
    assert labels(budget) == ["a fit", "writable again"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 2.0}, "epsilon=1.0.*not for .*epsilon=2.0"),
        ({"delta": 1e-6}, "delta=1e-05.*not for .*delta=1e-06"),
        ({"composition": "basic"}, "composition='gdp'.*not for .*'basic'"),
        ({"neighboring": "add_remove_one"}, "'replace_one'.*not for .*'add_remove_one'"),
        ({"slack": 1e-6}, r"slack=5\.\d*e-07.*not for .*slack=1e-06"),
        ({"slack": 0.0}, r"slack=5\.\d*e-07.*not for .*slack=0.0"),
        ({"tv": 1e-7}, "tv=0.0.*not for .*tv=1e-07"),
    ],
)
def test_two_budgets_with_other_terms_on_one_path_are_refused(place, change, message):
    budget = PrivacyBudget(**TERMS, path=place)
    spend(budget)
    with pytest.raises(ValueError, match=message):
        PrivacyBudget(**TERMS | change, path=place)
    assert labels(budget) == ["a fit"]


def test_a_clock_that_goes_backwards_changes_no_order_and_no_sum(budget, monkeypatch):
    class Backwards:
        year = 2030

        @classmethod
        def now(cls, zone):
            cls.year -= 1
            return cls()

        def isoformat(self):
            return f"{self.year}-01-01T00:00:00+00:00"

    before = budget.spent.epsilon
    monkeypatch.setattr("skdp.ledger.release.datetime", Backwards)
    for i in range(3):
        spend(budget, str(i))
    assert labels(budget) == ["a fit", "0", "1", "2"]
    times = [row["time"] for row in budget.history()][1:]
    assert times == sorted(times, reverse=True)
    assert budget.spent.epsilon > before


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES])
def test_a_path_that_cannot_be_looked_at_is_closed(budget, monkeypatch, code):
    real = os.stat

    def broken(path, *args, **kwargs):
        if re.search(r"study\.db$", str(path)):
            raise OSError(code, os.strerror(code))
        return real(path, *args, **kwargs)

    monkeypatch.setattr("skdp.ledger.file_storage.os.stat", broken)
    with pytest.raises(BudgetClosedError, match=r"cannot be used"):
        budget.history()


def test_a_refusal_leaves_the_ledger_as_it_was(place):
    budget = PrivacyBudget(**TERMS, path=place)
    spend(budget)
    before = budget.to_json()
    with pytest.raises(BudgetExceededError):
        spend(budget, cost=PrivacyGuarantee(GDPEvent(9.0), "replace_one", ""))
    assert budget.to_json() == before
    assert PrivacyBudget(**TERMS, path=place).to_json() == before
