"""A report says what the ledger says: the same data in two formats, and nothing else."""

import json
import math
import re

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skdp
from skdp import DPLinearRegression, DPLogisticRegression, PrivacyBudget
from skdp.exceptions import BudgetClosedError
from skdp.pipeline import check_pipeline
from skdp.privacy import (
    AttackRisk,
    ComposedEvent,
    GaussianCurve,
    GDPEvent,
    LaplaceEvent,
    PrivacyGuarantee,
    PureDPEvent,
)
from skdp.privacy.composed_events import ApproximatedEvent
from skdp.samplers import REFERENCE_SAMPLERS, SAMPLERS
from skdp.solvers import SOLVERS

FORMATS = ["markdown", "json"]
ABOUT = {
    "name": "Re_admissions, by ward",
    "data_curators": ["St. Anna", "Bern"],
    "description": "Chances of return",
    "intended_use": "Planning",
    "data_product_type": "Machine learning model",
    "data_product_region": "Bern",
}
COMPOSITIONS = ["gdp", "zcdp", "rdp", "basic"]
SMALL = GDPEvent(0.1)
NASTY = "<script>alert(1)</script> | *a* [b](javascript:c) `d` \\ _e_ # $f$\nnew | line"
NASTY += "\u202ehttp://a.b WWW.c.d e@f.g"


def spend(budget, event=SMALL, delta=1e-6, name="a fit", **more):
    relation, unit = budget.neighboring, budget.unit
    guarantee = PrivacyGuarantee(event, relation, "Theorem 1 of a test", unit=unit)
    budget.spend(guarantee, delta=delta, name=name, **more)


def data_of(budget, **more):
    return json.loads(budget.report("json", **more))


def test_the_data_say_what_is_protected_how_much_and_by_what():
    budget = PrivacyBudget(epsilon=2.0, delta=1e-5, neighboring="add_remove_one", unit="person")
    spend(budget, partition="north", tag="first try")
    data = data_of(budget, audience="internal")
    assert [*data_of(budget)] == [name for name in data if name != "head"]
    assert list(data) == [
        "report", "version", "audience", "protected", "ceiling", "meter", "releases",
        "correctness", "partitions", "notices", "head", "not_protected", "checked", "deployment",
    ]  # fmt: skip
    assert data["protected"]["unit"] == "person"
    assert not data["protected"]["count_is_public"]
    assert "all records of one person are added or removed" in data["protected"]["neighbors"]
    assert data["ceiling"]["epsilon"] == 2.0
    assert data["ceiling"]["composition"] == "gdp"
    assert data["meter"]["n_releases"] == 1
    (row,) = data["releases"]
    (kept,) = budget.history()
    shown = {name: row[name] for name in ("label", "part", "time", "epsilon", "delta", "event")}
    assert shown == {name: kept[name] for name in shown}
    assert row["theorem"] == "Theorem 1 of a test"
    assert row["proof"] == "by the theorem"
    assert row["version"] == skdp.__version__
    assert data["head"] == budget.head
    assert "Events: GDPEvent." in data["deployment"]["implementation"]["mechanisms"]
    assert budget.report() == budget.report("markdown", audience="public")


def test_a_report_has_five_sections_and_a_row_for_each_release(budget):
    for k in range(3):
        spend(budget, name=f"fit {k}")
    text = budget.report(audience="internal", about={"data_curators": "A hospital"})
    assert text.count("\n## ") == 5
    assert [f"fit {k}" in text for k in range(3)] == [True] * 3
    assert "A hospital" in text
    assert "| description | not stated |" in text
    assert budget.head in text


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("first", [GDPEvent(0.1), PureDPEvent(0.5)])
def test_the_risks_are_bounds_at_the_ceiling_and_at_the_meter(composition, first):
    """The ceiling's are no lower than those of what is admitted, to the very end."""
    budget = PrivacyBudget(epsilon=2.0, delta=1e-5, composition=composition)
    spend(budget, first)
    data = data_of(budget)
    so_far = AttackRisk(first.curve("replace_one")).to_dict()
    for name, risk in so_far.items():
        assert data["ceiling"]["risk"][name] >= data["meter"]["risk"][name] >= risk - 1e-9
    if isinstance(first, GDPEvent) and composition != "basic":
        spend(budget, GDPEvent(0.999 * budget.gaussian_mu(**budget.remaining._asdict())), 1e-5)
    assert data_of(budget)["ceiling"] == data["ceiling"]
    together = data_of(budget)["meter"]["risk"]
    assert all(data["ceiling"]["risk"][name] >= risk for name, risk in together.items())


