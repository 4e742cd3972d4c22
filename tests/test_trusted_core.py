"""The trusted core: the files that every guarantee rests on, as `docs/trusted_core.md` lists them.

`python tests/test_trusted_core.py --write` renews the tables of the page.
"""

import ast
import inspect
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from test_architecture import ROOT, count_lines, imports_of, name_of, room_of

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
PAGE = DOCS / "trusted_core.md"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="needs a checkout")
MOST_LINES = 12_000
"""That a reader of the core needs, without the examples of docstrings."""
_HEAD = "| file | lines | content | theorem | tests |\n|---|---|---|---|---|"
_TESTS_SHOWN = 2
_DRIFT, _FEW = 0.1, 10  # by which a number of lines on the page may be off: a share, and lines

ENTERED = """
import os, sys, tempfile, warnings
import numpy as np
import skdp
from skdp import DPLogisticRegression, PrivacyBudget, statistics

warnings.simplefilter("ignore")
root, found = os.path.dirname(skdp.__file__), set()
def profile(frame, event, argument):
    name, code = frame.f_code.co_filename, frame.f_code
    if event == "call" and name.startswith(root) and code.co_name != "<module>":
        found.add((os.path.relpath(name, root), code.co_qualname.split(".")[0]))

X = np.linspace(-1.0, 1.0, 2000).reshape(1000, 2)
with tempfile.TemporaryDirectory() as folder:
    for epsilon in (0.9, 1.1):  # the first imports what it needs, and the second finds no caches
        found.clear()
        sys.setprofile(profile)
        path = os.path.join(folder, f"{epsilon}.db")
        budget = PrivacyBudget(epsilon=9.0, delta=1e-5, path=path)
        statistics.mean(X, bounds=(-1, 1), epsilon=epsilon, budget=budget)
        DPLogisticRegression(epsilon=epsilon, budget=budget).fit(X, np.arange(1000) % 2)
        sys.setprofile(None)
for file, name in sorted(found):
    print(file, name)
"""


class Kind(NamedTuple):
    """Files whose paths begin alike, and the theorem of those without a page of their own."""

    title: str
    places: tuple[str, ...]
    theorem: str


DOMAIN = "[Domain](guarantees.md#domain-which-records-are-allowed)"
MACHINE = "[Machine numbers](maths/machine_numbers.md)"
CORE = (
    Kind("Foundations", ("support",), "its docstring"),
    Kind("The gate", ("data",), DOMAIN),
    Kind("The transaction", ("_private_fit",), "[The statement](guarantees.md#the-statement)"),
    Kind("Events and curves", ("privacy",), "[Gaussian DP](maths/gaussian_dp.md)"),
    Kind("Calibration", ("accounting", "workloads"), "[Accounting](maths/accounting/index.md)"),
    Kind("Exact noise", ("mechanisms",), "[Mechanisms](maths/mechanisms.md)"),
    Kind("Sums", ("data/exact_sums",), MACHINE),
    Kind(
        "The filter",
        ("budget",),
        "[Filter](maths/gaussian_dp.md#fully-adaptive-composition-the-gaussian-filter)",
    ),
    Kind("The ledger", ("ledger",), "[Threats](ledger_threats.md)"),
)
"""In reading order. A file belongs to the kind with the longest path that it begins with."""
ADDED = (
    Kind("Schemas", ("data/schema",), DOMAIN),
    Kind("Ledgers on a server", ("ledger/server",), "[Threats](ledger_threats.md)"),
    Kind("Losses", ("losses",), "its docstring"),
    Kind("Rows of linear models", ("design", "features"), MACHINE),
    Kind("Samplers", ("samplers",), "its docstring"),
    Kind("Solvers", ("solvers",), "its docstring"),
    Kind("The statistic", ("statistics",), "its docstring"),
    Kind("The model", ("linear_model",), "its docstring"),
)
"""What a release adds: its sensitivities and its algorithm."""


def kind_of(file: str) -> Kind:
    matching = [(len(place), kind) for kind in CORE + ADDED for place in kind.places
                if file.startswith(place)]  # fmt: skip
    assert matching, f"{file} runs in a fit. Say above whether every guarantee rests on it."
    return max(matching)[1]


@cache
def entered() -> dict[str, set[str]]:
    """Return the files in which functions run in a fit and a statistic with a budget.

    With each file come its functions that run, and its classes with methods that do.
    """
    done = subprocess.run(
        [sys.executable, "-c", ENTERED], capture_output=True, text=True, check=True
    )
    found: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        file, name = line.split()
        found.setdefault(file.replace(os.sep, "/"), set()).add(name)
    return found


def in_reading_order(kind: Kind) -> list[str]:
    """Return the entered files of a kind, each after those that it imports."""
    files = {name_of(ROOT / file): file for file in entered() if kind_of(file) == kind}
    below = {name: imports_of(ROOT / files[name]) & set(files) for name in files}
    order = TopologicalSorter(below)
    order.prepare()
    found = []
    while ready := sorted(order.get_ready()):
        found += [files[name] for name in ready]
        order.done(*ready)
    return found


def files_of(kinds: tuple[Kind, ...]) -> list[str]:
    return [file for kind in kinds for file in in_reading_order(kind)]


