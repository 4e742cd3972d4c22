"""The directive `vetting`: for each mechanism its proof, its tests, an audit and its reviewers.

Everything is computed while the page is built, so nothing can be out of date.
"""

import inspect
import os
import re
import subprocess
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from sphinx.util.docutils import SphinxDirective

import skdp
from skdp import DPLinearRegression, DPLogisticRegression, mechanisms
from skdp.auditing import MultiRunAudit, check_private
from skdp.exceptions import IncompatibleSolverError
from skdp.mechanisms import AdditiveMechanism, Mechanism, OptimizedNoise
from skdp.solvers import SOLVERS, AutoSolver
from skdp.support.display import at_most

ROOT = Path(skdp.__file__).parents[1]
EPSILON, DELTA = 3.0, 1e-5
CONFIDENCE = 0.999999  # of each row: a build of all rows is refused by chance once in some 20 000
RELEASES, FITS = 4000, 200
HEAD = ("mechanism", "proof", "tests", "ε found by an attack", "reviewers")


def table() -> str:
    """Return the table in Markdown, and the version and the date of its audits."""
    solvers = {type(SOLVERS[name]()): name for name in SOLVERS}
    solvers.pop(AutoSolver)  # it runs one of the others
    public = [getattr(mechanisms, name) for name in mechanisms.__all__]
    noises = [kind for kind in public if inspect.isclass(kind) and not inspect.isabstract(kind)]
    rows = [_row(kind, "", _of_mechanism(kind)) for kind in noises]
    rows += [_row(kind, name, _of_solver(name)) for kind, name in solvers.items()]
    day = time.gmtime(float(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    lines = [f"| {' | '.join(row)} |" for row in (HEAD, ["---"] * len(HEAD), *rows)]
    return f"skdp {skdp.__version__}, {time.strftime('%Y-%m-%d', day)}\n\n" + "\n".join(lines)


def _row(kind: type, name: str, bound: float) -> tuple[str, ...]:
    source = Path(inspect.getfile(kind))
    words = re.compile(rf"\b{kind.__name__}\b" + (rf"|\b{name}\b" if name else ""))
    found = f"{at_most(bound, 3):g} of {EPSILON:g}"
    return f"`{kind.__name__}`", _proof(source, words), _tests(words), found, _reviewers(source)


def _proof(source: Path, words: re.Pattern) -> str:
    """Link to the page on the module, or on its folder, or to that which names it most."""
    pages = {page.stem: page for page in sorted((ROOT / "docs" / "maths").rglob("*.md"))}
    page = pages.get(source.stem) or pages.get(source.parent.name)
    page = page or max(pages.values(), key=lambda page: len(words.findall(_text(page))))
    if page.stem not in (source.stem, source.parent.name) and not words.search(_text(page)):
        return "its docstring"
    title = _text(page).splitlines()[0].lstrip("# ")
    return f"[{title}](/{page.relative_to(ROOT / 'docs')})"


def _tests(words: re.Pattern) -> str:
    files = [path for path in sorted((ROOT / "tests").rglob("*.py")) if words.search(_text(path))]
    most = max(files, key=lambda path: len(words.findall(_text(path))))
    return f"{len(files)} files, most in {most.relative_to(ROOT / 'tests')}"


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _reviewers(source: Path) -> str:
    """Return the names in the trailers "Reviewed-by" of the commits that changed the module."""
    trailers = "--format=%(trailers:key=Reviewed-by,valueonly,separator=%x0a)"
    command = ["git", "-C", str(ROOT), "log", trailers, "--", str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    names = sorted({line.split("<")[0].strip() for line in done.stdout.splitlines()} - {""})
    return ", ".join(names) or "none"


def _of_mechanism(kind: type[Mechanism]) -> float:
    """Return the lower bound of ε from releases of 0 and 1, or of two opposite utilities."""
    members = np.random.default_rng().integers(2, size=RELEASES).tolist()
    mechanism, rng = kind.calibrate(EPSILON, DELTA, 1), np.random.default_rng()
    is_noise = issubclass(kind, AdditiveMechanism | OptimizedNoise)
    values = members if is_noise else [[1 - one, one] for one in members]
    scores = [float(mechanism.release(value, rng)) for value in values]
    return MultiRunAudit(scores, members).lower_epsilon(DELTA, CONFIDENCE)


def _of_solver(name: str) -> float:
    """Return the lower bound of ε from fits to two neighbors."""
    number = {"target_bounds": (-1.0, 1.0)}
    for Model, given in ((DPLogisticRegression, {}), (DPLinearRegression, number)):
        model = Model(epsilon=EPSILON, delta=DELTA, solver=name, **given)
        try:
            model.fit(np.zeros((100, 1)), np.arange(100) % 2)
        except IncompatibleSolverError:
            continue
        (found,) = check_private(model, checks=["multi run"], n_runs=FITS, confidence=CONFIDENCE)
        return found.lower_epsilon
    raise ValueError(f"No linear model has solver={name!r}.")


class Vetting(SphinxDirective):
    """The table as a part of a page."""

    def run(self) -> list:
        with warnings.catch_warnings(action="ignore"):  # few rows need little time
            return self.parse_text_to_nodes(table())


def setup(app) -> dict:
    """Register the directive."""
    app.add_directive("vetting", Vetting)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
