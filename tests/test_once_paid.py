"""No error is raised after the spend: all checks come before it.

The cases are made from the signatures of all public names that spend, by the names of their
parameters. A new name is covered at once, and fails here if a parameter is unknown.
"""

import enum
import inspect
import warnings
from datetime import date
from decimal import Decimal
from functools import cache
from importlib import import_module
from itertools import cycle

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer

import skdp
from skdp import PrivacyBudget, metrics
from skdp._private_fit import PrivateFit
from skdp.exceptions import FewRowsWarning, WeakPrivacyWarning
from skdp.metrics import make_private_scorer
from skdp.model_selection import DPGridSearchCV
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.solvers import SOLVERS

RELATIONS = ["replace_one", "add_remove_one"]

# Public values, by the names of parameters.
TRAINED = skdp.DPLogisticRegression(random_state=0).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
PUBLIC = {
    "bounds": (-3.0, 3.0),
    "classes": [0, 1],
    "edges": [-3.0, 0.0, 3.0],
    "delta": 1e-5,
    "epsilon": 1.0,
    "estimator": skdp.DPLogisticRegression(classes=[0, 1]),
    "keys": [0, 1],
    "max_weight": 2.0,
    "n_iter": 2,
    "noise": "gaussian",  # the cheapest to plan
    "param_distributions": {"data_norm": [0.5, 2.0]},
    "param_grid": {"data_norm": [0.5, 2.0]},
    "q": 0.5,
    "target_bounds": (0.0, 1.0),
}
SMALL = {"DPRandomForest": {"n_trees": 2, "depth": 2}}
OWN = {
    "DPCalibratedClassifier": {"estimator": FrozenEstimator(TRAINED)},
    "DPCategoricalNB": {"categories": [0, 1]},
    "DPConformalRegressor": {"estimator": skdp.DPLinearRegression()},
    "marginals": {"categories": [0, 1]},
}
# Private values, by the names of arguments: four rows of three persons.
PRIVATE = {
    "X": np.array([[0.1, 2.0], [-1.0, 0.5], [3.5, 0.0], [0.0, -0.5]]),
    "by": np.array([0, 1, 1, 2]),
    "condition": np.array([True, False, True, True]),
    "event": np.array([1, 0, 1, 1]),
    "groups": np.array([5, 5, 7, 8]),
    "sample_weight": np.array([0.0, 1.0, 0.5, 9.0]),
    "time": np.array([0.1, -1.0, 3.5, 0.0]),
    "treated": np.array([0, 1, 1, 0]),
    "x": np.array([0.1, -1.0, 3.5, 0.0]),
    "y": np.array([0, 1, 0, 1]),
    "y_pred": np.array([1, 1, 0, 0]),
    "y_prob": np.array([0.0, 1.0, 0.5, 0.2]),
    "y_score": np.array([0.0, 1.0, 0.5, 0.2]),
    "y_true": np.array([0, 1, 0, 1]),
}
CODES = np.array([[0, 1], [1, 1], [0, 0], [1, 0]])
OWN_PRIVATE = {
    "DPCategoricalNB": {"X": CODES},
    "marginals": {"x": CODES},
    "one_vs_rest_report": {"y_score": np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [0.2, 0.8]])},
}
NOT_ALONE = {
    "make_private_pipeline": "it takes steps, and has a test of its own below",
    "make_private_scorer": "it takes a metric, and has a test of its own below",
}
REFUSE_WEIGHTS = {"DPMinMaxScaler", "DPQuantileClipper", "DPStandardScaler"}
NEED_MANY = {
    "DPCalibratedClassifier": "fewer rows than 300/epsilon make probabilities worse",
    "DPConformalClassifier": "one row learns and another one is set aside",
    "DPConformalRegressor": "likewise",
    "DPGridSearchCV": "one row learns and another one judges",
    "DPRandomizedSearchCV": "likewise",
}


def parameters_of(thing):
    try:
        return inspect.signature(thing).parameters
    except (TypeError, ValueError):  # of what is no function, and of some errors
        return {}


def spends(thing):
    if isinstance(thing, type):
        return issubclass(thing, PrivateFit)
    return "budget" in parameters_of(thing)


