"""Errors and warnings that callers may want to catch."""

__all__ = [
    "BudgetClosedError",
    "BudgetExceededError",
    "IncompatibleSolverError",
    "OutOfRangeError",
    "PrivacyLeakError",
    "UncertifiedNoiseError",
    "UncertifiedSamplerWarning",
]


class BudgetExceededError(RuntimeError):
    """A release costs more than its budget has left."""


class BudgetClosedError(RuntimeError):
    """The ledger of a budget can no longer be written."""


class IncompatibleSolverError(ValueError):
    """A solver, sampler and loss do not fit together; the message names what is missing."""


class OutOfRangeError(ValueError):
    """A public number lies outside of the range that is allowed, or that an algorithm serves."""


class PrivacyLeakError(ValueError):
    """A pipeline would learn from data, or show them, without paying for it."""


class UncertifiedNoiseError(RuntimeError):
    """Noise that was found numerically did not pass its check by exact arithmetic."""


class UncertifiedSamplerWarning(UserWarning):
    """A release is drawn by a sampler for which no finite privacy guarantee is proved."""
