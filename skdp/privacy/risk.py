"""What an attacker gains from a release, and the ε at which the gain is what may be borne."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from skdp.privacy.combined import SymmetrizedCurve
from skdp.privacy.curve import PrivacyCurve, both_orders
from skdp.privacy.gaussian import GaussianCurve
from skdp.support.digits import percents
from skdp.support.html import html_table
from skdp.support.validation import check_real

__all__ = ["AttackRisk", "epsilon_for", "gaussian_mu_for"]

_LARGEST_MU = 60.0


@dataclass(frozen=True)
class AttackRisk:
    """How well anybody can attack one record, who knows all others and sees the release.

    Every number is an upper bound that holds for every attack, computed from the guarantee alone.
    The reference is a data set in which the record was replaced, or from which it was removed.
    `PrivacyGuarantee.risk` makes it.

    Parameters
    ----------
    curve : PrivacyCurve
        *Public.* Of a release, or of several together; both orders of the neighbors count.

    Examples
    --------
    >>> risk = AttackRisk(GaussianCurve(0.268051))
    >>> round(risk.advantage, 3), round(risk.true_positive_rate(0.01), 4)
    (0.107, 0.0198)
    """

    curve: PrivacyCurve

    def delta(self, epsilon: Any) -> Any:
        """Return the least δ for which what is released is (`epsilon`, δ)-DP.

        Parameters
        ----------
        epsilon : float or ndarray
            *Public.*

        Returns
        -------
        float or ndarray
        """
        return reduce(np.maximum, (curve.delta(epsilon) for curve in both_orders(self.curve)))

    def tradeoff(self, alpha: Any) -> Any:
        """Return the least type II error of any attack with type I error `alpha`.

        Parameters
        ----------
        alpha : float or ndarray
            *Public.* Type I errors in [0, 1].

        Returns
        -------
        float or ndarray
        """
        curves = both_orders(self.curve)
        return reduce(np.minimum, (curve.tradeoff()(alpha) for curve in curves))

    @property
    def advantage(self) -> float:
        """True positives less false positives of the best test of membership: δ(0)."""
        return float(self.delta(0.0))

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return how many members are found by a test that accuses so many others.

        Parameters
        ----------
        false_positive_rate : float in [0, 1]
            *Public.*

        Returns
        -------
        float
            1 − f(α), f the trade-off function.
        """
        return float(1.0 - self.tradeoff(_share("false_positive_rate", false_positive_rate)))

    def accuracy(self, prior: float = 0.5) -> float:
        """Return how often the best guess whether a record is there is right.

        Parameters
        ----------
        prior : float in (0, 1), default 0.5
            *Public.* Probability of membership, for whoever has not seen the release.

        Returns
        -------
        float
            1 − π + π·δ(log((1 − π)/π)).
        """
        prior = check_real("prior", prior, low=0.0, high=1.0)
        return _accuracy(prior, self.delta)

    def posterior(self, false_positive_rate: float, prior: float = 0.5) -> float:
        """Return the probability of membership after evidence that is as rare for others.

        Parameters
        ----------
        false_positive_rate : float in (0, 1]
            *Public.* Probability of the evidence if the record is not there. No bound holds for all
            evidence, however rare, unless δ is 0.
        prior : float in (0, 1), default 0.5
            *Public.* Probability of membership, for whoever has not seen the release.

        Returns
        -------
        float
        """
        alpha = check_real(
            "false_positive_rate", false_positive_rate, low=0.0, high=1.0, closed="]"
        )
        prior = check_real("prior", prior, low=0.0, high=1.0)
        found = prior * self.true_positive_rate(alpha)
        return found / (found + (1.0 - prior) * alpha)

    def reconstruction(self, prior_success: float) -> float:
        """Return how often a value of the record is guessed with the release.

        Parameters
        ----------
        prior_success : float in [0, 1]
            *Public.* How often without it: 1/k for one of k values that are equally likely.

        Returns
        -------
        float
            1 − f(κ): for the success of any attack is a mean of such tests, and 1 − f is concave,
            f of both orders at once.
        """
        orders = both_orders(self.curve)
        curve = self.curve if len(orders) == 1 else SymmetrizedCurve(self.curve)
        return float(1.0 - curve.tradeoff()(_share("prior_success", prior_success)))

    def to_dict(self) -> dict[str, float]:
        """Return the numbers that a report shows, by name.

        Returns
        -------
        dict
            Text to a probability.
        """
        return self._brief() | {
            "members found at 0.1 % false alarms": self.true_positive_rate(0.001),
            "right guesses of membership, 50 % without the release": self.accuracy(),
        }

    def _brief(self) -> dict[str, float]:
        return {
            "advantage of the best membership test": self.advantage,
            "members found at 1 % false alarms": self.true_positive_rate(0.01),
            "right guesses of one of 10 values, 10 % without the release": self.reconstruction(0.1),
        }

    def __str__(self) -> str:
        return "\n".join(f"{percents(value):>8}  {name}" for name, value in self.to_dict().items())

    def _repr_html_(self) -> str:
        rows = ((name, percents(value)) for name, value in self._brief().items())
        return html_table(("what an attacker gains", "at most"), rows)


