"""Sphinx: what the site is made with. Everything that a page needs is in the site itself."""
import importlib.util
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

project = "topwolf"
author = "the topwolf authors"
copyright = author
version = release = re.search(r"project\(topwolf VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

extensions = [
    "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx_copybutton", "sphinx_design", "code_pages",
]
source_suffix = {".md": "markdown"}
exclude_patterns = []

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"
default_role = "literal"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"topwolf {version}"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
pygments_style = "default"
pygments_dark_style = "monokai"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

# One file, which holds its glyphs: a formula loads nothing else.
mathjax_path = "mathjax.js"
mathjax3_config = {"options": {"enableMenu": False}, "svg": {"fontCache": "global"}}
mathjax_options = {"defer": "defer"}


def add_mathjax(app, error):
    if error is None and app.builder.format == "html":
        package = pathlib.Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent
        shutil.copyfile(package / "static" / "mathjax" / "tex-svg.js", pathlib.Path(app.outdir) / "_static" / "mathjax.js")


def fitted_names(app, what, name, found, options, lines):
    """In docstrings `coef_` ends as a link does in reStructuredText; here it is a name."""
    for number, line in enumerate(lines):
        parts = re.split(r"(`+[^`]*`+)", line)
        parts[::2] = [re.sub(r"(?<=\w)_(?=[\s,.;:)]|$)", r"\\_", part) for part in parts[::2]]
        lines[number] = "".join(parts)


def setup(app):
    app.connect("autodoc-process-docstring", fitted_names, priority=900)
    app.connect("build-finished", add_mathjax)
