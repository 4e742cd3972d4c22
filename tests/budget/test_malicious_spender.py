"""A spender who attacks a ledger on a server with its own role, in SQL.

It cannot overspend, delete, rewrite, write as another role, or close the ledger for others. What it
can do is listed in the documentation, and every row that it writes carries its role.
"""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from uuid import uuid4

import pytest

from skdp import PrivacyBudget
from skdp.exceptions import BudgetClosedError
from skdp.ledger.server.functions import grants
from skdp.privacy import PrivacyGuarantee, PureDPEvent

psycopg = pytest.importorskip("psycopg")

TERMS = {"epsilon": 1.0, "delta": 0.0, "composition": "pure"}
COST = PrivacyGuarantee(PureDPEvent(0.1), "replace_one", "test")
APPEND = 'SELECT "{ledger}".append(%s, %s, %s, %s, %s, %s)'


def spend(budget, name="a fit", **more):
    budget.spend(COST, delta=0.0, name=name, epsilon=0.1, **more)


class Scene:
    """A ledger of an owner with one release, and what one needs to attack it."""

    def __init__(self, server):
        self.server, self.ledger = server, f"of_{uuid4().hex}"
        self.spender, self.other = (f"{kind}_{uuid4().hex[:8]}" for kind in ("spend", "other"))
        self.owner = PrivacyBudget(**TERMS, path=server.address(self.ledger))
        spend(self.owner, "of the owner")
        with server.connect() as own:
            for role in (self.spender, self.other):
                own.execute(f"CREATE ROLE {role} LOGIN")
                own.execute(grants(self.ledger, role, role))
        self.attacker = server.connect(self.spender)
        query = f'SELECT identity FROM "{self.ledger}".terms'
        (self.identity,) = self.attacker.execute(query).fetchone()
        self.before = self.state()

    def budget(self, role=None):
        user = self.spender if role is None else role
        return PrivacyBudget(**TERMS, path=self.server.address(self.ledger, user=user))

    def state(self):
        """Return all that the tables hold."""
        with self.server.connect() as own:
            return {
                table: own.execute(f'SELECT * FROM "{self.ledger}".{table}').fetchall()
                for table in TABLES
            }

    def run(self, statement, values=None):
        """Run a statement as the spender, with the ledger's name filled in."""
        names = {"{ledger}": self.ledger, "{self}": self.spender, "{other}": self.other}
        for name, text in names.items():
            statement = statement.replace(name, text)
        return self.attacker.execute(statement, values)

    def content(self, **changed):
        """Return the content of a release of ε = 0.1, with some fields changed."""
        query = f'SELECT content FROM "{self.ledger}".entries WHERE id = 1'
        (text,) = self.attacker.execute(query).fetchone()
        fields = json.loads(text) | {"label": "forged"} | changed
        return json.dumps({name: value for name, value in fields.items() if value is not GONE})

    def append(self, content=None, **changed):
        """Append a release as the spender, past the library."""
        with self.server.connect() as own:
            query = f'SELECT max(id) + 1 FROM "{self.ledger}".entries'
            (number,) = own.execute(query).fetchone()
        given = {"identity": self.identity, "key": uuid4().hex, "number": number}
        content = self.content() if content is None else content
        given |= {"content": content, "process": 1, "tag": ""} | changed
        return self.run(APPEND, [*given.values()])

    def assert_as_before(self):
        assert self.state() == self.before


TABLES = ("entries", "totals", "terms", "accounts")
GONE = object()


@pytest.fixture
def scene(server):
    """Return a scene whose ledger verifies, and whose budget is not overspent, after each test."""
    scene = Scene(server)
    yield scene
    scene.attacker.close()
    scene.owner.verify()
    assert scene.owner.spent.epsilon <= 1.0


