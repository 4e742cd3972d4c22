"""Scikit-learn's checks of data, with errors that quote no private value."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_array, check_X_y, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, validate_data

from skdp.data.blocks import empty_rows
from skdp.data.column import (
    Column,
    as_compared,
    equal_numbers,
    is_collection,
    typed,
    untyped,
    where_missing,
)
from skdp.data.column_facts import ColumnBounds, categories_by_column
from skdp.data.columns import (
    Columns,
    check_frame,
    column_name,
    frame_names,
    is_apart,
    is_frame,
    refuse_lazy,
    values_of,
)
from skdp.data.encoding import Encoding
from skdp.data.schema import TableSchema, encoding_of, schemas_in
from skdp.support.types import MatrixLike, VectorLike

_RULES = {
    "y": "the same label or number whatever the data are, such as an extra public class or the "
    "midpoint of target_bounds",
    "sample_weight": "the same weight whatever the data are, such as 0, which ignores the record",
}
_UNEQUAL = (
    "Found input variables with inconsistent numbers of samples: X and y must have equally many."
)
_SQUARABLE = 1e150
_CODED_AT_ONCE = 1 << 16  # labels; the arrays of a look-up are as large as the labels
_UNSORTED = "y and classes must hold labels of one type that can be sorted."
_KINDS = {"b": "booleans", **dict.fromkeys("iuf", "numbers"), **dict.fromkeys("US", "strings")}
_OF_DASK = (
    "{} cannot read data outside of memory. Private linear and additive models, "
    "naive Bayes, statistics, scalers, DPPCA and DPKMeans can, if X and y are lazy and epsilon is "
    "finite. Otherwise call .compute() or .to_table() if the data fit into memory."
)
_RULE_OF_COLUMNS = (
    "the same constant for a column whatever the data are, as BoundsScaler(missing=...) does for "
    "numbers, and features=AdditiveFeatures(bounds=..., categories=...) of a linear model also for "
    "strings"
)


def present(name: str, values: MatrixLike) -> np.ndarray:
    """Return a column or a table as an array; raise ValueError if a value is missing."""
    read = values_of(values, name)
    if read.array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers.")
    if read.missing().any():
        raise ValueError(_missing(name))
    return equal_numbers(read.array)


def one_column(y: VectorLike) -> np.ndarray:
    """Return targets without a second axis. With one, NumPy would compare all pairs of rows."""
    y = present("y", y)
    return y if y.ndim == 1 else column_or_1d(y, warn=True)


def target_numbers(y: MatrixLike, *, several: bool) -> np.ndarray:
    """Return targets as finite floats: of shape (n,), or (n, k) if there may be `several`."""
    columns = Columns.of(y, "y")
    for j, part in enumerate(columns.parts):
        part.check_numeric("y" if columns.n_columns == 1 else f"{columns.name(j)} of y")
    numbers = columns.matrix(float)
    check_no_missing("y", numbers)
    if not np.isfinite(numbers).all():
        raise ValueError("y must be finite, but it contains an infinity.")
    if several:
        return numbers
    return one_column(numbers[:, 0] if columns.single else numbers)


def labels_in_block(y: VectorLike, known: VectorLike) -> np.ndarray:
    """Return the sorted labels of some rows, for `labels_of`, after checks."""
    y = column_or_1d(present("y", y))
    _check_labels(y, known)
    try:
        return np.unique(y)
    except TypeError:
        raise ValueError(_UNSORTED) from None


def _check_labels(y: np.ndarray, known: VectorLike) -> None:
    """Raise ValueError unless labels are discrete; known classes are the stronger check."""
    if known is None:
        if y.dtype.kind == "S":
            raise ValueError("y contains bytes. Decode them to strings, as y.astype(str) does.")
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)


def codes_in_block(y: VectorLike, classes: np.ndarray) -> np.ndarray:
    """Return labels, all of which are in `classes`, as 0..K−1."""
    return places_of(column_or_1d(values_of(y).array), classes)


def places_of(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the positions of labels among sorted classes, −1 for labels that equal none."""
    classes, labels = as_compared(classes, labels)
    places = np.minimum(np.searchsorted(classes, labels), classes.size - 1)
    return np.where(classes[places] == labels, places, -1)


