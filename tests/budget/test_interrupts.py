"""Interrupts during a spend: nothing is lost, held, or in doubt without a word of it."""

import contextlib
import gc
import random
import signal
import sqlite3
import time

import pytest
from injection import Interrupts, ends_soon, said
from opened import close_connections

from skdp import PrivacyBudget
from skdp.privacy import PrivacyGuarantee, PureDPEvent

COST = PrivacyGuarantee(PureDPEvent(0.001), "replace_one", "test")
N_SAMPLED = 40
N_ROWS = 300  # of one ledger; then the next point has a new one

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")


def made(path):
    return PrivacyBudget(epsilon=100.0, delta=0.0, composition="pure", path=path)


def spend(budget, name="a fit"):
    budget.spend(COST, delta=0.0, name=name, epsilon=0.001)


def number_of(budget):
    """Return the number of releases in the ledger."""
    return int(budget.head.partition("-")[0])


class Witness:
    """Looks at a ledger after an interrupt, whose error is kept as a notebook keeps it."""

    def __init__(self, path, server=None):
        self.path, self.server = path, server
        self.kept, self.faults, self.n_paid, self.n_points = None, [], 0, 0
        self.where = None
        self.renew()

    def renew(self):
        self._number = getattr(self, "_number", 0) + 1
        self.place = f"{self.path}{self._number}" + ("" if self.server else ".db")
        self.budget, self.n = made(self.place), 0

    def look(self, error, where):
        """Note what an interrupted spend, and the error that it raised, left behind."""
        self.kept, self.n_points = error, self.n_points + 1
        fault = self._fault(error)
        if fault:
            self.faults.append((where, fault, repr(error)))
            self.kept = None
            self.renew()
        if self.n > N_ROWS:
            self.renew()

    def _fault(self, error):
        if self._is_locked():
            return "a lock of the ledger is held"
        if not ends_soon(lambda: close_connections() or True):
            raise AssertionError(
                f"the gate is held for good: {error!r}, {self.faults}, {self.where}"
            )
        try:
            paid = number_of(self.budget) - self.n
            spend(self.budget, "after")
        except BaseException as later:
            return f"the next use is refused: {later!r}"
        self.n += paid + 1
        self.n_paid += paid
        if paid not in (0, 1):
            return f"{paid} rows"
        if not paid:
            return "returned without a row" if error is None else None
        if error is not None and "ount it as spent" not in said(error):
            return "paid, and the error does not say so"
        return "denied" if "Nothing was spent" in said(error) else None

    def _is_locked(self):
        if self.server is None:
            with contextlib.closing(sqlite3.connect(self.place, timeout=0.0)) as other:
                try:
                    other.execute("BEGIN IMMEDIATE")
                    other.execute("ROLLBACK")
                except sqlite3.OperationalError:
                    return True
            return False
        return self._is_locked_on_the_server()

    def _is_locked_on_the_server(self):
        """Return whether the row of terms is locked, a second after the interrupt."""
        import psycopg

        ledger = self.place.rpartition("ledger=")[2]
        for _ in range(20):
            with self.server.connect() as own:
                try:
                    own.execute(f'SELECT FROM "{ledger}".terms FOR UPDATE NOWAIT')
                    return False
                except psycopg.errors.LockNotAvailable:
                    time.sleep(0.05)
        return True


@pytest.fixture
def witness(place, request):
    is_server = place.startswith("postgresql")
    path = place if is_server else place.removesuffix(".db")
    return Witness(path, request.getfixturevalue("server") if is_server else None)


def points_of(witness):
    """Return the number of bytecode boundaries of one spend."""
    for _ in range(2):  # the first fills caches
        counting = Interrupts()
        assert counting.call(lambda: spend(witness.budget)) is None
        witness.n += 1
    return counting.passed


def interrupt_at(witness, points):
    for point in points:
        interrupting = Interrupts(point)
        error = interrupting.call(lambda: spend(witness.budget, "interrupted"))
        if interrupting.where is not None:
            witness.look(error, interrupting.where)
        else:  # a spend took a shorter way
            witness.n += 1
    assert not witness.faults


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_some_bytecode_boundaries_of_a_spend(witness):
    n = points_of(witness)
    interrupt_at(witness, random.sample(range(1, n + 1), N_SAMPLED))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_every_bytecode_boundary_of_a_spend(witness):
    n = points_of(witness)
    assert n > 400
    interrupt_at(witness, range(1, n + 1))
    assert witness.n_paid > 0
    print(f"{witness.n_points} points, {witness.n_paid} of them after the commit")


@pytest.mark.parametrize("n", [25, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_by_a_timer_at_any_moment_of_a_spend(witness, n):
    """They also arrive while SQLite, the driver or the server works."""
    spend(witness.budget)
    start = time.perf_counter()
    spend(witness.budget)
    seconds, witness.n = time.perf_counter() - start, 2
    for _ in range(n):
        witness.look(*_interrupted_by_a_timer(witness.budget, random.uniform(1e-6, seconds)))
    assert not witness.faults


def _interrupted_by_a_timer(budget, seconds):
    """Spend with a timer; return the error and where it was raised."""
    before, is_begun = signal.signal(signal.SIGALRM, signal.default_int_handler), False
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            is_begun = True
            spend(budget, "interrupted")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    except BaseException as error:
        trace = error.__traceback__
        if trace.tb_next is None:  # the spend had returned already, or was not called yet
            return (None, "after") if is_begun else (error, "before")
        while trace.tb_next:
            trace = trace.tb_next
        return error, f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    finally:
        signal.signal(signal.SIGALRM, before)
    return None, "not at all"


class Stepping(sqlite3.Connection):
    """Interrupts the n-th step of SQLite's own programs, wherever that is."""

    n, passed, where = None, 0, None

    def execute(self, statement, *values):
        Stepping.statement = statement
        return super().execute(statement, *values)

    @classmethod
    def step(cls):
        cls.passed += 1
        if cls.passed == cls.n:
            cls.where = cls.statement
            raise KeyboardInterrupt


@pytest.mark.parametrize("stride", [37, pytest.param(1, marks=pytest.mark.slow)])
def test_interrupts_inside_sqlite_at_any_step_of_its_programs(tmp_path, monkeypatch, stride):
    """Its callback raises, in the middle of a read, of a write and of the commit."""
    connect = sqlite3.connect

    def stepping(*values, **more):
        connection = connect(*values, **more, factory=Stepping)
        connection.set_progress_handler(Stepping.step, 1)
        return connection

    witness, points, commits = Witness(tmp_path / "study"), 0, 0
    spend(witness.budget)
    witness.n = 1
    monkeypatch.setattr(sqlite3, "connect", stepping)
    monkeypatch.setattr(sqlite3, "enable_callback_tracebacks", None)
    while True:
        close_connections()
        number_of(witness.budget)  # opens the connection
        points += stride
        Stepping.n, Stepping.passed, Stepping.where, error = points, 0, None, None
        try:
            spend(witness.budget, "interrupted")
        except BaseException as raised:
            error = raised
        Stepping.n = None
        if Stepping.where is None:
            break
        commits += Stepping.where.startswith("COMMIT")
        witness.look(error, Stepping.where)
    gc.collect()
    assert not witness.faults
    assert stride > 1 or commits
    assert witness.n_points > 3
