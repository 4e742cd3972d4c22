"""A family of several numeric targets gets what the other families get."""

import inspect
import re
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from several_ridge import SeveralRidge, _products
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skdp import PrivacyBudget
from skdp.data.records import Records
from skdp.exceptions import InvalidDataError

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

PAGE = Path(__file__).parents[1] / "docs" / "extending" / "index.md"
RNG = np.random.default_rng(0)
N, D, K = 400, 2, 3
X = RNG.uniform(-1.0, 1.0, size=(N, D))
COEF = np.array([[1.0, -1.0, 0.5], [0.5, 0.0, -1.0]])
Y = X @ COEF + 0.1 * RNG.normal(size=(N, K))
BOX = {"bounds": (-1, 1), "target_bounds": (-2, 2)}
ACCURATE = SeveralRidge(**BOX, epsilon=1e6, alpha=1e-9, random_state=0)
FRAME, TARGETS = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(Y, columns=["p", "q", "r"])


def lazy(values, chunks=150):
    return da.from_array(values, chunks=(chunks, *(-1,) * (values.ndim - 1)))


def paid(**more):
    budget = PrivacyBudget(epsilon=2.0, delta=1e-5)
    return SeveralRidge(**BOX | more, budget=budget), budget


@pytest.fixture
def ridge_of_the_page(tmp_path, monkeypatch):
    """The class that a reader has who copies the code of the page into a file."""
    section = PAGE.read_text().partition("### A ridge of several targets")[2].partition("\n### ")[0]
    shown = re.findall(r"```\{literalinclude\} (\S+)\n:language: python\n```", section)
    code = "\n".join((PAGE.parent / path).read_text() for path in shown)
    (tmp_path / "copied_ridge.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "copied_ridge", raising=False)
    return import_module("copied_ridge").SeveralRidge


@pytest.mark.skipif(not PAGE.exists(), reason="needs a checkout")
def test_the_code_on_the_page_is_all_that_a_ridge_needs(ridge_of_the_page):
    budget = PrivacyBudget(epsilon=2.0, delta=1e-5)
    model = ridge_of_the_page(**BOX, budget=budget)
    with pytest.raises(ValueError, match=r"contains strings.*Nothing was spent"):
        clone(model).fit(X, Y.astype(str))
    with pytest.raises(InvalidDataError, match="alpha must be positive"):
        clone(model).set_params(alpha=-1.0).fit(X, Y)
    with pytest.raises(ValueError, match=r"target_bounds must be given.*Nothing was spent"):
        clone(model).set_params(target_bounds=None).fit(X, Y)
    with pytest.raises(ValueError, match="y must be given"):
        budget.price(model, (N, D))
    assert budget.history() == []
    cost = budget.price(model, (N, D), (N, K))
    assert model.fit(X, Y).predict(X).shape == (N, K)
    assert budget.spent.epsilon == pytest.approx(cost.epsilon)
    accurate = ridge_of_the_page(**BOX, epsilon=1e6, random_state=0)
    expected = clone(accurate).fit(X, Y)
    assert expected.score(X, Y) > 0.95
    np.testing.assert_array_equal(clone(accurate).fit(lazy(X), lazy(Y)).coef_, expected.coef_)


def test_the_family_says_nothing_of_storage():
    source = inspect.getsource(SeveralRidge) + inspect.getsource(_products)
    for word in ("is_collection", "Dask", "Blocks", "Persons", "price", "isnan", "ndim"):
        assert word not in source


def test_it_learns_what_a_ridge_learns():
    known = Ridge(1e-9).fit(X, Y).predict(X)
    np.testing.assert_allclose(ACCURATE.fit(X, Y).predict(X), known, atol=1e-3)
    assert ACCURATE.predict(lazy(X)).compute().shape == (N, K)


FORMS = {
    "lists": lambda: (X.tolist(), Y.tolist()),
    "frames": lambda: (FRAME, TARGETS),
    "polars": lambda: (pl.DataFrame(X), pl.DataFrame(Y)),
    "blocks": lambda: (lazy(X), lazy(Y)),
    "rows in blocks": lambda: (lazy(X), Y),
    "frames in blocks": lambda: [dd.from_pandas(one, npartitions=3) for one in (FRAME, TARGETS)],
}


@pytest.mark.parametrize("form", FORMS)
def test_targets_in_any_storage_give_the_same_bits(form):
    expected = clone(ACCURATE).fit(X, Y).coef_
    np.testing.assert_array_equal(clone(ACCURATE).fit(*FORMS[form]()).coef_, expected)


@pytest.mark.parametrize("y", [Y[:, 0], Y[:, :1]], ids=["one axis", "two axes"])
def test_one_target_is_a_table_of_one(y):
    expected = clone(ACCURATE).fit(X, Y[:, :1]).coef_
    assert expected.shape == (1 + D, 1)
    for data in [(X, y), (lazy(X), lazy(y))]:
        np.testing.assert_array_equal(clone(ACCURATE).fit(*data).coef_, expected)


class OneRidge(SeveralRidge):
    """The same for one target."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _check_data(self, parameters, X, y, **more):
        return super()._check_data(parameters, X, y, **more).mapped(_as_table)


def _as_table(records):
    return replace(records, y=records.y[:, None])


SHORT = Y[:-1]
INFINITE = np.where(np.arange(N)[:, None] == 7, np.inf, Y)
MISSING = np.where(np.arange(N)[:, None] == 7, np.nan, Y)
SECRET = Y.astype(object)
SECRET[333, -1] = "SECRET"
WRONG = {
    "strings": (Y.astype(str), "contains strings"),
    "one string": (SECRET, "contains strings"),
    "dates": (np.full(Y.shape, np.datetime64("2020-01-01")), "not numeric"),
    "complex": (Y.astype(complex), "not numeric"),
    "infinite": (INFINITE, "infinity"),
    "missing": (MISSING, "missing values"),
    "none": (None, "requires y to be passed"),
    "short": (SHORT, "rows|numbers of samples|same chunks"),
}


@pytest.mark.parametrize("where", [np.asarray, lazy], ids=["memory", "blocks"])
@pytest.mark.parametrize("family", [SeveralRidge, OneRidge])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_targets_cost_nothing(name, family, where, unspent):
    y, message = WRONG[name]
    y = y if y is None or family is SeveralRidge else y[:, -1]
    with pytest.raises((ValueError, TypeError), match=message) as error:
        family(**BOX, budget=unspent).fit(where(X), None if y is None else where(y))
    assert "Nothing was spent" in str(error.value)
    assert not {"SECRET", str(N)} & {*str(error.value).replace("'", " ").split()}


@pytest.mark.parametrize("where", [np.asarray, lazy], ids=["memory", "blocks"])
def test_several_targets_of_a_family_for_one_cost_nothing(where, unspent):
    with pytest.raises(ValueError, match=r"y should be a 1d array.*Nothing was spent"):
        OneRidge(**BOX, budget=unspent).fit(where(X), where(Y))


def test_blocks_with_other_numbers_of_targets_cost_nothing():
    narrow = lazy(Y, 200).map_blocks(_narrow_at_the_end, dtype=float)
    model, budget = paid()
    with pytest.raises(ValueError, match=r"In block 1 .* number of columns of y .*Nothing was"):
        model.fit(lazy(X, 200), narrow)
    assert budget.history() == []


def _narrow_at_the_end(block, block_info=None):
    return block[:, :2] if block_info and block_info[0]["chunk-location"][0] == 1 else block


@pytest.mark.parametrize("groups", [None, RNG.integers(0, 50, N)], ids=["rows", "persons"])
def test_chunks_have_the_targets_of_their_rows(groups):
    records = Records.of(SeveralRidge(), X, Y, groups=groups)
    rows, targets, steps = zip(*records.chunks(width=2**11), strict=True)
    assert len(rows) > 2
    np.testing.assert_array_equal(np.vstack(rows), X)
    np.testing.assert_array_equal(np.vstack(targets), Y)
    assert (steps[0] is None) == (groups is None)
    _, column, _ = next(Records.of(SeveralRidge(), X, [0.0] * N).chunks())
    assert column.shape == (N, 1)


class OfTheFamily(InvalidDataError):
    """An error of a family's own."""


def says(what, kind):
    def check(records):
        raise kind(what)

    return check


class Refusing(SeveralRidge):
    """It refuses data by an error of its own, or of NumPy."""

    check = None

    def _check_data(self, parameters, X, y, **more):
        records = Records.of(self, X, y, **more)
        records.check(type(self).check)
        return records


@pytest.mark.parametrize("where", [np.asarray, lazy], ids=["memory", "blocks"])
@pytest.mark.parametrize(
    ("kind", "passes"),
    [(InvalidDataError, True), (OfTheFamily, True), (ValueError, False), (TypeError, False)],
)
def test_own_errors_pass_by_their_type(kind, passes, where):
    class Own(Refusing):
        check = staticmethod(says("x must be even", kind))

    with pytest.raises(kind if passes else (ValueError, TypeError)) as error:
        Own(**BOX).fit(where(X), where(Y))
    assert ("x must be even" in str(error.value)) == passes


@pytest.mark.parametrize("where", [np.asarray, lazy], ids=["memory", "blocks"])
@pytest.mark.parametrize("read", [lambda _: float("SECRET"), lambda _: b"SECRET\xff".decode()])
def test_errors_of_others_show_no_value(read, where):
    class Own(Refusing):
        check = staticmethod(read)

    with pytest.raises(ValueError, match="data cannot be read") as error:
        Own(**BOX).fit(where(X), where(Y))
    assert "SECRET" not in str(error.value)


def test_a_price_is_that_of_the_targets():
    model, budget = paid(epsilon=0.3)
    for one in (model, GridSearchCV(model, {"alpha": [1, 2]}), make_pipeline(model)):
        for rows in ((N, D), X):
            with pytest.raises(ValueError, match="y must be given"):
                budget.price(one, rows)
    from_shape = budget.price(model, (N, D), (N, K))
    assert from_shape == budget.price(model, X, np.ones_like(Y))
    assert from_shape == budget.price(make_pipeline(model), (N, D), (N, K))
    model.fit(X, Y)
    assert budget.spent.epsilon == pytest.approx(from_shape.epsilon)
