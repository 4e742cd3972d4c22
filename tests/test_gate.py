"""The gate for user data: the value of a row depends on that row and on the type of its column.

A column of objects is converted value by value. Every other container has to give the same result
to the last bit, whichever of its values are null: then a null changes no other row.
"""

import ast
import re
from pathlib import Path

import hypothesis.strategies as some
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from kinds_of_columns import BIG, KINDS, VALUES, OnlyArray, as_objects, table
from sklearn.base import BaseEstimator

import skdp
from skdp import PrivacyBudget, metrics, statistics
from skdp.additive import DPAdditiveClassifier
from skdp.calibration import DPCalibratedClassifier
from skdp.cluster import DPKMeans
from skdp.data.column import Column
from skdp.decomposition import DPPCA
from skdp.density import DPTreeNB
from skdp.ensemble import DPRandomForestClassifier
from skdp.features import AdditiveFeatures, RandomFourierFeatures, RandomTreeFeatures
from skdp.linear_model import DPLinearRegression, DPLogisticRegression
from skdp.model_selection import DPGridSearchCV
from skdp.naive_bayes import DPCategoricalNB, DPMixedNB
from skdp.preprocessing import BoundsScaler, DPMinMaxScaler, DPStandardScaler, RowClipper
from skdp.tabular import DPTabularClassifier

ROOT = Path(skdp.__file__).parent
N = 14
HARD = (
    "Int64",
    "Arrow dictionaries",
    "integers, polars",
    "polars Categorical",
    "variable length",
    "integers, protocol",
)
EVERY = pytest.param(tuple(KINDS), id="every kind", marks=pytest.mark.slow)
SOME = pytest.param(tuple(n for n in KINDS if any(h in n for h in HARD)), id="the hard kinds")


def values_of(kind, rng, *, nulls):
    """Return random values of a kind, some of them null."""
    values = [VALUES[kind.holds][i] for i in rng.integers(0, len(VALUES[kind.holds]), N)]
    chosen = rng.random(N) < (0.3 if nulls else 0.0)
    return [None if null else value for value, null in zip(values, chosen, strict=True)]


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=4, deadline=None)
@given(seed=some.integers(0, 2**32))
def test_a_null_changes_no_other_value(name, seed):
    kind, rng = KINDS[name], np.random.default_rng(seed)
    values = values_of(kind, rng, nulls=kind.nullable)
    column = Column.of(kind.make(values))
    read, missing = column.read(), column.missing()
    assert missing.tolist() == [value is None for value in values]
    found = [v for v, gone in zip(read.array.tolist(), missing, strict=True) if not gone]
    expected = [value for value in values if value is not None]
    assert [(type(v), repr(v)) for v in found] == [(type(v), repr(v)) for v in expected]
    parts = [column[:5], column[5:]]
    joined = [v for part in parts for v in part.read().array[~part.missing()].tolist()]
    assert repr(joined) == repr(found)
    if kind.nullable and not name.endswith(("list", "objects")):
        assert Column.of(kind.make([None] * 3 + values)).dtype == column.dtype


SEEDED = {"random_state": 0, "delta": 0.0}
BOUNDS = (-1.0, 1.0)
LABELS = np.resize([0, 1], N)
PLAIN = np.linspace(-1.0, 1.0, N)


def fitted(model, *data):
    """Return all numbers that a fitted estimator publishes."""
    if model.budget is None:
        model.set_params(random_state=0)
    model.fit(*data)
    released = {k: v for k, v in vars(model).items() if k.endswith("_")}
    return [v for v in released.values() if isinstance(v, np.ndarray) and v.dtype.kind in "fiu"]


def transformed(model, column):
    features = model.fit(table(column)).transform(table(column))
    return features.toarray() if hasattr(features, "toarray") else features


def statistic(release, reads=lambda x: x, **more):
    """Return a function of a column, and of the kind of its values, that releases a statistic."""

    def read(x, held=None):
        given = {k: v(held) if callable(v) else v for k, v in more.items()}
        found = release(reads(x), **{"epsilon": 1.0} | given | SEEDED).value
        return found["x",] if release is statistics.marginals else found

    return read


