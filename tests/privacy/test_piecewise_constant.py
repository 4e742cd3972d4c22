"""Noise on cells: its curve is an upper bound, digits and all."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.privacy.noise_events import PiecewiseConstantNoiseEvent


def exact_delta(masses, atom, shift, epsilon):
    """Return δ(ε) of the masses as they stand, divided by their sum, in 50 digits."""
    with mp.workdps(50):
        exact, growth = [mp.mpf(mass) for mass in masses], mp.exp(mp.mpf(epsilon))
        n, worst = len(exact), mp.mpf(0)
        for s in (x for size in range(1, shift + 1) for x in (size, -size)):
            moved = [exact[i - s] if 0 <= i - s < n else 0 for i in range(-shift, n + shift)]
            still = [exact[i] if 0 <= i < n else 0 for i in range(-shift, n + shift)]
            parts = (max(mp.mpf(0), p - growth * q) for p, q in zip(still, moved, strict=True))
            worst = max(worst, mp.mpf(atom) + mp.fsum(parts))
        return worst / (mp.fsum(exact) + mp.mpf(atom))


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(3, 15),
    per_level=st.integers(1, 2),
    epsilon=st.sampled_from([0.1, 1.0, 5.0]),
    atom=st.sampled_from([0.0, 1e-9]),
)
@settings(max_examples=60, deadline=None)
def test_the_curve_is_never_below_the_truth_where_losses_are_tied(
    seed, n, per_level, epsilon, atom
):
    # Optimized noise has most losses at just ε: there a small δ is made of rounding errors.
    noise = np.random.default_rng(seed).standard_normal(n)
    levels = np.abs(np.arange(n) - n // 2) // per_level
    masses = np.exp(-epsilon * levels) * (1.0 + 1e-11 * noise)
    masses *= (1.0 - atom) / masses.sum()
    curve = PiecewiseConstantNoiseEvent(tuple(masses), per_level, atom).curve("add_remove_one")
    for at in (epsilon, epsilon * (1.0 - 1e-12), epsilon * (1.0 + 1e-12), 0.3 * epsilon, -epsilon):
        truth = exact_delta(masses, atom, per_level, at)
        assert curve.delta(at) >= truth
        assert curve.delta(at) == pytest.approx(float(truth), rel=1e-12, abs=1e-13)
