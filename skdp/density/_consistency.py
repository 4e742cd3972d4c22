"""Released tables made consistent: without negative counts, and with equal margins.

All of it is post-processing of released numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from skdp.density._counts import Pair

# No guarantee rests on these: they shape the estimates.
_LEAST_TOTAL = 1.0  # records of a label
_LEAST_SHARE = 0.02  # of the count of a cell, in units of the count without an interaction
_MOST_HELD = 1.5  # of total/n_groups: records of a group of several levels
_DIGITS = 6  # of shares that count as equal: weighted records are rounded
_ROUNDS = 10  # of fitting margins in turn; more change little


def known_counts(noisy: np.ndarray) -> np.ndarray:
    """Return the nearest counts without negative ones, whose sum is the same, but at least 1."""
    return with_sums(noisy[:, None], np.maximum(noisy[:, None].sum(axis=0), 1.0))[:, 0]


def label_totals(tables: Sequence[np.ndarray], n_known: float | None) -> np.ndarray:
    """Return the number of records of each label from tables of shape (n_levels, n_labels).

    The sums of a table with k levels have k times the variance of a cell, so tables are weighted by
    1/k. A public number of records is the sum of the totals: adjusted as in naive Bayes.
    """
    weights = np.array([1.0 / len(table) for table in tables])
    sums = np.stack([table.sum(axis=0) for table in tables])
    totals = weights @ sums / weights.sum()
    if n_known is None:
        return np.asarray(np.maximum(totals, _LEAST_TOTAL))
    totals = np.maximum(totals - (totals.sum() - n_known) / totals.size, _LEAST_TOTAL)
    return np.asarray(totals * (n_known / totals.sum()))


def with_sums(table: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the nearest table without negative numbers whose columns have the sums `totals`.

    It is max(x − t, 0) with one t for each column (the projection on a simplex). So small counts,
    mostly noise, become 0.
    """
    falling = -np.sort(-table, axis=0)
    excess = (np.cumsum(falling, axis=0) - totals) / np.arange(1, len(table) + 1)[:, None]
    last = np.maximum((falling > excess).sum(axis=0) - 1, 0)
    shift = excess[last, np.arange(totals.size)]
    return np.maximum(table - shift, 0.0)


def groups_of(table: np.ndarray, n_groups: int, *, ordered: bool) -> np.ndarray:
    """Return the group of each level, such that groups have about total/n_groups records.

    A level with more records is a group by itself. Levels of numbers stay in their order.
    Categories are ordered by the share of the last label, so that categories which are alike for a
    prediction share a group. There are at most 2·n_groups + 1 groups, because two groups in a row
    have at least total/n_groups records.
    """
    counts = table.sum(axis=1)
    order = np.arange(len(table))
    if not ordered and table.shape[1] > 1:
        shares = table[:, -1] / np.maximum(counts, _LEAST_TOTAL)
        order = np.argsort(shares.round(_DIGITS), kind="stable")
    least = counts.sum() / n_groups * (1.0 - 10.0**-_DIGITS)
    groups, current, held = np.empty(len(table), int), -1, math.inf
    for level in order:
        count = counts[level]
        if max(count, held) >= least or held + count > _MOST_HELD * least:
            current, held = current + 1, 0.0
        groups[level], held = current, held + count
    return groups


