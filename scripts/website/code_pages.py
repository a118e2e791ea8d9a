"""A Sphinx extension: a page for every source file that others link to, with a place for each line."""
import json
import pathlib

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CppLexer, PythonLexer

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pages(app):
    for name in json.loads((pathlib.Path(app.srcdir) / "shown.json").read_text()):
        text = (ROOT / name).read_text()
        lexer = PythonLexer() if name.endswith(".py") else CppLexer()
        formatter = HtmlFormatter(linenos="inline", lineanchors="line", anchorlinenos=True, wrapcode=True)
        body = f'<h1 class="file">{name}</h1>{highlight(text, lexer, formatter)}'
        yield f"code/{name}", {"title": name, "body": body}, "page.html"


def setup(app):
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
