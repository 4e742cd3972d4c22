"""scikit-learn transformers that read one row at a time, as the features of a linear model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_selector
from sklearn.utils import get_tags
from sklearn.utils.fixes import parse_version

from skdp.data.column import Column, as_float, is_missing
from skdp.data.columns import Columns
from skdp.support.other_libraries import public_words
from skdp.support.types import MatrixLike

_DROPS_EMPTY_COLUMNS = parse_version(sklearn.__version__) >= parse_version("1.8")

BOUNDS = "BoundsScaler scales by public bounds, "
KERNEL_MAP = "RandomFourierFeatures is a kernel map by public numbers"


@dataclass(frozen=True)
class Condition:
    """A condition on a parameter of a transformer."""

    parameter: str  # *public*
    holds: Callable[[BaseEstimator], bool]  # whether an estimator meets the condition
    advice: str  # *public*; what leaks otherwise, and what to do instead
    kind: str = "learns"  # of a `Leak`
    severity: str = "high"


def only(name: str, *allowed: object, why: str, **more: str) -> Condition:
    """Return the condition that a parameter equals a simple value, in value and type."""

    def holds(estimator: BaseEstimator) -> bool:
        value = getattr(estimator, name)
        return any(value is one or (type(value) is type(one) and value == one) for one in allowed)

    return Condition(name, holds, f"{why}: pass {name}={allowed[0]!r}", **more)


def _never(name: str, *forbidden: object, why: str, **more: str) -> Condition:
    found = only(name, *forbidden, why=why)
    return Condition(name, lambda estimator: not found.holds(estimator), why, **more)


def _given(name: str, why: str) -> Condition:
    """Return the condition that a parameter holds values, not None or the name of a rule."""
    return Condition(name, lambda e: not isinstance(getattr(e, name), str | None), why)


def _present(name: str, why: str) -> Condition:
    """Return the condition that a parameter is not NaN or NA; None stands for a default."""

    def holds(estimator: BaseEstimator) -> bool:
        value = getattr(estimator, name)
        return value is None or not is_missing(value)

    return Condition(name, holds, f"a model rejects {why}", kind="errors")


ROW_WISE = {"Binarizer", "FeatureHasher", "HashingVectorizer"}
ROW_WISE |= {"Normalizer", "PolynomialCountSketch", "PolynomialFeatures"}
"""Each output row is a function of one input row and of public numbers, whatever the parameters."""

_CATEGORIES = (
    _given(
        "categories",
        "the categories would be learned: pass categories=, a list of public values per column, "
        "here or to a model of skdp that takes them",
    ),
    only("min_frequency", None, why="min_frequency counts values in the data"),
    only("max_categories", None, why="max_categories counts values in the data"),
)
_UNKNOWN = "the error for an unknown category quotes a value of the data"
_VOCABULARY = _given(
    "vocabulary",
    "the vocabulary would be learned: pass a public vocabulary=, or use HashingVectorizer",
)
_NO_IDF = only("use_idf", False, why="the frequencies of words would be learned")
_COMPONENT_COUNT = _never(
    "n_components",
    "auto",
    why="the number of components depends on the number of rows: pass a number",
    severity="medium",
)
_NO_SMALL_VALUES = Condition(
    "",
    lambda _: False,
    "the error for values that are too small reveals that they occur: use RandomFourierFeatures, "
    "which accepts all values",
    kind="errors",
)

CONDITIONS: dict[str, tuple[Condition, ...]] = {
    "AdditiveChi2Sampler": (replace(_NO_SMALL_VALUES, parameter="sample_steps"),),
    "CountVectorizer": (_VOCABULARY,),
    "GaussianRandomProjection": (_COMPONENT_COUNT,),
    "MissingIndicator": (
        only("features", "all", why="the columns with missing values would be learned"),
    ),
    "OneHotEncoder": (
        *_CATEGORIES,
        _never(
            "handle_unknown",
            "error",
            "warn",
            why=f"{_UNKNOWN}, and a warning reveals that it occurs: pass handle_unknown='ignore'",
            kind="errors",
        ),
    ),
    "OrdinalEncoder": (
        *_CATEGORIES,
        only("handle_unknown", "use_encoded_value", why=_UNKNOWN, kind="errors"),
        _present(
            "unknown_value",
            "the missing value that stands for an unknown category, which reveals that it occurs: "
            "pass unknown_value=-1",
        ),
    ),
    "RBFSampler": (
        _never(
            "gamma",
            "scale",
            why=f"the variance would be learned: pass a number as gamma; {KERNEL_MAP}",
        ),
    ),
    "SimpleImputer": (
        _present(
            "fill_value",
            "the missing value that replaces `missing_values`, which reveals that it occurs: pass "
            "a number as fill_value",
        ),
        only(
            "strategy",
            "constant",
            why="the fill values would be learned, while BoundsScaler(missing=) takes public ones",
        ),
        only(
            "add_indicator",
            False,
            why="the columns with missing values would be learned, while "
            "MissingIndicator(features='all') indicates all columns",
        ),
        Condition(
            "keep_empty_features",
            lambda e: e.keep_empty_features or not _DROPS_EMPTY_COLUMNS,
            "an empty column would be dropped, which reveals it: pass keep_empty_features=True",
        ),
    ),
    "SkewedChi2Sampler": (replace(_NO_SMALL_VALUES, parameter="skewedness"),),
    "SparseRandomProjection": (_COMPONENT_COUNT,),
    "SplineTransformer": (
        _given(
            "knots",
            "knots would be learned: pass an array of knots, or use AdditiveFeatures with public "
            "bounds",
        ),
        _never(
            "extrapolation",
            "error",
            why="the error reveals whether a value lies beyond the knots: pass "
            "extrapolation='constant'",
            kind="errors",
        ),
    ),
    "StandardScaler": (
        Condition(
            "with_mean",
            lambda e: not (e.with_mean or e.with_std),
            "means and variances would be learned: BoundsScaler scales by public bounds, "
            "DPStandardScaler by private moments",
        ),
    ),
    "TfidfTransformer": (_NO_IDF,),
    "TfidfVectorizer": (_VOCABULARY, _NO_IDF),
}
"""Transformers that learn nothing if all of these hold."""


def _may_be_sparse(columns: BaseEstimator) -> bool:
    """Return whether a part may be sparse, so that the layout of all could depend on the values."""
    todo, found = [part for _, part, _ in columns.transformers], False
    for part in todo:  # which grows by the parts of compositions
        nested = getattr(part, "steps", None) or getattr(part, "transformer_list", None) or []
        todo += [step[1] for step in nested]
        found |= getattr(part, "sparse_output", type(part).__name__ in _SPARSE.split())
    return found


_SPARSE = (
    "CountVectorizer DictVectorizer FeatureHasher HashingVectorizer KBinsDiscretizer "
    "MissingIndicator RandomTreesEmbedding SparseRandomProjection TfidfTransformer "
    "TfidfVectorizer"
)


def _fixed_columns(columns: BaseEstimator) -> bool:
    """Return whether columns are chosen by names or a selector, and by no other callable."""
    chosen = [which for _, _, which in columns.transformers]
    return all(isinstance(which, make_column_selector) or not callable(which) for which in chosen)


NO_FILES = only(
    "memory",
    None,
    why="its files contain pickles of the transformed private rows, and a step with a budget never "
    "uses them",
    kind="files",
    severity="medium",
)

ROW_WISE_WRAPPERS: dict[str, tuple[Condition, ...]] = {
    "ColumnTransformer": (
        Condition(
            "transformers",
            _fixed_columns,
            "a function of the values may choose the columns: name them, or take "
            "make_column_selector",
        ),
        Condition(
            "sparse_threshold",
            lambda e: e.sparse_threshold in (0, 1) or not _may_be_sparse(e),
            "whether the output is sparse would depend on the values: sparse_threshold=0 or 1",
            severity="medium",
        ),
    ),
    "FeatureUnion": (),
    "Pipeline": (NO_FILES,),
}
"""Compositions of transformers, and what must hold beside what holds for these."""
_PARTS = ("steps", "transformer_list", "transformers", "remainder")


def check_row_wise(features: BaseEstimator) -> None:
    """Raise ValueError unless the features of a row follow from this row and public numbers."""
    for wrong in _refusals(features):
        raise ValueError(
            f"features cannot contain {wrong}. Use the feature maps of skdp.features, transformers "
            "of skdp and scikit-learn that learn nothing, or a Pipeline, ColumnTransformer or "
            "FeatureUnion of them."
        )


def _refusals(part: BaseEstimator) -> Iterator[str]:
    """Yield what is wrong with a transformer or, in a composition, with its parts."""
    name, home = type(part).__name__, type(part).__module__.split(".")[0]
    if part is None or isinstance(part, str):  # "passthrough" and "drop"
        return
    if isinstance(part, type):
        yield f"the class {part.__name__}, only an instance: {part.__name__}(...)"
    elif home == "sklearn" and name in ROW_WISE_WRAPPERS:
        yield from _broken(part, ROW_WISE_WRAPPERS[name])
        for parameter in _PARTS:
            yield from _of_parts(getattr(part, parameter, None))
    elif home == "sklearn" and name in CONDITIONS:
        yield from _broken(part, CONDITIONS[name])
    elif not (_is_stateless(part) if home == "skdp" else home == "sklearn" and name in ROW_WISE):
        yield f"{name}, which may learn from the data or read several rows at a time"


def _of_parts(parts: BaseEstimator | str | Sequence[tuple[Any, ...]]) -> Iterator[str]:
    """Yield what is wrong with a remainder, or with steps (name, transformer, …)."""
    if not isinstance(parts, (list, tuple)):
        yield from _refusals(parts)
        return
    for _, part, *columns in parts:
        yield from _refusals(part)
        selectors = [one for one in columns if isinstance(one, make_column_selector)]
        types = [kind for one in selectors for kind in (one.dtype_include, one.dtype_exclude)]
        if any(kind is not None for kind in types):
            yield "a selection of columns by type, because X is converted to objects"


def _broken(part: BaseEstimator, conditions: tuple[Condition, ...]) -> Iterator[str]:
    for one in conditions:
        if not one.holds(part):
            value = getattr(part, one.parameter)
            yield f"{type(part).__name__}({one.parameter}={value!r}): {one.advice}"


def _is_stateless(part: BaseEstimator) -> bool:
    """Return whether one of skdp's own transformers learns nothing; each of these is row-wise."""
    return isinstance(part, BaseEstimator) and not get_tags(part).requires_fit


