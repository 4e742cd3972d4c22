"""The gate for user data: each reader's code, number or text of a row depends on that row alone.

A row that is read beside others must be read as it is alone, to the last bit, in every container.
Then no row changes how another one is read. A null must be missing for every reader.
"""

from collections import UserList, deque
from contextlib import suppress
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from containers import CONTAINERS
from kinds_of_columns import as_objects, table
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from skdp import PrivacyBudget, TableSchema, metrics, statistics
from skdp.additive import DPAdditiveRegressor
from skdp.data.column import equal_numbers, is_missing
from skdp.data.column_facts import categories_by_column, category_codes
from skdp.data.columns import Columns, values_of
from skdp.data.persons import Persons
from skdp.data.validation import classes_of, places_of, present
from skdp.decomposition import DPPCA
from skdp.density import DPTreeDensity
from skdp.features import AdditiveFeatures
from skdp.features.row_wise import _objects
from skdp.linear_model import DPLinearRegression
from skdp.naive_bayes import DPMixedNB
from skdp.preprocessing import BoundsScaler
from skdp.tabular import DPTabularRegressor

N = 5
BIG = 2**53
DATES = ("2000-01-01", "2030-01-01")
SCHEMAS = {
    "number": (0.0, 10.0),
    "logarithm": {"bounds": (0.0, 1e9), "scale": "log"},
    "integer": {"kind": "integer", "bounds": (0, BIG + 1)},
    "boolean": "boolean",
    "booleans": [True, False],
    "numbers": [0, 1, 3, BIG + 1],
    "strings": ["a", "True", "1", "2020-01-01"],
    "several kinds": ["a", 3, 0.5, True],
    "date": DATES,
    "parts": {"bounds": DATES, "parts": ["weekday", "month"]},
    "format": {"kind": "date", "bounds": DATES, "date_format": "%Y-%m-%d"},
    "words": {"kind": "text", "categories": ["a", "pain", "1"]},
    "text": {"kind": "text", "buckets": 8},
    "code": {"kind": "code", "buckets": 64},
    # With codes of missing values, a fill, and formats of cells.
    "number, filled": {
        "bounds": (0, 10),
        "missing_values": [3, "NA", 0.1],
        "fill": "7,5",
        "decimal": ",",
    },
    "number, thousands": {"bounds": (0, 1e9), "thousands": ",", "missing_values": ["1"]},
    "integer, affixes": {
        "kind": "integer",
        "bounds": (0, 9),
        "affixes": "any",
        "missing_values": [1],
    },
    "boolean, words": {"kind": "boolean", "true_values": ["a", 1], "false_values": ["None", 0]},
    "category, filled": {"categories": ["a", "1"], "missing_values": [3, ""], "fill": "a"},
    "date, filled": {"bounds": DATES, "missing_values": ["2020-01-01"], "fill": "2010-05-05"},
    "code, filled": {"kind": "code", "missing_values": [1, "a"], "fill": "b"},
    "words, filled": {"kind": "text", "categories": ["a", "pain"], "separator": ";", "fill": "a"},
}
ENCODINGS = {name: TableSchema({"x": given}).encoding(["x"]) for name, given in SCHEMAS.items()}
CATEGORIES = [
    [BIG, BIG + 1, 3, 1, 0],
    [0.5, 1.0, np.float32(0.1)],
    [True, False],
    ["a", "1", "b\0"],
    [b"a", b"1"],
    [np.datetime64("2020-01-01", "ns"), np.datetime64("1970-01-01", "D")],
    [np.datetime64("1970-01-01", "D")],
    [np.timedelta64(1, "as"), np.timedelta64(1, "D"), np.timedelta64(2, "Y")],
    [pd.Timestamp("2020-01-01"), pd.Timedelta(1, "D")],
    [pd.Timestamp("2020-01-01").date(), 1, "a"],
]
CATEGORIES = [categories_by_column({0: known}, 1, [])[0] for known in CATEGORIES]


def column_of(x):
    return Columns.of(x).parts[0]


def encoded(name, column):
    """Return the rows of a column under one of the schemas."""
    parts = ENCODINGS[name].table(Columns([column], ["x"], False)).parts
    return [*zip(*(part.source.tolist() for part in parts), strict=True)]


FILLED = {
    name: encoded(name, column_of([given["fill"]]))[0]
    for name, given in SCHEMAS.items()
    if name.endswith("filled")
}


def read(x):
    """Return what each reader of columns makes of each row, by the name of the reader."""
    column = column_of(x)
    found = {"values": [*column.values()], "floats": column.floats().tolist()}
    found |= {"truth": column.truth().tolist(), "missing": column.missing().tolist()}
    found["objects"] = _objects(column).tolist()
    for k, known in enumerate(CATEGORIES):
        found[f"categories {k}"] = category_codes(column, known).tolist()
    return found | {name: encoded(name, column) for name in ENCODINGS}