REWRITING = [
    *(f'DELETE FROM "{{ledger}}".{table}' for table in TABLES),
    *(f'TRUNCATE "{{ledger}}".{table}' for table in TABLES),
    *(f'DROP TABLE "{{ledger}}".{table}' for table in TABLES),
    *(f'ALTER TABLE "{{ledger}}".{table} ADD COLUMN x INT' for table in TABLES),
    *(f'INSERT INTO "{{ledger}}".{table} SELECT * FROM "{{ledger}}".{table}' for table in TABLES),
    *(f'CREATE INDEX ON "{{ledger}}".{table} ((1))' for table in TABLES),
    *(f'COPY "{{ledger}}".{table} FROM STDIN' for table in TABLES),
    *(f'BEGIN; LOCK TABLE "{{ledger}}".{table} IN EXCLUSIVE MODE' for table in TABLES),
    *(f'GRANT ALL ON "{{ledger}}".{table} TO {{self}}' for table in TABLES),
    """UPDATE "{ledger}".entries SET content = '{}'""",
    """UPDATE "{ledger}".totals SET amounts = '0'""",
    """UPDATE "{ledger}".terms SET terms = '{}'""",
    """UPDATE "{ledger}".terms SET closed = 'yes'""",
    """UPDATE "{ledger}".accounts SET limits = '100'""",
    'UPDATE "{ledger}".terms SET format = 9',
    'SELECT * FROM "{ledger}".terms FOR UPDATE',
    'SELECT * FROM "{ledger}".terms FOR KEY SHARE',
    'CREATE TABLE "{ledger}".more (x INT)',
    'CREATE VIEW "{ledger}".more AS SELECT 1',
    'CREATE RULE r AS ON INSERT TO "{ledger}".entries DO INSTEAD NOTHING',
    'CREATE TRIGGER t BEFORE INSERT ON "{ledger}".entries EXECUTE FUNCTION suppress_redundant_'
    "updates_trigger()",
    """CREATE OR REPLACE FUNCTION "{ledger}".lock_ledger() RETURNS void LANGUAGE sql AS 'SELECT'""",
    """CREATE FUNCTION "{ledger}".lower(text) RETURNS text LANGUAGE sql AS 'SELECT $1'""",
    'ALTER FUNCTION "{ledger}".lock_ledger() SECURITY INVOKER',
    'ALTER FUNCTION "{ledger}".lock_ledger() SET search_path = public',
    'DROP FUNCTION "{ledger}".lock_ledger()',
    'ALTER SCHEMA "{ledger}" RENAME TO mine',
    'DROP SCHEMA "{ledger}" CASCADE',
    'GRANT CREATE ON SCHEMA "{ledger}" TO {self}',
    'ALTER TABLE "{ledger}".entries OWNER TO {self}',
    'ALTER TABLE "{ledger}".entries DISABLE TRIGGER ALL',
    'ALTER TABLE "{ledger}".entries ENABLE ROW LEVEL SECURITY',
    "ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT ALL ON TABLES TO {self}",
    "SET ROLE owner",
    "SET ROLE {other}",
    "SET SESSION AUTHORIZATION owner",
    "SET SESSION AUTHORIZATION {other}",
    "ALTER ROLE {self} SUPERUSER",
    "GRANT owner TO {self}",
    "GRANT pg_signal_backend TO {self}",
    "SET session_replication_role = replica",
    "ALTER SYSTEM SET fsync = off",
    "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION pg_catalog.now()",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'owner'",
    "SELECT lo_import('/etc/passwd')",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "SELECT pg_read_file('PG_VERSION')",
    """SELECT "{ledger}".check_release('{}')""",
    """SELECT "{ledger}".sums_of('', 'every part', 1)""",
    """SELECT "{ledger}".admits('{0}', '{0}', '{0}', '{1}', true, false)""",
]


@pytest.mark.parametrize("batch", [REWRITING[i::4] for i in range(4)], ids=range(4))
def test_a_spender_cannot_delete_rewrite_or_make_anything(scene, batch):
    allowed = []
    for attack in batch:
        try:
            scene.run(attack)
        except psycopg.errors.InsufficientPrivilege:
            scene.attacker.rollback()
            continue
        if not attack.startswith("GRANT"):  # that only warns, and gives nothing
            allowed.append(attack)
    assert not allowed
    scene.assert_as_before()
    with scene.server.connect() as own:
        rights = own.execute(
            "SELECT privilege_type FROM information_schema.table_privileges WHERE grantee = %s",
            (scene.spender,),
        )
        assert {right for (right,) in rights} == {"SELECT"}


