"""Every public release, on random neighbors with extreme values: no answer moves too far."""

import inspect

import numpy as np
import pytest
import releases as suite
from comparison import compare, compare_real
from real_sizes import REAL

from skdp.exceptions import IncompatibleSolverError
from skdp.features import AdditiveFeatures, RandomFourierFeatures
from skdp.mechanisms.noise import MECHANISMS
from skdp.solvers import DPSGD, SOLVERS
from skdp.workloads import NOISES

CASES = suite.cases()
PUBLIC_MAPS = [
    name
    for name, kind in suite.public_names()
    if inspect.isclass(kind) and hasattr(kind, "fit") and name not in suite.releases()
]


def real_cases(chosen):
    """Return parameters for the chosen ways of all settings."""
    return [
        pytest.param(case, id=f"{name}: {case}")
        for k, (name, cases) in enumerate(REAL.items())
        for case in chosen(k, cases)
    ]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_answer_moves_farther_than_planned(case):
    compare(case, 1, 0)


@pytest.mark.parametrize("case", suite.variants(), ids=str)
def test_no_answer_moves_farther_with_other_settings(case):
    ways = suite.ways(case)
    compare_all([ways[0], ways[-1]], 1, 0)  # rows of one relation, persons of the other


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_many_neighbors(case):
    for seed in range(1, 21):
        compare(case, 5, seed)


@pytest.mark.slow
@pytest.mark.parametrize("case", [*suite.variants(), *suite.variants(suite.SLOW_VARIANTS)], ids=str)
def test_many_neighbors_with_other_settings(case):
    for seed in range(1, 11):
        compare_all(suite.ways(case), 5, seed)


@pytest.mark.parametrize("case", real_cases(lambda k, cases: [cases[k % len(cases)]]))
def test_no_answer_moves_farther_at_a_real_size(case):
    """One of the ways of each setting: the slow test has all of them."""
    compare_real(case, 1, 1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("case", real_cases(lambda k, cases: cases))
def test_many_neighbors_at_a_real_size(case):
    for seed in (1, 2):
        compare_real(case, 2, 12, seed)


def compare_all(ways, n_neighbors, seed):
    """Compare neighbors in all ways that the settings allow; at least one must be allowed."""
    refused = 0
    for way in ways:
        try:
            compare(way, n_neighbors, seed)
        except IncompatibleSolverError:
            refused += 1
    assert refused < len(ways)


@pytest.mark.parametrize("name", suite.releases())
def test_every_release_can_be_called(name):
    """A new release fails here if the suite has no value for one of its parameters."""
    kind = suite.releases()[name]
    assert not suite.missing_parameters(name, kind), "add them to SETTINGS, OWN or _COLUMNS"
    assert any(case.name == name and case.given for case in CASES)


def test_every_exclusion_is_still_public():
    assert set(suite.EXCLUDED) <= {name for name, _ in suite.public_names()}


def test_every_setting_is_of_a_release():
    given = {*suite.OWN, *suite.VARIANTS, *suite.SLOW_VARIANTS, *suite.MADE}
    assert given <= set(suite.releases())


def test_every_solver_and_every_kind_of_noise_is_in_the_suite():
    every = [*suite.variants(), *suite.variants(suite.SLOW_VARIANTS)]
    used = {case.settings["solver"] for case in every if "solver" in case.settings}
    assert {one for one in used if isinstance(one, str)} | {"dp_sgd"} == set(SOLVERS)
    assert "dp_sgd" in used or any(isinstance(one, DPSGD) for one in used)
    assert {case.settings["noise"] for case in every if "noise" in case.settings} >= set(NOISES)


@pytest.mark.parametrize("name", PUBLIC_MAPS)
def test_a_public_map_maps_each_row_alone(name):
    """Exact: NumPy and BLAS see tables of equal shape."""
    kind, rng = dict(suite.public_names())[name], np.random.default_rng(0)
    box = {"bounds": (-1.0, 1.0)}
    own = {
        "preprocessing.PublicDirections": {"n_components": 2},
        "preprocessing.RowClipper": {},
        "features.FeatureMixture": {
            "additive": AdditiveFeatures(**box),
            "random": RandomFourierFeatures(**box),
        },
    }
    fitted = kind(**own.get(name, box))
    fitted.fit(rng.normal(size=(12, 2)))
    for _ in range(10):
        one = rng.choice([0.0, -0.0, 0.3, -1.0, 1.0, 1.1, 5e-324, 1e90, -1e100], size=(12, 2))
        other, i = one.copy(), int(rng.integers(12))
        other[i] = rng.normal(size=2)
        rows = [np.delete(dense(fitted.transform(X)), i, 0) for X in (one, other)]
        assert rows[0].tobytes() == rows[1].tobytes()


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_grid_keeps_a_sensitivity(name):
    """Exact: with equal noise two answers on the grid are as far apart as rounded values."""
    noise = MECHANISMS[name].calibrate(1.0, 1e-3, 1)

    def released(value):
        return noise.release(value, np.random.default_rng(7))

    extreme = [0.0, -0.0, 0.5, 1e15, 2.0**53, 1e300, -1e300, 5e-324, np.inf, -np.inf]
    for value in [*extreme, *np.random.default_rng(0).normal(scale=1e3, size=40)]:
        assert 0.0 <= released(value + 1.0) - released(value) <= 1.0
    assert released(np.nan) == released(0.0)