def some_places(container, rng, *, nulls=0.3):
    """Return places of values in the pool, and None for a null."""
    places = rng.integers(0, len(container.pool), N).tolist()
    return [None if container.nullable and rng.random() < nulls else i for i in places]


def values_at(container, places):
    return [None if place is None else container.pool[place] for place in places]


def some_values(container, rng, **more):
    return values_at(container, some_places(container, rng, **more))


class Shown:
    """A value, equal to others of its type that are written like it."""

    def __init__(self, value):
        self.value, self.key = value, (type(value), repr(value))

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return self.key == other.key


@cache
def read_alone(make, shown):
    """Return what each reader reads from a value alone. Several lists have the same values."""
    return read(make([shown.value]))


def check_rows(name, rng):
    """Check that each row is read as it is alone, and that nulls are missing."""
    container = CONTAINERS[name]
    places = some_places(container, rng)
    values = values_at(container, places)
    together = read(container.make(values))
    for i, place in enumerate(places):
        alone = read_alone(container.make, Shown(values[i]))
        for reader, rows in together.items():
            assert shown(rows[i]) == shown(alone[reader][0]), (name, reader, values, i)
        if place is None:
            check_missing(name, {reader: rows[i] for reader, rows in together.items()})


def shown(found):
    try:
        return repr(found)
    except NotImplementedError:  # pandas shows no moment after the year 9999
        return found.to_datetime64()


def check_missing(name, row):
    """Check that no reader finds anything in a row, or what a schema states instead."""
    assert row.pop("missing") is True, name
    assert row.pop("truth") is False, name
    for reader, found in row.items():
        if reader.startswith("categories"):
            assert found == -1, (name, reader)
        elif reader.endswith("filled"):
            assert found == FILLED[reader], (name, reader, found)
        else:
            entries = found if isinstance(found, tuple) else [found]
            assert all(map(is_missing, entries)), (name, reader, found)


def check_partition(name, rng):
    """Check that no row changes which other rows are of one person or have one label."""
    container = CONTAINERS[name]
    values = some_values(container, rng, nulls=0.0)
    changed = [*values[:-1], container.pool[int(rng.integers(len(container.pool)))]]
    same = [persons_and_labels(container.make(one)) for one in (values, changed)]
    for first, second in zip(*same, strict=True):
        assert first is None or second is None or np.array_equal(first, second), (name, values)


def persons_and_labels(x):
    """Return for each pair of rows but the last if they are equal, None if an error is raised."""
    try:
        codes = Persons.of(x, N).codes[:-1]
        persons = codes[:, None] == codes
    except ValueError:  # of missing or unhashable values
        persons = None
    labels = equal_numbers(values_of(x).array.reshape(N, -1)[:, 0]).tolist()[:-1]
    return persons, [[are_equal(a, b) for a in labels] for b in labels]


def are_equal(a, b):
    try:
        return bool(a == b)
    except Exception:  # as of days and years
        return False


@pytest.mark.parametrize("part", range(8))
def test_a_row_is_read_as_it_is_alone(part):
    for name in [*CONTAINERS][part::8]:
        check_rows(name, np.random.default_rng())


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_a_row_is_read_as_it_is_alone_whatever_the_others_are(part):
    for name in [*CONTAINERS][part::16]:
        for _ in range(5):
            check_rows(name, np.random.default_rng())


def test_no_row_changes_which_others_are_alike():
    for name in CONTAINERS:
        check_partition(name, np.random.default_rng())


ATTOSECONDS = {"W": 604800 * 10**18, "D": 86400 * 10**18, "h": 3600 * 10**18, "m": 60 * 10**18}
ATTOSECONDS |= {
    unit: 10 ** (18 - 3 * k) for k, unit in enumerate(["s", "ms", "us", "ns", "ps", "fs", "as"])
}


@pytest.mark.parametrize("kind", "mM")
@pytest.mark.parametrize("unit", ATTOSECONDS)
def test_a_time_is_a_category_of_the_same_time_in_any_unit(kind, unit):
    """NumPy wraps around, or raises an error for the constant between the units."""
    numbers = [0, 1, -1, 7, 86400, 604800, 10**9, 10**18, 3 * 10**12, 2**62, -(2**62), 2**63 - 1]
    for other, size in ATTOSECONDS.items():
        known = np.array(numbers).astype(f"{kind}8[{other}]")
        exact = [Fraction(number * size, ATTOSECONDS[unit]) for number in numbers]
        held = {
            int(x): code for code, x in enumerate(exact) if x.denominator == 1 and abs(x) < 2**63
        }
        rows = np.array([*held, *numbers])
        codes = category_codes(rows.astype(f"{kind}8[{unit}]"), known).tolist()
        assert codes == [held.get(row, -1) for row in rows.tolist()], other


