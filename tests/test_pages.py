"""The pages keep up with the code: references, the API's names, the README's example."""

import inspect
import re
import runpy
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.docscrape import ClassDoc
from public_modules import MODULES

import skdp

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="needs a checkout")
NAME = r"[A-Z][\w'’-]+"
# "Gopi, Lee and Liu 2022", "Ding, Kifer and others 2021", "Karney (2016)"
CITATION = re.compile(rf"({NAME})(?:, {NAME})*(?:,? and (?:{NAME}|others))? \(?((?:19|20)\d\d)\b")
NO_NAMES = {"April", "ICML", "Medicine", "NeurIPS"}


def citations(path: Path) -> set[tuple[str, str]]:
    """Return the first name and the year of each."""
    text = re.sub(r"\s+#?\s*", " ", path.read_text())
    return {found for found in CITATION.findall(text) if found[0] not in NO_NAMES}


def test_every_citation_is_in_the_list_of_references():
    listed = (DOCS / "references.md").read_text().splitlines()
    files = [*Path(skdp.__file__).parent.rglob("*.py"), *DOCS.rglob("*.md")]
    missing = {
        (path.name, name, year)
        for path in files
        for name, year in citations(path)
        if not any(line.startswith("- ") and name in line and year in line for line in listed)
    }
    assert not missing


def test_every_title_that_a_docstring_cites_is_a_title_of_a_page():
    pages = [path.read_text() for path in DOCS.rglob("*.md")]
    heading, run_in = re.compile(r"^#+ (.+)$", re.M), re.compile(r"\*+([A-Z][^*\n]*?)\.?\*+")
    titles = {title for page in pages for form in (heading, run_in) for title in form.findall(page)}
    cited = re.compile(
        r"(?:\*([A-Z][^*]+)\* (?:under|in) )?\*([A-Z][^*]+)\*,? in the (?:user guide|documentation)"
    )
    missing = {
        (path.name, title)
        for path in Path(skdp.__file__).parent.rglob("*.py")
        for found in cited.findall(re.sub(r"\s+(?:# )?", " ", path.read_text()))
        for title in found
        if title and title not in titles
    }
    assert not missing


@pytest.mark.parametrize("name", MODULES)
def test_api_page_of_a_module_lists_every_public_name(name):
    assert f"   api/{name}\n" in (DOCS / "api.rst").read_text()
    page = (DOCS / "api" / f"{name}.rst").read_text()
    listed = set(re.findall(rf"^   {name}\.([\w.]+)$", page, re.M))
    module = import_module(f"skdp.{name}")
    assert {one for one in listed if "." not in one} == set(module.__all__)
    assert not any(inspect.ismodule(getattr(module, one)) for one in module.__all__)


def test_the_chart_of_models_has_every_estimator():
    chart = re.search(r"````\{container\} chart(.*?)````", (DOCS / "models.md").read_text(), re.S)
    estimators = {name for name in skdp.__all__ if name.startswith("DP")}
    assert set(re.findall(r"`(DP\w+)`", chart[1])) == estimators


def test_readme_example_runs(capsys):
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    exec(block[1], {})
    shown = capsys.readouterr().out.splitlines()
    assert 1400 < float(shown[0].split(",")[0]) < 2100  # 1736 of 5000 on average, ± 35
    assert 127 < float(shown[2].split(",")[0]) < 133
    assert float(shown[4]) > 0.9  # .967 to .988 in 20 runs
    assert "spent epsilon=1.087 at delta=1e-05 in 3 releases" in shown[-1]


def test_readme_says_what_brings_pandas_before_it_is_imported():
    readme = (ROOT / "README.md").read_text()
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert any("pandas" in wanted for wanted in extra["optional-dependencies"]["plot"])
    assert 0 < readme.index('".[plot]"') < readme.index("import pandas")


def test_api_pages_list_names_where_they_are():
    for page in (DOCS / "api").glob("*.rst"):
        for name in re.findall(r"(?m)^   ((?:\w+\.)+[A-Z]\w+)$", page.read_text()):
            folder, _, own = name.rpartition(".")
            assert hasattr(import_module(f"skdp.{folder}"), own), f"{page.name}: {name}"


def test_pages_include_files_that_exist():
    pages = {page: page.read_text() for page in DOCS.rglob("*.md") if "_build" not in page.parts}
    paths = {
        page.parent / path
        for page, text in pages.items()
        for path in re.findall(r"\{(?:literalinclude|include)\} (\S+)", text)
    }
    assert paths
    assert not {path for path in paths if not path.exists()}


def test_first_sentences_say_what_this_is():
    readme = (ROOT / "README.md").read_text().split("\n\n")[1].lower()
    for text in (readme, skdp.__doc__.split("\n")[0].lower()):
        assert "differential privacy" in text
        assert "scikit-learn" in text


