"""The chain of hashes over the releases of a ledger, in a file as on a server."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from skdp import PrivacyBudget
from skdp.exceptions import BudgetClosedError
from skdp.ledger.server.address import is_address, parameters_of
from skdp.privacy import GDPEvent, PrivacyGuarantee

PAGE = Path(__file__).parents[2] / "docs" / "ledger_administration.md"
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
        ("UPDATE entries SET time = '' WHERE id = 1", 1),
        ("UPDATE entries SET content = replace(content, '\"b\"', '\"x\"') WHERE id = 2", 2),
        ("UPDATE entries SET hash = 'x' WHERE id = 2", 2),
        ("UPDATE entries SET seal = '{}x' WHERE id = 2", 2),
        ("DELETE FROM entries WHERE id = 1", 1),
        ("DELETE FROM entries WHERE id = 2", 2),
        (
            "INSERT INTO entries (id, time, content, hash, seal) "
            "SELECT 0, time, content, hash, seal FROM entries WHERE id = 1",
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
    execute(place, *copied("entries", "id, time, content, hash, seal", other))
    with pytest.raises(BudgetClosedError, match=r"replaced by another one or by an older copy"):
        spend(budget, "d")
    assert not PrivacyBudget(**TERMS, path=place).extends(head)


def copied(table, columns, source):
    """Return statements that replace the rows of a table by those of a temporary ledger."""
    connection = sqlite3.connect(source._ledger.path)
    rows = connection.execute(f"SELECT {columns} FROM {table}").fetchall()
    connection.close()
    return [
        f"DELETE FROM {table}",
        *(f"INSERT INTO {table} ({columns}) VALUES {row!r}" for row in rows),
    ]


def test_an_export_has_the_head_and_an_import_keeps_it(budget, tmp_path):
    text = budget.to_json()
    assert json.loads(text)["head"] == budget.head
    again = PrivacyBudget.from_json(text, path=tmp_path / "again.db")
    assert again.head == budget.head
    spend(again, "d")
    assert again.extends(budget.head)


def test_an_edited_export_is_refused(budget):
    data = json.loads(budget.to_json())
    data["entries"][1]["content"] = data["entries"][0]["content"]
    for edited in (data, {name: value for name, value in data.items() if name != "head"}):
        with pytest.raises(ValueError, match="do not match its head"):
            PrivacyBudget.from_json(json.dumps(edited))


def test_the_script_of_the_page_finds_a_ledger_that_was_put_back(place, budget, tmp_path):
    program = PAGE.read_text().partition("# verify_ledger.py PLACE HEADS\n")[2].partition("```")[0]
    heads, command = tmp_path / "heads", [sys.executable, "-c", program, place]

    def run():
        return subprocess.run([*command, heads], capture_output=True, text=True, timeout=100)

    assert run().returncode == 0
    assert heads.read_text().split() == [budget.head]
    heads.write_text(f"9-{64 * '0'}\n")
    found = run()
    assert found.returncode == 1
    assert "does not contain everything that the head" in found.stderr


def test_a_newer_format_on_a_server_changes_nothing(address, server):
    PrivacyBudget(**TERMS, path=address)
    ledger = address.rpartition("ledger=")[2]
    with server.connect() as own:
        own.execute(f'UPDATE "{ledger}".terms SET format = 99')
        for open_it in (PrivacyBudget.open, lambda path: PrivacyBudget(**TERMS, path=path)):
            with pytest.raises(BudgetClosedError, match="has format 99"):
                open_it(address)
        assert own.execute(f'SELECT format FROM "{ledger}".terms').fetchone() == (99,)
