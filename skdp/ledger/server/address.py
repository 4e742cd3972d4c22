"""The address of a ledger on a server, and its secrets."""

from __future__ import annotations

import re
from typing import Any, TypeGuard
from urllib.parse import unquote

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
    "parameters of libpq. In a user, password or value, percent-encode all but letters and digits, "
    "such as %40 for @. Leave the password to ~/.pgpass, PGPASSWORD or a service file."
)
_secrets: dict[str, dict[str, str]] = {}


def is_address(path: object) -> TypeGuard[str]:
    """Return whether a path is the address of a ledger on a server.

    A malformed address raises: as a file name, messages would show its password.
    """
    if isinstance(path, str) and path.startswith(("postgresql://", "postgres://")):
        return True
    if _SIMILAR.match(str(path)):
        raise ValueError(_FORM)
    return False


def clean_address(text: str) -> str:
    """Return an address without its secrets, which stay in the memory of this process."""
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
    """Return the parameters of a connection, with its secrets, and the name of the ledger."""
    found = _URI.fullmatch(address)
    assert found is not None
    pairs = _pairs(found["query"])
    ledger = {name: value for name, value, _ in pairs}.get("ledger", _DEFAULT_LEDGER)
    if not _LEDGER.fullmatch(ledger):
        raise ValueError("The name of a ledger has at most 63 letters a to z, digits and _.")
    uri = _joined(found, [raw for name, _, raw in pairs if name != "ledger"])
    return _read(uri) | _secrets.get(address, {}), ledger


def _read(uri: str) -> dict[str, Any]:
    """Parse a URI with libpq; its own message is dropped, because it may quote a secret."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        return dict(conninfo_to_dict(uri))
    except ProgrammingError:
        pass
    raise ValueError(_FORM)


def _pairs(query: str | None) -> list[tuple[str, str, str]]:
    """Return (name, value, raw text) of each parameter."""
    raws = query.split("&") if query else []
    split = [(*raw.partition("=")[::2], raw) for raw in raws]
    return [(unquote(name), unquote(value), raw) for name, value, raw in split]


def _joined(found: re.Match[str], query: list[str]) -> str:
    user = "" if found["user"] is None else f"{found['user']}@"
    end = f"?{'&'.join(query)}" if query else ""
    return f"{found[1]}{user}{found['hosts']}{found['path'] or ''}{end}"