def test_until_the_first_release_the_ceiling_is_that_of_its_pair_alone():
    """For it might be of any shape that is (ε, δ)-DP; a strict budget has settled that before."""
    pair = AttackRisk(PureDPEvent(1.0).curve("replace_one")).advantage
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    assert data_of(budget)["ceiling"]["risk"]["advantage of the best membership test"] >= pair
    spend(budget, partition="north")
    assert data_of(budget)["ceiling"]["risk"]["advantage of the best membership test"] >= pair
    spend(budget)
    gaussian = data_of(budget)["ceiling"]
    for open_still in (
        PrivacyBudget(epsilon=1.0, delta=1e-5),
        PrivacyBudget(epsilon=1.0, delta=1e-5).share(epsilon=0.5),
    ):
        assert data_of(open_still)["ceiling"]["gdp_mu"] is None
    expected = AttackRisk(GaussianCurve(gaussian["gdp_mu"])).advantage + gaussian["slack"]
    shown = gaussian["risk"]["advantage of the best membership test"]
    assert shown == pytest.approx(expected, rel=1e-9)
    strict = data_of(PrivacyBudget.from_risk(advantage=0.1))["ceiling"]
    assert strict["strict"]
    assert 0.0999 < strict["risk"]["advantage of the best membership test"] <= 0.1


@pytest.mark.parametrize("composition", ["gdp", "zcdp", "rdp"])
def test_what_adds_up_is_what_the_first_release_has_decided(composition):
    def said(*releases):
        budget = PrivacyBudget(epsilon=0.93, delta=1e-5, composition=composition)
        for event, part in releases:
            spend(budget, event, partition=part)
        return data_of(budget)["ceiling"]["adds_up"], "μ = " in budget.report()

    large, gaussian = PureDPEvent(0.93), composition == "gdp"
    own, shows_mu = said((GDPEvent(0.01), None))
    assert shows_mu is gaussian
    assert "ε and δ" not in own
    basic, shows_mu = said((large, None))
    assert not shows_mu
    assert basic.startswith("ε and δ add up (fully adaptive), since the first release was outside")
    for open_still in (said(), said((SMALL, "a"))):
        assert open_still == (
            f"{own}; but ε and δ if the first release is outside of these limits",
            False,
        )
    mixed = said((large, "a"), (SMALL, "b"))
    assert mixed == (f"ε and δ add up (fully adaptive) on some parts; on others, {own}", False)


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_the_gain_at_the_limit_is_explained(composition):
    """The report says why it is large and names a budget for which it is as small as it says."""
    delta = 0.0 if composition == "pure" else 1e-5
    budget = PrivacyBudget(epsilon=3.0, delta=delta, composition=composition)
    adds_epsilon = composition in ("basic", "pure")
    why = "noise of each release may" if adds_epsilon else "first release that reads all records"
    text = budget.report()
    assert why in text
    if delta:
        strict = data_of(PrivacyBudget(epsilon=3.0, delta=delta, slack=0.0, strict=True))["ceiling"]
        advantage = 100 * strict["risk"]["advantage of the best membership test"]
        said = float(re.search(r"test is then at most ([\d.]+) %", text)[1])
        assert said == pytest.approx(advantage, abs=0.01)
    spend(budget, GDPEvent(0.1) if delta else PureDPEvent(0.1), delta)
    assert ("Only a budget with a smaller limit" in budget.report()) is not adds_epsilon


def test_the_explanation_names_a_first_release_outside_of_the_limits():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    spend(budget, PureDPEvent(0.99))
    assert "a first release was outside of the limits of gdp" in budget.report()


