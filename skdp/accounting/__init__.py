"""Accountants: the cost of releases, and calibration of mechanisms to a cost."""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.accounting.advanced import AdvancedAccountant as AdvancedAccountant
    from skdp.accounting.advanced import BasicAccountant as BasicAccountant
    from skdp.accounting.base import ACCOUNTANTS as ACCOUNTANTS
    from skdp.accounting.base import Accountant as Accountant
    from skdp.accounting.base import UnpricedEventError as UnpricedEventError
    from skdp.accounting.calibration import calibrate as calibrate
    from skdp.accounting.calibration import rows_needed as rows_needed
    from skdp.accounting.concentrated import GDPAccountant as GDPAccountant
    from skdp.accounting.concentrated import RDPAccountant as RDPAccountant
    from skdp.accounting.concentrated import ZCDPAccountant as ZCDPAccountant
    from skdp.accounting.pld import PLDAccountant as PLDAccountant
    from skdp.privacy.gaussian import gdp_mu as gdp_mu
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.accounting.base": ["Accountant", "UnpricedEventError", "ACCOUNTANTS"],
            "skdp.accounting.advanced": ["AdvancedAccountant", "BasicAccountant"],
            "skdp.accounting.calibration": ["calibrate", "rows_needed"],
            "skdp.accounting.pld": ["PLDAccountant"],
            "skdp.accounting.concentrated": ["GDPAccountant", "RDPAccountant", "ZCDPAccountant"],
            "skdp.privacy.gaussian": ["gdp_mu"],
        },
    )
