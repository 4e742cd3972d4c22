"""A split of persons into training and test rows by a public hash of their IDs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from uuid import UUID

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from skdp.data.column_schema import text_of
from skdp.data.columns import Columns
from skdp.data.persons import Persons
from skdp.privacy import Neighboring
from skdp.support.types import Label, MatrixLike, VectorLike
from skdp.support.validation import check_choice, check_count

_BITS = 64
_KINDS = (str, bytes, date, complex, UUID)
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


class HashSplit(BaseCrossValidator):
    """Folds of persons by a public hash of their IDs.

    All rows of a person are in one fold. The fold depends on `n_splits`, `salt` and the value of
    the person's ID alone: not on its type, the other persons, the order of the rows, labels or any
    other value. A person who joins, leaves or changes moves no one else, and a person stays in
    their fold when the table grows. It can be used as ``cv=``, and each pair of `split` as a
    training set and a test set.

    A part that one split has made can be split again with another `n_splits` or `salt`, and the
    new folds are independent of the old ones. The same split again would put all persons of a fold
    into one fold, so that another side is empty.

    Parameters
    ----------
    n_splits : int, default 5
        *Public.* Number of folds, at least 2. A test set has about 1/n_splits of the persons.
    salt : str, default ""
        *Public.* Other values give other, independent folds.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether the set of IDs is public or private. Under ``replace_one`` the records of
        a person may change, but the ID stays, and `split` raises ValueError if a training or test
        set would be empty. Under ``add_remove_one`` it raises no such error, which would reveal
        whether a fold has persons, and a fit to no rows is a fit like any other.

    Notes
    -----
    **Guarantee.** Sets of rows of different folds are disjoint partitions of the persons: releases
    on training rows and on test rows do not add up (``budget.at(partition=...)``). Neighbors in
    which the rows of one person change, but not the ID, differ in one training or test set. Only
    these are protected if folds are partitions under ``replace_one``. If the ID changes as well, or
    a person joins or leaves, a test set loses or gains one person: use
    ``neighboring="add_remove_one"`` if the IDs are private. Scores of scikit-learn on the test sets
    are exact functions of private rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.model_selection import HashSplit
    >>> person = np.repeat(np.arange(1000), 3)
    >>> train, test = next(HashSplit(n_splits=4).split(person, groups=person))
    >>> set(person[train]) & set(person[test])
    set()
    >>> len(train), len(test)
    (2316, 684)
    """

    __metadata_request__split = {"groups": True}  # noqa: RUF012  # as scikit-learn's own have it

    def __init__(
        self, *, n_splits: int = 5, salt: str = "", neighboring: str = "replace_one"
    ) -> None:
        self.n_splits = n_splits
        self.salt = salt
        self.neighboring = neighboring

    def split(
        self, X: MatrixLike, y: VectorLike = None, groups: VectorLike | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the training rows and the test rows of each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            *Private.* Only its length counts.
        y : object
            Ignored.
        groups : array-like of shape (n_samples,)
            *Private.* The ID of each row's person: a string, bytes, a number, a date, a time, a
            UUID, or a tuple of these. Equal values of different types are the same ID, such as 1,
            1.0 and True. The string "1" is another one.

        Yields
        ------
        train, test : ndarray of int
            Row numbers, as private as the IDs.

        Raises
        ------
        ValueError
            If `groups` or values of them are missing or of other types, or a parameter is wrong.
            Under ``replace_one`` also if a set would be empty. No set has been returned then.
        """
        folds = self._folds(X, groups)
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    def get_n_splits(
        self, X: MatrixLike = None, y: VectorLike = None, groups: VectorLike | None = None
    ) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object
            Ignored.

        Returns
        -------
        int
            *Public.*
        """
        return self.n_splits

    def _folds(self, X: MatrixLike, groups: VectorLike | None) -> np.ndarray:
        """Return the fold of each row."""
        check_count("n_splits", self.n_splits)
        if self.n_splits < 2:
            raise ValueError(f"n_splits must be at least 2, got {self.n_splits!r}.")
        relation = Neighboring(check_choice("neighboring", self.neighboring, Neighboring))
        if groups is None:
            raise ValueError("HashSplit needs groups: the ID of each row's person.")
        persons = Persons.of(groups, X.shape[0] if hasattr(X, "shape") else len(X))
        ids = [*Columns.of(groups, "groups").parts[0].values()]
        _, first = np.unique(persons.codes, return_index=True)
        folds = np.array([self._fold(ids[row]) for row in first], dtype=int)
        if relation.count_is_public and len(np.unique(folds)) < self.n_splits:
            raise ValueError(
                f"a training or test set would be empty with n_splits={self.n_splits}: there are "
                "too few persons, or the rows are already a part that the same split has made. "
                "Take a smaller n_splits, or another salt."
            )
        return folds[persons.codes]

    def _fold(self, person: Label) -> int:
        # JSON quotes the salt and the name, so that different ones make different texts
        named = json.dumps([int(self.n_splits), str(self.salt), *_name(person)])
        digest = blake2b(named.encode(), digest_size=_BITS // 8).digest()
        # The folds differ by at most 2^−64 in their share of all hashes.
        return int.from_bytes(digest) * int(self.n_splits) >> _BITS


def _name(person: Label) -> list[str]:
    """Return the kind and the value of an ID; values that Python finds equal have one name."""
    if isinstance(person, np.generic):
        unit = f"{person.dtype.kind}8[us]"  # readers choose the unit of dates and times
        person = (person.astype(unit) if unit[0] in "mM" else person).item()
    if isinstance(person, complex) and not person.imag:
        person = person.real
    if isinstance(person, (int, float, Decimal, Fraction)):  # a bool is an int
        return ["number", _exact(person)]
    if isinstance(person, datetime):  # also a timestamp of pandas
        word = "date" if person.utcoffset() is None else "moment"
        zoned = person.replace(tzinfo=UTC) if word == "date" else person
        return [word, str(text_of(np.datetime64((zoned - _EPOCH) // _MICROSECOND, "us")))]
    if isinstance(person, timedelta):
        return ["timedelta", str(person // _MICROSECOND)]
    if isinstance(person, tuple):
        return ["tuple", *(word for one in person for word in _name(one))]
    kind = next((one for one in _KINDS if isinstance(person, one)), None)
    if kind is None:
        raise ValueError("IDs must be strings, bytes, numbers, dates, times, UUIDs or tuples.")
    return [kind.__name__, str(text_of(person))]


def _exact(number: Label) -> str:
    """Return a number as a fraction, in which no two numbers are equal."""
    try:
        exact = Fraction(number)
    except (OverflowError, ValueError):  # infinite
        return str(float(number))
    return f"{exact.numerator:x}/{exact.denominator:x}"
