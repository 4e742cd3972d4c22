"""Checks of the behavior of an estimator. Each returns a failure, or None."""

from __future__ import annotations

import datetime
import math
import pickle
import random
import traceback
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import NoReturn, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from skdp._private_fit import PrivateFit
from skdp.auditing.attacks import FitArguments, Subject, labels_of, quoted, taken
from skdp.budget import BudgetHandle, PrivacyBudget
from skdp.exceptions import BudgetExceededError
from skdp.support.types import MatrixLike

_DEEPEST = 8
_TIMES = (datetime.date, datetime.time, datetime.timedelta)
_TEXTS = (str, bytes, bytearray, int, float, complex, range, Decimal, Fraction, np.generic, *_TIMES)
_OPAQUE = (BudgetHandle, ModuleType, type)  # not learned from rows


Parts: TypeAlias = dict[object, object]


def leaves(fitted: object) -> dict[str, str]:
    """Return every number and string in an estimator, by its path.

    Parameters are included because a fit may overwrite them, and names of attributes because they
    may be learned.
    """
    found: dict[str, str] = {}
    _add_parts(found, "", fitted, (id(fitted),))
    return found


def _add(found: dict[str, str], path: str, value: object, above: tuple[int, ...]) -> None:
    if value is None or isinstance(value, _TEXTS):
        found[path] = repr(value)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        _add_array(found, path, value)
    elif isinstance(value, _OPAQUE) or id(value) in above or len(above) > _DEEPEST:
        found[path] = type(value).__name__
    else:
        _add_parts(found, path, value, (*above, id(value)))


def _add_array(found: dict[str, str], path: str, value: np.ndarray) -> None:
    found[f"{path}.shape"] = str(value.shape)
    for i, number in enumerate(np.asarray(value).ravel().tolist()):
        found[f"{path}[{i}]"] = repr(number)
    if isinstance(value, np.ma.MaskedArray):
        _add_array(found, f"{path}.mask", np.ma.getmaskarray(value))


def _add_parts(found: dict[str, str], path: str, value: object, above: tuple[int, ...]) -> None:
    parts = _parts(value)
    found[f"{path}.names"] = repr([str(name) for name in parts])
    for name, part in parts.items():
        _add(found, f"{path}.{name}" if path else str(name), part, above)


def _parts(value: object) -> Parts:
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple | deque | np.ndarray):
        return dict(enumerate(np.ravel(value) if isinstance(value, np.ndarray) else value))
    if isinstance(value, set | frozenset):
        return dict(enumerate(sorted(map(repr, value))))
    if isinstance(value, FunctionType | MethodType | partial):
        names = ("__self__", "__defaults__", "__kwdefaults__", "func", "args", "keywords")
        kept: Parts = {name: getattr(value, name, None) for name in names}
        for i, cell in enumerate(getattr(value, "__closure__", None) or ()):
            with suppress(ValueError):  # a cell that is empty
                kept[f"closure {i}"] = cell.cell_contents
        return kept
    return _parts_of_table(value) if hasattr(value, "to_numpy") else _parts_of_object(value)


def _parts_of_table(value: MatrixLike) -> Parts:
    """Return the values and names of a pandas or polars frame or series."""
    names = [name for name in ("index", "columns", "name") if hasattr(value, name)]
    return {"values": value.to_numpy(), **{name: getattr(value, name) for name in names}}


def _parts_of_object(value: object) -> Parts:
    """Return the attributes, or else the contents of the pickle."""
    named = dict(getattr(value, "__dict__", {}))
    for slots in (getattr(kind, "__slots__", ()) for kind in type(value).__mro__):
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                named[name] = getattr(value, name)
    if not named:
        with suppress(Exception):  # it has no pickle
            named = dict(enumerate(value.__reduce_ex__(2)))
    return named


_SECRET = "secret-4711"
_ODD = 87654.321  # recognizable in a message
_QUOTED = (_SECRET, "87654", "87,654", "8.77e+04")
_SMALL_EPSILON = 0.01
_MOST_FITS = 20
_HUGE = 1e6
_SHOWN = 100  # characters around a quoted value
_SEEDS = (3, 3, None, None)
_AMPLE, _SCANT = 20.0, 1e-3  # budgets, in units of one fit


class Skipped(Exception):
    """The check does not apply to this estimator."""


class _ReadError(Exception):
    """An injected fault when the data are read."""