def classes_of(name: str, y: np.ndarray, known: VectorLike) -> np.ndarray:
    """Return the public classes, those found in `y` if none are `known`."""
    _check_labels(y, known)
    return classes_among(name, y, known)


def classes_among(name: str, y: np.ndarray, known: VectorLike) -> np.ndarray:
    """Return the public classes, after a check that all of these labels are in them."""
    starts = range(0, len(y), _CODED_AT_ONCE)
    try:
        classes = np.unique(y if known is None else np.asarray(known))
        places = [places_of(y[start : start + _CODED_AT_ONCE], classes).min() for start in starts]
    except TypeError:
        raise ValueError(_UNSORTED) from None
    if classes.size < 2:
        raise ValueError(f"{name} needs at least two classes, got one class.")
    if min(places, default=0) < 0:
        raise _outside("y", y, classes)
    return classes


def check_inside(name: str, labels: np.ndarray, classes: np.ndarray) -> None:
    """Raise ValueError if a label equals no class."""
    found, known = as_compared(labels, classes)
    if not np.isin(found, known).all():
        raise _outside(name, labels, classes)


def _outside(name: str, labels: VectorLike, classes: np.ndarray) -> ValueError:
    """Return the error for labels outside the classes; it shows no label."""
    held, known = (_KINDS.get(np.asarray(one).dtype.kind) for one in (labels, classes))
    advice = ""
    if held and known and held != known:
        advice = f" {name} contains {held}, but classes contains {known}."
    if (held, known) == ("numbers", "strings"):
        advice += " Inside VotingClassifier and StackingClassifier pass classes=[0, 1]."
    return ValueError(f"{name} has labels outside classes={classes.tolist()}.{advice}")


def validated(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: VectorLike = "no_validation",
    *,
    finite: bool = True,
    reads_values: bool = True,
    most: float = math.inf,
    advice: str = "",
    **options: Any,
) -> MatrixLike:
    """Return X, and y if it is given, as scikit-learn's `validate_data` does.

    The errors neither quote values nor advise to impute or to drop rows. `finite` requires
    finite floats, up to `most` in size. Otherwise a value may be missing, and `options` say
    what X becomes. Without `reads_values` the caller has to `refuse_missing`. `advice` is added to
    the error for strings.
    """
    refuse_collections(estimator, X, y)
    check_frame("X", X)
    X, y = typed(X), y if y is None or isinstance(y, str) else present("y", y)
    options = _rules_of_rows(estimator) | ({"dtype": np.float64} if finite else {}) | options
    if isinstance(X, np.ndarray) and options.get("dtype", "numeric") is not None:
        X = _plain(X, "OmM", advice)
    try:
        if is_apart(X) and not options.get("skip_check_array"):
            checked = _validated_apart(estimator, X, y, advice, **options)
        else:
            checked = validate_data(estimator, X, y, **options)
    except (TypeError, ValueError) as error:
        raise _without_values(error, X, y, finite, advice) from None
    if finite and reads_values:
        matrix = checked[0] if isinstance(checked, tuple) else checked
        refuse_missing(matrix, frame_names(X), most)
    return checked


def refuse_collections(estimator: BaseEstimator, *data: object) -> None:
    """Raise ValueError for rows outside of memory, which this estimator cannot read."""
    if any(map(is_collection, data)):
        raise ValueError(_OF_DASK.format(type(estimator).__name__))


def _validated_apart(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: VectorLike,
    advice: str,
    *,
    reset: bool = True,
    **options: Any,
) -> MatrixLike:
    """Check a frame as `validate_data` does, but convert its columns one by one."""
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    columns, dtype = Columns.of(X, "X"), options.get("dtype")
    texts = [columns.name(j) for j, part in enumerate(columns.parts) if part.holds_text()]
    if texts:
        raise ValueError(f"X must be numeric, but the columns {texts} contain strings.{advice}")
    columns.check_numeric()
    matrix = columns.matrix(None if isinstance(dtype, str) else dtype)
    return check_array(matrix, **options) if isinstance(y, str) else check_X_y(matrix, y, **options)


