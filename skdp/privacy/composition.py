"""Composition rules of budgets, by name."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Composition"]


class Composition(StrEnum):
    """The quantity that a budget adds up.

    ``gdp``: squares of Gaussian-DP parameters. ``basic``: ε and δ. ``zcdp``: ρ of
    zero-concentrated DP. ``rdp``: Rényi divergences. ``pure``: ε; every δ is 0.
    """

    GDP = "gdp"
    BASIC = "basic"
    ZCDP = "zcdp"
    RDP = "rdp"
    PURE = "pure"

    @property
    def adds_epsilon(self) -> bool:
        """Whether the ε of releases add up, whatever their noise."""
        return self in (Composition.BASIC, Composition.PURE)

    @property
    def counts_gaussians(self) -> bool:
        """Whether the rule is exact for Gaussian noise, and charges more for other noise."""
        return not self.adds_epsilon

    def __repr__(self) -> str:
        return repr(str(self))

    @classmethod
    def _missing_(cls, value: object) -> Composition:
        raise ValueError(f"composition must be one of {[str(one) for one in cls]}, got {value!r}.")
