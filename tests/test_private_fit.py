"""The transaction of a private fit, for every estimator that spends."""

import os
import warnings
from importlib import import_module
from inspect import Parameter, signature

import numpy as np
import pytest
from opened import close_connections, connection_of
from sklearn.exceptions import NotFittedError

from skdp import DPLogisticRegression, PrivacyBudget
from skdp._private_fit import PrivateFit
from skdp.budget import BudgetHandle
from skdp.exceptions import BudgetClosedError, BudgetExceededError, WeakPrivacyWarning
from skdp.ledger.store import Ledger

rng = np.random.default_rng(0)
X = rng.integers(0, 3, size=(40, 2)).astype(float)
y = np.arange(40) % 2
ROOMS = (
    *("additive", "cluster", "decomposition", "density", "ensemble", "linear_model"),
    *("naive_bayes", "preprocessing", "tabular"),
)
PUBLIC = {
    "n_trees": 3,
    "target_bounds": (0.0, 1.0),
    "bounds": (0.0, 2.0),
    "categories": [0.0, 1.0, 2.0],
    "classes": (0, 1),
}


def made(Model, **params):
    known = signature(Model).parameters
    needed = {name: value for name, value in PUBLIC.items() if name in known}
    if {"bounds", "categories"} <= needed.keys():
        needed["categories"] = {1: [0.0, 1.0, 2.0]}
    return Model(**(needed | params))


def spending():
    """Return the public estimators that spend."""
    for room in ROOMS:
        module = import_module(f"skdp.{room}")
        for Model in (getattr(module, name) for name in module.__all__):
            if "epsilon" in getattr(Model, "_get_param_names", list)():
                yield Model


every_model = pytest.mark.parametrize("Model", [*spending()])


@every_model
def test_there_is_one_transaction(Model):
    assert issubclass(Model, PrivateFit)


