"""What the table of threats claims, where no other test shows it."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

import pytest
from labels import labels
from local_server import local_server, programs
from opened import close_connections

from skdp import PrivacyBudget
from skdp.exceptions import BudgetClosedError
from skdp.ledger.server.functions import grants
from skdp.privacy import PrivacyGuarantee, PureDPEvent

psycopg = pytest.importorskip("psycopg")

TERMS = {"epsilon": 1.0, "delta": 0.0, "composition": "pure"}
COST = PrivacyGuarantee(PureDPEvent(0.1), "replace_one", "test")
TABLES = ("entries", "totals", "terms", "accounts")


def spend(budget, name="a fit"):
    budget.spend(COST, delta=0.0, name=name, epsilon=0.1)


# --- a file --------------------------------------------------------------------------------------

_AS_NOBODY = """
import os, pwd, sys
from skdp import PrivacyBudget
from skdp.privacy import PrivacyGuarantee, PureDPEvent
from skdp.exceptions import BudgetClosedError
terms = {"epsilon": 1.0, "delta": 0.0, "composition": "pure"}
cost = PrivacyGuarantee(PureDPEvent(0.1), "replace_one", "test")
PrivacyBudget(**terms).spend(cost, delta=0.0)  # everything is imported now
nobody = pwd.getpwnam("nobody")
os.setgroups([]), os.setgid(nobody.pw_gid), os.setuid(nobody.pw_uid)
for path in sys.argv[1:]:
    for make in (PrivacyBudget.open, lambda path: PrivacyBudget(**terms, path=path)):
        try:
            make(path).spend(cost, delta=0.0)
        except BudgetClosedError as error:
            assert "ledger" in str(error), error
        else:
            sys.exit(f"it was spent from {path}")
"""


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="becomes somebody else")
def test_who_may_only_read_a_file_or_not_even_that_cannot_use_it():
    """Not even to read: SQLite writes beside it. An auditor gets an export."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:  # pytest's own are closed to others
        os.chmod(folder, 0o755)
        budgets = []
        for i, modes in enumerate(((0o755, 0o644), (0o755, 0o600), (0o700, 0))):
            own = Path(folder) / str(i)
            own.mkdir()
            budgets.append(PrivacyBudget(**TERMS, path=own / "study.db"))
            spend(budgets[-1])
            own.chmod(modes[0])
            (own / "study.db").chmod(modes[1])
        paths = [budget._ledger.path for budget in budgets]
        for _ in range(2):  # while another process has the files open, and after it has closed them
            subprocess.run([sys.executable, "-c", _AS_NOBODY, *paths], check=True, timeout=60)
            close_connections()
        for path in paths:
            os.chmod(path, 0o644)
            assert labels(PrivacyBudget(**TERMS, path=path)) == ["a fit"]


def test_rows_of_a_file_carry_no_role(tmp_path):
    budget = PrivacyBudget(**TERMS, path=tmp_path / "study.db")
    spend(budget)
    assert [entry["role"] for entry in budget.entries()] == [""]


def test_an_older_file_put_in_its_place_is_known_by_a_head_and_by_open_handles(tmp_path):
    path, copy = tmp_path / "study.db", tmp_path / "copy.db"
    budget = PrivacyBudget(**TERMS, path=path)
    spend(budget, "a")
    close_connections()
    shutil.copy(path, copy)
    spend(budget, "b")
    head = budget.head
    close_connections()
    with open(path, "r+b") as file:  # the same file: its volume and inode stay
        file.write(copy.read_bytes())
        file.truncate()
    with pytest.raises(BudgetClosedError):
        spend(budget, "c")
    for known in (head, "nonsense"):
        with pytest.raises(BudgetClosedError, match="does not contain everything that the head"):
            PrivacyBudget(**TERMS, path=path, at_least=known)
    assert labels(PrivacyBudget(**TERMS, path=path)) == ["a"]  # as the table of threats says


