"""Messages and warnings depend on public facts alone.

Every public reader of private columns is called with wrong columns of two data sets that differ in
the number of rows and in every value. Both calls must raise the same error and the same warnings.
These must show neither a number of rows nor a value. Under ``add_remove_one`` the number of rows is
private.
"""

import importlib
import inspect
import re
import traceback
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import skdp
from skdp import DPGaussianNB, DPLinearRegression, DPLogisticRegression, PrivacyBudget
from skdp._private_fit import PaidWarning
from skdp.exceptions import BudgetExceededError
from skdp.features import AdditiveFeatures, RandomFourierFeatures
from skdp.model_selection import DPGridSearchCV
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import DPStandardScaler

N, FEW, D = 211, 23, 3  # prime, so that neither is the product of public numbers
RELATION = "add_remove_one"
COLUMNS = ("X", "y", "sample_weight", "groups", "x", "condition", "by", "y_true", "y_pred")
COLUMNS += ("time", "event", "treated")
COLUMNS += ("y_score", "y_prob")

# Public parameters by name, given where a reader has them.
PUBLIC = {
    "bounds": (-1.0, 1.0),
    "target_bounds": (-1.0, 1.0),
    "classes": [0, 1],
    "max_weight": 1.0,
    "keys": [0, 1, 2],
    "edges": [-1.0, 0.0, 1.0],
    "q": 0.5,
    "neighboring": RELATION,
    "delta": 1e-5,
    "n_steps": 2,
    "sampling_rate": 1.0,
    "n_iter": 2,
    "n_trees": 5,
    "n_components": 2,
    "quantiles": (0.1, 0.9),
}
PARTS = {
    "additive": AdditiveFeatures(bounds=(-1.0, 1.0)),
    "random": RandomFourierFeatures(bounds=(-1.0, 1.0), n_components=2),
}
OF_ONE = {
    "DPPoissonRegressor": {"target_bounds": (0.0, 1.0)},
    "FeatureMixture": PARTS,
    "DPCategoricalNB": {"categories": [0.0, 1.0]},
    "histogram": {"edges": D * [[-1.0, 0.0, 1.0]]},
    "describe": {"quantiles": (0.5,), "level": None},
    "marginals": {"categories": {0: [0.0, 1.0]}},
    "score_report": {"edges": [0.0, 0.5, 1.0]},
    "one_vs_rest_report": {"edges": [0.0, 0.5, 1.0]},
    "dp_roc_auc_score": {"edges": [0.0, 0.5, 1.0]},
    "dp_average_precision_score": {"edges": [0.0, 0.5, 1.0]},
}
# Modules whose callables take no private columns, each with the reason.
WITHOUT_RECORDS = {
    "accounting": "costs",
    "auditing": "made-up or public canaries",
    "budget": "ledgers",
    "exceptions": "errors",
    "inspection": "released models",
    "losses": "formulas",
    "mechanisms": "answers, after the spend",
    "privacy": "guarantees",
    "samplers": "densities, after the spend",
    "solvers": "designs, after the spend",
    "workloads": "answers, after the spend",
}


# -- two data sets --------------------------------------------------------------------------------


class Data:
    """Good columns of one of the data sets, by name."""

    def __init__(self, n, seed, d=D):
        rng = np.random.default_rng(seed)
        self.n = n
        self.X = rng.uniform(-1.0, 1.0, (n, d))
        self.codes = rng.integers(0, 3, n)
        self.labels = rng.permutation(np.arange(n) % 2)
        self.score = rng.uniform(0.0, 1.0, n)
        self.target = rng.uniform(-1.0, 1.0, n)
        self.secret = f"secret-{seed}-{n}"
        self.far = 1e200 * (1.0 + seed)
        self.day = np.datetime64("2020-01-01") + 7 * seed

    def good(self, name, kind):
        if name in ("X", "x"):
            return self.X
        if name == "condition":
            return self.X > 0.0
        if name == "time":
            return self.target
        if name in ("by", "groups"):
            return self.codes
        if name == "sample_weight":
            return np.abs(self.target)
        if kind == "numbers":
            return self.target
        if kind == "shares" and name == "y_score":
            return np.column_stack([1.0 - self.score, self.score])
        return self.score if name in ("y_score", "y_prob") else self.labels


ONE, OTHER = TWO = Data(N, 1), Data(FEW, 2)


