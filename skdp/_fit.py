"""What goes around every private fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

__all__ = ["encoded_labels", "refuse_weights", "unchanged_if_refused"]


@contextmanager
def unchanged_if_refused(model: Any) -> Iterator[None]:
    """Give a model its attributes back if its fit ends here."""
    before = vars(model).copy()
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


def refuse_weights(fit_params: dict[str, Any], remedy: str = "") -> None:
    """Raise if `fit` was given more than data; `remedy` says what else would do."""
    if any(value is not None for value in fit_params.values()):
        raise ValueError(
            f"fit takes X and y only, got {sorted(fit_params)}. A sample_weight would need a "
            f"public bound{remedy}. Nothing was spent."
        )


def encoded_labels(name: str, y: np.ndarray, known: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the public classes, those found in `y` if none are `known`, and y as 0..K−1."""
    if known is None:  # else comparison with them is the stronger check
        check_classification_targets(y)
    classes = np.unique(y if known is None else np.asarray(known))
    if classes.size < 2:
        raise ValueError(
            f"{name} needs at least two classes, got one class: {classes.tolist()}. "
            "Nothing was spent."
        )
    codes = np.minimum(np.searchsorted(classes, y), classes.size - 1)
    if np.any(classes[codes] != y):
        raise ValueError(f"y has labels outside classes={classes.tolist()}. Nothing was spent.")
    return classes, codes