_LARGEST_VALUE = 1e100  # as of X itself


@dataclass(frozen=True, eq=False)
class RowWiseMap:
    """A transformer that was fitted to made-up rows, because it learns nothing from rows.

    Its input is a table of objects: numbers as floats, NaN for missing values, and all other values
    unchanged. So its output does not depend on the types of columns, which other rows can change.
    """

    transformer: BaseEstimator  # *public*; fitted, and admitted by `check_row_wise`
    names: Sequence[Hashable]  # *public*; empty if columns have none
    none: MatrixLike  # *public* features of no rows, which transformers reject

    @property
    def n_features_out(self) -> int:
        """*Public.* Number of features."""
        return int(self.none.shape[1])

    def get_feature_names_out(self) -> np.ndarray:
        """Return the names of the features, if the transformer names them."""
        return self.transformer.get_feature_names_out()

    @classmethod
    def of(
        cls, transformer: BaseEstimator, table: MatrixLike, names: Sequence[Hashable]
    ) -> RowWiseMap:
        """Return the map for tables with these names and kinds of columns."""
        check_row_wise(transformer)
        columns = Columns.of(table, "X")
        n_rows = 3 if columns.n_columns == 2 else 2  # not one for each column, nor a single one
        for unknown in ("", 0.0):  # for an object column with missing values only
            row = [_made_up(part, unknown) for part in columns.parts]
            rows = _frame(np.array([row] * n_rows, dtype=object), names)
            try:
                with warnings.catch_warnings(action="ignore"):
                    fitted = clone(transformer).fit(rows)
                    found = _one_a_row(fitted.transform(rows), n_rows)
                return cls(fitted, names, _matrix(found)[:0])
            except (TypeError, ValueError, AttributeError) as error:
                reason = str(error)
        raise ValueError(f"features cannot be fitted to columns such as those of X: {reason}")

    def features(self, X: MatrixLike) -> MatrixLike:
        """Return the features of a table, one row for each of its rows: *private*."""
        columns = Columns.of(X, "X")
        if not len(columns):
            return self.none
        rows = np.stack([_objects(part) for part in columns.parts], axis=1)
        # A warning could reveal values, as an error could.
        with public_words(), warnings.catch_warnings(action="ignore"):
            found = self.transformer.transform(_frame(rows, self.names))
        is_whole = ~np.logical_or.reduce([part.missing() for part in columns.parts])
        return _finite(_matrix(_one_a_row(found, len(columns))), is_whole)


