"""Formulas as MathML, converted when the pages are built: no script, no network, one font."""

import re
from html import escape, unescape
from importlib.resources import as_file, files
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from fontTools import subset
from math_core import LatexError, LatexToMathML
from sphinx.util import logging

logger = logging.getLogger(__name__)
CONVERTER = LatexToMathML()
# Some browsers stretch a fence with an exponent only where it stands in a row.
FENCE = re.compile(r"(<m(?:sub|sup|subsup)>)(<mo [^>]*minsize[^>]*>[^<]*</mo>)")
NAMED = re.compile(r"&(?!lt;|gt;|amp;)[a-zA-Z]+;")  # signs that XML has no names for
LOWER = 0.84  # the height of the least root sign
PRIMES = {"′", "″", "‴"}
LONG = 14  # signs of a formula within a line that may go on in the next one
BREAKS = {*"=≠<>≤≥≪≫∼≈≡∝∈⊂⊆→↦⇒⇔+−,;"}  # after which it may
# Letters, Greek, punctuation, letter-like signs, arrows, operators, and alphabets of mathematics.
RANGES = [
    (0x20, 0x17F),
    (0x2B0, 0x3FF),
    (0x2000, 0x23FF),
    (0x25A0, 0x25FF),
    (0x27C0, 0x2AFF),
    (0x1D400, 0x1D7FF),
]


def mathml(node: nodes.Element, display: bool) -> str:
    """Return the markup of a formula; one that cannot be read is a warning."""
    try:
        found = CONVERTER.convert_with_local_state(node.astext(), displaystyle=display)
    except LatexError as error:
        logger.warning("a formula cannot be read: %s", error, location=node)
        return f"<code>{escape(node.astext())}</code>"
    found = NAMED.sub(lambda name: unescape(name[0]), FENCE.sub(r"\1<mrow>\2</mrow>", found))
    whole = ElementTree.fromstring(found)
    lower_primes(whole)
    parts = [whole] if display else breakable(whole)
    return "<wbr>".join(ElementTree.tostring(part, encoding="unicode") for part in parts)


def lower_primes(formula: ElementTree.Element) -> None:
    """Put primes, which the font has raised, beside what they belong to instead of above it."""
    for one in formula.iter():
        if one.tag in ("msup", "msubsup") and one[-1].text in PRIMES:
            base, *below, prime = one
            prime.attrib.update(lspace="0", rspace="0")
            row = ElementTree.Element("mrow")
            row.extend([base, prime])
            one.tag, one[:] = ("msub", [row, *below]) if below else ("mrow", row[:])


def breakable(formula: ElementTree.Element) -> list[ElementTree.Element]:
    """Return a formula within a line in parts between which a narrow page may break the line."""
    if sum(map(len, formula.itertext())) <= LONG:
        return [formula]
    parts = [ElementTree.Element("math")]
    for sign in formula:
        parts[-1].append(sign)
        if sign.tag == "mo" and sign.text in BREAKS:
            if len(parts[-1]) > 1:
                sign.set("form", "infix")
            parts.append(ElementTree.Element("math"))
    return [part for part in parts if len(part)]


def visit_inline(self, node: nodes.Element) -> None:
    """Write a formula within a line."""
    self.body.append(mathml(node, display=False))
    raise nodes.SkipNode


def visit_block(self, node: nodes.Element) -> None:
    """Write a formula of its own, which scrolls where the page is narrow."""
    self.body.append(f'<div class="formula">{mathml(node, display=True)}</div>\n')
    raise nodes.SkipNode


def reshape_roots(font) -> None:
    """Make all root signs as narrow as the least, for which browsers leave the room of the widest.

    And the least is lower, as browsers hang it from the bar.
    """
    glyphs, widths = font["glyf"], font["hmtx"].metrics
    variants = font["MATH"].table.MathVariants
    place = variants.VertGlyphCoverage.glyphs.index(font.getBestCmap()[ord("√")])
    signs = variants.VertGlyphConstruction[place]
    least, *higher = signs.MathGlyphVariantRecord
    glyphs[least.VariantGlyph].coordinates.scale((1, LOWER))
    least.AdvanceMeasurement = round(LOWER * least.AdvanceMeasurement)
    parts = [part.glyph for part in signs.GlyphAssembly.PartRecords]
    for name in [*(record.VariantGlyph for record in higher), *parts]:
        width, bearing = widths[name]
        narrower = widths[least.VariantGlyph][0] / width
        glyphs[name].coordinates.scale((narrower, 1))
        widths[name] = (round(narrower * width), round(narrower * bearing))


def write_font(app, failure) -> None:
    """Put what the pages need of STIX Two Math, by its makers' license in it, beside them."""
    if failure or app.builder.format != "html":
        return
    options = subset.Options(flavor="woff", layout_features=["*"], name_IDs=["*"])
    with as_file(files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf") as path:
        font = subset.load_font(path, options)
    reshape_roots(font)
    wanted = subset.Subsetter(options)
    wanted.populate(unicodes=[sign for low, high in RANGES for sign in range(low, high + 1)])
    wanted.subset(font)
    subset.save_font(font, Path(app.outdir, "_static", "stix-two-math.woff"), options)


def setup(app) -> dict:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("build-finished", write_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
