"""The privacy unit: one record, or all records of a person."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Unit"]


class Unit(StrEnum):
    """Privacy unit: what two neighboring data sets differ in.

    ``record``: one row. ``person``: all rows of one person, by the ``groups`` of `fit`. Under
    ``replace_one`` the number of persons is public, and the number of rows is not.
    """

    RECORD = "record"
    PERSON = "person"

    @classmethod
    def _missing_(cls, value: object) -> Unit:
        raise ValueError(f"unit must be one of {[str(one) for one in cls]}, got {value!r}.")
