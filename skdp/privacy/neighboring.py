"""The neighbouring relations: which pairs of data sets must look alike."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Neighboring"]


class Neighboring(StrEnum):
    """Relation between two data sets that differ in one record.

    ``replace_one``: one record is exchanged for another; the number of rows n is public.
    ``add_remove_one``: one record is present in only one of the two; n is private.
    """

    REPLACE_ONE = "replace_one"
    ADD_REMOVE_ONE = "add_remove_one"

    @classmethod
    def _missing_(cls, value: object) -> Neighboring:
        raise ValueError(f"neighboring must be one of {[str(one) for one in cls]}, got {value!r}.")

    @property
    def n_changed(self) -> int:
        """How many records' contributions differ between neighbours: 2 or 1.

        A sum of terms in a ball of radius r moves by at most ``n_changed * r``.
        """
        return 2 if self is Neighboring.REPLACE_ONE else 1

    @property
    def count_is_public(self) -> bool:
        """Whether all neighbours have the same number of rows."""
        return self is Neighboring.REPLACE_ONE
