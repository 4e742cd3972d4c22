"""Errors and warnings that callers may want to catch."""

__all__ = [
    "BudgetClosedError",
    "BudgetExceededError",
    "FewRowsWarning",
    "IncompatibleSolverError",
    "InvalidDataError",
    "OutOfRangeError",
    "PrivacyLeakError",
    "UncertifiedNoiseError",
    "UncertifiedSamplerWarning",
    "WeakPrivacyWarning",
]


class BudgetExceededError(RuntimeError):
    """A release costs more than its budget has left."""


class BudgetClosedError(RuntimeError):
    """The ledger of a budget can no longer be written."""


class IncompatibleSolverError(ValueError):
    """A solver, sampler and loss do not fit together; the message names what is missing."""


class InvalidDataError(ValueError):
    """A parameter or the data of a fit are wrong; for estimators outside of skdp.

    `fit` replaces errors of other libraries, because they may quote private values. It shows this
    one as it is, so its message must contain public facts only.
    """


class OutOfRangeError(ValueError):
    """A public number is outside of the allowed range, or of the range of an algorithm."""


class PrivacyLeakError(ValueError):
    """A pipeline would learn from data, or reveal them, without spending from a budget."""


class UncertifiedNoiseError(RuntimeError):
    """Numerically optimized noise did not pass its check in exact arithmetic."""


class UncertifiedSamplerWarning(UserWarning):
    """A sampler is used for which no privacy guarantee of a finite run is proved."""


class FewRowsWarning(UserWarning):
    """So few rows, for this ε and δ, that the noise of a fit outweighs them."""


class WeakPrivacyWarning(UserWarning):
    """An ε or δ so large that the guarantee protects records little."""
