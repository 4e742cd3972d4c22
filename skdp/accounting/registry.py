"""The registry of accountants."""

from __future__ import annotations

from skdp.accounting.base import Accountant
from skdp.support.registry import Registry

__all__ = ["ACCOUNTANTS"]

ACCOUNTANTS: Registry[Accountant] = Registry(
    {
        "basic": "skdp.accounting.basic:BasicAccountant",
        "advanced": "skdp.accounting.advanced:AdvancedAccountant",
        "zcdp": "skdp.accounting.zcdp:ZCDPAccountant",
        "rdp": "skdp.accounting.rdp:RDPAccountant",
        "gdp": "skdp.accounting.gdp:GDPAccountant",
        "pld": "skdp.accounting.pld.accountant:PLDAccountant",
    }
)
"""Every accountant by name."""
