"""Checks of the privacy claim of an estimator, by attacks and by its behavior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp.auditing._audits import multi_run, one_run
from skdp.auditing._conduct import CONDUCT, Skipped
from skdp.auditing._guesses import Guesses, check_runs
from skdp.auditing._subject import Subject, check_has_fit, quoted
from skdp.auditing.attacks import Attack
from skdp.exceptions import PrivacyLeakError
from skdp.support.digits import at_most
from skdp.support.html import html_table
from skdp.support.random import simulation_generator
from skdp.support.types import MatrixLike, RandomState
from skdp.support.validation import check_delta, check_epsilon, check_real

__all__ = ["CheckResult", "CheckResults", "PrivateCheck", "check_private", "private_checks"]

_AUDITS: dict[str, Callable[[Subject], Guesses]] = {"multi run": multi_run, "one run": one_run}
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


@dataclass(frozen=True, eq=False)
class PrivateCheck:
    """A callable that makes one check of one estimator; its text is an id for pytest.

    Parameters
    ----------
    name : str
        *Public.* The name of the check.
    estimator : estimator
        *Public.* Not fitted.
    settings : dict
        *Public.* Parameters of `check_private`.
    """

    name: str
    estimator: object
    settings: dict[str, Any]

    def __str__(self) -> str:
        return f"{type(self.estimator).__name__}-{self.name.replace(' ', '-')}"

    def __call__(self) -> CheckResult:
        """Run the check.

        Returns
        -------
        CheckResult

        Raises
        ------
        PrivacyLeakError
            If it fails.
        """
        result = _result(self.name, _subject(self.estimator, **self.settings))
        if result.status == "failed":
            raise PrivacyLeakError(f"{type(self.estimator).__name__}: {result}")
        return result


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
    subject = _subject(estimator, epsilon, delta, mu, n_runs, kind, confidence, X, random_state)
    _ = subject.claim  # raises ValueError before the checks run if there is no claim
    results = CheckResults(_result(name, subject) for name in (*CONDUCT, *_AUDITS))
    failed = [str(result) for result in results if result.status == "failed"]
    if raises and failed:
        raise PrivacyLeakError("\n".join([subject.name, *failed]))
    return results


def private_checks(estimator: object, **settings: Any) -> list[PrivateCheck]:
    """Return the checks of an estimator for ``pytest.mark.parametrize(..., ids=str)``.

    Parameters
    ----------
    estimator : estimator
        *Public.* Not fitted.
    **settings : dict
        *Public.* Parameters of `check_private` without `raises`.

    Returns
    -------
    checks : list of PrivateCheck
        Call each without arguments; it raises PrivacyLeakError if it fails.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> print(private_checks(DPLogisticRegression())[0])
    DPLogisticRegression-spends-first
    """
    return [PrivateCheck(name, estimator, settings) for name in (*CONDUCT, *_AUDITS)]


def _subject(
    estimator: object,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    n_runs: int = 400,
    kind: str | Attack = "auto",
    confidence: float = 0.95,
    X: MatrixLike | None = None,
    random_state: RandomState = None,
) -> Subject:
    check_has_fit(estimator)
    if np.isinf(getattr(estimator, "epsilon", 0.0)) or (epsilon is not None and np.isinf(epsilon)):
        raise ValueError("epsilon=inf cannot be audited. Pass a finite epsilon.")
    if mu is not None and (epsilon, delta) != (None, None):
        raise ValueError("Pass either mu, or epsilon with delta, as the claim.")
    if epsilon is None and delta is not None:
        raise ValueError("delta needs epsilon: pass both.")
    confidence = check_real("confidence", confidence, low=0.0, high=1.0)
    return Subject(
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
