"""The hardest pair of data sets to hide from each other, and the numbers read from a fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from skdp.privacy import Neighboring
from skdp.support.types import Label, MatrixLike
from skdp.support.validation import check_choice

__all__ = ["Attack", "FitArguments", "Readout", "attack_on"]

_FAR = 1e4  # a record that is clipped wherever something is
_ROWS, _COLUMNS = 12, 2

FitArguments: TypeAlias = tuple[MatrixLike, ...]
Pair: TypeAlias = tuple[FitArguments, FitArguments]
Readout: TypeAlias = Callable[[BaseEstimator], ArrayLike]


@dataclass(frozen=True, eq=False, repr=False)
class Attack:
    """Two neighboring data sets, and numbers that distinguish fits to them.

    Parameters
    ----------
    one, other : tuple
        *Private.* The arguments of `fit`: data sets that differ in one record.
    readout : callable
        *Public.* Maps a fitted estimator to a number, higher for the first data set, or to several
        numbers, whose weights are learned from separate runs.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(3), np.array([0, 1, 1])
    >>> attack = Attack((X, y), (X, 1 - y), lambda model: model.predict(X[:1]))
    """

    one: FitArguments
    other: FitArguments
    readout: Readout

    def numbers(self, fitted: BaseEstimator) -> np.ndarray:
        """Read the numbers of a fit.

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
    estimator: BaseEstimator, kind: str | Attack, rows: MatrixLike, neighboring: Neighboring
) -> Attack:
    """Return the attack on an estimator; the first two rows differ as much as records can."""
    if isinstance(kind, Attack):
        return kind
    name = kind_of(estimator, kind)
    one, other = KINDS[name](estimator, rows)
    if not neighboring.count_is_public:
        other = tuple(taken(part, range(1, len(part))) for part in other)
    return Attack(one, other, reader(name, rows))


def kind_of(estimator: BaseEstimator, kind: str = "auto") -> str:
    """Return the kind of an estimator."""
    if check_choice("kind", kind, ("auto", *KINDS)) != "auto":
        return kind
    tagged = hasattr(estimator, "__sklearn_tags__")
    if hasattr(estimator, "predict_proba") or (tagged and is_classifier(estimator)):
        return "classifier"
    if tagged and is_regressor(estimator):
        return "regressor"
    if hasattr(estimator, "transform"):
        return "transformer"
    if hasattr(estimator, "score_samples"):
        return "density"
    raise ValueError(
        f"The kind of {type(estimator).__name__} is unknown. Pass kind=, one of "
        f"{', '.join(map(repr, KINDS))}, or an Attack."
    )


def default_rows() -> np.ndarray:
    """Return two far rows on opposite sides, and rows of zeros."""
    X = np.zeros((_ROWS, _COLUMNS))
    X[:2, 0] = _FAR, -_FAR
    return X


def labels_of(estimator: BaseEstimator) -> list[Label]:
    """Return the labels of an estimator in the order of `classes_`, by default 0 and 1."""
    classes = getattr(estimator, "classes", None)
    return [0, 1] if classes is None else sorted(classes)


def _classifier_pair(estimator: BaseEstimator, X: MatrixLike) -> Pair:
    """Change the label of the first row; the other rows have all labels."""
    X, labels = _without_second(X), labels_of(estimator)
    one, other = (np.array([labels[i % len(labels)] for i in range(len(X))]) for _ in range(2))
    one[0], other[0] = labels[1], labels[0]
    return (X, one), (X, other)


def _regressor_pair(estimator: BaseEstimator, X: MatrixLike) -> Pair:
    """Move the target of the first row from far above to far below."""
    X, rest = _without_second(X), np.zeros(len(X) - 2)
    return (X, np.r_[_FAR, rest]), (X, np.r_[-_FAR, rest])


def _pair_of_rows(estimator: BaseEstimator, X: MatrixLike) -> Pair:
    """Replace the first row by the second."""
    n = len(X)
    return (taken(X, [0, *range(2, n)]),), (taken(X, [1, *range(2, n)]),)


KINDS: dict[str, Callable[[BaseEstimator, MatrixLike], Pair]] = {
    "classifier": _classifier_pair,
    "regressor": _regressor_pair,
    "transformer": _pair_of_rows,
    "density": _pair_of_rows,
}
WITH_TARGETS = ("classifier", "regressor")


def reader(kind: str, X: MatrixLike) -> Readout:
    """Return the readout: the score or the density of the first row, or all released numbers."""
    probes = taken(X, [0])
    if kind == "classifier":
        return lambda fitted: _preference(fitted, probes)
    if kind == "regressor":
        return lambda fitted: fitted.predict(probes)
    if kind == "density":
        return lambda fitted: fitted.score_samples(probes)
    return _released_numbers


def _preference(fitted: BaseEstimator, probes: MatrixLike) -> ArrayLike:
    """Return the margin of the second class, by counts if these are released."""
    counts = getattr(fitted, "class_count_", None)
    if counts is not None:
        return counts[1] - counts[0]
    return margins(fitted, probes, labels_of(fitted)[1])


def margins(fitted: BaseEstimator, X: MatrixLike, label: Label) -> np.ndarray:
    """Return the margin of a classifier for its second class, `label`, in each row."""
    if hasattr(fitted, "decision_function"):
        found = np.asarray(fitted.decision_function(X), dtype=float)
    elif hasattr(fitted, "predict_proba"):
        with np.errstate(divide="ignore"):
            found = np.log(np.asarray(fitted.predict_proba(X), dtype=float))
    else:
        return (np.asarray(fitted.predict(X)) == label).astype(float)
    return found if found.ndim == 1 else found[:, 1] - found[:, 0]


def _released_numbers(fitted: BaseEstimator) -> np.ndarray:
    """Return the covariance, the extreme centers, or else all small fitted arrays."""
    if hasattr(fitted, "get_covariance"):
        return np.asarray(fitted.get_covariance())
    if hasattr(fitted, "cluster_centers_"):
        return np.sort(fitted.cluster_centers_, axis=0)[[0, -1]]
    found = [np.ravel(value) for name, value in sorted(vars(fitted).items()) if name[-1] == "_"]
    return np.concatenate([part for part in found if part.dtype.kind == "f"])


def _without_second(X: MatrixLike) -> MatrixLike:
    """Drop the second row, which only estimators without targets need."""
    return taken(X, [0, *range(2, len(X))])


def taken(X: MatrixLike, rows: Sequence[int] | np.ndarray) -> MatrixLike:
    """Return some rows of an array or a frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]