def public_names():
    """Return all public names of skdp that spend."""
    rooms = [import_module(f"skdp.{name}") for name in skdp._MODULES]
    named = {name: getattr(room, name) for room in rooms for name in room.__all__}
    return {name: thing for name, thing in sorted(named.items()) if spends(thing)}


NAMES = {name: thing for name, thing in public_names().items() if name not in NOT_ALONE}


def public_arguments(name, **more):
    """Return the public arguments of a name: required ones, and optional ones with a value here."""
    found = parameters_of(NAMES[name])
    known = PUBLIC | OWN.get(name, {})
    small = next((own for prefix, own in SMALL.items() if name.startswith(prefix)), {})
    needed = {key for key, one in found.items() if one.default is one.empty and key not in PRIVATE}
    told = {"bounds", "classes", "delta", "max_weight", "n_iter", "noise", "target_bounds"}
    assert needed <= known.keys(), f"nothing is known of {needed - known.keys()} of {name}"
    return (
        {key: known[key] for key in needed | (told & found.keys())}
        | OWN.get(name, {})
        | small
        | more
    )


def data_of(name, **more):
    """Return the private columns for a name, by the names of its arguments."""
    reader = NAMES[name].fit if isinstance(NAMES[name], type) else NAMES[name]
    own = PRIVATE | OWN_PRIVATE.get(name, {}) | more
    found = parameters_of(reader)
    refused = {"sample_weight"} if name in REFUSE_WEIGHTS else set()
    unused = {"y"} if "y" in found and found["y"].default is None else set()
    return {key: own[key] for key in found if key in own.keys() - refused - unused}


@cache
def budget_of(neighboring, unit):
    with pytest.warns(WeakPrivacyWarning, match="of the budget is large"):  # for many releases
        return PrivacyBudget(
            epsilon=1e6, delta=0.1, composition="basic", neighboring=neighboring, unit=unit
        )


def call(name, data, neighboring, **more):
    """Release what a name releases of some data, with every warning an error; return the result."""
    unit = "person" if "groups" in data else "record"
    if "by" in data:
        more["keys"] = [0, 1]
    terms = {"neighboring": neighboring, "budget": budget_of(neighboring, unit), **more}
    terms = public_arguments(name, **terms)
    if isinstance(NAMES[name], type):
        return NAMES[name](**terms).fit(**data)
    return NAMES[name](**data, **terms)


def paid_or_refused(function, budget):
    """Return the result, or None if ValueError was raised and nothing was spent."""
    before = budget.spent, budget.remaining
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "No candidate reached")  # depends on releases only
        warnings.simplefilter("ignore", FewRowsWarning)  # depends on public facts only
        warnings.filterwarnings("ignore", "epsilon=", WeakPrivacyWarning)  # likewise
        try:
            return function()
        except ValueError:
            assert (budget.spent, budget.remaining) == before
            return None


def try_call(name, data, neighboring):
    budget = budget_of(neighboring, "person" if "groups" in data else "record")
    return paid_or_refused(lambda: call(name, data, neighboring), budget)


def check_refused(name, data, message):
    budget = budget_of("replace_one", "person" if "groups" in data else "record")
    before = budget.spent
    with pytest.raises(ValueError, match=message) as caught:
        call(name, data, "replace_one")
    assert "secret" not in str(caught.value)
    assert budget.spent == before


def first(n, data, *left_out):
    return {key: column[:n] for key, column in data.items() if key not in left_out}


def test_every_public_name_that_spends_is_covered():
    assert public_names().keys() == NAMES.keys() | {"make_private_pipeline"}
    assert NOT_ALONE.keys() <= {*skdp.pipeline.__all__, *metrics.__all__}


def optional_of(name):
    """Return the columns that a name can do without."""
    compares = {"by"} if name == "difference" else set()
    return {"by", "groups", "sample_weight"} & data_of(name).keys() - compares


def check_few_rows(name, neighboring, n, left_out):
    found = try_call(name, first(n, data_of(name), *left_out), neighboring)
    if neighboring == "add_remove_one":
        assert found is not None, "the number of rows is private"
        assert n or repr(found)
    elif n and name not in NEED_MANY:
        assert found is not None


