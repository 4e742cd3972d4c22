"""Folds of persons by a public hash of their IDs."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from uuid import UUID, uuid4

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.model_selection import HashSplit
from skdp.pipeline import check_pipeline

RNG = np.random.default_rng(0)
PERSON = RNG.integers(0, 300, size=1000)
X = RNG.normal(size=(1000, 2))
Y = (X[:, 0] > 0).astype(int)
FIRST, WORDS = [4, 3, 4, 1, 2, 0], [2, 1, 3, 1]
"""The folds of 0, 1, ..., 5 and of some strings among 5."""


def folds(groups, **settings):
    """Return the fold of each row."""
    found, private = np.full(len(groups), -1), {"neighboring": "add_remove_one"}
    pairs = HashSplit(**(private | settings)).split(groups, groups=groups)
    for fold, (train, test) in enumerate(pairs):
        assert sorted([*train, *test]) == [*range(len(groups))]
        found[test] = fold
    return found


def test_each_person_is_in_one_test_set():
    found = folds(PERSON, n_splits=3)
    assert set(found) == {0, 1, 2}
    assert all(len(set(found[one == PERSON])) == 1 for one in set(PERSON))


def test_a_fold_depends_on_the_id_and_the_salt_alone():
    found, order = folds(PERSON), RNG.permutation(1000)
    np.testing.assert_array_equal(folds(PERSON[order]), found[order])
    np.testing.assert_array_equal(folds(PERSON[:10]), found[:10])
    assert (folds(PERSON, salt="b") != found).any()
    # Fixed for ever: a person who was a test person stays one.
    assert folds(np.array([0, 1, 2, 3, 4, 5])).tolist() == FIRST
    assert folds(np.array(["a", "b", "ä", "0"])).tolist() == WORDS


@pytest.mark.parametrize(
    "kind",
    [list, pd.Series, pl.Series, pa.array, np.int8, float, "Int64", "category", object],
    ids=lambda kind: kind if isinstance(kind, str) else kind.__name__,
)
def test_the_container_does_not_matter(kind):
    ids = PERSON % 100
    if isinstance(kind, str):
        made = pd.Series(ids).astype(kind)
    else:
        made = kind(ids) if kind in (list, pd.Series, pl.Series, pa.array) else ids.astype(kind)
    np.testing.assert_array_equal(folds(made), folds(ids))


def test_equal_ids_of_different_types_are_in_one_fold():
    days = pd.date_range("2020-01-01", periods=50).to_numpy()
    for unit in ("s", "ms", "us", "ns"):
        np.testing.assert_array_equal(folds(days.astype(f"datetime64[{unit}]")), folds(days))
    np.testing.assert_array_equal(folds(pd.Series(days).astype(object)), folds(days))
    one, zero = FIRST[1], FIRST[0]
    assert folds(np.array([True, False, 1, 0, 1.0], object)).tolist() == [one, zero, one, zero, one]


BIG = 2**53 + 1
NOON = datetime(2021, 5, 5, 12, 0, 0, 500_000)
SAME = {
    "one": [1, 1.0, True, np.int64(1), np.uint8(1), np.float32(1), np.bool_(True), 1 + 0j,
            np.complex64(1), Decimal(1), Fraction(1), Decimal("1.00")],
    "half": [0.5, np.float16(0.5), np.float64(0.5), Decimal("0.5"), Fraction(1, 2)],
    "zero": [0, -0.0, False, Decimal("-0")],
    "beyond floats": [BIG, np.int64(BIG), Decimal(BIG), Fraction(BIG)],
    "string": ["k1", np.str_("k1")],
    "bytes": [b"k1", np.bytes_(b"k1")],
    "moment": [NOON, pd.Timestamp(NOON), np.datetime64(NOON), np.datetime64(NOON, "ms"),
               np.datetime64(NOON, "ns")],
    "day": [NOON.date(), np.datetime64("2021-05-05"), np.datetime64("2021-05-05T00", "h")],
    "zoned": [NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=UTC).astimezone(
        timezone(timedelta(hours=5))), pd.Timestamp(NOON, tz="UTC")],
    "span": [timedelta(days=1), pd.Timedelta(days=1), np.timedelta64(1, "D"),
             np.timedelta64(24, "h")],
    "infinite": [float("inf"), np.float32(np.inf), Decimal("inf")],
}  # fmt: skip
"""IDs that are equal, in types of Python, NumPy and pandas."""


def numbers(groups):
    """Return the folds of rows among so many that different IDs share none by chance."""
    return HashSplit(n_splits=10**9, neighboring="add_remove_one")._folds(groups, groups)


def objects(values):
    found = np.empty(len(values), object)
    found[:] = values
    return found


@pytest.mark.parametrize("container", [list, objects])
@pytest.mark.parametrize("kind", SAME)
def test_a_fold_is_that_of_the_value_whatever_its_type_and_the_types_of_others(kind, container):
    """A list becomes an array or not depending on all of its values."""
    others = [one for name, values in SAME.items() for one in values if name != kind]
    others += [2**70, -1, 0.25, "a", np.str_("b"), np.datetime64("2000-01-01", "s")]
    others += [(1, 2)] if container is objects else []
    pairs = [container([one, other]) for one in SAME[kind] for other in others]
    found = {numbers(pair)[0] for pair in pairs}
    assert len(found) == 1


def test_different_values_have_different_names():
    values = [values[0] for values in SAME.values()] + ["1", b"1", BIG - 1, "0", (1, 2), -1]
    values += [NOON + timedelta(microseconds=1), 0.1, Decimal("0.1"), 10**400, -float("inf")]
    assert len({*numbers(objects(values))}) == len(values)


class Named:
    """An object whose text contains its address."""


@pytest.mark.parametrize(
    "odd",
    [frozenset({"a", "b"}), (1, frozenset({"a"})), Named(), (Named(),), range(3), NOON.time()],
)
def test_an_id_whose_text_may_change_is_refused_before_a_set_is_returned(odd, neighboring):
    """Sets print in the order of a random hash, other objects by their address."""
    ids = objects([*range(300), odd])
    with pytest.raises(ValueError, match="IDs must be strings, bytes, numbers, dates, times, UUID"):
        next(HashSplit(neighboring=neighboring).split(ids, groups=ids))


@pytest.mark.parametrize("end", [datetime.min, datetime.max])
@pytest.mark.parametrize("hours", [-5, 0, 5])
def test_moments_at_the_ends_of_the_calendar_have_a_fold(end, hours):
    moment = end.replace(tzinfo=timezone(timedelta(hours=hours)))
    others = [end, end.replace(tzinfo=timezone(timedelta(hours=hours + 1)))]
    found = numbers(objects([moment, *others, moment]))
    assert found[0] == found[3]
    assert len({*found}) == 3


def test_uuids_have_folds():
    one, other = uuid4(), uuid4()
    found = numbers(objects([one, other, UUID(str(one)), str(one)]))
    assert found[0] == found[2]
    assert len({*found}) == 3


@pytest.mark.parametrize(
    "table", [pd.DataFrame, pl.DataFrame, lambda x: np.array(x["id"])[:, None]]
)
def test_a_table_of_one_column_is_a_column(table):
    np.testing.assert_array_equal(folds(table({"id": PERSON})), folds(PERSON))


@pytest.mark.parametrize("n_splits", [2, 3, 5])
def test_a_split_of_a_part_is_independent_of_the_split_that_made_it(n_splits):
    """The hash is fixed; for a random one χ² with up to 4 degrees exceeds 50 in 1 of 1e9 cases."""
    ids = np.arange(20_000)
    train, test = next(HashSplit(n_splits=4).split(ids, groups=ids))
    for part in (train, test):
        counts, n = np.bincount(folds(part, n_splits=n_splits), minlength=n_splits), len(part)
        assert ((counts - n / n_splits) ** 2 / (n / n_splits)).sum() < 50


@pytest.mark.parametrize("side", [0, 1])
def test_the_same_split_of_a_part_raises_before_the_spend(side):
    part = next(HashSplit().split(PERSON, groups=PERSON))[side]
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5, unit="person")
    model = DPLogisticRegression(epsilon=0.1, budget=budget)
    data = {"X": X[part], "y": Y[part], "groups": PERSON[part]}
    with pytest.raises(ValueError, match=r"would be empty with n_splits=5.*another salt"):
        next(HashSplit().split(**data))
    with pytest.raises(ValueError, match="would be empty"):
        cross_val_score(model, **data, cv=HashSplit(), params={"groups": PERSON[part]})
    assert budget.history() == []
    next(HashSplit(salt="inner").split(**data))


def test_an_empty_side_is_no_error_if_the_set_of_persons_is_private():
    """Whether a fold has persons would be private, also for a fit to it."""
    ids = PERSON[:1]
    cv = HashSplit(neighboring="add_remove_one")
    pairs = list(cv.split(X[:1], groups=ids))
    assert sum(len(test) for _, test in pairs) == 1
    empty = next(test for _, test in pairs if not len(test))
    terms = {"neighboring": "add_remove_one", "classes": [0, 1]}
    model = DPLogisticRegression(**terms).fit(X[empty], Y[empty], groups=PERSON[empty])
    assert model.privacy_.unit == "person"
    with pytest.raises(ValueError, match="too few persons"):
        next(HashSplit().split(X[:1], groups=ids))


def test_folds_are_even_and_those_of_two_salts_independent():
    """The hash is fixed; a random one would exceed 65 or 80, by χ², in one of 1e9 cases."""
    ids, n = np.arange(20_000), 20_000
    one, two = folds(ids, n_splits=4), folds(ids, n_splits=4, salt="other")
    counts = np.bincount(one, minlength=4)
    assert ((counts - n / 4) ** 2 / (n / 4)).sum() < 65
    pairs = np.bincount(4 * one + two, minlength=16)
    assert ((pairs - n / 16) ** 2 / (n / 16)).sum() < 80


def test_it_is_a_splitter_of_scikit_learn():
    cv = HashSplit(n_splits=3)
    assert cv.get_n_splits() == 3
    assert repr(clone(cv, safe=False)).startswith("HashSplit(n_splits=3")
    scores = cross_val_score(LogisticRegression(), X, Y, groups=PERSON, cv=cv)
    assert scores.shape == (3,)
    with config_context(enable_metadata_routing=True):
        routed = cross_val_score(LogisticRegression(), X, Y, params={"groups": PERSON}, cv=cv)
    np.testing.assert_array_equal(routed, scores)
    leaks = check_pipeline(GridSearchCV(DPLogisticRegression(), {"C": [1.0]}, cv=cv))
    assert "folds" not in {leak.kind for leak in leaks}


@pytest.mark.parametrize(
    ("settings", "groups", "words"),
    [
        ({}, None, "needs groups"),
        ({"n_splits": 1}, PERSON, "at least 2"),
        ({"n_splits": 2.5}, PERSON, "positive integer"),
        ({}, np.r_[PERSON[1:], np.nan], "missing values"),
        ({}, PERSON[1:], "one value for each row"),
        ({"neighboring": "other"}, PERSON, "neighboring must be one of"),
    ],
)
def test_wrong_arguments_raise_an_error(settings, groups, words):
    with pytest.raises(ValueError, match=words):
        next(HashSplit(**settings).split(X, groups=groups))
