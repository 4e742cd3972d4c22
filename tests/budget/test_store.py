"""The ledger where it is kept: all or nothing, and never a silent loss."""

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
TERMS |= {"orders": []}
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
def test_a_check_that_raises_leaves_no_row_and_the_ledger_open(ledger, error):
    def refuse(releases):
        raise error

    with pytest.raises(error):
        ledger.append(ENTRY, refuse)
    assert untimed(ledger.releases()) == untimed([ENTRY])
    ledger.append(ENTRY, accept)
    assert len(ledger.releases()) == 2


def test_an_error_after_the_check_leaves_no_row(ledger):
    unwritable = row("a fit", event={"event": object()})
    with pytest.raises(TypeError):
        ledger.append(unwritable, accept)
    assert untimed(ledger.releases()) == untimed([ENTRY])


def test_a_process_that_dies_in_the_middle_leaves_no_row_and_no_lock(ledger):
    code = (
        "import os, sys; from skdp import PrivacyBudget; "
        "ledger = PrivacyBudget.open(sys.argv[1])._ledger; "
        "ledger.append(ledger.releases()[0], lambda releases: os._exit(7))"
    )
    assert subprocess.run([sys.executable, "-c", code, ledger.path]).returncode == 7
    assert untimed(ledger.releases()) == untimed([ENTRY])
    ledger.append(ENTRY, accept)


def test_a_ledger_whose_making_failed_can_be_made_again(place):
    ledger = ledger_at(place)
    with pytest.raises(TypeError):
        ledger_at(ledger.path, epsilon=object()).create()
    ledger.create()
    assert untimed(ledger.releases()) == untimed([])


def test_a_deleted_ledger_is_closed(in_file, tmp_path):
    (tmp_path / "study.db").unlink()
    with pytest.raises(BudgetClosedError, match=r"does not exist"):
        in_file.append(ENTRY, accept)
    with pytest.raises(BudgetClosedError, match="does not exist"):
        in_file.releases()
    assert not (tmp_path / "study.db").exists()


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
