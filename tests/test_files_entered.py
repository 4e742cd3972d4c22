"""How much of the package a newcomer has to read to follow one call, counted in files."""

import subprocess
import sys

import pytest

COUNT = """
import os, sys, warnings
import numpy as np
import skdp
from skdp import budget, linear_model, solvers, statistics

def entered(call):
    # the files of skdp in which a function runs during a call
    root, found = os.path.dirname(skdp.__file__), set()
    def profile(frame, event, argument):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(root) and frame.f_code.co_name != "<module>":
            found.add(os.path.relpath(name, root))
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(found)

X = np.linspace(-1.0, 1.0, 1000).reshape(500, 2)  # enough rows, so that nothing is warned of
y = np.arange(500) % 2
warnings.simplefilter("ignore")
{call}  # imports what it needs
print(*entered(lambda: {call}), sep="\\n")
"""


@pytest.mark.parametrize(
    ("call", "most"),
    [
        ("linear_model.DPLogisticRegression().fit(X, y)", 35),
        ("statistics.count(y == 1, epsilon=1.0)", 19),
    ],
    ids=["a default fit", "a count"],
)
def test_a_call_enters_few_files(call, most):
    """In a fresh process, with the imports done before: scikit-learn's own fit enters 25.

    Ten more: `data/schema/schema.py` looks for schemas, which may state that persons are the unit,
    `support/replaced_methods.py` looks for methods that another library has replaced,
    `support/registry.py` looks names up, `support/rounding.py` rounds bounds outwards,
    `data/column.py` converts columns, `support/public_words.py` replaces what other libraries say
    of them, `design/base.py` adds sums over rows up, `losses/minorant.py` has the tangents of a
    loss, `solvers/_means.py` tells whether means are released, and `support/secure_random.py`, a
    file of its own because it is what secrecy rests on, draws random numbers.
    """
    code = COUNT.replace("{call}", call)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    files = done.stdout.split()
    assert len(files) > 5, "the count itself is broken"
    assert len(files) <= most, "\n".join(files)
