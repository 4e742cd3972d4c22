"""Settings of the test suite."""

import gc
import os

import pytest
from hypothesis import settings

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
