"""Counts of test rows by true label and by what was predicted: one noisy histogram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.data.blocks import Block
from skdp.data.exact_sums import counted
from skdp.data.validation import classes_of_blocks, codes_in_block, labels_in_block
from skdp.metrics._estimate import interval_of
from skdp.metrics._pairs import Pairs
from skdp.metrics._view import Viewed
from skdp.privacy import PrivacyGuarantee
from skdp.workloads import Query, QueryPlan

__all__ = ["CountedPairs", "Counts", "NoisyReport"]

_CELLS = "cells"


@dataclass(frozen=True, eq=False, repr=False)
class CountedPairs:
    """*Private* pairs, and how the predictions of a block become the numbers of cells."""

    pairs: Pairs
    classes: np.ndarray
    cell_of: Callable[[Block], np.ndarray]
    n_cells: int

    @property
    def n_records(self) -> int:
        """The number of records: of rows, or of persons."""
        return self.pairs.n_records

    def counts(self) -> dict[str, np.ndarray]:
        """Return the *private* counts: for each true label those of the cells, flattened."""
        return self.pairs.counts(partial(_counted, self.classes, self.cell_of, self.n_cells))


def _counted(
    classes: np.ndarray,
    cell_of: Callable[[Block], np.ndarray],
    n_cells: int,
    weights: np.ndarray | None,
    block: Block,
) -> dict[str, np.ndarray]:
    codes = codes_in_block(block.y, classes) * n_cells + cell_of(block)
    return {_CELLS: counted(codes, classes.size * n_cells, weights)}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NoisyReport(Viewed):
    """What one noisy histogram of test rows says.

    Parameters
    ----------
    counts : ndarray of shape (n_classes, n_cells)
        *Released.* Rows of each true label in each cell; unbiased, so some may be negative.
    classes : ndarray of shape (n_classes,)
        *Public.* The labels.
    n_samples : int or None
        *Public.* The number of test rows, with groups of persons; None where it is private.
    privacy : PrivacyGuarantee
        *Public.* Of everything in the report together.
    _variance : float
        *Public.* Of the noise of each number.
    """

    counts: np.ndarray
    classes: np.ndarray
    n_samples: int | None
    privacy: PrivacyGuarantee
    _variance: float = field(repr=False)

    @property
    def total(self) -> float:
        """How many rows there are: the public number, or the sum of the counts."""
        return self._total(self.counts)

    def _total(self, counts: np.ndarray) -> float:
        return float(counts.sum()) if self.n_samples is None else float(self.n_samples)

    def _interval(
        self,
        metric: Callable[[np.ndarray], float],
        level: float,
        sampling: bool,
        bounds: tuple[float, float] = (0.0, 1.0),
        hidden: Callable[[np.ndarray], float] = lambda slopes: 0.0,
    ) -> tuple[float, float]:
        """Return an interval for a function of the counts.

        `hidden` is the variance that remains without sampling if the counts are exact.
        """

        def variance(slopes: np.ndarray) -> float:
            noise = self._variance * float(slopes @ slopes)
            return noise + (self._sampling_variance(slopes) if sampling else hidden(slopes))

        shape = self.counts.shape
        return interval_of(
            lambda sums: metric(sums.reshape(shape)), self.counts.ravel(), variance, level, bounds
        )

    def _sampling_variance(self, slopes: np.ndarray) -> float:
        """Return the variance of slopes times counts over samples of equally many rows."""
        counts = np.maximum(self.counts, 0.0).ravel()
        mean = float(slopes @ counts)
        return max(float(slopes**2 @ counts) - mean * mean / max(counts.sum(), 1.0), 0.0)


class Counts(PrivateFit):
    """The parts of the transaction of a report on labels."""

    takes_infinite_epsilon = False
    guess_name = "y_pred"

    def __init__(self, classes: Any, noise: str) -> None:
        self.classes = classes
        self.noise = noise

    def _records(
        self,
        parameters: ReleaseParameters,
        truth: Any,
        guess: Any,
        check: Callable[[Block], Any],
        groups: Any,
    ) -> tuple[Pairs, np.ndarray]:
        """Return checked pairs, and the public classes."""
        check = partial(_checked, self.classes, check)
        more = {"guess_name": self.guess_name, "groups": groups}
        pairs = Pairs.of(parameters, truth, guess, check, **more)
        return pairs, classes_of_blocks(str(self.released_as), pairs.found, self.classes)

    def _plan(self, parameters: ReleaseParameters, records: CountedPairs) -> QueryPlan:
        query = Query(
            _CELLS,
            size=records.classes.size * records.n_cells,
            linf_sensitivity=1.0,
            l0_sensitivity=parameters.neighboring.n_changed,
            integer=True,
        )
        return parameters.plan_queries([query], self.noise)

    def _read(self, plan: QueryPlan, records: CountedPairs, rng: np.random.Generator) -> np.ndarray:
        cells = plan.release(records.counts(), rng)[_CELLS]
        return cells.reshape(records.classes.size, records.n_cells).astype(float)

    def _facts(
        self, plan: QueryPlan, records: CountedPairs, released: Any, guarantee: PrivacyGuarantee
    ) -> dict[str, Any]:
        """Return the fields that all reports have."""
        return {
            "counts": released,
            "classes": records.classes,
            "n_samples": records.n_records if guarantee.neighboring.count_is_public else None,
            "privacy": guarantee,
            "_variance": plan.mechanism(_CELLS).expected_loss("l2"),
        }


def _checked(known: Any, check: Callable[[Block], Any], block: Block) -> np.ndarray:
    """Return the true labels in a block, after checks of both columns."""
    if np.ndim(block.y) != 1:
        raise ValueError("y_true must be one column of labels.")
    check(block)
    return labels_in_block(block.y, known)
