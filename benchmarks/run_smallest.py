"""Run every program of this folder on its smallest setting: none may stop working unnoticed.

Usage: python benchmarks/run_smallest.py
"""

import subprocess
import sys
import time
from pathlib import Path

TIMEOUT = 600  # seconds for each


def programs():
    """Return the files that can be run, but this one; of a folder its `run.py`.

    A test, tests/budget/test_chaos.py, runs the storms of `chaos` on their smallest setting.
    """
    here = Path(__file__)
    files = sorted([*here.parent.glob("*.py"), *here.parent.glob("*/run.py")])
    others = {here, here.parent / "chaos" / "run.py"}
    return [path for path in files if path not in others and '"__main__"' in path.read_text()]


def main():
    """Run them one after another, and print how long each took, or what it said at last."""
    failed = []
    for path in programs():
        command, start = [sys.executable, str(path), "--smallest"], time.perf_counter()
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            failed.append(str(path))
            print(error, error.stderr, sep="\n", flush=True)
        name, seconds = path.relative_to(Path(__file__).parent), time.perf_counter() - start
        print(f"{name!s:32}{seconds:8.1f} s", flush=True)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
