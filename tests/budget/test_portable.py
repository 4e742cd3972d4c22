"""The way out of a ledger and into a new one: whole or absent, and never more than its terms."""

import json
import subprocess
import sys

import pytest

from skdp import PrivacyBudget
from skdp.ledger.store import Tables
from skdp.privacy import GDPEvent, PrivacyGuarantee, PureDPEvent

EVENT = GDPEvent(0.1)


def spend(budget, event=EVENT, **more):
    budget.spend(PrivacyGuarantee(event, "replace_one", "test"), delta=0.0, name="a fit", **more)


@pytest.fixture
def budget(tmp_path):
    return PrivacyBudget(epsilon=1.0, delta=1e-5, path=tmp_path / "study.db")


@pytest.mark.parametrize("composition", ["gdp", "basic", "zcdp", "rdp", "pure"])
def test_a_ledger_goes_out_and_comes_back(place, composition):
    delta = 0.0 if composition == "pure" else 1e-5
    budget = PrivacyBudget(epsilon=1.0, delta=delta, composition=composition)
    share = budget.share(epsilon=0.5, name="mine")
    spend(budget, PureDPEvent(0.05), partition="a", tag="é")
    spend(share, PureDPEvent(0.01))
    text = budget.to_json()
    json.loads(text, parse_constant=pytest.fail)  # strict JSON: no Infinity, no NaN
    again = PrivacyBudget.from_json(text, path=place)
    assert again.history() == budget.history()
    assert again.head == budget.head
    assert again.spent == budget.spent
    assert again.share(epsilon=0.5, name="mine").spent == share.spent
    assert again.to_json() == text
    assert PrivacyBudget(epsilon=1.0, delta=delta, composition=composition, path=place)
    with pytest.raises(ValueError, match="exists already"):
        PrivacyBudget.from_json(text, path=place)
    spend(again, PureDPEvent(0.01), partition="a")
    spend(again, PureDPEvent(0.01))
    back = PrivacyBudget.from_json(again.to_json())
    assert (back.head, back.spent) == (again.head, again.spent)
    assert back.extends(budget.head)