def test_a_promise_is_stated():
    text = PrivacyBudget.from_risk(advantage=0.1).report()
    assert "nowhere below that of N(0.251" in text
    assert "nowhere below" not in PrivacyBudget(epsilon=1.0, delta=1e-5).report()


@pytest.mark.parametrize("format", FORMATS)
def test_tags_shares_and_processes_are_for_internal_use(format, budget):
    spend(budget.share(epsilon=1.0, name="team-quokka"), tag="tag-wombat")
    process = budget.history()[0]["process"]
    shares_own = budget.share(epsilon=1.0, name="team-quokka").report(format)
    assert "team-quokka" not in shares_own
    if format != "json":
        assert "This is a share of a budget of" in shares_own
    public, internal = (
        budget.report(format, audience=audience) for audience in ("public", "internal")
    )
    for secret in ("team-quokka", "tag-wombat", budget.head):
        assert secret not in public
        assert secret in internal
    columns = [set(data_of(budget, audience=a)["releases"][0]) for a in ("public", "internal")]
    assert columns[1] - columns[0] == {"tag", "account", "process", "role"}
    assert str(process) in internal


@pytest.mark.parametrize("where", ["name", "tag", "partition", "about", "checked"])
def test_no_text_of_a_user_is_markup(where):
    budget, more = PrivacyBudget(epsilon=2.0, delta=1e-5), {}
    if where == "about":
        more = {"about": {"intended_use": NASTY}}
    elif where == "checked":
        more = {"checked": [NASTY]}
    spend(budget, **{where: NASTY} if not more else {})
    text = budget.report("markdown", audience="internal", **more)
    assert "<script" not in text
    assert r"\*a\* \[b\](javascript:c) \`d\` \\ \_e\_ \# \$f\$ new" in text
    assert r"line http\://a.b WWW\.c.d e\@f.g" in text
    rows = [line for line in text.splitlines() if line.startswith("| 1 |")]
    assert len(rows) == 1
    plain = PrivacyBudget(epsilon=2.0, delta=1e-5)
    spend(plain)
    (expected,) = (
        line for line in plain.report(audience="internal").splitlines() if line.startswith("| 1 |")
    )
    assert rows[0].replace(r"\|", "").count("|") == expected.count("|")


@pytest.mark.parametrize("format", FORMATS)
def test_nobody_meets_characters_that_are_not_seen(format, budget):
    unseen = "\x1b\x9b\xad\u061c\u200b\u200f\u2028\u202e\u2060\u2069\ufeff\U000e0041"
    spend(budget, name=f"seen{unseen}é ✓")
    text = budget.report(format)
    assert not {*unseen} & {*text}
    if format != "json":
        assert f"seen{' ' * len(unseen)}é ✓" in text


@pytest.mark.parametrize("format", FORMATS)
def test_a_text_that_no_file_can_hold_is_no_obstacle(format, budget):
    spend(budget, name="half \ud800 of a pair")
    assert budget.report(format, about={"notes": "\udfff"}).encode()


def test_json_is_strict_and_goes_there_and_back():
    budget = PrivacyBudget(epsilon=2.0, delta=1e-5, composition="basic")
    spend(budget, PureDPEvent(0.5), 0.0, name="é ✓")
    data = data_of(budget, about={"name": NASTY})
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["deployment"]["basic"]["name"] == NASTY
    assert data["releases"][0]["label"] == "é ✓"


def test_a_sampler_near_its_target_is_said_to_be():
    budget = PrivacyBudget(epsilon=2.0, delta=1e-5, tv=1e-8)
    spend(budget, ApproximatedEvent(GDPEvent(0.1), 1e-9))
    assert (
        data_of(budget)["releases"][0]["proof"]
        == "by the theorem, within a total variation of 1e-09"
    )


@pytest.mark.parametrize("place_of", ["share", "budget"])
def test_a_share_reports_its_own_releases_under_its_own_ceiling(place_of, budget):
    share = budget.share(epsilon=1.0, name="a")
    spend(budget, name="of the budget")
    spend(share, name="of the share")
    data = data_of(share if place_of == "share" else budget)
    assert data["meter"]["n_releases"] == (1 if place_of == "share" else 2)
    assert data["ceiling"]["epsilon"] == (1.0 if place_of == "share" else 3.0)
    assert (data["ceiling"]["of"] or {}).get("epsilon") == (3.0 if place_of == "share" else None)
    assert "share 'a' of a budget" in share.report(audience="internal")


