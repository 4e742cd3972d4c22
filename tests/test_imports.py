"""The package itself: every name is there, and nothing is loaded before it is used."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from public_modules import MODULES

import skdp


def run(code: str) -> str:
    """Return what a fresh interpreter prints."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_import_of_skdp_alone_loads_nothing_else():
    loaded = run("import sys, skdp; print([m for m in sys.modules if m[:5] == 'skdp.'])")
    assert loaded == "[]\n"


FIRST_USES = {
    "research": """
import pickle, sys, numpy as np, skdp
from skdp.privacy.events import EVENTS
from skdp.samplers import REFERENCE_SAMPLERS, SAMPLERS
from skdp.solvers import SOLVERS
X, y = np.linspace(-1.0, 1.0, 1000).reshape(500, 2), np.arange(500) % 2
model = skdp.DPLogisticRegression(data_norm=1.0, classes=[0, 1], random_state=0).fit(X, y)
assert pickle.loads(pickle.dumps(model)).solver_ in SOLVERS
assert "localized" in SAMPLERS and "mala" in REFERENCE_SAMPLERS and len(list(EVENTS)) > 15
shown = [[m for m in sys.modules if m.startswith("skdp.research")]]
assert model.set_params(solver="phased_sgd").fit(X, y).solver_ == "phased_sgd"
shown += ["skdp.research.solvers.phased_sgd" in sys.modules]
""",
    "an estimator": """
before = set(sys.modules)
from skdp import DPLogisticRegression
shown = [*set(sys.modules) - before]
""",
    "submodules": """
import skdp
shown = [skdp.statistics.mean.__name__, skdp.DPGaussianNB.__name__]
""",
}


@pytest.fixture(scope="module")
def first_uses():
    """Run each program in a new process that has imported scikit-learn; return its output."""
    code = f"""
import os, sys, sklearn.linear_model
for name, code in {FIRST_USES}.items():
    if os.fork() == 0:
        exec(code)
        print([name, shown])
        sys.exit()
    assert os.wait()[1] == 0, name
"""
    return dict(ast.literal_eval(line) for line in run(code).splitlines())


def test_a_default_fit_loads_nothing_of_research(first_uses):
    """Nor do the names of what it may be asked for, or the pickle of the fitted model."""
    assert first_uses["research"] == [[], True]


HEAVY = (
    "sqlite3|multiprocessing|matplotlib|pandas"
    r"|skdp\.(ledger|research|inspection|statistics|pipeline|tabular)(\..*)?"
    r"|skdp\.workloads\.plan|skdp\.budget\.(budget|handle|report|filters)"
    r"|skdp\.accounting\.(pld|rdp|zcdp|advanced)|skdp\.solvers\.(auto|noisy_gd|adassp|dp_sgd)"
    r"|skdp\.samplers\.(proximal|exact)|skdp\.mechanisms\.(optimized_noise|linear_program)"
    r"|skdp\.privacy\.events\.(repeat_and_select|objective_perturbation)"
    r"|skdp\.linear_model\.(hinge|linear_regression|robust|_standard_errors)"
)


def test_import_of_an_estimator_loads_no_other_part(first_uses):
    """Algorithms, ledgers and noise are loaded by the first fit or budget that needs them."""
    loaded = first_uses["an estimator"]
    assert "skdp.linear_model.logistic" in loaded
    assert not [m for m in loaded if re.fullmatch(HEAVY, m)]


PAID = [
    "skdp.DPLogisticRegression(data_norm=1.0).fit(X, y)",
    "skdp.DPLogisticRegression(standard_errors=True).fit(X, y)",
    "skdp.DPLogisticRegression(subsample=0.5).fit(X, y)",
    "skdp.DPLinearRegression(target_bounds=(0, 1), budget=budget).fit(X, y)",
    "skdp.statistics.count(y == 1, epsilon=1.0)",
]


