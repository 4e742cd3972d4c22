"""Names in guarantees: the neighboring relation, the unit, the rule of composition."""

from __future__ import annotations

from enum import StrEnum


class _Term(StrEnum):
    @classmethod
    def _missing_(cls, value: object) -> object:
        known = [str(one) for one in cls]
        raise ValueError(f"{cls.__name__.lower()} must be one of {known}, got {value!r}.")


class Neighboring(_Term):
    """Relation between two data sets that differ in one record.

    ``replace_one``: one record is exchanged for another; the number of rows n is public.
    ``add_remove_one``: one record is present in only one of the two; n is private.

    Examples
    --------
    >>> from skdp.privacy import Neighboring
    >>> relation = Neighboring("replace_one")
    >>> relation == "replace_one", relation.n_changed, relation.count_is_public
    (True, 2, True)
    >>> Neighboring.ADD_REMOVE_ONE.n_changed, Neighboring.ADD_REMOVE_ONE.count_is_public
    (1, False)
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


class Unit(_Term):
    """Privacy unit: what two neighboring data sets differ in.

    ``record``: one row. ``person``: all rows of one person, by the ``groups`` of `fit`. Under
    ``replace_one`` the number of persons is public, and the number of rows is not.
    ``person-month``, of budgets: all rows of one person in one month, by the ``period`` of `at`.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> X, y = [[0.0], [1.0]] * 1000, [0, 1] * 1000
    >>> model = DPLogisticRegression(max_rows=2).fit(X, y, groups=[*range(1000)] * 2)
    >>> model.privacy_.unit
    <Unit.PERSON: 'person'>
    >>> model.privacy_.unit == "person"
    True
    """

    RECORD = "record"
    PERSON = "person"
    PERSON_MONTH = "person-month"


UNIT_OF_FITS = {one: one for one in Unit} | {Unit.PERSON_MONTH: Unit.PERSON}
"""The unit that a fit protects in the rows that it reads, by the unit of its budget."""


class Composition(_Term):
    """The quantity that a budget adds up.

    ``gdp``: squares of Gaussian-DP parameters. ``basic``: ε and δ. ``zcdp``: ρ of
    zero-concentrated DP. ``rdp``: Rényi divergences. ``pure``: ε; every δ is 0.
    """

    adds_epsilon: bool
    """Whether the ε of releases add up, whatever their noise."""
    counts_gaussians: bool
    """Whether the rule is exact for Gaussian noise, and charges more for other noise."""

    GDP = "gdp", False
    BASIC = "basic", True
    ZCDP = "zcdp", False
    RDP = "rdp", False
    PURE = "pure", True

    def __new__(cls, value: str, adds_epsilon: bool = False) -> Composition:
        one = str.__new__(cls, value)
        one._value_ = value
        one.adds_epsilon, one.counts_gaussians = adds_epsilon, not adds_epsilon
        return one

    def __repr__(self) -> str:
        return repr(str(self))
