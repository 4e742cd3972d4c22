"""Checks write to no ledger and change no object, whatever the class that they look at."""

import multiprocessing
import pickle
import subprocess
import sys
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from types import ModuleType, SimpleNamespace

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.exceptions import PrivacyLeakError
from skdp.ledger.gate import without_spends
from skdp.pipeline import check_pipeline, make_private_pipeline
from skdp.preprocessing import DPStandardScaler
from skdp.privacy import GDPEvent, PrivacyGuarantee

RELEASE = PrivacyGuarantee(GDPEvent(0.01), "replace_one", "none")


class Slots:
    __slots__ = ("part",)

    def __init__(self, part):
        self.part = part


def closure_of(part):
    return lambda X: clone(part).fit(X)


class Holder(TransformerMixin, BaseEstimator):
    """An unknown class that fits whatever it holds."""

    def __init__(self, given):
        self.given = given

    def fit(self, X, y=None):
        fit_all(self.given, X)
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X):
        return X


class Plain:
    """No parameters, no get_params."""

    def __init__(self, given):
        self._hidden = given

    def fit(self, X, y=None):
        fit_all(self._hidden, X)
        return self


def fit_all(given, X):
    if callable(given):
        given(X)
    elif hasattr(given, "fit"):
        clone(given, safe=False).fit(X)
    elif isinstance(given, dict):
        fit_all([*given.values()], X)
    elif isinstance(given, SimpleNamespace | Slots):
        fit_all(given.part, X)
    elif hasattr(given, "spend"):
        given.spend(RELEASE, delta=1e-5)
    elif not isinstance(given, str | int):
        for one in given:
            fit_all(one, X)


CONTAINERS = {
    "itself": lambda one: one,
    "a list": lambda one: [one, one],
    "a tuple in a list": lambda one: [("name", one)],
    "a dict": lambda one: {"name": (1, [one])},
    "a set": lambda one: {one},
    "a deque": lambda one: deque([one]),
    "an array of objects": lambda one: np.array([one, None], dtype=object)[:1],
    "an object": lambda one: SimpleNamespace(part=one),
    "slots": Slots,
    "a closure": closure_of,
    "a partial function": lambda one: partial(fit_all, one),
    "a bound method": lambda one: Plain(one).fit,
    "a pipeline": lambda one: [make_pipeline(one)],
}


def scaler_of(budget):
    return DPStandardScaler(epsilon=0.5, bounds=(-1, 1), budget=budget)


@pytest.mark.parametrize("holder", [Holder, Plain])
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_what_an_unknown_class_holds_is_named_and_spends_nothing(container, holder, budget):
    held = container(scaler_of(budget))
    [leak] = check_pipeline(holder(held))
    assert (leak.kind, leak.severity) == ("unknown stage", "high")
    assert "it can reach DPStandardScaler;" in leak.advice
    assert budget.history() == []
    with pytest.raises(PrivacyLeakError, match="unknown stage"):
        check_pipeline(holder(held), strict=True)
    fit_all(held, np.eye(4))  # the test can fail: outside of a check the class spends
    assert len(budget.history()) >= 1


def test_an_attribute_and_a_budget_are_held_as_well(unspent):
    marked = Holder(None)
    marked.later = [scaler_of(unspent)]
    assert [leak.kind for leak in check_pipeline(marked)] == ["unknown stage"]
    [leak] = check_pipeline(Holder([unspent.share(epsilon=1.0)]))
    assert "it can reach BudgetHandle;" in leak.advice


def test_an_unknown_step_that_holds_what_spends_is_found_inside_of_a_pipeline(budget):
    steps = make_pipeline(Holder([scaler_of(budget)]), DPLogisticRegression(budget=budget))
    assert [(one.path, one.kind) for one in check_pipeline(steps)] == [("holder", "unknown stage")]
    with pytest.raises(PrivacyLeakError, match="unknown stage"):
        make_private_pipeline(Holder([DPStandardScaler(bounds=(0, 1))]), DPLogisticRegression())


GLOBAL, SHELF = scaler_of(None), {"deep": [scaler_of(None)]}
ELSEWHERE = ModuleType("elsewhere")
ELSEWHERE.scaler = scaler_of(None)


def helper(X):
    return further(X)


def further(X):
    return GLOBAL.fit(X)


class Helps:
    def run(self, X):
        return GLOBAL.fit(X)


class Names(TransformerMixin, BaseEstimator):
    """Code that names what spends; the check never runs it."""

    def fit(self, X, y=None):
        raise AssertionError("it was fitted")

    def transform(self, X):
        return X


def by_an_import(self, X):
    from skdp.preprocessing import DPStandardScaler

    DPStandardScaler().fit(X)


NAMING = {
    "directly": lambda self, X: GLOBAL.fit(X),
    "in a dict": lambda self, X: SHELF["deep"][0].fit(X),
    "by a function of a function": lambda self, X: helper(X),
    "by a class": lambda self, X: Helps().run(X),
    "by a nested function": lambda self, X: [(lambda: GLOBAL.fit(one))() for one in X],
    "by a module": lambda self, X: ELSEWHERE.scaler.fit(X),
    "by an import": by_an_import,
    "by a property": property(lambda self: GLOBAL),
    "by a static method": staticmethod(lambda X: GLOBAL.fit(X)),
    "as an attribute": GLOBAL,
}


