"""Places for ledgers: a file, and a schema on a server that the tests start."""

import os
from uuid import uuid4

import pytest
from local_server import local_server, programs


@pytest.fixture(scope="session")
def server():
    """Return a server of this process's own; every test makes a ledger of its own there."""
    missing = None
    if programs() is None:
        missing = "there is no PostgreSQL here"
    elif not _has_psycopg():
        missing = "there is no psycopg here"
    if missing and os.environ.get("SKDP_SERVER_TESTS") == "required":
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    with local_server("fsync=off") as own:
        yield own


def _has_psycopg():
    try:
        import psycopg
    except ImportError:
        return False
    return bool(psycopg)


@pytest.fixture
def path(tmp_path):
    """Return where a file for a ledger may be made."""
    return tmp_path / "study.db"


@pytest.fixture
def address(server):
    """Return the address of a ledger that does not exist."""
    return server.address(f"of_{uuid4().hex}")


@pytest.fixture(params=["file", "server"])
def place(request, tmp_path):
    """Return where a ledger may be made, once in a file and once on a server."""
    if request.param == "file":
        return str(tmp_path / "study.db")
    return request.getfixturevalue("address")


@pytest.fixture(autouse=True)
def check_all_at_each_opening(request, monkeypatch):
    """Tests change ledgers behind the back of this process, and open them again."""
    if "remembers" not in request.keywords:
        monkeypatch.setattr("skdp.ledger.store.FULL_EVERY", 1)