def test_a_report_of_a_file_or_a_server_is_the_same(place):
    budget, plain = (
        PrivacyBudget(epsilon=2.0, delta=1e-5, path=place),
        PrivacyBudget(epsilon=2.0, delta=1e-5),
    )
    for one in (budget, plain):
        spend(one, partition=3)
    first, second = data_of(budget), data_of(plain)
    for data in (first, second):
        del data["releases"][0]["time"], data["releases"][0]["last_time"]
    assert first == second


def test_a_report_of_neighboring_data_is_the_same_and_spends_nothing():
    """Times and the head aside, which say when; no value of a record can be in it."""
    rng, reports = np.random.default_rng(), []
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    for value in (0.123456, 987654.0):
        X[7] = value
        budget = PrivacyBudget(epsilon=2.0, delta=1e-5)
        DPLogisticRegression(epsilon=1.0, classes=[0, 1], budget=budget).fit(X, y)
        before = budget.head
        for format in FORMATS:
            budget.report(format, audience="internal")
        data = data_of(budget, audience="internal")
        assert budget.head == before
        assert data.pop("head") == before
        del data["releases"][0]["time"], data["releases"][0]["last_time"]
        assert "987654" not in json.dumps(data)
        reports.append(data)
    assert reports[0] == reports[1]


def test_findings_are_told_and_so_is_that_nobody_looked(budget):
    leaks = check_pipeline(make_pipeline(StandardScaler(), DPLogisticRegression()))
    assert "StandardScaler" in budget.report(checked=leaks)
    assert "found no leaks. This is not a proof that there are none." in budget.report(checked=[])
    assert "were not checked" in budget.report()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"format": "pdf"}, "format must be one of"),
        ({"audience": "press"}, "audience must be one of"),
        ({"about": {"color": "red"}}, r"no fields \['color'\]"),
    ],
)
def test_what_is_unknown_is_refused(more, message):
    with pytest.raises(ValueError, match=message):
        PrivacyBudget(epsilon=1.0, delta=1e-5).report(**more)


# -- the record of the public register of deployments, as its schema of July 2026 wants it --------

SECTIONS = {
    "basic": {
        "name", "data_curators", "intended_use", "data_product_type", "data_product_region",
        "description", "publication_date", "data_product_sector",
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        "privacy_unit", "privacy_unit_details", "privacy_parameters", "privacy_parameters_details",
    },
    "deployment_model": {
        "model_name", "model_name_details", "actors", "release_type", "release_type_details",
        "data_source_type", "data_source_type_details", "access_type", "access_type_details",
    },
    "accounting": {"post_processing", "composition"},
    "implementation": {"preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"},
    "administrative": {"sources", "notes", "registry_authors"},
}  # fmt: skip
MORE = {
    "data_product_sector": "Healthcare",
    "actors": "A hospital",
    "release_type": "Many releases",
    "data_source_type": "Static",
    "data_source_type_details": "One winter",
    "access_type": "Non-interactive",
    "access_type_details": "A page",
    "post_processing": "None",
    "justification": "A pilot",
    "sources": "A paper",
    "notes": "None",
    "registry_authors": "Ada",
}


def record_of(budget, **more):
    return json.loads(budget.report("register", about=ABOUT | more))


def fields_of(record):
    return {name: value for own in record["deployment"].values() for name, value in own.items()}


