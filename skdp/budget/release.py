"""One line of a ledger."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from skdp._validation import check_delta
from skdp.budget.pricing import quote
from skdp.privacy import PrivacyGuarantee

__all__ = ["Release"]


@dataclass(frozen=True)
class Release:
    """What one release cost, when, and who bought it. All of it is *public*.

    Parameters
    ----------
    label : str
        Who bought it.
    epsilon, delta : float
        The release is (`epsilon`, `delta`)-DP; this pair is what basic composition adds.
    gdp_mu : float
        With `slack` and `tv` 0 the release is `gdp_mu`-Gaussian DP; Gaussian composition adds it
        in squares. ``inf`` where no filter asked for it.
    neighboring : str
        The relation under which all of this holds.
    event : dict
        What happened; `skdp.privacy.event_from_dict` rebuilds it.
    time : str
        UTC, ISO 8601; for people, never for decisions: clocks go backwards.
    process : int
        The operating system's number of the process that bought it.
    tag : str
        The caller's own note.
    part : str or None
        Only records of this part were read; None: of any part.
    account : str
        The share of the budget that paid; "" is the budget itself.
    slack, tv : float
        The curve lies below that of `gdp_mu` plus `slack`, for an output within total variation
        `tv` of the one released.
    zcdp_rho, pure_epsilon : float
        What the filters ``"zcdp"`` and ``"pure"`` add; ``inf`` where the notion does not hold.
    renyi : tuple of float
        Rényi divergences at the orders of the filter ``"rdp"``.
    """

    label: str
    epsilon: float
    delta: float
    gdp_mu: float
    neighboring: str
    event: dict[str, Any]
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    process: int = field(default_factory=os.getpid)
    tag: str = ""
    part: str | None = None
    account: str = ""
    slack: float = 0.0
    tv: float = 0.0
    zcdp_rho: float = math.inf
    pure_epsilon: float = math.inf
    renyi: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_delta(self.delta)
        numbers = (self.epsilon, self.gdp_mu, self.slack, self.tv, self.zcdp_rho)
        if not all(number >= 0.0 for number in (*numbers, self.pure_epsilon, *self.renyi)):
            raise ValueError(f"A price is negative or no number: {self!r}.")
        texts = (self.label, self.tag, self.account, self.part or "")
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"label, tag and part must be texts, got {texts}.")

    @classmethod
    def of(
        cls,
        guarantee: PrivacyGuarantee,
        delta: float,
        label: str,
        *,
        epsilon: float | None = None,
        **more: Any,
    ) -> Release:
        """Return the line for a release with this guarantee, quoted at `delta`.

        An `epsilon` that the caller knows is checked with one look at the curve; without one it
        is searched for.
        """
        event, relation = guarantee.event, guarantee.neighboring
        facts = {
            "gdp_mu": float(event.gdp_mu(relation)),
            "zcdp_rho": float(event.zcdp_rho(relation)),
            "pure_epsilon": float(event.pure_epsilon(relation)),
        }
        return cls(
            label=label,
            epsilon=quote(guarantee, float(delta), epsilon),
            delta=float(delta),
            neighboring=str(relation),
            event=event.to_dict(),
            **facts | more,
        )

    def as_row(self) -> dict[str, Any]:
        """Return the release as a plain dictionary."""
        return asdict(self)
