"""The costs of a release: some of its fields, as exact decimals."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol

from skdp.ledger.fractions import Amounts, decimal
from skdp.ledger.release import Release

__all__ = ["FREE", "Account", "Rules", "costs_in", "costs_of", "printed_costs"]

Account = tuple[str, float, float]
"""The name of a share, its ε and its δ."""
_SQUARE = "square "


class Rules(Protocol):
    """How a ledger adds up: what a release costs, and the limits of its accounts."""

    @property
    def measures(self) -> tuple[str, ...]:
        """The fields that add up: ``"slack"``, ``"square gdp_mu"``, ``"renyi.0"``.

        The last two are ε and δ.
        """

    def limits_of(self, shares: Sequence[Account]) -> dict[str, Amounts]:
        """Return the limits of the budget, under "", and of each share."""

    def for_orders(self, orders: str) -> Rules:
        """Return the rules with the Rényi orders of a ledger."""


class _Free:
    """Rules under which nothing costs anything."""

    measures: tuple[str, ...] = ()

    def limits_of(self, shares: Sequence[Account]) -> dict[str, Amounts]:
        return {name: () for name, _, _ in [("", 1.0, 0.0), *shares]}

    def for_orders(self, orders: str) -> Rules:
        return self


FREE = _Free()


def costs_of(
    measures: tuple[str, ...],
    fields: Mapping[str, Any],
    exact: Callable[[Any], Any] = decimal,
) -> Amounts:
    """Return the costs by the fields of a release; a missing field costs ``inf``.

    A cost is the printed decimal number, or its square, so every storage computes the same. The
    printed number may be below the float by a relative 2^-53. The limits have margins for that.
    """
    return tuple(_cost(measure, fields, exact) for measure in measures)


def costs_in(measures: tuple[str, ...], content: str) -> tuple[Decimal, ...]:
    """Return the costs by the text of a release: of all its digits, as a server adds them up.

    The caller sets a context in which products of decimals are exact.
    """
    fields = json.loads(content, parse_float=Decimal, parse_int=Decimal)
    return costs_of(measures, fields, _as_decimal)  # type: ignore[return-value]


def printed_costs(measures: tuple[str, ...], release: Release) -> tuple[Decimal, ...]:
    """Return the same by the printed numbers of a release."""
    return costs_of(measures, vars(release), _as_decimal)  # type: ignore[return-value]


def _as_decimal(value: Any) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(repr(float(value)))


def _cost(measure: str, fields: Mapping[str, Any], exact: Callable[[Any], Any]) -> Any:
    name, _, index = measure.removeprefix(_SQUARE).partition(".")
    value = fields.get(name, math.inf)
    if index:
        value = value[int(index)] if int(index) < len(value) else math.inf
    number = exact(math.inf if value == "inf" else value)
    return number * number if measure.startswith(_SQUARE) else number
