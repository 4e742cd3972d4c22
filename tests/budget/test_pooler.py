"""Ledgers behind pgbouncer, whose connections to the server belong to nobody in particular."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from labels import labels
from local_pooler import local_pooler, pooler_program
from opened import close_connections

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.exceptions import BudgetClosedError
from skdp.ledger.server.functions import grants
from skdp.privacy import PrivacyGuarantee, PureDPEvent

TERMS = {"epsilon": 1.0, "delta": 0.0, "composition": "pure"}
COST = PrivacyGuarantee(PureDPEvent(0.001), "replace_one", "test")


def spend(budget, name="a fit"):
    budget.spend(COST, delta=0.0, name=name, epsilon=0.001)


@pytest.fixture(scope="module", params=["session", "transaction"])
def pooler(request, server):
    if pooler_program() is None:
        if os.environ.get("SKDP_SERVER_TESTS") == "required":
            pytest.fail("there is no pgbouncer here")
        pytest.skip("there is no pgbouncer here")
    with local_pooler(server, request.param, size=8 if request.param == "session" else 2) as own:
        yield own


@pytest.fixture
def ledgers(pooler):
    """Return the names of two ledgers of one database, made through the pooler."""
    names = [f"of_{uuid4().hex}" for _ in range(2)]
    for name in names:
        PrivacyBudget(**TERMS, path=pooler.address(name))
    return names


def test_spends_from_two_ledgers_stay_in_their_own(pooler, ledgers, server):
    """With as few connections to the server, they share all of them."""

    def spend_some(number):
        ledger = ledgers[number % 2]
        budget = PrivacyBudget(**TERMS, path=pooler.address(ledger))
        for i in range(10):
            spend(budget, f"{ledger} {number} {i}")
        close_connections()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(spend_some, range(8)))
    for ledger in ledgers:
        found = labels(PrivacyBudget(**TERMS, path=server.address(ledger)))
        assert len(found) == len(set(found)) == 40
        assert all(label.startswith(ledger) for label in found)


def test_settings_of_other_clients_lead_no_spend_astray(pooler, ledgers, server):
    """Somebody else leaves a search path, a time zone and prepared statements behind."""
    import psycopg

    for setting in (f'search_path = "{ledgers[1]}"', "TimeZone = 'Asia/Tokyo'"):
        address = pooler.address().partition("&ledger=")[0]
        with psycopg.connect(address, autocommit=True) as own:
            own.execute(f"SET {setting}")
            own.execute("SET idle_in_transaction_session_timeout = 1")
    budget = PrivacyBudget(**TERMS, path=pooler.address(ledgers[0]))
    for i in range(12):  # more than psycopg waits before it prepares a statement
        spend(budget, str(i))
    assert labels(PrivacyBudget(**TERMS, path=server.address(ledgers[0]))) == [*map(str, range(12))]
    assert labels(PrivacyBudget(**TERMS, path=server.address(ledgers[1]))) == []
    budget.verify()


def test_models_shares_and_reports_work(pooler):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, path=pooler.address(f"of_{uuid4().hex}"))
    X, y = [[0.0, 1.0], [1.0, 0.0]] * 10, [0, 1] * 10
    DPLogisticRegression(epsilon=0.1, delta=1e-6, budget=budget).fit(X, y)
    share = budget.share(epsilon=0.5, name="team")
    DPLogisticRegression(epsilon=0.1, delta=1e-6, budget=share).fit(X, y)
    assert len(budget.history()) == 2
    assert budget.report()
    assert PrivacyBudget.from_json(budget.to_json()).spent == budget.spent


def test_a_renamed_schema_gets_no_spends_of_the_new_one(pooler, ledgers, server):
    budget = PrivacyBudget(**TERMS, path=pooler.address(ledgers[0]))
    spend(budget, "before")
    old = f"old_{uuid4().hex}"
    with server.connect() as own:
        own.execute(f'ALTER SCHEMA "{ledgers[0]}" RENAME TO "{old}"')
        own.execute(f'ALTER SCHEMA "{ledgers[1]}" RENAME TO "{ledgers[0]}"')
    with pytest.raises(BudgetClosedError):
        spend(budget, "into which?")
    with server.connect() as own:
        for schema in (old, ledgers[0]):
            query = f'SELECT count(*) FROM "{schema}".entries'
            assert own.execute(query).fetchone() == (schema == old,)


def test_rows_carry_the_role_of_the_pooler_whoever_spends(pooler, server):
    role, ledger = f"spend_{uuid4().hex[:8]}", f"of_{uuid4().hex}"
    owner = PrivacyBudget(**TERMS, path=server.address(ledger))
    with server.connect() as own:
        own.execute(f"CREATE ROLE {role} LOGIN")
        own.execute(grants(ledger, role, role))
    with local_pooler(server, pooler.mode, role=role) as shared:
        for user in ("ada", "eve"):
            spend(PrivacyBudget(**TERMS, path=shared.address(ledger, user=user)), user)
    assert [entry["role"] for entry in owner.entries()] == [role, role]


def test_a_killed_pooler_loses_nothing(pooler, ledgers, server):
    budget = PrivacyBudget(**TERMS, path=pooler.address(ledgers[0]))
    stop, done = threading.Event(), []

    def spend_on():
        while not stop.is_set():
            spend(budget, str(len(done)))
            done.append(str(len(done)))

    with ThreadPoolExecutor(1) as pool:
        spending = pool.submit(spend_on)
        for _ in range(3):
            seen = len(done)
            while len(done) < seen + 3 and not spending.done():
                stop.wait(0.01)
            pooler.stop(signal.SIGKILL)
            pooler.start()
        stop.set()
        spending.result(60)
    assert labels(PrivacyBudget(**TERMS, path=server.address(ledgers[0]))) == done
