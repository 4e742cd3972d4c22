"""Columns in other units than their bounds, which released means show."""

import warnings

import numpy as np
import pytest

from skdp import DPGaussianNB, DPMixedNB

RNG = np.random.default_rng(0)
X = RNG.uniform(20.0, 80.0, size=(20_000, 3))
Y = X[:, 0] + X[:, 1] > 100.0


@pytest.mark.parametrize("relation", ["replace_one", "add_remove_one"])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e-5])
@pytest.mark.parametrize("kind", [DPGaussianNB, DPMixedNB])
def test_a_column_in_other_units_is_named(kind, scale, relation):
    """Noise hides an end, or makes one, in one of 10⁶ releases."""
    model = kind(bounds=(0, 100), epsilon=1.0, neighboring=relation)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(X * [1.0, scale, 1.0], Y)
    messages = [str(one.message) for one in found]
    assert any("Columns [1] may be at an end" in text for text in messages) == (scale != 1.0)
    assert len(messages) == (scale != 1.0)
