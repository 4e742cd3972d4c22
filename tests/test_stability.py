"""The status of each module, and stable names that vanish.

`python tests/test_stability.py --write` adds new stable names to the list.
"""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "docs" / "_extensions")]
LIST = ROOT / "tests" / "stable_names.txt"
pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="needs a checkout")


def status_of_modules() -> dict[str, str]:
    from module_status import statuses

    return statuses()


def stable_names() -> set[str]:
    stable = [name for name, status in status_of_modules().items() if status == "stable"]
    return {f"{name}.{one}" for name in stable for one in import_module(f"skdp.{name}").__all__}


def vanished_silently(listed: set[str], names: set[str], changes: str) -> set[str]:
    """Find listed names that are neither there nor in code in the changes."""
    code = {word for part in re.findall(r"`([^`]+)`", changes) for word in re.findall(r"\w+", part)}
    return {name for name in listed - names if name.partition(".")[2] not in code}


def test_every_module_has_a_status():
    from public_modules import MODULES

    found = status_of_modules()
    assert {*found} == {*MODULES}
    assert {*found.values()} == {"stable", "provisional", "research"}


def test_no_stable_name_vanishes_without_an_entry():
    names, listed = stable_names(), {*LIST.read_text().split()}
    page = (ROOT / "docs" / "changes.md").read_text()
    (path,) = re.findall(r"\{include\} (\S+)", page)
    changes = (ROOT / "docs" / path).read_text()
    assert not vanished_silently(listed, names, changes)
    assert names <= listed, "new stable names: python tests/test_stability.py --write"


def test_a_vanished_name_needs_an_entry():
    assert vanished_silently({"a.gone"}, set(), "- words about gone") == {"a.gone"}
    assert not vanished_silently({"a.gone"}, set(), "- `gone` is removed: use `b`.")
    assert not vanished_silently({"a.there"}, {"a.there"}, "")


def test_api_pages_show_the_status():
    from module_status import add_status

    for name, status in status_of_modules().items():
        for docname in (f"api/{name}", f"api/generated/skdp.{name}.one"):
            source = ["Title\n=====\n\ntext\n"]
            add_status(None, docname, source)
            assert source[0].startswith(f"Title\n=====\n\n*Status:* :doc:`{status} </stability>`\n")


if __name__ == "__main__" and "--write" in sys.argv:
    LIST.write_text("\n".join(sorted({*LIST.read_text().split()} | stable_names())) + "\n")
