"""Which sequences of releases a budget admits, the next one chosen after seeing the last."""

from skdp.budget.filters.base import Amount, Filter
from skdp.budget.filters.basic import BasicFilter, PureFilter
from skdp.budget.filters.gaussian import GaussianFilter
from skdp.budget.filters.renyi import RenyiFilter
from skdp.budget.filters.zcdp import ZCDPFilter

__all__ = [
    "FILTERS",
    "Amount",
    "BasicFilter",
    "Filter",
    "GaussianFilter",
    "PureFilter",
    "RenyiFilter",
    "ZCDPFilter",
]

FILTERS: dict[str, type[Filter]] = {
    "gdp": GaussianFilter,
    "basic": BasicFilter,
    "zcdp": ZCDPFilter,
    "rdp": RenyiFilter,
    "pure": PureFilter,
}
"""The compositions by name."""
