"""What is said of a budget: a report on its ledger, displays, and why it admits no release."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from html import escape
from typing import Any
from unicodedata import category

from skdp.accounting import gdp_mu
from skdp.budget.filters import FILTERS, Amount, Filter
from skdp.exceptions import BudgetExceededError
from skdp.ledger.release import (
    EVERY,
    EXACT,
    PEAK,
    UNREADABLE,
    VERSION,
    Amounts,
    Entry,
    Release,
    finite,
    minus,
    owns,
    scope_of,
)
from skdp.ledger.store import Group, SpendRequest
from skdp.privacy import (
    AttackRisk,
    Event,
    GaussianCurve,
    Neighboring,
    NonPrivateEvent,
    Unit,
    event_from_dict,
)
from skdp.privacy.neighboring import Composition
from skdp.privacy.noise_events import ApproxDPCurve
from skdp.support.display import at_least, at_most
from skdp.support.validation import check_choice

FORMATS = ("markdown", "json", "register")
_AUDIENCES = ("public", "internal")
_NOT_STATED, _SEVERAL = "not stated", "several"
# An event describes the release, not its computation: a mechanism on a grid and noisy gradient
# steps are both Gaussian DP. So the ledger says whether a release is exact.
_EXACT = "drawn exactly; sums are exact, or their rounding errors are bounded"
_NOT_EXACT = "no proof for floating-point numbers is recorded"
_OF_ENTRY = ("tag", "process", "role")  # fields that equal releases need not share
_SHOWN = ("label", "account", "part", "event", "epsilon", "delta")
_REQUIRED = (
    "name", "data_curators", "description", "intended_use", "data_product_type",
    "data_product_region", "publication_date",
)  # fmt: skip
_REGISTER = {  # the sections of a record of the public register of deployments
    "basic": (*_REQUIRED, "data_product_sector"),
    "dp_variant": ("variant_name", "data_domain", "unprotected_quantities"),
    "privacy_loss": (
        "privacy_unit", "privacy_unit_details", "privacy_parameters", "privacy_parameters_details",
    ),
    "deployment_model": (
        "model_name", "model_name_details", "actors", "release_type", "release_type_details",
        "data_source_type", "data_source_type_details", "access_type", "access_type_details",
    ),
    "accounting": ("post_processing", "composition"),
    "implementation": (
        "preprocessing_and_hyperparameter_tuning", "mechanisms", "justification",
    ),
    "administrative": ("sources", "notes", "registry_authors"),
}  # fmt: skip
_VARIANTS = {"gdp": "Custom", "zcdp": "Zero-concentrated DP", "rdp": "Renyi DP"}
_CURVE = (
    "For every ε ≥ 0, all releases together are (ε, δ)-DP with δ = Φ(μ/2 − ε/μ) − exp(ε)·Φ(−μ/2 − "
    "ε/μ) + slack + (1 + exp(ε))·tv, where Φ is the normal distribution function."
)
NEIGHBORS = {
    (Unit.RECORD, True): "one record is replaced by any other one; the number of records is public",
    (Unit.RECORD, False): "one record is added or removed; the number of records is private",
    (Unit.PERSON, True): "all records of one person are replaced by any records of another one; "
    "the number of persons is public, the number of records is private",
    (Unit.PERSON, False): "all records of one person are added or removed; the numbers of persons "
    "and of records are private",
    (Unit.PERSON_MONTH, True): "all records of one person in one month are replaced by any records "
    "of another one in that month; the number of persons in each month is public, the number of "
    "records is private",
    (Unit.PERSON_MONTH, False): "all records of one person in one month are added or removed; the "
    "numbers of persons and of records are private",
}
_TRUST = (
    "central: the curator, who runs the fits and holds the ledger, sees the records. Only releases "
    "from them are protected."
)
_ADDED = {
    "gdp": "squares of Gaussian-DP parameters add up (fully adaptive)",
    "zcdp": "ρ of zero-concentrated DP adds up (fully adaptive)",
    "rdp": "Rényi divergences at a fixed order add up (fully adaptive)",
    "basic": "ε and δ add up (fully adaptive)",
    "pure": "ε adds up, every δ is 0 (fully adaptive)",
}
UNPROTECTED = (
    "Public facts: bounds and norms, classes and categories, columns and their types, every "
    "parameter of an estimator, and rows that were declared public (PublicDirections). If one was "
    "read from the data, the guarantee does not cover it.",
    "Whether a fit raised an error because of its data, such as a label outside of the classes.",
    "Running time, memory and messages of other programs.",
    "Exact scores, plots or tables of private rows that were shown to anybody.",
    "Releases from the same records that were not spent from this ledger.",
)
_HEADS = {"number": "no.", "time": "time (UTC)", "last_time": "last", "account": "share"}
_HEADS |= {"epsilon": "ε", "delta": "at δ", "arithmetic": "noise", "version": "skdp"}
_LONGEST = 160  # characters of an event in a table; JSON is not shortened
_DECIMALS = re.compile(r"\d+\.\d+(e[+-]?\d+)?")
_NO_POINT = re.compile(r'^( *"\w+": \d+)e', re.MULTILINE)  # YAML takes 1e-06 for a string
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # Unicode categories
_MARKUP = re.compile(r"[\\`*_{}\[\]|~#$^@]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_Fields = tuple[dict[str, Any], list[str]]


class Report:
    """The report on a budget or a share, as `data`, which are functions of the ledger."""

    def __init__(
        self,
        budget: Any,
        audience: str,
        about: Mapping[str, object] | None,
        checked: Iterable[object] | None,
    ) -> None:
        check_choice("audience", audience, _AUDIENCES)
        self._budget, self._rule, self._is_internal = budget, budget._filter, audience == "internal"
        self._totals = budget._ledger.totals(budget._account)
        self._sums = self._totals.worst(self._rule.nothing)
        groups, notices = budget._ledger.groups(budget._account)
        releases = [one.first.release for one in groups]
        rows = [*map(self._row, releases, groups)]
        spent = self._rule.spent_at(self._sums)
        self.data: dict[str, Any] = {
            "report": "skdp budget",
            "version": 2,
            "audience": audience,
            "protected": {
                "unit": str(budget.unit),
                "neighboring": str(budget.neighboring),
                "neighbors": NEIGHBORS[budget.unit, budget.neighboring.count_is_public],
                "count_is_public": budget.neighboring.count_is_public,
                "trust_model": _TRUST,
            },
            "ceiling": self._ceiling(),
            "meter": {
                **spent._asdict(),
                "n_releases": sum(row["releases"] for row in rows),
                "risk": _risk(self._rule.curve_at(self._sums), spent),
            },
            "releases": rows,
            "correctness": _correctness(rows),
            "partitions": _sizes(releases),
            **({"whole_person": self._whole_person()} if budget.unit is Unit.PERSON_MONTH else {}),
            "notices": [*map(_notice, notices)],
            **({"head": budget.head} if self._is_internal else {}),  # it hashes the hidden fields
            "not_protected": [*UNPROTECTED],
            "checked": None if checked is None else [str(one) for one in checked],
        }
        self._fields, self._open = self._of_register(releases, dict(about or {}))
        fields = self._fields
        nested = {k: {n: fields[n] for n in own if n in fields} for k, own in _REGISTER.items()}
        self.data["deployment"] = {section: own for section, own in nested.items() if own}

    def json(self) -> str:
        return json.dumps(finite(self.data), indent=1, allow_nan=False)

    def register(self) -> str:
        """Return a record of the public register of deployments as JSON, which YAML contains."""
        fields, record = self._fields, self.data["deployment"]
        needed = (*_REQUIRED, *["registry_authors"] * ("administrative" in record))
        if missing := [name for name in needed if name not in fields]:
            raise ValueError(f"the register requires {missing}. State them in about=.")
        words = (fields["name"], "-".join(fields["data_curators"]), fields["publication_date"][:4])
        slug = "-".join(re.sub(r"\W+", "-", one.lower()).replace("_", "-") for one in words)
        tier = 1 + 2 * ({"release_type", "data_source_type", "access_type"} <= fields.keys())
        head = {"url_slug": slug, "status": "Draft", "tier": tier}
        text = json.dumps(head | {"deployment": finite(record)}, indent=1, allow_nan=False)
        return _NO_POINT.sub(r"\1.0e", text)

    def markdown(self) -> str:
        data, found = self.data, self.data["protected"]
        gain = data["meter"]["risk"]
        risks = [(k, _share(v), _share(gain[k])) for k, v in data["ceiling"]["risk"].items()]
        lines = [
            f"Unit of privacy: one {found['unit']}.",
            f"Neighboring data sets ({found['neighboring']}): {found['neighbors']}.",
            f"Trust model: {found['trust_model']}",
        ]
        attacker = ("an attacker who knows all other records", "at the limit (guarantee)", "so far")
        stated = [(one, _number(self._fields.get(one, _NOT_STATED))) for one in self._open]
        sections: Sequence[tuple[str, list[str], list[Any]]] = (
            ("What is protected", lines, []),
            ("How much may be learned", [*self._of_limit()], [attacker, *risks]),
            ("Releases", [*self._of_releases()], _table(data["releases"])),
            ("What is not protected", [*UNPROTECTED, *_findings(data["checked"])], []),
            ("For a register of deployments", [], [("field", "value"), *stated]),
        )
        blocks = ("# Report of a privacy budget", *(_section(*one) for one in sections))
        return "\n\n".join(blocks) + "\n"

    @property
    def _keeps_to_box(self) -> bool:
        """Whether the releases so far make it certain that the box always holds."""
        began = any(self._totals.get(EVERY, ())) and self._rule.fits(self._sums)
        return self._rule.strict or began

    def _ceiling(self) -> dict[str, Any]:
        rule, budget, in_box = self._rule, self._budget, self._keeps_to_box
        outer = None if budget._parent is None else budget._chain()[-1]._filter
        # Before the first release on all parts either rule may hold, so only (ε, δ) is certain.
        promise = rule.curve(rule.limits) if in_box else ApproxDPCurve(rule.epsilon, rule.delta)
        gaussian = rule.composition is Composition.GDP and in_box
        adds_up, explained = self._explained()
        return {
            **{name: getattr(rule, name) for name in ("epsilon", "delta")},
            "composition": str(rule.composition),
            "adds_up": adds_up,
            "gdp_mu": math.sqrt(rule.limits[0]) if gaussian else None,
            **{name: getattr(rule, name) for name in ("slack", "tv", "strict", "exact")},
            "share": (budget._account if self._is_internal else "") or None,
            "of": None if outer is None else {"epsilon": outer.epsilon, "delta": outer.delta},
            "risk": _risk(promise, Amount(rule.epsilon, rule.delta)),
            "risk_explained": explained,
        }

    def _explained(self) -> tuple[str, str]:
        """Return which costs add up, by the first release, and why the gain is that large."""
        rule, name = self._rule, self._rule.composition
        own, basic = _ADDED[name], _ADDED["basic"]
        if name.adds_epsilon:
            return own, self._remedy("the noise of each release may have any shape")
        if self._keeps_to_box:
            remedy = "Only a budget with a smaller limit lowers it."
            return own, f"The gain at the limit also covers future releases. {remedy}"
        if rule.fits(self._sums):
            reason = (
                "the first release that reads all records may have noise of any shape. It becomes "
                f"smaller after such a release within the limits of {name}"
            )
            adds_up = f"{own}; but ε and δ if the first release is outside of these limits"
            return adds_up, self._remedy(reason)
        outside = f"first release was outside of the limits of {name}"
        if rule.parts_differ(self._totals):
            return f"{basic} on some parts; on others, {own}", self._remedy(f"a {outside}")
        return f"{basic}, since the {outside}", self._remedy(f"a {outside}")

    def _remedy(self, reason: str) -> str:
        """Say why ε and δ alone decide on the gain, and what lowers it."""
        rule = self._rule
        remedy = "PrivacyBudget.from_risk makes a budget with a smaller gain from the start"
        if rule.delta > 0.0:
            advantage = AttackRisk(GaussianCurve(gdp_mu(rule.epsilon, rule.delta))).advantage
            remedy += (
                ", and so does strict=True: at this ε and δ, the advantage of the best membership "
                f"test is then at most {_share(advantage)}"
            )
        return f"The gain at the limit follows from ε and δ alone, because {reason}. {remedy}."

    def _of_register(self, releases: list[Release], about: dict[str, Any]) -> _Fields:
        """Return the known fields of the register, and the names of those that `about` states."""
        known = self._known(releases)
        days = sorted(row["time"][:10] for row in self.data["releases"])
        names = [one for own in _REGISTER.values() for one in own if one not in known]
        if unknown := sorted(map(str, about.keys() - {*names})):
            raise ValueError(f"about has no fields {unknown}; known: {names}.")
        first = {"publication_date": days[0]} if days else {}
        stated = {name: _stated(name, value) for name, value in about.items() if value}
        return known | first | stated, names

    def _known(self, releases: list[Release]) -> dict[str, Any]:
        """Return the fields of the register that follow from the ledger alone."""
        data, rule, protected = self.data, self._rule, self.data["protected"]
        unit, public = protected["unit"], protected["count_is_public"]
        sizes = sorted({one.n for one in releases if one.n is not None})
        count = [f"The number of {unit}s is public: {sizes}."] * public
        own = _VARIANTS.get(rule.composition) if self._keeps_to_box else None
        rho = {"rho": at_least(float(rule.limits[0]))} if own == _VARIANTS["zcdp"] else {}
        return {
            "variant_name": own or ("Approximate DP" if rule.delta else "Pure DP"),
            "data_domain": f"Data sets with {('any', 'the same')[public]} number of {unit}s.",
            "unprotected_quantities": " ".join([*count, *UNPROTECTED]),
            "privacy_unit": unit,
            "privacy_unit_details": protected["neighbors"],
            "privacy_parameters": {"epsilon": rule.epsilon, "delta": rule.delta} | rho,
            "privacy_parameters_details": " ".join([*self._of_limit(), *self._of_box()]),
            "model_name": "Central",
            "model_name_details": _TRUST,
            "release_type_details": f"Releases in the ledger: {data['meter']['n_releases']}. The "
            "limit covers all releases and is not renewed.",
            "composition": f"{data['ceiling']['adds_up']}. Of partitions, the largest sum counts.",
            "preprocessing_and_hyperparameter_tuning": f"{' '.join(_findings(data['checked']))} "
            "Every fit of a search that used the budget is part of its releases.",
            "mechanisms": _mechanisms(releases, data["correctness"]),
        }

    def _of_box(self) -> Iterator[str]:
        """Yield what the limits of the composition guarantee beyond one pair (ε, δ)."""
        rule = self._rule
        if self._keeps_to_box and rule.composition in _VARIANTS:
            pairs = zip(rule.units, map(float, rule.limits), strict=True)
            yield f"Limits: {', '.join(f'{name} ≤ {at_least(one):g}' for name, one in pairs)}."
            yield from [_CURVE] * (rule.composition is Composition.GDP)

    def _row(self, release: Release, group: Group) -> dict[str, Any]:
        row = {
            "number": group.first.number,
            "releases": group.number,
            "time": release.time,
            "last_time": group.last_time,
            **{name: getattr(release, name) for name in _SHOWN},
            "theorem": release.theorem or _NOT_STATED,
            "proof": _proof(release),
            "arithmetic": (_NOT_EXACT, _EXACT)[release.exact] if release.theorem else _NOT_STATED,
            "version": release.version or _NOT_STATED,
            **{n: getattr(release, n) if group.number == 1 else _SEVERAL for n in _OF_ENTRY},
        }
        hidden = () if self._is_internal else (*_OF_ENTRY, "account")
        return {name: value for name, value in row.items() if name not in hidden}

    def _of_limit(self) -> Iterator[str]:
        ceiling, meter = self.data["ceiling"], self.data["meter"]
        yield (
            f"Limit (the guarantee): all releases together are {_pair(ceiling)}, even if each was "
            "chosen after seeing the results of those before."
        )
        if ceiling["of"] is not None:
            name = "a share" if ceiling["share"] is None else f"the share {ceiling['share']!r}"
            yield (
                f"This is {name} of a budget of {_pair(ceiling['of'])}. Its limit holds for "
                "releases that are not chosen after seeing releases of other shares; the limit of "
                "the budget holds for all."
            )
        mu = ceiling["gdp_mu"]
        parameter = "" if mu is None else f", up to μ = {_number(mu)}"
        yield f"Composition {ceiling['composition']}: {ceiling['adds_up']}{parameter}."
        if ceiling["strict"]:
            yield (
                "Strict: the trade-off function of all releases together is nowhere below that of "
                f"N({_number(mu)}, 1) against N(0, 1). Releases that no Gaussian covers are "
                "rejected."
            )
        if ceiling["exact"]:
            yield "Exact: releases without a theorem about machine numbers are rejected."
        yield (
            f"Releases so far: {meter['n_releases']}. For information only: a list of releases "
            f"fixed in advance would be {_pair(meter)}."
        )
        yield ceiling["risk_explained"]

    def _whole_person(self) -> dict[str, float]:
        """Return the (ε, δ) of all releases for a person with records in every period."""
        rule, ledger, account = self._rule, self._budget._ledger, self._budget._account
        parts = ledger.scopes(account) - {EVERY, PEAK}
        sums = [ledger.totals(account, one.removeprefix(scope_of("")))[one] for one in parts]
        whole = reduce(lambda one, more: tuple(map(EXACT.add, one, more)), sums, rule.nothing)
        basic = Amount(*map(float, whole[-2:]))
        own = rule.amount(whole[:-2]) if all(map(rule.fits, sums)) else basic
        return {"n_periods": len(parts), **own._asdict()}

    def _of_releases(self) -> Iterator[str]:
        data = self.data
        whole = data.get("whole_person")
        if whole is not None and whole["n_periods"] > 1:
            yield (
                f"For a person with records in all {whole['n_periods']} periods so far, releases "
                f"of all periods add up: {_pair(whole)}. The limit is that of one period."
            )
        yield data["correctness"]
        if data["partitions"]:
            stays = "A replaced record stays in its partition. With folds by ID, the person keeps"
            yield f"{stays} the ID."
        for part, sizes in data["partitions"].items():
            yield f"Partition {part!r}: {', '.join(map(str, sizes))} {data['protected']['unit']}s."
        yield from data["notices"]
        if "head" in data:
            covers = "Head of the ledger, which covers its terms and every release"
            yield f"{covers}: {data['head']}"


def _risk(curve: Any, pair: Amount) -> dict[str, float]:
    """Return the gain of an attacker if the curve and the pair (ε, δ) both hold."""
    first, second = (AttackRisk(one).to_dict() for one in (curve, ApproxDPCurve(*pair)))
    return {name: min(risk, second[name]) for name, risk in first.items()}


def _sizes(releases: list[Release]) -> dict[str, list[int]]:
    """Return the numbers of records that releases on each named partition have read."""
    found: dict[str, set[int]] = {}
    for one in releases:
        if one.part is not None and one.n is not None:
            found.setdefault(one.part, set()).add(one.n)
    return {part: sorted(sizes) for part, sizes in sorted(found.items())}


def _notice(entry: Entry) -> str:
    data, what = json.loads(entry.content), f"Entry {entry.number}"
    if data["entry"] == "adoption":
        return f"{what}: copy adopted, the other copy is {data['other']}: {data['reason']}."
    return f"{what}: closed, because a copy was adopted: {data['reason']}."


def _proof(release: Release) -> str:
    if (recorded := _recorded_event(release.event)) is None:
        return "unknown: an event of another library or version"
    event, tv = recorded.ideal()
    if any(isinstance(leaf, NonPrivateEvent) for leaf, _ in event.leaves()):
        return "asymptotic: nothing is proved"
    if not release.theorem:
        return _NOT_STATED
    return f"by the theorem, within a total variation of {tv:.3g}" if tv else "by the theorem"


def _recorded_event(data: dict[str, Any]) -> Event | None:
    """Return the event, or None if this version cannot read it."""
    try:
        return event_from_dict(data)
    except UNREADABLE:
        return None


def _mechanisms(releases: list[Release], correctness: str) -> str:
    """Describe theorems, events, arithmetic and versions of releases."""
    theorems = sorted({one.theorem or _NOT_STATED for one in releases})
    events = [(one.event, _recorded_event(one.event)) for one in releases]
    known = [event for _, event in events if event is not None]
    kinds = {type(leaf).__name__ for event in known for leaf, _ in event.leaves()}
    kinds |= {str(data.get("kind")) for data, event in events if event is None}
    versions = sorted({one.version or _NOT_STATED for one in releases}) or [VERSION]
    found = f"{'; '.join(theorems)}. Events: {', '.join(sorted(kinds))}. " if releases else ""
    return f"{found}{correctness} Library: skdp {', '.join(versions)}."


def _stated(name: str, value: Any) -> str | list[str]:
    """Return a value as the register stores it: some of its fields are lists."""
    if name in ("data_curators", "registry_authors"):
        return [value] if isinstance(value, str) else [*map(str, value)]
    return str(value)


def _correctness(rows: list[dict[str, Any]]) -> str:
    """Count the releases with a theorem, and the releases by kind of noise."""
    if not rows:
        return "Nothing was released."
    counts = dict.fromkeys((_EXACT, _NOT_EXACT, _NOT_STATED), 0)
    for row in rows:
        counts[row["arithmetic"]] += row["releases"]
    every, proved = sum(counts.values()), counts[_EXACT] + counts[_NOT_EXACT]
    noise = "; ".join(f"{number}: {kind}" for kind, number in counts.items() if number)
    return f"Releases: {every}. With a theorem: {proved}. By their noise: {noise}."


def _section(title: str, lines: Sequence[str], table: Sequence[Sequence[object]]) -> str:
    """Return a heading, a list, and a table whose first row is its head."""
    rows = [f"| {' | '.join(map(_in_markdown, row))} |" for row in table]
    rows[1:1] = ["|" + "---|" * len(table[0])] if table else []
    items = "\n".join(f"- {_in_markdown(line)}" for line in lines)
    return "\n\n".join(filter(None, (f"## {title}", items, "\n".join(rows))))


def _table(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return the table of releases; two columns say nothing more if each row is one release."""
    if not rows:
        return []
    hidden = ("releases", "last_time") if all(row["releases"] == 1 for row in rows) else ()
    names = [name for name in rows[0] if name not in hidden]
    cells = [[_cell(name, row[name]) for name in names] for row in rows]
    return [[_HEADS.get(name, name) for name in names], *cells]


