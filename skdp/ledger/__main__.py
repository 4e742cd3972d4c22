"""Commands for whoever looks after a ledger: verify, show, export and adopt it."""

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

_DONE, _DAMAGED, _USAGE, _UNREACHABLE, _COPY, _FORMAT = range(6)
_EPILOG = """
PATH is a file, or an address such as postgresql://user@host/database?ledger=name.
No command makes a ledger.

exit codes:
  0  done; for verify: every entry, sum and share agrees
  1  the ledger is damaged, was edited, or does not extend the known head
  2  the command line is wrong, or the output exists
  3  the ledger cannot be reached: no such ledger, no permission, no connection, locked too long
  4  it is a copy that was not adopted
  5  its format is newer than this version of skdp
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
    (r"has format \d+", _FORMAT),
)


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    options = _parser().parse_args(words)
    try:
        if is_address(options.path):  # messages must not show its secrets
            options.path = clean_address(options.path)
        found: dict[str, Any] = options.command(options)
    except (ValueError, BudgetClosedError) as error:
        codes = [code for words, code in _CODES if re.search(words, str(error))]
        code = _USAGE if isinstance(error, ValueError) else [*codes, _DAMAGED][0]
        message = {"path": str(options.path), "error": str(error), "exit": code}
        text = json.dumps(message) if options.json else f"skdp.ledger: {error}"
        print(text, file=sys.stderr)
        return code
    if found:
        lines = (f"{name}: {value}" for name, value in found.items())
        print(json.dumps(found) if options.json else "\n".join(lines))
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


def _opened(options: argparse.Namespace, **more: Any) -> PrivacyBudget:
    return PrivacyBudget.open(options.path, timeout=options.timeout, **more)


def _verify(options: argparse.Namespace) -> dict[str, Any]:
    budget = _opened(options, at_least=options.at_least)
    return {"path": options.path, "whole": True, "head": budget.verify()}


def _show(options: argparse.Namespace) -> dict[str, Any]:
    budget = _opened(options)
    shown: dict[str, Any] = {"path": options.path, "head": budget.head}
    if not options.json:
        return shown | {"report": budget.report()}
    relation = {name: str(getattr(budget, name)) for name in ("composition", "neighboring", "unit")}
    return shown | {
        "terms": {"epsilon": budget.epsilon, "delta": budget.delta} | relation,
        "spent": budget.spent._asdict(),
        "remaining": budget.remaining._asdict(),
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


if __name__ == "__main__":
    sys.exit(main())