@pytest.mark.parametrize("name", NAMES)
def test_few_rows(name):
    optional = optional_of(name)
    for n, left_out in [(0, optional), (0, set()), (1, optional), (3, optional & {"groups"})]:
        check_few_rows(name, "add_remove_one", n, left_out)
    for n, left_out in [(0, optional), (1, set()), (2, optional)]:
        check_few_rows(name, "replace_one", n, left_out)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_few_rows_with_any_arguments(name, neighboring):
    optional = sorted(optional_of(name))
    for n in range(4):
        for used in range(2 ** len(optional)):
            left_out = [key for j, key in enumerate(optional) if not used >> j & 1]
            check_few_rows(name, neighboring, n, left_out)


def judged_models():
    """Return a model of each kind that a search can score, with a release that it can cover."""
    kinds = {name: kind for name, kind in NAMES.items() if hasattr(kind, "predict")}
    left = {"DPKMeans", "DPCalibratedClassifier"}
    left |= {"DPConformalClassifier", "DPConformalRegressor"}  # not Gaussian DP
    names = [name for name in kinds if name not in left and not name.endswith("SearchCV")]
    return {name: kinds[name](**public_arguments(name)) for name in names}


MODELS = judged_models()
ALL_JUDGE = 1.0 - 1e-9  # all three rows judge, but for a probability of 3e-9
SEARCH_TERMS = {"neighboring": "add_remove_one", "holdout": ALL_JUDGE, "delta": 1e-5}


@pytest.mark.parametrize("name", MODELS)
def test_a_search_returns_where_no_row_is_left_to_learn_from(name):
    assert is_classifier(MODELS[name]) or is_regressor(MODELS[name])
    budget = budget_of("add_remove_one", "record")
    data = first(3, data_of(name), "groups", "sample_weight")
    search = DPGridSearchCV(MODELS[name], [{}, {}], budget=budget, **SEARCH_TERMS)
    found = paid_or_refused(lambda: search.fit(**data), budget)
    assert found.predict(data["X"]).shape == (3,)


@pytest.mark.parametrize(
    ("step", "method"),
    [
        (BoundsScaler(bounds=(-3.0, 3.0)), "all"),
        (BoundsScaler(bounds=(-3.0, 3.0)), "repeat"),
        (BoundsScaler(bounds=(-3.0, 3.0)), "cheapest"),
        (Normalizer(), "all"),
        ("passthrough", "repeat"),
        (None, "cheapest"),
    ],
)
def test_public_steps_need_no_row_to_learn_from(step, method):
    budget = budget_of("add_remove_one", "person")
    steps = Pipeline([("step", step), ("model", skdp.DPLogisticRegression(classes=[0, 1]))])
    cheap = {"delta": 0.0, "threshold": 0.0} if method == "cheapest" else {"delta": 1e-5}
    grid = (
        {"model__epsilon": [0.1, 0.2]} if method == "cheapest" else {"model__data_norm": [1.0, 2.0]}
    )
    if method == "cheapest":
        steps.set_params(model__solver="exponential_mechanism", model__C=1.0)
        steps.set_params(model__n_samples_hint=10)
    search = DPGridSearchCV(steps, grid, method=method, budget=budget, **SEARCH_TERMS | cheap)
    data = {key: PRIVATE[key][:2] for key in ("X", "y", "groups")}
    assert paid_or_refused(lambda: search.fit(**data), budget) is search


@pytest.mark.parametrize("row", range(4))
def test_a_missing_value_in_any_row_is_found_before_the_spend_of_a_search(row, neighboring):
    X = pd.DataFrame(PRIVATE["X"], columns=["a", "b"])
    X.loc[row, "b"] = np.nan
    filling = BoundsScaler(bounds=(-3.0, 3.0), missing="middle")
    steps = Pipeline([("step", filling), ("model", skdp.DPLogisticRegression(classes=[0, 1]))])
    budget = budget_of(neighboring, "record")
    terms = {"budget": budget, "neighboring": neighboring, "holdout": 0.5, "delta": 1e-5}
    search = DPGridSearchCV(steps, {"step": [filling, "passthrough"]}, **terms)
    assert paid_or_refused(lambda: search.fit(X, PRIVATE["y"]), budget) is None


