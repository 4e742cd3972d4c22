"""scikit-learn's estimators: which are proved not to learn, and the advice for the others."""

from __future__ import annotations

from dataclasses import replace

from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    is_classifier,
    is_regressor,
)
from sklearn.feature_selection import SelectorMixin

from skdp._private_fit import PrivateFit
from skdp.features.row_wise_conditions import (
    BOUNDS,
    CONDITIONS,
    KERNEL_MAP,
    NO_FILES,
    ROW_WISE,
    ROW_WISE_WRAPPERS,
    Condition,
    is_one_of,
)

SAFE = ROW_WISE | {"FrozenEstimator"}
"""Transformers of single rows that learn nothing, and estimators that were fitted before."""

_SELECTION = (
    "choose columns by public knowledge, or on public data; DPGridSearchCV compares lists of "
    "columns privately"
)
_ADVICE: dict[type, str] = {
    SelectorMixin: _SELECTION,
    ClusterMixin: "DPKMeans finds clusters privately",
    ClassNamePrefixFeaturesOutMixin: f"DPPCA releases principal components privately. {KERNEL_MAP}",
    TransformerMixin: f"{BOUNDS}DPStandardScaler, DPMinMaxScaler and DPQuantileClipper by private "
    "numbers. AdditiveFeatures has public bins and transformations. Encoders and imputers learn "
    "nothing from lists of public values and constants",
    BaseEstimator: "use an estimator of skdp",
}


def advice_on(estimator: BaseEstimator) -> str:
    """Return what to use instead of an estimator of scikit-learn that learns."""
    if is_classifier(estimator) or is_regressor(estimator):
        return instead_of(estimator)
    return next(advice for kind, advice in _ADVICE.items() if isinstance(estimator, kind))


def _keeps_labels_apart(search: BaseEstimator) -> bool:
    """Return whether folds are independent of labels and of the sizes of groups."""
    by_position = {"KFold", "ShuffleSplit", "LeaveOneOut", "PredefinedSplit", "TimeSeriesSplit"}
    by_position |= {"RepeatedKFold", "LeavePOut"}
    return is_prefit(search) or type(search.cv).__name__ in by_position | {"HashSplit"}


def is_prefit(estimator: BaseEstimator) -> bool:
    """Return whether the inner estimators were fitted before."""
    cv = getattr(estimator, "cv", None)
    return (isinstance(cv, str) and cv == "prefit") or getattr(estimator, "prefit", None) is True


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


def home_of(kind: type) -> str | None:
    """Return "sklearn" or "skdp" if a class is of these libraries."""
    home = kind.__module__.partition(".")[0]
    return home if home in ("sklearn", "skdp") else None


def is_private(estimator: object) -> bool:
    """Return whether an estimator spends; scikit-learn's own parameters epsilon do not count."""
    if isinstance(estimator, PrivateFit):
        return True
    if home_of(type(estimator)) == "sklearn" or not hasattr(type(estimator), "get_params"):
        return False
    names = params_of(estimator).keys()
    return "epsilon" in names and bool(names & {"accountant", "bounds", "budget", "delta"})


def params_of(estimator: object, *, deep: bool = False) -> dict[str, object]:
    """Return the parameters of an estimator of any library; none if that raises an error."""
    try:
        return dict(estimator.get_params(deep=deep))  # type: ignore[attr-defined]
    except Exception:
        return {}


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


_ENSEMBLES = (
    "DPRandomForestClassifier, DPAdditiveClassifier and their regressors are private, and "
    "VotingClassifier of private models with one budget= sets no seeds"
)
_SEEDS = Condition(
    "",
    lambda _: False,
    "it publishes the random_state of every member, which voids the guarantee, and repeats rows: "
    f"{_ENSEMBLES}",
    kind="seed",
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
_BY_NAMES: dict[str, tuple[tuple[str, ...], tuple[Condition, ...]]] = {
    "FixedThresholdClassifier MultiOutputClassifier MultiOutputRegressor OneVsOneClassifier "
    "OneVsRestClassifier OutputCodeClassifier RFE SelectFromModel": (("estimator",), ()),
    "AdaBoostClassifier AdaBoostRegressor": (
        ("estimator",),
        (_exact("exact errors weigh members or select records", _ENSEMBLES), _SEEDS),
    ),
    "BaggingClassifier BaggingRegressor": (("estimator",), (_SEEDS,)),
    "CalibratedClassifierCV": (
        ("estimator",),
        (_exact("exact labels set the curve", "DPCalibratedClassifier calibrates privately"),),
    ),
    "ClassifierChain RegressorChain": (
        ("estimator", "base_estimator"),
        (
            replace(
                _FOLDS, holds=is_one_of("cv", None), advice="folds may depend on labels: cv=None"
            ),
        ),
    ),
    "GridSearchCV HalvingGridSearchCV HalvingRandomSearchCV RandomizedSearchCV": (
        ("estimator",),
        (_SEARCH, _FOLDS),
    ),
    "PrivatePipeline": (("steps",), (NO_FILES,)),
    "RANSACRegressor": (
        ("estimator",),
        (_exact("inlier_mask_ lists each record", "DPHuberRegressor bears outliers"),),
    ),
    "RFECV SequentialFeatureSelector": (
        ("estimator",),
        (_exact("exact scores choose the columns", _SELECTION), _FOLDS),
    ),
    "SelfTrainingClassifier": (
        ("estimator", "base_estimator"),
        (_exact("transduction_ and labeled_iter_ list each record", "leave them unpublished"),),
    ),
    "StackingClassifier StackingRegressor": (("estimators", "final_estimator"), (_LAST, _FOLDS)),
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
    "VotingClassifier VotingRegressor": (("estimators",), ()),
}
WRAPPERS = ROW_WISE_WRAPPERS | {
    name: known for names, known in _BY_NAMES.items() for name in names.split()
}
"""Meta-estimators: the parameters with inner estimators, and further conditions."""
KNOWN = CONDITIONS.keys() | SAFE | WRAPPERS.keys()


def parts_of(estimator: BaseEstimator, name: str) -> tuple[str, ...]:
    """Return the parameters of a wrapper, by name, with estimators that it fits."""
    names = WRAPPERS[name][0]
    return tuple(one for one in names if one.startswith("final") or not is_prefit(estimator))