def epsilon_for(
    *,
    advantage: float | None = None,
    true_positive_rate: tuple[float, float] | None = None,
    accuracy: tuple[float, float] | None = None,
    reconstruction: tuple[float, float] | None = None,
    delta: float = 1e-5,
) -> float:
    """Return the ε of the Gaussian mechanism at which an attack gains just so much.

    Exact for what is Gaussian DP, as the default fits are. A release of another shape, of the same
    (ε, δ), may let an attacker gain more: ask `AttackRisk` of its guarantee.

    Parameters
    ----------
    advantage : float in (0, 1), optional
        *Public.* True less false positives.
    true_positive_rate : (float, float), optional
        *Public.* Members found, at a rate of false positives.
    accuracy : (float, float), optional
        *Public.* Right guesses of membership, at a prior probability of it.
    reconstruction : (float, float), optional
        *Public.* Right guesses of a value, at their rate without the release.
    delta : float in (0, 1), default 1e-5
        *Public.* Of the (ε, δ) that is wanted.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If not just one target is given, or it asks for less than an attacker has without a release.

    Examples
    --------
    >>> round(epsilon_for(advantage=0.1), 2)
    0.93
    """
    check_real("delta", delta, low=0.0, high=1.0)
    mu = gaussian_mu_for(
        advantage=advantage,
        true_positive_rate=true_positive_rate,
        accuracy=accuracy,
        reconstruction=reconstruction,
    )
    return GaussianCurve(mu).epsilon(delta)


def gaussian_mu_for(**targets: Any) -> float:
    """Return the Gaussian-DP parameter at which the one target that is not None is just met."""
    given = {name: target for name, target in targets.items() if target is not None}
    if len(given) != 1:
        raise ValueError(f"just one of {[*targets]} must be given, got {[*given]}.")
    ((name, target),) = given.items()
    return _mu_for(name, target)


def _mu_for(name: str, target: Any) -> float:
    """Return the Gaussian-DP parameter at which a target is just met."""
    if name == "advantage":
        wanted = check_real(name, target, low=0.0, high=1.0)
        return float(2.0 * ndtri(0.5 + 0.5 * wanted))
    if not (isinstance(target, tuple | list) and len(target) == 2):
        raise ValueError(f"{name} must be a pair of probabilities, got {target!r}.")
    wanted, without = (check_real(name, p, low=0.0, high=1.0) for p in target)
    least = max(without, 1.0 - without) if name == "accuracy" else without
    if wanted <= least:
        raise ValueError(f"{name}={target!r} is what an attacker has without any release.")
    if name != "accuracy":
        return float(ndtri(wanted) - ndtri(without))
    return float(
        brentq(lambda mu: _accuracy(without, GaussianCurve(mu).delta) - wanted, 0.0, _LARGEST_MU)
    )


def _accuracy(prior: float, delta: Callable[[float], Any]) -> float:
    return float(1.0 - prior + prior * delta(math.log1p(-prior) - math.log(prior)))


def _share(name: str, value: float) -> float:
    return check_real(name, value, low=0.0, high=1.0, closed="[]")
