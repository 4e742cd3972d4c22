"""What is known of an estimator: scikit-learn's by a catalog, others by fits to synthetic rows."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from copy import deepcopy
from dis import get_instructions
from functools import cache, lru_cache, partial
from gc import get_referents
from logging import Logger
from pickle import dumps
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple, TypeAlias

import joblib
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
from sklearn.utils import _safe_indexing, shuffle

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
from skdp.support.types import MatrixLike, VectorLike

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
    """Return the classes of private estimators and budgets that an estimator can reach.

    Attributes, containers and variables of nested functions are followed, at any depth. So are
    global variables that the code of its methods and functions names. Of functions and classes
    among these, only those of the same module are followed.
    """
    kinds, given = type(estimator).__mro__, getattr(estimator, "__dict__", {}).values()
    own = {one.__module__ for one in (*kinds, *given) if isinstance(one, _CODE)}
    found, seen, todo = set[str](), dict[int, object](), [estimator, *kinds]
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, ModuleType | Logger):
            continue
        seen[id(one)] = one
        if one is not estimator and _can_spend(one):
            found.add((one if isinstance(one, type) else type(one)).__name__)
        elif isinstance(one, type):
            is_own = one.__module__ in own and not _is_library(one.__module__)
            todo += vars(one).values() if is_own else []
        elif isinstance(one, FunctionType):
            todo += [one.__closure__, one.__defaults__, one.__kwdefaults__, *_named_in(one)]
        elif isinstance(one, np.ndarray):
            todo += one.ravel().tolist() if one.dtype == object else []
        else:
            todo += get_referents(one)
    return sorted(found)  # sets of names have no order


def _can_spend(one: object) -> bool:
    if isinstance(one, type):
        return issubclass(one, BudgetHandle | PrivateFit)
    return isinstance(one, BudgetHandle) or is_private(one)


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in {"sklearn", "skdp"} | sys.stdlib_module_names


def _named_in(function: FunctionType) -> list[object]:
    """Return the values of global variables that a function names, also in modules."""
    codes, scope = [*_codes(function.__code__)], function.__globals__
    if _is_library(home := str(function.__module__)):
        return []
    names = {name for code in codes for name in code.co_names}
    steps = (step for code in codes for step in get_instructions(code))
    read = {step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    values = [scope[name] for name in read & scope.keys()]
    modules = [sys.modules[name] for name in names & sys.modules.keys()]
    for module in (*modules, *(one for one in values if isinstance(one, ModuleType))):
        values += [vars(module)[name] for name in names & vars(module).keys()]
    other = {id(one) for one in values if isinstance(one, _CODE) and one.__module__ != home}
    return [one for one in values if id(one) not in other or _can_spend(one)]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


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


Pair: TypeAlias = tuple[MatrixLike, MatrixLike]
Targets: TypeAlias = tuple[VectorLike, VectorLike]
_ROWS = 60
_COLUMNS = 4


class Evidence(NamedTuple):
    """What a test has shown, and the severity that follows."""

    severity: str
    text: str


_NONE_FOUND = Evidence(
    "unknown", "it learns nothing on synthetic data, but may on other data. Read its source"
)
_NOT_FITTED = Evidence(
    "medium", "it could not be fitted to two different tables, and may learn. Pass rows as X_public"
)
_RANDOM = Evidence("medium", "its fits to the same rows differ, so it may learn. Read its source")


def evidence_of(estimator: BaseEstimator, X_public: MatrixLike = None) -> Evidence:
    """Fit copies to pairs of data sets of equal shape, and compare the results.

    `X_public` comes first, for classes that need columns of certain names or types.
    """
    was_compared = False
    own = [] if X_public is None else [[*_resampled(X_public)]]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            seeded = _seeded(estimator)
        except Exception:  # for example one that holds a lock
            return _NOT_FITTED
        for tables in own + _kinds("pandas" in sys.modules):
            if was_compared and (np.ndim(tables[0][0]) == 1 or len(tables) == 2):
                continue  # columns, and frames of numbers, are for estimators without arrays
            targets = [*_targets(len(tables[0][0]))]
            for pair in tables:
                found, targets = _first_answer(seeded, pair, targets)
                if found is None and len(targets) > 1:
                    break  # it does not accept this kind of table
                if found not in (None, _NONE_FOUND):
                    return found
                was_compared |= found is not None
    return _NONE_FOUND if was_compared else _NOT_FITTED


@lru_cache(maxsize=2)
def _kinds(has_pandas: bool) -> list[list[Pair]]:
    """Return pairs of tables, listed by kind."""
    rng = np.random.default_rng(0)
    numbers = rng.exponential(size=(_ROWS, _COLUMNS)) + 0.01  # for logarithms and powers
    others = np.round(3.0 * rng.exponential(size=numbers.shape) ** 2) + 1.0
    changed = others * [20, 5, 0.1, 1]
    # A constant column, a duplicate and a correlated one, which selections drop.
    first = numbers[:, 0]
    special = np.stack([first, np.ones(_ROWS), first, 2.0 * first + 0.01 * numbers[:, 3]], axis=1)
    missing = np.where(numbers > 2.0, np.nan, numbers)
    some = np.array(["a", "b", "c", "d e", "e"], dtype=object)
    words = rng.choice(some[:4], numbers.shape), rng.choice(some[1:], numbers.shape)
    kinds = [[(numbers, other) for other in (changed, special, missing)], [words]]
    if has_pandas:
        frame = partial(sys.modules["pandas"].DataFrame, columns=list("xyst"))
        one, other = frame(numbers), frame(changed)
        kinds.append([(one, other), (one, frame(special))])
        # Columns of numbers, of strings and of objects.
        texts = ({"s": word[:, 0].astype(str), "t": word[:, 1]} for word in words)
        one, other = one.assign(**next(texts)), other.assign(**next(texts))
        kinds += [[(one, other)], [(one["s"], other["s"])]]
    return [*kinds, [(list(words[0][:, 0]), list(words[1][:, 0]))]]


def _resampled(X: MatrixLike) -> Iterator[Pair]:
    """Yield the rows, paired with another order of them and with repeated halves and rows."""
    yield X, shuffle(X, random_state=1)
    n = len(X)
    for some in (range(n // 2), range(n // 2, n), [0], [n - 1]):
        if len(some):
            yield X, _safe_indexing(X, np.resize(some, n))


def _targets(n: int) -> Iterator[Targets]:
    """Yield pairs of targets: labels, numbers and none."""
    rows = np.arange(n)
    yield rows % _ROWS % 2, (rows % _ROWS % 3 > 0).astype(int)
    yield np.sin(rows), np.cos(rows) * 3.0
    yield None, None


def _first_answer(
    estimator: BaseEstimator, pair: Pair, targets: list[Targets]
) -> tuple[Evidence | None, list[Targets]]:
    """Compare fits to the first targets that the estimator accepts; return these targets too."""
    for y in targets:
        with suppress(Exception):  # it may not accept data of this kind
            return _compared(estimator, pair, *y) or _NONE_FOUND, [(y[0], None)]
    return None, targets


def _compared(
    estimator: BaseEstimator, pair: Pair, y: VectorLike, other_y: VectorLike
) -> Evidence | None:
    X, other = pair
    again = cache(partial(_fitted, estimator, X, y))
    one = _fitted(estimator, X, y)
    found = _difference(one, _fitted(estimator, other, y), again, X)
    if found is None and other_y is not None:
        with suppress(Exception):  # other targets may be refused
            found = _difference(one, _fitted(estimator, X, other_y), again, X)
    is_first = other_y is not None or y is None
    return _row_wise(one, X) if found is None and is_first else found


def _difference(
    one: BaseEstimator, other: BaseEstimator, again: Callable[[], BaseEstimator], X: MatrixLike
) -> Evidence | None:
    """Return in what two fits differ, unless a fit `again` to the same rows differs as well."""
    views = {"its attributes after a fit depend on the values": _state}
    if hasattr(one, "transform"):
        views["its transformation of a row depends on the values in the fit"] = partial(_of, X=X)
    differing = [said for said, view in views.items() if not _equal(view(one), view(other))]
    for said in differing:
        if _equal(views[said](one), views[said](again())):
            return Evidence("high", said)
    return _RANDOM if differing else None


def _state(fitted: BaseEstimator) -> dict[str, object]:
    """Return the attributes that a fit has set."""
    given = params_of(fitted)
    return {name: x for name, x in vars(fitted).items() if name not in given}


def _equal(one: object, other: object) -> bool:
    """Return whether two objects have the same contents; pickles of equal objects may differ."""
    if dumps(one) == dumps(other):
        return True
    try:
        return bool(joblib.hash(one) == joblib.hash(other))
    except ValueError:  # joblib 1.6 fails for masked arrays, as in results of searches
        return False


def _seeded(estimator: BaseEstimator) -> BaseEstimator:
    """Return an unfitted copy with fixed seeds."""
    try:
        copy = clone(estimator)
    except Exception:  # some classes are no estimators, or their get_params fails
        copy = deepcopy(estimator)
    seeds = {name: 0 for name in params_of(copy, deep=True) if name.endswith("random_state")}
    return copy.set_params(**seeds) if seeds else copy


def _fitted(seeded: BaseEstimator, X: MatrixLike, y: VectorLike) -> BaseEstimator:
    """Fit a copy to copies, because a fit may write to its arguments."""
    copy = deepcopy(seeded)
    copy.fit(_copied(X), *([] if y is None else [y.copy()]))
    return copy


def _copied(X: MatrixLike) -> MatrixLike:
    return X.copy() if hasattr(X, "copy") else deepcopy(X)


def _of(fitted: BaseEstimator, X: MatrixLike) -> MatrixLike:
    return fitted.transform(_copied(X))


def _row_wise(fitted: BaseEstimator, X: MatrixLike) -> Evidence | None:
    """Return evidence if the first rows are not transformed alike alone and among the others."""
    if not hasattr(fitted, "transform"):
        return None
    whole, rows = _of(fitted, X), X.iloc if hasattr(X, "iloc") else X
    for i in range(3):
        alone = _of(fitted, rows[i : i + 1])
        expected = (whole.iloc if hasattr(whole, "iloc") else whole)[i : i + 1]
        if not _same(alone, expected):
            return Evidence("high", "its transformation of a row depends on other rows")
    return None


def _same(one: ArrayLike, other: ArrayLike) -> bool:
    a, b = (x.toarray() if hasattr(x, "toarray") else np.asarray(x) for x in (one, other))
    if a.dtype.kind == "O":
        pairs = zip(a.ravel(), b.ravel(), strict=True)
        return a.shape == b.shape and all(x == y or _both_close(x, y) for x, y in pairs)
    return a.shape == b.shape and (bool(np.array_equal(a, b)) or _both_close(a, b))


def _both_close(one: ArrayLike, other: ArrayLike) -> bool:
    numbers = np.asarray(one).dtype.kind in "fc" and np.asarray(other).dtype.kind in "fc"
    return numbers and bool(np.allclose(one, other, equal_nan=True))
