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
    """A release costs more than its budget has left.

    Examples
    --------
    >>> from skdp import PrivacyBudget
    >>> from skdp.exceptions import BudgetExceededError
    >>> from skdp.statistics import count
    >>> budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    >>> smokes = [True, False] * 500
    >>> found = count(smokes, epsilon=0.8, budget=budget)
    >>> try:
    ...     count(smokes, epsilon=0.8, budget=budget)
    ... except BudgetExceededError as error:
    ...     print(str(error).partition(", but")[0])
    statistics.count costs epsilon=0.8 at delta=1e-05
    """


class BudgetClosedError(RuntimeError):
    """The ledger of a budget can no longer be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skdp import PrivacyBudget
    >>> from skdp.exceptions import BudgetClosedError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "study.db"
    ...     _ = path.write_text("this file is no ledger")
    ...     try:
    ...         PrivacyBudget(epsilon=1.0, delta=1e-5, path=path)
    ...     except BudgetClosedError as error:
    ...         print(str(error).replace(folder, "folder"))
    The ledger folder/study.db cannot be used: file is not a database.
    """


class IncompatibleSolverError(ValueError):
    """A solver, sampler and loss do not fit together; the message names what is missing.

    Examples
    --------
    >>> from skdp import DPHuberRegressor
    >>> from skdp.exceptions import IncompatibleSolverError
    >>> model = DPHuberRegressor(target_bounds=(0, 1), solver="adassp")
    >>> try:
    ...     model.fit([[0.0], [1.0]] * 500, [0.0, 1.0] * 500)
    ... except IncompatibleSolverError as error:
    ...     print(str(error).partition(",")[0])
    solver='adassp' needs a SquaredLoss
    """


class InvalidDataError(ValueError):
    """A parameter or the data of a fit are wrong; for estimators outside of skdp.

    `fit` replaces errors of other libraries, because they may quote private values. It shows this
    one as it is, so its message must contain public facts only.

    Examples
    --------
    >>> from skdp.exceptions import InvalidDataError
    >>> def check_alpha(alpha):
    ...     if not alpha > 0:
    ...         raise InvalidDataError(f"alpha must be positive, got {alpha!r}.")
    >>> check_alpha(-1.0)
    Traceback (most recent call last):
        ...
    skdp.exceptions.InvalidDataError: alpha must be positive, got -1.0.
    """


class OutOfRangeError(ValueError):
    """A public number is outside of the allowed range, or of the range of an algorithm.

    Examples
    --------
    >>> from skdp.mechanisms import Geometric
    >>> Geometric.calibrate(1e-300, 0.0, 1)
    Traceback (most recent call last):
        ...
    skdp.exceptions.OutOfRangeError: epsilon must be a number in (1e-50, 1e+50), got 1e-300.
    """


class PrivacyLeakError(ValueError):
    """A pipeline would learn from data, or reveal them, without spending from a budget.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skdp import DPLogisticRegression
    >>> from skdp.exceptions import PrivacyLeakError
    >>> from skdp.pipeline import check_pipeline
    >>> try:
    ...     check_pipeline(make_pipeline(StandardScaler(), DPLogisticRegression()), strict=True)
    ... except PrivacyLeakError as error:
    ...     print(str(error).partition(": means")[0])
    [high] standardscaler: StandardScaler(with_mean=...) learns
    """


class UncertifiedNoiseError(RuntimeError):
    """Numerically optimized noise did not pass its check in exact arithmetic.

    Examples
    --------
    >>> from skdp.exceptions import UncertifiedNoiseError
    >>> from skdp.mechanisms import OptimizedNoise
    >>> try:
    ...     OptimizedNoise(16.0, 1e-9, cells=3).event
    ... except UncertifiedNoiseError as error:
    ...     print(str(error).partition(",")[0])
    The linear program did not reach delta=1e-09 in 60 rounds
    """


class UncertifiedSamplerWarning(UserWarning):
    """A sampler is used for which no privacy guarantee of a finite run is proved.

    Examples
    --------
    >>> import warnings
    >>> from skdp import DPLogisticRegression
    >>> from skdp.samplers.base import Certificate
    >>> from skdp.samplers.proximal import ProximalSampler
    >>> class UnprovedSampler(ProximalSampler):
    ...     certifies = Certificate.ASYMPTOTIC
    >>> model = DPLogisticRegression(sampler=UnprovedSampler())
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = model.fit([[0.0], [1.0]] * 500, [0, 1] * 500)
    >>> print(str(caught[0].message).partition(",")[0])
    UnprovedSampler converges to its target
    >>> model.privacy_.epsilon(1e-5)
    inf
    """


class FewRowsWarning(UserWarning):
    """So few rows, for this ε and δ, that the noise of a fit outweighs them.

    Examples
    --------
    >>> import warnings
    >>> from skdp import DPLogisticRegression
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = DPLogisticRegression(epsilon=0.1).fit([[0.0], [1.0]] * 10, [0, 1] * 10)
    >>> print(str(caught[0].message).partition(":")[0])
    20 rows are few for epsilon=0.1 and delta=1e-05
    """


class WeakPrivacyWarning(UserWarning):
    """An ε or δ so large that the guarantee protects records little.

    Examples
    --------
    >>> import warnings
    >>> from skdp.statistics import count
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found = count([True] * 1000, epsilon=50.0)
    >>> print(str(caught[0].message).partition(":")[0])
    epsilon=50 protects records little
    """
