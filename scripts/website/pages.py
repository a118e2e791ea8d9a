"""The pages of docs/ on their way to the site: what they say of files outside of docs/ becomes links to pages of the site.

A link to a source file, and a file or test that the ledger cites, leads to that file with its lines, a formula's id
(L6) to the ledger. Everything else is as it is in docs/."""
import html
import json
import os
import pathlib
import re
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Files outside of docs/ that are pages, and where they stand on the site.
PAGES = {
    "bench/README.md": "appendix/measurements.md",
    "CHANGELOG.md": "appendix/changelog.md",
    "CONTRIBUTING.md": "develop/contributing.md",
    "SECURITY.md": "develop/security.md",
    "tests/fuzz/README.md": "develop/fuzzing.md",
}
FOLDERS = {"examples": "gallery/index.md", "examples/python": "gallery/index.md", "docs": "index.md"}
FORMULA = re.compile(r"(?<![\w`$#\[/.])([PLDGFBAMCN][1-9]0?)(?![\w`\]]|\.\d)")
# Of a page: code blocks, code, formulas, links, tags, comments. Nothing inside of them is touched.
VERBATIM = re.compile(r"(```.*?```|`[^`\n]+`|\$\$.*?\$\$|\$[^$\n]+\$|!?\[[^\]]*\]\([^)\s]*\)|<!--.*?-->|<[^>\s][^>\n]*>|^\(\w+\)=$|^#+ .*?$)", re.DOTALL | re.MULTILINE)


class Links:
    """Where things are on the site, and which source files it must therefore show."""

    def __init__(self, sources):
        self.sources = sources
        self.shown = set()
        self.formulas = set(re.findall(r"^\((\w\d+)\)=$", (DOCS / "reference" / "ledger.md").read_text(), re.MULTILINE))
        self.files = {}
        for folder in ("src", "include", "tests", "cli", "python", "examples", "bench", "scripts"):
            for path in (ROOT / folder).rglob("*"):
                if path.is_file() and path.suffix in (".cpp", ".hpp", ".py", ".inc") and "build" not in path.parts:
                    self.files[path.relative_to(ROOT).as_posix()] = path
        self.tests = {}
        for name, path in self.files.items():
            if name.startswith("tests/") and name.endswith(".cpp"):
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    found = re.match(r"(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|TYPED_TEST)\(\s*(\w+),\s*(\w+)", line)
                    if found:
                        self.tests.setdefault(found[1], (name, number))
                        self.tests[f"{found[1]}.{found[2]}"] = (name, number)

    def save(self):
        (self.sources / "shown.json").write_text(json.dumps(sorted(self.shown)))

    def show(self, file, page, line=None):
        """The address of a source file, seen from a page of the site."""
        self.shown.add(file)
        return f"{up(page)}code/{file}.html" + (f"#line-{line}" if line else "")

    def cited(self, name, page):
        """The address of what the ledger cites in code: a file by the end of its path, or a test."""
        for prefix in ("src/", "include/topwolf/", ""):
            if prefix + name in self.files:
                return self.show(prefix + name, page)
        test = re.fullmatch(r"(?:\w+/)?([A-Z]\w+)\.([\w*]+)", name)
        if test:
            place = self.tests.get(f"{test[1]}.{test[2]}") or self.tests.get(test[1])
            if place:
                return self.show(place[0], page, place[1])
        return None


def up(page):
    return "../" * page.count("/")


def linked(text, page, origin, links):
    """The text of a page, with its links as the site needs them."""
    folder = origin.parent

    def one(match):
        label, target, fragment = match[1], match[2], match[3] or ""
        if re.match(r"https?:|#|mailto:", target) or not target:
            return match[0]
        path = pathlib.Path(os.path.normpath(folder / target))
        if not path.is_relative_to(ROOT):
            return match[0]
        name = path.relative_to(ROOT).as_posix()
        place = PAGES.get(name) or FOLDERS.get(name)
        if name == "README.md":
            place, fragment = "index.md", ""
        if place is None and path.is_relative_to(DOCS):
            place = path.relative_to(DOCS).as_posix()
        if place is not None:
            return f"{label}({os.path.relpath(place, os.path.dirname(page) or '.')}{fragment})"
        if name in links.files:
            inner = re.sub(r"`([^`]+)`", r"<code>\1</code>", label[1:-1])
            return f'<a href="{links.show(name, page)}">{inner}</a>'
        return label[1:-1]

    text = re.sub(r"(\[[^\]]*\])\(([^)#\s]*)(#[^)\s]*)?\)", one, text)

    def code(match):
        address = links.cited(match[1], page)
        return f'<a href="{address}"><code>{html.escape(match[1])}</code></a>' if address else match[0]

    parts = re.split(r"(```.*?```)", text, flags=re.DOTALL)
    parts[::2] = [re.sub(r"`([\w/.*]+)`", code, part) for part in parts[::2]]
    text = "".join(parts)

    def formula(match):
        return f"[{match[1]}](#{match[1].lower()})" if match[1].lower() in links.formulas else match[0]

    parts = VERBATIM.split(text)
    parts[::2] = [FORMULA.sub(formula, part) for part in parts[::2]]
    return "".join(parts)


def copy_pages(sources, links):
    for path in sorted(DOCS.rglob("*")):
        if path.is_dir():
            continue
        name = path.relative_to(DOCS).as_posix()
        target = sources / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            target.write_text(linked(path.read_text(), name, path, links))
        else:
            shutil.copyfile(path, target)
    for file, name in PAGES.items():
        target = sources / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(linked((ROOT / file).read_text(), name, ROOT / file, links))
