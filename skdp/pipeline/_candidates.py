"""What a search compares: its estimator with each of the settings in its grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import groupby, product
from typing import Any

from sklearn.base import clone

__all__ = ["GRIDS", "candidates"]

GRIDS = ("param_grid", "param_distributions")
"""The parameters in which searches hold settings."""


def candidates(search: Any, grid: str) -> Iterator[Any]:
    """Yield copies of the estimator of a search, with settings of one of its grids.

    The settings of each step occur in all combinations, those of two steps do not: what leaks is a
    property of a step. Of a distribution no value is drawn; a setting that does not fit is left for
    the search to refuse.
    """
    for settings in _settings(getattr(search, grid, None)):
        with suppress(AttributeError, TypeError, ValueError):
            yield clone(search.estimator).set_params(**clone(settings, safe=False))


def _settings(grid: Any) -> Iterator[dict[str, Any]]:
    """Yield the settings of each step by themselves."""
    for one in grid if isinstance(grid, list | tuple) else [grid]:
        if isinstance(one, Mapping):
            names = sorted(name for name, values in one.items() if not hasattr(values, "rvs"))
            for _, of_step in groupby(names, lambda name: name.split("__")[0]):
                chosen = list(of_step)
                for values in product(*(one[name] for name in chosen)):
                    yield dict(zip(chosen, values, strict=True))
