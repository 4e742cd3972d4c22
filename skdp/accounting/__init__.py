"""What a guarantee costs: from (ε, δ) to the parameters of mechanisms and back."""

from skdp.accounting.calibration import gdp_mu

__all__ = ["gdp_mu"]
