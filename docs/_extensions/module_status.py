"""Show the status of a module, as `stability.md` states it, on each of its API pages."""

import re
from pathlib import Path

TABLE = Path(__file__).parents[1] / "stability.md"
STATUS = re.compile(r"^\| `skdp\.(\w+)` \| (\w+) \|", re.M)
TITLE = re.compile(r"\A(.+\n=+\n)")


def statuses() -> dict[str, str]:
    """Return the status of each module by its name."""
    return dict(STATUS.findall(TABLE.read_text(encoding="utf-8")))


def add_status(app, docname: str, source: list[str]) -> None:
    """Write the status below the title of a page on a module or on one of its names."""
    found = re.match(r"api/(?:generated/skdp\.)?(\w+)", docname)
    status = found and statuses().get(found[1])
    if status:
        line = rf"\1\n*Status:* :doc:`{status} </stability>`\n"
        source[0] = TITLE.sub(line, source[0], count=1)


def setup(app) -> dict:
    """Register the handler."""
    app.connect("source-read", add_status)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
