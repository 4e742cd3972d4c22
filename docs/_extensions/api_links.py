"""Names of the API that stand as code on a page lead to their own pages."""

from docutils import nodes
from sphinx.util.nodes import make_refnode

OF_MODULES = {"class", "exception", "function", "data"}
OF_OTHERS = {"migration"}  # pages whose first columns are names of other libraries


def targets(env) -> dict[str, list[str]]:
    """Return, for each way to write a name, the full names that it may stand for."""
    found: dict[str, list[str]] = {}
    for full, entry in env.domains["py"].objects.items():
        parts = full.split(".")
        shortest = len(parts) if entry.objtype in OF_MODULES else len(parts) - 1
        for first in range(shortest):
            found.setdefault(".".join(parts[first:]), []).append(full)
    return found


def meant(text: str, known: dict[str, list[str]]) -> str | None:
    """Return the full name of what a code means: by a dot, a capital or an underscore in it."""
    name = text.split("(")[0]
    if not ("." in name or "_" in name or name[:1].isupper()):
        return None
    bare = name.rsplit(".", 1)[-1] if name.startswith("skdp.") else name
    found = known.get(name) or known.get(bare if bare[:1].isupper() else name, [])
    return min(found, key=lambda full: (full.count("."), full), default=None)


def is_in_first_column(node: nodes.Node) -> bool:
    """Return whether a node stands in the first cell of a row of a table."""
    while node is not None and not isinstance(node, nodes.entry):
        node = node.parent
    return node is not None and node.parent.index(node) == 0


def link(app, doctree, docname: str) -> None:
    """Make references of the codes of a page that are names, outside of headings and links."""
    if app.builder.format != "html" or docname.startswith(("api", "gallery")):
        return
    objects, known = app.env.domains["py"].objects, targets(app.env)
    for code in [*doctree.findall(nodes.literal)]:
        full = meant(code.astext(), known)
        if full is None or isinstance(code.parent, nodes.reference | nodes.title):
            continue
        if docname in OF_OTHERS and is_in_first_column(code):
            continue
        place = (objects[full].docname, objects[full].node_id)
        reference = make_refnode(app.builder, docname, *place, code.deepcopy(), full)
        code.replace_self(reference)


def setup(app) -> dict:
    """Register the handler."""
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
