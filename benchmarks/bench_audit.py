"""How often audits refute noise that is too small, and noise that is right.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_audit.py [--audits 1000] [--fits 200] [--smallest]

The claim is the μ of (ε, 1e-5). Exact scores are Gaussian, with the μ claimed or, for noise of half
the standard deviation, twice it: the worst that a claim allows. Fits are logistic regressions on
two data sets that differ in a label; the attack has the score of that row. Runs are those on both
data sets together, each chosen with probability ½. The last table is for audits with one run.
"""

import argparse

import numpy as np

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.accounting import gdp_mu
from skdp.auditing import MultiRunAudit, OneRunAudit
from skdp.privacy import ApproxDPEvent, GaussianCurve, GDPEvent, PrivacyGuarantee

DELTA = 1e-5
LEVELS = (0.05, 0.025, 0.01, 0.001)
RUNS = {3.0: (100, 160, 200, 400), 1.0: (600, 1000, 1400)}
SOLVERS = ("output_perturbation", "regularized_exponential")


def claimed(mu):
    """Return the guarantee of μ-Gaussian DP."""
    return PrivacyGuarantee(GDPEvent(mu), "replace_one", "the claim of a benchmark")


def coins(mu, n, rng):
    """Return Gaussian scores, and which of them are shifted by μ."""
    members = rng.integers(2, size=n)
    return members * mu + rng.standard_normal(n), members


def claimed_pair(epsilon):
    """Return the guarantee of (ε, δ) and no more."""
    return PrivacyGuarantee(ApproxDPEvent(epsilon, DELTA), "replace_one", "a claim of two numbers")


def rates(audits, claim):
    """Return the share of audits that refute a claim, at each level."""
    values = np.array([audit.p_value(claim) for audit in audits])
    return [f"{np.mean(values <= level):.3f}" for level in LEVELS]


def of_exact_scores(options, rng):
    """Print how often Gaussian scores are refuted."""
    print("| ε | noise | runs |", " | ".join(f"level {level:g}" for level in LEVELS), "|")
    print("|---" * (3 + len(LEVELS)) + "|")
    for epsilon, sizes in RUNS.items():
        mu = gdp_mu(epsilon, DELTA)
        for factor, noise in ((2.0, "half"), (1.0, "right")):
            for n in sizes:
                audits = [MultiRunAudit(*coins(factor * mu, n, rng)) for _ in range(options.audits)]
                print(
                    f"| {epsilon:g} | {noise} | {n} |", " | ".join(rates(audits, claimed(mu))), "|"
                )


def of_pairs(options, rng):
    """Print how often Gaussian scores are refuted where (ε, δ) alone is claimed."""
    levels = " | ".join(f"level {level:g}" for level in LEVELS)
    print("\n| (ε, 1e-5) alone | noise | runs |", levels, "|")
    print("|---" * (3 + len(LEVELS)) + "|")
    for epsilon in RUNS:
        mu = gdp_mu(epsilon, DELTA)
        for factor in (2, 4, 6):
            for n in (200, 400, 2000):
                audits = [MultiRunAudit(*coins(factor * mu, n, rng)) for _ in range(options.audits)]
                found = " | ".join(rates(audits, claimed_pair(epsilon)))
                print(f"| {epsilon:g} | 1/{factor} | {n} | {found} |", flush=True)


def fitted_audit(solver, epsilon, n, seed):
    """Return the audit of fits at some ε, to data that differ in the label of a row that pulls."""
    X, y = np.zeros((11, 2)), np.arange(11) % 2
    X[0, 0] = 1e4  # clipped
    other = np.r_[1 - y[0], y[1:]]

    def release(labels, noise):
        model = DPLogisticRegression(
            epsilon=epsilon, center=False, solver=solver, random_state=noise
        )
        return model.fit(X, labels).decision_function(X[:1])[0]

    return MultiRunAudit.run(release, other, y, n, seed)


def of_fits(options):
    """Print how often fits are refuted."""
    mu = gdp_mu(3.0, DELTA)
    half = PrivacyBudget.from_risk(accuracy=(_accuracy(2.0 * mu), 0.5), delta=DELTA).epsilon
    print("\n| solver, ε = 3 | noise | runs |", " | ".join(f"level {a:g}" for a in LEVELS), "|")
    print("|---" * (3 + len(LEVELS)) + "|")
    for solver in SOLVERS:
        for noise, epsilon in (("half", half), ("right", 3.0)):
            audits = [fitted_audit(solver, epsilon, 200, seed) for seed in range(options.fits)]
            print(
                f"| {solver} | {noise} | 200 |",
                " | ".join(rates(audits, claimed(mu))),
                "|",
                flush=True,
            )


def _accuracy(mu):
    """Return how often the best guess is right under μ-Gaussian DP at equal odds."""
    return 0.5 * (1.0 + float(claimed(mu).delta(0.0)))


def of_one_run(options, rng):
    """Print what one run with ideal scores proves."""
    sizes = (100,) if options.smallest else (100, 300, 1000)
    print("\n| ε | canaries | ε of Gaussian noise as weak, one run, 95 %, median |\n|---|---|---|")
    for epsilon in (1.0, 3.0):
        for m in sizes:
            mu = gdp_mu(epsilon, DELTA)
            audits = [OneRunAudit(*coins(mu, m, rng)) for _ in range(options.one)]
            bounds = [GaussianCurve(audit.lower_mu()).epsilon(1e-5) for audit in audits]
            print(f"| {epsilon:g} | {m} | {np.median(bounds):.2f} |", flush=True)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=1000, help="of exact scores, for each row")
    parser.add_argument("--fits", type=int, default=200, help="audits of fits, for each row")
    parser.add_argument("--smallest", action="store_true", help="a few audits of each kind")
    options = parser.parse_args()
    options.one = 15
    if options.smallest:
        options.audits, options.fits, options.one = 2, 1, 1
    rng = np.random.default_rng(0)
    of_exact_scores(options, rng)
    of_pairs(options, rng)
    of_fits(options)
    of_one_run(options, rng)


if __name__ == "__main__":
    main()
