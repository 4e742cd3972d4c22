"""Noise that outweighs a number is told before the spend, or the number is nan with a reason."""

import warnings

import numpy as np
import pandas as pd
import pytest
import releases as suite

from skdp import PrivacyBudget, statistics
from skdp.exceptions import BudgetExceededError, FewRowsWarning

X = pd.DataFrame({"a": np.arange(400) % 8, "b": np.arange(400) % 3}, dtype=float)
X["k"] = np.where(np.arange(400) % 2, "u", "v")
GRID = {"edges": {"a": np.arange(9.0)}}
ASKED = {
    "count": (X["a"] > 3.0, {}),
    "covariance": (X[["a", "b"]], {"bounds": (0, 8)}),
    "describe": (X[["a", "b"]], {"bounds": (0, 8)}),
    "difference": (X[["a", "b", "k"]], {"bounds": (0, 8), "by": "k", "keys": ["u", "v"]}),
    "histogram": (X[["a"]], GRID),
    "marginals": (X[["k"]], {"categories": {"k": ["u", "v"]}}),
    "mean": (X[["a", "b"]], {"bounds": (0, 8)}),
    "quantile": (X[["a", "b"]], {"bounds": (0, 8), "q": 0.5}),
    "sum": (X[["a", "b"]], {"bounds": (0, 8)}),
    "survival_curve": (X["a"], {"event": X["b"] > 0.0, "edges": [0, 2, 4]}),
    "treatment_effect": (X["a"], {"treated": X["k"] == "u", "bounds": (0, 8)}),
    "variance": (X[["a", "b"]], {"bounds": (0, 8)}),
}
ALL = [name.split(".")[1] for name in suite.releases() if name.startswith("statistics.")]
GROUPED = ("count", "describe", "mean", "quantile", "sum", "variance")


def test_every_statistic_is_asked():
    assert set(ASKED) == set(ALL)


def told(name, epsilon, neighboring="replace_one", **more):
    """Return the warnings of few rows of a release that no budget admits."""
    x, own = ASKED[name]
    budget = PrivacyBudget(epsilon=1e-4, delta=1e-5, neighboring=neighboring)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(BudgetExceededError):
            getattr(statistics, name)(
                x, **own, **more, epsilon=epsilon, neighboring=neighboring, budget=budget
            )
    return [str(w.message) for w in caught if w.category is FewRowsWarning]


@pytest.mark.parametrize("name", ALL)
def test_noise_that_outweighs_a_number_is_told_before_the_spend(name):
    (text,) = told(name, 0.01)
    assert text.startswith("400 rows are few for epsilon=0.01 and delta=")
    assert not told(name, 5.0)
    assert not told(name, 0.01, "add_remove_one")  # the number of rows is private


@pytest.mark.parametrize("name", GROUPED)
def test_groups_have_fewer_rows_each(name):
    x, own = ASKED[name]
    if name == "count":
        x = X.assign(a=X["a"] > 3.0)
    grouped = X[["a", "b", "k"]] if name != "count" else x[["a", "k"]]
    asked = {"by": "k", "keys": [f"key {i}" for i in range(100)]}
    with pytest.warns(FewRowsWarning):
        getattr(statistics, name)(grouped, **own, **asked, epsilon=1.0)


def test_a_quantile_that_may_be_any_value_is_nan():
    """At ε = 10⁻⁴ the margins exceed all ranks; at ε = 20 an interval of all misses by 1e-9."""
    asked = {"bounds": (0, 8), "q": [0.25, 0.5], "level": 0.9}
    noise = statistics.quantile(X[["a", "b"]], **asked, epsilon=1e-4)
    assert np.isnan(noise.value).all()
    assert np.isnan(noise.cell()).all()
    assert "outweighs 0.25, a; 0.25, b; 0.5, a; 0.5, b" in noise.notes[0]
    assert not np.isnan(statistics.quantile(X[["a", "b"]], **asked, epsilon=20.0).value).any()
    found = statistics.describe(X[["a", "b"]], bounds=(0, 8), epsilon=1e-4)
    assert np.isnan(found["a", "50%"])


@pytest.mark.filterwarnings("ignore::skdp.exceptions.FewRowsWarning")
@pytest.mark.parametrize("name", ["mean", "variance", "covariance", "describe"])
def test_the_interval_of_a_number_that_is_lost_is_not_an_end_of_its_bounds(name):
    """Noise of many times the bounds is clipped to one end of them in one of twenty releases."""
    x = pd.DataFrame({"a": [31.0, 45.0, 27.0], "b": [60.0, 50.0, 40.0]})
    for seed in range(100):
        found = getattr(statistics, name)(x, epsilon=0.1, bounds=(0, 120), random_state=seed)
        low, high = map(np.ravel, found.interval())
        lost = np.isnan(np.ravel(found.value)) & ~np.isnan(low)
        assert lost.any()
        assert np.all(low[lost] < high[lost])


@pytest.mark.parametrize("name", ["mean", "variance", "describe"])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_a_mean_at_its_bounds_is_told(name, scale):
    """The noise in a mean at ε = 20 is below a thousandth of the bounds.

    A mean at an end is not named in one of 10⁶ releases.
    """
    x = pd.DataFrame({"a": (np.arange(2000) % 8 + 0.5) * scale, "b": np.arange(2000.0) % 8})
    notes = getattr(statistics, name)(x, bounds=(0.0, 10.0), epsilon=20.0, delta=1e-6).notes
    told = [note for note in notes if "may be at an end of their bounds" in note]
    assert not told or "['a']" in told[0]
    assert bool(told) == (scale == 1000.0)


def test_gaps_add_nothing_to_sums_and_rows_with_gaps_nothing_to_covariances():
    """At ε = 300 the noise is below .1 of the sums and .01 of the covariances."""
    x = X[["a", "b"]].mask(np.random.default_rng(0).random((400, 2)) < 0.3)
    asked = {"bounds": {"a": (0, 8), "b": (-1, 8)}, "epsilon": 300.0}
    np.testing.assert_allclose(statistics.sum(x, **asked).value, x.sum(), atol=2.0)
    by = statistics.sum(x.assign(k=X["k"]), **asked, by="k", keys=["u", "v"])
    np.testing.assert_allclose(by.value, x.groupby(X["k"]).sum(), atol=2.0)
    whole = x.dropna().cov(ddof=0)
    np.testing.assert_allclose(statistics.covariance(x, **asked).value, whole, atol=0.5)
