"""Packages whose names are imported on first use.

The ``__init__`` of such a package imports its names for type checkers only and tells `lazy_names`
where they live. To import one estimator is then not to import all algorithms, ledgers and
accountants. Code that needs such a package within functions only imports it as a whole and
writes, for example, ``accounting.gdp_mu``.

A name must differ from those of the package's modules: the import of a module sets its name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

__all__ = ["lazy_names"]


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Name of the package.
    homes : dict
        The public names that each module defines. Modules are named in full.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def look_up(name: str) -> object:
        module = sys.modules[package]  # from which Python suggests names
        if name not in home_of:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=module)
        found = getattr(import_module(home_of[name]), name)
        setattr(module, name, found)  # the next time, Python finds it by itself
        return found

    return sorted(home_of), look_up, lambda: sorted({*home_of, *vars(sys.modules[package])})
