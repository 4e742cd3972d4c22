"""scikit-learn's estimators: which parameters make them learn, and the advice for each."""

from __future__ import annotations

from sklearn.base import BaseEstimator, is_classifier

from skdp._private_fit import PrivateFit
from skdp.features.row_wise_conditions import (
    BOUNDS,
    CONDITIONS,
    KERNEL_MAP,
    ROW_WISE,
    ROW_WISE_WRAPPERS,
    Condition,
    is_one_of,
)

__all__ = ["CONDITIONS", "LEARNS", "SAFE", "WRAPPERS", "Condition", "instead_of", "is_private"]

SAFE = ROW_WISE | {"FrozenEstimator"}
"""Transformers of single rows that learn nothing, and estimators that were fitted before."""

_SELECTION = (
    "choose columns by public knowledge, or on public data; DPGridSearchCV compares lists of "
    "columns privately"
)
_COMPONENTS = "DPPCA releases principal components privately"
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
    "KernelCenterer": KERNEL_MAP,
    "KernelPCA": _COMPONENTS,
    "LabelBinarizer": _PUBLIC_VALUES + " as classes= of a private classifier",
    "LabelEncoder": _PUBLIC_VALUES + " as classes= of a private classifier",
    "MaxAbsScaler": BOUNDS + "DPMinMaxScaler by private ones",
    "MinMaxScaler": BOUNDS + "DPMinMaxScaler by private ones",
    "MiniBatchKMeans": "DPKMeans finds clusters privately",
    "MultiLabelBinarizer": _PUBLIC_VALUES + " as classes",
    "NMF": _COMPONENTS,
    "Nystroem": KERNEL_MAP,
    "PCA": _COMPONENTS,
    "PowerTransformer": "AdditiveFeatures(transformation=...) has public transformations",
    "PublicDirections": "fit it to public rows before, and pass FrozenEstimator of it",
    "QuantileTransformer": "DPQuantileClipper clips at private quantiles, AdditiveFeatures has "
    "public transformations",
    "RobustScaler": BOUNDS + "DPQuantileClipper learns quantiles privately",
    "SelectFdr": _SELECTION,
    "SelectFpr": _SELECTION,
    "SelectFwe": _SELECTION,
    "SelectKBest": _SELECTION,
    "SelectPercentile": _SELECTION,
    "TargetEncoder": "naive Bayes (DPMixedNB) and additive models learn from categories privately",
    "TruncatedSVD": _COMPONENTS,
    "VarianceThreshold": _SELECTION,
}
"""Transformers that learn with any parameters, and what to do instead."""


def _keeps_labels_apart(search: BaseEstimator) -> bool:
    """Return whether folds are independent of labels and of the sizes of groups."""
    by_position = {"KFold", "ShuffleSplit", "LeaveOneOut", "PredefinedSplit", "TimeSeriesSplit"}
    by_position |= {"RepeatedKFold", "LeavePOut"}
    return type(search.cv).__name__ in by_position | {"HashSplit"}


_FOLDS = Condition(
    "cv",
    _keeps_labels_apart,
    "stratified folds, the default for classifiers, move other records when one label changes: "
    "KFold(n, shuffle=True, random_state=a public number) does not",
    kind="folds",
    severity="medium",
)


def _exact(what: str, instead: str) -> Condition:
    """Return a condition that never holds: exact scores on held-out records choose something."""
    return Condition("", lambda _: False, f"{what}: {instead}", kind="scores")


def _without_folds(advice: str) -> Condition:
    return Condition("cv", is_one_of("cv", None), advice, kind="folds", severity="medium")


def is_private(estimator: BaseEstimator) -> bool:
    """Return whether an estimator spends; scikit-learn's own parameters epsilon do not count."""
    if isinstance(estimator, PrivateFit):
        return True
    if type(estimator).__module__.startswith("sklearn.") or not hasattr(estimator, "get_params"):
        return False
    names = estimator.get_params(deep=False).keys()
    return "epsilon" in names and bool(names & {"accountant", "bounds", "budget", "delta"})


