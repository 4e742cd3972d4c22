"""Parts, shares, plans, odometers, views and the way in and out of a ledger."""

import json
import pickle
import sqlite3
from html.parser import HTMLParser

import pytest

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.accounting import gdp_mu
from skdp.budget import PlannedRelease
from skdp.exceptions import BudgetClosedError, BudgetExceededError
from skdp.privacy import GaussianCurve, GDPEvent, PrivacyGuarantee, PureDPEvent

EVENT = GDPEvent(0.1)


def buy(budget, event=EVENT, label="a fit", **more):
    budget.spend(PrivacyGuarantee(event, "replace_one", "test"), delta=0.0, label=label, **more)


@pytest.fixture
def budget(tmp_path):
    return PrivacyBudget(1.0, 1e-5, path=tmp_path / "study.db")


def test_disjoint_parts_are_paid_once(budget):
    for part in ("north", "south", "south"):
        buy(budget, part=part)
    buy(budget)
    assert budget.spent.epsilon == pytest.approx(GaussianCurve(0.1 * 3**0.5).epsilon(1e-5))
    assert budget.history()[1]["part"] == "south"


def test_the_dearest_part_decides_and_others_still_have_room(budget):
    dear = GDPEvent(gdp_mu(1.0, 1e-5))
    buy(budget, dear, part="north")
    buy(budget, dear, part="south")
    for part in ("north", "south", None):
        with pytest.raises(BudgetExceededError):
            buy(budget, GDPEvent(0.01), part=part)
    buy(budget, dear, part="west")
    assert budget.spent.epsilon <= 1.0


def test_a_share_has_a_ceiling_of_its_own_and_that_of_the_budget(budget):
    share = budget.share(epsilon=0.3, name="explore")
    buy(share, GDPEvent(gdp_mu(0.3, 1e-5)))
    with pytest.raises(BudgetExceededError, match=r"the share 'explore'.*Nothing was read or"):
        buy(share, GDPEvent(0.001))
    buy(budget, GDPEvent(0.2))
    assert [row["account"] for row in budget.history()] == ["explore", ""]
    assert len(share.history()) == 1
    other = budget.share(epsilon=0.9, name="other")
    with pytest.raises(BudgetExceededError, match=r"the budget's epsilon=1"):
        buy(other, GDPEvent(gdp_mu(0.9, 1e-5)))
    assert other.remaining == budget.remaining
    assert other.spent.epsilon == 0.0


def test_shares_inside_of_shares_and_in_other_processes(budget):
    outer = budget.share(epsilon=0.5, name="outer")
    inner = pickle.loads(pickle.dumps(outer.share(epsilon=0.2, name="inner")))
    buy(inner, GDPEvent(0.05))
    assert budget.spent == outer.spent == inner.spent
    assert budget.history() == inner.history()
    assert budget.share(epsilon=0.5, name="outer").spent == inner.spent
    with pytest.raises(ValueError, match=r"'outer' has epsilon=0.5.*Nothing was spent"):
        budget.share(epsilon=0.6, name="outer")
    with pytest.raises(ValueError, match="without '/'"):
        budget.share(epsilon=0.6, name="a/b")
    assert repr(inner).endswith(".share('outer/inner')")


def test_a_share_pays_for_a_fit_and_keeps_a_temporary_budget_alive():
    share = PrivacyBudget(1.0, 1e-5).share(epsilon=0.5)
    X, y = [[0.0, 1.0], [1.0, 0.0]] * 10, [0, 1] * 10
    DPLogisticRegression(epsilon=0.5, delta=1e-5, budget=share).fit(X, y)
    assert share.spent.epsilon == pytest.approx(0.5, rel=1e-9)


def test_a_plan_prices_cross_validation_by_the_folds_a_record_is_in(budget):
    fits = [PlannedRelease(EVENT, fold=fold) for fold in range(5) for _ in range(3)]
    price = budget.plan([*fits, EVENT], n_folds=5)
    assert price.epsilon == pytest.approx(GaussianCurve(0.1 * 13**0.5).epsilon(1e-5), rel=1e-9)
    assert price.n_releases == 16
    assert not price.admitted  # charged fit by fit, it is 16 fits
    assert budget.history() == []


def test_folds_that_nobody_leaves_out_are_not_forgotten(budget):
    price = budget.plan([PlannedRelease(EVENT, fold=0)] * 4, n_folds=2)
    assert price.epsilon == budget.plan([EVENT] * 4).epsilon > 0.0
    with pytest.raises(ValueError, match=r"fold=0 is not one of n_folds=None"):
        budget.plan([PlannedRelease(EVENT, fold=0)])
    with pytest.raises(ValueError, match=r"fold=5 is not one of n_folds=5"):
        budget.plan([PlannedRelease(EVENT, fold=5)], n_folds=5)