FORGED_FIELDS = {
    "no field of costs": {"pure_epsilon": GONE},
    "no label": {"label": GONE},
    "a number for whether it is exact": {"exact": 1},
    "neither exact nor not": {"exact": None},
    "one more field": {"more": 1},
    "a role of its own": {"role": "owner"},
    "another kind": {"entry": "closing"},
    "a cost below zero": {"pure_epsilon": -0.1},
    "a cost that is no number": {"pure_epsilon": "NaN"},
    "a cost in words": {"pure_epsilon": "0.1"},
    "a cost that is minus infinity": {"pure_epsilon": "-Infinity"},
    "a cost that is null": {"pure_epsilon": None},
    "a cost that is a list": {"pure_epsilon": [0.1]},
    "a cost that is true": {"pure_epsilon": True},
    "another cost below zero": {"gdp_mu": -1},
    "Rényi costs below zero": {"renyi": [-1.0]},
    "Rényi costs that are text": {"renyi": "0"},
    "delta of one": {"delta": 1},
    "an infinite delta": {"delta": "inf"},
    "a label that is a number": {"label": 3},
    "a label that is null": {"label": None},
    "an event that is text": {"event": "x"},
    "a part that is a number": {"part": 3},
    "a part without end": {"part": "x" * 10_000},
    "a label without end": {"label": "x" * 2_000_000},
    "an event without bottom": {"event": {"a": json.loads("[" * 200 + "]" * 200)}},
    "an account that is not there": {"account": "nobody"},
    "an account of nothing": {"account": "/"},
    "an account that is a number": {"account": 3},
    "the other relation": {"neighboring": "add_remove_one"},
    "a relation that is not there": {"neighboring": "x"},
    "a character that no server stores": {"label": "\0"},
    "half a character": {"label": "\ud800"},
    "more than is left": {"pure_epsilon": 0.95},
    "an infinite cost": {"pure_epsilon": "inf"},
}


def test_forged_fields_of_a_release_are_refused_and_leave_nothing(scene):
    allowed = []
    for name, changed in FORGED_FIELDS.items():
        with suppress(psycopg.Error):
            scene.append(scene.content(**changed))
            allowed.append(name)
    assert not allowed
    scene.assert_as_before()


FORGED_TEXTS = ["", "null", "3", "[]", "{}", "{", '"release"', "{}{}", "\x01", "[" * 100_000]
FORGED_TEXTS += ['{"entry": "closing"}', '{"entry": "adoption", "reason": "mine"}']
FORGED_VALUES = [
    *({"identity": identity} for identity in (None, "", "another")),
    *({"key": key} for key in (None, "", "x" * 65)),
    *({"number": number} for number in (None, -1, 0, 1, 3, 2**62)),
    *({"process": process} for process in (None, 2**64)),
    *({"tag": tag} for tag in (None, "x" * 10_001)),
]


def test_forged_texts_and_arguments_are_refused_and_leave_nothing(scene):
    allowed = []
    attempts = [*({"content": text} for text in FORGED_TEXTS), {"content": scene.content() + "\n"}]
    attempts += [{"content": scene.content().replace("0.1", digits)} for digits in HUGE]
    for changed in [*attempts, *FORGED_VALUES]:
        with suppress(psycopg.Error):
            given = {"content": scene.content()} | changed
            scene.append(**given)
            allowed.append(str(changed)[:80])
    assert not allowed
    scene.assert_as_before()


HUGE = ("1e400", "1e-5000", "1e99999999999", "0." + "1" * 500)


