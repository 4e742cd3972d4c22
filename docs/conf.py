"""Sphinx configuration."""

import re
import shutil
import sys
from pathlib import Path

import skdp

HERE = Path(__file__).parent
sys.path.append(str(HERE / "_extensions"))
shutil.copytree(HERE.parent / "examples" / "notebooks", HERE / "notebooks", dirs_exist_ok=True)

project = "skdp"
author = "The skdp developers"
copyright = author
version = release = skdp.__version__

extensions = [
    "api_links",
    "mathml",
    "module_status",
    "matplotlib.sphinxext.plot_directive",
    "myst_nb",
    "noisy_outputs",
    "numpydoc",
    "parameter_groups",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "vetting",
]
exclude_patterns = ["_build", "_extensions", "_templates", "gallery/*.ipynb"]
exclude_patterns += ["facts_of_formats.md", "tabular_tables.md"]  # included in other pages
templates_path = ["_templates"]
default_role = "py:obj"
smartquotes = False

myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_render_markdown_format = "gfm"

doctest_test_doctest_blocks = ""  # those of docstrings are run by pytest

toc_object_entries_show_parents = "hide"
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "ignore_pattern": r"run_",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("skdp",),
    "reset_modules": ("matplotlib", "strict_examples.reset_warnings"),
    "reset_modules_order": "both",
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "log_level": {"backreference_missing": "debug"},  # most classes have no example
}

plot_formats = [("png", 110)]
plot_html_show_formats = plot_html_show_source_link = False

html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["skdp.css"]
html_theme = "pydata_sphinx_theme"
html_title = f"skdp {release}"
html_theme_options = {
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
}
html_sidebars = {"index": []}
html_show_sourcelink = False

_BAR = re.compile(r"(?<![\\`])\|(?!`)")
_FIGURE = re.compile(r'<img [^>]*class = "sphx-glr-single-img"/>')
_FITTED_NAME = re.compile(r"(?<=\w)_(?=[,)])")


def escape_marks(app, what, name, obj, options, lines):
    """In docstrings |x| is a norm and `coef_` a name; neither is a mark of reStructuredText."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[i] = _FITTED_NAME.sub(r"\_", _BAR.sub(r"\|", line))


def widen_programs(app, pagename, templatename, context, doctree):
    """Notebooks and examples take the room of the list of contents, for code and pictures."""
    if pagename.startswith(("notebooks/", "gallery/plot")):
        leave_out = {"html_theme.sidebar_secondary.remove": True}
        context["meta"] = {**(context.get("meta") or {}), **leave_out}


def box_figures(app, pagename, templatename, context, doctree):
    """A figure of the gallery is in a box, which scrolls on narrow pages."""
    if body := context.get("body"):
        context["body"] = _FIGURE.sub(r'<div class="gallery-figure">\g<0></div>', body)


def place_sources(app, pagename, templatename, context, doctree):
    """A source leads to one module for all of its names: pages of other modules have its places."""
    for entry in filter(None, getattr(app.env, "_viewcode_modules", {}).values()):
        *_, pages, module = entry
        for name in (name for name, page in pages.items() if page == pagename):
            if f'id="{module}.{name}"' not in context["body"]:
                place = rf'\g<0><span id="{module}.{name}"></span>'
                own = rf'<dt [^>]*id="[\w.]*\.{re.escape(name)}"[^>]*>'
                context["body"] = re.sub(own, place, context["body"], count=1)


def setup(app):
    app.connect("html-page-context", widen_programs)
    app.connect("html-page-context", box_figures)
    app.connect("html-page-context", place_sources)
    app.connect("autodoc-process-docstring", escape_marks)