_NAMESAKES = {"CategoricalNB", "GaussianNB", "HuberRegressor", "LinearRegression"}
_NAMESAKES |= {"LogisticRegression", "PoissonRegressor", "QuantileRegressor"}
_NAMESAKES |= {"RandomForestClassifier", "RandomForestRegressor", "SGDClassifier", "SGDRegressor"}


def instead_of(predictor: BaseEstimator) -> str:
    """Return advice on models of skdp that replace one that is not private."""
    name = type(predictor).__name__
    if name in _NAMESAKES:
        return f"it learns without privacy. Use DP{name}"
    kind = "Classifier" if is_classifier(predictor) else "Regressor"
    linear = "DPLogisticRegression" if kind == "Classifier" else "DPLinearRegression"
    others = f"DPAdditive{kind}, DPKernel{kind} or DPRandomForest{kind}"
    return f"it learns without privacy. Use {linear}, {others}"


def _published_seeds(name: str) -> Condition:
    return Condition(
        "",
        lambda _: False,
        f"{name} publishes the random_state of every member, which voids the guarantee, and "
        f"repeats rows: {_ENSEMBLES}",
        kind="seed",
    )


_ENSEMBLES = (
    "DPRandomForestClassifier, DPAdditiveClassifier and their regressors are private, and "
    "VotingClassifier of private models with one budget= sets no seeds"
)
_SEARCH = _exact(
    "exact scores of held-out records choose the winner, and cv_results_ publishes them",
    "DPGridSearchCV and DPRandomizedSearchCV cover the choice as well; or choose on public data",
)
_LAST = Condition(
    "final_estimator",
    lambda e: is_private(e.final_estimator),
    "the last estimator learns from exact targets. Pass a private one, such as "
    "DPLogisticRegression or DPLinearRegression",
)

WRAPPERS: dict[str, tuple[tuple[str, ...], tuple[Condition, ...]]] = {
    "AdaBoostClassifier": (
        ("estimator",),
        (_exact("exact errors weigh the members", _ENSEMBLES), _published_seeds("boosting")),
    ),
    "AdaBoostRegressor": (
        ("estimator",),
        (_exact("exact errors select records", _ENSEMBLES), _published_seeds("boosting")),
    ),
    "BaggingClassifier": (("estimator",), (_published_seeds("bagging"),)),
    "BaggingRegressor": (("estimator",), (_published_seeds("bagging"),)),
    "CalibratedClassifierCV": (
        ("estimator",),
        (_exact("exact labels set the curve", "DPCalibratedClassifier calibrates privately"),),
    ),
    "ClassifierChain": (
        ("estimator", "base_estimator"),
        (_without_folds("folds depend on labels: cv=None"),),
    ),
    **ROW_WISE_WRAPPERS,
    "FixedThresholdClassifier": (("estimator",), ()),
    "GridSearchCV": (("estimator",), (_SEARCH, _FOLDS)),
    "HalvingGridSearchCV": (("estimator",), (_SEARCH, _FOLDS)),
    "HalvingRandomSearchCV": (("estimator",), (_SEARCH, _FOLDS)),
    "MultiOutputClassifier": (("estimator",), ()),
    "MultiOutputRegressor": (("estimator",), ()),
    "OneVsOneClassifier": (("estimator",), ()),
    "OneVsRestClassifier": (("estimator",), ()),
    "OutputCodeClassifier": (("estimator",), ()),
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
        (_without_folds("folds may depend on labels: cv=None"),),
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
    "StackingClassifier": (("estimators", "final_estimator"), (_LAST, _FOLDS)),
    "StackingRegressor": (("estimators", "final_estimator"), (_LAST, _FOLDS)),
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
"""Meta-estimators: the parameters with inner estimators, and further conditions."""
