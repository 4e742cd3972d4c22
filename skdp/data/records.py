"""The records of a fit: in memory or in blocks, of persons or not, weighted or not.

A model family is a few functions of `Records`, which provide engines, persons, weights, sampling,
missing values and dry runs (`tests/test_toy_family.py` is a complete family in 50 lines)::

    def _check_data(self, parameters, X, y, **more):  # before the spend; more: weights, groups
        records = Records.of(self, X, y, **more, max_weight=self.max_weight)
        records, classes = labels_of(records, type(self).__name__, self.classes, check_numeric)
        return records.with_facts(Facts(classes, bounds))

    def _read(self, plan, records, rng):  # after the spend
        by = ByClass(records.facts.classes.size)
        return plan.release(exact_sums(sizes, records, numbers, by), rng)

    def numbers(records):  # of rows in memory: numbers in [−1, 1] to be summed, and missing as NaN
        for rows, y, steps in records.chunks():
            yield {"x": records.facts.bounds.unit(rows)}

A function of records always receives rows in memory: all rows, or the rows of one block. It must be
a function of a module, or a `functools.partial` of one, because it may run on another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any, Generic, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import _safe_indexing, get_tags

from skdp.data.blocks import Blocks, empty_rows, for_workers, single_column, stacked
from skdp.data.column import Column, is_collection, received, typed
from skdp.data.columns import Columns, frame_names, is_label
from skdp.data.encoding import Encoding
from skdp.data.engine import Block
from skdp.data.persons import Persons
from skdp.data.schema import encoding_of
from skdp.data.validation import (
    check_lengths,
    classes_among,
    codes_in_block,
    encoding_for,
    is_count_public,
    labels_in_block,
    one_column,
    remember_columns,
    target_numbers,
    validated_table,
    validated_weights,
)
from skdp.support.random import child_generator, poisson_sample
from skdp.support.types import MatrixLike, VectorLike
from skdp.support.validation import check_size

_MOST_ROWS = 2**31
_NUMBERS_AT_ONCE = 2**16  # which stay in the cache while they are changed
STEP_BITS = 31
"""Sums are made in steps of 2^−31, as integers."""

Sums = dict[str, np.ndarray]
"""Sums over rows, by name."""

T = TypeVar("T")
Facts = TypeVar("Facts", covariant=True)
Validate = Callable[..., tuple[MatrixLike, VectorLike]]


@dataclass(frozen=True, eq=False, repr=False)
class Records(Generic[Facts]):
    """*Private* records and public facts about them.

    A record is a row, or all rows of a person if `persons` are given.
    """

    X: MatrixLike  # *private* rows; if they are in blocks, only columns and their types
    facts: Facts  # *public* ones of the family, such as bounds or classes; sent to workers
    y: VectorLike = None  # *private* targets, or the column by which a statistic groups the rows
    weights: np.ndarray | None = None  # *private*, in [0, `max_weight`] unless that is None
    persons: Persons | None = None  # *private*; None if each row is a record
    n_targets: int | None = None  # *public*, if the estimator takes several targets
    max_weight: float | None = None  # *public*
    count_is_public: bool = False  # *public*
    rate: float = 1.0  # *public*; with which each record is in this sample
    parameter: str = "X"  # *public* name of the rows in messages
    blocks: Blocks | None = None  # *private* rows outside of memory
    # *Public* functions of `mapped` that convert each block when it is read.
    views: tuple[Callable[[Records[Any]], Records[Any]], ...] = ()

    @classmethod
    def of(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        groups: VectorLike = None,
        *,
        max_weight: float | None = None,
        is_private: bool = True,
        reset: bool = True,
        validate: Validate | None = None,
        facts: Callable[[], object] | None = None,
    ) -> Records[Any]:
        """Check the shapes of an estimator's data, and remember the columns of X.

        The values are first read by `check`, before the spend. With ``reset=False`` the columns are
        compared with the columns of `fit`. Without privacy, weights are not clipped.

        By the estimator's tags for scikit-learn, y holds labels if it is a classifier, and numbers
        otherwise: one column, or a table of at least one if `target_tags.multi_output` is true.

        ``validate(estimator, X, y, reset=...)`` replaces the usual checks of a table. It also runs
        for each block, without arguments that only the driver may see. `facts` returns the public
        facts. It is called between the checks of columns and of targets, so that errors in public
        parameters come first.
        """
        most = _checked_max_weight(sample_weight, max_weight, is_private=is_private)
        public: dict[str, Any] = {"max_weight": most, "count_is_public": is_count_public(estimator)}
        records: Records[Any]
        is_lazy = is_collection(X) or is_collection(y)
        if is_lazy:
            X, y = _split_collection(X, y, "y")
            X, sample_weight = _split_collection(X, sample_weight, "sample_weight")
            X, groups = _split_collection(X, groups, "groups")
            y = typed(y) if _takes_several(estimator) else single_column("y", y)
            blocks = Blocks.of(X, y, sample_weight, groups)
            remember_columns(estimator, X, _needed(estimator, y), reset=reset)
            public["n_targets"] = int(y.shape[1]) if len(getattr(y, "shape", ())) == 2 else 1
            records = cls._in_blocks(blocks, X, sample_weight, groups, **public)
        else:
            if validate is None:
                X = validated_table(estimator, X, _needed(estimator, y), reset=reset)
            else:
                X, y = validate(estimator, X, y, reset=reset)
            records = Records(X, None, y, **public)
        records = records.with_facts(None if facts is None else facts())
        if validate is None:
            records = records.mapped(_targets_for(estimator))
            encoding = encoding_for(estimator)
            records = records if encoding is None else records.encoded(encoding)
        elif is_lazy:
            return records.mapped(partial(_validated, validate, for_workers(estimator)))
        return records if is_lazy else records._with_weights_and_persons(sample_weight, groups)

    @classmethod
    def of_columns(
        cls,
        x: MatrixLike,
        parameter: str = "x",
        *,
        by: VectorLike = None,
        several: bool = False,
        sample_weight: VectorLike = None,
        groups: VectorLike = None,
        max_weight: float | None = None,
        count_is_public: bool = False,
    ) -> Records[None]:
        """Return the rows of a statistic, with y = `by`, by which rows are grouped.

        `by`, `sample_weight` and `groups` may be names of columns, which are taken out of `x`. If
        `several`, `by` is a list of them.
        """
        given: dict[str, Any] = {"max_weight": max_weight, "count_is_public": count_is_public}
        if several:
            given |= {"sample_weight": sample_weight, "groups": groups}
            return _by_several(cls.of_columns(x, parameter, **given), by)
        if sample_weight is not None or max_weight is not None:
            given["max_weight"] = _checked_max_weight(sample_weight, max_weight, is_private=True)
        given["names"] = parameter, "by", "sample_weight"
        if is_collection(x):
            given |= {"sample_weight": sample_weight, "groups": groups}
            return cls.of_rows(x, by, read=_as_columns, **given)
        records = cls.of_rows(x, by, read=_as_columns, **given)
        own: dict[str, VectorLike] = {"sample_weight": sample_weight, "groups": groups}
        for name, one in own.items():
            if one is not None and is_label(one, records.columns.names):
                columns, own[name] = records.columns.split_off(one, name)
                records = replace(records, X=columns)
        return records._with_weights_and_persons(**own)

    @classmethod
    def of_rows(
        cls,
        X: MatrixLike,
        y: VectorLike = None,
        groups: VectorLike = None,
        *,
        read: Callable[[Records[None]], Records[None]] | None = None,
        names: Sequence[str] = ("X", "y", "sample_weight"),
        sample_weight: VectorLike = None,
        **public: Any,
    ) -> Records[Any]:
        """Return records without an estimator, such as pairs of targets and predictions.

        `read` converts the rows: at once in memory, and each block whenever it is read. Messages
        call X, y and weights by their `names`. Only rows in blocks have `sample_weight` here.
        """
        public["parameter"] = names[0]
        if is_collection(X) or is_collection(y):
            X, y = _split_collection(X, y, names[1])
            X, sample_weight = _split_collection(X, sample_weight, names[2])
            X, groups = _split_collection(X, groups, "groups")
            y = single_column(names[1], y)
            blocks = Blocks.of(X, y, sample_weight, groups, parameters=names)
            records = cls._in_blocks(blocks, X, sample_weight, groups, **public)
            return records if read is None else records.mapped(read)
        records = Records(received(X), None, y, **public)
        records = records if read is None else records.mapped(read)
        return records._with_weights_and_persons(None, groups)

    @classmethod
    def _in_blocks(
        cls, blocks: Blocks, X: MatrixLike, sample_weight: Any, groups: Any, **public: Any
    ) -> Records[None]:
        weights = None if sample_weight is None else np.empty(0)
        persons = None if groups is None else Persons(np.empty(0, dtype=np.intp), 0)
        return Records(empty_rows(X), None, None, weights, persons, blocks=blocks, **public)

    def _with_weights_and_persons(
        self, sample_weight: VectorLike, groups: VectorLike
    ) -> Records[Facts]:
        records = self
        if sample_weight is not None:
            weights = validated_weights(sample_weight, self.n_rows)
            if self.max_weight is not None:
                weights = np.clip(weights, 0.0, self.max_weight)
            records = replace(records, weights=weights)
        if groups is not None:
            records = replace(records, persons=Persons.of(groups, self.n_rows))
        return records

    def with_facts(self, facts: T) -> Records[T]:
        changed: Records[Any] = self
        return replace(changed, facts=facts)

    @property
    def n_rows(self) -> int:
        """The number of rows; of blocks since `check`."""
        if self.blocks is not None:
            assert self.blocks.n_rows, "check comes first"
            return sum(self.blocks.n_rows)
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    @property
    def n_records(self) -> int:
        """The number of records: of persons, or of rows."""
        if self.persons is None:
            return self.n_rows
        return self.persons.n_persons if self.blocks is None else sum(self.blocks.n_persons)

    @property
    def size(self) -> float:
        """The number of records, or the exact sum of the weighted ones' `shares`, rounded down."""
        if self.weights is None:
            return self.n_records
        return float(self.total(_size)["size"])

    @property
    def n_known(self) -> int | None:
        """*Public.* The number of records, None if it is private."""
        return self.n_records if self.count_is_public else None

    @property
    def is_weighted(self) -> bool:
        """*Public.* Whether rows count differently, by weights or because persons have several."""
        return self.weights is not None or self.persons is not None

    @cached_property
    def columns(self) -> Columns:
        return self.X if isinstance(self.X, Columns) else Columns.of(self.X, self.parameter)

    @cached_property
    def shares(self) -> np.ndarray | None:
        """The share of a record that each row is: weight / `max_weight` / rows of its person.

        The shares of a record add up to at most 1 if weights were clipped. None if all are 1.
        """
        shares = None if self.persons is None else self.persons.row_weights()
        if self.weights is None:
            return shares
        weights = self.weights / (1.0 if self.max_weight is None else self.max_weight)
        return weights if shares is None else shares * weights

    @cached_property
    def steps(self) -> np.ndarray | None:
        """The `shares` in integer steps of 2^−31, rounded down, for exact sums."""
        if self.shares is None:
            return None
        return np.asarray(np.floor(np.ldexp(self.shares, STEP_BITS)))

    def chunks(self, width: int = 1) -> Iterator[tuple[np.ndarray, Any, np.ndarray | None]]:
        """Yield chunks of rows in memory: read-only floats, NaN where missing; their y and `steps`.

        A chunk has at most 2^16 numbers, also if `width` numbers are made of each row.
        """
        size = max(_NUMBERS_AT_ONCE // max(width, self.columns.n_columns), 1)
        for start in range(0, self.n_rows, size):
            rows = slice(start, start + size)
            steps = None if self.steps is None else self.steps[rows]
            # Some rows as floats, without a copy if the user's array has them.
            X = self.X
            if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"):
                floats = self.columns.floats(rows)
            else:
                floats = X[rows].astype(float, copy=False)
            floats.flags.writeable = False  # they may be the user's own
            yield floats, _rows_of(self.y, rows), steps

    def check(self, function: Callable[[Records[Facts]], T]) -> list[T]:
        """Call a function on the rows of each block: the first read, before the spend.

        The function raises ValueError or TypeError, without values, if the types are wrong. The
        list of its results has one entry per block that has rows, or one in memory.
        """
        found: list[T] = []
        if self.blocks is not None:
            checked = partial(_in_block, self._without_rows, function)
            found = self.blocks.check(checked, of_persons=self.persons is not None)
        if self.n_rows >= _MOST_ROWS:
            raise ValueError(f"{self.parameter} must have fewer than 2^31 rows.")
        if self.count_is_public and not self.n_rows:
            raise ValueError(f"{self.parameter} must have at least one row.")
        return [function(self)] if self.blocks is None else found

    def total(self, function: Callable[[Records[Facts]], Sums]) -> Sums:
        """Return the sums over all rows of what a function returns for some rows, by name."""
        if self.blocks is None:
            return function(self)
        return reduce(_added, self.blocks.stream(partial(_in_block, self._without_rows, function)))

    def counts(self, function: Callable[[Records[Facts]], Sums]) -> Sums:
        """Return the sums of a function that counts rows by their `steps`, if there are any.

        It counts with ``counted(places, size, records.steps)``.
        """
        counts = self.total(function)
        return from_steps(counts) if self.is_weighted else counts

    def encoded(self, encoding: Encoding) -> Records[Facts]:
        """Return the records as a schema encodes them."""
        changed = self.mapped(partial(_encoded, encoding))
        return changed if self.blocks is None else replace(changed, X=encoding.table(self.X))

    def resolved(
        self, bounds: Any, categories: Any = None, *, only_numbers: bool = False
    ) -> tuple[Records[Facts], Any, Any, dict[Any, tuple[float, bool]]]:
        """Return the records, bounds, categories and scales, by a schema if there is one.

        A statistic uses the columns that it is given, so the schema may have others.
        """
        columns, others = self.columns, {"categories": categories}
        needs = {"only_numbers": only_numbers, "texts": False, "every_column": False}
        encoding = encoding_of(bounds, columns.n_columns, columns.names, others, **needs)
        if encoding is None:
            return self, bounds, categories, {}
        return self.encoded(encoding), encoding.bounds, encoding.categories, encoding.scales

    def each(self, function: Callable[[Records[Facts]], T]) -> T | Blocks:
        """Return a function of the rows in memory, such as a design, or `Blocks` of its values."""
        if self.blocks is None:
            return function(self)
        return self.blocks.map(partial(_in_block, self._without_rows, function)).stored()

    def mapped(self, function: Callable[[Records[Facts]], Records[T]]) -> Records[T]:
        """Convert the records: at once in memory, and each block whenever it is read."""
        if self.blocks is None:
            return function(self)
        changed: Records[Any] = self
        return replace(changed, views=(*self.views, function))

    def recut(self, step: int) -> Records[Facts]:
        """Return the records with blocks, unless of persons, that begin at multiples of `step`."""
        if self.blocks is None or self.persons is not None:
            return self
        return replace(self, blocks=self.blocks.recut(step))

    def select(self, columns: Sequence[int]) -> Records[Facts]:
        return replace(self, X=self.columns.select(columns))

    def sampled(self, rate: float, rng: np.random.Generator) -> Records[Facts]:
        """Return a Poisson sample of the records, in memory, drawn from a stream of its own."""
        records = poisson_sample(self.n_records, rate, child_generator(rng))
        return replace(self.chosen(records), rate=rate)

    def chosen(self, records: np.ndarray) -> Records[Facts]:
        """Return the records of these increasing numbers, with all of their rows, in memory."""
        if self.persons is None or self.blocks is None:
            return self.take(records if self.persons is None else self.persons.rows_of(records))
        return self._brought(Records.chosen, self.blocks.places(records, self.blocks.n_persons))

    def kept(self, max_rows: float, rng: np.random.Generator) -> Records[Facts]:
        """Return the records with at most `max_rows` rows of each person."""
        if self.persons is None or self.persons.counts.max(initial=0) <= max_rows:
            return self
        return self.take(self.persons.kept(max_rows, child_generator(rng)))

    def take(self, rows: np.ndarray) -> Records[Facts]:
        """Return the rows of these increasing numbers, in memory."""
        if self.blocks is not None:
            return self._brought(Records.take, self.blocks.places(rows))
        persons = None if self.persons is None else self.persons.take(rows)
        X, y, weights = (_rows_of(one, rows) for one in (self.X, self.y, self.weights))
        return replace(self, X=X, y=y, weights=weights, persons=persons)

    def _brought(
        self, method: Callable[..., Records[Any]], places: Mapping[int, np.ndarray]
    ) -> Records[Facts]:
        """Return some records of blocks, by what a method returns for the numbers in each."""
        assert self.blocks is not None
        found = self.blocks.gather(partial(_taken, self._without_rows, method), places)
        parts = ([getattr(one, name) for one in found] for name in ("X", "y", "weights"))
        X, y, weights = map(stacked, parts)
        persons = [one.persons for one in found if one.persons is not None]
        whose = Persons.joined(persons) if persons else None
        return replace(found[0], X=X, y=y, weights=weights, persons=whose)

    @property
    def _without_rows(self) -> Records[Facts]:
        """The public facts that workers need: these records without their rows."""
        return replace(self, X=None, y=None, weights=None, persons=None, blocks=None)


def _added(some: Sums, more: Sums) -> Sums:
    return {name: np.asarray(some[name] + more[name]) for name in some}


def _size(records: Records[Any]) -> Sums:
    assert records.shares is not None, "of weighted records"
    return {"size": np.array(sum_of_shares(records.shares))}


def sum_of_shares(shares: np.ndarray) -> float:
    """Return a sum of shares in [0, 1], each rounded down to 2^−20; exact for up to 2^33 rows."""
    return float(np.floor(shares * 2.0**20).sum() * 2.0**-20)


def from_steps(totals: Mapping[str, np.ndarray]) -> Sums:
    """Return sums in steps of 2^−31 as floats."""
    return {name: np.ldexp(total.astype(float), -STEP_BITS) for name, total in totals.items()}


def check_numeric(records: Records[object]) -> None:
    """Raise unless all columns hold numbers."""
    records.columns.check_numeric()


@dataclass(frozen=True)
class ByClass:
    """Groups of `exact_sums` for targets 0..K−1; `n_groups` is K, which is public."""

    n_groups: int

    def codes(self, records: Records[object]) -> np.ndarray:
        codes: np.ndarray = records.y
        return codes


def labels_of(
    records: Records[object],
    name: str,
    known: VectorLike,
    check: Callable[[Records[object]], object] | None = None,
) -> tuple[Records[Any], np.ndarray]:
    """Check all rows, and return records with targets 0..K−1, and the K sorted classes.

    The classes are the `known` ones. Otherwise they are the labels that occur, which are then
    public.
    """
    found = records.check(partial(_labels, known, check))
    alike = len({one.dtype.kind for one in found}) == 1
    labels = np.concatenate(found if alike else [Column(one).objects() for one in found])
    classes = classes_among(name, labels, known)
    return records.mapped(partial(_coded, classes)), classes


def _labels(
    known: VectorLike, check: Callable[[Records[object]], object] | None, records: Records[object]
) -> MatrixLike:
    if check is not None:
        check(records)
    return labels_in_block(records.y, known)


def _coded(classes: np.ndarray, records: Records[Facts]) -> Records[Facts]:
    return replace(records, y=codes_in_block(records.y, classes))


def _in_block(empty: Records[Facts], function: Callable[[Records[Facts]], T], block: Block) -> T:
    """Return a function of the rows of a block, as records in memory."""
    rows = replace(empty, X=received(block.X), y=block.y, views=())
    rows = rows._with_weights_and_persons(block.sample_weight, block.groups)
    for view in empty.views:
        rows = view(rows)
    return function(rows)


def _rows_of(values: MatrixLike, rows: Any) -> MatrixLike:
    """Return some rows of one part of records."""
    if values is None or isinstance(values, Column):
        return None if values is None else values[rows]
    return values.take(rows) if isinstance(values, Columns) else _safe_indexing(values, rows)


def _taken(
    empty: Records[Facts], method: Callable[..., Records[Any]], numbers: np.ndarray, block: Block
) -> Records[Facts]:
    return _in_block(empty, lambda records: method(records, numbers), block)


def _needed(estimator: BaseEstimator, y: VectorLike) -> VectorLike:
    """Return y as scikit-learn's checks of X take it: None if it is required and lacking."""
    is_lacking = y is None and get_tags(estimator).target_tags.required
    return None if is_lacking else "no_validation"


def _targets_for(estimator: BaseEstimator) -> Callable[[Records[Any]], Records[Any]]:
    """Return the check of targets for an estimator, by its tags; picklable."""
    if is_classifier(estimator):
        return partial(_with_targets, one_column)
    return partial(_with_targets, partial(target_numbers, several=_takes_several(estimator)))


def _takes_several(estimator: BaseEstimator) -> bool:
    return bool(get_tags(estimator).target_tags.multi_output)


def _with_targets(
    convert: Callable[[MatrixLike], np.ndarray], records: Records[Facts]
) -> Records[Facts]:
    if records.y is None:
        return records
    y = convert(records.y)
    check_lengths(records.X, y)
    n_targets = y.shape[1] if y.ndim == 2 else None
    if n_targets and n_targets != (records.n_targets or n_targets):
        raise ValueError("the number of columns of y differs from that of the whole collection.")
    return replace(records, y=y, n_targets=n_targets)


def _validated(validate: Validate, model: BaseEstimator, records: Records[Facts]) -> Records[Facts]:
    X, y = validate(model, records.X, records.y, reset=False)
    return replace(records, X=X, y=y)


def _checked_max_weight(
    sample_weight: VectorLike, max_weight: float | None, *, is_private: bool
) -> float | None:
    """Return the bound of the weights, None if they are not clipped."""
    largest = None if max_weight is None else check_size("max_weight", max_weight)
    if sample_weight is None or not is_private:
        return None
    if largest is None:
        raise ValueError(
            "sample_weight needs max_weight, a public bound to which weights are clipped: one "
            "record of unbounded weight would outweigh all noise."
        )
    return largest


def _encoded(encoding: Encoding, records: Records[Facts]) -> Records[Facts]:
    return replace(records, X=encoding.table(records.X))


def _by_several(records: Records[Facts], by: VectorLike) -> Records[Facts]:
    """Return records that are grouped by several columns, each given by itself or by name."""
    if records.blocks is not None:
        raise ValueError("rows outside of memory are grouped by one column only.")
    columns, parts = records.columns, list[Column]()
    for one in by:
        alone = _as_columns(replace(records, X=columns, y=one))
        columns, parts = alone.columns, [*parts, alone.y]
    return replace(records, X=columns, y=Columns(parts, [], False))


def _as_columns(records: Records[Facts]) -> Records[Facts]:
    """Return rows as columns, and another column or one of them by which rows are grouped."""
    columns, by = Columns.of(records.X, records.parameter), records.y
    if by is None:
        return replace(records, X=columns)
    if is_label(by, columns.names):
        columns, by = columns.split_off(by, "by")
        return replace(records, X=columns, y=by)
    given = Columns.of(by, "by")
    if not given.single or len(given) != len(columns):
        raise ValueError(
            f"by must be one column with as many rows as {records.parameter}, or its name. For "
            "several columns, give a list of them, and keys for each."
        )
    return replace(records, X=columns, y=given.parts[0])


def _split_collection(
    x: MatrixLike, by: VectorLike, parameter: str
) -> tuple[MatrixLike, VectorLike]:
    """Split off a column: one of the collection, by name, or a separate one as it is."""
    names = frame_names(x)
    if is_label(by, names):
        if by not in names:
            raise ValueError(
                f"{parameter} must be one of the columns {names}, or a column itself; got {by!r}."
            )
        return x[[name for name in names if name != by]], x[by]
    return x, typed(by)
