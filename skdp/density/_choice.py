"""The private choice of pairs of columns: a spanning tree, and more pairs that close circles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from skdp.data.exact_sums import STEP_BITS
from skdp.density._cliques import Cliques
from skdp.density._consistency import independent
from skdp.density._counts import Pair
from skdp.density._plan import PairReleases

_GRID_BITS = 20  # of utilities, which have 2^31 as a bound: floats hold them exactly
_LARGEST = 2.0**30


def choose_pairs(
    plan: PairReleases,
    counts: Mapping[Pair, np.ndarray],
    margins: Sequence[np.ndarray],
    totals: np.ndarray,
    rng: np.random.Generator,
) -> Cliques:
    """Return cliques of pairs of nodes, one choice of the plan for each pair.

    The first pairs are a spanning tree (Kruskal's algorithm): candidates connect what earlier
    choices have not connected yet. Later candidates leave all cliques small.
    """
    values, pairs = utilities(plan.scale("pairs"), counts, margins, totals), [*counts]
    first, second = np.array(pairs).T

    def chosen(candidates: np.ndarray) -> Pair:
        return pairs[candidates[plan.choose(values[candidates], rng)]]

    part, edges = np.arange(len(margins)), []
    for _ in range(len(margins) - 1):
        i, j = chosen(np.flatnonzero(part[first] != part[second]))
        edges.append((i, j))
        part[part == part[j]] = part[i]
    cliques = Cliques.of([len(margin) for margin in margins], totals.size, edges)
    for _ in range(plan.n_pairs - len(edges)):
        others = np.array([k for k, pair in enumerate(pairs) if pair not in cliques.edges], int)
        candidates = others[cliques.admits([pairs[k] for k in others])]
        if not candidates.size:
            break
        cliques = cliques.with_edge(chosen(candidates))
    return cliques


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
