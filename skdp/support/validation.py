"""Checks of public parameters, whose errors show the value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import wraps
from inspect import CO_VARARGS, CO_VARKEYWORDS
from numbers import Integral, Real
from types import FunctionType
from typing import Any, TypeVar, dataclass_transform
from unicodedata import normalize

import numpy as np

from skdp.exceptions import OutOfRangeError

T = TypeVar("T")
_TAKES_ANY = CO_VARARGS | CO_VARKEYWORDS
# Names in other libraries, and names here. A class has at most a few of them.
_MEANT = {
    "accountant": ("budget",),
    "alpha": ("C",),
    "cv": ("holdout",),
    "eps": ("epsilon",),
    "labels": ("classes",),
    "lam": ("C",),
    "max_depth": ("depth",),
    "max_iter": ("n_steps", "solver"),
    "n_estimators": ("n_trees",),
    "penalty": ("C",),
    "privacy_budget": ("epsilon", "budget"),
    "range": ("bounds", "target_bounds"),
    "seed": ("random_state",),
    "test_size": ("holdout",),
    "train_size": ("holdout",),
}


def check_real(
    name: str, value: object, *, low: float, high: float = math.inf, closed: str = ""
) -> float:
    """Return `value` as a float if it lies in (low, high); `closed` holds "[" and "]" for ends."""
    number = _as_float(value)
    at_end = (number == low and "[" in closed) or (number == high and "]" in closed)
    if not (at_end or low < number < high):
        left, right = "[" if "[" in closed else "(", "]" if "]" in closed else ")"
        raise OutOfRangeError(
            f"{name} must be a number in {left}{low:g}, {high:g}{right}, got {value!r}."
        )
    return number


def check_epsilon(epsilon: object) -> float:
    """Return a privacy parameter ε in (0, 1e9) or ``inf`` as a float."""
    number = _as_float(epsilon)
    if not (0 < number < 1e9 or (number == epsilon == math.inf)):
        raise ValueError(
            "epsilon must be a positive number below 1e9, or inf, which turns privacy off; "
            f"got {epsilon!r}."
        )
    return number


def check_delta(delta: object) -> float:
    """Return a failure probability δ in [0, 1) as a float."""
    number = _as_float(delta)
    if not 0 <= number < 1:
        raise ValueError(f"delta must lie in [0, 1), got {delta!r}.")
    return number


def check_size(name: str, value: object) -> float:
    """Return `value` as a positive float far enough from overflow to be squared and divided."""
    return check_real(name, value, low=1e-50, high=1e50)


def check_count(name: str, value: object, *, low: int = 1) -> int:
    """Return `value` as an integer of at least `low`, 1 or 0."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        allowed = "a positive integer" if low == 1 else "an integer of at least 0"
        raise ValueError(f"{name} must be {allowed}, got {value!r}.")
    return int(value)


def check_choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in tuple(choices):
        known = ", ".join(repr(str(choice)) for choice in choices)
        raise ValueError(f"{name} must be one of {known}, got {value!r}.")
    return value


def check_text(name: str, text: str) -> str:
    """Return a string that every ledger can store, in Unicode's composed form."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError(
            f"{name} must not contain NUL characters or halves of surrogate pairs, got {text!r}."
        )
    return normalize("NFC", text)


def check_release_name(name: object) -> str | None:
    """Return the name of a release, None if none is given."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise ValueError(f"name must be a string or None, got {name!r}.")
    return check_text("name", name)


def check_partition(partition: object) -> str | None:
    """Return the name of a partition as a string, None for all records."""
    if partition is None:
        return None
    if isinstance(partition, str):
        return check_text("partition", partition)
    if isinstance(partition, bool | np.bool_) or not isinstance(partition, Integral):
        raise ValueError(f"partition must be a string, an integer or None, got {partition!r}.")
    return str(int(partition))


def set_checked(self: object, **fields: object) -> None:
    """Replace a frozen dataclass's arguments by their checked values, in `__post_init__`."""
    for name, value in fields.items():
        object.__setattr__(self, name, value)


def make_plain(value: object) -> None:
    """Turn a frozen dataclass's NumPy numbers into Python's, in `__post_init__`.

    Python's numbers neither overflow nor round: in the arithmetic of a ``float16`` 300² is
    infinite.
    """
    for name, number in vars(value).items():
        if isinstance(number, np.generic):
            object.__setattr__(value, name, number.item())
        elif isinstance(number, tuple) and any(isinstance(item, np.generic) for item in number):
            plain = tuple(i.item() if isinstance(i, np.generic) else i for i in number)
            object.__setattr__(value, name, plain)


def _as_float(value: object) -> float:
    """Return a real number as a float, without the sign of zero, and anything else as nan."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value) + 0.0
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def _explained(init: FunctionType) -> Callable[..., None]:
    """Return a constructor that raises TypeError with advice for an argument it does not have."""
    code = init.__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    by_place = names[: code.co_argcount - 1]

    @wraps(init)
    def checked(self: object, *args: Any, **settings: Any) -> None:
        kind = type(self).__name__
        if len(args) > len(by_place):
            first = " after " + " and ".join(by_place) if by_place else ""
            raise TypeError(
                f"{kind} takes no positional argument{first}. Pass all others by name, as in "
                "epsilon=1.0."
            )
        for name in settings.keys() - names:
            raise TypeError(f"{kind} has no parameter {name!r}. {_advice(name, names)}")
        init(self, *args, **settings)

    return checked


def _advice(name: str, names: tuple[str, ...]) -> str:
    if name == "bounds":  # close to target_bounds, which is something else
        return "Put BoundsScaler(bounds=...) of skdp.preprocessing in front of it, in a pipeline."
    meant = [one for one in _MEANT.get(name, ()) if one in names]
    meant = meant or get_close_matches(name, names)
    if meant:
        return f"Did you mean {' or '.join(meant)}?"
    return f"The parameters are {', '.join(names)}."


def explain_keywords(cls: type[T]) -> type[T]:
    """Let the constructor of a class explain wrong arguments; return the class."""
    init = vars(cls).get("__init__")
    if isinstance(init, FunctionType) and not init.__code__.co_flags & _TAKES_ANY:
        cls.__init__ = _explained(init)  # type: ignore[method-assign]
    return cls


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def parameters(cls: type[T]) -> type[T]:
    """Make the constructor of an estimator from its annotations, which are its parameters.

    The class is no dataclass afterwards. Others, such as Dask, take dataclasses whose fields are
    equal for the same, whatever they have learned. Nor does it have the defaults as attributes: a
    subclass whose own constructor forgets to set `budget` would fit without one.
    """
    defaults: dict[str, Any] = dict(getattr(cls, "_defaults", {}))
    cls.__annotations__ = getattr(cls, "_annotated", {}) | cls.__annotations__
    for name in defaults.keys() - vars(cls).keys():
        setattr(cls, name, defaults[name])
    made: Any = dataclass(kw_only=True, eq=False, repr=False, match_args=False)(cls)
    made._annotated = made.__annotations__
    own = [one.name for one in fields(made)]
    made._defaults = {name: vars(made)[name] for name in own if name in vars(made)}
    for name in made._defaults:
        delattr(made, name)
    del made.__dataclass_fields__, made.__dataclass_params__
    return explain_keywords(made)
