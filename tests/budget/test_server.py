"""A ledger on a server: what is lost, what is known of it, and who may do what."""

import contextlib
import logging
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from uuid import uuid4

import pytest
from joblib import Parallel, delayed
from labels import TERMS, labels, spend
from opened import close_connections, session_of

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.exceptions import BudgetClosedError, BudgetExceededError
from skdp.ledger.release import Verification
from skdp.ledger.server.address import is_address
from skdp.ledger.server.functions import grants
from skdp.privacy import GDPEvent, PrivacyGuarantee

psycopg = pytest.importorskip("psycopg")

X, Y = [[0.0, 1.0], [1.0, 0.0]] * 10, [0, 1] * 10


@pytest.fixture
def budget(address):
    return PrivacyBudget(**TERMS, path=address)


def end_sessions(server):
    """End all sessions but one's own, as a server does that is restarted."""
    with server.connect() as own:
        own.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE application_name = 'skdp'"
        )


class Interfering:
    """A connection that does something before, or after, one of its statements."""

    def __init__(self, connection, statement, *, before=None, after=None):
        self._own = connection, statement, before, after

    def __getattr__(self, name):
        return getattr(self._own[0], name)

    def execute(self, query, *values):
        connection, statement, before, after = self._own
        mine = query.strip().startswith(statement)
        if mine and before:
            before()
        result = connection.execute(query, *values)
        if mine and after:
            after()
        return result


def interfere(budget, statement, **how):
    """Let something happen at one of the next statements of this thread's connection."""
    with session_of(budget) as session:
        session.connection = Interfering(session.connection, statement, **how)


# --- lost connections ---------------------------------------------------------------------------


def test_a_connection_lost_between_spends_is_made_again(budget, server):
    spend(budget, "a")
    end_sessions(server)
    spend(budget, "b")
    end_sessions(server)
    assert labels(budget) == ["a", "b"]
    end_sessions(server)
    assert labels(PrivacyBudget(**TERMS, path=budget._ledger.path)) == ["a", "b"]


@pytest.mark.parametrize(
    "statement", ["BEGIN", "SELECT epsilon", 'SELECT "{ledger}".append', "COMMIT"]
)
def test_a_spend_whose_connection_is_lost_before_the_commit_is_made_once(budget, server, statement):
    spend(budget, "a")
    ledger = budget._ledger.path.partition("ledger=")[2]
    statement = statement.replace("{ledger}", ledger)
    interfere(budget, statement, before=lambda: end_sessions(server))
    spend(budget, "b")
    assert labels(budget) == ["a", "b"]


def test_a_spend_whose_commit_is_not_answered_is_looked_for_and_found(budget, server):
    spend(budget, "a")

    def lose():
        end_sessions(server)
        with session_of(budget) as session:
            session.close()
        raise psycopg.OperationalError("the connection is lost")

    interfere(budget, "COMMIT", after=lose)
    spend(budget, "b")
    assert labels(budget) == ["a", "b"]
    assert PrivacyBudget(**TERMS, path=budget._ledger.path).spent == budget.spent


def test_a_spend_that_cannot_be_looked_for_counts_as_spent(address, server):
    budget = PrivacyBudget(**TERMS, path=address, timeout=1.5)
    model = DPLogisticRegression(epsilon=0.1, delta=1e-6, budget=budget).fit(X, Y)
    interfere(budget, "COMMIT", before=lambda: server.stop(signal.SIGKILL))
    try:
        with pytest.raises(BudgetClosedError) as error:
            model.fit(X, Y)
    finally:
        server.start()
    assert "may have been paid. Count the release as spent." in str(error.value)
    assert "Nothing was spent" not in str(error.value)
    assert not hasattr(model, "coef_")
    assert len(budget.history()) == 1
    model.fit(X, Y)


