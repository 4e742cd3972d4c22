"""The order of rows within bins of scores, estimated from the counts of the bins alone."""

from __future__ import annotations

import numpy as np

__all__ = ["parts_of"]

_PARTS = 8  # per bin; a share 1/_PARTS² of the error of bins remains
_OFFSETS = (np.arange(_PARTS) + 0.5) / _PARTS - 0.5  # from the middle of a bin to its parts


def parts_of(counts: np.ndarray, fewest: float) -> np.ndarray:
    """Split each bin into parts with equally many rows.

    The estimate assumes that the share of positives is linear in the rank of a row within its bin.
    Ranks need no assumption about the density of scores: the last bin of an overconfident
    classifier may hold most of the rows.

    Parameters
    ----------
    counts : ndarray of shape (2, n_bins)
        *Released.* Negatives and positives.
    fewest : float
        *Public.* The least denominator of a share, well above the noise in the number of rows.

    Returns
    -------
    parts : ndarray of shape (2, n_bins * 8)
        Parts of one bin add up to its counts; some may be negative.
    """
    shift = np.outer(_rises(counts, fewest), _OFFSETS / _PARTS)
    parts = counts[:, :, None] / _PARTS + np.stack([-shift, shift])
    return parts.reshape(2, -1)


def _rises(counts: np.ndarray, fewest: float) -> np.ndarray:
    """Return the number of rows in a bin times the rise of the share of positives across it.

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
