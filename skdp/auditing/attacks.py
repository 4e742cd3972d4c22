"""Which two data sets are hardest to hide from each other, and what is read from a fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from skdp.privacy import Neighboring
from skdp.support.validation import check_choice

__all__ = ["KINDS", "Attack", "attack_on"]

_FAR = 1e4  # a record that is clipped wherever something is
_ROWS, _COLUMNS = 12, 2


@dataclass(frozen=True, eq=False, repr=False)
class Attack:
    """Two neighboring data sets, and numbers that tell a fit to one from a fit to the other.

    Parameters
    ----------
    one, other : tuple
        *Private.* The arguments of `fit`, data sets that differ in one record.
    readout : callable
        *Public.* Takes a fitted estimator and returns an array of numbers. A single one is higher
        for the first data set; how several are weighted is learned from runs that count for nothing
        else.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(3), np.array([0, 1, 1])
    >>> attack = Attack((X, y), (X, 1 - y), lambda model: model.predict(X[:1]))
    """

    one: tuple[Any, ...]
    other: tuple[Any, ...]
    readout: Callable[[Any], Any]

    def numbers(self, fitted: Any) -> np.ndarray:
        """Return what is read from a fit.

        Parameters
        ----------
        fitted : estimator
            *Private.*

        Returns
        -------
        ndarray of shape (n_numbers,)
        """
        found = np.ravel(np.asarray(self.readout(fitted), dtype=float))
        return np.nan_to_num(found, nan=0.0, posinf=_FAR**2, neginf=-(_FAR**2))


def attack_on(
    estimator: Any, kind: Any = "auto", X: Any = None, neighboring: Any = "replace_one"
) -> Attack:
    """Return the attack on an estimator: its worst pair, where that is known.

    Parameters
    ----------
    estimator : estimator
        *Public.*
    kind : {"auto", "classifier", "regressor", "transformer"} or Attack, default "auto"
        *Public.* What the estimator is.
    X : array-like or frame, default None
        *Public.* Rows of which the first two are as different as records can be.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.*

    Returns
    -------
    Attack
    """
    if isinstance(kind, Attack):
        return kind
    name = kind_of(estimator, kind)
    rows = default_rows() if X is None else X
    one, other = KINDS[name](estimator, rows)
    if not Neighboring(neighboring).count_is_public:
        other = tuple(_without_first(part) for part in one)
    return Attack(one, other, reader(name, rows))


def kind_of(estimator: Any, kind: str = "auto") -> str:
    """Return the name of the kind of an estimator.

    Parameters
    ----------
    estimator : estimator
        *Public.*
    kind : str, default "auto"
        *Public.* As given.

    Returns
    -------
    str
    """
    if check_choice("kind", kind, ("auto", *KINDS)) != "auto":
        return kind
    tagged = hasattr(estimator, "__sklearn_tags__")
    if hasattr(estimator, "predict_proba") or (tagged and is_classifier(estimator)):
        return "classifier"
    if tagged and is_regressor(estimator):
        return "regressor"
    if hasattr(estimator, "transform"):
        return "transformer"
    raise ValueError(
        f"give kind=..., {', '.join(map(repr, KINDS))} or an Attack: it cannot be told."
    )


def default_rows() -> np.ndarray:
    """Return two rows far away on both sides, beside rows of zeros."""
    X = np.zeros((_ROWS, _COLUMNS))
    X[:2, 0] = _FAR, -_FAR
    return X


def labels_of(estimator: Any) -> list[Any]:
    """Return the labels that an estimator knows, in the order of `classes_`, or 0 and 1."""
    classes = getattr(estimator, "classes", None)
    return [0, 1] if classes is None else sorted(classes)


def _classifier_pair(estimator: Any, X: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The label of the first row is turned over; all labels occur beside it."""
    X, labels = _rest_at_middle(X), labels_of(estimator)
    one, other = (np.array([labels[i % len(labels)] for i in range(len(X))]) for _ in range(2))
    one[0], other[0] = labels[1], labels[0]
    return (X, one), (X, other)


def _regressor_pair(estimator: Any, X: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The target of the first row is far above or far below."""
    X, rest = _rest_at_middle(X), np.zeros(len(X) - 2)
    return (X, np.r_[_FAR, rest]), (X, np.r_[-_FAR, rest])


def _transformer_pair(estimator: Any, X: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The first row stands in the place of the second, or the other way round."""
    n = len(X)
    return (taken(X, [0, *range(2, n)]),), (taken(X, [1, *range(2, n)]),)


KINDS: dict[str, Callable[[Any, Any], tuple[tuple[Any, ...], tuple[Any, ...]]]] = {
    "classifier": _classifier_pair,
    "regressor": _regressor_pair,
    "transformer": _transformer_pair,
}


def reader(kind: str, X: Any) -> Callable[[Any], Any]:
    """Return what reads a fit: the score of the first row, or all that was released."""
    probes = taken(X, [0])
    if kind == "classifier":
        return lambda fitted: _preference(fitted, probes)
    if kind == "regressor":
        return lambda fitted: fitted.predict(probes)
    return released_numbers


def _preference(fitted: Any, probes: Any) -> Any:
    """Return how much more there is of the second class: by counts, where these are released."""
    counts = getattr(fitted, "class_count_", None)
    return (
        margins(fitted, probes, labels_of(fitted)[1]) if counts is None else counts[1] - counts[0]
    )


def margins(fitted: Any, X: Any, label: Any) -> np.ndarray:
    """Return how much a classifier prefers its second class, `label`, for each row."""
    if hasattr(fitted, "decision_function"):
        found = np.asarray(fitted.decision_function(X), dtype=float)
    elif hasattr(fitted, "predict_proba"):
        with np.errstate(divide="ignore"):
            found = np.log(np.asarray(fitted.predict_proba(X), dtype=float))
    else:
        return (np.asarray(fitted.predict(X)) == label).astype(float)
    return found if found.ndim == 1 else found[:, 1] - found[:, 0]


def released_numbers(fitted: Any) -> np.ndarray:
    """Return covariances, sorted centers, or else all small arrays that a fit has set."""
    if hasattr(fitted, "get_covariance"):
        return np.asarray(fitted.get_covariance())
    if hasattr(fitted, "cluster_centers_"):
        return np.sort(fitted.cluster_centers_, axis=0)[[0, -1]]
    found = [np.ravel(value) for name, value in sorted(vars(fitted).items()) if name[-1] == "_"]
    return np.concatenate([part for part in found if part.dtype.kind == "f"])


def _rest_at_middle(X: Any) -> Any:
    """Return the rows without the second, which only transformers need."""
    return taken(X, [0, *range(2, len(X))])


def taken(X: Any, rows: Any) -> Any:
    """Return some rows of an array or a frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]


def _without_first(part: Any) -> Any:
    return taken(part, list(range(1, len(part))))
