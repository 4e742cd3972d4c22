"""A privacy budget that many fits, processes and sessions share."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, Self, TypeAlias

from skdp.budget.filters import Filter, rule_of
from skdp.budget.handle import QUOTED, BudgetHandle
from skdp.exceptions import BudgetClosedError, WeakPrivacyWarning
from skdp.ledger.file_storage import Place, storage_at
from skdp.ledger.release import Entry, adopt, head_of, number, owns
from skdp.ledger.store import FORMAT, TIMEOUT, Ledger, Storage
from skdp.privacy import GaussianCurve, Neighboring, PrivacyGuarantee, Unit
from skdp.privacy.guarantee import DEFAULT_DELTA, LARGE_DELTA, gaussian_mu_for
from skdp.support.display import caller_outside
from skdp.support.safe_numbers import ROOT, down
from skdp.support.validation import check_choice, check_real, explain_keywords

_BELOW = down(1.0, ROOT)  # lowers μ, so that converting it to ε and back does not raise it


class PrivacyBudget(BudgetHandle):
    """A limit on the privacy loss of everything learned from one data set.

    Pass it as ``budget=`` to any number of estimators. Each fit spends before it reads its data. A
    fit beyond the limit raises `BudgetExceededError` and leaves the ledger as it was. The object is
    a handle: copies, clones, pickles, threads and worker processes share one ledger. See *The
    ledger* in the user guide.

    Parameters
    ----------
    epsilon : float
        *Public.* All releases together are (`epsilon`, `delta`)-DP, even if each is chosen after
        seeing the results of those before.
    delta : float
        *Public.* The δ of this statement.
    composition : {"gdp", "basic", "zcdp", "rdp", "pure"}
        *Public.* What adds up: squared Gaussian-DP parameters, which admits many more fits; ε and
        δ; ρ; Rényi divergences; or ε with ``delta=0``, for pure releases only.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Relation of all fits. A fit under the other relation raises ValueError.
    unit : {"record", "person", "person-month"}
        *Public.* Privacy unit of all fits: a person with ``groups=``, otherwise a record. A fit
        with the other unit raises ValueError. With "person-month" each fit reads one month,
        ``budget.at(period=...)``, and protects what one person adds to one month.
    path : path-like, str or None
        *Public.* File of the ledger, used from one machine, with its companions ``-wal`` and
        ``-shm``: copy all or none. Or the address of a PostgreSQL server,
        ``"postgresql://user@host/database?ledger=name"`` (extra ``server``). ``None``: a temporary
        file, removed with this object.
    slack : float or None
        *Public.* With ``"gdp"``, the part of `delta` reserved for releases that are not Gaussian
        DP, such as those of ``solver="dp_sgd"``. Each takes between 1/32 and 1/16 of the rest.
        ``None``: a twentieth of `delta`, which costs the other releases 0.3 % of ε. 0 rejects
        releases that are not Gaussian DP.
    tv : float
        *Public.* With ``"gdp"``, the total variation reserved for samplers that are not exact. It
        costs (1 + e^ε)·`tv` of `delta`.
    strict : bool
        *Public.* With ``"gdp"`` and no reserves, whether the Gaussian limit also holds for the
        first release. The guarantee is then the trade-off function of one Gaussian release, as in
        `from_risk`.
    timeout : float
        *Public.* Seconds that a spend may wait for other spenders, for a server that is full, or
        for one that does not answer.
    at_least : str or None
        *Public.* An earlier `head` that the ledger must extend.
    exact : bool
        *Public.* Whether to admit only releases whose theorem holds for the numbers that a computer
        adds. ``solver="auto"`` then chooses among those. See *Machine numbers* in the
        documentation.

    Raises
    ------
    ValueError
        If a parameter is out of range, or `path` holds a ledger made with other parameters.
    BudgetClosedError
        If `path` holds another file, a damaged ledger, a copy of a ledger, or a ledger that does
        not extend `at_least`; or if file locks have no effect there. Nothing is written.

    Notes
    -----
    **Guarantee.** Gaussian filter: Koskela, Tobaben and Honkela 2022; basic and pure filters:
    Rogers, Roth, Ullman and Vadhan 2016; zCDP and Rényi filters: Feldman and Zrnic 2021. All
    limits are fixed when the budget is made. A first release outside of these limits is admitted if
    it is (`epsilon`, `delta`)-DP, unless the budget is `strict`; ε and δ add up from then on.
    Nothing is ever refunded.

    Examples
    --------
    >>> from skdp import DPLogisticRegression, PrivacyBudget
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(500, random_state=0)
    >>> budget = PrivacyBudget(epsilon=3.0, delta=1e-5)
    >>> _ = DPLogisticRegression(epsilon=1.0, delta=1e-5, budget=budget).fit(X, y)
    >>> round(budget.spent.epsilon, 3), round(budget.remaining.epsilon, 3)
    (1.0, 2.747)
    """

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        composition: str = "gdp",
        neighboring: str = "replace_one",
        unit: str = "record",
        path: Place | None = None,
        slack: float | None = None,
        tv: float = 0.0,
        strict: bool = False,
        timeout: float = TIMEOUT,
        at_least: str | None = None,
        exact: bool = False,
    ) -> None:
        rule = rule_of(composition, epsilon, delta, slack=slack, tv=tv, strict=strict, exact=exact)
        if rule.delta > LARGE_DELTA and not strict:  # that is one of Gaussian DP, at every δ
            warnings.warn(
                f"delta={rule.delta:g} of the budget is large: {100.0 * rule.delta:.4g} % of the "
                "records could be published as they are under that guarantee. Take a delta well "
                "below 1/n.",
                WeakPrivacyWarning,
                stacklevel=caller_outside(),
            )
        self._neighboring = Neighboring(check_choice("neighboring", neighboring, Neighboring))
        self._unit = Unit(check_choice("unit", unit, Unit))
        storage = storage_at(path, check_real("timeout", timeout, low=0.0))
        self._ledger = Ledger(storage, _stored_terms(rule, self._neighboring, self._unit), rule)
        self._ledger.create()
        self._filter = self._ledger.rules
        if at_least is not None and not self._ledger.has_passed(at_least):
            raise BudgetClosedError(
                f"The ledger {self._ledger.path} does not contain everything that the head "
                f"{at_least!r} covers, so it is another ledger or an older copy."
            )

    @classmethod
    def open(cls, path: Place, *, timeout: float = TIMEOUT, at_least: str | None = None) -> Self:
        """Open an existing ledger with its own terms, for example to check or show it.

        Parameters
        ----------
        path : path-like or str
            *Public.* The ledger, as in `PrivacyBudget`.
        timeout : float
            *Public.* As in `PrivacyBudget`.
        at_least : str or None
            *Public.* As in `PrivacyBudget`.

        Returns
        -------
        PrivacyBudget
            A handle on the ledger.

        Raises
        ------
        BudgetClosedError
            As in `PrivacyBudget`, or if there is no ledger.
        """
        rule, relation = _terms_of(storage_at(path))
        return cls(**rule.terms | relation, path=path, timeout=timeout, at_least=at_least)

    @classmethod
    def adopt(cls, path: Place, *, reason: str) -> Self:
        """Let a copy of a ledger take its place: a copied file, a restored backup or dump.

        Otherwise a copy is not opened, because two copies are two budgets for the same data. The
        other copy is closed if it is still at its place and this user may write to it. If it is
        not reachable, you promise that it is no longer used. The ledger records the adoption,
        and reports show it with the `reason`.

        Parameters
        ----------
        path : path-like or str
            *Public.* The copy. On a server only its owner can adopt it.
        reason : str
            *Public.* Why, for example "restored from the backup of 3 May".

        Returns
        -------
        PrivacyBudget
            A handle on the ledger. Earlier handles on the path must be made again.

        Raises
        ------
        ValueError
            If the ledger is not a copy, or the reason is empty.
        """
        if not (isinstance(reason, str) and reason.strip()):
            raise ValueError(f"reason must be a sentence for the report, got {reason!r}.")
        storage = storage_at(path)
        storage.known_terms()
        adopt(storage, reason)
        return cls.open(path)

    @classmethod
    def from_risk(
        cls,
        *,
        advantage: float | None = None,
        true_positive_rate: tuple[float, float] | None = None,
        accuracy: tuple[float, float] | None = None,
        reconstruction: tuple[float, float] | None = None,
        delta: float = 1e-5,
        neighboring: str = "replace_one",
        unit: str = "record",
        path: Place | None = None,
    ) -> Self:
        """Make a budget from a bound on the success of attacks; pass exactly one bound.

        Parameters
        ----------
        advantage : float in (0, 1) or None
            *Public.* True minus false positive rate of a membership test.
        true_positive_rate : (float, float) or None
            *Public.* Share of members found, at a false positive rate.
        accuracy : (float, float) or None
            *Public.* Accuracy of guesses of membership, at a prior probability.
        reconstruction : (float, float) or None
            *Public.* Success rate of guesses of a value, at the rate without releases.
        delta : float in (0, 1), default 1e-5
            *Public.* Where ε is quoted; the guarantee does not depend on it.
        neighboring, unit : str
            *Public.* As in `PrivacyBudget`.
        path : path-like, str or None
            *Public.* As in `PrivacyBudget`.

        Returns
        -------
        PrivacyBudget
            A `strict` budget with composition ``"gdp"``. A release that is not Gaussian DP counts
            at the least μ that covers it. If none does, as for ``solver="dp_sgd"`` or `subsample`,
            it is rejected.

        Raises
        ------
        ValueError
            If not exactly one bound is given, no release can reach it, or ε is 0 at this `delta`.

        Notes
        -----
        **Guarantee.** The bound determines μ. The trade-off function of all releases together is
        nowhere below that of N(μ, 1) against N(0, 1), even if each release is chosen after seeing
        the results of those before (*A strict budget* in the documentation).

        Examples
        --------
        >>> budget = PrivacyBudget.from_risk(advantage=0.1)
        >>> round(budget.epsilon, 2)
        0.93
        """
        mu = _BELOW * gaussian_mu_for(
            advantage=advantage,
            true_positive_rate=true_positive_rate,
            accuracy=accuracy,
            reconstruction=reconstruction,
        )
        epsilon = GaussianCurve(mu).epsilon(check_real("delta", delta, low=0.0, high=1.0))
        if epsilon == 0.0:
            raise ValueError(f"delta={delta:g} alone reaches the bound. Pass a smaller delta.")
        where: dict[str, Any] = {"neighboring": neighboring, "unit": unit, "path": path}
        return cls(epsilon=epsilon, delta=delta, strict=True, **where)

    @classmethod
    def from_json(cls, text: str, *, path: Place | None = None) -> Self:
        """Make a new ledger from `to_json`. The two are not linked: use only one of them.

        Parameters
        ----------
        text : str
            *Public.* The result of `to_json`.
        path : path-like, str or None
            *Public.* Place of the new ledger, as in `PrivacyBudget`.

        Returns
        -------
        PrivacyBudget
            A budget with the same terms, shares and releases.

        Raises
        ------
        ValueError
            If the text is not an export or violates its own terms, or `path` exists.
        """
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("format") != "skdp ledger":
            raise ValueError("This is not an exported ledger of skdp.")
        if data.get("version") != FORMAT:
            raise ValueError(f"The export has version {data.get('version')!r}, not {FORMAT}.")
        try:
            rule, relation, shares, entries = _imported(data)
        except (AttributeError, KeyError, OverflowError, RecursionError, TypeError) as error:
            raise ValueError(f"The export is damaged: {error!r}.") from error
        storage = storage_at(path)
        if os.path.exists(storage.address):
            raise ValueError(f"{storage.address} exists already.")
        Ledger(storage, _stored_terms(rule, **relation), rule).create(entries, shares)
        return cls(**rule.terms | relation, path=storage)


class Unbudgeted(BudgetHandle):
    """A handle that admits and remembers all releases; fits end before they read.

    Noise is planned as without a budget.
    """

    is_rehearsal = True
    has_limit = False

    def __init__(self) -> None:
        self._filter = rule_of("basic", 1.0, DEFAULT_DELTA)
        self.promised: list[PrivacyGuarantee] = []

    def share(self, *, epsilon: float, delta: float | None = None, name: str = "share") -> Self:
        return self

    def spend(self, guarantee: PrivacyGuarantee, **terms: object) -> None:
        self.promised.append(guarantee)


def _stored_terms(rule: Filter, neighboring: Neighboring, unit: Unit) -> dict[str, Any]:
    relation = {"neighboring": str(neighboring), "unit": str(unit)}
    return rule.terms | relation | {"orders": list(rule.orders)}


def _read_terms(terms: dict[str, Any]) -> tuple[Filter, dict[str, Any]]:
    """Return the filter, the relation and the unit of terms."""
    neighboring, unit = Neighboring(terms.pop("neighboring")), Unit(terms.pop("unit"))
    rule = rule_of(**terms | {"orders": number(terms["orders"])})
    return rule, {"neighboring": neighboring, "unit": unit}


def _terms_of(storage: Storage) -> tuple[Filter, dict[str, Any]]:
    """Return the filter, the relation and the unit of an existing ledger."""
    terms = storage.known_terms()
    try:
        return _read_terms(terms)
    except (LookupError, ValueError, TypeError) as error:
        raise BudgetClosedError(
            f"The ledger {storage.address} cannot be used: its terms cannot be read."
        ) from error


Export: TypeAlias = tuple[Filter, dict[str, Any], list[Any], list[Entry]]


def _imported(data: dict[str, Any]) -> Export:
    """Return the rule, the relation and the unit, the shares and the entries of an export."""
    rule, relation = _read_terms(dict(data["terms"]))
    shares = [(row["name"], number(row["epsilon"]), number(row["delta"])) for row in data["shares"]]
    texts = [[row[name] for name in QUOTED] for row in data["entries"]]
    if not all(isinstance(text, str) for row in texts for text in row):
        raise TypeError("an entry is no text")
    entries = [Entry(number, *row) for number, row in enumerate(texts, 1)]
    _check_admitted(rule.rules_of(shares), relation["neighboring"], entries)
    if data.get("head") != str(head_of(_stored_terms(rule, **relation), entries)):
        raise ValueError("The export was edited: its releases do not match its head.")
    return rule, relation, shares, entries


def _check_admitted(rules: dict[str, Filter], neighboring: str, entries: list[Entry]) -> None:
    """Raise ValueError unless each account admits its releases, one after the other."""
    releases = [one.release for one in entries if one.is_release]
    for release in releases:
        if release.account not in rules:
            raise ValueError(f"There is no share {release.account!r}.")
    for account, rule in rules.items():
        own = [release for release in releases if owns(account, release.account)]
        if not rule.admits(own) or {release.neighboring for release in own} - {neighboring}:
            raise ValueError("The export contains more releases than its terms admit.")


explain_keywords(PrivacyBudget)