def test_a_look_waits_until_the_lost_transaction_has_ended(budget, server):
    """Its server process may still be about to commit when the client is back."""
    spend(budget, "a")
    done = threading.Event()
    with session_of(budget) as session, ThreadPoolExecutor(1) as pool:
        session.connection.execute("BEGIN; SELECT lock_ledger()")
        key = uuid4().hex
        end = time.monotonic() + 60.0
        looking = pool.submit(lambda: budget._ledger.storage._was_recorded(key, end))
        row = ("INSERT INTO entries (id, time, content, hash, key) VALUES (9, '', '', '', %s)",)
        session.connection.execute(*row, (key,))
        done.wait(0.3)
        assert not looking.done()
        session.connection.execute("COMMIT")
        assert looking.result(10)


def test_a_transaction_that_an_error_has_ended_is_not_taken_for_a_spend(budget):
    """The server answers COMMIT with ROLLBACK then, and no error."""

    def fail_quietly():
        with (
            session_of(budget) as session,
            contextlib.suppress(psycopg.Error),
        ):
            session.connection.execute("SELECT 1/0")

    with pytest.raises(BudgetClosedError, match="ended the transaction, and nothing was recorded"):
        spend(budget, before_commit=fail_quietly)
    assert labels(budget) == []
    spend(budget)
    assert len(PrivacyBudget(**TERMS, path=budget._ledger.path).history()) == 1


# --- killed servers, killed clients ------------------------------------------------------------


def test_a_server_that_is_killed_in_the_middle_of_spends_loses_none(budget, server):
    path, promised = budget._ledger.path, []

    def spend_many(name):
        own = PrivacyBudget(**TERMS, path=path)
        for i in range(15):
            spend(own, f"{name}-{i}")
            promised.append(f"{name}-{i}")

    with ThreadPoolExecutor(4) as pool:
        spenders = [pool.submit(spend_many, name) for name in "abcd"]
        for _ in range(2):  # each of them spends in between, so none is hit twice in one spend
            waiting, before = set("abcd"), len(promised)
            while waiting:
                assert not any(spender.done() and spender.exception() for spender in spenders)
                waiting -= {label[0] for label in promised[before:]}
                waiting -= {name for name, one in zip("abcd", spenders, strict=True) if one.done()}
                time.sleep(0.001)
            server.stop(signal.SIGKILL)
            server.start()
        for spender in spenders:
            spender.result(60)
    assert sorted(labels(budget)) == sorted(promised)
    assert len(promised) == 60
    PrivacyBudget(**TERMS, path=path)


_KILLED = """
import os, signal, sys
from skdp import PrivacyBudget
from skdp.privacy import GDPEvent, PrivacyGuarantee
budget = PrivacyBudget(epsilon=1.0, delta=1e-5, path=sys.argv[1])
cost = PrivacyGuarantee(GDPEvent(0.001), "replace_one", "")
budget.spend(cost, delta=0.0, name="before")
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
budget.spend(cost, delta=0.0, name="lost", before_commit=die)
"""


def test_a_client_that_is_killed_in_the_middle_leaves_no_row_and_no_lock(budget, address):
    done = subprocess.run([sys.executable, "-c", _KILLED, address], timeout=60)
    assert done.returncode == -signal.SIGKILL
    spend(budget, "after")
    assert labels(budget) == ["before", "after"]


def test_a_client_that_hangs_loses_its_lock_and_its_spend_is_made_again(
    budget, address, monkeypatch
):
    monkeypatch.setattr("skdp.ledger.server.storage._IDLE_SECONDS", 1)
    other = PrivacyBudget(**TERMS, path=address)
    started, hung = threading.Event(), []

    def hang():
        if not hung:
            hung.append(True)
            started.set()
            threading.Event().wait(2.0)

    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(lambda: spend(budget, "hung", before_commit=hang))
        started.wait(10)
        spend(other, "other")
        hanging.result(30)
    assert labels(budget) == ["other", "hung"]


def test_a_full_disk_refuses_a_spend_whole_and_takes_the_next_when_there_is_room(server):
    """The tables are moved to a file system of 1 MB, mounted beside the server's folder."""
    folder = server.folder / f"tiny-{uuid4().hex}"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=777", "tmpfs", str(folder)]
    try:
        mounted = not subprocess.run(mount, capture_output=True).returncode
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a file system cannot be mounted here")
    ledger = f"of_{uuid4().hex}"
    try:
        _fill_a_disk(server, folder, ledger)
    finally:
        with server.connect() as own:
            own.execute(f'DROP SCHEMA IF EXISTS "{ledger}" CASCADE')
            own.execute(f'DROP TABLESPACE IF EXISTS "{ledger}"')
            own.execute("CHECKPOINT")
        subprocess.run(["umount", "-l", str(folder)], check=True)