def by_column(release, **more):
    """Return a function that groups plain numbers by a column."""

    def read(x, held):
        return release(PLAIN > 0.0, by=x, keys=VALUES[held], **more, **SEEDED).value

    return read


def model_of(Model, **more):
    return lambda x, held: fitted(Model(**told(held), **more), table(x), LABELS)


def features_of(Model, **more):
    return lambda x, held: transformed(Model(**told(held), **more), x)


def categories(held):
    return {"x": VALUES[held]}


def told(held):
    return {"bounds": {"z": BOUNDS}, "categories": categories(held)}


OF_CATEGORIES = {
    "marginals": statistic(statistics.marginals, table, categories=categories),
    "describe": statistic(statistics.describe, table, bounds={"z": BOUNDS}, categories=categories),
    "by": by_column(statistics.count, epsilon=1.0),
    "groups to compare": by_column(statistics.difference, epsilon=9.0),
    "two columns of keys": lambda x, held: (
        statistics.count(
            PLAIN > 0.0, epsilon=1.0, by=[x, LABELS], keys=[VALUES[held], [0, 1]], **SEEDED
        ).value
    ),
    "keys of a table": statistic(
        statistics.quantile, table, q=0.5, bounds=BOUNDS, by="x", keys=VALUES.get
    ),
    "categorical naive Bayes": lambda x, held: fitted(
        DPCategoricalNB(categories={"x": VALUES[held], "z": [0.5]}), table(x), LABELS
    ),
    "mixed naive Bayes": model_of(DPMixedNB),
    "additive model": model_of(DPAdditiveClassifier),
    "tabular model": model_of(DPTabularClassifier),
    "forest": model_of(DPRandomForestClassifier, n_trees=4),
    "additive features": features_of(AdditiveFeatures),
    "Fourier features": features_of(RandomFourierFeatures, n_components=8),
    "tree features": features_of(RandomTreeFeatures, n_trees=4),
}
OF_NUMBERS = {
    "mean": statistic(statistics.mean, bounds=BOUNDS),
    "sum": statistic(statistics.sum, bounds=BOUNDS),
    "variance": statistic(statistics.variance, bounds=BOUNDS),
    "covariance": statistic(statistics.covariance, table, bounds=BOUNDS),
    "histogram": statistic(statistics.histogram, edges=[-1, 0, 0.3, 1]),
    "survival_curve": statistic(
        statistics.survival_curve, event=LABELS, epsilon=9.0, edges=[-1, 0, 0.3]
    ),
    "quantile": statistic(statistics.quantile, q=0.5, bounds=BOUNDS),
    "additive model": lambda x: fitted(DPAdditiveClassifier(bounds=BOUNDS), table(x), LABELS),
    "mixed naive Bayes": lambda x: fitted(DPMixedNB(bounds=BOUNDS), table(x), LABELS),
    "tree naive Bayes": lambda x: (
        DPTreeNB(bounds=BOUNDS, random_state=0).fit(table(x), LABELS).predict_proba(table(PLAIN))
    ),
    "BoundsScaler": lambda x: transformed(BoundsScaler(bounds=BOUNDS, missing="indicator"), x),
    "DPStandardScaler": lambda x: transformed(DPStandardScaler(bounds=BOUNDS, random_state=0), x),
    "DPMinMaxScaler": lambda x: transformed(DPMinMaxScaler(bounds=BOUNDS, random_state=0), x),
    "DPPCA": lambda x: transformed(DPPCA(bounds=BOUNDS, random_state=0), x),
    "DPKMeans": lambda x: fitted(DPKMeans(n_clusters=2, bounds=BOUNDS), table(x)),
}
ANY_LABEL = ("string", "integer", "boolean")
ANY_NUMBER = ("float", "integer", "boolean")


def as_y(Model, **more):
    """Return a function that fits a classifier to plain rows and these labels."""
    return lambda x, known, terms: fitted(Model(classes=known, **more, **terms), PLAIN[:, None], x)


def beside_y(*places, **more):
    """Return a function that fits a model with a column in the places after y."""

    def read(x, known, terms):
        data = (PLAIN[:, None], LABELS, *places, x)
        return fitted(DPLogisticRegression(**more, **terms), *data)

    return read


