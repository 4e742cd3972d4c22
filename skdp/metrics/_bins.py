"""Bins of scores, and the order of rows within bins, estimated from the counts alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from skdp._private_fit import ReleaseParameters
from skdp.metrics._pairs import numbers_of
from skdp.support.validation import check_choice, check_count

_FEWEST_BINS, _MOST_BINS, _USUAL_BINS = 8, 128, 16
_MOST_HALVINGS, _USUAL_HALVINGS = 10, 5
_SIGNAL_AT_END = 16.0  # records times ε in the outermost bin, if scores are evenly spread
_PARTS = 8  # per bin; a share 1/_PARTS² of the error of bins remains
_OFFSETS = (np.arange(_PARTS) + 0.5) / _PARTS - 0.5  # from the middle of a bin to its parts


def checked_edges(edges: str | ArrayLike) -> np.ndarray | None:
    """Return *public* edges as floats, None for "auto"."""
    if isinstance(edges, str):
        check_choice("edges", edges, ("auto",))
        return None
    ends = np.asarray(edges, dtype=float)
    if ends.ndim != 1 or ends.size < 3 or not np.isfinite(ends).all() or np.any(np.diff(ends) <= 0):
        raise ValueError("edges must be 'auto' or at least three increasing finite numbers.")
    check_count("edges", ends.size)
    return ends


def edges_for(parameters: ReleaseParameters, n_records: int, n_histograms: int = 1) -> np.ndarray:
    """Return edges of [0, 1]: equal bins, the first and the last halved again and again.

    Most scores of a rare class lie in one bin at an end of [0, 1]. More records allow more bins and
    halvings; if their number is private, the bins are fixed.
    """
    n_bins, n_halvings = _USUAL_BINS, _USUAL_HALVINGS
    if parameters.neighboring.count_is_public:
        signal = max(n_records, 1) * parameters.epsilon / math.sqrt(n_histograms)
        wanted = 16.0 * (signal / 1000.0) ** 0.3
        n_bins = int(np.clip(2 ** round(math.log2(wanted)), _FEWEST_BINS, _MOST_BINS))
        most = math.log2(signal / (_SIGNAL_AT_END * n_bins))
        n_halvings = int(np.clip(most, 0, _MOST_HALVINGS))
    ends = 2.0 ** -np.arange(1, n_halvings + 1) / n_bins
    return np.unique(np.concatenate([np.linspace(0.0, 1.0, n_bins + 1), ends, 1.0 - ends]))


def check_scores(are_shares: bool, columns: np.ndarray) -> None:
    """Raise unless scores are numbers, or probabilities: a fixed domain reveals nothing."""
    scores = numbers_of("y_score", columns)
    if are_shares and scores.size and (scores.min() < 0.0 or scores.max() > 1.0):
        raise ValueError(
            "y_score has values outside of [0, 1]. Pass public numbers as edges=. Scores outside "
            "of them count in the first or the last bin."
        )


def bins_of(edges: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the bin of each score."""
    return np.searchsorted(edges[1:-1], scores, side="right")


def merged_ends(rows: np.ndarray) -> np.ndarray:
    """Return the first bin of each group: bins at both ends are merged if they hold few rows.

    The precision at the top is a ratio of few rows to few rows: with 2 % positives, bins of half
    the mean number of rows have half the error of the average precision.
    """
    fewest = 0.5 * rows.sum() / rows.size
    first = np.argmax(np.cumsum(rows) >= fewest)
    last = rows.size - 1 - np.argmax(np.cumsum(rows[::-1]) >= fewest)
    return np.arange(rows.size) if first >= last else np.append(0, np.arange(first + 1, last + 1))


def parts_of(counts: np.ndarray, fewest: float) -> np.ndarray:
    """Split each bin into parts with equally many rows.

    The estimate assumes that the share of positives is linear in the rank of a row within its bin.
    Ranks need no assumption about the density of scores: the last bin of an overconfident
    classifier may hold most of the rows.

    `counts` are *released*: negatives and positives in each bin. `fewest` is *public*: the least
    denominator of a share, well above the noise in the number of rows. The parts of one bin add up
    to its counts; some may be negative.
    """
    shift = np.outer(_rises(counts, fewest), _OFFSETS / _PARTS)
    parts = counts[:, :, None] / _PARTS + np.stack([-shift, shift])
    return parts.reshape(2, -1)


def _rises(counts: np.ndarray, fewest: float) -> np.ndarray:
    """Return the rise of the share of positives across each bin, times the number of rows.

    With m rows of the rarer label, a linear share rises by 2·m at most. A steeper rise x is read as
    a share that grows from 0 as a power k of the rank. Its end x/2 + m = (k + 1)·m gives
    k = x/(2·m). A linear share with the rise 6·m·k/(k + 2) = 6·m·x/(x + 4·m) has as many pairs in
    order.
    """
    rows = np.maximum(counts.sum(axis=0), fewest)
    rise = rows * np.diff(_shares_at_edges(np.clip(counts[1] / rows, 0.0, 1.0), rows))
    rarer = np.maximum(counts.min(axis=0), 0.0)
    size = np.abs(rise)
    most = 6.0 * rarer * size / np.maximum(size + 4.0 * rarer, 1e-300)
    return np.sign(rise) * np.minimum(size, most)


def _shares_at_edges(shares: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Interpolate the shares at the edges of bins, linearly in the rank between their middles."""
    left, right = rows[:-1], rows[1:]
    inner = (shares[1:] * left + shares[:-1] * right) / (left + right)
    first, last = 2.0 * shares[0] - inner[0], 2.0 * shares[-1] - inner[-1]
    return np.concatenate([[first], inner, [last]])
