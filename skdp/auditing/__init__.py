"""Audits of the privacy claims of estimators, by attacks."""

from skdp.auditing.attacks import Attack
from skdp.auditing.audits import MultiRunAudit, OneRunAudit
from skdp.auditing.check_private import CHECKS, CheckResults, check_private

__all__ = [
    "CHECKS",
    "Attack",
    "CheckResults",
    "MultiRunAudit",
    "OneRunAudit",
    "check_private",
]
