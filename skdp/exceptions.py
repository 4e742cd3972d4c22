"""Errors and warnings that callers may want to catch."""

__all__ = [
    "BudgetClosedError",
    "BudgetExceededError",
    "IncompatibleSolverError",
    "UncertifiedSamplerWarning",
]


class BudgetExceededError(RuntimeError):
    """A release costs more than its budget has left."""


class BudgetClosedError(RuntimeError):
    """The ledger of a budget can no longer be written."""


class IncompatibleSolverError(ValueError):
    """A solver, sampler and loss do not fit together; the message names what is missing."""


class UncertifiedSamplerWarning(UserWarning):
    """A release is drawn by a sampler for which no finite privacy guarantee is proved."""
