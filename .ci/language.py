#!/usr/bin/env python
"""Check that sentences are short, that the guide reads easily, and that spelling is American.

Usage: .ci/language.py, in an environment with the extra "test". Prints each fault, and exits with 1
if there is one. A formula or a name in code counts as one word, and its syllables do not count.
Headings, tables, code blocks and displayed formulas are excluded.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
MOST_WORDS = 40
HIGHEST_GRADE = 11
MOST_PAGES = 7

PROSE_IN_FENCES = r"\{(?:note|tip|warning|important|container|glossary|admonition|dropdown)\}"
FENCE = re.compile(r"^(`{3,})(.*)$")
DISPLAYED = re.compile(r"\$\$.*?\$\$|<!--.*?-->|\\begin\{(\w+\*?)\}.*?\\end\{\1\}", re.S)
NO_SENTENCE = re.compile(r"^[ \t]*(?:#.*|\|.*|`{3,}.*|:\w[\w-]*:.*|\(\w[\w-]*\)=|---+)$", re.M)
INLINE = re.compile(r"(`+)[^`]+?\1(?:_\b)?|\$[^$]+\$")
LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*\)")
ROLE = re.compile(r"[:{][\w:]+[:}](?=`)")
INLINED = "Xx"
NEW_PIECE = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*+:]|\d+\.|\.\.)[ \t])")
LEAD = re.compile(
    r"^\s*(?:[-*+:]|\d+\.)?\s+(?:\*\*[^*]+[.:]\*\*)?|[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}"
)
END = re.compile(r"(?:(?<=[.!?∎])|(?<=[.!?∎][)\"]))(?<!\be\.g\.)(?<!\bi\.e\.)\s+(?=[^a-z\s])")
SILENT = re.compile(
    r"(?<![^aeiouy]l)(?:(?<=[^aeiouy])e|(?<=[^aeiouysxzcgh])es|(?<=[^aeiouytd])ed)$"
)
WORD = re.compile(r"[A-Za-zÀ-ÿµΑ-ω\d][\w'’.,-]*")


def without_code(text: str) -> str:
    """Return a page without its blocks of code, which may be within blocks of prose."""
    kept, open_fences = [], []
    for line in text.splitlines():
        fence = FENCE.match(line)
        in_code = bool(open_fences) and open_fences[-1][1]
        if fence and open_fences and not fence[2].strip() and len(fence[1]) >= open_fences[-1][0]:
            open_fences.pop()
        elif fence and not in_code:
            is_code = not re.match(PROSE_IN_FENCES, fence[2])
            open_fences.append((len(fence[1]), is_code))
        kept.append("" if fence or in_code else line)
    return "\n".join(kept)


def sentences(text: str) -> list[str]:
    """Return the sentences of a page in Markdown."""
    text = without_code(text)
    for no_prose in (DISPLAYED, NO_SENTENCE):
        text = no_prose.sub("\n\n", text)
    text = LINK.sub(r"\1", INLINE.sub(INLINED, ROLE.sub("", text)))
    pieces = (" ".join(LEAD.sub("", piece).split()) for piece in NEW_PIECE.split(text))
    found = [one for piece in pieces for one in END.split(piece)]
    return [one for one in found if WORD.search(one)]


def of_docstring(doc: str) -> list[str]:
    """Return the sentences of a cleaned docstring in numpydoc style."""
    doc = re.sub(
        r"^( *)\.\. (?:math|code-block|plot)::.*(?:\n(?:\1 +.*|[ \t]*))*", "\n", doc, flags=re.M
    )
    doc = re.sub(r"^ *(?:>>>|\.\.\. ).*(?:\n(?! *$).*)*", "\n", doc, flags=re.M)  # with its output
    doc = re.sub(r"^.*\n *(?:-{3,}|={3,})$", "\n", doc, flags=re.M)  # headings, with the line below
    table = r"^ *=+(?: +=+)+$.*?^ *=+(?: +=+)+$(?=\n *\n|\n?\Z)"  # up to its last line
    doc = re.sub(table, "\n", doc, flags=re.M | re.S)
    doc = re.sub(r"^[\w*, ]+ : .*$", "\n", doc, flags=re.M)  # a parameter and its type
    return sentences(doc)


def n_words(sentence: str) -> int:
    return len(WORD.findall(sentence))


def n_syllables(word: str) -> int:
    """Count groups of vowels, without a silent e, and with both vowels of most "ia" and "io"."""
    word = SILENT.sub("", re.sub(r"[^a-z]", "", word.lower()))
    return max(1, len(re.findall(r"(?<![tcsx])i(?=[aou])|[aeiouy]+", word)))


def grade(found: list[str]) -> float:
    """Return the Flesch-Kincaid grade of sentences."""
    plain = [word for one in found for word in WORD.findall(one) if word != INLINED]
    per_sentence = sum(map(n_words, found)) / len(found)
    return 0.39 * per_sentence + 11.8 * sum(map(n_syllables, plain)) / len(plain) - 15.59


def too_long(name: str, found: list[str]) -> Iterator[str]:
    for one in found:
        if n_words(one) > MOST_WORDS:
            yield f"{name}: {n_words(one)} words: {one}"


def long_sentences_of_pages() -> Iterator[str]:
    for path in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        yield from too_long(path.name, sentences(path.read_text()))


def long_sentences_of_docstrings() -> Iterator[str]:
    from public_modules import MODULES
    from test_docstrings import members, public_objects

    for module in MODULES:
        for name, item in public_objects(f"skdp.{module}").items():
            own = members(item) if inspect.isclass(item) else {}
            for key, one in [(name, item), *((f"{name}.{k}", v) for k, v in own.items())]:
                yield from too_long(f"{module}.{key}", of_docstring(inspect.getdoc(one) or ""))


def trees() -> list[str]:
    """Return the tables of contents of the guide."""
    return re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "guide.md").read_text(), re.S)


def guide_pages() -> list[str]:
    return [line for tree in trees() for line in tree.splitlines() if line and line[0] not in ":("]


def hard_pages() -> Iterator[str]:
    for path in [ROOT / "README.md", *(DOCS / f"{name}.md" for name in guide_pages())]:
        if (found := grade(sentences(path.read_text()))) > HIGHEST_GRADE:
            yield f"{path.name}: reading grade {found:.1f}"


def faults_of_the_guide() -> Iterator[str]:
    text = (DOCS / "guide.md").read_text()
    captions = [re.search(r":caption: (.+)", tree)[1] for tree in trees()]
    if captions != re.findall(r"^## (.+)$", text, re.M):
        yield f"guide.md: captions {captions} are not the headings"
    if any(len(re.findall(r"^[\w/]+$", tree, re.M)) > MOST_PAGES for tree in trees()):
        yield f"guide.md: a list has more than {MOST_PAGES} pages"
    named = re.findall(r"^\| \[.+\]\(([\w/]+)\.md\) \|", text, re.M)
    if sorted(named) != sorted(guide_pages()):
        yield f"guide.md: not in both the tables and the lists: {set(named) ^ set(guide_pages())}"


def pages_that_begin_late() -> Iterator[str]:
    """Find pages that announce themselves instead of beginning with the task."""
    for path in DOCS.rglob("*.md"):
        if re.search(r"^(?:After|By) reading this page", path.read_text(), re.M):
            yield f"{path.name}: begin with the task"


BRITISH = re.compile(
    r"^(?:neighbour|behaviour|colour|favour|flavour|honour|labour|rigour|catalogue$|artefact|judgement"
    r"|centr(?:e|es|ed|ing)$|fulfil(?:s|ment)?$|licence$|programme$|towards$|learnt$|whilst$|grey$"
    r"|defence$|analys(?:ed|ing)$|(?:model|label|cancel|travel|signal)l(?:ed|ing)$)"
    r"|(?:regular|optim|minim|maxim|normal|central|linear|random|summar|standard|initial|general"
    r"|recogn|organ|character|penal|factor|discret|serial|visual|util|emphas|parametr|quant|token"
    r"|categor|neutral|equal)is(?:e[drs]?|ing|ation)$"
)


def british_words() -> Iterator[str]:
    folders = [ROOT / name for name in ("docs", "skdp", "examples", "benchmarks")]
    files = [
        f for folder in folders for kind in ("py", "md", "rst") for f in folder.rglob(f"*.{kind}")
    ]
    built = {"_build", "gallery", "generated", "notebooks"}
    for path in [*ROOT.glob("*.md"), *files]:
        if not built & {*path.relative_to(ROOT).parts}:
            words = {*re.findall("[a-z]+", path.read_text().lower())}
            yield from (f"{path.relative_to(ROOT)}: {w}" for w in words if BRITISH.search(w))


def check_the_counts() -> None:
    """Raise AssertionError if sentences or syllables are counted wrongly."""
    page = (
        "# Title\n\nOne, i.e. `a.b`. Two $x$?\n\n| no | no |\n\n- Three\n  lines.\n- **Four.** 5\n"
    )
    assert sentences(page) == ["One, i.e. Xx.", "Two Xx?", "Three lines.", "5"]
    doc = "First.\n\nParameters\n----------\nx : int\n    Second\n    line.\n\n>>> third\n4\n"
    assert of_docstring(doc) == ["First.", "Second line."]
    words = "the noise table private released wanted sizes differential probability"
    assert [n_syllables(word) for word in words.split()] == [1, 1, 2, 2, 2, 2, 2, 4, 5]
    assert abs(grade(["The cat sat on the mat."]) - (0.39 * 6 + 11.8 - 15.59)) < 1e-9


CHECKS = (
    long_sentences_of_pages,
    long_sentences_of_docstrings,
    hard_pages,
    faults_of_the_guide,
    pages_that_begin_late,
    british_words,
)


def main() -> int:
    check_the_counts()
    found = [fault for check in CHECKS for fault in check()]
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
