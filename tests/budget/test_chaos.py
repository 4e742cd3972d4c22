"""Ledgers under killed clients and servers, hostile networks, full disks and poolers.

`benchmarks/chaos/run.py` makes the storms and compares what clients were told with the ledgers.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "chaos" / "run.py"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the storms are made for Linux")


def storm(*words, timeout):
    """Run storms with these options, and return what they printed."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *words], capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if os.environ.get("SKDP_SERVER_TESTS") == "required":
        assert "pooler by transaction" in done.stdout
    return done.stdout.splitlines()


def test_no_storm_loses_or_doubles_or_overspends_a_release():
    *_, total = storm("--smallest", timeout=300)
    assert total.startswith("all storms")


@pytest.mark.slow
def test_thousands_of_spends_in_all_storms():
    *_, total = storm("4000", "--seed", "7", timeout=3000)
    assert int(total.split(": ")[-2].split(" acknowledged")[0]) > 3000
