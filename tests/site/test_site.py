"""The built site (build/site, by scripts/docs): links hold, nothing is fetched, and a browser shows its pages without complaint,
on a desk and on a telephone."""
import functools
import html.parser
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import threading
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
WIDTHS = (1280, 390)
# One page of every kind.
MAIN = [
    "index.html", "start/first_model.html", "search.html", "genindex.html", "gallery/index.html", "gallery/05_compare_losses.html", "code/src/loss/vertex.cpp.html",
    "reference/command_line.html", "reference/ledger.html", "reference/file_formats.html", "reference/python/TopwolfClassifier.html",
    "reference/cpp/train.html", "explain/solvers.html", "how_to/choosing_a_loss.html", "appendix/reproduction.html",
]


class Page(html.parser.HTMLParser):
    """What a page refers to, and the names in it that others can refer to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.names = [], [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        for name in ("id", "name"):
            if attributes.get(name):
                self.names.add(attributes[name])
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        elif tag in ("script", "img", "source", "iframe") and attributes.get("src"):
            self.loads.append(attributes["src"])
        elif tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "preload", "prefetch", "manifest", "modulepreload"):
            self.loads.append(attributes["href"])


@functools.cache
def page(path):
    return Page(path)


def pages():
    found = sorted(SITE.rglob("*.html"))
    assert len(found) > 50, "scripts/docs builds the site"
    return found


def test_every_link_leads_to_a_place_on_the_site():
    wrong = []
    for path in pages():
        for link in page(path).links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "javascript"):
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                wrong.append((path.relative_to(SITE).as_posix(), link))
            elif parts.fragment and target.suffix == ".html" and urllib.parse.unquote(parts.fragment) not in page(target).names:
                wrong.append((path.relative_to(SITE).as_posix(), link))
    assert not wrong, wrong[:20]


def test_nothing_is_fetched_from_elsewhere():
    for path in pages():
        for load in page(path).loads:
            parts = urllib.parse.urlsplit(load)
            assert parts.scheme in ("", "data") and not parts.netloc, (path, load)
            assert parts.scheme == "data" or (path.parent / urllib.parse.unquote(parts.path)).is_file(), (path, load)
    for style in SITE.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", style.read_text()), style


def test_the_ledger_leads_to_its_code_and_tests():
    links = page(SITE / "reference" / "ledger.html").links
    assert sum("code/src/" in link for link in links) > 40
    assert sum(bool(re.search(r"code/tests/.*#line-\d", link)) for link in links) > 40
    assert {"p1", "g1", "l6", "n1"} <= page(SITE / "reference" / "ledger.html").names


# Loads every page into a frame of every width, and writes down what is too wide and what is not there.
WALK = """<!doctype html><title>walk</title><body><script>
const pages = %s, widths = %s, results = [];
async function one(page, width) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width: ${width}px; height: 900px; border: 0`;
  document.body.append(frame);
  await new Promise(done => { frame.onload = done; frame.src = page; });
  const inside = frame.contentWindow, tree = inside.document;
  if (inside.MathJax && inside.MathJax.startup) await inside.MathJax.startup.promise;
  await new Promise(done => setTimeout(done, 200));
  const root = tree.documentElement;
  results.push({page, width, wide: root.scrollWidth - root.clientWidth, title: tree.title,
    formulas: tree.querySelectorAll("mjx-container svg").length, broken: tree.querySelectorAll("mjx-merror").length,
    raw: tree.querySelectorAll(".math:not(:has(mjx-container))").length,
    pictures: [...tree.images].filter(image => image.complete && image.naturalWidth === 0).length});
  frame.remove();
}
(async () => {
  for (const page of pages) for (const width of widths) await one(page, width);
  await fetch("/done", {method: "POST", body: JSON.stringify(results)});
})();
</script>"""


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """What a browser that reaches no other machine saw, and its console."""
    browser = shutil.which("chromium")
    assert browser, "scripts/test installs chromium"
    answers, finished = [], threading.Event()
    walk = WALK % (json.dumps([f"/{name}" for name in MAIN]), json.dumps(WIDTHS))

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path != "/walk":
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(walk.encode())

        def do_POST(self):
            answers.extend(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            finished.set()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    profile = tmp_path_factory.mktemp("profile")
    command = [
        browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}", "--window-size=1400,1000",
        "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-port=0",
    ]
    log = profile / "log"
    with log.open("w") as stderr:
        process = subprocess.Popen([*command, f"http://127.0.0.1:{server.server_port}/walk"], stdout=subprocess.DEVNULL, stderr=stderr)
        try:
            assert finished.wait(180), log.read_text()
        finally:
            process.terminate()
            process.wait(30)
            server.shutdown()
    return answers, log.read_text()


def test_the_console_is_silent(walked):
    said = [line for line in walked[1].splitlines() if "CONSOLE" in line and "favicon" not in line]
    assert not said, said


def test_no_page_scrolls_sideways(walked):
    answers, _ = walked
    assert len(answers) == len(MAIN) * len(WIDTHS)
    assert not [answer for answer in answers if answer["wide"] > 0]


def test_formulas_and_pictures_are_shown(walked):
    answers, _ = walked
    assert not [answer for answer in answers if answer["broken"] or answer["raw"] or answer["pictures"]]
    ledger = [answer for answer in answers if answer["page"] == "/reference/ledger.html"]
    assert ledger and all(answer["formulas"] > 300 for answer in ledger)