@pytest.mark.parametrize("composition", [*COMPOSITIONS, "pure"])
def test_a_record_has_the_fields_of_the_register(composition, neighboring):
    pure = composition == "pure"
    terms = {"composition": composition, "neighboring": neighboring}
    budget = PrivacyBudget(epsilon=2.0, delta=0.0 if pure else 1e-6, **terms)
    spend(budget, PureDPEvent(0.1) if pure else SMALL, 0.0 if pure else 1e-6)
    bare, whole = record_of(budget), record_of(budget, **MORE)
    assert {k: {*own} for k, own in whole["deployment"].items()} == SECTIONS
    assert (bare["tier"], whole["tier"], bare["status"]) == (1, 3, "Draft")
    assert bare["url_slug"][:-5] == "re-admissions-by-ward-st-anna-bern"
    fields = fields_of(bare)
    assert len(fields) == 6 + 14  # six are stated by hand
    assert fields["publication_date"] == budget.history()[0]["time"][:10]
    parameters = fields["privacy_parameters"]
    assert (parameters["epsilon"], parameters["delta"]) == (2.0, budget.delta)
    assert ("rho" in parameters) is (composition == "zcdp")
    for name, value in fields_of(whole).items():
        kind = {"data_curators": list, "registry_authors": list, "privacy_parameters": dict}
        assert isinstance(value, kind.get(name, str))


VARIANTS = {
    "gdp": "Custom",
    "zcdp": "Zero-concentrated DP",
    "rdp": "Renyi DP",
    "basic": "Approximate DP",
}


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_the_variant_is_what_holds_for_all_releases(composition):
    def variant(*events, **more):
        budget = PrivacyBudget(epsilon=1.0, delta=1e-6, composition=composition, **more)
        for event in events:
            spend(budget, event)
        fields = fields_of(record_of(budget, publication_date="2026-01-01"))
        assert fields["publication_date"] == "2026-01-01"
        assert ("Limits: " in fields["privacy_parameters_details"]) is (
            fields["variant_name"] != "Approximate DP"
        )
        return fields["variant_name"]

    assert variant(SMALL) == VARIANTS[composition]
    assert variant() == variant(PureDPEvent(1.0)) == "Approximate DP"
    if composition == "gdp":
        assert variant(strict=True, slack=0.0) == "Custom"


def test_a_limit_of_zcdp_is_not_below_the_real_one_and_is_a_number_in_yaml():
    budget = PrivacyBudget(epsilon=1e-4, delta=1e-6, composition="zcdp")
    spend(budget, GDPEvent(1e-8))
    text = budget.report("register", about=ABOUT)
    assert re.search(r'"epsilon": 0.0001,\n *"delta": 1.0e-06,\n *"rho": \d\.\d+e-\d+', text)
    rho = fields_of(json.loads(text))["privacy_parameters"]["rho"]
    assert budget._filter.limits[0] <= rho


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"name": ""}, r"requires \['name', 'publication_date'\]"),
        ({"notes": "seen"}, r"requires \['publication_date', 'registry_authors'\]"),
        ({"variant_name": "Pure DP"}, r"no fields \['variant_name'\]"),
    ],
)
def test_what_a_record_lacks_is_named(more, message):
    with pytest.raises(ValueError, match=message):
        record_of(PrivacyBudget(epsilon=1.0, delta=1e-5), **more)


def test_a_ledger_that_is_gone_has_no_report(tmp_path):
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, path=tmp_path / "a.db")
    (tmp_path / "a.db").unlink()
    with pytest.raises(BudgetClosedError):
        budget.report()


class ForeignEvent(GDPEvent):
    """An event that no table of this library lists."""


def test_an_event_of_another_library_is_shown_as_it_is_kept(budget):
    spend(budget, ForeignEvent(0.1))
    data = data_of(budget)
    assert data["releases"][0]["proof"].startswith("unknown")
    assert "Events: ForeignEvent." in data["deployment"]["implementation"]["mechanisms"]
    assert "ForeignEvent" in budget.report()


def test_pure_budgets_and_infinite_numbers_are_reported():
    budget = PrivacyBudget(epsilon=1.0, delta=0.0, composition="pure")
    spend(budget, LaplaceEvent(4.0), 0.0)
    data = data_of(budget)
    assert data["deployment"]["dp_variant"]["variant_name"] == "Pure DP"
    assert data["ceiling"]["risk"]["right guesses of membership, 50 % without the release"] == (
        pytest.approx(math.e / (1.0 + math.e))
    )


def test_a_composed_event_is_told_by_its_leaves_with_four_digits(budget):
    spend(budget, ComposedEvent((GDPEvent(0.0384840874), GDPEvent(0.05))))
    shown = budget.report()
    assert "GDPEvent(mu=0.03848) + GDPEvent(mu=0.05)" in shown
    assert "ComposedEvent" not in shown.split("## What is not protected")[0]