@pytest.fixture(scope="module")
def imported_late():
    """Return the modules of skdp that each call imports once paid.

    A process forks for each call after it has imported what is not tested.
    """
    code = f"""
import os, sys, warnings, numpy as np, skdp
import scipy.optimize, scipy.stats, sklearn.linear_model
from skdp._private_fit import ReleaseParameters
warnings.simplefilter("ignore")
spend, paid = ReleaseParameters.spend, set()
def spy(*terms):
    spend(*terms)
    paid.update(sys.modules)
ReleaseParameters.spend = spy
X, y = np.linspace(-1.0, 1.0, 1000).reshape(500, 2), np.arange(500) % 2
for call in {PAID}:
    if os.fork() == 0:
        budget = skdp.PrivacyBudget(epsilon=1.0, delta=1e-5)
        eval(call)
        late = [m for m in set(sys.modules) - paid if m.startswith("skdp")]
        print([call, len(paid) > 100 and "skdp.privacy" in paid, late])
        sys.exit()
    assert os.wait()[1] == 0, call
"""
    return [ast.literal_eval(line) for line in run(code).splitlines()]


@pytest.mark.parametrize("call", PAID)
def test_nothing_is_imported_once_paid(imported_late, call):
    """An import may fail, and once paid nothing may."""
    assert [call, True, []] in imported_late


ROOT = Path(skdp.__file__).parent
LAZY = sorted(p for p in ROOT.glob("*/**/__init__.py") if "lazy_names(" in p.read_text())


@pytest.mark.parametrize("path", LAZY, ids=lambda path: path.parent.name)
def test_names_for_type_checkers_are_those_that_are_imported_on_first_use(path):
    tree = ast.parse(path.read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {(n.module, a.name, a.asname) for n in block.body for a in n.names}
    homes = ast.literal_eval(block.orelse[0].value.args[1])
    assert seen == {(home, name, name) for home, names in homes.items() for name in names}
    package = import_module(".".join(("skdp", *path.parent.relative_to(ROOT).parts)))
    assert sorted(package.__all__) == sorted(name for _, name, _ in seen)
    assert all(
        getattr(import_module(home), name) is getattr(package, name) for home, name, _ in seen
    )
    assert set(package.__all__) <= set(dir(package))
    assert not set(package.__all__) & {file.stem for file in path.parent.iterdir()}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


def test_import_of_accounting_loads_nothing_of_scikit_learn():
    code = "import sys, skdp.accounting; print([m for m in sys.modules if m[:7] == 'sklearn'])"
    assert run(code) == "[]\n"


def test_submodules_and_estimators_are_loaded_on_first_use(first_uses):
    assert first_uses["submodules"] == ["mean", "DPGaussianNB"]


def test_star_import_gives_all_that_is_listed():
    names: dict[str, object] = {}
    exec("from skdp import *", names)
    assert set(skdp.__all__) <= set(names)
    assert dir(skdp) == sorted(skdp.__all__)


def test_all_lists_every_public_module_and_every_estimator():
    rooms = [
        skdp.additive,
        skdp.ensemble,
        skdp.linear_model,
        skdp.naive_bayes,
        skdp.decomposition,
        skdp.cluster,
        skdp.density,
        skdp.tabular,
    ]
    estimators = {name for room in rooms for name in room.__all__ if name.startswith("DP")}
    others = {"PrivacyBudget", "TableSchema", "rows_needed", "__version__"}
    assert set(skdp.__all__) == set(MODULES) | estimators | others


def test_docstring_names_every_module_and_every_estimator():
    assert all(f"skdp.{name}`" in skdp.__doc__ for name in MODULES)
    assert all(f"`{name}`" in skdp.__doc__ for name in skdp.__all__ if name.startswith("DP"))


def test_type_checkers_see_the_same_names():
    stub = ast.parse(Path(skdp.__file__).with_suffix(".pyi").read_text())
    lists = [node.value for node in stub.body if isinstance(node, ast.Assign)]
    assert [sorted(ast.literal_eval(names)) for names in lists] == [sorted(skdp.__all__)]
    imported = {
        a.name for node in stub.body if isinstance(node, ast.ImportFrom) for a in node.names
    }
    assert imported | {"__version__"} == set(skdp.__all__)
    assert Path(skdp.__file__).with_name("py.typed").exists()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = skdp.nothing
