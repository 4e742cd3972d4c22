"""Published tables follow the rules of offices, whatever the noise was."""

import warnings
from bisect import bisect_right

import numpy as np
import pytest

from skdp import statistics
from skdp.statistics._results import RULES, rounded_columns

# Beginnings of ranges of counts, and what is published there: a text, or a multiple.
RANGES = {
    "census": {0: "<15", 15: 10, 100: 50, 1000: 100, 10**4: 500, 10**5: 1000, 10**7: 10**4},
    "census_2000": {0: 5, 1: "4", 8: 5},
    "cms": {0: 1, 1: "1 to 10", 11: 1},
    "ofqual": {0: 5, 1: "fewer than 5", 5: 5},
    "uk_llc": {0: "<10", 10: 1},
}
COUNTS = [
    *range(1200),
    *range(9_940, 10_600, 7),
    *range(99_700, 101_100, 50),
    1_234_567,
    12_345_678,
]


def published(name, counts):
    columns = {key: [*map(float, counts)] for key in ("estimate", "lower", "upper")}
    columns |= {"level": [0.95] * len(counts)}
    return rounded_columns(name, columns, [True] * len(counts))


@pytest.mark.parametrize("name", RULES)
def test_counts_are_published_as_the_rule_says(name):
    ranges = RANGES[name]
    begins = [*ranges]
    for n, text in zip(COUNTS, published(name, COUNTS)["published"], strict=True):
        shown = ranges[begins[bisect_right(begins, n) - 1]]
        if isinstance(shown, str):
            assert text == shown, n
        else:
            assert float(text) % shown == 0.0
            assert abs(float(text) - n) <= 0.5 * shown


@pytest.mark.parametrize("name", RULES)
def test_rules_never_decrease_so_that_intervals_still_contain_the_number(name):
    numbers = np.array(published(name, COUNTS)["estimate"])
    numbers = numbers[~np.isnan(numbers)]
    assert (np.diff(numbers) >= 0.0).all()


def test_ties_go_to_the_even_number():
    assert published("census", [15, 25, 125, 175, 1050, 1150])["estimate"] == [
        20.0, 20.0, 100.0, 200.0, 1000.0, 1200.0,
    ]  # fmt: skip
    numbers = [1000.5, 1001.5, 0.123455, -2.5e-7, np.nan, np.inf]
    columns = {name: numbers for name in ("estimate", "lower", "upper", "level")}  # noqa: C420
    found = rounded_columns("census", columns, [False] * 6)["estimate"]
    assert found[:4] == [1000.0, 1002.0, 0.1235, -2.5e-7]
    assert np.isnan(found[4])
    assert found[5] == np.inf


@pytest.mark.parametrize("name", RULES)
def test_released_counts_have_no_number_where_they_are_masked(name):
    x = np.repeat(np.arange(4), [0, 4, 40, 4000])
    tables = [
        statistics.histogram(x, edges=np.arange(5) - 0.5, epsilon=3.0, random_state=0),
        statistics.marginals(x, categories=range(4), epsilon=3.0, random_state=0),
        statistics.count(np.ones(len(x), bool), by=x, keys=range(4), epsilon=3.0, random_state=0),
    ]
    for table in tables:
        frame, raw = table.to_frame(rounded=name), table.to_frame()
        masked = [not text.isdigit() for text in frame["published"]]
        assert frame[masked][["estimate", "lower", "upper"]].isna().all(axis=None)
        assert frame["published"].tolist() == published(name, raw["estimate"])["published"]
        assert frame.index.equals(raw.index)


def test_rules_for_counts_are_refused_for_other_numbers():
    x = np.arange(4000) % 50
    with warnings.catch_warnings(action="ignore"):
        mean = statistics.mean(x, epsilon=1.0, bounds=(0, 60), random_state=0)
        both = statistics.describe(
            np.c_[x, x % 2],
            epsilon=1.0,
            bounds={0: (0, 60)},
            categories={1: [0, 1]},
            random_state=0,
        )
    for found in (mean, both):
        with pytest.raises(ValueError, match="rounded='cms' is a rule for counts"):
            found.to_frame(rounded="cms")
    with pytest.raises(ValueError, match="rounded must be one of"):
        mean.to_frame(rounded="office")
    frame = both.to_frame(rounded="census")
    assert frame.loc[(0, "count"), "estimate"] % 100 == 0
    assert frame.loc[(1, 1), "estimate"] % 100 == 0
    assert frame.loc[(0, "mean"), "published"] == f"{both[0, 'mean']:.4g}"


def test_each_rule_names_its_source_and_date():
    for rule in RULES.values():
        assert rule.source
        assert rule.rule
        assert rule.date[:2] == "20"


def test_the_test_of_coverage_stops_at_what_it_finds(is_covered):
    """The limits are -log(0.01) and log(1e5), in steps of log(0.75/0.94) and log(0.25/0.06)."""
    assert is_covered([True] * 21)
    assert not is_covered([False] * 9)
    assert not is_covered([[True, False]] * 9)
    for too_few in ([True] * 20, [False] * 8, [[True, False]] * 8):
        with pytest.raises(AssertionError, match="ended before"):
            is_covered(too_few)