ODD_FIELDS = [
    {"label": "é\u2028\U0001f600" * 50},
    {"label": '"}, "role": "owner", {"'},
    {"label": "line\nline"},
    {"event": {}},
    {"event": {"kind": "no such event", "mu": "x"}},
    {"event": {"a": json.loads("[" * 20 + "]" * 20)}},
    {"theorem": "x" * 100_000},
    {"version": "99999"},
    {"part": ""},
    {"part": "every part"},
    {"part": "part part"},
    {"delta": 0.999},
    {"gdp_mu": 1e300},
    {"epsilon": 0.0},
    {"exact": True},
    {"exact": False},
    {"pure_epsilon": 0.0},
    {"pure_epsilon": 1e-300},
    {"renyi": [1.0] * 1000},
]


def test_a_number_of_records_that_is_private_is_refused(server):
    """Nobody could read the entry."""
    ledger, relation = f"of_{uuid4().hex}", "add_remove_one"
    owner = PrivacyBudget(**TERMS, neighboring=relation, path=server.address(ledger))
    owner.spend(PrivacyGuarantee(PureDPEvent(0.1), relation, "test"), delta=0.0)
    with server.connect() as own:
        query = f'SELECT identity, content FROM "{ledger}".terms, "{ledger}".entries'
        identity, content = own.execute(query).fetchone()
        forged = json.dumps(json.loads(content) | {"n": 5})
        with pytest.raises(psycopg.Error, match="not a release"):
            own.execute(APPEND.format(ledger=ledger), (identity, "key", 2, forged, 1, ""))
    assert len(owner.history()) == 1


def test_odd_releases_that_are_accepted_can_be_read_by_all_and_close_nothing(scene):
    """Each carries the role of its writer, whatever it claims."""
    accepted = 0
    for odd in ODD_FIELDS:
        with suppress(psycopg.Error):
            scene.append(scene.content(**({"pure_epsilon": 0.001} | odd)), tag='","role":"owner')
            accepted += 1
    assert accepted >= len(ODD_FIELDS) // 2
    scene.owner.verify()
    entries = scene.owner.entries()
    assert {entry["role"] for entry in entries[1:]} == {scene.spender}
    assert entries[0]["role"] == "owner"
    for later, budget in enumerate((scene.owner, scene.budget(), scene.budget(scene.other))):
        assert len(budget.history()) == 1 + accepted + later
        assert budget.report()
        assert str(budget)
        PrivacyBudget.from_json(budget.to_json())
        spend(budget, "later")
    reopened = scene.budget(scene.other)
    reopened.verify()


def test_fields_given_twice_count_as_the_library_reads_them(scene):
    text = scene.content(pure_epsilon=0.0)
    scene.append(text[:-1] + ', "pure_epsilon": 0.2}')
    scene.append(scene.content(pure_epsilon=0.2)[:-1] + ', "pure_epsilon": 0.1}')
    assert scene.owner.spent.epsilon == pytest.approx(0.4)


def test_a_spender_cannot_overspend_by_many_appends_in_one_transaction(scene):
    with suppress(psycopg.Error), scene.attacker.transaction():
        for number in range(2, 20):
            values = (scene.identity, uuid4().hex, number, scene.content(pure_epsilon=0.3), 1, "")
            scene.run(APPEND, values)
    scene.assert_as_before()


def test_a_spender_cannot_overspend_by_savepoints(scene):
    with scene.attacker.transaction():
        for number in range(2, 8):
            with suppress(psycopg.Error), scene.attacker.transaction():
                scene.append(scene.content(pure_epsilon=0.4), number=number)
                if number % 2:
                    raise psycopg.Error("rolled back")


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_a_spender_cannot_overspend_by_an_old_snapshot(scene, level):
    scene.run(f"BEGIN ISOLATION LEVEL {level}")
    scene.run('SELECT count(*) FROM "{ledger}".entries')
    scene.owner.spend(
        PrivacyGuarantee(PureDPEvent(0.5), "replace_one", ""), delta=0.0, name="meanwhile"
    )
    with suppress(psycopg.Error):
        scene.append(scene.content(pure_epsilon=0.5), number=2)
    with suppress(psycopg.Error):
        scene.run("COMMIT")
    assert [row["label"] for row in scene.owner.history()] == ["of the owner", "meanwhile"]