def test_labels_of_a_list_have_one_type_in_all_fits_of_a_search(neighboring):
    budget = budget_of(neighboring, "record")
    model = skdp.DPLogisticRegression(classes=["0", "1", "a"])
    terms = {"budget": budget, "neighboring": neighboring, "holdout": 0.5, "delta": 1e-5}
    search = DPGridSearchCV(model, {"data_norm": [0.5, 2.0]}, **terms)
    for y in ([0, 1, 0, "a"], [0, 1, "a", 0], [0, "a", 1, 0], ["a", 0, 1, 0]):
        assert paid_or_refused(lambda: search.fit(PRIVATE["X"], y), budget) is None  # noqa: B023
    assert paid_or_refused(lambda: search.fit(PRIVATE["X"], ["0", "1", "0", "a"]), budget) is search


SAMPLED = [name for name, kind in SOLVERS.items() if kind.is_pure or kind().is_gaussian]


@pytest.mark.parametrize("name", SAMPLED)
def test_a_sample_that_is_most_likely_without_rows(name, neighboring):
    squares = name == "adassp"
    model = skdp.DPLinearRegression() if squares else skdp.DPLogisticRegression(classes=[0, 1])
    model.set_params(**({"target_bounds": (0.0, 1.0)} if squares else {}))
    persons = SOLVERS[name].takes_persons
    budget = budget_of(neighboring, "person" if persons else "record")
    terms = {"solver": name, "C": 1.0, "n_samples_hint": 5, "subsample": 0.01, "delta": 1e-5}
    terms["max_rows"] = 1 if persons else None
    model.set_params(neighboring=neighboring, budget=budget, **terms)
    data = {key: PRIVATE[key] for key in ["X", "y", "groups"][: 2 + persons]}
    assert paid_or_refused(lambda: model.fit(**data), budget) is model


def raising(*args):
    raise RuntimeError("secret")


def hostile(base, method):
    """Return an object that raises an error in one of its methods."""
    own = {"__hash__": base.__hash__} if method == "__eq__" else {}
    return type("Hostile", (base,), {method: raising, **own})()


HOSTILE = {
    f"{base.__name__}.{method}": hostile(base, method)
    for base, method in [
        *((object, name) for name in ("__eq__", "__hash__", "__float__", "__bool__", "__len__")),
        *((float, name) for name in ("__eq__", "__ne__", "__float__", "__hash__", "__lt__")),
        *((str, name) for name in ("__eq__", "__hash__", "__lt__")),
        *((int, name) for name in ("__hash__", "__int__", "__index__")),
    ]
}


def with_object(column, value, form):
    """Return a column of objects that ends with a value."""
    objects = np.asarray(column).astype(object)
    objects[(-1,) * objects.ndim] = value
    if form == "list":
        return objects.tolist()
    if form == "pandas":
        return pd.DataFrame(objects) if objects.ndim == 2 else pd.Series(objects)
    return objects


@pytest.mark.parametrize("name", NAMES)
def test_objects_that_raise_errors_are_refused_before_the_spend(name):
    data = data_of(name)
    for argument in data:
        for value, form in zip(HOSTILE.values(), cycle(("array", "list", "pandas")), strict=False):
            other = data | {argument: with_object(data[argument], value, form)}
            check_refused(name, other, "of a class with its own")


class Unreadable:
    """A table that looks like an array until it is read."""

    def __init__(self, values):
        self.shape, self.dtype, self.ndim = values.shape, values.dtype, values.ndim

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, rows):
        return self

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("secret")


@pytest.mark.parametrize("name", NAMES)
def test_tables_that_cannot_be_read_are_refused_before_the_spend(name):
    data = data_of(name)
    for argument in data:
        other = data | {argument: Unreadable(data[argument])}
        check_refused(name, other, "cannot be converted to an array")


class Readable(Unreadable):
    def __init__(self, values):
        super().__init__(values)
        self.values = values

    def __array__(self, dtype=None, copy=None):
        values, self.values = self.values, None  # so that the second read returns None
        return values


class Cursor:
    """Rows of a database by an iterator of another class."""

    def fetchone(self):
        return None


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_are_read_only_once_are_refused_before_the_spend(name):
    data = data_of(name)
    for column in data:
        for once in (iter(data[column]), Cursor()):
            check_refused(name, {**data, column: once}, "can be read only once")