def _one_a_row(found: MatrixLike, n_rows: int) -> MatrixLike:
    """Return features, after a check of their number: a text vectorizer iterates over columns."""
    if found.shape[0] != n_rows:
        raise ValueError(
            "features must return one row for each row of X. To transform a column of strings, "
            "give its name to a ColumnTransformer."
        )
    return found


def _matrix(features: MatrixLike) -> MatrixLike:
    if sparse.issparse(features):
        return sparse.csr_matrix(features, dtype=np.float64)
    return np.asarray(features, dtype=np.float64)


def _finite(features: MatrixLike, is_whole: np.ndarray) -> MatrixLike:
    """Return features clipped to ±1e100, with 0 for NaN computed from values that are not missing.

    An error for these would reveal, without cost, whether a chosen value occurs.
    """
    values = features.data if sparse.issparse(features) else features
    rows = np.repeat(is_whole, np.diff(features.indptr)) if values is not features else is_whole
    is_made = np.isnan(values) & rows.reshape(-1, *[1] * (values.ndim - 1))
    values = np.clip(np.where(is_made, 0.0, values), -_LARGEST_VALUE, _LARGEST_VALUE)
    if values.ndim == 2:
        return values
    return sparse.csr_matrix((values, features.indices, features.indptr), shape=features.shape)


def _made_up(part: Column, unknown: str | float) -> str | float:
    """Return a value of the kind that a column holds."""
    if part.kind in "biuf":
        return 0.0
    if part.holds_text():
        return ""
    return 0.0 if part.types() else unknown


def _objects(part: Column) -> np.ndarray:
    """Return the values of a column as objects that do not depend on its type."""
    return np.fromiter(map(_object, part.values()), object, len(part))


def _object(value: object) -> object:
    """Return a number as a float and a time as one of Python, to the microsecond."""
    if is_missing(value):
        return np.nan
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return value.astype(f"{value.dtype.kind}8[us]").item()
    # A category of 0 may also stand for −0.0: pandas keeps the first that it finds.
    return as_float(value) + 0.0 if isinstance(value, Real) else value


def _frame(rows: np.ndarray, names: Sequence[Hashable]) -> MatrixLike:
    if not names:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=list(names), dtype=object)
