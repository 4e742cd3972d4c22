"""Commands for whoever looks after a ledger: verify, show, export, adopt and migrate it."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from skdp.budget import PrivacyBudget
from skdp.exceptions import BudgetClosedError
from skdp.ledger.server.address import clean_address, is_address

__all__ = ["main"]

_DONE, _DAMAGED, _USAGE, _UNREACHABLE, _COPY, _FORMAT = range(6)
_EPILOG = """
PATH is a file, or an address such as postgresql://user@host/database?ledger=name.
No command makes a ledger. Opening one of an older format migrates it (on a server: its owner).

exit codes:
  0  done; for verify: every entry, sum and share agrees
  1  the ledger is damaged, was edited, or does not extend the known head
  2  the command line is wrong, or the output exists
  3  the ledger cannot be reached: no such ledger, no permission, no connection, locked too long
  4  it is a copy that was not adopted
  5  its format is newer than this version of skdp, or only its owner may migrate it
"""
# The first pattern that the message of an error contains. All other errors are damage: a wrong
# alarm is better than none.
_CODES = (
    (r"is a copy|\badopt\b", _COPY),
    (
        r"There is no ledger|does not exist|of another program|ermission denied|read-?only|connect|"
        r"unable to open|does not answer|locked|lock timeout|too many|password|No space|is full",
        _UNREACHABLE,
    ),
    (r"has format \d+|has an older format", _FORMAT),
)


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    options = _parser().parse_args(words)
    try:
        options.path = _place(options.path)
        found: dict[str, Any] = options.command(options)
    except ValueError as error:
        return _failed(options, error, _USAGE)
    except BudgetClosedError as error:
        return _failed(options, error, _code_of(error))
    if found:
        print(json.dumps(found) if options.json else _as_lines(found))
    return _DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m skdp.ledger",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    verify = _add(commands, "verify", _verify, "check every entry, hash, sum and share")
    _add(commands, "show", _show, "print the terms, what is spent and left, and the head")
    export = _add(commands, "export", _export, "write the ledger as JSON")
    adopt = _add(commands, "adopt", _adopt, "make a copied file or a restored dump the ledger")
    _add(commands, "migrate", _migrate, "rewrite an older format; otherwise change nothing")
    verify.add_argument("--at-least", metavar="HEAD", help="a head that the ledger must extend")
    export.add_argument("--output", metavar="FILE", help="a new file, instead of the terminal")
    adopt.add_argument("--reason", required=True, help="written into the ledger and its report")
    return parser


def _add(
    commands: Any, name: str, command: Callable[[argparse.Namespace], dict[str, Any]], text: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", metavar="PATH")
    parser.add_argument("--json", action="store_true", help="print JSON, errors too")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS",
                        help="for a lock and for a server (default: 60)")  # fmt: skip
    parser.set_defaults(command=command)
    return parser


def _place(path: str) -> str:
    """Return a path, or an address without its secrets, which messages must not show."""
    return clean_address(path) if is_address(path) else path


def _opened(options: argparse.Namespace, **more: Any) -> PrivacyBudget:
    return PrivacyBudget.open(options.path, timeout=options.timeout, **more)


def _verify(options: argparse.Namespace) -> dict[str, Any]:
    budget = _opened(options, at_least=options.at_least)
    return {"path": options.path, "whole": True, "head": budget.verify()}


def _show(options: argparse.Namespace) -> dict[str, Any]:
    budget = _opened(options)
    report = budget.report()
    return {"path": options.path, "head": budget.head} | (
        {"report": report} if not options.json else _facts(budget)
    )


def _facts(budget: PrivacyBudget) -> dict[str, Any]:
    """Return the terms, the sums and the shares of a ledger."""
    spent, left = budget.spent, budget.remaining
    return {
        "terms": {
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "composition": str(budget.composition),
            "neighboring": str(budget.neighboring),
            "unit": str(budget.unit),
        },
        "spent": {"epsilon": spent.epsilon, "delta": spent.delta},
        "remaining": {"epsilon": left.epsilon, "delta": left.delta},
        "entries": budget.entries(),
    }


def _export(options: argparse.Namespace) -> dict[str, Any]:
    text = _opened(options).to_json()
    if options.output is None:
        print(text)
        return {}
    try:
        with open(Path(options.output), "x") as file:
            file.write(text)
    except OSError as error:
        raise ValueError(f"{options.output} cannot be written: {error}.") from error
    return {"path": options.path, "output": options.output}


def _adopt(options: argparse.Namespace) -> dict[str, Any]:
    budget = PrivacyBudget.adopt(options.path, reason=options.reason)
    return {"path": options.path, "adopted": True, "head": budget.head}


def _migrate(options: argparse.Namespace) -> dict[str, Any]:
    return {"path": options.path, "migrated": True, "head": _opened(options).head}


def _code_of(error: BudgetClosedError) -> int:
    text = str(error)
    return next((code for words, code in _CODES if re.search(words, text)), _DAMAGED)


def _failed(options: argparse.Namespace, error: Exception, code: int) -> int:
    message = {"path": str(options.path), "error": str(error), "exit": code}
    print(json.dumps(message) if options.json else f"skdp.ledger: {error}", file=sys.stderr)
    return code


def _as_lines(found: dict[str, Any]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in found.items())


if __name__ == "__main__":
    sys.exit(main())
