"""Estimators inside of pipelines and ensembles, and the budgets that they spend from."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator
from dis import get_instructions
from gc import get_referents
from logging import Logger
from types import CodeType, FunctionType, ModuleType

import numpy as np
from sklearn.base import BaseEstimator

from skdp._private_fit import PrivateFit
from skdp.budget import BudgetHandle
from skdp.features.row_wise_conditions import ROW_WISE_WRAPPERS
from skdp.pipeline._known_estimators import KNOWN, WRAPPERS, home_of, is_private, parts_of

_CODE = type | FunctionType


def known_as(estimator: object) -> str | None:
    """Return the name of its class in the catalogs, or of the first base class there."""
    kind = type(estimator)
    bases = kind.__mro__ if home_of(kind) is None else (kind,)
    return next((one.__name__ for one in bases if one.__name__ in KNOWN and home_of(one)), None)


def is_part(value: object) -> bool:
    """Return whether a parameter or a step can be fitted, also if it is no estimator."""
    kind = type(value)
    if kind in (str, type, type(None)) or hasattr(kind, "get_params"):
        return kind is not type and hasattr(kind, "get_params")
    return any(name.startswith("fit") for name in dir(kind))


def inside(
    path: str, estimator: BaseEstimator, names: tuple[str, ...]
) -> Iterator[tuple[str, BaseEstimator]]:
    """Yield the path and the estimator in each of these parameters, or in the lists there."""
    before = f"{path}__" if path else ""
    for name in names:
        value = getattr(estimator, name, None)
        if isinstance(value, list | tuple):
            for part in value:
                if is_part(part[1]):
                    yield f"{before}{part[0]}", part[1]
        elif is_part(value):
            yield f"{before}{name}", value


def held_in(estimator: object) -> list[str]:
    """Return the classes of private estimators and budgets that an estimator can reach.

    Attributes, containers and variables of nested functions are followed, at any depth. So are
    global variables that the code of its methods and functions names. Of functions and classes
    among these, only those of the same module are followed.
    """
    kinds, given = type(estimator).__mro__, getattr(estimator, "__dict__", {}).values()
    own = {one.__module__ for one in (*kinds, *given) if isinstance(one, _CODE)}
    found, seen, todo = set[str](), dict[int, object](), [estimator, *kinds]
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, ModuleType | Logger):
            continue
        seen[id(one)] = one
        if one is not estimator and _can_spend(one):
            found.add((one if isinstance(one, type) else type(one)).__name__)
        elif isinstance(one, type):
            is_own = one.__module__ in own and not _is_library(one.__module__)
            todo += vars(one).values() if is_own else []
        elif isinstance(one, FunctionType):
            todo += [one.__closure__, one.__defaults__, one.__kwdefaults__, *_named_in(one)]
        elif isinstance(one, np.ndarray):
            todo += one.ravel().tolist() if one.dtype == object else []
        else:
            todo += get_referents(one)
    return sorted(found)  # sets of names have no order


def _can_spend(one: object) -> bool:
    if isinstance(one, type):
        return issubclass(one, BudgetHandle | PrivateFit)
    return isinstance(one, BudgetHandle) or is_private(one)


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in {"sklearn", "skdp"} | sys.stdlib_module_names


def _named_in(function: FunctionType) -> list[object]:
    """Return the values of global variables that a function names, also in modules."""
    codes, scope = [*_codes(function.__code__)], function.__globals__
    if _is_library(home := str(function.__module__)):
        return []
    names = {name for code in codes for name in code.co_names}
    steps = (step for code in codes for step in get_instructions(code))
    read = {step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    values = [scope[name] for name in read & scope.keys()]
    modules = [sys.modules[name] for name in names & sys.modules.keys()]
    for module in (*modules, *(one for one in values if isinstance(one, ModuleType))):
        values += [vars(module)[name] for name in names & vars(module).keys()]
    other = {id(one) for one in values if isinstance(one, _CODE) and one.__module__ != home}
    return [one for one in values if id(one) not in other or _can_spend(one)]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def spends(step: BaseEstimator) -> bool:
    """Return whether a step of a pipeline has a cost of its own."""
    return hasattr(step, "get_params") and "epsilon" in step.get_params(deep=False)


def leaves(step: BaseEstimator, path: str = "") -> Iterator[tuple[str, BaseEstimator]]:
    """Yield the transformers in compositions of scikit-learn with their paths, or the step."""
    if not _is_composition(step):
        yield path, step
        return
    for inner, part in inside(path, step, ROW_WISE_WRAPPERS[type(step).__name__][0]):
        yield from leaves(part, inner)


def fitted_leaves(step: BaseEstimator) -> Iterator[BaseEstimator]:
    """Yield the leaves of a fitted step; a `ColumnTransformer` fits copies of its parts."""
    if not _is_composition(step):
        yield step
        return
    names = ("transformers_", "transformer_list", "steps")
    parts = next(getattr(step, name) for name in names if hasattr(step, name))
    for part in parts:
        yield from fitted_leaves(part[1])


def _is_composition(step: BaseEstimator) -> bool:
    kind = type(step)
    return kind.__module__.startswith("sklearn.") and kind.__name__ in ROW_WISE_WRAPPERS


def ledgers_of(estimator: BaseEstimator) -> set[Hashable]:
    """Return keys of the ledgers that the estimator spends from; None is a missing budget."""
    name = known_as(estimator)
    if name in WRAPPERS:
        parts = inside("", estimator, parts_of(estimator, name))
        return set().union(*(ledgers_of(part) for _, part in parts))
    return {_ledger(estimator)} if is_private(estimator) else set()


def _ledger(estimator: BaseEstimator) -> Hashable:
    budget = getattr(estimator, "budget", None)
    budget = getattr(estimator, "accountant", None) if budget is None else budget
    return getattr(
        getattr(budget, "_ledger", None), "identity", None if budget is None else id(budget)
    )
