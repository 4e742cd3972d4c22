"""The floors of the house: imports point downwards, and only the estimators can spend.

Each folder has a budget of lines. They are counted after `ruff format` with fixed settings and
without the examples of docstrings, so that neither long lines nor fewer examples help.
"""

import ast
import inspect
import io
import re
import shutil
import subprocess
import sys
import tokenize
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import skdp

ROOT = Path(skdp.__file__).parent
GUIDE = Path(__file__).parents[1] / "CONTRIBUTING.md"
FLOORS = [
    {"exceptions"},
    {"support"},
    {"data"},
    {"features", "tables"},
    {"privacy", "losses", "design"},
    {"accounting", "mechanisms", "samplers", "ledger"},
    {"solvers", "budget", "workloads"},
    {"_private_fit"},
    {"statistics"},
    {
        "linear_model",
        "naive_bayes",
        "preprocessing",
        "decomposition",
        "cluster",
        "density",
        "metrics",
    },
    {"additive", "ensemble", "tabular"},
    {"pipeline"},
    {"inspection", "model_selection", "auditing"},
    {"calibration"},
    {"research"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
FORBIDDEN = {
    "samplers": "privacy",
    "research.samplers": "privacy",
    "mechanisms": "accounting",
    "research.data_dependent_noise": "accounting",
}
FORMAT = ("--isolated", "--line-length=100", "--target-version=py311", "--config")
MAGIC_COMMAS = "format.skip-magic-trailing-comma=false"
LINES = {
    "__init__": 121,
    "_private_fit": 595,
    "accounting": 2661,
    "additive": 1382,
    "auditing": 1379,
    "budget": 2789,
    "calibration": 1275,
    "cluster": 452,
    "data": 6586,
    "decomposition": 282,
    "density": 2452,
    "design": 1981,
    "ensemble": 311,
    "exceptions": 77,
    "features": 2873,
    "inspection": 310,
    "ledger": 2439,
    "linear_model": 6769,
    "losses": 1496,
    "mechanisms": 2431,
    "metrics": 2836,
    "model_selection": 1426,
    "naive_bayes": 954,
    "pipeline": 1427,
    "preprocessing": 927,
    "privacy": 3663,
    "research": 3632,
    "samplers": 1149,
    "solvers": 3805,
    "statistics": 5402,
    "support": 1361,
    "tables": 6,
    "tabular": 243,
    "workloads": 605,
}
"""Lines of each folder after `ruff format` with the settings above, without examples."""
MOST_LINES = 66_097  # 69 740 when the table was written, 71 990 with true numbers
TOKENS = 404_266
"""Most tokens without comments, docstrings and line ends: 383 914 at first, then 403 033."""
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER, tokenize.ENCODING,
}  # fmt: skip
PUBLIC_NAMES = 195
"""Names in the `__all__` of all public modules: 302 when the table was written."""
RESEARCH = ROOT / "research"
IMPORTERS = {ROOT / "support" / "lazy_names.py"}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def room_of(module: str) -> str:
    return module.removeprefix("skdp.").split(".")[0]


def name_of(path: Path) -> str:
    parts = ("skdp", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


MODULES = {name_of(path) for path in FILES}


@cache
def imports_of(path: Path) -> frozenset[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            whole = {f"{node.module}.{alias.name}" for alias in node.names} & MODULES
            found |= whole or {node.module}
            assert node.module != "skdp" or whole, f"{path} imports the top, which is below nothing"
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(module for module in found if module.startswith("skdp."))


def packages_above(module: str) -> set[str]:
    """Return the packages whose `__init__` Python runs before a module, the top one aside."""
    parts = module.split(".")
    return {".".join(parts[:k]) for k in range(2, len(parts))}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_module_imports_from_its_own_folder_or_from_lower_floors(path):
    here = room_of(name_of(path))
    forbidden = {
        there for one, there in FORBIDDEN.items() if f"{name_of(path)}.".startswith(f"skdp.{one}.")
    }
    for module in imports_of(path):
        there = room_of(module)
        assert there not in forbidden
        assert not module.endswith("__main__"), f"{here} imports a program"
        if path.stem == "__main__":  # a program stands above everything, wherever its file is
            continue
        assert there == here or FLOOR_OF[there] < FLOOR_OF[here], f"{here} imports {there}"


@pytest.mark.parametrize("folder", ["losses", "mechanisms", "samplers", "solvers"])
def test_one_algorithm_never_imports_another(folder):
    shared = {"base", "grid_gaussian", "linear_program"}
    above = {"__init__", "auto"}
    for path in (ROOT / folder).glob("*.py"):
        if path.stem in above | shared:
            continue
        own = {m.split(".")[2] for m in imports_of(path) if m.startswith(f"skdp.{folder}.")}
        private = {name for name in own if name.startswith("_")}
        assert own <= shared | private, f"{path.stem} imports {own - shared - private}"


SHARED = r"samplers\.(base|proximal)"
OF_PAPERS = r"research\.samplers\.(proximal_chain|reference)"


@pytest.mark.parametrize(
    ("files", "shared"),
    [
        ("research/samplers/*.py", f"{SHARED}|{OF_PAPERS}"),
        (
            "research/solvers/*.py",
            r"solvers\.(base|regularized_\w+|_\w+)|samplers\.base|research\.samplers\.zeroth_order",
        ),
    ],
)
def test_reproductions_import_no_other_algorithm(files, shared):
    for path in ROOT.glob(files):
        own = {m for m in imports_of(path) if re.match(r"skdp\.(samplers|solvers|research)\.", m)}
        assert all(re.fullmatch(rf"skdp\.({shared})", m) for m in own), path


def paths_in_registries(tree: ast.AST) -> list[str]:
    """Return the import paths among the values of the dicts that `Registry` is called with."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    tables = [call.args[0] for call in calls if ast.unparse(call.func) == "Registry" and call.args]
    values = [value for table in tables if isinstance(table, ast.Dict) for value in table.values]
    return [value.value for value in values if isinstance(value, ast.Constant)]


def test_only_registries_name_what_is_in_research():
    naming = {}
    for path in set(FILES) - set(RESEARCH.rglob("*.py")):
        tree = ast.parse(path.read_text())
        texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
        found = [text for text in texts if isinstance(text, str) and "skdp.research" in text]
        paths = paths_in_registries(tree)
        assert sorted(found) == sorted(path for path in paths if "skdp.research" in path), path
        assert not any(room_of(module) == "research" for module in imports_of(path)), path
        if found:
            naming[name_of(path)] = found
    assert set(naming) == {
        "skdp.losses",
        "skdp.samplers.base",
        "skdp.solvers.base",
        "skdp.privacy.events",
    }


def test_no_files_import_in_a_circle():
    arrows = {name_of(path): imports_of(path) for path in FILES}
    TopologicalSorter(arrows).prepare()  # raises CycleError, which names the circle


def test_no_files_import_in_a_circle_through_the_inits_of_other_packages():
    # To import a.b.c is to run a.b/__init__ first, and with it all that it imports.
    arrows = {}
    for path in FILES:
        here = name_of(path)
        found = imports_of(path)
        inits = set().union(*(packages_above(module) for module in found))
        arrows[here] = found | (inits - packages_above(here) - {here})
    TopologicalSorter(arrows).prepare()


def test_imports_by_name_are_all_of_the_forms_that_the_circle_test_sees():
    for path in set(FILES) - IMPORTERS:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in {"__import__", "import_module", "importlib.import_module"}


def test_no_folder_lists_more_than_twenty_files():
    folders = {path.parent for path in FILES}
    assert not {f for f in folders if len(list(f.glob("*.py"))) > 20}


def test_public_names_do_not_grow():
    """A new public name replaces another one; a change that removes some lowers the number."""
    rooms = [getattr(skdp, name) for name in skdp.__all__ if inspect.ismodule(getattr(skdp, name))]
    assert sum(len(room.__all__) for room in rooms) == PUBLIC_NAMES


def test_every_folder_has_a_floor():
    assert {room_of(name_of(path)) for path in FILES} <= set(FLOOR_OF)


@pytest.mark.skipif(not GUIDE.exists(), reason="needs a checkout")
def test_contributing_shows_these_floors():
    shown = {}
    for line in GUIDE.read_text().splitlines():
        if line[:2].strip().isdigit() and line[2:4] == "  ":
            shown[int(line[:2])] = set(re.split(r" {3,}", line[4:])[0].split())
    assert shown == dict(enumerate(FLOORS))


@pytest.mark.skipif(not GUIDE.exists(), reason="needs a checkout")
def test_files_that_contributing_names_exist():
    """A name with a folder is a path in the package or the repository, another is any file's."""
    names = set(re.findall(r"`([\w/]+\.py)`", GUIDE.read_text()))
    found = {path.name for folder in (ROOT, Path(__file__).parent) for path in folder.rglob("*.py")}
    found |= {name for name in names if (ROOT / name).exists() or (GUIDE.parent / name).exists()}
    assert {name for name in names - found if not name.endswith("yours.py")} == set()


def test_only_estimators_and_above_touch_a_budget():
    for path in FILES:
        if path.stem != "__main__" and any(
            room_of(module) == "budget" for module in imports_of(path)
        ):
            room = room_of(name_of(path))
            assert room == "budget" or FLOOR_OF[room] >= FLOOR_OF["_private_fit"]


@cache
def docstrings(source: str) -> list[ast.Constant]:
    """Return the strings that stand as statements of their own."""
    nodes = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr)]
    return [n for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def lines_of_examples(docstring: str) -> int:
    """Return the number of lines of the Examples section, with its heading."""
    lines = [line.strip() for line in docstring.splitlines()]
    rules = [k for k, line in enumerate(lines) if line and not line.strip("-")]
    starts = [k - 1 for k in rules if lines[k - 1] == "Examples"]
    ends = [next((k - 1 for k in rules if k > start + 1), len(lines) - 1) for start in starts]
    return sum(end - start for start, end in zip(starts, ends, strict=True))


def count_lines(source: str) -> int:
    examples = sum(lines_of_examples(one.value) for one in docstrings(source))
    return len(source.splitlines()) - examples


def count_tokens(source: str) -> int:
    starts = {(one.lineno, one.col_offset) for one in docstrings(source)}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(t.type not in _NO_CODE and t.start not in starts for t in tokens)


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> list[tuple[str, str]]:
    """The room and the formatted source of each file."""
    copy = tmp_path_factory.mktemp("formatted") / "skdp"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__", "*.typed", "*.pyi"))
    ruff = [sys.executable, "-m", "ruff", "format", "-q", *FORMAT, MAGIC_COMMAS, str(copy)]
    subprocess.run(ruff, check=True)
    return [
        (path.relative_to(copy).parts[0].removesuffix(".py"), path.read_text())
        for path in sorted(copy.rglob("*.py"))
    ]


def test_no_folder_exceeds_its_lines(sources):
    found = dict.fromkeys(LINES, 0)
    for room, source in sources:
        found[room] = found.get(room, 0) + count_lines(source)
    assert found == LINES, "a change updates its rows, and lowers others for those that it raises"
    assert sum(LINES.values()) <= MOST_LINES


def test_the_package_does_not_exceed_its_tokens(sources):
    assert sum(count_tokens(source) for _, source in sources) <= TOKENS


def test_examples_and_comments_do_not_count():
    docstring = '    """Add.\n\n    Examples\n    --------\n    >>> add(1)\n    1\n    """\n'
    source = f"def add(x):  # why\n{docstring}    return x\n"
    assert count_lines(source) == 5
    assert count_tokens(source) == 8