CLASSES = [1, BIG, BIG + 1, BIG + 3, BIG + 4]
HOLDERS = {
    "list": list,
    "beside a float": lambda labels: [*labels[:-1], float(labels[-1])],
    "beside a boolean": lambda labels: [*labels[:-1], True],
    "beside a fraction": lambda labels: [*labels[:-1], Fraction(labels[-1])],
    "objects": as_objects,
    "int64": partial(np.array, dtype=np.int64),
    "uint64": partial(np.array, dtype=np.uint64),
    "floats": partial(np.array, dtype=float),
    "Int64": partial(pd.Series, dtype="Int64"),
    "polars": pl.Series,
    "Arrow": pa.array,
}
"""Containers of labels; the last label is 1."""


@pytest.mark.parametrize("name", HOLDERS)
def test_labels_equal_classes_as_in_python(name):
    """The common type of NumPy for integers and floats, or of two signs, rounds beyond 2^53."""
    rng = np.random.default_rng()
    labels = [*rng.choice([1, BIG, BIG + 4], 30).tolist(), 1]  # a float holds them
    held = HOLDERS[name](labels)
    codes = [CLASSES.index(label) for label in labels]
    for kind in (np.int64, np.uint64, object):
        known = np.array(CLASSES, kind)
        read = present("y", held)
        assert places_of(read, classes_of("x", read, known)).tolist() == codes
        with pytest.raises(ValueError, match="outside"):
            classes_of("x", read, known[[0, 2, 3]])
    guess = [*rng.choice(CLASSES, 30).tolist(), 1]
    right = np.mean([a == b for a, b in zip(labels, guess, strict=True)])
    counts = np.zeros((5, 5))
    np.add.at(counts, (codes, [CLASSES.index(one) for one in guess]), 1)
    terms = {"epsilon": 1e6, "random_state": 0}
    for other in set(HOLDERS) - {"floats"}:
        pair = held, HOLDERS[other](guess)
        report = metrics.confusion_report(*pair, classes=CLASSES, **terms)
        assert np.array_equal(np.rint(report.counts), counts), other
        report = metrics.confusion_report(*pair[::-1], classes=CLASSES, **terms)
        assert np.array_equal(np.rint(report.counts), counts.T), other
        score = metrics.dp_accuracy_score(*pair, **terms).value
        assert score == pytest.approx(right, abs=1e-3), other
        with pytest.raises(ValueError, match="outside"):
            metrics.confusion_report(held, pair[1], classes=[1, BIG + 1, BIG + 3], **terms)


PLAIN = np.linspace(-1.0, 1.0, 3 * N)
LABELS = np.resize([0, 1], 3 * N)
TEXTS = ("words", "text", "words, filled")
LISTS = (list, tuple, deque, UserList)
NESTED = (list, tuple, np.ndarray)


def table_of(x):
    """Return a table with a column and a column of numbers, and the names of both."""
    if isinstance(x, (pd.Series, pl.Series, pa.Array, pa.ChunkedArray)):
        return table(x), ("x", "z")
    pairs = zip(x, PLAIN[: len(x)].tolist(), strict=True)
    rows = [[value[0] if isinstance(value, NESTED) else value, z] for value, z in pairs]
    return rows if isinstance(x, LISTS) else np.array(rows, object), (0, 1)


def described(tool):
    def run(X, schema):
        return tool(X, epsilon=1.0, delta=0.0, random_state=0, **schema).value

    return run


def fitted(model, method="predict"):
    def run(X, schema):
        one = model(random_state=0, epsilon=5.0, **schema).fit(X, LABELS)
        return getattr(one, method)(X)

    return run


def transformed(model):
    return lambda X, schema: model(**schema).fit(X).transform(X)


def with_features(X, schema):
    features = AdditiveFeatures(**schema)
    return (
        DPLinearRegression(features=features, target_bounds=(0, 1), random_state=0)
        .fit(X, LABELS)
        .predict(X)
    )


def of_numbers(tool, **more):
    return lambda X, schema: tool(X, epsilon=1.0, random_state=0, **schema, **more).value