def _cell(name: str, value: Any) -> str:
    if name == "event":
        event, text = _recorded_event(value), str(value)
        if event is not None:
            leaves = [f"{k} × {leaf!r}" if k > 1 else repr(leaf) for leaf, k in event.leaves()]
            text = _DECIMALS.sub(lambda found: f"{float(found[0]):.4g}", " + ".join(leaves))
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    if name == "part" and value is None:
        return "all"
    if name in ("time", "last_time"):
        return str(value)[:19].replace("T", " ")
    return _number(value)


def _findings(found: list[str] | None) -> list[str]:
    if found is None:
        return ["The steps around the private fits were not checked for this report."]
    if not found:
        return ["check_pipeline found no leaks. This is not a proof that there are none."]
    return [f"Found by check_pipeline: {one}" for one in found]


def _pair(amount: dict[str, Any]) -> str:
    epsilon, delta = at_least(amount["epsilon"]), at_least(amount["delta"])
    return f"(ε = {epsilon:g}, δ = {delta:g})-DP"


def _share(probability: float) -> str:
    return f"{at_least(100.0 * probability, 4):g} %"


def _number(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _in_markdown(text: object) -> str:
    """Return one line of escaped text, without invisible and direction-changing characters."""
    plain = str(text)
    if not plain.isprintable():
        plain = "".join(" " if category(one) in _UNSEEN else one for one in plain)
    return _MARKUP.sub(r"\\\g<0>", escape(plain, quote=False))


_MOST_ROWS = 500  # a longer ledger is not read again for a message
_MUCH_MORE, _MOST_NAMED = 1.25, 3
_COMPARABLE = ("gdp", "basic", "zcdp")


class RefusedError(BudgetExceededError):
    """One handle does not admit a release."""

    def __init__(self, handle: Any, request: SpendRequest) -> None:
        super().__init__(f"{request.release.label} is not admitted.")
        self.handle, self.request = handle, request

    def message(self) -> str:
        has_few = self.request.number <= _MOST_ROWS
        return self._shortfall(self.handle._ledger.releases() if has_few else [])

    def _shortfall(self, releases: list[Release]) -> str:
        """Return the cost and the rest, and a composition that would admit the release.

        The release is quoted at its own δ, and as the budget counts it. `releases` are those of the
        ledger, none if there are too many.
        """
        handle, wanted = self.handle, self.request.release
        rule, before = handle._filter, self.request.before[handle._account]
        owner = f"the share {handle._account!r}" if handle._account else "the budget"
        if rule.exact and not wanted.exact:
            return (
                f"{wanted.label} is not admitted, because this budget is exact: no theorem about "
                "machine numbers covers it. Use solver='auto' or 'noisy_gd' with a smooth loss, "
                "and no kernel features."
            )
        if rule.parts_differ(before, wanted.part):
            return (
                f"{wanted.label} reads all partitions, which {owner} no longer admits: the first "
                f"release on one partition exceeded the limits of composition={rule.composition!r},"
                " so its epsilon and delta are added up. Use a single partition, or "
                "composition='basic'."
            )
        first = releases[: self.request.number]
        rows = [one for one in first if owns(handle._account, one.account)]
        sums = before.worst(rule.nothing, wanted.part)
        asked, left = Amount(wanted.epsilon, wanted.delta), rule.left_at(before, wanted.part)
        if rule.fits(sums):
            asked = rule.amount(rule.costs(wanted)[:-2])
        own = f"epsilon={wanted.epsilon:.6g} at delta={wanted.delta:.6g}"
        counted = f"epsilon={asked.epsilon:.6g} at delta={asked.delta:.6g}"
        here = "" if counted == own else f" counted here as {counted},"
        hint = _hint(rule, [*rows, wanted]) if rows or not any(sums) else ""
        return (
            f"{wanted.label} costs {own},{here} but {owner} of "
            f"epsilon={rule.epsilon:g}, delta={rule.delta:g} has only "
            f"epsilon={at_most(left.epsilon):g} at delta={at_most(left.delta):g} left for one more "
            f"release ({_sides(rule, wanted, sums)})."
            f"{_counted_at_more(rule, sums, rows)}{hint}"
        )


def _counted_at_more(rule: Filter, sums: Amounts, earlier: Iterable[Release]) -> str:
    """Return the earlier releases that a Gaussian budget counts at much more than their ε."""
    if rule.composition is not Composition.GDP or not rule.fits(sums):
        return ""
    asked = {(row.label, row.epsilon): row for row in earlier if row.delta <= rule.delta}
    counts = {key: rule.amount(rule.costs(row)[:-2]).epsilon for key, row in asked.items()}
    more = [
        f"{label} at epsilon={counted:.3g} instead of {epsilon:.3g}"
        for (label, epsilon), counted in counts.items()
        if counted > _MUCH_MORE * epsilon
    ]
    named = ", ".join(more[:_MOST_NAMED])
    return f" Releases that are not Gaussian count at more: {named}." if more else ""


def _sides(rule: Filter, wanted: Release, before: Amounts) -> str:
    """Return the cost and the rest for each limit that is exceeded."""
    units = (*rule.units, "epsilon", "delta")
    rows = [*zip(units, rule.costs(wanted), minus(rule.ceilings, before), strict=True)]
    counted = rows[:-2] if rule.fits(before) else rows[-2:]
    return "; ".join(
        f"{unit}: {float(asked):.6g} needed, {at_most(float(left)):g} left"
        for unit, asked, left in counted
        if asked > left
    )


def _hint(rule: Filter, releases: list[Release]) -> str:
    if rule.delta == 0.0:
        return ""
    ideal, tv = event_from_dict(releases[-1].event).ideal()
    if any(isinstance(leaf, NonPrivateEvent) for leaf, _ in ideal.leaves()):
        return " It has no privacy guarantee, so no finite budget admits it."
    if rule.strict:
        is_covered = not tv and math.isfinite(releases[-1].gdp_mu)
        why = " No Gaussian covers it, and a strict budget admits only what a Gaussian covers."
        return "" if is_covered else why
    if rule.takes_reserves and tv and not rule.tv:
        return (
            " Its sampler is not exact. Make the budget with tv=, a reserve for its total "
            "variation, or with composition='basic'."
        )
    is_gaussian = math.isfinite(ideal.gdp_mu(Neighboring(releases[-1].neighboring)))
    if rule.takes_reserves and not rule.slack and not is_gaussian:
        return (
            " It is not Gaussian DP. Make the budget with slack=, a part of delta for such "
            "releases, or with composition='rdp'."
        )
    for name in _COMPARABLE:
        kind = FILTERS[name]
        if not isinstance(rule, kind) and kind(rule.epsilon, rule.delta).admits(releases):
            return f" composition={name!r} would have admitted it."
    return ""
