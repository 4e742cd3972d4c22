"""Formats of a report: Markdown, HTML and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any
from unicodedata import category

from skdp.budget.recorded_event import recorded_event
from skdp.ledger.release import number
from skdp.support.digits import at_least

_LONGEST = 160  # characters of an event in a table; JSON is not shortened
_DECIMALS = re.compile(r"\d+\.\d+(e[+-]?\d+)?")
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # Unicode categories
_MARKUP = re.compile(r"[\\`*_{}\[\]|~#$^@]|:(?=//)|(?<=www)\.", re.IGNORECASE)


@dataclass(frozen=True)
class Section:
    """A heading, lines, and a table whose first row is its head."""

    title: str
    lines: Sequence[str] = ()
    table: Sequence[Sequence[object]] = ()


def as_json(data: dict[str, Any]) -> str:
    """Return strict JSON; infinities are the string "inf"."""
    return json.dumps(data, indent=1, allow_nan=False)


def as_markdown(data: dict[str, Any]) -> str:
    """Return Markdown in which strings from users are escaped."""
    blocks = [f"# {_TITLE}"]
    for section in _sections(data):
        blocks.append(f"## {section.title}")
        blocks += ["\n".join(f"- {_in_markdown(line)}" for line in section.lines)]
        blocks += ["\n".join(_markdown_rows(section.table))]
    return "\n\n".join(filter(None, blocks)) + "\n"


def as_html(data: dict[str, Any]) -> str:
    """Return an HTML page without scripts."""
    body = [f"<h1>{escape(_TITLE)}</h1>"]
    for section in _sections(data):
        body.append(f"<h2>{escape(section.title)}</h2>")
        lines = "\n".join(f"<li>{escape(_plain(line))}</li>" for line in section.lines)
        body.append(f"<ul>\n{lines}\n</ul>" if lines else "")
        body.append(_html_table(section.table) if section.table else "")
    text = "\n".join(filter(None, body))
    return f"{_HEAD}\n<body>\n{text}\n</body>\n</html>\n"


FORMATS: dict[str, Callable[[dict[str, Any]], str]] = {
    "markdown": as_markdown,
    "html": as_html,
    "json": as_json,
}
"""The formats by name."""

_TITLE = "Report of a privacy budget"
_HEAD = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{_TITLE}</title>
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; }}
table {{ border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto; }}
td, th {{ border: 1px solid #bbb; padding: .25em .6em; text-align: left; vertical-align: top; }}
th {{ background: #eee; }}
td {{ overflow-wrap: break-word; }}
</style>
</head>"""


def _sections(data: dict[str, Any]) -> Iterator[Section]:
    yield _protected(data["protected"])
    yield _ceiling(data["ceiling"], data["meter"])
    yield _releases(data, [*_of_partitions(data), *data["notices"]])
    yield Section("What is not protected", [*data["not_protected"], *_findings(data["checked"])])
    hazards = [[row["hazard"], row["skdp"], row["you"]] for row in data["hazards"]]
    head = ["hazard (NIST SP 800-226)", "provided by skdp", "left to you"]
    yield Section("Hazards", table=[head, *hazards])
    fields = [[name, _number(value)] for name, value in data["deployment"].items()]
    yield Section("For a register of deployments", table=[["field", "value"], *fields])


def _protected(found: dict[str, Any]) -> Section:
    lines = [
        f"Unit of privacy: one {found['unit']}.",
        f"Neighboring data sets ({found['neighboring']}): {found['neighbors']}.",
        f"Trust model: {found['trust_model']}",
    ]
    return Section("What is protected", lines)


def _ceiling(ceiling: dict[str, Any], meter: dict[str, Any]) -> Section:
    risks = [
        [name, _share(risk), _share(meter["risk"][name])] for name, risk in ceiling["risk"].items()
    ]
    return Section(
        "How much may be learned",
        [*_of_ceiling(ceiling), _of_meter(meter), ceiling["risk_explained"]],
        [
            ["an attacker who knows all other records", "at the limit (guarantee)", "so far"],
            *risks,
        ],
    )


def _of_ceiling(ceiling: dict[str, Any]) -> Iterator[str]:
    pair = _pair(ceiling)
    yield (
        f"Limit (the guarantee): all releases together are {pair}, even if each was chosen after "
        "seeing the results of those before."
    )
    if ceiling["of"] is not None:
        name = "a share" if ceiling["share"] is None else f"the share {ceiling['share']!r}"
        yield (
            f"This is {name} of a budget of {_pair(ceiling['of'])}. Its limit holds for releases "
            "that are not chosen after seeing releases of other shares; the limit of the budget "
            "holds for all."
        )
    mu = ceiling["gdp_mu"]
    parameter = "" if mu is None else f", up to μ = {_number(mu)}"
    yield f"Composition {ceiling['composition']}: {ceiling['adds_up']}{parameter}."
    if ceiling["strict"]:
        yield (
            f"Strict: the trade-off function of all releases together is nowhere below that of "
            f"N({_number(mu)}, 1) against N(0, 1). Releases that no Gaussian covers are rejected."
        )
    if ceiling["exact"]:
        yield "Exact: releases without a theorem about machine numbers are rejected."