PRESENT = {  # readers that raise an error for missing values, each with the kinds of its values
    "X of a linear model": (
        ANY_NUMBER,
        lambda x, known, terms: fitted(DPLogisticRegression(**terms), table(x), LABELS),
    ),
    "y of a regressor": (
        ANY_NUMBER,
        lambda x, known, terms: fitted(
            DPLinearRegression(target_bounds=BOUNDS, **terms), PLAIN[:, None], x
        ),
    ),
    "y of a classifier": (ANY_LABEL, as_y(DPLogisticRegression)),
    "y of naive Bayes": (ANY_LABEL, as_y(DPMixedNB, bounds=BOUNDS)),
    "y of an additive model": (ANY_LABEL, as_y(DPAdditiveClassifier, bounds=BOUNDS)),
    "sample_weight": (ANY_NUMBER, beside_y(max_weight=1.0)),
    "groups": (ANY_LABEL, beside_y(None)),
    "groups of a statistic": (
        ANY_LABEL,
        lambda x, known, terms: (
            statistics.mean(PLAIN, epsilon=1.0, bounds=BOUNDS, groups=x, **terms).value
        ),
    ),
    "y_true": (
        ANY_LABEL,
        lambda x, known, terms: (
            metrics.confusion_report(
                x, np.resize(known, N), epsilon=1.0, classes=known, **terms
            ).counts
        ),
    ),
    "y_pred": (
        ANY_LABEL,
        lambda x, known, terms: (
            metrics.dp_accuracy_score(np.resize(known, N), x, epsilon=1.0, **terms).value
        ),
    ),
    "y_score": (
        ANY_NUMBER,
        lambda x, known, terms: (
            metrics.score_report(
                LABELS, x, epsilon=1.0, edges=[-1.0, 0.0, 0.3, 1.0], **terms
            ).counts
        ),
    ),
    "y of a search": (
        ANY_LABEL,
        lambda x, known, terms: fitted(
            DPGridSearchCV(
                DPLogisticRegression(classes=known), {"C": [0.1, 1.0]}, epsilon=1.0, **terms
            ),
            PLAIN[:, None],
            x,
        ),
    ),
    "y of a calibrator": (
        ANY_LABEL,
        lambda x, known, terms: fitted(
            DPCalibratedClassifier(_Fixed(known), epsilon=100.0, **terms), PLAIN[:, None], x
        ),
    ),
}


class _Fixed(BaseEstimator):
    """A classifier of another library; its probabilities depend on the number of a row."""

    def __init__(self, known):
        self.known = known

    @property
    def classes_(self):
        return np.array(self.known)

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, X):
        shares = np.resize(np.array([0.2, 0.9]), len(X))
        return np.stack([shares] * len(self.classes_), axis=1) / len(self.classes_)


def same(found, expected):
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return np.array_equal(np.asarray(found), np.asarray(expected), equal_nan=True)


@pytest.mark.parametrize("kinds", [SOME, EVERY])
@pytest.mark.parametrize("reader", OF_CATEGORIES)
def test_readers_of_categories(reader, kinds):
    read = OF_CATEGORIES[reader]
    for name in kinds:
        kind = KINDS[name]
        values = values_of(kind, np.random.default_rng(), nulls=kind.nullable)
        expected = read(as_objects(values), kind.holds)
        assert same(read(kind.make(values), kind.holds), expected), (name, values)


@pytest.mark.parametrize("kinds", [SOME, EVERY])
@pytest.mark.parametrize("reader", OF_NUMBERS)
def test_readers_of_numbers(reader, kinds):
    read = OF_NUMBERS[reader]
    for name in (one for one in kinds if KINDS[one].holds != "string"):
        kind = KINDS[name]
        values = values_of(kind, np.random.default_rng(), nulls=kind.nullable)
        assert same(read(kind.make(values)), read(as_objects(values))), (name, values)


