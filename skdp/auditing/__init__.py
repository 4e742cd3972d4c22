"""Audits of the privacy claims of estimators, by attacks."""

from skdp.auditing.attacks import Attack, samples
from skdp.auditing.audits import MultiRunAudit, OneRunAudit
from skdp.auditing.check_private import CheckResults, check_private, private_checks

__all__ = [
    "Attack",
    "CheckResults",
    "MultiRunAudit",
    "OneRunAudit",
    "check_private",
    "private_checks",
    "samples",
]
