"""The number of rows that a private model needs, and the warning with the same number."""

import warnings

import numpy as np
import pytest

from skdp import DPGaussianNB, rows_needed
from skdp.exceptions import FewRowsWarning


def warned(n, **terms):
    """Return whether a fit to n rows warns that they are few."""
    X = np.random.default_rng(0).uniform(size=(n, 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DPGaussianNB(bounds=(0, 1), **terms).fit(X, np.arange(n) % 2)
    return any(one.category is FewRowsWarning for one in caught)


@pytest.mark.parametrize("terms", [{"epsilon": 1.0}, {"epsilon": 5.0, "delta": 1e-7}])
def test_a_fit_with_so_many_rows_does_not_warn_and_one_with_fewer_does(terms):
    n = rows_needed(**terms)
    assert not warned(n, **terms)
    assert warned(round(0.9 * n), **terms)


def test_more_privacy_needs_more_rows():
    needed = [rows_needed(epsilon=epsilon) for epsilon in (0.1, 1.0, 10.0, float("inf"))]
    assert needed == sorted(needed, reverse=True)
    assert needed[-1] == 1
    assert rows_needed(epsilon=1.0, delta=1e-9) > rows_needed(epsilon=1.0)
    assert rows_needed(epsilon=1.0, delta=0.0) == rows_needed(epsilon=1.0)
    with pytest.raises(ValueError, match="epsilon must be a positive number"):
        rows_needed(epsilon=0.0)
