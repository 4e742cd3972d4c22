"""Public facts about one column of a table, and its values as text and as dates."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from skdp.data.column import Column, furthest, is_missing
from skdp.support.types import Label
from skdp.support.validation import check_choice, check_count, check_real, check_size, set_checked

_WORD = re.compile(r"\w+")
KINDS = (
    *("number", "integer", "boolean", "category", "ordinal"),
    *("date", "text", "code", "id", "ignored"),
)
PARTS = {
    "weekday": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "month": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
}
"""Parts of dates and their categories."""
_NUMBERS = ("number", "integer")
_LISTED = ("category", "ordinal")
_HASHED = ("text", "code")
_LEFT_OUT = ("id", "ignored")
# The fields that apply to one kind only.
_OF_KIND = {
    "bounds": (*_NUMBERS, "date"),
    "scale": _NUMBERS,
    "categories": (*_LISTED, "text"),
    "buckets": _HASHED,
    "norm": ("text",),
    "parts": ("date",),
    "date_format": ("date",),
    "true_values": ("boolean",),
    "false_values": ("boolean",),
    "decimal": _NUMBERS,
    "thousands": _NUMBERS,
    "affixes": _NUMBERS,
    "separator": ("text",),
}
OF_EVERY_KIND = ("missing", "missing_values", "fill", "aliases")
"""Fields that a column keeps if its kind changes."""
_LISTS = ("missing_values", "true_values", "false_values", "aliases", "unread")
# From the first digit to the last one, with signs: a lost sign would make another number.
_NUMBER = re.compile(r"(?:[-+]\W{0,3})?[.,]?\d(?:.*\d)?(?:\s?-(?!\w))?", re.DOTALL)
_THREE_DIGITS = re.compile(r"\d{3}(?!\d)")
_N_BUCKETS = 64
_LONGEST_TEXT = 100.0  # Fourier features are exact for up to 10⁶ columns of such texts
_EPOCH = datetime(1970, 1, 1)
_UNSTATED = {
    "bounds": "state its bounds",
    "categories": "list the categories that may occur",
}


@dataclass(frozen=True, kw_only=True)
class ColumnSchema:
    """Public facts about one column of a table.

    Parameters
    ----------
    kind : str or None
        *Public.* ``"number"``, ``"integer"``, ``"boolean"``, ``"category"``,
        ``"ordinal"`` (categories in order), ``"date"``, ``"text"`` (a bag of hashed words),
        ``"code"`` (categories that are hashed), ``"id"`` (never a feature, but usable as groups) or
        ``"ignored"``. ``None``: not stated yet.
    bounds : pair (low, high) or None, default None
        *Public.* Bounds of numbers, or of dates as dates or ISO strings. Values outside are
        clipped.
    scale : None, "log" or float, default None
        *Public.* Scale of numbers in feature maps: linear, logarithmic with unit 1, or the unit of
        a logarithmic scale.
    categories : sequence or None, default None
        *Public.* All values of a category that may occur. Other values belong to no category. Of an
        ordinal column, at least two levels from the lowest to the highest: feature maps read their
        numbers. For a text the words that count, in lower case, instead of buckets.
    buckets : int or None, default None
        *Public.* Number of buckets into which codes or words are hashed, 64 by default.
    norm : float or None, default None
        *Public.* Length of the vector of words of a text, at most 100; 1 by default.
    parts : sequence of {"weekday", "month"}, default ()
        *Public.* Parts of a date that become categories of their own.
    date_format : str or None, default None
        *Public.* Format of dates that are strings, as for `datetime.datetime.strptime`. ``None``:
        ISO 8601.
    missing : bool, default True
        *Public.* Whether values may be missing. If not, a missing number counts as the midpoint of
        the bounds, and any other missing value as an unknown one.
    missing_values : sequence, default ()
        *Public.* Codes that stand for a missing value, such as ``[-99, "NA"]``. An empty cell is
        missing anyway, unless it is a text or one of the `categories`.
    fill : object or None, default None
        *Public.* A cell that replaces missing ones. It implies ``missing=False``.
    true_values, false_values : sequence, default ()
        *Public.* Cells of booleans, such as ``["ja"]``, in place of the usual ones.
    decimal, thousands : str, default "." and ""
        *Public.* The decimal point and the separator of thousands in numbers that are strings. A
        number counts as missing unless three digits follow its last separator.
    affixes : "any" or sequence of str, default ()
        *Public.* Text around numbers that is ignored, such as ``["<", "+", " years"]``, or all.
        With all, a number after "(" counts as missing.
    separator : str or None, default None
        *Public.* What separates several answers in a text. ``None``: answers are words.
    aliases : sequence, default ()
        *Public.* Other names that the column may have in a table.
    source : str, default ""
        *Public.* A sentence that says where this knowledge comes from, for reports.
    drafted : bool, default False
        *Public.* Whether a draft proposes this column. It then needs a source.
    unread : sequence of str, default ()
        *Public.* What metadata state about the column and skdp does not understand. No fit accepts
        the column before `TableSchema.confirm` names it.

    Examples
    --------
    >>> from skdp.tables import ColumnSchema
    >>> column = ColumnSchema(kind="number", bounds=(0, 250), source="range of the device")
    >>> column.bounds, column.source, column.unstated
    ((0.0, 250.0), 'range of the device', [])
    """

    kind: str | None
    bounds: tuple[Any, Any] | None = None
    scale: str | float | None = None
    categories: tuple[Label, ...] | None = None
    buckets: int | None = None
    norm: float | None = None
    parts: tuple[str, ...] = ()
    date_format: str | None = None
    missing: bool = True
    missing_values: tuple[Label, ...] = ()
    fill: Label | None = None
    true_values: tuple[Label, ...] = ()
    false_values: tuple[Label, ...] = ()
    decimal: str = "."
    thousands: str = ""
    affixes: str | tuple[str, ...] = ()
    separator: str | None = None
    aliases: tuple[Label, ...] = ()
    source: str = ""
    drafted: bool = False
    unread: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind is not None:
            check_choice("kind", self.kind, KINDS)
        for name, kinds in _OF_KIND.items():
            if getattr(self, name) not in (None, (), "", ".") and self.kind not in kinds:
                raise ValueError(
                    f"{name} is for columns of the kind {' or '.join(kinds)}, not {self.kind!r}."
                )
        if self.buckets is not None and self.categories is not None:
            raise ValueError("a text has either buckets or categories, not both.")
        if not isinstance(self.source, str):
            raise ValueError(f"source must be a string, got {self.source!r}.")
        for name in ("missing", "drafted"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}.")
        set_checked(self, **self._checked())

    def _checked(self) -> dict[str, object]:
        """Return the fields that are given in another form than the one that is kept."""
        found: dict[str, object] = {name: _listed(name, getattr(self, name)) for name in _LISTS}
        if isinstance(self.bounds, str):
            raise ValueError(
                f"bounds={self.bounds!r} is not a public fact. State a pair (low, high), or give "
                'DPTabularClassifier or DPTabularRegressor bounds={...: "auto"} without a schema.'
            )
        if self.bounds is not None:
            found["bounds"] = _bounds_of_dates(self.bounds) if self.is_date else _pair(self.bounds)
        if self.scale not in (None, "log"):
            found["scale"] = check_size("scale", self.scale)
        if self.categories is not None:
            found["categories"] = known = _categories(self.categories)
            if self.kind == "ordinal" and len(known) < 2:
                raise ValueError(f"an ordinal column needs at least two levels, got {known}.")
        if self.kind in _HASHED and self.categories is None:
            buckets = _N_BUCKETS if self.buckets is None else self.buckets
            found["buckets"] = check_count("buckets", buckets, low=2)
        if self.kind == "text":
            if odd := [
                word
                for word in self.categories or ()
                if words_in(str(word), self.separator) != [word]
            ]:
                raise ValueError(f"words that count must be single and in lower case, got {odd}.")
            norm = check_size("norm", 1.0 if self.norm is None else self.norm)
            found["norm"] = check_real("norm", norm, low=0.0, high=_LONGEST_TEXT, closed="]")
        if self.is_date:
            found["parts"] = tuple(check_choice("parts", part, PARTS) for part in self.parts)
        if self.affixes != "any":
            found["affixes"] = tuple(map(str, _listed("affixes", self.affixes)))
        self._check_formats()
        return found | self._checked_cells()

    def _check_formats(self) -> None:
        """Raise ValueError for a format in which no cell could be read."""
        form, signs = self.date_format, [self.decimal, self.thousands, self.separator]
        texts = [self.decimal, self.thousands or " ", " " if signs[2] is None else signs[2]]
        if self.decimal == self.thousands or not all(isinstance(x, str) and x for x in texts):
            raise ValueError(
                "decimal, thousands and separator must be strings, and decimal and thousands must "
                f"differ; got {signs}."
            )
        if form is not None and math.isnan(moment_of(f"{_EPOCH.replace(tzinfo=UTC):{form}}", form)):
            raise ValueError(f"date_format must be a format of strptime, got {form!r}.")

    def _checked_cells(self) -> dict[str, object]:
        """Check that no cell has two meanings, and that `fill` has one."""
        known = [*self.true_values, *self.false_values]
        known += () if self.kind == "text" else self.categories or ()
        cells = (*known, *self.missing_values, self.fill)
        if odd := [one for one in cells if isinstance(one, float) and not math.isfinite(one)]:
            raise ValueError(f"cells that are numbers must be finite, got {odd}.")
        texts = [text_of(cell) for cell in (*known, *self.missing_values)]
        if twice := sorted({text for text in texts if text is not None and texts.count(text) > 1}):
            raise ValueError(
                f"true_values, false_values, categories and missing_values share {twice}."
            )
        if bool(self.true_values) != bool(self.false_values):
            raise ValueError("true_values and false_values must both be given.")
        if self.fill is not None and not self._can_be(self.fill):
            raise ValueError(f"fill={self.fill!r} is no value of a column of the kind {self.kind}.")
        return {} if self.fill is None else {"missing": False}

    def _can_be(self, cell: object) -> bool:
        """Return whether a cell is a value of the column, as far as its kind tells."""
        if self.kind in _LISTED:
            return text_of(cell) in map(text_of, self.categories or ())
        if self.bounds is None:
            return not self.is_left_out
        value = moment_of(cell, self.date_format) if self.is_date else number_of(cell, self)
        low, high = map(moment_of if self.is_date else float, self.bounds)
        return low <= value <= high

    @classmethod
    def of(cls, given: object, **more: Any) -> Self:
        """Return a column by a short form: a pair, a list of categories, a kind or a dict.

        Parameters
        ----------
        given : ColumnSchema, dict, str, pair or list
            *Public.* A tuple of two numbers or two dates is a pair of bounds. A list holds
            categories. A string is a kind. A dict has the parameters of this class.
        **more : object
            *Public.* Parameters that `given` leaves out.

        Returns
        -------
        ColumnSchema
            The column.
        """
        if isinstance(given, cls):
            return given if given.source else replace(given, **more)
        if not isinstance(given, Mapping):
            return cls(**(more | short_form(given)))
        known = {field.name for field in fields(cls)}
        if unknown := [name for name in given if name not in known]:
            raise ValueError(f"Unknown parameters: {unknown}. A column takes {sorted(known)}.")
        kind = given.get("kind") or _kind_of(given)
        return cls(**(more | {**given, "kind": kind}))

    @classmethod
    def from_catalog(cls, name: str) -> Self:
        """Return a column with public bounds from published documents.

        Parameters
        ----------
        name : str
            *Public.* Name of a quantity, such as ``"heart rate"``. The error for an unknown name
            lists similar ones. The catalog is the file ``skdp/tables/catalog.csv``.

        Returns
        -------
        ColumnSchema
            The column. Its source names the document and the unit of the bounds, in which the data
            must be.

        Examples
        --------
        >>> from skdp.tables import ColumnSchema
        >>> column = ColumnSchema.from_catalog("diastolic blood pressure")
        >>> column.bounds, column.source
        ((0.0, 200.0), 'ricu 0.6.3, concept dictionary (2025), in mmHg')
        """
        rows = _catalog()
        if (row := rows.get(str(name).lower())) is None:
            near = get_close_matches(str(name).lower(), rows, n=5, cutoff=0.4)
            found = [rows[key]["name"] for key in near or sorted(rows)]
            raise ValueError(f"the catalog does not have {name!r}. It has {found}.")
        source = f"{row['source']}, in {row['unit']}" if row["unit"] else row["source"]
        return cls(kind=row["kind"], bounds=(row["low"], row["high"]), source=source)

    @property
    def is_date(self) -> bool:
        """Whether the column holds dates."""
        return self.kind == "date"

    @property
    def is_left_out(self) -> bool:
        """Whether the column is never a feature."""
        return self.kind in _LEFT_OUT

    @property
    def unit(self) -> float:
        """Unit of the logarithmic scale, inf for a linear one."""
        if isinstance(self.scale, str):
            return 1.0
        return math.inf if self.scale is None else self.scale

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the buckets, or the words of a text that count."""
        if self.categories is not None:
            return tuple(map(str, self.categories))
        return tuple(f"bucket{k}" for k in range(self.buckets or 0))

    @property
    def unstated(self) -> list[str]:
        """What has to be stated before a fit accepts the column."""
        if self.kind is None:
            return ["choose its kind", *self.unread]
        needed = [
            words
            for name, words in _UNSTATED.items()
            if self.kind in _OF_KIND[name] and self.kind != "text" and getattr(self, name) is None
        ]
        return [*needed, *self.unread] + ["give a source"] * (self.drafted and not self.source)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters that differ from their defaults, in values that JSON has.

        Returns
        -------
        dict
            By name. Dates are ISO strings.
        """
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        found = {f.name: found[f.name] for f in fields(self) if found[f.name] != f.default}
        if self.is_date and self.bounds is not None:
            found["bounds"] = [iso(end) for end in self.bounds]
        return {name: list(x) if isinstance(x, tuple) else x for name, x in found.items()}

    @property
    def details(self) -> str:
        """The public facts about the values, in words."""
        if self.categories is not None:
            return (" < " if self.kind == "ordinal" else ", ").join(self.labels)
        if self.buckets is not None:
            return f"hashed into {self.buckets} buckets"
        if self.bounds is None:
            return ""
        low, high = (iso(end) if self.is_date else f"{end:.10g}" for end in self.bounds)
        unit = "" if self.scale in (None, "log") else f" beyond {self.scale:g}"
        scale = "" if self.scale is None else f", logarithmic{unit}"
        return f"{low} to {high}{scale}{''.join(f', {part}' for part in self.parts)}"


@cache
def _catalog() -> dict[str, dict[str, str]]:
    """Return the rows of the catalog by their names in lower case."""
    text = (files("skdp") / "tables" / "catalog.csv").read_text(encoding="utf-8")
    return {row["name"].lower(): row for row in csv.DictReader(text.splitlines())}


def _listed(name: str, values: object) -> tuple[Any, ...]:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ValueError(f"{name} must be a list of values, got {values!r}.")
    return tuple(one.item() if isinstance(one, np.generic) else one for one in values)


def short_form(given: object) -> dict[str, object]:
    """Return the parameters that a short form stands for."""
    if isinstance(given, str):
        return {"kind": given}
    if isinstance(given, tuple) and len(given) == 2 and all(map(_is_end, given)):
        is_date = not all(isinstance(end, Real) for end in given)
        return {"kind": "date" if is_date else "number", "bounds": given}
    if isinstance(given, (list, np.ndarray)) or hasattr(given, "tolist"):
        return {"kind": "category", "categories": given}
    raise ValueError(
        "a column must be a pair (low, high) of numbers or dates, a list of categories, a kind "
        f"such as 'text', a dict of parameters or a ColumnSchema; got {given!r}."
    )


def _kind_of(given: Mapping[str, Any]) -> str | None:
    """Return the kind that bounds or categories imply."""
    if (bounds := given.get("bounds")) is not None:  # a check of numbers rejects strings
        return "number" if isinstance(bounds, str) else str(short_form(tuple(bounds))["kind"])
    return None if given.get("categories") is None else "category"


def _is_end(end: object) -> bool:
    if isinstance(end, str):
        return not math.isnan(moment_of(end))
    return isinstance(end, (Real, date, np.datetime64)) and not isinstance(end, bool)


def _pair(bounds: Sequence[Any]) -> tuple[float, float]:
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError):
        raise ValueError(f"bounds must be a pair (low, high) of numbers, got {bounds!r}.") from None
    if not -math.inf < low < high < math.inf:
        raise ValueError(f"bounds must be finite, low below high, got {bounds!r}.")
    return low, high


def _bounds_of_dates(bounds: Sequence[Any]) -> tuple[datetime, datetime]:
    with suppress(TypeError, ValueError):
        first, last = map(moment_of, bounds)
        if first < last:
            return _EPOCH + timedelta(seconds=first), _EPOCH + timedelta(seconds=last)
    raise ValueError(
        "bounds of dates must be a pair (first, last) of dates or ISO strings, the first before "
        f"the last; got {bounds!r}."
    )


def iso(moment: datetime) -> str:
    """Return an ISO string, without a time at midnight."""
    text = moment.isoformat()
    return text.removesuffix("T00:00:00")


def _categories(values: Sequence[Label]) -> tuple[Label, ...]:
    """Return the categories as values of Python; they must differ as text."""
    known = [] if isinstance(values, (str, bytes)) else list(values)
    known = [value.item() if isinstance(value, np.generic) else value for value in known]
    if not known or any(map(is_missing, known)) or len({*map(text_of, known)}) < len(known):
        raise ValueError(
            "categories must be a list of at least one value, none missing and no two equal as "
            f"text; got {values!r}."
        )
    if odd := [value for value in known if not isinstance(value, (str, bool, int, float))]:
        raise ValueError(f"categories must be strings, numbers or booleans; got {odd}.")
    return tuple(known)


def text_of(value: object) -> str | None:
    """Return a value as text; equal values of different types are equal. None if it is missing."""
    if type(value) is str:
        return value
    try:
        return None if is_missing(value) else _text(value)
    except Exception:
        return None


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (bool, np.bool_, str)):
        return str(value)
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, (Real, Decimal)):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    if isinstance(value, np.datetime64):
        is_near = abs(value.astype(np.int64).item()) <= furthest(value.dtype)
        found = value.astype("M8[us]").item() if is_near else value
        value = found if isinstance(found, datetime) else value  # beyond the years of Python
    if isinstance(value, datetime):
        value = _datetime(value, None)
        value = value.date() if value.time() == time() and value.tzinfo is None else value
    return value.isoformat() if isinstance(value, date) else str(value)


def number_of(cell: object, column: ColumnSchema) -> float:
    """Parse a cell in the number format of its column; return NaN if it is no number."""
    if isinstance(cell, bytes):
        cell = cell.decode(errors="replace")
    try:
        if isinstance(cell, str):
            return float(_plain(cell, column).replace("_", " "))  # 1_5 is not 15
        return float(cell) if isinstance(cell, (Real, Decimal, np.bool_)) else math.nan
    except Exception:
        return math.nan


def _plain(cell: str, column: ColumnSchema) -> str:
    """Convert the text of a number for `float`; return "" if it is not in the column's format."""
    cell, sign = cell.replace("\N{MINUS SIGN}", "-"), column.thousands
    if column.affixes == "any":
        found = _NUMBER.search(cell)  # accountants mean −5 by "(5)", and others 5
        cell = found[0] if found and "(" not in cell[: found.start()] else ""
    for affix in () if column.affixes == "any" else column.affixes:
        cell = cell.strip().removeprefix(affix).removesuffix(affix)
    if sign and sign in cell:
        whole, _, last = cell.rpartition(sign)
        if column.decimal in whole or not _THREE_DIGITS.match(last):
            return ""  # the separator may be a decimal point
        cell = whole.replace(sign, "") + last
    if column.decimal == ".":
        return cell
    return "" if "." in cell else cell.replace(column.decimal, ".")


def words_in(text: str, separator: str | None) -> list[str]:
    """Return the words of a text in lower case, or the answers between separators."""
    if separator is None:
        return _WORD.findall(text.lower())
    answers = (one.strip() for one in text.lower().split(separator))
    return [one for one in answers if one]


def moment_of(value: object, date_format: str | None = None) -> float:
    """Return the seconds from 1970 to a date, UTC if it has a time zone; NaN for other values."""
    try:
        if isinstance(value, np.datetime64):
            return float(Column(np.array([value])).seconds()[0])
        found = _datetime(value, date_format)
        if found.tzinfo is not None:
            found = found.astimezone(UTC).replace(tzinfo=None)
        return (found - _EPOCH).total_seconds()
    except Exception:
        return math.nan


def _datetime(value: object, date_format: str | None) -> datetime:
    if isinstance(value, datetime):  # nanoseconds of subclasses are dropped
        day, time_of_day = value.timetuple()[:3], value.timetuple()[3:6]
        return datetime(*day, *time_of_day, value.microsecond, value.tzinfo)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    text = (text_of(value) or "").strip()
    return (
        datetime.fromisoformat(text)
        if date_format is None
        else datetime.strptime(text, date_format)
    )
