"""What is known of scikit-learn's estimators: which parameters make them learn, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sklearn
from sklearn.base import is_classifier
from sklearn.compose import make_column_selector
from sklearn.utils.fixes import parse_version

from skdp._private_fit import PrivateFit

__all__ = ["CONDITIONS", "LEARNS", "SAFE", "WRAPPERS", "Condition", "instead_of", "is_private"]

_DROPS_EMPTY_COLUMNS = parse_version(sklearn.__version__) >= parse_version("1.8")


@dataclass(frozen=True)
class Condition:
    """What must hold of a parameter, and what is wrong where it does not.

    Parameters
    ----------
    parameter : str
        *Public.*
    holds : callable
        From an estimator to whether all is well.
    advice : str
        *Public.* What leaks, and what to do instead.
    kind : str
        *Public.* See `Leak`.
    severity : str
        *Public.* See `Leak`.
    """

    parameter: str
    holds: Callable[[Any], bool]
    advice: str
    kind: str = "learns"
    severity: str = "high"


def _is(name: str, *allowed: Any) -> Callable[[Any], bool]:
    """Return whether a parameter is one of those values, which are all simple."""

    def holds(estimator: Any) -> bool:
        value = getattr(estimator, name)
        return any(value is one or (type(value) is type(one) and value == one) for one in allowed)

    return holds


def _differs(name: str, *forbidden: Any) -> Callable[[Any], bool]:
    found = _is(name, *forbidden)
    return lambda estimator: not found(estimator)


def _given(name: str) -> Callable[[Any], bool]:
    """Return whether a parameter holds values of your own, not the name of a way to find them."""
    return lambda estimator: (
        not (getattr(estimator, name) is None or isinstance(getattr(estimator, name), str))
    )


SAFE = {
    "AdditiveChi2Sampler",
    "Binarizer",
    "FeatureHasher",
    "FrozenEstimator",
    "HashingVectorizer",
    "Normalizer",
    "PolynomialCountSketch",
    "PolynomialFeatures",
    "SkewedChi2Sampler",
}
"""Each output row is a function of one input row and of public numbers, whatever the parameters.

