"""One row of a ledger, and its form in tables and exports."""

from __future__ import annotations

import json
import math
import os
import sys
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

from skdp.privacy import Neighboring
from skdp.support.validation import check_delta

__all__ = [
    "VERSION",
    "Release",
    "content_of",
    "finite",
    "first_content_of",
    "number",
    "release_from",
    "release_of",
]

VERSION: str = sys.modules["skdp"].__version__
"""Version of this library."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """The cost of one release, and its time. All of it is *public*.

    Parameters
    ----------
    label : str
        *Public.* Name of the release, such as the class of an estimator.
    epsilon : float
        *Public.* The release is (`epsilon`, `delta`)-DP; basic composition adds this pair.
    delta : float
        *Public.* The δ of this pair.
    gdp_mu : float
        *Public.* With `slack` and `tv` 0 the release is `gdp_mu`-Gaussian DP. Gaussian composition
        adds its square. ``inf`` if unknown.
    neighboring : str
        *Public.* The neighboring relation of all costs.
    event : dict
        *Public.* The event, for `skdp.privacy.event_from_dict`.
    time : str
        *Public.* UTC, ISO 8601. For information only: clocks may go backwards.
    process : int
        *Public.* Identifier of the process that spent.
    tag : str
        *Public.* A note of the caller.
    part : str or None
        *Public.* The partition that was read. ``None``: all.
    account : str
        *Public.* The share that it was spent from. "" is the budget itself.
    slack : float
        *Public.* The privacy curve lies below that of `gdp_mu` plus `slack`.
    tv : float
        *Public.* This holds for an output within this total variation of the released one.
    zcdp_rho : float
        *Public.* Cost under ``"zcdp"``, ``inf`` if the release is not zCDP.
    pure_epsilon : float
        *Public.* Cost under ``"pure"``, ``inf`` if the release is not pure DP.
    renyi : tuple of float
        *Public.* Costs under ``"rdp"``: Rényi divergences at its orders.
    theorem : str
        *Public.* The theorem that proves the event, with its source; "" in older ledgers.
    version : str
        *Public.* Version of skdp that made the release; "" in older ledgers.
    exact : bool
        *Public.* Whether the theorem holds for the numbers that a computer adds. False if this is
        not stated, as in older ledgers.
    role : str
        *Public.* Who made the entry, as a server knows: its ``session_user``. "" in a file.
    n : int or None
        *Public.* Number of records that were read: of rows, or of persons. Always None under
        ``add_remove_one``, where it is private.
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
    exact: bool = False
    role: str = ""
    n: int | None = None

    def __post_init__(self) -> None:
        check_delta(self.delta)
        numbers = (self.epsilon, self.gdp_mu, self.slack, self.tv, self.zcdp_rho)
        if not all(number >= 0.0 for number in (*numbers, self.pure_epsilon, *self.renyi)):
            raise ValueError(f"A cost is negative or not a number: {self!r}.")
        named = (self.label, self.tag, self.account, "" if self.part is None else self.part)
        texts = (*named, self.theorem, self.version, self.role)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"label, tag and part must be strings, got {texts}.")
        if not isinstance(self.exact, bool):
            raise ValueError(f"exact must be True or False, got {self.exact!r}.")
        if self.n is not None and (type(self.n) is not int or self.n < 0):
            raise ValueError(f"n must be the number of records or None, got {self.n!r}.")
        if self.n is not None and not Neighboring(self.neighboring).count_is_public:
            raise ValueError(f"n is private under {self.neighboring!r}. Leave it out.")

    def as_row(self) -> dict[str, Any]:
        """Return the release as a plain dictionary.

        Returns
        -------
        dict
            The fields by name.
        """
        return asdict(self)


_FIRST_FIELDS = {"label", "epsilon", "delta", "gdp_mu", "neighboring", "event"}
_SEALED = ("process", "tag", "role")  # of one entry; the other fields may be those of many
_AS_THEY_ARE = ("label", "neighboring", "event", "time", "part", "account", "theorem", "version",
                "exact", "n", *_SEALED)  # fmt: skip
_LATER = ("theorem", "version", "exact", "n")  # rows of older ledgers do not have these
_FIELDS = [field.name for field in fields(Release)]


def content_of(release: Release) -> str:
    """Return the content of a release as strict JSON in ASCII; equal for equal releases."""
    data = {k: v for k, v in _data_of(release).items() if k not in ("time", *_SEALED)}
    for name in ("exact", "n"):  # so that equal releases have equal contents, earlier ones too
        if data[name] in (False, None):
            del data[name]
    return json.dumps(data, allow_nan=False)


def first_content_of(data: dict[str, Any]) -> str:
    """Return the content of an entry without a seal, by an export of format 1 or 2."""
    data = {k: v for k, v in _data_of(release_of(data)).items() if v or k not in _LATER}
    return json.dumps({k: v for k, v in data.items() if k not in ("time", "role")}, allow_nan=False)


def release_from(content: str, more: dict[str, Any]) -> Release:
    """Read the result of `content_of`; `more` are other fields."""
    return release_of(json.loads(content) | more)


def _data_of(release: Release) -> dict[str, Any]:
    """Return the fields of a release; infinities are the string "inf"."""
    data = release.as_row().items()
    return {name: finite(v if name in _AS_THEY_ARE else _floats(v)) for name, v in data}


def release_of(data: dict[str, Any]) -> Release:
    """Make a release from fields as JSON has them; some may be missing."""
    if not _FIRST_FIELDS <= set(data) <= set(_FIELDS):
        raise ValueError(f"A release has wrong fields: {sorted(data)}.")
    given = {k: v if k in _AS_THEY_ARE else _numbers(v) for k, v in data.items()}
    if isinstance(n := given.get("n"), float) and n.is_integer():
        given["n"] = int(n)  # a server accepts 5e0
    return Release(**given)


def _floats(value: float | tuple[float, ...]) -> float | tuple[float, ...]:
    return tuple(map(float, value)) if isinstance(value, tuple) else float(value)


def _numbers(value: object) -> Any:
    return tuple(map(number, value)) if isinstance(value, list) else number(value)


def number(value: object) -> float:
    """Read a number that `finite` wrote."""
    if value == "inf":
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is not a number.")
    return float(value)


def finite(value: Any) -> Any:
    """Replace infinities in plain data by strings."""
    if isinstance(value, dict):
        return {name: finite(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(entry) for entry in value]
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
