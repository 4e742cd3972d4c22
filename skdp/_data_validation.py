"""Checks of data, which scikit-learn's own checks are part of; no error quotes a private value."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

__all__ = ["check_no_missing", "encode_labels", "refuse_lazy", "validated_data"]


def encode_labels(name: str, y: np.ndarray, known: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the public classes, those found in `y` if none are `known`, and y as 0..K−1."""
    check_no_missing("y", y)
    if known is None:  # else comparison with them is the stronger check
        check_classification_targets(y)
    try:
        classes = np.unique(y if known is None else np.asarray(known))
        codes = np.minimum(np.searchsorted(classes, y), classes.size - 1)
        strangers = np.any(classes[codes] != y)
    except TypeError:
        raise ValueError("y and classes must hold labels of one type that can be sorted.") from None
    if classes.size < 2:
        raise ValueError(f"{name} needs at least two classes, got one class.")
    if strangers:
        raise ValueError(f"y has labels outside classes={classes.tolist()}.")
    return classes, codes


def validated_data(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """Return X as finite floats, and y if it is given, as scikit-learn's `validate_data` does.

    Its errors quote values and advise to impute or to drop rows; these do neither.
    """
    refuse_lazy("X", X)
    refuse_lazy("y", y)
    options = {"dtype": np.float64, "ensure_all_finite": False} | options
    try:
        checked = validate_data(estimator, X, y, **options)
    except (TypeError, ValueError) as error:
        raise _without_values(error, X, y) from None
    _check_finite("X", checked[0] if isinstance(checked, tuple) else checked)
    return checked


def check_no_missing(name: str, values: Any) -> None:
    """Raise ValueError if a value is NaN, None, NaT or pandas' NA, in an array of any type."""
    if _has_missing(np.asarray(values)):
        raise ValueError(_missing(name))


def _missing(name: str) -> str:
    return (
        f"{name} has missing values (NaN, None or NA). Fill them by a public rule: the same "
        "constant for a column whatever the data are, as BoundsScaler(missing=...) of "
        "skdp.preprocessing does. A filling that is learnt from the data, or rows that are left "
        "out, would reveal something about them."
    )


def _has_missing(array: np.ndarray) -> bool:
    if array.dtype.kind in "fc":
        return bool(np.isnan(array).any())
    if array.dtype.kind in "mM":
        return bool(np.isnat(array).any())
    return array.dtype.kind == "O" and any(_is_missing(value) for value in array.ravel())


def _is_missing(value: Any) -> bool:
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _check_finite(name: str, X: Any) -> None:
    values = X.data if sparse.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    if np.isnan(values).any():
        raise ValueError(_missing(name))
    if np.isinf(values).any():
        raise ValueError(f"{name} must hold finite numbers, and it has an infinity.")


def refuse_lazy(name: str, values: Any) -> None:
    """Raise ValueError for a frame that has not been computed."""
    if type(values).__name__ == "LazyFrame":
        raise ValueError(f"{name} is a LazyFrame, which has no values yet: call .collect() first.")


def _without_values(error: Exception, X: Any, y: Any) -> Exception:
    """Return an error that says what is wrong with X or y and quotes nothing of them."""
    for name, values in (("X", X), ("y", y)):
        if values is None:  # not given at all, of which scikit-learn's message speaks
            continue
        try:
            array = values if sparse.issparse(values) else np.asarray(values)
        except ValueError:  # lists of several lengths
            continue
        if array.dtype.kind == "c":
            return ValueError(f"Complex data not supported: {name} must hold real numbers.")
        if name == "X" and array.ndim < 2:
            return ValueError(
                f"Expected 2D array, got {array.ndim}D array instead: X must have the shape "
                "(n_samples, n_features). Reshape your data, one row a record."
            )
        if not sparse.issparse(array) and _has_missing(array):
            return ValueError(_missing(name))
    if isinstance(error, TypeError) or not str(error).startswith("could not convert"):
        return error
    return ValueError(f"X must hold numbers, and it has text{_columns_of_text(X)}.")


def _columns_of_text(X: Any) -> str:
    """Return where a frame holds text: names of columns are public."""
    names = [name for name in getattr(X, "columns", ()) if not _is_numeric(X[name])]
    return f" in the columns {names}" if names else ""


def _is_numeric(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True
