"""Groups of rows by public keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp.data.column import check_plain, received
from skdp.data.column_facts import category_codes, check_comparable, checked_keys
from skdp.data.columns import frame_names, is_label
from skdp.data.records import Records
from skdp.statistics._result import Axes

__all__ = ["Keys", "axes_of"]


@dataclass(frozen=True, eq=False)
class Keys:
    """Public keys, one for each group; rows with another key, or none, are in no group.

    Parameters
    ----------
    name : object
        *Public.* Of the column that has them.
    values : ndarray of shape (n_groups,)
        *Public.*
    """

    name: Any
    values: np.ndarray

    @classmethod
    def of(cls, x: Any, by: Any, keys: Any) -> Keys | None:
        """Return the keys, None where rows of `x` are not grouped."""
        if by is None and keys is None:
            return None
        if by is None or keys is None:
            raise ValueError(
                "by and keys go together: the column that has the keys, and the list of those that "
                "are asked about. The list is public: known without a look at the data."
            )
        check_plain(received(by))
        name = by if is_label(by, frame_names(x)) else getattr(by, "name", None)
        return cls("by" if name in (None, "") else name, checked_keys(keys))

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return int(self.values.size)

    def check(self, records: Records[Any]) -> None:
        """Raise if the type of the column says that it has none of the keys."""
        check_comparable(records.y, self.values, self.name)

    def codes(self, records: Records[Any]) -> np.ndarray:
        """Return the group of each row by its place among the keys, −1 for none."""
        return category_codes(records.y, self.values)

    @property
    def axes(self) -> Axes:
        """The first axis of what is released by group."""
        return ((str(self.name), self.values.tolist()),)


def axes_of(keys: Keys | None) -> Axes:
    """Return the axis of groups, none without keys."""
    return () if keys is None else keys.axes
