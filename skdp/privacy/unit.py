"""The unit of privacy: whose contribution a guarantee covers as a whole."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

__all__ = ["Unit"]


class Unit(StrEnum):
    """What two neighbouring data sets differ in: one record, or all records of one person.

    ``record``: one row. ``person``: all rows that ``groups`` says belong together, however many;
    under ``replace_one`` the number of persons is public, and that of rows is not.
    """

    RECORD = "record"
    PERSON = "person"

    @classmethod
    def of(cls, groups: Any) -> Unit:
        """Return the unit of a release from data with these groups, None for none.

        Parameters
        ----------
        groups : array-like or None
            *Private.* Whose each row is.

        Returns
        -------
        Unit
        """
        return cls.RECORD if groups is None else cls.PERSON

    @classmethod
    def _missing_(cls, value: object) -> Unit:
        raise ValueError(f"unit must be one of {[str(one) for one in cls]}, got {value!r}.")
