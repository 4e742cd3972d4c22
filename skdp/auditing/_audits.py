"""The audits of an estimator: many runs on two neighbors, and one run with canaries."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skdp.auditing._guesses import Guesses
from skdp.auditing._subject import Subject
from skdp.auditing.attacks import labels_of, margins, taken
from skdp.auditing.multi_run import MultiRunAudit
from skdp.auditing.one_run import OneRunAudit
from skdp.support.types import MatrixLike

_FAR = 1e4
_LEAST_CANARIES = 100
_PILOT = 4  # one extra run per so many runs learns the weights of several numbers


def multi_run(subject: Subject) -> Guesses:
    """Attack many fits to two neighbors."""
    attack, rng = subject.attack, subject.rng
    direction = _direction(subject)
    members = rng.integers(2, size=subject.n_runs)
    fits = (subject.fitted(attack.one if member else attack.other) for member in members)
    return MultiRunAudit([attack.numbers(fit) @ direction for fit in fits], members)


def _direction(subject: Subject) -> np.ndarray:
    """Return the weights of a linear discriminant, from separate runs; 1 for a single number."""
    attack = subject.attack
    first = attack.numbers(subject.fitted(attack.one))
    if first.size == 1:
        return np.ones(1)
    n = max(subject.n_runs // (2 * _PILOT), 3)
    one, other = (
        np.array([attack.numbers(subject.fitted(data)) for _ in range(n)])
        for data in (attack.one, attack.other)
    )
    apart = one.mean(axis=0) - other.mean(axis=0)
    spread = np.cov(np.r_[one - one.mean(axis=0), other - other.mean(axis=0)], rowvar=False)
    ridge = np.diag(0.3 * np.diag(spread) + 1e-12 * (1.0 + np.diag(spread).max()))
    return np.linalg.solve(spread + ridge, apart)


def one_run(subject: Subject) -> Guesses:
    """Attack one fit to canaries."""
    X = _canaries(subject)
    members = subject.rng.integers(2, size=len(X))
    y, there = _targets_of(subject, members)
    data = (taken(X, there), y[there])
    return OneRunAudit(_scores(subject, subject.fitted(data), X), members)


def _canaries(subject: Subject) -> MatrixLike:
    """Return one direction per canary for a model with slopes, else a sample of the rows."""
    X, n = subject.rows, max(_LEAST_CANARIES, subject.n_runs)
    slopes = getattr(subject.fitted(subject.attack.one), "coef_", np.zeros(0))
    if subject.X is None and np.shape(slopes)[-1:] == X.shape[1:]:
        return _FAR * np.eye(n)
    return taken(X, subject.rng.integers(len(X), size=n))


def _targets_of(subject: Subject, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return targets and the rows to use: each target is changed, or its row removed, at random."""
    high, low = _extremes(subject)
    if subject.neighboring.count_is_public:
        return np.where(members == 1, high, low), np.arange(members.size)
    y = np.where(np.arange(members.size) % 2 == 0, high, low)
    return y, np.flatnonzero(members)


def _extremes(subject: Subject) -> tuple[ArrayLike, ArrayLike]:
    if subject.kind_name == "regressor":
        return _FAR, -_FAR
    labels = labels_of(subject.estimator)
    return labels[1], labels[0]


def _scores(subject: Subject, fitted: BaseEstimator, X: MatrixLike) -> np.ndarray:
    """Return a score per canary, higher for likely members."""
    found = (
        fitted.predict(X)
        if subject.kind_name == "regressor"
        else margins(fitted, X, _extremes(subject)[0])
    )
    scores = np.asarray(found, dtype=float)
    scores = scores if scores.ndim == 1 else scores.mean(axis=1)
    turned = np.arange(scores.size) % 2 == 1
    return scores if subject.neighboring.count_is_public else np.where(turned, -scores, scores)