def test_a_spender_cannot_overspend_by_many_connections_at_once(scene):
    def attack(number):
        with scene.server.connect(scene.spender) as own, suppress(psycopg.Error):
            query = APPEND.replace("{ledger}", scene.ledger)
            text = scene_text
            own.execute(query, (scene.identity, uuid4().hex, 2 + number % 3, text, 1, ""))
            return 1
        return 0

    scene_text = scene.content(pure_epsilon=0.4)
    with ThreadPoolExecutor(8) as pool:
        admitted = sum(pool.map(attack, range(32)))
    assert admitted <= 2


@pytest.mark.parametrize("part", ["every part", "largest part", "", "part x", "x"])
def test_a_spender_cannot_overspend_by_names_of_partitions(scene, part):
    for _ in range(4):
        with suppress(psycopg.Error):
            scene.append(scene.content(pure_epsilon=0.4, part=part))
        with suppress(psycopg.Error):
            scene.append(scene.content(pure_epsilon=0.4))


@pytest.mark.parametrize(
    "setting",
    [
        "TimeZone = 'Pacific/Kiritimati'",
        "DateStyle = 'German, DMY'",
        "IntervalStyle = 'iso_8601'",
        "extra_float_digits = -15",
        "client_encoding = 'LATIN1'",
        "client_encoding = 'SQL_ASCII'",
        "transform_null_equals = on",
        "array_nulls = off",
        "bytea_output = 'escape'",
        "backslash_quote = on",
        "standard_conforming_strings = off",
        "default_transaction_isolation = 'serializable'",
        "synchronous_commit = off",
        "row_security = off",
        "search_path = pg_temp, public",
        "enable_indexscan = off",
        "application_name = 'owner'",
        "statement_timeout = '1h'",
    ],
)
def test_settings_of_a_session_change_no_row(scene, setting):
    scene.run(f"SET {setting}")
    scene.append(scene.content(pure_epsilon=0.1))
    with pytest.raises(psycopg.Error):
        scene.append(scene.content(pure_epsilon=0.9))
    last = scene.owner.entries()[-1]
    assert last["role"] == scene.spender
    assert abs(datetime.fromisoformat(last["time"]).timestamp() - time.time()) < 300.0
    spend(scene.owner, "later")


def test_objects_of_a_spender_do_not_run_as_the_owner(scene, server):
    """Not even where its own schema stands first in the path."""
    with server.connect() as own:
        own.execute(f"CREATE SCHEMA own_{scene.spender} AUTHORIZATION {scene.spender}")
    scene.run(f"SET search_path = pg_temp, own_{scene.spender}, pg_catalog")
    for table in TABLES:
        scene.run(f"CREATE TEMP TABLE {table} (x INT)")
    schema = f"own_{scene.spender}"
    for name, result in (
        ("octet_length(text)", "int"),
        ("clock_timestamp()", "timestamptz"),
        ("array_to_string(text[], text)", "text"),
        ("sha256(bytea)", "bytea"),
        ("trim_scale(numeric)", "numeric"),
    ):
        scene.run(
            f"CREATE FUNCTION {schema}.{name} RETURNS {result} LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE 'hijacked'; END $$"
        )
    scene.run(
        f"CREATE FUNCTION {schema}.no(numeric, numeric) RETURNS bool LANGUAGE sql AS 'SELECT false'"
    )
    arguments = f"FUNCTION = {schema}.no, LEFTARG = numeric, RIGHTARG = numeric"
    scene.run(f"CREATE OPERATOR {schema}.> ({arguments})")
    with pytest.raises(psycopg.Error, match="does not admit"):
        scene.append(scene.content(pure_epsilon=0.95))
    scene.append()
    assert len(scene.owner.history()) == 2


