"""Accountants: the cost of releases, and calibration of mechanisms to a cost."""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.accounting.accounted import AccountedCurve as AccountedCurve
    from skdp.accounting.advanced import AdvancedAccountant as AdvancedAccountant
    from skdp.accounting.base import Accountant as Accountant
    from skdp.accounting.base import UnpricedEventError as UnpricedEventError
    from skdp.accounting.basic import BasicAccountant as BasicAccountant
    from skdp.accounting.calibration import calibrate as calibrate
    from skdp.accounting.calibration import gdp_mu as gdp_mu
    from skdp.accounting.covering import covering_mu as covering_mu
    from skdp.accounting.gdp import GDPAccountant as GDPAccountant
    from skdp.accounting.pld.accountant import PLDAccountant as PLDAccountant
    from skdp.accounting.rdp import RDPAccountant as RDPAccountant
    from skdp.accounting.registry import ACCOUNTANTS as ACCOUNTANTS
    from skdp.accounting.row_count import rows_needed as rows_needed
    from skdp.accounting.sampling import sampled_gdp_mu as sampled_gdp_mu
    from skdp.accounting.sampling import sampled_pure_epsilon as sampled_pure_epsilon
    from skdp.accounting.zcdp import ZCDPAccountant as ZCDPAccountant
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.accounting.accounted": ["AccountedCurve"],
            "skdp.accounting.advanced": ["AdvancedAccountant"],
            "skdp.accounting.base": ["Accountant", "UnpricedEventError"],
            "skdp.accounting.basic": ["BasicAccountant"],
            "skdp.accounting.calibration": ["calibrate", "gdp_mu"],
            "skdp.accounting.covering": ["covering_mu"],
            "skdp.accounting.gdp": ["GDPAccountant"],
            "skdp.accounting.pld.accountant": ["PLDAccountant"],
            "skdp.accounting.rdp": ["RDPAccountant"],
            "skdp.accounting.registry": ["ACCOUNTANTS"],
            "skdp.accounting.row_count": ["rows_needed"],
            "skdp.accounting.sampling": ["sampled_gdp_mu", "sampled_pure_epsilon"],
            "skdp.accounting.zcdp": ["ZCDPAccountant"],
        },
    )
