"""Public facts about one column of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta
from numbers import Real
from typing import Any, Self

import numpy as np

from skdp.data.column import is_missing
from skdp.data.schema.values import moment_of, text_of, words_in
from skdp.support.types import Label
from skdp.support.validation import (
    check_choice,
    check_count,
    check_real,
    check_size,
    set_checked,
)

__all__ = ["KINDS", "ColumnSchema"]

KINDS = ("number", "integer", "boolean", "category", "date", "text", "code", "id", "ignored")
PARTS = {
    "weekday": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "month": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
}
"""Parts of dates and their categories."""
_NUMBERS = ("number", "integer")
_HASHED = ("text", "code")
_LEFT_OUT = ("id", "ignored")
# The fields that apply to one kind only.
_OF_KIND = {
    "bounds": (*_NUMBERS, "date"),
    "scale": _NUMBERS,
    "categories": ("category", "text"),
    "buckets": _HASHED,
    "norm": ("text",),
    "parts": ("date",),
    "date_format": ("date",),
}
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
        *Public.* ``"number"``, ``"integer"``, ``"boolean"``, ``"category"``, ``"date"``,
        ``"text"`` (a bag of hashed words), ``"code"`` (categories that are hashed), ``"id"`` (never
        a feature, but usable as groups) or ``"ignored"``. ``None``: not stated yet.
    bounds : pair (low, high) or None, default None
        *Public.* Bounds of numbers, or of dates as dates or ISO strings. Values outside are
        clipped.
    scale : None, "log" or float, default None
        *Public.* Scale of numbers in feature maps: linear, logarithmic with unit 1, or the unit of
        a logarithmic scale.
    categories : sequence or None, default None
        *Public.* All values of a category that may occur. Other values belong to no category. For
        a text the words that count, in lower case, instead of buckets.
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
    source : str, default ""
        *Public.* A sentence that says where this knowledge comes from, for reports.
    drafted : bool, default False
        *Public.* Whether a draft proposes this column. It then needs a source.

    Examples
    --------
    >>> from skdp.tables import ColumnSchema
    >>> ColumnSchema(kind="number", bounds=(0, 250), source="range of the device").is_complete
    True
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
    source: str = ""
    drafted: bool = False

    def __post_init__(self) -> None:
        if self.kind is not None:
            check_choice("kind", self.kind, KINDS)
        self._check_fields_of_kind()
        if not isinstance(self.source, str):
            raise ValueError(f"source must be a string, got {self.source!r}.")
        for name in ("missing", "drafted"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}.")
        set_checked(self, **self._checked())

    def _check_fields_of_kind(self) -> None:
        for name, kinds in _OF_KIND.items():
            if getattr(self, name) not in (None, ()) and self.kind not in kinds:
                raise ValueError(
                    f"{name} is for columns of the kind {' or '.join(kinds)}, not {self.kind!r}."
                )
        if self.buckets is not None and self.categories is not None:
            raise ValueError("a text has either buckets or categories, not both.")

    def _checked(self) -> dict[str, object]:
        """Return the fields that are given in another form than the one that is kept."""
        found: dict[str, object] = {}
        if self.bounds is not None:
            found["bounds"] = _bounds_of_dates(self.bounds) if self.is_date else _pair(self.bounds)
        if self.scale not in (None, "log"):
            found["scale"] = check_size("scale", self.scale)
        if self.categories is not None:
            found["categories"] = _categories(self.categories)
        if self.kind in _HASHED and self.categories is None:
            buckets = _N_BUCKETS if self.buckets is None else self.buckets
            found["buckets"] = check_count("buckets", buckets, low=2)
        if self.kind == "text":
            if odd := [word for word in self.categories or () if words_in(str(word)) != [word]]:
                raise ValueError(f"words that count must be single and in lower case, got {odd}.")
            norm = check_size("norm", 1.0 if self.norm is None else self.norm)
            found["norm"] = check_real("norm", norm, low=0.0, high=_LONGEST_TEXT, closed="]")
        if self.is_date:
            found["parts"] = tuple(check_choice("parts", part, PARTS) for part in self.parts)
        return found

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
            return cls(**(more | _short_form(given)))
        known = {field.name for field in fields(cls)}
        if unknown := [name for name in given if name not in known]:
            raise ValueError(f"Unknown parameters: {unknown}. A column takes {sorted(known)}.")
        kind = given.get("kind") or _kind_of(given)
        return cls(**(more | {**given, "kind": kind}))

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
    def is_complete(self) -> bool:
        """Whether nothing is left to be stated."""
        return not self.unstated

    @property
    def unstated(self) -> list[str]:
        """What has to be stated before a fit accepts the column."""
        if self.kind is None:
            return ["choose its kind"]
        needed = [
            words
            for name, words in _UNSTATED.items()
            if self.kind in _OF_KIND[name] and self.kind != "text" and getattr(self, name) is None
        ]
        return needed + ["give a source"] * (self.drafted and not self.source)

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
            return ", ".join(self.labels)
        if self.buckets is not None:
            return f"hashed into {self.buckets} buckets"
        if self.bounds is None:
            return ""
        low, high = (iso(end) if self.is_date else f"{end:.10g}" for end in self.bounds)
        unit = "" if self.scale in (None, "log") else f" beyond {self.scale:g}"
        scale = "" if self.scale is None else f", logarithmic{unit}"
        return f"{low} to {high}{scale}{''.join(f', {part}' for part in self.parts)}"


def _short_form(given: object) -> dict[str, object]:
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
    for name in ("bounds", "categories"):
        if given.get(name) is not None:
            value = tuple(given[name]) if name == "bounds" else list(given[name])
            return str(_short_form(value)["kind"])
    return None


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
    try:
        first, last = map(moment_of, bounds)
        if first < last:
            return _EPOCH + timedelta(seconds=first), _EPOCH + timedelta(seconds=last)
    except (TypeError, ValueError):
        pass
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
