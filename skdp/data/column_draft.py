"""What a reader of metadata finds about a column, and what is left to be confirmed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from reprlib import repr as short
from typing import Any

import numpy as np

from skdp.data.column import is_missing
from skdp.data.column_schema import OF_EVERY_KIND, ColumnSchema, moment_of, number_of, text_of

NUMBERS = ("number", "integer")
_FORMATS = ("decimal", "thousands", "affixes")
# The letters with which names of types begin in NumPy, pandas, polars, Arrow and pandera.
_KINDS = {
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("int", "uint"), "integer"),
    **dict.fromkeys(("float", "double", "halffloat", "decimal"), "number"),
    **dict.fromkeys(("datetime", "date", "timestamp"), "date"),
    **dict.fromkeys(("category", "categorical", "dictionary", "enum"), "category"),
}
_ALTERNATIVES = re.compile(r"\^?\(?(?:\?:)?([\w -]+(?:\|[\w -]+)+)\)?\$?")


@dataclass
class ColumnDraft:
    """Facts about a column, which readers add one by one.

    A fact that makes no sense leaves the column open, and so does an error of a reader.
    """

    facts: dict[str, Any]  # for `ColumnSchema`
    kind: str | None = None
    unread: list[str] = field(default_factory=list)
    lows: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)
    categories: list[Any] | None = None

    def check(self, given: Mapping[str, Any], known: Collection[str] = ()) -> None:
        """List the keys that a reader does not know."""
        self.unread += unknown_keys(given, known)

    def limit(self, low: object = None, high: object = None, *, is_open: bool = False) -> None:
        """Add bounds. Those of integers are integers, 1 beyond an open bound that is one."""
        for end, ends, sign in ((low, self.lows, 1.0), (high, self.highs, -1.0)):
            if end is not None and self.kind in (None, *NUMBERS, "date"):
                value = self._number(end)
                if self.kind == "integer" and math.isfinite(value):
                    floor = math.floor(sign * value)
                    value = sign * (floor + float(is_open or floor < sign * value))
                ends.append(value)

    def among(self, values: Iterable[Any]) -> None:
        """Keep the categories that are among some values, in the order of the first ones."""
        known = sorted(values, key=str) if isinstance(values, (set, frozenset)) else [*values]
        known = [self._category(one) for one in known if not is_missing(one)]
        texts = {text_of(one) for one in known}
        before = known if self.categories is None else self.categories
        self.categories = [one for one in before if text_of(one) in texts]

    def cannot_read(self, given: Mapping[str, Any]) -> None:
        """Leave the column open because its cells cannot be read as they are written."""
        if unread := unknown_keys(given):
            self.kind, self.unread = None, [*self.unread, *unread]

    def match(self, pattern: str, key: str) -> None:
        """Add the categories that a regular expression lists; any other one is left to check."""
        found = _ALTERNATIVES.fullmatch(pattern) if self.kind is None else None
        if found:
            self.among(found[1].split("|"))
        else:
            self.check({key: pattern})

    def _number(self, end: object) -> float:
        formats = {name: self.facts[name] for name in _FORMATS if name in self.facts}
        value = number_of(end, ColumnSchema(kind="number", **formats))
        if self.kind == "date" or math.isnan(value):
            value = moment_of(end, self.facts.get("date_format"))
        if math.isnan(value):
            raise ValueError(f"the bound {end!r} is no value of the column.")
        return value

    def _category(self, value: Any) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        if any(self.facts.get(name) for name in ("date_format", "thousands", "affixes")):
            raise ValueError(f"the value {value!r} has the format of its column.")
        if self.kind in NUMBERS:
            value = self._number(value)
            return int(value) if value.is_integer() else value
        return value if isinstance(value, (str, bool, int, float)) else text_of(value)

    def column(self, read: Callable[..., None], *given: Any) -> ColumnSchema:
        """Return the column after a reader has added its facts; it is open if they make none."""
        error = None
        try:
            read(self, *given)
            facts = self._facts()  # which may change the kind
            return ColumnSchema(kind=self.kind, **facts, unread=tuple(self.unread))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as odd:
            error = odd
        self.check({"fill": self.facts.pop("fill", None)})
        unread = (*self.unread, f"check what could not be read: {error}")
        own = {k: self.facts[k] for k in ("source", "drafted", *OF_EVERY_KIND) if k in self.facts}
        try:
            return ColumnSchema(kind=None, **own, unread=unread)
        except (TypeError, ValueError):
            return ColumnSchema(kind=None, source=own["source"], unread=unread)

    def _facts(self) -> dict[str, Any]:
        """Return the facts about the column, with its bounds or categories."""
        facts, missing = self.facts, self.facts.get("missing_values", ())
        if self.kind in ("id", "ignored"):
            self.unread *= self.kind == "id"
            return {k: facts[k] for k in ("source", "missing_values", "aliases") if k in facts}
        low, high = max(self.lows, default=-math.inf), min(self.highs, default=math.inf)
        if self.categories is not None and self.kind != "boolean":
            numbers, codes = self.kind in NUMBERS, {*map(text_of, missing)}
            known = [one for one in self.categories if not numbers or low <= one <= high]
            facts["categories"] = [one for one in known if text_of(one) not in codes]
            self.kind, facts = "category", {k: facts[k] for k in facts if k not in _FORMATS}
        elif self.kind in (*NUMBERS, "date") and -math.inf < low and high < math.inf:
            facts["bounds"] = (low, high) if self.kind in NUMBERS else (_date(low), _date(high))
        elif low > -math.inf or high < math.inf:
            self.unread.append(f"state bounds or categories within ({low:g}, {high:g})")
        # An empty cell is missing anyway unless it may be a text.
        facts["missing_values"] = [one for one in missing if one != "" or self.kind is None]
        return facts


def _date(seconds: float) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=seconds)


def unknown_keys(given: Mapping[str, Any], known: Collection[str] = ()) -> list[str]:
    """Describe the keys that a reader does not know, and their values.

    Annotations are left out: keys with a colon belong to other namespaces, and those that begin
    with @ or $ to JSON-LD and JSON Schema.
    """
    return [
        f"check {key}={short(value)}, which was not read"
        for key, value in given.items()
        if key not in known and not (":" in key or key.startswith(("@", "$"))) and value is not None
    ]


def by_name(columns: Iterable[tuple[Hashable, Any]]) -> dict[Hashable, Any]:
    """Return columns by name; raise ValueError if a name is missing or occurs twice."""
    found: dict[Hashable, Any] = {}
    for name, column in columns:
        if not isinstance(name, str):
            raise ValueError(f"column {name!r}: the metadata must give a name, a string.")
        if name in found:
            raise ValueError(f"column {name!r}: the metadata describe it twice.")
        found[name] = column
    return found


def listed(what: str, value: Any, kind: type = str) -> list[Any]:
    """Return the names in a property of metadata, or its objects if `kind` is a mapping."""
    found = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(found, (list, tuple)) or not all(isinstance(one, kind) for one in found):
        form = "the name of a column or a list of names" if kind is str else "a list of objects"
        raise ValueError(f"{what} must be {form}, got {short(value)}.")
    return [*found]


def kind_of_type(dtype: object) -> str | None:
    """Return the kind of the values of a type of a column, by its name."""
    found = re.match("[a-z]+", str(dtype).lower())
    return _KINDS.get(found[0]) if found else None
