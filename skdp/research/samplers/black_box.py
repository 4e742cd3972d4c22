"""A potential that is known by its values only."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import numpy as np

from skdp.samplers.ball import Ball
from skdp.samplers.base import Target
from skdp.support.validation import check_count, check_real, check_size, make_plain

__all__ = ["BlackBox"]


@dataclass(frozen=True, eq=False, repr=False)
class BlackBox:
    """The distribution with density ∝ exp(−Σ f_i(θ) − (α/2)·|θ|²), i = 0, ..., n − 1.

    Parameters
    ----------
    values : callable
        ``values(rows, theta)`` returns f_i(θ) for each number i in the integer array ``rows``, of
        the shape of ``rows``. Each f_i is convex; no derivative is asked for.
    n_terms : int
        n.
    lipschitz : float
        Upper bound of the Lipschitz constant of every f_i. What is proved rests on it.
    prior_precision : float
        α > 0, in 1/coefficient².
    shape : tuple of int
        Shape of θ.
    domain : Ball or None
        To which the density is restricted; the functions are evaluated there only.
    """

    values: Callable[[np.ndarray, np.ndarray], np.ndarray]
    _: KW_ONLY
    n_terms: int
    lipschitz: float
    prior_precision: float
    shape: tuple[int, ...]
    domain: Ball | None = None

    def __post_init__(self) -> None:
        make_plain(self)
        check_count("n_terms", self.n_terms)
        check_real("lipschitz", self.lipschitz, low=0.0, high=1e50, closed="[")
        check_size("prior_precision", self.prior_precision)

    @classmethod
    def of(cls, target: Target) -> BlackBox:
        """Return a target for a sampler that only evaluates its terms.

        Parameters
        ----------
        target : Target
            *Private.*

        Returns
        -------
        BlackBox
            *Private.*
        """

        def values(rows: np.ndarray, theta: np.ndarray) -> np.ndarray:
            block = target.design.take(rows)
            return target.temperature * target.loss.value(block.targets, block.scores(theta))

        return cls(
            values,
            n_terms=target.design.n_samples,
            lipschitz=target.temperature * target.loss.lipschitz * target.row_norm,
            prior_precision=target.prior_precision,
            shape=target.shape,
            domain=target.domain,
        )

    @property
    def dimension(self) -> int:
        """Number of coefficients."""
        return math.prod(self.shape)
