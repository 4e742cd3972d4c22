"""The one place where randomness comes from."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

try:
    from randomgen import ChaCha  # the extra `secure`
except ImportError:
    ChaCha = None

__all__ = ["HiddenSeed", "child_generator", "noise_generator", "seed_of"]

_KEY_BYTES = 32
_ROUNDS = 20


class HiddenSeed(int):
    """A seed that does not print: whoever reads it takes the noise off."""

    def __repr__(self) -> str:
        return "<hidden>"

    __str__ = __repr__


def noise_generator(random_state: Any) -> np.random.Generator:
    """Return the generator that a fit draws its noise from.

    Parameters
    ----------
    random_state : None, int, numpy Generator or RandomState
        With ``None`` the generator is keyed by the operating system, afresh at each call, and
        never by NumPy's global state: it reads the stream cipher ChaCha20 (RFC 8439) if the extra
        ``secure`` is installed, else NumPy's PCG64, which is no cipher. Anything else makes the
        noise repeatable: whoever knows the seed can subtract the noise, so seeds are for tests
        only.

    Returns
    -------
    numpy Generator
        A new generator, or the one that was given.

    Examples
    --------
    >>> noise_generator(0).integers(100, size=3).tolist()
    [85, 63, 51]
    """
    if random_state is None and ChaCha is not None:
        key = int.from_bytes(os.urandom(_KEY_BYTES), "little")
        return np.random.Generator(ChaCha(key=key, rounds=_ROUNDS))
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)


def child_generator(rng: np.random.Generator) -> np.random.Generator:
    """Return a new generator of the same kind, keyed by the next bits of another one.

    Parameters
    ----------
    rng : numpy Generator
        *Secret.*

    Returns
    -------
    numpy Generator
        ChaCha20 if the parent is, else PCG64.
    """
    key = int.from_bytes(rng.bytes(_KEY_BYTES), "little")
    if ChaCha is not None and isinstance(rng.bit_generator, ChaCha):
        return np.random.Generator(ChaCha(key=key, rounds=_ROUNDS))
    return np.random.default_rng(key)


def seed_of(random_state: Any) -> Any:
    """Return a random state in a form that scikit-learn takes, for fits without privacy."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return random_state
