"""Errors and warnings that callers may want to catch."""

__all__ = [
    "BudgetClosedError",
    "BudgetExceededError",
    "IncompatibleSolverError",
]


class BudgetExceededError(RuntimeError):
    """A release costs more than its budget has left; nothing was read or spent."""


class BudgetClosedError(RuntimeError):
    """The ledger of a budget can no longer be written; nothing was read or spent."""


class IncompatibleSolverError(ValueError):
    """A solver, sampler and loss do not fit together; the message names what is missing."""
