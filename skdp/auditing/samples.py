"""Samples of scores on two neighboring data sets, for auditors of any library."""

from __future__ import annotations

import numpy as np

from skdp.auditing._subject import Subject, check_has_fit
from skdp.auditing.attacks import Attack, FitArguments, Readout, kind_of, reader
from skdp.support.random import simulation_generator
from skdp.support.types import RandomState
from skdp.support.validation import check_count

__all__ = ["samples"]


def samples(
    estimator: object,
    one: FitArguments,
    other: FitArguments,
    *,
    n: int,
    readout: Readout | None = None,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of n fits on each of two neighboring data sets.

    Pass them to any auditor that compares two samples. An auditor such as `MultiRunAudit` needs
    runs whose data sets are chosen at random: choose one of each two scores, as in the example.

    Parameters
    ----------
    estimator : estimator
        *Public.* Not fitted. Its budget is not spent.
    one, other : tuple
        *Private.* The arguments of `fit`: data sets that differ in one record.
    n : int
        *Public.* Number of fits on each of the two data sets.
    readout : callable, default None
        *Public.* Maps a fitted estimator to a number or an array of numbers. None: the score of the
        second class for the first row of `one`, the prediction for that row, or all released
        numbers of a transformer.
    random_state : None, int or numpy Generator, default None
        *Secret.* Source of seeds for fits without a budget.

    Returns
    -------
    of_one, of_other : ndarray of shape (n,) or (n, n_numbers)
        The second shape applies if `readout` returns several numbers. NaN becomes 0, and an
        infinite number becomes 1e8 with its sign.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> from skdp.auditing import MultiRunAudit
    >>> X, y, turned = 9 * np.eye(8), np.arange(8) % 2, np.r_[1, np.arange(1, 8) % 2]
    >>> model = DPLogisticRegression(epsilon=3.0, solver="output_perturbation")
    >>> scores, others = samples(model, (X, turned), (X, y), n=100, random_state=0)
    >>> members = np.random.default_rng(0).integers(2, size=100)
    >>> audit = MultiRunAudit(np.where(members, scores, others), members)
    >>> audit.p_value(model.fit(X, y).privacy_) > 0.001
    True
    """
    check_has_fit(estimator)
    for name, data in (("one", one), ("other", other)):
        if not isinstance(data, tuple) or not data:
            raise ValueError(
                f"{name} must be a tuple of the arguments of fit, such as (X, y); "
                f"got a {type(data).__name__}."
            )
    n = check_count("n", n)
    attack = Attack(one, other, _default(estimator, one) if readout is None else readout)
    rng = simulation_generator(random_state)
    subject = Subject(estimator=estimator, kind=attack, n_runs=2 * n, level=0.0, rng=rng)
    return _scores(subject, one, n), _scores(subject, other, n)


def _default(estimator: object, data: FitArguments) -> Readout:
    try:
        return reader(kind_of(estimator), data[0])
    except ValueError:
        raise ValueError(
            f"{type(estimator).__name__} is not a classifier, regressor or transformer. Pass "
            "readout=, a function that takes a fitted estimator and returns numbers."
        ) from None


def _scores(subject: Subject, data: FitArguments, n: int) -> np.ndarray:
    found = [subject.attack.numbers(subject.fitted(data)) for _ in range(n)]
    if len({numbers.size for numbers in found}) > 1:
        raise ValueError("readout must return the same number of values for each fit.")
    scores = np.array(found)
    return scores[:, 0] if scores.shape[1] == 1 else scores