def _check_names(estimator: BaseEstimator, X: MatrixLike, y: VectorLike, *, reset: bool) -> None:
    """Check names as scikit-learn does; later frames may lack columns that schemas leave out."""
    refuse_collections(estimator, X)
    columns = [
        (name, one)
        for schema in schemas_in([estimator])
        for title, one in schema.columns.items()
        for name in (title, *one.aliases)
    ]
    out = {name for name, _ in columns} - {name for name, one in columns if not one.is_left_out}
    both = frame_names(X), column_names(estimator)
    given, fitted = ([name for name in names if name not in out] for names in both)
    if reset or not (out and given and given == fitted):
        validated(estimator, X, y, finite=False, skip_check_array=True, reset=reset)


def validated_table(
    estimator: BaseEstimator, X: MatrixLike, y: VectorLike = "no_validation", *, reset: bool = True
) -> MatrixLike:
    """Return X, a frame as it is or an array of any type, and y if it is given."""
    check_frame("X", X)
    X = untyped(X)
    if not is_frame(X):
        checked = validated(estimator, X, y, finite=False, dtype=None, reset=reset)
        _keep_or_compare(estimator, X, reset=reset)
        return checked
    _check_names(estimator, X, y, reset=reset)
    _keep_or_compare(estimator, X, reset=reset)
    if len(X) < _fewest_rows(estimator):
        raise ValueError("X must have at least one row.")
    if isinstance(y, str):
        return X
    y = column_or_1d(present("y", y), warn=True)
    check_lengths(X, y)
    return X, y


def _keep_or_compare(estimator: BaseEstimator, X: MatrixLike, *, reset: bool) -> None:
    """Keep the types of codes and categories, or raise ValueError if columns have other types now.

    Names that are not strings are kept too, because scikit-learn drops them.

    Types of columns are public. "01" and 1 are different codes, so another type would change all of
    them. Types of single values are private, and predictions for private rows may be computed in
    another thread or much later. So a column of objects may hold values of any type.
    """
    fitted = column_names(estimator)  # places change if a column that is left out is absent
    names = frame_names(X) if reset else fitted and (frame_names(X) or fitted)
    known = _families(estimator, X, names)
    parts = Columns.of(X, "X").parts if known else []
    types = {column_name(names, j): parts[j].family for j in known}
    if reset:
        is_lost = is_frame(X) and not hasattr(estimator, "feature_names_in_")
        kept = {"_column_types": types, "_column_names": names if is_lost else []}
        for attribute, value in kept.items():
            vars(estimator).pop(attribute, None)
            if value:
                setattr(estimator, attribute, value)
    before = getattr(estimator, "_column_types", {})
    for (name, family), allowed in zip(types.items(), known.values(), strict=True):
        now, then = {family} - {"objects"}, {before.get(name, family)} - {"objects"} or allowed
        if before.get(name, family) != family and now and not now & then:
            raise ValueError(
                f"column {name!r} contains {' and '.join(now)}, but it "
                f"had {' or '.join(then)} in fit. Convert it to the type that it had."
            )


def _families(
    estimator: BaseEstimator, X: MatrixLike, names: list[Hashable]
) -> dict[int, set[str]]:
    """Return the columns whose values are compared with strings or categories, and their types."""
    features, found = getattr(estimator, "features", None), dict[int, set[str]]()
    inner = features.get_params().values() if isinstance(features, BaseEstimator) else ()
    for owner in (estimator, *(one for one in (features, *inner) if hasattr(one, "bounds"))):
        found |= _families_of(owner, X, names)  # not encoders of scikit-learn
    return found


def _families_of(owner: object, X: MatrixLike, names: list[Hashable]) -> dict[int, set[str]]:
    """A schema reads numbers, dates and booleans from strings, and categories of numbers too."""
    public, known = (getattr(owner, name, None) for name in ("bounds", "categories"))
    if not isinstance(public, TableSchema):
        public = known
    if public is None:
        return {}
    columns = replace(Columns.of(X, "X"), names=names)
    if not isinstance(public, TableSchema):
        values = categories_by_column(public, columns.n_columns, columns.names)
        return {j: Column(one).families() for j, one in values.items()}
    texts = [
        name
        for name, one in public.matched(columns.labels).columns.items()
        if one.kind in ("category", "ordinal", "code")
        and {*map(type, one.categories or ())} <= {str}
    ]
    return {j: {"strings"} for j, name in enumerate(columns.labels) if name in texts}


