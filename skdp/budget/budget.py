"""A privacy budget that many fits, processes and sessions share."""

from __future__ import annotations

from dataclasses import replace
from json import loads
from typing import Any

from skdp.budget.filters import rule_of
from skdp.budget.handle import BudgetHandle
from skdp.budget.json_export import import_json
from skdp.budget.share import BudgetShare
from skdp.ledger.files import TemporaryFolder, place_of, whole_or_absent
from skdp.ledger.store import Ledger
from skdp.privacy import GaussianCurve, Neighboring, Unit
from skdp.privacy.risk import gaussian_mu_for
from skdp.support.rounding import ROOT, down
from skdp.support.validation import check_choice, check_real

__all__ = ["PrivacyBudget"]

_BELOW = down(1.0, ROOT)  # of a target's μ, so that there and back over ε is not above it


class PrivacyBudget(BudgetHandle):
    """A ceiling on what everything learned from one data set may reveal.

    Pass it as ``budget=`` to any number of estimators. Each fit spends before it reads its data; a
    fit that does not fit raises `BudgetExceededError` and leaves the ledger as it was. The object
    is a handle: copies, clones, pickles, threads and worker processes share one ledger.

    Parameters
    ----------
    epsilon : float
        *Public.* Everything admitted is, together, (`epsilon`, `delta`)-DP, even though each fit
        may be chosen after seeing the results of those before.
    delta : float
        *Public.* The δ of the same statement.
    composition : {"gdp", "basic", "zcdp", "rdp", "pure"}
        *Public.* ``"gdp"`` adds Gaussian-DP parameters in squares, which admits many more fits;
        ``"basic"`` adds ε and δ; ``"zcdp"`` adds ρ; ``"rdp"`` adds Rényi divergences; ``"pure"``,
        for ``delta=0``, admits pure releases only.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Relation of all fits; a fit under the other one is refused.
    unit : {"record", "person"}
        *Public.* Whose contribution is covered as a whole: that of one record, or of all records
        of one person. A fit with ``groups=`` is of a person, any other one of a record, and each
        is refused by a budget of the other unit.
    path : path-like, str or None
        *Public.* Where the ledger lives. ``None`` makes a temporary one, removed with this object.
        The files beside it whose names go on with ``-wal`` and ``-shm`` belong to it: copy all or
        none, and use it from one machine. For many machines, the address of a PostgreSQL server,
        ``"postgresql://user@host/database?ledger=name"`` (extra ``server``).
    slack : float or None
        *Public.* Under ``"gdp"``, the part of `delta` set aside for releases that no Gaussian
        covers exactly, such as those of ``solver="dp_sgd"``; each takes between 1/32 and 1/16 of
        what is left of it. None: a twentieth of `delta`, which costs the others 0.3 % of ε. 0
        refuses such releases.
    tv : float
        *Public.* Under ``"gdp"``, the total variation set aside for samplers that are not exact;
        it costs (1 + e^ε)·`tv` of `delta`.
    strict : bool
        *Public.* Under ``"gdp"`` with no reserves, whether the first release is held to the
        Gaussian limit as well. What is promised then is the whole trade-off function of one
        Gaussian release, as `from_risk` does, and not (`epsilon`, `delta`) alone.

    Raises
    ------
    ValueError
        If a parameter is out of range, or `path` holds a ledger made with other parameters.
    BudgetClosedError
        If `path` holds no ledger but another file, or one that is damaged; or if file locks have
        no effect there. Nothing is written then.

    Notes
    -----
    **Guarantee.** Gaussian filter: Koskela, Tobaben and Honkela 2022; basic and pure filters:
    Rogers, Roth, Ullman and Vadhan 2016; zCDP and Rényi filters: Feldman and Zrnic 2021. All
    limits are fixed when the budget is made. Where the very first release is (`epsilon`,
    `delta`)-DP but outside of the filter's limits, it is admitted unless the budget is `strict`,
    and ε and δ are added up from then on. Nothing is ever refunded.

    Examples
    --------
    >>> from skdp import DPLogisticRegression, PrivacyBudget
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(random_state=0)
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
        path: Any = None,
        slack: float | None = None,
        tv: float = 0.0,
        strict: bool = False,
    ) -> None:
        rule = rule_of(composition, epsilon, delta, slack=slack, tv=tv, strict=strict)
        self._neighboring = Neighboring(check_choice("neighboring", neighboring, Neighboring))
        self._unit = Unit(check_choice("unit", unit, Unit))
        self._folder = TemporaryFolder() if path is None else None  # which lives as long as this
        place = self._folder.ledger if self._folder else path
        terms = rule.stored_terms(self._neighboring, self._unit)
        self._ledger = Ledger(place_of(place), terms, rule.costs, rule.nothing)
        self._ledger.create()
        self._filter = replace(rule, orders=tuple(loads(self._ledger.terms["orders"])))

    def share(
        self, *, epsilon: float, delta: float | None = None, name: str = "share"
    ) -> BudgetShare:
        return BudgetShare(self, epsilon=epsilon, delta=delta, name=name)

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
        path: Any = None,
    ) -> PrivacyBudget:
        """Make a budget under which no attack on anybody gains more than one target says.

        Parameters
        ----------
        advantage : float in (0, 1), optional
            *Public.* True less false positives of a test of membership.
        true_positive_rate : (float, float), optional
            *Public.* Members found, at a rate of false positives.
        accuracy : (float, float), optional
            *Public.* Right guesses of membership, at a prior probability of it.
        reconstruction : (float, float), optional
            *Public.* Right guesses of a value, at their rate without the releases.
        delta : float in (0, 1), default 1e-5
            *Public.* Where ε is quoted; the promise does not depend on it.
        neighboring : {"replace_one", "add_remove_one"}
            *Public.* As in `PrivacyBudget`.
        unit : {"record", "person"}
            *Public.* As in `PrivacyBudget`.
        path : path-like, str or None
            *Public.* As in `PrivacyBudget`.

        Returns
        -------
        PrivacyBudget
            A `strict` one, of composition ``"gdp"``. Releases that are not Gaussian DP count at the
            least μ that covers them, and those that have none, as of ``solver="dp_sgd"`` or a
            ``subsample``, are refused.

        Raises
        ------
        ValueError
            If not just one target is given, it asks for less than an attacker has without a
            release, or it is met by ε = 0 at this `delta`.

        Notes
        -----
        **Guarantee.** With μ of the target, all releases together have a trade-off function that is
        nowhere below that of N(μ, 1) against N(0, 1), however each was chosen (*A strict budget* in
        the documentation).

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
            raise ValueError(
                f"The target is so low that delta={delta:g} meets it: take a lower one."
            )
        terms = {"neighboring": neighboring, "unit": unit, "path": path}
        return cls(epsilon=epsilon, delta=delta, strict=True, **terms)

    @classmethod
    def from_json(cls, text: str, *, path: Any = None) -> PrivacyBudget:
        """Make a new ledger from `to_json`; the two are not linked, so go on with one of them only.

        Parameters
        ----------
        text : str
            *Public.* What `to_json` has returned.
        path : path-like, str or None
            *Public.* Where the new ledger lives, as in `PrivacyBudget`; None: in a temporary file.

        Returns
        -------
        PrivacyBudget
            A budget with the same terms, shares and releases.

        Raises
        ------
        ValueError
            If the text is no export, holds more than its own terms admit, or `path` exists.
        """
        export = import_json(text)
        folder = TemporaryFolder() if path is None else None
        target = folder.ledger if folder else path
        with whole_or_absent(target) as draft:
            terms = export.rule.stored_terms(export.neighboring, export.unit)
            ledger = Ledger(draft, terms, export.rule.costs, export.rule.nothing)
            ledger.create_from(export.releases, export.shares)
        relation = {"neighboring": export.neighboring, "unit": export.unit}
        budget = cls(**export.rule.terms | relation, path=target)
        budget._folder = folder
        return budget