def test_an_import_that_is_interrupted_leaves_nothing(place, tmp_path, monkeypatch):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    spend(budget)
    text = budget.to_json()

    def interrupt(*args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(Tables, "append", interrupt)
    with pytest.raises(KeyboardInterrupt):
        PrivacyBudget.from_json(text, path=place)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    assert PrivacyBudget.from_json(text, path=place).head == budget.head


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not an exported ledger"),
        ({"version": 99}, "version 99"),
        (
            {"entries": [{"time": "", "content": '{"label": "x"}', "seal": "{}"}]},
            "export is damaged",
        ),
    ],
)
def test_a_broken_export_is_refused(budget, tmp_path, change, message):
    text = json.dumps(json.loads(budget.to_json()) | change)
    with pytest.raises(ValueError, match=message):
        PrivacyBudget.from_json(text, path=tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_an_export_that_breaks_its_own_terms_is_refused(budget, tmp_path):
    spend(budget)
    data = json.loads(budget.to_json())
    data["entries"] *= 100
    with pytest.raises(ValueError, match="more releases than its terms admit"):
        PrivacyBudget.from_json(json.dumps(data), path=tmp_path / "new.db")


SHARES = [{"name": "a", "epsilon": 0.5, "delta": 1e-5}]
NAN, INF = float("nan"), float("inf")


_REASONS = (
    "more releases than|no share|not a number|delta must|negative|strings|damaged|Neighboring"
)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("gdp_mu", [-0.1, NAN, "nan", None, True, "1", [0.1], INF]),
        ("epsilon", [-1.0, NAN, "-inf"]),
        ("delta", [-1e-9, 1.0, NAN, INF]),
        ("slack", [-1e-9, NAN, 1e-6]),
        ("tv", [-1e-9, NAN, 1e-12]),
        ("zcdp_rho", [-1.0, NAN]),
        ("pure_epsilon", [-1.0, NAN]),
        ("renyi", [[-1.0], [NAN], 3]),
        ("neighboring", ["add_remove_one", "other", None]),
        ("account", ["b", "a/b", None, 1, ["a"]]),
        ("part", [1, ["a"]]),
        ("label", [None, 2]),
        ("unknown", [0]),
    ],
)
def test_a_release_that_no_ledger_could_hold_is_refused(budget, tmp_path, field, values):
    spend(budget.share(epsilon=0.5, name="a"))
    data = json.loads(budget.to_json())
    (entry,) = data["entries"]
    for value in values:
        changed = json.loads(entry["content"]) | {field: value}
        data["entries"] = [entry | {"content": json.dumps(changed)}]
        with pytest.raises(ValueError, match=_REASONS):
            PrivacyBudget.from_json(json.dumps(data), path=tmp_path / "new.db")
        assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize(
    "change",
    [
        *({"shares": [SHARES[0] | {"epsilon": bad}]} for bad in (1.1, -1.0, 0.0, NAN, INF, "1")),
        *({"shares": [SHARES[0] | {"delta": bad}]} for bad in (2e-5, -1.0, NAN, None)),
        *({"shares": [*SHARES, SHARES[0] | {"name": bad}]} for bad in ("", "b/c", "a//b", "/a", 1)),
        {"shares": [*SHARES, {"name": "a/b", "epsilon": 0.6, "delta": 1e-5}]},
        {"shares": [*SHARES, SHARES[0] | {"epsilon": 0.4}]},
        {"shares": [{"name": "a", "epsilon": 0.01, "delta": 1e-5}]},
        {"shares": []},
        {"shares": None},
        {"entries": None},
        *({"terms": {"epsilon": bad}} for bad in (0.01, -1.0, NAN, INF, None)),
        *({"terms": {"delta": bad}} for bad in (0.0, 1.0, NAN)),
        *({"terms": {"slack": bad}} for bad in (-1.0, NAN, 1.0)),
        *({"terms": {"tv": bad}} for bad in (-1.0, NAN, 1.0)),
        *({"terms": {"composition": bad}} for bad in ("rdp", "pure", "other", None)),
        *({"terms": {"neighboring": bad}} for bad in ("add_remove_one", "other")),
        *({"terms": {"orders": bad}} for bad in (["x"], None)),
        {"terms": {"unknown": 1}},
        {"version": None},
        {"version": 0},
    ],
    ids=str,
)
def test_an_export_that_no_ledger_could_have_written_is_refused(budget, tmp_path, change):
    share = budget.share(epsilon=0.5, name="a")
    spend(share)
    spend(share)
    data = json.loads(budget.to_json())
    change = change | ({"terms": data["terms"] | change["terms"]} if "terms" in change else {})
    with pytest.raises(ValueError, match=r"\w"):
        PrivacyBudget.from_json(json.dumps(data | change), path=tmp_path / "new.db")
    assert list(tmp_path.glob("*new.db*")) == []
    assert PrivacyBudget.from_json(json.dumps(data), path=tmp_path / "new.db").spent == budget.spent


def test_what_a_deleted_ledger_left_behind_does_not_come_back_by_an_import(tmp_path):
    path = tmp_path / "study.db"
    code = (
        "import os, sys; from skdp import PrivacyBudget\n"
        "from skdp.privacy import PrivacyGuarantee, PureDPEvent\n"
        "budget = PrivacyBudget(epsilon=1.0, delta=0.0, composition='pure', path=sys.argv[1])\n"
        "cost = PrivacyGuarantee(PureDPEvent(0.25), 'replace_one', '')\n"
        "budget.spend(cost, delta=0.0, name='a fit'); os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", code, path], check=True, timeout=60)
    assert path.with_name("study.db-wal").stat().st_size  # nobody closed it
    budget = PrivacyBudget(epsilon=1.0, delta=0.0, composition="pure")
    spend(budget, PureDPEvent(0.75))
    path.unlink()
    again = PrivacyBudget.from_json(budget.to_json(), path=path)
    assert again.spent.epsilon == 0.75
    assert again.history() == budget.history()
