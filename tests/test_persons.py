"""Whose each row is: the numbers of persons, their weights, and the rows that they keep."""

from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from skdp.data.persons import Persons, check_max_rows

NAMES = ["b", "a", "b", "c", "b"]
KINDS = {
    "list": NAMES,
    "texts": np.array(NAMES),
    "objects": np.array(NAMES, dtype=object),
    "numbers": np.array([7.5, -1.0, 7.5, 0.0, 7.5]),
    "days": [date(2020, 1, ord(name) - 96) for name in NAMES],
    "times": np.array([f"2020-01-{ord(name) - 96:02}" for name in NAMES], dtype="datetime64[D]"),
    "series": pd.Series(NAMES, index=[3, 3, 1, 0, 9]),
    "category": pd.Series(NAMES, dtype="category"),
    "arrow strings": pd.Series(NAMES, dtype="string"),
    "frame": pd.DataFrame({"id": NAMES}),
    "column": np.array(NAMES)[:, None],
    "mixed": [2, "a", 2, ("c", 1), 2],
}


@pytest.mark.parametrize("kind", KINDS)
def test_equal_values_of_any_type_are_one_person(kind):
    groups = KINDS[kind]
    if kind == "mixed":
        groups = np.empty(5, dtype=object)
        groups[:] = KINDS[kind]
    persons = Persons.of(groups, 5)
    assert persons.n_persons == 3
    same = persons.codes[:, None] == persons.codes
    np.testing.assert_array_equal(same, np.array(NAMES)[:, None] == np.array(NAMES))


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        (NAMES[1:], "one value for each row"),
        ("a", "not the name of a column"),
        (np.zeros((5, 2)), "one value for each row"),
        (pd.DataFrame({"a": NAMES, "b": NAMES}), "is a table"),
        ([1.0, np.nan, 1.0, 2.0, 2.0], "missing"),
        ([*NAMES[1:], None], "missing"),
        (np.ma.masked_array(np.arange(5), mask=[0, 0, 1, 0, 0]), "missing"),
        ([1, 2, 3, 4, np.ma.masked], "missing"),
        (pd.Series([*NAMES[1:], pd.NA], dtype="string"), "missing"),
        (pd.Series([1, 2, 3, 4, None], dtype="Int64"), "missing"),
        (np.array(["2020-01-01", "NaT"] * 2 + ["NaT"], dtype="datetime64[D]"), "missing"),
    ],
)
def test_groups_of_another_shape_or_with_missing_values_are_refused(groups, match):
    with pytest.raises(ValueError, match=match) as caught:
        Persons.of(groups, 5)
    assert not any(str(one) in str(caught.value) for one in (7.5, "'b'", "'c'", 2020))


@pytest.mark.parametrize("odd", ["x", 0.5, 2**70])
def test_the_type_of_one_value_makes_or_parts_no_other_persons(odd):
    groups = [7, 7.0, np.int64(7), True, 1, 2**53, 2**53 + 1]
    for added in ([], [odd]):
        persons = Persons.of([*groups, *added], 7 + len(added))
        np.testing.assert_array_equal(persons.codes[:7], [0, 0, 0, 1, 1, 2, 3])


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_a_time_is_one_person_in_numpy_pandas_and_python(unit):
    """A library may choose another of them for the rows of a block by one odd value."""
    day, span = datetime(2020, 1, 2, 3, 4, 5), timedelta(days=1, seconds=1)
    groups = [np.datetime64(day, unit), pd.Timestamp(day), day]
    groups += [np.timedelta64(span).astype(f"m8[{unit}]"), pd.Timedelta(span), span]
    found = np.empty(8, dtype=object)
    found[:] = [*groups, np.datetime64(1, "ns"), np.datetime64(2, "ns")]
    assert Persons.of(found, 8).codes.tolist() == [0, 0, 0, 1, 1, 1, 2, 3]


def test_values_that_cannot_be_compared_are_refused():
    groups = np.empty(2, dtype=object)
    groups[:] = [{}, {}]
    with pytest.raises(ValueError, match="hashable"):
        Persons.of(groups, 2)


def test_the_weights_of_a_person_never_add_up_to_more_than_one():
    from fractions import Fraction

    for count in (1, 3, 7, 49, 98, 103, 1000):
        weights = Persons.of(np.zeros(count), count).row_weights()
        total = sum(map(Fraction, weights.tolist()))
        assert 1 - Fraction(1, 10**15) <= total <= 1


def test_each_person_keeps_a_uniform_subset_of_at_most_so_many_rows():
    """Each of the 10 subsets of 2 rows out of 5, 2000 times; false alarms: 10 times 1e-7."""
    persons, rng = Persons.of([0, 1, 0, 0, 1, 0, 0, 2], 8), np.random.default_rng()
    seen: dict[tuple, int] = {}
    for _ in range(2000):
        rows = persons.kept(2, rng)
        assert {1, 4, 7} <= set(rows.tolist())
        assert len(rows) == 5
        subset = tuple(sorted(set(rows.tolist()) - {1, 4, 7}))
        seen[subset] = seen.get(subset, 0) + 1
    low, high = binom(2000, 0.1).ppf([5e-8, 1 - 5e-8])
    assert len(seen) == 10
    assert all(low <= count <= high for count in seen.values())


def test_which_rows_a_person_keeps_does_not_depend_on_others():
    """Exact: with the same keys, a person's rows stay the same whatever the others' groups are."""
    for others in ([1, 2, 3], [0, 0, 0], [1, 1, 1]):
        persons = Persons.of([9, 9, 9, 9, *others], 7)
        rows = persons.kept(2, np.random.default_rng(5))
        assert [r for r in rows if r < 4] == [r for r in _least(5) if r < 4][:2]


def _least(seed):
    return sorted(np.argsort(np.random.default_rng(seed).random(7)[:4])[:2].tolist())


def test_the_rows_of_some_persons_are_all_of_theirs():
    persons = Persons.of(["a", "b", "a", "c", "c", "a"], 6)
    assert persons.rows_of(np.array([0, 2])).tolist() == [0, 2, 3, 4, 5]
    some = persons.take(np.array([1, 3, 4]))
    assert some.n_persons == 2
    assert some.codes.tolist() == [0, 1, 1]
    assert some.counts.tolist() == [1, 2]


def test_most_rows_want_groups():
    assert check_max_rows(None, None) is None
    assert check_max_rows(3, [1, 2]) == 3
    for wrong in (0, 1.5, True):
        with pytest.raises(ValueError, match="max_rows"):
            check_max_rows(wrong, [1, 2])
    with pytest.raises(ValueError, match="needs groups"):
        check_max_rows(3, None)


def test_a_name_is_no_array_of_persons():
    with pytest.raises(ValueError, match="not the name of a column"):
        Persons.of("who", 3)
