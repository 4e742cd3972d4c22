"""Migration of a ledger of an older format: its entries and their hashes stay."""

from __future__ import annotations

from functools import partial
from itertools import zip_longest

from skdp.exceptions import BudgetClosedError
from skdp.ledger.costs import Rules
from skdp.ledger.storage import Storage
from skdp.ledger.tables import FORMAT, Tables, check_format
from skdp.ledger.verification import Verification

__all__ = ["migrate"]

_CLOSE = 1e-12  # relative: formats 1 and 2 added up other digits behind those that are printed


def migrate(
    storage: Storage,
    terms: dict[str, object],
    rules: Rules,
    skipped: frozenset[int] = frozenset(),
) -> None:
    """Bring a ledger to this format; entries in `skipped` need not be readable.

    The entries are added up before the lock is taken, so spenders do not wait for that.
    """
    while (number := storage.read(lambda tables: tables.format())) != FORMAT:
        if number not in range(1, FORMAT):
            check_format(storage.address, number)
        if number == 1:
            storage.write(_as_second)
            continue
        storage.read(lambda tables: tables.check_owner())
        known = Verification(terms, rules.measures, set(skipped))
        storage.read(partial(_add_up, known))
        storage.write(partial(_widen, known, terms, rules))


def _as_second(tables: Tables) -> None:
    if tables.format() == 1:
        tables.chain_columns()


def _add_up(known: Verification, tables: Tables) -> None:
    tables.check_pages()
    known.follow(tables, "releases")
    if not known.skipped:
        _compare(known, tables)


def _compare(known: Verification, tables: Tables) -> None:
    """Raise BudgetClosedError unless the stored sums are those of the entries, nearly."""
    stored = tables.all_totals()
    for name in {*stored, *known.totals}:
        ours, theirs = (dict(sums[name].scopes) if name in sums else {} for sums in
                        (known.totals, stored))  # fmt: skip
        if ours.keys() != theirs.keys() or not all(
            _is_close(a, b)
            for scope in ours
            for a, b in zip_longest(ours[scope], theirs[scope], fillvalue=-1.0)
        ):
            raise BudgetClosedError(
                f"The ledger {tables.address} cannot be used: its running totals are not the sums "
                "of its rows, so it was edited by another program."
            )


def _is_close(first: object, second: object) -> bool:
    a, b = float(first), float(second)  # type: ignore[arg-type]
    return a == b or abs(a - b) <= _CLOSE * max(abs(a), abs(b))


def _widen(known: Verification, terms: dict[str, object], rules: Rules, tables: Tables) -> None:
    if tables.format() != FORMAT - 1:
        return  # another process was faster
    known.follow(tables, "releases")
    shares = tables.accounts()
    tables.widen(rules.measures)
    tables.fill(known.totals, known.groups)
    with tables.damage("its shares"):
        limits = rules.limits_of(shares)
    budget = ("", terms["epsilon"], terms["delta"])
    for account in (budget, *shares):
        tables.add_account(tables.look(), account, limits[account[0]])  # type: ignore[arg-type]
