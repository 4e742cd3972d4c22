"""In which directions the gradients of a loss can point."""

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
        Of the space of all gradients; one less than the number of scores where they sum to 0.
    n_extremes : int
        p; 0 if no small number is known.
    cosine : float
        A bound c: of the p² pairs of extremes of two records, at most p have a cosine above c. For
        any two labels and any x in [−1, 1], p pairs excepted, x times the cosine is at most c.
    slowness : float
        By how much longer gradient steps run in a metric, where a gradient may be small. No
        guarantee rests on it.
    """

    dimension: int
    n_extremes: int
    cosine: float
    slowness: float = 1.0

    @classmethod
    def of(cls, loss: Loss) -> GradientDirections:
        """Return what a loss says as its `directions`, or else what holds for every loss.

        Parameters
        ----------
        loss : Loss
            *Public.*

        Returns
        -------
        directions : GradientDirections
            Of that loss.
        """
        known: GradientDirections | None = getattr(loss, "directions", None)
        if known is not None:
            return known
        if loss.n_scores > 1:
            return cls(dimension=loss.n_scores, n_extremes=0, cosine=1.0)
        # A margin loss falls, so that its gradients with one label have one sign; others have two.
        n_extremes = 1 if isinstance(loss, MarginLoss) else 2
        return cls(dimension=1, n_extremes=n_extremes, cosine=0.0)
