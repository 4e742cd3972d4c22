"""The curve of an event that has none in closed form, by the numerical accountant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.accounting import ACCOUNTANTS
from skdp.privacy import Event, Neighboring, NoClosedCurveError
from skdp.privacy.curve import SymmetricCurve

__all__ = ["KnottedCurve", "numerical_curve"]

_KNOTS = 41
_LARGEST_EPSILON = 700.0


@dataclass(frozen=True)
class KnottedCurve(SymmetricCurve):
    """Chords, in e^ε, through upper bounds of δ at `knots`; constant after the last one.

    H_c is convex and nonincreasing in c = e^ε, so the chords of upper bounds lie above it.
    """

    knots: tuple[float, ...]
    values: tuple[float, ...]

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        at = np.exp(np.minimum(epsilon, self.knots[-1]))
        return np.interp(at, np.exp(self.knots), self.values) * (1.0 + 1e-12)


def numerical_curve(event: Event, neighboring: Neighboring, slack: float) -> KnottedCurve:
    """Return a curve above that of the event, in both orders, fine wherever δ is above `slack`.

    Raises
    ------
    NoClosedCurveError
        If `slack` is 0, the accountant has no price for a leaf, or e^ε is no float at the end.
    """
    accountant = ACCOUNTANTS["pld"](neighboring)
    if slack == 0.0:
        raise NoClosedCurveError("A numerical curve does not reach down to slack 0.")
    try:
        end = accountant.epsilon(event, 0.5 * slack)
        if end > _LARGEST_EPSILON:
            raise NoClosedCurveError(f"At slack {slack:g} the curve goes on to epsilon {end:g}.")
        knots = np.linspace(0.0, end, _KNOTS)
        values = np.minimum(accountant.delta(event, knots), 1.0)
    except ValueError as error:
        raise NoClosedCurveError(str(error)) from error
    return KnottedCurve(tuple(knots.tolist()), tuple(values.tolist()))
