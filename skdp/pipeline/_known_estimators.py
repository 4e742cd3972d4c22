"""What is known of an estimator: scikit-learn's by a catalog, others by what they hold."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable, Iterator
from contextlib import suppress
from copy import deepcopy
from gc import get_referents
from logging import Logger
from types import CodeType, FunctionType, ModuleType

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import FunctionTransformer

from skdp._private_fit import PrivateFit
from skdp.budget import BudgetHandle
from skdp.features.row_wise import (
    BOUNDS,
    CONDITIONS,
    KERNEL_MAP,
    NO_FILES,
    ROW_WISE,
    ROW_WISE_WRAPPERS,
    Condition,
    only,
)
from skdp.support.types import MatrixLike

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


_NAMESAKES = (
    "CategoricalNB GaussianNB HuberRegressor LinearRegression LogisticRegression PoissonRegressor "
    "QuantileRegressor RandomForestClassifier RandomForestRegressor"
)
_STOCHASTIC = {"SGDClassifier": "DPHingeClassifier", "SGDRegressor": "DPLinearRegression"}


def instead_of(predictor: BaseEstimator) -> str:
    """Return advice on models of skdp that replace one that is not private."""
    name = type(predictor).__name__
    if name in _NAMESAKES.split():
        return f"it learns without privacy. Use DP{name}"
    if name in _STOCHASTIC:
        return f"it learns without privacy. Use {_STOCHASTIC[name]}(solver='dp_sgd')"
    kind = "Classifier" if is_classifier(predictor) else "Regressor"
    linear = "DPLogisticRegression" if kind == "Classifier" else "DPLinearRegression"
    others = f"DPTabular{kind}, DPAdditive{kind} or DPRandomForest{kind}"
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
_TABLE: list[tuple[str, *tuple[Condition, ...]]] = [
    (
        "FixedThresholdClassifier MultiOutputClassifier MultiOutputRegressor OneVsOneClassifier "
        "OneVsRestClassifier OutputCodeClassifier RFE SelectFromModel TransformedTargetRegressor "
        "VotingClassifier VotingRegressor",
    ),
    ("PrivatePipeline", NO_FILES),
    ("BaggingClassifier BaggingRegressor", _SEEDS),
    (
        "AdaBoostClassifier AdaBoostRegressor",
        _exact("exact errors weigh members or select records", _ENSEMBLES),
        _SEEDS,
    ),
    (
        "CalibratedClassifierCV",
        _exact("exact labels set the curve", "DPCalibratedClassifier calibrates privately"),
    ),
    (
        "ClassifierChain RegressorChain",
        only("cv", None, why="folds may depend on labels", kind="folds", severity="medium"),
    ),
    (
        "GridSearchCV HalvingGridSearchCV HalvingRandomSearchCV RandomizedSearchCV",
        _exact(
            "exact scores of held-out records choose the winner, and cv_results_ publishes them",
            "DPGridSearchCV and DPRandomizedSearchCV cover the choice as well; or choose on public "
            "data",
        ),
        _FOLDS,
    ),
    (
        "RANSACRegressor",
        _exact("inlier_mask_ lists each record", "DPHuberRegressor bears outliers"),
    ),
    (
        "RFECV SequentialFeatureSelector",
        _exact("exact scores choose the columns", _SELECTION),
        _FOLDS,
    ),
    (
        "SelfTrainingClassifier",
        _exact("transduction_ and labeled_iter_ list each record", "leave them unpublished"),
    ),
    (
        "StackingClassifier StackingRegressor",
        Condition(
            "final_estimator",
            lambda e: is_private(e.final_estimator),
            "the last estimator learns from exact targets. Pass a private one, such as "
            "DPLogisticRegression or DPLinearRegression",
        ),
        _FOLDS,
    ),
    (
        "TunedThresholdClassifierCV",
        _exact(
            "exact scores choose the threshold",
            "score_report has the errors at all thresholds privately, and FixedThresholdClassifier "
            "a threshold that was chosen by them",
        ),
    ),
]
WRAPPERS = ROW_WISE_WRAPPERS | {
    name: tuple(conditions) for names, *conditions in _TABLE for name in names.split()
}
"""Meta-estimators, and what must hold beside what holds for the estimators in their parameters."""
KNOWN = CONDITIONS.keys() | SAFE | WRAPPERS.keys()


_CODE = type | FunctionType


def known_as(estimator: object) -> str | None:
    """Return the name of its class in the catalogs, or of the first base class there."""
    kind = type(estimator)
    bases = kind.__mro__ if home_of(kind) is None else (kind,)
    return next((one.__name__ for one in bases if one.__name__ in KNOWN and home_of(one)), None)


def is_part(value: object) -> bool:
    """Return whether a parameter or a step can be fitted, also if it is no estimator."""
    kind = type(value)
    if kind in (str, type, type(None)) or hasattr(kind, "get_params"):
        return kind is not type and hasattr(kind, "get_params")
    return any(name.startswith("fit") for name in dir(kind))


def inside(path: str, estimator: BaseEstimator) -> Iterator[tuple[str, BaseEstimator]]:
    """Yield the path and the estimator in each parameter, or in the lists of steps there.

    Parts that were fitted before are left out.
    """
    before, fits_last_only = f"{path}__" if path else "", is_prefit(estimator)
    for name, value in params_of(estimator).items():
        if fits_last_only and not name.startswith("final"):
            continue
        if isinstance(value, list | tuple):
            for part in value:
                if isinstance(part, list | tuple) and len(part) > 1 and is_part(part[1]):
                    yield f"{before}{part[0]}", part[1]
        elif is_part(value):
            yield f"{before}{name}", value


def held_in(estimator: object) -> list[str]:
    """Return the classes of private estimators and budgets that an estimator holds.

    Attributes and containers are followed, at any depth. So are the variables that a function
    captures and the global ones that its code names, except functions and classes elsewhere.
    """
    found, seen, todo = set[str](), dict[int, object](), [estimator]
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, ModuleType | Logger):
            continue
        seen[id(one)] = one
        if one is not estimator and _can_spend(one):
            found.add((one if isinstance(one, type) else type(one)).__name__)
        elif isinstance(one, FunctionType):
            todo += [one.__closure__, one.__defaults__, one.__kwdefaults__, *_named_in(one)]
        elif isinstance(one, np.ndarray):
            todo += one.ravel().tolist() if one.dtype == object else []
        elif not isinstance(one, type):
            todo += get_referents(one)
    return sorted(found)  # sets of names have no order


def _can_spend(one: object) -> bool:
    if isinstance(one, type):
        return issubclass(one, BudgetHandle | PrivateFit)
    return isinstance(one, BudgetHandle) or is_private(one)


def _named_in(function: FunctionType) -> list[object]:
    """Return the values of global variables that a function names, also in functions within."""
    codes, scope, home = [function.__code__], function.__globals__, function.__module__
    for code in codes:  # a list that grows
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
    values = [scope[name] for code in codes for name in code.co_names if name in scope]
    own = (one for one in values if not isinstance(one, _CODE) or one.__module__ == home)
    return [*own, *filter(_can_spend, values)]


def leaves(step: BaseEstimator, path: str = "") -> Iterator[tuple[str, BaseEstimator]]:
    """Yield the transformers in compositions of scikit-learn with their paths, or the step."""
    if not _is_composition(step):
        yield path, step
        return
    for inner, part in inside(path, step):
        yield from leaves(part, inner)


def fitted_leaves(step: BaseEstimator) -> Iterator[BaseEstimator]:
    """Yield the leaves of a fitted step; a `ColumnTransformer` fits copies of its parts."""
    if not _is_composition(step):
        yield step
        return
    names = ("transformers_", "transformer_list", "steps")
    parts = next(getattr(step, name) for name in names if hasattr(step, name))
    for part in parts:
        yield from fitted_leaves(part[1])


def _is_composition(step: BaseEstimator) -> bool:
    kind = type(step)
    return kind.__module__.startswith("sklearn.") and kind.__name__ in ROW_WISE_WRAPPERS


def ledgers_of(estimator: BaseEstimator) -> set[Hashable]:
    """Return keys of the ledgers that the estimator spends from; None is a missing budget."""
    if known_as(estimator) in WRAPPERS:
        return set().union(*(ledgers_of(part) for _, part in inside("", estimator)))
    return {_ledger(estimator)} if is_private(estimator) else set()


def _ledger(estimator: BaseEstimator) -> Hashable:
    budget = getattr(estimator, "budget", None)
    budget = getattr(estimator, "accountant", None) if budget is None else budget
    return getattr(
        getattr(budget, "_ledger", None), "identity", None if budget is None else id(budget)
    )


_ROWS, _COLUMNS, _COMPARED = 60, 4, 3


def evidence_of(step: FunctionTransformer) -> tuple[str, str]:
    """Return a severity, and what calls of a function with synthetic rows have shown."""
    text = "it could not be called with synthetic rows, and may use other rows. Read its source"
    found = "medium", text
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        for table in _tables():
            with suppress(Exception):  # it may not accept data of this kind
                if not _row_wise(clone(step), table):
                    return "high", "its transformation of a row depends on other rows"
                text = "it transforms synthetic rows one by one, but other rows may differ"
                found = "unknown", f"{text}. Read its source"
    return found


def _tables() -> Iterator[MatrixLike]:
    """Yield synthetic tables of numbers and of strings, and frames if there is pandas."""
    rng = np.random.default_rng(0)
    numbers = rng.exponential(size=(_ROWS, _COLUMNS)) + 0.01  # for logarithms and powers
    words = rng.choice(np.array(["a", "b", "c", "d e"], dtype=object), numbers.shape)
    yield from (numbers, words)
    if "pandas" in sys.modules:
        frame = sys.modules["pandas"].DataFrame(numbers, columns=list("xyst"))
        yield from (frame, frame.assign(s=words[:, 0].astype(str), t=words[:, 1]))


def _row_wise(step: FunctionTransformer, X: MatrixLike) -> bool:
    """Return whether the first rows are transformed alike alone and among the others."""
    whole, rows = step.transform(deepcopy(X)), X.iloc if hasattr(X, "iloc") else X
    expected = whole.iloc if hasattr(whole, "iloc") else whole
    return all(
        _same(step.transform(deepcopy(rows[i : i + 1])), expected[i : i + 1])
        for i in range(_COMPARED)
    )


def _same(one: ArrayLike, other: ArrayLike) -> bool:
    a, b = (x.toarray() if hasattr(x, "toarray") else np.asarray(x) for x in (one, other))
    if a.dtype.kind == "O":
        pairs = zip(a.ravel(), b.ravel(), strict=True)
        return a.shape == b.shape and all(x == y or _both_close(x, y) for x, y in pairs)
    return a.shape == b.shape and (bool(np.array_equal(a, b)) or _both_close(a, b))


def _both_close(one: ArrayLike, other: ArrayLike) -> bool:
    numbers = np.asarray(one).dtype.kind in "fc" and np.asarray(other).dtype.kind in "fc"
    return numbers and bool(np.allclose(one, other, equal_nan=True))
