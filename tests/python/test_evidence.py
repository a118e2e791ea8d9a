"""bench/evidence: the statistics of the table in README.md, and what is let into it."""

import importlib.machinery
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_rel
from sklearn.datasets import load_digits

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import evidence  # noqa: E402


def test_without_overlap_it_is_the_usual_paired_test():
    a, b = np.random.default_rng(0).normal(size=(2, 10))
    assert evidence.p_value(a - b, 0.0) == pytest.approx(ttest_rel(a, b).pvalue)
    # Halves: the variance counts 1/J + 1 times instead of 1/J.
    assert evidence.corrected_deviation(a, 1.0) == pytest.approx(np.std(a, ddof=1) * np.sqrt(1.1))
    assert evidence.half_interval(a, 0.0) == pytest.approx(2.262157 * np.std(a, ddof=1) / np.sqrt(10), rel=1e-6)
    assert evidence.p_value(np.zeros(4), 1.0) == 1.0 and evidence.p_value(np.ones(4), 1.0) == 0.0


def test_holm_multiplies_by_what_is_left_and_never_falls():
    assert evidence.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert evidence.holm([0.5, 0.9]) == [1.0, 1.0] and evidence.holm([]) == []


def result(name, half, method, error, top1):
    chosen = {str(k): {"model": method, "C": 1.0, "test": [top1, error, error]} for k in evidence.PLACES}
    chosen["1"]["test"] = [error, error, error]
    return {"set": name, "half": half, "method": method, "rows": [100, 100], "chosen": chosen, "cpu_seconds": 2.0,
            "commit": "abc", "machine": "a processor", "compiler": "c++"}


def test_only_halves_that_everybody_has_been_through_count(tmp_path):
    path = tmp_path / "evidence.jsonl"
    lines = [result("usps", half, method, 0.01 * half + 0.02 * at, 0.5) for half in range(3) for at, method in enumerate(evidence.METHODS)]
    lines += [result("letter", half, method, 0.1, 0.5) for half in range(9) for method in evidence.METHODS[1:]]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines[:-1] + [result("usps", 3, evidence.OURS, 0.9, 0.9)]))
    assert ("usps", 3, evidence.OURS) in evidence.finished(path) and ("usps", 3, "LinearSVC") not in evidence.finished(path)
    header, rows, notes = evidence.evidence_table(path, ("usps", "letter"))
    assert len(rows) == 3 * len(evidence.METHODS) and {row[0] for row in rows} == {"usps"} and {row[1] for row in rows} == {3}
    top5 = [row for row in rows if row[2] == "top-5"]
    assert [row[3] for row in top5] == list(evidence.METHODS)
    assert top5[0][4].startswith("1.00 ± ") and top5[0][5] == "50.00" and top5[0][6] == ""
    assert all(float(row[6]) < 1e-6 for row in top5[1:])  # each half says the same
    short_header, short = evidence.short_table(rows)
    assert len(short) == 3 and len(short[0]) == len(short_header) == 3 + len(evidence.METHODS)
    assert short[1][:4] == ["usps", 3, "top-5", "1.00 (50.00)"] and short[1][4] == "3.00* (50.00)"
    assert "usps on 3" in notes[0] and "18 comparisons" in notes[0] and "letter" not in notes[0]


def test_the_table_stands_between_its_marks(tmp_path):
    page = tmp_path / "README.md"
    page.write_text(f"before\n{evidence.BEGIN}\nold\n{evidence.END}\nafter\n")
    evidence.replace_table(page, ["a", "b"], [["x", 1]], ["note"])
    made = page.read_text()
    assert made == f"before\n{evidence.BEGIN}\n\n| a | b |\n|---|---|\n| x | 1 |\n\nnote\n\n{evidence.END}\nafter\n"
    evidence.replace_table(page, ["a", "b"], [["x", 1]], ["note"])
    assert page.read_text() == made


@pytest.fixture
def losses(tmp_path, monkeypatch):
    """The program, on some of scikit-learn's digits and a grid of two values."""
    path = str(Path(evidence.__file__).with_name("losses"))
    loader = importlib.machinery.SourceFileLoader("losses", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("losses", loader))
    loader.exec_module(module)
    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr(module, "load", lambda name: ((X[:600] / 64).astype(np.float32), y[:600]))
    monkeypatch.setattr(module, "GRID", (0.1, 1.0))
    monkeypatch.setattr(module, "FARTHEST", 1.0)
    monkeypatch.setattr(module, "RESULTS", tmp_path / "evidence.jsonl")
    return module


@pytest.mark.program  # liblinear-train is installed where it is
def test_every_method_leaves_a_line_and_is_not_measured_again(losses):
    losses.measure("digits", [0], None)
    lines = evidence.lines_of(losses.RESULTS)
    assert sorted(one["method"] for one in lines) == sorted(evidence.METHODS)
    for one in lines:
        assert one["set"] == "digits" and one["half"] == 0 and one["rows"] == [300, 300] and one["cpu_seconds"] > 0
        assert set(one["chosen"]) == {"1", "5"}
        for chosen in one["chosen"].values():
            assert chosen["C"] in (0.1, 1.0) and 0 <= chosen["test"][1] <= chosen["test"][0] < 0.3
    of = {one["method"]: one["chosen"]["1"]["test"] for one in lines}
    assert of["topwolf max_hinge"] == pytest.approx(of["LIBLINEAR -s 4"], abs=0.02)  # the same problem
    assert of["topwolf softmax"] == pytest.approx(of["LogisticRegression"], abs=0.03)
    losses.measure("digits", [0], None)
    assert evidence.lines_of(losses.RESULTS) == lines


def test_the_grid_goes_on_where_the_choice_is_at_its_end(losses, monkeypatch):
    monkeypatch.setattr(losses, "GRID", (0.1, 1.0))
    monkeypatch.setattr(losses, "FARTHEST", 100.0)

    def path(X, y, X_held, y_held, grid):  # the best C is 10**1.5
        return [[abs(np.log10(C) - 1.5)] for C in grid]

    chosen = losses.Chosen(path, np.zeros((4, 1)), np.zeros(4, int), [(np.arange(2), np.arange(2, 4))] * 2)
    assert chosen.C_at(0) == pytest.approx(10**1.5) and max(chosen.errors) == pytest.approx(100)
    level = losses.Chosen(lambda X, y, X_held, y_held, grid: [[0.0] for _ in grid], np.zeros((4, 1)), np.zeros(4, int), [(np.arange(2), np.arange(2, 4))])
    assert level.C_at(0) == 1.0  # of equals the one nearest to 1, which is an end, and tells nothing
