"""Groups by several columns are those of the combined column, and ends of cells may be open."""

import numpy as np
import pandas as pd
import pytest

from skdp import PrivacyBudget, statistics
from skdp.exceptions import FewRowsWarning

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({
    "x": RNG.uniform(0.0, 1.0, 3000),
    "sex": RNG.choice(["f", "m", "?"], 3000),
    "region": RNG.integers(0, 4, 3000),
})  # fmt: skip
KEYS = {"sex": ["f", "m"], "region": [0, 1, 2]}
PAIRS = [f"{sex} {region}" for sex in KEYS["sex"] for region in KEYS["region"]]
BOTH = FRAME["sex"] + " " + FRAME["region"].astype(str)
TERMS = {"epsilon": 3.0, "random_state": 0}
ASKED = {
    "count": lambda x, **by: statistics.count(x["x"] > 0.5 if "x" in x else x, **by, **TERMS),
    "sum": lambda x, **by: statistics.sum(x, bounds=(0, 1), **by, **TERMS),
    "mean": lambda x, **by: statistics.mean(x, bounds=(0, 1), **by, **TERMS),
    "variance": lambda x, **by: statistics.variance(x, bounds=(0, 1), **by, **TERMS),
    "quantile": lambda x, **by: statistics.quantile(x, q=0.5, bounds=(0, 1), **by, **TERMS),
    "describe": lambda x, **by: statistics.describe(x, bounds=(0, 1), **by, **TERMS),
}
FORMS = {
    "names and a dict": (FRAME, ["sex", "region"], KEYS),
    "names and lists": (FRAME, ["sex", "region"], [*KEYS.values()]),
    "columns": (FRAME[["x"]], [FRAME["sex"], FRAME["region"]], [*KEYS.values()]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ASKED)
def test_two_columns_are_the_combined_column(name, form):
    if name == "count" and form != "columns":
        x, by, keys = FRAME.assign(x=FRAME["x"] > 0.5), *FORMS[form][1:]
        found = statistics.count(x, by=by, keys=keys, **TERMS)
        one = statistics.count(x[["x"]], by=BOTH, keys=PAIRS, **TERMS)
    else:
        x, by, keys = FORMS[form]
        found = ASKED[name](x, by=by, keys=keys)
        one = ASKED[name](FRAME[["x"]], by=BOTH, keys=PAIRS)
    assert np.array_equal(np.ravel(found.value), np.ravel(one.value))
    for ends, others in (
        zip(found.interval(), one.interval(), strict=True) if name != "quantile" else ()
    ):
        assert np.array_equal(np.ravel(ends), np.ravel(others))
    if name != "describe":
        assert found.value.shape[:2] == (2, 3)
    frame = found.to_frame()
    assert frame.index.names[:2] == (["sex", "region"])
    assert np.array_equal(frame["estimate"], np.ravel(found.value))


def test_describe_names_both_keys():
    found = ASKED["describe"](FRAME, by=["sex", "region"], keys=KEYS)
    assert 0.3 < found["m", 2, "x", "mean"] < 0.7


def test_wrong_columns_and_keys_are_refused_before_the_spend(unspent):
    for by, keys, words in [
        ("sex", KEYS, "list of as many columns"),
        (["sex"], KEYS, "list of as many columns"),
        (["sex", "x"], KEYS, "by must list the columns of keys"),
        (["sex", "nothing"], [["f"], [0]], "one of the columns"),
        (["sex", "region"], [["f"], ["a"]], "cannot equal"),
        (["sex", np.zeros(7)], [["f"], [0]], "as many rows"),
    ]:
        asked = {"bounds": (0, 1), "by": by, "keys": keys}
        with pytest.raises(ValueError, match=words):
            statistics.mean(FRAME, epsilon=1.0, budget=unspent, **asked)


def test_the_outer_ends_of_cells_may_be_open():
    edges = [-np.inf, 0.5, np.inf]
    found = statistics.histogram(FRAME["x"], edges=edges, **TERMS)
    finite = statistics.histogram(FRAME["x"], edges=[0, 0.5, 1], **TERMS)
    assert np.array_equal(found.value, finite.value)
    assert [*found.to_frame().index] == ["(-inf, 0.5)", "[0.5, inf)"]
    for wrong in ([0, np.inf, np.inf], [0, np.nan, 1], [np.inf, 0]):
        with pytest.raises(ValueError, match="only the outer ones may be infinite"):
            statistics.histogram(FRAME["x"], edges=wrong, epsilon=1.0)


@pytest.mark.parametrize("name", ["count", "mean", "survival_curve"])
@pytest.mark.parametrize("n_columns", [0, 7])
def test_no_groups_and_more_than_memory_holds_are_refused_before_the_spend(name, n_columns):
    budget, x = PrivacyBudget(epsilon=1.0, delta=1e-5), np.ones(20)
    asked = {"by": [x] * n_columns, "keys": [list(range(1000))] * n_columns, "budget": budget}
    asked["keys"] = asked["keys"] or {}
    data = {"count": (x > 0,), "mean": (x,), "survival_curve": (x, x)}[name]
    more = {"count": {}, "mean": {"bounds": (0, 1)}, "survival_curve": {"edges": [0, 1]}}[name]
    with pytest.raises(ValueError, match="by must list a column, and keys at most"):
        getattr(statistics, name)(*data, epsilon=1.0, **asked, **more)
    assert budget.spent.epsilon == 0.0


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, pd.NaT])
def test_a_missing_value_of_any_library_is_no_other_type(gap):
    """The type of one value must not decide whether a fit is refused."""
    x = pd.Series([True, False] * 500, dtype=object)
    x[3] = gap
    assert statistics.count(x, epsilon=100.0).value == pytest.approx(500, abs=1)


def test_tables_that_no_memory_holds_are_refused_before_the_spend():
    budget, edges = PrivacyBudget(epsilon=1.0, delta=1e-5), {k: np.arange(1000.0) for k in range(4)}
    with pytest.raises(ValueError, match="counts are too many for memory: at most 67108864"):
        statistics.histogram(np.ones((20, 4)), epsilon=1.0, edges=edges, budget=budget)
    assert budget.spent.epsilon == 0.0


def test_the_rest_of_a_table_is_no_number_that_noise_made():
    asked = {"by": np.arange(40) % 2, "keys": [0, 1], "delta": 0.0}
    with pytest.warns(FewRowsWarning):
        found = statistics.count(np.ones(40, dtype=bool), epsilon=0.001, **asked)
    assert "unknown, as the noise outweighs the number" in repr(found)
