"""train --validation and --report: held-out errors along the way, and a page that a browser shows without complaint."""
import html.parser
import json
import re
import shutil
import subprocess

import pytest

import support


@pytest.fixture
def trained(topwolf, train_svm, test_svm):
    words = ["train", "--validation", test_svm, "--report", "r.html", "--trace", "t.jsonl", train_svm, "m.topwolf"]
    return topwolf(*words, "--loss", "usunier:2")


def test_held_out_errors_are_in_the_table_the_trace_and_the_summary(topwolf, trained, test_svm):
    errors = topwolf.json("evaluate", test_svm, "m.topwolf")
    header, *rows = trained.stderr.splitlines()
    assert header.split()[-1].startswith("top-")
    assert rows[-1].rstrip().endswith("%")
    lines = [json.loads(line) for line in (topwolf.folder / "t.jsonl").read_text().splitlines()]
    assert all(0 <= line["held_out_top1_error"] <= 1 for line in lines)
    assert lines[-1]["held_out_top1_error"] == pytest.approx(errors["top1_error"], abs=0.05)
    assert f"top-1 error {100 * errors['top1_error']:.2f} %" in trained.stdout
    document = topwolf.json("train", "-q", "--validation", test_svm, "train.svm", "n.topwolf", "--loss", "usunier:2")
    assert document["held_out"]["n"] == 60
    assert document["held_out"]["top1_error"] == pytest.approx(errors["top1_error"])


def test_looking_changes_nothing(topwolf, train_svm, test_svm):
    plain = topwolf.json("train", "-q", train_svm, "a.topwolf")
    looked = topwolf.json("train", "--validation", test_svm, "--trace", "t", train_svm, "b.topwolf")
    assert (plain["primal"], plain["dual"]) == (looked["primal"], looked["dual"])


def test_held_out_rows_are_prepared_as_the_training_rows(topwolf, train_svm, test_svm):
    document = topwolf.json("train", "-q", "--normalize", "unit", "--bias", "1", "--validation", test_svm, train_svm, "m.topwolf")
    errors = topwolf.json("evaluate", test_svm, "m.topwolf")
    assert document["held_out"]["top1_error"] == errors["top1_error"]


def test_validation_labels_may_be_a_file_of_their_own(topwolf, tmp_path, train_svm):
    X, y = support.blobs(n=30)
    import numpy as np

    np.save(tmp_path / "v.npy", X.astype("float32"))
    np.save(tmp_path / "v.labels.npy", y)
    document = topwolf.json("train", "-q", "--validation", "v.npy", "--validation-labels", "v.labels.npy", train_svm, "m.topwolf")
    assert document["held_out"]["n"] == 30
    topwolf.refuses("train", "-q", "--validation", "v.npy", train_svm, "n.topwolf", code=3, saying="labels must come from")


def test_bad_places_are_refused_before_the_work(topwolf, train_svm, test_svm):
    topwolf.refuses("train", "-q", "--report", "no/where.html", train_svm, "m", code=4, saying="no/where.html")
    topwolf.refuses("train", "-q", "--report", "m", train_svm, "m", code=2, saying="different files")
    topwolf.refuses("train", "-q", "--report", test_svm, "--validation", test_svm, train_svm, "m", code=2, saying="being read")
    topwolf.refuses("train", "-q", "--validation-labels", "x", train_svm, "m", code=2, saying="--validation, which is not given")
    topwolf.refuses("train", "-q", "--validation", "-", "-", "m", code=2, saying="only once")
    topwolf.refuses("train", "-q", "--validation", "none.svm", train_svm, "m", code=4, saying="none.svm")


class Page(html.parser.HTMLParser):
    """Balanced tags, nothing fetched, no executable script."""

    def __init__(self, text):
        super().__init__()
        self.open, self.plots, self.json = [], 0, ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        for name in ("src", "href"):
            assert attributes.get(name, "data:,").startswith("data:")
        if tag == "script":
            assert attributes["type"] == "application/json"
        if tag not in ("meta", "link", "line", "rect", "circle", "polyline", "br"):
            self.open.append(tag)
        self.plots += tag == "svg"

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.json += data


def test_the_page_stands_alone_and_carries_its_figures(topwolf, trained, test_svm):
    text = (topwolf.folder / "r.html").read_text()
    page = Page(text)
    assert page.plots == 4
    figures = json.loads(page.json)
    errors = topwolf.json("evaluate", test_svm, "m.topwolf")
    assert figures["held_out"]["wrong_at"][0] / figures["held_out"]["rows"] == pytest.approx(errors["top1_error"])
    assert figures["status"] == "converged" and figures["trace"][-1][0] == figures["iterations"]
    assert "above the optimum" in text and f"{100 * errors['top1_error']:.2f} %" in text


def test_labels_cannot_write_into_the_page(topwolf, tmp_path):
    rows = "".join(f"{label} {i % 2 + 1}:1 3:{i}\n" for i, label in enumerate(["<script>alert(1)</script>", "<!--<script>"] * 20))
    (tmp_path / "x.svm").write_text(rows)
    topwolf("train", "-q", "--report", "r.html", "--normalize", "unit", "x.svm", "m.topwolf")
    text = (tmp_path / "r.html").read_text()
    assert "<script>alert" not in text and "<!--" not in text
    Page(text)


def show(topwolf, name, plots, marks):
    """Loads a page in a browser: the plots are there, the console is silent, and there is a picture."""
    browser = shutil.which("chromium")
    assert browser, "scripts/test installs chromium"
    page = topwolf.folder / name
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={topwolf.folder}/profile"]
    done = subprocess.run([*command, "--enable-logging=stderr", "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"<svg[^>]*class=\"plot\"", done.stdout)) == plots
    assert len(re.findall(r"<(circle|polyline)", done.stdout)) > marks
    assert "CONSOLE" not in done.stderr, done.stderr
    shot = topwolf.folder / "r.png"
    subprocess.run([*command, "--window-size=1200,1600", f"--screenshot={shot}", page.as_uri()], check=True, capture_output=True, timeout=120)
    assert shot.stat().st_size > 20000


def test_a_browser_shows_the_page(topwolf, trained):
    show(topwolf, "r.html", 4, 20)


def test_a_browser_shows_a_sweep_and_a_cross_validation(topwolf, train_svm, test_svm):
    topwolf("sweep", "-q", "-c", "0.1:10:3", "--validation", test_svm, "--report", "s.html", train_svm)
    topwolf("cv", "-q", "-c", "0.1:10:3", "--loss", "max-hinge,usunier:2", "--folds", "3", "--report", "c.html", train_svm)
    for name, plots, points in (("s.html", 3, 3), ("c.html", 1, 6)):
        page = Page((topwolf.folder / name).read_text())
        assert page.plots == plots
        assert len(json.loads(page.json)["points"]) == points
        show(topwolf, name, plots, 6)
