"""`python -m skdp.ledger`, as administrators and timers call it."""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest
from labels import COST, TERMS
from opened import close_connections

from skdp import PrivacyBudget
from skdp.ledger.__main__ import main

DONE, DAMAGED, USAGE, UNREACHABLE, COPY, FORMAT = range(6)
PAGE = Path(__file__).parents[2] / "docs" / "ledger_administration.md"


class Done(NamedTuple):
    """What a command returned and printed."""

    returncode: int
    stdout: str
    stderr: str


def run(*words):
    """Run a command in this process."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as errors:
        try:
            code = main([*map(str, words)])
        except SystemExit as error:
            code = error.code
    return Done(code, out.getvalue(), errors.getvalue())


def run_alone(*words):
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "skdp.ledger", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def budget(place):
    budget = PrivacyBudget(**TERMS, path=place)
    for name in ("a", "b", "c"):
        budget.spend(COST, delta=0.0, name=name)
    budget.share(epsilon=0.5, name="team").spend(COST, delta=0.0, name="d")
    close_connections()
    return budget


@pytest.fixture
def path(budget):
    return budget._ledger.path


@pytest.fixture
def file(tmp_path):
    """Return the path of a ledger in a file."""
    budget = PrivacyBudget(**TERMS, path=tmp_path / "file.db")
    budget.spend(COST, delta=0.0, name="a")
    close_connections()
    return tmp_path / "file.db"


def test_a_process_of_its_own_prints_and_exits_as_the_command_in_this_one(file, tmp_path):
    """Once well, once refused by the parser and once by the ledger."""
    copy = tmp_path / "copy.db"
    shutil.copy(file, copy)
    assert PrivacyBudget.open(file).head in run_alone("verify", file).stdout
    for words, code in ((["burn", file], USAGE), (["verify", copy], COPY)):
        assert run_alone(*words).returncode == run(*words).returncode == code


def test_verify_prints_the_head_and_exits_with_0(budget, path):
    done = run("verify", path)
    assert (done.returncode, done.stderr) == (DONE, "")
    assert f"head: {budget.head}" in done.stdout
    done = run("verify", path, "--json", "--at-least", budget.head)
    assert done.returncode == DONE
    assert json.loads(done.stdout) == {"path": path, "whole": True, "head": budget.head}


def test_show_prints_terms_and_sums(budget, path):
    done = run("show", path)
    assert (done.returncode, done.stderr) == (DONE, "")
    assert budget.head in done.stdout
    found = json.loads(run("show", path, "--json").stdout)
    assert found["terms"]["epsilon"] == 1.0
    assert found["spent"]["epsilon"] == budget.spent.epsilon
    assert [entry["label"] for entry in found["entries"]] == [*"abcd"]


def test_export_writes_what_an_import_reads(budget, path, tmp_path):
    done = run("export", path)
    assert (done.returncode, done.stderr) == (DONE, "")
    assert PrivacyBudget.from_json(done.stdout).history() == budget.history()
    output = tmp_path / "export.json"
    assert run("export", path, "--output", output).returncode == DONE
    assert output.read_text() == budget.to_json()
    done = run("export", path, "--output", output)
    assert done.returncode == USAGE
    assert "cannot be written" in done.stderr


def test_adopt_makes_a_copy_the_ledger_and_closes_the_other(file, tmp_path):
    copy = tmp_path / "copy.db"
    shutil.copy(file, copy)
    done = run("verify", copy)
    assert (done.returncode, done.stdout) == (COPY, "")
    assert "copy" in done.stderr
    assert run("adopt", copy).returncode == USAGE
    done = run("adopt", copy, "--reason", "the old disk failed")
    assert (done.returncode, done.stderr) == (DONE, "")
    assert main(["verify", str(copy)]) == DONE
    adopted = PrivacyBudget(**TERMS, path=copy)
    assert adopted.entries()[-1]["kind"] == "adoption"
    assert adopted.entries()[-1]["reason"] == "the old disk failed"
    with pytest.raises(Exception, match="closed"):
        PrivacyBudget(**TERMS, path=file).spend(COST, delta=0.0, name="twice")


def test_an_edited_ledger_exits_with_1_and_says_where(file):
    with closing(sqlite3.connect(file)) as own:
        own.execute("""UPDATE entries SET content = replace(content, '"a"', '"b"')""")
        own.commit()
    done = run("verify", file)
    assert (done.returncode, done.stdout) == (DAMAGED, "")
    assert "hash of release 1 " in done.stderr
    done = run("verify", file, "--json")
    assert json.loads(done.stderr)["exit"] == DAMAGED


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE totals SET amounts = '0 0 0 0 0'",
        "DELETE FROM entries",
        "UPDATE entries SET hash = 'x'",
        "UPDATE terms SET terms = replace(terms, '0.', '9.')",
        "UPDATE terms SET checksum = 'x'",
        "DELETE FROM totals",
        "DELETE FROM accounts",
        "INSERT INTO accounts (name, epsilon, delta, limits) VALUES ('x', 0.5, 0, '9 9 9 9 9')",
    ],
)
def test_damage_exits_with_1(file, damage, capsys):
    with closing(sqlite3.connect(file)) as own:
        own.execute(damage)
        own.commit()
    assert main(["verify", str(file)]) == DAMAGED
    assert "cannot be used" in capsys.readouterr().err


def test_a_ledger_that_does_not_extend_a_known_head_exits_with_1(file, capsys):
    head = PrivacyBudget(**TERMS, path=file).head
    for known in (f"1-{'0' * 64}", f"7{head[1:]}"):
        done = run("verify", file, "--at-least", known)
        assert (done.returncode, done.stdout) == (DAMAGED, "")
    assert main(["verify", str(file), "--at-least", head]) == DONE


@pytest.mark.parametrize(
    "words", [[], ["verify"], ["burn", "x"], ["adopt", "x"], ["show", "x", "y"]]
)
def test_a_wrong_command_line_exits_with_2(words):
    done = run(*words)
    assert (done.returncode, done.stdout) == (USAGE, "")
    assert "usage: python -m skdp.ledger" in done.stderr


@pytest.mark.parametrize("command", ["verify", "show", "export", "adopt"])
def test_no_command_makes_a_ledger(command, tmp_path, capsys):
    more = ["--reason", "x"] if command == "adopt" else []
    assert main([command, str(tmp_path / "none.db"), *more]) == UNREACHABLE
    assert not [*tmp_path.iterdir()]
    assert capsys.readouterr().out == ""


def test_what_cannot_be_reached_exits_with_3(tmp_path, server, capsys):
    nowhere = ["postgresql://u:qzx@127.0.0.1:1/db", server.address(f"of_{uuid4().hex}")]
    nowhere += [server.address("skdp", user="nobody_at_all")]
    foreign = tmp_path / "foreign.db"
    with closing(sqlite3.connect(foreign)) as own:
        own.execute("CREATE TABLE patients (name TEXT)")
    for place in [*nowhere, foreign]:
        assert main(["verify", str(place), "--timeout", "2"]) == UNREACHABLE, place
    assert "qzx" not in capsys.readouterr().err


def test_a_malformed_address_is_not_quoted():
    done = run("verify", "postgresql://u:qzx@h:port/db")
    assert done.returncode == USAGE
    assert "qzx" not in done.stderr + done.stdout


def test_a_newer_format_exits_with_5_and_no_byte_changes(file):
    with closing(sqlite3.connect(file)) as own:
        own.execute("PRAGMA user_version = 99")
        own.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = {path.name: path.read_bytes() for path in file.parent.iterdir()}
    for command in ("verify", "show", "export", "adopt"):
        more = ["--reason", "x"] if command == "adopt" else []
        done = run(command, file, *more)
        assert (done.returncode, done.stdout) == (FORMAT, ""), done
        assert "has format 99" in done.stderr
    after = {path.name: path.read_bytes() for path in file.parent.iterdir()}
    assert after == before


def test_a_newer_format_on_a_server_exits_with_5_and_nothing_changes(address, server, capsys):
    PrivacyBudget(**TERMS, path=address).spend(COST, delta=0.0, name="a")
    ledger = address.rpartition("ledger=")[2]
    with server.connect() as own:
        own.execute(f'UPDATE "{ledger}".terms SET format = 99')
        before = own.execute(f'SELECT * FROM "{ledger}".entries').fetchall()
        for command in ("verify", "show", "export"):
            assert main([command, address]) == FORMAT
        assert own.execute(f'SELECT * FROM "{ledger}".entries').fetchall() == before
        assert own.execute(f'SELECT format FROM "{ledger}".terms').fetchone() == (99,)
    assert "has format 99" in capsys.readouterr().err


def test_help_and_the_page_list_the_exit_codes():
    listed = re.findall(r"^  (\d)  ", run("verify", "--help").stdout, re.M)
    assert listed == [*"012345"]
    assert re.findall(r"^\| (\d) \|", PAGE.read_text(), re.M) == listed


def test_every_command_of_the_page_exists():
    page = PAGE.read_text()
    listed = re.findall(r"^\| `(\w+) PATH", page, re.M)
    assert set(re.findall(r"^    (\w+) ", run("--help").stdout, re.M)) == set(listed)
    assert set(re.findall(r"skdp\.ledger (\w+)", page)) <= set(listed)