@every_model
def test_a_refit_that_dies_after_spending_leaves_nothing_of_the_old_fit(Model, monkeypatch):
    budget = PrivacyBudget(epsilon=50.0, delta=1e-3, composition="basic")
    model = made(Model, delta=1e-6, budget=budget).fit(X, y)
    monkeypatch.setattr(Model, "_read", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(X, y)
    assert len(budget.history()) == 2
    assert not released_by(model)
    use = next(name for name in ("predict", "transform", "score_samples") if hasattr(model, name))
    with pytest.raises(NotFittedError):
        getattr(model, use)(X)


@every_model
def test_a_refit_that_dies_before_spending_leaves_the_old_fit_whole(Model, monkeypatch):
    budget = PrivacyBudget(epsilon=50.0, delta=1e-3, composition="basic")
    model = made(Model, delta=1e-6, budget=budget).fit(X, y)
    before = dict(vars(model))
    monkeypatch.setattr(Model, "_plan", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError, match=r"Nothing was spent\.$"):
        model.fit(np.c_[X, y], y)
    assert len(budget.history()) == 1
    assert vars(model) == before


TERMS = {"epsilon": 50.0, "delta": 1e-3, "composition": "basic"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.db"


def released_by(model):
    return {name for name in vars(model) if name.endswith("_")} - {
        "n_features_in_",
        "feature_names_in_",
    }


def check_in_doubt(error, model):
    """The release may be in the ledger: the message does not deny it, the old fit is gone."""
    text = "".join([str(error), *getattr(error, "__notes__", ())])
    assert "may have recorded this release: count it as spent." in text
    assert "Nothing was spent" not in text
    assert not released_by(model)


@pytest.mark.parametrize("harm", ["-wal", "-shm", ""])
def test_files_that_vanish_during_a_spend_are_not_said_to_have_cost_nothing(
    path, harm, monkeypatch
):
    budget = PrivacyBudget(**TERMS, path=path)
    model = DPLogisticRegression(delta=1e-6, budget=budget).fit(X, y)
    check = BudgetHandle._check

    def harmful(handle, request):
        check(handle, request)
        os.rename(f"{path}{harm}", f"{path}.away{harm}")

    monkeypatch.setattr(BudgetHandle, "_check", harmful)
    with pytest.raises(BudgetClosedError, match=r"deleted|does not exist") as error:
        model.fit(X, y)
    check_in_doubt(error.value, model)
    close_connections()
    if not harm:
        os.rename(f"{path}.away", path)
    assert len(PrivacyBudget(**TERMS, path=path).history()) == 2


@every_model
def test_an_interrupt_right_after_the_commit_leaves_nothing_of_the_old_fit(Model, monkeypatch):
    budget = PrivacyBudget(**TERMS)
    model = made(Model, delta=1e-6, budget=budget).fit(X, y)
    append = Ledger.append

    def interrupted(*args):
        append(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "append", interrupted)
    with pytest.raises(KeyboardInterrupt) as error:
        model.fit(X, y)
    check_in_doubt(error.value, model)
    assert len(budget.history()) == 2


def fill(budget, path):
    with connection_of(budget) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages}")


BEFORE_THE_COMMIT = {
    "does not exist": lambda budget, path: os.rename(path, f"{path}.away"),
    "read-only": lambda budget, path: path.chmod(0o444),
    "cut short": lambda budget, path: os.truncate(path, 100),
    "-wal or -shm file was deleted": lambda budget, path: os.unlink(f"{path}-wal"),
    "full": fill,
}


@pytest.mark.parametrize("message", BEFORE_THE_COMMIT)
def test_a_ledger_that_cannot_be_written_leaves_the_old_fit_whole(path, message):
    budget = PrivacyBudget(**TERMS, path=path)
    model = DPLogisticRegression(delta=1e-6, budget=budget).fit(X, y)
    BEFORE_THE_COMMIT[message](budget, path)
    before = dict(vars(model))
    model.budget = before["budget"] = budget.at(name="x" * 30_000)
    with pytest.raises(BudgetClosedError, match=rf"{message}.*Nothing was spent\.$"):
        model.fit(np.c_[X, y], y)
    assert vars(model) == before


@every_model
def test_a_refused_release_leaves_the_old_fit_whole(Model):
    budget = PrivacyBudget(epsilon=1.5, delta=1e-3, composition="basic")
    model = made(Model, delta=1e-6, budget=budget).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(BudgetExceededError, match=r"left for .*Nothing was spent\.$"):
        model.fit(X, y)
    assert vars(model) == before
    assert len(budget.history()) == 1


@pytest.mark.parametrize(
    "error",
    [
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
        KeyError("a column"),
        SystemExit("over"),
        KeyboardInterrupt(),
        OSError(5, "broken"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_that_is_more_than_its_message_keeps_its_arguments(error, monkeypatch):
    args = error.args

    def failing(*_):
        raise error

    monkeypatch.setattr(DPLogisticRegression, "_plan", failing)
    with pytest.raises(type(error)) as raised:
        DPLogisticRegression(budget=PrivacyBudget(**TERMS)).fit(X, y)
    assert raised.value.args == args
    assert raised.value.__notes__ == ["Nothing was spent."]


@every_model
def test_the_label_is_what_the_history_calls_it(Model):
    budget = PrivacyBudget(epsilon=50.0, delta=1e-3, composition="basic")
    made(Model, delta=1e-6, budget=budget.at(name="Study 7")).fit(X, y)
    made(Model, delta=1e-6, budget=budget).fit(X, y)
    assert [row["label"] for row in budget.history()] == ["Study 7", Model.__name__]


@every_model
def test_without_a_delta_it_is_the_budgets(Model):
    budget = PrivacyBudget(epsilon=50.0, delta=1e-7, composition="basic")
    assert made(Model, budget=budget).fit(X, y).privacy_.asked == (1.0, 1e-7)
    assert made(Model).fit(X, y).privacy_.asked == (1.0, 1e-5)


@every_model
def test_no_parameter_is_positional(Model):
    kinds = {p.kind for p in signature(Model).parameters.values()}
    assert kinds == {Parameter.KEYWORD_ONLY}
    assert made(Model, epsilon=0.1).epsilon == 0.1


@pytest.mark.parametrize(
    ("delta", "n", "neighboring", "warned"),
    [
        (2e-3, 40, "replace_one", True),
        (2e-3, 40, "add_remove_one", True),
        (1e-3, 40, "replace_one", False),
        (1e-3, 1000, "replace_one", True),
        (1e-3, 1000, "add_remove_one", False),
        (9e-4, 1000, "replace_one", False),
    ],
)
def test_a_large_delta_is_warned_of_where_the_caller_stands(delta, n, neighboring, warned):
    rows, labels = np.resize(X, (n, 2)), np.resize(y, n)
    model = DPLogisticRegression(
        epsilon=1.0, delta=delta, neighboring=neighboring, n_samples_hint=n
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows, labels)
    caught = [w for w in caught if w.category is WeakPrivacyWarning]
    assert [w.filename for w in caught] == [__file__] * warned
    assert all(f"delta={delta:g} is large" in str(w.message) for w in caught)


def test_at_infinity_nothing_is_warned_of():
    DPLogisticRegression(epsilon=float("inf"), delta=0.5).fit(X, y)


@every_model
def test_a_constructor_that_forgets_a_parameter_does_not_fit_with_its_default(Model):
    """A fit without the budget that the user passed would not be counted."""

    class Forgets(Model):
        def __init__(self, *, budget=None, epsilon=1.0):
            self.epsilon = epsilon

    with pytest.raises(AttributeError, match="has no attribute"):
        Forgets(budget=PrivacyBudget(epsilon=1.0, delta=1e-5)).fit(X, y)
