"""Schemas in the headers of files of Stata and SPSS. No row is read."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skdp.data.column_draft import ColumnDraft
from skdp.data.column_schema import ColumnSchema
from skdp.support.validation import check_choice

_READERS = {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta"}
_DATES = re.compile(r"%-?(t[dcwmqh]|d)|[aejs]?date|datetime", re.IGNORECASE)


@dataclass
class _Header:
    """What a file states about a column."""

    kind: str | None
    labels: Mapping[Any, str]  # of codes
    missing: list[Any]  # codes of missing values
    ranges: list[tuple[float, float]]  # and the ranges of others


def from_labels(path: Any, cells: str) -> dict[Hashable, ColumnSchema]:
    """Return the columns of a file whose cells are read as codes or as labels."""
    check_choice("cells", cells, ("codes", "labels"))
    if (reader := _READERS.get(Path(path).suffix.lower())) is None:
        raise ValueError(f"the name of the file must end in {[*_READERS]}, got {str(path)!r}.")
    try:
        import pyreadstat
    except ImportError:
        if reader != "read_dta":
            raise ImportError("files of SPSS need pyreadstat: pip install pyreadstat") from None
        headers = _headers_of_pandas(path)
    else:
        more = {} if reader == "read_por" else {"user_missing": True}  # else codes are left out
        told = getattr(pyreadstat, reader)(path, metadataonly=True, **more)[1]
        headers = {name: _header(told, name) for name in told.column_names}
    facts = {"source": f"labels in {Path(path).name}"}
    return {
        name: ColumnDraft({**facts}).column(_read_labels, one, cells)
        for name, one in headers.items()
    }


def _header(told: Any, name: str) -> _Header:
    """Collect what pyreadstat states about a column."""
    kind = _kind_of_format(str(told.original_variable_types[name]))
    pairs = [(one["lo"], one["hi"]) for one in told.missing_ranges.get(name, ())]
    single = [low for low, high in pairs if low == high]
    missing = [*told.missing_user_values.get(name, ()), *single]
    ranges = [pair for pair in pairs if pair[0] != pair[1]]
    return _Header(kind, told.variable_value_labels.get(name, {}), missing, ranges)


def _headers_of_pandas(path: Any) -> dict[str, _Header]:
    from pandas.io.stata import StataReader

    with StataReader(path) as reader:
        labels = reader.value_labels()
        # Which column has which labels is public nowhere else; types by data would read rows.
        columns = [*zip(reader._varlist, reader._fmtlist, reader._lbllist, strict=True)]
    return {
        name: _Header(_kind_of_format(shown), labels.get(own, {}), [], [])
        for name, shown, own in columns
    }


def _kind_of_format(shown: str) -> str | None:
    """Return the kind of the values that a format of Stata or SPSS shows."""
    if _DATES.match(shown):
        return "date"
    return None if re.fullmatch(r"%-?\d+s|%strl|A\d+", shown, re.IGNORECASE) else "number"


def _read_labels(draft: ColumnDraft, header: _Header, cells: str) -> None:
    labels = {_whole(code): label for code, label in header.labels.items()}
    missing = [*map(_whole, header.missing)]
    missing += [code for code in labels if isinstance(code, str) and header.kind == "number"]
    for low, high in header.ranges:
        missing += [code for code in labels if not isinstance(code, str) and low <= code <= high]
        draft.check({"missing values": f"{low:g} to {high:g}"})
    known = {code: label for code, label in labels.items() if code not in missing}
    draft.facts["missing_values"] = list(dict.fromkeys(missing))
    if cells == "labels":
        draft.facts["missing_values"] += [labels[code] for code in missing if code in labels]
    draft.kind = None if known else header.kind
    if known:
        draft.among(known.values() if cells == "labels" else known)
        draft.unread.append("confirm that only the values with labels occur")


def _whole(code: Any) -> Any:
    return int(code) if isinstance(code, float) and code.is_integer() else code
