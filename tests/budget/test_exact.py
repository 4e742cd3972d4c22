"""Budgets that admit only releases with a theorem about machine numbers."""

import json
from dataclasses import replace
from types import SimpleNamespace
from uuid import uuid4

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

from skdp import (
    DPLinearRegression,
    DPLogisticRegression,
    DPTabularClassifier,
    PrivacyBudget,
    statistics,
)
from skdp._private_fit import together
from skdp.additive import DPAdditiveClassifier
from skdp.additive.stages import DensityRelease
from skdp.exceptions import BudgetClosedError, BudgetExceededError
from skdp.linear_model._first_releases import CenterRelease, RankRelease, TargetSearch
from skdp.linear_model._plans import StagedPlan
from skdp.privacy import GDPEvent, PrivacyGuarantee
from skdp.solvers import DPSGD, NoisyGD

X = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 2))
Y = (X[:, 0] > 0.0).astype(int)


def budget(**terms):
    return PrivacyBudget(epsilon=20.0, delta=1e-4, exact=True, **terms)


def classifier(**more):
    return DPLogisticRegression(epsilon=0.5, delta=1e-6, classes=[0, 1], **more)


@pytest.mark.parametrize(
    "solver", ["auto", "noisy_gd", "dp_sgd", "objective_perturbation", "output_perturbation"]
)
def test_solvers_that_are_covered_are_admitted(solver, neighboring):
    own = budget(neighboring=neighboring)
    model = classifier(solver=solver, budget=own, neighboring=neighboring).fit(X, Y)
    assert model.solver_ == ("noisy_gd" if solver == "auto" else solver)
    assert model.privacy_.exact
    assert own.history()[0]["exact"] is True
    assert "their rounding errors are bounded" in own.report()