def test_a_file_that_was_rewritten_as_a_whole_is_known_by_a_head(tmp_path):
    path = tmp_path / "study.db"
    budget = PrivacyBudget(**TERMS, path=path)
    spend(budget, "a")
    close_connections()
    with closing(sqlite3.connect(path)) as own:
        before = {table: own.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}
    spend(budget, "b")
    head = budget.head
    close_connections()
    with closing(sqlite3.connect(path)) as own:
        for table, rows in before.items():
            own.execute(f"DELETE FROM {table}")
            for row in rows:
                own.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        own.commit()
    again = PrivacyBudget(**TERMS, path=path)
    assert again.verify()
    assert not again.extends(head)
    with pytest.raises(BudgetClosedError):
        PrivacyBudget(**TERMS, path=path, at_least=head)
    with pytest.raises(BudgetClosedError):
        spend(budget, "c")


# --- a server ------------------------------------------------------------------------------------


class Roles:
    """A ledger with one release, and an auditor and a stranger who may connect."""

    def __init__(self, server):
        self.server, self.ledger = server, f"of_{uuid4().hex}"
        self.auditor, self.stranger, self.spender = (
            f"{kind}_{uuid4().hex[:8]}" for kind in ("audit", "stranger", "spend")
        )
        self.owner = PrivacyBudget(**TERMS, path=server.address(self.ledger))
        spend(self.owner)
        with server.connect() as own:
            for role in (self.auditor, self.stranger, self.spender):
                own.execute(f"CREATE ROLE {role} LOGIN")
            own.execute(grants(self.ledger, self.spender, self.auditor))

    def address(self, role):
        return self.server.address(self.ledger, user=role)


@pytest.fixture
def roles(server):
    return Roles(server)


_CALLS = (
    'SELECT "{ledger}".append(identity, {text}, 2, content, 1, {text}) '
    'FROM "{ledger}".terms, "{ledger}".entries',
    'SELECT "{ledger}".lock_ledger()',
    """INSERT INTO "{ledger}".accounts VALUES ('mine', 0.1, 0, '0.1 0.1 0', '')""",
    'SELECT * FROM "{ledger}".terms FOR UPDATE',
    *(f'BEGIN; LOCK TABLE "{{ledger}}".{table} IN SHARE MODE' for table in TABLES),
    *(f'DELETE FROM "{{ledger}}".{table}' for table in TABLES),
    *(f'TRUNCATE "{{ledger}}".{table}' for table in TABLES),
    *(f'INSERT INTO "{{ledger}}".{table} SELECT * FROM "{{ledger}}".{table}' for table in TABLES),
    *(f'DROP TABLE "{{ledger}}".{table}' for table in TABLES),
    """UPDATE "{ledger}".entries SET content = '{}'""",
    """UPDATE "{ledger}".totals SET amounts = '0'""",
    'CREATE TABLE "{ledger}".more (x INT)',
    'DROP SCHEMA "{ledger}" CASCADE',
)
_READS = tuple(f'SELECT * FROM "{{ledger}}".{table}' for table in TABLES)


@pytest.mark.parametrize("kind", ["auditor", "stranger"])
def test_an_auditor_reads_and_a_stranger_does_not_and_neither_writes(roles, kind, server):
    role = getattr(roles, kind)
    before = roles.owner.to_json()
    with server.connect(role) as own:
        for call in _CALLS:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                own.execute(call.replace("{ledger}", roles.ledger).replace("{text}", "'k'"))
            own.rollback()
        for read in _READS:
            with suppress(psycopg.errors.InsufficientPrivilege):
                own.execute(read.replace("{ledger}", roles.ledger))
                assert kind == "auditor"
    if kind == "auditor":
        assert PrivacyBudget.open(roles.address(role)).verify() == roles.owner.head
    else:
        with pytest.raises(BudgetClosedError):
            PrivacyBudget.open(roles.address(role))
    for attempt in (
        lambda: spend(PrivacyBudget(**TERMS, path=roles.address(role))),
        lambda: PrivacyBudget.adopt(roles.address(role), reason="mine"),
    ):
        with pytest.raises((BudgetClosedError, ValueError)):
            attempt()
    assert roles.owner.to_json() == before
    roles.owner.verify()


