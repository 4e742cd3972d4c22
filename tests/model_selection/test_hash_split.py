"""Folds of persons by a public hash of their IDs."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from skdp import DPLogisticRegression
from skdp.model_selection import HashSplit
from skdp.pipeline import check_pipeline

RNG = np.random.default_rng(0)
PERSON = RNG.integers(0, 300, size=1000)
X = RNG.normal(size=(1000, 2))
Y = (X[:, 0] > 0).astype(int)


def folds(groups, **settings):
    """Return the fold of each row."""
    found = np.full(len(groups), -1)
    for fold, (train, test) in enumerate(HashSplit(**settings).split(groups, groups=groups)):
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
    assert folds(np.array([0, 1, 2, 3, 4, 5])).tolist() == [1, 2, 0, 4, 0, 2]
    assert folds(np.array(["a", "b", "ä", "0"])).tolist() == [0, 1, 0, 1]


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
    assert folds(np.array([True, False, 1, 0, 1.0], object)).tolist() == [2, 1, 2, 1, 2]


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
    ],
)
def test_wrong_arguments_raise_an_error(settings, groups, words):
    with pytest.raises(ValueError, match=words):
        next(HashSplit(**settings).split(X, groups=groups))
