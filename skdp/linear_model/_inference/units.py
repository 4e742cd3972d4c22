"""Public units of scaled columns, in which coefficients are reported."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline


class Units(NamedTuple):
    """Columns as they were: column = `center` + `scale`·(scaled column)."""

    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def of_unscaled(cls, n_columns: int) -> Units:
        return cls(np.zeros(n_columns), np.ones(n_columns))


@runtime_checkable
class _Scaler(Protocol):
    """A transformer that scales columns by public numbers."""

    def output_units(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the center and the scale of each column of the output."""


def units_of(transformer: object, n_columns: int) -> Units:
    """Return the units of the columns that a fitted transformer returns.

    Scalers are found as the only step of a pipeline that changes units, and as parts of a
    `ColumnTransformer`. Columns of other transformers are their own units.
    """
    found = Units.of_unscaled(n_columns)
    if isinstance(transformer, _Scaler):
        found = Units(*transformer.output_units())
    elif isinstance(transformer, Pipeline):
        return units_of(_only_step(transformer), n_columns)
    elif isinstance(transformer, ColumnTransformer):
        for name, part, _ in transformer.transformers_:
            own = transformer.output_indices_[name]
            inner = units_of(part, own.stop - own.start)
            found.center[own], found.scale[own] = inner
    if found.scale.size != n_columns:
        raise ValueError(
            f"scaler returns {found.scale.size} columns, and the model has {n_columns} "
            "coefficients. Pass the transformer whose output the model was fitted to."
        )
    return found


def _only_step(pipeline: Pipeline) -> object:
    """Return the only transformer, None for several without a scaler, which are own units."""
    steps = [step for _, step in pipeline.steps if step not in (None, "passthrough")]
    if len(steps) > 1 and any(isinstance(step, _Scaler) for step in steps):
        raise ValueError(
            "scaler is a pipeline of several transformers, whose units are unknown. If only one "
            "of them changes units, pass that one."
        )
    return steps[0] if len(steps) == 1 else None
