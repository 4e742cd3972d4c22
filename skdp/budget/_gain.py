"""An explanation of the gain of an attacker at the limit of a budget."""

from __future__ import annotations

from skdp.accounting import gdp_mu
from skdp.budget.filters import Filter
from skdp.ledger.totals import Totals
from skdp.privacy import AttackRisk, GaussianCurve
from skdp.support.digits import at_least


def explained(rule: Filter, totals: Totals) -> str:
    """Return why the gain is as large as it is, and what lowers it."""
    if rule.keeps_to_box(totals) and not rule.composition.adds_epsilon:
        return (
            "The gain at the limit also covers future releases. Only a budget with a smaller limit "
            "lowers it."
        )
    return (
        f"The gain at the limit follows from ε and δ alone, because {_reason(rule, totals)}. "
        f"{_remedy(rule)}"
    )


def _reason(rule: Filter, totals: Totals) -> str:
    if rule.composition.adds_epsilon:
        return "the noise of each release may have any shape"
    if not rule.fits(totals.worst(rule.nothing)):
        return f"a first release was outside of the limits of {rule.composition}"
    return (
        "the first release that reads all records may have noise of any shape. It becomes smaller "
        f"after such a release within the limits of {rule.composition}"
    )


def _remedy(rule: Filter) -> str:
    """Name the budget with the smaller gain, and how much smaller it is at the same ε and δ."""
    remedy = "PrivacyBudget.from_risk makes a budget with a smaller gain from the start"
    if rule.delta == 0.0:
        return f"{remedy}."
    advantage = AttackRisk(GaussianCurve(gdp_mu(rule.epsilon, rule.delta))).advantage
    return (
        f"{remedy}, and so does strict=True: at this ε and δ, the advantage of the best membership "
        f"test is then at most {at_least(100.0 * advantage, 4):g} %."
    )
