"""Gaussian differential privacy: parameters add in squares."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skdp.accounting.base import Accountant, EventCount
from skdp.accounting.covering import covering_mu
from skdp.privacy import Event, GaussianCurve
from skdp.support.rounding import SERIES, SUM, THERE_AND_BACK, down, up
from skdp.support.validation import check_delta, set_checked

__all__ = ["GDPAccountant"]


@dataclass(frozen=True)
class GDPAccountant(Accountant):
    r"""Gaussian composition: δ(ε) = δ_μ(ε) + `slack` with μ² = Σ μ_i².

    Exact if all leaves are Gaussian. A leaf that is not μ-GDP itself enters through its least
    covering μ; the slack is split equally between such releases.

    Parameters
    ----------
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    slack : float in [0, 1)
        *Public.* Part of δ for covering leaves without a μ. With 0 such leaves raise.

    Notes
    -----
    **Guarantee.** Dong, Roth and Su 2022, Corollary 2; with slacks: *Gaussian DP and its cover* in
    the user guide, after Koskela, Tobaben and Honkela 2022. It also holds for adaptively chosen
    releases, if Σ μ_i² and Σ slack_i are bounded beforehand.

    Examples
    --------
    >>> from skdp.privacy import GaussianEvent, SelfComposedEvent
    >>> event = SelfComposedEvent(GaussianEvent(20.0), 100)
    >>> round(GDPAccountant().epsilon(event, 1e-5), 5)
    4.37718
    """

    slack: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        set_checked(self, slack=check_delta(self.slack))

    def mu(self, event: Event) -> float:
        """Return the μ of an event, without the slack.

        Parameters
        ----------
        event : Event
            *Public.* What was released, its parameters fixed beforehand.

        Returns
        -------
        float
        """
        return self._total(self._leaves(event))[0]

    def bounds(self, event: Event, delta: float) -> tuple[float, float]:
        upper = self.epsilon(event, delta)
        for leaf in self._leaves(event):
            if leaf.curves != (GaussianCurve(leaf.mu),):
                raise self._refusal(leaf, "a Gaussian curve for a lower bound")
        return max(0.0, down(upper, THERE_AND_BACK) - 1e-300), upper

    def _epsilon(self, leaves: tuple[EventCount, ...], delta: float) -> float:
        mu, slack = self._total(leaves)
        return GaussianCurve(mu).epsilon(delta - slack) if delta >= slack else math.inf

    def _delta(self, leaves: tuple[EventCount, ...], epsilon: float) -> float:
        mu, slack = self._total(leaves)
        return up(GaussianCurve(mu).delta(epsilon), SERIES) + slack

    def _total(self, leaves: tuple[EventCount, ...]) -> tuple[float, float]:
        without = sum(leaf.count for leaf in leaves if math.isinf(leaf.mu))
        each = self.slack / without if without else 0.0
        squares = math.fsum(leaf.count * self._mu(leaf, each) ** 2 for leaf in leaves)
        return up(math.sqrt(squares), SUM), self.slack if without else 0.0

    def _mu(self, leaf: EventCount, slack: float) -> float:
        if math.isfinite(leaf.mu):
            return leaf.mu
        covering = covering_mu(leaf.event.curve(leaf.neighboring), slack) if slack else math.inf
        if math.isinf(covering):
            raise self._refusal(leaf, f"a Gaussian cover at slack {slack:g} a release")
        return covering
