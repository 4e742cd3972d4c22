"""A split of persons into training and test rows by a public hash of their IDs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from hashlib import blake2b

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from skdp.data.columns import values_of
from skdp.data.persons import Persons
from skdp.data.schema.values import text_of
from skdp.support.types import Label, MatrixLike, VectorLike
from skdp.support.validation import check_count

__all__ = ["HashSplit"]

_BITS = 64


class HashSplit(BaseCrossValidator):
    """Folds of persons by a public hash of their IDs.

    All rows of a person are in one fold. The fold depends on the person's ID alone: not on the
    other persons, the order of the rows, labels or any other value. A person who joins, leaves or
    changes moves no one else, and a person stays in their fold when the table grows. It can be
    used as ``cv=``, and each pair of `split` as a training set and a test set.

    Parameters
    ----------
    n_splits : int, default 5
        *Public.* Number of folds, at least 2. A test set has about 1/n_splits of the persons.
    salt : str, default ""
        *Public.* Other values give other, independent folds.

    Notes
    -----
    **Guarantee.** Sets of rows of different folds are disjoint partitions of the persons: releases
    on training rows and on test rows do not add up (``budget.at(partition=...)``). Neighbors in
    which the rows of one person change, but not the ID, differ in one training or test set. If the
    ID changes as well, or a person joins or leaves, a test set loses or gains one person: use
    ``neighboring="add_remove_one"`` if the IDs are private. Scores of scikit-learn on the test sets
    are exact functions of private rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.model_selection import HashSplit
    >>> person = np.repeat(np.arange(1000), 3)
    >>> train, test = next(HashSplit(n_splits=4).split(person, groups=person))
    >>> bool(set(person[train]) & set(person[test]))
    False
    >>> 0.2 < len(test) / len(person) < 0.3
    True
    """

    __metadata_request__split = {"groups": True}  # noqa: RUF012  # as scikit-learn's own have it

    def __init__(self, *, n_splits: int = 5, salt: str = "") -> None:
        self.n_splits = n_splits
        self.salt = salt

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
            *Private.* The ID of each row's person: a string or an integer. Integers and equal
            floats are the same ID, strings of digits are not.

        Yields
        ------
        train, test : ndarray of int
            Row numbers, as private as the IDs.

        Raises
        ------
        ValueError
            If `groups` are missing or have missing values, or a parameter is wrong.
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
        if groups is None:
            raise ValueError("HashSplit needs groups: the ID of each row's person.")
        persons = Persons.of(groups, X.shape[0] if hasattr(X, "shape") else len(X))
        ids = values_of(groups, "groups").array.ravel()
        _, first = np.unique(persons.codes, return_index=True)
        if ids.dtype.kind == "M":  # its unit depends on the reader of a file
            ids = ids.astype("datetime64[us]")
        folds = [self._fold(one) for one in ids[first].tolist()]
        return np.array(folds, dtype=int)[persons.codes]

    def _fold(self, person: Label) -> int:
        digest = blake2b(f"{self.salt}\0{_name(person)}".encode(), digest_size=_BITS // 8).digest()
        # The folds differ by at most 2^−64 in their share of all hashes.
        return int.from_bytes(digest) * self.n_splits >> _BITS


def _name(person: Label) -> str:
    """Return the kind and the value of an ID; equal values of different types have one name."""
    if isinstance(person, bool):  # equal to 0 or 1
        person = int(person)
    kind = "number" if isinstance(person, (int, float)) else type(person).__name__
    return f"{'date' if isinstance(person, date) else kind} {text_of(person)}"
