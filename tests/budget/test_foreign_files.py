"""Files that are no ledgers: refused without a byte changed; and ledgers that are garbage."""

import gc
import json
import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from labels import COST, TERMS
from opened import close_connections

from skdp import PrivacyBudget
from skdp.exceptions import BudgetClosedError
from skdp.ledger.file_storage import storage_at
from skdp.ledger.release import digest_of, first_head

_FOREIGN = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement)
os._exit(0)  # nobody closes it, so a log stays beside it
"""
TABLE = ("CREATE TABLE patients (name TEXT)", "INSERT INTO patients VALUES ('somebody')")


def make_foreign(path, *statements):
    command = [sys.executable, "-c", _FOREIGN, str(path), *statements]
    subprocess.run(command, check=True, timeout=60)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "statements",
    [
        TABLE,
        ("PRAGMA journal_mode=WAL", *TABLE),
        ("PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0", *TABLE),
        ("PRAGMA application_id=7", *TABLE),
        ("PRAGMA user_version=1", "CREATE TABLE terms (epsilon REAL)"),
        ("PRAGMA application_id=0x736B6470", "PRAGMA user_version=99", *TABLE),
        ("PRAGMA journal_mode=WAL",),
        ("BEGIN", *TABLE),
    ],
    ids=["journal", "wal", "in the log only", "id", "terms", "format", "empty", "uncommitted"],
)
def test_a_database_of_somebody_else_is_refused_without_a_byte_changed(tmp_path, statements):
    path = tmp_path / "study.db"
    make_foreign(path, *statements)
    before = contents(tmp_path)
    if not path.stat().st_size:
        pytest.skip("SQLite has written nothing")
    with pytest.raises(BudgetClosedError, match=r"database of another program|has format 99"):
        PrivacyBudget(**TERMS, path=path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "content", [b"name,age\nsomebody,17\n", b"SQLite format 3\0", b"\0" * 4096]
)
def test_a_file_that_is_no_database_is_refused_without_a_byte_changed(tmp_path, content):
    (tmp_path / "study.db").write_bytes(content)
    with pytest.raises(BudgetClosedError):
        PrivacyBudget(**TERMS, path=tmp_path / "study.db")
    assert contents(tmp_path) == {"study.db": content}


def test_an_empty_file_beside_a_log_is_refused_and_the_log_is_left(tmp_path):
    make_foreign(tmp_path / "study.db", "PRAGMA journal_mode=WAL", *TABLE)
    os.truncate(tmp_path / "study.db", 0)
    before = contents(tmp_path)
    with pytest.raises(BudgetClosedError, match="empty and has a log beside it"):
        PrivacyBudget(**TERMS, path=tmp_path / "study.db")
    assert contents(tmp_path) == before


def test_a_ledger_whose_header_is_ahead_of_its_pages_is_still_known_as_one(tmp_path):
    """So it looks for a moment while another process copies a longer log into it."""
    path = tmp_path / "study.db"
    PrivacyBudget(**TERMS, path=path)
    close_connections()
    os.truncate(path, path.stat().st_size - 4096)
    assert storage_at(path).exists()
    with pytest.raises(BudgetClosedError, match="cannot be used"):
        PrivacyBudget(**TERMS, path=path)


def test_an_empty_file_alone_becomes_a_ledger_with_its_permissions(tmp_path):
    path, link = tmp_path / "study.db", tmp_path / "link.db"
    path.touch(mode=0o600)
    link.symlink_to(path)
    budget = PrivacyBudget(**TERMS, path=link)
    budget.spend(COST, delta=1e-5, name="a fit")
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(PrivacyBudget(**TERMS, path=path).history()) == 1


def test_names_that_would_be_lost_while_a_ledger_is_made_are_refused(tmp_path):
    path = tmp_path / "study.db"
    with pytest.raises(ValueError, match="Choose another name"):
        PrivacyBudget(**TERMS, path=tmp_path / "study.db-skdp-new")
    path.touch()
    (tmp_path / "other.db").hardlink_to(path)
    with pytest.raises(BudgetClosedError, match="hard link"):
        PrivacyBudget(**TERMS, path=path)
    assert contents(tmp_path) == {"study.db": b"", "other.db": b""}


_DIES_WHILE_MAKING = """
import os, sys
from skdp import PrivacyBudget
from skdp.ledger import file_storage

class Dying:
    def __init__(self, connection):
        self.connection = connection
    def __getattr__(self, name):
        return getattr(self.connection, name)
    def execute(self, statement, values=()):
        if statement.startswith(last):
            os._exit(9)
        return self.connection.execute(statement, values)

