"""Auditors of other libraries on releases of skdp, each beside a control with less noise.

Usage: OMP_NUM_THREADS=1 python benchmarks/external_audit/run.py [--runs 1000] [--epsilon 3]
       [--level 1e-4] [--only NAME ...] [--smallest]

The auditors are optional: `pip install jax-privacy privacy-estimates` in an environment that has
skdp. Missing auditors are named and skipped. skdp's own is always available. Google's dp_auditorium
has no published package, so it is not used here.

A cell shows whether an auditor refuted the claim, with the claimed noise and with the noise of the
control. A true claim is refuted with a probability of at most --level. The program fails if a claim
is refuted, or if no auditor refutes a control. If a release has several numbers, a linear
discriminant is fitted to a quarter of the runs, and the others are projected on its line. Controls
have half of the noise. The controls of naive Bayes, PCA, k-means and the scalers have an eighth of
the noise, because one line shows only a part of the cost of several numbers.
"""

import argparse
import sys

import numpy as np
from auditors import available
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from targets import TARGETS, weaker

SMALLEST = ("count", "logistic regression, output_perturbation")
PILOT = 4  # one in so many runs is used to fit the direction


def projected(one, other):
    """Return one number for each run."""
    if one.ndim == 1 or one.shape[1] == 1:
        return np.ravel(one), np.ravel(other)
    n = len(one) // PILOT
    labels = np.repeat([1, 0], n)
    line = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    line.fit(np.r_[one[:n], other[:n]], labels)
    return line.decision_function(one[n:]), line.decision_function(other[n:])


def verdicts(target, claimed, epsilon, auditors, options):
    """Return which auditors refute the claim `claimed` with the noise of `epsilon`."""
    rng = np.random.default_rng(0)
    one, other = projected(*target.samples(epsilon, options.runs, rng))
    claim = target.claim(claimed)
    return {name: audit(one, other, claim, options.level) for name, audit in auditors.items()}


def arguments():
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=1000, help="on each of two data sets")
    parser.add_argument("--epsilon", type=float, default=3.0, help="of every claim")
    parser.add_argument("--level", type=float, default=1e-4, help="of every verdict")
    parser.add_argument("--only", nargs="*", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--smallest", action="store_true")
    options = parser.parse_args()
    if options.smallest:
        # With 300 runs, 12 of 20 seeds missed the control of the count; with 500, none.
        options.runs, options.only = 600, SMALLEST
    return options


def main():
    """Print the table; fail if a claim is refuted or a control is not."""
    options, (auditors, missing) = arguments(), available()
    for name, reason in missing.items():
        print(f"skipped: {name} cannot be imported ({reason})")
    print("| target | ε of the control |", " | ".join(auditors), "|")
    print("|---" * (2 + len(auditors)) + "|")
    wrong = []
    for name in options.only:
        target = TARGETS[name]
        control = weaker(target, options.epsilon)
        found = verdicts(target, options.epsilon, options.epsilon, auditors, options)
        caught = verdicts(target, options.epsilon, control, auditors, options)
        cells = (f"{_word(found[one])}, {_word(caught[one])}" for one in auditors)
        print(f"| {name} | {control:.3g} | {' | '.join(cells)} |", flush=True)
        wrong += [f"{name}: {one} refuted the claim" for one in auditors if found[one]]
        wrong += [] if any(caught.values()) else [f"{name}: no auditor refuted the control"]
    sys.exit("\n".join(wrong) if wrong else 0)


def _word(refuted):
    return "refuted" if refuted else "not refuted"


if __name__ == "__main__":
    main()
