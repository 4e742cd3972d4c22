"""Axes of displays: new ones, and logarithmic scales."""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_IN_A_ROW = 4
_MOST_TICKS = 7  # about so many powers of ten on an axis


def pyplot(caller: str) -> ModuleType:
    """Import matplotlib's pyplot, or raise an error that says how to install it."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} needs matplotlib. Install it with: pip install skdp[plot]."
        ) from error
    return plt


def axes_for(owner: object, ax: ArrayLike | None, n: int, part: str) -> np.ndarray:
    """Return n of the given axes, one per `part`, or those of a new figure, four in a row."""
    if ax is None:
        ax = _new_axes(pyplot(type(owner).__name__), n)
    axes = np.atleast_1d(ax).ravel()
    if len(axes) < n:
        raise ValueError(f"ax must have {n} axes, one per {part}, got {len(axes)}.")
    return axes[:n]


def _new_axes(plt: ModuleType, n: int) -> np.ndarray:
    columns = min(n, _MOST_IN_A_ROW)
    rows = -(-n // columns)
    size = (3.2 * columns, 2.8 * rows)
    _, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for unused in axes.ravel()[n:]:
        unused.set_axis_off()
    return np.asarray(axes)


def set_scale(ax: Axes, name: str, unit: float, places: np.ndarray) -> None:
    """Set the scale of axis "x" or "y" for increasing places: logarithmic beyond a finite unit."""
    if math.isfinite(unit):
        getattr(ax, f"set_{name}scale")("asinh", linear_width=unit)
        if len(ticks := _ticks(unit, places[0], places[-1])) > 1:
            getattr(ax, f"set_{name}ticks")(ticks)
        getattr(ax, f"set_{name}lim")(places[0], places[-1])


def _ticks(unit: float, low: float, high: float) -> np.ndarray:
    """Return 0 and the powers of ten beyond the unit, within the bounds."""
    low, high = (float(f"{end:.9g}") for end in (low, high))  # ends are bounds up to rounding
    last = math.floor(math.log10(max(-low, high, unit)))
    powers = 10.0 ** np.arange(math.ceil(math.log10(unit)), last + 1)
    powers = powers[:: 1 + len(powers) // _MOST_TICKS]
    ticks = np.concatenate([-powers[::-1], [0.0], powers])
    return ticks[(low <= ticks) & (ticks <= high)]
