"""Ledgers of earlier versions, and of libraries that choose Rényi orders in another way."""

import json
import pickle
import sqlite3

import pytest

from skdp import PrivacyBudget
from skdp.budget.filters import RenyiFilter
from skdp.budget.filters.renyi import orders_of_version_2
from skdp.exceptions import BudgetExceededError
from skdp.privacy import GaussianCurve, GDPEvent, PrivacyGuarantee

EVENT = GDPEvent(0.1)
TERMS = {"epsilon": 1.0, "delta": 1e-5, "composition": "rdp"}


def buy(budget, event=EVENT, label="a fit", **more):
    budget.spend(PrivacyGuarantee(event, "replace_one", "test"), delta=0.0, label=label, **more)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.db"


def as_version_2(path):
    """Take from the file what version 3 added."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("ALTER TABLE terms DROP COLUMN orders")
        connection.execute("UPDATE terms SET version = 2")
    connection.close()


@pytest.fixture
def later_library(monkeypatch):
    """Let budgets that are made from now on choose another order."""
    rule = "skdp.budget.filters.renyi._default_orders"
    monkeypatch.setattr(rule, lambda epsilon, delta, widest=0.0: (31.0,))


def test_a_ledger_keeps_the_order_that_it_was_made_with(path, later_library, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr("skdp.budget.filters.renyi._default_orders", lambda *_: (20.0,))
        old = PrivacyBudget(**TERMS, path=path)
        buy(old)
    assert PrivacyBudget(**TERMS)._filter.orders == (31.0,)
    budget = PrivacyBudget(**TERMS, path=path)
    buy(budget)
    buy(pickle.loads(pickle.dumps(budget)))
    buy(budget.share(epsilon=0.9))
    assert [row["renyi"] for row in budget.history()] == [pytest.approx((20.0 * 0.005,))] * 4
    assert budget._filter.limits == old._filter.limits
    assert budget.spent == old.spent
    again = PrivacyBudget.from_json(budget.to_json(), path=path.with_name("again.db"))
    assert again._filter.orders == (20.0,)
    buy(again)
    assert PrivacyBudget(**TERMS, path=path.with_name("again.db")).spent == again.spent


def test_a_ledger_of_version_2_gets_the_order_that_it_was_counted_at(path):
    budget = PrivacyBudget(**TERMS, path=path)
    buy(budget)
    share = budget.share(epsilon=0.5, name="mine")
    rows, spent = budget.history(), budget.spent
    budget._ledger.close()
    as_version_2(path)
    budget = PrivacyBudget(**TERMS, path=path)
    assert (budget.history(), budget.spent) == (rows, spent)
    assert budget._filter.orders == orders_of_version_2("rdp", 1.0, 1e-5) == share._filter.orders
    connection = sqlite3.connect(path)
    stored = connection.execute("SELECT version, orders FROM terms").fetchone()
    connection.close()
    assert stored == (3, json.dumps(budget._filter.orders))


def test_an_edited_ledger_of_version_2_is_refused_and_left(path):
    buy(PrivacyBudget(**TERMS, path=path))
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE totals SET amounts = '0'")
    connection.close()
    as_version_2(path)
    with pytest.raises(RuntimeError, match="not the sums of its rows"):
        PrivacyBudget(**TERMS, path=path)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT version FROM terms").fetchone() == (2,)
    connection.close()


@pytest.mark.parametrize("version", [2, 3])
def test_an_export_says_at_which_order_its_prices_are(version):
    budget = PrivacyBudget(**TERMS)
    buy(budget)
    data = json.loads(budget.to_json())
    if version == 2:
        del data["terms"]["orders"]
    again = PrivacyBudget.from_json(json.dumps(data | {"version": version}))
    assert again._filter == budget._filter
    assert again.spent == budget.spent


@pytest.mark.parametrize("epsilon", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("delta", [1e-5, 1e-9, 1e-12])
def test_renyi_composition_takes_tiny_budgets(epsilon, delta):
    budget = PrivacyBudget(epsilon, delta, composition="rdp")
    left = GDPEvent(
        0.999 * (2.0 * float(budget._filter.limits[0]) / budget._filter.orders[0]) ** 0.5
    )
    buy(budget, left)
    assert GaussianCurve(left.mu).epsilon(delta) <= budget.spent.epsilon <= epsilon
    with pytest.raises(BudgetExceededError):
        buy(budget, left)


def test_the_filter_takes_its_orders_from_its_terms_only():
    assert RenyiFilter(1.0, 1e-5, orders=(17.0,)).share("mine", 0.9, 1e-5).orders == (17.0,)


def version_1(path):
    """Write the file that the first version wrote, with one release."""
    connection = sqlite3.connect(path)
    with connection:
        connection.executescript("""
            PRAGMA journal_mode=WAL;
            CREATE TABLE terms (
                version INTEGER, epsilon REAL, delta REAL, composition TEXT, neighboring TEXT);
            CREATE TABLE releases (
                id INTEGER PRIMARY KEY, time TEXT, label TEXT, epsilon REAL, delta REAL,
                gdp_mu REAL, neighboring TEXT, event TEXT, process INTEGER);
            INSERT INTO terms VALUES (1, 1.0, 1e-05, 'gdp', 'replace_one');
            INSERT INTO releases VALUES (1, '2026-01-01T00:00:00+00:00', 'old', 0.1, 1e-05, 0.1,
                'replace_one', '{"kind": "GDPEvent", "version": 1, "mu": 0.1}', 7);
        """)
    connection.close()


def test_a_ledger_of_version_1_is_migrated_when_it_is_opened(tmp_path):
    version_1(tmp_path / "old.db")
    budget = PrivacyBudget(1.0, 1e-5, path=tmp_path / "old.db")
    assert budget.spent.epsilon == pytest.approx(GaussianCurve(0.1).epsilon(1e-5))
    buy(budget, part="a", tag="new")
    old, new = PrivacyBudget(1.0, 1e-5, path=tmp_path / "old.db").history()
    assert (old["label"], old["process"], old["part"], old["tag"]) == ("old", 7, None, "")
    assert (new["part"], new["tag"]) == ("a", "new")
    assert json.loads(budget.to_json())["version"] == 3


@pytest.mark.parametrize("failing", ["_save_all", "_check_totals"])
def test_a_migration_that_fails_leaves_version_1(tmp_path, monkeypatch, failing):
    version_1(tmp_path / "old.db")

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(f"skdp.budget.ledger.store.Ledger.{failing}", fail)
    with pytest.raises(MemoryError):
        PrivacyBudget(1.0, 1e-5, path=tmp_path / "old.db")
    monkeypatch.undo()
    connection = sqlite3.connect(tmp_path / "old.db")
    assert connection.execute("SELECT * FROM terms").fetchone()[0] == 1
    connection.close()
    assert len(PrivacyBudget(1.0, 1e-5, path=tmp_path / "old.db").history()) == 1


def test_a_ledger_of_version_1_with_other_terms_is_refused_and_left(tmp_path):
    version_1(tmp_path / "old.db")
    with pytest.raises(ValueError, match=r"made for .*, not for"):
        PrivacyBudget(2.0, 1e-5, path=tmp_path / "old.db")
    connection = sqlite3.connect(tmp_path / "old.db")
    assert connection.execute("SELECT * FROM terms").fetchone() == (
        1, 1.0, 1e-5, "gdp", "replace_one",
    )  # fmt: skip
    connection.close()
