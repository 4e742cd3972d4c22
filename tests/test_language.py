"""The sentences of pages and docstrings are short, and the guide has a low reading grade."""

import inspect
import re
from pathlib import Path

import pytest
from prose import grade, n_syllables, n_words, of_docstring, sentences
from public_modules import MODULES
from test_docstrings import members, public_objects

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
in_a_checkout = pytest.mark.skipif(not DOCS.exists(), reason="needs a checkout")
MOST_WORDS = 40
HIGHEST_GRADE = 11
MOST_PAGES = 7


def too_long(found: list[str]) -> list[str]:
    return [f"{n_words(one)} words: {one}" for one in found if n_words(one) > MOST_WORDS]


@in_a_checkout
def test_no_sentence_of_a_page_is_long():
    pages = [ROOT / "README.md", *DOCS.rglob("*.md")]
    long = {path.name: too_long(sentences(path.read_text())) for path in pages}
    assert not (long := {name: found for name, found in long.items() if found}), long


@pytest.mark.parametrize("module", MODULES)
def test_no_sentence_of_a_public_docstring_is_long(module):
    items = public_objects(f"skdp.{module}")
    for name, item in list(items.items()):
        if inspect.isclass(item):
            items |= {f"{name}.{key}": member for key, member in members(item).items()}
    long = {
        name: too_long(of_docstring(inspect.getdoc(item) or "")) for name, item in items.items()
    }
    assert not (long := {name: found for name, found in long.items() if found}), long


@in_a_checkout
def test_reading_grade_of_the_guide():
    pages = [ROOT / "README.md", *(DOCS / f"{name}.md" for name in guide_pages())]
    grades = {path.name: grade(sentences(path.read_text())) for path in pages}
    assert not (hard := {name: one for name, one in grades.items() if one > HIGHEST_GRADE}), hard


def guide_pages() -> list[str]:
    """Return the pages in the tables of contents of the guide."""
    trees = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "guide.md").read_text(), re.S)
    return [line for tree in trees for line in tree.splitlines() if line and line[0] not in ":("]


@in_a_checkout
def test_the_guide_has_short_lists_and_says_what_each_page_is_for():
    text = (DOCS / "guide.md").read_text()
    trees = re.findall(r"```\{toctree\}\n(.*?)```", text, re.S)
    captions = [re.search(r":caption: (.+)", tree)[1] for tree in trees]
    assert captions == re.findall(r"^## (.+)$", text, re.M)
    assert all(len(re.findall(r"^[\w/]+$", tree, re.M)) <= MOST_PAGES for tree in trees)
    named = re.findall(r"^\| \[.+\]\(([\w/]+)\.md\) \|", text, re.M)
    assert sorted(named) == sorted(guide_pages())


@in_a_checkout
def test_every_page_begins_with_what_its_reader_can_do():
    others = {DOCS / f"{name}.md" for name in ("index", "changes", "tabular_tables")}
    openings = {path: path.read_text().split("\n\n")[1] for path in {*DOCS.rglob("*.md")} - others}
    assert not {path for path, opening in openings.items() if "you can" not in opening}


def test_sentences_and_syllables_are_counted():
    page = (
        "# Title\n\nOne, i.e. `a.b`. Two $x$?\n\n| no | no |\n\n- Three\n  lines.\n- **Four.** 5\n"
    )
    assert sentences(page) == ["One, i.e. Xx.", "Two Xx?", "Three lines.", "5"]
    doc = "First.\n\nParameters\n----------\nx : int\n    Second\n    line.\n\n>>> third\n4\n"
    assert of_docstring(doc) == ["First.", "Second line."]
    words = "the noise table private released wanted sizes differential probability"
    assert [n_syllables(word) for word in words.split()] == [1, 1, 2, 2, 2, 2, 2, 4, 5]
    assert grade(["The cat sat on the mat."]) == pytest.approx(0.39 * 6 + 11.8 - 15.59)


BRITISH = re.compile(
    r"^(?:neighbour|behaviour|colour|favour|flavour|honour|labour|rigour|catalogue$|artefact|judgement"
    r"|centr(?:e|es|ed|ing)$|fulfil(?:s|ment)?$|licence$|programme$|towards$|learnt$|whilst$|grey$"
    r"|defence$|analys(?:ed|ing)$|(?:model|label|cancel|travel|signal)l(?:ed|ing)$)"
    r"|(?:regular|optim|minim|maxim|normal|central|linear|random|summar|standard|initial|general"
    r"|recogn|organ|character|penal|factor|discret|serial|visual|util|emphas|parametr|quant|token"
    r"|categor|neutral|equal)is(?:e[drs]?|ing|ation)$"
)


@in_a_checkout
def test_spelling_is_american():
    folders = [ROOT / name for name in ("docs", "skdp", "examples", "benchmarks")]
    kinds = ("*.py", "*.md", "*.rst")
    files = [path for folder in folders for kind in kinds for path in folder.rglob(kind)]
    built = {"_build", "gallery", "generated", "notebooks"}
    found = {
        f"{path.relative_to(ROOT)}: {word}"
        for path in [*ROOT.glob("*.md"), *files]
        if not built & {*path.relative_to(ROOT).parts}
        for word in {*re.findall("[a-z]+", path.read_text().lower())}
        if BRITISH.search(word)
    }
    assert not found