@pytest.mark.parametrize("member", NAMING.values(), ids=NAMING)
def test_a_class_whose_code_names_what_spends_is_not_fitted(member):
    kind = type("Kind", (Names,), {"member": member})
    for one in (kind, type("Inherits", (kind,), {})):
        [leak] = check_pipeline(one())
        assert (leak.kind, leak.severity) == ("unknown stage", "high")
        assert "DPStandardScaler" in leak.advice


def test_a_function_that_names_what_spends_is_not_called():
    [leak] = check_pipeline(FunctionTransformer(helper))
    assert (leak.kind, leak.severity) == ("unknown stage", "high")


class Harmless(TransformerMixin, BaseEstimator):
    """An attribute has the name of a global variable, which its code does not read."""

    def __init__(self, GLOBAL=None):
        self.GLOBAL = GLOBAL

    def fit(self, X, y=None):
        assert self.GLOBAL is None
        return self

    def transform(self, X):
        return X


def test_an_attribute_is_no_global_variable():
    [leak] = check_pipeline(Harmless())
    assert (leak.kind, leak.severity) == ("untested", "unknown")


def quietly(spend):
    with suppress(ValueError):  # the refusal; a thread would print it
        spend()


def in_thread(spend):
    thread = threading.Thread(target=quietly, args=[spend])
    thread.start()
    thread.join()


def in_thread_of_a_thread(spend):
    in_thread(partial(in_thread, spend))


def in_pool(spend):
    with ThreadPoolExecutor(2) as pool:
        pool.submit(spend).result()


POOL = ThreadPoolExecutor(1)


def in_older_pool(spend):
    POOL.submit(spend).result()


def in_thread_of_a_pool(spend):
    in_older_pool(partial(in_thread, spend))


def in_initializer(spend):
    with ThreadPoolExecutor(1, "", partial(quietly, spend)) as pool:
        pool.submit(int)


def by_joblib(spend, **how):
    Parallel(n_jobs=2, **how)(delayed(spend)() for _ in range(2))


def by_process(spend, method):
    process = multiprocessing.get_context(method).Process(target=spend)
    process.start()
    process.join()


def by_program(spend):
    program = "import pickle, sys; pickle.load(sys.stdin.buffer)()"
    subprocess.run([sys.executable, "-c", program], input=pickle.dumps(spend), check=False)


SPENDERS = {
    "directly": lambda spend: spend(),
    "a thread": in_thread,
    "a thread of a thread": in_thread_of_a_thread,
    "a pool of threads": in_pool,
    "a pool older than the check": in_older_pool,
    "a thread of such a pool": in_thread_of_a_pool,
    "an initializer": in_initializer,
    "joblib": by_joblib,
    "threads of joblib": partial(by_joblib, backend="threading"),
    "loky": partial(by_joblib, backend="loky"),
    "a fork": partial(by_process, method="fork"),
    "a new process": partial(by_process, method="spawn"),
    "a program": by_program,
}
OUT_OF_REACH = {}


def unseen():
    """Return an object that no check can see, because no code names it."""
    return vars(sys.modules[__name__])["OUT_OF_REACH"]


class Spends(TransformerMixin, BaseEstimator):
    """Spends from a budget that the check cannot see."""

    def fit(self, X, y=None):
        unseen()["n_fits"] += 1
        if unseen()["n_fits"] == 1:  # new processes take long
            unseen()["how"](unseen()["spend"])
        return self

    def transform(self, X):
        return X


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("how", SPENDERS.values(), ids=SPENDERS)
def test_a_budget_out_of_reach_is_not_spent(how, tmp_path, capfd):
    budget = PrivacyBudget(epsilon=10.0, delta=1e-5, path=tmp_path / "ledger.db")
    spend = partial(budget.spend, RELEASE, delta=1e-5)
    by_joblib(partial(int, 1), backend="loky")  # workers that exist before the check
    in_older_pool(int)
    OUT_OF_REACH.update(how=how, spend=spend, n_fits=0)
    check_pipeline(Spends(), np.eye(4))
    assert OUT_OF_REACH["n_fits"] > 0
    assert budget.history() == []
    how(spend)  # the test can fail: outside of a check the same call spends
    assert 1 <= len(budget.history()) <= 2


class Waits(Spends):
    """Lets others go on in the middle of its fit."""

    def fit(self, X, y=None):
        unseen()["started"].set()
        unseen()["done"].wait(20.0)
        unseen()["spend"]()
        return self


