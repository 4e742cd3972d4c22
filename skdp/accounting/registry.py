"""The registry of accountants."""

from __future__ import annotations

from skdp.accounting.advanced import AdvancedAccountant
from skdp.accounting.base import Accountant
from skdp.accounting.basic import BasicAccountant
from skdp.accounting.gdp import GDPAccountant
from skdp.accounting.pld import PLDAccountant
from skdp.accounting.rdp import RDPAccountant
from skdp.accounting.zcdp import ZCDPAccountant

__all__ = ["ACCOUNTANTS"]

ACCOUNTANTS: dict[str, type[Accountant]] = {
    "basic": BasicAccountant,
    "advanced": AdvancedAccountant,
    "zcdp": ZCDPAccountant,
    "rdp": RDPAccountant,
    "gdp": GDPAccountant,
    "pld": PLDAccountant,
}
"""Every accountant by name."""