@pytest.mark.parametrize("kinds", [SOME, EVERY])
@pytest.mark.parametrize("reader", PRESENT)
def test_readers_that_take_no_nulls(reader, kinds, unspent):
    held, read = PRESENT[reader]
    rng, seed = np.random.default_rng(), {"random_state": 0}
    for name in (one for one in kinds if KINDS[one].holds in held):
        kind = KINDS[name]
        known = sorted(VALUES[kind.holds])[:2]
        values = [known[i] for i in rng.permutation(np.resize([0, 1], N))]
        expected = read(as_objects(values), known, seed)
        assert same(read(kind.make(values), known, seed), expected), (name, values)
        if kind.nullable:
            values[int(rng.integers(N))] = None
            with pytest.raises(ValueError, match="missing"):
                read(kind.make(values), known, {"budget": unspent})


OF_BLOCKS = {
    "marginals": statistic(statistics.marginals, categories=categories),
    "keys": statistic(statistics.mean, bounds=BOUNDS, by="x", keys=VALUES.get),
    "mixed naive Bayes": lambda table, held: fitted(DPMixedNB(**told(held)), table, labels(table)),
    "additive model": lambda table, held: fitted(
        DPAdditiveClassifier(solver="noisy_gd", **told(held)), table, labels(table)
    ),
}


def labels(table):
    """Return labels, in the blocks of a table if it has any."""
    return (table["z"] > 0.0).astype(int)


@pytest.mark.parametrize("reader", OF_BLOCKS)
def test_blocks_may_have_types_of_their_own(reader):
    dd = pytest.importorskip("dask.dataframe")
    for name in (
        "integers, pandas Int64",
        "strings, pandas categorical",
        "integers, pandas of Arrow",
    ):
        kind, rng = KINDS[name], np.random.default_rng()
        values = values_of(kind, rng, nulls=True)
        lazy = dd.from_pandas(table(kind.make(values)), npartitions=3)
        found = OF_BLOCKS[reader](lazy, kind.holds)
        expected = OF_BLOCKS[reader](table(as_objects(values)), kind.holds)
        assert same(found, expected), (name, values)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: statistics.mean(x[:, 0], bounds=BOUNDS, epsilon=1.0),
        lambda x: DPLogisticRegression().fit(x, LABELS),
        lambda x: DPLogisticRegression().fit(PLAIN[:, None], x[:, 0]),
        lambda x: BoundsScaler(bounds=BOUNDS).fit(x),
        lambda x: RowClipper().fit(x),
        lambda x: DPMixedNB(bounds=BOUNDS).fit(x, LABELS),
        lambda x: metrics.dp_mean_absolute_error(PLAIN, x[:, 0], epsilon=1.0, target_bounds=BOUNDS),
    ],
)
def test_masked_arrays_raise(call):
    with pytest.raises(ValueError, match="masked arrays are not supported"):
        call(np.ma.masked_less(np.ones((N, 1)) * PLAIN[:, None], 0.0))


@pytest.mark.parametrize("values", [[2**60 + 1, 2**60], [1.5, 2.5], ["a", "b"]], ids=repr)
def test_the_advice_about_masked_arrays_gives_missing_values(values):
    x = np.ma.array(values, mask=[False, True])
    with pytest.raises(ValueError, match=r"np\.ma\.getmaskarray") as error:
        statistics.marginals(x, epsilon=1.0, categories=values)
    advice = re.search(r"np\.where.*(?=\.$)", str(error.value))[0]
    assert eval(advice).tolist() == [values[0], None]


class Masked(np.ndarray):
    """An array with a mask of another library, as Astropy's."""

    mask = False


@pytest.mark.parametrize(
    "hide", [OnlyArray, list, lambda x: x.view(Masked)], ids=["protocol", "list", "other library"]
)
def test_masked_arrays_raise_in_other_containers(hide):
    masked = hide(np.ma.masked_less(np.ones((N, 2)) * PLAIN[:, None], 0.0))
    with pytest.raises(ValueError, match="masked arrays are not supported"):
        statistics.mean(masked, epsilon=1.0, bounds=BOUNDS)
    with pytest.raises(ValueError, match="masked arrays are not supported"):
        DPLogisticRegression().fit(masked, LABELS)


