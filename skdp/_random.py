"""The one place where randomness comes from."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["noise_generator"]


def noise_generator(random_state: Any) -> np.random.Generator:
    """Return the generator that a fit draws its noise from.

    Parameters
    ----------
    random_state : None, int, numpy Generator or RandomState
        With ``None`` the generator is seeded by the operating system's entropy, afresh at each
        call, and never by NumPy's global state. Anything else makes the noise repeatable:
        whoever knows the seed can subtract the noise, so seeds are for tests only.

    Examples
    --------
    >>> noise_generator(0).integers(100, size=3).tolist()
    [85, 63, 51]
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)