def spend_without_end(budget):
    for i in range(400):
        spend(budget, f"{i}-" + "".join(uuid4().hex for _ in range(200)))


def _fill_a_disk(server, folder, ledger):
    budget = PrivacyBudget(**TERMS, path=server.address(ledger))
    (folder / "space").mkdir()
    if not os.getuid():
        shutil.chown(folder / "space", "nobody")
    with server.connect() as own:
        own.execute(f"CREATE TABLESPACE \"{ledger}\" LOCATION '{folder / 'space'}'")
        own.execute(f'ALTER TABLE "{ledger}".entries SET TABLESPACE "{ledger}"')
    with pytest.raises(BudgetClosedError, match="No space left on device"):
        spend_without_end(budget)
    admitted = labels(budget)
    assert 3 < len(admitted) < 400
    assert [label.split("-")[0] for label in admitted] == [*map(str, range(len(admitted)))]
    PrivacyBudget(**TERMS, path=server.address(ledger))
    subprocess.run(["mount", "-o", "remount,size=4m", str(folder)], check=True)
    spend(budget, "room again")
    assert labels(PrivacyBudget(**TERMS, path=server.address(ledger)))[len(admitted) :] == [
        "room again"
    ]


# --- time, order, transactions -------------------------------------------------------------------


def test_the_clock_of_the_server_stamps_and_a_client_with_another_changes_no_order(
    budget, monkeypatch
):
    class Skewed(datetime):
        @classmethod
        def now(cls, zone=None):
            return datetime(1999, 1, 1, tzinfo=zone)

    spend(budget, "a")
    monkeypatch.setattr("skdp.ledger.release.datetime", Skewed)
    spend(budget, "b")
    monkeypatch.undo()
    spend(budget, "c")
    assert labels(budget) == ["a", "b", "c"]
    times = [datetime.fromisoformat(row["time"]) for row in budget.history()]
    assert times == sorted(times)
    assert abs(times[1] - datetime.now(UTC)) < timedelta(minutes=5)


def test_a_spend_inside_of_a_spend_is_refused_and_leaves_no_row(budget):
    with pytest.raises(BudgetClosedError, match="within a transaction"):
        spend(budget, before_commit=lambda: spend(budget))
    assert labels(budget) == []
    spend(budget)


def test_a_fit_that_reads_the_budget_during_its_spend_sees_the_ledger_before_it(budget):
    seen = []
    check = budget._check
    budget._check = lambda request: (seen.append(budget.spent.epsilon), check(request))
    spend(budget)
    spend(budget)
    assert seen[0] == 0.0 < seen[1]


def test_an_owner_with_another_level_of_isolation_spends_all_the_same(budget):
    options = "options=-cdefault_transaction_isolation%3Dserializable"
    path = f"{budget._ledger.path}&{options}"

    def spend_some(name):
        own = PrivacyBudget(**TERMS, path=path)
        for i in range(5):
            spend(own, f"{name}-{i}")

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(spend_some, name) for name in "abcd"]:
            done.result(60)
    assert len(budget.history()) == 20


def test_a_long_ledger_may_be_added_up_for_longer_than_a_spend_may_hang(
    budget, address, monkeypatch
):
    text = budget.to_json()
    monkeypatch.setattr("skdp.ledger.server.storage._IDLE_SECONDS", 1)
    follow = Verification.follow

    def slowly(self, tables):
        follow(self, tables)
        time.sleep(1.5)
        tables.look()

    monkeypatch.setattr(Verification, "follow", slowly)
    close_connections()
    PrivacyBudget(**TERMS, path=address)
    PrivacyBudget.from_json(text, path=f"{address}_b")


