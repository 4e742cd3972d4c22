"""Sources that docstrings and pages cite by names and year stand in the list of references."""

import re
from pathlib import Path

import pytest

import skdp

DOCS = Path(__file__).parents[1] / "docs"
NAME = r"[A-Z][\w'’-]+"
# "Gopi, Lee and Liu 2022", "Ding, Kifer and others 2021", "Karney (2016)"
CITATION = re.compile(rf"({NAME})(?:, {NAME})*(?:,? and (?:{NAME}|others))? \(?((?:19|20)\d\d)\b")
NO_NAMES = {"April", "ICML", "NeurIPS"}


def citations(path: Path) -> set[tuple[str, str]]:
    """Return the first name and the year of each."""
    text = re.sub(r"\s+#?\s*", " ", path.read_text())
    return {found for found in CITATION.findall(text) if found[0] not in NO_NAMES}


@pytest.mark.skipif(not DOCS.exists(), reason="needs a checkout")
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