def test_a_table_of_an_unknown_library_is_read_once():
    X, y = Readable(PRIVATE["X"]), Readable(PRIVATE["y"])
    assert skdp.DPGaussianNB(bounds=(-3.0, 3.0)).fit(X, y).classes_.tolist() == [0, 1]
    assert (
        skdp.statistics.mean(Readable(PRIVATE["x"]), epsilon=1e3, bounds=(-3.0, 3.0)).value < 99.0
    )


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Name(str):
    pass


@pytest.mark.parametrize(
    "values",
    [
        [Color.RED, Color.BLUE],
        [Name("a"), Name("b")],
        [Decimal(1), Decimal(2)],
        [date(2020, 1, 1), date(2020, 1, 2)],
        [object(), object()],
    ],
)
def test_plain_objects_are_groups_and_keys(values):
    column = np.empty(4, dtype=object)
    column[:2], column[2:] = values, values
    budget = PrivacyBudget(epsilon=9.0, delta=1e-5, unit="person")
    terms = {"bounds": (-3.0, 3.0), "by": column, "keys": values}
    skdp.statistics.mean(PRIVATE["x"], epsilon=1.0, groups=column, budget=budget, **terms)
    assert len(budget.history()) == 1


@pytest.mark.parametrize("chunks", [(0,), (0, 0), (0, 2, 0)])
def test_blocks_without_rows(chunks):
    X = da.concatenate([da.zeros((size, 2), chunks=(size, 2)) for size in chunks])
    y = da.concatenate([da.zeros(size, dtype=int, chunks=size) for size in chunks])
    for name in ("DPLogisticRegression", "DPMixedNB", "DPPCA", "mean", "dp_accuracy_score"):
        given = {"X": X, "x": X, "y": y, "y_true": y, "y_pred": y}
        data = {key: given[key] for key in data_of(name) if key in given}
        assert try_call(name, data, "add_remove_one") is not None
        try_call(name, data, "replace_one")


def test_objects_in_blocks_are_refused_before_the_spend():
    objects = with_object(CODES, HOSTILE["object.__hash__"], "array")
    X = da.from_array(objects, chunks=(2, 2))
    check_refused("marginals", {"x": X}, "of a class with its own")


@pytest.mark.parametrize("metric", [metrics.dp_accuracy_score, metrics.dp_log_loss])
def test_a_scorer_of_few_rows(metric):
    X, y = PRIVATE["X"], PRIVATE["y"]
    for neighboring in RELATIONS:
        budget = budget_of(neighboring, "record")
        terms = {"epsilon": 1.0, "delta": 1e-5, "neighboring": neighboring, "budget": budget}
        scorer = make_private_scorer(metric, **terms)
        for n in range(3):
            found = paid_or_refused(lambda: scorer(TRAINED, X[:n], y[:n]), budget)  # noqa: B023
            assert (found is None) == (n == 0 and neighboring == "replace_one")


def test_a_pipeline_of_few_rows(neighboring):
    scaler, model = DPStandardScaler(bounds=(-3.0, 3.0)), skdp.DPLogisticRegression(classes=[0, 1])
    for n in range(3):
        budget = PrivacyBudget(epsilon=2.0, delta=1e-5, neighboring=neighboring)
        pipeline = make_private_pipeline(
            scaler, model, epsilon=1.0, neighboring=neighboring, budget=budget
        )
        data = first(n, {"X": PRIVATE["X"], "y": PRIVATE["y"]})
        found = paid_or_refused(lambda: pipeline.fit(**data), budget)  # noqa: B023
        assert (found is None) == (n == 0 and neighboring == "replace_one")


TINY = {"denormal": np.float64(5e-324), "small": np.float64(1e-300)}
HUGE = {"beyond the range of floats": np.longdouble("1e4000")}


def with_number(column, value):
    """Return a column of numbers that ends with a value."""
    changed = np.asarray(column).astype(value.dtype)
    changed[(-1,) * changed.ndim] = value
    return changed


@pytest.mark.parametrize("name", NAMES)
def test_arithmetic_raises_nothing_and_warns_of_nothing(name):
    """`np.seterr` can make an error of each number that is too large or too small."""
    data = first(4, data_of(name), "groups")
    columns = data.keys() & {"X", "x", "sample_weight", "y_score", "y_prob", "y_true"}
    for argument in columns:
        for value in (TINY | HUGE).values():
            other = data | {argument: with_number(data[argument], value)}
            with np.errstate(all="raise"):
                try_call(name, other, "add_remove_one")
