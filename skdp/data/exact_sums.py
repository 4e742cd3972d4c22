"""Exact sums over rows, in any order and from any blocks.

Numbers are added as integers, in steps of 2^−31. So no row changes the contribution of another row,
as it could in sums of floats. A sensitivity therefore holds for the computed sum, not only on
paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np

from skdp.data.columns import ROWS_AT_ONCE
from skdp.data.records import STEP_BITS, Facts, Records, Sums, from_steps

Numbers = Callable[[Records[Facts]], Iterable[Mapping[str, np.ndarray]]]
"""Yields the numbers of some rows at a time, by name, each of shape (n_rows, size)."""


class Groups(Protocol):
    """Groups of rows, each with sums of its own."""

    @property
    def n_groups(self) -> int:
        """*Public.* The number of groups."""

    def codes(self, records: Records[object]) -> np.ndarray:
        """Return the group of each row, −1 for none."""


def exact_sums(
    sizes: Mapping[str, int],
    records: Records[Facts],
    numbers: Numbers[Facts],
    keys: Groups | None = None,
) -> Sums:
    """Return the sums of numbers in [−1, 1], each rounded to a multiple of 2^−31.

    `numbers` yields the numbers of some rows of the records at a time. Totals of at least 2^53
    steps are rounded as floats, by 2^−54 of at most 2^31. For two neighbors this is 2^−22 together,
    which `ROUNDED_ONCE` of `skdp.workloads.plan` covers. With `keys` there is a row of sums for
    each group.
    """
    return from_steps(records.total(partial(sums_in_steps, sizes, numbers, keys)))


def sums_of_means(
    sizes: Mapping[str, int],
    records: Records[Facts],
    numbers: Numbers[Facts],
) -> Sums:
    """Return the sums over records of the numbers of rows. A person counts with the mean.

    A mean is rounded once, like a row, whereas `exact_sums` rounds each of a person's rows toward
    zero. The numbers of a person are therefore no farther apart than the numbers of one row can be.
    Rows have no weights here.
    """
    return from_steps(records.total(partial(_means_in_steps, sizes, numbers)))


def _means_in_steps(
    sizes: Mapping[str, int],
    numbers: Numbers[Facts],
    records: Records[Facts],
) -> Sums:
    if records.persons is None:
        return sums_in_steps(sizes, numbers, None, records)
    some = list(numbers(records))
    rows = {name: np.concatenate([one[name] for one in some]) for name in sizes if some}
    means = {name: records.persons.means(column) for name, column in rows.items()}
    alone = replace(records, persons=None)
    return sums_in_steps(sizes, lambda _: [means] if some else [], None, alone)


def sums_in_steps(
    sizes: Mapping[str, int],
    numbers: Numbers[Facts],
    keys: Groups | None,
    records: Records[Facts],
) -> Sums:
    """Return the sums in steps of 2^−31."""
    codes, n_groups = (None, ()) if keys is None else (keys.codes(records), (keys.n_groups,))
    totals = {name: np.zeros((*n_groups, size), dtype=np.int64) for name, size in sizes.items()}
    start, weights = 0, records.steps
    for block in numbers(records):
        for name, total in totals.items():
            own = None if weights is None else weights[start:]
            group = None if codes is None else codes[start:]
            if own is None and group is None and block[name].dtype == bool:
                total += np.count_nonzero(block[name], axis=0) << STEP_BITS
            else:
                total += _added(_in_steps(block[name], own), group, len(total))
        start += len(block[name])
    return totals


def _in_steps(numbers: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return integer steps; a person's add up to at most the steps of their weights."""
    if weights is None:
        steps = np.multiply(numbers, 2.0**STEP_BITS, dtype=float)  # ten times as fast as `ldexp`
        return np.asarray(np.rint(steps, out=steps))
    steps = numbers * weights[: len(numbers), None]
    return np.asarray(np.trunc(steps, out=steps))


def _added(steps: np.ndarray, codes: np.ndarray | None, n_groups: int) -> np.ndarray:
    """Return sums of integers over rows, or over those of each group.

    A part of 2^18 rows has sums below 2^53, of integers up to 2^31: floats add them exactly.
    """
    if codes is None:
        total = np.zeros(steps.shape[1], dtype=np.int64)
        for start in range(0, len(steps), ROWS_AT_ONCE):
            some = steps[start : start + ROWS_AT_ONCE]
            total += (np.ones(len(some)) @ some).astype(np.int64)
        return total
    places = codes[: len(steps)] + 1  # the first of them for rows in no group
    sums = [counted(places, n_groups + 1, column)[1:] for column in steps.T]
    return np.stack(sums, axis=1)


def counted(
    places: np.ndarray,
    size: int,
    weights: np.ndarray | None,
    chosen: np.ndarray | slice = slice(None),
) -> np.ndarray:
    """Return the number of `chosen` rows in each bin, or their total weight in steps."""
    places = places[chosen]
    if weights is None:
        return np.bincount(places, minlength=size)
    total, weights = np.zeros(size, dtype=np.int64), weights[chosen]
    for start in range(0, places.size, ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        total += np.bincount(places[some], weights[some], size).astype(np.int64)
    return total


def counts_from_steps(counts: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return counts as floats; if rows have weights, counts are in steps."""
    return np.ldexp(counts.astype(float), 0 if weights is None else -STEP_BITS)