def spends_first(subject: Subject) -> str | None:
    """A fault while reading data comes after the spend and leaves nothing of an older fit."""
    if not isinstance(subject.estimator, PrivateFit):
        raise Skipped("it is not an estimator of skdp")
    reads: list[int] = []
    model, data = _faulty(subject.copy(random_state=None), reads), subject.attack.one
    budget = _budget(subject, _AMPLE)
    model.set_params(budget=budget)
    with suppress(_ReadError):
        model.fit(*data)
    if not reads:
        return "the fit did not read its data in _read"
    if len(budget.history()) != 1:
        return f"the ledger has {len(budget.history())} entries after a fault in _read, not 1"
    kept = [name for name in vars(model) if name.endswith("_") and "_in_" not in name]
    return f"after a fault it still has {kept}" if kept else _refused(subject, model, reads)


def _refused(subject: Subject, model: BaseEstimator, reads: list[int]) -> str | None:
    """Check the rejection by a budget that is too small."""
    reads.clear()
    budget = _budget(subject, _SCANT)
    model.set_params(budget=budget)
    before = repr(sorted(leaves(model).items()))
    try:
        model.fit(*subject.attack.one)
    except BudgetExceededError:
        pass
    except _ReadError:
        return "it reads data although its budget is too small"
    if reads or budget.history():
        return "it spent a budget that is too small, or read data"
    changed = repr(sorted(leaves(model).items())) != before
    return "a rejected fit changed the estimator" if changed else None


def _faulty(model: BaseEstimator, reads: list[int]) -> BaseEstimator:
    """Inject a fault into `_read`."""

    def read(*args: object, **more: object) -> NoReturn:
        reads.append(1)
        raise _ReadError

    model.__class__ = type(type(model).__name__, (type(model),), {"_read": read})
    return model


def _budget(subject: Subject, times: float) -> PrivacyBudget:
    """Return a budget of a multiple of the epsilon of one fit."""
    given = getattr(subject.estimator, "delta", None)
    delta = 1e-5 if given is None else float(given)
    return PrivacyBudget(
        epsilon=times * float(subject.estimator.epsilon),
        delta=delta,
        composition="gdp" if delta else "pure",
        neighboring=subject.neighboring,
    )


def attributes(subject: Subject) -> str | None:
    """No attribute is constant over fits to one data set, with another constant for another.

    A release that is ε-DP is constantly c on one data set and c' on another, n records away, in k
    fits each with probability at most 2·(e^(nε)/4)^k: at this ε and k, below 1e-8 for each number.
    """
    worlds = _two_worlds(subject)
    fixed = [_at_small_epsilon(subject, data) for data in worlds]
    for _ in range(_MOST_FITS - 1):
        if not _differing(*fixed):
            return None
        for i, data in enumerate(worlds):
            again = _at_small_epsilon(subject, data)
            fixed[i] = {name: x for name, x in fixed[i].items() if again.get(name) == x}
    found = sorted(_differing(*fixed))
    return f"a function of the data, without noise: {', '.join(found[:5])}" if found else None


def _at_small_epsilon(subject: Subject, data: FitArguments) -> dict[str, str]:
    try:
        return leaves(subject.fitted(data, epsilon=_SMALL_EPSILON))
    except Exception as raised:
        raise Skipped(f"no fit at epsilon={_SMALL_EPSILON}: {quoted(raised)}") from raised


def _differing(one: dict[str, str], other: dict[str, str]) -> set[str]:
    return {name for name in one.keys() & other.keys() if one[name] != other[name]}


def _two_worlds(subject: Subject) -> list[FitArguments]:
    """Return two data sets with equal public facts: shapes, types and labels."""
    X = subject.rows
    reverse = taken(X, np.arange(len(X))[::-1])
    other = reverse if subject.X is not None else np.where(np.asarray(X) == 0.0, 0.7, -reverse)
    worlds = [(X, *_targets(subject, len(X))[:1]), (other, *_targets(subject, len(X))[1:])]
    if subject.neighboring.count_is_public:
        return worlds
    return [worlds[0], tuple(taken(part, [*range(len(X))] * 2) for part in worlds[1])]


def _targets(subject: Subject, n: int) -> list[np.ndarray]:
    """Return the targets of both, none for a transformer or a density."""
    if not subject.has_targets:
        return []
    if subject.kind_name == "regressor":
        return [np.linspace(-1.0, 1.0, n), np.round(np.linspace(0.0, 1.0, n))]
    labels = np.array(labels_of(subject.estimator))
    k = np.arange(n)
    return [labels[k % len(labels)], labels[np.maximum(len(labels) - 1 - k, 0)]]


def messages(subject: Subject) -> str | None:
    """No error or warning quotes a value or a label."""
    known = {"classes": labels_of(subject.estimator)} if subject.kind_name == "classifier" else {}
    for situation, data in _odd_data(subject):
        for kind, text in _said(subject.copy(random_state=None, **known), data):
            for word in _QUOTED:
                if word in text:
                    return f"if {situation}, {kind} quotes it: {_around(word, text)!r}"
    return None


