"""Checks of the privacy claim of an estimator, by attacks and by its behavior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skdp.auditing._conduct import CONDUCT, Skipped
from skdp.auditing.attacks import Attack, Subject, check_has_fit, labels_of, margins, quoted, taken
from skdp.auditing.audits import Guesses, MultiRunAudit, OneRunAudit, check_runs
from skdp.exceptions import PrivacyLeakError
from skdp.support.display import at_most, html_table
from skdp.support.random import simulation_generator
from skdp.support.types import MatrixLike, RandomState
from skdp.support.validation import check_choice, check_delta, check_epsilon, check_real

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


_AUDITS: dict[str, Callable[[Subject], Guesses]] = {"multi run": multi_run, "one run": one_run}
CHECKS = (*CONDUCT, *_AUDITS)
"""Every check by name."""
_NO_PROOF = "A pass is not a proof: other attacks may be stronger."
_DIGITS = 3  # lower bounds are rounded down to so many


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The result of one check.

    Parameters
    ----------
    check : str
        *Public.* The name of the check.
    status : {"passed", "failed", "skipped"}
        *Public.* A check is skipped if it does not apply, or if the estimator rejects its fits.
    message : str, default ""
        *Public.* Why it failed or was skipped.
    claim : str, default ""
        *Public.* The claim that an audit tested.
    p_value : float, default nan
        *Public.* P-value of an audit: at most α with probability at most α if the claim is true.
    lower_mu : float, default nan
        *Public.* An audit refutes μ'-Gaussian DP for every μ' below this number.
    lower_epsilon : float, default nan
        *Public.* An audit refutes (ε', `delta`)-DP for every ε' below this number.
    delta : float, default nan
        *Public.* The δ of `lower_epsilon`: the δ of the claim, or 1e-5 if the claim names none.

    Examples
    --------
    >>> from skdp import DPGaussianNB
    >>> result = check_private(DPGaussianNB(bounds=(0, 1)), n_runs=20, random_state=0)[-1]
    >>> result.check, result.status, result.claim
    ('one run', 'passed', '(1, 1e-05)-DP: 1.00008-DP without any delta')
    >>> result.p_value, result.lower_epsilon
    (1.0, 0.0)
    """

    check: str
    status: str
    message: str = ""
    claim: str = ""
    p_value: float = float("nan")
    lower_mu: float = float("nan")
    lower_epsilon: float = float("nan")
    delta: float = float("nan")

    def __str__(self) -> str:
        found = ""
        if self.claim:
            found = (
                f": claimed {self.claim}; p = {self.p_value:.3g}, "
                f"mu >= {at_most(self.lower_mu, _DIGITS):g}, "
                f"epsilon >= {at_most(self.lower_epsilon, _DIGITS):g} at delta = {self.delta:g}"
            )
        why = f": {self.message}" if self.message else ""
        return f"[{self.status}] {self.check}{found}{why}"


class CheckResults(list[CheckResult]):
    """The results of all checks, a list with an HTML representation.

    Parameters
    ----------
    iterable : iterable of CheckResult, default ()
        *Public.* The results.

    Examples
    --------
    >>> from skdp import DPGaussianNB
    >>> results = check_private(DPGaussianNB(bounds=(0, 1)), n_runs=20, random_state=0)
    >>> for result in results[:3]:
    ...     print(result)
    [passed] spends first
    [passed] attributes
    [passed] messages
    >>> print(str(results).splitlines()[-1])
    A pass is not a proof: other attacks may be stronger.
    """

    def __str__(self) -> str:
        return "\n".join([*map(str, self), _NO_PROOF])

    def _repr_html_(self) -> str:
        head = ("check", "status", "claim", "p", "μ ≥", "ε ≥", "at δ =")
        return f"{html_table(head, map(_row, self))}<p>{_NO_PROOF}</p>"


def _row(result: CheckResult) -> tuple[str, ...]:
    bounds = (at_most(bound, _DIGITS) for bound in (result.lower_mu, result.lower_epsilon))
    status = f"{result.status}\n{result.message}".strip()
    shown = (
        "" if number != number else f"{number:.3g}"
        for number in (result.p_value, *bounds, result.delta)
    )
    return (result.check, status, result.claim, *shown)


