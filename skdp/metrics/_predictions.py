"""Predictions of any estimator for private rows, without its messages."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _num_samples

from skdp.support.types import MatrixLike


def predictions_of(
    function: Callable[[MatrixLike], ArrayLike], X: MatrixLike, of_none: np.ndarray
) -> ArrayLike:
    """Call a method of an estimator on *private* rows; errors do not quote them.

    `of_none` is the result for no rows, because most estimators raise an error for no rows.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            return function(X) if _num_samples(X) else of_none
    except NotFittedError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise ValueError(
        f"estimator raises {kind} on these rows. The message is withheld, because it may quote the "
        "rows. Try public rows with the same columns and types."
    )
