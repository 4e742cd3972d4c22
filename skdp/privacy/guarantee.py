"""What a fitted estimator promises, in every language of the field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skdp.privacy.events import Event
from skdp.privacy.neighboring import Neighboring

__all__ = ["PrivacyGuarantee"]


@dataclass(frozen=True)
class PrivacyGuarantee:
    """A proved bound on what one release reveals about any single record.

    Parameters
    ----------
    event : Event
        What was released.
    neighboring : {"replace_one", "add_remove_one"}
        Which data sets the release makes hard to tell apart.
    theorem : str
        The statement that proves it, with its source.

    Examples
    --------
    >>> from skdp.privacy import GDPEvent
    >>> guarantee = PrivacyGuarantee(GDPEvent(0.268051), "replace_one", "Theorem A'")
    >>> round(guarantee.epsilon(delta=1e-5), 4)
    1.0
    """

    event: Event
    neighboring: Neighboring
    theorem: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighboring", Neighboring(self.neighboring))

    @property
    def gdp_mu(self) -> float:
        """The Gaussian-DP parameter μ."""
        return self.event.gdp_mu

    def epsilon(self, delta: float) -> float:
        """Return the least ε for which the release is (ε, `delta`)-DP, rounded upwards."""
        return self.event.curve.epsilon(delta)

    def delta(self, epsilon: Any) -> Any:
        """Return the least δ for which the release is (`epsilon`, δ)-DP; arrays are welcome."""
        return self.event.curve.delta(epsilon)

    def tradeoff(self, alpha: Any) -> Any:
        """Return the least type II error of any attack with type I error `alpha`."""
        return self.event.curve.tradeoff()(alpha)

    def __str__(self) -> str:
        return f"{self.gdp_mu:.6g}-Gaussian DP under {self.neighboring} ({self.theorem})"
