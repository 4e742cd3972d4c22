"""Groups of rows by public keys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdp.data.column import check_plain, received
from skdp.data.column_facts import category_codes, check_comparable, checked_keys
from skdp.data.columns import frame_names, is_label
from skdp.data.records import Records
from skdp.privacy import Neighboring, PrivacyGuarantee
from skdp.statistics._result import Axes
from skdp.support.types import Label, MatrixLike, VectorLike


@dataclass(frozen=True, eq=False)
class Keys:
    """*Public* keys, one for each group, and the name of their column.

    Rows with another key, or without one, are in no group.
    """

    name: Label
    values: np.ndarray

    @classmethod
    def of(cls, x: MatrixLike, by: VectorLike | None, keys: ArrayLike | None) -> Keys | None:
        """Return the checked keys, None if the rows of `x` are not grouped."""
        if by is None and keys is None:
            return None
        if by is None or keys is None:
            raise ValueError(
                "by and keys go together: pass the column to group by, and the list of its values "
                "to report. The list is public: choose it without looking at the data."
            )
        check_plain(received(by))
        name = by if is_label(by, frame_names(x)) else getattr(by, "name", None)
        return cls("by" if name in (None, "") else name, checked_keys(keys))

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return int(self.values.size)

    def check(self, records: Records[Any]) -> None:
        """Raise ValueError if the type of the column rules out all keys."""
        check_comparable(records.y, self.values, self.name)

    def codes(self, records: Records[Any]) -> np.ndarray:
        """Return the group of each row, −1 for none."""
        return category_codes(records.y, self.values)


def most_records(records: Records[Any], privacy: PrivacyGuarantee) -> float:
    """Return the number of records if it is public, else infinity."""
    return records.n_records if privacy.neighboring is Neighboring.REPLACE_ONE else math.inf


def axes_of(keys: Keys | None) -> Axes:
    """Return the axis of groups, none without keys."""
    return () if keys is None else ((str(keys.name), keys.values.tolist()),)
