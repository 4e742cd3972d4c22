"""One row of a ledger."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from skdp.support.validation import check_delta

__all__ = ["VERSION", "Release"]

VERSION: str = sys.modules["skdp"].__version__
"""Of this library."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """What one release cost, and when. All of it is *public*.

    Parameters
    ----------
    label : str
        *Public.* Name of the release, such as that of an estimator.
    epsilon : float
        *Public.* The release is (`epsilon`, `delta`)-DP; basic composition adds this pair.
    delta : float
        *Public.* The δ of the same statement.
    gdp_mu : float
        *Public.* With `slack` and `tv` 0 the release is `gdp_mu`-Gaussian DP; Gaussian composition
        adds it in squares. ``inf`` where no filter asked for it.
    neighboring : str
        *Public.* The relation under which all of this holds.
    event : dict
        *Public.* What happened; `skdp.privacy.event_from_dict` rebuilds it.
    time : str
        *Public.* UTC, ISO 8601; for reading, never for decisions: clocks go backwards.
    process : int
        *Public.* The operating system's number of the process that wrote it.
    tag : str
        *Public.* The caller's own note.
    part : str or None
        *Public.* Only records of this part were read; None: of any part.
    account : str
        *Public.* The share of the budget that it was spent from; "" is the budget itself.
    slack : float
        *Public.* The curve lies below that of `gdp_mu` plus `slack`,
    tv : float
        *Public.* for an output within this total variation of the one released.
    zcdp_rho : float
        *Public.* What the filter ``"zcdp"`` adds; ``inf`` where the notion does not hold.
    pure_epsilon : float
        *Public.* What the filter ``"pure"`` adds; ``inf`` where the notion does not hold.
    renyi : tuple of float
        *Public.* Rényi divergences at the orders of the filter ``"rdp"``.
    theorem : str
        *Public.* The statement that proves the event, with its source; "" in older ledgers.
    version : str
        *Public.* Of the library that made the release; "" in older ledgers.
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
    theorem: str = ""
    version: str = ""

    def __post_init__(self) -> None:
        check_delta(self.delta)
        numbers = (self.epsilon, self.gdp_mu, self.slack, self.tv, self.zcdp_rho)
        if not all(number >= 0.0 for number in (*numbers, self.pure_epsilon, *self.renyi)):
            raise ValueError(f"A cost is negative or no number: {self!r}.")
        named = (self.label, self.tag, self.account, "" if self.part is None else self.part)
        texts = (*named, self.theorem, self.version)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"label, tag and part must be texts, got {texts}.")

    def as_row(self) -> dict[str, Any]:
        """Return the release as a plain dictionary.

        Returns
        -------
        dict
            The fields by name.
        """
        return asdict(self)
