"""Tables read as their schemas state, by steps of pandas and scikit-learn alone."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from numbers import Real
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skdp.data.column_facts import ColumnBounds
from skdp.data.column_schema import ColumnSchema, number_of, text_of
from skdp.data.encoding import DAY, TRUTH, Encoding, codes_of_missing, days_of
from skdp.features.base import TableFacts

# In seconds, as moments in nanoseconds end in the year 2262.
_EPOCH, _SECOND = pd.Timestamp(0, tz="UTC").as_unit("s"), pd.Timedelta(seconds=1).as_unit("s")
_STRIPPED = r"^\s+|\s+$", ""
_NO_DATE = r"^(?!\d{4}-?\d{2}-?\d{2}(\D|$)).*$", "(none)"  # pandas also reads "2010" and "today"


def read_as(facts: TableFacts, encoding: Encoding) -> tuple[list[BaseEstimator], TableFacts]:
    """Return steps that read a table to numbers as its schema does, and facts about these.

    A category is its place from 1, another value is 0, and numbers are on their scales. Raises
    ValueError for columns that need functions of this library.
    """
    columns, names = encoding.columns.items(), encoding.names
    place = {name: name if isinstance(name, str) else j for j, name in enumerate(names)}
    each = [(place[name], steps) for name, one in columns for steps in _steps(facts, name, one)]
    for (_, steps), filling in zip(each, _coded(facts, names[0], [None])[0], strict=True):
        steps.extend([] if math.isnan(filling) else [_call("fillna", float(filling))])
    units, low, high = facts.units, facts.bounds.low, facts.bounds.high
    for j, unit, *ends in zip(facts.numbers, units, low, high, strict=True):
        if unit < math.inf and ends[0] < 0.0:
            raise ValueError("to_sklearn has no logarithmic scale for bounds below 0.")
        scaled = [_call("div", unit), _step(np.log1p)] if unit < math.inf else []
        each[j][1].extend([_call("clip", *ends), *scaled])  # also infinite numbers
    readers = [
        (f"column{j}", make_pipeline(*steps, _call("to_frame")), column)
        for j, (column, steps) in enumerate(each)
    ]
    reader = ColumnTransformer(readers).fit(pd.DataFrame(encoding.widest(2)))
    low, high = (np.where(units < math.inf, np.log1p(end / units), end) for end in (low, high))
    linear = np.full(units.shape, math.inf)
    known = {j: np.arange(1.0, len(values) + 1.0) for j, values in facts.categories.items()}
    read = replace(facts, bounds=ColumnBounds(low, high), units=linear, categories=known)
    return [_step(pd.DataFrame), reader], replace(read, names=(), encoding=None)


def _coded(facts: TableFacts, name: Hashable, cells: Sequence[object]) -> np.ndarray:
    """Return rows as `TableFacts.coded` does, with *public* cells in one column, and no others.

    Categories are their places from 1.
    """
    table: dict[Hashable, Any] = dict.fromkeys(facts.given_names, [None] * len(cells))
    rows = pd.DataFrame(table | {name: cells}, dtype=object)
    coded = replace(facts, missing="indicator").coded(rows)
    coded[:, [*facts.categories]] += 1.0
    return coded


def _steps(facts: TableFacts, name: Hashable, column: ColumnSchema) -> list[list[BaseEstimator]]:
    """Return steps from a series to one of floats, for each encoded column of a column."""
    if column.kind in ("text", "code") or column.thousands or column.affixes:
        raise ValueError(
            f"to_sklearn cannot read the column {name!r}: it is for dates, booleans, categories, "
            "and numbers without affixes and separators of thousands."
        )
    if column.is_date:
        return _of_dates(column)
    read = [_step(pd.to_numeric, errors="coerce"), _call("astype", float)]
    if column.decimal != ".":  # a cell with a point is then no number
        read = [*_rewritten((r"^.*\..*$", "(none)"), (re.escape(column.decimal), ".")), *read]
    if column.bounds is None:
        stripped = _rewritten(_STRIPPED) if column.kind == "boolean" else []
        places = _places(facts, name, column)
        return [[*stripped, _call("map", places, na_action="ignore"), *read]]
    whole = [_step(np.rint)] if column.kind == "integer" else []
    return [[*read, *_without_codes(column), *whole]]


def _of_dates(column: ColumnSchema) -> list[list[BaseEstimator]]:
    """Return steps to days since the first date, and to parts of the dates."""
    form = {"format": column.date_format or "ISO8601", "errors": "coerce", "utc": True}
    dates = [_STRIPPED] if column.date_format else [_STRIPPED, _NO_DATE]
    read = [_step(pd.to_datetime, **form), _call("sub", _EPOCH), _call("div", _SECOND)]
    seconds = [*_rewritten(*dates), *read, *_without_codes(column)]
    days = [*seconds, _call("sub", days_of(column)[0]), _call("div", DAY)]
    moments = [*seconds, _step(pd.to_datetime, unit="s")]
    parts = {
        "weekday": [_step(attrgetter("dt.day_of_week")), _call("add", 1.0)],
        "month": [_step(attrgetter("dt.month"))],
    }
    return [days, *([*moments, *parts[name]] for name in column.parts)]


def _rewritten(*pairs: tuple[str, str]) -> list[BaseEstimator]:
    """Return steps that replace patterns in strings."""
    return [_call("replace", *pair, regex=True) for pair in pairs]


def _without_codes(column: ColumnSchema) -> list[BaseEstimator]:
    codes = codes_of_missing(column)
    return [_call("replace", codes, math.nan)] if codes else []


def _places(facts: TableFacts, name: Hashable, column: ColumnSchema) -> Mapping[Any, float]:
    """Return the places of all ways in which public values are written, NaN for missing ones."""
    stated: list[Any] = [*column.true_values, *column.false_values, *(column.categories or ())]
    truth = () if any(isinstance(x, Real) for x in stated) else (True, False)
    stated += [float(np.float32(x)) for x in stated if isinstance(x, float)]  # single precision
    values = [*(() if column.categories else truth), *stated, "", *column.missing_values]
    texts = [text_of(x) or "" for x in values]
    texts += [f"{x:.1f}" for x in values if isinstance(x, Real)]
    texts += [] if column.categories else map(str, TRUTH)
    cells = [*(f(text) for text in texts for f in (str, str.lower, str.title, str.upper)), *values]
    cells += [one for text in texts for one in _cells_of(text)]
    *found, other = _coded(facts, name, [*cells, object()])[:, facts.names.index(name)].tolist()
    places = dict(zip(cells, found, strict=True))
    return Counter[Any](places) if other == 0.0 else places  # 0 for other keys, or missing


def _cells_of(text: str) -> list[object]:
    """Return the numbers and dates whose text in a schema is this one."""
    cells: list[object] = [number_of(text, ColumnSchema(kind="number"))]
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        cells += [moment, moment.date()]
    return [one for one in cells if text_of(one) == text]


def _call(method: str, *args: object, **kwargs: object) -> FunctionTransformer:
    return _step(methodcaller(method, *args, **kwargs))


def _step(function: Callable[..., Any], **kwargs: object) -> FunctionTransformer:
    return FunctionTransformer(function, kw_args=kwargs or None)