@cache
def lines_of(file: str) -> tuple[int, int]:
    """Return the lines that a reader needs, and all lines of the file.

    Left out are functions and classes that do not run and that none of those which run names.
    """
    source = (ROOT / file).read_text()
    tree, lines = ast.parse(source), source.splitlines()
    kinds = ast.FunctionDef | ast.ClassDef
    parts = {node.name: node for node in tree.body if isinstance(node, kinds)}
    needed, waiting = set(), entered()[file] & set(parts)
    while waiting:
        needed |= waiting
        named = {node.id for one in waiting for node in ast.walk(parts[one])
                 if isinstance(node, ast.Name)}  # fmt: skip
        waiting = (named & set(parts)) - needed
    left_out = 0
    for name in set(parts) - needed:
        first = min([parts[name].lineno, *(one.lineno for one in parts[name].decorator_list)])
        left_out += count_lines("\n".join(lines[first - 1 : parts[name].end_lineno])) + 2
    whole = count_lines(source)
    return whole - left_out, whole


def theorem_of(file: str) -> str:
    """Link to the page with the name of the file, else of its folder, else of its kind."""
    pages = {page.stem: page for page in sorted((DOCS / "maths").rglob("*.md"))}
    names = [Path(file).stem, *Path(file).parent.parts[::-1]]
    page = next((pages[name] for name in names if name in pages), None)
    if page is None:
        return kind_of(file).theorem
    return f"[{page.read_text().splitlines()[0].lstrip('# ')}]({page.relative_to(DOCS)})"


def home_of(module: str, name: str) -> str:
    """Return the file of skdp that defines a name which a test imports."""
    found = getattr(import_module(module), name, None)
    home = found.__name__ if inspect.ismodule(found) else module
    if inspect.isclass(found) or inspect.isroutine(found):
        home = found.__module__
    home = home if f"{home}.".startswith("skdp.") else module  # of another library
    return os.path.relpath(inspect.getfile(import_module(home)), ROOT).replace(os.sep, "/")


@cache
def imported() -> dict[str, Counter[str]]:
    """Return for each file the tests that import from it, with the number of its names."""
    found: dict[str, Counter[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("skdp."):
                for file in {home_of(node.module, alias.name) for alias in node.names}:
                    found.setdefault(file, Counter())[str(path.relative_to(TESTS))] += 1
    return found


def named_tests(file: str) -> str:
    """Name the tests that import the most from a file, first those with its name or folder."""
    found, path = imported().get(file, Counter()), Path(file)

    def rank(test: str) -> tuple[bool, bool, int, str]:
        own = path.stem.strip("_") in Path(test).stem, path.parts[0] in Path(test).parts
        return not own[0], not own[1], -found[test], test

    first = sorted(found, key=rank)[:_TESTS_SHOWN]
    more = len(found) - len(first)
    shown = ", ".join(f"`{one}`" for one in first) or "through its importers"
    return shown + (f" and {more} more" if more else "")


def table(kinds: tuple[Kind, ...]) -> str:
    """Return a section for each kind with a table of its files."""
    sections = []
    for kind in kinds:
        files = in_reading_order(kind)
        rows = []
        for file in files:
            text = ast.get_docstring(ast.parse((ROOT / file).read_text())) or ""
            content = text.partition("\n")[0].replace("|", r"\|")
            lines = "{} of {}".format(*lines_of(file))
            cells = f"`{file}`", lines, content, theorem_of(file), named_tests(file)
            rows.append(f"| {' | '.join(cells)} |")
        if files:
            sections.append("\n".join([f"### {kind.title}\n\n{_HEAD}", *rows]))
    return "\n\n".join(sections)


def total(kinds: tuple[Kind, ...]) -> tuple[int, int]:
    """Return the lines of all files together, as `lines_of` does for one."""
    needed, whole = zip(*map(lines_of, files_of(kinds)), strict=True)
    return sum(needed), sum(whole)


def written(page: str) -> str:
    """Return the page with tables of today between its marks."""
    for mark, kinds in (("core", CORE), ("added", ADDED)):
        lines = "{:,} of {:,}".format(*total(kinds))
        whole = f"{len(files_of(kinds))} files, {lines} lines."
        whole += f" A test allows {MOST_LINES:,}." if kinds is CORE else ""
        before, _, rest = page.partition(f"<!-- {mark} -->")
        _, end, after = rest.partition(f"<!-- end of {mark} -->")
        page = f"{before}<!-- {mark} -->\n\n{whole}\n\n{table(kinds)}\n\n{end}{after}"
    return page


def on_page() -> dict[str, int]:
    """Return the files on the page with the lines that a reader needs, in order."""
    rows = re.findall(r"^\| `([\w/.]+)` \| (\d+) of \d+ \|", PAGE.read_text(), re.M)
    return {file: int(lines) for file, lines in rows}


RENEW = "run `python tests/test_trusted_core.py --write`"


def test_the_page_lists_the_files_that_run_in_a_fit_and_a_statistic():
    assert [*on_page()] == files_of(CORE + ADDED), RENEW


def test_the_page_shows_about_as_many_lines_as_the_files_have():
    for file, lines in on_page().items():
        found = lines_of(file)[0]
        assert abs(lines - found) <= _FEW + _DRIFT * found, RENEW


def test_the_tests_that_the_page_names_exist():
    named = re.findall(r"`([\w/]*test_\w+\.py)`", PAGE.read_text())
    assert {name for name in named if not (TESTS / name).exists()} == set(), RENEW


def test_the_core_is_small():
    assert total(CORE)[0] <= MOST_LINES


@pytest.mark.parametrize("kind", CORE, ids=lambda kind: kind.title)
def test_the_core_imports_nothing_above_it(kind):
    """Neither an algorithm nor an estimator: those may be wrong without a change of the core."""
    rooms = {place.split("/")[0] for one in CORE for place in one.places} | {"exceptions"}
    for file in in_reading_order(kind):
        imported_rooms = {room_of(module) for module in imports_of(ROOT / file)}
        assert imported_rooms <= rooms, f"{file} imports {imported_rooms - rooms}"


if __name__ == "__main__" and "--write" in sys.argv:
    PAGE.write_text(written(PAGE.read_text()))