OF_X = {
    "linear model": lambda X, budget: DPLogisticRegression(budget=budget).fit(X, LABELS),
    "DPPCA": lambda X, budget: DPPCA(bounds=BOUNDS, budget=budget).fit(X),
    "DPKMeans": lambda X, budget: DPKMeans(epsilon=2, bounds=BOUNDS, budget=budget).fit(X),
    "DPStandardScaler": lambda X, budget: DPStandardScaler(bounds=BOUNDS, budget=budget).fit(X),
    "BoundsScaler": lambda X, budget: BoundsScaler(
        bounds=BOUNDS, missing="indicator"
    ).fit_transform(X),
    "additive model": lambda X, budget: DPAdditiveClassifier(bounds=BOUNDS, budget=budget).fit(
        X, LABELS
    ),
    "mean": lambda X, budget: statistics.mean(X, epsilon=1.0, bounds=BOUNDS, budget=budget),
}


@pytest.mark.parametrize("times", ["M8[D]", "m8[D]"])
@pytest.mark.parametrize("reader", OF_X)
def test_times_are_no_numbers(reader, times, unspent):
    """NumPy's integer for NaT is the least one: a null would become a number."""
    X = np.arange(2 * N).astype(times).reshape(N, 2)
    X[3] = "NaT"
    for array in (X, as_objects(list(X.ravel())).reshape(X.shape)):
        with pytest.raises(TypeError, match="is not numeric"):
            OF_X[reader](array, unspent)


@pytest.mark.skipif(np.dtype("g").itemsize == 8, reason="no floats of more than 64 bits")
@pytest.mark.parametrize("reader", [name for name in OF_X if name != "linear model"])
def test_a_float_beyond_64_bits_gives_no_warning(reader):
    X = np.ones((N, 2), "g")
    X[3] = np.longdouble("1e400")
    for container in (X, pd.DataFrame(X), pd.DataFrame(X).astype(pd.SparseDtype("g", 1.0))):
        OF_X[reader](container, PrivacyBudget(epsilon=100.0, delta=1e-4))


@pytest.mark.parametrize("reader", [name for name in PRESENT if name.startswith(("y of", "y_"))])
def test_labels_keep_all_bits(reader):
    held, read = PRESENT[reader]
    if "integer" not in held or reader == "y of a regressor":
        pytest.skip("reads numbers, not labels")
    known, seed = [BIG, BIG + 1], {"random_state": 0}
    labels = np.resize(known, N)
    assert same(read(labels.astype(np.uint64), known, seed), read(labels, known, seed))


def test_structured_arrays_raise():
    rows = np.zeros(N, "i4,f4")
    for call in (
        lambda: statistics.marginals(rows, epsilon=1.0, categories=[0]),
        lambda: metrics.dp_accuracy_score(LABELS, rows, epsilon=1.0),
    ):
        with pytest.raises(ValueError, match="structured arrays are not supported"):
            call()


def test_complex_weights_raise():
    with pytest.raises(ValueError, match="Complex data not supported"):
        DPLogisticRegression(max_weight=1.0).fit(PLAIN[:, None], LABELS, np.full(N, 0.5 + 7j))


def test_units_without_a_common_one_are_unequal():
    """Days are no years: in columns of objects this depends on single values."""
    years = np.array([1, 2], "m8[Y]")
    for column in (as_objects([np.timedelta64(1, "D"), *[1] * N]), np.arange(3).astype("m8[D]")):
        statistics.marginals(column, epsilon=1.0, categories=years)


def test_rows_of_a_list_may_have_nulls():
    row = pd.Series([1, None], dtype="Int64")
    found = Column.of([row, row]).read().array
    assert found[0, 0] == 1
    assert Column.of(found[:, 1]).missing().all()


def test_labels_that_cannot_be_compared_raise_before_the_spend(unspent):
    with pytest.raises(ValueError, match="labels that can be compared"):
        metrics.dp_accuracy_score(
            np.ones(N, "m8[D]"), np.ones(N, "m8[Y]"), epsilon=1.0, budget=unspent
        )


