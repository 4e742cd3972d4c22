"""The neighboring relations."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Neighboring"]


class Neighboring(StrEnum):
    """Relation between two data sets that differ in one record.

    ``replace_one``: one record is exchanged for another; the number of rows n is public.
    ``add_remove_one``: one record is present in only one of the two; n is private.
    """

    n_changed: int
    """Number of contributions that differ: sums of terms of norm ≤ r move by ≤ n_changed·r."""
    count_is_public: bool
    """Whether all neighbors have the same number of rows."""

    REPLACE_ONE = "replace_one", 2, True
    ADD_REMOVE_ONE = "add_remove_one", 1, False

    def __new__(cls, value: str, n_changed: int = 0, count_is_public: bool = False) -> Neighboring:
        one = str.__new__(cls, value)
        one._value_ = value
        one.n_changed, one.count_is_public = n_changed, count_is_public
        return one

    @classmethod
    def _missing_(cls, value: object) -> Neighboring:
        raise ValueError(f"neighboring must be one of {[str(one) for one in cls]}, got {value!r}.")