def test_a_refusal_is_put_into_words_when_the_ledger_is_free_again(budget, address, monkeypatch):
    other, words = PrivacyBudget(**TERMS, path=address), []

    def shortfall(refused, releases):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(spend, other, "meanwhile").result(10)
        words.append([row.label for row in islice(releases, refused.request.number)])
        return "too much"

    spend(budget, "a")
    monkeypatch.setattr("skdp.budget.report.RefusedError._shortfall", shortfall)
    with pytest.raises(BudgetExceededError, match="too much") as error:
        budget.spend(PrivacyGuarantee(GDPEvent(9.0), "replace_one", ""), delta=0.0, name="b")
    assert type(error.value) is BudgetExceededError
    assert words == [["a"]]
    assert labels(budget) == ["a", "meanwhile"]


# --- forks ----------------------------------------------------------------------------------------

_UNSEEN = """
import ctypes, gc, os, sys
from skdp import PrivacyBudget
from skdp.exceptions import BudgetClosedError
from skdp.ledger.gate import gate
from skdp.privacy import GDPEvent, PrivacyGuarantee
budget = PrivacyBudget(epsilon=1.0, delta=1e-5, path=sys.argv[1])
cost = PrivacyGuarantee(GDPEvent(0.001), "replace_one", "")
fork = {"unseen": ctypes.PyDLL(None).fork, "seen": os.fork}[sys.argv[2]]
children = []

def fork_once():
    if not children:
        children.append(fork())
        if children[0]:
            assert os.waitpid(children[0], 0)[1] == 0

inside = sys.argv[3] == "inside"
budget.spend(cost, delta=0.0, name="before")
if not inside:
    fork_once()
refused = False
try:
    if children == [0]:
        gate.before_fork(), gate.after_fork()  # closes all that it has
    budget.spend(cost, delta=0.0, name="own", before_commit=fork_once if inside else None)
except BudgetClosedError as error:
    refused = "by another process" in str(error)
if children == [0]:
    del budget
    gc.collect()
    os._exit(0 if refused else 3)
sys.exit(5 if refused else 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize("how", [("unseen", "before"), ("unseen", "inside"), ("seen", "inside")])
def test_a_connection_in_a_forked_process_is_neither_used_nor_ended(budget, address, how):
    """The child closes, spends and forgets its budget; the parent waits for its end."""
    subprocess.run([sys.executable, "-c", _UNSEEN, address, *how], timeout=60, check=True)
    assert labels(budget) == ["before", "own"]


def test_the_sums_of_the_server_are_those_of_the_rows_to_the_last_digit(address):
    budget = PrivacyBudget(epsilon=10.0, delta=1e-3, path=address, tv=1e-12)
    share = budget.share(epsilon=1.0, name="é").share(epsilon=0.5, name="b")
    for i, part in enumerate(["x", "y", None, "x", "y", "y", "part x"] * 3):
        own = PrivacyGuarantee(GDPEvent(10.0**-i * 0.7), "replace_one", "")
        (share if i % 2 else budget).spend(own, delta=0.0, name="inf", partition=part)
    again = PrivacyBudget(epsilon=10.0, delta=1e-3, path=address, tv=1e-12)  # compares them
    assert again.spent == budget.spent
    copy = PrivacyBudget.from_json(budget.to_json())
    for account in ("", "é", "é/b"):
        for part in ("x", "y", None):
            sums = budget._ledger.totals(account, part)
            assert sums == copy._ledger.totals(account, part)


def test_all_handles_of_a_process_share_a_connection(budget, server):
    copies = [pickle.loads(pickle.dumps(budget)) for _ in range(10)]
    for copy in copies:
        spend(copy)
    with server.connect() as own:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'skdp'"
        assert own.execute(query).fetchone()[0] <= 3
    assert len(budget.history()) == 10


# --- roles ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def roles(server):
    """Return the names of a role that may spend, one that may read, and one without rights."""
    names = {kind: f"{kind}_{uuid4().hex[:8]}" for kind in ("spend", "audit", "nobody")}
    with server.connect() as own:
        for name in names.values():
            own.execute(f"CREATE ROLE {name} LOGIN")
    return names


@pytest.fixture
def as_role(server, roles):
    """Return a function that opens a ledger with one release as one of the roles."""
    ledger = f"of_{uuid4().hex}"
    owner = PrivacyBudget(**TERMS, path=server.address(ledger))
    spend(owner)
    with server.connect() as own:
        own.execute(grants(ledger, roles["spend"], roles["audit"]))

    def opened(kind):
        return PrivacyBudget(**TERMS, path=server.address(ledger, user=roles[kind]))

    opened.owner, opened.ledger = owner, ledger
    opened.connect = lambda kind: server.connect(roles[kind])
    return opened


def test_the_script_of_roles_can_be_printed_and_quotes_names():
    command = [sys.executable, "-m", "skdp.ledger.server", "trial", 'o"brien', "auditors"]
    script = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert script == grants("trial", 'o"brien', "auditors")
    assert 'TO "o""brien", "auditors";' in script


def test_who_may_spend_can_spend_from_shares_read_and_export(as_role):
    budget = as_role("spend")
    spend(budget)
    with pytest.raises(BudgetClosedError, match="permission denied"):
        budget.share(epsilon=0.5, name="team")
    as_role.owner.share(epsilon=0.5, name="team")
    spend(budget.share(epsilon=0.5, name="team"), partition="north")
    assert len(budget.history()) == 3
    assert budget.to_json() == as_role.owner.to_json()
    huge = PrivacyGuarantee(GDPEvent(9.0), "replace_one", "")
    with pytest.raises(BudgetExceededError):
        budget.spend(huge, delta=0.0, name="huge")


def test_who_may_audit_can_read_and_no_more(as_role):
    budget = as_role("audit")
    assert budget.history() == as_role.owner.history()
    assert budget.head == as_role.owner.head
    assert budget.extends(budget.head)
    assert budget.to_json()
    model = DPLogisticRegression(epsilon=0.1, delta=1e-6, budget=budget)
    with pytest.raises(BudgetClosedError, match=r"permission denied .*Nothing was spent\."):
        model.fit(X, Y)
    with pytest.raises(BudgetClosedError, match="permission denied"):
        budget.share(epsilon=0.5)
    assert len(as_role.owner.history()) == 1


@pytest.mark.parametrize("how", ["CREATE ON SCHEMA {0} TO PUBLIC", "ALL ON SCHEMA {0} TO {1}"])
def test_a_schema_in_which_others_may_make_things_takes_no_ledger(server, roles, how):
    name = f"of_{uuid4().hex}"
    with server.connect() as own:
        own.execute(f"CREATE SCHEMA {name}; GRANT {how.format(name, roles['spend'])}")
        with pytest.raises(BudgetClosedError, match="other users may make"):
            PrivacyBudget(**TERMS, path=server.address(name))
        own.execute(f"REVOKE ALL ON SCHEMA {name} FROM PUBLIC, {roles['spend']}")
        PrivacyBudget(**TERMS, path=server.address(name))


def test_a_schema_of_somebody_else_and_public_take_no_ledger(server, roles):
    name = f"of_{uuid4().hex}"
    with server.connect() as own:
        own.execute(f"CREATE SCHEMA {name} AUTHORIZATION {roles['spend']}")
    for ledger in (name, "public"):
        with pytest.raises(BudgetClosedError, match="other users may make"):
            PrivacyBudget(**TERMS, path=server.address(ledger))


def test_a_server_that_only_reads_can_be_read(as_role, server):
    owner = as_role.owner
    try:
        with server.connect() as own:
            own.execute("ALTER SYSTEM SET default_transaction_read_only = on")
            own.execute("SELECT pg_reload_conf()")
        end_sessions(server)
        assert len(owner.history()) == 1
        with pytest.raises(BudgetClosedError, match="read-only transaction"):
            spend(owner)
        assert len(PrivacyBudget(**TERMS, path=owner._ledger.path).history()) == 1
    finally:
        with server.connect() as own:
            own.execute("SET default_transaction_read_only = off")
            own.execute("ALTER SYSTEM RESET default_transaction_read_only")
            own.execute("SELECT pg_reload_conf()")
        end_sessions(server)
    spend(owner)


# --- addresses and secrets -----------------------------------------------------------------------

SECRET = "hu%20qzx%40two"
SECRETS = (SECRET, "hu qzx@two", "qzx")


@pytest.fixture
def guarded(server):
    """Return a role with a password that the server asks for, and an address with it."""
    name, password = f"guarded_{uuid4().hex[:8]}", "hu qzx@two"
    rules = server.data / "pg_hba.conf"
    before = rules.read_text()
    with server.connect() as own:
        own.execute(f"CREATE ROLE {name} LOGIN SUPERUSER PASSWORD '{password}'")
        rules.write_text(f"local all {name} scram-sha-256\n{before}")
        own.execute("SELECT pg_reload_conf()")
        own.execute("SELECT pg_sleep(0.1)")
    return server.address(f"of_{uuid4().hex}", user=f"{name}:{SECRET}")


def test_a_password_is_used_and_is_nowhere_to_be_found(guarded, server, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    budget = PrivacyBudget(**TERMS, path=guarded)
    spend(budget.share(epsilon=0.5, name="team"))
    model = DPLogisticRegression(epsilon=0.1, delta=1e-6, budget=budget).fit(X, Y)
    texts = [repr(budget), str(budget), budget._repr_html_(), budget.to_json(), repr(model)]
    texts += [str(pickle.dumps(thing, protocol=0)) for thing in (budget, model, model.privacy_)]
    texts += [budget._ledger.path, repr(vars(budget)), repr(vars(budget._ledger))]
    texts += [repr(pickle.loads(pickle.dumps(budget)).history())]
    for error in _errors(budget, guarded, server):
        texts += [str(error), repr(error), str(error.__cause__), str(pickle.dumps(error))]
        texts += [repr(error.__context__)]
    texts += [caplog.text, *capfd.readouterr(), (server.folder / "log").read_text()]
    for secret in SECRETS:
        assert not [text for text in texts if secret in text]


def _errors(budget, guarded, server):
    """Yield errors of every kind that name the address."""
    wrong = guarded.replace(SECRET, f"{SECRET}%21").replace("ledger=", "ledger=another_")
    attempts = [
        lambda: PrivacyBudget(epsilon=2.0, delta=1e-5, path=guarded),
        lambda: PrivacyBudget(**TERMS, path=wrong),
        lambda: PrivacyBudget(**TERMS, path=guarded.replace("/postgres", "/no_such_database")),
        lambda: PrivacyBudget(**TERMS, path=guarded.replace("ledger=", "ledger=A")),
        lambda: PrivacyBudget(**TERMS, path=guarded + "&unknown=1"),
        lambda: PrivacyBudget.from_json(budget.to_json(), path=guarded),
        lambda: spend(budget, before_commit=lambda: spend(budget)),
    ]
    for attempt in attempts:
        with pytest.raises((ValueError, BudgetClosedError)) as error:
            attempt()
        yield error.value


def test_a_worker_without_the_password_is_refused_and_one_with_it_in_its_environment_is_not(
    guarded, monkeypatch
):
    budget = PrivacyBudget(**TERMS, path=guarded)
    code = (
        "import pickle, sys; budget = pickle.load(sys.stdin.buffer); "
        "from skdp.privacy import GDPEvent, PrivacyGuarantee\n"
        "cost = PrivacyGuarantee(GDPEvent(0.001), 'replace_one', '')\n"
        "budget.spend(cost, delta=0.0, name='worker')\n"
    )
    command, pickled = [sys.executable, "-c", code], pickle.dumps(budget)
    done = subprocess.run(command, input=pickled, capture_output=True, timeout=60)
    assert b"BudgetClosedError" in done.stderr
    assert b"no password supplied" in done.stderr
    monkeypatch.setenv("PGPASSWORD", "hu qzx@two")
    subprocess.run(command, input=pickled, check=True, timeout=60)
    assert labels(budget) == ["worker"]


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://user:{SECRET}",
        f"postgresql://user:{SECRET}/host/db",
        f"postgresql://user:a/{SECRET}@host/db",
        f"postgresql://user:a?{SECRET}@host/db",
        f"postgresql://user:a#{SECRET}@host/db",
        f"postgresql://user:a@{SECRET}@host/db",
        f"postgresql://user:{SECRET}@host:port/db",
        f"postgresql://user@[::1/db?password={SECRET}",
        f"postgresql://user@host/db?password={SECRET}&no_such_word=1",
        f"postgresql://user@host/db?p%61ssword={SECRET}&sslpassword={SECRET}&connect_timeout=%zz",
        f"postgres://user:{SECRET}@host/db?ledger=No",
        f"postgres://user:{SECRET}@host/db?ledger=pg_x",
    ],
)
def test_an_address_that_cannot_be_read_is_refused_without_a_word_of_it(address):
    message = r"of a ledger is postgresql://user@host|name of a ledger"
    # In a thread of its own: tests of interrupts may leave this one with an error as context.
    with ThreadPoolExecutor(1) as pool:
        error = pool.submit(PrivacyBudget, **TERMS, path=address).exception(60)
    assert isinstance(error, ValueError)
    assert re.search(message, str(error))
    assert not any(secret in str(error) for secret in SECRETS)
    assert error.__context__ is None


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+psycopg://u:qzx@h/db",
        "POSTGRESQL://u:qzx@h/db",
        " postgresql://u:qzx@h/db",
        Path("postgresql://u:qzx@h/db"),
        "jdbc:postgresql://u:qzx@h/db",
        "mysql://u:qzx@h/db",
        "host=h password=qzx dbname=x",
        "Password = qzx",
        "host=h sslpassword=qzx",
    ],
)
def test_what_resembles_an_address_is_no_file(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PrivacyBudget(**TERMS).to_json()
    for make in (
        lambda: PrivacyBudget(**TERMS, path=address),
        lambda: PrivacyBudget.from_json(text, path=address),
    ):
        with pytest.raises(ValueError, match="of a ledger is postgresql://user@host") as error:
            make()
        assert "qzx" not in str(error.value)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["C:/study.db", "a=b.db", "my password.db", "x:y.db"])
def test_a_file_may_have_any_other_name(name):
    assert not is_address(name)


def test_an_error_of_the_connection_does_not_hold_the_password():
    with pytest.raises(BudgetClosedError) as error:
        PrivacyBudget(**TERMS, path=f"postgresql://u:{SECRET}@127.0.0.1:1/db?connect_timeout=2")
    link = error.value
    while link is not None:
        assert not isinstance(link, psycopg.Error)
        link = link.__cause__ or link.__context__


def test_what_a_server_refuses_is_said(server, tmp_path):
    nowhere = f"postgresql://owner@/postgres?host={tmp_path}"
    with pytest.raises(BudgetClosedError, match=r"cannot be used: .*No such file or directory"):
        PrivacyBudget(**TERMS, path=nowhere)
    with server.connect() as own:
        own.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    latin = server.address().replace("/postgres?", "/latin?")
    with pytest.raises(BudgetClosedError, match=r"needs PostgreSQL 14 .*and a database in UTF8"):
        PrivacyBudget(**TERMS, path=latin)


def test_tables_of_somebody_else_are_left_as_they_are(server):
    name = f"of_{uuid4().hex}"
    with server.connect() as own:
        own.execute(f"CREATE SCHEMA {name}; CREATE TABLE {name}.terms (patient TEXT)")
        with pytest.raises(BudgetClosedError, match='relation "terms" already exists'):
            PrivacyBudget(**TERMS, path=server.address(name))
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s"
        assert own.execute(query, (name,)).fetchall() == [("terms",)]


def test_eight_who_make_a_ledger_at_once_make_one(server):
    address = server.address(f"of_{uuid4().hex}")
    make = delayed(lambda: PrivacyBudget(**TERMS, path=address)._ledger.identity)
    made = Parallel(n_jobs=8, backend="threading")(make() for _ in range(8))
    assert len(set(made)) == 1


def test_without_psycopg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skdp.ledger.server.storage", None)
    with pytest.raises(ValueError, match=r"needs psycopg.*pip install skdp\[server\]"):
        PrivacyBudget(**TERMS, path="postgresql://host/db")
