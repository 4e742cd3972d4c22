"""The directions of the gradients of a loss."""

from __future__ import annotations

from dataclasses import dataclass

from skdp.losses.base import Loss, MarginLoss

__all__ = ["GradientDirections"]


@dataclass(frozen=True, kw_only=True)
class GradientDirections:
    """The set of all gradients of a loss in z, up to their largest norm, `Loss.lipschitz`.

    All gradients of a record with one label lie in the convex hull of 0 and p fixed vectors, the
    extremes, none longer than `Loss.lipschitz`. Guarantees rest on `dimension`, `n_extremes` and
    `cosine`.

    Parameters
    ----------
    dimension : int
        Of the space of all gradients; the number of scores, less 1 if gradients sum to 0.
    n_extremes : int
        p; 0 if p is not known to be small.
    cosine : float
        A bound c: of the p² pairs of extremes of two records, at most p have a cosine above c. For
        any two labels and any x in [−1, 1], p pairs excepted, x times the cosine is at most c.
    slowness : float
        Factor on the length of a run of gradient steps in a metric, for losses with small
        gradients. No guarantee rests on it.
    """

    dimension: int
    n_extremes: int
    cosine: float
    slowness: float = 1.0

    @classmethod
    def of(cls, loss: Loss) -> GradientDirections:
        """Return a loss's own `directions`, or the values that hold for every loss.

        Parameters
        ----------
        loss : Loss
            *Public.*

        Returns
        -------
        GradientDirections
        """
        known: GradientDirections | None = getattr(loss, "directions", None)
        if known is not None:
            return known
        if loss.n_scores > 1:
            return cls(dimension=loss.n_scores, n_extremes=0, cosine=1.0)
        # A margin loss falls, so its gradients for one label have one sign; others have two.
        n_extremes = 1 if isinstance(loss, MarginLoss) else 2
        return cls(dimension=1, n_extremes=n_extremes, cosine=0.0)