CONVERSIONS = {"asarray", "array", "asanyarray", "ascontiguousarray", "check_array", "column_or_1d"}
METHODS = {"to_numpy", "to_list", "to_pylist"}
GATE = {"data/column.py", "data/column_facts.py", "data/columns.py", "data/validation.py"}
FOLDERS = {"accounting", "privacy", "mechanisms", "samplers", "losses", "budget", "auditing"}
FOLDERS |= {"ledger"}  # no user data
EXCEPTIONS = {
    "data/blocks.py": "checksums; blocks of several types become objects, each value by itself",
    "data/persons.py": "numbers the persons of an array without nulls by equality",
    "data/encoding.py": "floats that a column has read",
    "density/_counts.py": "categories that were released",
    "design/memory.py": "features that are numbers",
    "features/row_wise.py": "features that a transformer has made of single values",
    "metrics/_evaluation.py": "public classes",
    "pipeline/_known_estimators.py": "synthetic rows",
    "preprocessing/public_scalers.py": "names of columns",
    "research/draw_samples.py": "public data",
    "statistics/_bounded_rows.py": "numbers that were clipped",
}
USER_DATA = {
    "X", "x", "y", "by", "groups", "sample_weight", "weights", "truth", "guess", "score", "column",
    "part", "block.X", "block.y", "block.sample_weight", "self.source", "condition", "judges.y",
    "records.X", "records.y", "records.weights", "pairs.X", "pairs.y",
}  # fmt: skip
TYPES_OF_USER_DATA = ("MatrixLike", "VectorLike", "Column", "Values")


def root_of(node):
    """Return the name of the variable that an expression is a part or a method of."""
    while not isinstance(node, ast.Name):
        node = getattr(node, "func", getattr(node, "value", None))
        if node is None:
            return ""
    return node.id


def user_data_of(function):
    """Return the names of the parameters of a function that are user data by their type."""
    known = [*function.args.args, *function.args.kwonlyargs]
    typed = {one.arg: ast.unparse(one.annotation) for one in known if one.annotation}
    return {name for name, kind in typed.items() if any(t in kind for t in TYPES_OF_USER_DATA)}


def converted(tree):
    """Yield the calls that convert to NumPy, with the expression that they convert."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in CONVERSIONS and node.args:
            yield node, node.args[0]
        elif name in METHODS:
            yield node, node.func.value


def is_to_objects(call):
    name, more = getattr(call.func, "attr", ""), [*call.args, *(one.value for one in call.keywords)]
    return name == "astype" and any(ast.unparse(one) in ("object", "'O'") for one in more)


def readings(tree):
    """Yield the lines that read user data without `Column`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("array", "nulls"):
            found = [node] if root_of(node.value) not in ("np", "pa", "pd") else []
        elif isinstance(node, ast.Call):
            found = [node] if is_to_objects(node) else []
        elif isinstance(node, ast.FunctionDef) and (names := user_data_of(node)):
            found = [call for call, x in converted(node) if root_of(x) in names]
        else:
            continue
        yield from (f"{one.lineno}: {ast.unparse(one)}" for one in found)
    for call, x in converted(tree):
        if ast.unparse(x) in USER_DATA:
            yield f"{call.lineno}: {ast.unparse(call)}"


def test_no_other_file_converts_user_data():
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        if name not in GATE | EXCEPTIONS.keys() and not FOLDERS & {*name.split("/")}:
            found = [*readings(ast.parse(path.read_text()))]
            assert not found, f"{name}: user data is converted by skdp.data.column alone: {found}"


@pytest.mark.parametrize(
    "code",
    [
        "values.astype(object)",
        "values.astype('O')",
        "part.read().array",
        "values, nulls = read.array, read.nulls",
        "def f(labels: VectorLike): return np.asarray(labels)",
        "def f(*, labels: VectorLike | None): return np.array(labels[3].x, dtype=float)",
        "def f(table: MatrixLike): return table.iloc[:, 0].to_numpy()",
        "np.asarray(records.y)",
    ],
)
def test_the_check_finds_conversions(code):
    assert [*readings(ast.parse(code))]
    assert not [*readings(ast.parse("np.array(edges) + np.asarray(self.classes)"))]