def _rules_of_rows(estimator: BaseEstimator) -> dict[str, Any]:
    """Return options that switch off scikit-learn's checks of missing values and of no rows."""
    return {"ensure_all_finite": False, "ensure_min_samples": _fewest_rows(estimator)}


def _fewest_rows(estimator: BaseEstimator) -> int:
    """Return 0 if the number of rows is private, because an error for no rows would reveal it."""
    return int(is_count_public(estimator) or estimator.epsilon == math.inf)


def is_count_public(estimator: BaseEstimator) -> bool:
    """Return whether the neighboring relation of an estimator publishes the number of records."""
    return bool(getattr(estimator, "neighboring", None) != "add_remove_one")


def check_lengths(X: MatrixLike, y: VectorLike) -> None:
    """Raise ValueError, without the private numbers, unless X and y have equally many rows."""
    refuse_lazy(X=X, y=y)
    if _num_samples(X) != _num_samples(y):
        raise ValueError(_UNEQUAL)


def validated_weights(sample_weight: VectorLike, n_samples: int) -> np.ndarray:
    """Return the weights as finite numbers, one per row."""
    if is_collection(sample_weight):
        raise ValueError("sample_weight is outside of memory, but X is in memory.")
    given = present("sample_weight", sample_weight)
    try:
        if given.dtype.kind in "mM":
            raise TypeError("NumPy converts dates and durations")
        weights = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("sample_weight must hold numbers that a float can hold.") from None
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError("sample_weight must hold one weight for each row of X, or be one number.")
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight must hold finite numbers.")
    return weights


def column_names(estimator: BaseEstimator) -> list[Hashable]:
    """Return the names of the columns in `fit`, also if they are not strings; empty for none."""
    return list(getattr(estimator, "feature_names_in_", getattr(estimator, "_column_names", ())))


def encoding_for(estimator: BaseEstimator) -> Encoding | None:
    """Return the encoding of an estimator's columns, None if it has no schema."""
    columns = estimator.n_features_in_, column_names(estimator)
    bounds, categories = (getattr(estimator, name, None) for name in ("bounds", "categories"))
    if not hasattr(estimator, "categories"):
        return encoding_of(bounds, *columns, only_numbers=True)
    if not hasattr(estimator, "bounds"):
        return encoding_of(categories, *columns, texts=False)
    return encoding_of(bounds, *columns, {"categories": categories}, texts=False)


def encoded(estimator: BaseEstimator, X: MatrixLike) -> MatrixLike:
    """Return checked rows as the estimator's schema encodes them; all rows if it has none."""
    encoding = encoding_for(estimator)
    return X if encoding is None else encoding.table(X)


def model_columns(estimator: BaseEstimator) -> tuple[int, list[Hashable]]:
    """Return the number of columns that the model sees, and their names if they have names."""
    encoding = encoding_for(estimator)
    if encoding is None:
        return estimator.n_features_in_, column_names(estimator)
    return encoding.n_columns, encoding.encoded_names


def bounds_of_columns(estimator: BaseEstimator) -> ColumnBounds:
    """Return the bounds of the columns that the model sees."""
    encoding = encoding_for(estimator)
    bounds = estimator.bounds if encoding is None else encoding.bounds
    columns = model_columns(estimator)
    checked = ColumnBounds.of(bounds, *columns)
    return checked if encoding is None else checked.scaled(encoding.scales, columns[1])


def remember_columns(
    estimator: BaseEstimator, X: MatrixLike, y: VectorLike = "no_validation", *, reset: bool = True
) -> None:
    """Keep the number and names of the columns of a collection, or compare with them."""
    empty = empty_rows(X)
    _check_names(estimator, empty, y, reset=reset)
    _keep_or_compare(estimator, empty, reset=reset)


def validated_numbers(
    estimator: BaseEstimator,
    X: MatrixLike,
    *,
    reset: bool,
    dtype: type | Sequence[type] = np.float64,
    advice: str = "",
) -> MatrixLike:
    """Return X as floats, NaN for missing values, after scikit-learn's checks of its shape.

    `advice` is added to the error for strings.
    """
    check_frame("X", X)
    X = typed(X)
    has_schema = isinstance(getattr(estimator, "bounds", None), TableSchema)
    if not (is_frame(X) or has_schema):
        if reset:
            vars(estimator).pop("_column_names", None)
        X = _plain(X, advice=advice)
        return validated(estimator, X, finite=False, dtype=dtype, reset=reset)
    validated_table(estimator, X, reset=reset)
    columns = Columns.of(encoded(estimator, X) if has_schema else X, "X")
    columns.check_numeric(advice=advice)
    return check_array(columns.matrix(dtype), dtype=dtype, **_rules_of_rows(estimator))


