"""The address of a ledger on a server, and the secrets that it was given with."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

__all__ = ["clean_address", "is_address", "parameters_of"]

_URI = re.compile(
    r"(postgres(?:ql)?://)"
    r"(?:(?P<user>[^:@/?#]*)(?::(?P<password>[^@/?#]*))?@)?"
    r"(?P<hosts>(?:(?:\[[^\]@/?#]*\]|[^:@/?#,\[\]]*)(?::\d*)?(?:,|(?=[/?]|$)))*)"
    r"(?P<path>/[^@?#]*)?(?:\?(?P<query>[^@#]*))?"
)
_SIMILAR = re.compile(r"\s*[\w+.-]{2,}(:[\w+.-]+)*:/|(.*\s)?\w*password\s*=", re.I | re.S)
_LEDGER = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
_DEFAULT_LEDGER = "skdp"
_SECRET = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
_FORM = (
    "The address of a ledger is postgresql://user@host:port/database?ledger=name, with any other "
    "parameters of libpq; in a user, password or value, what is not a letter or digit is written "
    "by percent, such as %40 for @. Leave the password to ~/.pgpass, PGPASSWORD or a service file."
)
_secrets: dict[str, dict[str, str]] = {}


def is_address(path: Any) -> bool:
    """Return whether a path is the address of a ledger on a server.

    What is near to one is neither: as a file it would stand in messages, with its password.
    """
    if isinstance(path, str) and path.startswith(("postgresql://", "postgres://")):
        return True
    if _SIMILAR.match(str(path)):
        raise ValueError(_FORM)
    return False


def clean_address(text: str) -> str:
    """Return an address without its secrets, which stay in the memory of this process alone."""
    if (found := _URI.fullmatch(text)) is None:
        raise ValueError(_FORM)
    pairs = _pairs(found["query"])
    secrets = {"password": unquote(found["password"])} if found["password"] else {}
    secrets |= {name: value for name, value, _ in pairs if name in _SECRET}
    address = _joined(found, [raw for name, _, raw in pairs if name not in _SECRET])
    parameters_of(address)
    if secrets:
        _secrets[address] = secrets
    return address


def parameters_of(address: str) -> tuple[dict[str, Any], str]:
    """Return the parameters of a connection, with the secrets known here, and the ledger's name."""
    found = _URI.fullmatch(address)
    assert found is not None
    pairs = _pairs(found["query"])
    ledger = {name: value for name, value, _ in pairs}.get("ledger", _DEFAULT_LEDGER)
    if not _LEDGER.fullmatch(ledger):
        raise ValueError("A ledger's name is of at most 63 letters a to z, digits and _.")
    uri = _joined(found, [raw for name, _, raw in pairs if name != "ledger"])
    return _read(uri) | _secrets.get(address, {}), ledger


def _read(uri: str) -> dict[str, Any]:
    """Return what libpq reads; its own message may quote what it cannot read, so it goes."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        return dict(conninfo_to_dict(uri))
    except ProgrammingError:
        pass
    raise ValueError(_FORM)


def _pairs(query: str | None) -> list[tuple[str, str, str]]:
    """Return (name, value, as it was written) of each parameter."""
    raws = query.split("&") if query else []
    split = [(*raw.partition("=")[::2], raw) for raw in raws]
    return [(unquote(name), unquote(value), raw) for name, value, raw in split]


def _joined(found: re.Match[str], query: list[str]) -> str:
    user = "" if found["user"] is None else f"{found['user']}@"
    end = f"?{'&'.join(query)}" if query else ""
    return f"{found[1]}{user}{found['hosts']}{found['path'] or ''}{end}"
