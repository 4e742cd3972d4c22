"""How much of the residuals of an additive fit each pair of columns explains."""

from __future__ import annotations

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

SENSITIVITY = 1.25
"""Most that adding or removing a record changes the score of a pair.

A cell with the sums R of residuals and N of shares adds max(|R|₁ − √(1 + N)/2, 0) − N/100. A row
with the share s of a record adds s·r to R, with |r|₁ ≤ 1, and s to N. So |R|₁ changes by at most s,
and √(1 + N)/2, whose derivative in N is at most 1/4, grows by at most s/4. The shares of a record
add up to at most 1, in whatever cells its rows are. So a record that is added changes each score by
−1/100 plus a number in [−1.25, 1], and the difference of two scores, or of a score and a constant,
by at most 2.25. A choice allows for 2·1.25. The rest covers the rounding of the scores, whose sums
are exact.
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
