"""Blocks of rows that are cut anew, at multiples of a number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import sparse

from skdp.support.types import MatrixLike

__all__ = ["Piece", "pieces_of", "stacked"]

Piece = tuple[int, slice]
"""Some rows of a block, by its number."""


def pieces_of(lengths: Sequence[int], step: int) -> list[list[Piece]]:
    """Return the pieces of old blocks for each new block, in order.

    New blocks begin at multiples of `step`, counted from the first row of all. Where an old block
    has several multiples, the rows from the first to the last of them stay one block, so that at
    most `step` rows at each end have to be copied.
    """
    ends = np.cumsum(lengths)
    starts, n = ends - lengths, int(ends[-1])
    edges = np.unique([0, *(-(-starts // step) * step), *(ends // step * step), n])
    return [_between(starts, ends, low, high) for low, high in pairwise(edges[edges <= n].tolist())]


def _between(starts: np.ndarray, ends: np.ndarray, low: int, high: int) -> list[Piece]:
    """Return the pieces with the rows from `low` to below `high`."""
    first, beyond = ends.searchsorted(low, side="right"), starts.searchsorted(high, side="left")
    return [
        (i, slice(max(low - int(starts[i]), 0), min(high, int(ends[i])) - int(starts[i])))
        for i in range(int(first), int(beyond))
        if starts[i] < ends[i]
    ]


def stacked(parts: Sequence[MatrixLike]) -> MatrixLike:
    """Return the rows of arrays, sparse matrices or pandas objects, such as blocks have.

    Frames with different types become objects. Otherwise, if one block has a missing value, pandas
    would turn the integers of the column into floats, and round those above 2^53.
    """
    if parts[0] is None or len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        kinds = {tuple(np.atleast_1d(part.dtypes)) for part in parts}
        return pd.concat(parts if len(kinds) == 1 else [part.astype(object) for part in parts])
    return (sparse.vstack if sparse.issparse(parts[0]) else np.concatenate)(parts)