def _of_meter(meter: dict[str, Any]) -> str:
    return (
        f"Releases so far: {meter['n_releases']}. For information only: a list of releases fixed "
        f"in advance would be {_pair(_not_less(meter))}."
    )


def _of_partitions(data: dict[str, Any]) -> Iterator[str]:
    """Yield the number of records in each named partition, or several numbers that were read."""
    if data["partitions"]:
        yield "A replaced record stays in its partition. With folds by ID, the person keeps the ID."
    for part, sizes in data["partitions"].items():
        yield f"Partition {part!r}: {', '.join(map(str, sizes))} {data['protected']['unit']}s."


def _releases(data: dict[str, Any], notices: list[str]) -> Section:
    rows, head = data["releases"], data.get("head")
    hidden = _OF_SEVERAL if all(row["releases"] == 1 for row in rows) else ()
    names = [name for name in _COLUMNS if any(name in row for row in rows) and name not in hidden]
    table = [[_COLUMNS[name] for name in names]]
    table += [[_cell(name, row[name]) for name in names] for row in rows]
    covers = "Head of the ledger, which covers its terms and every release"
    lines = [*notices, *([] if head is None else [f"{covers}: {head}"])]
    if not rows:
        return Section("Releases", ["None so far.", *lines])
    return Section("Releases", lines, table)


_COLUMNS = {
    "number": "no.",
    "releases": "releases",
    "time": "time (UTC)",
    "last_time": "last",
    "label": "label",
    "account": "share",
    "part": "part",
    "event": "event",
    "epsilon": "ε",
    "delta": "at δ",
    "theorem": "theorem",
    "proof": "proof",
    "arithmetic": "noise",
    "version": "skdp",
    "tag": "tag",
    "process": "process",
    "role": "role",
}

_OF_SEVERAL = ("releases", "last_time")  # say nothing more if each row is one release


def _cell(name: str, value: Any) -> str:
    if name == "event":
        text = _event_text(_with_infinities(value))
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    if name == "part" and value is None:
        return "all"
    if name in ("time", "last_time"):
        return str(value)[:19].replace("T", " ")
    return _number(value)


def _event_text(data: dict[str, Any]) -> str:
    if (event := recorded_event(data)) is None:
        return str(data)
    leaves = [*event.leaves()]
    texts = (f"{count} × {leaf!r}" if count > 1 else repr(leaf) for leaf, count in leaves)
    return _DECIMALS.sub(lambda found: f"{float(found[0]):.4g}", " + ".join(texts))


def _with_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_infinities(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_with_infinities(entry) for entry in value]
    return number(value) if value == "inf" else value


def _findings(found: list[str] | None) -> list[str]:
    if found is None:
        return ["The steps around the private fits were not checked for this report."]
    if not found:
        return ["check_pipeline found no leaks. This is not a proof that there are none."]
    return [f"Found by check_pipeline: {one}" for one in found]


def _not_less(amount: dict[str, Any]) -> dict[str, Any]:
    """Round the spent amounts up to the printed digits."""
    return {name: at_least(number(amount[name])) for name in ("epsilon", "delta")}


def _pair(amount: dict[str, Any]) -> str:
    return f"(ε = {at_least(amount['epsilon']):g}, δ = {at_least(amount['delta']):g})-DP"


def _share(probability: float) -> str:
    return f"{at_least(100.0 * probability, 4):g} %"


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plain(text: object) -> str:
    """Return one line of text, without invisible and direction-changing characters."""
    return "".join(" " if category(one) in _UNSEEN else one for one in str(text))


def _in_markdown(text: object) -> str:
    return _MARKUP.sub(r"\\\g<0>", escape(_plain(text), quote=False))


def _markdown_rows(table: Sequence[Sequence[object]]) -> list[str]:
    rows = [f"| {' | '.join(map(_in_markdown, row))} |" for row in table]
    return [*rows[:1], "|" + "---|" * len(table[0]), *rows[1:]] if rows else []


def _html_table(table: Sequence[Sequence[object]]) -> str:
    head, *rows = ([escape(_plain(cell)) for cell in row] for row in table)
    lines = ["<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    return "<table>\n" + "\n".join(lines) + "\n</table>"
