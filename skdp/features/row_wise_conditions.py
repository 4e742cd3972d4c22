"""Conditions under which a scikit-learn transformer reads one row at a time and learns nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sklearn
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_selector
from sklearn.utils import get_tags
from sklearn.utils.fixes import parse_version

from skdp.data.column import is_missing

__all__ = [
    "BOUNDS",
    "CONDITIONS",
    "KERNEL_MAP",
    "NO_FILES",
    "ROW_WISE",
    "ROW_WISE_WRAPPERS",
    "Condition",
    "check_row_wise",
    "is_one_of",
]

_DROPS_EMPTY_COLUMNS = parse_version(sklearn.__version__) >= parse_version("1.8")

BOUNDS = "BoundsScaler scales by public bounds, "
KERNEL_MAP = "RandomFourierFeatures is a kernel map by public numbers"


@dataclass(frozen=True)
class Condition:
    """A condition on a parameter of a transformer.

    Parameters
    ----------
    parameter : str
        *Public.*
    holds : callable
        Whether an estimator meets the condition.
    advice : str
        *Public.* What leaks otherwise, and what to do instead.
    kind, severity : str
        *Public.* See `Leak`.
    """

    parameter: str
    holds: Callable[[BaseEstimator], bool]
    advice: str
    kind: str = "learns"
    severity: str = "high"


def is_one_of(name: str, *allowed: object) -> Callable[[BaseEstimator], bool]:
    """Return whether a parameter equals one of these simple values, in value and type."""

    def holds(estimator: BaseEstimator) -> bool:
        value = getattr(estimator, name)
        return any(value is one or (type(value) is type(one) and value == one) for one in allowed)

    return holds


def _differs(name: str, *forbidden: object) -> Callable[[BaseEstimator], bool]:
    found = is_one_of(name, *forbidden)
    return lambda estimator: not found(estimator)


def _given(name: str) -> Callable[[BaseEstimator], bool]:
    """Return whether a parameter holds values, not None or the name of a way to find them."""
    return lambda estimator: (
        not (getattr(estimator, name) is None or isinstance(getattr(estimator, name), str))
    )


ROW_WISE = {
    "Binarizer",
    "FeatureHasher",
    "HashingVectorizer",
    "Normalizer",
    "PolynomialCountSketch",
    "PolynomialFeatures",
}
"""Each output row is a function of one input row and of public numbers, whatever the parameters."""

_CATEGORIES = Condition(
    "categories",
    _given("categories"),
    "the categories would be learned: pass categories=, a list of public values per column, here "
    "or to a model of skdp that takes them",
)
_NO_COUNTS = tuple(
    Condition(name, is_one_of(name, None), f"{name} counts values in the data: leave it at None")
    for name in ("min_frequency", "max_categories")
)
_VOCABULARY = Condition(
    "vocabulary",
    _given("vocabulary"),
    "the vocabulary would be learned: pass a public vocabulary=, or use HashingVectorizer",
)
_NO_IDF = Condition(
    "use_idf",
    is_one_of("use_idf", False),
    "the frequencies of words would be learned: pass use_idf=False",
)
_COMPONENT_COUNT = Condition(
    "n_components",
    _differs("n_components", "auto"),
    "the number of components depends on the number of rows: pass a number",
    severity="medium",
)


def _takes_no_less_than(parameter: str) -> Condition:
    return Condition(
        parameter,
        lambda estimator: False,
        "the error for values that are too small reveals that they occur: "
        "use RandomFourierFeatures, which accepts all values",
        kind="errors",
    )


def _is_present(name: str) -> Callable[[BaseEstimator], bool]:
    """Return whether a parameter is not NaN or NA; None stands for a default."""
    return lambda estimator: (
        getattr(estimator, name) is None or not is_missing(getattr(estimator, name))
    )


CONDITIONS: dict[str, tuple[Condition, ...]] = {
    "AdditiveChi2Sampler": (_takes_no_less_than("sample_steps"),),
    "CountVectorizer": (_VOCABULARY,),
    "GaussianRandomProjection": (_COMPONENT_COUNT,),
    "MissingIndicator": (
        Condition(
            "features",
            is_one_of("features", "all"),
            "the columns with missing values would be learned: pass features='all'",
        ),
    ),
    "OneHotEncoder": (
        _CATEGORIES,
        *_NO_COUNTS,
        Condition(
            "handle_unknown",
            _differs("handle_unknown", "error", "warn"),
            "the error for an unknown category quotes a value of the data, and a warning reveals "
            "that it occurs: pass handle_unknown='ignore'",
            kind="errors",
        ),
    ),
    "OrdinalEncoder": (
        _CATEGORIES,
        *_NO_COUNTS,
        Condition(
            "handle_unknown",
            is_one_of("handle_unknown", "use_encoded_value"),
            "the error for an unknown category quotes a value of the data: "
            "pass handle_unknown='use_encoded_value'",
            kind="errors",
        ),
        Condition(
            "unknown_value",
            _is_present("unknown_value"),
            "a model rejects the missing value that stands for an unknown category, which reveals "
            "that it occurs: pass unknown_value=-1",
            kind="errors",
        ),
    ),
    "RBFSampler": (
        Condition(
            "gamma",
            _differs("gamma", "scale"),
            f"the variance would be learned: pass a number as gamma; {KERNEL_MAP}",
        ),
    ),
    "SimpleImputer": (
        Condition(
            "fill_value",
            _is_present("fill_value"),
            "a model rejects the missing value that replaces `missing_values`, which reveals that "
            "it occurs: pass a number as fill_value",
            kind="errors",
        ),
        Condition(
            "strategy",
            is_one_of("strategy", "constant"),
            "the fill values would be learned: pass strategy='constant' and a public fill_value, "
            "or use BoundsScaler(missing=...)",
        ),
        Condition(
            "add_indicator",
            is_one_of("add_indicator", False),
            "the columns with missing values would be learned: use "
            "MissingIndicator(features='all')",
        ),
        Condition(
            "keep_empty_features",
            lambda e: e.keep_empty_features or not _DROPS_EMPTY_COLUMNS,
            "an empty column would be dropped, which reveals it: pass keep_empty_features=True",
        ),
    ),
    "SkewedChi2Sampler": (_takes_no_less_than("skewedness"),),
    "SparseRandomProjection": (_COMPONENT_COUNT,),
    "SplineTransformer": (
        Condition(
            "knots",
            _given("knots"),
            "knots would be learned: pass an array of knots, or use AdditiveFeatures with "
            "public bounds",
        ),
        Condition(
            "extrapolation",
            _differs("extrapolation", "error"),
            "the error reveals whether a value lies beyond the knots: pass "
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
    parts = [part for _, part, _ in columns.transformers if not isinstance(part, str)]
    return any(
        getattr(part, "sparse_output", type(part).__name__ in _SPARSE) for part in _leaves(parts)
    )


_SPARSE = {"CountVectorizer", "FeatureHasher", "HashingVectorizer", "KBinsDiscretizer"}
_SPARSE |= {"MissingIndicator", "RandomTreesEmbedding", "SparseRandomProjection"}
_SPARSE |= {"DictVectorizer", "TfidfTransformer", "TfidfVectorizer"}


def _leaves(parts: list[BaseEstimator]) -> list[BaseEstimator]:
    """Return these estimators and those inside them."""
    found = []
    for part in parts:
        nested = getattr(part, "steps", None) or getattr(part, "transformer_list", None) or []
        found += [part, *_leaves([step[1] for step in nested])]
    return found


def _fixed_columns(columns: BaseEstimator) -> bool:
    """Return whether columns are chosen by names or a selector, and by no other callable."""
    chosen = [which for _, _, which in columns.transformers]
    return all(isinstance(which, make_column_selector) or not callable(which) for which in chosen)


NO_FILES = Condition(
    "memory",
    is_one_of("memory", None),
    "its files contain pickles of the transformed private rows, and a step with a budget never "
    "uses them: pass memory=None",
    kind="files",
    severity="medium",
)

ROW_WISE_WRAPPERS: dict[str, tuple[tuple[str, ...], tuple[Condition, ...]]] = {
    "ColumnTransformer": (
        ("transformers", "remainder"),
        (
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
    ),
    "FeatureUnion": (("transformer_list",), ()),
    "Pipeline": (("steps",), (NO_FILES,)),
}
"""Compositions of transformers: in which parameters those are, and what must hold besides."""


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
        parameters, conditions = ROW_WISE_WRAPPERS[name]
        yield from _broken(part, conditions)
        for parameter in parameters:
            yield from _of_parts(getattr(part, parameter))
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
        if any(map(_selects_by_type, columns)):
            yield "a selection of columns by type, because X is converted to objects"


def _broken(part: BaseEstimator, conditions: tuple[Condition, ...]) -> Iterator[str]:
    for one in conditions:
        if not one.holds(part):
            value = getattr(part, one.parameter)
            yield f"{type(part).__name__}({one.parameter}={value!r}): {one.advice}"


def _selects_by_type(columns: object) -> bool:
    if not isinstance(columns, make_column_selector):
        return False
    return columns.dtype_include is not None or columns.dtype_exclude is not None


def _is_stateless(part: BaseEstimator) -> bool:
    """Return whether one of skdp's own transformers learns nothing; each of these is row-wise."""
    return isinstance(part, BaseEstimator) and not get_tags(part).requires_fit
