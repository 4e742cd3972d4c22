"""Auditors of other libraries on releases of skdp, each beside a control with less noise.

Usage: OMP_NUM_THREADS=1 python benchmarks/external_audit/run.py [--runs 1000] [--epsilon 3]
       [--level 1e-4] [--only NAME ...] [--smallest]

The auditors are optional: `pip install jax-privacy privacy-estimates` in an environment that has
skdp. One that is missing is named and skipped; skdp's own is always there. Google's dp_auditorium
is not on PyPI and has no place here yet.

A cell says whether an auditor refuted the claim, with the noise claimed and with the control's.
A true claim is refuted with a probability of at most --level. The program fails if a claim is
refuted, or if no auditor refutes a control. Several numbers are projected on the line that a linear
discriminant finds on a quarter of the runs, which then count for nothing else. Controls have half
of the noise. Those of naive Bayes, PCA, k-means and the scalers have an eighth, because one line
sees a part of what several numbers cost together.
"""

import argparse
import sys

import numpy as np
from auditors import available
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from targets import TARGETS, weaker

SMALLEST = ("count", "logistic regression, output_perturbation")
PILOT = 4  # of as many runs, one learns the direction


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
    """Return who refutes the claim of `claimed` on the noise of `epsilon`."""
    rng = np.random.default_rng(0)
    one, other = projected(*target.samples(epsilon, options.runs, rng))
    claim = target.claim(claimed)
    return {name: audit(one, other, claim, options.level) for name, audit in auditors.items()}


def arguments():
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=1000, help="on each of two data sets")
    parser.add_argument("--epsilon", type=float, default=3.0, help="of every claim")
    parser.add_argument("--level", type=float, default=1e-4, help="of every verdict")
    parser.add_argument("--only", nargs="*", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--smallest", action="store_true")
    options = parser.parse_args()
    if options.smallest:
        options.runs, options.only = 300, SMALLEST
    return options


def main():
    """Print the table, and fail where it is not as it should be."""
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
        wrong += [] if any(caught.values()) else [f"{name}: nobody refuted the control"]
    sys.exit("\n".join(wrong) if wrong else 0)


def _word(refuted):
    return "refuted" if refuted else "not refuted"


if __name__ == "__main__":
    main()
