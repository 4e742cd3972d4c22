"""Attacks, what they are run on, and their samples of outputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

from skdp.budget.dry_run import DryRun, StandIns
from skdp.privacy import ApproxDPEvent, GDPEvent, Neighboring, PrivacyGuarantee, Unit
from skdp.support.types import Label, MatrixLike
from skdp.support.validation import check_choice

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
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = [[0.0], [1.0], [2.0]]
    >>> attack = Attack((X, [1, 0, 0]), (X, [0, 0, 0]), lambda model: model.predict(X[:1]))
    >>> model = DecisionTreeClassifier()
    >>> attack.numbers(model.fit(*attack.one)), attack.numbers(model.fit(*attack.other))
    (array([1.]), array([0.]))
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


def check_has_fit(estimator: object) -> None:
    """Raise ValueError unless the object has `fit`."""
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise ValueError(f"estimator must be an object with fit, got {estimator!r}.")


def quoted(raised: Exception) -> str:
    """Return the type and the first line of an error about made-up rows."""
    first, *more = str(raised).splitlines() or [""]
    return f"{type(raised).__name__}: {first}{' ...' * bool(more)}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """An estimator, its claim, and the rows of its trials."""

    estimator: BaseEstimator
    kind: str | Attack
    n_runs: int
    level: float
    rng: np.random.Generator
    epsilon: float | None = None
    delta: float | None = None
    mu: float | None = None
    X: MatrixLike | None = None

    @property
    def name(self) -> str:
        return type(self.estimator).__name__

    @cached_property
    def neighboring(self) -> Neighboring:
        return Neighboring(getattr(self.estimator, "neighboring", "replace_one"))

    @cached_property
    def attack(self) -> Attack:
        """The attack; the first two rows differ as much as records can."""
        if isinstance(self.kind, Attack):
            return self.kind
        one, other = KINDS[self.kind_name](self.estimator, self.rows)
        if not self.neighboring.count_is_public:
            other = tuple(taken(part, range(1, len(part))) for part in other)
        return Attack(one, other, reader(self.kind_name, self.rows))

    @cached_property
    def kind_name(self) -> str:
        return kind_of(self.estimator, "auto" if isinstance(self.kind, Attack) else self.kind)

    @property
    def has_targets(self) -> bool:
        return self.kind_name in WITH_TARGETS

    @cached_property
    def rows(self) -> MatrixLike:
        """The given rows, or two far rows on opposite sides, and rows of zeros."""
        if self.X is not None:
            return self.X
        X = np.zeros((_ROWS, _COLUMNS))
        X[:2, 0] = _FAR, -_FAR
        return X

    @cached_property
    def claim(self) -> PrivacyGuarantee:
        """The claim, as given or as published by a fit."""
        if self.mu is not None:
            return PrivacyGuarantee(GDPEvent(self.mu), self.neighboring, "as claimed")
        if self.epsilon is not None:
            event = ApproxDPEvent(self.epsilon, self.delta or 0.0)
            return PrivacyGuarantee(event, self.neighboring, "as claimed")
        try:
            fitted = self.fitted(self.attack.one)
        except Exception as raised:
            raise ValueError(
                f"{self.name} has no claim, because its fit to synthetic rows failed: "
                f"{quoted(raised)} Pass public rows as X=, or a claim as mu= or epsilon=."
            ) from raised
        if not isinstance(getattr(fitted, "privacy_", None), PrivacyGuarantee):
            raise ValueError(
                f"{self.name} has no privacy_ with a claim. Pass mu= for Gaussian DP, or epsilon= "
                "and, unless it is 0, delta=."
            )
        return fitted.privacy_

    @property
    def claim_delta(self) -> float:
        """The δ at which bounds on ε are stated."""
        if self.epsilon is not None:
            return self.delta or 0.0
        asked = self.claim.asked
        return 1e-5 if asked is None else asked[1]

    def has(self, parameter: str) -> bool:
        if hasattr(self.estimator, "get_params"):
            return parameter in self.estimator.get_params(deep=False)
        return hasattr(self.estimator, parameter)

    def copy(self, **parameters: object) -> BaseEstimator:
        """Return an unfitted copy; parameters that it does not have are ignored.

        Its budgets are replaced by empty dry runs. Then no seed is set.
        """
        return self._copied(parameters)[0]

    def _copied(self, parameters: dict[str, object]) -> tuple[BaseEstimator, StandIns]:
        own = StandIns(partial(DryRun, reads=True, begun=False), _unit=Unit.RECORD)
        fresh = deepcopy(clone(self.estimator, safe=False), own)
        wanted = parameters
        if own.runs and "budget" not in parameters:
            wanted = {**parameters, "random_state": None}
        known = {name: value for name, value in wanted.items() if self.has(name)}
        if hasattr(fresh, "set_params"):
            return fresh.set_params(**known), own
        for name, value in known.items():
            setattr(fresh, name, value)
        return fresh, own

    def fitted(self, data: FitArguments, **parameters: object) -> BaseEstimator:
        """Return a fitted copy with noise of its own, without warnings."""
        seed = int(self.rng.integers(2**31))
        fresh, own = self._copied({"random_state": seed, **parameters})
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            fitted = fresh.fit(*data)
        for dry_run in own.runs.values():
            dry_run.is_over = True
        return fitted
