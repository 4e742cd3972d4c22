"""Audits of the privacy claims of estimators, by attacks."""

from skdp.auditing.attacks import Attack
from skdp.auditing.check_private import (
    CheckResult,
    CheckResults,
    PrivateCheck,
    check_private,
    private_checks,
)
from skdp.auditing.multi_run import MultiRunAudit
from skdp.auditing.one_run import OneRunAudit
from skdp.auditing.samples import samples

__all__ = [
    "Attack",
    "CheckResult",
    "CheckResults",
    "MultiRunAudit",
    "OneRunAudit",
    "PrivateCheck",
    "check_private",
    "private_checks",
    "samples",
]
