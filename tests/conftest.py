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