Or, in a frozen estimator, of what was fitted to public data or paid for before.
"""

_BOUNDS = "BoundsScaler scales by public bounds, "
_SELECTION = (
    "choose columns by what is public about them, or on public data; DPGridSearchCV compares "
    "lists of columns privately"
)
_COMPONENTS = "DPPCA releases principal components privately"
_KERNEL_MAP = "RandomFourierFeatures is a kernel map by public numbers"
_PUBLIC_VALUES = "give the list of public values"

LEARNS = {
    "DictVectorizer": "it lists the names that occur; FeatureHasher does not",
    "FastICA": _COMPONENTS,
    "FeatureAgglomeration": _COMPONENTS,
    "GenericUnivariateSelect": _SELECTION,
    "IncrementalPCA": _COMPONENTS,
    "Isomap": _COMPONENTS,
    "IterativeImputer": "SimpleImputer(strategy='constant') and BoundsScaler(missing=...) do not",
    "KBinsDiscretizer": "AdditiveFeatures has bins by public bounds",
    "KMeans": "DPKMeans finds clusters privately",
    "KNNImputer": "SimpleImputer(strategy='constant') and BoundsScaler(missing=...) do not",
    "KernelCenterer": _KERNEL_MAP,
    "KernelPCA": _COMPONENTS,
    "LabelBinarizer": _PUBLIC_VALUES + " as classes= of a private classifier",
    "LabelEncoder": _PUBLIC_VALUES + " as classes= of a private classifier",
    "MaxAbsScaler": _BOUNDS + "DPMinMaxScaler by private ones",
    "MinMaxScaler": _BOUNDS + "DPMinMaxScaler by private ones",
    "MiniBatchKMeans": "DPKMeans finds clusters privately",
    "MultiLabelBinarizer": _PUBLIC_VALUES + " as classes",
    "NMF": _COMPONENTS,
    "Nystroem": _KERNEL_MAP,
    "PCA": _COMPONENTS,
    "PowerTransformer": "AdditiveFeatures(transformation=...) has public transformations",
    "QuantileTransformer": "DPQuantileClipper clips at private quantiles, AdditiveFeatures has "
    "public transformations",
    "RobustScaler": _BOUNDS + "DPQuantileClipper learns quantiles privately",
    "SelectFdr": _SELECTION,
    "SelectFpr": _SELECTION,
    "SelectFwe": _SELECTION,
    "SelectKBest": _SELECTION,
    "SelectPercentile": _SELECTION,
    "TargetEncoder": "naive Bayes (DPMixedNB) and additive models learn from categories privately",
    "TruncatedSVD": _COMPONENTS,
    "VarianceThreshold": _SELECTION,
}
"""Transformers that learn whatever their parameters are, and what can stand in their place."""

_CATEGORIES = Condition(
    "categories",
    _given("categories"),
    "which values occur would be learnt: give categories=, a list of public values a column, here "
    "or to a model of skdp that takes them",
)
_NO_COUNTS = tuple(
    Condition(name, _is(name, None), f"{name} counts values in the data: leave it at None")
    for name in ("min_frequency", "max_categories")
)
_VOCABULARY = Condition(
    "vocabulary",
    _given("vocabulary"),
    "which words occur would be learnt: give a public vocabulary=, or take HashingVectorizer",
)
_NO_IDF = Condition(
    "use_idf",
    _is("use_idf", False),
    "the frequencies of words would be learnt: use_idf=False learns nothing",
)
_COMPONENT_COUNT = Condition(
    "n_components",
    _differs("n_components", "auto"),
    "the number of rows decides how many components there are: give a number",
    severity="medium",
)

CONDITIONS: dict[str, tuple[Condition, ...]] = {
    "CountVectorizer": (_VOCABULARY,),
    "GaussianRandomProjection": (_COMPONENT_COUNT,),
    "MissingIndicator": (
        Condition(
            "features",
            _is("features", "all"),
            "which columns have missing values would be learnt: features='all'",
        ),
    ),
    "OneHotEncoder": (
        _CATEGORIES,
        *_NO_COUNTS,
        Condition(
            "handle_unknown",
            _differs("handle_unknown", "error"),
            "the error for an unknown category quotes a value of the data: 'ignore' does not",
            kind="errors",
        ),
    ),
    "OrdinalEncoder": (
        _CATEGORIES,
        *_NO_COUNTS,
        Condition(
            "handle_unknown",
            _is("handle_unknown", "use_encoded_value"),
            "the error for an unknown category quotes a value of the data: "
            "'use_encoded_value' does not",
            kind="errors",
        ),
    ),
    "RBFSampler": (
        Condition(
            "gamma",
            _differs("gamma", "scale"),
            f"the variance would be learnt: a number; {_KERNEL_MAP}",
        ),
    ),
    "SimpleImputer": (
        Condition(
            "strategy",
            _is("strategy", "constant"),
            "means and the like would be learnt: strategy='constant' with a public fill_value, or "
            "BoundsScaler(missing=...)",
        ),
        Condition(
            "add_indicator",
            _is("add_indicator", False),
            "which columns have missing values would be learnt; MissingIndicator(features='all') "
            "does not",
        ),
        Condition(
            "keep_empty_features",
            lambda e: e.keep_empty_features or not _DROPS_EMPTY_COLUMNS,
            "a column that is empty would be dropped, which shows: keep_empty_features=True",
        ),
    ),
    "SparseRandomProjection": (_COMPONENT_COUNT,),
    "SplineTransformer": (
        Condition(
            "knots",
            _given("knots"),
            "knots would be learnt: give an array of them; AdditiveFeatures has public bounds",
        ),
    ),
    "StandardScaler": (
        Condition(
            "with_mean",
            lambda e: not (e.with_mean or e.with_std),
            "means and variances would be learnt: BoundsScaler scales by public bounds, "
            "DPStandardScaler by private moments",
        ),
    ),
    "TfidfTransformer": (_NO_IDF,),
    "TfidfVectorizer": (_VOCABULARY, _NO_IDF),
}
"""Transformers that learn nothing if all of these hold."""


def _may_be_sparse(columns: Any) -> bool:
    """Return whether a part may be sparse, so that the layout of all could hang on the values."""
    parts = [part for _, part, _ in columns.transformers if not isinstance(part, str)]
    return any(_can_be_sparse(part) for part in _leaves(parts))


def _can_be_sparse(part: Any) -> bool:
    if hasattr(part, "sparse_output"):
        return bool(part.sparse_output)
    return type(part).__name__ in _SPARSE


_SPARSE = {"CountVectorizer", "FeatureHasher", "HashingVectorizer", "KBinsDiscretizer"}
_SPARSE |= {"MissingIndicator", "RandomTreesEmbedding", "SparseRandomProjection"}
_SPARSE |= {"DictVectorizer", "TfidfTransformer", "TfidfVectorizer"}


def _leaves(parts: list[Any]) -> list[Any]:
    """Return the estimators inside of these, and themselves."""
    found = []
    for part in parts:
        nested = getattr(part, "steps", None) or getattr(part, "transformer_list", None) or []
        found += [part, *_leaves([step[1] for step in nested])]
    return found


def _fixed_columns(columns: Any) -> bool:
    """Return whether no callable but a selection by name or type chooses the columns."""
    chosen = [which for _, _, which in columns.transformers]
    return all(isinstance(which, make_column_selector) or not callable(which) for which in chosen)


def _keeps_labels_apart(search: Any) -> bool:
    """Return whether no fold depends on labels or on the sizes of groups."""
    by_position = {"KFold", "ShuffleSplit", "LeaveOneOut", "PredefinedSplit", "TimeSeriesSplit"}
    by_position |= {"RepeatedKFold", "LeavePOut"}
    return type(search.cv).__name__ in by_position


_FOLDS = Condition(
    "cv",
    _keeps_labels_apart,
    "stratified folds, the default for classifiers, move other records when one label changes: "
    "KFold(n, shuffle=True, random_state=a public number) does not",
    kind="folds",
    severity="medium",
)


def _exact(what: str, instead: str) -> Condition:
    """Return what is always wrong: something is chosen by exact scores on held-out records."""
    return Condition("", lambda _: False, f"{what}: {instead}", kind="scores")


def is_private(estimator: Any) -> bool:
    """Return whether an estimator spends: scikit-learn too has parameters called epsilon."""
    if isinstance(estimator, PrivateFit):
        return True
    if type(estimator).__module__.startswith("sklearn.") or not hasattr(estimator, "get_params"):
        return False
    names = estimator.get_params(deep=False).keys()
    return "epsilon" in names and bool(names & {"accountant", "bounds", "budget", "delta"})


_NAMESAKES = {"CategoricalNB", "GaussianNB", "HuberRegressor", "LinearRegression"}
_NAMESAKES |= {"LogisticRegression", "QuantileRegressor", "SGDClassifier", "SGDRegressor"}
_NAMESAKES |= {"RandomForestClassifier", "RandomForestRegressor"}


def instead_of(predictor: Any) -> str:
    """Return which models of skdp can stand in the place of one that is not private."""
    name = type(predictor).__name__
    if name in _NAMESAKES:
        return f"it learns without privacy: DP{name} learns with it"
    kind = "Classifier" if is_classifier(predictor) else "Regressor"
    linear = "DPLogisticRegression" if kind == "Classifier" else "DPLinearRegression"
    others = f"DPAdditive{kind}, DPKernel{kind} and DPRandomForest{kind}"
    return f"it learns without privacy: {linear}, {others} learn with it"


def _published_seeds(name: str) -> Condition:
    return Condition(
        "",
        lambda _: False,
        f"{name} sets the random_state of every member to an integer that it publishes, whoever "
        f"reads it takes the noise off, and rows are repeated: {_ENSEMBLES}",
        kind="seed",
    )


_ENSEMBLES = (
    "DPRandomForestClassifier, DPAdditiveClassifier and their regressors are private, and "
    "VotingClassifier of private models with one budget= sets no seeds"
)
_SEARCH = _exact(
    "exact scores of held-out records choose the winner, and cv_results_ publishes them",
    "DPGridSearchCV and DPRandomizedSearchCV pay for the choice as well; or choose on public data",
)
_LAST = Condition(
    "final_estimator",
    lambda e: is_private(e.final_estimator),
    "the last estimator learns from exact targets: give a private one, such as "
    "DPLogisticRegression or DPLinearRegression",
)

WRAPPERS: dict[str, tuple[tuple[str, ...], tuple[Condition, ...]]] = {
    "AdaBoostClassifier": (
        ("estimator",),
        (
            _exact("errors of exact labels weigh the members", _ENSEMBLES),
            _published_seeds("boosting"),
        ),
    ),
    "AdaBoostRegressor": (
        ("estimator",),
        (
            _exact("records are drawn again by their exact errors", _ENSEMBLES),
            _published_seeds("boosting"),
        ),
    ),
    "BaggingClassifier": (("estimator",), (_published_seeds("bagging"),)),
    "BaggingRegressor": (("estimator",), (_published_seeds("bagging"),)),
    "CalibratedClassifierCV": (
        ("estimator",),
        (
            _exact(
                "exact labels of held-out records set the curve",
                "DPCalibratedClassifier calibrates privately",
            ),
        ),
    ),
    "ClassifierChain": (
        ("estimator", "base_estimator"),
        (Condition("cv", _is("cv", None), "folds are made of labels: cv=None", "folds", "medium"),),
    ),
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
    "FixedThresholdClassifier": (("estimator",), ()),
    "GridSearchCV": (("estimator",), (_SEARCH, _FOLDS)),
    "HalvingGridSearchCV": (("estimator",), (_SEARCH, _FOLDS)),
    "HalvingRandomSearchCV": (("estimator",), (_SEARCH, _FOLDS)),
    "MultiOutputClassifier": (("estimator",), ()),
    "MultiOutputRegressor": (("estimator",), ()),
    "OneVsOneClassifier": (("estimator",), ()),
    "OneVsRestClassifier": (("estimator",), ()),
    "OutputCodeClassifier": (("estimator",), ()),
    "Pipeline": (("steps",), ()),
    "PrivatePipeline": (("steps",), ()),
    "RANSACRegressor": (
        ("estimator",),
        (_exact("inlier_mask_ lists each record", "DPHuberRegressor bears outliers"),),
    ),
    "RFE": (("estimator",), ()),
    "RFECV": (("estimator",), (_exact("exact scores choose the columns", _SELECTION), _FOLDS)),
    "RandomizedSearchCV": (("estimator",), (_SEARCH, _FOLDS)),
    "RegressorChain": (
        ("estimator", "base_estimator"),
        (Condition("cv", _is("cv", None), "folds may hang on labels: cv=None", "folds", "medium"),),
    ),
    "SelectFromModel": (("estimator",), ()),
    "SelfTrainingClassifier": (
        ("estimator", "base_estimator"),
        (_exact("transduction_ and labeled_iter_ list each record", "leave them unpublished"),),
    ),
    "SequentialFeatureSelector": (
        ("estimator",),
        (_exact("exact scores choose the columns", _SELECTION), _FOLDS),
    ),
    "StackingClassifier": (
        ("estimators", "final_estimator"),
        (_LAST, _FOLDS),
    ),
    "StackingRegressor": (
        ("estimators", "final_estimator"),
        (_LAST, _FOLDS),
    ),
    "TransformedTargetRegressor": (("regressor", "transformer"), ()),
    "TunedThresholdClassifierCV": (
        ("estimator",),
        (
            _exact(
                "exact scores choose the threshold",
                "score_report has the errors at all thresholds privately, and "
                "FixedThresholdClassifier a threshold that was chosen by them",
            ),
        ),
    ),
    "VotingClassifier": (("estimators",), ()),
    "VotingRegressor": (("estimators",), ()),
}
"""Estimators around others: in which parameters those are, and what must hold besides."""
