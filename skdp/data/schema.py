"""Public facts about a table, in one place."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import Any, Self

import numpy as np

from skdp.data import schema_readers as readers
from skdp.data.column import Column, is_collection, received
from skdp.data.column_schema import OF_EVERY_KIND, ColumnSchema, short_form
from skdp.data.columns import Columns, check_frame, frame_names, framed, is_frame, table_of_public
from skdp.data.encoding import Encoding, has_missing
from skdp.data.schema_readers import from_labels
from skdp.support.display import html_table
from skdp.support.types import MatrixLike, VectorLike
from skdp.support.validation import check_choice, check_count

_FORMAT = 2
_HEAD = ("column", "kind", "values", "missing", "source")
_SHOWN = 40  # characters of the values in text
_RECORD, _PERSON = _UNITS = ("record", "person")


class TableSchema:
    """Public facts about the columns of a table: kinds, bounds, scales and categories.

    Pass a schema as the `bounds` of an estimator, a scaler or a statistic, or as the `categories`
    of a tool that has no bounds. It replaces `bounds`, `categories` and `transformation` there.
    Columns are matched by name.

    A schema encodes each row by itself:

    ================== ===========================================================================
    kind               encoded as
    ================== ===========================================================================
    number, integer    a number, clipped to the bounds; strings are read as numbers
    boolean            a category, or 0 and 1 where a tool takes numbers only
    category           one of the listed categories, or none of them
    date               days since the first date, and its weekday or month as categories
    code               one of `buckets` categories, by a public hash of the code
    text               a vector of length `norm` with an entry for each of `buckets`, by a public
                       hash of its words; for feature maps only
    id, ignored        nothing
    ================== ===========================================================================

    No value raises an error: a value that cannot be read counts as missing, and a category that is
    not listed counts as unknown. The only exception is a missing ID of a person.

    A column of the kind ``"id"`` identifies the person of each row. Every fit, statistic and search
    that gets the schema then protects all rows of a person together, without ``groups=``.

    Parameters
    ----------
    columns : dict
        *Public.* A dict from names of columns to a `ColumnSchema` or a short form: a tuple
        ``(low, high)`` of numbers or dates, a list of categories, a kind such as ``"text"``, or a
        dict of the parameters of `ColumnSchema`.
    source : str, default ""
        *Public.* Where the knowledge comes from, for columns without a source of their own.
    unit : {"record", "person"} or None, default None
        *Public.* Privacy unit. "record" states that each row is a unit of its own, although there
        are IDs. "person" without a column of IDs requires ``groups=`` in every call. ``None``:
        "person" if a column identifies persons, otherwise nothing is stated.
    max_rows : int or None, default None
        *Public.* Maximum number of rows used per person, for estimators whose own `max_rows` is
        None.

    Notes
    -----
    **Guarantee.** A row of the encoded table depends on the same row of the table and on the
    schema, so neighboring tables give neighboring encoded tables.
    **Assumed.** The schema comes from public knowledge, never from the values of the table.

    Examples
    --------
    >>> from skdp import TableSchema
    >>> schema = TableSchema(
    ...     {"age": (18, 100), "smoker": ["yes", "no"], "visit": ("2020-01-01", "2025-12-31")},
    ...     source="questionnaire of the study",
    ... )
    >>> print(schema)
    column  kind      values                    missing  source
    age     number    18 to 100                 yes      questionnaire of the study
    smoker  category  yes, no                   yes      questionnaire of the study
    visit   date      2020-01-01 to 2025-12-31  yes      questionnaire of the study
    >>> TableSchema.from_json(schema.to_json()) == schema
    True
    """

    def __init__(
        self,
        columns: Mapping[Any, Any],
        *,
        source: str = "",
        unit: str | None = None,
        max_rows: int | None = None,
    ) -> None:
        if not isinstance(columns, Mapping):
            raise ValueError(f"columns must be a dict from names to columns, got {columns!r}.")
        if odd := [name for name in columns if not isinstance(name, (str, int))]:
            raise ValueError(f"column {odd[0]!r}: a name must be a string or an integer.")
        self._columns = {name: _column(name, one, source) for name, one in columns.items()}
        self._stated = None if unit is None else check_choice("unit", unit, _UNITS)
        self._max_rows = None if max_rows is None else check_count("max_rows", max_rows)
        if self._max_rows is not None and self.unit != _PERSON:
            raise ValueError(
                "max_rows limits the rows per person, but the schema does not identify persons. "
                "Add a column of the kind 'id', or pass unit='person'."
            )

    @property
    def unit(self) -> str | None:
        """*Public.* The privacy unit, "record" or "person"; None if nothing is stated."""
        return self._stated or (_PERSON if self.ids else None)

    @property
    def max_rows(self) -> int | None:
        """*Public.* Maximum number of rows used per person, None if nothing is stated."""
        return self._max_rows

    @property
    def ids(self) -> list[Hashable]:
        """*Public.* Names of the columns of the kind ``"id"``."""
        return [name for name, one in self._columns.items() if one.kind == "id"]

    @property
    def columns(self) -> dict[Hashable, ColumnSchema]:
        """*Public.* The columns by name."""
        return dict(self._columns)

    @classmethod
    def draft(cls, frame: MatrixLike) -> Self:
        """Propose a schema from the names and types of the columns of a data frame.

        No value is read. Categories are copied only from the type ``Enum`` of polars, which is
        declared. The categories of other types come from the data. The draft lists what has to be
        stated, and no fit accepts it before `confirm` has stated it.

        Parameters
        ----------
        frame : data frame
            *Private.* Only its names and types matter. They must be public.

        Returns
        -------
        TableSchema
            The draft.
        """
        frame = received(frame)
        if not is_frame(frame):
            raise ValueError("draft needs a data frame, whose columns have names and types.")
        check_frame("frame", frame)
        return cls(readers.columns_of_frame(frame))

    def confirm(self, columns: Mapping[Any, Any] | None = None, *, source: str = "") -> Self:
        """Return a schema in which some columns are stated.

        Parameters
        ----------
        columns : dict or None, default None
            *Public.* What to state, by name, in the forms of the constructor. A dict changes only
            the parameters that it names, and others keep codes of missing values. ``None``: the
            proposals of the draft are right.
        source : str, default ""
            *Public.* Where the knowledge comes from, for these columns; for all columns without a
            source if `columns` is None.

        Returns
        -------
        TableSchema
            The changed schema; this one stays as it is.
        """
        given = {name: {} for name in self._columns} if columns is None else dict(columns)
        changed = dict[Hashable, ColumnSchema]()
        for name in self._listed(list(given)):
            one, before = given[name], self._columns[name]
            column = _column(name, one, source, before)
            is_drafted = before.drafted and not column.source
            unread = before.unread if column.kind is None else ()
            changed[name] = replace(column, drafted=is_drafted, unread=unread)
        return self._with(self._columns | changed)

    def drop(self, names: Hashable | Sequence[Hashable]) -> Self:
        """Return the schema without some columns.

        Parameters
        ----------
        names : name or list of names
            *Public.* The columns.

        Returns
        -------
        TableSchema
            The others.
        """
        dropped = self._listed(names)
        return self.select([name for name in self._columns if name not in dropped])

    def select(self, names: Hashable | Sequence[Hashable]) -> Self:
        """Return the schema of some columns.

        Parameters
        ----------
        names : name or list of names
            *Public.* The columns, in the new order.

        Returns
        -------
        TableSchema
            The schema of these columns.
        """
        return self._with({name: self._columns[name] for name in self._listed(names)})

    def _with(self, columns: Mapping[Hashable, ColumnSchema]) -> Self:
        """Return a schema of other columns with the same unit, also if it loses the IDs."""
        kept = any(one.kind == "id" for one in columns.values())
        unit = self._stated if kept else self.unit
        return type(self)(columns, unit=unit, max_rows=self._max_rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableSchema) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def _listed(self, names: Hashable | Sequence[Hashable]) -> list[Hashable]:
        listed = list(names) if isinstance(names, (list, tuple)) else [names]
        if unknown := [name for name in listed if name not in self._columns]:
            raise ValueError(f"Unknown columns: {unknown}. The schema has {list(self._columns)}.")
        return listed

    @property
    def unstated(self) -> dict[Hashable, list[str]]:
        """*Public.* What has to be stated for each column before a fit accepts the schema."""
        return {name: column.unstated for name, column in self._columns.items() if column.unstated}

    @property
    def fingerprint(self) -> str:
        """*Public.* The first 16 hexadecimal digits of the SHA-256 hash of `to_json`.

        Ledgers note it with each release that used the schema.
        """
        return sha256(self.to_json().encode()).hexdigest()[:16]

    def groups(self, frame: MatrixLike, *, column: Hashable = None) -> VectorLike:
        """Return the column of a table that identifies persons, for the `groups` of `fit`.

        Parameters
        ----------
        frame : data frame
            *Private.*
        column : str or None, default None
            *Public.* Name of the column. ``None``: the only one of the kind ``"id"``.

        Returns
        -------
        series
            *Private.* The identifiers.
        """
        names = frame_names(frame)
        if column is None and len(self.ids) != 1:
            raise ValueError(f"column must be given: the columns of the kind 'id' are {self.ids}.")
        name = self.matched(names).ids[0] if column is None else column
        if name not in names:
            raise ValueError(f"the table has no column {name!r}.")
        return frame[name]

    def read(self, rows: MatrixLike) -> Any:
        """Show how the cells of some example rows are understood.

        It spends nothing and adds no noise, so the rows must be public. Make them up, or take them
        from documentation.

        Parameters
        ----------
        rows : data frame, list of dict or array
            *Public.* The rows. They may leave out columns of the schema.

        Returns
        -------
        DataFrame, or list of dict without pandas
            The cells as strings. ``(clipped)`` follows a bound that replaces the value, and
            ``(missing)`` the midpoint that replaces a missing one if ``missing=False``.

        Examples
        --------
        >>> from skdp import TableSchema
        >>> schema = TableSchema({"age": (18, 100), "smoker": ["yes", "no"]})
        >>> schema.read([{"age": 17, "smoker": "yes"}, {"age": "1,8", "smoker": "never"}])
                    age         smoker
        0  18 (clipped)            yes
        1     (missing)  (no category)
        """
        if is_collection(rows):
            raise ValueError("read shows rows in memory: call .compute() first.")
        table = table_of_public(rows)
        encoding = self.encoding(table.labels, every_column=False)
        return framed(encoding.readings(table), table.library)

    def encoding(
        self,
        names: Sequence[Hashable],
        *,
        only_numbers: bool = False,
        texts: bool = True,
        every_column: bool = True,
        by_level: bool = False,
    ) -> Encoding:
        """Return the encoding of a table with these columns.

        Parameters
        ----------
        names : sequence
            *Public.* Names of the columns, in the order of the table.
        only_numbers : bool, default False
            *Public.* Whether all encoded columns must be numbers.
        texts : bool, default True
            *Public.* Whether texts are allowed.
        every_column : bool, default True
            *Public.* Whether the table must have all columns of the schema that become features.
        by_level : bool, default False
            *Public.* Whether ordinal columns become the numbers of their levels, from 0.

        Returns
        -------
        Encoding
            *Public.*
        """
        if (renamed := self.matched(names)) is not self:
            more = {"only_numbers": only_numbers, "texts": texts, "by_level": by_level}
            found = renamed.encoding(names, **more, every_column=every_column)
            return replace(found, fingerprint=self.fingerprint)
        if left := self.unstated:
            lines = "; ".join(f"{name!r}: {', '.join(words)}" for name, words in left.items())
            raise ValueError(
                f"the schema is not complete ({lines}). State this with schema.confirm(...) or in "
                "the constructor, from public knowledge."
            )
        self._check_columns(names, every_column)
        used = {name: self._columns[name] for name in names if not self._columns[name].is_left_out}
        if not used:
            raise ValueError("the schema leaves no column of the table as a feature.")
        more = {"only_numbers": only_numbers, "by_level": by_level}
        encoding = Encoding(used, list(names), self.fingerprint, ids=tuple(self.ids), **more)
        if len(encoding.bounds) < encoding.n_columns and only_numbers:
            numeric = ("number", "integer", "boolean", "date")
            others = [k for k, one in used.items() if one.kind not in numeric or one.parts]
            raise _unusable(others, "not numeric")
        if encoding.bags and not texts:
            raise _unusable([bag.name for bag in encoding.bags.values()], "texts")
        return encoding

    def matched(self, names: Sequence[Hashable]) -> Self:
        """Return the schema with the names that its columns have in a table.

        Parameters
        ----------
        names : sequence
            *Public.* Names of the columns of the table.

        Returns
        -------
        TableSchema
            The same one if no column has one of its `aliases` as its name.
        """
        titles = {title: name for name, one in self._columns.items() for title in one.aliases}
        found = {
            titles[one]: one
            for one in names
            if one in titles and one not in self._columns and titles[one] not in names
        }
        if not found:
            return self
        return self._with({found.get(name, name): one for name, one in self._columns.items()})

    def _check_columns(self, names: Sequence[Hashable], every_column: bool) -> None:
        if extra := [name for name in names if name not in self._columns]:
            advice = "Add them, if only as 'ignored'."
            if extra == [*range(len(names))] and self._columns:
                advice = (
                    "Pass a frame, whose columns have names; in budget.price with made-up rows."
                )
            raise ValueError(f"the schema does not have the columns {extra} of the data. {advice}")
        absent = [k for k, one in self._columns.items() if k not in names and not one.is_left_out]
        if absent and every_column:
            raise ValueError(
                f"the data do not have the columns {absent} of the schema. Add them, or pass "
                f"schema.drop({absent})."
            )

    def to_json(self) -> str:
        """Return the schema as JSON.

        Returns
        -------
        str
            Equal schemas give equal texts.
        """
        columns = [{"name": name, **column.to_dict()} for name, column in self._columns.items()]
        stated = {"unit": self._stated, "max_rows": self._max_rows}
        stated = {name: value for name, value in stated.items() if value is not None}
        return json.dumps(
            {"format": _FORMAT, "columns": columns, **stated}, indent=1, allow_nan=False
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a schema that `to_json` wrote.

        Parameters
        ----------
        text : str
            *Public.* The JSON.

        Returns
        -------
        TableSchema
            The schema.
        """
        try:
            found = json.loads(text)
            columns = {one.pop("name"): one for one in found["columns"]}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError("the text is not the JSON of a schema.") from None
        if found.get("format") != _FORMAT:
            raise ValueError(f"the format of the schema must be {_FORMAT}.")
        if unknown := sorted(found.keys() - {"format", "columns", "unit", "max_rows"}):
            raise ValueError(f"the schema has unknown keys: {unknown}.")
        return cls(columns, unit=found.get("unit"), max_rows=found.get("max_rows"))

    @classmethod
    def from_csvw(cls, metadata: Mapping[str, Any]) -> Self:
        """Read metadata of the W3C recommendation *CSV on the Web*, also with terms of CSVW-EO.

        ``privacyUnit`` and ``privacyId`` name the column that identifies persons, and
        ``maxContributions`` becomes `max_rows`. If ``privacyUnit`` is no column of the table, the
        unit is a person without IDs, so every call needs ``groups=``. A ``primaryKey`` of one
        column identifies rows: the unit is then a record unless the metadata say otherwise. One of
        several columns states no unit.

        Parameters
        ----------
        metadata : dict
            *Public.* The metadata of a table, as `json.load` reads it.

        Returns
        -------
        TableSchema
            A draft if the metadata leave something open, such as the bounds of a number.
        """
        columns, facts = readers.from_csvw(metadata)
        return cls(columns, **facts)

    @classmethod
    def from_smartnoise(cls, metadata: Mapping[str, Any], *, table: str | None = None) -> Self:
        """Read the metadata of SmartNoise SQL.

        ``private_id`` identifies persons, ``max_ids`` becomes `max_rows`, and ``row_privacy: True``
        becomes ``unit="record"``.

        Parameters
        ----------
        metadata : dict
            *Public.* The metadata, as `yaml.safe_load` reads them.
        table : str or None, default None
            *Public.* Name of the table, as in ``"schema.table"`` or only ``"table"``. ``None``: the
            only one.

        Returns
        -------
        TableSchema
            A draft if the metadata leave something open, such as the bounds of a number.
        """
        columns, facts = readers.from_smartnoise(metadata, table)
        return cls(columns, **facts)

    @classmethod
    def from_pandera(cls, schema: object) -> Self:
        """Read a `DataFrameSchema` of pandera.

        Parameters
        ----------
        schema : pandera.DataFrameSchema or DataFrameModel
            *Public.* Checks such as ``isin``, ``in_range`` and ``ge`` and categories of types
            become categories and bounds. Other checks have to be confirmed.

        Returns
        -------
        TableSchema
            A draft if the checks leave something open, such as the bounds of a number.
        """
        return cls(readers.from_pandera(schema))

    @classmethod
    def from_frictionless(cls, schema: object) -> Self:
        """Read a Table Schema of Frictionless.

        A ``primaryKey`` of one column identifies rows, as in `from_csvw`.

        Parameters
        ----------
        schema : dict or frictionless.Schema
            *Public.* A Table Schema, or a resource or a package with one.

        Returns
        -------
        TableSchema
            A draft if the schema leaves something open, such as the bounds of a number.
        """
        columns, facts = readers.from_frictionless(schema)
        return cls(columns, **facts)

    @classmethod
    def from_labels(cls, path: object, *, cells: str) -> Self:
        """Read the value labels and the codes of missing values in a file of Stata or SPSS.

        Only the header of the file is read, by pyreadstat, or for Stata by pandas.

        Parameters
        ----------
        path : str or path
            *Public.* A file whose name ends in ``.dta``, ``.sav``, ``.zsav`` or ``.por``.
        cells : {"codes", "labels"}
            *Public.* What the cells of the table hold, which depends on how it is read: labels with
            `pandas.read_stata` and `pandas.read_spss`, codes with pyreadstat. The label "1" may
            stand for the code 2.

        Returns
        -------
        TableSchema
            A draft: a file does not say whether values without labels may occur.
        """
        return cls(from_labels(path, cells))

    def _rows(self) -> list[list[str]]:
        rows = []
        for name, column in self._columns.items():
            missing = "yes" if column.missing else "no"
            missing += "".join(f", {code}" for code in column.missing_values)
            missing += "" if column.fill is None else f", filled by {column.fill}"
            source = f"open: {', '.join(column.unstated)}" if column.unstated else column.source
            rows.append([str(name), column.kind or "?", column.details, missing, source])
        return rows

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self._columns))
        facts = {"unit": self.unit, "max_rows": self.max_rows, "fingerprint": self.fingerprint}
        given = (f"{name}={value!r}" for name, value in facts.items() if value is not None)
        return f"TableSchema([{names}], {', '.join(given)})"

    def __str__(self) -> str:
        rows = [list(_HEAD), *([*map(_shortened, row[:-1]), row[-1]] for row in self._rows())]
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        lines = (zip(row, widths, strict=True) for row in rows)
        return "\n".join("  ".join(f"{c:{w}}" for c, w in line).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return f"<div>{html_table(_HEAD, self._rows(), named=True)}</div>"


def encoding_of(
    bounds: object,
    n_columns: int,
    names: Sequence[Hashable],
    others: Mapping[str, object] | None = None,
    **needs: bool,
) -> Encoding | None:
    """Return the encoding of a table if `bounds` is a schema, otherwise None.

    All tools resolve schemas here. A schema replaces the `others`, such as `categories`, so these
    must be None. The `needs` of the tool are arguments of `TableSchema.encoding`.
    """
    others = others or {}
    if not isinstance(bounds, TableSchema):
        if twice := [name for name, value in others.items() if isinstance(value, TableSchema)]:
            raise ValueError(f"pass the schema as bounds, not as {twice[0]}.")
        return None
    if given := [name for name, value in others.items() if value is not None]:
        raise ValueError(f"bounds is a schema. State {given} in the schema instead.")
    return bounds.encoding(list(names) or list(range(n_columns)), **needs)


def schemas_in(values: Iterable[object]) -> list[TableSchema]:
    """Return the schemas in containers, and in parameters and fitted state, at any depth.

    A schema that is missed, as in a frozen model or a grid, would protect records, not persons.
    """
    todo, seen, found = [*values], set[int](), dict[TableSchema, None]()
    for one in todo:  # which grows, and keeps all of them, so that no identity is used twice
        if isinstance(one, TableSchema):
            found[one] = None
        elif id(one) not in seen:
            todo += _held_in(one)
            seen.add(id(one))
    return [*found]


def _held_in(one: object) -> list[object]:
    """Return the parts of a container or an estimator of any library."""
    if isinstance(one, (Mapping, list, tuple, set, frozenset)):
        return [*one.values()] if isinstance(one, Mapping) else [*one]
    if isinstance(one, np.ndarray):
        return [*one.flat] if one.dtype == object else []
    if not any(hasattr(type(one), name) for name in ("get_params", "fit")) or isinstance(one, type):
        return []
    state = dict(getattr(one, "__dict__", {}))
    with suppress(Exception):  # other libraries may raise any error here
        state |= one.get_params(deep=False)  # type: ignore[attr-defined]
    return [value for name, value in state.items() if name[0] != "_"]


def groups_of(schemas: Sequence[TableSchema], X: MatrixLike, groups: VectorLike) -> VectorLike:
    """Return the *private* person of each row: `groups`, or the column that schemas name.

    Given groups are used as they are. A comparison with the column would read private values
    before the spend. A missing ID raises an error, as it does in groups: counted as persons of
    their own, rows without an ID could belong to a person who has other rows.
    """
    units = {one.unit for one in schemas} - {None}
    if len(units) > 1:
        raise ValueError("the schemas of one fit state different units: 'record' and 'person'.")
    if groups is not None and units == {_RECORD}:
        raise ValueError(
            "groups identify persons, but the schema states unit='record'. Leave out groups, or "
            "leave out unit."
        )
    if groups is not None or units != {_PERSON}:
        return groups
    given = frame_names(X)
    ids = {
        name: c for s in schemas for name, c in s.matched(given).columns.items() if c.kind == "id"
    }
    names = [*ids]
    if not names:
        raise ValueError(
            "the unit of the schema is a person, but no column of it identifies persons. Pass "
            "groups, the person of each row."
        )
    if len(names) > 1:
        raise ValueError(
            f"the schema has several columns of the kind 'id': {names}. Pass groups, or make all "
            "but one of them 'ignored'."
        )
    found = _ids_in(X, names[0])
    if has_missing(found, ids[names[0]]):
        raise ValueError(
            f"the column {names[0]!r}, which identifies persons, has missing values. Give the ID "
            "of every row, or leave out rows without one."
        )
    return found.source


def _ids_in(X: MatrixLike, name: Hashable) -> Column:
    """Return the column of a table that identifies persons."""
    if is_collection(X):
        raise ValueError(
            f"the schema identifies persons by the column {name!r}. Outside of memory pass groups="
            f"{name!r}, too, or pass unit='record' to TableSchema to protect single rows."
        )
    columns = Columns.of(X, "X")
    if name not in columns.labels or columns.single:
        raise ValueError(
            f"the schema identifies persons by the column {name!r}, which the data do not have. "
            "Pass groups, the person of each row. If each row is a unit of its own, pass "
            "unit='record' to TableSchema."
        )
    return columns.parts[columns.labels.index(name)]


def _column(
    name: Hashable, given: object, source: str, before: ColumnSchema | None = None
) -> ColumnSchema:
    try:
        if before is not None and not isinstance(given, ColumnSchema):
            is_dict, own = isinstance(given, Mapping), before.to_dict()
            stated = dict(given) if isinstance(given, Mapping) else short_form(given)
            if not is_dict or stated.get("kind", before.kind) != before.kind:
                own = {name: own[name] for name in OF_EVERY_KIND if name in own}
            given = own | stated
        return ColumnSchema.of(given, **({"source": source} if source else {}))
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r}: {error}") from None


def _unusable(names: Sequence[Hashable], what: str) -> ValueError:
    return ValueError(
        f"the columns {names} are {what} in the schema, which this tool does not take. Leave them "
        f"out of the data and of the schema, with schema.drop({names})."
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
