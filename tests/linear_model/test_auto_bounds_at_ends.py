"""Columns whose values reach the ends of the range of bounds="auto" are named."""

import numpy as np
import pandas as pd
import pytest

from skdp import DPTabularRegressor, TableSchema
from skdp.tables import ColumnSchema

X = pd.DataFrame({"near": np.linspace(-1.0, 1.0, 4000), "far": np.linspace(-1e10, 1e10, 4000)})


@pytest.mark.parametrize("bounds", ["auto", {"near": (-1.0, 1.0), "far": "auto"}])
def test_a_column_at_the_ends_is_named(bounds):
    """9 of 10 values lie beyond ±1e9. The noise of a bin is below .02 of the records."""
    model = DPTabularRegressor(epsilon=3.0, bounds=bounds, target_bounds=(-1.0, 1.0))
    with pytest.warns(UserWarning, match=r"columns \['far'\] reach the ends"):
        model.fit(X, X["near"])


def test_a_column_inside_is_not():
    """Warnings are errors."""
    model = DPTabularRegressor(epsilon=3.0, bounds="auto", target_bounds=(-1.0, 1.0))
    model.fit(X[["near"]], X["near"])


@pytest.mark.parametrize(
    "make",
    [
        lambda: ColumnSchema(kind="number", bounds="auto"),
        lambda: TableSchema({"x": {"bounds": "auto"}}, source="made up"),
    ],
)
def test_a_schema_states_no_automatic_bounds(make):
    with pytest.raises(ValueError, match="bounds='auto' is not a public fact"):
        make()