connect = file_storage._connect
file_storage._connect = lambda *args: Dying(connect(*args))
folder, *statements = sys.argv[1:]
for i, last in enumerate(statements):
    if os.fork() == 0:
        PrivacyBudget(epsilon=1.0, delta=1e-5, path=f"{folder}/{i}.db")
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 9, last
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_ledger_whose_maker_died_is_made_by_the_next_one(tmp_path):
    made = ["BEGIN", "PRAGMA user_version", "CREATE", "INSERT", "COMMIT", "PRAGMA journal_mode=WAL"]
    command = [sys.executable, "-c", _DIES_WHILE_MAKING, str(tmp_path), *made]
    subprocess.run(command, timeout=60, check=True)
    assert {path.name[:5] for path in tmp_path.iterdir()} == {f"{i}.db-" for i in range(len(made))}
    for i, statement in enumerate(made):
        budget = PrivacyBudget(**TERMS, path=tmp_path / f"{i}.db")
        budget.spend(COST, delta=1e-5, name="a fit")
        assert len(budget.history()) == 1, statement
        assert not [*tmp_path.glob(f"{i}.db-skdp-new*")]


def test_opening_a_ledger_again_keeps_the_locks_of_the_one_that_is_open(tmp_path):
    """Closing any descriptor of a file drops the POSIX locks of the process on it."""
    budget = PrivacyBudget(**TERMS, path=tmp_path / "study.db")
    check = budget._check

    def open_again_and_look_from_outside(request):
        PrivacyBudget(**TERMS, path=tmp_path / "study.db", timeout=0.1)  # it needs no lock
        assert _is_locked_for_others(tmp_path / "study.db")
        check(request)

    budget._check = open_again_and_look_from_outside
    budget.spend(COST, delta=1e-5, name="a fit")
    assert len(budget.history()) == 1


def _is_locked_for_others(path):
    code = (
        "import sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)\n"
        "try: connection.execute('BEGIN IMMEDIATE')\n"
        "except sqlite3.OperationalError: sys.exit(7)\n"
    )
    return subprocess.run([sys.executable, "-c", code, str(path)], timeout=60).returncode == 7


def ledger_bytes(path, composition):
    """Return the bytes of a ledger with releases, parts, tags and a share, on few small pages."""
    terms = TERMS | {"composition": composition}
    budget = PrivacyBudget(**terms, path=path)
    budget.share(epsilon=0.5, name="team").spend(COST, delta=1e-5, name="é", partition="north")
    for i in range(3):
        budget.spend(COST, delta=1e-5, name=f"fit {i}", tag="note")
    close_connections()
    return terms, path.read_bytes()


def corrupted(data, rng):
    """Return the data with some bytes flipped, overwritten, moved or cut off."""
    data, kind = bytearray(data), rng.integers(5)
    used = np.flatnonzero(np.frombuffer(bytes(data), dtype=np.uint8))  # most of a page is empty
    if kind == 0:
        for place in rng.choice(used, rng.integers(1, 4)):
            data[place] ^= 1 << rng.integers(8)
    elif kind == 1:
        for place in rng.choice(used, rng.integers(1, 30)):
            data[place] = rng.integers(256)
    elif kind == 2:
        start, length = int(rng.choice(used)), int(rng.integers(1, 200))
        data[start : start + length] = rng.bytes(min(length, len(data) - start))
    elif kind == 3:
        del data[rng.integers(1, len(data)) :]
    else:
        first, second = (int(place) for place in rng.choice(used, 2))
        data[first : first + 16] = data[second : second + 16].ljust(16, b"\0")
    return bytes(data)


@pytest.mark.parametrize("n_damages", [25, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("composition", ["gdp", pytest.param("rdp", marks=pytest.mark.slow)])
def test_opening_a_damaged_ledger_raises_budget_closed_error_or_nothing(
    tmp_path, composition, n_damages
):
    terms, data = ledger_bytes(tmp_path / "whole.db", composition)
    rng = np.random.default_rng()
    refused = 0
    for i in range(n_damages):
        path = tmp_path / f"{i}.db"
        path.write_bytes(corrupted(data, rng))
        try:
            budget = PrivacyBudget(**terms, path=path)
            budget.history()
            budget.spend(COST, delta=1e-5, name="next", partition="north")
            budget.to_json()
        except BudgetClosedError:
            refused += 1
        finally:
            gc.collect()
    assert refused > 0.1 * n_damages - 2.5  # nearly half of them are, on average


def test_a_row_that_cannot_be_read_is_damage(tmp_path):
    for field, value in [("account", 3), ("renyi", 5), ("epsilon", "one"), ("delta", 7.0)]:
        path = tmp_path / f"{field}.db"
        budget = PrivacyBudget(**TERMS, path=path)
        budget.spend(COST, delta=1e-5, name="a fit")
        rewrite(path, lambda row, field=field, value=value: row | {field: value})
        with pytest.raises(BudgetClosedError, match="replaced"):
            budget.history()
        close_connections()
        with pytest.raises(BudgetClosedError, match="cannot be read"):
            PrivacyBudget(**TERMS, path=path)


def rewrite(path, change):
    """Change the first release, and its hash so that the chain is whole."""
    connection = sqlite3.connect(path)
    with connection:
        (time, content, seal), *_ = connection.execute("SELECT time, content, seal FROM entries")
        content = json.dumps(change(json.loads(content)))
        before = first_head(PrivacyBudget(**TERMS)._ledger.terms).hash
        row = (content, digest_of(before, time, content, seal))
        connection.execute("UPDATE entries SET content = ?, hash = ?", row)
    connection.close()
