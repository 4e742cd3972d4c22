"""Ledgers that earlier versions made: they open, go on, and keep every hash.

The files in `old_ledgers` were written by the versions of their formats: `first` has a column per
field and no hashes; `second` and `server` have hashes, `-early` neither theorems nor versions.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from skdp import PrivacyBudget
from skdp.exceptions import BudgetClosedError
from skdp.ledger.server.schema import grants
from skdp.privacy import GDPEvent, PrivacyGuarantee

FOLDER = Path(__file__).parent / "old_ledgers"
TERMS = {"epsilon": 1.0, "delta": 1e-5}
COST = PrivacyGuarantee(GDPEvent(0.01), "replace_one", "test")
KINDS = ["first", "second-early", "second", "server-early", "server"]


def spend(budget, name, **more):
    budget.spend(COST, delta=0.0, name=name, **more)


def script(kind, composition):
    return (FOLDER / f"{kind}-{composition}.sql").read_text()


def facts(kind, composition):
    return json.loads((FOLDER / f"{kind}.json").read_text())[composition]


def change(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def restored(kind, composition, tmp_path, request):
    """Return where an old ledger is: a file, or a schema of a server."""
    text = script(kind, composition)
    if not kind.startswith("server"):
        path = str(tmp_path / "old.db")
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(text)
        return path
    server, name = request.getfixturevalue("server"), f"of_{uuid4().hex}"
    with server.connect() as own:
        own.execute(text.replace(f"old_{composition}", name))
    return server.address(name)


@pytest.mark.parametrize("composition", ["gdp", "rdp"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_ledger_of_an_older_format_goes_on_and_keeps_its_chain(
    kind, composition, tmp_path, request
):
    place, known = restored(kind, composition, tmp_path, request), facts(kind, composition)
    for _ in range(2):
        budget = PrivacyBudget(**TERMS, composition=composition, path=place)
        assert [row["label"] for row in budget.history()] == ["é", "pure", "a", "b", "a"]
        assert budget.spent == pytest.approx(tuple(known["spent"]), rel=1e-12)
        assert budget.history()[0]["tag"] == "note"
        if known["head"] is not None:
            assert budget.head == known["head"]
    before = budget.head
    spend(budget, "new", partition="north")
    spend(budget.share(epsilon=0.8, name="team"), "newer")
    assert budget.verify() == budget.head
    assert budget.extends(before)
    again = PrivacyBudget.from_json(budget.to_json())
    assert (again.head, again.spent) == (budget.head, budget.spent)
    assert len(PrivacyBudget.open(place, at_least=before).history()) == 7


@pytest.mark.parametrize("kind", ["first", "second"])
def test_a_damaged_ledger_of_an_older_format_is_left_as_it_is(kind, tmp_path, request):
    place = restored(kind, "gdp", tmp_path, request)
    column = "event" if kind == "first" else "content"
    change(place, f"UPDATE releases SET {column} = '{{' WHERE id = 2", "PRAGMA journal_mode=WAL")
    with pytest.raises(BudgetClosedError, match=r"cannot be read|hash of release 2"):
        PrivacyBudget(**TERMS, path=place)
    number = 1 if kind == "first" else 2
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (number,)
        assert connection.execute("SELECT count(*) FROM releases").fetchone() == (5,)


def test_edited_sums_of_an_older_format_are_noticed(tmp_path, request):
    place = restored("second", "gdp", tmp_path, request)
    change(place, "UPDATE totals SET amounts = '0 0 0 0 0' WHERE account = ''")
    with pytest.raises(BudgetClosedError, match="not the sums of its rows"):
        PrivacyBudget(**TERMS, path=place)


def test_a_version_that_reads_the_older_format_cannot_write_to_a_migrated_file(tmp_path, request):
    place = restored("second", "gdp", tmp_path, request)
    with closing(sqlite3.connect(place)) as old:
        PrivacyBudget(**TERMS, path=place)
        with pytest.raises(sqlite3.OperationalError, match="no such table: releases"):
            old.execute("INSERT INTO releases VALUES (6, '', '', '')")


def test_only_the_owner_migrates_a_server_and_rights_are_kept(tmp_path, request, server):
    place = restored("server", "gdp", tmp_path, request)
    ledger, role = place.partition("ledger=")[2], f"spend_{uuid4().hex[:8]}"
    old = f'"{ledger}".append(text, bigint, text, text, text, numeric[])'
    with server.connect() as own:
        own.execute(f"CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA {ledger} TO {role}")
        own.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {ledger} TO {role}")
        own.execute(f'GRANT EXECUTE ON FUNCTION "{ledger}".lock_ledger(), {old} TO {role}')
    with pytest.raises(BudgetClosedError, match="owner must open it once"):
        PrivacyBudget(**TERMS, path=server.address(ledger, role))
    PrivacyBudget(**TERMS, path=place)
    budget = PrivacyBudget(**TERMS, path=server.address(ledger, role))
    spend(budget, "of the role")
    assert budget.history()[-1]["role"] == role
    assert grants(ledger, role, role)


@pytest.mark.parametrize("number", [4, 99])
@pytest.mark.parametrize("in_the_log", [False, True])
def test_a_newer_format_is_refused_untouched_wherever_its_number_stands(
    number, in_the_log, tmp_path
):
    path = tmp_path / "study.db"
    budget = PrivacyBudget(**TERMS, path=path)
    spend(budget, "a")
    budget._ledger.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as newer:
        newer.execute("PRAGMA wal_autocheckpoint=0")
        newer.execute(f"PRAGMA user_version = {number}")
        if not in_the_log:
            newer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = {name: path.with_name(name).read_bytes() for name in ("study.db", "study.db-wal")}
        with pytest.raises(BudgetClosedError, match=f"has format {number}"):
            PrivacyBudget(**TERMS, path=path)
        after = {name: path.with_name(name).read_bytes() for name in before}
        assert after == before
        with pytest.raises(BudgetClosedError, match=f"has format {number}"):
            spend(budget, "b")
        assert newer.execute("PRAGMA user_version").fetchone() == (number,)
        assert newer.execute("SELECT count(*) FROM entries").fetchone() == (1,)


def test_an_export_of_an_older_format_is_imported(tmp_path, request):
    budget = PrivacyBudget(**TERMS, path=restored("second", "gdp", tmp_path, request))
    rows = [row | {"renyi": list(row["renyi"])} for row in budget.history()]
    for row in rows:
        del row["role"]
        row |= {k: "inf" for k, value in row.items() if value == float("inf")}
    data = json.loads(budget.to_json())
    del data["entries"]
    again = PrivacyBudget.from_json(json.dumps(data | {"version": 2, "releases": rows}))
    assert again.head == budget.head == facts("second", "gdp")["head"]
    rows[0]["label"] = "another"
    with pytest.raises(ValueError, match="do not match its head"):
        PrivacyBudget.from_json(json.dumps(data | {"version": 2, "releases": rows}))
