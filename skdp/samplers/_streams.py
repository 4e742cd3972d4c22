"""Independent draws, each from a stream of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from skdp._random import noise_generator
from skdp._validation import check_count

__all__ = ["independent_draws"]


def independent_draws(
    draw: Callable[[np.random.Generator], np.ndarray],
    n_draws: int,
    random_state: Any,
    n_jobs: int | None,
) -> np.ndarray:
    """Return draws, stacked. Each has a spawned stream, so that `n_jobs` does not change them."""
    streams = noise_generator(random_state).spawn(check_count("n_draws", n_draws))
    return np.stack(Parallel(n_jobs=n_jobs)(delayed(draw)(stream) for stream in streams))