# -- sentences about the noise --------------------------------------------------------------------

ROWS = np.random.default_rng(0).uniform(-1.0, 1.0, (60, 2))
SIGNS = (ROWS[:, 0] > 0).astype(int)
DRAWN_EXACTLY = "drawn exactly; sums are exact"
NO_PROOF = "no proof for floating-point numbers is recorded"
NOISE = {
    "by hand": lambda budget: spend(budget),
    "safe": lambda budget: skdp.statistics.mean(ROWS, epsilon=0.1, bounds=(-1, 1), budget=budget),
    "computed": lambda budget: DPLogisticRegression(
        epsilon=0.1, solver="regularized_exponential", budget=budget
    ).fit(ROWS, SIGNS),
}


def correctness_of(budget):
    return data_of(budget)["correctness"]


@pytest.mark.parametrize(
    "mixture",
    [
        (),
        ("safe",),
        ("computed",),
        ("by hand",),
        ("safe", "computed"),
        ("computed", "by hand", "safe", "safe"),
    ],
    ids="+".join,
)
def test_sentences_about_noise_are_those_of_the_releases(mixture, budget):
    for kind in mixture:
        NOISE[kind](budget)
    said = correctness_of(budget)
    exact = mixture.count("safe")
    for sentence, count in {DRAWN_EXACTLY: exact, NO_PROOF: len(mixture) - exact}.items():
        assert (sentence in said) is (count > 0)
        assert f"{count}: " in said or not count
        assert (sentence in budget.report(FORMATS[len(mixture) % 2])) is (count > 0)
    assert f"Releases: {len(mixture)}." in said if mixture else said == "Nothing was released."


EXACT = {"noisy_gd", "dp_sgd", "objective_perturbation", "output_perturbation", "adassp"}


def test_other_solvers_and_every_sampler_are_said_to_compute_in_floating_point():
    budget = PrivacyBudget(epsilon=100.0, delta=1e-3, composition="basic")
    for solver in SOLVERS:
        model = DPLinearRegression if solver == "adassp" else DPLogisticRegression
        more = {"target_bounds": (0, 1)} if solver == "adassp" else {}
        more |= {"delta": 0.0 if solver == "exponential_mechanism" else 1e-6}
        model(epsilon=0.5, solver=solver, budget=budget.at(name=solver), **more).fit(ROWS, SIGNS)
    samplers = {**SAMPLERS, **REFERENCE_SAMPLERS}
    for name, sampler in samplers.items():
        guarantee = PrivacyGuarantee(SMALL, "replace_one", sampler.theorem)
        budget.spend(guarantee, delta=1e-6, name=name)
    said = {row["label"]: row["arithmetic"] for row in data_of(budget)["releases"]}
    assert len(said) == len(SOLVERS) + len(samplers)
    for name, sentence in said.items():
        assert (DRAWN_EXACTLY if name in EXACT else NO_PROOF) in sentence, name


def test_a_release_without_a_theorem_is_not_called_proved():
    budget = PrivacyBudget(epsilon=2.0, delta=1e-5, composition="basic")
    budget.spend(PrivacyGuarantee(SMALL, "replace_one", ""), delta=1e-6, name="by hand")
    assert data_of(budget)["releases"][0]["proof"] == "not stated"
    assert "With a theorem: 0." in correctness_of(budget)
    spend(budget, ApproximatedEvent(SMALL, 1e-9))
    assert NO_PROOF in data_of(budget)["releases"][1]["arithmetic"]


@pytest.mark.parametrize("exact", [False, True])
def test_a_bare_event_has_neither_a_proof_of_its_arithmetic_nor_none(exact, budget):
    budget.spend(PrivacyGuarantee(SMALL, "replace_one", "", exact=exact), delta=1e-6)
    assert data_of(budget)["releases"][0]["arithmetic"] == "not stated"
    assert correctness_of(budget).endswith("With a theorem: 0. By their noise: 1: not stated.")
    assert not any(said in budget.report() for said in (DRAWN_EXACTLY, NO_PROOF))
