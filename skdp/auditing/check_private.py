"""Whether an estimator is as private as it says, as far as attacks and checks can show."""

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
from skdp.support.random import noise_generator
from skdp.support.validation import check_delta, check_epsilon, check_real

__all__ = ["CheckResult", "CheckResults", "PrivateCheck", "check_private", "private_checks"]

_AUDITS: dict[str, Callable[[Subject], Guesses]] = {"multi run": multi_run, "one run": one_run}
_NO_PROOF = "A pass is not a proof: other attacks may be stronger."
_DIGITS = 3  # of a lower bound, which is rounded down


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What one check found.

    Parameters
    ----------
    check : str
        *Public.* Its name.
    status : {"passed", "failed", "skipped"}
        *Public.* Skipped is what says nothing of this estimator, such as a check whose fits it
        refuses.
    message : str, default ""
        *Public.* Why it failed or was skipped.
    claim : str, default ""
        *Public.* What an audit tested.
    p_value : float, default nan
        *Public.* Of an audit: below α with probability at most α if the claim is true.
    lower_mu : float, default nan
        *Public.* Of an audit: less than this μ of Gaussian DP is refuted.
    lower_epsilon : float, default nan
        *Public.* Of an audit: (ε', `delta`)-DP is refuted for every ε' below this number.
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
    """The results of all checks; a list that a notebook shows as a table.

    Parameters
    ----------
    iterable : iterable of CheckResult, default ()
        *Public.*
    """

    def __str__(self) -> str:
        return "\n".join([*map(str, self), _NO_PROOF])

    def _repr_html_(self) -> str:
        head = ("check", "status", "claim", "p", "μ ≥", "ε ≥", "at δ =")
        return f"{html_table(head, map(_row, self))}<p>{_NO_PROOF}</p>"


def _row(result: CheckResult) -> tuple[str, ...]:
    """Return what a table shows of a result."""
    bounds = (at_most(bound, _DIGITS) for bound in (result.lower_mu, result.lower_epsilon))
    status = f"{result.status}\n{result.message}".strip()
    shown = (
        "" if number != number else f"{number:.3g}"
        for number in (result.p_value, *bounds, result.delta)
    )
    return (result.check, status, result.claim, *shown)


@dataclass(frozen=True, eq=False)
class PrivateCheck:
    """One check of one estimator, to be called; its text is an id for pytest.

    Parameters
    ----------
    name : str
        *Public.* The check.
    estimator : estimator
        *Public.*
    settings : dict
        *Public.* What `check_private` takes.
    """

    name: str
    estimator: Any
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
    estimator: Any,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    n_runs: int = 400,
    kind: str | Attack = "auto",
    confidence: float = 0.95,
    X: Any = None,
    random_state: Any = None,
    raises: bool = True,
) -> CheckResults:
    """Check that an estimator is as private as it says, and raise where it is not.

    Estimators of other libraries are welcome, as is any object with `fit`, and `predict` or
    attributes that end in an underscore. No data of yours are read.

    Parameters
    ----------
    estimator : estimator
        *Public.* Not fitted. No budget in it is touched: copies have stand-ins of the same terms,
        to which every release is the first.
    epsilon, delta : float, default None
        *Public.* The claim, in place of what a fit says in `privacy_`. An (ε, δ) is a weaker claim
        than the guarantee that it comes from: noise that is half of what it should be passes.
    mu : float, default None
        *Public.* The claim of μ-Gaussian DP, in place of `epsilon` and `delta`. An audit sees far
        smaller mistakes under it: give it where the noise is Gaussian, with the sensitivity divided
        by its standard deviation.
    n_runs : int, default 400
        *Public.* Fits to two neighboring data sets, together; at least 2.
    kind : {"auto", "classifier", "regressor", "transformer"} or Attack, default "auto"
        *Public.* How it is attacked.
    confidence : float in (0, 1), default 0.95
        *Public.* Probability with which an estimator that keeps its claim passes both audits, at
        least: each has half of the rest. Other checks do not fail by chance; that of attributes
        does with probability below 1e-8 for each number that a fit holds.
    X : array-like or frame of shape (n_samples, n_features), default None
        *Public.* Rows that are nobody's, for estimators that need columns of certain types: the
        first two as different as records can be, the others in the middle.
    random_state : None, int or numpy Generator, default None
        *Secret.* Source of the coins, and of seeds for the fits where they take one; beside a
        budget they take none.
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
        If a parameter is wrong, or there is no claim. What the estimator raises in a check is a
        result.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> results = check_private(DPLogisticRegression(), n_runs=20, confidence=0.999999)
    >>> [result.check for result in results if result.status == "failed"]
    []
    """
    subject = _subject(
        estimator,
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        n_runs=n_runs,
        kind=kind,
        confidence=confidence,
        X=X,
        random_state=random_state,
    )
    _ = subject.claim  # which may be missing: said before anything takes long
    results = CheckResults(_result(name, subject) for name in (*CONDUCT, *_AUDITS))
    failed = [str(result) for result in results if result.status == "failed"]
    if raises and failed:
        raise PrivacyLeakError("\n".join([subject.name, *failed]))
    return results


def private_checks(estimator: Any, **settings: Any) -> list[PrivateCheck]:
    """Return the checks of an estimator one by one, for ``pytest.mark.parametrize(..., ids=str)``.

    Parameters
    ----------
    estimator : estimator
        *Public.* Not fitted.
    **settings : dict
        *Public.* What `check_private` takes, but `raises`. The confidence is that of all together.

    Returns
    -------
    checks : list of PrivateCheck
        Each is called without arguments, and raises PrivacyLeakError if it fails.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> print(private_checks(DPLogisticRegression())[0])
    DPLogisticRegression-spends-first
    """
    return [PrivateCheck(name, estimator, settings) for name in (*CONDUCT, *_AUDITS)]


def _subject(
    estimator: Any,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    n_runs: int = 400,
    kind: str | Attack = "auto",
    confidence: float = 0.95,
    X: Any = None,
    random_state: Any = None,
) -> Subject:
    check_has_fit(estimator)
    if np.isinf(getattr(estimator, "epsilon", 0.0)) or (epsilon is not None and np.isinf(epsilon)):
        raise ValueError("epsilon=inf claims nothing: there is nothing to audit.")
    if mu is not None and (epsilon, delta) != (None, None):
        raise ValueError("A claim is mu, or epsilon with delta: give one of the two.")
    if epsilon is None and delta is not None:
        raise ValueError("delta is part of a claim: give epsilon as well.")
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
        rng=noise_generator(random_state),
    )


def _result(name: str, subject: Subject) -> CheckResult:
    """Run a check; what the estimator raises in it becomes its result.

    A check of its conduct that could not be made says nothing, and is no failure. Without many runs
    on neighbors nothing is audited: that is one, or what cannot be fitted would pass.
    """
    _ = subject.kind_name, name in _AUDITS and subject.claim  # what is missing there is no result
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
    if name == "one run" and subject.kind_name == "transformer":
        return CheckResult(check=name, status="skipped", message="it has no targets to turn over")
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
