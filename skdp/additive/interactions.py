"""How much of the residuals of an additive fit each pair of columns explains."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from skdp.data.exact_sums import STEP_BITS, Sums, counted, from_steps
from skdp.features.table import TableFacts
from skdp.linear_model._base import Learned
from skdp.linear_model._records import LinearRecords, row_scores
from skdp.losses.base import ProbabilityLoss

__all__ = [
    "SENSITIVITY",
    "PairCells",
    "Residuals",
    "pair_scores",
    "residuals_of_classes",
    "residuals_of_numbers",
    "score_of",
]

Residuals = Callable[[Learned, np.ndarray, np.ndarray], np.ndarray]
"""Function of a fit, targets and scores that returns residuals of shape (n_rows, n_outputs)."""

_BINS = 6  # of a numeric column
_DEVIATION = 0.5  # of a residual: |Σr| of a cell with N records without a signal is about √N/2
_LEAST_MEAN = 1.0 / 100.0  # |r|₁ that a pair must explain: features of weaker pairs cost accuracy

_MOST_FALL = 1.0 + 1.0 / (1.0 + math.sqrt(17.0))  # D = 1.1952
_ROUNDING = 2.0**-9
SENSITIVITY = 0.5 * (1.0 + _MOST_FALL) + _ROUNDING
"""Half of the most that adding or removing a record changes the difference of two scores.

A cell with the sums R of residuals and N of shares adds f − N/100, f = max(|R|₁ − √(1 + N)/2, 0).
A row with the share s of a record adds s·r to R, with |r|₁ ≤ 1, and s to N. So f rises by at most
s. As |R|₁ ≤ N, f > 0 needs N > m = (1 + √17)/8. There the derivative of √(1 + N)/2 is at most
1/(4·√(1 + m)) = 1/(8m), so that f falls by at most s·D, D = 1 + 1/(8m). The shares of a record
add up to at most 1. So each score changes by the same multiple of 1/100 plus a number in [−D, 1],
and differences change by at most 1 + D. A person with many rows attains it, and a row 2.134.

Sums are exact. With K outputs and up to 289 cells, the scores of two neighbors are off by
4·(K + 300)·n·2⁻⁵³ at most, less than 2·`_ROUNDING` if (K + 300)·n < 2⁴³.
"""


@dataclass(frozen=True, eq=False)
class PairCells:
    """Public cells of pairs of columns: six bins of numbers, categories, and missing values."""

    facts: TableFacts
    pairs: tuple[tuple[int, int], ...]

    def size(self, j: int) -> int:
        """Return the number of a column's cells; the last is for unknown and missing values."""
        known = self.facts.categories.get(j)
        return (_BINS if known is None else known.size) + 1

    def codes(self, rows: np.ndarray) -> dict[int, np.ndarray]:
        """Return the cell of each coded row, by column."""
        places = np.floor(_BINS * self.facts.unit_interval(rows))
        numbers = dict(zip(self.facts.numbers.tolist(), np.minimum(places, _BINS - 1), strict=True))
        columns = {*np.ravel(self.pairs).astype(int).tolist()}
        return {j: self._code(j, numbers.get(j, rows[:, j])) for j in columns}

    def _code(self, j: int, places: np.ndarray) -> np.ndarray:
        last = self.size(j) - 1
        return np.where(places >= 0.0, places, last).astype(np.intp)  # unknown is −1, missing NaN

    def sums(self, rows: np.ndarray, steps: np.ndarray) -> Sums:
        """Return the sums of integer steps (n_values, n_rows) in each cell, by pair."""
        codes, found = self.codes(rows), {}
        for i, j in self.pairs:
            places, size = codes[i] * self.size(j) + codes[j], self.size(i) * self.size(j)
            found[f"{i} {j}"] = np.stack([counted(places, size, column) for column in steps])
        return found


def pair_scores(
    learned: Learned, residuals: Residuals, cells: PairCells, records: LinearRecords[Any]
) -> np.ndarray:
    """Return *private* scores of all pairs, for the residuals of a released fit.

    `records` are those of the fit.
    """
    problem = learned.plan.problem  # type: ignore[union-attr]
    scores = partial(row_scores, problem, learned.fitted.theta)  # type: ignore[union-attr]
    sums = records.with_facts(learned.facts).total(
        partial(_sums, cells, partial(residuals, learned), scores)
    )
    found = from_steps(sums)
    return np.array([score_of(found[f"{i} {j}"]) for i, j in cells.pairs])


def residuals_of_classes(learned: Learned, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return (indicator − probability) of the second of two classes, or half of it for each.

    So |r|₁ ≤ 1: probabilities add up to 1.
    """
    loss = learned.fitted.loss or learned.plan.problem.loss  # type: ignore[union-attr]
    assert isinstance(loss, ProbabilityLoss), "additive classifiers have such a loss"
    p = loss.probabilities(scores)
    if scores.ndim == 1:
        return np.asarray((y > 0.0) - p[:, 1])[:, None]
    return 0.5 * (np.eye(p.shape[1])[y.astype(np.intp)] - p)


def residuals_of_numbers(learned: Learned, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return halved differences of numbers in [−1, 1], so that |r| ≤ 1."""
    return 0.5 * (learned.facts.task.encode(y) - np.clip(scores, -1.0, 1.0))[:, None]


def _sums(
    cells: PairCells,
    residuals: Callable[[np.ndarray, np.ndarray], np.ndarray],
    scores: Callable[[LinearRecords[Any]], np.ndarray],
    records: LinearRecords[Any],
) -> Sums:
    """Return the sums of shares and of residuals for each pair, in steps."""
    shares = records.steps
    if shares is None:
        shares = np.full(len(records.X), 2.0**STEP_BITS)
    found = residuals(records.y, scores(records)).T
    return cells.sums(records.X, np.vstack([shares, np.trunc(shares * found)]))


def score_of(sums: np.ndarray) -> float:
    """Return the score of a pair for the sums (1 + n_outputs, n_cells) of shares and residuals."""
    shares, size = sums[0], np.abs(sums[1:]).sum(axis=0)
    signal = np.maximum(size - _DEVIATION * np.sqrt(1.0 + shares), 0.0)
    return float((signal - _LEAST_MEAN * shares).sum())
