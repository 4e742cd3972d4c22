"""Synthetic rows are rows of their schema: a program for the real table runs on them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from skdp import DPTreeDensity, DPTreeNB, TableSchema
from skdp.data.validation import encoded

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.FewRowsWarning")

N = 3000
KINDS = {
    "number": (-1.5, 2.5),
    "amount": {"bounds": (0, 1000), "scale": "log"},
    "few": {"kind": "integer", "bounds": (-2.5, 9)},
    "many": {"kind": "integer", "bounds": (-50, 1000)},
    "skewed": {"kind": "integer", "bounds": (0, 100_000), "scale": "log"},
    "boolean": "boolean",
    "text": ["01", "b", "1"],
    "level": [1, 2, 30],
    "mixed": ["a", 2, True, 0.5],
    "grade": {"kind": "ordinal", "categories": ["low", "mid", "top"]},
    "score": {"kind": "ordinal", "categories": [3, 1, 2]},
    "day": {"bounds": ("2023-01-01", "2024-12-31"), "parts": ["month", "weekday"]},
    "week": {"bounds": ("2024-02-26", "2024-03-05"), "parts": ["weekday"]},
    "moment": {"bounds": ("2024-01-01T08:00", "2024-01-03T20:00"), "parts": ["weekday"]},
    "written": {"bounds": ("2020-01-01", "2020-12-31"), "date_format": "%d.%m.%Y"},
    "code": {"kind": "code", "buckets": 16},
    "person": "id",
    "note": "ignored",
}


def schema_of(missing=True):
    columns = {
        name: {"missing": missing} | (one if isinstance(one, dict) else _dict(one))
        for name, one in KINDS.items()
    }
    return TableSchema(columns, source="made up", unit="record")


def _dict(short):
    names = {str: "kind", list: "categories", tuple: "bounds"}
    return {names[type(short)]: short}


def real(n=1500, seed=0, gaps=0.1):
    """Return rows of all kinds, some of which are related, with gaps."""
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 731, n)
    seconds = rng.integers(0, 60 * 3600, n)
    day = np.datetime64("2023-01-01") + days
    written = [f"{1 + d % 28:02}.{1 + d % 12:02}.2020" for d in days]
    columns = {
        "number": rng.uniform(-1.5, 2.5, n),
        "amount": np.minimum(rng.lognormal(2, 1, n), 1000),
        "few": np.minimum(rng.poisson(1.5, n), 9) - 2,
        "many": rng.integers(-50, 1001, n),
        "skewed": np.minimum(rng.lognormal(3, 3, n), 1e5).astype(int),
        "boolean": days > 400,
        "text": np.array(["01", "b", "1"])[days % 3],
        "level": np.array([1, 2, 30])[days % 3],
        "mixed": np.array(["a", 2, True, 0.5], dtype=object)[days % 4],
        "grade": np.array(["low", "mid", "top"])[days % 3],
        "score": np.array([1, 2, 3])[days % 3],
        "day": day,
        "week": np.datetime64("2024-02-26") + days % 9,
        "moment": np.datetime64("2024-01-01T08:00:00") + seconds,
        "written": np.array(written),
        "code": np.array([f"0{d % 40}" for d in days]),
        "person": np.arange(n),
        "note": np.array(["x"] * n),
    }
    frame = pd.DataFrame(columns)
    for name in frame:
        if gaps and name not in ("person", "note"):
            frame[name] = frame[name].astype(object).mask(rng.random(n) < gaps)
    return frame.infer_objects()


def as_polars(frame):
    columns = {name: frame[name].astype(object).where(frame[name].notna(), None) for name in frame}
    columns["mixed"] = columns["mixed"].map(lambda value: None if value is None else str(value))
    return pl.DataFrame({name: pl.Series(list(one), strict=False) for name, one in columns.items()})


def as_array(frame):
    return frame.astype(object).where(frame.notna(), None).to_numpy()


CONTAINERS = {"pandas": lambda frame: frame, "polars": as_polars, "array": as_array}


def schema_for(container, **more):
    schema = schema_of(**more)
    if container == "array":
        schema = TableSchema(dict(enumerate(schema.columns.values())), unit="record")
    return schema


def column_of(rows, container, name):
    """Return the values of a column that are not missing, as a series."""
    if container == "array":
        rows = pd.DataFrame(rows, columns=list(KINDS))
    found = pd.Series(rows[name].to_list() if container == "polars" else rows[name])
    return found.dropna()


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("epsilon", [1.0, 20.0])
@pytest.mark.filterwarnings("ignore::skdp.exceptions.WeakPrivacyWarning")
def test_a_sample_loses_nothing_if_its_schema_reads_it(container, epsilon, monkeypatch):
    drawn = []
    decode = DPTreeDensity._as_table

    def watched(self, codes, rng):
        drawn.append(codes)
        return decode(self, codes, rng)

    monkeypatch.setattr(DPTreeDensity, "_as_table", watched)
    schema = schema_for(container)
    model = DPTreeDensity(epsilon=epsilon, bounds=schema, random_state=0)
    rows = model.fit(CONTAINERS[container](real(600))).sample(400, random_state=0)
    levels = model._released_.levels
    names = [str(name) for name in levels.facts.names]
    codes = levels.codes(encoded(model, rows))
    for j, name in enumerate(names):
        if not name.endswith(("_month", "_weekday")):
            assert (codes[:, j] == drawn[0][:, j]).all(), name
    assert np.isfinite(model.score_samples(rows)).all()
    again = DPTreeDensity(bounds=schema, random_state=0).fit(rows)
    assert again.sample(5).shape == (5, len(KINDS))


@pytest.mark.parametrize("container", CONTAINERS)
def test_values_have_the_types_of_their_kinds(container):
    model = DPTreeDensity(epsilon=3.0, bounds=schema_for(container), random_state=0)
    rows = model.fit(CONTAINERS[container](real())).sample(2000, random_state=0)
    of = {name: column_of(rows, container, name) for name in KINDS}
    for name in ("few", "many", "skewed"):
        assert (of[name] == of[name].astype(int)).all()
    assert of["few"].between(-2, 9).all()
    assert of["skewed"].between(0, 100_000).all()
    assert {*of["boolean"].map(type)} <= {bool, np.bool_}
    assert {*of["text"]} == {"01", "b", "1"}
    assert {*of["level"]} == {1, 2, 30}
    assert {*map(str, of["mixed"])} == {"a", "2", "True", "0.5"}
    assert pd.to_datetime(of["day"]).between("2023-01-01", "2024-12-31").all()
    assert (pd.to_datetime(of["day"]).dt.normalize() == pd.to_datetime(of["day"])).all()
    assert pd.to_datetime(of["moment"]).between("2024-01-01T08:00", "2024-01-03T20:00").all()
    assert of["person"].nunique() == 2000
    assert of["note"].empty


def test_ordinal_columns_keep_their_order():
    frame, schema = real(), schema_of()
    sample = DPTreeDensity(bounds=schema, epsilon=5.0, random_state=0).fit(frame).sample(50)
    assert sample["grade"].cat.ordered
    assert sample["grade"].cat.categories.to_list() == ["low", "mid", "top"]
    assert sample["score"].cat.categories.to_list() == [3, 1, 2]
    model = DPTreeDensity(bounds=schema, epsilon=5.0, random_state=0).fit(as_polars(frame))
    assert model.sample(50)["grade"].dtype == pl.Enum(["low", "mid", "top"])


def test_integers_and_dates_have_plain_types_if_none_is_missing():
    schema, frame = schema_of(missing=False), real(gaps=0.0)
    density = DPTreeDensity(bounds=schema, random_state=0)
    rows = density.fit(frame).sample(100)
    kinds = {name: rows[name].dtype.kind for name in rows}
    assert [kinds[name] for name in ("few", "many", "skewed", "level")] == ["i"] * 4
    assert (kinds["boolean"], kinds["day"], kinds["moment"]) == ("b", "M", "M")
    rows = density.fit(pl.from_pandas(frame.astype({"mixed": str}))).sample(100)
    types = dict(zip(KINDS, rows.dtypes, strict=True))
    assert (types["day"], types["few"]) == (pl.Date, pl.Int64)
    assert types["boolean"] == pl.Boolean


@pytest.mark.parametrize("target", [None, "level", "few"])
def test_no_gap_is_made_up_where_the_schema_allows_none(target):
    """A level that cannot occur has a noisy count too."""
    given = {"bounds": schema_of(missing=False), "target": target, "random_state": 0}
    density = DPTreeDensity(epsilon=0.3, **given).fit(real(500, gaps=0.0))
    rows = density.sample(3000, random_state=0)
    assert not rows.drop(columns="note").isna().any(axis=None)
    assert not any(
        one.drop(columns="note").isna().any(axis=None)
        for one in density.sample_several(500, n_tables=2)
    )
    assert np.isfinite(density.score_samples(real(50))).all()


def test_parts_of_a_date_follow_the_date_and_keep_what_depends_on_them(rng):
    """Bins of dates are wider than a week. A sample may not lose the weekday."""
    day = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 731, N), "D")
    frame = pd.DataFrame({"day": day, "open": day.day_of_week < 5})
    schema = TableSchema({"day": KINDS["day"], "open": "boolean"}, source="made up")
    rows = DPTreeDensity(epsilon=10.0, bounds=schema, random_state=0).fit(frame).sample(2000)
    rows = rows.dropna()
    # Independent columns would agree in 5/7² + 2/7² = 59 % of the rows.
    assert ((rows["day"].dt.day_of_week < 5) == rows["open"].astype(bool)).mean() > 0.9


def test_counts_are_learned_from_a_sample_of_a_table_of_counts(rng):
    """Bins of counts would spread each count over wrong numbers."""
    n = 6000
    visits = np.minimum(rng.poisson(1.0, n), 30)
    claims = np.minimum(rng.poisson(np.exp(0.8 * np.minimum(visits, 3) - 2.0)), 20)
    frame = pd.DataFrame({"visits": visits, "claims": claims})
    whole = {"kind": "integer", "missing": False}
    schema = TableSchema(
        {"visits": whole | {"bounds": (0, 30)}, "claims": whole | {"bounds": (0, 20)}},
        source="made up",
    )
    given = {"bounds": schema, "target": "claims", "epsilon": 3.0, "random_state": 0}
    rows = DPTreeDensity(**given).fit(frame).sample(n, random_state=0)
    scores = [
        HistGradientBoostingRegressor(loss="poisson", random_state=0)
        .fit(one[["visits"]], one["claims"])
        .score(frame[["visits"]], claims)
        for one in (rows, frame)
    ]
    assert scores[0] > 0.5 * scores[1]  # 0.7 to 0.9 of it in 8 runs; a constant has 0


def test_labels_are_beside_rows_of_the_schema():
    frame = real()
    rows, labels = (
        DPTreeNB(bounds=schema_of(), random_state=0).fit(frame, frame["level"] == 1).sample(50)
    )
    assert list(rows) == list(KINDS)
    assert {*labels} <= {False, True}


@pytest.mark.parametrize("as_library", [lambda frame: frame, pl.from_pandas])
@pytest.mark.parametrize("gaps", [False, True])
def test_codes_that_are_numbers_in_the_table_are_numbers_in_the_sample(as_library, gaps, rng):
    """So the sample has the types of `fit`, which later calls compare."""
    frame = pd.DataFrame({"code": rng.integers(1000, 2000, N), "level": rng.integers(1, 3, N)})
    if gaps:
        frame = frame.mask(rng.random(frame.shape) < 0.1)
    schema = TableSchema({"code": {"kind": "code", "buckets": 8}, "level": ["1", "2", "x"]})
    density = DPTreeDensity(bounds=schema, random_state=0).fit(as_library(frame))
    rows = density.sample(200, random_state=0)
    assert np.isfinite(density.score_samples(rows)).all()
    assert {str(value).removesuffix(".0") for value in rows["level"]} >= {"1", "2"}
    assert DPTreeDensity(bounds=schema, random_state=0).fit(rows).sample(2).shape == (2, 2)