def test_others_spend_while_a_check_runs(budget):
    started, done = threading.Event(), threading.Event()
    OUT_OF_REACH.update(started=started, done=done)
    OUT_OF_REACH["spend"] = partial(budget.spend, RELEASE, delta=1e-5, name="the check")

    def other():
        started.wait(20.0)
        budget.spend(RELEASE, delta=1e-5, name="directly")
        in_thread(partial(budget.spend, RELEASE, delta=1e-5, name="in a new thread"))
        by_process(partial(budget.spend, RELEASE, delta=1e-5, name="in a new process"), "spawn")
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    [leak] = check_pipeline(Waits(), np.eye(4))
    thread.join()
    assert [one["label"] for one in budget.history()] == [
        "directly", "in a new thread", "in a new process"
    ]  # fmt: skip
    assert leak.severity == "medium"  # its fit was refused


def test_a_check_leaves_no_trace_in_the_process(budget):
    kinds = threading.Thread, multiprocessing.Process, subprocess.Popen, ThreadPoolExecutor
    before = [dict(vars(kind)) for kind in kinds]
    with ThreadPoolExecutor(4) as pool:
        [*pool.map(lambda _: check_pipeline(Slow()), range(8))]
    assert [dict(vars(kind)) for kind in kinds] == before
    in_thread(partial(budget.spend, RELEASE, delta=1e-5))
    assert len(budget.history()) == 1


class MakesAPool(Spends):
    """Makes a pool that outlives the check."""

    def fit(self, X, y=None):
        pool = unseen().setdefault("pool", ThreadPoolExecutor(1))
        unseen()["tried"] = pool.submit(quietly, unseen()["spend"])
        pool.submit(unseen()["later"].wait, 5.0)
        unseen()["queued"] = pool.submit(quietly, unseen()["spend"])
        return self


def test_a_pool_that_outlives_a_check_can_spend_afterwards_but_not_for_the_check(budget):
    spend, later = partial(budget.spend, RELEASE, delta=1e-5), threading.Event()
    OUT_OF_REACH.update(spend=spend, later=later)
    OUT_OF_REACH.pop("pool", None)
    later.set()
    check_pipeline(MakesAPool(), np.eye(4))
    later.clear()
    without_spends(partial(MakesAPool().fit, None))  # which ends before its pool
    assert not OUT_OF_REACH["queued"].done()
    later.set()
    OUT_OF_REACH["queued"].result()
    assert budget.history() == []
    with OUT_OF_REACH["pool"] as pool:
        pool.submit(spend).result()
    assert len(budget.history()) == 1


def test_a_thread_that_outlives_a_check_can_never_spend(unspent):
    later, said = threading.Event(), []

    def spend():
        later.wait(20.0)
        try:
            unspent.spend(RELEASE, delta=1e-5)
        except ValueError as error:
            said.append(str(error))

    thread = threading.Thread(target=spend)
    without_spends(lambda: thread.start())
    later.set()
    thread.join()
    assert "a thread or process that it started" in said[0]


class Slow(Spends):
    def fit(self, X, y=None):
        threading.Event().wait(0.001)
        return self


class Opens(Spends):
    """Makes a ledger in its fit."""

    def fit(self, X, y=None):
        unseen()["kind"](epsilon=1.0, delta=1e-5, path=unseen()["path"])
        return self


class Shares(Spends):
    def fit(self, X, y=None):
        unseen()["budget"].share(epsilon=0.5, name="made by a check")
        return self


def test_a_check_makes_no_ledger_and_no_share(tmp_path, budget):
    OUT_OF_REACH.update(path=tmp_path / "new.db", budget=budget, kind=PrivacyBudget)
    before = budget.entries(), budget._ledger.shares()
    check_pipeline(Opens())
    check_pipeline(Shares())
    assert not [*tmp_path.iterdir()]
    assert (budget.entries(), budget._ledger.shares()) == before


class Overwrites(TransformerMixin, BaseEstimator):
    """Writes to its rows and to its parameters."""

    def __init__(self, settings):
        self.settings = settings

    def fit(self, X, y=None):
        X[:] = 0.0
        self.settings["rows"] = len(X)
        self.settings["list"].append(1)
        return self

    def transform(self, X):
        X[:] = 1.0
        return X


def test_a_check_changes_no_object_of_the_user():
    settings, rows = {"list": [3]}, np.arange(12.0).reshape(6, 2)
    estimator = make_pipeline(Overwrites(settings), DPLogisticRegression())
    before = joblib.hash((estimator, rows))
    check_pipeline(estimator, rows)
    assert joblib.hash((estimator, rows)) == before
    assert settings == {"list": [3]}


def test_unknown_classes_are_named_before_they_are_fitted():
    OUT_OF_REACH.update(how=lambda spend: None, spend=None, n_fits=0)
    steps = make_pipeline(Spends(), DPLogisticRegression())
    found = check_pipeline(steps, fit_unknown=False)
    assert OUT_OF_REACH["n_fits"] == 0
    assert [(one.path, one.kind, one.severity) for one in found] == [
        ("spends", "untested", "medium")
    ]
    assert "not fitted" in found[0].advice
    assert found.fitted == ()
    found = check_pipeline(steps)
    assert OUT_OF_REACH["n_fits"] > 0
    assert found.fitted == ("Spends",)
    assert "Fitted to synthetic rows: Spends." in str(found)
    assert "Fitted to synthetic rows: Spends." in found._repr_html_()
