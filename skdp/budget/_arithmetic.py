"""The arithmetic of the noise of a release, by its entry in the ledger."""

from __future__ import annotations

from skdp.budget.recorded_event import recorded_event
from skdp.ledger.release import Release

NOT_STATED = "not stated"
GRID = "noise drawn exactly on a grid, which is safe in floating point"
EXACT_SUMS = "sums with bounds of their rounding errors, and exact noise"
NO_BOUNDS = (
    "sums or noise computed in floating point, without bounds of their errors: the proof covers "
    "real numbers, but not floating-point numbers"
)
SAMPLER = (
    "a sampler that computes in floating point: the proof covers real numbers, but not "
    "floating-point numbers"
)

# An event describes the release, not its computation: a mechanism on a grid and noisy gradient
# steps are both Gaussian DP. So the ledger says whether a release is exact. Theorems only choose
# among the sentences, and none of them makes a release exact.
_ON_A_GRID = {
    "additive noise, composition",
    "additive noise and exponential mechanism, composition",
    "exponential mechanism, composition",
    "Gaussian mechanism, adaptive composition",
    "Gaussian and exponential mechanisms, adaptive composition",
}
# Parts of theorems: a part before them, such as a private count, does not repair the arithmetic.
_OF_SAMPLERS = (
    "exponential mechanism on a ball",
    "Gopi, Lee and Liu",
    "right in the limit only",
    "Theorem A'",
    "Theorem L",
)
_OF_OTHERS = (
    "contractive gradient steps",
    "Gaussian mechanism on the moments",
    "last iterate of noisy gradient descent",
    "noisy coordinate steps",
    "noisy full-batch gradient steps",
    "objective perturbation, solved",
    "output perturbation of",
    "Poisson-sampled Gaussian steps",
)


def arithmetic_of(release: Release) -> str:
    """Return the kind of a release, or `NOT_STATED` if the ledger does not say."""
    if release.exact:
        return GRID if release.theorem in _ON_A_GRID else EXACT_SUMS
    if _is_approximate(release) or _names(_OF_SAMPLERS, release.theorem):
        return SAMPLER
    return NO_BOUNDS if _names(_OF_OTHERS, release.theorem) else NOT_STATED


def _is_approximate(release: Release) -> bool:
    """Return whether the event is of a sampler with an approximate distribution."""
    event = recorded_event(release.event)
    return event is not None and event.ideal()[1] > 0.0


def _names(parts: tuple[str, ...], theorem: str) -> bool:
    return any(part in theorem for part in parts)