def check_private(
    estimator: object,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    n_runs: int = 400,
    kind: str | Attack = "auto",
    confidence: float = 0.95,
    X: MatrixLike | None = None,
    random_state: RandomState = None,
    raises: bool = True,
    checks: Sequence[str] = CHECKS,
) -> CheckResults:
    """Check that an estimator keeps its privacy claim, and raise if it does not.

    Works for estimators of any library: any object with `fit`, and `predict` or attributes that end
    in an underscore. The rows are made up; none of your data are read. See *Privacy auditing*
    in the user guide.

    Parameters
    ----------
    estimator : estimator
        *Public.* Not fitted. Its budget is not spent.
    epsilon, delta : float, default None
        *Public.* The claim, instead of `privacy_` of a fit. An (ε, δ) claim is weaker than the
        guarantee behind it: noise of half the required size passes.
    mu : float, default None
        *Public.* The claim of μ-Gaussian DP, instead of `epsilon` and `delta`. For Gaussian noise
        pass the sensitivity divided by the standard deviation: the audit detects smaller errors.
    n_runs : int, default 400
        *Public.* Number of fits to two neighboring data sets, together; at least 2.
    kind : {"auto", "classifier", "regressor", "transformer", "density"} or Attack, default "auto"
        *Public.* The kind of attack.
    confidence : float in (0, 1), default 0.95
        *Public.* Probability, at least, that an estimator that keeps its claim passes both audits.
        Among the other checks only "attributes" can fail by chance, with probability below 1e-8 for
        each fitted number.
    X : array-like or frame of shape (n_samples, n_features), default None
        *Public.* Synthetic rows for estimators that need columns of certain types. The first two
        rows must differ as much as records can, and the others must lie between them.
    random_state : None, int or numpy Generator, default None
        *Secret.* Source of the audits' random choices, and of seeds for fits without a budget.
    raises : bool, default True
        *Public.* Whether to raise if a check fails.
    checks : sequence of str, default `skdp.auditing.CHECKS`
        *Public.* The checks to make, for example one for each test of a test suite.

    Returns
    -------
    results : CheckResults
        A list of `CheckResult`. A pass is not a proof.

    Raises
    ------
    PrivacyLeakError
        If `raises` and a check fails.
    ValueError
        If a parameter is wrong, or there is no claim. Errors of the estimator are results.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> results = check_private(DPLogisticRegression(), n_runs=20, confidence=0.999999)
    >>> [result.check for result in results if result.status == "failed"]
    []
    """
    check_has_fit(estimator)
    if np.isinf(getattr(estimator, "epsilon", 0.0)) or (epsilon is not None and np.isinf(epsilon)):
        raise ValueError("epsilon=inf cannot be audited. Pass a finite epsilon.")
    if mu is not None and (epsilon, delta) != (None, None):
        raise ValueError("Pass either mu, or epsilon with delta, as the claim.")
    if epsilon is None and delta is not None:
        raise ValueError("delta needs epsilon: pass both.")
    confidence = check_real("confidence", confidence, low=0.0, high=1.0)
    subject = Subject(
        estimator=estimator,
        epsilon=None if epsilon is None else check_epsilon(epsilon),
        delta=None if delta is None else check_delta(delta),
        mu=None if mu is None else check_real("mu", mu, low=0.0, high=np.inf),
        kind=kind,
        X=X,
        n_runs=check_runs(n_runs),
        level=(1.0 - confidence) / len(_AUDITS),
        rng=simulation_generator(random_state),
    )
    wanted = [check_choice("checks", name, CHECKS) for name in checks]
    _ = _AUDITS.keys().isdisjoint(wanted) or subject.claim  # raises ValueError before checks run
    results = CheckResults(_result(name, subject) for name in wanted)
    failed = [str(result) for result in results if result.status == "failed"]
    if raises and failed:
        raise PrivacyLeakError("\n".join([subject.name, *failed]))
    return results


def _result(name: str, subject: Subject) -> CheckResult:
    """Run a check; an error of the estimator becomes the result.

    It fails "multi run", because otherwise an estimator that cannot be fitted would pass. All other
    checks are skipped.
    """
    _ = subject.kind_name, name in _AUDITS and subject.claim  # these errors are not results
    try:
        return _audited(name, subject) if name in _AUDITS else _conducted(name, subject)
    except Exception as raised:
        status = "failed" if name == "multi run" else "skipped"
        return CheckResult(
            check=name, status=status, message=f"not made: it raised {quoted(raised)}"
        )


def _conducted(name: str, subject: Subject) -> CheckResult:
    try:
        message = CONDUCT[name](subject)
    except Skipped as why:
        return CheckResult(check=name, status="skipped", message=str(why))
    status = "passed" if message is None else "failed"
    return CheckResult(check=name, status=status, message=message or "")


def _audited(name: str, subject: Subject) -> CheckResult:
    if name == "one run" and not subject.has_targets:
        return CheckResult(check=name, status="skipped", message="it has no targets to change")
    audit, claim, delta = _AUDITS[name](subject), subject.claim, subject.claim_delta
    p_value, confidence = audit.p_value(claim), 1.0 - subject.level
    return CheckResult(
        check=name,
        status="failed" if p_value <= subject.level else "passed",
        claim=str(claim).split(" under ")[0],
        p_value=p_value,
        lower_mu=audit.lower_mu(confidence),
        lower_epsilon=audit.lower_epsilon(delta, confidence),
        delta=delta,
    )
