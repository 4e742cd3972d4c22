"""Many spenders at once: never too much, nothing lost, one ledger whatever carries the handle."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from joblib import Parallel, delayed, parallel_config
from opened import close_connections, connection_of
from sklearn.model_selection import GridSearchCV

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.exceptions import BudgetClosedError, BudgetExceededError
from skdp.ledger.gate import gate
from skdp.ledger.store import Tables
from skdp.privacy import GDPEvent, PrivacyGuarantee, PureDPEvent

PURE = PrivacyGuarantee(PureDPEvent(0.01), "replace_one", "test")
SKDP = ["skdp.linear_model", "skdp.budget.handle", "skdp.ledger.file_storage", "skdp.ledger.server"]


def spend(budget, name="a fit"):
    """Spend 0.01 and return the name, or None if there is nothing left."""
    try:
        budget.spend(PURE, delta=0.0, name=name, epsilon=0.01)
    except BudgetExceededError:
        return None
    return name


def spend_many(path, name, n):
    budget = PrivacyBudget(epsilon=1.0, delta=0.0, composition="pure", path=path)
    return [label for i in range(n) if (label := spend(budget, f"{name}-{i}"))]


def in_budget(path=None):
    return PrivacyBudget(epsilon=1.0, delta=0.0, composition="pure", path=path)


def assert_full(budget, admitted):
    """Exactly the 100 releases that fit were admitted, and each of them is there, once."""
    found = [row["label"] for row in budget.history()]
    assert len(found) == 100
    assert sorted(found) == sorted(admitted)
    assert budget.spent.epsilon == 1.0


def test_sixteen_threads_never_overspend_and_lose_nothing(place):
    budget = in_budget(place)
    with ThreadPoolExecutor(16) as pool:
        outcomes = pool.map(lambda i: spend(budget, str(i)), range(160))
    assert_full(budget, [label for label in outcomes if label])


def new_processes():
    """Return where processes are made from: one that has imported all and opened nothing."""
    context = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
    context.set_forkserver_preload(["pytest", "psycopg", "sklearn.model_selection", *SKDP])
    return context


def test_eight_processes_never_overspend_and_lose_nothing(tmp_path, address):
    with new_processes().Pool(8) as pool:
        for place in (tmp_path / "study.db", address):
            budget = in_budget(place)
            outcomes = pool.starmap(spend_many, [(place, i, 20) for i in range(8)], chunksize=1)
            assert_full(budget, [label for labels in outcomes for label in labels])


@pytest.mark.slow
def test_eight_processes_of_two_threads_each(tmp_path):
    path = tmp_path / "study.db"
    budget = in_budget(path)
    code = (
        "import sys; from concurrent.futures import ThreadPoolExecutor as Pool\n"
        "from skdp import PrivacyBudget\n"
        "from skdp.privacy import PrivacyGuarantee, PureDPEvent\n"
        "budget = PrivacyBudget(epsilon=1.0, delta=0.0, composition='pure', path=sys.argv[1])\n"
        "cost = PrivacyGuarantee(PureDPEvent(0.01), 'replace_one', '')\n"
        "def spend(i):\n"
        "    try: budget.spend(cost, delta=0.0, name=f'{sys.argv[2]}-{i}', epsilon=0.01)\n"
        "    except RuntimeError: return ''\n"
        "    return f'{sys.argv[2]}-{i}'\n"
        "with Pool(2) as pool: print(*pool.map(spend, range(20)))\n"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", code, path, str(i)], stdout=-1, text=True)
        for i in range(8)
    ]
    assert_full(budget, " ".join(worker.communicate(timeout=100)[0] for worker in workers).split())


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib_backends_lead_to_one_ledger(backend, place):
    budget = in_budget(place)
    budget.history()  # a connection is open when the workers start
    jobs = (delayed(spend)(budget, str(i)) for i in range(24))
    outcomes = Parallel(n_jobs=4, backend=backend)(jobs)
    assert sorted(row["label"] for row in budget.history()) == sorted(outcomes)
    assert len(outcomes) == 24


@pytest.mark.slow
def test_a_dask_cluster_leads_to_one_ledger(tmp_path, address):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=":0") as own,
        distributed.Client(own) as client,
    ):
        for place in (tmp_path / "study.db", address):
            budget = in_budget(place)
            tasks = [client.submit(spend, budget, str(i), pure=False) for i in range(120)]
            assert_full(budget, [label for label in client.gather(tasks) if label])
        search_on(client, f"{address}_search")


def search_on(client, address):
    """Search on the workers of a cluster; every fit is on the ledger."""
    budget = PrivacyBudget(epsilon=0.9, delta=1e-3, composition="basic", path=address)
    model = DPLogisticRegression(epsilon=0.1, delta=1e-5, budget=budget)
    search = GridSearchCV(model, {"C": [0.1, 1.0]}, cv=2, error_score="raise")
    with parallel_config(backend="dask", client=client):
        search.fit([[0.0, 1.0], [1.0, 0.0]] * 10, [0, 1] * 10)
    assert len(budget.history()) == 5
    assert len({row["process"] for row in budget.history()}) > 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_parent_and_children_of_a_fork_share_the_ledger_and_no_connection(place):
    # The parent closes its connections, the last of its process, while the child goes on.
    code = (
        "import os, sys; from skdp import PrivacyBudget\n"
        "from skdp.ledger.gate import gate\n"
        "from skdp.privacy import GDPEvent, PrivacyGuarantee\n"
        "budget = PrivacyBudget(epsilon=1.0, delta=1e-5, path=sys.argv[1])\n"
        "cost = PrivacyGuarantee(GDPEvent(0.001), 'replace_one', '')\n"
        "def spend(n):\n"
        "    for i in range(n): budget.spend(cost, delta=0.0, name=str(os.getpid()))\n"
        "spend(5)\n"
        "children = []\n"
        "for _ in range(4):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        spend(30); os._exit(0)\n"
        "    children.append(child); spend(2); gate.before_fork(); gate.after_fork()\n"
        "assert all(os.waitpid(child, 0)[1] == 0 for child in children)\n"
        "assert len(budget.history()) == 5 + 4 * 32, len(budget.history())\n"
    )
    subprocess.run([sys.executable, "-c", code, place], check=True, timeout=120)


def test_a_connection_that_was_carried_into_another_process_is_refused(monkeypatch):
    budget = in_budget()
    spend(budget)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(BudgetClosedError, match=r"opened by another process"):
        spend(budget)
    monkeypatch.undo()
    assert len(budget.history()) == 1


def test_a_handle_opens_one_connection_a_thread_and_none_is_left_behind():
    budget = in_budget()
    for _ in range(3):
        spend(budget)
    own, before = budget._ledger.storage.own, set(gate._open)
    connection = own.tables.connection
    assert connection in before
    with ThreadPoolExecutor(1) as pool:
        pool.submit(spend, budget).result()
        assert len(gate._open - before) == 1
    assert not gate._open - before
    close_connections()
    spend(budget)
    assert own.tables.connection is not connection
    assert connection not in gate._open
    assert len(budget.history()) == 5


def test_a_connection_is_never_pickled(tmp_path):
    ledger = in_budget(tmp_path / "study.db")._ledger
    ledger.releases()
    expected = {"address": str(tmp_path / "study.db"), "timeout": 60.0, "is_temporary": False}
    assert ledger.storage.__getstate__() == expected


@pytest.mark.parametrize("is_temporary", [True, False])
def test_only_a_temporary_ledger_is_not_flushed(is_temporary, tmp_path):
    budget = in_budget(None if is_temporary else tmp_path / "study.db")
    for handle in (budget, budget.share(epsilon=0.5), pickle.loads(pickle.dumps(budget))):
        with connection_of(handle) as connection:
            (level,) = connection.execute("PRAGMA synchronous").fetchone()
        assert level == (0 if is_temporary else 2)
    named = in_budget(budget._ledger.path)
    with connection_of(named) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


@pytest.mark.parametrize("n", [1, 60])
def test_a_spend_reads_no_rows(n, monkeypatch, place):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, path=place)
    cost = PrivacyGuarantee(GDPEvent(0.001), "replace_one", "test")
    for _ in range(n):
        budget.spend(cost, delta=0.0, name="a fit")
    monkeypatch.setattr(Tables, "entries", None)
    budget.spend(cost, delta=0.0, name="a fit")
    assert budget.spent.epsilon > 0.0
    assert f"in {n + 1} releases;" in str(budget)
    assert budget._repr_html_().count("head") == 1


def test_threads_go_on_while_another_forks(place):
    budget = PrivacyBudget(epsilon=1000.0, delta=1e-3, path=place)
    stop = threading.Event()

    def read():
        seen = 0
        while not stop.is_set():
            seen = max(seen, len(budget.history()))
        return seen

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        for _ in range(12):
            if (child := os.fork()) == 0:
                os._exit(0)
            os.waitpid(child, 0)
        stop.set()
        assert [reader.result() for reader in readers] == [0] * 4
