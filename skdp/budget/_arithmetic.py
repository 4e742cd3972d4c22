"""How the noise of a release was computed, as far as its entry in the ledger says."""

from __future__ import annotations

from skdp.budget.release import Release
from skdp.privacy import event_from_dict

__all__ = ["CONTINUOUS", "GRID", "NOT_STATED", "SAMPLER", "arithmetic_of"]

NOT_STATED = "not stated"
GRID = "noise drawn exactly on a grid, which is safe in floating point"
CONTINUOUS = (
    "continuous noise computed in floating point: the proof is about real numbers, and there is "
    "none for the numbers of a machine"
)
SAMPLER = (
    "a sampler that computes in floating point: the proof is about real numbers, and there is none "
    "for the numbers of a machine"
)

# An event says what was released and not how it was computed: Gaussian DP is what a mechanism on a
# grid has and what noisy gradient steps have. So the theorem decides, of which skdp writes these.
# Whole theorems only: a longer one may go on with a model that adds noise of another kind.
_ON_A_GRID = {
    "additive noise, composition",
    "additive noise and exponential mechanism, composition",
    "exponential mechanism, composition",
    "Gaussian mechanism, adaptive composition",
}
# Parts of theorems: what comes before them, such as a private count, does not mend the arithmetic.
_OF_SAMPLERS = (
    "exponential mechanism on a ball",
    "Gopi, Lee and Liu",
    "right in the limit only",
    "Theorem A'",
    "Theorem L",
)
_OF_CONTINUOUS_NOISE = (
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
    """Return `GRID`, `CONTINUOUS`, `SAMPLER` or, where the ledger cannot tell, `NOT_STATED`."""
    if _is_approximate(release) or _names(_OF_SAMPLERS, release.theorem):
        return SAMPLER
    if _names(_OF_CONTINUOUS_NOISE, release.theorem):
        return CONTINUOUS
    return GRID if release.theorem in _ON_A_GRID else NOT_STATED


def _is_approximate(release: Release) -> bool:
    """Return whether the event has a sampler that is only near its target."""
    try:
        return event_from_dict(release.event).ideal()[1] > 0.0
    except ValueError:  # of another library or version
        return False


def _names(parts: tuple[str, ...], theorem: str) -> bool:
    return any(part in theorem for part in parts)
