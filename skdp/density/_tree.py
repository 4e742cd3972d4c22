"""The private choice of a spanning tree over the columns of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from skdp.data.exact_sums import STEP_BITS
from skdp.density._consistency import independent
from skdp.density._counts import Pair
from skdp.density._plan import TreeReleases

__all__ = ["choose_edges", "utilities"]

_GRID_BITS = 20  # of utilities, which have 2^31 as a bound: floats hold them exactly
_LARGEST = 2.0**30


def choose_edges(
    plan: TreeReleases,
    counts: Mapping[Pair, np.ndarray],
    margins: Sequence[np.ndarray],
    totals: np.ndarray,
    rng: np.random.Generator,
) -> list[Pair]:
    """Return the edges of a spanning tree, one choice of the plan for each (Kruskal's algorithm).

    The candidates of a choice connect what earlier choices have not connected yet.
    """
    pairs, values = list(counts), utilities(plan.scale("edges"), counts, margins, totals)
    part, edges = np.arange(len(margins)), []
    for _ in range(len(margins) - 1):
        open_pairs = [k for k, (i, j) in enumerate(pairs) if part[i] != part[j]]
        i, j = pairs[open_pairs[plan.choose(values[open_pairs], rng)]]
        edges.append((i, j))
        part[part == part[j]] = part[i]
    return edges


def utilities(
    scale: float,
    counts: Mapping[Pair, np.ndarray],
    margins: Sequence[np.ndarray],
    totals: np.ndarray,
) -> np.ndarray:
    """Return how far the counts of each pair are from what released tables predict, in l1.

    The expected l1 size of the noise of the pair is subtracted: σ·√(2/π) for each cell. Counts are
    in steps of 2^−31. Predictions are rounded to such steps, and the sums are integers, so a record
    that moves counts by at most Δ in l1 moves a utility by at most Δ = 1, or 2 if it is replaced.
    The distance is rounded down to the grid of 2^−20, of which Δ is a multiple: this keeps Δ.
    Below 2^29 rows and predictions nothing overflows 63 bits.
    """
    found = []
    for (i, j), exact in counts.items():
        predicted = np.minimum(independent(margins[i], margins[j], totals), _LARGEST)
        predicted *= min(1.0, _LARGEST / max(float(predicted.sum()), 1.0))
        steps = np.rint(np.ldexp(predicted, STEP_BITS)).astype(np.int64)
        distance = int(np.abs(exact - steps).sum()) >> (STEP_BITS - _GRID_BITS)
        noise = min(math.sqrt(2.0 / math.pi) * scale * exact.size, _LARGEST)
        in_steps = distance - round(math.ldexp(noise, _GRID_BITS))
        found.append(math.ldexp(float(in_steps), -_GRID_BITS))
    return np.array(found)
