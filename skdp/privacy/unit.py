"""The unit of privacy: whose contribution a guarantee covers as a whole."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Unit"]


class Unit(StrEnum):
    """What two neighboring data sets differ in: one record, or all records of one person.

    ``record``: one row. ``person``: all rows that ``groups`` says belong together, however many;
    under ``replace_one`` the number of persons is public, and that of rows is not.
    """

    RECORD = "record"
    PERSON = "person"

    @classmethod
    def _missing_(cls, value: object) -> Unit:
        raise ValueError(f"unit must be one of {[str(one) for one in cls]}, got {value!r}.")
