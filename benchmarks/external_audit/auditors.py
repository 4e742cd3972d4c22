"""Auditors as functions of two samples of a score, a claim and a level. They return a verdict.

skdp's own auditor is always available. Auditors of other libraries are optional: `available` names
each that cannot be imported, with the reason. They bound ε at a given δ. So they test a few points
(ε, δ(ε)) of the claimed curve, each at its share of the level.
"""

import importlib

import numpy as np

from skdp.auditing import MultiRunAudit

POINTS = (0.0, 0.3, 0.6, 1.0)  # in units of the claimed ε, fixed before any score is computed
REQUIRED = {
    "skdp": "skdp",
    "jax_privacy": "jax_privacy.auditing",
    "privacy-estimates": "privacy_estimates",
}


def points(claim):
    """Return the pairs (ε, δ) that are tested."""
    epsilon = np.array(POINTS) * claim.asked[0]
    return list(zip(epsilon, np.asarray(claim.delta(epsilon)), strict=True))


def own(one, other, claim, level):
    """`MultiRunAudit` needs a fair coin for each run, which chooses one score of each pair."""
    coins = np.random.default_rng(0).integers(2, size=len(one))
    return MultiRunAudit(np.where(coins, one, other), coins).p_value(claim) <= level


def jax_privacy(one, other, claim, level):
    """`CanaryScoreAuditor`: Clopper-Pearson bounds at every threshold."""
    from jax_privacy.auditing import CanaryScoreAuditor

    auditor = CanaryScoreAuditor(one, other)
    return any(
        auditor.epsilon_clopper_pearson(level / len(POINTS), delta, one_sided=False) > epsilon
        for epsilon, delta in points(claim)
    )


def privacy_estimates(one, other, claim, level):
    """Clopper-Pearson bounds at one threshold for each point; half of the runs choose it."""
    half = len(one) // 2
    return any(
        _bound_at(
            _threshold(one[:half], other[:half], epsilon),
            (one[half:], other[half:]),
            delta,
            level / len(POINTS),
        )
        > epsilon
        for epsilon, delta in points(claim)
    )


def _threshold(one, other, epsilon):
    """Return the threshold with the largest Pr[one above it] − e^ε Pr[other above it]."""
    candidates = np.unique(np.r_[one, other])
    above_one, above_other = (
        1.0 - np.searchsorted(np.sort(scores), candidates) / len(scores) for scores in (one, other)
    )
    return candidates[np.argmax(above_one - np.exp(epsilon) * above_other)]


def _bound_at(threshold, scores, delta, level):
    from privacy_estimates import AttackResults, compute_eps_lo

    (positive, false_positive), sizes = (
        (int((part >= threshold).sum()) for part in scores),
        [len(part) for part in scores],
    )
    counts = AttackResults(
        TP=positive,
        FN=sizes[0] - positive,
        FP=false_positive,
        TN=sizes[1] - false_positive,
    )
    return compute_eps_lo(counts, delta, level, "beta")


def available():
    """Return the auditors that can be imported, and why the others cannot."""
    auditors = {"skdp": own, "jax_privacy": jax_privacy, "privacy-estimates": privacy_estimates}
    missing = {}
    for name, module in REQUIRED.items():
        try:
            importlib.import_module(module)
        except ImportError as error:
            missing[name] = str(error)
    return {name: auditors[name] for name in auditors if name not in missing}, missing