ANY = [name for name in SCHEMAS if name not in TEXTS]
NUMBERS = ["number", "logarithm", "integer", "boolean", "date", "format"]
READERS = {
    "describe": (ANY, described(partial(statistics.describe, quantiles=[]))),
    "density": (ANY, fitted(DPTreeDensity, "score_samples")),
    "naive Bayes": (ANY, fitted(DPMixedNB, "predict_proba")),
    "additive": ([*SCHEMAS], fitted(partial(DPAdditiveRegressor, target_bounds=(0, 1)))),
    "tabular": ([*SCHEMAS], fitted(partial(DPTabularRegressor, target_bounds=(0, 1)))),
    "linear": ([*SCHEMAS], with_features),
    "features": ([*SCHEMAS], transformed(AdditiveFeatures)),
    "mean": (NUMBERS, of_numbers(statistics.mean)),
    "quantile": (NUMBERS, of_numbers(statistics.quantile, q=0.5)),
    "components": (NUMBERS, fitted(DPPCA, "transform")),
    "scaler": (NUMBERS, transformed(partial(BoundsScaler, missing="indicator"))),
}


def check_reader(reader, name, rng):
    """Check that a reader's result is that for the values that are read one by one."""
    kinds, run = READERS[reader]
    container, kind = CONTAINERS[name], kinds[int(rng.integers(len(kinds)))]
    values = [value for value in some_values(container, rng) for _ in range(3)]
    alone = [next(column_of(container.make([value])).values()) for value in values]
    found = []
    for x in (container.make(values), pd.Series(as_objects(alone), dtype=object)):
        X, (first, second) = table_of(x)
        schema = TableSchema({first: SCHEMAS[kind], second: (-1.0, 1.0)})
        found.append(run(X, {"bounds": schema}))
    assert np.array_equal(*found, equal_nan=True), (reader, kind, name, values)


@pytest.mark.filterwarnings("ignore::skdp.exceptions.FewRowsWarning")
@pytest.mark.parametrize("reader", READERS)
def test_readers_of_some_containers(reader):
    rng = np.random.default_rng()
    for name in rng.choice([*CONTAINERS], 12):
        check_reader(reader, str(name), rng)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skdp.exceptions.FewRowsWarning")
@pytest.mark.parametrize("reader", READERS)
def test_readers_of_all_containers(reader):
    for name in CONTAINERS:
        check_reader(reader, name, np.random.default_rng())


def check_once_paid(name, rng):
    """Check that nothing raises an error after the spend."""
    x = CONTAINERS[name].make(some_values(CONTAINERS[name], rng))
    known = CATEGORIES[int(rng.integers(len(CATEGORIES)))].tolist()
    terms = {"epsilon": 1.0, "budget": PrivacyBudget(epsilon=9.0, delta=1e-5)}
    for call in (
        lambda: statistics.marginals(x, categories=known, **terms),
        lambda: statistics.count(np.ones(N, bool), by=x, keys=known, **terms),
        lambda: metrics.dp_accuracy_score(x, CATEGORIES[5][[0, 1, 0, 1, 0]], **terms),
        lambda: statistics.mean(np.ones(N), bounds=(0, 2), groups=x, **terms),
    ):
        n_paid = len(terms["budget"].history())
        with suppress(TypeError, ValueError):  # of wrong types, before the spend
            call()
            n_paid += 1
        assert len(terms["budget"].history()) == n_paid, name


def test_nothing_raises_once_paid():
    for name in np.random.default_rng().choice([*CONTAINERS], 60):
        check_once_paid(str(name), np.random.default_rng())


def test_what_python_cannot_hold_raises_no_error_once_paid():
    names = [name for name in CONTAINERS if name.endswith("beyond Python")]
    assert len(names) > 40
    for name in names:
        check_once_paid(name, np.random.default_rng())


@pytest.mark.parametrize("huge", [10**400, -(10**400), Fraction(10**400, 3)], ids=type)
def test_numbers_beyond_floats_raise_no_error_once_paid(huge):
    X, y = as_objects([0.5, huge, 1.0, 0.0]).reshape(-1, 1), [0, 1, 0, 1]
    budget = PrivacyBudget(epsilon=9.0, delta=1e-5)
    model = DPLinearRegression(target_bounds=(0, 1), budget=budget, max_weight=1.0)
    imputer = SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)
    encoder = OneHotEncoder(categories=[[0.0, 1.0]], handle_unknown="ignore")
    for features in (imputer, encoder):
        model.set_params(features=features).fit(X, y)
    assert len(budget.history()) == 2
    with pytest.raises(ValueError, match="sample_weight must hold numbers"):
        model.fit(np.zeros((4, 1)), y, sample_weight=X[:, 0])
    assert len(budget.history()) == 2


@pytest.mark.slow
def test_nothing_raises_once_paid_in_any_container():
    for name in CONTAINERS:
        check_once_paid(name, np.random.default_rng())


def test_the_containers_are_many():
    assert len(CONTAINERS) > 700