def _odd_data(subject: Subject) -> Iterator[tuple[str, FitArguments]]:
    """Yield situations, and data with a value that no message may quote."""
    X, rest = subject.rows, list(_two_worlds(subject)[0][1:])
    table = np.array(X, dtype=object)
    table[-1, 0] = _SECRET
    yield f"X holds the string {_SECRET!r}", (table, *rest)
    if np.asarray(X).dtype.kind in "fiu":
        odd = np.array(X, dtype=float)
        odd[-1, 0], odd[-2, 0] = _ODD, -_ODD
        yield f"X holds {_ODD} and its negative", (odd.copy(), *rest)
        odd[-2, 0] = math.nan
        yield f"X holds {_ODD} beside a missing value", (odd, *rest)
    if rest and subject.kind_name == "regressor":
        yield f"y holds {_ODD}", (X, np.append(rest[0][1:], _ODD))
    if rest:
        y = np.array(rest[0], dtype=object)
        y[-1] = _SECRET
        yield f"y holds the unknown label {_SECRET!r}", (X, y)


def _said(model: BaseEstimator, data: FitArguments) -> list[tuple[str, str]]:
    """Return the types and messages of the error and the warnings of a fit."""
    said = []
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            model.fit(*data)
        except Exception as raised:
            text = "".join(traceback.format_exception_only(raised))
            said.append((type(raised).__name__, text.partition(": ")[2].strip()))
    return said + [(one.category.__name__, str(one.message)) for one in caught]


def _around(word: str, text: str) -> str:
    start = max(text.index(word) - _SHOWN, 0)
    end = start + 2 * _SHOWN
    return "..." * (start > 0) + text[start:end] + "..." * (end < len(text))


def odd_rows(subject: Subject) -> str | None:
    """Rows of norm 1e6 and equal rows are fitted; NaN is fitted, or rejected before the spend."""
    first, *rest = _two_worlds(subject)[0]
    rows = {"equal rows": taken(first, [0] * len(first))}
    if subject.X is None:
        rows = {f"rows of norm {_HUGE:g}": _HUGE * np.ones_like(first), **rows}
    for name, X in rows.items():
        try:
            subject.fitted((X, *rest))
        except Exception as raised:
            return f"{name} break a fit, which reveals them: {quoted(raised)}"
    return _missing(subject, first, rest) if np.asarray(first).dtype.kind == "f" else None


def _missing(subject: Subject, first: MatrixLike, rest: list[np.ndarray]) -> str | None:
    missing = np.array(first)
    missing[0, 0] = math.nan
    model = subject.copy(random_state=None)
    budget = _budget(subject, _AMPLE) if isinstance(model, PrivateFit) else None
    if budget is not None:
        model.set_params(budget=budget)
    try:
        model.fit(missing, *rest)
    except Exception:
        paid = budget is not None and budget.history()
        return "missing values were rejected after the spend" if paid else None
    return None


def seeds(subject: Subject) -> str | None:
    """A seed repeats a fit; without a seed no two fits are equal."""
    data = _two_worlds(subject)[0]
    if not subject.has("random_state"):
        raise Skipped("it has no random_state")
    fits = [leaves(subject.copy(budget=None, random_state=s).fit(*data)) for s in _SEEDS]
    if fits[0] != fits[1]:
        return "two fits with the same seed differ"
    return "two fits without a seed are equal" if fits[2] == fits[3] else None


def copies(subject: Subject) -> str | None:
    """Copies have independent noise, for any global seed of NumPy and Python."""
    data, state = _two_worlds(subject)[0], random.getstate()
    numpys = np.random.get_state()  # noqa: NPY002
    workers, found = [_as_in_a_worker(subject.copy(random_state=None)) for _ in range(2)], []
    try:
        for model in workers:
            random.seed(0)
            np.random.seed(0)  # noqa: NPY002
            found.append(leaves(model.fit(*data)))
    finally:
        random.setstate(state)
        np.random.set_state(numpys)  # noqa: NPY002
    if found[0] == found[1]:
        return "two copies have the same noise, so parallel workers would too"
    return None


def _as_in_a_worker(model: BaseEstimator) -> BaseEstimator:
    """Return a pickled copy, or a deep copy if that fails."""
    try:
        return pickle.loads(pickle.dumps(model))
    except (pickle.PicklingError, AttributeError, TypeError):
        return deepcopy(model)


CONDUCT = {
    "spends first": spends_first,
    "attributes": attributes,
    "messages": messages,
    "odd rows": odd_rows,
    "seeds": seeds,
    "copies": copies,
}
