"""Types of what users pass: for readers, since inputs are checked at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

Number = TypeVar("Number", float, np.ndarray)
"""A number, or an array of numbers."""

# Data frames, sparse matrices and lazy collections have no common type that mypy knows.
MatrixLike: TypeAlias = Any
"""Rows of a table: an array, a sparse matrix, a data frame or a lazy collection."""

VectorLike: TypeAlias = Any
"""One value per row: an array, a list, a series or a lazy collection."""

Label: TypeAlias = Any
"""A category or a class: a string, a number, a boolean or None."""

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
"""A seed, a generator, or None for fresh entropy."""


Schema: TypeAlias = Any
"""A `skdp.tables.TableSchema`, which replaces bounds and categories."""

Bounds: TypeAlias = ArrayLike | Mapping[Any, Sequence[float]] | Schema
"""One pair, one pair per column, a pair of vectors, a dict from columns to pairs, or a schema."""

Categories: TypeAlias = ArrayLike | Mapping[Any, ArrayLike] | Schema
"""The values of every column, a dict from columns to their values, or a schema."""

KeysLike: TypeAlias = Any
"""The keys of a column, a list of those of several columns, or a dict from columns to them."""

Transformation: TypeAlias = str | float | Mapping[Any, str | float | None]
"""The scale of every numeric column, or a dict from columns to scales."""


class Countable(Protocol):
    """An object with a private number of records."""

    @property
    def n_records(self) -> int:
        """The number of records: of rows, or of persons."""
