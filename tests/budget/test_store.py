"""The ledger where it is kept: all or nothing, and never a silent loss."""

import sqlite3
import subprocess
import sys
from dataclasses import replace

import pytest

from skdp.budget import Release
from skdp.budget.filters import rule_of
from skdp.exceptions import BudgetClosedError
from skdp.ledger.file_storage import storage_at
from skdp.ledger.store import Ledger

TERMS = {"epsilon": 1.0, "delta": 1e-5, "composition": "gdp", "neighboring": "replace_one"}
TERMS |= {"unit": "record", "slack": 0.0, "tv": 0.0, "strict": False, "exact": False}
TERMS |= {"orders": "[]"}
RULE = rule_of("gdp", 1.0, 1e-5, slack=0.0)


def row(label, **change):
    """Return a release."""
    facts = {"epsilon": 0.1, "delta": 1e-5, "gdp_mu": 0.0325, "neighboring": "replace_one"}
    return Release(label=label, **facts | {"event": {"event": "GDPEvent", "mu": 0.0325}} | change)


ENTRY = row("a fit")


def ledger_at(place, **change):
    return Ledger(storage_at(str(place)), TERMS | change, RULE)


def with_one(place):
    """Return a ledger that holds one release."""
    ledger = ledger_at(place)
    ledger.create()
    ledger.append(ENTRY, accept)
    return ledger


@pytest.fixture
def ledger(place):
    return with_one(place)


@pytest.fixture
def in_file(tmp_path):
    return with_one(str(tmp_path / "study.db"))


def untimed(releases):
    """Return releases without what a server stamps."""
    return [replace(release, time="", role="") for release in releases]


def accept(request):
    assert request.release


def execute(ledger, statement):
    connection = sqlite3.connect(ledger.path)
    with connection:
        connection.execute(statement)
    connection.close()


def test_what_is_read_is_what_was_written(ledger):
    assert untimed(ledger.releases()) == untimed([ENTRY])


def test_releases_are_kept_in_order(ledger):
    second = row("another", epsilon=0.2)
    ledger.append(second, accept)
    assert untimed(ledger.releases()) == untimed([ENTRY, second])


def test_the_check_sees_the_new_release_and_how_many_were_before(ledger):
    seen = []
    new = row("new", epsilon=0.2)
    ledger.append(new, lambda request: seen.append((request.number, request.release)))
    assert [number for number, _ in seen] == [1]
    assert untimed([release for _, release in seen]) == untimed([new])


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_a_check_that_raises_leaves_no_row(ledger, error):
    def refuse(releases):
        raise error

    with pytest.raises(error):
        ledger.append(ENTRY, refuse)
    assert untimed(ledger.releases()) == untimed([ENTRY])


def test_an_error_after_the_check_leaves_no_row(ledger):
    unwritable = row("a fit", event={"event": object()})
    with pytest.raises(TypeError):
        ledger.append(unwritable, accept)
    assert untimed(ledger.releases()) == untimed([ENTRY])


def test_a_failed_append_leaves_the_ledger_open_for_the_next(ledger):
    with pytest.raises(ZeroDivisionError):
        ledger.append(ENTRY, lambda releases: 1 / 0)
    ledger.append(ENTRY, accept)
    assert len(ledger.releases()) == 2


def test_a_process_that_dies_in_the_middle_leaves_no_row_and_no_lock(ledger):
    code = (
        "import os, sys; from skdp import PrivacyBudget; "
        "ledger = PrivacyBudget.open(sys.argv[1])._ledger; "
        "ledger.append(ledger.releases()[0], lambda releases: os._exit(7))"
    )
    assert subprocess.run([sys.executable, "-c", code, ledger.path]).returncode == 7
    assert untimed(ledger.releases()) == untimed([ENTRY])
    ledger.append(ENTRY, accept)


def test_the_same_terms_open_the_same_ledger(ledger):
    ledger_at(ledger.path).create()
    assert untimed(ledger.releases()) == untimed([ENTRY])


def test_a_ledger_whose_making_failed_can_be_made_again(place):
    ledger = ledger_at(place)
    with pytest.raises(BudgetClosedError, match="cannot be used"):
        ledger_at(ledger.path, epsilon=object()).create()
    ledger.create()
    assert untimed(ledger.releases()) == untimed([])


@pytest.mark.parametrize(
    "change",
    [{"epsilon": 2.0}, {"delta": 1e-6}, {"composition": "basic"}, {"neighboring": "other"}],
)
def test_other_terms_are_refused(ledger, change):
    with pytest.raises(ValueError, match=r"The ledger .* was made for .*, not for"):
        ledger_at(ledger.path, **change).create()
    assert untimed(ledger.releases()) == untimed([ENTRY])


def test_a_ledger_of_a_future_format_is_refused(in_file):
    execute(in_file, "PRAGMA user_version = 99")
    in_file.close()
    with pytest.raises(BudgetClosedError, match="has format 99"):
        in_file.create()


def test_a_deleted_ledger_is_closed(in_file, tmp_path):
    (tmp_path / "study.db").unlink()
    with pytest.raises(BudgetClosedError, match=r"does not exist"):
        in_file.append(ENTRY, accept)
    with pytest.raises(BudgetClosedError, match="does not exist"):
        in_file.releases()
    assert not (tmp_path / "study.db").exists()


def test_a_read_only_ledger_can_be_read_and_not_written(in_file, tmp_path):
    (tmp_path / "study.db").chmod(0o444)
    with pytest.raises(BudgetClosedError, match=r"read-only"):
        in_file.append(ENTRY, accept)
    assert untimed(in_file.releases()) == untimed([ENTRY])


def test_garbage_is_refused_at_open_and_left_as_it_is(tmp_path):
    path = tmp_path / "garbage.db"
    path.write_bytes(bytes(range(256)) * 64)
    with pytest.raises(BudgetClosedError, match=r"garbage\.db cannot be used"):
        ledger_at(path).create()
    assert path.read_bytes() == bytes(range(256)) * 64


@pytest.mark.parametrize("damage", [b"", b"not a database at all"])
def test_a_ledger_that_is_overwritten_later_is_closed(in_file, tmp_path, damage):
    (tmp_path / "study.db").write_bytes(damage)
    with pytest.raises(BudgetClosedError, match="cannot be used"):
        in_file.append(ENTRY, accept)
    with pytest.raises(BudgetClosedError, match="cannot be used"):
        in_file.releases()


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(BudgetClosedError, match="cannot be used"):
        ledger_at(tmp_path / "nowhere" / "study.db").create()


@pytest.mark.parametrize("name", ["with space.db", "per%20cent.db", "what?.db", "a#b.db", "é.db"])
def test_any_file_name_will_do(tmp_path, name):
    ledger = ledger_at(tmp_path / name)
    ledger.create()
    ledger.append(ENTRY, accept)
    assert untimed(ledger.releases()) == untimed([ENTRY])
    assert (tmp_path / name).exists()