def test_a_spender_opens_no_share_and_changes_none(scene):
    """Shares are the owner's: no name can be taken first, and no limit forged."""
    scene.owner.share(epsilon=0.5, name="team")
    before = scene.state()
    query = 'INSERT INTO "{ledger}".accounts VALUES (%s, %s, %s, %s, %s)'
    for name, epsilon in (
        ("mine", 0.1),
        ("team", 1.0),
        ("team", 1e-9),
        ("team/mine", 0.1),
        ("", 9),
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            scene.run(query, (name, epsilon, 0.0, "0.1 0.1 0", "owner"))
    with pytest.raises(BudgetClosedError, match="permission denied"):
        scene.budget().share(epsilon=0.1, name="mine")
    assert scene.state() == before
    spend(scene.budget().share(epsilon=0.5, name="team"))


def test_a_spender_cannot_overspend_a_share(scene):
    share = scene.owner.share(epsilon=0.3, name="team")
    scene.append(scene.content(account="team", pure_epsilon=0.2))
    for cost in (0.2, 0.9):
        for part in (None, "x"):
            with pytest.raises(psycopg.errors.RaiseException, match="does not admit"):
                scene.append(scene.content(account="team", pure_epsilon=cost, part=part))
    assert share.spent.epsilon == pytest.approx(0.2)


def test_no_adoption_is_for_spenders(scene):
    address = scene.server.address(scene.ledger, user=scene.spender)
    with pytest.raises((BudgetClosedError, ValueError)):
        PrivacyBudget.adopt(address, reason="mine")
    scene.assert_as_before()


def test_advisory_locks_of_anybody_hinder_nothing(scene):
    for number in range(100):
        scene.run("SELECT pg_advisory_lock(%s)", (number,))
    for text in (f"skdp {scene.ledger}", scene.ledger, "skdp"):
        scene.run("SELECT pg_advisory_lock(hashtext(%s))", (text,))
        scene.run("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (text,))
    spend(scene.owner, "later")
    new = f"of_{uuid4().hex}"
    scene.run("SELECT pg_advisory_lock(hashtext(%s))", (f"skdp {new}",))
    spend(PrivacyBudget(**TERMS, path=scene.server.address(new)))


@pytest.mark.parametrize("mode", ["ACCESS SHARE", "ROW SHARE"])
def test_locks_that_readers_may_take_hinder_no_spend(scene, mode):
    with suppress(psycopg.errors.InsufficientPrivilege), scene.attacker.transaction():
        for table in TABLES:
            scene.run(f'LOCK TABLE "{{ledger}}".{table} IN {mode} MODE')
        spend(scene.owner, "meanwhile")
    spend(scene.owner, "later")


def test_a_lock_that_a_spender_holds_delays_others_and_breaks_nothing(scene):
    """This it can do; it is in the documentation, with how to end its session."""
    hurried = PrivacyBudget(**TERMS, path=scene.server.address(scene.ledger), timeout=1.5)
    with scene.attacker.transaction():
        scene.run('SELECT "{ledger}".lock_ledger()')
        start = time.monotonic()
        with pytest.raises(BudgetClosedError):
            spend(hurried, "too late")
        assert time.monotonic() - start < 30.0
        assert len(scene.owner.history()) == 1
    spend(scene.owner, "later")
    assert [row["label"] for row in scene.owner.history()] == ["of the owner", "later"]


def test_a_spender_that_waits_for_ever_is_passed_when_the_owner_ends_its_session(scene):
    with scene.server.connect() as own:
        scene.run("BEGIN")
        scene.run('SELECT "{ledger}".lock_ledger()')
        ended = threading.Timer(
            0.5,
            lambda: own.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s",
                (scene.spender,),
            ),
        )
        ended.start()
        spend(scene.owner, "later")
        ended.join()


def test_what_a_spender_can_do_carries_its_role(scene):
    """It can state a cost below the true one, spend all that is left, and write what it likes."""
    scene.append(scene.content(pure_epsilon=0.0, label="a fit of epsilon 5"))
    scene.append(scene.content(pure_epsilon=0.9))
    entries = scene.owner.entries()
    assert [entry["role"] for entry in entries] == ["owner", scene.spender, scene.spender]
    assert scene.owner.history()[1]["role"] == scene.spender
