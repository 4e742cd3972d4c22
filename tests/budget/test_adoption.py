"""Copies of a ledger, and entries that cannot be read: nothing goes on silently."""

import shutil
import sqlite3
from contextlib import closing
from uuid import uuid4

import pytest
from local_server import programs
from opened import close_connections

from skdp import PrivacyBudget
from skdp.exceptions import BudgetClosedError
from skdp.ledger.release import Head, digest_of
from skdp.privacy import PrivacyGuarantee, PureDPEvent

TERMS = {"epsilon": 1.0, "delta": 0.0, "composition": "pure"}
COST = PrivacyGuarantee(PureDPEvent(0.1), "replace_one", "test")


def spend(budget, name="a fit", cost=COST, **more):
    budget.spend(cost, delta=0.0, name=name, **more)


@pytest.fixture
def budget(tmp_path):
    budget = PrivacyBudget(**TERMS, path=tmp_path / "study.db")
    spend(budget, "a")
    return budget


def copied(budget, path):
    close_connections()
    shutil.copy(budget._ledger.path, path)
    return path


def test_a_copied_file_is_refused_until_it_is_adopted(budget, tmp_path):
    path, head = copied(budget, tmp_path / "copy.db"), budget.head
    for open_it in (
        lambda: PrivacyBudget(**TERMS, path=path),
        lambda: PrivacyBudget.open(path),
    ):
        with pytest.raises(BudgetClosedError, match=r"is a copy of another one.*adopt\(path"):
            open_it()
    with pytest.raises(ValueError, match="reason must be a sentence"):
        PrivacyBudget.adopt(path, reason=" ")
    new = PrivacyBudget.adopt(path, reason="the disk was replaced")
    spend(new, "b")
    assert new.extends(head)
    assert [entry["kind"] for entry in new.entries()] == ["release", "adoption", "release"]
    for format in ("markdown", "json"):
        assert "copy adopted, the other copy is closed: the disk was replaced" in new.report(format)
    with pytest.raises(BudgetClosedError, match=r"is closed: a copy of it was adopted"):
        spend(budget, "c")
    assert len(budget.history()) == 1
    with pytest.raises(ValueError, match="is not a copy"):
        PrivacyBudget.adopt(path, reason="again")
    PrivacyBudget(**TERMS, path=path, at_least=new.head)


def test_a_file_that_is_moved_within_its_disk_is_no_copy(budget, tmp_path):
    close_connections()
    (tmp_path / "study.db").rename(tmp_path / "moved.db")
    spend(PrivacyBudget(**TERMS, path=tmp_path / "moved.db"), "b")


def test_a_copy_whose_original_is_gone_says_so(budget, tmp_path):
    path = copied(budget, tmp_path / "copy.db")
    (tmp_path / "study.db").unlink()
    new = PrivacyBudget.adopt(path, reason="the original was lost")
    assert "the other copy is not reachable" in new.report()
    again = PrivacyBudget.from_json(new.to_json())
    assert again.head == new.head


def test_a_restored_dump_is_refused_until_it_is_adopted(server):
    import subprocess

    name = f"of_{uuid4().hex}"
    budget = PrivacyBudget(**TERMS, path=server.address(name))
    spend(budget, "a")
    dump = [programs() / "pg_dump", "-h", str(server.folder), "-p", str(server.port)]
    dump += ["-U", "owner", "-n", name, "--inserts", "postgres"]
    text = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if not line.startswith("\\")]
    with server.connect() as own:
        own.execute(f"ALTER SCHEMA {name} RENAME TO {name}_old")
        own.execute("\n".join(lines))
        own.execute("RESET ALL")
    with pytest.raises(BudgetClosedError, match="is a copy of another one"):
        PrivacyBudget(**TERMS, path=server.address(name))
    new = PrivacyBudget.adopt(server.address(name), reason="restored")
    spend(new, "b")
    assert len(new.history()) == 2
    with pytest.raises(BudgetClosedError, match="replaced"):
        spend(budget, "c")
    old = PrivacyBudget(**TERMS, path=server.address(f"{name}_old"))
    spend(old, "d")
    assert [row["label"] for row in old.history()] == ["a", "d"]
    assert [row["label"] for row in new.history()] == ["a", "b"]


def test_there_is_no_ledger_in_memory():
    with pytest.raises(ValueError, match=r"cannot be in memory.*path=None"):
        PrivacyBudget(**TERMS, path=":memory:")


def damaged(path, number, content):
    """Replace the content of an entry, and make the chain whole again, as nobody should."""
    with closing(sqlite3.connect(path)) as connection, connection:
        rows = connection.execute("SELECT id, time, content, seal, hash FROM entries").fetchall()
        last = PrivacyBudget(**TERMS).head.partition("-")[2]
        for id, time, old, seal, _ in rows:
            text = content if id == number else old
            last = digest_of(last, time, text, seal)
            row = (text, last, id)
            connection.execute("UPDATE entries SET content = ?, hash = ? WHERE id = ?", row)
    assert Head(len(rows), last)


def test_a_ledger_with_an_entry_that_cannot_be_read_is_not_opened(tmp_path):
    path = tmp_path / "study.db"
    budget = PrivacyBudget(**TERMS, path=path)
    for name in ("a", "b", "c"):
        spend(budget, name)
    close_connections()
    damaged(path, 2, '{"label": "?"}')
    for open_it in (lambda: PrivacyBudget(**TERMS, path=path), lambda: PrivacyBudget.open(path)):
        with pytest.raises(BudgetClosedError, match="release 2 cannot be read"):
            open_it()
