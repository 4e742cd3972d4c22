"""How much of the package a newcomer has to read to follow one call: files and functions."""

import json
import subprocess
import sys

import pytest

COUNT = """
import json, os, sys, tempfile, warnings
import numpy as np
import skdp
from skdp import budget, linear_model, solvers, statistics, tabular

def entered(call):
    # the functions of skdp that run during a call; only some versions make some of comprehensions
    root, found = os.path.dirname(skdp.__file__), set()
    def profile(frame, event, argument):
        name, code = frame.f_code.co_filename, frame.f_code.co_qualname
        if event == "call" and name.startswith(root) and not code.endswith(">"):
            found.add(os.path.relpath(name, root) + " " + code)
    sys.setprofile(profile)
    try:
        eval(call)
    finally:
        sys.setprofile(None)
    return sorted(found)

X = np.linspace(-1.0, 1.0, 10_000).reshape(2000, 5)  # enough rows, so that nothing is warned of
y = np.arange(2000) % 2
warnings.simplefilter("ignore")
for call in sys.argv[1:]:
    if os.fork() == 0:  # no call finds what an earlier one has left
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "study.db")
            study = budget.PrivacyBudget(epsilon=9.0, delta=1e-5, path=path)
            eval(call)  # imports what it needs
            print(json.dumps([call, entered(call)]))
        sys.exit()
    assert os.wait()[1] == 0, call
"""
CALLS = {
    "a default fit": ("linear_model.DPLogisticRegression().fit(X, y)", 32, 342),
    "a fit with a budget in a file": (
        "linear_model.DPLogisticRegression(budget=study).fit(X, y)",
        39,
        396,
    ),
    "a count": ("statistics.count(y == 1, epsilon=1.0)", 18, 135),
    "a paid mean": ("statistics.mean(X, bounds=(-1, 1), epsilon=1.0, budget=study)", 29, 247),
    "a table": ("tabular.DPTabularClassifier(bounds=(-1, 1)).fit(X, y)", 40, 456),
}
"""Calls, with the most files and functions that each enters; some only if noise is drawn again."""


@pytest.fixture(scope="module")
def entered():
    """Return the functions that each call enters, from a process that forks for each."""
    command = [sys.executable, "-c", COUNT, *(call for call, *_ in CALLS.values())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.mark.parametrize(("call", "most_files", "most_functions"), CALLS.values(), ids=CALLS)
def test_a_call_enters_few_files_and_functions(entered, call, most_files, most_functions):
    """In a fresh process, with the imports done before: scikit-learn's own fit enters 25.

    Among the others: `data/schema.py` looks for schemas, which may state that persons are the unit,
    `support/other_libraries.py` looks for methods that another library has replaced and replaces
    what other libraries say of columns, `support/lazy_names.py` looks names up, `data/column.py`
    converts columns, `design/base.py` adds sums over rows up, `losses/base.py` has the tangents
    of a loss, `linear_model/_first_releases.py` tells whether bounds are known,
    `solvers/_releases.py` whether means are released, `mechanisms/grid_gaussian.py` draws the noise
    of means, and `support/secure_random.py`, a file of its own because it is what secrecy rests on,
    draws random numbers. A budget has seven more. A table has features, whose files stand for
    themselves, and their rows have a center: it entered 58.
    """
    functions = entered[call]
    files = {function.split()[0] for function in functions}
    assert len(files) > 5, "the count itself is broken"
    assert len(files) <= most_files, "\n".join(sorted(files))
    assert len(functions) <= most_functions, functions


SPEND = """
import os, sys, tempfile
import skdp
from skdp.budget import PrivacyBudget
from skdp.privacy import GDPEvent, PrivacyGuarantee

root, found = os.path.dirname(skdp.__file__), set()
def profile(frame, event, argument):
    name, code = frame.f_code.co_filename, frame.f_code.co_qualname
    if event == "call" and name.startswith(root) and not code.endswith(">"):
        found.add((os.path.relpath(name, root), code))

cost = PrivacyGuarantee(GDPEvent(0.1), "replace_one", "test")
with tempfile.TemporaryDirectory() as folder:
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, path=os.path.join(folder, "study.db"))
    for _ in range(2):  # the first fills caches
        found.clear()
        sys.setprofile(profile)
        budget.spend(cost, delta=1e-5, epsilon=1.0)
        sys.setprofile(None)
own = [(file, code) for file, code in found if file.startswith(("budget", "ledger"))]
print(len({file for file, _ in own}), len(own))
"""


def test_a_spend_enters_few_functions_of_budgets_and_ledgers():
    """Comprehensions do not count: only some versions of Python make functions of them."""
    done = subprocess.run([sys.executable, "-c", SPEND], capture_output=True, text=True, check=True)
    files, functions = map(int, done.stdout.split())
    assert 3 < files <= 6
    assert 20 < functions <= 35
