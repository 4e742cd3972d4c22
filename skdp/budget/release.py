"""One line of a ledger."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from skdp.privacy import PrivacyGuarantee

__all__ = ["Release"]


@dataclass(frozen=True)
class Release:
    """What one release cost, when, and who bought it.

    Parameters
    ----------
    label : str
        Who bought it.
    epsilon, delta : float
        The release is (`epsilon`, `delta`)-DP; this pair is what basic composition adds.
    gdp_mu : float
        The release is `gdp_mu`-Gaussian DP; this is what Gaussian composition adds in squares.
    neighboring : str
        The relation under which all of this holds.
    event : dict
        What happened; `skdp.privacy.event_from_dict` rebuilds it.
    time : str
        UTC, ISO 8601.
    process : int
        The operating system's number of the process that bought it.
    """

    label: str
    epsilon: float
    delta: float
    gdp_mu: float
    neighboring: str
    event: dict[str, Any]
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    process: int = field(default_factory=os.getpid)

    @classmethod
    def of(cls, guarantee: PrivacyGuarantee, delta: float, label: str) -> Release:
        """Return the line for a release with this guarantee, quoted at `delta`."""
        return cls(
            label=label,
            epsilon=float(guarantee.epsilon(delta)),
            delta=float(delta),
            gdp_mu=float(guarantee.gdp_mu),
            neighboring=str(guarantee.neighboring),
            event=guarantee.event.to_dict(),
        )

    def as_row(self) -> dict[str, Any]:
        """Return the release as a plain dictionary."""
        return asdict(self)
