"""Errors and warnings of other libraries about private columns, reduced to public facts."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from opcode import opmap

import numpy as np
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.utils._param_validation import InvalidParameterError

from skdp import exceptions

_OF_PARAMETERS = (InvalidParameterError, UnsetMetadataPassedError, OSError)  # not of data

# Messages of scikit-learn and NumPy that quote parameters, or types, names and numbers of columns.
_PUBLIC = re.compile(
    r"Parameter (grid|array|distribution) "
    r"|X has \d+ features, but \w+ is expecting \d+ features as input"
    r"|The feature names should match those that were passed"
    r"|Feature names are only supported if all input features have string names"
    r"|Found array with (dim \d|0 sample)"
    r"|Sparse data was passed"
    r"|Unknown label type: (continuous|unknown|multilabel|multiclass-multioutput)"
    r"|(This \w+ estimator )?requires y to be passed, but the target y is None"
    r"|Expected array-like \(array or non-string sequence\), got None"
    r"|float\(\) argument must be a string or a real number, not '\w+'"
    r"|int too large to convert to float|Input \w+ contains (NaN|infinity)"
    r"|This \w+ instance is not fitted yet"
    r"|Pipeline\.fit(_transform)? does not accept the \w+ parameter"
    r"|[\w.]+\(\) got an unexpected keyword argument '\w+'"
)
# Messages that end with values or the number of rows, and the part that is shown.
_SHORTENED = {
    re.compile(r"(Found array with 0 feature\(s\)) \(shape=\(\d+, 0\)\)(.*)", re.DOTALL): (
        r"\1 (shape=(, 0))\2"
    ),
    re.compile(r"(y should be a 1d array).*", re.DOTALL): r"\1: one value for each row of X.",
    re.compile(
        r"(Complex data not supported).*", re.DOTALL
    ): r"\1: columns must hold real numbers.",
}
_REPLACED = (
    "The data cannot be read. X must be a table with one row for each record, and any other column "
    "must have one value for each row, all of one type that can be compared. To see the original "
    "error, which may quote private values, call this with made-up data of the same types."
)


@contextmanager
def public_words() -> Iterator[None]:
    """Replace errors of other libraries about private columns, and silence warnings.

    Such an error may quote a value or the number of rows. Errors that skdp raises itself pass, and
    those of `skdp.exceptions` from any module. The warnings appear for some data and not for
    others. No error keeps the one that it replaces.
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # It appears if more than half of all labels differ, and so reveals the number of rows.
            warnings.filterwarnings("ignore", message="The number of unique classes is greater")
            # From NumPy, for numbers that are too large or too small.
            warnings.filterwarnings("ignore", category=RuntimeWarning)
            yield
    except Exception as error:
        shown = public_error(error)
        try:
            raise shown from None
        finally:
            shown.__context__ = None


def public_error(error: Exception) -> Exception:
    """Return the error if it is public, and otherwise one without values."""
    return error if _is_public(error) else _without_values(error)


def _without_values(error: Exception) -> Exception:
    if isinstance(error, MemoryError):  # NumPy's quotes the shape
        return MemoryError("There is not enough memory to read the data.")
    kind = TypeError if isinstance(error, TypeError) else ValueError
    for pattern, shown in _SHORTENED.items():
        if found := pattern.match(str(error)):
            return kind(found.expand(shown))
    return kind(_REPLACED)


def _is_public(error: Exception) -> bool:
    declared = any(kind.__module__ == exceptions.__name__ for kind in type(error).__mro__)
    if declared or isinstance(error, _OF_PARAMETERS) or _is_own(error):
        return True
    return _PUBLIC.match(str(error)) is not None


def _is_own(error: Exception) -> bool:
    """Return whether the error comes from a `raise` statement of this library.

    The last frame of an error of compiled code is its caller, so the frame alone does not tell.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or last.tb_frame.f_globals.get("__name__", "").partition(".")[0] != "skdp":
        return False
    return last.tb_frame.f_code.co_code[last.tb_lasti] == opmap["RAISE_VARARGS"]
