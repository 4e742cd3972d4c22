"""How much work a sampler has done."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Effort"]


@dataclass(frozen=True)
class Effort:
    """Numbers of proposals and of per-example evaluations. They depend on the data: *not private*.

    Parameters
    ----------
    n_tries : int
        Proposals.
    n_evaluations : int
        Records times points θ at which their loss, its gradient or both were computed.
    """

    n_tries: int = 0
    n_evaluations: int = 0

    def __add__(self, other: Effort) -> Effort:
        return Effort(self.n_tries + other.n_tries, self.n_evaluations + other.n_evaluations)