@pytest.mark.parametrize("solver", ["auto", NoisyGD(clip_share=0.5), DPSGD(clip_norm=0.3)])
@pytest.mark.parametrize("max_rows", [None, 1])
def test_clipped_persons_are_admitted(solver, max_rows):
    own = budget(unit="person")
    model = classifier(solver=solver, max_rows=max_rows, budget=own)
    assert model.fit(X, Y, groups=np.arange(200) // 2).privacy_.exact


def test_means_for_probabilities_are_exact(neighboring):
    own, rows = budget(neighboring=neighboring), np.tile(X, (5, 1))
    model = classifier(budget=own, neighboring=neighboring, center=False).set_params(epsilon=1.0)
    model.fit(rows, np.tile(Y, 5))
    assert model.solver_ == "noisy_gd"
    assert model.privacy_.exact
    assert model._probabilities_.means is not None


def test_statistics_and_moments_are_admitted():
    own = budget()
    statistics.mean(X, epsilon=0.5, bounds=(-1, 1), budget=own)
    model = DPLinearRegression(epsilon=0.5, delta=1e-6, target_bounds=(-1, 1), budget=own)
    model.set_params(solver="adassp").fit(X, X[:, 0])
    bounds = [(-1, 1)] * 2
    for Model in (DPAdditiveClassifier, DPTabularClassifier):
        Model(epsilon=0.5, delta=1e-6, bounds=bounds, budget=own).fit(X, Y)
    assert len(own.history()) == 4


@pytest.mark.parametrize(
    "more",
    [
        {"solver": "regularized_exponential"},  # a sampler
        {"solver": NoisyGD(momentum=0.0), "C": 0.01},  # the last iterate
        {"features": PolynomialFeatures(2)},  # features of another library
    ],
)
def test_others_are_rejected_and_spend_nothing(more):
    own = budget()
    with pytest.raises(BudgetExceededError, match="this budget is exact"):
        classifier(budget=own, **more).fit(X, Y)
    assert own.history() == []


BY_HAND = PrivacyGuarantee(GDPEvent(0.1), "replace_one", "by hand")
TEXTS = [
    "by hand, with bounds of rounding errors and exact noise",
    "additive noise, composition",
    "Gaussian mechanism, adaptive composition",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_a_theorem_does_not_make_a_release_exact(text):
    own, usual = budget(), PrivacyBudget(epsilon=20.0, delta=1e-4)
    with pytest.raises(BudgetExceededError, match="this budget is exact"):
        own.spend(replace(BY_HAND, theorem=text), delta=1e-6)
    assert not own.plan([replace(BY_HAND, theorem=text)]).admitted
    own.spend(replace(BY_HAND, exact=True), delta=1e-6)
    usual.spend(replace(BY_HAND, theorem=text), delta=1e-6)
    assert usual.history()[0]["exact"] is False
    assert "drawn exactly" not in usual.report()


def test_several_releases_are_exact_only_if_each_is():
    exact = replace(BY_HAND, exact=True, by_part=((None, GDPEvent(0.1)),))
    assert together(exact, exact).exact
    assert not together(replace(exact, exact=False), exact).exact
    assert not together(exact, replace(exact, exact=False)).exact


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("then", [True, False])
def test_a_fit_after_another_release_is_exact_only_if_both_are(first, then):
    plan = StagedPlan(SimpleNamespace(exact=first), SimpleNamespace(exact=then))
    assert plan.exact is (first and then)


def test_releases_before_a_fit_are_exact(monkeypatch):
    planned = []
    original = StagedPlan.__init__

    def spy(self, *args, **facts):
        original(self, *args, **facts)
        planned.append(self)

    monkeypatch.setattr(StagedPlan, "__init__", spy)
    facts = {"epsilon": 5.0, "delta": 1e-5, "solver": "noisy_gd"}
    histograms = DPAdditiveClassifier(bounds="auto", **facts)
    models = [
        (DPLogisticRegression(center=True, **facts), Y),
        (DPLinearRegression(target_bounds=(-1e3, 1e3), center=False, **facts), X[:, 0]),
        (histograms, Y),
        (DPAdditiveClassifier(bounds=(-3, 3), monotonic_cst=[1, 0], **facts), Y),
    ]
    for model, target in models:
        assert model.fit(X, target).privacy_.exact
    kinds = {type(plan.first) for plan in planned}
    assert kinds == {CenterRelease, TargetSearch, RankRelease, DensityRelease}


def test_plans_of_events_ask_for_room_only():
    own = budget()
    assert own.plan([GDPEvent(0.1)]).admitted
    assert not own.plan([GDPEvent(100.0)]).admitted
    assert own.plan([replace(BY_HAND, exact=True)]).admitted
    assert not own.plan([BY_HAND]).admitted
    assert own.plan([BY_HAND]).epsilon == own.plan([GDPEvent(0.1)]).epsilon
    assert own.price(classifier(), (200, 2)).admitted
    assert not own.price(classifier(solver="regularized_exponential"), (200, 2)).admitted
    assert own.history() == []


def test_an_export_with_a_release_that_is_not_exact_is_rejected():
    own = PrivacyBudget(epsilon=20.0, delta=1e-4, exact=True)
    own.spend(replace(BY_HAND, exact=True), delta=1e-6)
    data = json.loads(own.to_json())
    (entry,) = data["entries"]
    fields = json.loads(entry["content"])
    assert fields.pop("exact") is True
    entry["content"] = json.dumps(fields)
    with pytest.raises(ValueError, match="more releases than its terms admit"):
        PrivacyBudget.from_json(json.dumps(data))


@pytest.mark.parametrize("strict", [True, False])
def test_strict_and_exact_are_two_terms(place, strict):
    own = budget(path=place, strict=strict)
    own.spend(replace(BY_HAND, exact=True), delta=1e-6)
    with pytest.raises(BudgetExceededError, match="this budget is exact"):
        own.spend(BY_HAND, delta=1e-6)
    again = PrivacyBudget.open(place)
    assert again.exact
    assert [row["exact"] for row in again.history()] == [True]
    assert ("Strict" in again.report()) is strict
    again.verify()


def spend_past_the_library(server, name, own, to=None):
    """Append the first release again, as another program may, with other fields."""
    to = to or name
    with server.connect() as other:
        (content,) = other.execute(f'SELECT content FROM "{name}".entries WHERE id = 1').fetchone()
        (number,) = other.execute(f'SELECT count(*) + 1 FROM "{to}".entries').fetchone()
        (identity,) = other.execute(f'SELECT identity FROM "{to}".terms').fetchone()
        values = (identity, uuid4().hex, number, json.dumps(json.loads(content) | own), 1, "")
        other.execute(f'SELECT "{to}".append(%s, %s, %s, %s, %s, %s)', values)


@pytest.mark.parametrize("strict", [True, False])
def test_a_server_keeps_both_terms_whatever_a_spender_sends(server, strict):
    psycopg = pytest.importorskip("psycopg")
    name = f"of_{uuid4().hex}"
    own = budget(path=server.address(name), strict=strict)
    own.spend(replace(BY_HAND, exact=True), delta=1e-6)
    spend_past_the_library(server, name, {"exact": True})
    with pytest.raises(psycopg.Error, match="admits exact releases only"):
        spend_past_the_library(server, name, {"exact": False})
    first = f"of_{uuid4().hex}"  # a first release outside of the box, but within ε and δ
    budget(path=server.address(first), strict=strict)
    fields = {"gdp_mu": "inf", "epsilon": 19.0, "delta": 0.0}
    if strict:
        with pytest.raises(psycopg.Error, match="does not admit"):
            spend_past_the_library(server, name, fields, to=first)
    else:
        spend_past_the_library(server, name, fields, to=first)


def test_the_owner_makes_functions_of_an_earlier_version_again(server):
    psycopg = pytest.importorskip("psycopg")
    name = f"of_{uuid4().hex}"
    own = PrivacyBudget(epsilon=20.0, delta=1e-4, path=server.address(name))
    own.spend(BY_HAND, delta=1e-6)
    with server.connect() as other:
        query = "SELECT pg_get_functiondef(to_regprocedure(%s))"
        (source,) = other.execute(query, (f'"{name}".check_release(text)',)).fetchone()
        other.execute(source.replace("'exact', ", ""))
    with pytest.raises((BudgetClosedError, psycopg.Error)):
        own.spend(replace(BY_HAND, exact=True), delta=1e-6)
    again = PrivacyBudget(epsilon=20.0, delta=1e-4, path=server.address(name))
    again.spend(replace(BY_HAND, exact=True), delta=1e-6)
    assert [row["exact"] for row in again.history()] == [False, True]
    again.verify()


def test_the_term_is_part_of_the_ledger(place):
    own = budget(path=place)
    assert own.exact
    assert own.share(epsilon=1.0).exact
    assert PrivacyBudget.from_json(own.to_json()).exact
    assert budget(path=place).history() == []
    with pytest.raises(ValueError, match="exact=True, not for exact=False"):
        PrivacyBudget(epsilon=20.0, delta=1e-4, path=place)
    with pytest.raises(ValueError, match="exact must be True or False"):
        PrivacyBudget(epsilon=1.0, delta=1e-5, exact=1)
