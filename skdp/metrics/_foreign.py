"""Estimators of anybody on private rows: what they say of them is not passed on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _num_samples

from skdp.support.public_words import unheard

__all__ = ["answer_of"]


def answer_of(function: Callable[[Any], Any], X: Any, of_none: np.ndarray) -> Any:
    """Return the result of a method of an estimator for *private* rows; errors do not quote them.

    `of_none` is the result for no rows, because most estimators raise an error for no rows.
    """
    try:
        with unheard():
            return function(X) if _num_samples(X) else of_none
    except NotFittedError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise ValueError(
        f"estimator fails on these rows with {kind}. Its message is withheld, as it may quote "
        "them: try public rows of the same columns and types."
    )
