"""The chain of hashes over the releases of a ledger, in a file as on a server."""

import json
import sqlite3

import pytest

from skdp import PrivacyBudget
from skdp.exceptions import BudgetClosedError
from skdp.ledger.server.address import is_address, parameters_of
from skdp.privacy import GDPEvent, PrivacyGuarantee

TERMS = {"epsilon": 1.0, "delta": 1e-5}
COST = PrivacyGuarantee(GDPEvent(0.01), "replace_one", "test")


def spend(budget, *labels):
    for label in labels:
        budget.spend(COST, delta=0.0, name=label)


@pytest.fixture
def budget(place):
    budget = PrivacyBudget(**TERMS, path=place)
    spend(budget, "a", "b", "c")
    return budget


def execute(place, *statements):
    """Change a ledger behind its back, as only its owner can."""
    if is_address(place):
        import psycopg

        parameters, ledger = parameters_of(place)
        connection = psycopg.connect(**parameters, options=f"-c search_path={ledger}")
    else:
        connection = sqlite3.connect(place)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_a_ledger_goes_on_from_each_of_its_heads_and_from_no_other(place):
    budget = PrivacyBudget(**TERMS, path=place)
    heads = [budget.head]
    for label in "abc":
        spend(budget, label)
        heads.append(budget.head)
    assert len(set(heads)) == 4
    assert [head.split("-")[0] for head in heads] == list("0123")
    again = PrivacyBudget(**TERMS, path=place)
    assert all(again.extends(head) for head in heads)
    other = PrivacyBudget(**TERMS)
    assert other.head == heads[0]
    assert not other.extends(heads[1])
    spend(other, "a", "b", "c")  # at other times
    assert not any(other.extends(head) for head in heads[1:])
    assert PrivacyBudget(epsilon=1.0, delta=1e-6).head != heads[0]
    for bad in ("", "x", "-1", "4-", "1-", heads[1][:-1], "0" + heads[1]):
        assert not again.extends(bad)


@pytest.mark.parametrize(
    ("edit", "number"),
    [
        ("UPDATE releases SET time = '' WHERE id = 1", 1),
        ("UPDATE releases SET content = replace(content, '\"b\"', '\"x\"') WHERE id = 2", 2),
        ("UPDATE releases SET hash = 'x' WHERE id = 2", 2),
        ("DELETE FROM releases WHERE id = 1", 1),
        ("DELETE FROM releases WHERE id = 2", 2),
        (
            "INSERT INTO releases (id, time, content, hash) "
            "SELECT 0, time, content, hash FROM releases WHERE id = 1",
            1,
        ),
    ],
)
def test_an_edited_release_is_named_when_the_ledger_is_opened_read_or_exported(
    budget, place, edit, number
):
    execute(place, edit)
    for look in (budget.history, budget.to_json, lambda: PrivacyBudget(**TERMS, path=place)):
        with pytest.raises(BudgetClosedError, match=rf"the hash of release {number} does not"):
            look()


def test_a_rewritten_chain_is_noticed_by_open_handles_and_by_who_has_kept_a_head(budget, place):
    head = budget.head
    other = PrivacyBudget(**TERMS)
    spend(other, "x", "y", "z")
    columns, rows = "(id, time, content, hash)", rows_of(other._ledger.path)
    edits = [f"INSERT INTO releases {columns} VALUES {row!r}" for row in rows]
    execute(place, "DELETE FROM releases", *edits)
    with pytest.raises(BudgetClosedError, match=r"replaced by another one or by an older copy"):
        spend(budget, "d")
    assert not PrivacyBudget(**TERMS, path=place).extends(head)


def rows_of(path):
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT id, time, content, hash FROM releases").fetchall()
    connection.close()
    return rows


def test_an_export_has_the_head_and_an_import_keeps_it(budget, tmp_path):
    text = budget.to_json()
    assert json.loads(text)["head"] == budget.head
    again = PrivacyBudget.from_json(text, path=tmp_path / "again.db")
    assert again.head == budget.head
    spend(again, "d")
    assert again.extends(budget.head)


