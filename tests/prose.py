"""The sentences of a page or a docstring, and the grade of school at which they can be read.

A formula or a name in code counts as one word, and its syllables do not count. Headings, tables,
code blocks and displayed formulas are excluded.
"""

import re

PROSE_IN_FENCES = r"\{(?:note|tip|warning|important|container|glossary|admonition|dropdown)\}"
FENCED = re.compile(rf"^(`{{3,}})(?!`|{PROSE_IN_FENCES}).*?^\1[ \t]*$", re.M | re.S)
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


def sentences(text: str) -> list[str]:
    """Return the sentences of a page in Markdown."""
    for no_prose in (FENCED, DISPLAYED, NO_SENTENCE):
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
