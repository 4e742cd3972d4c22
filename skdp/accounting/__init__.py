"""Accountants: the cost of releases, and calibration of mechanisms to a cost."""

from skdp.accounting.accounted import AccountedCurve
from skdp.accounting.advanced import AdvancedAccountant
from skdp.accounting.base import Accountant, UnpricedEventError
from skdp.accounting.basic import BasicAccountant
from skdp.accounting.calibration import calibrate, gdp_mu
from skdp.accounting.covering import covering_mu
from skdp.accounting.gdp import GDPAccountant
from skdp.accounting.pld import PLDAccountant
from skdp.accounting.rdp import RDPAccountant
from skdp.accounting.registry import ACCOUNTANTS
from skdp.accounting.rows_needed import rows_needed
from skdp.accounting.sampling import sampled_gdp_mu, sampled_pure_epsilon
from skdp.accounting.zcdp import ZCDPAccountant

__all__ = [
    "ACCOUNTANTS",
    "Accountant",
    "AccountedCurve",
    "AdvancedAccountant",
    "BasicAccountant",
    "GDPAccountant",
    "PLDAccountant",
    "RDPAccountant",
    "UnpricedEventError",
    "ZCDPAccountant",
    "calibrate",
    "covering_mu",
    "gdp_mu",
    "rows_needed",
    "sampled_gdp_mu",
    "sampled_pure_epsilon",
]
