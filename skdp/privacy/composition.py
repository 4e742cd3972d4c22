"""The ways of a budget to add releases up, by name."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Composition"]


class Composition(StrEnum):
    """What a budget adds up; `skdp.budget.filters` has the rule of each.

    ``gdp``: squares of Gaussian-DP parameters. ``basic``: ε and δ. ``zcdp``: ρ of
    zero-concentrated DP. ``rdp``: Rényi divergences. ``pure``: ε, where every δ is 0.
    """

    GDP = "gdp"
    BASIC = "basic"
    ZCDP = "zcdp"
    RDP = "rdp"
    PURE = "pure"

    @property
    def adds_epsilon(self) -> bool:
        """Whether the ε of releases add up, whatever their noise is."""
        return self in (Composition.BASIC, Composition.PURE)

    @property
    def counts_gaussians(self) -> bool:
        """Whether Gaussian noise counts as what it costs, and other noise as more."""
        return not self.adds_epsilon

    def __repr__(self) -> str:
        return repr(str(self))

    @classmethod
    def _missing_(cls, value: object) -> Composition:
        raise ValueError(f"composition must be one of {[str(one) for one in cls]}, got {value!r}.")