def summed(counts: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the sums of rows by group; of integers exactly."""
    sums = np.zeros((int(groups.max()) + 1, *counts.shape[1:]), counts.dtype)
    np.add.at(sums, groups, counts)
    return sums


def independent(one: np.ndarray, other: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the counts of pairs of groups if both are independent given the label."""
    return one[:, None, :] * other[None, :, :] / totals


def margins(
    tables: Sequence[np.ndarray],
    groups: Sequence[np.ndarray],
    pairs: Mapping[Pair, np.ndarray],
    totals: np.ndarray,
    scales: tuple[float, float],
) -> list[np.ndarray]:
    """Return the counts of the groups of each node, from its own table and those of its edges.

    Estimates are weighted by the inverse of their variances: of a group of k levels k·σ², and of
    the margin of a pair σ² for each cell that is added up. `scales` are σ of tables and of pairs.
    """
    found = []
    for i, (table, group) in enumerate(zip(tables, groups, strict=True)):
        weight = 1.0 / (scales[0] ** 2 * np.bincount(group).astype(float)[:, None])
        total, sum_of_weights = weight * summed(table, group), weight
        for (first, second), pair in pairs.items():
            if i in (first, second):
                axis = 1 if i == first else 0
                weight = 1.0 / (scales[1] ** 2 * pair.shape[axis])
                total, sum_of_weights = total + weight * pair.sum(axis), sum_of_weights + weight
        found.append(with_sums(total / sum_of_weights, totals))
    return found


def fitted_pair(
    pair: np.ndarray, one: np.ndarray, other: np.ndarray, totals: np.ndarray, scale: float
) -> np.ndarray:
    """Return the counts of a pair of nodes with the margins `one` and `other`.

    The released counts get the margins by the least change. What they have beside independence is
    reduced to its few strong components, and the margins are then fitted in turn.
    """
    pair = pair + (one - pair.sum(axis=1))[:, None, :] / pair.shape[1]
    pair = pair + (other - pair.sum(axis=0))[None] / pair.shape[0]
    q = independent(one, other, totals)
    pair = np.maximum(q + _strong_part(pair - q, scale), _LEAST_SHARE * q)
    for _ in range(_ROUNDS):
        pair *= ratio(one, pair.sum(axis=1))[:, None, :]
        pair *= ratio(other, pair.sum(axis=0))[None]
    return pair


def _strong_part(rest: np.ndarray, scale: float) -> np.ndarray:
    """Return the projection of a table on the components of each axis that exceed the noise.

    The singular values of an (m, n) matrix of noise are at most about σ(√m + √n). Columns that
    depend on each other smoothly have few components above it, far fewer than a pair has cells.
    """
    first, second = (_projector(np.moveaxis(rest, axis, 0), scale) for axis in (0, 1))
    return np.einsum("ij,jky,kl->ily", first, rest, second, optimize=True)


def _projector(table: np.ndarray, scale: float) -> np.ndarray:
    """Return the projection of the first axis on its components that exceed the noise."""
    matrix = table.reshape(len(table), -1)
    components, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    kept = components[:, sizes > scale * sum(map(math.sqrt, matrix.shape))]
    return np.asarray(kept @ kept.T)


def level_counts(
    table: np.ndarray, group: np.ndarray, margin: np.ndarray, scale: float
) -> np.ndarray:
    """Return the counts of (level, label), shrunk toward one distribution within each group.

    So levels of one group differ for a prediction only as far as the counts exceed the noise. A
    group without a count in its own table may have one by its pairs: its levels share it evenly.
    """
    every = with_sums(table.sum(axis=1, keepdims=True), margin.sum(keepdims=True)[0])
    sums, sizes = summed(every, group)[group], np.bincount(group)[group, None]
    share = np.where(sums > 0.0, ratio(every, sums), 1.0 / sizes)
    return _shrunk(table, margin[group] * share, scale)


def _shrunk(table: np.ndarray, q: np.ndarray, scale: float) -> np.ndarray:
    """Return q and a part of what a released table has beside it, its share of the variance.

    That is τ·q/(τ·q + σ²), with τ as observed in all cells, and σ² for the noise.
    """
    rest, variance = table - q, scale**2
    tau = max(float((rest**2 - variance).sum() / max(q.sum(), 1e-300)), 0.0)
    return np.maximum(q + tau * q / (tau * q + variance) * rest, _LEAST_SHARE * q)


def ratio(wanted: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Return wanted/found, 0 where found is 0."""
    return np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0.0)
