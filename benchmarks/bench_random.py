"""CPU time of secure random numbers, over that of NumPy's PCG64.

Usage: python benchmarks/bench_random.py [--smallest]
"""

import argparse
import time

import numpy as np

from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.support.secure_random import SecureGenerator

NOISE = GridGaussian.of_scale(1.0)


def noise_or_normal(rng, n):
    """Return exact noise from secure bits, and NumPy's normal variates from the other generator."""
    exact = isinstance(rng, SecureGenerator)
    return NOISE.noise(n, rng) if exact else rng.standard_normal(n)


KINDS = {
    "bytes": lambda rng, n: rng.bytes(8 * n),
    "uniform": lambda rng, n: rng.random(n),
    "integers below 2": lambda rng, n: rng.integers(2, size=n),
    "integers below 3·2^34": lambda rng, n: rng.integers(3 * 2**34, size=n),
    "normal": lambda rng, n: rng.standard_normal(n),
    "normal on a grid": lambda rng, n: noise_or_normal(rng, n),
    "exponential": lambda rng, n: rng.standard_exponential(n),
    "permutation": lambda rng, n: rng.permutation(n),
}
SIZES = [1, 100, 10_000, 1_000_000]


def seconds(sample, rng, n, repeats):
    """Return the least CPU time of a call, of several."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(max(1, 10_000 // n)):
            sample(rng, n)
        times.append((time.process_time() - start) / max(1, 10_000 // n))
    return min(times)


def main():
    """Print a row for each kind of number and a column for each size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--smallest", action="store_true", help="small arrays, once")
    options = parser.parse_args()
    sizes, repeats = (SIZES[:2], 1) if options.smallest else (SIZES, 5)
    secure, fast = SecureGenerator(), np.random.default_rng()
    print(f"{'CPU time over PCG64':24}" + "".join(f"{n:>12,}" for n in sizes))
    for name, sample in KINDS.items():
        ratios = (seconds(sample, secure, n, repeats) / seconds(sample, fast, n, repeats)
                  for n in sizes)  # fmt: skip
        print(f"{name:24}" + "".join(f"{ratio:12.2f}" for ratio in ratios))


if __name__ == "__main__":
    main()
