"""Settings of the test suite."""

import gc
import os

import numpy as np
import pytest
from hypothesis import settings

from skdp import PrivacyBudget
from skdp.privacy import Neighboring

# At home each run tries new examples; a build server repeats one run.
settings.register_profile("home", deadline=None)
settings.register_profile("server", deadline=None, derandomize=True)
settings.load_profile("server" if os.environ.get("CI") else "home")


def pytest_collection_finish():
    """Keep modules and tests, which stay to the end, out of later garbage collections."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def one_thread():
    """Dask computes in the thread of the test."""
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(params=["replace_one", "add_remove_one"], scope="session")
def neighboring(request):
    """Return each neighboring relation."""
    return request.param


@pytest.fixture(params=[*Neighboring], ids=str, scope="session")
def relation(request):
    """Return each neighboring relation, for what takes no name of it."""
    return request.param


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def budget():
    return PrivacyBudget(epsilon=3.0, delta=1e-5)


@pytest.fixture
def unspent(budget):
    """Return a budget for tests that must not spend."""
    yield budget
    assert budget.history() == []


@pytest.fixture(scope="session")
def is_covered():
    """Return Wald's sequential test of whether intervals contain the numbers that they are about.

    It takes an endless iterator of trials, each a truth value or one for each of several intervals.
    The ratio of the likelihoods of a coverage of ``poor`` and of ``good`` has a mean of at most 1
    after any number of trials if the coverage is ``good`` or more. So it ever reaches 1/``alarm``
    with a probability of at most ``alarm``, that of a false alarm (Ville's inequality). In the same
    way, intervals of coverage ``poor`` or less pass with a probability of at most 1/100.

    Of 0.94 and 0.75, an interval of true coverage 0.95 takes about 35 trials, one of 0.98 about 25.
    A fixed number of 120 trials with the same false alarms finds 0.75 in 96 of 100 runs, not 99,
    and 0.8 in 72, where this test finds it in 94.
    """

    def test(trials, *, good=0.94, poor=0.75, alarm=1e-5):
        hit, miss = np.log(poor / good), np.log((1.0 - poor) / (1.0 - good))
        ratio, is_open = 0.0, True
        for contained in trials:
            ratio = ratio + is_open * np.where(contained, hit, miss)
            is_open = ratio > np.log(0.01)
            if np.max(ratio) >= -np.log(alarm):
                return False
            if not np.any(is_open):
                return True
        raise AssertionError("the trials ended before the test")

    return test