class HostileEqual:
    """A value that cannot be compared."""

    def __init__(self, secret):
        self.secret = secret

    def __eq__(self, other):
        raise RuntimeError(f"no comparison of {self.secret}")

    __hash__ = object.__hash__


class HostileHash:
    """A value that cannot be hashed."""

    def __init__(self, secret):
        self.secret = secret

    def __hash__(self):
        raise RuntimeError(f"no hash of {self.secret}")


def with_cell(column, value, data, dtype=object):
    changed = np.array(column, dtype=dtype)
    changed.reshape(data.n, -1)[data.n // 2, 0] = value
    return changed


def frame(column, names=None):
    values = np.asarray(column)
    if values.ndim == 1:
        values = values[:, None]
    return pd.DataFrame(values, columns=names or [f"c{j}" for j in range(values.shape[1])])


def ragged(column):
    rows = [np.atleast_1d(row).tolist() for row in column]
    return [*rows[:-1], [*rows[-1], 0.5]]


# Each function turns a good column into a wrong one. If a reader accepts it, then it must accept it
# for both data sets.
WRONG = {
    "as it is": lambda c, s: c,
    "3-D": lambda c, s: np.asarray(c, dtype=float).reshape(s.n, -1, 1),
    "3-D list": lambda c, s: np.asarray(c, dtype=float).reshape(s.n, -1, 1).tolist(),
    "4-D": lambda c, s: np.asarray(c, dtype=float).reshape(s.n, -1, 1, 1),
    "0-D": lambda c, s: np.float64(np.ravel(c)[0]),
    "1-D": lambda c, s: np.asarray(c).reshape(s.n, -1)[:, 0],
    "1 column": lambda c, s: np.asarray(c).reshape(s.n, -1)[:, :1],
    "2 columns": lambda c, s: np.column_stack([np.asarray(c).reshape(s.n, -1)[:, 0]] * 2),
    "one row less": lambda c, s: c[:-1],
    "one row more": lambda c, s: np.concatenate([c, c[:1]]),
    "complex": lambda c, s: np.asarray(c) + 1j * s.n,
    "text": lambda c, s: np.asarray(c).astype(str),
    "text in a cell": lambda c, s: with_cell(c, s.secret, s),
    "bytes in a cell": lambda c, s: with_cell(c, s.secret.encode(), s),
    "a list in a cell": lambda c, s: with_cell(c, [s.secret, s.n], s),
    "a dict in a cell": lambda c, s: with_cell(c, {s.secret: s.n}, s),
    "ragged": lambda c, s: ragged(c),
    "dict": lambda c, s: {"a": c},
    "set": lambda c, s: {s.secret, s.n},
    "str": lambda c, s: "a name",
    "bytes": lambda c, s: b"a name",
    "None in a cell": lambda c, s: with_cell(c, None, s),
    "NA in a cell": lambda c, s: with_cell(c, pd.NA, s),
    "NaN": lambda c, s: with_cell(c, np.nan, s, float),
    "infinity": lambda c, s: with_cell(c, np.inf, s, float),
    "huge": lambda c, s: with_cell(c, s.far, s, float),
    "a huge integer": lambda c, s: with_cell(c, 10 ** (400 + s.n), s),
    "many values": lambda c, s: np.arange(np.size(c)).reshape(np.shape(c)) / np.size(c) + s.n,
    "many integers": lambda c, s: np.arange(np.size(c)).reshape(np.shape(c)) + s.n,
    "one value": lambda c, s: np.full(np.shape(c), 0.25 + s.n),
    "dates": lambda c, s: np.full(np.shape(c), s.day),
    "csr": lambda c, s: sparse.csr_array(np.asarray(c, dtype=float).reshape(s.n, -1)),
    "coo": lambda c, s: sparse.coo_matrix(np.asarray(c, dtype=float).reshape(s.n, -1)),
    "dia": lambda c, s: sparse.dia_matrix(np.asarray(c, dtype=float).reshape(s.n, -1)),
    "sparse complex": lambda c, s: sparse.csr_array(np.reshape(c, (s.n, -1)) * 1j),
    "masked": lambda c, s: np.ma.array(c, mask=np.arange(np.size(c)).reshape(np.shape(c)) == 0),
    "structured": lambda c, s: np.zeros(s.n, dtype=[("a", float), ("b", "U9")]),
    "frame": lambda c, s: frame(c),
    "frame of text": lambda c, s: frame(with_cell(c, s.secret, s)),
    "names twice": lambda c, s: frame(c, names=["a"] * np.reshape(c, (s.n, -1)).shape[1]),
    "names of two types": lambda c, s: frame(np.c_[c, c], [0, *"abcde"][: np.c_[c, c].shape[1]]),
    "frame less a row": lambda c, s: frame(c).iloc[:-1],
    "series": lambda c, s: pd.Series(list(np.asarray(c).reshape(s.n, -1)[:, 0])),
    "series of arrays": lambda c, s: pd.Series(list(np.asarray(c).reshape(s.n, -1))),
    "categorical": lambda c, s: pd.Series(np.reshape(c, (s.n, -1))[:, 0], dtype="category"),
    "no comparison": lambda c, s: with_cell(c, HostileEqual(s.secret), s),
    "no hash": lambda c, s: with_cell(c, HostileHash(s.secret), s),
    "an object": lambda c, s: HostileEqual(s.secret),
    "a generator": lambda c, s: (row for row in c),
    "a function": lambda c, s: lambda: s.secret,
}  # fmt: skip


# -- all readers ----------------------------------------------------------------------------------


def parameters_of(callable_, name, budget):
    known = inspect.signature(callable_).parameters
    given = {**PUBLIC, **OF_ONE.get(name, {}), "budget": budget, "epsilon": 1.0}
    return {key: value for key, value in given.items() if key in known}


def public_names(module):
    room = importlib.import_module(f"skdp.{module}")
    return {name: getattr(room, name) for name in room.__all__}


def is_estimator(kind):
    return inspect.isclass(kind) and issubclass(kind, BaseEstimator)


def made(kind, budget):
    """Return an estimator with public parameters, the inner ones of meta-estimators included."""
    name = kind.__name__
    more = parameters_of(kind, name, budget)
    if "estimator" in inspect.signature(kind).parameters:
        inner = DPLogisticRegression(classes=[0, 1], neighboring=RELATION)
        more["estimator"] = inner
        if name == "DPConformalRegressor":
            more["estimator"] = DPLinearRegression(neighboring=RELATION)
        if name == "DPCalibratedClassifier":
            more["estimator"] = FrozenEstimator(inner.set_params(random_state=0).fit(*PUBLIC_ROWS))
    for key in ("param_grid", "param_distributions"):
        if key in inspect.signature(kind).parameters:
            more[key] = {"data_norm": [0.5, 1.0]}
    return kind(**more)


PUBLIC_ROWS = (Data(40, 3).X, Data(40, 3).labels)


def released_by(kind):
    def read(budget, **columns):
        model = made(kind, budget)
        known = inspect.signature(model.fit).parameters
        return model.fit(**{name: column for name, column in columns.items() if name in known})

    return read


def kinds():
    """Return every public estimator by name; pipelines are made by `make_private_pipeline`."""
    rooms = [one for one in skdp.__all__ if hasattr(getattr(skdp, one), "__all__")]
    found = {}
    for module in rooms:
        if module not in WITHOUT_RECORDS:
            found |= {name: one for name, one in public_names(module).items() if is_estimator(one)}
    del found["PrivatePipeline"], found["AutoFeatures"]  # which has no fit
    return found


KINDS = kinds()


def of_estimators():
    for name, kind in KINDS.items():
        fit = inspect.signature(kind.fit).parameters
        is_numbers = "target_bounds" in inspect.signature(kind).parameters
        names = [one for one in COLUMNS if one in fit]
        yield name, released_by(kind), names, "numbers" if is_numbers else "labels"


def of_functions():
    for module in ("statistics", "metrics"):
        for name, function in public_names(module).items():
            known = [*inspect.signature(function).parameters]
            names = [one for one in COLUMNS if one in known]
            if inspect.isfunction(function) and names:
                kind = "numbers" if "target_bounds" in known else "labels"
                kind = "shares" if name == "one_vs_rest_report" else kind
                yield name, called(function, name), names, kind


def called(function, name):
    def read(budget, **columns):
        given = parameters_of(function, name, budget)
        if "by" not in columns:
            given.pop("keys", None)
        return function(**columns, **given)

    return read


def of_pipelines():
    def read(budget, X, y):
        """Use a budget of its own: a pipeline checks the budget before it reads anything."""
        own = PrivacyBudget(epsilon=1.0, delta=1e-5, neighboring=RELATION)
        steps = DPStandardScaler(bounds=(-1, 1)), DPGaussianNB(bounds=(-1, 1), classes=[0, 1])
        try:
            make_private_pipeline(*steps, neighboring=RELATION, budget=own).fit(X, y)
        except Exception:
            assert own.history() == []
            raise

    def score(budget, X, y):
        metric = skdp.metrics.dp_accuracy_score
        model = DPGaussianNB(bounds=(-1, 1), random_state=0).fit(*PUBLIC_ROWS)
        terms = {"epsilon": 1.0, "delta": 1e-5, "neighboring": RELATION, "budget": budget}
        terms |= {"classes": [0, 1]}
        return skdp.metrics.make_private_scorer(metric, **terms)(model, X, y)

    def normalized(budget, X, y):
        model = DPGaussianNB(bounds=(-1, 1), classes=[0, 1])
        terms = {"neighboring": RELATION, "budget": budget, "delta": 1e-5}
        make_private_pipeline(Normalizer(), model, **terms).fit(X, y)

    def searched(budget, X, y):
        steps = make_pipeline(Normalizer(), DPLogisticRegression(classes=[0, 1]))
        terms = {"neighboring": RELATION, "budget": budget, "delta": 1e-5}
        DPGridSearchCV(steps, {"normalizer__norm": ["l1", "l2"]}, **terms).fit(X, y)

    def featured(features, budget, X, y):
        terms = {"neighboring": RELATION, "budget": budget, "delta": 1e-5, "classes": [0, 1]}
        DPLogisticRegression(features=features, **terms).fit(X, y)

    yield "model of features", partial(featured, PARTS["additive"]), ["X", "y"], "labels"
    hidden = make_pipeline(Normalizer())
    yield "model of features of scikit-learn", partial(featured, hidden), ["X", "y"], "labels"
    yield "make_private_pipeline", read, ["X", "y"], "labels"
    yield "pipeline with a step of scikit-learn", normalized, ["X", "y"], "labels"
    yield "search with a step of scikit-learn", searched, ["X", "y"], "labels"
    yield "make_private_scorer", score, ["X", "y"], "labels"


READERS = {name: rest for name, *rest in (*of_estimators(), *of_functions(), *of_pipelines())}


OPTIONAL = ("sample_weight", "groups", "by")
COMPARES = ("difference",)
"""Functions that need groups to compare."""
PAIRS = [(name, column) for name, (_, names, _) in READERS.items() for column in names]
UNITS = ("record", "person")
EVERY = 29  # the fast suite tries one in 29 changes for each pair; all pairs together try all
NUMBERS = re.compile(rf"(?<!\d)({N - 1}|{N}|{N + 1}|{N * D})(?!\d)")


def words_of(name, column, change, data, budget):
    """Return all messages and warnings when one column is wrong, and the error."""
    read, names, kind = READERS[name]
    optional = {*OPTIONAL} - ({"by"} if name in COMPARES else set())
    needed = [one for one in names if one not in optional or one == column]
    columns = {one: data.good(one, kind) for one in needed}
    columns[column] = wrong(change, columns[column], data)
    return said_by(read, budget=budget, **columns)


def wrong(change, column, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of conversions that are made here
        return WRONG[change](column, data)


def said_by(read, **given):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            read(**given)
            raised = None
        except Exception as error:
            raised = error
    # noise decides whether a fit warns of what it released
    free = [one.message for one in warned if not isinstance(one.message, PaidWarning)]
    said = {f"{type(message).__name__}: {message}" for message in free}
    return [*sorted(said), *shown(raised)], raised


def shown(error):
    """Return the text of the traceback of an error and its causes."""
    one = error and traceback.TracebackException.from_exception(error)
    lines = []
    while one is not None:
        lines += one.format_exception_only()
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    return lines


def assert_public(name, column, change, budget):
    before = len(budget.history())
    (words, raised), (others, _) = (words_of(name, column, change, data, budget) for data in TWO)
    assert words == others, change
    text = "".join(words)
    assert "secret" not in text, change
    assert not NUMBERS.search(text), change
    if raised is not None and not isinstance(raised, BudgetExceededError):
        assert len(budget.history()) == before, change


@pytest.fixture(scope="module")
def empty():
    """Budgets that admit no release: only the checks run."""
    return {
        unit: PrivacyBudget(epsilon=1e-6, delta=1e-5, neighboring=RELATION, unit=unit)
        for unit in UNITS
    }


def unit_of(column):
    return "person" if column == "groups" else "record"


def test_every_module_is_read_or_has_a_reason():
    assert {*WITHOUT_RECORDS} < {*skdp.__all__}
    assert len(READERS) > 45
    assert all(names for _, names, _ in READERS.values())


@pytest.mark.parametrize("name", READERS)
def test_good_columns_pass_all_checks(name, empty):
    """Otherwise an error could have another reason than the wrong column."""
    _, names, _ = READERS[name]
    needed = [one for one in names if one not in OPTIONAL]
    _, raised = words_of(name, needed[0], "as it is", ONE, empty["record"])
    assert raised is None or isinstance(raised, BudgetExceededError)


@pytest.mark.parametrize(("name", "column"), PAIRS)
def test_words_depend_on_public_facts(name, column, empty):
    first = PAIRS.index((name, column)) % EVERY
    for change in [*WRONG][first::EVERY]:
        assert_public(name, column, change, empty[unit_of(column)])


@pytest.mark.parametrize("name", [name for name in READERS if "scikit-learn" in name])
def test_words_of_steps_of_other_libraries_depend_on_public_facts(name, empty):
    for change in WRONG:
        assert_public(name, "X", change, empty["record"])


def test_warnings_of_models_of_other_libraries_are_not_passed_on():
    """A model that is judged may warn of private rows."""

    class Warns(BaseEstimator):
        classes_ = np.array([0, 1])

        def predict(self, X):
            warnings.warn(f"{len(X)} rows", stacklevel=1)
            return np.zeros(len(X), dtype=int)

    terms = {"epsilon": 1.0, "classes": [0, 1], "neighboring": RELATION}
    scorer = skdp.metrics.make_private_scorer(skdp.metrics.dp_accuracy_score, **terms)
    assert said_by(scorer, estimator=Warns(), X=ONE.X, y=ONE.labels) == ([], None)


def test_errors_do_not_keep_those_that_they_replace():
    """Tools that collect errors may read those that a traceback does not show."""
    y = with_cell(ONE.labels, ONE.secret, ONE)
    for X, labels in [(with_cell(ONE.X, ONE.secret, ONE), ONE.labels), (ONE.X, y)]:
        with pytest.raises(ValueError, match=r"strings|Unknown label") as caught:
            DPLogisticRegression(neighboring=RELATION).fit(X, labels)
        assert (caught.value.__context__, caught.value.__cause__) == (None, None)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:delta=0.5 of the budget is large")
@pytest.mark.parametrize(("name", "column"), PAIRS)
def test_words_of_releases_depend_on_public_facts(name, column):
    """All changes, with a budget that admits the releases that pass the checks."""
    unit = unit_of(column)
    budget = PrivacyBudget(
        epsilon=1e4, delta=0.5, neighboring=RELATION, composition="basic", unit=unit
    )
    for change in WRONG:
        assert_public(name, column, change, budget)


def test_a_warning_is_no_test_of_the_number_of_rows(empty):
    """scikit-learn warns of labels if more than half of them differ."""
    for n in (30, N):
        model = DPGaussianNB(bounds=(-1, 1), neighboring=RELATION, budget=empty["record"])
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with pytest.raises(BudgetExceededError):
                model.fit(np.zeros((n, 1)), np.arange(n) % 25)
        assert warned == []


METHODS = ("predict", "predict_proba", "decision_function", "transform")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS.values()])
def test_words_of_fitted_models_depend_on_public_facts(kind):
    public = Data(40, 3)
    numbers = "numbers" if "target_bounds" in inspect.signature(kind).parameters else "labels"
    model = made(kind, None).fit((public.X > 0).astype(float), public.good("y", numbers))
    for method in METHODS:
        if not hasattr(model, method):
            continue
        for change in WRONG:
            of_two = (wrong(change, data.X, data) for data in TWO)
            words = [said_by(getattr(model, method), X=X)[0] for X in of_two]
            assert words[0] == words[1], (method, change)