def test_an_open_transaction_of_an_auditor_or_a_stranger_hinders_no_spend(roles, server):
    with server.connect(roles.auditor) as reader, server.connect(roles.stranger) as stranger:
        reader.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
        reader.execute(f'SELECT * FROM "{roles.ledger}".entries')
        stranger.execute("BEGIN")
        stranger.execute("SELECT pg_advisory_lock(1), pg_advisory_lock(2, 3)")
        spend(roles.owner, "b")
        spend(PrivacyBudget(**TERMS, path=roles.address(roles.spender)), "c")
    assert labels(roles.owner) == ["a fit", "b", "c"]


def test_an_owner_that_rewrites_all_is_known_by_a_head(roles, server):
    with server.connect() as own:
        name = f'"{roles.ledger}"'
        for table in TABLES:
            own.execute(f"CREATE TEMP TABLE old_{table} AS SELECT * FROM {name}.{table}")
        spend(roles.owner, "b")
        head = roles.owner.head
        for table in TABLES:
            own.execute(f"DELETE FROM {name}.{table}")
            own.execute(f"INSERT INTO {name}.{table} SELECT * FROM old_{table}")
    again = PrivacyBudget(**TERMS, path=roles.address("owner"))
    assert labels(again) == ["a fit"]
    assert again.verify()
    assert not again.extends(head)
    with pytest.raises(BudgetClosedError):
        PrivacyBudget(**TERMS, path=roles.address("owner"), at_least=head)
    with pytest.raises(BudgetClosedError):
        spend(roles.owner, "c")


def test_a_restored_dump_is_refused_until_it_is_adopted(roles, server):
    """By the owner of the database that it was restored into; others cannot adopt it."""
    name = f"restored_{uuid4().hex[:8]}"
    with server.connect() as own:
        own.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    where = ["-h", str(server.folder), "-p", str(server.port), "-U", "owner"]
    dump = [programs() / "pg_dump", *where, "-n", roles.ledger, "postgres"]
    dumped = subprocess.run(dump, check=True, capture_output=True, timeout=60).stdout
    restore = [programs() / "psql", *where, "-q", "-v", "ON_ERROR_STOP=1", name]
    subprocess.run(restore, input=dumped, check=True, capture_output=True, timeout=60)
    address = roles.address("owner").replace("/postgres?", f"/{name}?")
    for attempt in (
        lambda: PrivacyBudget(**TERMS, path=address),
        lambda: PrivacyBudget.open(address),
        lambda: PrivacyBudget.adopt(address.replace("owner@", f"{roles.spender}@"), reason="x"),
    ):
        with pytest.raises(BudgetClosedError):
            attempt()
    adopted = PrivacyBudget.adopt(address, reason="the old server is gone")
    spend(adopted, "b")
    assert labels(adopted) == ["a fit", "b"]
    with pytest.raises(BudgetClosedError):
        spend(roles.owner, "twice")


@pytest.mark.slow
def test_a_data_directory_that_is_put_back_is_known_by_a_head_and_by_open_handles():
    with local_server("fsync=off") as own:
        budget = PrivacyBudget(**TERMS, path=own.address())
        spend(budget, "a")
        own.stop(signal.SIGINT)
        backup = own.folder / "backup"
        shutil.copytree(own.data, backup, symlinks=True)
        own.start()
        spend(budget, "b")
        head = budget.head
        own.stop(signal.SIGINT)
        owner = own.data.stat()
        shutil.rmtree(own.data)
        shutil.copytree(backup, own.data, symlinks=True)
        subprocess.run(["chown", "-R", f"{owner.st_uid}:{owner.st_gid}", own.data], check=True)
        own.data.chmod(0o700)
        own.start()
        with pytest.raises(BudgetClosedError):
            spend(budget, "c")
        with pytest.raises(BudgetClosedError):
            PrivacyBudget(**TERMS, path=own.address(), at_least=head)
        assert labels(PrivacyBudget(**TERMS, path=own.address())) == ["a"]  # as the table says