def test_every_file_states_the_same_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert {project["version"], cited[1]} == {skdp.__version__}


def test_installation_names_every_extra_and_every_requirement():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (DOCS / "installation.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.M)) == set(project["optional-dependencies"])
    least = {tuple(wanted.split(">=")) for wanted in project["dependencies"]}
    assert {name for name, _ in least} == {"scikit-learn", "numpy", "scipy", "joblib"}
    for name, version in least:
        assert re.search(rf"{name} \({version}\b", page.split("\n\n")[1], re.I)


def test_code_on_pages_is_run_or_says_that_it_is_not():
    for path in DOCS.rglob("*.md"):
        text = path.read_text()
        assert not re.search(r"^```python", text, re.M), path
        for block in text.split("```{code-block} python\n")[1:]:
            assert block.startswith(":caption: Not run here"), path


GUIDE_WORDS = 38_000  # outside of code blocks; lower it when a page becomes shorter
PAGE_WORDS = 1500
NO_GUIDE = {"facts_of_formats.md", "references.md", "tabular_tables.md", "trusted_core.md"}
NO_GUIDE |= {"benchmarks/models.md", "benchmarks/releases.md"}  # figures


def guide() -> dict[str, Path]:
    """Return the pages that people read, without proofs, figures and what programs write."""
    names = {path.relative_to(DOCS).as_posix(): path for path in DOCS.rglob("*.md")}
    left_out = ("maths/", "notebooks/", "gallery/", "generated/", "_build/")
    return {k: v for k, v in names.items() if k not in NO_GUIDE and not k.startswith(left_out)}


def test_the_guide_stays_short():
    language = runpy.run_path(str(ROOT / ".ci" / "language.py"))
    texts = {name: language["without_code"](path.read_text()) for name, path in guide().items()}
    words = {name: len(language["WORD"].findall(text)) for name, text in texts.items()}
    assert sum(words.values()) <= GUIDE_WORDS
    assert not {name for name, n in words.items() if n > PAGE_WORDS}


DIFFPRIVLIB = {
    "models": "GaussianNB KMeans LinearRegression LogisticRegression PCA StandardScaler "
    "RandomForestClassifier DecisionTreeClassifier",
    "tools": "histogram histogramdd histogram2d quantile median percentile count_nonzero "
    "mean std sum var nanmean nanstd nansum nanvar",
    "mechanisms": "DPMachine DPMechanism TruncationAndFoldingMixin Binary Bingham Exponential "
    "ExponentialCategorical ExponentialHierarchical PermuteAndFlip Gaussian GaussianAnalytic "
    "GaussianDiscrete Geometric GeometricFolded GeometricTruncated Laplace LaplaceBoundedDomain "
    "LaplaceBoundedNoise LaplaceFolded LaplaceTruncated Snapping Staircase Uniform Vector "
    "DPTransformer RoundedInteger StringToInt IntToString",
    "accountant": "BudgetAccountant epsilon delta slack spent_budget total check remaining spend "
    "load_default set_default pop_default len with",
    "errors": "check_epsilon_delta check_bounds clip_to_norm clip_to_bounds DiffprivlibMixin "
    "Budget BudgetError PrivacyLeakWarning DiffprivlibCompatibilityWarning check_random_state "
    "copy_docstring warn_unused_args",
}
"""Every public name of diffprivlib 0.6.6, by a word of the heading under which it is answered."""


@pytest.mark.parametrize("part", DIFFPRIVLIB)
def test_migration_answers_every_name_of_diffprivlib(part):
    theirs = (DOCS / "migration.md").read_text().split("## From diffprivlib")[1]
    (section,) = [one for one in theirs.split("\n### ") if part in one.split("\n")[0].lower()]
    left = " ".join(re.findall(r"^\| ([^|]+) \|", section, re.M))
    assert not {name for name in DIFFPRIVLIB[part].split() if not re.search(rf"\b{name}\b", left)}


def test_migration_names_what_there_is_and_every_estimator():
    page = (DOCS / "migration.md").read_text()
    ours = {name for module in MODULES for name in import_module(f"skdp.{module}").__all__}
    named = set(re.findall(r"\b(?:DP|dp_)\w+", page))
    assert named - ours == {"DPMachine", "DPMechanism", "DPTransformer", "dp_sgd"}
    assert not {name for name in ours if name.startswith("DP") and name not in named} - {"DPSGD"}


def program(name: str) -> dict:
    """Return what is defined in a program of the benchmark of tables."""
    return runpy.run_path(str(ROOT / "benchmarks" / "tabular" / name))


def test_tables_of_the_benchmark_are_those_of_its_results(capsys):
    program("report.py")["main"](ROOT / "benchmarks" / "tabular" / "results.jsonl")
    assert capsys.readouterr().out == (DOCS / "tabular_tables.md").read_text()


def test_a_result_is_bold_where_it_is_beyond_the_spread():
    pd = pytest.importorskip("pandas")
    leader = program("report.py")["leader"]
    one, other = [0.80, 0.82, 0.84], [0.81, 0.83, 0.85]
    assert leader(pd.DataFrame({"a": one, "b": other}), "AUC") is None
    assert leader(pd.DataFrame({"a": [0.2, 0.1, 0.3], "b": other}), "AUC") == "b"
    assert leader(pd.DataFrame({"a": [0.2, 0.1, 0.3], "b": other}), "log-loss") == "a"


def test_mean_ranks_have_intervals_over_data_sets():
    pd = pytest.importorskip("pandas")
    cells = pd.MultiIndex.from_product([["t", "u"], [0.1, 1.0]], names=["table", "epsilon"])
    losses = {"a": [0.1, 0.1, 0.1, 0.1], "b": [0.2, 0.2, 0.3, 0.3], "c": [0.3, 0.3, 0.2, 0.2]}
    found = program("ranks.py")["mean_ranks"](pd.DataFrame(losses, index=cells), True)
    assert found == {"a": (1, 1, 1), "b": (2.5, 2, 3), "c": (2.5, 2, 3)}


def test_page_of_the_benchmark_names_every_file_and_every_program():
    page = (DOCS / "tabular.md").read_text()
    folder = ROOT / "benchmarks" / "tabular"
    files = re.findall(r'"([\w.-]+\.gz)"', (folder / "tables.py").read_text())
    assert len(files) >= 9
    assert all(f"`{name}`" in page for name in files)
    assert all(f"tabular/{name}" in page for name in ("run.py", "report.py", "picture.py"))


def test_changelog_keeps_its_form():
    text = (ROOT / "CHANGELOG.md").read_text()
    heads = re.findall(r"^## (.+)$", text, re.M)
    assert heads[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", head) for head in heads[1:])
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", text, re.M)) <= kinds
    assert not re.search(r"^(- |  )[^\n]*\n\n- ", text, re.M), "a blank line within a list"


def test_glossary_has_the_words_that_pages_lean_on():
    terms = set(re.findall(r"^(\S.*)\n  \S", (DOCS / "glossary.md").read_text(), re.M))
    wanted = "record unit person release budget ceiling share ledger head seed certificate canary"
    assert not set(wanted.split()) - terms
    pages = [path.name for path in DOCS.glob("*.md") if "{term}`" in path.read_text()]
    assert len(pages) >= 10


def test_classifiers_name_what_is_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    matrix = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    (versions,) = re.findall(r"python: \[(.+)\]", matrix)
    claimed = [one.split(" :: ") for one in project["classifiers"]]
    named = [one[-1] for one in claimed if re.fullmatch(r"3\.\d+", one[-1])]
    assert named == re.findall(r"3\.\d+", versions)
    assert named[0] == project["requires-python"].removeprefix(">=")
    systems = {one[-1] for one in claimed if one[0] == "Operating System"}
    runners = {"Linux": "ubuntu-latest", "MacOS": "macos-latest", "Microsoft": "windows-latest"}
    assert systems == {name for name, runner in runners.items() if runner in matrix}


def test_a_release_waits_for_the_tests():
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    tests = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    assert "uses: ./.github/workflows/tests.yml" in release
    assert re.search(r"build:\n    needs: tests\n", release)
    assert re.search(r"publish:\n    needs: build\n", release)
    assert re.search(r"^  workflow_call:", tests, re.M)
    assert "pytest --cov" in tests


def test_every_figure_of_a_page_has_a_name_of_its_own():
    """Without one, Matplotlib's directive writes all figures of a Markdown page to one file."""
    text = "\n".join(path.read_text() for path in DOCS.rglob("*.md"))
    names = re.findall(r"^\.\. plot::\n   :filename-prefix: (\S+)$", text, re.M)
    assert len({*names}) == text.count("\n.. plot::") > 0


def test_every_example_of_the_gallery_asks_a_question():
    examples = sorted((ROOT / "examples").glob("plot_*.py"))
    assert len(examples) >= 15
    for path in examples:
        title = path.read_text().split("\n")[1]
        assert title.endswith("?"), path
        assert path.read_text().split("\n")[2] == "=" * len(title), path


@pytest.mark.parametrize("name", [one for one in skdp.__all__ if one.startswith("DP")])
def test_the_guarantees_name_every_attribute_of_a_fitted_estimator(name):
    page = "".join(path.read_text() for path in DOCS.glob("guarantees*.md"))
    attributes = ClassDoc(getattr(skdp, name))["Attributes"]
    found = {one.strip() for entry in attributes for one in entry.name.split(",")}
    assert not {one for one in found if one.endswith("_") and f"`{one}`" not in page}