def test_an_edited_export_is_refused(budget):
    data = json.loads(budget.to_json())
    data["releases"][1]["label"] = "another"
    for edited in (data, {name: value for name, value in data.items() if name != "head"}):
        with pytest.raises(ValueError, match="do not match its head"):
            PrivacyBudget.from_json(json.dumps(edited))


FIRST_FORMAT = """
CREATE TABLE terms (epsilon REAL, delta REAL, composition TEXT, neighboring TEXT, slack REAL,
    tv REAL, orders TEXT, identity TEXT, checksum TEXT);
CREATE TABLE releases (
    id INTEGER PRIMARY KEY, time TEXT, label TEXT, epsilon REAL, delta REAL, gdp_mu REAL,
    neighboring TEXT, event TEXT, process INTEGER, tag TEXT, part TEXT, account TEXT, slack REAL,
    tv REAL, zcdp_rho REAL, pure_epsilon REAL, renyi TEXT);
CREATE TABLE accounts (name TEXT PRIMARY KEY, epsilon REAL, delta REAL);
CREATE TABLE totals (account TEXT, scope TEXT, amounts TEXT, PRIMARY KEY (account, scope))
    WITHOUT ROWID;
PRAGMA application_id = 0x736B6470;
PRAGMA user_version = 1;
"""


def as_before_theorems(budget):
    """Return a budget whose rows keep neither theorem nor version, as those of old ledgers."""
    data = json.loads(budget.to_json())
    del data["head"]  # which covers them
    for row in data["releases"]:
        del row["theorem"], row["version"]
    return PrivacyBudget.from_json(json.dumps(data | {"version": 1}))


def in_first_format(budget, path):
    """Write the ledger of a budget as the first version of this library did."""
    source, target = sqlite3.connect(budget._ledger.path), sqlite3.connect(path)
    target.executescript(FIRST_FORMAT)
    for table in ("terms", "accounts", "totals"):
        for row in source.execute(f"SELECT * FROM {table}"):
            target.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    for row in budget.history():
        row |= {name: json.dumps(row[name]) for name in ("event", "renyi")}
        del row["theorem"], row["version"]
        names = f"({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
        target.execute(f"INSERT INTO releases {names}", [*row.values()])
    target.commit()
    source.close()
    target.close()


@pytest.mark.parametrize("composition", ["gdp", "rdp"])
def test_a_file_of_the_first_format_is_rewritten_when_it_is_opened(tmp_path, composition):
    budget = PrivacyBudget(**TERMS, composition=composition)
    share = budget.share(epsilon=0.5, name="team")
    share.spend(COST, delta=0.0, name="é", partition="north", tag="note")
    spend(budget, "a", "b")
    budget = as_before_theorems(budget)
    in_first_format(budget, tmp_path / "old.db")
    for _ in range(2):
        again = PrivacyBudget(**TERMS, composition=composition, path=tmp_path / "old.db")
        assert again.to_json() == budget.to_json()
    spend(again, "c")
    assert again.extends(budget.head)


def test_a_damaged_file_of_the_first_format_is_left_as_it_is(tmp_path):
    budget = PrivacyBudget(**TERMS)
    spend(budget, "a", "b", "c")
    old = tmp_path / "old.db"
    in_first_format(budget, old)
    execute(old, "UPDATE releases SET event = '{' WHERE id = 2", "PRAGMA journal_mode=WAL")
    with pytest.raises(BudgetClosedError, match="one of its rows cannot be read"):
        PrivacyBudget(**TERMS, path=old)
    connection = sqlite3.connect(old)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert connection.execute("SELECT count(label) FROM releases").fetchone() == (3,)
    connection.close()


def test_an_export_of_the_first_format_is_imported(budget):
    data = json.loads(budget.to_json())
    del data["head"]
    again = PrivacyBudget.from_json(json.dumps(data | {"version": 1}))
    assert again.history() == budget.history()