def _plain(X: MatrixLike, kinds: str = "OUSmM", advice: str = "") -> MatrixLike:
    """Return an array of some kinds as floats, after checks; leave all else to scikit-learn.

    scikit-learn would convert NaT to the least integer.
    """
    if sparse.issparse(X) or X.dtype.kind not in kinds or X.ndim != 2 or not X.size:
        return X
    columns = Columns.of(X, "X")
    for j, part in enumerate(columns.parts):
        part.check_numeric(columns.name(j), advice=advice)
    return columns.matrix()


def refuse_missing(X: MatrixLike, names: Sequence[Hashable] = (), most: float = math.inf) -> None:
    """Raise ValueError, with the column only, if a value is missing, infinite or beyond `most`."""
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind != "f" or _sum_of_squares(values) <= min(most, _SQUARABLE) ** 2:
        return
    bad = ~np.isfinite(values)
    if bad.any():
        columns = X.indices[bad] if sparse.issparse(X) else np.nonzero(bad)[1]
        j = int(columns.min())
        column = f"column {column_name(names, j)!r}"
        check_no_missing(column, values[bad][columns == j])
        raise ValueError(f"{column} must be finite, but it contains an infinity.")
    if max(float(values.max()), -float(values.min())) > most:
        raise ValueError(f"X has a value beyond {most:g}, which counts as infinity.")


def _sum_of_squares(values: np.ndarray) -> float:
    """Return Σ x², nan or inf if any x is: the fastest read of all values."""
    with np.errstate(over="ignore", invalid="ignore"):
        if values.flags.forc:
            flat = values.ravel(order="K")  # a view
            return float(np.dot(flat, flat))
        return float(np.einsum("ij,ij->", values, values))


def check_no_missing(name: str, values: np.ndarray) -> None:
    """Raise ValueError if a value is NaN, None, NaT or pandas' NA, in an array of any type."""
    if where_missing(values).any():
        raise ValueError(_missing(name))


def _missing(name: str) -> str:
    return (
        f"{name} has missing values (NaN, None or NA). Fill them by a public rule: "
        f"{_RULES.get(name, _RULE_OF_COLUMNS)}. Values learned from the data, or rows left out, "
        "would leak."
    )


def _without_values(
    error: Exception, X: MatrixLike, y: VectorLike, finite: bool, advice: str
) -> Exception:
    """Return an error that describes the defect of X or y without values."""
    for name, values in (("X", X), ("y", y)):
        if values is None:  # scikit-learn's message says that it is required
            continue
        try:
            array = values if sparse.issparse(values) else values_of(values, name).array
        except ValueError:  # lists of unequal lengths
            continue
        if array.dtype.kind == "c":
            return ValueError(f"Complex data not supported: {name} must hold real numbers.")
        if name == "X" and array.ndim < 2:
            return ValueError(
                f"Expected 2D array, got {array.ndim}D array instead: X must have the shape "
                "(n_samples, n_features). Reshape your data, one row a record."
            )
        may_be_missing = name == "X" and not finite
        if not may_be_missing and not sparse.issparse(array) and where_missing(array).any():
            return ValueError(_missing(_column_of_missing(array, X) if name == "X" else name))
    if "inconsistent numbers of samples" in str(error):
        return ValueError(_UNEQUAL)
    if "inhomogeneous" in str(error):
        return ValueError("X must have rows of equal length.")
    if "should be a 1d array" in str(error):
        return ValueError("y should be a 1d array: one value for each row of X.")
    if isinstance(error, TypeError) or not str(error).startswith("could not convert"):
        return error
    return ValueError(f"X must be numeric, but it contains strings.{advice}")


def _column_of_missing(array: np.ndarray, X: MatrixLike) -> str:
    if array.ndim != 2:
        return "X"
    j = next(j for j, column in enumerate(array.T) if where_missing(column).any())
    return f"column {column_name(frame_names(X), j)!r}"