def test_a_plan_of_disjoint_parts_costs_the_dearest(budget):
    plan = [PlannedRelease(EVENT, part=part) for part in "aab"] + [EVENT]
    assert budget.plan(plan).epsilon == budget.plan([EVENT] * 3).epsilon
    assert budget.plan(plan).admitted


def test_a_plan_of_pure_releases_is_no_dearer_than_their_sum(budget):
    assert budget.plan([PureDPEvent(0.01)] * 3).epsilon <= 0.03 * (1 + 1e-12)
    assert budget.plan([]).epsilon == 0.0


def test_a_plan_under_the_other_relation_is_refused(budget):
    with pytest.raises(ValueError, match="'add_remove_one'"):
        budget.plan([PrivacyGuarantee(EVENT, "add_remove_one", "")])


def test_the_odometer_is_the_curve_of_what_was_spent(budget):
    assert budget.spent_curve().epsilon(1e-5) == 0.0
    buy(budget)
    buy(budget)
    exact = GaussianCurve(0.1 * 2**0.5)
    for epsilon in (-1.0, 0.0, 0.3):
        assert budget.spent_curve().delta(epsilon) == pytest.approx(exact.delta(epsilon), rel=1e-9)


def test_a_tag_is_kept(budget):
    buy(budget, tag="figure 3")
    assert budget.history()[0]["tag"] == "figure 3"


def test_a_notebook_shows_a_bar_without_script(budget):
    buy(budget)
    html = budget._repr_html_()
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)
    parser.feed(html)
    assert "script" not in tags
    assert set(tags) == {"div", "code", "small"}
    assert f"width:{100 * budget.spent.epsilon:.4g}%" in html
    assert "in 1 releases" in html
    assert len(html) < 1000


def test_a_closed_ledger_has_a_notebook_view(budget, tmp_path):
    (tmp_path / "study.db").unlink()
    assert budget._repr_html_().endswith("the ledger is closed")


@pytest.mark.parametrize("composition", ["gdp", "basic", "zcdp", "rdp", "pure"])
def test_a_ledger_goes_out_and_comes_back(tmp_path, composition):
    delta = 0.0 if composition == "pure" else 1e-5
    budget = PrivacyBudget(1.0, delta, composition=composition)
    share = budget.share(epsilon=0.5, name="mine")
    buy(budget, PureDPEvent(0.05), part="a", tag="é")
    buy(share, PureDPEvent(0.01))
    text = budget.to_json()
    json.loads(text, parse_constant=pytest.fail)  # strict JSON: no Infinity, no NaN
    again = PrivacyBudget.from_json(text, path=tmp_path / "again.db")
    assert again.history() == budget.history()
    assert again.spent == budget.spent
    assert again.share(epsilon=0.5, name="mine").spent == share.spent
    assert again.to_json() == text
    assert PrivacyBudget(1.0, delta, composition=composition, path=tmp_path / "again.db")
    with pytest.raises(ValueError, match="exists already"):
        PrivacyBudget.from_json(text, path=tmp_path / "again.db")
    assert len(again.history()) == 2


def test_an_import_that_is_interrupted_leaves_nothing(budget, tmp_path, monkeypatch):
    buy(budget)
    text = budget.to_json()

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("skdp.budget.store.write_row", interrupt)
    with pytest.raises(KeyboardInterrupt):
        PrivacyBudget.from_json(text, path=tmp_path / "new.db")
    assert list(tmp_path.glob("*new.db*")) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not an exported ledger"),
        ({"version": 99}, "version 99"),
        ({"releases": [{"label": "x"}]}, "has the fields"),
    ],
)
def test_a_broken_export_is_refused(budget, tmp_path, change, message):
    text = json.dumps(json.loads(budget.to_json()) | change)
    with pytest.raises(ValueError, match=message):
        PrivacyBudget.from_json(text, path=tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_an_export_that_breaks_its_own_terms_is_refused(budget, tmp_path):
    buy(budget)
    data = json.loads(budget.to_json())
    data["releases"] *= 100
    with pytest.raises(ValueError, match="more than its own terms admit"):
        PrivacyBudget.from_json(json.dumps(data), path=tmp_path / "new.db")


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
    assert json.loads(budget.to_json())["version"] == 2


@pytest.mark.parametrize("failing", ["_save_all", "_check_totals"])
def test_a_migration_that_fails_leaves_version_1(tmp_path, monkeypatch, failing):
    version_1(tmp_path / "old.db")

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(f"skdp.budget.store.Ledger.{failing}", fail)
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


def test_a_file_that_is_no_ledger_is_closed(tmp_path):
    (tmp_path / "x.db").write_bytes(b"SQLite format 3\x00" + bytes(4096))
    with pytest.raises(BudgetClosedError):
        PrivacyBudget(1.0, 1e-5, path=tmp_path / "x.db")
